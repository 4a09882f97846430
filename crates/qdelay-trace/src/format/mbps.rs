//! The "seconds and Mbit/s" format of throughput traces: two columns separated by blanks, a tab or a comma.
//!
//! Source: the traces of Pensieve (Mao et al., SIGCOMM 2017) and of Lumos5G (Narayanan et al., IMC 2020).
//!
//! The first sample becomes time 0. `sample` selects the interval that a sample describes:
//!
//! * `after`: from its time until the next one's; the last holds as long as the one before it.
//! * `before`: the interval that it ends. The first sample is only a time. Simulators of Pensieve, and the
//!   traces of Puffer and Oboe, have this convention: there a slow interval is a long one, and with `after`
//!   the mean would be too high and outages too short.
//! * By default: `before` for samples at uneven intervals (by more than a hundredth), because the published
//!   files of uneven intervals have that convention; `after` for equal intervals, where the two conventions
//!   differ by a shift only.
//!
//! `time` and `unit` give other units, and `column` another column of the rate; the first column is the time. With
//! `every` the numbers of a line, or those in `column`, are rates at equal intervals. Samples of the same time are
//! replaced by their mean, as in [`crate::csv`].
//!
//! A rate of 0 is an outage. Blank lines and lines that begin with `#` are skipped, except two comments that
//! the writer makes: `# sample after` is equivalent to the parameter, and `# duration_s 12.5`, which implies
//! it, gives the duration of the whole trace.
//!
//! Times are rounded to a nanosecond, rates to a bit per second. Memory: 16 bytes a sample, up to a limit.

mod list;

use crate::error::{Problem, TraceError, shown};
#[allow(unused_imports, reason = "other formats of two columns read their numbers as this one does")]
pub(crate) use crate::format::number::{read_number, read_seconds};
use crate::format::time::{TIME_UNITS, TimeUnit, read_number as read_time};
use crate::format::unit::{ColumnUnit, RateUnit, UNIT};
use crate::format::{Format, fields};
use crate::lines::{Body, LineParser};
use crate::rates::{RateStep, RateSteps, STEPS_MAX, decimal, seconds};
use crate::samples::{Interval, Means};
use alloc::boxed::Box;
use core::fmt;
use list::RateList;
use qdelay_core::component::{Component, Kind, Typed, Unit};
use qdelay_core::{Span, Time};

/// Key `sample`: the interval that a sample describes.
pub(crate) const SAMPLE: Typed<Option<&str>> =
    Typed::new("sample", "", "interval that a sample describes: after its time, or before it")
        .unit(Unit::Choice(&["after", "before"]));

const TIME: Typed<str> = Typed::new("time", "s", "unit of the times").unit(Unit::Choice(TIME_UNITS));
const COLUMN: Typed<Option<u64>> = Typed::new(
    "column",
    "",
    "column of the rate, counted from 1; default: the second of two, or with every each number of a line",
)
.within("1", "64");
const EVERY: Typed<Option<Span>> =
    Typed::new("every", "", "time between rates; the lines have no times").within("1us", "1h");

const EXPECTED: &str = "two columns, seconds and Mbit/s, separated by a blank, a tab or a comma; mbps:column=3 reads one of several \
    columns, mbps:every=1s rates without times";
const EXPECTED_COLUMN: &str = "a time and a rate in the column that column= names";
const DURATION: &[u8] = b"duration_s";
const AFTER: &[u8] = b"sample after";

/// The format `mbps`.
pub static FORMAT: Format = Format {
    component: &Component::new(
        Kind::Format,
        "mbps",
        "lines of seconds and Mbit/s, separated by a blank, a tab or a comma",
    )
    .source("Pensieve (SIGCOMM 2017), Lumos5G (IMC 2020)")
    .with(&[
        SAMPLE.parameter(),
        TIME.parameter(),
        UNIT.parameter(),
        COLUMN.parameter(),
        EVERY.parameter(),
    ]),
    usage: "mbps",
    example: "0 1.5\n1 2\n2.5 0\n",
    begins: "two numbers, seconds and Mbit/s",
    is_begun_by: |line| {
        let (fields, numbers, _) = fields(line);
        line.starts_with(b"#") || fields > 1 && numbers > 0
    },
    parser: |arguments| {
        let column = arguments.get(&COLUMN).map(|column| column as usize);
        let unit = RateUnit::named(arguments.get(&UNIT));
        if let Some(every) = arguments.get(&EVERY) {
            return match arguments.first_given(&["time", "sample"]) {
                Some(key) => Err(alloc::format!("every and {key} are both given; expected only one of them")),
                None => Ok(Box::new(LineParser::with_body(RateList::new(every, unit, column)))),
            };
        }
        if column == Some(1) {
            return Err("column=1 is the time; expected the column of the rate, 2 or more".into());
        }
        let body = TwoColumns {
            interval: interval(arguments.get(&SAMPLE)),
            time_unit: TimeUnit::named(arguments.get(&TIME)),
            unit,
            column,
            ..TwoColumns::default()
        };
        Ok(Box::new(LineParser::with_body(body)))
    },
};

