//! A delay that changes in steps: the contents of a trace of delays.
//!
//! Two forms of files are read, told apart by the first line that is neither blank nor a comment (`#`):
//!
//! * a number in each line: the delay in milliseconds of one slot after the other, as LeoReplayer has it (Lai et al., SIGCOMM 2025: slots of
//!   10 ms). Slots of equal delay are one step.
//! * two columns, separated by blanks, tabs or a comma: a time in seconds, and the delay in milliseconds from then on. The first time is the
//!   beginning of the trace. The last delay lasts as long as the one before it, or for a second if it is the only one.
//!
//! Step `i` holds from its start until the next one's, the last until the period ends; then the first follows again.

use crate::error::{Problem, TraceError};
use crate::format::mbps::columns;
use crate::format::number::{read_number, read_seconds};
use crate::lines::{Body, LineParser};
use crate::rates::STEPS_MAX;
use crate::window::{DURATION_MAX, DURATION_MAX_TEXT, check_starts, check_window, decimal, seconds};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use qdelay_core::{Span, Time};

/// Largest delay of a trace.
pub const DELAY_MAX: Span = Span::from_secs(60);
const DELAY_MAX_TEXT: &str = "60000 ms";
const EXPECTED: &str = "a delay in ms, or a time in seconds and a delay in ms; format= reads an output of a program, as in format=irtt";

/// A delay and its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayStep {
    /// Beginning of the step, from the beginning of the trace.
    pub start: Time,
    /// The delay until the next step.
    pub delay: Span,
}

/// A delay in steps: at least one step, the first begins at time 0, starts increase. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelaySteps {
    steps: Arc<Vec<DelayStep>>,
    period: Span,
}

impl DelaySteps {
    /// Steps that repeat after `period`.
    ///
    /// # Errors
    /// No steps; a first one that is not at 0; starts that do not increase or reach the period; a delay above [`DELAY_MAX`] or a period
    /// above [`DURATION_MAX`].
    pub fn new(steps: Vec<DelayStep>, period: Span) -> Result<DelaySteps, TraceError> {
        check_starts(steps.iter().map(|step| step.start), period)?;
        if let Some(step) = steps.iter().find(|step| step.delay > DELAY_MAX) {
            let found = alloc::format!("{}", step.delay);
            return Err(TraceError::too_large(0, DELAY_MAX_TEXT, found.as_bytes()));
        }
        Ok(DelaySteps { steps: Arc::new(steps), period })
    }

    /// The steps of one round.
    pub fn steps(&self) -> &[DelayStep] {
        &self.steps
    }
    /// Duration of one round.
    pub const fn period(&self) -> Span {
        self.period
    }
    /// Smallest delay.
    pub fn least(&self) -> Span {
        self.steps.iter().map(|step| step.delay).min().unwrap_or_default()
    }
    /// The part from `start` on that lasts for `length`, as separate steps.
    ///
    /// # Errors
    /// An empty part, or one that does not begin and end within a round.
    pub fn window(&self, start: Span, length: Span) -> Result<DelaySteps, TraceError> {
        check_window(start, length, self.period)?;
        let (from, to) = (Time::ZERO + start, Time::ZERO + start + length);
        let ends = self.steps.iter().skip(1).map(|step| step.start).chain([Time::ZERO + self.period]);
        let within = self.steps.iter().zip(ends).filter(|(step, end)| step.start < to && *end > from);
        let steps = within.map(|(step, _)| DelayStep {
            start: Time::ZERO + step.start.max(from).since(from),
            delay: step.delay,
        });
        DelaySteps::new(steps.collect(), length)
    }
    /// The same steps with `scale` times the delays.
    ///
    /// # Errors
    /// A delay above [`DELAY_MAX`].
    pub fn scaled(&self, scale: f64) -> Result<DelaySteps, TraceError> {
        let delay = |delay: Span| Span::from_nanos(libm::round(delay.as_nanos() as f64 * scale) as u64);
        let steps = self.steps.iter().map(|step| DelayStep { start: step.start, delay: delay(step.delay) });
        DelaySteps::new(steps.collect(), self.period)
    }
}

/// Reads a trace of delays.
pub type Parser = LineParser<Lines>;

