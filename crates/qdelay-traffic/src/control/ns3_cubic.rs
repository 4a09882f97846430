//! CUBIC as implemented in ns-3 3.44 (3.48 gives the same results; `TcpCubic` in `tcp-cubic.cc`): the curve of RFC 8312,
//! HyStart, Reno-friendliness.
//!
//! | parameter | default | attribute of the reference |
//! | --- | --- | --- |
//! | `hystart` | on | `HyStart` |
//!
//! The other attributes have their defaults: `Beta` 0.7, `C` 0.4 segments/s^3, `FastConvergence` and `TcpFriendliness` on,
//! `CntClamp` 20, `CubicDelta` 10 ms, `HyStartLowWindow` 16 segments, `HyStartAckDelta` 2 ms, `HyStartMinSamples` 8,
//! `HyStartDelayMin` 4 ms, `HyStartDelayMax` 1 s, `HyStartDetect` both.
//!
//! Differences from [`Cubic`](super::Cubic), which is Linux's:
//! * The time on the curve is a floating-point number, and the cost of growth is recomputed at every acknowledgement.
//! * **Credit is never dropped.** The count of acknowledged segments survives reductions and timeouts, and an acknowledgement
//!   subtracts the cost of one segment of growth from it. Credit accumulated while growth was expensive (100 windows per
//!   segment on the plateau) is spent once growth is cheap, one segment per acknowledgement: as steep as slow start.
//! * Round trips are *smoothed* ones, in HyStart and at duplicates too.
//! * HyStart ends slow start later: for a train as long as the smallest round trip, without allowance; or for a delay of twice the smallest
//!   round trip (at least 4 ms more), by the first 8 samples of a round alone.
//! * Slow start may pass the threshold within an acknowledgement. A timeout resets the curve but keeps W_max.
//!
//! Differences from the reference: none known, except the last bits of the cube and its root.

use super::{AckSample, Connection, Controller, Recovery, Window};
use qdelay_core::{Random, Span, Time};

const BETA: f64 = 0.7;
/// Constant C of the curve, segments/s^3.
const C: f64 = 0.4;
/// Largest cost of growth while no W_max is known, acknowledged segments per segment.
const COST_CLAMP: u32 = 20;
/// Time after the beginning of an epoch in which round trips are ignored.
const CUBIC_DELTA: Span = Span::from_millis(10);
/// Acknowledged segments that grow Reno's window by one, per segment of window, times 8: 8 (1 + beta) / 3 (1 - beta), whole.
const RENO_SCALE: u64 = 15;
/// Window below which HyStart is inactive, segments.
const LOW_WINDOW: u32 = 16;
/// Largest gap between acknowledgements of a train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// Number of samples at the beginning of a round from which its smallest round trip is taken.
const MIN_SAMPLES: u32 = 8;
/// Bounds of the tolerated growth of the round trip.
const DELAY_BOUNDS: (Span, Span) = (Span::from_millis(4), Span::from_secs(1));

/// ns-3's CUBIC controller.
#[derive(Clone, Copy, Debug)]
pub struct Ns3Cubic {
    hystart: bool,
    /// Acknowledged segments not yet spent on growth (`m_cWndCnt`).
    credit: u32,
    /// W_max, segments; zero before the first reduction.
    last_max: u32,
    /// Plateau of the curve in this epoch, segments.
    origin: u32,
    /// Time K from the start of the epoch to the plateau, s.
    k: f64,
    epoch_start: Option<Time>,
    /// Segments acknowledged but not yet counted in `reno_cwnd`.
    reno_acked: u32,
    /// Window that Reno would have, segments.
    reno_cwnd: u32,
    /// Smallest smoothed round trip.
    min_rtt: Option<Span>,
    /// Whether HyStart has ended slow start since the last timeout.
    found: bool,
    round_start: Time,
    /// Sequence number above which an acknowledgement ends the round.
    round_end: u64,
    last_ack: Time,
    /// Smallest round trip of the first samples of the round.
    round_rtt: Option<Span>,
    samples: u32,
}

