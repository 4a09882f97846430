//! The loss event rate: the inverse of a weighted average of the last eight loss intervals.
//!
//! A loss interval begins with the first lost packet of a loss event and ends before the first lost packet of the next event. The latest interval
//! is still open, and counts only if it increases the average. Older intervals have less weight, and still less after a long time without
//! a loss (history discounting).
//!
//! A flow with few packets per round trip may lose many packets in one loss event. For flows of small packets, an
//! interval of at most two round trips in which `n` packets were lost therefore counts as `n` intervals of equal length.
//!
//! Source: RFC 5348 sections 5.3 to 5.5; RFC 4828 for short intervals.

use qdelay_core::{Span, Time};

/// Number of intervals kept, `n`.
pub const INTERVALS: usize = 8;
/// Weights of the intervals, the latest first (section 5.4).
pub const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// Smallest factor of general discounting (section 5.5, THRESHOLD).
const LEAST_DISCOUNT: f64 = 0.25;

/// The open interval, which no further loss event has ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Number of the first lost packet.
    start: u64,
    time: Time,
    /// Packets lost in the interval.
    losses: u64,
}

/// Number of times that a loss interval counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossCount {
    /// Once, for its loss event (RFC 5348).
    #[default]
    Event,
    /// Once per packet lost in it, if it lasts at most two round trips (RFC 4828).
    Short,
    /// Once per packet lost in it, so that `p` is a weighted loss ratio, such as the fraction lost in reports of RTCP (RFC 3550 section 6.4.1).
    Packet,
}

/// Loss intervals of one receiver.
#[derive(Clone, Debug)]
pub struct LossIntervals {
    /// Lengths of the ended intervals, packets, the latest first: `I_1` to `I_n`.
    lengths: [f64; INTERVALS],
    /// Discount factor of each weight, `DF_i`.
    discounts: [f64; INTERVALS],
    /// Number of intervals that have ended.
    ended: usize,
    /// The open interval; `None` before the first loss event.
    open: Option<Open>,
    discounting: bool,
    count: LossCount,
}

impl LossIntervals {
    /// Empty history. `discounting`: old intervals are discounted (section 5.5).
    pub const fn new(discounting: bool, count: LossCount) -> LossIntervals {
        LossIntervals {
            lengths: [0.0; INTERVALS],
            discounts: [1.0; INTERVALS],
            ended: 0,
            open: None,
            discounting,
            count,
        }
    }

    /// Whether a loss event has occurred.
    pub const fn has_event(&self) -> bool {
        self.open.is_some()
    }

    /// Records the first loss event, which begins with packet `start` at `time`; the interval before it counts as `length` packets (section
    /// 6.3.1).
    pub fn begin(&mut self, start: u64, time: Time, length: f64) {
        self.push(length.max(1.0));
        self.open = Some(Open { start, time, losses: 1 });
    }

    /// Records `losses` further lost packets of the current loss event.
    pub fn more(&mut self, losses: u64) {
        if let Some(open) = &mut self.open {
            open.losses = open.losses.saturating_add(losses);
        }
    }

    /// Records a further loss event, which begins with packet `start` at `time` and ends the open interval. `rtt`: the sender's round trip.
    pub fn next(&mut self, start: u64, time: Time, rtt: Span) {
        let length = self.open.map_or(1.0, |open| self.length(&open, start, time, rtt));
        let discount = self.general_discount(length);
        for factor in &mut self.discounts {
            *factor *= discount;
        }
        self.push(length);
        self.open = Some(Open { start, time, losses: 1 });
    }

    /// Length of an interval up to packet `end`, which arrives at `time`, packets.
    fn length(&self, open: &Open, end: u64, time: Time, rtt: Span) -> f64 {
        let packets = end.saturating_sub(open.start).max(1) as f64;
        let is_shared = match self.count {
            LossCount::Event => false,
            LossCount::Short => time.since(open.time) <= rtt * 2,
            LossCount::Packet => true,
        };
        if is_shared { (packets / open.losses as f64).max(1.0) } else { packets }
    }

    fn push(&mut self, length: f64) {
        self.lengths.copy_within(..INTERVALS - 1, 1);
        self.discounts.copy_within(..INTERVALS - 1, 1);
        self.lengths[0] = length;
        self.discounts[0] = 1.0;
        self.ended = (self.ended + 1).min(INTERVALS);
    }

    /// Loss event rate `p`, 0 to 1, with `highest` as the highest packet received by `now`; 0 before the first loss event.
    pub fn loss_event_rate(&self, highest: u64, now: Time, rtt: Span) -> f64 {
        let Some(open) = self.open else { return 0.0 };
        let open = self.length(&open, highest.saturating_add(1), now, rtt);
        let discount = self.general_discount(open);
        // Average with the open interval: it takes the first weight, and each ended interval the next one.
        let (mut packets, mut weights) = (open * WEIGHTS[0], WEIGHTS[0]);
        let shifted = self.lengths.iter().zip(&self.discounts).zip(&WEIGHTS[1..]);
        for ((length, factor), weight) in shifted.take(self.ended.saturating_sub(1)) {
            packets += length * weight * factor * discount;
            weights += weight * factor * discount;
        }
        let with_open = packets / weights;
        debug_assert!(with_open.is_finite(), "an average of {packets} packets over {weights}");
        1.0 / with_open.max(self.mean()).max(1.0)
    }

