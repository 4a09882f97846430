//! The text formats of a link's trace: the registry, and the detection of a format by a file's first line.
//!
//! A format is a file here with a parser and [`FORMAT`](mahimahi::FORMAT), its `mod` line and a line of
//! [`FORMATS`].

pub mod csv;
pub mod guess;
pub mod mahimahi;
pub mod mbps;
pub(crate) mod number;
pub mod time;
pub mod unit;

use crate::error::TraceError;
use crate::lines::{Body, LineParser};
use crate::{RateSteps, Schedule};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, str};
use qdelay_core::component::{Arguments, Component, ComponentError};

/// Every format. If a first line fits several formats, the last of them applies; if it fits none, the first
/// in the list does.
pub static FORMATS: &[&Format] = &[&mahimahi::FORMAT, &mbps::FORMAT, &csv::FORMAT];

/// A text format.
#[derive(Debug)]
pub struct Format {
    /// Name and keys of the format.
    pub component: &'static Component,
    /// Usage with required keys: `csv:column=NAME`.
    pub usage: &'static str,
    /// An example of a file. Where the usage has NAME, the example has `rate`.
    pub example: &'static str,
    /// Description of the first line of its files.
    pub begins: &'static str,
    /// Returns true if a file of this format may begin with this line.
    pub(crate) is_begun_by: fn(&[u8]) -> bool,
    /// Makes the parser for these arguments.
    pub(crate) parser: fn(&Arguments) -> Result<Box<dyn Parser>, String>,
}

/// A trace that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// A trace of opportunities.
    Schedule(Schedule),
    /// A trace of a rate in steps.
    Rates(RateSteps),
}

impl From<Schedule> for Trace {
    fn from(schedule: Schedule) -> Trace {
        Trace::Schedule(schedule)
    }
}

impl From<RateSteps> for Trace {
    fn from(rates: RateSteps) -> Trace {
        Trace::Rates(rates)
    }
}

/// Reads a trace from chunks of bytes that may end anywhere.
pub trait Parser {
    /// Reads the next bytes of the file.
    ///
    /// # Errors
    /// Text that the format refuses. Every call after an error gives the same error.
    fn feed(&mut self, chunk: &[u8]) -> Result<(), TraceError>;

    /// Ends the file and returns the trace.
    ///
    /// # Errors
    /// Errors of [`Parser::feed`]; a file that ends too early.
    fn finish(self: Box<Self>) -> Result<Trace, TraceError>;

    /// Ends the file as [`Parser::finish`] does; also returns lines about the file, such as the number of rows without a value.
    ///
    /// # Errors
    /// Errors of [`Parser::finish`].
    fn finish_with_notes(self: Box<Self>) -> Result<(Trace, Vec<String>), TraceError> {
        self.finish().map(|trace| (trace, Vec::new()))
    }
}

impl<B: Body<Trace: Into<Trace>>> Parser for LineParser<B> {
    fn feed(&mut self, chunk: &[u8]) -> Result<(), TraceError> {
        LineParser::feed(self, chunk)
    }
    fn finish(self: Box<Self>) -> Result<Trace, TraceError> {
        LineParser::finish(*self).map(Into::into)
    }
}

/// Usages of all formats, as [`parse`] accepts them: `mahimahi, mbps or csv:column=NAME`.
pub fn usages() -> String {
    let mut usages: Vec<&str> = FORMATS.iter().map(|format| format.usage).collect();
    let last = usages.pop().unwrap_or("");
    format!("{} or {last}", usages.join(", "))
}

/// Parses `name[:key=value...]` of a format.
///
/// # Errors
/// An unknown name; keys that are unknown, missing or contradict each other.
pub fn parse(text: &str) -> Result<Arguments, ComponentError> {
    let fail = |message| ComponentError::new(text, message);
    let name = text.split(':').next().unwrap_or("");
    if FORMATS.iter().all(|format| format.component.name != name) {
        return Err(fail(format!("unknown format; expected {}", usages())));
    }
    let components: Vec<&'static Component> = FORMATS.iter().map(|format| format.component).collect();
    let arguments = Arguments::parse(&components, text)?;
    parser(&arguments).map_err(fail)?;
    Ok(arguments)
}

/// The parser that `arguments` of a format describe.
///
/// # Errors
/// Errors of [`parse`], and a component that is no format.
pub fn parser(arguments: &Arguments) -> Result<Box<dyn Parser>, String> {
    let name = arguments.component().name;
    let format = FORMATS.iter().find(|format| format.component.name == name);
    let format = format
        .ok_or_else(|| format!("'{name}' is not a format of traces; expected mahimahi, mbps or csv"))?;
    (format.parser)(arguments)
}

