//! A CQI that changes in steps.

use super::CQI_MAX;
use crate::error::{Problem, TraceError};
use crate::rates::{DURATION_MAX, DURATION_MAX_TEXT, seconds};
use crate::window::check_window;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// A CQI and its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CqiStep {
    /// Beginning of the step, from the beginning of the trace (or of the iteration over it).
    pub start: Time,
    /// CQI, 1 to 15; 0 where nothing is received.
    pub cqi: u8,
}

/// A CQI in steps: the first begins at time 0, starts increase, adjacent steps differ, and at least one is
/// above 0. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CqiSteps {
    steps: Arc<Vec<CqiStep>>,
    period: Span,
}

impl CqiSteps {
    /// Steps that end, or repeat, after `period`. Adjacent steps of equal CQI become one.
    ///
    /// # Errors
    /// No steps, or none above 0; a first one that is not at 0; starts that do not increase or reach the
    /// period; a CQI above 15; a period of more than 49.7 days.
    pub fn new(mut steps: Vec<CqiStep>, period: Span) -> Result<CqiSteps, TraceError> {
        let fail = |problem| Err(TraceError::in_line(0, problem));
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            return fail(Problem::Empty);
        };
        if first.start != Time::ZERO {
            let found = seconds(first.start);
            return Err(TraceError::unexpected(0, "a first step at time 0", found.as_bytes()));
        }
        if let Some((a, b)) = steps.iter().zip(steps.iter().skip(1)).find(|(a, b)| a.start >= b.start) {
            return fail(Problem::Decreasing { before: seconds(a.start), found: seconds(b.start) });
        }
        if last.start.since(Time::ZERO) >= period {
            const EXPECTED: &str = "a last step that begins before the trace ends";
            return Err(TraceError::unexpected(0, EXPECTED, seconds(last.start).as_bytes()));
        }
        if period > DURATION_MAX {
            let found = seconds(Time::ZERO + period);
            return Err(TraceError::too_large(0, DURATION_MAX_TEXT, found.as_bytes()));
        }
        if let Some(step) = steps.iter().find(|step| step.cqi > CQI_MAX) {
            return Err(TraceError::too_large(0, "a CQI of 15", format!("{}", step.cqi).as_bytes()));
        }
        if steps.iter().all(|step| step.cqi == 0) {
            return fail(Problem::NoCapacity);
        }
        steps.dedup_by_key(|step| step.cqi);
        steps.shrink_to_fit();
        Ok(CqiSteps { steps: Arc::new(steps), period })
    }

    /// The steps of one round.
    pub fn steps(&self) -> &[CqiStep] {
        &self.steps
    }
    /// Duration of one round.
    pub const fn period(&self) -> Span {
        self.period
    }
    /// One round as pairs of a CQI and its duration.
    pub fn spans(&self) -> impl Iterator<Item = (u8, Span)> + '_ {
        let ends = self.steps.iter().skip(1).map(|step| step.start).chain([Time::ZERO + self.period]);
        self.steps.iter().zip(ends).map(|(step, end)| (step.cqi, end.since(step.start)))
    }
    /// The part from `start` on that lasts for `length`, as a separate trace.
    ///
    /// # Errors
    /// An empty part, one that does not end within the trace, or one without any CQI.
    pub fn window(&self, start: Span, length: Span) -> Result<CqiSteps, TraceError> {
        check_window(start, length, self.period)?;
        let (from, to) = (Time::ZERO + start, Time::ZERO + start + length);
        let before = self.steps.partition_point(|step| step.start <= from).saturating_sub(1);
        let inside = self.steps.iter().skip(before).take_while(|step| step.start < to);
        let moved = inside
            .map(|step| CqiStep { start: Time::ZERO + step.start.since(from), cqi: step.cqi })
            .collect();
        CqiSteps::new(moved, length)
    }
    /// An iterator over the steps; endless if `repeat`, otherwise over one round.
    pub fn cursor(&self, repeat: bool) -> CqiCursor {
        CqiCursor { trace: self.clone(), repeat, next: 0, base: Span::ZERO }
    }
}

/// Iterates over the steps of a CQI without allocation.
#[derive(Clone, Debug)]
pub struct CqiCursor {
    trace: CqiSteps,
    repeat: bool,
    next: usize,
    base: Span,
}

impl CqiCursor {
    /// End of the current round: the end of its last step.
    pub fn round_end(&self) -> Time {
        Time::ZERO + self.base + self.trace.period
    }
}

impl Iterator for CqiCursor {
    type Item = CqiStep;

    fn next(&mut self) -> Option<CqiStep> {
        if self.next == self.trace.steps.len() {
            if !self.repeat {
                return None;
            }
            self.base += self.trace.period;
            self.next = 0;
        }
        let step = self.trace.steps.get(self.next)?;
        self.next += 1;
        Some(CqiStep { start: step.start + self.base, cqi: step.cqi })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    fn seconds_of(steps: &[(u64, u8)], period: u64) -> CqiSteps {
        let step = |&(second, cqi): &(u64, u8)| CqiStep { start: Time::ZERO + Span::from_secs(second), cqi };
        CqiSteps::new(steps.iter().map(step).collect(), Span::from_secs(period)).unwrap()
    }

    #[test]
    fn windows_are_parts_of_the_trace() {
        let trace = seconds_of(&[(0, 5), (2, 6), (4, 7), (9, 8)], 10);
        let window = |from, length| trace.window(Span::from_millis(from), Span::from_millis(length));
        assert_eq!(window(0, 10_000).unwrap(), trace);
        let part = window(2500, 2000).unwrap();
        let starts: Vec<_> = part.steps().iter().map(|s| (s.start.as_nanos() / 1_000_000, s.cqi)).collect();
        assert_eq!((starts, part.period()), (vec![(0, 6), (1500, 7)], Span::from_secs(2)));
        assert_eq!(window(2000, 1000).unwrap().steps(), [CqiStep { start: Time::ZERO, cqi: 6 }]);
        for (from, length) in [(0, 0), (0, 10_001), (10_000, 1), (u64::MAX, 1)] {
            assert!(window(from, length).unwrap_err().to_string().contains("ends within the trace"));
        }
    }

    #[test]
    fn a_cursor_runs_once_or_for_ever() {
        let trace = seconds_of(&[(0, 5), (2, 6)], 3);
        assert_eq!(trace.cursor(false).count(), 2);
        let starts: Vec<_> = trace.cursor(true).take(5).map(|s| s.start.as_nanos() / 1_000_000_000).collect();
        assert_eq!(starts, [0, 2, 3, 5, 6]);
    }

    #[test]
    fn invalid_steps_are_refused() {
        let step = |start, cqi| CqiStep { start: Time::from_nanos(start), cqi };
        let refused = |steps: Vec<CqiStep>, period| CqiSteps::new(steps, Span::from_nanos(period)).is_err();
        assert!(refused(vec![], 1));
        assert!(refused(vec![step(1, 5)], 2));
        assert!(refused(vec![step(0, 5), step(0, 6)], 2));
        assert!(refused(vec![step(0, 5), step(2, 6)], 2));
        assert!(refused(vec![step(0, 16)], 2));
        assert!(refused(vec![step(0, 0)], 2));
        assert!(refused(vec![step(0, 5)], u64::MAX));
    }
}
