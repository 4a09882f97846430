//! The kernel's coarse clock: time in ticks of 1 / `hz` seconds, as Linux controllers read it (`tcp_jiffies32`).
//!
//! Differences from the reference: ticks are counted in 64 bits from the beginning of the run, so they do not wrap, and zero does
//! not mean "never"; for a rate that does not divide 10^9 (300, 1024) the tick is rounded down to a nanosecond.

use qdelay_core::Time;

/// Converts time to ticks; stores the current tick, so that most calls cost one comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jiffies {
    hz: u32,
    tick_nanos: u64,
    count: u64,
    start_nanos: u64,
}

impl Jiffies {
    /// A clock of `hz` ticks per second, clamped to 1 to 10^6.
    pub(super) fn new(hz: u32) -> Jiffies {
        let hz = hz.clamp(1, 1_000_000);
        Jiffies { hz, tick_nanos: 1_000_000_000 / u64::from(hz), count: 0, start_nanos: 0 }
    }

    /// Ticks per second.
    pub(super) fn hz(&self) -> u32 {
        self.hz
    }

    /// Number of whole ticks from the beginning of the run to `now`.
    pub(super) fn ticks(&mut self, now: Time) -> u64 {
        let now = now.as_nanos();
        if now.wrapping_sub(self.start_nanos) >= self.tick_nanos {
            self.count = now / self.tick_nanos;
            self.start_nanos = self.count * self.tick_nanos;
        }
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_whole_and_the_cache_is_invisible() {
        let mut jiffies = Jiffies::new(250);
        for nanos in [0, 3_999_999, 4_000_000, 4_000_001, 11_999_999, 12_000_000, 5_000_000, 0, 7_000_000_000]
        {
            assert_eq!(jiffies.ticks(Time::from_nanos(nanos)), nanos / 4_000_000);
        }
    }

    #[test]
    fn rates_outside_the_range_are_moved_to_its_bounds() {
        assert_eq!([0, 250, u32::MAX].map(|hz| Jiffies::new(hz).hz()), [1, 250, 1_000_000]);
    }
}
