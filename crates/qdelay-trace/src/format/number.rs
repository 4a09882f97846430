//! Numbers in text formats.

use crate::error::TraceError;
use qdelay_core::Time;

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
