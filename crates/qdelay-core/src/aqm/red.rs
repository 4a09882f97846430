//! RED, random early detection: arrivals are dropped or marked at random, more often the longer the average
//! queue is.
//!
//! Source: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance" (1993), section 4
//! (the algorithm), section 6 (the average) and section 7 (from probability to decision); Floyd's note
//! "Recommendation on using the gentle variant of RED" (2000). RFC 2309 recommended RED; RFC 7567, which
//! replaces RFC 2309, does not name RED as the default any more.
//!
//! Parameters:
//! * `mode`: unit of queue and thresholds, packets or bytes (packets).
//! * `min`, `max`: thresholds on the average, in packets or bytes (5 and 15 packets). Below `min` nothing is
//!   dropped.
//! * `probability`: drop probability when the average reaches `max` (max_p, 0.1).
//! * `weight`: weight of the present length in the average, per arrival (w_q, 0.002).
//! * `gentle`: between `max` and twice `max` the probability rises from `probability` to 1; otherwise every
//!   arrival from `max` on is forced out (on).
//! * `wait`: spread the drops evenly instead of geometrically, by counting the arrivals since the last drop
//!   (section 7's second method; on).
//! * `draw`: time at which the random number is drawn. `arrival`: at each arrival, with a probability that
//!   grows with the count, so that gaps are uniform at a constant average. `drop`: once after each drop, as
//!   in Linux (`red_action`, `red_random`); the next drop is where probability times count reaches the
//!   number. At a constant average both are the same. With `drop`, a rising average leads to an earlier drop
//!   and a falling average to a later one.
//! * `mtu`: size of a typical packet (1500 bytes). In mode `bytes` the probability of a packet is also scaled
//!   by its size over `mtu`.
//! * `rate`: the link's rate (10 Mbit/s). With `mtu` it gives the number of packets that an idle link could
//!   have sent; the average is aged by as many arrivals at an empty queue.
//! * `ageing`: age the average over idle time (on). When off, an arrival at an empty queue counts as any
//!   other. Linux's RED below HTB or TBF behaves so: these never ask an empty queue for a packet, so RED does
//!   not learn that the queue is empty, and after a burst the average stays high until some hundred packets
//!   have arrived.
//!
//! The host calls [`Red::admit`] for every arrival, whether or not there is room for it, and [`Red::emptied`]
//! when a departure leaves the queue empty. The queue may be a *virtual* one: the law depends only on the
//! arguments of `admit`. The host decides whether an early verdict becomes a mark or a drop. An arrival costs
//! some multiplications, one or two divisions where chance decides, and a power where the queue was empty.
//!
//! Differences from the reference:
//! * The arithmetic is in floating point. Linux (`red_calc_qavg`, `red_calc_qavg_from_idle_time`) has fixed
//!   point, weights that are powers of two, bytes alone, and a table for the idle time that ends at 255
//!   cells.
//! * Linux has no gentle variant; ns-2 has it off unless asked, ns-3 on, as here.
//! * `probability` is 0.1, as Floyd's "RED: discussions of setting parameters" (1997) advises; the 1993 paper
//!   has 1/50.
//! * The idle time is counted from the departure that left the queue empty, as in the paper. Linux counts
//!   from the first dequeue that finds the queue empty, and only once per idle time: here, as in the paper's
//!   pseudo-code, an arrival that is dropped at an empty queue does not reset the time at which it became
//!   empty, and the next arrival ages the average by all of it again.
//! * After an arrival that was forced out the count is 0, as in the paper; with `draw=drop` -1, as in Linux
//!   (`red_action`).

use crate::packet::Backlog;
use crate::{DropReason, MarkReason, Random, Rate, Time};

/// The unit in which RED measures a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedMode {
    /// Packets.
    #[default]
    Packets,
    /// Bytes (IP bytes); a large packet is dropped more often than a small one.
    Bytes,
}

