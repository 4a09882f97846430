//! Detects when the loop was late, and which packets may have waited unread meanwhile.
//!
//! A device without time stamps does not report when a packet arrived: the time of reading is taken as its arrival. That is
//! correct while the loop is on time. So the loop reports each reading of its clock, and the time until which it intends to
//! sleep; a gap that is longer than a release may be late is a *stall*. Stalls are found even if no event was due, because no
//! sleep is longer than [`Waiter::LONGEST`](crate::wait::Waiter::LONGEST).
//!
//! Packets read after a stall may have arrived during it, until their device has been found empty once, because devices deliver
//! packets in order. These packets are *unseen*. A sleep that a packet ends early is not a stall, and a packet with a time
//! stamp of its device ([`Device::next_stamp`](crate::device::Device::next_stamp)) is never unseen: its time stamp is its
//! arrival.
//!
//! Not detectable: a stall that begins and ends within a sleep, hence at most [`Waiter::LONGEST`](crate::wait::Waiter::LONGEST)
//! long, and the time that the kernel takes to wake the loop for a packet.

use crate::device::Port;
use qdelay_core::{Span, Time};

/// Number of the longest stalls that are kept.
pub const LONGEST_KEPT: usize = 8;
/// After a stall of this length the devices are queried for drops, which takes some 50 us.
pub const QUERY_DROPS_AFTER: Span = Span::from_millis(5);

/// An interval in which the loop was late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// When the loop should have read its clock, at the latest.
    pub begin: Time,
    /// How much later it did.
    pub length: Span,
}

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Number of stalls.
    pub count: u64,
    /// Total length of all stalls.
    pub total: Span,
    /// The longest gap beyond the loop's intended sleep, stall or not.
    pub longest_gap: Span,
    /// IP packets that were read.
    pub read: u64,
    /// Of these, packets that may have waited unread for longer than a release to their destination may be late.
    pub unseen: u64,
    /// Of these, packets with an implausible time stamp: the wall clock was set.
    pub doubted: u64,
    /// Drops that the devices reported after stalls of at least [`QUERY_DROPS_AFTER`], and had not reported at the previous
    /// query.
    pub dropped: u64,
    worst: [Stall; LONGEST_KEPT],
    /// When the loop has to read its clock again, at the latest.
    expected: Time,
    /// By port: whether the device has not been found empty since a stall.
    behind: [bool; 2],
}

impl Stalls {
    /// Begins a run at `now`.
    pub fn begin(now: Time) -> Stalls {
        Stalls { expected: now, ..Stalls::default() }
    }

    /// The longest stalls in descending order; at most [`LONGEST_KEPT`].
    pub fn worst(&self) -> &[Stall] {
        let kept = self.count.min(LONGEST_KEPT as u64) as usize;
        self.worst.get(..kept).unwrap_or(&[])
    }

    /// The loop reads its clock at `now`. `limits` are how late a release to each port may be. Returns the length of the stall
    /// that ends now, or zero.
    #[inline]
    pub fn look(&mut self, now: Time, limits: [Span; 2]) -> Span {
        let gap = now.since(self.expected);
        self.longest_gap = self.longest_gap.max(gap);
        if gap <= limits[0].min(limits[1]) {
            self.expected = now;
            return Span::ZERO;
        }
        self.note(now, gap, limits);
        gap
    }

    #[cold]
    fn note(&mut self, now: Time, length: Span, limits: [Span; 2]) {
        let stall = Stall { begin: self.expected, length };
        self.expected = now;
        self.count += 1;
        self.total += length;
        for port in Port::ALL {
            self.behind[port.index()] |= length > limits[port.other().index()];
        }
        let place = self.worst.iter().position(|kept| kept.length < length);
        if let Some(rest) = place.and_then(|place| self.worst.get_mut(place..)) {
            rest.rotate_right(1);
            rest[0] = stall;
        }
    }

    /// The caller was busy with other work until `now`, before the loop began: this is not a stall, but packets that arrived
    /// meanwhile may have waited.
    pub fn excuse(&mut self, now: Time, limits: [Span; 2]) {
        let away = now.since(self.expected);
        self.expected = now;
        for port in Port::ALL {
            self.behind[port.index()] |= away > limits[port.other().index()];
        }
    }

