//! Values that change in steps: the contents of traces of [delays](crate::delays) and of [losses](crate::losses).
//!
//! Two forms of files are read, told apart by the first line that is neither blank nor a comment (`#`):
//!
//! * a number in each line: the value of one slot after the other. Slots of equal value are one step.
//! * two columns, separated by blanks, tabs or a comma: a time in seconds, and the value from then on. The first time is the beginning of the
//!   trace. The last value lasts as long as the one before it, or for a second if it is the only one.
//!
//! Step `i` holds from its start until the next one's, the last until the period ends; then the first follows again.

use crate::error::{Problem, Quantity, TraceError};
use crate::format::mbps::columns;
use crate::format::number::{read_number, read_seconds};
use crate::lines::{Body, LineParser};
use crate::rates::STEPS_MAX;
use crate::samples::Sample;
use crate::window::{DURATION_MAX, DURATION_MAX_TEXT, check_starts, check_window, seconds};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use qdelay_core::component::Component;
use qdelay_core::units::UnitError;
use qdelay_core::{Span, Time};

/// A value that may change over time. The default is nothing: no delay, no loss.
pub trait StepValue: Copy + Default + PartialOrd + fmt::Debug + fmt::Display {
    /// Largest value.
    const MAX: Self;
    /// Texts of errors.
    const TEXTS: Texts;
    /// Units of files; the first is that of lines of text, and the default of tables.
    const UNITS: &'static [ValueUnit];
    /// The column of a table, as a format with its keys.
    const TABLE: &'static Component;

    /// The value that `text` says, as users write it, with its unit.
    ///
    /// # Errors
    /// The expected text.
    fn parse(text: &str) -> Result<Self, UnitError>;
    /// The value of a number, 0 or more, in the unit to which [`ValueUnit::value`] converts.
    fn from_number(number: f64) -> Self;
    /// `factor` times the value.
    #[must_use]
    fn scaled(self, factor: f64) -> Self;
}

/// Texts of errors about a kind of value.
#[derive(Clone, Copy, Debug)]
pub struct Texts {
    /// The quantity.
    pub quantity: Quantity,
    /// The largest value with its unit.
    pub max: &'static str,
    /// The same in a table's column, whose user gives the unit.
    pub max_of_column: &'static str,
    /// Contents of a file.
    pub expected: &'static str,
    /// The number of a slot, after lines of slots.
    pub slot: &'static str,
    /// Two columns, after lines of two columns.
    pub row: &'static str,
}

/// Unit of the numbers in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueUnit {
    /// Name, as parameters have it.
    pub name: &'static str,
    /// Expected text: `a delay in ms, 0 or more`.
    pub expected: &'static str,
    /// Fraction by which numbers are multiplied. A percentage is divided, so that it is the double next to its decimal text.
    pub factor: (f64, f64),
}

impl ValueUnit {
    /// `number` of this unit, for [`StepValue::from_number`].
    pub fn value(&self, number: f64) -> f64 {
        number * self.factor.0 / self.factor.1
    }
}

/// A value and its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<V> {
    /// Beginning of the step, from the beginning of the trace.
    pub start: Time,
    /// The value until the next step.
    pub value: V,
}

impl<V: StepValue> Sample for Step<V> {
    type Steps = Steps<V>;

    fn new(start: Time, number: f64) -> Step<V> {
        Step { start, value: V::from_number(number) }
    }
    fn start(&self) -> Time {
        self.start
    }
    fn with_start(self, start: Time) -> Step<V> {
        Step { start, ..self }
    }
    fn steps(samples: Vec<Step<V>>, period: Span) -> Result<Steps<V>, TraceError> {
        Steps::new(samples, period)
    }
}

/// A value in steps: at least one step, the first begins at time 0, starts increase. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps<V> {
    steps: Arc<Vec<Step<V>>>,
    period: Span,
}

impl<V: StepValue> Steps<V> {
    /// Steps that repeat after `period`.
    ///
    /// # Errors
    /// No steps; a first one that is not at 0; starts that do not increase or reach the period; a value below nothing or above
    /// [`StepValue::MAX`], or a period above [`DURATION_MAX`].
    pub fn new(steps: Vec<Step<V>>, period: Span) -> Result<Steps<V>, TraceError> {
        check_starts(steps.iter().map(|step| step.start), period)?;
        let is_possible = |step: &Step<V>| V::default() <= step.value && step.value <= V::MAX;
        if let Some(step) = steps.iter().find(|step| !is_possible(step)) {
            let found = alloc::format!("{}", step.value);
            return Err(TraceError::too_large(0, V::TEXTS.max, found.as_bytes()));
        }
        Ok(Steps { steps: Arc::new(steps), period })
    }

