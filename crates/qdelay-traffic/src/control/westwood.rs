//! Westwood+ (Mascolo et al., MOBICOM 2001; Grieco and Mascolo, ACM CCR 34(2), 2004), as in Linux (`tcp_westwood.c`): Reno, but the
//! window after a loss is the estimated bandwidth times the smallest round trip.
//!
//! The bandwidth is sampled once per round trip, but at most every 50 ms: bytes acknowledged since the last sample, over the time since.
//! Two filters in series smooth it, each with a weight of 1/8 for the new value. After fast recovery both window and threshold are set to
//! bandwidth times smallest round trip; after a timeout only the threshold is, and the smallest round trip is measured again.
//!
//! | parameter | default | source |
//! | --- | --- | --- |
//! | `hz` | 250 per second | the kernel's clock (`CONFIG_HZ`), in which round trips and intervals are counted |
//!
//! Differences from the reference (Linux): an acknowledgement is counted after its round trip was sampled, where the kernel's order is the
//! opposite; every acknowledgement is counted as on the kernel's slow path, which differs from the fast path only after duplicates.

use super::jiffies::Jiffies;
use super::reno::Reno;
use super::{AckSample, AnyController, Connection, Controller, Event, Window};
use crate::knobs;
use crate::profile::Profile;
use qdelay_core::Random;
use qdelay_core::component::{Arguments, Component};

pub(super) static COMPONENT: Component = knobs::component(
    "westwood",
    "TCP with Westwood+: Reno with the window after a loss set by the estimated bandwidth",
    "Grieco and Mascolo, ACM CCR 34(2), 2004; Linux tcp_westwood.c",
    &knobs::KNOBS,
);

/// Ticks of the kernel's clock per second.
const HZ: u32 = 250;
/// Shortest interval of a bandwidth sample, ticks.
const INTERVAL_MIN: u64 = HZ as u64 / 20;
/// Assumed round trip before the first sample, ticks.
const RTT_INITIAL: u64 = HZ as u64 * 20;

pub(super) fn build(_: &Arguments, _: &Profile) -> AnyController {
    Westwood::default().into()
}

/// The Westwood+ controller. Times in ticks, bandwidths in bytes per tick.
#[derive(Clone, Copy, Debug)]
pub struct Westwood {
    clock: Jiffies,
    /// Bandwidth after the first filter.
    bandwidth_once: u64,
    /// Bandwidth after both filters.
    bandwidth: u64,
    /// Start of the current sample's interval, ticks.
    interval_start: u64,
    interval_bytes: u64,
    /// First unacknowledged byte at the last acknowledgement.
    una: u64,
    /// Bytes counted for duplicate acknowledgements, ahead of the cumulative acknowledgement.
    ahead: u64,
    rtt: u64,
    rtt_min: u64,
    restarts_rtt_min: bool,
    is_first: bool,
}

impl Default for Westwood {
    fn default() -> Westwood {
        Westwood {
            clock: Jiffies::new(HZ),
            bandwidth_once: 0,
            bandwidth: 0,
            interval_start: 0,
            interval_bytes: 0,
            una: 0,
            ahead: 0,
            rtt: RTT_INITIAL,
            rtt_min: RTT_INITIAL,
            restarts_rtt_min: true,
            is_first: true,
        }
    }
}

impl Westwood {
    /// Ends the sample's interval if it was long enough, and filters the sample.
    fn sample_bandwidth(&mut self, connection: &Connection) {
        let now = self.clock.ticks(connection.now);
        let lasted = now.saturating_sub(self.interval_start);
        if self.is_first {
            self.una = connection.una;
            self.is_first = false;
        }
        if self.rtt == 0 || lasted <= self.rtt.max(INTERVAL_MIN) {
            return;
        }
        let sample = self.interval_bytes / lasted;
        if self.bandwidth_once == 0 && self.bandwidth == 0 {
            (self.bandwidth_once, self.bandwidth) = (sample, sample);
        } else {
            self.bandwidth_once = filter(self.bandwidth_once, sample);
            self.bandwidth = filter(self.bandwidth, self.bandwidth_once);
        }
        self.interval_bytes = 0;
        self.interval_start = now;
    }

    /// Bytes newly acknowledged. A duplicate counts as one segment, which the later cumulative acknowledgement does not count again.
    fn acknowledged(&mut self, connection: &Connection) -> u64 {
        let segment = u64::from(connection.mss);
        let mut bytes = connection.una.saturating_sub(self.una);
        if bytes == 0 {
            self.ahead += segment;
            bytes = segment;
        }
        if bytes > segment {
            if self.ahead >= bytes {
                self.ahead -= bytes;
                bytes = segment;
            } else {
                bytes -= self.ahead;
                self.ahead = 0;
            }
        }
        self.una = connection.una;
        bytes
    }

