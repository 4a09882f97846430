//! CoDel as implemented in the emulator of the 5G QoS thesis, for comparison with results measured there.
//!
//! Source: the program published with the thesis (`mib_queue_codel.c`), after the pseudocode of RFC 8289.
//!
//! Parameters: `target` and `interval`, as in [`super::Codel`].
//!
//! Where CoDel drops the packet at the head, this program loses two: it leaks the dequeued packet and drops the one behind it.
//! The host takes the head and calls [`ThesisCodel::head`]; as long as the answer is `true` it loses that packet and the next,
//! takes another, and calls [`ThesisCodel::after_loss`] for it. It calls [`ThesisCodel::emptied`] when there is no packet to take.
//!
//! Differences from the reference: times are nanoseconds, not microseconds.
//!
//! Differences from RFC 8289, all of them the program's:
//! * two packets are lost for each drop (above), also the last two of a queue, or its last one: then nothing is sent;
//! * the last packets of a queue are judged like all others: there is no `mtu`;
//! * the next drop is scheduled from the current time, not from when this one was due;
//! * the count starts at the number of drops of the previous dropping state, where the RFC subtracts two from
//!   it.

use crate::{Span, Time};

/// The law of the thesis's CoDel.
#[derive(Clone, Debug)]
pub struct ThesisCodel {
    target: Span,
    interval: Span,
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl ThesisCodel {
    /// The law before any packet.
    pub fn new(target: Span, interval: Span) -> ThesisCodel {
        ThesisCodel {
            target,
            interval,
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// Returns true if the packet at the head, which has waited `sojourn`, and the one behind it are to be
    /// lost.
    #[inline]
    pub fn head(&mut self, sojourn: Span, now: Time) -> bool {
        let overdue = self.is_overdue(sojourn, now);
        if self.dropping && !overdue {
            self.dropping = false;
        }
        overdue && (!self.dropping || now >= self.drop_next)
    }

    /// Returns true if the packet taken after a loss of two, and the one behind it, are to be lost too.
    pub fn after_loss(&mut self, sojourn: Span, now: Time) -> bool {
        let overdue = self.is_overdue(sojourn, now);
        if self.dropping {
            if overdue {
                self.count = self.count.saturating_add(1);
                self.drop_next = self.control_law(now);
            } else {
                self.dropping = false;
            }
            return self.dropping && now >= self.drop_next;
        }
        self.dropping = true;
        let drops = self.count - self.last_count;
        // The program also counts a `drop_next` in the future as recent.
        let is_recent = now.since(self.drop_next) < self.interval * 16;
        self.count = if drops > 1 && is_recent { drops } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
        false
    }

    /// Tells the law that the host found no packet to take, at the beginning or after a loss.
    #[inline]
    pub fn emptied(&mut self) {
        self.first_above = None;
    }

    fn is_overdue(&mut self, sojourn: Span, now: Time) -> bool {
        if sojourn < self.target {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.interval);
                false
            }
            Some(time) => now >= time,
        }
    }

    fn control_law(&self, from: Time) -> Time {
        let nanos = self.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.count.max(1)));
        from + Span::from_nanos(nanos as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }
    const LATE: Span = Span::from_millis(50);
    /// Number of packets lost at `ms` from an endless queue of late packets.
    fn losses(law: &mut ThesisCodel, ms: u64) -> u32 {
        if !law.head(LATE, at(ms)) {
            return 0;
        }
        2 + 2 * (0..).find(|_| !law.after_loss(LATE, at(ms))).unwrap_or(u32::MAX)
    }

    #[test]
    fn two_packets_are_lost_at_an_interval_over_the_root_of_the_count() {
        let mut law = ThesisCodel::new(Span::from_millis(5), Span::from_millis(100));
        let lost: alloc::vec::Vec<u64> = (50..420).filter(|ms| losses(&mut law, *ms) == 2).collect();
        // 100, 70.7, 57.7, 50, each from the millisecond of the previous loss.
        assert_eq!(lost, [150, 250, 321, 379]);
    }

    #[test]
    fn a_timely_packet_ends_dropping_and_a_soon_reentry_resumes_the_count() {
        let mut law = ThesisCodel::new(Span::from_millis(5), Span::from_millis(100));
        (50..700).for_each(|ms| _ = losses(&mut law, ms));
        let count = law.count;
        assert!(count > 5 && !law.head(Span::from_millis(4), at(700)) && !law.dropping);
        assert!(!law.head(LATE, at(701)) && law.head(LATE, at(801)) && !law.after_loss(LATE, at(801)));
        assert_eq!((law.count, law.last_count), (count - 1, count - 1));
        assert!(!law.head(Span::ZERO, at(802)) && !law.head(LATE, at(5000)) && law.head(LATE, at(5100)));
        law.after_loss(LATE, at(5100));
        assert_eq!(law.count, 1, "too long ago");
    }
}
