//! A rate from one column of a table with a header, as published for drive tests (RFC 4180, fields separated
//! by commas).
//!
//! Source: the tables of 5Gophers (Narayanan et al., WWW 2020; Mbit/s, a row a second) and of UCC's 5G
//! dataset (Raca et al., MMSys 2020; kbit/s with a date).
//!
//! | parameter | meaning |
//! | --- | --- |
//! | `column` | name of the rate's column in the header; the first one if several have the same name |
//! | `unit` | unit of the rate: kbit/s or Mbit/s |
//! | `times` | rows at equal intervals, or a column with a number of seconds or a date such as `2019.12.16_14.23.32` |
//! | `sample` | `after` (default): a row holds until the next one, the last for as long as the one before it. `before`: a row describes the interval that it ends, as in [`crate::mbps`] |
//!
//! The first row becomes time 0. Rows that share a time (loggers that write more than one a second) are
//! replaced by their mean. Blank lines are skipped, as is a byte order mark. A field of a needed column
//! without a number (`-`, empty) is an error: the user has to decide the meaning of a gap.
//!
//! Memory: 16 bytes a sample up to a limit, and one field.

use crate::error::{Problem, TraceError, shown};
use crate::format::{self, BYTE_ORDER_MARK, Format, Trace, fields};
use crate::mbps::{SAMPLE, interval, read_number, read_seconds, scaled_rate};
use crate::rates::{Interval, RateSteps, STEPS_MAX, Samples};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use csv_core::ReadFieldResult;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_core::{Rate, Span, Time};

/// Longest field of the header or of a needed column, in bytes.
const FIELD_BYTES_MAX: usize = 256;
/// Number of columns that an error lists.
const KNOWN_MAX: usize = 40;
const DATE: &str = "a number of seconds or a date such as 2019.12.16_14.23.32";

/// The unit of a rate column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateUnit {
    /// 1000 bits per second.
    Kbit,
    /// 10^6 bits per second.
    Mbit,
}

/// Times of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Times {
    /// Rows at equal intervals; usually a second.
    Every(Span),
    /// Times in this column.
    Column(String),
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
    /// The interval that a row describes.
    pub interval: Interval,
}

const COLUMN: Typed<Option<&str>> = Typed::new("column", "", "name of the column of the rate; required");
const UNIT: Typed<str> = Typed::new("unit", "mbit", "unit of the rate").unit(Unit::Choice(&["mbit", "kbit"]));
const EVERY: Typed<Span> = Typed::new("every", "1s", "time between rows").within("1us", "");
const TIME: Typed<Option<&str>> = Typed::new("time", "", "name of the column of the time, instead of every");

/// The format `csv`.
pub static FORMAT: Format = Format {
    component: &Component::new(Kind::Format, "csv", "a column of a table with a header")
        .source("RFC 4180")
        .with(&[
            COLUMN.parameter(),
            UNIT.parameter(),
            EVERY.parameter(),
            TIME.parameter(),
            SAMPLE.parameter(),
        ])
        .positional("column"),
    usage: "csv:column=NAME",
    example: "time,rate\n0,1.5\n1,2\n",
    begins: "the header of a table",
    is_begun_by: |line| {
        let (_, numbers, words) = fields(line);
        !line.starts_with(b"#") && line.contains(&b',') && words > numbers
    },
    parser: |arguments| Ok(Box::new(Parser::new(Columns::from_arguments(arguments)?))),
};

impl Columns {
    fn from_arguments(arguments: &Arguments) -> Result<Columns, String> {
        let rate = arguments.get(&COLUMN).ok_or("no column; expected csv:column=NAME")?.to_string();
        let times = match arguments.get(&TIME) {
            Some(_) if arguments.is_given(&EVERY) => {
                return Err("every and time are both given; expected only one of them".to_string());
            }
            Some(time) => Times::Column(time.to_string()),
            None => Times::Every(arguments.get(&EVERY)),
        };
        let unit = if arguments.get(&UNIT) == "kbit" { RateUnit::Kbit } else { RateUnit::Mbit };
        let interval = interval(arguments.get(&SAMPLE)).unwrap_or(Interval::After);
        Ok(Columns { rate, unit, times, interval })
    }
}

