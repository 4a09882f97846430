//! Finding traces, telling their formats apart and reading them in pieces.
//!
//! A name is a file if there is one, else a shipped trace, with or without its ending `.down`. The format is told by the
//! first line that is not a comment: a whole number is mahimahi's, two numbers are seconds and Mbit/s. Tables with a
//! header must be named as such, because nothing tells which column is meant.
//!
//! Files are read 64 kB at a time; what a trace may take in memory is bounded by the limits of its parser.
//!
//! A [`Library`] does so for scenarios: it looks in several places, and reads everything once.

pub mod channel;
mod library;

use crate::error::InputError;
pub use crate::results::TraceFile as TraceUsed;
pub use library::{Found, FoundChannel, Library};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Parameter, Unit};
use qdelay_path::link::RateLink;
use qdelay_path::{AnyLink, TraceLink};
use qdelay_trace::csv::{Columns, RateUnit, Times};
use qdelay_trace::{RateSteps, SHIPPED, Schedule, TraceError, csv, mahimahi, mbps, shipped};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

const CHUNK_BYTES: usize = 64 * 1024;
/// What names a format on the command line.
const OPTION: &str = "--trace-format";

/// A trace that has been read.
#[derive(Clone, Debug)]
pub enum Trace {
    /// Opportunities, of mahimahi's format.
    Schedule(Schedule),
    /// A rate in steps, of the other formats.
    Rates(RateSteps),
}

impl Trace {
    /// The link that it drives; it starts over at its end if `repeat`.
    pub fn link(&self, repeat: bool) -> AnyLink {
        match self {
            Trace::Schedule(schedule) => TraceLink::new(schedule, TraceLink::OVERHEAD_BYTES, repeat).into(),
            Trace::Rates(rates) => RateLink::new(rates, 0, repeat).into(),
        }
    }
}

/// How a file is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// What the first line looks like.
    Detect,
    /// Opportunities in milliseconds.
    Mahimahi,
    /// Seconds and Mbit/s.
    Mbps,
    /// A column of a table.
    Csv(Columns),
}

const fn csv_key(name: &'static str, unit: Unit, default: &'static str, about: &'static str) -> Parameter {
    Parameter { name, unit, default, min: "", max: "", about, source: "" }
}

/// The keys of `csv`.
static CSV: Component = Component {
    kind: Kind::Link,
    name: "csv",
    about: "a column of a table with a header",
    source: "",
    parameters: &[
        csv_key("column", Unit::Text, "", "the column of the rate"),
        csv_key("unit", Unit::Choice(&["mbit", "kbit"]), "mbit", "the unit of the rate"),
        Parameter { min: "1us", ..csv_key("every", Unit::Span, "1s", "distance between rows") },
        csv_key("time", Unit::Text, "", "the column of the time, instead of a fixed distance"),
    ],
    positional: Some("column"),
};

impl Format {
    /// Reads `--trace-format`.
    ///
    /// # Errors
    /// A format or key that is not known, or a table without a column.
    pub fn parse(text: Option<&str>) -> Result<Format, InputError> {
        match text {
            None => Ok(Format::Detect),
            Some("mahimahi") => Ok(Format::Mahimahi),
            Some("mbps") => Ok(Format::Mbps),
            Some(text) => Format::parse_csv(text)
                .map_err(|message| InputError::new("--trace-format", format!("'{text}': {message}"))),
        }
    }

    fn parse_csv(text: &str) -> Result<Format, String> {
        let mut parts = text.split(':');
        if parts.next() != Some(CSV.name) {
            return Err("unknown format; expected mahimahi, mbps or csv:column=NAME".to_string());
        }
        let arguments = Arguments::from_parts(&CSV, text, parts)?;
        let column = arguments.text("column").ok_or("no column; expected csv:column=NAME")?;
        let times = match arguments.text("time") {
            Some(_) if arguments.is_given("every") => {
                return Err("every and time are both given; expected one".to_string());
            }
            Some(time) => Times::Column(time.to_string()),
            None => Times::Every(arguments.span("every").unwrap_or(Span::from_secs(1))),
        };
        let unit = if arguments.text("unit") == Some("kbit") { RateUnit::Kbit } else { RateUnit::Mbit };
        Ok(Format::Csv(Columns { rate: column.to_string(), unit, times }))
    }
}

/// Reads the trace called `name`: a file or a shipped one.
///
/// # Errors
/// One line that names the file, the line in it and what was expected there.
pub fn load(name: &OsStr, format: &Format) -> Result<Trace, InputError> {
    let path = Path::new(name);
    let place = path.display().to_string();
    let fail = |message: String| InputError::new(if place.is_empty() { "''" } else { &place }, message);
    match path.metadata() {
        Ok(found) if found.is_dir() => Err(fail("is a folder; expected a file with a trace".to_string())),
        Ok(_) => {
            let mut file = File::open(path).map_err(|error| fail(unreadable(&error)))?;
            read(&mut file, format).map_err(|error| fail(error.message(OPTION)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => match name.to_str().and_then(find_shipped) {
            Some(mut contents) => read(&mut contents, format).map_err(|error| fail(error.message(OPTION))),
            None => Err(fail(format!(
                "no such file, and no shipped trace of this name; expected a file or one of {}",
                SHIPPED.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
            ))),
        },
        Err(error) => Err(fail(unreadable(&error))),
    }
}

/// Reads the trace of `input`, and the FNV-1a digest of its bytes.
pub(crate) fn read_with_digest(input: &mut dyn Read, format: &Format) -> Result<(Trace, u64), String> {
    let mut input = Digesting { input, digest: FNV_BASIS };
    let trace = read(&mut input, format).map_err(|error| error.message("trace_format"))?;
    Ok((trace, input.digest))
}

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// The digest of a text, as those of traces are made.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    let step = |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
    format!("{:016x}", bytes.iter().fold(FNV_BASIS, step))
}

/// Passes on what it reads, and keeps its digest.
struct Digesting<'a> {
    input: &'a mut dyn Read,
    digest: u64,
}

impl Read for Digesting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        for byte in buffer.iter().take(n) {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
        }
        Ok(n)
    }
}

