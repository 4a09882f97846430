//! Reno: slow start and congestion avoidance (RFC 5681 section 3.1, with the counting of RFC 3465; Linux
//! `tcp_reno_cong_avoid`, `tcp_slow_start`, `tcp_cong_avoid_ai`, `tcp_reno_ssthresh`).
//!
//! The window grows by one segment per acknowledged segment below the slow start threshold, and by one segment per window
//! above; a loss halves it. There are no parameters. The window does not grow while the application does not fill it (as in Linux; see
//! RFC 7661).
//!
//! Differences from the reference (RFC 5681): whole segments are counted, not bytes; an acknowledgement for many segments
//! counts for all of them (RFC 3465 with no limit L), as in Linux; the threshold follows from the window and not from the data
//! in flight. Differences from Linux: none; compared call by call with the functions of Linux 6.12.117, compiled outside the kernel.

use super::{AckSample, AnyController, Connection, Controller, Ns3Reno, Window};
use crate::knobs;
use crate::profile::{Profile, RecoveryRule};
use qdelay_core::Random;
use qdelay_core::component::{Arguments, Component};

pub(super) static COMPONENT: Component = knobs::component(
    "reno",
    "TCP with Reno: additive increase, multiplicative decrease",
    "RFC 5681; Linux tcp_cong.c",
    &knobs::KNOBS,
);

pub(super) fn build(_: &Arguments, profile: &Profile) -> AnyController {
    match profile.recovery_rule {
        RecoveryRule::Linux => Reno.into(),
        RecoveryRule::Ns3 => Ns3Reno::default().into(),
    }
}

/// The Reno controller. All of its state is the shared [`Window`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Reno;

impl Controller for Reno {
    fn init(&mut self, _: &Connection, _: &mut Window, _: &mut Random) {}

    fn ssthresh(&mut self, _: &Connection, window: &Window) -> u32 {
        (window.cwnd / 2).max(2)
    }

    #[inline]
    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        if !connection.window_limited {
            return;
        }
        let left = slow_start(window, sample.acked_sacked);
        if left > 0 {
            avoid_congestion(window, window.cwnd, left);
        }
    }

    fn in_kernel(&self) -> Option<&'static str> {
        Some("reno")
    }
}

/// Grows the window by `acked` segments, at most up to the slow start threshold. Returns the segments that remain for
/// congestion avoidance: all of them if the window is at or above the threshold.
#[inline]
pub(super) fn slow_start(window: &mut Window, acked: u32) -> u32 {
    if !window.in_slow_start() {
        return acked;
    }
    let grown = window.cwnd.saturating_add(acked).min(window.ssthresh);
    let left = acked - (grown - window.cwnd);
    window.cwnd = grown.min(window.clamp);
    left
}

/// Grows the window by one for every `per_segment` (at least 1) acknowledged segments.
#[inline]
pub(super) fn avoid_congestion(window: &mut Window, per_segment: u32, acked: u32) {
    debug_assert!(per_segment >= 1, "growth without cost");
    // Credit from times of slower growth counts for one segment only.
    if window.cwnd_count >= per_segment {
        window.cwnd_count = 0;
        window.cwnd = window.cwnd.saturating_add(1);
    }
    window.cwnd_count = window.cwnd_count.saturating_add(acked);
    if window.cwnd_count >= per_segment {
        let growth = window.cwnd_count / per_segment.max(1);
        window.cwnd_count -= growth * per_segment;
        window.cwnd = window.cwnd.saturating_add(growth);
    }
    window.cwnd = window.cwnd.min(window.clamp);
}

#[cfg(test)]
mod tests {
    use super::super::minimal::{Link, MinimalTcp, connection, sample, window};
    use super::*;
    use qdelay_core::{Rate, Span, Time};

    fn acknowledge(window: &mut Window, acked: u32) {
        Reno.grow(&connection(Time::ZERO), window, &sample(acked));
    }

    #[test]
    fn doubles_in_slow_start_and_spends_what_is_left_above_the_threshold() {
        let mut w = window(10, 25);
        acknowledge(&mut w, 10);
        assert_eq!((w.cwnd, w.cwnd_count), (20, 0));
        acknowledge(&mut w, 20); // five to the threshold, fifteen for avoidance
        assert_eq!((w.cwnd, w.cwnd_count), (25, 15));
        acknowledge(&mut w, 10);
        assert_eq!((w.cwnd, w.cwnd_count), (26, 0));
    }

    #[test]
    fn one_segment_per_window_of_single_acknowledgements() {
        let mut w = window(10, 5);
        for expected in 10..30 {
            assert_eq!(w.cwnd, expected);
            (0..expected).for_each(|_| acknowledge(&mut w, 1));
        }
    }

    #[test]
    fn old_credit_counts_for_one_segment() {
        let mut w = window(10, 5);
        w.cwnd_count = 35;
        acknowledge(&mut w, 1);
        assert_eq!((w.cwnd, w.cwnd_count), (11, 1));
    }

    #[test]
    fn growth_respects_clamp_application_limit_and_threshold() {
        let mut w = Window { clamp: 12, ..window(10, 100) };
        acknowledge(&mut w, 10);
        assert_eq!(w.cwnd, 12);
        let limited = Connection { window_limited: false, ..connection(Time::ZERO) };
        let mut w = window(10, 100);
        Reno.grow(&limited, &mut w, &sample(10));
        assert_eq!(w, window(10, 100));
        assert_eq!([1, 4, 9, 101].map(|cwnd| Reno.ssthresh(&limited, &window(cwnd, 5))), [2, 2, 4, 50]);
    }

    /// Mathis et al. 1997: with one loss in every 1/p segments the rate is sqrt(3/2) / (RTT sqrt(p)).
    #[test]
    fn the_rate_follows_the_square_root_law() {
        for per_loss in [200u64, 1000, 5000] {
            let link = Link::new(Rate::INFINITE, Span::from_millis(100));
            let mut tcp = MinimalTcp::new(Reno, link, move |_, sequence| sequence % per_loss == per_loss - 1);
            tcp.run_until(Time::ZERO + Span::from_secs(100));
            let before = tcp.connection.delivered;
            tcp.run_until(Time::ZERO + Span::from_secs(1100));
            let per_round = (tcp.connection.delivered - before) as f64 / 10_000.0;
            let predicted = libm::sqrt(1.5 * per_loss as f64);
            assert!((per_round / predicted - 1.0).abs() < 0.05, "{per_loss}: {per_round} not {predicted}");
        }
    }
}
