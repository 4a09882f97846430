//! The statistics of a trace, computed without any packet.
//!
//! Rates are those of 1504-byte opportunities (or of the steps of a rate), over one round. Bins of 100 ms and
//! of 1 s begin at time 0. A bin includes its end and not its beginning, except time 0, which belongs to the
//! first; a last bin that the trace does not fill is left out unless it is the only one. Percentiles are of
//! the nearest rank. The coefficient of variation is the standard deviation of the bins over their mean.
//!
//! A gap is the time between two consecutive opportunities, or from time 0 to the first one (for a trace that
//! repeats, that is the gap since the last of the round before). In a rate, a gap is an interval at zero.
//!
//! Memory: one counter for each distinct number of opportunities in a bin.

use crate::rates::RateSteps;
use crate::schedule::{OPPORTUNITY_BYTES, Schedule};
use alloc::collections::BTreeMap;
use qdelay_core::Span;

const OPPORTUNITY_BITS: u64 = OPPORTUNITY_BYTES * 8;

/// The statistics of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceInfo {
    /// Duration of one round.
    pub duration: Span,
    /// Opportunities of 1504 bytes in one round; of a rate: the bytes of one round over 1504, rounded down.
    pub opportunities: u64,
    /// Mean rate over one round, Mbit/s.
    pub mean_mbps: f64,
    /// The rate over bins of 100 ms.
    pub bins_100ms: BinStatistics,
    /// The rate over bins of 1 s.
    pub bins_1s: BinStatistics,
    /// Longest time without an opportunity (of a rate: at zero).
    pub longest_gap: Span,
    /// Number of gaps of more than 100 ms.
    pub gaps_over_100ms: u64,
    /// Number of gaps of more than 1 s.
    pub gaps_over_1s: u64,
    /// Total duration of the gaps of more than 100 ms.
    pub outage: Span,
}

/// Distribution of a rate over bins of one width. Rates are in Mbit/s; all are zero without any bin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BinStatistics {
    /// Number of bins.
    pub bins: u64,
    /// Smallest rate.
    pub min_mbps: f64,
    /// 5th percentile.
    pub p5_mbps: f64,
    /// 25th percentile.
    pub p25_mbps: f64,
    /// Median.
    pub p50_mbps: f64,
    /// 75th percentile.
    pub p75_mbps: f64,
    /// 95th percentile.
    pub p95_mbps: f64,
    /// Largest rate.
    pub max_mbps: f64,
    /// Standard deviation over mean.
    pub coefficient_of_variation: f64,
    /// Share of bins without any capacity, 0 to 1.
    pub zero_share: f64,
}

/// The statistics of delivery opportunities.
pub fn of_schedule(schedule: &Schedule) -> TraceInfo {
    let (mut bins_100ms, mut bins_1s) = (Bins::new(100_000_000), Bins::new(1_000_000_000));
    let mut gaps = Gaps::default();
    let mut last_ms = 0;
    for item in schedule.cursor(false) {
        gaps.add(Span::from_millis(item.ms - last_ms));
        last_ms = item.ms;
        // The last nanosecond before the time belongs to the bin that ends with it.
        let at = (item.ms * 1_000_000).saturating_sub(1);
        bins_100ms.add(at, u128::from(item.count * OPPORTUNITY_BITS));
        bins_1s.add(at, u128::from(item.count * OPPORTUNITY_BITS));
    }
    let period = schedule.period();
    TraceInfo {
        duration: period,
        opportunities: schedule.opportunities(),
        mean_mbps: schedule.mean_mbps(),
        bins_100ms: bins_100ms.finish(period, 1.0),
        bins_1s: bins_1s.finish(period, 1.0),
        longest_gap: gaps.longest,
        gaps_over_100ms: gaps.over_100ms,
        gaps_over_1s: gaps.over_1s,
        outage: gaps.outage,
    }
}

/// The statistics of a rate that changes in steps.
pub fn of_rates(rates: &RateSteps) -> TraceInfo {
    let (mut bins_100ms, mut bins_1s) = (Bins::new(100_000_000), Bins::new(1_000_000_000));
    let mut gaps = Gaps::default();
    let mut gap = Span::ZERO;
    for (step, span) in rates.spans() {
        let (start, bps) = (step.start.as_nanos(), step.rate.as_bps());
        bins_100ms.add_span(start, span.as_nanos(), bps);
        bins_1s.add_span(start, span.as_nanos(), bps);
        if bps == 0 {
            gap += span;
        } else {
            gaps.add(core::mem::take(&mut gap));
        }
    }
    gaps.add(gap);
    let opportunity = u128::from(OPPORTUNITY_BITS) * 1_000_000_000;
    TraceInfo {
        duration: rates.period(),
        opportunities: u64::try_from(rates.nanobits() / opportunity).unwrap_or(u64::MAX),
        mean_mbps: rates.mean_mbps(),
        bins_100ms: bins_100ms.finish(rates.period(), 1e9),
        bins_1s: bins_1s.finish(rates.period(), 1e9),
        longest_gap: gaps.longest,
        gaps_over_100ms: gaps.over_100ms,
        gaps_over_1s: gaps.over_1s,
        outage: gaps.outage,
    }
}