/// The time at which the random number that decides a drop is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedDraw {
    /// At each arrival, as in the paper's section 4.
    #[default]
    Arrival,
    /// After each drop, for the next one, as in Linux.
    Drop,
}

/// The parameters of RED.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedParameters {
    /// The unit of the thresholds.
    pub mode: RedMode,
    /// Average below which nothing is dropped (min_th), in the unit of `mode`; at least 0.
    pub min: f64,
    /// Average at which the probability reaches `probability` (max_th), in the unit of `mode`; more than
    /// `min`.
    pub max: f64,
    /// The probability at `max` (max_p), above 0, at most 1.
    pub probability: f64,
    /// Weight of the present length (w_q), above 0, at most 1.
    pub weight: f64,
    /// Let the probability rise on to 1 at twice `max`.
    pub gentle: bool,
    /// Spread the drops evenly.
    pub wait: bool,
    /// Time at which the random number is drawn; [`RedDraw::Drop`] spreads the drops evenly too.
    pub draw: RedDraw,
    /// Size of a typical packet (IP bytes), at least 1.
    pub mtu: u64,
    /// Rate of the link, more than zero; used to age the average over idle time.
    pub rate: Rate,
    /// True if the average ages while the queue is empty.
    pub ageing: bool,
}

impl RedParameters {
    /// Default of `min`, in full packets (Floyd 1997).
    pub const MIN_PACKETS: f64 = 5.0;
    /// Default of `max`, in full packets (Floyd 1997).
    pub const MAX_PACKETS: f64 = 15.0;
}

/// The verdict of RED on an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedVerdict {
    /// Forward the packet unchanged.
    Forward,
    /// Chance chose the packet: mark or drop it.
    Early,
    /// The average is beyond the thresholds: drop the packet (RFC 3168 section 7: do not mark it).
    Forced,
}

/// The law of RED.
#[derive(Clone, Debug)]
pub struct Red {
    parameters: RedParameters,
    /// Time that the link takes for `mtu` bytes, in nanoseconds.
    packet_nanos: f64,
    /// The average length, in packets or bytes (avg).
    average: f64,
    /// Arrivals since the last early or forced verdict, while the average is at least `min`; the paper's
    /// `count`, with `None` for -1.
    since_last: Option<u64>,
    /// Random number, 0 to 1, that the product of probability and count has to reach for the next drop; used
    /// with [`RedDraw::Drop`].
    drawn: f64,
    /// Time at which the queue became empty (q_time); `None` if it never has.
    empty_since: Option<Time>,
}

impl Red {
    /// Drop reason: the drop probability chose the packet on arrival.
    pub const EARLY: DropReason = DropReason::new("red");
    /// Drop reason: the packet arrived while the average was above the upper threshold.
    pub const FORCED: DropReason = DropReason::new("red_forced");
    /// Mark reason: the drop probability chose the packet on arrival.
    pub const MARK: MarkReason = MarkReason::new("red");

    /// The law before any packet, with an average of zero.
    pub fn new(parameters: RedParameters) -> Red {
        Red {
            packet_nanos: parameters.mtu as f64 * 8e9 / parameters.rate.as_bps() as f64,
            average: 0.0,
            since_last: None,
            drawn: 1.0,
            empty_since: None,
            parameters,
        }
    }

