//! The channel quality indicator (CQI) of a drive test, from a table such as the logger G-NetTrack writes.
//!
//! Source: the 4G and 5G datasets of UCC (Raca et al., MMSys 2018 and 2020). A row has a date of whole
//! seconds in `Timestamp` and the CQI, 1 to 15, in `CQI`, or in the columns that [`Columns`] names; the header gives
//! the order of the columns. Times have the forms of [`crate::format::time`]. A table
//! that begins with a date rather than a header, as some published copies do, is read with these two as its
//! first and eleventh column, as in both datasets.
//!
//! * The first row becomes time 0; the last one holds for a second.
//! * Rows of the same second are one sample, with the CQI of the last one. Loggers that run a little slow
//!   write two rows in a second and none in the next.
//! * A CQI of `-`, an empty field and 0 (TS 36.213 Table 7.2.3-1: out of range) count as a missing row.
//! * The user decides the meaning of a time without CQI: [`Gap`].
//!
//! Fields are separated by commas, or by semicolons or tabs if the header has its columns so; those in double quotes
//! may hold separators, but no ends of lines. Lines that begin with `#` are skipped. Memory: 16
//! bytes for each change of the CQI, up to a limit, and one line.

mod steps;

pub use steps::{CqiCursor, CqiStep, CqiSteps};

use crate::csv::SEPARATORS;
use crate::error::{Problem, TraceError, shown};
use crate::format::time::{Clock, TimeUnit, is_date, with_point};
use crate::lines::{Body, LineParser};
use crate::rates::{DURATION_MAX, DURATION_MAX_TEXT, STEPS_MAX, seconds};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// The highest CQI.
pub const CQI_MAX: u8 = 15;
/// Time from one row to the next, and so the time for which the last row holds.
const SAMPLE: Span = Span::from_secs(1);
/// Name of the time's column in the datasets of UCC.
pub const TIME_COLUMN: &str = "Timestamp";
/// Name of the CQI's column in the datasets of UCC.
pub const CQI_COLUMN: &str = "CQI";
/// Index of the CQI's column in a table without a header.
const CQI_INDEX: usize = 10;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Meaning of a time without CQI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gap {
    /// The channel keeps the last CQI; before the first CQI it has that one.
    #[default]
    Hold,
    /// An outage begins this long after the last CQI and lasts until the next; there is an outage before the
    /// first. Spans below a second count as a second, for which any CQI holds.
    OutageAfter(Span),
}

/// Names of the columns, and the unit of times that are numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Column of the time.
    pub time: String,
    /// Unit of times that are numbers.
    pub time_unit: TimeUnit,
    /// Column of the CQI.
    pub cqi: String,
}

impl Default for Columns {
    fn default() -> Columns {
        let time_unit = TimeUnit::Seconds;
        Columns { time: TIME_COLUMN.to_string(), time_unit, cqi: CQI_COLUMN.to_string() }
    }
}

/// Reads such a table. It refuses a header without the columns; a row without one of them, with no date, or
/// with an invalid CQI; a time before that of the row above; a table without any CQI.
pub type Parser = LineParser<Rows>;

/// Values of the rows read so far.
#[derive(Clone, Debug)]
pub struct Rows {
    hold: Option<Span>,
    limit: u64,
    names: Columns,
    /// Places of the columns; `None` before the first line.
    header: Option<Header>,
    clock: Clock,
    /// The time of the last row, as text.
    last: Vec<u8>,
    /// Time of the first row, which becomes time 0.
    origin: Time,
    /// The second of the last row, and its CQI.
    pending: Option<(Time, Option<u8>)>,
    /// Time of the last CQI.
    known: Option<Time>,
    steps: Vec<CqiStep>,
}

/// Indices of the time's and the CQI's column, and the separator of fields.
#[derive(Clone, Copy, Debug)]
struct Header {
    time: usize,
    cqi: usize,
    separator: u8,
}

impl Parser {
    /// A reader that accepts up to 10,000,000 changes of the CQI.
    pub fn with_gap(gap: Gap) -> Parser {
        Parser::with_limit(gap, STEPS_MAX)
    }

    /// A reader of these columns that accepts up to 10,000,000 changes of the CQI.
    pub fn with_columns(gap: Gap, names: Columns) -> Parser {
        Parser::with_names(gap, STEPS_MAX, names)
    }

    /// A reader that refuses a table with more than `limit` changes of the CQI.
    pub fn with_limit(gap: Gap, limit: u64) -> Parser {
        Parser::with_names(gap, limit, Columns::default())
    }

