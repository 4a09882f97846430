//! Columns and their units, as the parameters of the format give them.

use super::SEPARATORS;
use crate::format::time::{TIME_UNIT, TimeUnit};
use crate::format::unit::{self, ColumnUnit, RateUnit, UNITS_OF_ROWS};
use crate::mbps::{SAMPLE, interval};
use crate::samples::Interval;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::{
    Arguments, Typed, Unit, find_outside_brackets, split_outside_brackets, without_brackets,
};

/// Times of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Times {
    /// Rows at equal intervals; usually a second.
    Every(Span),
    /// Times in this column.
    Column(String),
}

/// Meaning of a row without a value. Rows of the same time as one with a value have no meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// The table is refused.
    #[default]
    Refuse,
    /// The value of the row before; before the first value, the first.
    Hold,
    /// A value of 0.
    Zero,
    /// The row is left out.
    Skip,
}

/// The columns to read from the table, and their units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns<U = RateUnit> {
    /// The name of the value's column.
    pub value: String,
    /// Unit of the value.
    pub unit: U,
    /// Times of the rows.
    pub times: Times,
    /// Unit of times that are numbers.
    pub time_unit: TimeUnit,
    /// The interval that a row describes.
    pub interval: Interval,
    /// Separator of fields; `None` for the one found in the header.
    pub separator: Option<u8>,
    /// Columns and their values in the rows to read; all other rows are left out.
    pub filters: Vec<(String, String)>,
    /// Meaning of a row without a value.
    pub missing: Missing,
    /// Intervals over which the bytes of rows are summed, with 0 where there are no rows; `None` if a row lasts until the next.
    pub bin: Option<Span>,
    /// True if the rows are sorted by time, rather than refused out of order.
    pub is_sorted: bool,
}

pub(crate) const COLUMN: Typed<Option<&str>> = Typed::new(
    "column",
    "",
    "name of the column of the rate, in brackets if it has a colon, as in column=[DL: rate]; required",
);
pub(super) const UNIT: Typed<str> = unit::UNIT.unit(Unit::Choice(UNITS_OF_ROWS));
pub(crate) const EVERY: Typed<Span> = Typed::new("every", "1s", "time between rows").within("1us", "");
pub(crate) const TIME: Typed<Option<&str>> =
    Typed::new("time", "", "name of the column of the time, instead of every");
pub(super) const BIN: Typed<Option<Span>> = Typed::new(
    "bin",
    "",
    "sum the bytes of rows, such as those of packets, over intervals of this length; with unit=bytes_per_row and time",
)
.within("1us", "1h");
pub(crate) const SEPARATOR: Typed<Option<&str>> =
    Typed::new("separator", "", "separator of the fields; default: found in the header")
        .unit(Unit::Choice(&["comma", "semicolon", "tab"]));
pub(crate) const WHERE: Typed<Option<&str>> = Typed::new(
    "where",
    "",
    "only rows with this value in a column, as in where=run=1; several with +, as in carrier=A+run=1",
);
pub(crate) const MISSING: Typed<str> = Typed::new(
    "missing",
    "refuse",
    "rows without a rate: refuse them, hold the rate before, take 0, or skip them",
)
.unit(Unit::Choice(&["refuse", "hold", "zero", "skip"]));
pub(crate) const ORDER: Typed<str> =
    Typed::new("order", "refuse", "rows out of order of time: refuse them, or sort all")
        .unit(Unit::Choice(&["refuse", "sort"]));

impl Columns {
    /// The column `rate` in Mbit/s, with every other parameter at its default.
    pub fn new(rate: impl Into<String>, times: Times) -> Columns {
        Columns {
            value: rate.into(),
            unit: RateUnit::Mbit,
            times,
            time_unit: TimeUnit::Seconds,
            interval: Interval::After,
            separator: None,
            filters: Vec::new(),
            missing: Missing::Refuse,
            bin: None,
            is_sorted: false,
        }
    }

    pub(super) fn from_arguments(arguments: &Arguments) -> Result<Columns, String> {
        let unit = RateUnit::named(arguments.get(&UNIT));
        let columns = Columns::in_unit(arguments, unit)?;
        let bin = arguments.get(&BIN);
        let is_of_packets = unit.is_sum() && matches!(columns.times, Times::Column(_));
        if bin.is_some() && (!is_of_packets || arguments.is_given(&SAMPLE)) {
            return Err(
                "bin sums the bytes of rows; expected unit=bytes_per_row and time with it, and no sample"
                    .to_string(),
            );
        }
        Ok(Columns { bin, ..columns })
    }
}

impl<U: ColumnUnit> Columns<U> {
    /// The columns by the keys that tables of all quantities have.
    pub(super) fn in_unit(arguments: &Arguments, unit: U) -> Result<Columns<U>, String> {
        let value = arguments.get(&COLUMN).ok_or("no column; expected csv:column=NAME")?;
        let times = match arguments.get(&TIME) {
            Some(_) if arguments.is_given(&EVERY) => {
                return Err("every and time are both given; expected only one of them".to_string());
            }
            Some(time) => Times::Column(without_brackets(time).to_string()),
            None => Times::Every(arguments.get(&EVERY)),
        };
        Ok(Columns {
            value: without_brackets(value).to_string(),
            unit,
            times,
            time_unit: TimeUnit::named(arguments.get(&TIME_UNIT)),
            interval: interval(arguments.get(&SAMPLE)).unwrap_or(Interval::After),
            separator: arguments.get(&SEPARATOR).and_then(separator),
            filters: arguments.get(&WHERE).map_or(Ok(Vec::new()), filters)?,
            missing: match arguments.get(&MISSING) {
                "hold" => Missing::Hold,
                "zero" => Missing::Zero,
                "skip" => Missing::Skip,
                _ => Missing::Refuse,
            },
            bin: None,
            is_sorted: arguments.get(&ORDER) == "sort",
        })
    }
}

fn separator(name: &str) -> Option<u8> {
    SEPARATORS.iter().find(|(_, known)| *known == name).map(|(byte, _)| *byte)
}

/// Pairs of a column and a value: `carrier=A+run=1`.
fn filters(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |part: &str| {
        let at = find_outside_brackets(part, '=');
        let (column, value) =
            at.and_then(|at| Some((part.get(..at)?, part.get(at + 1..)?))).ok_or_else(|| {
                alloc::format!(
                    "where={text}: '{part}' names no value; expected COLUMN=VALUE, as in where=run=1"
                )
            })?;
        let bare = |text: &str| without_brackets(text.trim()).trim().to_string();
        Ok((bare(column), bare(value)))
    };
    split_outside_brackets(text, '+')?.into_iter().map(pair).collect()
}
