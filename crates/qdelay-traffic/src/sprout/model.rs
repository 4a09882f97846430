//! The model of a link: the rate follows Brownian motion, and packets are delivered as a Poisson process of that rate.
//!
//! Source: NSDI 2013, sections 3.1 to 3.3.

use super::{BINS, RATE_MAX, TICK, TICKS};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// Packets that the highest rate delivers in a tick; a forecast has at most this many per tick.
pub(super) const TICK_MAX: usize = 20;
/// Largest forecast, packets.
const COUNT_MAX: usize = TICK_MAX * TICKS;
/// Largest Poisson count of a tick that is considered; larger ones have probabilities below 1e-20 at the highest rate.
const POISSON_MAX: usize = 80;
/// Largest change of the rate in a tick that is considered, in standard deviations.
const REACH: f64 = 8.0;
/// Number of counts whose likelihoods are in a table: up to twice the mean of the highest rate.
const KNOWN_COUNTS: usize = 2 * TICK_MAX + 1;
/// Number of sums computed side by side, so that additions do not wait for each other.
const LANES: usize = 16;

/// One number per rate, such as its probability.
pub(super) type Rates = [f64; BINS];

/// Weights of rate changes per tick, and tables of deliveries over the next ticks.
pub struct Model {
    /// Weight of a change of the rate by 0, 1, ... bins, up or down.
    moves: Vec<f64>,
    /// Probability that an outage lasts for another tick.
    remains: f64,
    /// Logarithm of the mean number of packets per tick, by rate.
    log_mean: Rates,
    /// Likelihood of each count at each rate, relative to the likeliest rate.
    likelihoods: Vec<Rates>,
    /// Probability that at most `count` packets are delivered within a horizon: one row per horizon and count, by current rate.
    at_most: Vec<[f32; BINS]>,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("rows", &self.at_most.len()).finish_non_exhaustive()
    }
}

/// Rate of a bin, packets/s.
pub(super) fn rate(bin: usize) -> f64 {
    RATE_MAX * bin as f64 / (BINS - 1) as f64
}

/// Index of the first row of a horizon of `ticks` ticks, whose rows are for counts of 0 to `20 * ticks`.
const fn first_row(ticks: usize) -> usize {
    let before = ticks - 1;
    TICK_MAX * before * (before + 1) / 2 + before
}

impl Model {
    /// Computes the tables. `sigma`: noise power of the rate's Brownian motion, packets/s per root second; `escape`: rate at which outages end,
    /// 1/s.
    pub fn new(sigma: f64, escape: f64) -> Model {
        let mut log_mean = [0.0; BINS];
        for (bin, log_mean) in log_mean.iter_mut().enumerate() {
            *log_mean = libm::log(rate(bin) * TICK.as_secs_f64());
        }
        let remains = libm::exp(-escape * TICK.as_secs_f64());
        let mut model =
            Model { moves: moves(sigma), remains, log_mean, likelihoods: Vec::new(), at_most: Vec::new() };
        let every = [1.0; BINS];
        model.likelihoods =
            (0..KNOWN_COUNTS).filter_map(|count| model.likelihood(count as f64, &every)).collect();
        model.at_most = model.tables();
        model
    }

    /// Weights of the rates after a tick without an observation, not normalized.
    pub(super) fn evolve(&self, now: &Rates) -> Rates {
        let outage = now[0];
        let mut from = *now;
        from[0] *= 1.0 - self.remains;
        let mut after = self.spread(&from);
        after[0] += (2.0 * self.remains - 1.0) * outage * self.moves[0];
        after
    }

    /// Expectation of `after`, a number per rate, one tick earlier: the transpose of [`Model::evolve`].
    fn before(&self, after: &Rates) -> Rates {
        let mut before = self.spread(after);
        before[0] *= 1.0 - self.remains;
        before[0] += (2.0 * self.remains - 1.0) * after[0] * self.moves[0];
        before
    }

