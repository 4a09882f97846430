//! Errors of traces: the line, the text found there and the expected one.

use alloc::string::String;
use core::fmt;

/// Bytes of an offending line that an error shows.
const SHOWN_BYTES: usize = 40;

/// An error by which a trace is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceError {
    /// Number of the line, from 1; 0 if the error belongs to no line, as in a conversion.
    pub line: u64,
    /// The problem in this line.
    pub problem: Problem,
}

/// Quantity of a table's column, for errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Name: `rate`.
    pub name: &'static str,
    /// Meanings that the user can give to rows without a value: `missing=hold or skip`.
    pub missing: &'static str,
}

/// A problem of a trace. `Display` names the text found and the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The trace has no data.
    Empty,
    /// A blank line in a format without blank lines.
    BlankLine,
    /// A line longer than this many bytes.
    LongLine(usize),
    /// A text other than the expected one.
    Unexpected {
        /// Description of the accepted text.
        expected: &'static str,
        /// Beginning of the text found, with unprintable bytes escaped.
        found: String,
    },
    /// A value above the largest accepted one.
    TooLarge {
        /// The largest accepted value with its unit.
        limit: &'static str,
        /// Beginning of the text found.
        found: String,
    },
    /// A time before that of the line above. Both are in the file's unit, as text.
    Decreasing {
        /// Time of the line above.
        before: String,
        /// Time of this line.
        found: String,
    },
    /// A time that already occurred in a line above.
    Repeated {
        /// The time.
        found: String,
    },
    /// A trace of zero length: the last time is zero.
    NoDuration,
    /// A trace without any rate above zero.
    NoCapacity,
    /// More elements than the limit.
    TooMany {
        /// Name of the elements: "opportunities", "samples".
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A table without a requested column.
    NoColumn {
        /// The requested column.
        column: String,
        /// The existing columns, separated by commas; long lists are cut.
        known: String,
    },
    /// A row of a table with a time before that of the row above. Both are as the file has them.
    RowBefore {
        /// Beginning of the time of the row above.
        before: String,
        /// Beginning of the time of this row.
        found: String,
    },
    /// A row without a value in a table whose user gives such rows no meaning.
    NoValue {
        /// Quantity of the table.
        quantity: Quantity,
        /// Description of the accepted text.
        expected: &'static str,
        /// Beginning of the text found.
        found: String,
    },
    /// A table without a value in any row.
    NoValues {
        /// Quantity of the table.
        quantity: Quantity,
        /// Number of rows.
        rows: u64,
    },
    /// A table without a row that has the requested value in a column.
    NoRow {
        /// The requested value and its column.
        wanted: String,
        /// Some of the values in this column, separated by commas.
        known: String,
    },
    /// A table without a CQI in any row.
    NoCqi,
    /// A row that ends before a needed column.
    ShortRow {
        /// The missing column.
        column: String,
    },
}

impl TraceError {
    pub(crate) fn in_line(line: u64, problem: Problem) -> TraceError {
        TraceError { line, problem }
    }
    pub(crate) fn unexpected(line: u64, expected: &'static str, found: &[u8]) -> TraceError {
        TraceError { line, problem: Problem::Unexpected { expected, found: shown(found) } }
    }
    pub(crate) fn too_large(line: u64, limit: &'static str, found: &[u8]) -> TraceError {
        TraceError { line, problem: Problem::TooLarge { limit, found: shown(found) } }
    }
}

/// The beginning of `bytes`, printable.
pub(crate) fn shown(bytes: &[u8]) -> String {
    use fmt::Write;
    let mut text = String::new();
    for chunk in bytes[..bytes.len().min(SHOWN_BYTES)].utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                text.extend(c.escape_default());
            } else {
                text.push(c);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    if bytes.len() > SHOWN_BYTES {
        text.push_str("...");
    }
    text
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        self.problem.fmt(f)
    }
}
impl core::error::Error for TraceError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Empty => f.write_str("the trace is empty; expected at least one line of data"),
            Problem::BlankLine => {
                f.write_str("blank line; expected a whole number of milliseconds, as in mahimahi")
            }
            Problem::LongLine(limit) => {
                write!(
                    f,
                    "the line is longer than {limit} bytes; expected a trace in text form, which has short lines; mbps:every=1s reads a long line of rates"
                )
            }
            Problem::Unexpected { expected, found } => write!(f, "expected {expected}, found '{found}'"),
            Problem::TooLarge { limit, found } => {
                write!(f, "'{found}' is too large; expected at most {limit}")
            }
            Problem::Decreasing { before, found } => {
                write!(f, "time {found} is before {before} of the line above; expected times in order")
            }
            Problem::RowBefore { before, found } => write!(
                f,
                "time {found} is before {before} of the line above; expected times in order: order=sort sorts the rows, \
                 where=COLUMN=VALUE reads one of several runs"
            ),
            Problem::NoValue { quantity: Quantity { name, missing }, expected, found } => write!(
                f,
                "expected {expected}, found '{found}'; {missing} gives rows without a {name} a meaning"
            ),
            Problem::NoValues { quantity: Quantity { name, .. }, rows } => {
                write!(f, "none of {rows} rows has a {name}; expected a number in at least one")
            }
            Problem::NoRow { wanted, known } => {
                write!(f, "no row has {wanted}; expected a value that the column has, such as {known}")
            }
            Problem::NoCqi => f.write_str("no row has a CQI; expected a CQI of 1 to 15 in at least one row"),
            Problem::Repeated { found } => {
                write!(f, "time {found} is repeated; expected each time once, in increasing order")
            }
            Problem::NoDuration => f.write_str("the trace ends at time 0; expected a last time above 0"),
            Problem::NoCapacity => {
                f.write_str("nothing could ever be delivered; expected capacity for at least one opportunity")
            }
            Problem::TooMany { what, limit } => {
                write!(f, "more than {limit} {what}, which is the limit; expected a shorter trace")
            }
            Problem::NoColumn { column, known } => {
                write!(f, "no column '{column}'; expected one of {known}")
            }
            Problem::ShortRow { column } => {
                write!(f, "the row ends before column '{column}'; expected as many fields as in the header")
            }
        }
    }
}
