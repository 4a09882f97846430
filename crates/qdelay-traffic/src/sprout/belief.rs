//! The receiver's belief about the rate of the link.
//!
//! Source: NSDI 2013, sections 3.2 and 3.3.

use super::model::{Rates, rate, sum};
use super::{BINS, Model, TICK, TICKS};
use alloc::sync::Arc;

/// All rates are equally probable.
const EVEN: Rates = [1.0 / BINS as f64; BINS];
/// Weights of a smaller sum have lost digits.
const DISTINCT: f64 = 1e-200;

/// The probabilities of rates.
#[derive(Clone, Debug)]
pub struct Belief {
    model: Arc<Model>,
    rates: Rates,
}

impl Belief {
    /// All rates are equally probable.
    pub fn new(model: Arc<Model>) -> Belief {
        Belief { model, rates: EVEN }
    }

    /// A tick passes.
    pub fn evolve(&mut self) {
        self.rates = self.model.evolve(&self.rates);
        self.normalize();
    }

    /// The tick that has passed delivered `packets`.
    pub fn observe(&mut self, packets: f64) {
        let weighed = |likelihood: &Rates| {
            let mut after = self.rates;
            after.iter_mut().zip(likelihood).for_each(|(p, likelihood)| *p *= likelihood);
            after
        };
        let known = self.model.known_likelihood(packets).map(weighed);
        if let Some(after) = known.filter(|after| sum(after) > DISTINCT) {
            self.rates = after;
        } else if let Some(likelihood) = self.model.likelihood(packets, &self.rates) {
            self.rates = weighed(&likelihood);
        } else {
            // Packets came although the belief had no rate that delivers any.
            self.rates = EVEN;
        }
        self.normalize();
    }

    /// Packets that the link will have delivered after each tick, but for a probability of `risk`.
    pub fn forecast(&self, risk: f64) -> [u16; TICKS] {
        let mut forecast = [0; TICKS];
        let mut guess = self.mean() * TICK.as_secs_f64();
        for (passed, count) in forecast.iter_mut().enumerate() {
            *count = self.model.forecast(&self.rates, passed + 1, risk, guess as usize);
            guess = f64::from(*count) * (passed + 2) as f64 / (passed + 1) as f64;
        }
        forecast
    }

    /// The probability of each rate, the lowest first.
    pub fn rates(&self) -> &[f64; BINS] {
        &self.rates
    }

    /// The expected rate, packets a second.
    pub fn mean(&self) -> f64 {
        self.rates.iter().enumerate().map(|(bin, p)| p * rate(bin)).sum()
    }

    fn normalize(&mut self) {
        let share = 1.0 / sum(&self.rates);
        self.rates.iter_mut().for_each(|p| *p *= share);
    }
}
