//! A pacer's estimate of the buffer below it: the last report, plus the bytes sent since.
//!
//! A bearer with data is reported in every TTI, so a long silence after bytes were sent means that they left
//! without a report: they were dropped, or the report was lost. The buffer is then assumed to be empty;
//! otherwise the pacer would stop for ever.
//!
//! Above an empty buffer a packet may be sent from the promised time on, even if a law that begins anew in
//! every TTI would hold it back again: a caller that polls once per TTI, at its beginning, would otherwise
//! never send.

use super::{Served, Waited};
use crate::{Span, Time};

/// Estimate of the buffer below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    reported_bytes: u64,
    reported_packets: u64,
    sent_bytes: u64,
    sent_packets: u64,
    /// Time of the last report, or of the last packet sent into the empty buffer.
    heard: Time,
    patience: Span,
    /// The promise while the buffer is empty: the time from which a packet may be sent, and the largest size
    /// in bytes for which this holds.
    promise: Option<(Time, u64)>,
}

impl Below {
    /// An empty buffer. After `patience` without a report it is assumed to be empty again.
    pub(super) fn new(patience: Span) -> Below {
        let (heard, promise) = (Time::ZERO, None);
        Below {
            reported_bytes: 0,
            reported_packets: 0,
            sent_bytes: 0,
            sent_packets: 0,
            heard,
            patience,
            promise,
        }
    }
    /// Estimated bytes in the buffer.
    pub(super) fn bytes(&self) -> u64 {
        self.reported_bytes.saturating_add(self.sent_bytes)
    }
    /// Estimated packets in the buffer.
    pub(super) fn packets(&self) -> u64 {
        self.reported_packets.saturating_add(self.sent_packets)
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
        self.reported_bytes = served.remaining_bytes;
        self.reported_packets = served.remaining_packets;
        (self.sent_bytes, self.sent_packets) = (0, 0);
        self.heard = now;
        self.promise = None;
    }
    /// Replaces the estimate by the account of [`Split`](super::split::Split), which includes all packets
    /// sent.
    pub(super) fn estimate(&mut self, now: Time, (bytes, packets): (u64, u64)) {
        (self.reported_bytes, self.reported_packets) = (bytes, packets);
        (self.sent_bytes, self.sent_packets) = (0, 0);
        self.heard = now;
        if !self.is_empty() {
            self.promise = None;
        }
    }
    /// Promises that a packet of `bytes` may be sent at `time`; valid as long as the buffer is empty.
    pub(super) fn promise(&mut self, time: Time, bytes: u64) {
        if self.is_empty() {
            self.promise = Some((time, bytes));
        }
    }
    /// Returns true if a packet of `bytes` has been promised for a time up to `now`.
    pub(super) fn is_promised(&self, now: Time, bytes: u64) -> bool {
        self.promise.is_some_and(|(time, most)| time <= now && bytes <= most)
    }
    /// Time at which the patience ends; never while the buffer is empty.
    pub(super) fn deadline(&self) -> Time {
        if self.is_empty() { Time::NEVER } else { self.heard + self.patience }
    }
    /// Returns true if the buffer has data by the estimate, and the patience ends neither before the first of
    /// these reports nor between them.
    pub(super) fn outlasts(&self, waited: &Waited) -> bool {
        waited.remaining_bytes > 0
            && !self.is_empty()
            && self.deadline() > waited.first
            && self.patience > waited.tti
    }
    /// Assumes an empty buffer if the patience has ended; returns true if it has.
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
    fn the_estimate_is_the_last_report_plus_bytes_sent_since() {
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
    fn a_promise_holds_until_the_buffer_changes() {
        let mut below = Below::new(Span::from_millis(20));
        below.promise(ms(5), 1400);
        assert!(!below.is_promised(ms(4), 40) && !below.is_promised(ms(9), 1401));
        assert!(below.is_promised(ms(5), 40) && below.is_promised(ms(900), 1400));
        below.forwarded(ms(900), 1400);
        below.promise(ms(901), 40);
        assert!(!below.is_promised(ms(901), 40), "the buffer is not empty");
        below.served(ms(901), &Served::default());
        below.promise(ms(902), 40);
        below.served(ms(902), &Served::default());
        assert!(!below.is_promised(ms(902), 40));
    }
}