impl Default for Ns3Cubic {
    fn default() -> Ns3Cubic {
        Ns3Cubic::new(true)
    }
}

impl Ns3Cubic {
    /// A controller; with `hystart` off only a loss ends slow start.
    pub fn new(hystart: bool) -> Ns3Cubic {
        Ns3Cubic {
            hystart,
            credit: 0,
            last_max: 0,
            origin: 0,
            k: 0.0,
            epoch_start: None,
            reno_acked: 0,
            reno_cwnd: 0,
            min_rtt: None,
            found: false,
            round_start: Time::ZERO,
            round_end: 0,
            last_ack: Time::ZERO,
            round_rtt: None,
            samples: 0,
        }
    }

    /// W_max: the window to return to, segments; zero before the first reduction.
    pub fn last_max(&self) -> u32 {
        self.last_max
    }

    /// Begins a round of HyStart (ns-3 `HystartReset`).
    fn begin_round(&mut self, connection: &Connection) {
        self.round_start = connection.now;
        self.last_ack = connection.now;
        self.round_end = connection.nxt;
        self.round_rtt = None;
        self.samples = 0;
    }

    /// Cost of growth (ns-3 `Update`): acknowledged segments per segment of growth, after `acked` more were acknowledged at window `cwnd`.
    fn cost(&mut self, now: Time, cwnd: u32, acked: u32) -> u32 {
        self.reno_acked = self.reno_acked.saturating_add(acked);
        let start = self.epoch_start.unwrap_or_else(|| self.begin_epoch(now, cwnd, acked));
        let time = (now.since(start) + self.min_rtt.unwrap_or(Span::ZERO)).as_secs_f64();
        let offset = (time - self.k).abs();
        let distance = (C * offset * offset * offset) as u32;
        let target = if time < self.k {
            self.origin.saturating_sub(distance)
        } else {
            self.origin.saturating_add(distance)
        };
        let mut cost = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if self.last_max == 0 {
            cost = cost.min(COST_CLAMP);
        }
        cost.min(self.cost_of_reno(cwnd)).max(2)
    }

    fn begin_epoch(&mut self, now: Time, cwnd: u32, acked: u32) -> Time {
        self.epoch_start = Some(now);
        self.reno_acked = acked;
        self.reno_cwnd = cwnd;
        self.origin = self.last_max.max(cwnd);
        self.k = libm::cbrt(f64::from(self.origin - cwnd) / C);
        now
    }

    /// Advances Reno's window by the acknowledged segments; returns the highest cost at which the window reaches Reno's.
    fn cost_of_reno(&mut self, cwnd: u32) -> u32 {
        let per_segment = (u64::from(cwnd) * RENO_SCALE / 8).clamp(1, u64::from(u32::MAX)) as u32;
        if self.reno_acked > per_segment {
            let growth = (self.reno_acked - 1) / per_segment;
            self.reno_acked -= growth * per_segment;
            self.reno_cwnd = self.reno_cwnd.saturating_add(growth);
        }
        if self.reno_cwnd > cwnd { cwnd / (self.reno_cwnd - cwnd) } else { u32::MAX }
    }

