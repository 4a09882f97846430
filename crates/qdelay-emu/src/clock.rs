//! The clock of a run: nanoseconds since its beginning.

use qdelay_core::{Span, Time};
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::rc::Rc;

/// A monotonic clock.
pub trait Clock {
    /// True if the kernel's own durations, such as the time that a thread waits for a processor, pass on this clock.
    const IS_REAL: bool = false;

    /// Time since the run began.
    fn now(&mut self) -> Time;

    /// Converts `stamp`, a reading of the wall clock (`CLOCK_REALTIME`, nanoseconds since 1970), to time since the run began.
    /// `now` is the current time. Time stamps before the run become its beginning.
    fn convert_wall_clock(&mut self, stamp: u64, now: Time) -> Time;
}

/// Interval between comparisons of the wall clock and the monotonic clock. Both run at the same rate, but the wall clock may be set.
const COMPARE: Span = Span::from_millis(1);
/// Maximum duration of a valid comparison in nanoseconds. A longer comparison was interrupted, and is repeated.
const UNINTERRUPTED: u64 = 5_000;

/// The kernel's monotonic clock (`CLOCK_MONOTONIC`), counted from [`RealClock::start`].
#[derive(Clone, Copy, Debug)]
pub struct RealClock {
    start: u64,
    /// Wall clock time at the start of the run, in nanoseconds since 1970.
    day: u64,
    compared: Option<Time>,
}

impl RealClock {
    /// Starts a run now.
    pub fn start() -> RealClock {
        RealClock { start: nanos(ClockId::Monotonic), day: 0, compared: None }
    }

    #[cold]
    fn compare(&mut self, now: Time) {
        let attempt = || {
            let before = nanos(ClockId::Monotonic);
            let day = nanos(ClockId::Realtime);
            let took = nanos(ClockId::Monotonic).saturating_sub(before);
            (took, day.saturating_sub(before + took / 2 - self.start))
        };
        let mut best = attempt();
        for _ in 0..2 {
            if best.0 > UNINTERRUPTED {
                best = best.min(attempt());
            }
        }
        self.day = best.1;
        self.compared = Some(now);
    }
}

impl Clock for RealClock {
    const IS_REAL: bool = true;

    #[inline]
    fn now(&mut self) -> Time {
        Time::from_nanos(nanos(ClockId::Monotonic).saturating_sub(self.start))
    }

    #[inline]
    fn convert_wall_clock(&mut self, stamp: u64, now: Time) -> Time {
        if self.compared.is_none_or(|compared| now.since(compared) >= COMPARE) {
            self.compare(now);
        }
        Time::from_nanos(stamp.saturating_sub(self.day))
    }
}

/// Processor time consumed by all threads of this process so far.
pub(crate) fn process_cpu() -> Span {
    Span::from_nanos(nanos(ClockId::ProcessCPUTime))
}

#[inline]
fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither clock is negative after 1970.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A clock that a test moves by hand. Clones share the same time.
#[derive(Clone, Debug, Default)]
pub struct FakeClock {
    now: Rc<Cell<Time>>,
    tick: Rc<Cell<Span>>,
}

impl FakeClock {
    /// Creates a clock at the beginning of a run.
    pub fn new() -> FakeClock {
        FakeClock::default()
    }
    /// The current time, without advancing the clock.
    pub fn peek(&self) -> Time {
        self.now.get()
    }
    /// Advances the clock to `time`, unless `time` has passed already.
    pub fn set(&self, time: Time) {
        self.now.set(self.now.get().max(time));
    }
    /// Advances the clock by `tick` after each reading, as if every operation took time.
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

    /// Adds the stamp to the beginning of the run, where this wall clock reads 0.
    fn convert_wall_clock(&mut self, stamp: u64, _: Time) -> Time {
        Time::from_nanos(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_decreases() {
        let mut clock = RealClock::start();
        let (one, two) = (clock.now(), clock.now());
        assert!(one <= two && two < Time::from_nanos(3_600_000_000_000));
        let before = process_cpu();
        assert!(process_cpu() >= before && before > Span::ZERO);
    }

    #[test]
    fn wall_clock_stamps_become_times_of_the_run() {
        let mut clock = RealClock::start();
        for _ in 0..3 {
            let before = clock.now();
            let stamp = nanos(ClockId::Realtime);
            let after = clock.now();
            let time = clock.convert_wall_clock(stamp, after);
            // The two clocks are read one after the other, so the comparison is only as exact as the time between the readings.
            let slack = Span::from_secs(1);
            assert!(before <= time + slack && time <= after + slack, "{before:?} {time:?} {after:?}");
            assert_eq!(clock.convert_wall_clock(stamp - 3_600_000_000_000, after), Time::ZERO);
        }
    }

    #[test]
    fn fake_clock_moves_only_by_its_setters() {
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