pub(crate) fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}; expected a file that can be read")
}

/// The contents of the shipped trace of this name, with or without its ending `.down`.
pub(crate) fn find_shipped(name: &str) -> Option<&'static [u8]> {
    shipped::find(name).or_else(|| shipped::find(&format!("{name}.down")))
}

/// Why a trace was not read.
enum ReadError {
    Io(io::Error),
    Trace(TraceError),
    /// It begins with a line of words.
    Table,
}

impl ReadError {
    /// `option` is what names a format.
    fn message(&self, option: &str) -> String {
        match self {
            ReadError::Io(error) => unreadable(error),
            ReadError::Trace(error) => error.to_string(),
            ReadError::Table => {
                format!(
                    "line 1: looks like the header of a table; expected mahimahi's milliseconds, or seconds and \
                    Mbit/s; for a table give {option} csv:column=NAME"
                )
            }
        }
    }
}

impl From<TraceError> for ReadError {
    fn from(error: TraceError) -> Self {
        ReadError::Trace(error)
    }
}

fn read(input: &mut dyn Read, format: &Format) -> Result<Trace, ReadError> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let filled = fill(input, &mut chunk).map_err(ReadError::Io)?;
    let first = &chunk[..filled];
    let detected = if *format == Format::Detect { detect(first)? } else { format.clone() };
    let mut parser = Parser::new(&detected);
    let mut filled = filled;
    while filled > 0 {
        parser.feed(&chunk[..filled])?;
        filled = fill(input, &mut chunk).map_err(ReadError::Io)?;
    }
    Ok(parser.finish()?)
}

/// Reads until `chunk` is full or the input ends; returns how much there is.
fn fill(input: &mut dyn Read, chunk: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < chunk.len() {
        match input.read(&mut chunk[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The format that the first line has, or the first after comments, which only the format of seconds and Mbit/s knows.
/// What is no format at all is left to mahimahi's parser to refuse.
fn detect(first: &[u8]) -> Result<Format, ReadError> {
    let line = first.split(|&byte| byte == b'\n').next().unwrap_or(b"").trim_ascii();
    if line.starts_with(b"#") {
        return Ok(Format::Mbps);
    }
    let Ok(line) = std::str::from_utf8(line) else { return Ok(Format::Mahimahi) };
    let fields: Vec<&str> = line.split([' ', '\t', ',']).filter(|field| !field.is_empty()).collect();
    let numbers = fields.iter().filter(|field| field.parse::<f64>().is_ok()).count();
    let words =
        fields.iter().filter(|field| field.starts_with(|c: char| c.is_alphabetic() || c == '"')).count();
    if line.contains(',') && words > numbers {
        return Err(ReadError::Table);
    }
    Ok(if fields.len() > 1 && numbers > 0 { Format::Mbps } else { Format::Mahimahi })
}

enum Parser {
    Mahimahi(mahimahi::Parser),
    Mbps(mbps::Parser),
    Csv(Box<csv::Parser>),
}

impl Parser {
    fn new(format: &Format) -> Parser {
        match format {
            Format::Detect | Format::Mahimahi => Parser::Mahimahi(mahimahi::Parser::new()),
            Format::Mbps => Parser::Mbps(mbps::Parser::new()),
            Format::Csv(columns) => Parser::Csv(Box::new(csv::Parser::new(columns.clone()))),
        }
    }
    fn feed(&mut self, chunk: &[u8]) -> Result<(), TraceError> {
        match self {
            Parser::Mahimahi(parser) => parser.feed(chunk),
            Parser::Mbps(parser) => parser.feed(chunk),
            Parser::Csv(parser) => parser.feed(chunk),
        }
    }
    fn finish(self) -> Result<Trace, TraceError> {
        match self {
            Parser::Mahimahi(parser) => parser.finish().map(Trace::Schedule),
            Parser::Mbps(parser) => parser.finish().map(Trace::Rates),
            Parser::Csv(parser) => parser.finish().map(Trace::Rates),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(text: &str) -> Option<Format> {
        detect(text.as_bytes()).ok()
    }

    #[test]
    fn formats_are_told_apart() {
        for text in ["", "\n", "0\n1\n", "5\r\n", "-5\n", "five\n", "\u{1}\u{2}\n", "1.5\n", "x y\n"] {
            assert_eq!(detected(text), Some(Format::Mahimahi), "{text:?}");
        }
        for text in ["1\t253\n", "1,2", "# c\n1 2\n", "0.5 -1\n", "1 2 3\n", "# only"] {
            assert_eq!(detected(text), Some(Format::Mbps), "{text:?}");
        }
        for text in ["a,b\n1,2\n", "Timestamp,Op,DL_bitrate\n", "\"a\",b\n"] {
            assert_eq!(detected(text), None, "{text:?}");
        }
    }

    #[test]
    fn csv_formats() {
        let columns = Columns { rate: "DL".into(), unit: RateUnit::Kbit, times: Times::Column("T".into()) };
        assert_eq!(Format::parse(Some("csv:DL:unit=kbit:time=T")).unwrap(), Format::Csv(columns));
        for bad in ["wav", "csv", "csv:col=a", "csv:a:every=1s:time=b", "csv:a:every=0"] {
            assert!(Format::parse(Some(bad)).is_err(), "{bad}");
        }
    }
}
