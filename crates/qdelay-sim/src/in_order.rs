//! Delay until data is in order, as seen by the application at the receiver of a TCP connection.
//!
//! A segment that a queue drops has no delay there, but its bytes are late for the application by the time that it takes to send
//! them again, and so is all that was sent after them and has to wait. From the first time that a segment was sent until it and
//! everything before it have arrived, that is one delay for each segment of new data.

use qdelay_core::{Span, Time};
use std::collections::VecDeque;

/// The segments of one connection whose data is not in order yet.
#[derive(Clone, Debug, Default)]
pub struct InOrder {
    /// The bytes up to the end of each, and when it was sent first.
    sent: VecDeque<(u64, Time)>,
    /// The bytes up to the end of the last.
    end: u64,
}

impl InOrder {
    /// A segment is sent that ends `end` bytes after the first; one that was sent before does not count.
    #[inline]
    pub fn sent(&mut self, now: Time, end: u64) {
        if end > self.end {
            self.end = end;
            self.sent.push_back((end, now));
        }
    }

    /// The first `bytes` are delivered to the application. Reports the delay of each segment that this completes.
    #[inline]
    pub fn received(&mut self, now: Time, bytes: u64, mut delay: impl FnMut(Span)) {
        while let Some(&(end, sent)) = self.sent.front()
            && end <= bytes
        {
            self.sent.pop_front();
            delay(now.since(sent));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }
    fn received(flow: &mut InOrder, ms: u64, bytes: u64) -> Vec<u64> {
        let mut delays = Vec::new();
        flow.received(at(ms), bytes, |delay| delays.push(delay.as_millis()));
        delays
    }

    /// Segments at 0, 1, 2 and 3 ms. The second is lost, and sent again at 40.
    #[test]
    fn what_is_lost_delays_what_came_after_it() {
        let mut flow = InOrder::default();
        for segment in 0..4 {
            flow.sent(at(segment), 1000 * (segment + 1));
        }
        assert_eq!(received(&mut flow, 10, 1000), [10]);
        assert_eq!(received(&mut flow, 12, 1000), [], "the third is there, but not in order");
        flow.sent(at(40), 2000);
        assert_eq!(received(&mut flow, 50, 4000), [49, 48, 47], "from the first time");
        flow.sent(at(60), 4500);
        assert_eq!(received(&mut flow, 61, 4400), [], "a part of it");
        assert_eq!(received(&mut flow, 62, 4500), [2]);
    }
}
