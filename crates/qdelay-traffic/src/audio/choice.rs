//! The utility of a rate and a delay to a call, and the estimated utility of either colour.
//!
//! `u(R, D) = 0` for `R < R_0` or `D >= D_0`, else `(1 - D / D_0) (1 + w (R - R_0) / (R_1 - R_0))`
//!
//! with `R` the rate of the codec, up to `R_1`, and `D` the mean one-way delay. `w` is small: above `R_0`, mainly the delay
//! counts.
//!
//! The results of a colour are averaged over epochs, with each epoch weighted by three quarters of the next. The rate of the
//! present colour is the measured rate. That of the other colour is the result of TFRC's equation for the loss ratio of its
//! packets and for a round trip that differs by the difference of the delays.
//!
//! Source: Hurley et al. 2001 (ABE), Fig. 1 and the text about it.

use super::{AudioConfig, Colour, ColourCount};
use crate::tfrc::HEADER_BYTES;
use qdelay_core::{Rate, Span};

/// The part of an epoch's counts that is carried over to the next one.
const MEMORY: f64 = 0.75;
/// The other colour must exceed the least rate by this factor, and the utility of the present colour too: estimates are not
/// exact, and a change has a cost.
const MARGIN: f64 = 1.1;

/// The utility function of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utility {
    /// Least rate of the codec `R_0`, net of headers and error correction.
    pub least: Rate,
    /// Highest useful rate, `R_1`.
    pub most: Rate,
    /// The mean one-way delay from which on the utility is zero, `D_0`.
    pub patience: Span,
    /// Relative additional utility of the highest rate over the least, `w`.
    pub weight: f64,
}

impl Utility {
    /// `u(R, D)` for bits a second and seconds: 0 to `1 + w`.
    pub fn of(&self, rate_bps: f64, delay_s: f64) -> f64 {
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

/// Recent results of a colour.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    /// The count at the end of the last epoch.
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

    /// Share of its packets lost; `None` where none were sent.
    fn loss(&self) -> Option<f64> {
        (self.expected > 0.0).then(|| (1.0 - self.received / self.expected).clamp(0.0, 1.0))
    }

    /// Mean one-way delay in seconds; `None` if no packet arrived.
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
    /// An epoch has ended with these counts.
    pub fn count(&mut self, colours: &[ColourCount; 2]) {
        for (memory, count) in self.memory.iter_mut().zip(colours) {
            memory.count(*count);
        }
    }

    /// Recent loss ratio of the packets of `colour`; 0 if none were sent.
    pub fn loss(&self, colour: Colour) -> f64 {
        self.memory[colour.index()].loss().unwrap_or(0.0)
    }

    /// The decision after an epoch with `present`, in which the codec had `rate_bps`, with a round trip of `rtt`.
    pub fn decide(&self, config: &AudioConfig, present: Colour, rate_bps: f64, rtt: Span) -> Decision {
        let memory = &self.memory[present.index()];
        let here = match memory.delay_s() {
            Some(delay_s) => config.utility.of(rate_bps, delay_s),
            None => 0.0,
        };
        let other = present.other();
        let there = self
            .other(config, present, rtt)
            .map_or(0.0, |(rate_bps, delay_s)| config.utility.of(rate_bps / MARGIN, delay_s));
        if there > MARGIN * here {
            Decision::Send(other)
        } else if here > 0.0 {
            Decision::Send(present)
        } else {
            Decision::HangUp
        }
    }

    /// The codec's rate in bits a second and the delay in seconds expected with the other colour; `None` if unknown.
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
    fn utility() {
        let utility = AudioConfig::default().utility;
        assert_eq!(utility.of(15_999.0, 0.0), 0.0);
        assert_eq!(utility.of(16_000.0, 0.0), 1.0);
        assert_eq!(utility.of(16_000.0, 0.1), 0.75);
        assert!((utility.of(64_000.0, 0.1) - 0.825).abs() < 1e-12);
        assert_eq!(utility.of(1e9, 0.1), utility.of(64_000.0, 0.1));
        assert_eq!(utility.of(1e9, 0.4), 0.0);
        let narrow = Utility { most: utility.least, ..utility };
        assert_eq!(narrow.of(16_000.0, 0.2), 0.5);
    }

    /// Counts of an epoch: packets sent and lost, and the delay of each received packet.
    fn counted(green: (u64, u64, u64), blue: (u64, u64, u64)) -> Choice {
        let of = |(sent, lost, delay): (u64, u64, u64)| ColourCount {
            expected: sent,
            received: sent - lost,
            delay: MS(delay * (sent - lost)),
        };
        let mut choice = Choice::default();
        choice.count(&[of(green), of(blue)]);
        choice
    }

    /// Round trip 150 ms with green. The least rate is 16 kbit/s and 16 kbit/s of headers, 4 kB/s: far below the result of
    /// the equation for a few percent of loss, and above it for a fifth.
    #[test]
    fn decisions() {
        let config = AudioConfig::default();
        let decide = |choice: &Choice, present, rate| choice.decide(&config, present, rate, MS(150));
        let (green, blue) = (Decision::Send(Colour::Green), Decision::Send(Colour::Blue));
        // Both have the rate: green for its delay, whichever colour is present.
        let low = counted((230, 4, 60), (20, 0, 120));
        assert_eq!(decide(&low, Colour::Green, 64_000.0), green);
        assert_eq!(decide(&low, Colour::Blue, 64_000.0), green);
        // Green does not have the rate: blue, if it does.
        let moderate = counted((230, 80, 60), (20, 1, 120));
        assert_eq!(decide(&moderate, Colour::Green, 8_000.0), blue);
        assert_eq!(decide(&moderate, Colour::Blue, 64_000.0), blue);
        // Neither has the rate.
        let high = counted((230, 100, 60), (20, 8, 120));
        assert_eq!(decide(&high, Colour::Green, 8_000.0), Decision::HangUp);
        assert_eq!(decide(&high, Colour::Blue, 8_000.0), Decision::HangUp);
        // Both are equal: no change.
        let flat = counted((230, 4, 100), (20, 0, 100));
        assert_eq!(decide(&flat, Colour::Green, 64_000.0), green);
        assert_eq!(decide(&flat, Colour::Blue, 64_000.0), blue);
        // No estimate for the other colour, or for either.
        let alone = counted((230, 4, 60), (0, 0, 0));
        assert_eq!(decide(&alone, Colour::Green, 64_000.0), green);
        assert_eq!(decide(&alone, Colour::Green, 8_000.0), Decision::HangUp);
        assert_eq!(decide(&Choice::default(), Colour::Green, 64_000.0), Decision::HangUp);
    }

    /// Epochs fade: 10% of 100 packets, then 0 of 100, leave 7.5 of 175.
    #[test]
    fn memory_fades() {
        let mut choice = Choice::default();
        let count = |expected, received| ColourCount { expected, received, delay: Span::ZERO };
        choice.count(&[count(100, 90), ColourCount::default()]);
        assert!((choice.loss(Colour::Green) - 0.1).abs() < 1e-12);
        choice.count(&[count(200, 190), ColourCount::default()]);
        assert!((choice.loss(Colour::Green) - 7.5 / 175.0).abs() < 1e-12);
        assert_eq!(choice.loss(Colour::Blue), 0.0);
    }
}
