//! The green loss of ABE: the share of low-delay packets that is refused, such that asking for low delay does
//! not increase throughput.
//!
//! Source: ours. The goal is that of the control loop of Hurley, Le Boudec, Thiran and Kara, "ABE: Providing
//! a Low-Delay Service within Best Effort" (2001), and so is the estimate of each colour's throughput
//! (`greedy.rs`). The mechanism is different. The paper adjusts the green bias g, which delays green packets
//! so that some become stale. Chance decides which packets become stale, and among packets of several sizes
//! the small ones behind large ones do, of any flow. Here green goes first wherever it may (g = 1), and green
//! packets are refused on arrival with a computed probability: every `period`, the total loss due to green is
//! the one at which a greedy flow with green's round trip would have blue's throughput divided by `gamma`.
//! Other losses of green, by the acceptance test for example, are part of it. A refused packet has no
//! duplicate, as if it had not arrived, and blue need not make room for it.
//!
//! Everything is counted in bytes: a packet of `full_bytes` or more is refused with that probability, a
//! smaller one with a probability in proportion to its size. A flow of small packets with little throughput
//! therefore also loses little. A sender that cuts a transfer into small packets does not gain: at a loss in
//! proportion to the size, the throughput of equation 1 still grows with the square root of the size.
//!
//! While no blue packet arrives there is no flow to protect, and the probability falls by `weight` each
//! period.
//!
//! Parameters:
//! * `period`: time between two updates (0.5 s).
//! * `alpha`: share of the distance to the goal that an update covers (1.1); the probability always stays
//!   within 0 and 1.
//! * `gamma`: intended advantage of blue (1.1).
//! * `base_rtt`: round trip without this queue's delay, the same for every flow (2 ms). A small value favours
//!   blue: a green flow with a shorter round trip gains by being green, and one with a longer round trip
//!   loses more than necessary.
//! * `weight`: weight of the last period in the estimates (0.1).
//! * `full_bytes`: size of a full packet (1500).

use super::greedy::{Colour, Estimate, throughput_loss};
use crate::{DropReason, MarkReason, Random, Span, Time};

/// The parameters of the green loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GreenLossParameters {
    /// Time between two updates; more than zero.
    pub period: Span,
    /// Share of the distance to the goal that an update covers, above 0, at most 2.
    pub alpha: f64,
    /// Intended advantage of blue, above 0.
    pub gamma: f64,
    /// Round trip without this queue's delay, more than zero.
    pub base_rtt: Span,
    /// Weight of the last period in the estimates, above 0, at most 1.
    pub weight: f64,
    /// Size of a full packet in bytes, more than zero.
    pub full_bytes: u32,
}

impl GreenLossParameters {
    /// Default of `base_rtt` where round trips are unknown: conservative for flows of 2 ms and more.
    pub const BASE_RTT: Span = Span::from_millis(2);
}

/// The law of the green loss.
#[derive(Clone, Debug)]
pub struct GreenLoss {
    parameters: GreenLossParameters,
    probability: f64,
    blue: Estimate,
    /// Estimate of green, without the packets that this law refused. Subtracting them later from a sum that
    /// includes them would leave only rounding errors where nearly all of green is refused.
    green: Estimate,
    next: Time,
}

impl GreenLoss {
    /// Drop reason: the packet asked for low delay, and was dropped so that asking does not increase
    /// throughput.
    pub const DROP: DropReason = DropReason::new("green_loss");
    /// Mark reason: the packet asked for low delay, and was marked so that asking does not increase
    /// throughput.
    pub const MARK: MarkReason = MarkReason::new("green_loss");

    /// A law that refuses nothing until its first update.
    pub fn new(parameters: GreenLossParameters) -> GreenLoss {
        let (blue, green) = Default::default();
        let next = Time::ZERO + parameters.period;
        GreenLoss { parameters, probability: 0.0, blue, green, next }
    }

