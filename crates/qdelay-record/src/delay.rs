//! Delays of many packets in bounded memory.

use crate::buckets::Buckets;
use crate::entity;
use qdelay_core::Span;

/// Resolution of the histogram: one microsecond below about 2 ms, three digits above.
const UNIT_NANOS: u64 = 1_000;
/// Longest delay that is resolved, in microseconds: a day.
const LONGEST: u64 = 86_400 * 1_000_000;

/// A histogram of delays, exact to three significant digits (and to a microsecond), with the exact mean and maximum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DelayHistogram {
    /// In microseconds.
    buckets: Buckets,
    sum_nanos: u128,
    max: Span,
}

entity! {
    /// Delays in milliseconds.
    #[derive(Copy)]
    pub struct DelaySummary {
        /// How many packets.
        pub count: u64,
        /// Arithmetic mean.
        pub mean: f64,
        /// Median.
        pub p50: f64,
        /// 95th percentile.
        pub p95: f64,
        /// 99th percentile.
        pub p99: f64,
        /// 99.9th percentile.
        pub p999: f64,
        /// Maximum.
        pub max: f64,
    }
}

impl DelayHistogram {
    /// Records one delay. Delays of more than a day count as a day in the percentiles.
    #[inline]
    pub fn record(&mut self, delay: Span) {
        self.buckets.record(((delay.as_nanos() + UNIT_NANOS / 2) / UNIT_NANOS).min(LONGEST));
        self.sum_nanos += u128::from(delay.as_nanos());
        self.max = self.max.max(delay);
    }

    /// Adds the delays of `other`.
    pub fn merge(&mut self, other: &DelayHistogram) {
        self.buckets.add(&other.buckets);
        self.sum_nanos += other.sum_nanos;
        self.max = self.max.max(other.max);
    }

    /// The sum of all, in nanoseconds.
    pub fn sum_nanos(&self) -> u128 {
        self.sum_nanos
    }

    /// Number of recorded delays.
    pub fn count(&self) -> u64 {
        self.buckets.total()
    }

    /// The `percent`th percentile in ms; zero where nothing was recorded.
    pub fn percentile(&self, percent: f64) -> f64 {
        self.curve(&[percent]).first().copied().unwrap_or(0.0)
    }

    /// The mean in ms of the shortest `percent` of the delays, to three digits: a trimmed mean that leaves out the longest. At least
    /// one delay is in it; zero where nothing was recorded.
    pub fn trimmed_mean(&self, percent: f64) -> f64 {
        let total = self.count();
        if total == 0 {
            return 0.0;
        }
        let kept = ((percent / 100.0 * total as f64) as u64).clamp(1, total);
        let (mut left, mut sum_micros) = (kept, 0.0);
        for bucket in self.buckets.filled() {
            let count = bucket.count.min(left);
            sum_micros += count as f64 * bucket.middle as f64;
            left -= count;
            if left == 0 {
                break;
            }
        }
        (sum_micros / kept as f64 * UNIT_NANOS as f64 / 1e6).min(self.max.as_millis_f64())
    }

    /// The standard deviation in ms, of the delays to three digits; zero where nothing was recorded.
    pub fn deviation(&self) -> f64 {
        self.buckets.deviation() * UNIT_NANOS as f64 / 1e6
    }

    /// The percentiles of `percents`, which ascend, in ms, in one pass; none where nothing was recorded.
    pub fn curve(&self, percents: &[f64]) -> Vec<f64> {
        let total = self.count();
        let mut delays = Vec::with_capacity(percents.len());
        if total == 0 {
            return delays;
        }
        let mut buckets = self.buckets.filled();
        let (mut seen, mut millis) = (0, 0.0_f64);
        for percent in percents {
            // The rank of the percentile, at least the first.
            let rank = ((percent / 100.0 * total as f64).ceil() as u64).clamp(1, total);
            while seen < rank
                && let Some(bucket) = buckets.next()
            {
                seen += bucket.count;
                millis = (bucket.highest as f64 * UNIT_NANOS as f64 / 1e6).min(self.max.as_millis_f64());
            }
            delays.push(millis);
        }
        delays
    }

