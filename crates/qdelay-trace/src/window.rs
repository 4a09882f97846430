//! Windows: parts of traces.

use crate::error::TraceError;
use alloc::format;
use qdelay_core::Span;

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
