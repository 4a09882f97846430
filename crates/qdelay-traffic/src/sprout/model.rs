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

/// The probabilities of the rates.
pub(super) type Rates = [f64; BINS];

/// How rates change in a tick, and tables of what they deliver in the ticks to come.
pub struct Model {
    /// Weights of going from one rate to another, by rows.
    moves: Vec<Rates>,
    /// The range of each row that is not zero.
    reach: Vec<(usize, usize)>,
    /// The logarithm of the packets expected in a tick, for each rate.
    log_mean: Rates,
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
        let moves: Vec<Rates> = (0..BINS).map(|from| row(from, sigma, escape)).collect();
        let range = |row: &Rates| {
            let first = row.iter().position(|&p| p > 0.0).unwrap_or(0);
            let last = row.iter().rposition(|&p| p > 0.0).unwrap_or(BINS - 1);
            (first, last + 1)
        };
        let reach = moves.iter().map(range).collect();
        let mut model = Model { moves, reach, log_mean, at_most: Vec::new() };
        model.at_most = model.tables();
        model
    }

    /// The weights after a tick without an observation; their sum is not one.
    pub(super) fn evolve(&self, now: &Rates) -> Rates {
        let mut after = [0.0; BINS];
        for ((row, &(first, end)), &p) in self.moves.iter().zip(&self.reach).zip(now) {
            if p > 0.0 {
                let to = after[first..end].iter_mut().zip(&row[first..end]);
                to.for_each(|(after, probability)| *after += p * probability);
            }
        }
        after
    }

    /// The logarithm of a count's likelihood at a rate, but for a constant of the count.
    pub(super) fn log_likelihood(&self, bin: usize, count: f64) -> f64 {
        let mean = rate(bin) * TICK.as_secs_f64();
        if count > 0.0 { count * self.log_mean[bin] - mean } else { -mean }
    }

    /// The most packets of which it is true, with probabilities `now`, that the link will deliver fewer within so many ticks with a
    /// probability of no more than `risk`.
    pub(super) fn forecast(&self, now: &Rates, ticks: usize, risk: f64) -> u16 {
        let first = first_row(ticks);
        let rows = &self.at_most[first..=first + TICK_MAX * ticks];
        rows.partition_point(|row| weighted(now, row) <= risk) as u16
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

    /// What `after` is worth, in the mean, a tick before.
    fn before(&self, after: &Rates) -> Rates {
        let mut before = [0.0; BINS];
        for ((row, &(first, end)), before) in self.moves.iter().zip(&self.reach).zip(&mut before) {
            *before = dot(&row[first..end], &after[first..end]);
        }
        before
    }
}

/// Four sums side by side, so that the processor need not wait for each addition.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    for (a, b) in a.chunks(4).zip(b.chunks(4)) {
        sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += a * b);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

fn weighted(now: &Rates, row: &[f32; BINS]) -> f64 {
    let mut sums = [0.0; 4];
    for (now, row) in now.chunks_exact(4).zip(row.chunks_exact(4)) {
        sums.iter_mut().zip(now).zip(row).for_each(|((sum, now), row)| *sum += now * f64::from(*row));
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// The weights with which a rate becomes each other in a tick. What Brownian motion carries out of the range is left out.
fn row(from: usize, sigma: f64, escape: f64) -> Rates {
    let tick = TICK.as_secs_f64();
    let deviation = sigma * libm::sqrt(tick);
    let half = rate(1) / 2.0;
    // Of a normally distributed number.
    let below = |distance: f64| 0.5 * libm::erfc(-distance / deviation * core::f64::consts::FRAC_1_SQRT_2);
    let mut row = [0.0; BINS];
    for (to, weight) in row.iter_mut().enumerate() {
        let distance = rate(to) - rate(from);
        if libm::fabs(distance) - half <= REACH * deviation {
            // Both bounds on the same side of zero, where the difference is exact.
            let (near, far) = (libm::fabs(distance) - half, libm::fabs(distance) + half);
            *weight = below(-near) - below(-far);
        }
    }
    if from == 0 {
        let remains = libm::exp(-escape * tick);
        row.iter_mut().for_each(|weight| *weight *= 1.0 - remains);
        row[0] *= remains / (1.0 - remains);
    }
    row
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
