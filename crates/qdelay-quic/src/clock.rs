//! Conversion between the simulator's times and the standard library's instants, which the stack uses.
//!
//! An instant of the standard library has no value of its own, only distances to other instants. The process reads one instant, which stands
//! for time 0 of every run; all other instants are computed from it. The stack only subtracts and compares instants, so no result depends
//! on the instant that was read.

use qdelay_core::Time;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

static BEGINNING: OnceLock<Instant> = OnceLock::new();

/// Reads the machine's clock: once as time 0 for [`instant`], and in each turn of a program over sockets.
#[allow(
    clippy::disallowed_methods,
    reason = "time 0 of instants, whose value has no effect on results; and the clock of real sockets"
)]
pub fn read() -> Instant {
    Instant::now()
}

fn beginning() -> Instant {
    *BEGINNING.get_or_init(read)
}

/// Converts `time` to an instant.
pub fn instant(time: Time) -> Instant {
    beginning() + Duration::from_nanos(time.as_nanos())
}

/// Converts `instant` to a time; instants before time 0 give time 0.
pub fn time(instant: Instant) -> Time {
    let nanos = instant.saturating_duration_since(beginning()).as_nanos();
    Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_survives_the_conversion_to_an_instant_and_back() {
        for nanos in [0, 1, 1_000_000_007, 1 << 50] {
            assert_eq!(time(instant(Time::from_nanos(nanos))), Time::from_nanos(nanos));
        }
    }
}
