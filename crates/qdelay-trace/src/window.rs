//! Steps and windows: what traces of rates, delays and CQIs have in common.

use crate::error::{Problem, TraceError};
use alloc::format;
use qdelay_core::{Span, Time};

/// Longest duration of a trace: 2^32 - 1 ms (49.7 days), as for the opportunities of a schedule.
pub const DURATION_MAX: Span = Span::from_millis(u32::MAX as u64);
pub(crate) const DURATION_MAX_TEXT: &str = "4294967 s (49.7 days)";

/// Checks the starts of steps: there is one, the first is at time 0, they increase, and the last is before `period`, which is not too
/// long.
pub(crate) fn check_starts(starts: impl Iterator<Item = Time>, period: Span) -> Result<(), TraceError> {
    let unexpected = |expected, found| Err(TraceError::unexpected(0, expected, seconds(found).as_bytes()));
    let mut last: Option<Time> = None;
    for start in starts {
        match last {
            None if start != Time::ZERO => return unexpected("a first step at time 0", start),
            Some(before) if before >= start => {
                let problem = Problem::Decreasing { before: seconds(before), found: seconds(start) };
                return Err(TraceError::in_line(0, problem));
            }
            _ => last = Some(start),
        }
    }
    let last = last.ok_or(TraceError::in_line(0, Problem::Empty))?;
    if last.since(Time::ZERO) >= period {
        return unexpected("a last step that begins before the trace ends", last);
    }
    if period > DURATION_MAX {
        let found = seconds(Time::ZERO + period);
        return Err(TraceError::too_large(0, DURATION_MAX_TEXT, found.as_bytes()));
    }
    Ok(())
}

/// Refuses a window that is empty or does not end within `period`.
pub(crate) fn check_window(start: Span, length: Span, period: Span) -> Result<(), TraceError> {
    let end = start + length;
    if length.is_zero() || end > period || end == Span::MAX {
        const EXPECTED: &str = "a window of a length above 0 that ends within the trace";
        let found = format!("{start} to {end} of {period}");
        return Err(TraceError::unexpected(0, EXPECTED, found.as_bytes()));
    }
    Ok(())
}

/// A time in seconds with all its decimals and no trailing zeros: `12.5`.
pub(crate) fn seconds(time: Time) -> alloc::string::String {
    decimal(time.as_nanos(), 9)
}

/// `value / 10^places`, exactly, without trailing zeros.
pub(crate) fn decimal(value: u64, places: usize) -> alloc::string::String {
    let scale = 10_u64.pow(places as u32);
    let (whole, fraction) = (value / scale, value % scale);
    if fraction == 0 {
        return alloc::format!("{whole}");
    }
    let mut text = alloc::format!("{whole}.{fraction:0places$}");
    text.truncate(text.trim_end_matches('0').len());
    text
}
