//! Distribution of a quantum over time, with one value for each TTI.

use alloc::vec::Vec;

/// Limit below which values are exact; larger ones have this many steps for two powers of two.
const EXACT: u64 = 512;

/// Histogram of a slice's quantum in RBs, with one value after each TTI: the RBs that it had lent to others, or borrowed if
/// negative. Values of less than 512 RBs are exact, others to 0.4%.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuantumHistogram {
    /// Counts by bucket: of values from 0 on, and in `borrowed` of negative values.
    lent: Vec<u64>,
    borrowed: Vec<u64>,
}

/// The bucket of a size.
fn place(size: u64) -> usize {
    if size < EXACT {
        return size as usize;
    }
    // Half of the steps of each power of two coincide with the previous one.
    let shift = size.ilog2() - EXACT.ilog2() + 1;
    ((u64::from(shift) * EXACT / 2) + (size >> shift)) as usize
}

/// The smallest size in this bucket.
fn size(place: usize) -> u64 {
    let place = place as u64;
    if place < EXACT {
        return place;
    }
    let shift = (place - EXACT / 2) / (EXACT / 2);
    (place - shift * (EXACT / 2)) << shift
}

impl QuantumHistogram {
    /// Adds `quantum` for `ttis` TTIs.
    pub(super) fn add(&mut self, quantum: i64, ttis: u64) {
        let side = if quantum < 0 { &mut self.borrowed } else { &mut self.lent };
        let place = place(quantum.unsigned_abs());
        if place >= side.len() {
            side.resize(place + 1, 0);
        }
        side[place] = side[place].saturating_add(ttis);
    }
    /// Number of TTIs.
    pub fn ttis(&self) -> u64 {
        self.lent.iter().chain(&self.borrowed).sum()
    }
    /// The difference to `earlier`, an earlier value of the same histogram.
    #[must_use]
    pub fn since(&self, earlier: &QuantumHistogram) -> QuantumHistogram {
        let less = |now: &[u64], then: &[u64]| {
            let then = |place: usize| then.get(place).copied().unwrap_or(0);
            now.iter().enumerate().map(|(place, count)| count.saturating_sub(then(place))).collect()
        };
        QuantumHistogram {
            lent: less(&self.lent, &earlier.lent),
            borrowed: less(&self.borrowed, &earlier.borrowed),
        }
    }
    /// The value of the nearest rank: at most `percent` (0 to 100) of the TTIs were below it. 0 without any
    /// TTI.
    pub fn percentile(&self, percent: f64) -> i64 {
        let rank = (percent / 100.0 * self.ttis() as f64 + 0.999_999_9) as u64;
        let mut left = rank.clamp(1, self.ttis().max(1));
        let borrowed =
            self.borrowed.iter().enumerate().rev().map(|(place, &count)| (-(size(place) as i64), count));
        let lent = self.lent.iter().enumerate().map(|(place, &count)| (size(place) as i64, count));
        for (quantum, count) in borrowed.chain(lent) {
            if count >= left {
                return quantum;
            }
            left -= count;
        }
        0
    }
    /// The mean; 0 without any TTI.
    pub fn mean(&self) -> f64 {
        let sum = |side: &[u64]| {
            side.iter()
                .enumerate()
                .map(|(place, &count)| i128::from(size(place)) * i128::from(count))
                .sum::<i128>()
        };
        (sum(&self.lent) - sum(&self.borrowed)) as f64 / self.ttis().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_and_sizes_match() {
        let mut last = 0;
        for value in 0..20_000 {
            let place = place(value);
            assert!(place == last || place == last + 1, "{value}");
            last = place;
            assert!(size(place) <= value && value - size(place) <= value / 256, "{value}: {}", size(place));
            assert_eq!(super::place(size(place)), place);
        }
        assert_eq!(
            (size(place(511)), size(place(512)), size(place(513)), size(place(1025))),
            (511, 512, 512, 1024)
        );
    }

    #[test]
    fn without_ttis_all_values_are_zero() {
        let quanta = QuantumHistogram::default();
        assert_eq!((quanta.ttis(), quanta.percentile(50.0), quanta.mean()), (0, 0, 0.0));
    }

    proptest! {
        #[test]
        fn percentiles_match_a_sorted_list(
            before in prop::collection::vec((-500_i64..500, 1_u64..4), 0..20),
            values in prop::collection::vec((-500_i64..500, 1_u64..4), 1..60),
        ) {
            let mut quanta = QuantumHistogram::default();
            before.iter().for_each(|&(value, ttis)| quanta.add(value, ttis));
            let then = quanta.clone();
            values.iter().for_each(|&(value, ttis)| quanta.add(value, ttis));
            let quanta = quanta.since(&then);
            let mut all: Vec<i64> = values.iter().flat_map(|&(value, ttis)| (0..ttis).map(move |_| value)).collect();
            all.sort_unstable();
            prop_assert_eq!(quanta.ttis(), all.len() as u64);
            for percent in [0, 25, 50, 75, 100] {
                let rank = (percent * all.len()).div_ceil(100).max(1);
                prop_assert_eq!(quanta.percentile(percent as f64), all[rank - 1], "{}%", percent);
            }
            let mean = all.iter().sum::<i64>() as f64 / all.len() as f64;
            prop_assert!((quanta.mean() - mean).abs() < 1e-9);
        }
    }
}