    /// The loop has slept, and intended to wake at `until`.
    #[inline]
    pub fn sleep(&mut self, until: Time) {
        self.expected = self.expected.max(until);
    }

    /// When the loop last read its clock, if it does not sleep.
    #[inline]
    pub fn looked(&self) -> Time {
        self.expected
    }

    /// A packet was read from `port`. `is_doubted` means that its time stamp is implausible.
    #[inline]
    pub fn read(&mut self, port: Port, is_doubted: bool) {
        self.read += 1;
        let is_unseen = self.behind[port.index()];
        self.unseen += u64::from(is_unseen);
        self.doubted += u64::from(is_doubted);
    }

    /// A packet was read from a device with time stamps.
    #[inline]
    pub fn read_stamped(&mut self) {
        self.read += 1;
    }

    /// The device of `port` was found empty.
    #[inline]
    pub fn empty(&mut self, port: Port) {
        self.behind[port.index()] = false;
    }

    /// Whether a device has to be read before the loop may sleep.
    #[inline]
    pub fn is_behind(&self) -> bool {
        self.behind != [false; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: [Span; 2] = [Span::from_micros(100), Span::from_micros(300)];

    fn us(n: u64) -> Time {
        Time::from_nanos(n * 1000)
    }

    fn look(stalls: &mut Stalls, now: u64) -> u64 {
        stalls.look(us(now), LIMITS).as_micros()
    }

    #[test]
    fn steps_and_sleeps() {
        let mut stalls = Stalls::begin(us(50));
        assert_eq!((look(&mut stalls, 150), look(&mut stalls, 150)), (0, 0));
        // Woken early, on time and late.
        stalls.sleep(us(10_000));
        assert_eq!(look(&mut stalls, 400), 0);
        stalls.sleep(us(10_000));
        assert_eq!(look(&mut stalls, 10_100), 0);
        assert_eq!((stalls.count, stalls.worst().len(), stalls.longest_gap), (0, 0, Span::from_micros(100)));
        stalls.sleep(us(20_000));
        assert_eq!(look(&mut stalls, 21_000), 1000);
        assert_eq!(look(&mut stalls, 21_101), 101);
        assert_eq!((stalls.count, stalls.total), (2, Span::from_micros(1101)));
        let worst = [(20_000, 1000), (21_000, 101)];
        let worst =
            worst.map(|(begin, length)| Stall { begin: us(begin), length: Span::from_micros(length) });
        assert_eq!((stalls.worst(), stalls.longest_gap), (&worst[..], Span::from_micros(1000)));
    }

    #[test]
    fn packets_are_unseen_until_their_device_is_empty() {
        let mut stalls = Stalls::begin(us(0));
        stalls.read(Port::Inside, false);
        // Too long for packets to the inside, and therefore for those from outside.
        look(&mut stalls, 200);
        assert!(stalls.is_behind());
        for port in Port::ALL {
            stalls.read(port, false);
            stalls.read(port, false);
        }
        assert_eq!((stalls.read, stalls.unseen), (5, 2));
        stalls.read_stamped();
        stalls.empty(Port::Outside);
        assert!(!stalls.is_behind());
        stalls.read(Port::Outside, true);
        assert_eq!((stalls.read, stalls.unseen, stalls.doubted), (7, 2, 1));
        look(&mut stalls, 501);
        stalls.read(Port::Inside, false);
        assert_eq!(stalls.unseen, 3);
    }

    #[test]
    fn what_comes_before_the_loop_may_have_waited() {
        let mut stalls = Stalls::begin(us(0));
        stalls.excuse(us(5000), LIMITS);
        assert_eq!((stalls.count, stalls.longest_gap, look(&mut stalls, 5050)), (0, Span::ZERO, 0));
        stalls.read(Port::Outside, false);
        assert_eq!(stalls.unseen, 1);
    }

    #[test]
    fn the_longest_are_kept() {
        let mut stalls = Stalls::begin(us(0));
        let mut now = 0;
        for length in [500, 200, 900, 300, 400, 150, 800, 700, 600, 1000, 101, 250] {
            now += length;
            look(&mut stalls, now);
        }
        let kept: Vec<u64> = stalls.worst().iter().map(|stall| stall.length.as_micros()).collect();
        assert_eq!(kept, [1000, 900, 800, 700, 600, 500, 400, 300]);
        assert_eq!(stalls.worst()[1].begin, us(700));
    }
}
