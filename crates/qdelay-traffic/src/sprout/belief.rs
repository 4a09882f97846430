//! The receiver's belief about the rate of the link.
//!
//! Source: NSDI 2013, sections 3.2 and 3.3.

use super::model::{Rates, rate, sum};
use super::{BINS, Model, TICK, TICKS};
use alloc::sync::Arc;

/// The uniform distribution over all rates.
const EVEN: Rates = [1.0 / BINS as f64; BINS];
/// Smallest sum of weights that is normalized as it is; below, the weights have lost precision.
const DISTINCT: f64 = 1e-200;

/// Probability distribution over the rates.
#[derive(Clone, Debug)]
pub struct Belief {
    model: Arc<Model>,
    rates: Rates,
}

impl Belief {
    /// Initial belief: all rates are equally probable.
    pub fn new(model: Arc<Model>) -> Belief {
        Belief { model, rates: EVEN }
    }

    /// Advances the belief by one tick without an observation.
    pub fn evolve(&mut self) {
        self.rates = self.model.evolve(&self.rates);
        self.normalize();
    }

    /// Weighs the belief with the number of packets delivered in the last tick.
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
            // Packets arrived although every rate with a positive probability delivers none: the belief restarts.
            self.rates = EVEN;
        }
        self.normalize();
    }

    /// Cautious forecast: packets that the link delivers within 1 to 8 ticks with a probability of 1 - `risk`.
    pub fn forecast(&self, risk: f64) -> [u16; TICKS] {
        let mut forecast = [0; TICKS];
        let mut guess = self.mean() * TICK.as_secs_f64();
        for (passed, count) in forecast.iter_mut().enumerate() {
            *count = self.model.forecast(&self.rates, passed + 1, risk, guess as usize);
            guess = f64::from(*count) * (passed + 2) as f64 / (passed + 1) as f64;
        }
        forecast
    }

    /// Probability of each rate, the lowest first.
    pub fn rates(&self) -> &[f64; BINS] {
        &self.rates
    }

    /// Expected rate, packets/s.
    pub fn mean(&self) -> f64 {
        self.rates.iter().enumerate().map(|(bin, p)| p * rate(bin)).sum()
    }

    fn normalize(&mut self) {
        let share = 1.0 / sum(&self.rates);
        self.rates.iter_mut().for_each(|p| *p *= share);
    }
}
