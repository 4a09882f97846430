//! A rate that changes in steps: the contents of a throughput trace in Mbit/s.
//!
//! Step `i` holds from its start until the next one's, the last until the period ends; then the first follows
//! again. A rate of zero is an outage.

use crate::error::TraceError;
pub use crate::samples::Interval;
use crate::samples::{Sample, is_uneven};
pub use crate::window::DURATION_MAX;
pub(crate) use crate::window::{DURATION_MAX_TEXT, decimal, seconds};
use crate::window::{check_starts, check_window};
use alloc::sync::Arc;
use alloc::vec::Vec;
use qdelay_core::{Rate, Span, Time};

/// Largest rate of a trace: 1 Tbit/s.
pub const RATE_MAX: Rate = Rate::from_bps(1_000_000_000_000);
pub(crate) const RATE_MAX_TEXT: &str = "1000000 Mbit/s (1 Tbit/s)";
/// Default limit of a reader on steps (16 bytes of memory each).
pub const STEPS_MAX: u64 = 10_000_000;

/// A rate and its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStep {
    /// Beginning of the step, from the beginning of the trace (or of the iteration over it).
    pub start: Time,
    /// The rate until the next step.
    pub rate: Rate,
}

/// A rate in steps: at least one step, the first begins at time 0, starts increase. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSteps {
    steps: Arc<Vec<RateStep>>,
    period: Span,
}

impl RateSteps {
    /// Steps that repeat after `period`.
    ///
    /// # Errors
    /// No steps; a first one that is not at 0; starts that do not increase or reach the period; a rate above
    /// [`RATE_MAX`] or a period above [`DURATION_MAX`].
    pub fn new(steps: Vec<RateStep>, period: Span) -> Result<RateSteps, TraceError> {
        check_starts(steps.iter().map(|step| step.start), period)?;
        if let Some(step) = steps.iter().find(|step| step.rate > RATE_MAX) {
            let found = alloc::format!("{}", step.rate);
            return Err(TraceError::too_large(0, RATE_MAX_TEXT, found.as_bytes()));
        }
        Ok(RateSteps { steps: Arc::new(steps), period })
    }

    /// The steps of one round.
    pub fn steps(&self) -> &[RateStep] {
        &self.steps
    }
    /// Duration of one round.
    pub const fn period(&self) -> Span {
        self.period
    }
    /// An iterator over the steps; endless if `repeat`, otherwise over one round.
    pub fn cursor(&self, repeat: bool) -> RateCursor {
        RateCursor { rates: self.clone(), repeat, next: 0, base: Span::ZERO }
    }
    /// One round as pairs of a step and its duration.
    pub fn spans(&self) -> impl Iterator<Item = (RateStep, Span)> + '_ {
        let ends = self.steps.iter().skip(1).map(|step| step.start).chain([Time::ZERO + self.period]);
        self.steps.iter().zip(ends).map(|(step, end)| (*step, end.since(step.start)))
    }
    /// The part from `start` on that lasts for `length`, as separate steps.
    ///
    /// # Errors
    /// An empty part, or one that does not begin and end within a round.
    pub fn window(&self, start: Span, length: Span) -> Result<RateSteps, TraceError> {
        check_window(start, length, self.period)?;
        let (from, to) = (Time::ZERO + start, Time::ZERO + start + length);
        let within = self.spans().filter(|(step, span)| step.start < to && step.start + *span > from);
        let steps = within.map(|(step, _)| RateStep {
            start: Time::ZERO + step.start.max(from).since(from),
            rate: step.rate,
        });
        RateSteps::new(steps.collect(), length)
    }
    /// The same steps with `scale` times the rates, rounded down to bits per second.
    ///
    /// # Errors
    /// A rate above [`RATE_MAX`].
    pub fn scaled(&self, scale: f64) -> Result<RateSteps, TraceError> {
        let rate = |rate: Rate| Rate::from_bps((rate.as_bps() as f64 * scale) as u64);
        let steps = self.steps.iter().map(|step| RateStep { start: step.start, rate: rate(step.rate) });
        RateSteps::new(steps.collect(), self.period)
    }
    /// Returns true if some step lasts for more than a hundredth longer or shorter than the first; the last
    /// is left out, because its end is assumed.
    pub fn is_uneven(&self) -> bool {
        let steps = self.steps.len().saturating_sub(1);
        is_uneven(&mut self.spans().take(steps).map(|(_, span)| span.as_nanos()))
    }
    /// Integral of one round, in nanobits (bits per second times nanoseconds).
    pub(crate) fn nanobits(&self) -> u128 {
        self.spans().map(|(step, span)| u128::from(step.rate.as_bps()) * u128::from(span.as_nanos())).sum()
    }
    /// Mean rate over one round, in Mbit/s.
    pub fn mean_mbps(&self) -> f64 {
        self.nanobits() as f64 / self.period.as_nanos() as f64 / 1e6
    }
}

