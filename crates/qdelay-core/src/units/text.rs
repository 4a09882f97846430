//! Parsing of spans, rates and sizes in the notation of `tc`: `20ms`, `10mbit`, `1504b`.

use super::{Rate, Span};
use core::fmt;

/// The error of parsing a value. `Display` says what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnitError {
    /// No number at the front.
    Number(&'static str),
    /// A number without one of the units.
    Unit(&'static str),
    /// The value exceeds the range of the type.
    TooLarge,
}

const SPAN_UNITS: &str = "a number with a unit of ns, us, ms, s or min, such as 20ms";
const RATE_UNITS: &str = "a number with a unit of bit, kbit, mbit or gbit (per second), such as 10mbit";
const BYTE_UNITS: &str = "a number with a unit of b, kb or mb (bytes; powers of 1000), such as 1500b";

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnitError::Number(expected) | UnitError::Unit(expected) => write!(f, "expected {expected}"),
            UnitError::TooLarge => f.write_str("the value is too large"),
        }
    }
}
impl core::error::Error for UnitError {}

/// The expected form of a share in percent, for error messages.
const PERCENT: &str = "percent, such as 1%";

/// A duration such as `20ms`, `1.5s`, `2min`; `0` needs no unit.
///
/// # Errors
/// No number, no unit or an unknown one, or beyond 584 years.
pub fn parse_span(text: &str) -> Result<Span, UnitError> {
    const UNITS: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 6e10)];
    scaled(text, UNITS, SPAN_UNITS).map(Span::from_nanos)
}

/// A rate such as `10mbit` or `600kbit`; `0` needs no unit; `infinite` is a rate too.
///
/// # Errors
/// No number, no unit or an unknown one, or more than 64 bits hold.
pub fn parse_rate(text: &str) -> Result<Rate, UnitError> {
    const UNITS: &[(&str, f64)] = &[("bit", 1.0), ("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9)];
    if text == "infinite" {
        return Ok(Rate::INFINITE);
    }
    scaled(text, UNITS, RATE_UNITS).map(Rate::from_bps)
}

/// A size such as `1504b` or `64kb`; `0` needs no unit.
///
/// # Errors
/// No number, no unit or an unknown one, or more than 64 bits hold.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    scaled(text, &[("b", 1.0), ("kb", 1e3), ("mb", 1e6)], BYTE_UNITS)
}

/// A share in percent such as `12.5%`, which is 0.125: digits and a point before the sign.
///
/// # Errors
/// Anything else.
pub fn parse_percent(text: &str) -> Result<f64, UnitError> {
    let number = text.strip_suffix('%').ok_or(UnitError::Unit(PERCENT))?;
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: Option<f64> = number.parse().ok().filter(|_| is_plain);
    number.map(|number| number / 100.0).ok_or(UnitError::Number(PERCENT))
}

fn scaled(text: &str, units: &[(&str, f64)], expected: &'static str) -> Result<u64, UnitError> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().map_err(|_| UnitError::Number(expected))?;
    if number == 0.0 && unit.is_empty() {
        return Ok(0);
    }
    let (_, scale) =
        units.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name)).ok_or(UnitError::Unit(expected))?;
    let value = libm::round(number * scale);
    if value < 9.0e18 { Ok(value as u64) } else { Err(UnitError::TooLarge) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_notations_are_parsed() {
        assert_eq!(parse_span("20ms"), Ok(Span::from_millis(20)));
        assert_eq!(parse_span("1.5s"), Ok(Span::from_millis(1500)));
        assert_eq!(parse_span("2min"), Ok(Span::from_secs(120)));
        assert_eq!(parse_span("0"), Ok(Span::ZERO));
        assert_eq!(parse_rate("10mbit"), Ok(Rate::from_bps(10_000_000)));
        assert_eq!(parse_rate("0.6Mbit"), Ok(Rate::from_bps(600_000)));
        assert_eq!(parse_bytes("64kb"), Ok(64_000));
    }

    #[test]
    fn wrong_notations_are_refused() {
        for text in ["", "ms", "20", "-5ms", "1e3ms", "5 ms", "5parsec", "99999999999999999s", "1.2.3s"] {
            assert!(parse_span(text).is_err(), "{text}");
        }
        assert!(parse_rate("10").is_err());
        assert!(parse_bytes("1500").is_err());
    }
}
