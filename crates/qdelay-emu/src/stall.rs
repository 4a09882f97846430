//! When the loop was not on time, and which packets may have waited for it unseen.
//!
//! A device without time stamps hands over a packet and does not say since when it has had it: a packet is taken to come when it
//! is read. That is right while the loop is there. So the loop says each time it looks at its clock, and until when it means to
//! sleep; a step that is longer than a release may be late is a *stall*. It is known even where nothing was due, because no
//! sleep is longer than [`Waiter::LONGEST`](crate::wait::Waiter::LONGEST).
//!
//! Whatever is read after a stall may have come during it, until its device has been seen empty once: devices hand over
//! packets in their order. These packets are *unseen*. A sleep that a packet ends early is no stall, and a packet whose device has
//! stamped it ([`Device::next_stamp`](crate::device::Device::next_stamp)) is never unseen: it comes at its own time.
//!
//! What cannot be seen: a stall that begins in a sleep and is over before the sleep is, so at most
//! [`Waiter::LONGEST`](crate::wait::Waiter::LONGEST), and how long the kernel takes to wake the loop for a packet.

use crate::device::Port;
use qdelay_core::{Span, Time};

/// How many of the longest stalls are kept.
pub const KEPT: usize = 8;
/// After a stall of this length the devices are asked what they have dropped: asking takes some 50 us.
pub const ASK: Span = Span::from_millis(5);

/// An interval in which the loop was not on time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// When the loop should have looked, at the latest.
    pub begin: Time,
    /// How much later it did.
    pub length: Span,
}

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// How many.
    pub count: u64,
    /// All of them together.
    pub total: Span,
    /// The longest step beyond what the loop had asked for, stall or not.
    pub longest_gap: Span,
    /// IP packets that were read.
    pub read: u64,
    /// Of these, those that may have waited unseen for longer than a release to where they go may be late.
    pub unseen: u64,
    /// Of these, the ones that had a stamp that cannot be right: the clock of the day was set.
    pub doubted: u64,
    /// What the devices had dropped when they were asked after a stall of at least [`ASK`], and not yet when they were asked
    /// before.
    pub dropped: u64,
    worst: [Stall; KEPT],
    /// By when the loop has to look again.
    expected: Time,
    /// Whether a device, by port, has not been seen empty since a stall.
    behind: [bool; 2],
}

impl Stalls {
    /// A run that begins at `now`.
    pub fn begin(now: Time) -> Stalls {
        Stalls { expected: now, ..Stalls::default() }
    }

    /// The longest, the longest first; at most [`KEPT`].
    pub fn worst(&self) -> &[Stall] {
        let kept = self.count.min(KEPT as u64) as usize;
        self.worst.get(..kept).unwrap_or(&[])
    }

    /// The loop looks, at `now`. `limits` are how late a release to each port may be. Says how long the stall is that ends
    /// here, if one does.
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

    /// The loop was elsewhere on purpose until `now`, before it carries packets: no stall, but what has come meanwhile may have
    /// waited.
    pub fn excuse(&mut self, now: Time, limits: [Span; 2]) {
        let away = now.since(self.expected);
        self.expected = now;
        for port in Port::ALL {
            self.behind[port.index()] |= away > limits[port.other().index()];
        }
    }

    /// The loop has slept, and meant to be back at `until`.
    #[inline]
    pub fn sleep(&mut self, until: Time) {
        self.expected = self.expected.max(until);
    }

    /// When the loop looked at its clock the last time, where it does not sleep.
    #[inline]
    pub fn looked(&self) -> Time {
        self.expected
    }

    /// A packet was read from `port`. `is_doubted` says that its stamp cannot be right.
    #[inline]
    pub fn read(&mut self, port: Port, is_doubted: bool) {
        self.read += 1;
        let is_unseen = self.behind[port.index()];
        self.unseen += u64::from(is_unseen);
        self.doubted += u64::from(is_doubted);
    }

    /// A packet was read from a device that says when it came.
    #[inline]
    pub fn read_stamped(&mut self) {
        self.read += 1;
    }

    /// The device of `port` has nothing.
    #[inline]
    pub fn empty(&mut self, port: Port) {
        self.behind[port.index()] = false;
    }

    /// Whether a device has to be looked at before the loop may sleep.
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
        // Too long for what goes inside, and so for what comes from outside.
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
