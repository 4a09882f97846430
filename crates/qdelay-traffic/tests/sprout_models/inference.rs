//! Model of Sprout's inference (NSDI 2013, section 3) without tables and truncation: every rate may change to every other rate, the normal
//! distribution is integrated numerically, and a forecast is computed from the rates one by one.

const BINS: usize = 256;
const TICK: f64 = 0.02;

fn rate(bin: usize) -> f64 {
    bin as f64 * 1000.0 / 255.0
}

/// The standard normal density integrated from `from` to `to` by Simpson's rule.
fn normal(from: f64, to: f64) -> f64 {
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let steps = 200;
    let width = (to - from) / f64::from(steps);
    let weight = |i: i32| {
        if i == 0 || i == steps {
            1.0
        } else if i % 2 == 1 {
            4.0
        } else {
            2.0
        }
    };
    (0..=steps).map(|i| weight(i) * density(from + f64::from(i) * width)).sum::<f64>() * width / 3.0
}

/// Poisson probability of `count`, as a product of its factors.
fn poisson(mean: f64, count: u32) -> f64 {
    if mean == 0.0 {
        return if count == 0 { 1.0 } else { 0.0 };
    }
    let log = (1..=count).map(|factor| (mean / f64::from(factor)).ln()).sum::<f64>() - mean;
    log.exp()
}

pub struct Model {
    /// `moves[to][from]`.
    moves: Vec<Vec<f64>>,
    pub belief: Vec<f64>,
}

impl Model {
    pub fn new(sigma: f64, escape: f64) -> Model {
        let deviation = sigma * TICK.sqrt();
        let half = 1000.0 / 255.0 / 2.0;
        let mut moves = vec![vec![0.0; BINS]; BINS];
        for from in 0..BINS {
            let mass: Vec<f64> = (0..BINS)
                .map(|to| {
                    let distance = rate(to) - rate(from);
                    if distance.abs() > 8.0 * deviation + half {
                        return 0.0;
                    }
                    normal((distance - half) / deviation, (distance + half) / deviation)
                })
                .collect();
            let remain = (-escape * TICK).exp();
            for (to, row) in moves.iter_mut().enumerate() {
                row[from] = mass[to]
                    * match (from, to) {
                        (0, 0) => remain,
                        (0, _) => 1.0 - remain,
                        _ => 1.0,
                    };
            }
        }
        Model { moves, belief: vec![1.0 / BINS as f64; BINS] }
    }

    fn moved(&self, from: &[f64]) -> Vec<f64> {
        self.moves.iter().map(|row| row.iter().zip(from).map(|(p, from)| p * from).sum()).collect()
    }

    pub fn tick(&mut self, observed: Option<u32>) {
        self.belief = self.moved(&self.belief);
        normalize(&mut self.belief);
        if let Some(count) = observed {
            for bin in 0..BINS {
                self.belief[bin] *= poisson(rate(bin) * TICK, count);
            }
            normalize(&mut self.belief);
        }
    }

    /// Probabilities that at most 0, 1, ... packets are delivered by the end of each of the next `ticks` ticks, for each current rate. Counts
    /// of ticks are added as independent numbers.
    pub fn at_most(&self, ticks: usize) -> Vec<Vec<Vec<f64>>> {
        let poisson: Vec<Vec<f64>> =
            (0..=60).map(|count| (0..BINS).map(|bin| poisson(rate(bin) * TICK, count)).collect()).collect();
        let from = |start: usize| {
            let mut rates = vec![0.0; BINS];
            rates[start] = 1.0;
            let mut sum = vec![1.0];
            let mut found = Vec::new();
            for _ in 0..ticks {
                let tick: Vec<f64> = poisson
                    .iter()
                    .map(|row| row.iter().zip(&rates).map(|(p, rate)| p * rate).sum())
                    .collect();
                let mut next = vec![0.0; sum.len() + tick.len() - 1];
                for (i, p) in sum.iter().enumerate() {
                    for (j, q) in tick.iter().enumerate() {
                        next[i + j] += p * q;
                    }
                }
                sum = next;
                let mut all = 0.0;
                found.push(
                    (0..=200)
                        .map(|n| {
                            all += sum.get(n).copied().unwrap_or(0.0);
                            all
                        })
                        .collect(),
                );
                rates = self.moved(&rates);
                normalize(&mut rates);
            }
            found
        };
        (0..BINS).map(from).collect()
    }
}

fn normalize(weights: &mut [f64]) {
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
}
