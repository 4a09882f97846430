//! A clock of every operating system: time since its beginning, for sockets.
//!
//! The clock of the Linux kernel (`clock.rs`) also converts the time stamps of packets; sockets have none.

use qdelay_core::{Span, Time};
use std::time::Instant;

/// A monotonic clock that starts at zero.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Starts the clock.
    pub fn start() -> SystemClock {
        SystemClock { start: read() }
    }

    /// Time since the start.
    #[inline]
    pub fn now(&self) -> Time {
        let nanos = read().saturating_duration_since(self.start).as_nanos();
        Time::ZERO + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the clock of real sockets, on systems without the clock of the Linux kernel"
)]
fn read() -> Instant {
    Instant::now()
}
