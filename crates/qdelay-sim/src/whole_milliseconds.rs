//! One-way delays truncated to whole milliseconds, as a receiver with a millisecond clock reports them.

use crate::results::WholeMillisecondDelays;
use qdelay_core::Span;

/// Earlier delays of a flow, from which its jitter is computed.
#[derive(Clone, Copy, Default)]
pub struct DelayHistory {
    /// The previous delay, measured or not.
    pub last: Option<Span>,
    /// The first measured delay.
    pub first: Option<Span>,
}

/// Sums over the delays of a group, in milliseconds.
#[derive(Clone, Copy, Default)]
pub struct WholeMilliseconds {
    count: u64,
    sum: u128,
    squares: u128,
    least: Option<u64>,
    most: u64,
    changes: u64,
    change_sum: u128,
    from_first_sum: u128,
}

impl WholeMilliseconds {
    /// Adds a measured delay of a flow with this history; the history's `first` includes this delay.
    #[inline]
    pub fn add(&mut self, delay: Span, past: DelayHistory) {
        let ms = delay.as_millis();
        self.count += 1;
        self.sum += u128::from(ms);
        self.squares += u128::from(ms) * u128::from(ms);
        self.least = Some(self.least.map_or(ms, |least| least.min(ms)));
        self.most = self.most.max(ms);
        if let Some(last) = past.last {
            self.changes += 1;
            self.change_sum += u128::from(ms.abs_diff(last.as_millis()));
        }
        if let Some(first) = past.first {
            self.from_first_sum += u128::from(ms.abs_diff(first.as_millis()));
        }
    }

    /// The summary of all delays; zeros if there are none.
    pub fn finish(self) -> WholeMillisecondDelays {
        let over = |sum: u128, count: u64| if count == 0 { 0.0 } else { sum as f64 / count as f64 };
        let mean = over(self.sum, self.count);
        WholeMillisecondDelays {
            mean_ms: mean,
            min_ms: self.least.unwrap_or(0) as f64,
            max_ms: self.most as f64,
            deviation_ms: (over(self.squares, self.count) - mean * mean).max(0.0).sqrt(),
            jitter_ms: over(self.change_sum, self.changes),
            jitter_from_first_ms: over(self.from_first_sum, self.count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_delays_by_hand() {
        let (mut whole, mut past) = (WholeMilliseconds::default(), DelayHistory::default());
        // 5, 7, 4, 4 and 9 ms; the mean is 5.8.
        for micros in [5999, 7000, 4001, 4999, 9000] {
            let delay = Span::from_micros(micros);
            past.first = past.first.or(Some(delay));
            whole.add(delay, past);
            past.last = Some(delay);
        }
        let found = whole.finish();
        assert_eq!((found.mean_ms, found.min_ms, found.max_ms), (5.8, 4.0, 9.0));
        assert!((found.deviation_ms - 1.939_071_9).abs() < 1e-6, "{}", found.deviation_ms);
        // 2, 3, 0 and 5 between neighbours; 0, 2, 1, 1 and 4 from the first.
        assert_eq!((found.jitter_ms, found.jitter_from_first_ms), (2.5, 1.6));
        assert_eq!(WholeMilliseconds::default().finish(), WholeMillisecondDelays::default());
    }
}