    /// Distributes each weight over the rates by their distance, symmetrically. Weight that leaves the range of rates is dropped.
    fn spread(&self, rates: &Rates) -> Rates {
        let mut around = [0.0; 3 * BINS];
        around[BINS..2 * BINS].copy_from_slice(rates);
        let mut spread = [0.0; BINS];
        for (block, spread) in spread.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let first = BINS + block * LANES;
            let lanes = |begin: usize| around[begin..].first_chunk::<LANES>().unwrap_or(&[0.0; LANES]);
            let mut sums = [0.0; LANES];
            add(&mut sums, self.moves[0], lanes(first), &[0.0; LANES]);
            for (distance, weight) in self.moves.iter().enumerate().skip(1) {
                add(&mut sums, *weight, lanes(first - distance), lanes(first + distance));
            }
            *spread = sums;
        }
        spread
    }

    /// Likelihood of a count at each rate, relative to the likeliest rate; `None` unless the count is a whole number in the table.
    pub(super) fn known_likelihood(&self, count: f64) -> Option<&Rates> {
        let known = self.likelihoods.get(count as usize)?;
        (libm::floor(count) == count).then_some(known)
    }

    /// Likelihood of a count at each rate, relative to the likeliest rate with a positive weight in `possible`; `None` if the count is
    /// impossible at all of these.
    pub(super) fn likelihood(&self, count: f64, possible: &Rates) -> Option<Rates> {
        let of = |bin| self.log_likelihood(bin, count);
        let bins = (0..BINS).filter(|bin| possible[*bin] > 0.0);
        // Relative to the likeliest rate, because the likelihoods themselves may underflow.
        let most = bins.map(of).fold(f64::NEG_INFINITY, f64::max);
        if most == f64::NEG_INFINITY {
            return None;
        }
        let mut all = [0.0; BINS];
        for (bin, likelihood) in all.iter_mut().enumerate() {
            *likelihood = libm::exp(of(bin) - most);
        }
        Some(all)
    }

    /// Logarithm of a count's likelihood at a rate, without the term that depends on the count only.
    fn log_likelihood(&self, bin: usize, count: f64) -> f64 {
        let mean = rate(bin) * TICK.as_secs_f64();
        if count > 0.0 { count * self.log_mean[bin] - mean } else { -mean }
    }

    /// Largest number of packets such that the link delivers fewer within `ticks` ticks with a probability of at most `risk`. `now`: probabilities
    /// of the rates; `guess`: where the search begins.
    pub(super) fn forecast(&self, now: &Rates, ticks: usize, risk: f64, guess: usize) -> u16 {
        let first = first_row(ticks);
        let rows = &self.at_most[first..=first + TICK_MAX * ticks];
        let is_safe = |count: usize| rows.get(count).is_some_and(|row| weighted(now, row) <= risk);
        // The probability grows with the count, so the search moves in one direction.
        let guess = guess.min(rows.len() - 1);
        let (mut low, mut high, mut step) = (guess, guess, 1);
        if is_safe(guess) {
            loop {
                (low, high, step) = (high + 1, (high + step).min(rows.len()), step * 2);
                if !is_safe(high) {
                    break;
                }
            }
        } else {
            while low > 0 {
                (low, high, step) = (low.saturating_sub(step), low, step * 2);
                if is_safe(low) {
                    low += 1;
                    break;
                }
            }
        }
        (low + rows[low..high].partition_point(|row| weighted(now, row) <= risk)) as u16
    }

    /// Computes the table of forecasts: the distribution of the count of each tick, after the rate has moved for the ticks before, convolved
    /// tick by tick.
    fn tables(&self) -> Vec<[f32; BINS]> {
        // Weight of each count in the tick, by current rate, and the sum over all counts.
        let (mut weights, mut all_weights) = (poisson(), [1.0; BINS]);
        let mut all = Vec::with_capacity(first_row(TICKS + 1));
        // Probability of each total count, by current rate; before the first tick the count is 0.
        let mut counts = vec![[0.0; BINS]; COUNT_MAX + 1];
        counts[0] = [1.0; BINS];
        for ticks in 1..=TICKS {
            for count in (0..=COUNT_MAX).rev() {
                let mut sum = [0.0; BINS];
                for (weight, before) in weights.iter().zip(counts[..=count].iter().rev()) {
                    for bin in 0..BINS {
                        sum[bin] += weight[bin] * before[bin];
                    }
                }
                sum.iter_mut().zip(&all_weights).for_each(|(sum, all)| *sum /= all);
                // In place from the highest count down, so that lower counts still hold the values of the tick before.
                counts[count] = sum;
            }
            let mut sum = [0.0; BINS];
            for count in &counts[..=TICK_MAX * ticks] {
                sum.iter_mut().zip(count).for_each(|(sum, p)| *sum += p);
                all.push(sum.map(|sum| sum as f32));
            }
            weights.iter_mut().for_each(|weight| *weight = self.before(weight));
            all_weights = self.before(&all_weights);
        }
        all
    }
}

/// Adds `weight * (below + above)` to the sums. A loop by index, because iterator adapters over a few numbers are not always inlined.
#[inline(always)]
fn add(sums: &mut [f64; LANES], weight: f64, below: &[f64; LANES], above: &[f64; LANES]) {
    for lane in 0..LANES {
        sums[lane] += weight * (below[lane] + above[lane]);
    }
}

/// Sum of the weights.
pub(super) fn sum(rates: &Rates) -> f64 {
    let mut sums = [0.0; LANES];
    for rates in rates.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            sums[lane] += rates[lane];
        }
    }
    sums.iter().sum()
}

/// Scalar product of weights and a row of the table, as four sums side by side.
fn weighted(now: &Rates, row: &[f32; BINS]) -> f64 {
    let mut sums = [0.0; 4];
    for (now, row) in now.as_chunks::<4>().0.iter().zip(row.as_chunks::<4>().0) {
        for lane in 0..4 {
            sums[lane] += now[lane] * f64::from(row[lane]);
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Weights with which Brownian motion changes a rate by 0, 1, ... bins in a tick, up to [`REACH`].
fn moves(sigma: f64) -> Vec<f64> {
    let deviation = sigma * libm::sqrt(TICK.as_secs_f64());
    let half = rate(1) / 2.0;
    // Cumulative distribution function of the normal distribution.
    let below = |distance: f64| 0.5 * libm::erfc(-distance / deviation * core::f64::consts::FRAC_1_SQRT_2);
    let reached = (0..BINS).map(rate).take_while(|distance| distance - half <= REACH * deviation);
    // Both bounds are on the same side of zero, where the difference is accurate.
    reached.map(|distance| below(half - distance) - below(-half - distance)).collect()
}

/// Poisson probability of each count in a tick, by rate.
fn poisson() -> Vec<Rates> {
    let mut all = vec![[0.0; BINS]; POISSON_MAX + 1];
    for bin in 0..BINS {
        let mean = rate(bin) * TICK.as_secs_f64();
        let mut probability = libm::exp(-mean);
        for (count, row) in all.iter_mut().enumerate() {
            row[bin] = probability;
            probability *= mean / (count + 1) as f64;
        }
    }
    all
}
