//! The throughput that a greedy flow of each colour would get: the estimate by which ABE ensures that asking for low delay does
//! not increase throughput.
//!
//! Source: Hurley, Le Boudec, Thiran and Kara, "ABE: Providing a Low-Delay Service within Best Effort" (2001), equation 1, after
//! Padhye and others (1998); RFC 5348 section 3.1 has the same with its parameters named. From the delay and the loss of a colour
//! at this node follows the throughput of a flow that adapts as TCP does.
//!
//! Differences from the reference:
//! * The paper does not say how delay and loss are estimated. Here: departures, losses and delays of each colour, aged by the
//!   host at every step of its control; the loss ratio is (losses + 1/2) / (losses + departures + 1), because equation 1 has no
//!   value without any loss.
//! * The timeout (t1) is four round trips, as RFC 5348 recommends; the packet size is taken to be the same in both
//!   colours, and cancels.
//! * A packet may have a larger weight than another (the argument `weight` of [`Estimate::served`]), for a
//!   control that counts bytes.

use crate::Span;

/// The service that a packet asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Throughput: as little loss as in a plain queue, and no more delay.
    Blue,
    /// Low delay, at the price of loss.
    Green,
}

/// Statistics of one colour.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimate {
    served: f64,
    lost: f64,
    delay_s: f64,
    /// True if a packet was counted since the last ageing.
    pub is_fresh: bool,
}

impl Estimate {
    /// Counts a packet of this `weight` that left after `delay` in the queue.
    #[inline]
    pub fn served(&mut self, weight: f64, delay: Span) {
        self.served += weight;
        self.delay_s += weight * delay.as_secs_f64();
        self.is_fresh = true;
    }
    /// Counts a packet of this `weight` that was dropped or marked.
    #[inline]
    pub fn lost(&mut self, weight: f64) {
        self.lost += weight;
        self.is_fresh = true;
    }
    /// Multiplies all sums by `keep`.
    pub fn age(&mut self, keep: f64) {
        self.served *= keep;
        self.lost *= keep;
        self.delay_s *= keep;
        self.is_fresh = false;
    }

    /// Sum of the weights of served packets.
    pub fn departures(&self) -> f64 {
        self.served
    }
    /// Sum of the weights of lost packets.
    pub fn losses(&self) -> f64 {
        self.lost
    }
    /// Round trip in seconds of a flow whose round trip without this queue is `base_rtt`.
    pub fn round_trip_s(&self, base_rtt: Span) -> f64 {
        let delay_s = if self.served > 0.0 { self.delay_s / self.served } else { 0.0 };
        base_rtt.as_secs_f64() + delay_s
    }
    /// Throughput of a greedy flow in packets a second.
    pub fn throughput(&self, base_rtt: Span) -> f64 {
        let loss = (self.lost + 0.5) / (self.served + self.lost + 1.0);
        loss_throughput(self.round_trip_s(base_rtt), loss)
    }
}

/// Equation 1: packets a second of a flow with this round trip in seconds and this loss ratio, both above 0.
pub fn loss_throughput(round_trip_s: f64, loss: f64) -> f64 {
    let timeout_s = 4.0 * round_trip_s;
    let recovery = round_trip_s * libm::sqrt(2.0 * loss / 3.0);
    let timeouts = 3.0 * timeout_s * libm::sqrt(3.0 * loss / 8.0) * loss * (1.0 + 32.0 * loss * loss);
    1.0 / (recovery + timeouts)
}

/// The inverse of equation 1: the loss ratio at which a flow with this round trip gets `throughput` packets a
/// second; 1 where the flow gets more even at a loss ratio of 1.
pub(super) fn throughput_loss(round_trip_s: f64, throughput: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    // Equation 1 falls from infinity. Bisects over the square root of the loss, which dominates at small
    // losses.
    for _ in 0..52 {
        let middle = 0.5 * (low + high);
        match loss_throughput(round_trip_s, middle * middle) > throughput {
            true => low = middle,
            false => high = middle,
        }
    }
    high * high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 1% loss and 100 ms, by hand: 1 / (0.1 * 0.0816497 + 3 * 0.4 * 0.0612372 * 0.01 * 1.0032) = 112.332.
    #[test]
    fn equation_1_gives_the_value_by_hand() {
        assert!((loss_throughput(0.1, 0.01) - 112.332).abs() < 1e-3, "{}", loss_throughput(0.1, 0.01));
        let half = loss_throughput(0.2, 0.01) * 2.0;
        assert!((half - loss_throughput(0.1, 0.01)).abs() < 1e-9, "inverse in the round trip");
    }

    #[test]
    fn the_inverse_gives_the_loss_of_a_throughput() {
        for loss in [1e-6, 0.001, 0.01, 0.2, 0.9] {
            let found = throughput_loss(0.1, loss_throughput(0.1, loss));
            assert!((found / loss - 1.0).abs() < 1e-6, "{loss}: {found}");
        }
        assert_eq!(throughput_loss(0.1, 0.0), 1.0, "no loss is enough");
        assert!(throughput_loss(0.1, 1e12) < 1e-12);
    }
}
