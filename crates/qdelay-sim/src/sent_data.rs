//! Delays of the data of a TCP connection, from the first transmission of a segment: until the segment has arrived, and until its data
//! is in order.
//!
//! A segment that a queue drops has no delay there, but its data is late by the time until its retransmission arrives. Data sent
//! after it arrives in time and is late for the application, which waits for the missing segment.

use qdelay_core::{Span, Time};
use std::collections::VecDeque;

/// Segments of one connection whose data is not in order yet.
#[derive(Clone, Debug, Default)]
pub struct SentData {
    segments: VecDeque<SentSegment>,
    /// End of the data sent so far, in bytes from the first.
    end: u64,
}

/// A segment as it was sent first.
#[derive(Clone, Copy, Debug)]
struct SentSegment {
    /// Data that has not arrived, in bytes from the first; empty after its arrival. A retransmission may have a part.
    missing: (u64, u64),
    end: u64,
    sent: Time,
}

impl SentSegment {
    /// Takes off what has arrived; returns true if that was the last of it. A part from the middle is left missing: no sender repeats
    /// such a part alone.
    #[inline]
    fn take(&mut self, first: u64, end: u64) -> bool {
        let (from, to) = self.missing;
        if from == to || first > from && end < to {
            return false;
        }
        if first <= from {
            self.missing.0 = end.clamp(from, to);
        } else {
            self.missing.1 = first.clamp(from, to);
        }
        self.missing.0 == self.missing.1
    }
}

impl SentData {
    /// Data up to byte `end` is sent; data that was sent before does not count.
    #[inline]
    pub fn sent(&mut self, now: Time, end: u64) {
        if end > self.end {
            self.segments.push_back(SentSegment { missing: (self.end, end), end, sent: now });
            self.end = end;
        }
    }

    /// The bytes from `first` to `end` arrive. Reports the delay of each segment that this completes.
    #[inline]
    pub fn arrived(&mut self, now: Time, first: u64, end: u64, mut delay: impl FnMut(Span)) {
        // Without losses it is the first segment.
        let from = match self.segments.front() {
            Some(front) if front.end > first => 0,
            _ => self.segments.partition_point(|segment| segment.end <= first),
        };
        for segment in self.segments.range_mut(from..).take_while(|segment| segment.missing.0 < end) {
            if segment.take(first, end) {
                delay(now.since(segment.sent));
            }
        }
    }

    /// The first `bytes` are delivered to the application. Reports the delay of each segment that this completes.
    #[inline]
    pub fn in_order(&mut self, now: Time, bytes: u64, mut delay: impl FnMut(Span)) {
        while let Some(segment) = self.segments.front()
            && segment.end <= bytes
        {
            delay(now.since(segment.sent));
            self.segments.pop_front();
        }
    }

    /// Number of segments that have not arrived.
    pub fn missing(&self) -> u64 {
        self.segments.iter().filter(|segment| segment.missing.0 < segment.missing.1).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }
    fn in_order(flow: &mut SentData, ms: u64, bytes: u64) -> Vec<u64> {
        let mut delays = Vec::new();
        flow.in_order(at(ms), bytes, |delay| delays.push(delay.as_millis()));
        delays
    }
    fn arrived(flow: &mut SentData, ms: u64, first: u64, end: u64) -> Vec<u64> {
        let mut delays = Vec::new();
        flow.arrived(at(ms), first, end, |delay| delays.push(delay.as_millis()));
        delays
    }

    /// Segments at 0, 1, 2 and 3 ms. The second is lost, and sent again at 40.
    #[test]
    fn a_lost_segment_delays_the_data_after_it() {
        let mut flow = SentData::default();
        for segment in 0..4 {
            flow.sent(at(segment), 1000 * (segment + 1));
        }
        assert_eq!(arrived(&mut flow, 10, 0, 1000), [10]);
        assert_eq!(in_order(&mut flow, 10, 1000), [10]);
        assert_eq!(arrived(&mut flow, 12, 2000, 3000), [10], "the third is there");
        assert_eq!(in_order(&mut flow, 12, 1000), [], "but not in order");
        assert_eq!(arrived(&mut flow, 12, 2000, 3000), [], "once only");
        assert_eq!(arrived(&mut flow, 13, 3000, 4000), [10]);
        assert_eq!(flow.missing(), 1);
        flow.sent(at(40), 2000);
        assert_eq!(arrived(&mut flow, 50, 1000, 2000), [49], "from the first time");
        assert_eq!(in_order(&mut flow, 50, 4000), [49, 48, 47]);
        assert_eq!(flow.missing(), 0);
    }

    /// Retransmissions whose bounds are not those of the first transmission.
    #[test]
    fn parts_complete_a_segment() {
        let mut flow = SentData::default();
        flow.sent(at(0), 1000);
        flow.sent(at(1), 3000);
        assert_eq!(
            arrived(&mut flow, 10, 500, 2000),
            [],
            "the end of the first, the beginning of the second"
        );
        assert_eq!(flow.missing(), 2);
        assert_eq!(arrived(&mut flow, 12, 0, 600), [12]);
        assert_eq!(arrived(&mut flow, 13, 0, 3000), [12]);
        assert_eq!(in_order(&mut flow, 13, 3000), [13, 12]);
        flow.sent(at(60), 4500);
        assert_eq!(in_order(&mut flow, 61, 4400), [], "a part of it");
        assert_eq!(in_order(&mut flow, 62, 4500), [2]);
    }
}