/// The interval that [`SAMPLE`] names.
pub(crate) fn interval(name: Option<&str>) -> Option<Interval> {
    name.map(|name| if name == "before" { Interval::Before } else { Interval::After })
}

/// Reads such a trace, of up to [`STEPS_MAX`] samples by default. It refuses a line that is not two numbers;
/// a negative or too large number; a time before the one above; no samples, or a single one
/// without a duration; a duration that ends before the last sample.
pub type Parser = LineParser<TwoColumns>;

impl Parser {
    /// A reader that refuses a trace of more than `limit` samples.
    pub const fn with_limit(limit: u64) -> Parser {
        LineParser::with_body(TwoColumns::with_limit(limit))
    }
}

/// Reads a complete trace in memory.
///
/// # Errors
/// Errors of [`LineParser::feed`] and [`LineParser::finish`].
pub fn parse(text: &[u8]) -> Result<RateSteps, TraceError> {
    Parser::new().whole(text)
}

/// Values of the lines read so far.
#[derive(Clone, Debug)]
pub struct TwoColumns {
    means: Means<RateStep>,
    /// The interval given by a parameter or the file; `None` for the default.
    interval: Option<Interval>,
    duration: Option<Span>,
    time_unit: TimeUnit,
    unit: RateUnit,
    /// Column of the rate, from 1; `None` for the second of two.
    column: Option<usize>,
}

impl TwoColumns {
    const fn with_limit(limit: u64) -> TwoColumns {
        TwoColumns {
            means: Means::with_limit(limit, false),
            interval: None,
            duration: None,
            time_unit: TimeUnit::Seconds,
            unit: RateUnit::Mbit,
            column: None,
        }
    }
}

impl Default for TwoColumns {
    fn default() -> TwoColumns {
        TwoColumns::with_limit(STEPS_MAX)
    }
}

impl Body for TwoColumns {
    type Trace = RateSteps;
    /// Longest line in bytes, comments included.
    const LINE_BYTES_MAX: usize = 1024;

    fn read_line(&mut self, number: u64, line: &[u8]) -> Result<(), TraceError> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        if let Some(comment) = line.strip_prefix(b"#") {
            return self.comment(number, comment.trim_ascii());
        }
        let (text, rate) = match self.column {
            None => columns(line).ok_or_else(|| TraceError::unexpected(number, EXPECTED, line))?,
            Some(column) => columns_of(line, column)
                .ok_or_else(|| TraceError::unexpected(number, EXPECTED_COLUMN, line))?,
        };
        let time = match self.time_unit {
            TimeUnit::Seconds => read_seconds(number, text)?,
            unit => read_time(number, text, unit)?,
        };
        let rate = self.unit.read(number, rate)?;
        if self.means.pending_time().is_some_and(|last| time < last) {
            return Err(self.before(number, text));
        }
        self.means.add(time, rate).map_err(|problem| TraceError::in_line(number, problem))
    }

    fn finish(self, line: u64) -> Result<RateSteps, TraceError> {
        let samples = self.means.finish().map_err(|problem| TraceError::in_line(line, problem))?;
        let usual = match self.duration {
            None if samples.is_uneven() => Interval::Before,
            _ => Interval::After,
        };
        match self.interval.unwrap_or(usual) {
            Interval::Before => samples.finish_before(line),
            Interval::After => samples.finish(line, self.duration),
        }
    }
}

impl TwoColumns {
    /// The error of a time before the last one, which is shown in the unit of the file.
    #[cold]
    fn before(&self, number: u64, text: &[u8]) -> TraceError {
        let last = self.means.pending_time().unwrap_or(Time::ZERO);
        let before = decimal(last.as_nanos(), self.time_unit.decimals());
        TraceError::in_line(number, Problem::Decreasing { before, found: shown(text) })
    }

    fn comment(&mut self, number: u64, text: &[u8]) -> Result<(), TraceError> {
        if text == AFTER {
            self.interval.get_or_insert(Interval::After);
        }
        let Some((DURATION, value)) = columns(text) else { return Ok(()) };
        self.duration = Some(read_seconds(number, value)?.since(Time::ZERO));
        Ok(())
    }
}

const fn separates(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b',')
}

/// The first column of a line and the one of this number, from 1.
fn columns_of(line: &[u8], column: usize) -> Option<(&[u8], &[u8])> {
    let mut fields = line.split(|&byte| separates(byte)).filter(|field| !field.is_empty());
    let mut rest = fields.clone();
    Some((fields.next()?, rest.nth(column.checked_sub(1)?)?))
}

