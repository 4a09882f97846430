//! Departures that were recorded elsewhere, at a link of another implementation: each packet leaves at the next recorded time. It has
//! no name in scenarios; a program that measures a recording makes it.

use super::{LinkModel, Shaped, bytes_in};
use alloc::sync::Arc;
use qdelay_core::{Rate, Time};

/// A link that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    rate: Rate,
    overhead_bytes: u32,
    departures: Arc<[Time]>,
    next: usize,
}

impl Recorded {
    /// Packets leave at `departures`, which ascend; after the last of them none leaves. `rate` and `overhead_bytes` are those of the
    /// recorded link, for its utilization.
    pub fn new(rate: Rate, overhead_bytes: u32, departures: Arc<[Time]>) -> Recorded {
        Recorded { rate, overhead_bytes, departures, next: 0 }
    }
}

impl Shaped for Recorded {
    #[inline]
    fn eligible(&self) -> Time {
        self.departures.get(self.next).copied().unwrap_or(Time::NEVER)
    }
    #[inline]
    fn charge(&mut self, _: Time, _: u32) {
        self.next += 1;
    }
}

impl LinkModel for Recorded {
    #[inline]
    fn overhead_bytes(&self) -> u32 {
        self.overhead_bytes
    }
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

    #[test]
    fn packets_leave_at_the_recorded_times() {
        let times: Arc<[Time]> = [3, 3, 7].map(Time::from_nanos).into();
        let mut link = Recorded::new(Rate::from_bps(8_000_000), 14, times);
        for expected in [3, 3, 7] {
            assert_eq!(link.eligible(), Time::from_nanos(expected));
            link.charge(link.eligible(), 1500);
        }
        assert_eq!(link.eligible(), Time::NEVER);
        assert_eq!(link.offered_bytes(Time::from_nanos(1_000_000)), 1000);
    }
}
