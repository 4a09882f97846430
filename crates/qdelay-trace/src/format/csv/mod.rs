//! A rate from one column of a table with a header, as published for drive tests (RFC 4180).
//!
//! Source: the tables of 5Gophers (Narayanan et al., WWW 2020; Mbit/s, a row a second) and of UCC's 5G
//! dataset (Raca et al., MMSys 2020; kbit/s with a date).
//!
//! | parameter | meaning |
//! | --- | --- |
//! | `column` | name of the rate's column in the header; the first one if several have the same name |
//! | `unit` | unit of the rate, or bytes in the interval of a row |
//! | `times` | rows at equal intervals, or a column with times in one of the forms of [`crate::format::time`] |
//! | `sample` | `after` (default): a row holds until the next one, the last for as long as the one before it. `before`: a row describes the interval that it ends, as in [`crate::mbps`] |
//! | `separator` | of fields; by default the one of comma, semicolon and tab by which the header has the columns. Where it is no comma, a number may have a decimal comma |
//! | `where` | only rows with these values in these columns |
//! | `missing` | meaning of a row without a rate: empty, NaN, negative (a counter that was reset) or a word |
//! | `order` | rows in order of time, or sorted here |
//!
//! The first row becomes time 0. Rows that share a time (loggers that write more than one a second) are
//! replaced by their mean, or the sum of their bytes. Blank lines are skipped, as are a byte order mark and lines
//! that begin with `#`; before the header such a line is skipped unless it has the columns.
//!
//! Memory: 16 bytes a sample up to a limit (48 if sorted), the header, and the needed fields of a row.

mod header;
mod rows;
#[cfg(test)]
mod tests;

use crate::error::{Problem, TraceError};
use crate::format::time::{TIME_UNIT, TimeUnit};
use crate::format::unit::UNITS_OF_ROWS;
use crate::format::{self, BYTE_ORDER_MARK, Format, Trace};
use crate::mbps::{SAMPLE, interval};
use crate::rates::{Interval, RateSteps, STEPS_MAX};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use csv_core::ReadFieldResult;
use header::HeaderLine;
use qdelay_core::Span;
use qdelay_core::component::{
    Arguments, Component, Kind, Typed, Unit, find_outside_brackets, split_outside_brackets, without_brackets,
};
use rows::Rows;

pub use crate::format::unit::RateUnit;
pub(crate) use header::SEPARATORS;

/// Longest field of the header or of a needed column, in bytes.
pub(crate) const FIELD_BYTES_MAX: usize = 256;

/// Times of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Times {
    /// Rows at equal intervals; usually a second.
    Every(Span),
    /// Times in this column.
    Column(String),
}

/// Meaning of a row without a rate. Rows of the same time as one with a rate have no meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// The table is refused.
    #[default]
    Refuse,
    /// The rate of the row before; before the first rate, the first.
    Hold,
    /// A rate of 0.
    Zero,
    /// The row is left out.
    Skip,
}

/// The columns to read from the table, and their units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The name of the rate's column.
    pub rate: String,
    /// Unit of the rate.
    pub unit: RateUnit,
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
    /// Meaning of a row without a rate.
    pub missing: Missing,
    /// True if the rows are sorted by time, rather than refused out of order.
    pub is_sorted: bool,
}

const COLUMN: Typed<Option<&str>> = Typed::new(
    "column",
    "",
    "name of the column of the rate, in brackets if it has a colon, as in column=[DL: rate]; required",
);
const UNIT: Typed<str> =
    Typed::new("unit", "mbit", "unit of the rate; kb and mb: 1000 and 10^6 bytes per second")
        .unit(Unit::Choice(UNITS_OF_ROWS));
const EVERY: Typed<Span> = Typed::new("every", "1s", "time between rows").within("1us", "");
const TIME: Typed<Option<&str>> = Typed::new("time", "", "name of the column of the time, instead of every");
const SEPARATOR: Typed<Option<&str>> =
    Typed::new("separator", "", "separator of the fields; default: found in the header")
        .unit(Unit::Choice(&["comma", "semicolon", "tab"]));
const WHERE: Typed<Option<&str>> = Typed::new(
    "where",
    "",
    "only rows with this value in a column, as in where=run=1; several with +, as in carrier=A+run=1",
);
const MISSING: Typed<str> = Typed::new(
    "missing",
    "refuse",
    "rows without a rate: refuse them, hold the rate before, take 0, or skip them",
)
.unit(Unit::Choice(&["refuse", "hold", "zero", "skip"]));
const ORDER: Typed<str> =
    Typed::new("order", "refuse", "rows out of order of time: refuse them, or sort all")
        .unit(Unit::Choice(&["refuse", "sort"]));