    /// The probability, 0 to 1, that a full green packet is refused.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Runs the updates that are due up to `now`. Must be called before any event at `now` is reported.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        if now >= self.next {
            self.update(now);
        }
    }

    /// Draws for an arriving green packet of `bytes`; returns true if it is to be refused or marked.
    #[inline]
    pub fn chooses(&self, bytes: u32, random: &mut Random) -> bool {
        let probability = self.probability * self.weight(bytes).min(1.0);
        probability > 0.0 && random.unit() < probability
    }

    /// Counts a green packet that this law refused or marked.
    #[inline]
    pub fn refused(&mut self) {
        self.green.is_fresh = true;
    }

    /// Counts a packet of `bytes` that left after `delay` in the queue.
    #[inline]
    pub fn served(&mut self, colour: Colour, bytes: u32, delay: Span) {
        let weight = self.weight(bytes);
        self.estimate(colour).served(weight, delay);
    }

    /// Counts a packet of `bytes` that was dropped or marked, but not by this law.
    #[inline]
    pub fn lost(&mut self, colour: Colour, bytes: u32) {
        let weight = self.weight(bytes);
        self.estimate(colour).lost(weight);
    }

    fn weight(&self, bytes: u32) -> f64 {
        f64::from(bytes) / f64::from(self.parameters.full_bytes)
    }
    fn estimate(&mut self, colour: Colour) -> &mut Estimate {
        match colour {
            Colour::Blue => &mut self.blue,
            Colour::Green => &mut self.green,
        }
    }

    /// One update. Periods in which nothing happened are skipped.
    fn update(&mut self, now: Time) {
        let GreenLossParameters { period, alpha, gamma, base_rtt, weight, .. } = self.parameters;
        let over = now.since(self.next).as_nanos() / period.as_nanos().max(1);
        self.next += period * over.saturating_add(1);
        if !self.green.is_fresh {
            return;
        }
        if self.blue.is_fresh {
            let fair = self.blue.throughput(base_rtt) / gamma;
            let due = throughput_loss(self.green.round_trip_s(base_rtt), fair);
            let aim = share_to_refuse(due, self.green.departures(), self.green.losses());
            self.probability = ((1.0 - alpha) * self.probability + alpha * aim).clamp(0.0, 1.0);
            self.blue.age(1.0 - weight);
        } else {
            self.probability *= 1.0 - weight;
        }
        self.green.age(1.0 - weight);
    }
}

