//! The green bias of ABE: how often a packet that asked for low delay goes first, such that asking does not increase
//! throughput.
//!
//! Source: Hurley, Le Boudec, Thiran and Kara, "ABE: Providing a Low-Delay Service within Best Effort" (2001), the section on the
//! control loop. Every `period` (T) the throughput that a greedy flow of each colour would have is estimated (`greedy.rs`), and
//! the bias g moves by `alpha` towards 1/(1 + (gamma theta_green / theta_blue)^k).
//!
//! Parameters:
//! * `period`: between two updates (T, 0.5 s).
//! * `alpha`: share of the distance to the goal that an update covers (1.1). The paper asks for a value within 0 and 1 and used
//!   1.1 in its simulations; here g stays within 0 and 1, whatever alpha is.
//! * `k`: slope of the response of g (2), and `gamma`: intended advantage of blue (1.1). The paper publishes neither; these are
//!   ours.
//! * `base_rtt`: round trip without this queue's delay, the same for every flow (20 ms). A small value favours
//!   blue.
//! * `weight`: of the last period in the estimates (0.1, ours).
//!
//! Differences from the reference:
//! * Estimates are multiplied by `1 - weight` at every update.
//! * If one of the colours had no packet since the last update, g stays.

use super::greedy::{Colour, Estimate};
use crate::{Span, Time};

/// The parameters of the control loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GreenBiasParameters {
    /// Time between two updates (T); more than zero.
    pub period: Span,
    /// Share of the distance to the goal that an update covers, above 0, at most 2.
    pub alpha: f64,
    /// Slope (K), above 0.
    pub k: f64,
    /// Intended advantage of blue, above 0.
    pub gamma: f64,
    /// Round trip without this queue's delay, more than zero.
    pub base_rtt: Span,
    /// Weight of the last period in the estimates, above 0, at most 1.
    pub weight: f64,
}

impl GreenBiasParameters {
    /// The round trip of the ABE paper's simulations.
    pub const BASE_RTT: Span = Span::from_millis(20);
}

/// The control loop.
#[derive(Clone, Debug)]
pub struct GreenBias {
    parameters: GreenBiasParameters,
    g: f64,
    blue: Estimate,
    green: Estimate,
    next: Time,
}

impl GreenBias {
    /// A control loop with g = 1, which stays until the first update.
    pub fn new(parameters: GreenBiasParameters) -> GreenBias {
        let (blue, green) = Default::default();
        GreenBias { parameters, g: 1.0, blue, green, next: Time::ZERO + parameters.period }
    }

    /// The probability, 0 to 1, that green goes first where both can wait.
    pub fn g(&self) -> f64 {
        self.g
    }

    /// Runs the updates that are due up to `now`. Must be called before any event at `now` is reported.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        if now >= self.next {
            self.update(now);
        }
    }

    /// Counts a packet that left after `delay` in the queue.
    #[inline]
    pub fn served(&mut self, colour: Colour, delay: Span) {
        self.estimate(colour).served(1.0, delay);
    }

    /// Counts a packet that was dropped or marked.
    #[inline]
    pub fn lost(&mut self, colour: Colour) {
        self.estimate(colour).lost(1.0);
    }

    fn estimate(&mut self, colour: Colour) -> &mut Estimate {
        match colour {
            Colour::Blue => &mut self.blue,
            Colour::Green => &mut self.green,
        }
    }

    /// One update. Periods in which nothing happened change nothing and are skipped.
    fn update(&mut self, now: Time) {
        let GreenBiasParameters { period, alpha, k, gamma, base_rtt, weight } = self.parameters;
        let over = now.since(self.next).as_nanos() / period.as_nanos().max(1);
        self.next += period * over.saturating_add(1);
        if !(self.blue.is_fresh && self.green.is_fresh) {
            return;
        }
        let ratio = gamma * self.green.throughput(base_rtt) / self.blue.throughput(base_rtt);
        self.g = moved(self.g, ratio, alpha, k);
        self.blue.age(1.0 - weight);
        self.green.age(1.0 - weight);
    }
}

/// Equation 2: g after one update, where `ratio` is gamma times green's throughput over blue's.
fn moved(g: f64, ratio: f64, alpha: f64, k: f64) -> f64 {
    let aim = 1.0 / (1.0 + libm::pow(ratio, k));
    ((1.0 - alpha) * g + alpha * aim).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }
    /// A period of 100 packets of each colour, with delays in ms and losses.
    fn feed(bias: &mut GreenBias, blue: (u64, u64), green: (u64, u64)) {
        for (colour, (delay, losses)) in [(Colour::Blue, blue), (Colour::Green, green)] {
            (0..100).for_each(|_| bias.served(colour, Span::from_millis(delay)));
            (0..losses).for_each(|_| bias.lost(colour));
        }
    }

    #[test]
    fn equal_throughputs_aim_at_one_half_and_the_aim_is_symmetric() {
        assert_eq!(moved(0.3, 1.0, 1.0, 2.0), 0.5);
        for (factor, k) in [(1.5, 2.0), (3.0, 0.7), (10.0, 5.0)] {
            let (up, down) = (moved(0.5, 1.0 / factor, 1.0, k), moved(0.5, factor, 1.0, k));
            assert!((up + down - 1.0).abs() < 1e-12 && up > 0.5);
        }
    }

    #[test]
    fn an_alpha_above_one_stays_within_bounds() {
        assert_eq!(moved(1.0, 1e9, 1.1, 2.0), 0.0);
        assert_eq!(moved(0.0, 1e-9, 1.1, 2.0), 1.0);
        assert_eq!(moved(0.0, f64::INFINITY, 1.1, 2.0), 0.0);
    }

    #[test]
    fn the_bias_falls_while_green_gains_and_recovers() {
        let mut bias = GreenBias::new(GreenBiasParameters::default());
        assert_eq!(bias.g(), 1.0);
        for period in 0..20 {
            feed(&mut bias, (80, 3), (5, 3));
            bias.advance(at(500 * (period + 1)));
        }
        assert!(bias.g() < 0.2, "a quarter of the round trip at the same loss: {}", bias.g());
        for period in 20..60 {
            feed(&mut bias, (80, 1), (20, 30));
            bias.advance(at(500 * (period + 1)));
        }
        assert!(bias.g() > 0.8, "{}", bias.g());
    }

    #[test]
    fn the_bias_stays_without_packets_of_both_colours() {
        let mut bias = GreenBias::new(GreenBiasParameters::default());
        bias.advance(at(499));
        bias.served(Colour::Blue, Span::from_millis(9));
        bias.advance(at(500));
        bias.advance(at(86_400_000));
        assert_eq!(bias.g(), 1.0);
        bias.served(Colour::Green, Span::from_millis(1));
        bias.advance(at(86_400_499));
        assert_eq!(bias.g(), 1.0, "not yet");
        bias.advance(at(86_400_500));
        assert!(bias.g() < 1.0);
    }
}
