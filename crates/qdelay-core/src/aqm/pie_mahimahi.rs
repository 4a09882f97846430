//! PIE as implemented in the link emulator mahimahi, for comparison with results measured there.
//!
//! Source: mahimahi `pie_packet_queue.cc` (after an early draft of RFC 8033 and Linux 4.4).
//!
//! Parameters: `target` and `max_burst` in whole milliseconds (mahimahi's `qdelay_ref` and `max_burst`), `tupdate`
//! (fixed at 30 ms in mahimahi), `alpha` and `beta` (0.125 and 1.25, per *millisecond*), `mtu`.
//!
//! Differences from RFC 8033, all of them mahimahi's:
//! * `alpha` and `beta` multiply milliseconds, so every step is 1000 times as large; a table divides it by 128
//!   below a probability of 1%, by 32 below 10% and by 16 above.
//! * The probability is recomputed when a packet arrives or leaves, once for each period that has passed since.
//! * The delay is the backlog over the departure rate, in whole milliseconds of whole bytes per millisecond, and the
//!   weight of a measurement is 1/8.
//! * No derandomisation, no ECN, no cap on a step. The burst allowance starts at zero.
//!
//! Differences from the reference:
//! * mahimahi counts 4 bytes of tunnel header per packet and compares with 1504; here IP bytes are compared with
//!   `mtu` (1500).
//! * Random numbers come from the node's stream.

use super::{PieParameters, Verdict, millis};
use crate::{Random, Time};

/// Bytes of one measurement of the departure rate.
const MEASUREMENT_BYTES: u64 = 16_384;

/// The law of mahimahi's PIE. All times are in whole milliseconds.
#[derive(Clone, Debug)]
pub struct MahimahiPie {
    target: u64,
    max_burst: u64,
    tupdate: u64,
    alpha: f64,
    beta: f64,
    mtu: u64,
    state: State,
    last_update: u64,
    /// Start of the measurement and the bytes since then; `None` outside a measurement.
    measuring: Option<(u64, u64)>,
}

/// The variables that an update changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct State {
    probability: f64,
    burst: u64,
    delay: u64,
    delay_old: u64,
    /// Departure rate in bytes per millisecond; 0 before the first measurement.
    rate: u64,
}

impl MahimahiPie {
    /// The law at rest at the start of a run. Times are rounded down to milliseconds.
    pub fn new(parameters: PieParameters) -> MahimahiPie {
        MahimahiPie {
            target: parameters.target.as_millis(),
            max_burst: parameters.max_burst.as_millis(),
            tupdate: parameters.tupdate.as_millis().max(1),
            alpha: parameters.alpha,
            beta: parameters.beta,
            mtu: parameters.mtu,
            state: State::default(),
            last_update: 0,
            measuring: None,
        }
    }

    /// The verdict on an arrival at a queue of `backlog_bytes`. [`MahimahiPie::run_timer`] must be called
    /// first.
    #[inline]
    pub fn admit(&mut self, backlog_bytes: u64, random: &mut Random) -> Verdict {
        let State { probability, burst, delay_old, .. } = self.state;
        let is_calm = delay_old < self.target / 2 && probability < 0.2;
        if burst > 0 || is_calm || backlog_bytes < 2 * self.mtu || random.unit() >= probability {
            Verdict::Forward
        } else {
            Verdict::Drop
        }
    }

    /// Tells the law that a packet of `packet_bytes` left, with `backlog_bytes` queued behind it.
    #[inline]
    pub fn departed(&mut self, now: Time, packet_bytes: u32, backlog_bytes: u64) {
        let now = millis(now);
        if backlog_bytes >= MEASUREMENT_BYTES && self.measuring.is_none() {
            self.measuring = Some((now, 0));
        }
        if let Some((since, bytes)) = &mut self.measuring {
            *bytes += u64::from(packet_bytes);
            if *bytes > MEASUREMENT_BYTES && now > *since {
                self.measured(now, backlog_bytes);
            }
        }
        self.catch_up(now, backlog_bytes);
    }

    /// Recomputes the probability for every period that has passed, with the present backlog.
    #[inline]
    pub fn run_timer(&mut self, now: Time, backlog_bytes: u64) {
        self.catch_up(millis(now), backlog_bytes);
    }

    /// The probability with which an arrival is dropped, 0 to 1.
    pub fn probability(&self) -> f64 {
        self.state.probability
    }

    #[cold]
    fn measured(&mut self, now: u64, backlog_bytes: u64) {
        let Some((since, bytes)) = self.measuring else { return };
        let taken = now - since;
        let sample = bytes / taken;
        let rate = &mut self.state.rate;
        *rate = if *rate == 0 { sample } else { *rate - (*rate >> 3) + (sample >> 3) };
        self.measuring = (backlog_bytes >= MEASUREMENT_BYTES).then_some((now, 0));
        self.state.burst = self.state.burst.saturating_sub(taken);
    }

    #[inline]
    fn catch_up(&mut self, now: u64, backlog_bytes: u64) {
        while now.saturating_sub(self.last_update) > self.tupdate {
            let before = self.state;
            self.recompute(backlog_bytes);
            self.last_update += self.tupdate;
            if self.state == before {
                // The remaining periods are identical to this one: the state changes only when a packet
                // arrives or leaves.
                let periods = (now - self.last_update).saturating_sub(1) / self.tupdate;
                self.last_update += periods * self.tupdate;
            }
        }
    }

