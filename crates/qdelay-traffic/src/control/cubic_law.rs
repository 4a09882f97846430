//! The cubic law: the cost of growth, in acknowledged segments per segment of growth (RFC 9438 sections 4.2 to 4.5; Linux
//! `bictcp_update` and `cubic_root`).
//!
//! From the start of an epoch the window follows W(t) = C (t - K)^3 + W_max, with C = 0.4 segments/s^3 and K the time at
//! which W_max is reached again; t includes one smallest round trip, so that the target is the window at the time when data
//! sent now is acknowledged. Time is in ticks of the kernel clock and converted to units of 2^-10 s. In parallel, the window
//! that Reno would have at the same mean rate is computed; it is the lower bound of growth.
//!
//! The cost is recomputed when the window has changed, or every 1/32 s, and the cubic part at most once per tick.
//!
//! Differences from the reference: Linux's cube root is a table and one Newton step, off by 0.2% on average; here it is exact
//! (rounded down), so K may differ by some milliseconds. The cube stops growing 300 s away from K, where Linux would
//! overflow. Differences of both from RFC 9438: the bound in the Reno-friendly region keeps its slope after W_max is passed
//! and starts from the window of the first acknowledgement after the reduction; growth is bounded by one segment per two
//! acknowledged; and with no known W_max it is at least one segment in 20 acknowledged.

/// C in 2^-10 segments/s^3: 410 / 1024 = 0.4 (Linux `bic_scale`, 41, times 10).
const C: u64 = 410;
/// Fraction bits of a second.
const TIME_BITS: u32 = 10;
/// Fraction bits of C times a cubed time.
const CUBE_BITS: u32 = 10 + 3 * TIME_BITS;
/// Cubed time over segments: the inverse of C.
const CUBE_FACTOR: u64 = (1 << CUBE_BITS) / C;
/// Largest time from K at which the cube is computed, in 2^-10 s: 300 s.
const MAX_OFFSET: u64 = 300 << TIME_BITS;
/// Denominator of beta.
pub(super) const BETA_SCALE: u32 = 1024;

/// The law's state over an epoch, from one reduction to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    /// Ticks of the clock per second.
    hz: u32,
    /// Acknowledged segments that grow Reno's window by one, per segment of window, times 8; `None` switches Reno's bound off.
    reno_scale: Option<u32>,
    /// Acknowledged segments per segment of growth.
    per_segment: u32,
    /// W_max: the window before the last reduction; zero before any.
    last_max: u32,
    /// Window and tick at the last computation.
    last_cwnd: u32,
    last_tick: u64,
    /// Plateau of the curve in this epoch, segments.
    origin: u32,
    /// Time K from the start of the epoch to the plateau, 2^-10 s.
    k: u64,
    /// Tick at which the epoch began; `None` between a reduction and the next growth.
    epoch_start: Option<u64>,
    /// Segments acknowledged but not yet counted in `reno_cwnd`.
    reno_acked: u32,
    /// Window that Reno would have, segments.
    reno_cwnd: u32,
}

impl Law {
    /// A law without history, for a clock of `hz` (at least 1) ticks per second.
    pub(super) fn new(hz: u32, reno_scale: Option<u32>) -> Law {
        Law {
            hz: hz.max(1),
            reno_scale,
            per_segment: 0,
            last_max: 0,
            last_cwnd: 0,
            last_tick: 0,
            origin: 0,
            k: 0,
            epoch_start: None,
            reno_acked: 0,
            reno_cwnd: 0,
        }
    }

    /// Resets all state but the parameters.
    pub(super) fn reset(&mut self) {
        *self = Law::new(self.hz, self.reno_scale);
    }

    /// Tick at which the current epoch began; `None` without an epoch.
    pub(super) fn epoch_start(&self) -> Option<u64> {
        self.epoch_start
    }

    /// W_max, segments; zero before the first reduction.
    pub(super) fn last_max(&self) -> u32 {
        self.last_max
    }

    /// Ends the epoch before a reduction of the window `cwnd`, and sets W_max. With fast convergence (RFC 9438 section 4.7) W_max is
    /// `(1 + beta) / 2` of the window if the window has not reached the former W_max.
    pub(super) fn reduce(&mut self, cwnd: u32, fast_convergence: Option<u32>) {
        self.epoch_start = None;
        self.last_max = match fast_convergence {
            Some(beta) if cwnd < self.last_max => {
                (u64::from(cwnd) * u64::from(BETA_SCALE + beta) / u64::from(2 * BETA_SCALE)) as u32
            }
            _ => cwnd,
        };
    }

    /// Moves the epoch later by `idle` ticks of silence, but not past `tick`.
    pub(super) fn skip_idle(&mut self, tick: u64, idle: u64) {
        self.epoch_start = self.epoch_start.map(|start| (start + idle).min(tick));
    }

    /// Acknowledged segments per segment of growth, at least 2, after `acked` more were acknowledged at window `cwnd`; the time
    /// is `tick` and the smallest round trip `min_rtt` microseconds.
    #[inline]
    pub(super) fn per_segment(&mut self, cwnd: u32, acked: u32, tick: u64, min_rtt: u32) -> u32 {
        self.reno_acked = self.reno_acked.saturating_add(acked);
        if self.last_cwnd != cwnd || tick.saturating_sub(self.last_tick) > u64::from(self.hz / 32) {
            self.compute(cwnd, acked, tick, min_rtt);
        }
        debug_assert!(self.per_segment >= 2, "growth faster than a segment per two acknowledged");
        self.per_segment
    }

