//! The loss event rate as the inverse of an average of the last eight loss intervals.
//!
//! A loss interval begins with the first lost packet of a loss event and ends before that of the next. The latest one is still
//! open and counts if that increases the average. Older intervals have less weight, and ever less after a long time without a
//! loss (history discounting).
//!
//! A flow with few packets per round trip may lose many of them in a single loss event. For flows of small packets, an
//! interval of at most two round trips therefore counts as that many intervals as packets were lost in it, each with its part
//! of the packets.
//!
//! Source: RFC 5348 sections 5.3 to 5.5; RFC 4828 for short intervals.

use qdelay_core::{Span, Time};

/// Number of intervals kept, `n`.
pub const INTERVALS: usize = 8;
/// Their weights, the latest first (section 5.4).
pub const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// General discounting goes no further than this (section 5.5, THRESHOLD).
const LEAST_DISCOUNT: f64 = 0.25;

/// The interval that has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its first packet, and when that was lost.
    start: u64,
    time: Time,
    /// Packets lost in it.
    losses: u64,
}

/// The intervals of one receiver.
#[derive(Clone, Debug)]
pub struct LossIntervals {
    /// Lengths in packets of those that have ended, the latest first: `I_1` to `I_n`.
    lengths: [f64; INTERVALS],
    /// Discount factor of each weight, `DF_i`.
    discounts: [f64; INTERVALS],
    /// Number of intervals that have ended.
    ended: usize,
    /// `None` before the first loss event.
    open: Option<Open>,
    discounting: bool,
    by_losses: bool,
}

impl LossIntervals {
    /// No loss event yet. `by_losses`: short intervals count by the packets lost in them.
    pub const fn new(discounting: bool, by_losses: bool) -> LossIntervals {
        LossIntervals {
            lengths: [0.0; INTERVALS],
            discounts: [1.0; INTERVALS],
            ended: 0,
            open: None,
            discounting,
            by_losses,
        }
    }

    /// Whether there was a loss event.
    pub const fn has_event(&self) -> bool {
        self.open.is_some()
    }

    /// The first loss event begins with packet `start` at `time`; the interval before it counts as `length` packets (section
    /// 6.3.1).
    pub fn begin(&mut self, start: u64, time: Time, length: f64) {
        self.push(length.max(1.0));
        self.open = Some(Open { start, time, losses: 1 });
    }

    /// Further packets are lost in the current loss event.
    pub fn more(&mut self, losses: u64) {
        if let Some(open) = &mut self.open {
            open.losses = open.losses.saturating_add(losses);
        }
    }

    /// A loss event begins with packet `start` at `time`, and ends the interval before.
    pub fn next(&mut self, start: u64, time: Time, rtt: Span) {
        let length = self.open.map_or(1.0, |open| self.length(&open, start, time, rtt));
        let discount = self.general_discount(length);
        for factor in &mut self.discounts {
            *factor *= discount;
        }
        self.push(length);
        self.open = Some(Open { start, time, losses: 1 });
    }

    /// Packets of an interval up to packet `end`, which comes at `time`.
    fn length(&self, open: &Open, end: u64, time: Time, rtt: Span) -> f64 {
        let packets = end.saturating_sub(open.start).max(1) as f64;
        let is_short = time.since(open.time) <= rtt * 2;
        if self.by_losses && is_short { (packets / open.losses as f64).max(1.0) } else { packets }
    }

    fn push(&mut self, length: f64) {
        self.lengths.copy_within(..INTERVALS - 1, 1);
        self.discounts.copy_within(..INTERVALS - 1, 1);
        self.lengths[0] = length;
        self.discounts[0] = 1.0;
        self.ended = (self.ended + 1).min(INTERVALS);
    }

    /// The loss event rate `p` when `highest` is the last packet that has come, now; 0 before the first loss event.
    pub fn loss_event_rate(&self, highest: u64, now: Time, rtt: Span) -> f64 {
        let Some(open) = self.open else { return 0.0 };
        let open = self.length(&open, highest.saturating_add(1), now, rtt);
        let discount = self.general_discount(open);
        // With the open interval, which takes the first weight from the others.
        let (mut packets, mut weights) = (open * WEIGHTS[0], WEIGHTS[0]);
        let shifted = self.lengths.iter().zip(&self.discounts).zip(&WEIGHTS[1..]);
        for ((length, factor), weight) in shifted.take(self.ended.saturating_sub(1)) {
            packets += length * weight * factor * discount;
            weights += weight * factor * discount;
        }
        let with_open = packets / weights;
        1.0 / with_open.max(self.mean()).max(1.0)
    }

