//! TCP's throughput equation: the rate of a long-lived Reno connection at a given loss event rate.
//!
//! `X = s / (R sqrt(2 b p / 3) + t_RTO 3 sqrt(3 b p / 8) p (1 + 32 p^2))`
//!
//! `s` is the size of a packet, `R` the round trip, `p` the loss event rate, `b` the number of packets per acknowledgement, and
//! `t_RTO` the retransmission timeout: four round trips, but at least `min_rto`.
//!
//! Source: RFC 5348 section 3.1; Padhye et al., SIGCOMM 1998.

/// The equation with all parameters except `p` and `R`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equation {
    /// Size of a packet `s`, in bytes; above 0.
    pub segment_bytes: f64,
    /// Packets per acknowledgement, `b`: 1 to 2. The RFC recommends 1.
    pub ack_every: f64,
    /// Minimum retransmission timeout, s. The RFC recommends none, and mentions the one second of RFC 6298.
    pub min_rto_s: f64,
}

impl Equation {
    /// Rate, bytes/s, for a loss event rate and a round trip, s; infinite unless both are above zero.
    pub fn rate(&self, loss_event_rate: f64, rtt_s: f64) -> f64 {
        let (p, b) = (loss_event_rate, self.ack_every);
        if p <= 0.0 || rtt_s <= 0.0 {
            return f64::INFINITY;
        }
        let timeout = (4.0 * rtt_s).max(self.min_rto_s);
        let windows = rtt_s * libm::sqrt(2.0 * b * p / 3.0);
        let timeouts = timeout * 3.0 * libm::sqrt(3.0 * b * p / 8.0) * p * (1.0 + 32.0 * p * p);
        debug_assert!(windows + timeouts > 0.0, "p = {p}, b = {b}, R = {rtt_s} s");
        self.segment_bytes / (windows + timeouts)
    }

    /// Loss event rate, 10^-12 to 1, at which [`Equation::rate`] is `rate`, bytes/s. If no value in this range gives `rate`, the nearer bound.
    pub fn loss_event_rate(&self, rate: f64, rtt_s: f64) -> f64 {
        // Bisection of the ratio of the bounds, since the rate falls as p grows: 60 steps reach the precision of the type.
        let (mut low, mut high) = (1e-12, 1.0);
        for _ in 0..60 {
            let middle = libm::sqrt(low * high);
            if self.rate(middle, rtt_s) > rate { low = middle } else { high = middle }
        }
        libm::sqrt(low * high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes, 100 ms, one loss event in a hundred packets.
    #[test]
    fn the_rate_is_that_of_a_calculation_by_hand() {
        let equation = Equation::recommended(1000);
        // 0.1 * sqrt(0.02 / 3) = 0.008165; 0.4 * 3 * sqrt(0.00375) * 0.01 * 1.0032 = 0.00073721.
        let rate = equation.rate(0.01, 0.1);
        assert!((rate / 112_330.0 - 1.0).abs() < 1e-3, "{rate}");
        // A minimum timeout of 1 s makes the second term 2.5 times as large.
        let slow = Equation { min_rto_s: 1.0, ..equation }.rate(0.01, 0.1);
        assert!((slow / (1000.0 / (0.008_165 + 0.001_843)) - 1.0).abs() < 1e-3, "{slow}");
        // Without timeouts b appears under the root only.
        let halved = Equation { ack_every: 2.0, ..equation }.rate(0.01, 0.1);
        assert!((rate / halved - core::f64::consts::SQRT_2).abs() < 1e-9);
        assert_eq!(equation.rate(0.0, 0.1), f64::INFINITY);
        assert_eq!(equation.rate(0.1, 0.0), f64::INFINITY);
    }

    #[test]
    fn the_loss_event_rate_of_a_rate_gives_that_rate() {
        let equation = Equation { min_rto_s: 0.2, ..Equation::recommended(1460) };
        for rtt in [0.000_1, 0.01, 0.1, 3.0] {
            for p in [1e-9, 1e-4, 0.003, 0.05, 0.5, 1.0] {
                let back = equation.loss_event_rate(equation.rate(p, rtt), rtt);
                assert!((back / p - 1.0).abs() < 1e-9, "{rtt} {p} {back}");
            }
            assert!(equation.loss_event_rate(0.0, rtt) > 0.999_999);
            assert!(equation.loss_event_rate(1e30, rtt) < 1.000_1e-12);
        }
    }
}
