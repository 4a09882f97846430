//! Detection of stalls of the event loop, and of packets that may have waited unread meanwhile.
//!
//! A device without time stamps does not report the arrival of a packet: the time of reading is taken as its arrival. That is
//! correct while the loop is on time. Therefore the loop reports each reading of its clock, and the time until which it intends to
//! sleep; a gap longer than the lateness limit of releases is a *stall*. Stalls are found even if no event was due, because no
//! sleep is longer than [`Waiter::LONGEST`](crate::wait::Waiter::LONGEST).
//!
//! Packets read after a stall may have arrived during it, until their device has been found empty once, because devices deliver
//! packets in order. These packets are *unseen*. A sleep that a packet ends early is not a stall, and a packet with a time
//! stamp of its device ([`Device::next_stamp`](crate::device::Device::next_stamp)) is never unseen, because the time stamp is
//! its arrival time.
//!
//! Devices without time stamps: a sleep that a packet ends is compared with the time at which the kernel made the thread ready
//! ([`crate::run_delay`]). Not detectable are a stall that begins and ends within a sleep, hence at most
//! [`Waiter::LONGEST`](crate::wait::Waiter::LONGEST) long, and the time that a processor takes to leave its idle state, or that a virtual
//! machine has no processor, while a packet arrives.

use crate::device::Port;
use qdelay_core::{Span, Time};

/// Number of stalls kept, the longest ones.
pub const LONGEST_KEPT: usize = 8;
/// Minimum length of a stall after which the devices are queried for drops. A query takes some 50 us.
pub const QUERY_DROPS_AFTER: Span = Span::from_millis(5);

/// An interval in which the loop was late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// Latest time at which the loop should have read its clock.
    pub begin: Time,
    /// Time by which the loop was late.
    pub length: Span,
}

/// Counts and lengths of stalls, and of packets that waited unread.
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
    /// Packets among those read that may have waited unread for longer than the lateness limit of their destination.
    pub unseen: u64,
    /// Packets written since the clock reading before a stall: they may have left late by its length.
    pub held: u64,
    /// Longest time by which such a packet may have left late: its lateness at the write, and the stall.
    pub longest_hold: Span,
    /// Packets among those read that had an implausible time stamp, because the wall clock was set.
    pub doubted: u64,
    /// Drops that the devices reported after stalls of at least [`QUERY_DROPS_AFTER`], and had not reported at the previous
    /// query.
    pub dropped: u64,
    worst: [Stall; LONGEST_KEPT],
    /// Latest time at which the loop has to read its clock again.
    expected: Time,
    /// Longest time for which a packet may have waited unread, over all stalls until its device was found empty.
    pub longest_wait: Span,
    /// True if the device has not been found empty since a stall, by port.
    behind: [bool; 2],
    /// Beginning of the first of these stalls, by port.
    since: [Time; 2],
}

impl Stalls {
    /// Starts a run at `now`.
    pub fn begin(now: Time) -> Stalls {
        Stalls { expected: now, ..Stalls::default() }
    }

    /// Packets of which a stall may have made the delay wrong.
    pub fn unknown(&self) -> u64 {
        self.unseen + self.held
    }

    /// The longest stalls in descending order; at most [`LONGEST_KEPT`].
    pub fn worst(&self) -> &[Stall] {
        let kept = self.count.min(LONGEST_KEPT as u64) as usize;
        self.worst.get(..kept).unwrap_or(&[])
    }

    /// Records that the loop reads its clock at `now`. `limits` are the maximum lateness of a release to each port. Returns the length
    /// of the stall that ends now, or zero.
    #[inline]
    pub fn clock_read(&mut self, now: Time, limits: [Span; 2]) -> Span {
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
        self.fall_behind(stall.begin, length, limits);
        let place = self.worst.iter().position(|kept| kept.length < length);
        if let Some(rest) = place.and_then(|place| self.worst.get_mut(place..)) {
            rest.rotate_right(1);
            rest[0] = stall;
        }
    }

    /// Records that the time until `now` does not belong to the run.
    pub fn excuse(&mut self, now: Time) {
        self.expected = now;
    }

    /// Records that the caller was busy with other work until `now`: this is not a stall, but packets that arrived meanwhile may have waited.
    pub fn resume(&mut self, now: Time, limits: [Span; 2]) {
        let (begin, away) = (self.expected, now.since(self.expected));
        self.expected = now;
        self.fall_behind(begin, away, limits);
    }

    /// Records that packets of the devices may wait since `begin`.
    fn fall_behind(&mut self, begin: Time, length: Span, limits: [Span; 2]) {
        for port in Port::ALL {
            self.fall_behind_at(port, begin, length, limits);
        }
    }

    fn fall_behind_at(&mut self, port: Port, begin: Time, length: Span, limits: [Span; 2]) {
        if length > limits[port.other().index()] && !self.behind[port.index()] {
            self.behind[port.index()] = true;
            self.since[port.index()] = begin;
        }
    }