impl format::Parser for Parser {
    fn feed(&mut self, chunk: &[u8]) -> Result<(), TraceError> {
        Parser::feed(self, chunk)
    }
    fn finish(self: Box<Self>) -> Result<Trace, TraceError> {
        Parser::finish(*self).map(Trace::Rates)
    }
}

/// Reads a table from chunks of bytes that may end anywhere.
#[derive(Clone, Debug)]
pub struct Parser {
    reader: csv_core::Reader,
    rows: Rows,
    /// The current field, and the number of its bytes read so far.
    field: [u8; FIELD_BYTES_MAX],
    filled: usize,
    /// Number of bytes of a byte order mark seen; the mark's length once it can no longer come.
    mark: usize,
    /// True at the beginning of a row, where ends of lines have no meaning.
    fresh: bool,
    failed: Option<TraceError>,
}

/// Values of the rows read so far.
#[derive(Clone, Debug)]
struct Rows {
    columns: Columns,
    limit: u64,
    samples: Samples,
    /// Number of the line in which the row began, from 1; `line_now`: number of the current line.
    line: u64,
    line_now: u64,
    /// Index of the current field.
    index: usize,
    header: Option<Header>,
    known: Vec<String>,
    time: Option<Time>,
    rate: Option<f64>,
    row: u64,
    /// Rows of the same time: the time, the sum of their rates in bit/s, and their number.
    pending: Option<(Time, f64, u32)>,
}

/// Indices of the needed columns.
#[derive(Clone, Copy, Debug)]
struct Header {
    rate: usize,
    time: Option<usize>,
}

impl Parser {
    /// A reader of these columns that accepts up to [`STEPS_MAX`] rows.
    pub fn new(columns: Columns) -> Parser {
        Parser::with_limit(columns, STEPS_MAX)
    }