/// The format `csv`.
pub static FORMAT: Format = Format {
    component: &Component::new(Kind::Format, "csv", "a column of a table with a header")
        .source("RFC 4180")
        .with(&[
            COLUMN.parameter(),
            UNIT.parameter(),
            EVERY.parameter(),
            TIME.parameter(),
            TIME_UNIT.parameter(),
            SAMPLE.parameter(),
            SEPARATOR.parameter(),
            WHERE.parameter(),
            MISSING.parameter(),
            ORDER.parameter(),
        ])
        .positional("column"),
    usage: "csv:column=NAME",
    example: "time,rate\n0,1.5\n1,2\n",
    begins: "the header of a table",
    is_begun_by: |line| !line.starts_with(b"#") && header::is_header(line),
    parser: |arguments| Ok(Box::new(Parser::new(Columns::from_arguments(arguments)?))),
};

impl Columns {
    /// The column `rate` in Mbit/s, with every other parameter at its default.
    pub fn new(rate: impl Into<String>, times: Times) -> Columns {
        Columns {
            rate: rate.into(),
            unit: RateUnit::Mbit,
            times,
            time_unit: TimeUnit::Seconds,
            interval: Interval::After,
            separator: None,
            filters: Vec::new(),
            missing: Missing::Refuse,
            is_sorted: false,
        }
    }

    fn from_arguments(arguments: &Arguments) -> Result<Columns, String> {
        let rate = arguments.get(&COLUMN).ok_or("no column; expected csv:column=NAME")?;
        let times = match arguments.get(&TIME) {
            Some(_) if arguments.is_given(&EVERY) => {
                return Err("every and time are both given; expected only one of them".to_string());
            }
            Some(time) => Times::Column(without_brackets(time).to_string()),
            None => Times::Every(arguments.get(&EVERY)),
        };
        Ok(Columns {
            rate: without_brackets(rate).to_string(),
            unit: RateUnit::named(arguments.get(&UNIT)),
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

impl format::Parser for Parser {
    fn feed(&mut self, chunk: &[u8]) -> Result<(), TraceError> {
        Parser::feed(self, chunk)
    }
    fn finish(self: Box<Self>) -> Result<Trace, TraceError> {
        Parser::finish(*self).map(Trace::Rates)
    }
    fn finish_with_notes(self: Box<Self>) -> Result<(Trace, Vec<String>), TraceError> {
        let (rates, notes) = Parser::finish_with_notes(*self)?;
        Ok((Trace::Rates(rates), notes))
    }
}

/// Reads a table from chunks of bytes that may end anywhere.
#[derive(Clone, Debug)]
pub struct Parser {
    /// The reader of rows, with the separator of the header.
    reader: csv_core::Reader,
    header: HeaderLine,
    rows: Rows,
    /// The current field, and the number of its bytes read so far.
    field: [u8; FIELD_BYTES_MAX],
    filled: usize,
    /// Number of bytes of a byte order mark seen; the mark's length once it can no longer come.
    mark: usize,
    /// True at the beginning of a row, where ends of lines have no meaning.
    fresh: bool,
    /// True within a line that begins with `#`.
    is_comment: bool,
    failed: Option<TraceError>,
}

impl Parser {
    /// A reader of these columns that accepts up to [`STEPS_MAX`] rows.
    pub fn new(columns: Columns) -> Parser {
        Parser::with_limit(columns, STEPS_MAX)
    }

    /// A reader that refuses a table of more than `limit` samples.
    pub fn with_limit(columns: Columns, limit: u64) -> Parser {
        Parser {
            reader: header::reader(b','),
            header: HeaderLine::new(columns.separator),
            rows: Rows::new(columns, limit),
            field: [0; FIELD_BYTES_MAX],
            filled: 0,
            mark: 0,
            fresh: true,
            is_comment: false,
            failed: None,
        }
    }

    /// Reads the next bytes of the table.
    ///
    /// # Errors
    /// A header without the columns; a row without a needed field, or with one that is not a number, is
    /// negative or too large; a time before that of the row above; more samples than the limit. Every call
    /// after an error gives the same error.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), TraceError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = self.without_mark(chunk);
        if let Err(error) = &result {
            self.failed = Some(error.clone());
        }
        result
    }

    /// Ends the table and returns the rate. The last row may lack its end of line.
    ///
    /// # Errors
    /// Errors of [`Parser::feed`]; a table without rows, or with a single one of unknown duration.
    pub fn finish(self) -> Result<RateSteps, TraceError> {
        self.finish_with_notes().map(|(rates, _)| rates)
    }

    /// As [`Parser::finish`], with a line for each thing about the table that the user should know.
    ///
    /// # Errors
    /// Errors of [`Parser::finish`].
    pub fn finish_with_notes(mut self) -> Result<(RateSteps, Vec<String>), TraceError> {
        self.feed(b"")?;
        if self.mark < BYTE_ORDER_MARK.len() && self.mark > 0 {
            let seen = self.mark;
            self.mark = BYTE_ORDER_MARK.len();
            self.bytes(&BYTE_ORDER_MARK[..seen])?;
        }
        if !self.header.is_found() {
            // Quotes that are never closed end here.
            if !self.fresh {
                self.header_ends()?;
            }
        } else if !self.fresh {
            self.bytes(b"\n")?;
        }
        if let (false, Some(error)) = (self.header.is_found(), self.header.error()) {
            return Err(error);
        }
        self.rows.finish()
    }

    /// Drops a byte order mark at the very beginning, which may come in pieces.
    fn without_mark(&mut self, mut chunk: &[u8]) -> Result<(), TraceError> {
        while let (Some(&expected), [byte, rest @ ..]) = (BYTE_ORDER_MARK.get(self.mark), chunk) {
            if *byte != expected {
                let seen = core::mem::replace(&mut self.mark, BYTE_ORDER_MARK.len());
                self.bytes(&BYTE_ORDER_MARK[..seen])?;
                break;
            }
            self.mark += 1;
            chunk = rest;
        }
        self.bytes(chunk)
    }

    fn bytes(&mut self, mut chunk: &[u8]) -> Result<(), TraceError> {
        while !chunk.is_empty() {
            if self.fresh {
                chunk = self.rows.skip_line_ends(chunk);
                self.fresh = chunk.is_empty();
                self.is_comment = self.header.is_found() && chunk.first() == Some(&b'#');
            } else if self.is_comment {
                chunk = self.comment(chunk);
            } else if !self.header.is_found() {
                chunk = self.header(chunk)?;
            } else {
                chunk = self.row(chunk)?;
            }
        }
        Ok(())
    }

    /// Skips a line that begins with `#`, up to its end.
    fn comment<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let end = chunk.iter().position(|&byte| byte == b'\n' || byte == b'\r');
        self.fresh = end.is_some();
        chunk.get(end.unwrap_or(chunk.len())..).unwrap_or_default()
    }

    /// Collects the header, which has to be complete before its separator is known.
    fn header<'a>(&mut self, chunk: &'a [u8]) -> Result<&'a [u8], TraceError> {
        let (taken, has_ended) = self.header.take(self.rows.line, chunk)?;
        let (line, rest) = chunk.split_at(taken);
        self.rows.count_lines(line);
        if has_ended {
            self.header_ends()?;
        }
        Ok(rest)
    }

