//! The clock a run is held against: nanoseconds since it began.

use qdelay_core::{Span, Time};
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::rc::Rc;

/// Says what time it is; never less than before.
pub trait Clock {
    /// Time since the run began.
    fn now(&mut self) -> Time;
}

/// The kernel's monotonic clock (`CLOCK_MONOTONIC`), from when this was made.
#[derive(Clone, Copy, Debug)]
pub struct RealClock {
    start: u64,
}

impl RealClock {
    /// A run that begins now.
    pub fn start() -> RealClock {
        RealClock { start: nanos(ClockId::Monotonic) }
    }
}

impl Clock for RealClock {
    #[inline]
    fn now(&mut self) -> Time {
        Time::from_nanos(nanos(ClockId::Monotonic).saturating_sub(self.start))
    }
}

/// Processor time of all threads of this process so far.
pub(crate) fn process_cpu() -> Span {
    Span::from_nanos(nanos(ClockId::ProcessCPUTime))
}

#[inline]
fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither clock is ever negative.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A clock that stands still until a test moves it. Clones are the same clock.
#[derive(Clone, Debug, Default)]
pub struct FakeClock {
    now: Rc<Cell<Time>>,
    tick: Rc<Cell<Span>>,
}

impl FakeClock {
    /// At the beginning of a run.
    pub fn new() -> FakeClock {
        FakeClock::default()
    }
    /// The time; nothing moves.
    pub fn peek(&self) -> Time {
        self.now.get()
    }
    /// Moves it to `time`, if that is later.
    pub fn set(&self, time: Time) {
        self.now.set(self.now.get().max(time));
    }
    /// Lets `tick` pass after each look at the clock, as if everything took time.
    pub fn set_tick(&self, tick: Span) {
        self.tick.set(tick);
    }
}

impl Clock for FakeClock {
    fn now(&mut self) -> Time {
        let now = self.now.get();
        self.now.set(now + self.tick.get());
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on() {
        let mut clock = RealClock::start();
        let (one, two) = (clock.now(), clock.now());
        assert!(one <= two && two < Time::from_nanos(3_600_000_000_000));
        let before = process_cpu();
        assert!(process_cpu() >= before && before > Span::ZERO);
    }

    #[test]
    fn a_fake_clock_goes_where_it_is_told() {
        let clock = FakeClock::new();
        let mut other = clock.clone();
        clock.set(Time::from_nanos(5));
        clock.set(Time::from_nanos(3));
        other.set_tick(Span::from_nanos(2));
        assert_eq!(
            (other.now(), other.now(), clock.peek()),
            (Time::from_nanos(5), Time::from_nanos(7), Time::from_nanos(9))
        );
    }
}
