//! A probability of loss that changes in [`steps`]. Files have it in percent.

use crate::error::Quantity;
use crate::format::csv;
use crate::format::time::TIME_UNIT;
use crate::mbps::SAMPLE;
use crate::steps::{self, StepValue, Texts, ValueUnit};
use core::fmt;
use qdelay_core::component::{Component, Kind, Typed, Unit};
use qdelay_core::units::{UnitError, parse_percent};

const COLUMN: Typed<Option<&str>> = csv::COLUMN.about(
    "name of the column of the loss, in brackets if it has a colon, as in column=[DL: loss]; required",
);
const UNIT: Typed<str> = Typed::new("unit", "percent", "unit of the loss; ratio: a probability from 0 to 1")
    .unit(Unit::Choice(&["percent", "ratio"]));
const MISSING: Typed<str> =
    csv::MISSING.about("rows without a loss: refuse them, hold the loss before, take 0, or skip them");

static TABLE: Component = Component::new(Kind::Format, "csv", "a column of losses of a table with a header")
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

/// Probability with which a packet is lost, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct LossRate(pub f64);

/// A probability of loss and its beginning.
pub type LossStep = steps::Step<LossRate>;
/// A probability of loss in steps.
pub type LossSteps = steps::Steps<LossRate>;
/// Reads a trace of losses.
pub type Parser = steps::Parser<LossRate>;

impl fmt::Display for LossRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0 * 100.0)
    }
}

impl StepValue for LossRate {
    const MAX: LossRate = LossRate(1.0);
    const TEXTS: Texts = Texts {
        quantity: Quantity { name: "loss", missing: "missing=hold, zero or skip" },
        max: "100%",
        max_of_column: "100%",
        expected: "a loss in percent, or a time in seconds and a loss in percent; format=[csv:column=NAME] reads a table",
        slot: "a loss in percent, as in the lines above",
        row: "a time and a loss, as in the lines above",
    };
    const UNITS: &'static [ValueUnit] = &[
        ValueUnit { name: "percent", expected: "a loss in percent, 0 to 100", factor: (1.0, 100.0) },
        ValueUnit { name: "ratio", expected: "a loss as a ratio, 0 to 1", factor: (1.0, 1.0) },
    ];
    const TABLE: &'static Component = &TABLE;

    fn parse(text: &str) -> Result<LossRate, UnitError> {
        parse_percent(text).map(LossRate)
    }
    /// A probability, 0 to 1.
    fn from_number(probability: f64) -> LossRate {
        LossRate(probability)
    }
    fn scaled(self, factor: f64) -> LossRate {
        LossRate(self.0 * factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::parse;
    use alloc::string::{String, ToString};
    use alloc::vec;
    use alloc::vec::Vec;
    use qdelay_core::{Span, Time};

    fn losses(text: &str) -> Result<LossSteps, String> {
        parse(text.as_bytes(), Span::from_secs(1)).map_err(|error| error.to_string())
    }

    #[test]
    fn percent_in_slots_and_rows() {
        let of = |text: &str| -> (Vec<(u64, f64)>, u64) {
            let found = losses(text).unwrap();
            let steps = found.steps().iter().map(|step| (step.start.as_nanos() / 1_000_000, step.value.0));
            (steps.collect(), found.period().as_millis())
        };
        assert_eq!(of("0\n0\n30\n100\n"), (vec![(0, 0.0), (2000, 0.3), (3000, 1.0)], 4000));
        assert_eq!(of("10 0\n24.9,30\n25\t0.1\n"), (vec![(0, 0.0), (14_900, 0.3), (15_000, 0.001)], 15_100));
        // The number of a file is that of the text with a sign.
        for percent in ["0.1", "7", "33.3", "99.99"] {
            let typed = LossRate::parse(&alloc::format!("{percent}%")).unwrap();
            assert_eq!(losses(percent).unwrap().steps()[0].value, typed);
        }
        let found = losses("5\n0.5\n20\n").unwrap();
        assert_eq!((found.least(), found.largest()), (LossRate(0.005), LossRate(0.2)));
        assert_eq!(found.scaled(2.0).unwrap().largest(), LossRate(0.4));
    }

    #[test]
    fn what_is_no_loss_is_refused_with_its_line() {
        let error = |text: &str| losses(text).unwrap_err();
        assert_eq!(error("1\n100.5\n"), "line 2: '100.5' is too large; expected at most 100%");
        assert!(error("1\nx\n").starts_with("line 2: expected a loss in percent"), "{}", error("1\nx\n"));
        assert!(error("-1\n").contains("a loss in percent") && error("nan\n").contains("line 1"));
        assert!(error("1 1\n1\n").contains("a time and a loss, as in the lines above"));
        assert!(
            losses("60\n").unwrap().scaled(2.0).unwrap_err().to_string().contains("expected at most 100%")
        );
        let step = |value| {
            LossSteps::new(vec![LossStep { start: Time::ZERO, value: LossRate(value) }], Span::from_secs(1))
        };
        assert!(step(f64::NAN).is_err() && step(-0.1).is_err() && step(1.0).is_ok());
    }
}
