//! Units of columns in text formats, and those of rates.

use super::number::read_number;
use crate::error::{Problem, Quantity, TraceError};
use crate::rates::{RATE_MAX, RateStep, RateSteps};
use crate::samples::Sample;
use alloc::vec::Vec;
use core::fmt;
use qdelay_core::component::{Typed, Unit};
use qdelay_core::{Rate, Span};

const RATE_MAX_TEXT: &str = "1000000 Mbit/s (1 Tbit/s); 'unit' reads rates in another unit, such as unit=bit";
/// Bytes of a row at most: those of a second at the largest rate.
const BYTES_MAX: f64 = 125e9;

/// Unit of a column, which reads the column's numbers.
pub trait ColumnUnit: Copy + fmt::Debug {
    /// The sample that a number becomes.
    type Sample: Sample;
    /// The quantity.
    const QUANTITY: Quantity;

    /// Returns true if values of the same time are summed, rather than replaced by their mean.
    fn is_sum(self) -> bool {
        false
    }
    /// The value of `field`, as `Sample::new` takes it.
    ///
    /// # Errors
    /// A field that is no number, is negative or too large.
    fn read(self, line: u64, field: &[u8]) -> Result<f64, TraceError>;
    /// Ends the table with its steps.
    ///
    /// # Errors
    /// Steps that are possible only before this unit is considered.
    fn finish(self, steps: StepsOf<Self>) -> Result<StepsOf<Self>, Problem> {
        Ok(steps)
    }
}

/// The steps that a column in unit `U` becomes.
pub type StepsOf<U> = <<U as ColumnUnit>::Sample as Sample>::Steps;

/// The unit of a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateUnit {
    /// Bits per second.
    Bit,
    /// 1000 bits per second.
    Kbit,
    /// 10^6 bits per second.
    #[default]
    Mbit,
    /// 10^9 bits per second.
    Gbit,
    /// Bytes per second.
    Byte,
    /// 1000 bytes per second.
    Kbyte,
    /// 10^6 bytes per second.
    Mbyte,
    /// Bytes in the interval of a row.
    BytesPerRow,
}

/// Units that are rates, as parameters name them.
const UNITS: &[&str] = &["mbit", "kbit", "bit", "gbit", "byte", "kb", "mb"];
/// Key `unit`.
pub(crate) const UNIT: Typed<str> =
    Typed::new("unit", "mbit", "unit of the rate; kb and mb: 1000 and 10^6 bytes per second")
        .unit(Unit::Choice(UNITS));
/// The same, and bytes in the interval of a row.
pub(crate) const UNITS_OF_ROWS: &[&str] =
    &["mbit", "kbit", "bit", "gbit", "byte", "kb", "mb", "bytes_per_row"];

impl RateUnit {
    /// The unit `name` of a parameter; Mbit/s for a name that is none.
    pub(crate) fn named(name: &str) -> RateUnit {
        match name {
            "bit" => RateUnit::Bit,
            "kbit" => RateUnit::Kbit,
            "gbit" => RateUnit::Gbit,
            "byte" => RateUnit::Byte,
            "kb" => RateUnit::Kbyte,
            "mb" => RateUnit::Mbyte,
            "bytes_per_row" => RateUnit::BytesPerRow,
            _ => RateUnit::Mbit,
        }
    }

    /// The expected text, and the bits per second (or bits of a row) of 1.
    const fn expected(self) -> (&'static str, f64) {
        match self {
            RateUnit::Bit => ("a rate in bit/s, 0 or more", 1.0),
            RateUnit::Kbit => ("a rate in kbit/s, 0 or more", 1e3),
            RateUnit::Mbit => ("a rate in Mbit/s, 0 or more", 1e6),
            RateUnit::Gbit => ("a rate in Gbit/s, 0 or more", 1e9),
            RateUnit::Byte => ("a rate in bytes per second, 0 or more", 8.0),
            RateUnit::Kbyte => ("a rate in kB/s, 0 or more", 8e3),
            RateUnit::Mbyte => ("a rate in MB/s, 0 or more", 8e6),
            RateUnit::BytesPerRow => ("a number of bytes, 0 or more", 8.0),
        }
    }
}

impl ColumnUnit for RateUnit {
    type Sample = RateStep;
    const QUANTITY: Quantity = Quantity { name: "rate", missing: "missing=hold, zero or skip" };

    fn is_sum(self) -> bool {
        self == RateUnit::BytesPerRow
    }
    /// Bits per second, or bits of a row, that `field` says.
    fn read(self, line: u64, field: &[u8]) -> Result<f64, TraceError> {
        let (expected, scale) = self.expected();
        let number = read_number(line, expected, field)?;
        if self == RateUnit::BytesPerRow && number > BYTES_MAX {
            return Err(TraceError::too_large(line, "125000000000 bytes in a row", field));
        }
        let bps = number * scale;
        // Rounded to bits per second it would be above the largest rate.
        if bps >= RATE_MAX.as_bps() as f64 + 0.5 {
            return Err(TraceError::too_large(line, RATE_MAX_TEXT, field));
        }
        Ok(bps)
    }
    fn finish(self, steps: RateSteps) -> Result<RateSteps, Problem> {
        if self == RateUnit::BytesPerRow { bits_over_intervals(&steps) } else { Ok(steps) }
    }
}

/// The rates of steps that have the number of their bits in place of a rate.
fn bits_over_intervals(steps: &RateSteps) -> Result<RateSteps, Problem> {
    let rate = |bits: u64, span: Span| {
        let bps = u128::from(bits) * 1_000_000_000 / u128::from(span.as_nanos().max(1));
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    };
    let rates: Vec<RateStep> = steps
        .spans()
        .map(|(step, span)| RateStep { start: step.start, rate: rate(step.rate.as_bps(), span) })
        .collect();
    RateSteps::new(rates, steps.period()).map_err(|error| error.problem)
}
