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
//! A rate of 0 is an outage. Blank lines and lines that begin with `#` are skipped, except two comments that
//! the writer makes: `# sample after` is equivalent to the parameter, and `# duration_s 12.5`, which implies
//! it, gives the duration of the whole trace.
//!
//! Times are rounded to a nanosecond, rates to a bit per second. Memory: 16 bytes a sample, up to a limit.

use crate::error::TraceError;
use crate::format::{Format, fields};
use crate::lines::{Body, LineParser};
use crate::rates::{Interval, RATE_MAX, RATE_MAX_TEXT, RateSteps, STEPS_MAX, Samples, decimal, seconds};
use alloc::boxed::Box;
use core::fmt;
use qdelay_core::component::{Component, Kind, Typed, Unit};
use qdelay_core::{Rate, Span, Time};

/// Key `sample`: the interval that a sample describes.
pub(crate) const SAMPLE: Typed<Option<&str>> =
    Typed::new("sample", "", "interval that a sample describes: after its time, or before it")
        .unit(Unit::Choice(&["after", "before"]));

const EXPECTED: &str = "two columns, seconds and Mbit/s, separated by a blank, a tab or a comma";
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
    .with(&[SAMPLE.parameter()]),
    usage: "mbps",
    example: "0 1.5\n1 2\n2.5 0\n",
    begins: "two numbers, seconds and Mbit/s",
    is_begun_by: |line| {
        let (fields, numbers, _) = fields(line);
        line.starts_with(b"#") || fields > 1 && numbers > 0
    },
    parser: |arguments| {
        let body = TwoColumns { interval: interval(arguments.get(&SAMPLE)), ..TwoColumns::default() };
        Ok(Box::new(LineParser::with_body(body)))
    },
};

/// The interval that [`SAMPLE`] names.
pub(crate) fn interval(name: Option<&str>) -> Option<Interval> {
    name.map(|name| if name == "before" { Interval::Before } else { Interval::After })
}

/// Reads such a trace, of up to [`STEPS_MAX`] samples by default. It refuses a line that is not two numbers;
/// a negative or too large number; a time that is not later than the one above; no samples, or a single one
/// without a duration; a duration that ends before the last sample.
pub type Parser = LineParser<TwoColumns>;

impl Parser {
    /// A reader that refuses a trace of more than `limit` samples.
    pub const fn with_limit(limit: u64) -> Parser {
        let samples = Samples::with_limit(limit);
        LineParser::with_body(TwoColumns { samples, interval: None, duration: None })
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
    samples: Samples,
    /// The interval given by a parameter or the file; `None` for the default.
    interval: Option<Interval>,
    duration: Option<Span>,
}

impl Default for TwoColumns {
    fn default() -> TwoColumns {
        TwoColumns { samples: Samples::with_limit(STEPS_MAX), interval: None, duration: None }
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
        let (time, rate) = columns(line).ok_or_else(|| TraceError::unexpected(number, EXPECTED, line))?;
        let (time, rate) = (read_seconds(number, time)?, read_mbps(number, rate)?);
        self.samples.push(time, rate).map_err(|problem| TraceError::in_line(number, problem))
    }

    fn finish(self, line: u64) -> Result<RateSteps, TraceError> {
        let usual = match self.duration {
            None if self.samples.is_uneven() => Interval::Before,
            _ => Interval::After,
        };
        match self.interval.unwrap_or(usual) {
            Interval::Before => self.samples.finish_before(line),
            Interval::After => self.samples.finish(line, self.duration),
        }
    }
}

impl TwoColumns {
    fn comment(&mut self, number: u64, text: &[u8]) -> Result<(), TraceError> {
        if text == AFTER {
            self.interval.get_or_insert(Interval::After);
        }
        let Some((DURATION, value)) = columns(text) else { return Ok(()) };
        self.duration = Some(read_seconds(number, value)?.since(Time::ZERO));
        Ok(())
    }
}

/// The two columns of a line; `None` if there are not two.
pub(crate) fn columns(line: &[u8]) -> Option<(&[u8], &[u8])> {
    const fn separates(byte: u8) -> bool {
        matches!(byte, b' ' | b'\t' | b',')
    }
    let (first, rest) = line.split_at(line.iter().position(|&byte| separates(byte))?);
    let rest = rest.trim_ascii();
    let second = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii();
    let two = !first.is_empty() && !second.is_empty() && !second.iter().any(|&byte| separates(byte));
    two.then_some((first, second))
}

/// A number that is neither negative nor infinite.
pub(crate) fn read_number(line: u64, expected: &'static str, text: &[u8]) -> Result<f64, TraceError> {
    let number = core::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    number.filter(|x| x.is_finite() && *x >= 0.0).ok_or_else(|| TraceError::unexpected(line, expected, text))
}

/// A time in seconds, exact below 2^53 ns (104 days); larger ones such as dates have the precision of a
/// double.
pub(crate) fn read_seconds(line: u64, text: &[u8]) -> Result<Time, TraceError> {
    /// Largest time: about the year 2500 in Unix time, which still fits into a `Time` in nanoseconds.
    const SECONDS_MAX: f64 = 1.8e10;
    let value = read_number(line, "a number of seconds, 0 or more", text)?;
    if value > SECONDS_MAX {
        return Err(TraceError::too_large(line, "18000000000 s", text));
    }
    // Whole seconds are converted separately, so that times since 1970 keep their fraction as far as a double
    // has it.
    let whole = libm::floor(value);
    let nanos = libm::round((value - whole) * 1e9);
    Ok(Time::from_nanos(whole as u64 * 1_000_000_000 + nanos as u64))
}

/// A rate in Mbit/s.
pub(crate) fn read_mbps(line: u64, text: &[u8]) -> Result<Rate, TraceError> {
    let value = read_number(line, "a rate in Mbit/s, 0 or more", text)?;
    scaled_rate(line, value * 1e6, text)
}

/// Bits per second as a rate within the range of traces.
pub(crate) fn scaled_rate(line: u64, bps: f64, text: &[u8]) -> Result<Rate, TraceError> {
    let rate = Rate::from_bps(libm::round(bps) as u64);
    if rate > RATE_MAX { Err(TraceError::too_large(line, RATE_MAX_TEXT, text)) } else { Ok(rate) }
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
        assert!(message(b"1 1\n1 2\n").starts_with("line 2: time 1 is repeated"));
        assert!(message(b"1.5 1\n1 2\n").starts_with("line 2: time 1 is before 1.5"));
        assert!(message(b"1 1000001\n").contains("expected at most 1000000 Mbit/s"));
        assert!(message(b"1e300 1\n").contains("too large"));
        assert!(message(b"0 1\n4294968 1\n").contains("too large"));
        assert!(message(b"# duration_s 1\n0 1\n1 1\n").contains("begins before the trace ends"));
        assert!(message(&[b'#'; 1025]).starts_with("line 1: the line is longer than 1024 bytes"));
        let mut parser = Parser::with_limit(1);
        assert!(parser.feed(b"0 1\n1 1\n").unwrap_err().to_string().contains("more than 1 samples"));
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
