//! mahimahi's trace format: a line for each delivery opportunity, with its time in whole milliseconds.
//!
//! Source: mahimahi's `mm-link` (Netravali et al., USENIX ATC 2015) and its reader in `LinkQueue`. Times do
//! not decrease, several opportunities may have the same time, and the last must be later than 0, because the
//! trace repeats there.
//!
//! Memory: 4 bytes for each distinct millisecond, up to the limit on opportunities, and one line.
//!
//! Differences from the reference:
//! * a line may end in `\r\n`;
//! * signs and blanks around the number are refused (mahimahi accepts leading ones, and takes -1 for 2^64 -
//!   1);
//! * a time is at most 2^32 - 1 ms, a line at most 64 bytes, and there is a limit on opportunities.

use crate::error::{Problem, TraceError};
use crate::format::Format;
use crate::lines::{Body, LineParser};
use crate::schedule::{Schedule, ScheduleBuilder};
use alloc::boxed::Box;
use core::fmt;
use qdelay_core::component::{Component, Kind};

const EXPECTED: &str = "a whole number of milliseconds (0 or more, digits only, as in mahimahi)";
const MS_MAX_TEXT: &str = "4294967295 ms (49.7 days)";

/// The format `mahimahi`.
pub static FORMAT: Format = Format {
    component: &Component::new(
        Kind::Format,
        "mahimahi",
        "a line for each opportunity of 1504 bytes, with its time in whole milliseconds",
    )
    .source("mahimahi's mm-link"),
    usage: "mahimahi",
    example: "0\n0\n5\n12\n",
    begins: "a whole number of milliseconds",
    is_begun_by: |line| !line.is_empty() && line.iter().all(u8::is_ascii_digit),
    parser: |_| Ok(Box::new(Parser::new())),
};

/// Reads such a trace, of up to [`OPPORTUNITIES_MAX`](crate::schedule::OPPORTUNITIES_MAX) opportunities by
/// default. It refuses a line that is blank, not a whole number, too large or smaller than the one above; and
/// a trace that is empty or of zero length.
pub type Parser = LineParser<ScheduleBuilder>;

impl Parser {
    /// A reader that refuses a trace of more than `limit` opportunities. It uses at most 4 bytes of memory
    /// for each.
    pub const fn with_limit(limit: u64) -> Parser {
        LineParser::with_body(ScheduleBuilder::with_limit(limit))
    }
}

/// Reads a complete trace in memory.
///
/// # Errors
/// Errors of [`LineParser::feed`] and [`LineParser::finish`].
pub fn parse(text: &[u8]) -> Result<Schedule, TraceError> {
    Parser::new().whole(text)
}

impl Body for ScheduleBuilder {
    type Trace = Schedule;
    const LINE_BYTES_MAX: usize = 64;

    fn read_line(&mut self, number: u64, line: &[u8]) -> Result<(), TraceError> {
        let ms = milliseconds(line).map_err(|problem| refuse(problem, number, line))?;
        self.push(ms, 1).map_err(|problem| TraceError::in_line(number, problem))
    }

    fn finish(self, line: u64) -> Result<Schedule, TraceError> {
        ScheduleBuilder::finish(self).map_err(|error| TraceError { line, ..error })
    }
}

/// Kinds of errors of a number, without the allocation of an error message.
enum Wrong {
    Blank,
    NotDigits,
    TooLarge,
}

fn milliseconds(line: &[u8]) -> Result<u32, Wrong> {
    if line.is_empty() {
        return Err(Wrong::Blank);
    }
    if !line.iter().all(u8::is_ascii_digit) {
        return Err(Wrong::NotDigits);
    }
    let digit = |byte: &u8| u32::from(byte - b'0');
    line.iter()
        .try_fold(0_u32, |value, byte| value.checked_mul(10)?.checked_add(digit(byte)))
        .ok_or(Wrong::TooLarge)
}

