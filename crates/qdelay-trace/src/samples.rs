//! Samples of a quantity over time, in the order of a file, as the steps that they become.

use crate::error::{Problem, TraceError};
use crate::window::seconds;
use alloc::vec::Vec;
use core::fmt;
use qdelay_core::{Span, Time};

/// Returns true if some length differs by more than a hundredth from the first.
pub(crate) fn is_uneven(lengths: &mut impl Iterator<Item = u64>) -> bool {
    let Some(first) = lengths.next() else { return false };
    lengths.any(|length| length.abs_diff(first) > first / 100)
}

/// A sample: the step that it becomes.
pub trait Sample: Copy + fmt::Debug {
    /// All steps of a file.
    type Steps: fmt::Debug;

    /// The value from `start` on.
    fn new(start: Time, value: f64) -> Self;
    /// Beginning of the step.
    fn start(&self) -> Time;
    /// The same value from `start` on.
    #[must_use]
    fn with_start(self, start: Time) -> Self;
    /// The steps of a round of `period`.
    ///
    /// # Errors
    /// Steps that the quantity refuses.
    fn steps(samples: Vec<Self>, period: Span) -> Result<Self::Steps, TraceError>;
}

/// The interval that a sample describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// From the sample's time until that of the next sample; the last as long as the one before.
    After,
    /// From the time of the sample before until its own; the first sample is only a time.
    Before,
}

/// Samples in the order of the file.
#[derive(Clone, Debug)]
pub(crate) struct Samples<S> {
    steps: Vec<S>,
    /// Time of the first sample, which becomes time 0.
    origin: Time,
    limit: u64,
}

impl<S: Sample> Samples<S> {
    pub(crate) const fn with_limit(limit: u64) -> Samples<S> {
        Samples { steps: Vec::new(), origin: Time::ZERO, limit }
    }

    /// Adds a sample whose `time` counts from any origin.
    pub(crate) fn push(&mut self, time: Time, value: f64) -> Result<(), Problem> {
        if self.steps.is_empty() {
            self.origin = time;
        }
        if let Some(last) = self.steps.last() {
            let before = last.start() + self.origin.since(Time::ZERO);
            if time < before {
                return Err(Problem::Decreasing { before: seconds(before), found: seconds(time) });
            }
            if time == before {
                return Err(Problem::Repeated { found: seconds(time) });
            }
        }
        if self.steps.len() as u64 >= self.limit {
            return Err(Problem::TooMany { what: "samples", limit: self.limit });
        }
        self.steps.push(S::new(Time::ZERO + time.since(self.origin), value));
        Ok(())
    }

    /// Default duration of the last sample; `None` with fewer than two samples.
    fn last_span(&self) -> Option<Span> {
        let [.., before, last] = self.steps.as_slice() else { return None };
        Some(last.start().since(before.start()))
    }

    /// Returns true if some interval between two samples differs by more than a hundredth from the first one.
    pub(crate) fn is_uneven(&self) -> bool {
        let mut distances =
            self.steps.windows(2).map(|pair| pair[1].start().since(pair[0].start()).as_nanos());
        is_uneven(&mut distances)
    }

    /// The steps if each sample describes the interval that it ends.
    pub(crate) fn finish_before(mut self, line: u64) -> Result<S::Steps, TraceError> {
        let (Some(last), true) = (self.steps.last(), self.steps.len() > 1) else {
            return self.finish(line, None);
        };
        let period = last.start().since(Time::ZERO);
        for at in 1..self.steps.len() {
            self.steps[at - 1] = self.steps[at].with_start(self.steps[at - 1].start());
        }
        self.steps.pop();
        S::steps(self.steps, period).map_err(|e| TraceError { line, ..e })
    }

    /// The steps if each sample holds until the next one. It ends after `duration`; by default the last sample
    /// holds as long as the one before.
    pub(crate) fn finish(self, line: u64, duration: Option<Span>) -> Result<S::Steps, TraceError> {
        let Some(last) = self.steps.last() else {
            return Err(TraceError::in_line(line, Problem::Empty));
        };
        let period = match (duration, self.last_span()) {
            (Some(duration), _) => duration,
            (None, Some(span)) => last.start().since(Time::ZERO) + span,
            (None, None) => {
                const EXPECTED: &str = "a second sample, which gives the duration of each";
                return Err(TraceError::unexpected(line, EXPECTED, b"the end"));
            }
        };
        S::steps(self.steps, period).map_err(|e| TraceError { line, ..e })
    }
}

/// Samples in the order of time; those of one time are replaced by their mean, or their sum.
#[derive(Clone, Debug)]
pub(crate) struct Means<S> {
    samples: Samples<S>,
    is_sum: bool,
    /// Samples of the last time: the time, the sum of their values, and their number.
    pending: Option<(Time, f64, u32)>,
}

impl<S: Sample> Means<S> {
    pub(crate) const fn with_limit(limit: u64, is_sum: bool) -> Means<S> {
        Means { samples: Samples::with_limit(limit), is_sum, pending: None }
    }

    /// Time of the last sample.
    pub(crate) fn pending_time(&self) -> Option<Time> {
        self.pending.map(|(time, ..)| time)
    }
    pub(crate) const fn is_empty(&self) -> bool {
        self.pending.is_none()
    }

    /// Adds a sample whose `time` counts from any origin.
    #[inline]
    pub(crate) fn add(&mut self, time: Time, value: f64) -> Result<(), Problem> {
        match &mut self.pending {
            Some((last, sum, count)) if *last == time => {
                *sum += value;
                *count = count.saturating_add(1);
                // A file whose time does not advance has no other bound.
                let limit = self.samples.limit;
                if u64::from(*count) > limit {
                    return Err(Problem::TooMany { what: "samples of one time", limit });
                }
                Ok(())
            }
            Some((last, ..)) if time < *last => {
                Err(Problem::Decreasing { before: seconds(*last), found: seconds(time) })
            }
            _ => {
                self.flush()?;
                self.pending = Some((time, value, 1));
                Ok(())
            }
        }
    }

    fn flush(&mut self) -> Result<(), Problem> {
        let Some((time, sum, count)) = self.pending else { return Ok(()) };
        let value = if count == 1 || self.is_sum { sum } else { sum / f64::from(count) };
        self.samples.push(time, value)
    }

    /// The samples, each of a time of its own.
    pub(crate) fn finish(mut self) -> Result<Samples<S>, Problem> {
        self.flush()?;
        Ok(self.samples)
    }
}
