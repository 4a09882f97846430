//! Figures rounded for the page.

use qdelay_study::results::DelaySummary;
use serde::{Serialize, Serializer};

/// Tables show three decimals.
pub(super) const FIGURE_DIGITS: usize = 6;
/// Digits that a plot of a thousand pixels can show.
pub(super) const SERIES_DIGITS: usize = 4;

/// A number with this many significant digits; whole numbers have no decimal point.
#[derive(Clone, Copy, Default)]
pub(super) struct Short<const DIGITS: usize>(pub(super) f64);

impl<const DIGITS: usize> Serialize for Short<DIGITS> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded: f64 = format!("{:.*e}", DIGITS - 1, self.0).parse().unwrap_or(self.0);
        // Below 2^53 every whole number is exact.
        if rounded.fract() == 0.0 && rounded.abs() < 9e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

#[derive(Default, Serialize)]
pub(super) struct DelayPart {
    mean: Short<FIGURE_DIGITS>,
    p50: Short<FIGURE_DIGITS>,
    p95: Short<FIGURE_DIGITS>,
    p99: Short<FIGURE_DIGITS>,
    p999: Short<FIGURE_DIGITS>,
    max: Short<FIGURE_DIGITS>,
}

pub(super) fn delay_part(delay: &DelaySummary) -> DelayPart {
    DelayPart {
        mean: Short(delay.mean),
        p50: Short(delay.p50),
        p95: Short(delay.p95),
        p99: Short(delay.p99),
        p999: Short(delay.p999),
        max: Short(delay.max),
    }
}

pub(super) fn shorts(values: &[f64]) -> Vec<Short<SERIES_DIGITS>> {
    values.iter().map(|&value| Short(value)).collect()
}

pub(super) fn maybe_shorts(values: &[Option<f64>]) -> Vec<Option<Short<SERIES_DIGITS>>> {
    values.iter().map(|value| value.map(Short)).collect()
}

/// A part of the page as JSON.
pub(super) fn json(value: &impl Serialize) -> String {
    // Text keys, and numbers that are finite or become null: nothing of this can fail.
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let digits = |value| json(&Short::<4>(value));
        assert_eq!(digits(1234.567), "1235");
        assert_eq!(digits(0.000123456), "0.0001235");
        assert_eq!(digits(3.0), "3");
        assert_eq!(digits(0.0), "0");
        assert_eq!(digits(f64::NAN), "null");
    }
}
