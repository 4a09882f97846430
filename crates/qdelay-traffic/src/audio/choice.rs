//! The utility of rate and delay for a call, and its estimate for each colour.
//!
//! `u(R, D) = 0` for `R < R_0` or `D >= D_0`, else `(1 - D / D_0) (1 + w (R - R_0) / (R_1 - R_0))`
//!
//! `R` is the rate of the codec, at most `R_1`, and `D` the mean one-way delay. `w` is small: above `R_0` the utility depends mainly on the delay.
//!
//! Loss and delay of a colour are averaged over epochs; each epoch has three quarters of the weight of the next. The rate of the current colour
//! is measured. The rate of the other colour is TFRC's equation for the loss ratio of that colour's packets; its round trip is the
//! measured one plus the difference of the one-way delays of the two colours.
//!
//! Source: Hurley et al. 2001 (ABE), Fig. 1 and the text about it.

use super::{AudioConfig, Colour, ColourCount};
use crate::tfrc::HEADER_BYTES;
use qdelay_core::{Rate, Span};

/// Weight of an epoch's counts relative to those of the next epoch.
const MEMORY: f64 = 0.75;
/// Hysteresis of a change of colour: the other colour must exceed the least rate, and the utility of the current colour, by this factor. Estimates
/// are inexact, and a change has a cost.
const MARGIN: f64 = 1.1;

/// The utility function of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utility {
    /// Least rate of the codec `R_0`, net of headers and error correction.
    pub least: Rate,
    /// Highest useful rate, `R_1`.
    pub most: Rate,
    /// Smallest mean one-way delay of zero utility, `D_0`.
    pub patience: Span,
    /// Additional utility of the highest rate over the least, as a share, `w`.
    pub weight: f64,
}

impl Utility {
    /// Utility `u(R, D)` of a rate in bit/s and a delay in s: 0 to `1 + w`.
    pub fn evaluate(&self, rate_bps: f64, delay_s: f64) -> f64 {
        let (least, most) = (self.least.as_bps() as f64, self.most.as_bps() as f64);
        let patience = self.patience.as_secs_f64();
        // A rate computed from whole frames may be lower by rounding.
        if rate_bps < least * (1.0 - 1e-9) || delay_s >= patience {
            return 0.0;
        }
        let spare = if most > least { ((rate_bps - least) / (most - least)).clamp(0.0, 1.0) } else { 0.0 };
        (1.0 - delay_s.max(0.0) / patience) * (1.0 + self.weight * spare)
    }
}

/// Decaying counts of a colour's packets.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    /// Counts at the end of the last epoch.
    counted: ColourCount,
    expected: f64,
    received: f64,
    delay_s: f64,
}

impl Memory {
    fn count(&mut self, count: ColourCount) {
        let since = |now: u64, then: u64| now.saturating_sub(then) as f64;
        self.expected = MEMORY * self.expected + since(count.expected, self.counted.expected);
        self.received = MEMORY * self.received + since(count.received, self.counted.received);
        self.delay_s = MEMORY * self.delay_s + count.delay.saturating_sub(self.counted.delay).as_secs_f64();
        self.counted = count;
    }

    /// Share of the colour's packets lost, 0 to 1; `None` if none was sent.
    fn loss(&self) -> Option<f64> {
        (self.expected > 0.0).then(|| (1.0 - self.received / self.expected).clamp(0.0, 1.0))
    }

    /// Mean one-way delay, s; `None` if no packet arrived.
    fn delay_s(&self) -> Option<f64> {
        (self.received > 0.0).then(|| self.delay_s / self.received)
    }
}

/// The source's estimates of both colours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choice {
    memory: [Memory; 2],
}

/// The decision for the next epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send with this colour.
    Send(Colour),
    /// Hang up.
    HangUp,
}

impl Choice {
    /// Adds the counts at the end of an epoch.
    pub fn count(&mut self, colours: &[ColourCount; 2]) {
        for (memory, count) in self.memory.iter_mut().zip(colours) {
            memory.count(*count);
        }
    }

    /// Recent loss ratio of the packets of `colour`; 0 if none were sent.
    pub fn loss(&self, colour: Colour) -> f64 {
        self.memory[colour.index()].loss().unwrap_or(0.0)
    }

    /// Decision at the end of an epoch. `present`: the colour of the epoch; `rate_bps`: measured rate of the codec, bit/s; `rtt`: round trip.
    pub fn decide(&self, config: &AudioConfig, present: Colour, rate_bps: f64, rtt: Span) -> Decision {
        let memory = &self.memory[present.index()];
        let here = match memory.delay_s() {
            Some(delay_s) => config.utility.evaluate(rate_bps, delay_s),
            None => 0.0,
        };
        let other = present.other();
        let there = self
            .other(config, present, rtt)
            .map_or(0.0, |(rate_bps, delay_s)| config.utility.evaluate(rate_bps / MARGIN, delay_s));
        if there > MARGIN * here {
            Decision::Send(other)
        } else if here > 0.0 {
            Decision::Send(present)
        } else {
            Decision::HangUp
        }
    }

