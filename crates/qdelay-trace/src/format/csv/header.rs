//! The header of a table: its separator, and the places of the needed columns.

use super::columns::{Columns, Times};
use super::{FIELD_BYTES_MAX, SEPARATORS};
use crate::error::{Problem, TraceError, shown};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use csv_core::ReadFieldResult;

/// Number of columns that an error lists.
const KNOWN_MAX: usize = 40;
/// Largest number of columns; a wider file is not a table.
const COLUMNS_MAX: usize = 10_000;
/// Longest header in bytes.
const HEADER_BYTES_MAX: usize = 1 << 18;

/// The separator of a table and the indices of the needed columns.
#[derive(Clone, Debug, Default)]
pub(super) struct Header {
    pub separator: u8,
    pub value: usize,
    pub time: Option<usize>,
    /// In the order of the filters.
    pub filters: Vec<usize>,
}

/// A reader of fields.
pub(super) fn reader(separator: u8) -> csv_core::Reader {
    let mut reader = csv_core::ReaderBuilder::new().delimiter(separator).build();
    // The reader drops a byte order mark only if its first chunk contains it completely. A dummy first
    // chunk makes the result independent of the ends of chunks; marks are dropped by the parser.
    let _ = reader.read_field(b"\n", &mut [0; 1]);
    reader
}

/// Returns true if a line looks like a header: fields with a separator, and more words than numbers.
pub(super) fn is_header(line: &[u8]) -> bool {
    let Ok(line) = core::str::from_utf8(line) else { return false };
    if !line.contains([',', ';', '\t']) {
        return false;
    }
    let fields = || line.split([' ', ',', ';', '\t']).filter(|field| !field.is_empty());
    let numbers = fields().filter(|field| field.parse::<f64>().is_ok()).count();
    let words = fields().filter(|field| field.starts_with(|c: char| c.is_alphabetic() || c == '"')).count();
    words > numbers
}

/// Where the bytes of a header are with regard to quotes (RFC 4180).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    FieldBegins,
    Field,
    Quoted,
    /// After a quote within quotes: the second of two is part of the field, a single one ends them.
    QuoteInQuotes,
}

/// Collects the bytes of the header.
#[derive(Clone, Debug)]
pub(super) struct HeaderLine {
    bytes: Vec<u8>,
    place: Place,
    separator: Option<u8>,
    is_found: bool,
    /// The error of the first line without the columns, which may be a comment.
    error: Option<TraceError>,
}

impl HeaderLine {
    pub const fn new(separator: Option<u8>) -> HeaderLine {
        HeaderLine { bytes: Vec::new(), place: Place::FieldBegins, separator, is_found: false, error: None }
    }
    pub const fn is_found(&self) -> bool {
        self.is_found
    }
    /// The error of a table without the columns.
    pub fn error(&self) -> Option<TraceError> {
        self.error.clone()
    }

    /// Takes bytes up to the end of the header; returns their number, and true if the header has ended.
    pub fn take(&mut self, line: u64, chunk: &[u8]) -> Result<(usize, bool), TraceError> {
        let end = chunk.iter().position(|&byte| self.ends_with(byte));
        let taken = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        if self.bytes.len() + taken.len() > HEADER_BYTES_MAX {
            return Err(TraceError::in_line(line, Problem::LongLine(HEADER_BYTES_MAX)));
        }
        self.bytes.extend_from_slice(taken);
        Ok((taken.len(), end.is_some()))
    }

    fn separates(&self, byte: u8) -> bool {
        match self.separator {
            Some(separator) => byte == separator,
            None => SEPARATORS.iter().any(|(separator, _)| byte == *separator),
        }
    }

    /// Returns true if the header ends with `byte`.
    fn ends_with(&mut self, byte: u8) -> bool {
        self.place = match (self.place, byte) {
            (Place::FieldBegins, b'"') | (Place::QuoteInQuotes, b'"') => Place::Quoted,
            (Place::Quoted, b'"') => Place::QuoteInQuotes,
            (Place::Quoted, _) => Place::Quoted,
            (_, b'\n' | b'\r') => return true,
            (_, byte) if self.separates(byte) => Place::FieldBegins,
            _ => Place::Field,
        };
        false
    }

