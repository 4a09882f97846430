//! CoDel as implemented in the link emulator mahimahi, for comparison with results measured there.
//!
//! Source: mahimahi `codel_packet_queue.cc` (after an early draft of RFC 8289 and Linux 4.4).
//!
//! Parameters: `target` and `interval`, in whole milliseconds; `mtu`, as in [`super::Codel`].
//!
//! Where CoDel drops the packet at the head and sends the one behind it, mahimahi sends the packet at the head,
//! however stale, and drops those behind it. The host takes the head and calls [`MahimahiCodel::head`]; as long as
//! the answer is `true` it takes the next packet, calls [`MahimahiCodel::victim`] for it, and drops it. Then it sends
//! the head.
//!
//! Differences from the reference:
//! * mahimahi counts 4 bytes of tunnel header per packet and compares with 1504; here IP bytes are compared with
//!   `mtu` (1500). For full-size packets the two are equal.
//!
//! Differences from RFC 8289, all of them mahimahi's:
//! * which packet is dropped (above);
//! * every time, arrivals included, is rounded down to a millisecond, and so is each step of the control law;
//! * the last packet of a queue is never judged;
//! * the count restarts at 1 if the next drop is still in the future when dropping begins again.

use super::millis;
use crate::{Span, Time};

/// The law of mahimahi's CoDel.
#[derive(Clone, Debug)]
pub struct MahimahiCodel {
    /// Target in milliseconds, as every time below.
    target: u64,
    interval: u64,
    mtu: u64,
    first_above: u64,
    drop_next: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// The dropping state began in this dequeue, which drops one victim whatever its sojourn.
    entered: bool,
}

impl MahimahiCodel {
    /// The law before any packet. `target` and `interval` are rounded down to milliseconds; `mtu` is in IP
    /// bytes.
    pub fn new(target: Span, interval: Span, mtu: u64) -> MahimahiCodel {
        MahimahiCodel {
            target: target.as_millis(),
            interval: interval.as_millis(),
            mtu,
            first_above: 0,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropping: false,
            entered: false,
        }
    }

    /// Returns true if the packet behind the head is to be dropped: the head arrived at `arrival` and leaves
    /// now, with `backlog_bytes` left behind it.
    #[inline]
    pub fn head(&mut self, arrival: Time, now: Time, backlog_bytes: u64) -> bool {
        let now = millis(now);
        let overdue = self.is_overdue(arrival, now, backlog_bytes);
        if self.dropping {
            self.dropping = overdue;
            return overdue && now >= self.drop_next;
        }
        if overdue {
            self.enter(now);
            self.entered = true;
        }
        overdue
    }

    /// Returns true if the packet behind the victim is to be dropped too: the victim arrived at `arrival` and
    /// is dropped now, with `backlog_bytes` left behind it.
    pub fn victim(&mut self, arrival: Time, now: Time, backlog_bytes: u64) -> bool {
        let now = millis(now);
        let overdue = self.is_overdue(arrival, now, backlog_bytes);
        if core::mem::take(&mut self.entered) {
            return false;
        }
        self.count = self.count.saturating_add(1);
        self.dropping = overdue;
        if overdue {
            self.drop_next = self.control_law(self.drop_next);
        }
        overdue && now >= self.drop_next
    }

    fn is_overdue(&mut self, arrival: Time, now: u64, backlog_bytes: u64) -> bool {
        let sojourn = now.saturating_sub(millis(arrival));
        if sojourn < self.target || backlog_bytes <= self.mtu {
            self.first_above = 0;
            return false;
        }
        if self.first_above == 0 {
            self.first_above = now.saturating_add(self.interval);
            return false;
        }
        now >= self.first_above
    }

    fn enter(&mut self, now: u64) {
        self.dropping = true;
        let drops = self.count - self.last_count;
        let recent = now >= self.drop_next && now - self.drop_next < self.interval.saturating_mul(16);
        self.count = if drops > 1 && recent { drops } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
    }

    fn control_law(&self, from: u64) -> u64 {
        from.saturating_add((self.interval as f64 / libm::sqrt(f64::from(self.count))) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u64 = 1_000_000;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }
    fn law() -> MahimahiCodel {
        MahimahiCodel::new(Span::from_millis(5), Span::from_millis(100), 1500)
    }
    /// Number of victims in one dequeue at `ms` from an endless queue of packets that have waited 50 ms.
    fn victims(law: &mut MahimahiCodel, ms: u64) -> u32 {
        let arrival = at(ms) - Span::from_millis(50);
        if !law.head(arrival, at(ms), MANY) {
            return 0;
        }
        1 + (0..).find(|_| !law.victim(arrival, at(ms), MANY)).unwrap_or(u32::MAX)
    }

    #[test]
    fn dropping_begins_after_an_interval_with_one_victim() {
        let mut law = law();
        assert_eq!(victims(&mut law, 50), 0);
        assert_eq!(victims(&mut law, 149), 0);
        assert_eq!(victims(&mut law, 150), 1);
        assert_eq!(victims(&mut law, 151), 0);
    }

    #[test]
    fn steps_are_whole_milliseconds() {
        let mut law = law();
        let drops: alloc::vec::Vec<u64> = (50..600).filter(|ms| victims(&mut law, *ms) > 0).collect();
        // 100, 70, 57, 50, 44, 40, 37: the roots cut to milliseconds.
        assert_eq!(drops, [150, 250, 320, 377, 427, 471, 511, 548, 583]);
    }

    #[test]
    fn timestamps_are_cut_before_they_are_subtracted() {
        let mut law = law();
        // 4.2 ms apart, but 5 by the clock.
        let (arrival, now) = (Time::from_nanos(900_000), Time::from_nanos(5_100_000));
        assert!(!law.head(arrival, now, MANY));
        assert_ne!(law.first_above, 0);
        assert!(!law.head(now, now, MANY));
        assert_eq!(law.first_above, 0);
    }

    #[test]
    fn a_full_packet_behind_is_left_alone() {
        let mut law = law();
        law.head(at(0), at(50), 1501);
        assert!(!law.head(at(0), at(200), 1500));
        assert_eq!(law.first_above, 0);
    }

    #[test]
    fn a_victim_in_time_ends_dropping() {
        let mut law = law();
        victims(&mut law, 50);
        victims(&mut law, 150);
        assert!(law.head(at(0), at(500), MANY));
        assert!(!law.victim(at(499), at(500), MANY));
        assert!(!law.dropping);
    }

    #[test]
    fn reentry_resumes_the_count_only_where_the_next_drop_is_past() {
        let run = |drop_next| {
            let mut law = MahimahiCodel { count: 10, last_count: 1, drop_next, first_above: 900, ..law() };
            assert!(law.head(at(0), at(1000), MANY));
            law.count
        };
        assert_eq!(run(900), 9);
        assert_eq!(run(1001), 1, "still ahead");
        let mut long_ago = MahimahiCodel { count: 10, last_count: 1, first_above: 1500, ..law() };
        assert!(long_ago.head(at(0), at(1600), MANY));
        assert_eq!(long_ago.count, 1);
    }
}
