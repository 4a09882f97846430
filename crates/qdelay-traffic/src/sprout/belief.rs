//! The receiver's belief about the rate of the link.
//!
//! Source: NSDI 2013, sections 3.2 and 3.3.

use super::model::{Rates, rate};
use super::{BINS, Model, TICKS};
use alloc::sync::Arc;

/// The probabilities of rates.
#[derive(Clone, Debug)]
pub struct Belief {
    model: Arc<Model>,
    rates: Rates,
}

impl Belief {
    /// All rates are equally probable.
    pub fn new(model: Arc<Model>) -> Belief {
        Belief { model, rates: [1.0 / BINS as f64; BINS] }
    }

    /// A tick passes.
    pub fn evolve(&mut self) {
        self.rates = self.model.evolve(&self.rates);
        self.normalize();
    }

    /// The tick that has passed delivered `packets`.
    pub fn observe(&mut self, packets: f64) {
        // Relative to the likeliest rate, because likelihoods may be too small for a number.
        let possible = |(_, p): &(usize, &f64)| **p > 0.0;
        let of = |bin| self.model.log_likelihood(bin, packets);
        let bins = || self.rates.iter().enumerate().filter(possible);
        let most = bins().map(|(bin, _)| of(bin)).fold(f64::NEG_INFINITY, f64::max);
        if most == f64::NEG_INFINITY {
            // Packets came although the belief had no rate that delivers any.
            *self = Belief::new(self.model.clone());
            return;
        }
        let mut after = self.rates;
        for (bin, p) in after.iter_mut().enumerate() {
            *p *= libm::exp(self.model.log_likelihood(bin, packets) - most);
        }
        self.rates = after;
        self.normalize();
    }

    /// Packets that the link will have delivered after each tick, but for a probability of `risk`.
    pub fn forecast(&self, risk: f64) -> [u16; TICKS] {
        core::array::from_fn(|tick| self.model.forecast(&self.rates, tick + 1, risk))
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
        let sum: f64 = self.rates.iter().sum();
        self.rates.iter_mut().for_each(|p| *p /= sum);
    }
}