/// The two columns of a line; `None` if there are not two.
pub(crate) fn columns(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let (first, rest) = line.split_at(line.iter().position(|&byte| separates(byte))?);
    let rest = rest.trim_ascii();
    let second = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii();
    let two = !first.is_empty() && !second.is_empty() && !second.iter().any(|&byte| separates(byte));
    two.then_some((first, second))
}

/// Writes a rate in this format, exactly.
///
/// # Errors
/// Errors of `out`.
pub fn write(rates: &RateSteps, out: &mut impl fmt::Write) -> fmt::Result {
    let steps = rates.steps();
    let spans_ns = |pair: &[crate::RateStep]| pair[1].start.since(pair[0].start);
    let implied = steps.windows(2).next_back().map(spans_ns);
    if implied != rates.spans().last().map(|(_, span)| span) {
        let end = Time::ZERO + rates.period();
        writeln!(out, "# {} {}", core::str::from_utf8(DURATION).unwrap_or(""), seconds(end))?;
    } else if rates.is_uneven() {
        writeln!(out, "# {}", core::str::from_utf8(AFTER).unwrap_or(""))?;
    }
    for step in steps {
        writeln!(out, "{}\t{}", seconds(step.start), decimal(step.rate.as_bps(), 6))?;
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
    fn steps(text: &[u8]) -> (Vec<(u64, u64)>, u64) {
        let rates = parse(text).unwrap();
        let steps = rates.steps().iter().map(|s| (s.start.as_nanos() / 1_000_000, s.rate.as_bps())).collect();
        (steps, rates.period().as_millis())
    }

    #[test]
    fn the_first_sample_is_time_zero_and_the_last_holds_as_long_as_the_one_before() {
        let expected = (alloc::vec![(0, 253_000_000), (1000, 0), (2000, 500_000)], 3000);
        for text in
            ["1.0\t253.0\n2.0\t0\n3\t0.5\n", "1,253\r\n2 , 0\r\n3,  0.5", "# a\n1 253\n\n 2 0 \n3 5e-1"]
        {
            assert_eq!(steps(text.as_bytes()), expected, "{text}");
        }
        let uneven = "# sample after\n1 253\n2 0\n3.5 0.5\n";
        assert_eq!(
            steps(uneven.as_bytes()),
            (alloc::vec![(0, 253_000_000), (1000, 0), (2500, 500_000)], 4000)
        );
    }

    /// A slow interval is a long one: with `after` it would become short.
    #[test]
    fn a_sample_may_describe_the_interval_before_it() {
        let cooked = "0.0 10\n1.0 10\n11.0 1\n12.0 10\n";
        let before = (alloc::vec![(0, 10_000_000), (1000, 1_000_000), (11_000, 10_000_000)], 12_000);
        assert_eq!(steps(cooked.as_bytes()), before);
        assert!((parse(cooked.as_bytes()).unwrap().mean_mbps() - 2.5).abs() < 1e-9);
        let named = |sample: &str| {
            let text = alloc::format!("mbps:sample={sample}");
            let arguments = crate::format::parse(&text).unwrap();
            let mut parser = crate::format::parser(&arguments).unwrap();
            parser.feed(cooked.as_bytes()).unwrap();
            match parser.finish().unwrap() {
                crate::format::Trace::Rates(rates) => rates.mean_mbps(),
                crate::format::Trace::Schedule(_) => unreachable!("the trace has rates"),
            }
        };
        assert!((named("before") - 2.5).abs() < 1e-9 && (named("after") - 121.0 / 13.0).abs() < 1e-9);
        // Intervals that are equal to a hundredth are read with `after`.
        assert_eq!(steps(b"0 1\n1.005 2\n2 3\n").1, 2995);
    }

    #[test]
    fn a_comment_can_give_the_duration() {
        assert_eq!(steps(b"# duration_s 2.5\n0 1\n2 3\n").1, 2500);
        assert_eq!(steps(b"0 1\n# duration_s 7\n").1, 7000);
        assert_eq!(steps(b"# duration_s of this trace\n0 1\n1 1\n").1, 2000);
    }

    #[test]
    fn every_refusal_names_line_and_expectation() {
        assert!(message(b"").starts_with("line 1: the trace is empty"));
        assert!(message(b"# nothing\n").starts_with("line 1: the trace is empty"));
        assert!(message(b"1 5\n").contains("expected a second sample"));
        for bad in ["5", "5 6 7", "5,,6", "5;6", "five 6 x", "\0\u{1}"] {
            let text = message(alloc::format!("1 1\n{bad}\n").as_bytes());
            assert!(text.starts_with("line 2: expected two columns"), "{text}");
        }
        for bad in ["-5 6", "nan 6", "inf 6", "x 6"] {
            assert!(message(bad.as_bytes()).starts_with("line 1: expected a number of seconds, 0 or more"));
        }
        for bad in ["5 -6", "5 NaN", "5 x"] {
            assert!(message(bad.as_bytes()).starts_with("line 1: expected a rate in Mbit/s, 0 or more"));
        }
        assert!(message(b"1.5 1\n1 2\n").starts_with("line 2: time 1 is before 1.5"));
        assert!(message(b"1 1000001\n").contains("expected at most 1000000 Mbit/s"));
        assert!(message(b"1e300 1\n").contains("too large"));
        assert!(message(b"0 1\n4294968 1\n").contains("too large"));
        assert!(message(b"# duration_s 1\n0 1\n1 1\n").contains("begins before the trace ends"));
        assert!(message(&[b'#'; 1025]).starts_with("line 1: the line is longer than 1024 bytes"));
        let mut parser = Parser::with_limit(1);
        assert!(parser.feed(b"0 1\n1 1\n2 1\n").unwrap_err().to_string().contains("more than 1 samples"));
    }

    fn by_name(format: &str, text: &str) -> (Vec<(u64, u64)>, u64) {
        let arguments = crate::format::parse(format).unwrap();
        let mut parser = crate::format::parser(&arguments).unwrap();
        parser.feed(text.as_bytes()).unwrap();
        let crate::format::Trace::Rates(rates) = parser.finish().unwrap() else { unreachable!("rates") };
        let steps = rates.steps().iter().map(|s| (s.start.as_nanos() / 1_000_000, s.rate.as_bps())).collect();
        (steps, rates.period().as_millis())
    }

    #[test]
    fn samples_of_one_time_are_replaced_by_their_mean() {
        let expected = (alloc::vec![(0, 10_000_000), (1000, 25_000_000), (2000, 10_000_000)], 3000);
        assert_eq!(steps(b"1 10\n2 20\n2 30\n3 10\n"), expected);
        assert!(message(b"1 1\n1 2\n").contains("expected a second sample"));
    }

    #[test]
    fn units_and_columns_have_keys() {
        let oboe = "15.0 3168\n474.0 3100\n514.0 3000\n";
        let before = (alloc::vec![(0, 3_100_000), (459, 3_000_000)], 499);
        assert_eq!(by_name("mbps:time=ms:unit=kbit", oboe), before);
        let after = (alloc::vec![(0, 3_168_000), (459, 3_100_000), (499, 3_000_000)], 539);
        assert_eq!(by_name("mbps:time=ms:unit=kbit:sample=after", oboe), after);
        let three = "1.0\t204\t20.5\n2.0\t217\t19.5\n";
        assert_eq!(by_name("mbps:column=2", three).0, [(0, 204_000_000), (1000, 217_000_000)]);
        assert_eq!(by_name("mbps:column=3", three).0, [(0, 20_500_000), (1000, 19_500_000)]);
        assert_eq!(by_name("mbps:time=us:unit=mb", "0 1\n1000 2\n").0, [(0, 8_000_000), (1, 16_000_000)]);
        assert!(message(three.as_bytes()).contains("mbps:column=3 reads one of several"));
        let mut parser = crate::format::parser(&crate::format::parse("mbps:time=ms").unwrap()).unwrap();
        let error = parser.feed(b"15.5 1\n16 1\n15 1\n").unwrap_err().to_string();
        assert!(error.starts_with("line 3: time 15 is before 16 of the line above"), "{error}");
        for bad in ["mbps:column=1", "mbps:column=0", "mbps:every=1s:time=ms", "mbps:unit=bytes_per_row"] {
            assert!(crate::format::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_without_times_are_at_equal_intervals() {
        let expected = (alloc::vec![(0, 3_250_000), (500, 0), (1000, 13_000_000)], 1500);
        for text in ["3.25,0,13.0", "3.25 0\n# a comment\n\n13", "3.25\r\n0\r\n13\r\n", "3.25;0;13;"] {
            assert_eq!(by_name("mbps:every=500ms", text), expected, "{text}");
        }
        assert_eq!(by_name("mbps:every=500ms:column=2", "a 3.25\nb 0\nc 13\n"), expected);
        let long = "1.5,".repeat(50_000);
        assert_eq!(by_name("mbps:every=1s", &long).1, 50_000_000);
        assert!(message(long.as_bytes()).contains("mbps:every=1s reads"));
    }

    #[test]
    fn a_written_trace_equals_the_read_one() {
        for text in [
            "0\t1\n1\t2.000001\n",
            "# duration_s 1.5\n0\t1\n1\t0\n",
            "# duration_s 0.000000001\n0\t3\n",
            "# sample after\n0\t1\n1\t2\n3\t4\n",
        ] {
            let mut out = String::new();
            write(&parse(text.as_bytes()).unwrap(), &mut out).unwrap();
            assert_eq!(out, text);
        }
    }
}