impl Parser {
    /// A reader for slots of this duration, where a line has one number, and two columns otherwise.
    pub const fn with_slots(slot: Span) -> Parser {
        LineParser::with_body(Lines { slot, form: None, steps: Vec::new(), first: Time::ZERO, slots: 0 })
    }
}

/// Reads a complete trace of delays in memory.
///
/// # Errors
/// Errors of [`LineParser::feed`] and [`LineParser::finish`].
pub fn parse(text: &[u8], slot: Span) -> Result<DelaySteps, TraceError> {
    Parser::with_slots(slot).whole(text)
}

/// Writes delays in two columns. They are read back exactly, but for a last step of an odd number of nanoseconds that has not the length of
/// the one before it: it becomes 1 ns shorter.
///
/// # Errors
/// Errors of `out`.
pub fn write(delays: &DelaySteps, out: &mut impl fmt::Write) -> fmt::Result {
    let mut row =
        |start: Time, delay: Span| writeln!(out, "{}\t{}", seconds(start), decimal(delay.as_nanos(), 6));
    delays.steps().iter().try_for_each(|step| row(step.start, step.delay))?;
    let [before @ .., last] = delays.steps() else { return Ok(()) };
    let length = (Time::ZERO + delays.period()).since(last.start);
    let implied = before.last().map_or(Span::from_secs(1), |before| last.start.since(before.start));
    // A second row of the last delay tells its length: each of the two holds for half of it.
    if length != implied { row(last.start + length / 2, last.delay) } else { Ok(()) }
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Slots,
    Columns,
}

/// Steps of the lines read so far.
#[derive(Clone, Debug)]
pub struct Lines {
    slot: Span,
    form: Option<Form>,
    steps: Vec<DelayStep>,
    /// Time of the first line, in a file of two columns.
    first: Time,
    /// Number of slots.
    slots: u64,
}

impl Body for Lines {
    type Trace = DelaySteps;
    const LINE_BYTES_MAX: usize = 1024;

    fn read_line(&mut self, number: u64, line: &[u8]) -> Result<(), TraceError> {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(());
        }
        let columns = columns(line);
        let form = *self.form.get_or_insert(if columns.is_some() { Form::Columns } else { Form::Slots });
        match (form, columns) {
            (Form::Slots, None) => self.slot(number, line),
            (Form::Columns, Some((time, delay))) => self.row(number, time, delay),
            (Form::Slots, Some(_)) => {
                Err(TraceError::unexpected(number, "a delay in ms, as in the lines above", line))
            }
            (Form::Columns, None) => {
                Err(TraceError::unexpected(number, "a time and a delay, as in the lines above", line))
            }
        }
    }

    fn finish(self, line: u64) -> Result<DelaySteps, TraceError> {
        let last = self.steps.last().map_or(Time::ZERO, |step| step.start);
        let before = self.steps.len().checked_sub(2).map(|place| self.steps[place].start);
        let period = match self.form {
            Some(Form::Columns) => {
                last.since(Time::ZERO) + before.map_or(Span::from_secs(1), |before| last.since(before))
            }
            _ => self.slot * self.slots,
        };
        DelaySteps::new(self.steps, period).map_err(|error| TraceError { line, ..error })
    }
}

impl Lines {
    fn slot(&mut self, number: u64, line: &[u8]) -> Result<(), TraceError> {
        let delay = read_delay(number, line)?;
        let start = Time::ZERO + self.slot * self.slots;
        self.slots += 1;
        if start.since(Time::ZERO) >= DURATION_MAX {
            return Err(TraceError::too_large(number, DURATION_MAX_TEXT, seconds(start).as_bytes()));
        }
        match self.steps.last() {
            Some(last) if last.delay == delay => Ok(()),
            _ => self.push(number, DelayStep { start, delay }),
        }
    }

    fn row(&mut self, number: u64, time: &[u8], delay: &[u8]) -> Result<(), TraceError> {
        let (time, delay) = (read_seconds(number, time)?, read_delay(number, delay)?);
        if self.steps.is_empty() {
            self.first = time;
        }
        let start = Time::ZERO + time.since(self.first);
        match self.steps.last() {
            Some(last) if start <= last.start => {
                let problem = Problem::Decreasing {
                    before: seconds(self.first + last.start.since(Time::ZERO)),
                    found: seconds(time),
                };
                Err(TraceError::in_line(number, problem))
            }
            _ => self.push(number, DelayStep { start, delay }),
        }
    }