/// The byte order mark that some programs write before text in UTF-8; every format drops it.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Beginnings of files that are no trace in text form, each with a description of the file and the way to get
/// a trace from it.
const FOREIGN: [(&[u8], &str); 10] = [
    (b"\x1f\x8b", "compressed by gzip; 'gunzip' makes the trace of it"),
    (b"\xfd7zXZ", "compressed by xz; 'unxz' makes the trace of it"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd; 'unzstd' makes the trace of it"),
    (b"BZh", "compressed by bzip2; 'bunzip2' makes the trace of it"),
    (b"PK\x03\x04", "a ZIP archive; 'unzip' takes the trace out of it"),
    (b"\xff\xfe", "text in UTF-16; 'iconv -f UTF-16 -t UTF-8' makes a trace of it"),
    (b"\xfe\xff", "text in UTF-16; 'iconv -f UTF-16 -t UTF-8' makes a trace of it"),
    (b"{", "JSON; expected a trace in lines of text"),
    (b"[", "JSON; expected a trace in lines of text"),
    (
        b"PAR1",
        "a Parquet file, which this program cannot read; expected a trace in lines of text, such as the same table as CSV",
    ),
];

/// A description of a file with this beginning, if it is no trace in text form.
pub fn foreign(beginning: &[u8]) -> Option<&'static str> {
    let beginning = beginning.strip_prefix(BYTE_ORDER_MARK).unwrap_or(beginning).trim_ascii_start();
    FOREIGN.iter().find(|(start, _)| beginning.starts_with(start)).map(|(_, what)| *what)
}

/// The format of a file with this beginning: by its first line that is neither blank nor a comment, or by a
/// comment if there is no other line.
pub fn detect(beginning: &[u8]) -> &'static Format {
    let beginning = beginning.strip_prefix(BYTE_ORDER_MARK).unwrap_or(beginning);
    let lines = || beginning.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let says = |line: &&[u8]| !line.is_empty() && !line.starts_with(b"#");
    let line = lines().find(says).or_else(|| lines().next()).unwrap_or(b"");
    FORMATS.iter().rev().find(|format| (format.is_begun_by)(line)).unwrap_or(&FORMATS[0])
}

/// The numbers of fields, of numeric fields and of words in a line; all 0 if it is no text.
pub(crate) fn fields(line: &[u8]) -> (usize, usize, usize) {
    let Ok(line) = str::from_utf8(line) else { return (0, 0, 0) };
    let fields: Vec<&str> = line.split([' ', '\t', ',']).filter(|field| !field.is_empty()).collect();
    let numbers = fields.iter().filter(|field| field.parse::<f64>().is_ok()).count();
    let is_word = |field: &&&str| field.starts_with(|c: char| c.is_alphabetic() || c == '"');
    (fields.len(), numbers, fields.iter().filter(is_word).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn formats_are_detected_by_their_first_line() {
        let is = |name: &str, texts: &[&str]| {
            for text in texts {
                assert_eq!(detect(text.as_bytes()).component.name, name, "{text:?}");
            }
        };
        is("mahimahi", &["", "\n", "0\n1\n", "5\r\n", "-5\n", "five\n", "\u{1}\u{2}\n", "1.5\n", "x y\n"]);
        is("mbps", &["1\t253\n", "1,2", "# c\n1 2\n", "0.5 -1\n", "1 2 3\n", "# only", "# a,b,c\n"]);
        is(
            "csv",
            &["a,b\n1,2\n", "Timestamp,Op,DL_bitrate\n", "\"a\",b\n", "time;rate\n0;1\n", "t\tr\n0\t1\n"],
        );
        assert_eq!(detect(b"a,b\xff\n1,2\n").component.name, "mahimahi");
        is("mahimahi", &["# a comment\n0\n1\n", "\u{feff}0\n1\n"]);
        is("mbps", &["\u{feff}0 1\n", "\n# c\n\n1 2\n"]);
    }

    #[test]
    fn files_that_are_no_text_are_described() {
        let named = |bytes: &[u8], what: &str| foreign(bytes).is_some_and(|found| found.contains(what));
        assert!(named(b"\x1f\x8b\x08\0", "gzip") && named(b"\xff\xfe1\0", "UTF-16"));
        assert!(named(b"\n {\"a\": 1}", "JSON") && named(b"\xef\xbb\xbf[1]", "JSON"));
        for text in ["0\n1\n", "0 1\n", "a,b\n", "# {\n0 1\n", ""] {
            assert_eq!(foreign(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn every_format_is_named_by_its_usage_and_reads_its_example() {
        for format in FORMATS {
            let arguments = parse(&format.usage.replace("NAME", "rate")).unwrap();
            assert_eq!(arguments.component().name, format.component.name);
            let mut parser = parser(&arguments).unwrap();
            assert_eq!(parser.feed(format.example.as_bytes()), Ok(()), "{}", format.usage);
            assert!(parser.finish().is_ok(), "{}", format.usage);
            assert_eq!(detect(format.example.as_bytes()).usage, format.usage);
        }
        let message = |text| parse(text).map(|_| ()).unwrap_err().to_string();
        assert_eq!(message("wav"), "'wav': unknown format; expected mahimahi, mbps or csv:column=NAME");
        assert_eq!(message("csv"), "'csv': no column; expected csv:column=NAME");
        for bad in ["csv:col=a", "csv:a:every=1s:time=b", "csv:a:every=0", "mahimahi:x=1"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