    fn with_names(gap: Gap, limit: u64, names: Columns) -> Parser {
        let hold = match gap {
            Gap::Hold => None,
            Gap::OutageAfter(after) if after.as_nanos() < SAMPLE.as_nanos() => Some(SAMPLE),
            Gap::OutageAfter(after) => Some(after),
        };
        LineParser::with_body(Rows {
            hold,
            limit,
            clock: Clock::with_unit(names.time_unit),
            names,
            header: None,
            last: Vec::new(),
            origin: Time::ZERO,
            pending: None,
            known: None,
            steps: Vec::new(),
        })
    }
}

/// Reads a complete table in memory.
///
/// # Errors
/// Errors of [`LineParser::feed`] and [`LineParser::finish`].
pub fn parse(text: &[u8], gap: Gap) -> Result<CqiSteps, TraceError> {
    Parser::with_gap(gap).whole(text)
}

impl Body for Rows {
    type Trace = CqiSteps;
    const LINE_BYTES_MAX: usize = 4096;

    fn read_line(&mut self, number: u64, line: &[u8]) -> Result<(), TraceError> {
        let line = if number == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            return Ok(());
        }
        if let Some(header) = self.header {
            return self.row(number, line, header);
        }
        let first = Fields::of(line, b',').next().unwrap_or_default();
        if !is_date(first) {
            self.header = Some(find(number, line, &self.names)?);
            return Ok(());
        }
        let header = Header { time: 0, cqi: CQI_INDEX, separator: b',' };
        self.header = Some(header);
        self.row(number, line, header)
    }

    fn finish(mut self, line: u64) -> Result<CqiSteps, TraceError> {
        let at = |problem| TraceError::in_line(line, problem);
        let last = self.flush().map_err(at)?.ok_or_else(|| at(Problem::Empty))?;
        let Some(known) = self.known else { return Err(at(Problem::NoCqi)) };
        let end = last + SAMPLE;
        self.outage(known, end).map_err(at)?;
        CqiSteps::new(self.steps, end.since(self.origin)).map_err(|error| at(error.problem))
    }
}

impl Rows {
    fn row(&mut self, number: u64, line: &[u8], header: Header) -> Result<(), TraceError> {
        let short = |column: &str| {
            TraceError::in_line(number, Problem::ShortRow { column: shown(column.as_bytes()) })
        };
        let field = |place: usize| Fields::of(line, header.separator).nth(place);
        let text = field(header.time).ok_or_else(|| short(&self.names.time))?;
        let cqi = field(header.cqi).ok_or_else(|| short(&self.names.cqi))?;
        self.clock.decimal_comma = header.separator != b',';
        let (time, cqi) = (self.clock.read(number, text)?, read_cqi(number, cqi, header.separator)?);
        match &mut self.pending {
            Some((at, known)) if *at == time => *known = cqi.or(*known),
            Some((at, _)) if time < *at => {
                let problem = Problem::Decreasing { before: shown(&self.last), found: shown(text) };
                return Err(TraceError::in_line(number, problem));
            }
            before => {
                if before.is_none() {
                    self.origin = time;
                }
                self.flush().map_err(|problem| TraceError::in_line(number, problem))?;
                self.pending = Some((time, cqi));
            }
        }
        if time.since(self.origin) + SAMPLE > DURATION_MAX {
            let found = seconds(Time::ZERO + time.since(self.origin));
            return Err(TraceError::too_large(number, DURATION_MAX_TEXT, found.as_bytes()));
        }
        self.last.clear();
        self.last.extend_from_slice(text);
        Ok(())
    }

    /// Adds the last second and returns its time.
    fn flush(&mut self) -> Result<Option<Time>, Problem> {
        let Some((time, cqi)) = self.pending.take() else { return Ok(None) };
        let Some(cqi) = cqi else { return Ok(Some(time)) };
        match (self.known, self.hold) {
            (Some(known), _) => self.outage(known, time)?,
            (None, Some(_)) if time > self.origin => self.push(self.origin, 0)?,
            (None, _) => {}
        }
        let start = if self.steps.is_empty() { self.origin } else { time };
        self.push(start, cqi)?;
        self.known = Some(time);
        Ok(Some(time))
    }

    /// Ends the CQI of `known` if it does not hold until `next`.
    fn outage(&mut self, known: Time, next: Time) -> Result<(), Problem> {
        match self.hold {
            Some(hold) if known + hold < next => self.push(known + hold, 0),
            _ => Ok(()),
        }
    }

    fn push(&mut self, time: Time, cqi: u8) -> Result<(), Problem> {
        if self.steps.last().is_some_and(|last| last.cqi == cqi) {
            return Ok(());
        }
        if self.steps.len() as u64 >= self.limit {
            return Err(Problem::TooMany { what: "changes of the CQI", limit: self.limit });
        }
        self.steps.push(CqiStep { start: Time::ZERO + time.since(self.origin), cqi });
        Ok(())
    }
}