impl Sample for RateStep {
    type Steps = RateSteps;

    fn new(start: Time, bps: f64) -> RateStep {
        RateStep { start, rate: Rate::from_bps(libm::round(bps) as u64) }
    }
    fn start(&self) -> Time {
        self.start
    }
    fn with_start(self, start: Time) -> RateStep {
        RateStep { start, ..self }
    }
    fn steps(samples: Vec<RateStep>, period: Span) -> Result<RateSteps, TraceError> {
        RateSteps::new(samples, period)
    }
}

/// Iterates over the steps of a rate without allocation.
#[derive(Clone, Debug)]
pub struct RateCursor {
    rates: RateSteps,
    repeat: bool,
    next: usize,
    base: Span,
}

impl RateCursor {
    /// End of the current round: the end of its last step.
    pub fn round_end(&self) -> Time {
        Time::ZERO + self.base + self.rates.period
    }
}

impl Iterator for RateCursor {
    type Item = RateStep;

    fn next(&mut self) -> Option<RateStep> {
        if self.next == self.rates.steps.len() {
            if !self.repeat {
                return None;
            }
            self.base += self.rates.period;
            self.next = 0;
        }
        let step = self.rates.steps.get(self.next)?;
        self.next += 1;
        Some(RateStep { start: step.start + self.base, rate: step.rate })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Problem;
    use alloc::vec;

    const fn step(start_ms: u64, bps: u64) -> RateStep {
        RateStep { start: Time::from_nanos(start_ms * 1_000_000), rate: Rate::from_bps(bps) }
    }

    #[test]
    fn windows_and_scaled_rates_match() {
        let rates =
            RateSteps::new(vec![step(0, 50), step(10, 0), step(12, 7)], Span::from_millis(15)).unwrap();
        let span = Span::from_millis;
        let window = rates.window(span(5), span(6)).unwrap();
        assert_eq!((window.steps(), window.period()), (&[step(0, 50), step(5, 0)][..], span(6)));
        let last = rates.window(span(12), span(3)).unwrap();
        assert_eq!(last.steps(), [step(0, 7)]);
        assert!(rates.window(span(12), span(4)).is_err() && rates.window(span(3), span(0)).is_err());
        assert_eq!(rates.scaled(1.5).unwrap().steps(), [step(0, 75), step(10, 0), step(12, 10)]);
        assert!(rates.scaled(1e15).is_err());
    }

    #[test]
    fn the_cursor_wraps_at_the_period() {
        let rates = RateSteps::new(vec![step(0, 5), step(10, 0)], Span::from_millis(15)).unwrap();
        let walked: Vec<RateStep> = rates.cursor(true).take(5).collect();
        assert_eq!(walked, [step(0, 5), step(10, 0), step(15, 5), step(25, 0), step(30, 5)]);
        assert_eq!(rates.cursor(false).count(), 2);
        assert!((rates.mean_mbps() - 5.0 * 10.0 / 15.0 / 1e6).abs() < 1e-15);
    }

    #[test]
    fn invalid_steps_are_refused() {
        let period = Span::from_millis(15);
        let problem = |steps, period| RateSteps::new(steps, period).unwrap_err().problem;
        assert_eq!(problem(vec![], period), Problem::Empty);
        assert!(matches!(problem(vec![step(1, 1)], period), Problem::Unexpected { .. }));
        assert!(matches!(problem(vec![step(0, 1), step(0, 2)], period), Problem::Decreasing { .. }));
        assert!(matches!(problem(vec![step(0, 1), step(15, 2)], period), Problem::Unexpected { .. }));
        assert!(matches!(problem(vec![step(0, u64::MAX)], period), Problem::TooLarge { .. }));
        assert!(matches!(problem(vec![step(0, 1)], Span::MAX), Problem::TooLarge { .. }));
    }

    #[test]
    fn decimals_are_exact_and_short() {
        let text: Vec<_> = [0, 1, 1_500_000_000, 12_000_000_000].iter().map(|&n| decimal(n, 9)).collect();
        assert_eq!(text, ["0", "0.000000001", "1.5", "12"]);
    }
}