    /// Records that the loop goes to sleep, and intends to wake at `until`.
    #[inline]
    pub fn sleep(&mut self, until: Time) {
        self.expected = self.expected.max(until);
    }

    /// Time of the loop's last clock reading, if it does not sleep.
    #[inline]
    pub fn last_reading(&self) -> Time {
        self.expected
    }

    /// Records a packet read from `port`. `is_doubted` means that its time stamp is implausible.
    #[inline]
    pub fn read(&mut self, port: Port, is_doubted: bool) {
        self.read += 1;
        let is_unseen = self.behind[port.index()];
        self.unseen += u64::from(is_unseen);
        if is_unseen {
            self.longest_wait = self.longest_wait.max(self.expected.since(self.since[port.index()]));
        }
        self.doubted += u64::from(is_doubted);
    }

    /// Records a packet with a time stamp, which arrived at `came` and was read at `now`. Packets without a time stamp behind it may have
    /// waited as long.
    #[inline]
    pub fn read_stamped(&mut self, port: Port, came: Time, now: Time, limits: [Span; 2]) {
        self.read += 1;
        let waited = now.since(came);
        if waited > limits[0].min(limits[1]) {
            self.fall_behind_at(port, came, waited, limits);
        }
    }

    /// Records that the device of `port` was found empty after the clock was read at `since`: packets of a stall that began later may wait.
    #[inline]
    pub fn empty_since(&mut self, port: Port, since: Time) {
        if self.since[port.index()] < since {
            self.empty(port);
        }
    }

    /// Records that the device of `port` was found empty.
    #[inline]
    pub fn empty(&mut self, port: Port) {
        self.behind[port.index()] = false;
    }

    /// True if a device has to be read before the loop may sleep.
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

    fn clock_read(stalls: &mut Stalls, now: u64) -> u64 {
        stalls.clock_read(us(now), LIMITS).as_micros()
    }

    #[test]
    fn only_gaps_beyond_the_limit_are_stalls() {
        let mut stalls = Stalls::begin(us(50));
        assert_eq!((clock_read(&mut stalls, 150), clock_read(&mut stalls, 150)), (0, 0));
        // The loop wakes early, on time and late.
        stalls.sleep(us(10_000));
        assert_eq!(clock_read(&mut stalls, 400), 0);
        stalls.sleep(us(10_000));
        assert_eq!(clock_read(&mut stalls, 10_100), 0);
        assert_eq!((stalls.count, stalls.worst().len(), stalls.longest_gap), (0, 0, Span::from_micros(100)));
        stalls.sleep(us(20_000));
        assert_eq!(clock_read(&mut stalls, 21_000), 1000);
        assert_eq!(clock_read(&mut stalls, 21_101), 101);
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
        // The gap exceeds the limit of releases to the inside, and so affects packets from outside.
        clock_read(&mut stalls, 200);
        assert!(stalls.is_behind());
        for port in Port::ALL {
            stalls.read(port, false);
            stalls.read(port, false);
        }
        assert_eq!((stalls.read, stalls.unseen), (5, 2));
        stalls.read_stamped(Port::Outside, us(200), us(200), LIMITS);
        // Another stall before the device was empty: the packet may have waited through both.
        assert_eq!((clock_read(&mut stalls, 700), stalls.longest_wait), (500, Span::from_micros(200)));
        stalls.read(Port::Outside, false);
        assert_eq!(stalls.longest_wait, Span::from_micros(700));
        (stalls.unseen, stalls.read) = (2, 6);
        stalls.empty(Port::Outside);
        stalls.empty(Port::Inside);
        assert!(!stalls.is_behind());
        stalls.read(Port::Outside, true);
        assert_eq!((stalls.read, stalls.unseen, stalls.doubted), (7, 2, 1));
        clock_read(&mut stalls, 1001);
        stalls.read(Port::Inside, false);
        assert_eq!(stalls.unseen, 3);
    }

    #[test]
    fn packets_before_the_loop_may_have_waited() {
        let mut stalls = Stalls::begin(us(0));
        stalls.excuse(us(2000));
        assert!(!stalls.is_behind());
        stalls.resume(us(5000), LIMITS);
        assert_eq!((stalls.count, stalls.longest_gap, clock_read(&mut stalls, 5050)), (0, Span::ZERO, 0));
        stalls.read(Port::Outside, false);
        assert_eq!(stalls.unseen, 1);
    }

    #[test]
    fn longest_stalls_are_kept_in_descending_order() {
        let mut stalls = Stalls::begin(us(0));
        let mut now = 0;
        for length in [500, 200, 900, 300, 400, 150, 800, 700, 600, 1000, 101, 250] {
            now += length;
            clock_read(&mut stalls, now);
        }
        let kept: Vec<u64> = stalls.worst().iter().map(|stall| stall.length.as_micros()).collect();
        assert_eq!(kept, [1000, 900, 800, 700, 600, 500, 400, 300]);
        assert_eq!(stalls.worst()[1].begin, us(700));
    }
}
