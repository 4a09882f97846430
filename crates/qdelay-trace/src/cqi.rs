//! The channel quality indicator (CQI) of a drive test, from the tables that the logger G-NetTrack writes.
//!
//! Source: the 4G and 5G datasets of UCC (Raca et al., MMSys 2018 and 2020). A row has a date of whole
//! seconds in `Timestamp` and the CQI, 1 to 15, in `CQI`; the header gives the order of the columns. A table
//! that begins with a date rather than a header, as some published copies do, is read with these two as its
//! first and eleventh column, as in both datasets.
//!
//! * The first row becomes time 0; the last one holds for a second.
//! * Rows of the same second are one sample, with the CQI of the last one. Loggers that run a little slow
//!   write two rows in a second and none in the next.
//! * A CQI of `-`, an empty field and 0 (TS 36.213 Table 7.2.3-1: out of range) count as a missing row.
//! * The user decides the meaning of a time without CQI: [`Gap`].
//!
//! Fields are separated by commas; those in double quotes may hold commas, but no ends of lines. Memory: 16
//! bytes for each change of the CQI, up to a limit, and one line.

mod steps;

pub use steps::{CqiCursor, CqiStep, CqiSteps};

use crate::csv::{date, read_time};
use crate::error::{Problem, TraceError, shown};
use crate::lines::{Body, LineParser};
use crate::rates::{DURATION_MAX, DURATION_MAX_TEXT, STEPS_MAX, seconds};
use alloc::string::String;
use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// The highest CQI.
pub const CQI_MAX: u8 = 15;
/// Time from one row to the next, and so the time for which the last row holds.
const SAMPLE: Span = Span::from_secs(1);
const TIME_COLUMN: &str = "Timestamp";
const CQI_COLUMN: &str = "CQI";
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

/// Reads such a table. It refuses a header without the columns; a row without one of them, with no date, or
/// with an invalid CQI; a time before that of the row above; a table without any CQI.
pub type Parser = LineParser<Rows>;

/// Values of the rows read so far.
#[derive(Clone, Debug)]
pub struct Rows {
    hold: Option<Span>,
    limit: u64,
    /// Indices of the time's and the CQI's column; `None` before the first line.
    columns: Option<(usize, usize)>,
    /// Time of the first row, which becomes time 0.
    origin: Time,
    /// The second of the last row, and its CQI.
    pending: Option<(Time, Option<u8>)>,
    /// Time of the last CQI.
    known: Option<Time>,
    steps: Vec<CqiStep>,
}

impl Parser {
    /// A reader that accepts up to 10,000,000 changes of the CQI.
    pub const fn with_gap(gap: Gap) -> Parser {
        Parser::with_limit(gap, STEPS_MAX)
    }