    /// All figures at once; all zero where nothing was recorded.
    pub fn summary(&self) -> DelaySummary {
        let count = self.count();
        let mean = if count == 0 { 0.0 } else { self.sum_nanos as f64 / count as f64 / 1e6 };
        let percentiles = self.curve(&[50.0, 95.0, 99.0, 99.9]);
        let [p50, p95, p99, p999] = percentiles.try_into().unwrap_or_default();
        DelaySummary { count, mean, p50, p95, p99, p999, max: self.max.as_millis_f64() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_to_three_digits() {
        let mut histogram = DelayHistogram::default();
        let mut exact: Vec<u64> = (0..100_000_u64).map(|i| i * i % 7_654_321 * 100).collect();
        exact.iter().for_each(|&nanos| histogram.record(Span::from_nanos(nanos)));
        exact.sort_unstable();
        for percent in [50.0, 95.0, 99.0, 99.9] {
            let rank = (percent / 100.0 * exact.len() as f64).ceil() as usize - 1;
            let truth = exact[rank] as f64 / 1e6;
            assert!((histogram.percentile(percent) - truth).abs() <= truth * 1e-3 + 1e-3, "{percent}");
        }
        let percents = [0.0, 1.0, 50.0, 95.0, 99.0, 99.9, 100.0];
        let curve = histogram.curve(&percents);
        for (percent, ms) in percents.iter().zip(&curve).skip(1) {
            assert_eq!(*ms, histogram.percentile(*percent), "{percent}");
        }
        let summary = histogram.summary();
        assert_eq!(summary.max, *exact.last().unwrap() as f64 / 1e6);
        let mean = exact.iter().sum::<u64>() as f64 / exact.len() as f64 / 1e6;
        assert!((summary.mean - mean).abs() < 1e-9 * mean);
        let squares = exact.iter().map(|nanos| (*nanos as f64 / 1e6 - mean).powi(2));
        let deviation = (squares.sum::<f64>() / exact.len() as f64).sqrt();
        assert!((histogram.deviation() - deviation).abs() < 1e-3 * deviation);
    }

    #[test]
    fn trimmed_means_leave_out_the_longest() {
        let mut histogram = DelayHistogram::default();
        // 1 to 40 ms; a twentieth of 40 are two.
        let mut exact: Vec<u64> = (1..=40).map(|i| i * 7 % 41).collect();
        exact.iter().for_each(|&ms| histogram.record(Span::from_millis(ms)));
        exact.sort_unstable();
        let mean = exact[..38].iter().sum::<u64>() as f64 / 38.0;
        assert!(
            (histogram.trimmed_mean(95.0) - mean).abs() < 2e-3 * mean,
            "{}",
            histogram.trimmed_mean(95.0)
        );
        assert!((histogram.trimmed_mean(100.0) - 20.5).abs() < 0.05);
        assert!((histogram.trimmed_mean(0.0) - 1.0).abs() < 2e-3, "the shortest");
        assert_eq!(DelayHistogram::default().trimmed_mean(95.0), 0.0);
    }

    #[test]
    fn merged_is_as_recorded_in_one() {
        let (mut one, mut other, mut both) =
            (DelayHistogram::default(), DelayHistogram::default(), DelayHistogram::default());
        for i in 0..1000_u64 {
            let delay = Span::from_nanos(i * i * 77);
            both.record(delay);
            if i % 3 == 0 { one.record(delay) } else { other.record(delay) }
        }
        one.merge(&other);
        assert_eq!(one, both);
        one.merge(&DelayHistogram::default());
        assert_eq!(one, both);
    }

    #[test]
    fn nothing_recorded_is_zero() {
        assert_eq!(DelayHistogram::default().summary(), DelaySummary::default());
        assert!(DelayHistogram::default().curve(&[50.0]).is_empty());
        assert_eq!(DelayHistogram::default().deviation(), 0.0);
    }
}
