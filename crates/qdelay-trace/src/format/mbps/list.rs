//! Rates without times, at equal intervals: one or more in a line.

use crate::error::{Problem, TraceError};
use crate::format::unit::{ColumnUnit, RateUnit};
use crate::lines::Body;
use crate::rates::{RateStep, RateSteps, STEPS_MAX};
use crate::samples::Samples;
use qdelay_core::{Span, Time};

const EXPECTED_COLUMN: &str = "a rate in the column that column= names";

/// Rates of the lines read so far.
#[derive(Clone, Debug)]
pub(super) struct RateList {
    every: Span,
    unit: RateUnit,
    /// Column of the rate, from 1; `None` for every number.
    column: Option<usize>,
    samples: Samples<RateStep>,
    count: u64,
}

impl RateList {
    pub const fn new(every: Span, unit: RateUnit, column: Option<usize>) -> RateList {
        RateList { every, unit, column, samples: Samples::with_limit(STEPS_MAX), count: 0 }
    }

    fn push(&mut self, number: u64, field: &[u8]) -> Result<(), TraceError> {
        let rate = self.unit.read(number, field)?;
        let time = Time::ZERO + self.every * self.count;
        self.count += 1;
        self.samples.push(time, rate).map_err(|problem: Problem| TraceError::in_line(number, problem))
    }
}

impl Body for RateList {
    type Trace = RateSteps;
    /// A line may have all rates: 100,000 of 10 bytes.
    const LINE_BYTES_MAX: usize = 1 << 20;

    fn read_line(&mut self, number: u64, line: &[u8]) -> Result<(), TraceError> {
        if line.trim_ascii().starts_with(b"#") || line.trim_ascii().is_empty() {
            return Ok(());
        }
        let separates = |byte: &u8| matches!(byte, b' ' | b'\t' | b',' | b';' | b'\r');
        let mut fields = line.split(separates).filter(|field| !field.is_empty());
        match self.column {
            None => fields.try_for_each(|field| self.push(number, field)),
            Some(column) => {
                let field = fields.nth(column.saturating_sub(1));
                self.push(number, field.ok_or_else(|| TraceError::unexpected(number, EXPECTED_COLUMN, line))?)
            }
        }
    }

    fn finish(self, line: u64) -> Result<RateSteps, TraceError> {
        self.samples.finish(line, Some(self.every * self.count))
    }
}
