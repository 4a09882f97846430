//! The model of a link: its rate wanders, and delivers packets as a Poisson process does.
//!
//! Source: NSDI 2013, sections 3.1 to 3.3.

use super::{BINS, RATE_MAX, TICK, TICKS};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// Packets that the highest rate delivers in a tick: a forecast has at most so many for each of its ticks.
pub(super) const TICK_MAX: usize = 20;
/// The largest forecast.
const COUNT_MAX: usize = TICK_MAX * TICKS;
/// Poisson counts of a tick beyond this one have probabilities below 1e-20 at the highest rate.
const POISSON_MAX: usize = 80;
/// Brownian motion goes no farther than this in a tick, in standard deviations.
const REACH: f64 = 8.0;
/// Counts of a tick whose likelihoods are in a table: twice what the highest rate delivers in the mean.
const KNOWN_COUNTS: usize = 2 * TICK_MAX + 1;
/// Numbers that are worked on together, so that the processor need not wait for each.
const LANES: usize = 16;

/// The probabilities of the rates.
pub(super) type Rates = [f64; BINS];

/// How rates change in a tick, and tables of what they deliver in the ticks to come.
pub struct Model {
    /// The weight of a change by so many bins, up or down.
    moves: Vec<f64>,
    /// The probability that an outage remains for a tick.
    remains: f64,
    /// The logarithm of the packets expected in a tick, for each rate.
    log_mean: Rates,
    /// The likelihood of each count at each rate, over that of the likeliest rate.
    likelihoods: Vec<Rates>,
    /// For each horizon and each count, by the rate now: the probability that no more packets than the count are delivered.
    at_most: Vec<[f32; BINS]>,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("rows", &self.at_most.len()).finish_non_exhaustive()
    }
}

/// Packets a second of a bin.
pub(super) fn rate(bin: usize) -> f64 {
    RATE_MAX * bin as f64 / (BINS - 1) as f64
}

/// Where the table of a horizon begins: that of `h` ticks has counts of 0 to `20 h`.
const fn first_row(ticks: usize) -> usize {
    let before = ticks - 1;
    TICK_MAX * before * (before + 1) / 2 + before
}

impl Model {
    /// `sigma` is the noise power of the rate's Brownian motion, in packets a second and root second; outages end at the rate of
    /// `escape` a second.
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

    /// The weights after a tick without an observation; their sum is not one.
    pub(super) fn evolve(&self, now: &Rates) -> Rates {
        let outage = now[0];
        let mut from = *now;
        from[0] *= 1.0 - self.remains;
        let mut after = self.spread(&from);
        after[0] += (2.0 * self.remains - 1.0) * outage * self.moves[0];
        after
    }

    /// What `after` is worth, in the mean, a tick before.
    fn before(&self, after: &Rates) -> Rates {
        let mut before = self.spread(after);
        before[0] *= 1.0 - self.remains;
        before[0] += (2.0 * self.remains - 1.0) * after[0] * self.moves[0];
        before
    }

    /// Each weight is shared out by distance, the same up and down. What Brownian motion carries out of the range is left out.
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

    /// The likelihood of a count at each rate, over that of the likeliest rate, where the count is a whole number of the table.
    pub(super) fn known_likelihood(&self, count: f64) -> Option<&Rates> {
        let known = self.likelihoods.get(count as usize)?;
        (libm::floor(count) == count).then_some(known)
    }

    /// The likelihood of a count at each rate, over that of the likeliest of the rates that are `possible`; `None` where it is possible at
    /// none of these.
    pub(super) fn likelihood(&self, count: f64, possible: &Rates) -> Option<Rates> {
        let of = |bin| self.log_likelihood(bin, count);
        let bins = (0..BINS).filter(|bin| possible[*bin] > 0.0);
        // Relative to the likeliest rate, because likelihoods may be too small for a number.
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

    /// The logarithm of a count's likelihood at a rate, but for a constant of the count.
    fn log_likelihood(&self, bin: usize, count: f64) -> f64 {
        let mean = rate(bin) * TICK.as_secs_f64();
        if count > 0.0 { count * self.log_mean[bin] - mean } else { -mean }
    }

    /// The most packets of which it is true, with probabilities `now`, that the link will deliver fewer within so many ticks with a
    /// probability of no more than `risk`. It is looked for around `guess`.
    pub(super) fn forecast(&self, now: &Rates, ticks: usize, risk: f64, guess: usize) -> u16 {
        let first = first_row(ticks);
        let rows = &self.at_most[first..=first + TICK_MAX * ticks];
        let is_safe = |count: usize| rows.get(count).is_some_and(|row| weighted(now, row) <= risk);
        // What is safe for a count is so for those below it.
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

    /// The tables: the distribution of each tick's count, of a rate that has moved for the ticks before, convolved tick by tick.
    fn tables(&self) -> Vec<[f32; BINS]> {
        // The weight of each count in the tick, by the rate now, and the weight of all.
        let (mut weights, mut all_weights) = (poisson(), [1.0; BINS]);
        let mut all = Vec::with_capacity(first_row(TICKS + 1));
        // The probability of each count, by the rate now; of no ticks: nothing is delivered.
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
                // Those below it are still of the tick before.
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

/// Loops by index, because adapters of iterators over a few numbers are not always inlined.
#[inline(always)]
fn add(sums: &mut [f64; LANES], weight: f64, below: &[f64; LANES], above: &[f64; LANES]) {
    for lane in 0..LANES {
        sums[lane] += weight * (below[lane] + above[lane]);
    }
}

/// The sum of the weights.
pub(super) fn sum(rates: &Rates) -> f64 {
    let mut sums = [0.0; LANES];
    for rates in rates.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            sums[lane] += rates[lane];
        }
    }
    sums.iter().sum()
}

/// Four sums side by side.
fn weighted(now: &Rates, row: &[f32; BINS]) -> f64 {
    let mut sums = [0.0; 4];
    for (now, row) in now.as_chunks::<4>().0.iter().zip(row.as_chunks::<4>().0) {
        for lane in 0..4 {
            sums[lane] += now[lane] * f64::from(row[lane]);
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// The weight with which Brownian motion changes a rate by so many bins in a tick, as far as it reaches.
fn moves(sigma: f64) -> Vec<f64> {
    let deviation = sigma * libm::sqrt(TICK.as_secs_f64());
    let half = rate(1) / 2.0;
    // Of a normally distributed number.
    let below = |distance: f64| 0.5 * libm::erfc(-distance / deviation * core::f64::consts::FRAC_1_SQRT_2);
    let reached = (0..BINS).map(rate).take_while(|distance| distance - half <= REACH * deviation);
    // Both bounds on the same side of zero, where the difference is exact.
    reached.map(|distance| below(half - distance) - below(-half - distance)).collect()
}

/// The probability of each count in a tick, by rate.
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