    /// Ends slow start at a long train of acknowledgements, or when the delay has grown (ns-3 `HystartUpdate`).
    fn watch(&mut self, now: Time, window: &mut Window, rtt: Span, min_rtt: Span) {
        if now.since(self.last_ack) <= TRAIN_GAP {
            self.last_ack = now;
            self.found = now.since(self.round_start) > min_rtt;
        }
        if self.samples < MIN_SAMPLES {
            self.round_rtt = Some(self.round_rtt.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        } else {
            let tolerated = min_rtt.max(DELAY_BOUNDS.0).min(DELAY_BOUNDS.1);
            self.found |= self.round_rtt.is_some_and(|least| least > min_rtt + tolerated);
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }
}

impl Controller for Ns3Cubic {
    fn init(&mut self, connection: &Connection, _: &mut Window, _: &mut Random) {
        self.begin_round(connection);
    }

    fn ssthresh(&mut self, _: &Connection, window: &Window) -> u32 {
        let cwnd = f64::from(window.cwnd);
        // RFC 8312 section 4.6.
        let given_up = window.cwnd < self.last_max;
        self.last_max = if given_up { (cwnd * (1.0 + BETA) / 2.0) as u32 } else { window.cwnd };
        self.epoch_start = None;
        ((cwnd * BETA) as u32).max(2)
    }

    #[inline]
    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        if !connection.window_limited {
            return;
        }
        if window.in_slow_start() {
            if self.hystart && connection.una > self.round_end {
                self.begin_round(connection);
            }
            window.cwnd = window.cwnd.saturating_add(sample.acked_sacked).min(window.clamp);
        } else if sample.acked_sacked > 0 {
            self.credit = self.credit.saturating_add(sample.acked_sacked);
            let cost = self.cost(connection.now, window.cwnd, sample.acked_sacked);
            if self.credit >= cost {
                self.credit -= cost;
                window.cwnd = window.cwnd.saturating_add(1).min(window.clamp);
            }
        }
    }

    #[inline]
    fn delivered(&mut self, connection: &Connection, window: &mut Window, _: &AckSample) {
        let soon = |start: Time| connection.now.since(start) < CUBIC_DELTA;
        if connection.srtt.is_zero() || self.epoch_start.is_some_and(soon) {
            return;
        }
        let rtt = connection.srtt;
        let min_rtt = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(min_rtt);
        if self.hystart && !self.found && window.cwnd <= window.ssthresh && window.cwnd >= LOW_WINDOW {
            self.watch(connection.now, window, rtt, min_rtt);
        }
    }

    /// Resets the curve at a timeout; credit, W_max and the epoch stay (ns-3 `CubicReset`).
    fn set_recovery(&mut self, connection: &Connection, _: &mut Window, to: Recovery) {
        if to == Recovery::Loss {
            self.origin = 0;
            self.k = 0.0;
            self.reno_acked = 0;
            self.reno_cwnd = 0;
            self.min_rtt = None;
            self.found = false;
            self.begin_round(connection);
        }
    }

    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::minimal::{connection, sample, window};
    use super::*;

    fn connection_at_ms(ms: u64) -> Connection {
        let now = Time::ZERO + Span::from_millis(ms);
        Connection { srtt: Span::from_millis(40), una: 1, nxt: 1_000_000, ..connection(now) }
    }

    /// A controller right after a reduction from a window of `last_max` segments, with a smallest round trip of 40 ms.
    fn reduced(last_max: u32) -> (Ns3Cubic, Window) {
        let mut cubic = Ns3Cubic::new(true);
        let mut w = window(last_max, last_max);
        cubic.delivered(&connection_at_ms(0), &mut w, &sample(1));
        let ssthresh = cubic.ssthresh(&connection_at_ms(0), &w);
        (cubic, window(ssthresh, ssthresh))
    }

    #[test]
    fn slow_start_counts_segments_and_does_not_stop_at_the_threshold() {
        let mut w = window(10, 15);
        Ns3Cubic::new(true).grow(&connection_at_ms(0), &mut w, &sample(9));
        assert_eq!((w.cwnd, w.cwnd_count), (19, 0));
    }

    #[test]
    fn a_reduction_sets_w_max() {
        let (mut cubic, w) = reduced(101);
        assert_eq!((w.ssthresh, cubic.last_max()), (70, 101));
        assert_eq!(cubic.ssthresh(&connection_at_ms(0), &window(80, 70)), 56);
        assert_eq!(cubic.last_max(), 68, "80 was below 101: (1 + 0.7) / 2 of it");
        assert_eq!(cubic.ssthresh(&connection_at_ms(0), &window(1, 70)), 2);
    }

    /// K is cbrt(31 / 0.4) = 4.26 s; one smallest round trip is added to the time.
    #[test]
    fn the_cost_follows_the_curve() {
        let (mut cubic, w) = reduced(101);
        let mut far = Ns3Cubic { reno_cwnd: 0, ..cubic };
        assert_eq!(
            cubic.cost(connection_at_ms(0).now, w.cwnd, 1),
            70,
            "a segment below its window: the distance is rounded down"
        );
        assert!((cubic.k - 4.263).abs() < 0.001, "{}", cubic.k);
        far.cost(connection_at_ms(0).now, w.cwnd, 1);
        // 2.223 s + 40 ms are 2 s before K: 101 - 0.4 * 8 = 97.8, without truncation.
        assert_eq!(far.cost(connection_at_ms(2_223).now, 70, 1), 70 / 28);
    }

    /// Credit accumulated while growth was expensive is spent one segment an acknowledgement once it is cheap.
    #[test]
    fn credit_outlives_reductions_and_timeouts() {
        let (mut cubic, _) = reduced(100);
        let mut w = window(100, 70);
        cubic.credit = 300;
        cubic.grow(&connection_at_ms(0), &mut w, &sample(2));
        assert_eq!((w.cwnd, cubic.credit), (100, 302), "on the plateau a segment costs 10,000");
        assert_eq!(cubic.ssthresh(&connection_at_ms(1_000), &w), 70);
        w = window(70, 70);
        cubic.set_recovery(&connection_at_ms(1_000), &mut w, Recovery::Loss);
        assert_eq!((cubic.credit, cubic.last_max()), (302, 100));
        cubic.grow(&connection_at_ms(1_000), &mut w, &sample(2)); // an epoch begins
        let mut before = cubic.credit;
        for acknowledgement in 1..=5 {
            cubic.grow(&connection_at_ms(60_000), &mut w, &sample(2));
            assert_eq!((w.cwnd, cubic.credit), (70 + acknowledgement, before), "2 arrive and 2 are spent");
            before = cubic.credit;
        }
    }

    #[test]
    fn growth_is_at_least_that_of_reno() {
        let (mut cubic, _) = reduced(40);
        // 28 * 15 / 8 = 52 acknowledged segments per segment of Reno's.
        assert_eq!(cubic.cost(connection_at_ms(0).now, 28, 53), 28);
        assert_eq!(cubic.reno_cwnd, 29);
        assert_eq!(cubic.cost(connection_at_ms(1).now, 28, 52), 28 / 2);
    }

    /// Slow start ends when the first 8 smoothed round trips of a round are above twice the smallest.
    #[test]
    fn slow_start_ends_when_the_delay_has_doubled() {
        let exit = |smoothed: u64| {
            let mut cubic = Ns3Cubic::new(true);
            let mut w = window(20, u32::MAX);
            cubic.min_rtt = Some(Span::from_millis(10));
            (1..100u64).find(|n| {
                let c = Connection { srtt: Span::from_micros(smoothed), ..connection_at_ms(n * 3) };
                cubic.delivered(&c, &mut w, &sample(1));
                cubic.found
            })
        };
        assert_eq!(exit(20_001), Some(9));
        assert_eq!(exit(20_000), None);
    }

    #[test]
    fn a_train_of_a_whole_round_trip_ends_slow_start() {
        let exit = |gap: u64| {
            let mut cubic = Ns3Cubic::new(true);
            let mut w = window(20, u32::MAX);
            (1..100u64).find(|n| {
                cubic.delivered(&connection_at_ms(n * gap), &mut w, &sample(1));
                cubic.found
            })
        };
        assert_eq!(exit(2), Some(21));
        assert_eq!(exit(3), None);
        let mut off = Ns3Cubic::new(false);
        let mut w = window(20, u32::MAX);
        (1..100).for_each(|n| off.delivered(&connection_at_ms(n * 2), &mut w, &sample(1)));
        assert!(w.in_slow_start());
    }
}