#[derive(Default)]
struct Gaps {
    longest: Span,
    over_100ms: u64,
    over_1s: u64,
    outage: Span,
}

impl Gaps {
    fn add(&mut self, gap: Span) {
        self.longest = self.longest.max(gap);
        self.over_1s += u64::from(gap > Span::from_secs(1));
        if gap > Span::from_millis(100) {
            self.over_100ms += 1;
            self.outage += gap;
        }
    }
}

/// Histogram of the amounts in bins of one width.
struct Bins {
    width: u64,
    /// Index of the current bin; `amount`: its sum so far.
    index: u64,
    amount: u128,
    histogram: BTreeMap<u128, u64>,
}

impl Bins {
    fn new(width: u64) -> Bins {
        Bins { width, index: 0, amount: 0, histogram: BTreeMap::new() }
    }

    /// Adds to the bin at a time in ns; times do not decrease.
    fn add(&mut self, at: u64, amount: u128) {
        self.go_to(at / self.width);
        self.amount += amount;
    }

    /// Adds a rate that holds for a span in ns, in units of 10^-9 bit.
    fn add_span(&mut self, mut start: u64, mut span: u64, bps: u64) {
        let whole = u128::from(bps) * u128::from(self.width);
        while span > 0 {
            self.go_to(start / self.width);
            let here = span.min(self.width - start % self.width);
            self.amount += u128::from(bps) * u128::from(here);
            (start, span) = (start + here, span - here);
            // Bins filled by this rate are all alike; afterwards the last of them is the current one.
            let filled = span / self.width;
            if filled > 1 {
                self.go_to(start / self.width);
                *self.histogram.entry(whole).or_default() += filled - 1;
                self.index += filled - 1;
                (start, span) = (start + (filled - 1) * self.width, span - (filled - 1) * self.width);
            }
        }
    }

    /// Ends the bins before `index`.
    fn go_to(&mut self, index: u64) {
        if index > self.index {
            *self.histogram.entry(core::mem::take(&mut self.amount)).or_default() += 1;
            let empty = index - self.index - 1;
            if empty > 0 {
                *self.histogram.entry(0).or_default() += empty;
            }
            self.index = index;
        }
    }

    /// The statistics; `scale` is the number of units of the amounts in a bit.
    fn finish(mut self, period: Span, scale: f64) -> BinStatistics {
        let mut seconds = self.width as f64 / 1e9;
        if period.as_nanos() < self.width {
            *self.histogram.entry(self.amount).or_default() += 1;
            seconds = period.as_secs_f64();
        } else {
            self.go_to(period.as_nanos() / self.width);
        }
        statistics(&self.histogram, |amount| amount as f64 / scale / seconds / 1e6)
    }
}

