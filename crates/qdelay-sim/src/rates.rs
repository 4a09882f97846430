//! Rates over a time, and the bins of time series.

use qdelay_core::{Span, Time};

/// Mbit/s; nothing in no time.
pub fn rate_mbps(bytes: u64, over: Span) -> f64 {
    if over.is_zero() { 0.0 } else { bytes as f64 * 8.0 / over.as_secs_f64() / 1e6 }
}

/// A link that offers more than an exabit a second has no bound.
pub fn capacity_mbps(offered_bytes: u64, over: Span) -> Option<f64> {
    const BOUNDLESS_MBPS: f64 = 1e12;
    Some(rate_mbps(offered_bytes, over)).filter(|rate| *rate < BOUNDLESS_MBPS)
}

/// When the bin that is open at `now` ends.
pub fn bin_end(now: Time, bin: Span) -> Time {
    let next = now.since(Time::ZERO).as_nanos() / bin.as_nanos() + 1;
    Time::ZERO + Span::from_nanos(next.saturating_mul(bin.as_nanos()))
}