    fn compute(&mut self, cwnd: u32, acked: u32, tick: u64, min_rtt: u32) {
        if self.epoch_start.is_none() || self.last_tick != tick {
            self.last_cwnd = cwnd;
            self.last_tick = tick;
            let start = self.epoch_start.unwrap_or_else(|| self.begin_epoch(cwnd, acked, tick));
            let ahead = (u64::from(min_rtt) * u64::from(self.hz)).div_ceil(1_000_000);
            self.per_segment = self.cubic_cost(cwnd, tick.saturating_sub(start) + ahead);
        }
        if let Some(scale) = self.reno_scale {
            self.bound_by_reno(cwnd, scale);
        }
        self.per_segment = self.per_segment.max(2);
    }

    fn begin_epoch(&mut self, cwnd: u32, acked: u32, tick: u64) -> u64 {
        self.epoch_start = Some(tick);
        self.reno_acked = acked;
        self.reno_cwnd = cwnd;
        self.origin = self.last_max.max(cwnd);
        self.k = cube_root(CUBE_FACTOR * u64::from(self.origin - cwnd));
        tick
    }

    /// Cost with which the window goes from `cwnd` to the curve within one round trip, `ticks` after the start of the epoch.
    fn cubic_cost(&self, cwnd: u32, ticks: u64) -> u32 {
        let time = (ticks << TIME_BITS) / u64::from(self.hz);
        let offset = time.abs_diff(self.k).min(MAX_OFFSET);
        let distance = ((C * offset * offset * offset) >> CUBE_BITS) as u32;
        let target = if time < self.k {
            self.origin.saturating_sub(distance)
        } else {
            self.origin.saturating_add(distance)
        };
        let cost = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        // Without a known W_max the window grows by at least 5% per round trip.
        if self.last_max == 0 { cost.min(20) } else { cost }
    }

    /// Advances Reno's window by the acknowledged segments, and bounds the cost so that the window reaches Reno's.
    fn bound_by_reno(&mut self, cwnd: u32, scale: u32) {
        let per_segment = (u64::from(cwnd) * u64::from(scale) / 8).clamp(1, u64::from(u32::MAX)) as u32;
        if self.reno_acked > per_segment {
            let growth = (self.reno_acked - 1) / per_segment;
            self.reno_acked -= growth * per_segment;
            self.reno_cwnd = self.reno_cwnd.saturating_add(growth);
        }
        if self.reno_cwnd > cwnd {
            self.per_segment = self.per_segment.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }
}

/// Cube root, rounded down, one bit at a time; called once per epoch.
fn cube_root(n: u64) -> u64 {
    let mut root: u64 = 0;
    for bit in (0..22).rev() {
        let next = root | 1 << bit;
        // A cube of 22 bits may have 66 bits, so the comparison is by division.
        if next * next <= n / next {
            root = next;
        }
    }
    debug_assert!(u128::from(root).pow(3) <= u128::from(n), "{root} is above the cube root of {n}");
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_exact() {
        for n in [0, 1, 7, 8, 26, 27, 999_999, 1_000_000, u64::MAX] {
            let root = u128::from(cube_root(n));
            assert!(root.pow(3) <= u128::from(n) && u128::from(n) < (root + 1).pow(3), "{n}");
        }
    }

    /// RFC 9438 section 4.2: K = cbrt((W_max - cwnd) / C).
    #[test]
    fn k_is_the_cube_root_of_the_distance_to_the_plateau() {
        for (last_max, cwnd) in [(100, 70), (1_000, 700), (100_000, 70_000)] {
            let mut law = Law { last_max, ..Law::new(250, None) };
            law.begin_epoch(cwnd, 1, 5);
            let seconds = law.k as f64 / 1024.0;
            let expected = libm::cbrt(f64::from(last_max - cwnd) / 0.4);
            assert!((seconds - expected).abs() < 0.003 * expected + 0.001, "{seconds} {expected}");
        }
    }

    #[test]
    fn fast_convergence_lowers_w_max_if_the_plateau_was_not_reached() {
        let mut law = Law::new(250, None);
        law.reduce(1_000, Some(717));
        assert_eq!(law.last_max(), 1_000);
        law.reduce(800, Some(717)); // 800 * (1 + 0.7) / 2
        assert_eq!(law.last_max(), 680);
        law.reduce(600, None);
        assert_eq!(law.last_max(), 600);
    }

    #[test]
    fn growth_is_bounded_both_ways() {
        let mut unknown = Law::new(250, None);
        assert_eq!(unknown.per_segment(1_000, 1, 0, 40_000), 20);
        let mut far = Law { last_max: 100, ..Law::new(250, None) };
        assert_eq!(far.per_segment(200, 1, 0, 1), 20_000); // on its plateau
        assert_eq!(far.per_segment(200, 1, 250_000, 1), 2); // long past it
    }

    #[test]
    fn idle_time_shifts_the_epoch() {
        let mut law = Law { epoch_start: Some(100), ..Law::new(250, None) };
        law.skip_idle(500, 50);
        assert_eq!(law.epoch_start(), Some(150));
        law.skip_idle(500, 1_000);
        assert_eq!(law.epoch_start(), Some(500));
    }
}