fn statistics(histogram: &BTreeMap<u128, u64>, mbps: impl Fn(u128) -> f64) -> BinStatistics {
    let bins: u64 = histogram.values().sum();
    let n = bins as f64;
    let weighted = |f: &dyn Fn(f64) -> f64| -> f64 {
        histogram.iter().map(|(&amount, &count)| f(mbps(amount)) * count as f64).sum::<f64>() / n
    };
    let mean = weighted(&|x| x);
    let deviation = libm::sqrt(weighted(&|x| (x - mean) * (x - mean)));
    let percentile = |p: f64| {
        let rank = (libm::ceil(p * n) as u64).max(1);
        let mut seen = 0;
        let at = histogram.iter().find(|&(_, &count)| {
            seen += count;
            seen >= rank
        });
        at.or(histogram.last_key_value()).map_or(0.0, |(&amount, _)| mbps(amount))
    };
    BinStatistics {
        bins,
        min_mbps: percentile(0.0),
        p5_mbps: percentile(0.05),
        p25_mbps: percentile(0.25),
        p50_mbps: percentile(0.5),
        p75_mbps: percentile(0.75),
        p95_mbps: percentile(0.95),
        max_mbps: percentile(1.0),
        coefficient_of_variation: if mean > 0.0 { deviation / mean } else { 0.0 },
        zero_share: histogram.get(&0).map_or(0.0, |&count| count as f64 / n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::RateStep;
    use crate::{ScheduleBuilder, convert};
    use alloc::vec;
    use alloc::vec::Vec;
    use qdelay_core::{Rate, Time};

    fn schedule(items: &[(u32, u64)]) -> Schedule {
        let mut builder = ScheduleBuilder::default();
        for &(ms, count) in items {
            builder.push(ms, count).unwrap();
        }
        builder.finish().unwrap()
    }

    #[test]
    fn bins_gaps_and_mean_match_values_by_hand() {
        // Bins of 100 ms: 2, 1, 0 ... 0 (until 1600), 1, and an unfinished one.
        let info = of_schedule(&schedule(&[(0, 1), (100, 1), (101, 1), (1700, 1), (1750, 1)]));
        assert_eq!(info.duration, Span::from_millis(1750));
        assert_eq!(info.opportunities, 5);
        assert!((info.mean_mbps - 5.0 * 12_032.0 / 1.75e6).abs() < 1e-12);
        assert_eq!(
            (info.longest_gap, info.gaps_over_100ms, info.gaps_over_1s),
            (Span::from_millis(1599), 1, 1)
        );
        assert_eq!(info.outage, Span::from_millis(1599));
        let bins = info.bins_100ms;
        assert_eq!((bins.bins, bins.p50_mbps, bins.p95_mbps), (17, 0.0, 2.0 * 0.12032));
        assert!((bins.zero_share - 14.0 / 17.0).abs() < 1e-12);
        assert_eq!((info.bins_1s.bins, info.bins_1s.max_mbps), (1, 0.036096));
    }

    #[test]
    fn the_gap_before_the_first_counts() {
        assert_eq!(of_schedule(&schedule(&[(200, 1), (201, 1)])).longest_gap, Span::from_millis(200));
    }

    #[test]
    fn a_trace_shorter_than_a_bin_is_one_bin() {
        let info = of_schedule(&schedule(&[(0, 1), (50, 1)]));
        assert_eq!((info.bins_100ms.bins, info.bins_1s.bins), (1, 1));
        assert!((info.bins_1s.p50_mbps - info.mean_mbps).abs() < 1e-12);
    }

    /// Bins of long spans equal those of the same rate cut into the finest steps.
    #[test]
    fn long_steps_give_the_bins_of_many_short_ones() {
        let spans =
            [(50, 3_000_000), (400, 8_000_000), (1, 0), (349, 1_000_000), (3250, 0), (3000, 4_000_000)];
        let build = |cut: bool| {
            let (mut steps, mut start) = (vec![], 0);
            for (ms, bps) in spans {
                for _ in 0..if cut { ms } else { 1 } {
                    steps.push(RateStep { start: Time::from_nanos(start), rate: Rate::from_bps(bps) });
                    start += if cut { 1_000_000 } else { ms * 1_000_000 };
                }
            }
            RateSteps::new(steps, Span::from_nanos(start)).unwrap()
        };
        let info = of_rates(&build(false));
        assert_eq!(info, of_rates(&build(true)));
        assert_eq!((info.bins_100ms.bins, info.bins_1s.bins), (70, 7));
        assert_eq!((info.longest_gap, info.gaps_over_100ms), (Span::from_millis(3250), 1));
        assert_eq!(info.bins_100ms.max_mbps, 8.0);
    }

    #[test]
    fn a_rate_and_its_opportunities_agree() {
        let mbps = [3, 12, 0, 7, 25, 1];
        let steps: Vec<_> = mbps
            .iter()
            .zip(0..)
            .map(|(&m, i)| RateStep {
                start: Time::from_nanos(i * 2_000_000_000),
                rate: Rate::from_bps(m * 1_000_000),
            })
            .collect();
        let rates = RateSteps::new(steps, Span::from_secs(12)).unwrap();
        let (a, b) = (of_rates(&rates), of_schedule(&convert::to_schedule(&rates).unwrap()));
        assert!((a.mean_mbps - b.mean_mbps).abs() < 0.001 && a.opportunities.abs_diff(b.opportunities) <= 1);
        assert!((a.bins_1s.p50_mbps - b.bins_1s.p50_mbps).abs() < 0.02);
        assert!((a.bins_1s.coefficient_of_variation - b.bins_1s.coefficient_of_variation).abs() < 0.01);
    }
}