    /// A reader that refuses a table of more than `limit` samples.
    pub fn with_limit(columns: Columns, limit: u64) -> Parser {
        let mut reader = csv_core::Reader::new();
        let mut field = [0; FIELD_BYTES_MAX];
        // The reader drops a byte order mark only if its first chunk contains it completely. A dummy first
        // chunk makes the result independent of the ends of chunks; marks are dropped here.
        let _ = reader.read_field(b"\n", &mut field);
        let rows = Rows {
            columns,
            limit,
            samples: Samples::with_limit(limit),
            line: 1,
            line_now: 1,
            index: 0,
            header: None,
            known: Vec::new(),
            time: None,
            rate: None,
            row: 0,
            pending: None,
        };
        Parser { reader, rows, field, filled: 0, mark: 0, fresh: true, failed: None }
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
    pub fn finish(mut self) -> Result<RateSteps, TraceError> {
        self.feed(b"")?;
        if self.mark < BYTE_ORDER_MARK.len() && self.mark > 0 {
            let seen = self.mark;
            self.mark = BYTE_ORDER_MARK.len();
            self.fields(&BYTE_ORDER_MARK[..seen])?;
        }
        if !self.fresh {
            self.fields(b"\n")?;
        }
        let line = self.rows.line;
        let rows = &mut self.rows;
        rows.flush()?;
        let every = match rows.columns.times {
            Times::Every(step) => Some(step * rows.row),
            Times::Column(_) => None,
        };
        match rows.columns.interval {
            Interval::Before => self.rows.samples.finish_before(line),
            Interval::After => self.rows.samples.finish(line, every),
        }
    }

    /// Drops a byte order mark at the very beginning, which may come in pieces.
    fn without_mark(&mut self, mut chunk: &[u8]) -> Result<(), TraceError> {
        while let (Some(&expected), [byte, rest @ ..]) = (BYTE_ORDER_MARK.get(self.mark), chunk) {
            if *byte != expected {
                let seen = core::mem::replace(&mut self.mark, BYTE_ORDER_MARK.len());
                self.fields(&BYTE_ORDER_MARK[..seen])?;
                break;
            }
            self.mark += 1;
            chunk = rest;
        }
        self.fields(chunk)
    }

    fn fields(&mut self, mut chunk: &[u8]) -> Result<(), TraceError> {
        while !chunk.is_empty() {
            if self.fresh {
                chunk = self.rows.skip_line_ends(chunk);
                self.fresh = chunk.is_empty();
                continue;
            }
            let (result, read, written) = self.reader.read_field(chunk, &mut self.field[self.filled..]);
            self.filled += written;
            let (taken, rest) = chunk.split_at(read);
            self.rows.line_now += taken.iter().filter(|&&byte| byte == b'\n').count() as u64;
            chunk = rest;
            match result {
                ReadFieldResult::InputEmpty | ReadFieldResult::End => return Ok(()),
                ReadFieldResult::OutputFull => self.overflow()?,
                ReadFieldResult::Field { record_end } => {
                    let field = &self.field[..self.filled];
                    self.filled = 0;
                    self.rows.field(field)?;
                    self.fresh = record_end;
                    if record_end {
                        self.rows.end()?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Handles a field that is too long: an error in the header and in a needed column; ignored in others.
    fn overflow(&mut self) -> Result<(), TraceError> {
        if self.rows.needs(self.rows.index) {
            return Err(TraceError::in_line(self.rows.line, Problem::LongLine(FIELD_BYTES_MAX)));
        }
        self.filled = 0;
        Ok(())
    }
}

impl Rows {
    fn skip_line_ends<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let ends = chunk.iter().take_while(|&&byte| byte == b'\n' || byte == b'\r').count();
        let (skipped, rest) = chunk.split_at(ends);
        self.line_now += skipped.iter().filter(|&&byte| byte == b'\n').count() as u64;
        if !rest.is_empty() {
            self.line = self.line_now;
        }
        rest
    }

    /// Returns true if the field at `index` is used.
    fn needs(&self, index: usize) -> bool {
        self.header.is_none_or(|header| index == header.rate || Some(index) == header.time)
    }

    fn field(&mut self, field: &[u8]) -> Result<(), TraceError> {
        let index = self.index;
        self.index += 1;
        let Some(header) = self.header else {
            return self.name(field);
        };
        if Some(index) == header.time {
            self.time = Some(read_time(self.line, field.trim_ascii())?);
        }
        if index == header.rate {
            self.rate = Some(self.read_rate(field.trim_ascii())?);
        }
        Ok(())
    }

    /// Reads a name in the header. Kept are as many names as an error would list, and the requested ones.
    fn name(&mut self, field: &[u8]) -> Result<(), TraceError> {
        /// Largest number of columns; a wider file is not a table.
        const COLUMNS_MAX: usize = 10_000;
        if self.known.len() == COLUMNS_MAX {
            let problem = Problem::TooMany { what: "columns", limit: COLUMNS_MAX as u64 };
            return Err(TraceError::in_line(self.line, problem));
        }
        self.known.push(shown_name(field));
        Ok(())
    }

    fn read_rate(&self, field: &[u8]) -> Result<f64, TraceError> {
        let (expected, scale) = match self.columns.unit {
            RateUnit::Kbit => ("a rate in kbit/s, 0 or more", 1e3),
            RateUnit::Mbit => ("a rate in Mbit/s, 0 or more", 1e6),
        };
        let bps = read_number(self.line, expected, field)? * scale;
        scaled_rate(self.line, bps, field).map(|_| bps)
    }

    fn end(&mut self) -> Result<(), TraceError> {
        self.index = 0;
        let Some(header) = self.header else {
            return self.find();
        };
        let short = |column: &str| {
            TraceError::in_line(self.line, Problem::ShortRow { column: shown_name(column.as_bytes()) })
        };
        let Some(rate) = self.rate.take() else {
            return Err(short(&self.columns.rate));
        };
        let time = match (&self.columns.times, header.time) {
            (Times::Column(column), Some(_)) => self.time.take().ok_or_else(|| short(column))?,
            (Times::Every(step), _) => Time::ZERO + *step * self.row,
            (Times::Column(column), None) => return Err(short(column)),
        };
        self.row += 1;
        self.add(time, rate)
    }

    /// Finds the columns in the header, once.
    fn find(&mut self) -> Result<(), TraceError> {
        let known = core::mem::take(&mut self.known);
        let find = |wanted: &str| {
            let wanted = shown_name(wanted.as_bytes());
            let missing = || {
                let mut list = known[..known.len().min(KNOWN_MAX)].join(", ");
                if known.len() > KNOWN_MAX {
                    list.push_str(", ...");
                }
                Problem::NoColumn { column: wanted.clone(), known: list }
            };
            let found = known.iter().position(|name| *name == wanted);
            found.ok_or_else(|| TraceError::in_line(self.line, missing()))
        };
        let time = match &self.columns.times {
            Times::Every(_) => None,
            Times::Column(name) => Some(find(name)?),
        };
        self.header = Some(Header { rate: find(&self.columns.rate)?, time });
        Ok(())
    }

    fn add(&mut self, time: Time, bps: f64) -> Result<(), TraceError> {
        match &mut self.pending {
            Some((at, sum, rows)) if *at == time => {
                *sum += bps;
                *rows = rows.saturating_add(1);
                // A table whose time does not advance has no other bound.
                if u64::from(*rows) > self.limit {
                    let problem = Problem::TooMany { what: "samples of one time", limit: self.limit };
                    return Err(TraceError::in_line(self.line, problem));
                }
                Ok(())
            }
            Some((at, ..)) if time < *at => {
                let (before, found) = (crate::rates::seconds(*at), crate::rates::seconds(time));
                Err(TraceError::in_line(self.line, Problem::Decreasing { before, found }))
            }
            _ => {
                self.flush()?;
                self.pending = Some((time, bps, 1));
                Ok(())
            }
        }
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        let Some((time, sum, rows)) = self.pending.take() else { return Ok(()) };
        let rate = Rate::from_bps(libm::round(sum / f64::from(rows)) as u64);
        self.samples.push(time, rate).map_err(|problem| TraceError::in_line(self.line, problem))
    }
}

/// A column's name, printable, as used in comparisons and errors.
fn shown_name(name: &[u8]) -> String {
    shown(name.trim_ascii())
}

pub(crate) fn read_time(line: u64, field: &[u8]) -> Result<Time, TraceError> {
    match date(field) {
        Some(seconds) => Ok(Time::ZERO + Span::from_secs(seconds)),
        None => read_seconds(line, field).map_err(|error| match error.problem {
            Problem::Unexpected { .. } => TraceError::unexpected(line, DATE, field),
            _ => error,
        }),
    }
}

/// Seconds since 1970 of a date of year, month, day, hour, minute and second, separated by one character
/// each.
pub(crate) fn date(field: &[u8]) -> Option<u64> {
    let text = core::str::from_utf8(field).ok()?;
    let mut numbers = text.split(['.', '-', '/', '_', ' ', 'T', ':']).map(|part| {
        let digits = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        if digits { part.parse::<u64>().ok() } else { None }
    });
    let mut next = |least: u64, most: u64| numbers.next()?.filter(|n| (least..=most).contains(n));
    let (year, month, day) = (next(1970, 2500)?, next(1, 12)?, next(1, 31)?);
    let (hour, minute, second) = (next(0, 23)?, next(0, 59)?, next(0, 60)?);
    if numbers.next().is_some() {
        return None;
    }
    Some(((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

/// Days from 1970-01-01 in the Gregorian calendar, counting months from March so that leap days come last.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    const UCC: &str = "Timestamp,Op,DL_bitrate\n2019.12.16_14.23.32,B,100\n2019.12.16_14.23.32,\"B,\nC\",300\n\
        2019.12.16_14.23.33,B,50\n\n2019.12.16_14.23.35,B,0.5\n";

    fn every_second(rate: &str) -> Columns {
        Columns {
            rate: rate.to_string(),
            unit: RateUnit::Mbit,
            times: Times::Every(Span::from_secs(1)),
            interval: Interval::After,
        }
    }
    fn dated() -> Columns {
        let times = Times::Column("Timestamp".to_string());
        Columns { rate: "DL_bitrate".to_string(), unit: RateUnit::Kbit, times, interval: Interval::After }
    }
    fn parse(columns: Columns, chunks: &[&[u8]]) -> Result<RateSteps, TraceError> {
        let mut parser = Parser::new(columns);
        chunks.iter().try_for_each(|chunk| parser.feed(chunk))?;
        parser.finish()
    }
    fn steps(rates: &RateSteps) -> Vec<(u64, u64)> {
        rates.steps().iter().map(|s| (s.start.as_nanos() / 1_000_000_000, s.rate.as_bps())).collect()
    }
    fn message(columns: Columns, text: &str) -> String {
        parse(columns, &[text.as_bytes()]).unwrap_err().to_string()
    }

    #[test]
    fn rows_may_have_equal_intervals() {
        let rates = parse(every_second("b"), &[b"a,b\r\n1,2.5\r\n1,0\r\n1,\"7\""]).unwrap();
        assert_eq!(steps(&rates), vec![(0, 2_500_000), (1, 0), (2, 7_000_000)]);
        assert_eq!(rates.period(), Span::from_secs(3));
        assert_eq!(parse(every_second("b"), &[b"b\n1"]).unwrap().period(), Span::from_secs(1));
    }

    #[test]
    fn rows_of_one_date_give_their_mean() {
        let rates = parse(dated(), &[UCC.as_bytes()]).unwrap();
        assert_eq!(steps(&rates), vec![(0, 200_000), (1, 50_000), (3, 500)]);
        assert_eq!(rates.period(), Span::from_secs(5));
    }

    #[test]
    fn the_result_does_not_depend_on_the_ends_of_chunks() {
        for text in [UCC.to_string(), alloc::format!("\u{feff}{UCC}"), UCC.replace('\n', "\r\n")] {
            let text = text.as_bytes();
            let whole = parse(dated(), &[text]).unwrap();
            for i in 0..text.len() {
                assert_eq!(parse(dated(), &[&text[..i], &text[i..]]).unwrap(), whole);
            }
        }
    }

    #[test]
    fn every_refusal_names_line_and_expectation() {
        assert_eq!(message(every_second("c"), "a,b\n1,2\n"), "line 1: no column 'c'; expected one of a, b");
        assert!(message(dated(), "Time,DL_bitrate\n").contains("no column 'Timestamp'"));
        assert!(
            message(every_second("b"), "a,b\n\n1,2\n1\n")
                .starts_with("line 4: the row ends before column 'b'")
        );
        assert!(
            message(every_second("b"), "a,b\n\"1\n2\",3\n1,-\n")
                .starts_with("line 4: expected a rate in Mbit/s")
        );
        assert!(message(every_second("b"), "a,b\r\n1,3\r\n1,-2\r\n").starts_with("line 3: expected a rate"));
        assert!(message(every_second("b"), "a,b\n").contains("the trace is empty"));
        assert!(message(every_second("b"), "").contains("the trace is empty"));
        assert!(message(every_second("b"), "a,b\n1,2000000\n").contains("at most 1000000 Mbit/s"));
        let header = "Timestamp,DL_bitrate\n";
        let bad = |rows: &str| message(dated(), &alloc::format!("{header}{rows}"));
        assert!(bad("2,1\n1,1\n").starts_with("line 3: time 1 is before 2"));
        assert!(bad("yesterday,1\n").starts_with("line 2: expected a number of seconds or a date"));
        assert!(bad("2019.13.16_14.23.32,1\n").starts_with("line 2: expected a number of seconds or a date"));
        assert!(bad("5,1\n").contains("a second sample"));
        assert!(message(every_second("b"), &"x".repeat(300)).contains("longer than 256 bytes"));
        let mut parser = Parser::with_limit(every_second("b"), 1);
        assert!(parser.feed(b"b\n1\n2\n3\n").unwrap_err().to_string().contains("more than 1 samples"));
    }

    #[test]
    fn long_fields_of_unused_columns_are_ignored() {
        let text = alloc::format!("a,b\n{},3\n", "x".repeat(10_000));
        assert_eq!(steps(&parse(every_second("b"), &[text.as_bytes()]).unwrap()), vec![(0, 3_000_000)]);
    }

    #[test]
    fn keys_select_columns_and_units() {
        let columns = |text: &str| Columns::from_arguments(&format::parse(text).unwrap()).unwrap();
        let times = Times::Column("T".to_string());
        let named =
            Columns { rate: "DL".to_string(), unit: RateUnit::Kbit, times, interval: Interval::After };
        assert_eq!(columns("csv:DL:unit=kbit:time=T"), named);
        assert_eq!(columns("csv:b"), every_second("b"));
    }

    #[test]
    fn days_match_the_calendar() {
        assert_eq!([days(1970, 1, 1), days(2000, 2, 29), days(2000, 3, 1)], [0, 11_016, 11_017]);
        assert_eq!(date(b"2019-12-16T14:23:32"), Some(1_576_506_212));
    }
}