    /// Finds the columns in the header that was taken; `None` if it is a comment without them.
    pub fn find<U>(&mut self, columns: &Columns<U>, line: u64) -> Result<Option<Header>, TraceError> {
        let bytes = core::mem::take(&mut self.bytes);
        self.place = Place::FieldBegins;
        match find(columns, self.separator, &bytes, line) {
            Ok(header) => {
                self.is_found = true;
                Ok(Some(header))
            }
            Err(error) if bytes.starts_with(b"#") => {
                self.error.get_or_insert(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// The first of the possible separators by which the header has every column; the error is that of the separator that gives the most fields.
fn find<U>(
    columns: &Columns<U>,
    separator: Option<u8>,
    bytes: &[u8],
    line: u64,
) -> Result<Header, TraceError> {
    let possible: Vec<u8> = match separator {
        Some(separator) => alloc::vec![separator],
        None => SEPARATORS.iter().map(|(separator, _)| *separator).collect(),
    };
    let mut worst: Option<(usize, TraceError)> = None;
    for separator in possible {
        let (fields, error) = match names(bytes, separator) {
            Ok(names) => match places(columns, separator, &names) {
                Ok(header) => return Ok(header),
                Err(problem) => (names.len(), problem),
            },
            Err(problem) => (0, problem),
        };
        if worst.as_ref().is_none_or(|(most, _)| fields > *most) {
            worst = Some((fields, TraceError::in_line(line, error)));
        }
    }
    Err(worst.map_or(TraceError::in_line(line, Problem::Empty), |(_, error)| error))
}

/// The names in a header, printable, without `#` before the first.
pub(crate) fn names(bytes: &[u8], separator: u8) -> Result<Vec<String>, Problem> {
    let mut reader = reader(separator);
    let mut field = [0; FIELD_BYTES_MAX];
    let (mut names, mut filled, mut left) = (Vec::new(), 0, bytes);
    loop {
        // After the last byte an end of line ends the record.
        let input = if left.is_empty() { b"\n" } else { left };
        let (result, read, written) = reader.read_field(input, &mut field[filled..]);
        let is_last = left.is_empty();
        left = left.get(read..).unwrap_or_default();
        filled += written;
        match result {
            ReadFieldResult::OutputFull => return Err(Problem::LongLine(FIELD_BYTES_MAX)),
            ReadFieldResult::Field { record_end } => {
                let name = field.get(..filled).unwrap_or_default();
                filled = 0;
                if names.len() == COLUMNS_MAX {
                    return Err(Problem::TooMany { what: "columns", limit: COLUMNS_MAX as u64 });
                }
                names.push(shown_name(name));
                if record_end {
                    break;
                }
            }
            // A quoted field without its end.
            ReadFieldResult::InputEmpty | ReadFieldResult::End if is_last => {
                names.push(shown_name(field.get(..filled).unwrap_or_default()));
                break;
            }
            ReadFieldResult::InputEmpty | ReadFieldResult::End => {}
        }
    }
    Ok(names)
}

/// The fields of the first `limit` records of `text`, as text; fields that are too long are cut.
pub(crate) fn records(text: &[u8], separator: u8, limit: usize) -> Vec<Vec<String>> {
    let mut reader = reader(separator);
    let mut field = [0; FIELD_BYTES_MAX];
    let (mut records, mut record, mut filled, mut left) = (Vec::new(), Vec::new(), 0, text);
    while records.len() < limit {
        let is_last = left.is_empty();
        let input = if is_last { b"\n" } else { left };
        let (result, read, written) = reader.read_field(input, &mut field[filled..]);
        left = left.get(read..).unwrap_or_default();
        filled += written;
        match result {
            ReadFieldResult::Field { record_end } => {
                record.push(String::from_utf8_lossy(field.get(..filled).unwrap_or_default()).into_owned());
                filled = 0;
                if record_end {
                    records.push(core::mem::take(&mut record));
                }
            }
            ReadFieldResult::OutputFull => filled = 0,
            ReadFieldResult::InputEmpty | ReadFieldResult::End if is_last => break,
            ReadFieldResult::InputEmpty | ReadFieldResult::End => {}
        }
        if is_last {
            break;
        }
    }
    records
}

fn places<U>(columns: &Columns<U>, separator: u8, names: &[String]) -> Result<Header, Problem> {
    let find = |wanted: &str| {
        let wanted = shown_name(wanted.as_bytes());
        let bracketed = format!("[{wanted}]");
        let is = |name: &String, wanted: &str| *name == wanted;
        let first = || {
            let bare = names.first()?.strip_prefix('#')?.trim_start();
            (bare == wanted).then_some(0)
        };
        let found = names.iter().position(|name| is(name, &wanted)).or_else(first);
        found.or_else(|| names.iter().position(|name| is(name, &bracketed))).ok_or_else(|| {
            let mut known = names[..names.len().min(KNOWN_MAX)].join(", ");
            if names.len() > KNOWN_MAX {
                known.push_str(", ...");
            }
            Problem::NoColumn { column: wanted, known }
        })
    };
    let time = match &columns.times {
        Times::Every(_) => None,
        Times::Column(name) => Some(find(name)?),
    };
    let filters = columns.filters.iter().map(|(column, _)| find(column)).collect::<Result<_, _>>()?;
    Ok(Header { separator, value: find(&columns.value)?, time, filters })
}

/// A column's name, printable, as used in comparisons and errors.
pub(super) fn shown_name(name: &[u8]) -> String {
    shown(name.trim_ascii())
}
