//! A token bucket as a Linux HTB class keeps it (`net/sched/sch_htb.c`: `htb_class_mode`, `htb_accnt_tokens`).
//!
//! Tokens come in at `rate` and are capped at `burst` bytes (default 1540, what the kernel experiments this is compared
//! with use). A packet may leave while the tokens are not negative; it is charged its size and `overhead` then, and leaves
//! at once: at the *start* of its slot on the line behind. The bucket is full when the run begins.
//!
//! The state is one point in time: when the tokens will be back at `burst`. Tokens are `burst` less what the rate brings
//! until then.
//!
//! Differences from the reference:
//! * Exact time for each packet; the kernel multiplies by a rounded reciprocal (`psched_ratecfg_precompute`).
//! * Debt is unbounded; the kernel forgives what is over 60 s (`mbuffer`).
//! * One class: no ceiling of its own and no parent to borrow from, as when both have the class's rate and burst.

use super::parameters::{BURST, OVERHEAD, RATE, overhead, rate};
use super::{LinkModel, Shaped, bytes_in, transmission_nanos};
use qdelay_core::component::{Arguments, Component, ComponentError, Kind};
use qdelay_core::{Rate, Span, Time};

pub(super) static COMPONENT: Component = Component::new(
    Kind::Link,
    "htb",
    "A constant rate as a Linux shaper gives it: packets leave at the start of their slots.",
)
.source("Linux net/sched/sch_htb.c")
.with(&[RATE.parameter(), OVERHEAD.parameter(), BURST.parameter()])
.positional("rate");

pub(super) const EXAMPLE: &str = "htb:10mbit:burst=3kb";

/// A token bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shaper {
    rate: Rate,
    overhead_bytes: u32,
    burst_bytes: u64,
    /// Time that the rate takes to fill the empty bucket.
    depth: Span,
    /// When the bucket is full again, rounded down to a nanosecond...
    full: Time,
    /// The part that was rounded off, in units of 1/rate nanoseconds.
    carry: u64,
}

impl Shaper {
    /// A full bucket of `burst_bytes`, filled at `rate`. At rate zero nothing ever leaves.
    pub fn new(rate: Rate, overhead_bytes: u32, burst_bytes: u64) -> Shaper {
        let depth = Span::from_nanos(transmission_nanos(rate, burst_bytes, &mut 0));
        Shaper { rate, overhead_bytes, burst_bytes, depth, full: Time::ZERO, carry: 0 }
    }
    pub(super) fn build(arguments: &Arguments) -> Result<Shaper, ComponentError> {
        Ok(Shaper::new(rate(arguments)?, overhead(arguments), arguments.get(&BURST)))
    }
    /// The cap of the bucket in bytes.
    pub const fn burst_bytes(&self) -> u64 {
        self.burst_bytes
    }
}

impl Shaped for Shaper {
    /// From when on the tokens are not negative.
    #[inline]
    fn eligible(&self) -> Time {
        if self.rate == Rate::ZERO { Time::NEVER } else { self.full - self.depth }
    }
    #[inline]
    fn charge(&mut self, now: Time, bytes: u32) {
        if self.full < now {
            self.full = now;
            self.carry = 0;
        }
        let wire = u64::from(bytes) + u64::from(self.overhead_bytes);
        self.full += Span::from_nanos(transmission_nanos(self.rate, wire, &mut self.carry));
    }
}

impl LinkModel for Shaper {
    #[inline]
    fn overhead_bytes(&self) -> u32 {
        self.overhead_bytes
    }
    /// The first burst is not counted.
    fn offered_bytes(&self, now: Time) -> u64 {
        bytes_in(self.rate, now.as_nanos())
    }
    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Mbit/s, 1514-byte frames: 1.2112 ms each; the full bucket lets a second one go before the rate binds.
    #[test]
    fn a_burst_leaves_early_and_then_at_the_rate() {
        let mut shaper = Shaper::new(Rate::from_bps(10_000_000), 14, 1540);
        let mut starts = [0; 4];
        for start in &mut starts {
            let now = shaper.eligible();
            *start = now.as_nanos();
            shaper.charge(now, 1500);
        }
        // 1540 tokens - 1514 = 26 left; the second is in debt by 1488 bytes = 1.1904 ms.
        assert_eq!(starts, [0, 0, 1_190_400, 2_401_600]);
    }

    #[test]
    fn tokens_are_capped_at_the_burst() {
        let mut shaper = Shaper::new(Rate::from_bps(8_000_000), 0, 1000);
        let now = Time::from_nanos(1_000_000_000);
        assert!(shaper.eligible() <= now);
        shaper.charge(now, 1000);
        assert_eq!(shaper.eligible(), now);
        shaper.charge(now, 500);
        assert_eq!(shaper.eligible(), now + Span::from_micros(500));
    }

    #[test]
    fn no_rate_and_no_limit() {
        assert_eq!(Shaper::new(Rate::ZERO, 0, 1540).eligible(), Time::NEVER);
        let mut shaper = Shaper::new(Rate::INFINITE, 0, 0);
        shaper.charge(Time::from_nanos(5), 1500);
        assert!(shaper.eligible() <= Time::from_nanos(5));
    }
}