    fn push(&mut self, number: u64, step: DelayStep) -> Result<(), TraceError> {
        if self.steps.len() as u64 == STEPS_MAX {
            return Err(TraceError::in_line(number, Problem::TooMany { what: "steps", limit: STEPS_MAX }));
        }
        self.steps.push(step);
        Ok(())
    }
}

/// A delay in ms.
fn read_delay(line: u64, text: &[u8]) -> Result<Span, TraceError> {
    let value = read_number(line, EXPECTED, text)?;
    let delay = Span::from_nanos(libm::round(value.min(1e9) * 1e6) as u64);
    if delay > DELAY_MAX { Err(TraceError::too_large(line, DELAY_MAX_TEXT, text)) } else { Ok(delay) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    const SLOT: Span = Span::from_millis(10);

    fn steps(text: &str) -> Result<(Vec<(u64, u64)>, u64), alloc::string::String> {
        let delays = parse(text.as_bytes(), SLOT).map_err(|error| error.to_string())?;
        let of = |step: &DelayStep| (step.start.as_nanos() / 1_000_000, step.delay.as_micros());
        Ok((delays.steps().iter().map(of).collect(), delays.period().as_millis()))
    }

    #[test]
    fn slots_of_equal_delay_are_a_step() {
        assert_eq!(steps("24\n24\n18\n24\n"), Ok((vec![(0, 24_000), (20, 18_000), (30, 24_000)], 40)));
        assert_eq!(steps("# LEO\n24.5\r\n\n24.5"), Ok((vec![(0, 24_500)], 20)));
    }

    #[test]
    fn rows_begin_at_their_times() {
        let expected = Ok((vec![(0, 20_000), (500, 31_000), (2000, 20_000)], 3500));
        assert_eq!(steps("100 20\n100.5,31\n102\t20\n"), expected);
        assert_eq!(steps("7 20"), Ok((vec![(0, 20_000)], 1000)));
    }

    #[test]
    fn what_is_no_delay_is_refused_with_its_line() {
        let error = |text: &str| steps(text).unwrap_err();
        assert!(error("20\nx\n").contains("line 2") && error("20\nx\n").contains("a delay in ms"));
        assert!(error("20\n1 20\n").contains("as in the lines above"));
        assert!(error("1 20\n20\n").contains("as in the lines above"));
        assert!(error("1 20\n1 20\n").contains("line 2"));
        assert!(error("60001\n").contains("60000 ms"));
        assert!(error("-1\n").contains("line 1"));
        assert!(error("# nothing\n").contains("line 1") || !error("# nothing\n").is_empty());
    }

    #[test]
    fn written_delays_are_read_back() {
        for (starts_us, period_us) in [
            (vec![0], 1_000_000),
            (vec![0], 250),
            (vec![0, 100_000, 200_000], 300_000),
            (vec![0, 100_000, 170_001], 9_000_001),
        ] {
            let step = |(number, start): (u64, u64)| DelayStep {
                start: Time::ZERO + Span::from_micros(start),
                delay: Span::from_nanos(20_000_001 + number * 999),
            };
            let steps = (0..).zip(starts_us).map(step).collect();
            let delays = DelaySteps::new(steps, Span::from_micros(period_us)).unwrap();
            let mut text = alloc::string::String::new();
            write(&delays, &mut text).unwrap();
            let read = parse(text.as_bytes(), SLOT).unwrap();
            assert_eq!(read.period(), delays.period(), "{text}");
            assert_eq!(read.steps()[..delays.steps().len()], *delays.steps(), "{text}");
            assert!(read.steps().last().unwrap().delay == delays.steps().last().unwrap().delay);
        }
    }

    #[test]
    fn a_window_begins_within_a_step() {
        let delays = parse(b"10\n20\n30\n40\n", SLOT).unwrap();
        let part = delays.window(Span::from_millis(15), Span::from_millis(20)).unwrap();
        let of: Vec<(u64, u64)> = part
            .steps()
            .iter()
            .map(|step| (step.start.as_nanos() / 1_000_000, step.delay.as_millis()))
            .collect();
        assert_eq!((of, part.period()), (vec![(0, 20), (5, 30), (15, 40)], Span::from_millis(20)));
        assert!(delays.window(Span::from_millis(30), Span::from_millis(20)).is_err());
        assert_eq!(delays.least(), Span::from_millis(10));
    }
}
