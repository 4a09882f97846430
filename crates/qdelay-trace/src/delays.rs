//! A delay that changes in [`steps`]. Files have it in milliseconds, as LeoReplayer's do (Lai et al., SIGCOMM 2025: slots of 10
//! ms).

use crate::error::Quantity;
use crate::format::csv;
use crate::format::time::TIME_UNIT;
use crate::mbps::SAMPLE;
use crate::steps::{self, StepValue, Texts, ValueUnit};
use crate::window::{decimal, seconds};
use core::fmt;
use qdelay_core::component::{Component, Kind, Typed, Unit};
use qdelay_core::units::{UnitError, parse_span};
use qdelay_core::{Span, Time};

/// A delay and its beginning.
pub type DelayStep = steps::Step<Span>;
/// A delay in steps.
pub type DelaySteps = steps::Steps<Span>;
/// Reads a trace of delays.
pub type Parser = steps::Parser<Span>;

const COLUMN: Typed<Option<&str>> = csv::COLUMN.about(
    "name of the column of the delay, in brackets if it has a colon, as in column=[ping: ms]; required",
);
const UNIT: Typed<str> =
    Typed::new("unit", "ms", "unit of the delay").unit(Unit::Choice(&["ms", "s", "us", "ns"]));
const MISSING: Typed<str> = csv::MISSING
    .about("rows without a delay: refuse them, hold the delay before, or skip them")
    .unit(Unit::Choice(&["refuse", "hold", "skip"]));

static TABLE: Component = Component::new(Kind::Format, "csv", "a column of delays of a table with a header")
    .source("RFC 4180")
    .with(&[
        COLUMN.parameter(),
        UNIT.parameter(),
        csv::EVERY.parameter(),
        csv::TIME.parameter(),
        TIME_UNIT.parameter(),
        SAMPLE.parameter(),
        csv::SEPARATOR.parameter(),
        csv::WHERE.parameter(),
        MISSING.parameter(),
        csv::ORDER.parameter(),
    ])
    .positional("column");

/// Largest delay of a trace.
pub const DELAY_MAX: Span = Span::from_secs(60);

impl StepValue for Span {
    const MAX: Span = DELAY_MAX;
    const TEXTS: Texts = Texts {
        quantity: Quantity { name: "delay", missing: "missing=hold or skip" },
        max: "60000 ms",
        max_of_column: "60000 ms (60 s); 'unit' reads delays in another unit, such as unit=us",
        expected: "a delay in ms, or a time in seconds and a delay in ms; format= reads a table or an output of a program, as in \
            format=[csv:column=NAME] or format=irtt",
        slot: "a delay in ms, as in the lines above",
        row: "a time and a delay, as in the lines above",
    };
    const UNITS: &'static [ValueUnit] = &[
        ValueUnit { name: "ms", expected: "a delay in ms, 0 or more", factor: (1e6, 1.0) },
        ValueUnit { name: "s", expected: "a delay in s, 0 or more", factor: (1e9, 1.0) },
        ValueUnit { name: "us", expected: "a delay in us, 0 or more", factor: (1e3, 1.0) },
        ValueUnit { name: "ns", expected: "a delay in ns, 0 or more", factor: (1.0, 1.0) },
    ];
    const TABLE: &'static Component = &TABLE;

    fn parse(text: &str) -> Result<Span, UnitError> {
        parse_span(text)
    }
    /// Nanoseconds; a number that is too large becomes the largest.
    fn from_number(nanos: f64) -> Span {
        Span::from_nanos(libm::round(nanos) as u64)
    }
    fn scaled(self, factor: f64) -> Span {
        Span::from_nanos(libm::round(self.as_nanos() as f64 * factor) as u64)
    }
}

