//! Vegas (Brakmo and Peterson, IEEE JSAC 13(8), 1995), as in Linux (`tcp_vegas.c`): once per round trip the window is adjusted so
//! that 2 to 4 segments wait in the queue, estimated from the round trips.
//!
//! `base` is the smallest round trip of the connection, `least` that of the last round. The estimate of waiting segments is
//! `cwnd (least - base) / base`: below 2 the window grows by a segment, above 4 it shrinks by one, and above 1 slow start ends. Reno applies in
//! rounds of at most two samples, and in every state of loss recovery but *open*.
//!
//! There are no parameters of its own. Differences from the reference (Linux): none known.

use super::reno::{Reno, slow_start};
use super::{AckSample, AnyController, Connection, Controller, Event, Recovery, Window};
use crate::knobs;
use crate::profile::Profile;
use qdelay_core::component::{Arguments, Component};
use qdelay_core::{Random, Span};

pub(super) static COMPONENT: Component = knobs::component(
    "vegas",
    "TCP with Vegas: 2 to 4 segments of each flow in the queue",
    "Brakmo and Peterson, IEEE JSAC 13(8), 1995; Linux tcp_vegas.c",
    &knobs::KNOBS,
);

/// Segments in the queue below which the window grows (alpha).
const LEAST_QUEUED: u64 = 2;
/// Segments in the queue above which the window shrinks (beta).
const MOST_QUEUED: u64 = 4;
/// Segments in the queue above which slow start ends (gamma).
const MOST_QUEUED_IN_SLOW_START: u64 = 1;
/// Number of samples in a round up to which Reno decides.
const SAMPLES: u32 = 2;
/// Round trip that stands for no sample, microseconds.
const NONE: u64 = 0x7fff_ffff;

pub(super) fn build(_: &Arguments, _: &Profile) -> AnyController {
    Vegas::default().into()
}

/// The Vegas controller.
#[derive(Clone, Copy, Debug)]
pub struct Vegas {
    /// Whether Vegas decides; otherwise Reno does.
    is_on: bool,
    /// First sequence number of the next round.
    round_end: u64,
    /// Number of round-trip samples in this round.
    samples: u32,
    /// Smallest round trip of this round, microseconds.
    least: u64,
    /// Smallest round trip of the connection, microseconds.
    base: u64,
}

impl Default for Vegas {
    fn default() -> Vegas {
        Vegas { is_on: true, round_end: 0, samples: 0, least: NONE, base: NONE }
    }
}

impl Vegas {
    fn start_round(&mut self, connection: &Connection) {
        self.round_end = connection.nxt;
        self.samples = 0;
        self.least = NONE;
    }

    fn enable(&mut self, connection: &Connection) {
        self.is_on = true;
        self.start_round(connection);
    }

    fn restart(&mut self, connection: &Connection) {
        self.base = NONE;
        self.enable(connection);
    }

    /// Adjusts the window at the end of a round.
    fn decide(&self, connection: &Connection, window: &mut Window, acked: u32) {
        let cwnd = u64::from(window.cwnd);
        let queued = cwnd * (self.least - self.base) / self.base;
        if window.in_slow_start() {
            if queued > MOST_QUEUED_IN_SLOW_START {
                let target = cwnd * self.base / self.least;
                window.cwnd = window.cwnd.min(target as u32 + 1);
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                slow_start(window, acked);
            }
        } else if queued > MOST_QUEUED {
            window.cwnd -= 1;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queued < LEAST_QUEUED {
            window.cwnd += 1;
        }
        window.cwnd = window.cwnd.max(2).min(window.clamp);
        if !matches!(connection.recovery, Recovery::Cwr | Recovery::Fast) {
            window.ssthresh = window.ssthresh.max((window.cwnd >> 1) + (window.cwnd >> 2));
        }
    }
}

impl Controller for Vegas {
    fn init(&mut self, connection: &Connection, _: &mut Window, _: &mut Random) {
        self.restart(connection);
    }

    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        Reno.ssthresh(connection, window)
    }

    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        if !self.is_on {
            return Reno.grow(connection, window, sample);
        }
        if connection.una <= self.round_end {
            if window.in_slow_start() {
                slow_start(window, sample.acked_sacked);
            }
            return;
        }
        if self.samples <= SAMPLES {
            Reno.grow(connection, window, sample);
        } else {
            self.decide(connection, window, sample.acked_sacked);
        }
        self.start_round(connection);
    }

    fn delivered(&mut self, _: &Connection, _: &mut Window, sample: &AckSample) {
        if let Some(rtt) = sample.rtt.filter(|rtt| *rtt > Span::ZERO) {
            // One microsecond more, as in Linux, so that a round trip is never zero.
            let rtt = rtt.as_nanos() / 1000 + 1;
            self.base = self.base.min(rtt);
            self.least = self.least.min(rtt);
            self.samples += 1;
        }
    }

    fn set_recovery(&mut self, connection: &Connection, _: &mut Window, to: Recovery) {
        if to == Recovery::Open { self.enable(connection) } else { self.is_on = false }
    }

    fn event(&mut self, connection: &Connection, _: &mut Window, event: Event) {
        if matches!(event, Event::WindowRestart | Event::TransmitStart) {
            self.restart(connection);
        }
    }

    fn in_kernel(&self) -> Option<&'static str> {
        Some("vegas")
    }
}

#[cfg(test)]
mod tests {
    use super::super::minimal::{Link, MinimalTcp, connection, sample, window};
    use super::*;
    use qdelay_core::{Rate, Time};

    /// Window after a round with round trips of `rtt` and the base `base`, both microseconds.
    fn round(cwnd: u32, ssthresh: u32, base: u64, rtt: u64) -> Window {
        let mut vegas = Vegas::default();
        let mut w = window(cwnd, ssthresh);
        let before = connection(Time::ZERO);
        vegas.init(&before, &mut w, &mut Random::derive(1, "", ""));
        let took = |micros: u64| AckSample { rtt: Some(Span::from_micros(micros - 1)), ..sample(1) };
        vegas.delivered(&before, &mut w, &took(base));
        vegas.start_round(&before);
        (0..3).for_each(|_| vegas.delivered(&before, &mut w, &took(rtt)));
        vegas.grow(&Connection { una: before.nxt + 1, ..before }, &mut w, &sample(1));
        w
    }

    #[test]
    fn the_window_keeps_two_to_four_segments_in_the_queue() {
        // 20 segments, 10 ms: 1 waits at 10.5 ms, 3 at 11.5 ms, 5 at 12.5 ms.
        assert_eq!(round(20, 5, 10_000, 10_500).cwnd, 21);
        assert_eq!(round(20, 5, 10_000, 11_500).cwnd, 20);
        assert_eq!(round(20, 5, 10_000, 12_500).cwnd, 19);
    }

    #[test]
    fn slow_start_ends_where_more_than_one_waits() {
        let over = round(20, 100, 10_000, 12_500);
        assert_eq!((over.cwnd, over.ssthresh), (17, 17));
        let under = round(20, 100, 10_000, 10_200);
        assert_eq!((under.cwnd, under.ssthresh), (21, 100));
    }

    #[test]
    fn one_flow_fills_a_link_with_a_short_queue() {
        let link = Link::new(Rate::from_bps(12_000_000), Span::from_millis(40));
        let mut tcp = MinimalTcp::new(Vegas::default(), link, |_, _| false);
        tcp.run_until(Time::ZERO + Span::from_secs(20));
        // 40 ms at 12 Mbit/s are 40 segments.
        assert!((42..=45).contains(&tcp.window.cwnd), "{}", tcp.window.cwnd);
    }
}
