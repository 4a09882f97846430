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

/// The bins of a time series that begins with the run.
#[derive(Clone, Copy, Debug)]
pub struct Bins {
    /// Width of all bins but the last, which may be shorter.
    pub width: Span,
    /// When the run ends.
    pub end: Time,
}

impl Bins {
    /// Number of bins.
    pub fn count(self) -> usize {
        self.end.since(Time::ZERO).as_nanos().div_ceil(self.width.as_nanos().max(1)) as usize
    }

    /// Each with its begin and its end.
    pub fn all(self) -> impl Iterator<Item = (Time, Time)> {
        let at = move |bin: usize| (Time::ZERO + self.width * bin as u64).min(self.end);
        (0..self.count()).map(move |bin| (at(bin), at(bin + 1)))
    }

    /// The bin of a time; `None` after the run. What happens just when a bin ends belongs to it.
    pub fn index(self, at: Time) -> Option<usize> {
        let nanos = at.since(Time::ZERO).as_nanos();
        (at <= self.end).then(|| (nanos.saturating_sub(1) / self.width.as_nanos().max(1)) as usize)
    }

    /// Adds to each bin the milliseconds of it that are from one time to another.
    pub fn share_out(self, (from, to): (Time, Time), milliseconds: &mut [f64]) {
        let (Some(first), to) = (self.index(from), to.min(self.end)) else { return };
        for ((begin, end), sum) in
            self.all().zip(milliseconds).skip(first).take_while(|((begin, _), _)| *begin < to)
        {
            *sum += end.min(to).since(begin.max(from)).as_millis_f64();
        }
    }
}