    /// Expected rate of the codec, bit/s, and one-way delay, s, with the other colour; `None` without packets of that colour.
    fn other(&self, config: &AudioConfig, present: Colour, rtt: Span) -> Option<(f64, f64)> {
        let (here, there) = (&self.memory[present.index()], &self.memory[present.other().index()]);
        let (loss, delay_s) = (there.loss()?, there.delay_s()?);
        let rtt_s = rtt.as_secs_f64() + delay_s - here.delay_s().unwrap_or(delay_s);
        let allowed = config.equation.rate(loss, rtt_s.max(delay_s));
        let interval = config.interval.as_secs_f64();
        let frames = allowed - f64::from(HEADER_BYTES) / interval;
        let rate_bps = 8.0 * frames / config.overhead(loss);
        Some((rate_bps.clamp(0.0, config.utility.most.as_bps() as f64), delay_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    #[test]
    fn utility_rises_with_rate_and_falls_with_delay() {
        let utility = AudioConfig::default().utility;
        assert_eq!(utility.evaluate(15_999.0, 0.0), 0.0);
        assert_eq!(utility.evaluate(16_000.0, 0.0), 1.0);
        assert_eq!(utility.evaluate(16_000.0, 0.1), 0.75);
        assert!((utility.evaluate(64_000.0, 0.1) - 0.825).abs() < 1e-12);
        assert_eq!(utility.evaluate(1e9, 0.1), utility.evaluate(64_000.0, 0.1));
        assert_eq!(utility.evaluate(1e9, 0.4), 0.0);
        let narrow = Utility { most: utility.least, ..utility };
        assert_eq!(narrow.evaluate(16_000.0, 0.2), 0.5);
    }

    /// A choice after one epoch. Per colour: packets sent, packets lost, and delay of each received packet, ms.
    fn counted(green: (u64, u64, u64), blue: (u64, u64, u64)) -> Choice {
        let count = |(sent, lost, delay): (u64, u64, u64)| ColourCount {
            expected: sent,
            received: sent - lost,
            delay: MS(delay * (sent - lost)),
        };
        let mut choice = Choice::default();
        choice.count(&[count(green), count(blue)]);
        choice
    }

    /// Round trip 150 ms with green. The least rate is 16 kbit/s and 16 kbit/s of headers, 4 kB/s: far below the rate of
    /// the equation at a few percent of loss, and above it at 20%.
    #[test]
    fn the_colour_with_the_least_rate_and_the_lower_delay_is_chosen() {
        let config = AudioConfig::default();
        let decide = |choice: &Choice, present, rate| choice.decide(&config, present, rate, MS(150));
        let (green, blue) = (Decision::Send(Colour::Green), Decision::Send(Colour::Blue));
        // Both colours have the least rate: green, for its delay, with either current colour.
        let low = counted((230, 4, 60), (20, 0, 120));
        assert_eq!(decide(&low, Colour::Green, 64_000.0), green);
        assert_eq!(decide(&low, Colour::Blue, 64_000.0), green);
        // Only blue has the least rate: blue.
        let moderate = counted((230, 80, 60), (20, 1, 120));
        assert_eq!(decide(&moderate, Colour::Green, 8_000.0), blue);
        assert_eq!(decide(&moderate, Colour::Blue, 64_000.0), blue);
        // Neither colour has the least rate.
        let high = counted((230, 100, 60), (20, 8, 120));
        assert_eq!(decide(&high, Colour::Green, 8_000.0), Decision::HangUp);
        assert_eq!(decide(&high, Colour::Blue, 8_000.0), Decision::HangUp);
        // Equal colours: no change.
        let flat = counted((230, 4, 100), (20, 0, 100));
        assert_eq!(decide(&flat, Colour::Green, 64_000.0), green);
        assert_eq!(decide(&flat, Colour::Blue, 64_000.0), blue);
        // No estimate for the other colour, then for neither.
        let alone = counted((230, 4, 60), (0, 0, 0));
        assert_eq!(decide(&alone, Colour::Green, 64_000.0), green);
        assert_eq!(decide(&alone, Colour::Green, 8_000.0), Decision::HangUp);
        assert_eq!(decide(&Choice::default(), Colour::Green, 64_000.0), Decision::HangUp);
    }

    /// 10 of 100 packets lost, then 0 of 100, count as 7.5 of 175.
    #[test]
    fn older_epochs_have_less_weight() {
        let mut choice = Choice::default();
        let count = |expected, received| ColourCount { expected, received, delay: Span::ZERO };
        choice.count(&[count(100, 90), ColourCount::default()]);
        assert!((choice.loss(Colour::Green) - 0.1).abs() < 1e-12);
        choice.count(&[count(200, 190), ColourCount::default()]);
        assert!((choice.loss(Colour::Green) - 7.5 / 175.0).abs() < 1e-12);
        assert_eq!(choice.loss(Colour::Blue), 0.0);
    }
}