/// Places of the two columns in a header, by the first separator by which it has them.
fn find(line: u64, header: &[u8], names: &Columns) -> Result<Header, TraceError> {
    let place = |wanted: &str, separator: u8| {
        Fields::of(header, separator).position(|name| name == wanted.trim().as_bytes())
    };
    let in_all = SEPARATORS.iter().find_map(|(separator, _)| {
        let (time, cqi) = (place(&names.time, *separator)?, place(&names.cqi, *separator)?);
        Some(Header { time, cqi, separator: *separator })
    });
    in_all.ok_or_else(|| {
        let has = |wanted: &str| SEPARATORS.iter().any(|(separator, _)| place(wanted, *separator).is_some());
        let missing = if has(&names.time) { &names.cqi } else { &names.time };
        let problem = Problem::NoColumn { column: shown(missing.as_bytes()), known: shown(header) };
        TraceError::in_line(line, problem)
    })
}

/// Reads a CQI. Tools that store numbers as doubles write 11 as 11.0, which is a CQI; 11.5 is a mean, and none.
fn read_cqi(line: u64, field: &[u8], separator: u8) -> Result<Option<u8>, TraceError> {
    if matches!(field, b"" | b"-") || field.eq_ignore_ascii_case(b"nan") {
        return Ok(None);
    }
    let mut point = [0; 40];
    let text = if separator == b',' { field } else { with_point(field, &mut point) };
    let has_digits = text.first().is_some_and(u8::is_ascii_digit);
    let number =
        core::str::from_utf8(text).ok().filter(|_| has_digits).and_then(|text| text.parse::<f64>().ok());
    let is = |cqi: &u8| number == Some(f64::from(*cqi));
    match (0..=CQI_MAX).find(is) {
        Some(0) => Ok(None),
        Some(cqi) => Ok(Some(cqi)),
        None => Err(TraceError::unexpected(line, "a whole CQI of 1 to 15, or 0 or - for none", field)),
    }
}

