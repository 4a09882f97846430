//! A rate, or another quantity in [steps](crate::steps), from one column of a table with a header, as published for drive tests (RFC 4180).
//!
//! Source: the tables of 5Gophers (Narayanan et al., WWW 2020; Mbit/s, a row a second) and of UCC's 5G
//! dataset (Raca et al., MMSys 2020; kbit/s with a date).
//!
//! | parameter | meaning |
//! | --- | --- |
//! | `column` | name of the value's column in the header; the first one if several have the same name |
//! | `unit` | unit of the value; of rates also bytes in the interval of a row |
//! | `times` | rows at equal intervals, or a column with times in one of the forms of [`crate::format::time`] |
//! | `sample` | `after` (default): a row holds until the next one, the last for as long as the one before it. `before`: a row describes the interval that it ends, as in [`crate::mbps`] |
//! | `separator` | of fields; by default the one of comma, semicolon and tab by which the header has the columns. Where it is no comma, a number may have a decimal comma |
//! | `where` | only rows with these values in these columns |
//! | `missing` | meaning of a row without a value: empty, NaN, negative (a counter that was reset) or a word |
//! | `bin` | the bytes of rows, such as those of packets, are summed over intervals from the first row on; one without rows has 0, and the last one ends the trace |
//! | `order` | rows in order of time, or sorted here |
//!
//! The first row becomes time 0. Rows that share a time (loggers that write more than one a second) are
//! replaced by their mean, or the sum of their bytes. Blank lines are skipped, as are a byte order mark and lines
//! that begin with `#`; before the header such a line is skipped unless it has the columns.
//!
//! Memory: 16 bytes a sample up to a limit (48 if sorted), the header, and the needed fields of a row.

mod columns;
mod header;
mod rows;
#[cfg(test)]
mod tests;
mod values;

use crate::error::{Problem, TraceError};
use crate::format::time::TIME_UNIT;
use crate::format::{self, BYTE_ORDER_MARK, Format, Trace};
use crate::mbps::SAMPLE;
use crate::rates::STEPS_MAX;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use columns::{BIN, UNIT};
use csv_core::ReadFieldResult;
use header::HeaderLine;
use qdelay_core::component::{Component, Kind};
use rows::Rows;

pub(crate) use columns::{COLUMN, EVERY, MISSING, ORDER, SEPARATOR, TIME, WHERE};

pub use crate::format::unit::{ColumnUnit, RateUnit, StepsOf};
pub use columns::{Columns, Missing, Times};
pub(crate) use header::records;
pub use values::UnitOf;

/// Separators with their names, in the order in which they are tried.
pub(crate) const SEPARATORS: [(u8, &str); 3] = [(b',', "comma"), (b';', "semicolon"), (b'\t', "tab")];
/// Longest field of the header or of a needed column, in bytes.
pub(crate) const FIELD_BYTES_MAX: usize = 256;

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
            BIN.parameter(),
        ])
        .positional("column"),
    usage: "csv:column=NAME",
    example: "time,rate\n0,1.5\n1,2\n",
    begins: "the header of a table",
    is_begun_by: |line| !line.starts_with(b"#") && header::is_header(line),
    parser: |arguments| Ok(Box::new(Parser::new(Columns::from_arguments(arguments)?))),
};

impl format::Parser for Parser<RateUnit> {
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
pub struct Parser<U: ColumnUnit = RateUnit> {
    /// The reader of rows, with the separator of the header.
    reader: csv_core::Reader,
    header: HeaderLine,
    rows: Rows<U>,
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

impl<U: ColumnUnit> Parser<U> {
    /// A reader of these columns that accepts up to [`STEPS_MAX`] rows.
    pub fn new(columns: Columns<U>) -> Parser<U> {
        Parser::with_limit(columns, STEPS_MAX)
    }

    /// A reader that refuses a table of more than `limit` samples.
    pub fn with_limit(columns: Columns<U>, limit: u64) -> Parser<U> {
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

    /// Ends the table and returns the steps. The last row may lack its end of line.
    ///
    /// # Errors
    /// Errors of [`Parser::feed`]; a table without rows, or with a single one of unknown duration.
    pub fn finish(self) -> Result<StepsOf<U>, TraceError> {
        self.finish_with_notes().map(|(steps, _)| steps)
    }

    /// Ends the table as [`Parser::finish`] does; also returns lines about the table, such as the number of rows without a value.
    ///
    /// # Errors
    /// Errors of [`Parser::finish`].
    pub fn finish_with_notes(mut self) -> Result<(StepsOf<U>, Vec<String>), TraceError> {
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
