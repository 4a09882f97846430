//! Times of the simulator as the instants that the stack is told.
//!
//! An instant of the standard library has no value of its own, only distances to others. One is read, once, and stands for the
//! beginning of every run; all others are computed from it. The stack only ever subtracts and compares, so that no result depends on it.

use qdelay_core::Time;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

static BEGINNING: OnceLock<Instant> = OnceLock::new();

/// The machine's clock: read once for [`instant`], and by programs over sockets.
#[allow(
    clippy::disallowed_methods,
    reason = "a base for instants, on whose value nothing depends; and the clock of real sockets"
)]
pub fn read() -> Instant {
    Instant::now()
}

fn beginning() -> Instant {
    *BEGINNING.get_or_init(read)
}

/// `time` as an instant.
pub fn instant(time: Time) -> Instant {
    beginning() + Duration::from_nanos(time.as_nanos())
}

/// `instant` as a time; instants before the beginning are at 0.
pub fn time(instant: Instant) -> Time {
    let nanos = instant.saturating_duration_since(beginning()).as_nanos();
    Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back() {
        for nanos in [0, 1, 1_000_000_007, 1 << 50] {
            assert_eq!(time(instant(Time::from_nanos(nanos))), Time::from_nanos(nanos));
        }
    }
}