#[cold]
fn refuse(wrong: Wrong, number: u64, line: &[u8]) -> TraceError {
    match wrong {
        Wrong::Blank => TraceError::in_line(number, Problem::BlankLine),
        Wrong::NotDigits => TraceError::unexpected(number, EXPECTED, line),
        Wrong::TooLarge => TraceError::too_large(number, MS_MAX_TEXT, line),
    }
}

/// Writes a schedule in this format.
///
/// # Errors
/// Errors of `out`.
pub fn write(schedule: &Schedule, out: &mut impl fmt::Write) -> fmt::Result {
    let mut text = alloc::string::String::new();
    for item in schedule.cursor(false) {
        text.clear();
        fmt::write(&mut text, format_args!("{}\n", item.ms))?;
        for _ in 0..item.count {
            out.write_str(&text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    fn message(text: &[u8]) -> String {
        parse(text).unwrap_err().to_string()
    }
    fn items(text: &[u8]) -> Vec<(u64, u64)> {
        parse(text).unwrap().cursor(false).map(|o| (o.ms, o.count)).collect()
    }

    #[test]
    fn valid_traces_are_accepted() {
        assert_eq!(items(b"0\n0\n7\n"), [(0, 2), (7, 1)]);
        assert_eq!(items(b"0\r\n7\r\n"), [(0, 1), (7, 1)]);
        assert_eq!(items(b"007"), [(7, 1)]);
        assert_eq!(items(b"\xef\xbb\xbf0\n7\n"), [(0, 1), (7, 1)], "behind a byte order mark");
        assert_eq!(items(b"4294967295"), [(4_294_967_295, 1)]);
    }

    #[test]
    fn every_refusal_names_line_and_expectation() {
        let expected = "expected a whole number of milliseconds";
        assert_eq!(message(b""), "line 1: the trace is empty; expected at least one line of data");
        assert_eq!(
            message(b"5\n\n6\n"),
            "line 2: blank line; expected a whole number of milliseconds, as in mahimahi"
        );
        assert_eq!(
            message(b"\n"),
            "line 1: blank line; expected a whole number of milliseconds, as in mahimahi"
        );
        assert!(message(b"5\n6\n\r\n").starts_with("line 3: blank line"));
        for bad in
            ["-5", "+5", " 5", "5 ", "0x5", "5.0", "1e3", "five", "5\t6", "5\r6", "# a comment", "\u{feff}5"]
        {
            let text = message(alloc::format!("1\n{bad}\n").as_bytes());
            assert!(text.starts_with("line 2: ") && text.contains(expected), "{text}");
        }
        assert!(message(b"1\n\x7fELF\x02\0\xff\n").contains("found '\\u{7f}ELF\\u{2}\\u{0}\\xff'"));
        assert_eq!(
            message(b"5\n4\n"),
            "line 2: time 4 is before 5 of the line above; expected times in order"
        );
        assert!(message(b"4294967296\n").contains("expected at most 4294967295 ms"));
        assert!(message(b"99999999999999999999999999\n").starts_with("line 1: "));
        assert!(message(b"0\n0\n").starts_with("line 2: the trace ends at time 0"));
        assert!(message(&[b'0'; 65]).starts_with("line 1: the line is longer than 64 bytes"));
        assert!(message(&[0; 1_000_000]).starts_with("line 1: the line is longer than 64 bytes"));
    }

    #[test]
    fn the_limit_is_named() {
        let mut parser = Parser::with_limit(2);
        let error = parser.feed(b"1\n2\n3\n").unwrap_err();
        assert_eq!(error.line, 3);
        assert!(error.to_string().contains("more than 2 opportunities, which is the limit"));
        assert_eq!(parser.feed(b"4\n"), Err(error.clone()));
        assert_eq!(parser.finish(), Err(error));
    }

    #[test]
    fn a_written_trace_equals_the_read_one() {
        let text = "0\n0\n3\n70000\n70000\n";
        let mut out = String::new();
        write(&parse(text.as_bytes()).unwrap(), &mut out).unwrap();
        assert_eq!(out, text);
    }
}