    /// A reader that refuses a table with more than `limit` changes of the CQI.
    pub const fn with_limit(gap: Gap, limit: u64) -> Parser {
        let hold = match gap {
            Gap::Hold => None,
            Gap::OutageAfter(after) if after.as_nanos() < SAMPLE.as_nanos() => Some(SAMPLE),
            Gap::OutageAfter(after) => Some(after),
        };
        LineParser::with_body(Rows {
            hold,
            limit,
            columns: None,
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
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let Some((time, cqi)) = self.columns else {
            let first = Fields(Some(line)).next().unwrap_or_default();
            if date(first).is_none() {
                self.columns = Some(find(number, line)?);
                return Ok(());
            }
            self.columns = Some((0, CQI_INDEX));
            return self.row(number, line, 0, CQI_INDEX);
        };
        self.row(number, line, time, cqi)
    }

    fn finish(mut self, line: u64) -> Result<CqiSteps, TraceError> {
        let at = |problem| TraceError::in_line(line, problem);
        let last = self.flush().map_err(at)?.ok_or_else(|| at(Problem::Empty))?;
        let Some(known) = self.known else { return Err(at(Problem::NoCapacity)) };
        let end = last + SAMPLE;
        self.outage(known, end).map_err(at)?;
        CqiSteps::new(self.steps, end.since(self.origin)).map_err(|error| at(error.problem))
    }
}

impl Rows {
    fn row(&mut self, number: u64, line: &[u8], time: usize, cqi: usize) -> Result<(), TraceError> {
        let short =
            |column: &str| TraceError::in_line(number, Problem::ShortRow { column: String::from(column) });
        let time = Fields(Some(line)).nth(time).ok_or_else(|| short(TIME_COLUMN))?;
        let cqi = Fields(Some(line)).nth(cqi).ok_or_else(|| short(CQI_COLUMN))?;
        let (time, cqi) = (read_time(number, time)?, read_cqi(number, cqi)?);
        match &mut self.pending {
            Some((at, known)) if *at == time => *known = cqi.or(*known),
            Some((at, _)) if time < *at => {
                let (before, found) = (seconds(*at), seconds(time));
                return Err(TraceError::in_line(number, Problem::Decreasing { before, found }));
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

/// Indices of the two columns in a header.
fn find(line: u64, header: &[u8]) -> Result<(usize, usize), TraceError> {
    let find = |wanted: &str| {
        Fields(Some(header)).position(|name| name == wanted.as_bytes()).ok_or_else(|| {
            let known = shown(header);
            TraceError::in_line(line, Problem::NoColumn { column: String::from(wanted), known })
        })
    };
    Ok((find(TIME_COLUMN)?, find(CQI_COLUMN)?))
}

fn read_cqi(line: u64, field: &[u8]) -> Result<Option<u8>, TraceError> {
    if matches!(field, b"" | b"-" | b"0") {
        return Ok(None);
    }
    let digits = field.iter().all(u8::is_ascii_digit) && field.len() <= 3;
    let number =
        core::str::from_utf8(field).ok().filter(|_| digits).and_then(|text| text.parse::<u16>().ok());
    match number {
        Some(cqi @ 1..=15) => Ok(Some(cqi as u8)),
        _ => Err(TraceError::unexpected(line, "a CQI of 1 to 15, or 0 or - for none", field)),
    }
}

/// Fields of a line, without surrounding blanks and quotes.
struct Fields<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Fields<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.0.take()?;
        let mut quoted = false;
        let end = line.iter().position(|&byte| {
            quoted ^= byte == b'"';
            byte == b',' && !quoted
        });
        let field = match end {
            Some(end) => {
                let (field, rest) = line.split_at(end);
                self.0 = rest.strip_prefix(b",");
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
    fn every_error_names_the_expected_value() {
        assert_eq!(message(""), "line 1: the trace is empty; expected at least one line of data");
        assert!(message("Time,CQI\n").contains("no column 'Timestamp'; expected one of Time,CQI"));
        assert!(message("Timestamp,RSRP\n1,2\n").contains("no column 'CQI'"));
        assert!(message(&rows(&[(1, "16")])).contains("line 2: expected a CQI of 1 to 15"));
        assert!(message(&rows(&[(1, "5.5")])).contains("found '5.5'"));
        assert!(message(&rows(&[(2, "5"), (1, "5")])).contains("line 3: time"));
        assert!(message("Timestamp,CQI\n2018.01.27_13.58.29\n").contains("the row ends before column 'CQI'"));
        assert!(message("Timestamp,CQI\nyesterday,5\n").contains("a date such as"));
        assert!(message(&rows(&[(1, "-"), (2, "0")])).contains("nothing could ever be delivered"));
        assert!(message("Timestamp,CQI\n0,5\n4294968,5\n").contains("49.7 days"));
        let mut parser = Parser::with_limit(Gap::Hold, 1);
        let error = parser.feed(rows(&[(1, "1"), (2, "2"), (3, "3")]).as_bytes()).unwrap_err();
        assert!(error.to_string().contains("more than 1 changes of the CQI"));
        assert_eq!(parser.feed(b"").unwrap_err(), error);
    }
}