/// The share of green to refuse such that `due` (0 to 1) is lost in total, where `served` and `lost` count
/// the packets that are not refused. 0 where all of those are lost, and `due` where there are none.
///
/// The share is (due - other) / (1 - other) with other = lost / (served + lost), the loss ratio without
/// refusals. It is computed without the difference 1 - other: where hardly any packets are served that
/// difference is rounding error, or 0. Rounding of the sums changes the result by a few parts in 2^52; an
/// error of `due` is amplified by (served + lost) / served.
fn share_to_refuse(due: f64, served: f64, lost: f64) -> f64 {
    let all = served + lost;
    if served > 0.0 {
        ((served - (1.0 - due) * all) / served).max(0.0)
    } else if lost > 0.0 {
        0.0
    } else {
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: GreenLossParameters = GreenLossParameters {
        period: Span::from_millis(500),
        alpha: 1.0,
        gamma: 1.0,
        base_rtt: Span::from_millis(20),
        weight: 0.1,
        full_bytes: 1500,
    };

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }
    /// Runs periods with 2000 arriving full packets of each colour; blue waits 80 ms and loses 2%, green
    /// waits 5 ms and loses `anyhow` of each 100 packets that the law does not refuse. Returns green's loss
    /// over the last half of the periods.
    fn run(parameters: GreenLossParameters, anyhow: u64) -> f64 {
        let (mut law, mut random) = (GreenLoss::new(parameters), Random::derive(1, "green", "loss"));
        let (mut lost, mut all) = (0, 0);
        for period in 0..200 {
            for packet in 0..2000 {
                match packet % 50 {
                    0 => law.lost(Colour::Blue, 1500),
                    _ => law.served(Colour::Blue, 1500, Span::from_millis(80)),
                }
                let counts = u64::from(period >= 100);
                all += counts;
                if law.chooses(1500, &mut random) {
                    law.refused();
                    lost += counts;
                } else if packet % 100 < anyhow {
                    law.lost(Colour::Green, 1500);
                    lost += counts;
                } else {
                    law.served(Colour::Green, 1500, Span::from_millis(5));
                }
            }
            law.advance(at(500 * (period + 1)));
        }
        lost as f64 / all as f64
    }

    /// Equation 1 gives 73.2 packets a second for 100 ms and 2%, and the same for 25 ms and 9.7%.
    #[test]
    fn green_loses_until_both_throughputs_are_equal() {
        for anyhow in [0, 3, 8] {
            let lost = run(PARAMETERS, anyhow);
            let throughput = super::super::loss_throughput(0.025, lost);
            let blue = super::super::loss_throughput(0.1, 0.02);
            assert!((throughput / blue - 1.0).abs() < 0.02, "{anyhow}: {lost} {throughput} {blue}");
        }
        let lost = run(PARAMETERS, 40);
        assert!((lost - 0.4).abs() < 1e-9, "green's other losses are higher, and nothing is refused: {lost}");
        let more = run(GreenLossParameters { gamma: 1.5, ..PARAMETERS }, 3);
        let ratio = super::super::loss_throughput(0.1, 0.02) / super::super::loss_throughput(0.025, more);
        assert!((ratio - 1.5).abs() < 0.03, "{ratio}");
    }

    /// Reports a period of 100 full blue packets, `losses` of them lost, then runs the update of `law` at its
    /// end.
    fn move_with_blue(law: &mut GreenLoss, period: &mut u64, losses: u64) {
        for packet in 0..100 {
            match packet < losses {
                true => law.lost(Colour::Blue, 1500),
                false => law.served(Colour::Blue, 1500, Span::from_millis(80)),
            }
        }
        *period += 1;
        law.advance(at(500 * *period));
    }

    /// Green's other losses are a ratio, which does not change while all arrivals are refused.
    #[test]
    fn refusals_keep_the_other_loss_ratio_of_green() {
        let mut law = GreenLoss::new(GreenLossParameters { weight: 0.5, ..PARAMETERS });
        let mut period = 0;
        for _ in 0..100 {
            (0..70).for_each(|_| law.served(Colour::Green, 1500, Span::from_millis(5)));
            (0..30).for_each(|_| law.lost(Colour::Green, 1500));
            move_with_blue(&mut law, &mut period, 25);
        }
        let before = law.probability();
        assert!(0.1 < before && before < 0.9, "{before}");
        for _ in 0..200 {
            (0..7).for_each(|_| law.refused());
            move_with_blue(&mut law, &mut period, 25);
            assert!((law.probability() - before).abs() < 1e-12, "{period}: {} {before}", law.probability());
        }
    }

    /// Green flows would get more than blue flows at any loss rate while a few green packets are served: the law refuses these few
    /// packets too.
    #[test]
    fn green_is_refused_entirely_where_any_loss_is_too_small() {
        let mut law = GreenLoss::new(GreenLossParameters { weight: 0.5, gamma: 100.0, ..PARAMETERS });
        let mut period = 0;
        law.served(Colour::Green, 1500, Span::from_millis(5));
        for _ in 0..200 {
            (0..7).for_each(|_| law.lost(Colour::Green, 1500));
            move_with_blue(&mut law, &mut period, 90);
            assert_eq!(law.probability(), 1.0, "{period}");
        }
    }

    #[test]
    fn the_share_to_refuse_matches_the_formula() {
        for (due, served, lost, share) in [
            (0.5, 100.0, 0.0, 0.5),
            (0.5, 80.0, 20.0, 0.375),
            (0.5, 50.0, 50.0, 0.0),
            (0.5, 40.0, 60.0, 0.0),
            (0.5, 0.0, 60.0, 0.0),
            (0.5, 0.0, 0.0, 0.5),
            (1.0, 0.0, 60.0, 0.0),
            (1.0, 1e-20, 60.0, 1.0),
            (1.0, 5e-324, 1e9, 1.0),
            (0.99, 5e-324, 1e9, 0.0),
        ] {
            let found = share_to_refuse(due, served, lost);
            assert!((found - share).abs() < 1e-12, "{due} {served} {lost}: {found}, not {share}");
        }
    }

    #[test]
    fn small_packets_are_refused_less() {
        let law = GreenLoss { probability: 0.5, ..GreenLoss::new(PARAMETERS) };
        let mut random = Random::derive(1, "green", "loss");
        let mut refused = |bytes| (0..30_000).filter(|_| law.chooses(bytes, &mut random)).count();
        assert!((14_500..15_500).contains(&refused(1500)));
        assert!((14_500..15_500).contains(&refused(9000)), "no more than that");
        assert!((1_800..2_200).contains(&refused(200)));
    }

    #[test]
    fn the_probability_falls_without_blue() {
        let mut law = GreenLoss { probability: 0.5, ..GreenLoss::new(PARAMETERS) };
        law.advance(at(500));
        assert_eq!(law.probability(), 0.5, "no packets of either colour");
        for period in 2..60 {
            law.served(Colour::Green, 200, Span::from_millis(1));
            law.advance(at(500 * period));
        }
        assert!(law.probability() < 0.01);
    }
}
