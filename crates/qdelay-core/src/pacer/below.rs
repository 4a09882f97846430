//! What a pacer believes of the buffer below it: what it was told last, and what it sent since.
//!
//! A bearer with something to send is reported in every TTI, so that a long silence while something was sent means that
//! it is gone unreported: dropped, or the report was lost. Then the buffer is taken for empty, or nothing would ever go.
//!
//! Above an empty buffer a packet goes from the time on that was promised, though a law that begins anew in every TTI would then hold
//! it back again: whoever looks once in a TTI, at its beginning, would else never send.

use super::Served;
use crate::{Span, Time};

/// The buffer below, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    told_bytes: u64,
    told_packets: u64,
    sent_bytes: u64,
    sent_packets: u64,
    /// The last report, or when something was sent into the empty buffer.
    heard: Time,
    patience: Span,
    /// Since the buffer is empty: from when on a packet of at most so many bytes may go.
    promise: Option<(Time, u64)>,
}

impl Below {
    /// An empty buffer. After `patience` without a report it is empty again.
    pub(super) fn new(patience: Span) -> Below {
        let (heard, promise) = (Time::ZERO, None);
        Below { told_bytes: 0, told_packets: 0, sent_bytes: 0, sent_packets: 0, heard, patience, promise }
    }
    /// Bytes it holds.
    pub(super) fn bytes(&self) -> u64 {
        self.told_bytes.saturating_add(self.sent_bytes)
    }
    /// Packets it holds.
    pub(super) fn packets(&self) -> u64 {
        self.told_packets.saturating_add(self.sent_packets)
    }
    pub(super) fn is_empty(&self) -> bool {
        self.bytes() == 0 && self.packets() == 0
    }
    pub(super) fn forwarded(&mut self, now: Time, bytes: u64) {
        if self.is_empty() {
            self.heard = now;
        }
        self.sent_bytes = self.sent_bytes.saturating_add(bytes);
        self.sent_packets += 1;
        self.promise = None;
    }
    pub(super) fn served(&mut self, now: Time, served: &Served) {
        self.told_bytes = served.remaining_bytes;
        self.told_packets = served.remaining_packets;
        (self.sent_bytes, self.sent_packets) = (0, 0);
        self.heard = now;
        self.promise = None;
    }
    /// A packet of `bytes` may go at `time`; kept if the buffer is empty now and still is then.
    pub(super) fn promise(&mut self, time: Time, bytes: u64) {
        if self.is_empty() {
            self.promise = Some((time, bytes));
        }
    }
    /// Whether a packet of `bytes` was promised that it may go by `now`.
    pub(super) fn is_promised(&self, now: Time, bytes: u64) -> bool {
        self.promise.is_some_and(|(time, most)| time <= now && bytes <= most)
    }
    /// When the silence will have been too long; never while the buffer is empty.
    pub(super) fn deadline(&self) -> Time {
        if self.is_empty() { Time::NEVER } else { self.heard + self.patience }
    }
    /// Takes the buffer for empty if the silence was too long, and says whether it was.
    pub(super) fn forget(&mut self, now: Time) -> bool {
        let is_over = now >= self.deadline();
        if is_over {
            *self = Below { heard: now, ..Below::new(self.patience) };
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn what_was_told_and_what_was_sent_since() {
        let mut below = Below::new(Span::from_millis(20));
        assert!(below.is_empty() && below.deadline() == Time::NEVER && !below.forget(ms(1000)));
        below.forwarded(ms(1000), 1500);
        below.forwarded(ms(1005), 500);
        assert_eq!((below.bytes(), below.packets(), below.deadline()), (2000, 2, ms(1020)));
        let served = Served { remaining_bytes: 700, remaining_packets: 1, ..Served::default() };
        below.served(ms(1006), &served);
        assert_eq!((below.bytes(), below.packets(), below.deadline()), (700, 1, ms(1026)));
        assert!(!below.forget(ms(1025)) && below.forget(ms(1026)) && below.is_empty());
        below.forwarded(ms(1030), 1);
        assert_eq!(below.deadline(), ms(1050));
        below.served(ms(1031), &Served::default());
        assert!(below.is_empty());
    }

    #[test]
    fn a_promise_holds_until_something_happens_below() {
        let mut below = Below::new(Span::from_millis(20));
        below.promise(ms(5), 1400);
        assert!(!below.is_promised(ms(4), 40) && !below.is_promised(ms(9), 1401));
        assert!(below.is_promised(ms(5), 40) && below.is_promised(ms(900), 1400));
        below.forwarded(ms(900), 1400);
        below.promise(ms(901), 40);
        assert!(!below.is_promised(ms(901), 40), "something is there");
        below.served(ms(901), &Served::default());
        below.promise(ms(902), 40);
        below.served(ms(902), &Served::default());
        assert!(!below.is_promised(ms(902), 40));
    }
}