    fn update_rtt_min(&mut self) {
        self.rtt_min = if self.restarts_rtt_min { self.rtt } else { self.rtt_min.min(self.rtt) };
        self.restarts_rtt_min = false;
    }

    /// Window that fills the path without a queue, segments: bandwidth times smallest round trip.
    fn fill(&self, connection: &Connection) -> u32 {
        let segments = self.bandwidth * self.rtt_min / u64::from(connection.mss).max(1);
        u32::try_from(segments).unwrap_or(u32::MAX).max(2)
    }
}

/// Exponential average with a weight of 7/8 for the old value.
fn filter(old: u64, new: u64) -> u64 {
    (7 * old + new) >> 3
}

impl Controller for Westwood {
    fn init(&mut self, connection: &Connection, _: &mut Window, _: &mut Random) {
        *self = Westwood::default();
        self.interval_start = self.clock.ticks(connection.now);
        self.una = connection.una;
    }

    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        Reno.ssthresh(connection, window)
    }

    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        Reno.grow(connection, window, sample);
    }

    fn delivered(&mut self, connection: &Connection, _: &mut Window, sample: &AckSample) {
        if let Some(rtt) = sample.rtt {
            let tick = 1_000_000_000 / u64::from(HZ);
            self.rtt = rtt.as_nanos().div_ceil(tick).max(u64::from(!rtt.is_zero()));
        }
        self.sample_bandwidth(connection);
        self.interval_bytes += self.acknowledged(connection);
        self.update_rtt_min();
    }

    fn event(&mut self, connection: &Connection, window: &mut Window, event: Event) {
        match event {
            Event::ReductionComplete => {
                window.cwnd = self.fill(connection);
                window.ssthresh = window.cwnd;
            }
            Event::Timeout => {
                window.ssthresh = self.fill(connection);
                // The smallest round trip restarts with the next acknowledgement.
                self.restarts_rtt_min = true;
            }
            Event::TransmitStart | Event::WindowRestart => {}
        }
    }

    fn in_kernel(&self) -> Option<&'static str> {
        Some("westwood")
    }
}

#[cfg(test)]
mod tests {
    use super::super::minimal::{connection, sample, window};
    use super::*;
    use qdelay_core::{Span, Time};

    /// State after `seconds` s with one segment acknowledged every `gap` and round trips of `rtt`.
    fn steady(gap: Span, rtt: Span, seconds: u64) -> (Westwood, Connection) {
        let mut westwood = Westwood::default();
        let mut w = window(10, 5);
        let mut state = connection(Time::ZERO);
        westwood.init(&state, &mut w, &mut Random::derive(1, "", ""));
        while state.now < Time::ZERO + Span::from_secs(seconds) {
            state = Connection { now: state.now + gap, una: state.una + u64::from(state.mss), ..state };
            westwood.delivered(&state, &mut w, &AckSample { rtt: Some(rtt), ..sample(1) });
        }
        (westwood, state)
    }

    #[test]
    fn the_window_after_a_loss_fills_the_path() {
        // A segment a millisecond, 40 ms: 40 segments.
        let (mut westwood, state) = steady(Span::from_millis(1), Span::from_millis(40), 10);
        let mut w = window(100, 50);
        westwood.event(&state, &mut w, Event::ReductionComplete);
        assert!((38..=40).contains(&w.cwnd), "{}", w.cwnd);
        assert_eq!(w.ssthresh, w.cwnd);
    }

    #[test]
    fn a_timeout_sets_the_threshold_and_resets_the_smallest_round_trip() {
        let (mut westwood, state) = steady(Span::from_millis(1), Span::from_millis(40), 10);
        let mut w = window(1, 50);
        westwood.event(&state, &mut w, Event::Timeout);
        assert!(w.cwnd == 1 && (38..=40).contains(&w.ssthresh), "{w:?}");
        let longer = AckSample { rtt: Some(Span::from_millis(80)), ..sample(1) };
        westwood.delivered(&state, &mut w, &longer);
        assert_eq!(westwood.rtt_min, 20);
    }

    #[test]
    fn duplicates_are_counted_once() {
        let (mut westwood, state) = steady(Span::from_millis(1), Span::from_millis(40), 1);
        let segment = u64::from(state.mss);
        assert_eq!([1, 2, 3].map(|_| westwood.acknowledged(&state)), [segment; 3]);
        // The first acknowledgement of a connection counts as a duplicate, too.
        let after = Connection { una: state.una + 6 * segment, ..state };
        assert_eq!(westwood.acknowledged(&after), 2 * segment);
    }
}