    fn header_ends(&mut self) -> Result<(), TraceError> {
        self.fresh = true;
        if let Some(found) = self.header.find(&self.rows.columns, self.rows.line)? {
            self.reader = header::reader(found.separator);
            self.rows.begin(found);
        }
        Ok(())
    }

    /// Reads fields up to the end of the chunk, or of the row.
    fn row<'a>(&mut self, mut chunk: &'a [u8]) -> Result<&'a [u8], TraceError> {
        loop {
            let (result, read, written) = self.reader.read_field(chunk, &mut self.field[self.filled..]);
            self.filled += written;
            let (taken, rest) = chunk.split_at(read);
            self.rows.count_lines(taken);
            chunk = rest;
            match result {
                ReadFieldResult::InputEmpty | ReadFieldResult::End => return Ok(chunk),
                ReadFieldResult::OutputFull => self.overflow()?,
                ReadFieldResult::Field { record_end } => {
                    let field = &self.field[..self.filled];
                    self.filled = 0;
                    self.rows.field(field);
                    if record_end {
                        self.fresh = true;
                        self.rows.end()?;
                        return Ok(chunk);
                    }
                    if chunk.is_empty() {
                        return Ok(chunk);
                    }
                }
            }
        }
    }

    /// Handles a field that is too long: an error in a needed column; ignored in others.
    fn overflow(&mut self) -> Result<(), TraceError> {
        if self.rows.needs_field() {
            return Err(TraceError::in_line(self.rows.line, Problem::LongLine(FIELD_BYTES_MAX)));
        }
        self.filled = 0;
        Ok(())
    }
}