    /// Average of the intervals that have ended.
    fn mean(&self) -> f64 {
        let (mut packets, mut weights) = (0.0, 0.0);
        let ended = self.lengths.iter().zip(&self.discounts).zip(&WEIGHTS);
        for ((length, factor), weight) in ended.take(self.ended) {
            packets += length * weight * factor;
            weights += weight * factor;
        }
        if weights > 0.0 { packets / weights } else { 0.0 }
    }

    /// The factor by which intervals before one of `latest` packets are discounted: 1 unless that is more than twice their
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

    /// Loss events at these packets, the first after `first` packets.
    fn intervals(discounting: bool, first: f64, starts: &[u64]) -> LossIntervals {
        let mut intervals = LossIntervals::new(discounting, false);
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
    fn one_loss_every_n_packets() {
        for n in [1u64, 10, 100] {
            let starts: Vec<u64> = (1..20).map(|k| k * n).collect();
            for discounting in [false, true] {
                let all = intervals(discounting, n as f64, &starts);
                assert!(near(p(&all, 20 * n - 1), 1.0 / n as f64), "{n}");
                // Right after a loss event the open interval is short, and does not count.
                assert!(near(p(&all, 19 * n), 1.0 / n as f64), "{n}");
            }
        }
    }

    /// Eight intervals of 10 and an open one of 30: (30 + 10 (1 + 1 + 1 + 0.8 + 0.6 + 0.4 + 0.2)) / 6.
    #[test]
    fn the_open_interval_counts_where_it_helps() {
        let starts: Vec<u64> = (1..=9).map(|k| k * 10).collect();
        let all = intervals(false, 10.0, &starts);
        assert!(near(p(&all, 119), 6.0 / (30.0 + 10.0 * 5.0)));
        // Discounted: DF = 20 / 30, so that the others weigh 5 * 2 / 3.
        let all = intervals(true, 10.0, &starts);
        let weight = 5.0 * 2.0 / 3.0;
        assert!(near(p(&all, 119), (1.0 + weight) / (30.0 + 10.0 * weight)));
        // No further than a quarter.
        let long = (1.0 + 5.0 / 4.0) / (10_000.0 + 10.0 * 5.0 / 4.0);
        assert!(near(p(&all, 90 + 9_999), long));
    }

    /// After the long interval has ended, those before it keep what weight they had, and it has the full one.
    #[test]
    fn discounts_last() {
        let mut starts: Vec<u64> = (1..=9).map(|k| k * 10).collect();
        starts.push(90 + 1000);
        let all = intervals(true, 10.0, &starts);
        let old = 0.25 * (1.0 + 1.0 + 1.0 + 0.8 + 0.6 + 0.4 + 0.2);
        assert!(near(p(&all, 1090), (1.0 + old) / (1000.0 + 10.0 * old)));
    }

    /// Old intervals are forgotten after eight others.
    #[test]
    fn the_past_is_forgotten() {
        let mut starts = vec![100_000];
        starts.extend((1..=8).map(|k| 100_000 + 7 * k));
        let all = intervals(false, 1e9, &starts);
        assert!(near(p(&all, 100_056), 1.0 / 7.0));
    }

    #[test]
    fn never_more_than_one_event_a_packet() {
        let all = intervals(true, 0.0, &[5, 5, 4, 3]);
        assert_eq!(p(&all, 0), 1.0);
    }

    /// Four lost of ten packets in one round trip count as four intervals of 2.5 where losses are counted, and in a longer time
    /// as one of ten.
    #[test]
    fn short_intervals() {
        let rtt = Span::from_millis(100);
        for (by_losses, millis, expected) in [(true, 200, 2.5), (true, 201, 10.0), (false, 200, 10.0)] {
            let mut intervals = LossIntervals::new(false, by_losses);
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