    /// The steps of one round.
    pub fn steps(&self) -> &[Step<V>] {
        &self.steps
    }
    /// Duration of one round.
    pub const fn period(&self) -> Span {
        self.period
    }
    /// Smallest value.
    pub fn least(&self) -> V {
        let smaller = |a: V, b: V| if b < a { b } else { a };
        self.steps.iter().map(|step| step.value).reduce(smaller).unwrap_or_default()
    }
    /// Largest value.
    pub fn largest(&self) -> V {
        let larger = |a: V, b: V| if b > a { b } else { a };
        self.steps.iter().map(|step| step.value).reduce(larger).unwrap_or_default()
    }
    /// The part from `start` on that lasts for `length`, as separate steps.
    ///
    /// # Errors
    /// An empty part, or one that does not begin and end within a round.
    pub fn window(&self, start: Span, length: Span) -> Result<Steps<V>, TraceError> {
        check_window(start, length, self.period)?;
        let (from, to) = (Time::ZERO + start, Time::ZERO + start + length);
        let ends = self.steps.iter().skip(1).map(|step| step.start).chain([Time::ZERO + self.period]);
        let within = self.steps.iter().zip(ends).filter(|(step, end)| step.start < to && *end > from);
        let steps = within.map(|(step, _)| Step {
            start: Time::ZERO + step.start.max(from).since(from),
            value: step.value,
        });
        Steps::new(steps.collect(), length)
    }
    /// The same steps with `factor` times the values.
    ///
    /// # Errors
    /// A value above [`StepValue::MAX`].
    pub fn scaled(&self, factor: f64) -> Result<Steps<V>, TraceError> {
        let steps =
            self.steps.iter().map(|step| Step { start: step.start, value: step.value.scaled(factor) });
        Steps::new(steps.collect(), self.period)
    }
}

/// Reads a trace of values.
pub type Parser<V> = LineParser<Lines<V>>;

impl<V: StepValue> Parser<V> {
    /// A reader for slots of this duration, where a line has one number, and two columns otherwise.
    pub const fn with_slots(slot: Span) -> Parser<V> {
        LineParser::with_body(Lines { slot, form: None, steps: Vec::new(), first: Time::ZERO, slots: 0 })
    }
}

/// Reads a complete trace of values in memory.
///
/// # Errors
/// Errors of [`LineParser::feed`] and [`LineParser::finish`].
pub fn parse<V: StepValue>(text: &[u8], slot: Span) -> Result<Steps<V>, TraceError> {
    Parser::with_slots(slot).whole(text)
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Slots,
    Columns,
}

/// Steps of the lines read so far.
#[derive(Clone, Debug)]
pub struct Lines<V> {
    slot: Span,
    form: Option<Form>,
    steps: Vec<Step<V>>,
    /// Time of the first line, in a file of two columns.
    first: Time,
    /// Number of slots.
    slots: u64,
}

impl<V: StepValue> Body for Lines<V> {
    type Trace = Steps<V>;
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
            (Form::Columns, Some((time, value))) => self.row(number, time, value),
            (Form::Slots, Some(_)) => Err(TraceError::unexpected(number, V::TEXTS.slot, line)),
            (Form::Columns, None) => Err(TraceError::unexpected(number, V::TEXTS.row, line)),
        }
    }

    fn finish(self, line: u64) -> Result<Steps<V>, TraceError> {
        let last = self.steps.last().map_or(Time::ZERO, |step| step.start);
        let before = self.steps.len().checked_sub(2).map(|place| self.steps[place].start);
        let period = match self.form {
            Some(Form::Columns) => {
                last.since(Time::ZERO) + before.map_or(Span::from_secs(1), |before| last.since(before))
            }
            _ => self.slot * self.slots,
        };
        Steps::new(self.steps, period).map_err(|error| TraceError { line, ..error })
    }
}

impl<V: StepValue> Lines<V> {
    fn slot(&mut self, number: u64, line: &[u8]) -> Result<(), TraceError> {
        let value = read_value(number, line)?;
        let start = Time::ZERO + self.slot * self.slots;
        self.slots += 1;
        if start.since(Time::ZERO) >= DURATION_MAX {
            return Err(TraceError::too_large(number, DURATION_MAX_TEXT, seconds(start).as_bytes()));
        }
        match self.steps.last() {
            Some(last) if last.value == value => Ok(()),
            _ => self.push(number, Step { start, value }),
        }
    }

    fn row(&mut self, number: u64, time: &[u8], value: &[u8]) -> Result<(), TraceError> {
        let time = read_seconds(number, time).map_err(|error| match error.problem {
            // The header of a table, for example.
            Problem::Unexpected { .. } if self.steps.is_empty() => {
                TraceError::unexpected(number, V::TEXTS.expected, time)
            }
            _ => error,
        })?;
        let value = read_value(number, value)?;
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
            _ => self.push(number, Step { start, value }),
        }
    }

    fn push(&mut self, number: u64, step: Step<V>) -> Result<(), TraceError> {
        if self.steps.len() as u64 == STEPS_MAX {
            return Err(TraceError::in_line(number, Problem::TooMany { what: "steps", limit: STEPS_MAX }));
        }
        self.steps.push(step);
        Ok(())
    }
}

/// A value in the unit of files.
fn read_value<V: StepValue>(line: u64, text: &[u8]) -> Result<V, TraceError> {
    let value = V::from_number(V::UNITS[0].value(read_number(line, V::TEXTS.expected, text)?));
    if value > V::MAX { Err(TraceError::too_large(line, V::TEXTS.max, text)) } else { Ok(value) }
}