/// Writes delays in two columns. They are read back exactly, but for a last step of an odd number of nanoseconds that has not the length of
/// the one before it: it becomes 1 ns shorter.
///
/// # Errors
/// Errors of `out`.
pub fn write(delays: &DelaySteps, out: &mut impl fmt::Write) -> fmt::Result {
    let mut row =
        |start: Time, delay: Span| writeln!(out, "{}\t{}", seconds(start), decimal(delay.as_nanos(), 6));
    delays.steps().iter().try_for_each(|step| row(step.start, step.value))?;
    let [before @ .., last] = delays.steps() else { return Ok(()) };
    let length = (Time::ZERO + delays.period()).since(last.start);
    let implied = before.last().map_or(Span::from_secs(1), |before| last.start.since(before.start));
    // A second row of the last delay tells its length: each of the two holds for half of it.
    if length != implied { row(last.start + length / 2, last.value) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::parse;
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;

    const SLOT: Span = Span::from_millis(10);

    fn steps(text: &str) -> Result<(Vec<(u64, u64)>, u64), alloc::string::String> {
        let delays = parse::<Span>(text.as_bytes(), SLOT).map_err(|error| error.to_string())?;
        let of = |step: &DelayStep| (step.start.as_nanos() / 1_000_000, step.value.as_micros());
        Ok((delays.steps().iter().map(of).collect(), delays.period().as_millis()))
    }

    #[test]
    fn slots_of_equal_delay_are_a_step() {
        assert_eq!(steps("24\n24\n18\n24\n"), Ok((vec![(0, 24_000), (20, 18_000), (30, 24_000)], 40)));
        assert_eq!(steps("# LEO\n24.5\r\n\n24.5"), Ok((vec![(0, 24_500)], 20)));
    }

    #[test]
    fn rows_begin_at_their_times() {
        let expected = Ok((vec![(0, 20_000), (500, 31_000), (2000, 20_000)], 3500));
        assert_eq!(steps("100 20\n100.5,31\n102\t20\n"), expected);
        assert_eq!(steps("7 20"), Ok((vec![(0, 20_000)], 1000)));
    }

    #[test]
    fn what_is_no_delay_is_refused_with_its_line() {
        let error = |text: &str| steps(text).unwrap_err();
        assert!(error("20\nx\n").contains("line 2") && error("20\nx\n").contains("a delay in ms"));
        assert!(error("20\n1 20\n").contains("as in the lines above"));
        assert!(error("1 20\n20\n").contains("as in the lines above"));
        assert!(error("1 20\n1 20\n").contains("line 2"));
        assert!(error("60001\n").contains("60000 ms"));
        assert!(error("-1\n").contains("line 1"));
        assert!(error("# nothing\n").contains("line 1") || !error("# nothing\n").is_empty());
    }

    #[test]
    fn a_window_begins_within_a_step() {
        let delays = parse::<Span>(b"10\n20\n30\n40\n", SLOT).unwrap();
        let part = delays.window(Span::from_millis(15), Span::from_millis(20)).unwrap();
        let of: Vec<(u64, u64)> = part
            .steps()
            .iter()
            .map(|step| (step.start.as_nanos() / 1_000_000, step.value.as_millis()))
            .collect();
        assert_eq!((of, part.period()), (vec![(0, 20), (5, 30), (15, 40)], Span::from_millis(20)));
        assert!(delays.window(Span::from_millis(30), Span::from_millis(20)).is_err());
        assert_eq!(delays.least(), Span::from_millis(10));
    }

    #[test]
    fn written_delays_are_read_back() {
        for (starts_us, period_us) in [
            (vec![0], 1_000_000),
            (vec![0], 250),
            (vec![0, 100_000, 200_000], 300_000),
            (vec![0, 100_000, 170_001], 9_000_001),
        ] {
            let step = |(number, start): (u64, u64)| DelayStep {
                start: Time::ZERO + Span::from_micros(start),
                value: Span::from_nanos(20_000_001 + number * 999),
            };
            let steps = (0..).zip(starts_us).map(step).collect();
            let delays = DelaySteps::new(steps, Span::from_micros(period_us)).unwrap();
            let mut text = alloc::string::String::new();
            write(&delays, &mut text).unwrap();
            let read = parse::<Span>(text.as_bytes(), SLOT).unwrap();
            assert_eq!(read.period(), delays.period(), "{text}");
            assert_eq!(read.steps()[..delays.steps().len()], *delays.steps(), "{text}");
            assert!(read.steps().last().unwrap().value == delays.steps().last().unwrap().value);
        }
    }
}