    /// The verdict on an arrival of `packet_bytes` at a queue that holds `queued`, without the arrival. Draws from
    /// `random` exactly once where chance decides, with [`RedDraw::Drop`] once for each drop.
    #[inline]
    pub fn admit(
        &mut self,
        queued: Backlog,
        packet_bytes: u32,
        now: Time,
        random: &mut Random,
    ) -> RedVerdict {
        self.update(queued, now);
        let parameters = &self.parameters;
        if self.average < parameters.min {
            self.since_last = None;
            return RedVerdict::Forward;
        }
        let Some(probability) = self.probability() else {
            self.since_last = (parameters.draw == RedDraw::Arrival).then_some(0);
            return RedVerdict::Forced;
        };
        let probability = match parameters.mode {
            RedMode::Packets => probability,
            RedMode::Bytes => (probability * f64::from(packet_bytes) / parameters.mtu as f64).min(1.0),
        };
        // No random number is drawn below `min` or where every arrival is forced out, so that a draw belongs
        // to each decision by chance.
        if parameters.draw == RedDraw::Drop {
            return self.admit_by_product(probability, random);
        }
        let count = self.since_last.map_or(0, |count| count.saturating_add(1));
        let is_chosen = random.unit() < spread(probability, if parameters.wait { count } else { 0 });
        self.since_last = Some(if is_chosen { 0 } else { count });
        if is_chosen { RedVerdict::Early } else { RedVerdict::Forward }
    }

    /// Linux's `red_action`: the first arrival from `min` on draws, and each later one compares.
    fn admit_by_product(&mut self, probability: f64, random: &mut Random) -> RedVerdict {
        let count = self.since_last.map_or(0, |count| count.saturating_add(1));
        let is_chosen = count > 0 && probability * count as f64 >= self.drawn;
        self.since_last = Some(if is_chosen { 0 } else { count });
        if count == 0 || is_chosen {
            self.drawn = random.unit();
        }
        if is_chosen { RedVerdict::Early } else { RedVerdict::Forward }
    }

    /// Tells the law that a departure left the queue empty.
    #[inline]
    pub fn emptied(&mut self, now: Time) {
        self.empty_since = Some(now);
    }

    /// The average length in packets or bytes, as of the last arrival.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// The probability at the present average before packet size and count (p_b); 0 below `min`, `None` where every
    /// arrival is forced out.
    pub fn probability(&self) -> Option<f64> {
        let RedParameters { min, max, probability, gentle, .. } = self.parameters;
        let average = self.average;
        if average < min {
            Some(0.0)
        } else if average < max {
            Some(probability * (average - min) / (max - min))
        } else if gentle && average < 2.0 * max {
            Some(probability + (1.0 - probability) * (average - max) / max)
        } else {
            None
        }
    }

    /// Updates the moving average or, where the queue was empty, ages it (section 6).
    #[inline]
    fn update(&mut self, queued: Backlog, now: Time) {
        let keep = 1.0 - self.parameters.weight;
        if let (0, Some(since), true) = (queued.packets, self.empty_since, self.parameters.ageing) {
            let packets = now.since(since).as_nanos() as f64 / self.packet_nanos;
            self.average *= libm::pow(keep, packets);
            return;
        }
        let length = match self.parameters.mode {
            RedMode::Packets => queued.packets,
            RedMode::Bytes => queued.bytes,
        };
        self.average = keep * self.average + self.parameters.weight * length as f64;
    }
}