    /// Weighted average of the ended intervals, packets.
    fn mean(&self) -> f64 {
        let (mut packets, mut weights) = (0.0, 0.0);
        let ended = self.lengths.iter().zip(&self.discounts).zip(&WEIGHTS);
        for ((length, factor), weight) in ended.take(self.ended) {
            packets += length * weight * factor;
            weights += weight * factor;
        }
        if weights > 0.0 { packets / weights } else { 0.0 }
    }

    /// Discount factor of the intervals before one of `latest` packets: 1 unless `latest` is more than twice their
    /// average (section 5.5, DF).
    fn general_discount(&self, latest: f64) -> f64 {
        let twice = 2.0 * self.mean();
        if self.discounting && latest > twice { (twice / latest).max(LEAST_DISCOUNT) } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// Intervals of loss events at the packets `starts`; the interval before the first counts as `first` packets.
    fn intervals(discounting: bool, first: f64, starts: &[u64]) -> LossIntervals {
        let mut intervals = LossIntervals::new(discounting, LossCount::Event);
        assert_eq!(p(&intervals, 1000), 0.0);
        for (index, start) in starts.iter().enumerate() {
            if index == 0 {
                intervals.begin(*start, Time::ZERO, first);
            } else {
                intervals.next(*start, Time::ZERO, Span::ZERO);
            }
        }
        intervals
    }

    fn p(intervals: &LossIntervals, highest: u64) -> f64 {
        intervals.loss_event_rate(highest, Time::ZERO, Span::ZERO)
    }

    fn near(value: f64, expected: f64) -> bool {
        (value / expected - 1.0).abs() < 1e-12
    }

    #[test]
    fn one_loss_every_n_packets_gives_a_rate_of_1_in_n() {
        for n in [1u64, 10, 100] {
            let starts: Vec<u64> = (1..20).map(|k| k * n).collect();
            for discounting in [false, true] {
                let all = intervals(discounting, n as f64, &starts);
                assert!(near(p(&all, 20 * n - 1), 1.0 / n as f64), "{n}");
                // Right after a loss event the open interval is short and does not count.
                assert!(near(p(&all, 19 * n), 1.0 / n as f64), "{n}");
            }
        }
    }

    /// Eight intervals of 10 and an open one of 30: (30 + 10 (1 + 1 + 1 + 0.8 + 0.6 + 0.4 + 0.2)) / 6.
    #[test]
    fn the_open_interval_counts_if_it_increases_the_average() {
        let starts: Vec<u64> = (1..=9).map(|k| k * 10).collect();
        let all = intervals(false, 10.0, &starts);
        assert!(near(p(&all, 119), 6.0 / (30.0 + 10.0 * 5.0)));
        // With discounting DF = 20 / 30, so that the other intervals weigh 5 * 2 / 3.
        let all = intervals(true, 10.0, &starts);
        let weight = 5.0 * 2.0 / 3.0;
        assert!(near(p(&all, 119), (1.0 + weight) / (30.0 + 10.0 * weight)));
        // DF is at least a quarter.
        let long = (1.0 + 5.0 / 4.0) / (10_000.0 + 10.0 * 5.0 / 4.0);
        assert!(near(p(&all, 90 + 9_999), long));
    }

    /// After a long interval has ended, it has full weight and the intervals before it keep their discounted weights.
    #[test]
    fn discounts_remain_after_the_long_interval_has_ended() {
        let mut starts: Vec<u64> = (1..=9).map(|k| k * 10).collect();
        starts.push(90 + 1000);
        let all = intervals(true, 10.0, &starts);
        let old = 0.25 * (1.0 + 1.0 + 1.0 + 0.8 + 0.6 + 0.4 + 0.2);
        assert!(near(p(&all, 1090), (1.0 + old) / (1000.0 + 10.0 * old)));
    }

    #[test]
    fn an_interval_has_no_weight_after_eight_later_ones() {
        let mut starts = vec![100_000];
        starts.extend((1..=8).map(|k| 100_000 + 7 * k));
        let all = intervals(false, 1e9, &starts);
        assert!(near(p(&all, 100_056), 1.0 / 7.0));
    }

    #[test]
    fn the_loss_event_rate_is_at_most_one() {
        let all = intervals(true, 0.0, &[5, 5, 4, 3]);
        assert_eq!(p(&all, 0), 1.0);
    }

    /// Four losses among ten packets in one round trip count as four intervals of 2.5 packets, unless only events count; over a longer time they count
    /// as one interval of ten, unless packets count.
    #[test]
    fn a_short_interval_counts_once_per_lost_packet() {
        let rtt = Span::from_millis(100);
        let (event, short, packet) = (LossCount::Event, LossCount::Short, LossCount::Packet);
        let cases = [
            (short, 200, 2.5),
            (short, 201, 10.0),
            (event, 200, 10.0),
            (packet, 200, 2.5),
            (packet, 201, 2.5),
        ];
        for (count, millis, expected) in cases {
            let mut intervals = LossIntervals::new(false, count);
            intervals.begin(0, Time::ZERO, 1e9);
            for event in 1..=8u64 {
                intervals.more(3);
                intervals.next(10 * event, Time::ZERO + Span::from_millis(millis * event), rtt);
            }
            let now = Time::ZERO + Span::from_millis(millis * 8);
            assert!(near(intervals.loss_event_rate(80, now, rtt), 1.0 / expected));
        }
    }
}
