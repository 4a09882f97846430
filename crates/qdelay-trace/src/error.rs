//! Why a trace was refused: the line, what stood there and what was expected.

use alloc::string::String;
use core::fmt;

/// How much of an offending line an error shows. Bytes.
const SHOWN_BYTES: usize = 40;

/// Why a trace was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceError {
    /// The line, from 1. Zero where the trouble is with no line in particular, as when converting.
    pub line: u64,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a trace. `Display` says what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// There is nothing in it.
    Empty,
    /// A line with nothing on it, where the format knows no such lines.
    BlankLine,
    /// A line longer than this many bytes.
    LongLine(usize),
    /// Not what was expected.
    Unexpected {
        /// What is accepted.
        expected: &'static str,
        /// The beginning of what stood there, with unprintable bytes escaped.
        found: String,
    },
    /// Above the largest value that is accepted.
    TooLarge {
        /// The largest accepted value with its unit.
        limit: &'static str,
        /// The beginning of what stood there.
        found: String,
    },
    /// A time before that of the line above. Both in the file's unit, as text.
    Decreasing {
        /// The time above.
        before: String,
        /// The time here.
        found: String,
    },
    /// A time that stood above already.
    Repeated {
        /// The time.
        found: String,
    },
    /// The last time is zero.
    NoDuration,
    /// No rate above zero anywhere.
    NoCapacity,
    /// More of something than the limit.
    TooMany {
        /// What there is too much of: "opportunities", "samples".
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A table without a column that was asked for.
    NoColumn {
        /// The column that was asked for.
        column: String,
        /// The columns there are, separated by commas; long lists are cut.
        known: String,
    },
    /// A row that ends before a column that is needed.
    ShortRow {
        /// The column that is missing.
        column: String,
    },
}

impl TraceError {
    pub(crate) fn at(line: u64, problem: Problem) -> TraceError {
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
                    "the line is longer than {limit} bytes; expected a trace in text form, which has short lines"
                )
            }
            Problem::Unexpected { expected, found } => write!(f, "expected {expected}, found '{found}'"),
            Problem::TooLarge { limit, found } => {
                write!(f, "'{found}' is too large; expected at most {limit}")
            }
            Problem::Decreasing { before, found } => {
                write!(f, "time {found} is before {before} of the line above; expected times in order")
            }
            Problem::Repeated { found } => {
                write!(f, "time {found} again; expected each time once, in increasing order")
            }
            Problem::NoDuration => {
                f.write_str("the trace ends at time 0; expected it to last for a time above zero")
            }
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