/// The probability p_a of section 7 that makes the gap between two drops uniform, `count` arrivals after the
/// last drop.
#[inline]
fn spread(probability: f64, count: u64) -> f64 {
    let passed = count as f64 * probability;
    if passed >= 1.0 { 1.0 } else { probability / (1.0 - passed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const LAW: RedParameters = RedParameters {
        mode: RedMode::Packets,
        min: 5.0,
        max: 15.0,
        probability: 0.1,
        weight: 0.002,
        gentle: true,
        wait: true,
        draw: RedDraw::Arrival,
        mtu: 1500,
        rate: Rate::from_bps(10_000_000),
        ageing: true,
    };

    fn random() -> Random {
        Random::derive(1, "node", "red")
    }
    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }
    fn packets(packets: u64) -> Backlog {
        Backlog { packets, bytes: 1500 * packets }
    }
    /// A law with this average, which arrivals do not change.
    fn steady(parameters: RedParameters, average: f64) -> Red {
        Red { average, ..Red::new(RedParameters { weight: 0.0, ..parameters }) }
    }
    fn admit(law: &mut Red, random: &mut Random) -> RedVerdict {
        law.admit(packets(10), 1500, Time::ZERO, random)
    }
    fn early(law: &mut Red, bytes: u32, n: usize) -> usize {
        let mut random = random();
        let verdicts = (0..n).map(|_| law.admit(packets(10), bytes, Time::ZERO, &mut random));
        verdicts.filter(|verdict| *verdict == RedVerdict::Early).count()
    }

    #[test]
    fn defaults() {
        assert_eq!(RedParameters::default(), LAW);
    }

    /// Gaps between drops at a constant average are uniform from 1 to 1/p with both kinds of draw: 20 for p =
    /// 0.05.
    #[test]
    fn both_draws_make_the_same_gaps_at_a_constant_average() {
        let mut law = steady(RedParameters { draw: RedDraw::Drop, ..LAW }, 10.0);
        let mut random = random();
        let (mut gaps, mut since) = (Vec::new(), 0);
        for _ in 0..200_000 {
            since += 1;
            if admit(&mut law, &mut random) == RedVerdict::Early {
                gaps.push(since);
                since = 0;
            }
        }
        let gaps = &gaps[1..];
        assert!(gaps.iter().all(|gap| (1..=20).contains(gap)));
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!((mean - 10.5).abs() < 0.15, "{mean}");
    }

    /// The average falls as fast as the count grows, so the product never reaches the number drawn.
    #[test]
    fn a_falling_average_delays_the_drop() {
        let mut random = random();
        let mut law = steady(RedParameters { draw: RedDraw::Drop, ..LAW }, 14.0);
        let chosen = (2..400).filter(|count| {
            law.average = 5.0 + 9.0 / f64::from(*count);
            admit(&mut law, &mut random) == RedVerdict::Early
        });
        // The product stays below 0.09; one number in eleven is smaller.
        assert!(chosen.count() <= 1);
        assert_eq!(
            admit(
                &mut steady(RedParameters { gentle: false, draw: RedDraw::Drop, ..LAW }, 20.0),
                &mut random
            ),
            RedVerdict::Forced
        );
    }

    #[test]
    fn the_average_moves_by_its_weight() {
        let mut law = Red::new(RedParameters { weight: 0.25, ..LAW });
        admit(&mut law, &mut random());
        assert_eq!(law.average(), 2.5);
        admit(&mut law, &mut random());
        assert_eq!(law.average(), 4.375);
    }

    #[test]
    fn in_byte_mode_the_average_counts_bytes() {
        let mut law = Red::new(RedParameters { weight: 0.25, mode: RedMode::Bytes, ..LAW });
        law.admit(Backlog { packets: 3, bytes: 1000 }, 1500, Time::ZERO, &mut random());
        assert_eq!(law.average(), 250.0);
    }

    /// 1500 bytes take 1.2 ms at 10 Mbit/s.
    #[test]
    fn idle_time_counts_as_packets_that_could_have_been_sent() {
        let mut law = Red { average: 8.0, ..Red::new(RedParameters { weight: 0.5, ..LAW }) };
        law.emptied(at(1000));
        law.admit(packets(0), 1500, at(1000 + 2 * 1200), &mut random());
        assert!((law.average() - 2.0).abs() < 1e-12);
        law.emptied(at(5000));
        law.admit(packets(0), 1500, at(5000), &mut random());
        assert!((law.average() - 2.0).abs() < 1e-12, "no time, no ageing");
        law.admit(packets(1), 1500, at(9000), &mut random());
        assert!((law.average() - 1.5).abs() < 1e-12, "not empty: as ever");
    }

    #[test]
    fn an_empty_queue_that_was_never_emptied_counts_as_length_zero() {
        let mut law = Red { average: 8.0, ..Red::new(RedParameters { weight: 0.5, ..LAW }) };
        law.admit(packets(0), 1500, at(1000), &mut random());
        assert_eq!(law.average(), 4.0);
    }

    #[test]
    fn the_probability_rises_in_two_slopes() {
        let probability = |average| steady(LAW, average).probability();
        assert_eq!(probability(4.9), Some(0.0));
        assert_eq!(probability(5.0), Some(0.0));
        assert!((probability(10.0).unwrap() - 0.05).abs() < 1e-12);
        assert_eq!(probability(15.0), Some(0.1));
        assert!((probability(22.5).unwrap() - 0.55).abs() < 1e-12);
        assert_eq!(probability(30.0), None);
        let probability = |average| steady(RedParameters { gentle: false, ..LAW }, average).probability();
        assert!(probability(14.9).is_some());
        assert_eq!(probability(15.0), None);
    }

    #[test]
    fn below_min_nothing_is_drawn_and_the_count_is_forgotten() {
        let mut law = Red { since_last: Some(7), ..steady(LAW, 4.9) };
        let mut random = random();
        assert_eq!(admit(&mut law, &mut random), RedVerdict::Forward);
        assert_eq!(law.since_last, None);
        assert_eq!(random.bits(), self::random().bits());
    }

    #[test]
    fn beyond_the_thresholds_every_arrival_is_dropped_without_a_draw() {
        for (gentle, average) in [(true, 30.0), (false, 15.0)] {
            let mut law = Red { since_last: Some(7), ..steady(RedParameters { gentle, ..LAW }, average) };
            let mut random = random();
            assert_eq!(admit(&mut law, &mut random), RedVerdict::Forced);
            assert_eq!(law.since_last, Some(0));
            assert_eq!(random.bits(), self::random().bits());
        }
    }

    #[test]
    fn between_the_thresholds_each_arrival_draws_once() {
        let (mut law, mut random, mut reference) = (steady(LAW, 10.0), random(), random());
        for n in 1..=100 {
            admit(&mut law, &mut random);
            reference.bits();
            assert_eq!(random.clone().bits(), reference.clone().bits(), "{n}");
        }
    }

    /// With a probability of 1/20: uniform over 1..=20 the first time, when the count starts at 0, and over 1..=19
    /// afterwards, when it starts at 1.
    #[test]
    fn drops_are_spread_evenly() {
        let (mut law, mut random) = (steady(LAW, 10.0), random());
        let mut gaps = Vec::new();
        let mut gap = 0;
        while gaps.len() < 20_000 {
            gap += 1;
            if admit(&mut law, &mut random) == RedVerdict::Early {
                gaps.push(gap);
                gap = 0;
            }
        }
        assert!(gaps[1..].iter().all(|gap| (1..=19).contains(gap)));
        let share = |n| gaps.iter().filter(|gap| **gap == n).count() as f64 / 20_000.0;
        assert!((1..=19).all(|n| (share(n) - 1.0 / 19.0).abs() < 0.01));
    }

    #[test]
    fn without_wait_drops_are_independent() {
        let mut law = steady(RedParameters { wait: false, ..LAW }, 10.0);
        let drops = early(&mut law, 1500, 100_000);
        assert!((4700..5300).contains(&drops), "{drops}");
    }

    #[test]
    fn the_probability_with_the_count_never_leaves_its_range() {
        assert_eq!(spread(0.25, 0), 0.25);
        assert_eq!(spread(0.25, 2), 0.5);
        assert_eq!([spread(0.25, 4), spread(0.25, u64::MAX), spread(1.0, 1)], [1.0; 3]);
        assert_eq!(spread(0.0, u64::MAX), 0.0);
    }

    #[test]
    fn in_byte_mode_small_packets_are_spared() {
        let parameters =
            RedParameters { mode: RedMode::Bytes, min: 7500.0, max: 22500.0, wait: false, ..LAW };
        let drops = |bytes| early(&mut steady(parameters, 15000.0), bytes, 100_000);
        assert!((4700..5300).contains(&drops(1500)));
        assert!((400..600).contains(&drops(150)));
        assert_eq!(drops(60_000), 100_000, "at most 1");
    }
}