/// Fields of a line, without surrounding blanks and quotes.
struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Fields<'a> {
    const fn of(line: &'a [u8], separator: u8) -> Fields<'a> {
        Fields { rest: Some(line), separator }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.rest.take()?;
        let mut quoted = false;
        let end = line.iter().position(|&byte| {
            quoted ^= byte == b'"';
            byte == self.separator && !quoted
        });
        let field = match end {
            Some(end) => {
                let (field, rest) = line.split_at(end);
                self.rest = rest.get(1..);
                field
            }
            None => line,
        };
        let field = field.trim_ascii();
        Some(field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use alloc::vec;

    const HEADER: &str = "Timestamp,Longitude,CQI,State\n";

    fn rows(rows: &[(u32, &str)]) -> String {
        let row = |(second, cqi): &(u32, &str)| format!("2018.01.27_13.58.{second:02},-8.5,{cqi},D\n");
        HEADER.to_string() + &rows.iter().map(row).collect::<String>()
    }
    fn steps(text: &str, gap: Gap) -> Vec<(u64, u8)> {
        let trace = parse(text.as_bytes(), gap).unwrap();
        trace.steps().iter().map(|s| (s.start.as_nanos() / 1_000_000_000, s.cqi)).collect()
    }
    fn message(text: &str) -> String {
        parse(text.as_bytes(), Gap::Hold).unwrap_err().to_string()
    }

    #[test]
    fn rows_hold_until_the_next_and_the_last_for_a_second() {
        let text = rows(&[(10, "5"), (11, "6"), (12, "6"), (13, "15")]);
        assert_eq!(steps(&text, Gap::Hold), vec![(0, 5), (1, 6), (3, 15)]);
        let trace = parse(text.as_bytes(), Gap::Hold).unwrap();
        assert_eq!(trace.period(), Span::from_secs(4));
        assert_eq!(trace.spans().map(|(_, span)| span.as_millis()).collect::<Vec<_>>(), [1000, 2000, 1000]);
    }

    #[test]
    fn the_last_cqi_of_a_second_counts() {
        assert_eq!(steps(&rows(&[(1, "5"), (1, "7"), (1, "-"), (2, "8")]), Gap::Hold), [(0, 7), (1, 8)]);
    }

    #[test]
    fn gaps_hold_or_are_outages() {
        let text = rows(&[(1, "-"), (3, "5"), (4, "0"), (5, ""), (9, "6"), (10, "6"), (14, "-")]);
        assert_eq!(steps(&text, Gap::Hold), [(0, 5), (8, 6)]);
        let two = Gap::OutageAfter(Span::from_secs(2));
        assert_eq!(steps(&text, two), [(0, 0), (2, 5), (4, 0), (8, 6), (11, 0)]);
        let short = Gap::OutageAfter(Span::ZERO);
        assert_eq!(steps(&text, short), [(0, 0), (2, 5), (3, 0), (8, 6), (10, 0)]);
        let long = Gap::OutageAfter(Span::from_secs(100));
        assert_eq!(steps(&text, long), [(0, 0), (2, 5), (8, 6)]);
        assert_eq!(parse(text.as_bytes(), two).unwrap().period(), Span::from_secs(14));
    }

    #[test]
    fn the_same_cqi_may_follow_an_outage() {
        let text = rows(&[(1, "5"), (5, "5")]);
        assert_eq!(steps(&text, Gap::OutageAfter(Span::from_secs(1))), [(0, 5), (1, 0), (4, 5)]);
    }

    #[test]
    fn a_table_without_header_has_the_loggers_columns() {
        let row =
            "2018.01.19_07.31.51,-8.3,51.9,0,B,2,LTE,-100,-12,13,9,-89,21842,324,D,-,-,-8.3,51.9,875.85";
        assert_eq!(steps(row, Gap::Hold), [(0, 9)]);
        let next = format!("{row}\r\n{}\n\n", row.replace(",9,", ",3,").replace("31.51", "31.52"));
        assert_eq!(steps(&next, Gap::Hold), [(0, 9), (1, 3)]);
    }

    #[test]
    fn quoted_fields_marks_and_other_orders() {
        let text = "\u{feff}\"CQI\",Operator, Timestamp \n5,\"a, b\",2018.01.27_13.58.29\n";
        assert_eq!(steps(text, Gap::Hold), [(0, 5)]);
    }

    #[test]
    fn columns_have_names_and_units() {
        let read = |time: &str, time_unit, cqi: &str, text: &str| {
            let names = Columns { time: time.to_string(), time_unit, cqi: cqi.to_string() };
            let mut parser = Parser::with_columns(Gap::Hold, names);
            parser.feed(text.as_bytes()).and_then(|()| parser.finish()).map(|trace| {
                let steps =
                    trace.steps().iter().map(|s| (s.start.as_nanos() / 1_000_000, s.cqi)).collect::<Vec<_>>();
                (steps, trace.period().as_millis())
            })
        };
        let dates = "Time,5G_CQI\n2024-05-01 10:00:00,11.0\n2024-05-01 10:00:01,12.0\n# end\n";
        let expected = Ok((vec![(0, 11), (1000, 12)], 2000));
        assert_eq!(read("Time", TimeUnit::Seconds, "5G_CQI", dates), expected);
        let millis = "time;dl_cqi\n1714557600000;7,0\n1714557600250;NaN\n1714557600500;9\n";
        assert_eq!(read("time", TimeUnit::Millis, "dl_cqi", millis), Ok((vec![(0, 7), (500, 9)], 1500)));
        let tabs = "a\ttime\tcqi\n,\t1\t5\n,\t2\t6\n";
        assert_eq!(read("time", TimeUnit::Seconds, "cqi", tabs), Ok((vec![(0, 5), (1000, 6)], 2000)));
        let error = read("time", TimeUnit::Seconds, "cqi", "time;CQI\n").unwrap_err().to_string();
        assert_eq!(error, "line 1: no column 'cqi'; expected one of time;CQI");
    }

    #[test]
    fn every_error_names_the_expected_value() {
        assert_eq!(message(""), "line 1: the trace is empty; expected at least one line of data");
        assert!(message("Time,CQI\n").contains("no column 'Timestamp'; expected one of Time,CQI"));
        assert!(message("Timestamp,RSRP\n1,2\n").contains("no column 'CQI'"));
        assert!(message(&rows(&[(1, "16")])).contains("line 2: expected a whole CQI of 1 to 15"));
        assert!(message(&rows(&[(1, "5.5")])).contains("found '5.5'"));
        assert!(message(&rows(&[(2, "5"), (1, "5")])).contains("line 3: time"));
        assert!(message("Timestamp,CQI\n2018.01.27_13.58.29\n").contains("the row ends before column 'CQI'"));
        assert!(message("Timestamp,CQI\nyesterday,5\n").contains("a date such as"));
        assert!(message(&rows(&[(1, "-"), (2, "0")])).contains("no row has a CQI"));
        assert!(message("Timestamp,CQI\n0,5\n4294968,5\n").contains("49.7 days"));
        let mut parser = Parser::with_limit(Gap::Hold, 1);
        let error = parser.feed(rows(&[(1, "1"), (2, "2"), (3, "3")]).as_bytes()).unwrap_err();
        assert!(error.to_string().contains("more than 1 changes of the CQI"));
        assert_eq!(parser.feed(b"").unwrap_err(), error);
    }
}