    fn recompute(&mut self, backlog_bytes: u64) {
        let state = &mut self.state;
        state.delay_old = state.delay;
        state.delay = backlog_bytes.checked_div(state.rate).unwrap_or(0);
        let distance = state.delay as f64 - self.target as f64;
        let trend = state.delay as f64 - state.delay_old as f64;
        let divisor = match state.probability {
            p if p < 0.01 => 128.0,
            p if p < 0.1 => 32.0,
            _ => 16.0,
        };
        let sum = state.probability + (self.alpha * distance + self.beta * trend) / divisor;
        state.probability = sum.clamp(0.0, 1.0);
        if state.delay == 0 && state.delay_old == 0 && backlog_bytes == 0 && sum <= 1.0 {
            state.probability *= 0.98;
        }
        state.burst = state.burst.saturating_sub(self.tupdate);
        let is_calm = state.delay < self.target / 2 && state.delay_old < self.target / 2;
        if state.probability == 0.0 && is_calm && state.rate > 0 {
            self.measuring = None;
            state.rate = 0;
            state.burst = self.max_burst;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    const MANY: u64 = 1_000_000;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }
    fn law() -> MahimahiPie {
        MahimahiPie::new(PieParameters {
            target: Span::from_millis(20),
            tupdate: Span::from_millis(30),
            max_burst: Span::from_millis(3),
            ..PieParameters::default()
        })
    }
    fn with(state: State) -> MahimahiPie {
        MahimahiPie { state, ..law() }
    }
    fn admit(law: &mut MahimahiPie, backlog_bytes: u64) -> Verdict {
        law.admit(backlog_bytes, &mut Random::derive(1, "node", "pie"))
    }

    #[test]
    fn arrivals_are_spared() {
        let certain = State { probability: 1.0, delay_old: 100, ..State::default() };
        assert_eq!(admit(&mut with(certain), 3000), Verdict::Drop);
        assert_eq!(admit(&mut with(certain), 2999), Verdict::Forward);
        assert_eq!(admit(&mut with(State { burst: 1, ..certain }), MANY), Verdict::Forward);
        let calm = State { delay_old: 9, probability: 0.19, ..certain };
        assert_eq!(admit(&mut with(calm), MANY), Verdict::Forward);
    }

    #[test]
    fn the_rate_is_measured_in_bytes_per_millisecond() {
        let mut law = law();
        for ms in 0..=10 {
            law.departed(at(ms), 1500, MANY);
        }
        // 11 packets, 16500 bytes, in 10 ms; the packet that begins a measurement is included.
        assert_eq!(law.state.rate, 1650);
        assert_eq!(law.measuring, Some((10, 0)));
        for ms in 11..=21 {
            law.departed(at(2 * ms), 1500, 10_000);
        }
        // 16500 bytes in 32 ms: 515, with weight 1/8 in whole numbers: 1650 - 206 + 64.
        assert_eq!((law.state.rate, law.measuring), (1508, None));
    }

    #[test]
    fn one_update_runs_for_each_period_that_passed() {
        let mut law = with(State { rate: 1000, ..State::default() });
        law.run_timer(at(30), 40_000);
        assert_eq!(law.state.delay, 0, "more than a period, not one");
        law.run_timer(at(31), 40_000);
        assert_eq!(law.state.delay, 40);
        // (0.125 (40 - 20) + 1.25 (40 - 0)) / 128, in milliseconds.
        assert!((law.state.probability - 52.5 / 128.0).abs() < 1e-12);
        law.run_timer(at(91), 40_000);
        assert_eq!(law.last_update, 90);
        // Twice 0.125 (40 - 20) / 16.
        assert!((law.state.probability - 52.5 / 128.0 - 2.0 * 2.5 / 16.0).abs() < 1e-12);
    }

    #[test]
    fn the_probability_is_bounded_and_decays() {
        let mut law = with(State { probability: 0.999, rate: 10, ..State::default() });
        law.run_timer(at(31), MANY);
        assert_eq!(law.state.probability, 1.0);
        let mut law = with(State { probability: 0.5, ..State::default() });
        law.run_timer(at(31), 0);
        assert!((law.state.probability - (0.5 - 2.5 / 16.0) * 0.98).abs() < 1e-12);
    }

    #[test]
    fn without_congestion_the_rate_is_reset_and_a_burst_is_allowed() {
        let mut law = with(State { rate: 1000, delay: 5, ..State::default() });
        law.run_timer(at(31), 5000);
        assert_eq!((law.state.rate, law.state.burst), (0, 3));
        law.run_timer(at(62), 5000);
        assert_eq!(law.state.burst, 0);
    }

    #[test]
    fn years_of_silence_take_few_steps() {
        let mut law = with(State { probability: 0.7, rate: 100, burst: 3, ..State::default() });
        law.run_timer(Time::NEVER, 0);
        assert_eq!(law.state.probability, 0.0);
        assert!(millis(Time::NEVER) - law.last_update <= 30);
    }
}
