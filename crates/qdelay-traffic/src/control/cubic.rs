//! CUBIC (RFC 9438), as in Linux 6.12 (`tcp_cubic.c`).
//!
//! Slow start is that of Reno, and ends by [HyStart](super::hystart) or by a loss. A loss multiplies the window by `beta`; between
//! losses the window follows the cubic law, and grows at least as fast as Reno's.
//!
//! | parameter | default | source |
//! | --- | --- | --- |
//! | `hz` | 250 a second | the kernel's clock (`CONFIG_HZ`); sets how often the curve is followed |
//! | `hystart` | on | module parameter `hystart` |
//! | `fast_convergence` | on | RFC 9438 section 4.7 |
//! | `tcp_friendliness` | on | RFC 9438 section 4.3 |
//! | `beta` | 717 / 1024 | RFC 9438 section 4.6 (0.7) |
//! | `paced` | off | whether the sender is paced (the fq discipline); HyStart allows for pacing |
//!
//! Differences from the reference (Linux): see the cubic law (an exact cube root) and HyStart; otherwise the same after each
//! call as the functions of Linux 6.12.117, compiled outside the kernel, over millions of calls. From RFC 9438: after a
//! timeout W_max is forgotten, and a spurious reduction restores the window only, both as in Linux.

use super::cubic_law::{BETA_SCALE, Law};
use super::hystart::Hystart;
use super::jiffies::Jiffies;
use super::reno::{avoid_congestion, slow_start};
use super::{AckSample, AnyController, Connection, Controller, Event, Ns3Cubic, Recovery, Window};
use crate::knobs;
use crate::profile::{Profile, RecoveryRule};
use qdelay_core::Random;
use qdelay_core::component::{Arguments, Component, Parameter, Typed};

pub(super) const HYSTART: Typed<bool> =
    Typed::new("hystart", "on", "HyStart: slow start may end before a loss")
        .source("Linux tcp_cubic.c, module parameter hystart");
static PARAMETERS: [Parameter; knobs::KNOBS.len() + 1] = knobs::with_knobs(&[HYSTART.parameter()]);

pub(super) static COMPONENT: Component =
    knobs::component("cubic", "TCP with CUBIC, Linux's default", "RFC 9438; Linux tcp_cubic.c", &PARAMETERS);

pub(super) fn build(arguments: &Arguments, profile: &Profile) -> AnyController {
    let hystart = arguments.get(&HYSTART);
    match profile.recovery_rule {
        RecoveryRule::Linux => Cubic::new(CubicConfig { hystart, ..CubicConfig::default() }).into(),
        RecoveryRule::Ns3 => Ns3Cubic::new(hystart).into(),
    }
}

/// Parameters of [`Cubic`]; [`CubicConfig::default`] is Linux's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubicConfig {
    /// Ticks of the kernel's clock a second, 1 to 1,000,000 (default 250; values outside are clamped).
    pub hz: u32,
    /// Whether HyStart may end slow start (default true).
    pub hystart: bool,
    /// Whether a flow that did not reach its former window gives up more of it (default true).
    pub fast_convergence: bool,
    /// Whether growth is at least Reno's (default true).
    pub tcp_friendliness: bool,
    /// Factor on the window at a reduction, in 1/1024, 1 to 1023 (default 717; values outside are clamped).
    pub beta: u32,
    /// Whether the sender is paced (default false); HyStart allows for pacing.
    pub paced: bool,
}

impl Default for CubicConfig {
    fn default() -> CubicConfig {
        CubicConfig {
            hz: 250,
            hystart: Arguments::defaults(&COMPONENT).get(&HYSTART),
            fast_convergence: true,
            tcp_friendliness: true,
            beta: 717,
            paced: false,
        }
    }
}

/// The CUBIC controller.
#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    law: Law,
    hystart: Hystart,
    /// The smallest round trip, microseconds; zero before the first.
    min_rtt: u32,
    jiffies: Jiffies,
    config: CubicConfig,
}

impl Default for Cubic {
    fn default() -> Cubic {
        Cubic::new(CubicConfig::default())
    }
}

impl Cubic {
    /// A controller with these parameters.
    pub fn new(config: CubicConfig) -> Cubic {
        let beta = config.beta.clamp(1, BETA_SCALE - 1);
        let jiffies = Jiffies::new(config.hz);
        // `reno_scale` is 8 / alpha, with alpha = 3 (1 - beta) / (1 + beta) segments per round trip (RFC 9438 section 4.3).
        let reno_scale = 8 * (BETA_SCALE + beta) / 3 / (BETA_SCALE - beta);
        Cubic {
            law: Law::new(jiffies.hz(), config.tcp_friendliness.then_some(reno_scale)),
            hystart: Hystart::new(config.paced),
            min_rtt: 0,
            jiffies,
            config: CubicConfig { beta, ..config },
        }
    }

    /// W_max: the window to return to, segments; zero before the first reduction.
    pub fn last_max(&self) -> u32 {
        self.law.last_max()
    }

    /// Whether a draining queue may inflate round trips: in the first second of an epoch of the cubic law, after a reduction.
    #[inline]
    pub(super) fn is_draining(&mut self, connection: &Connection) -> bool {
        self.law.epoch_start().is_some_and(|start| {
            self.jiffies.ticks(connection.now).saturating_sub(start) < u64::from(self.jiffies.hz())
        })
    }

    fn reset(&mut self, connection: &Connection) {
        self.law.reset();
        self.min_rtt = 0;
        self.hystart.restart(connection);
    }
}

impl Controller for Cubic {
    fn init(&mut self, connection: &Connection, _: &mut Window, _: &mut Random) {
        self.reset(connection);
    }

    fn ssthresh(&mut self, _: &Connection, window: &Window) -> u32 {
        self.law.reduce(window.cwnd, self.config.fast_convergence.then_some(self.config.beta));
        let reduced = u64::from(window.cwnd) * u64::from(self.config.beta) / u64::from(BETA_SCALE);
        (reduced as u32).max(2)
    }

    #[inline]
    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        if !connection.window_limited {
            return;
        }
        let left = slow_start(window, sample.acked_sacked);
        if left == 0 {
            return;
        }
        let tick = self.jiffies.ticks(connection.now);
        let per_segment = self.law.per_segment(window.cwnd, left, tick, self.min_rtt);
        avoid_congestion(window, per_segment, left);
    }

    #[inline]
    fn delivered(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        let Some(rtt) = sample.rtt else { return };
        if self.is_draining(connection) {
            return;
        }
        let rtt = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX).max(1);
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if self.config.hystart && window.in_slow_start() && !self.hystart.found() {
            self.hystart.sample(connection, window, rtt, self.min_rtt);
        }
    }

    fn set_recovery(&mut self, connection: &Connection, _: &mut Window, to: Recovery) {
        if to == Recovery::Loss {
            self.reset(connection);
        }
    }

    fn event(&mut self, connection: &Connection, _: &mut Window, event: Event) {
        if event == Event::TransmitStart {
            let last = self.jiffies.ticks(connection.last_sent);
            let tick = self.jiffies.ticks(connection.now);
            self.law.skip_idle(tick, tick.saturating_sub(last));
        }
    }

    fn in_kernel(&self) -> Option<&'static str> {
        self.config.hystart.then_some("cubic")
    }
}

#[cfg(test)]
mod tests {
    use super::super::minimal::{Link, MinimalTcp, connection, sample, window};
    use super::*;
    use alloc::vec::Vec;
    use qdelay_core::{Rate, Span, Time};

    /// A controller right after a reduction from a window of `last_max` segments, with the smallest round trip `rtt`.
    fn reduced(config: CubicConfig, last_max: u32, rtt: Span) -> (Cubic, Window, Connection) {
        let mut cubic = Cubic::new(config);
        let c = connection(Time::ZERO + Span::from_secs(10));
        let mut w = window(last_max, last_max);
        cubic.delivered(&c, &mut w, &AckSample { rtt: Some(rtt), ..sample(1) });
        let ssthresh = cubic.ssthresh(&c, &w);
        (cubic, window(ssthresh, ssthresh), c)
    }

    /// Feeds acknowledgements spread evenly over each round trip; returns the window at the end of each round trip, segments.
    fn windows(
        cubic: &mut Cubic,
        w: &mut Window,
        c: &mut Connection,
        rtt: Span,
        rounds: usize,
    ) -> Vec<(f64, u32)> {
        let start = c.now;
        let mut out = Vec::new();
        while out.len() < rounds {
            let end = c.now + rtt;
            while c.now < end {
                c.now += rtt / u64::from(w.cwnd);
                cubic.grow(c, w, &sample(1));
            }
            out.push((c.now.since(start).as_secs_f64(), w.cwnd));
        }
        out
    }

    /// RFC 9438 section 4.2: W(t) = C (t - K)^3 + W_max, with K the time at which W_max is reached.
    #[test]
    fn window_follows_the_curve() {
        let rtt = Span::from_millis(200);
        for last_max in [200u32, 1_000] {
            let config = CubicConfig { tcp_friendliness: false, ..CubicConfig::default() };
            let (mut cubic, mut w, mut c) = reduced(config, last_max, rtt);
            assert_eq!(w.cwnd, last_max * 717 / 1024);
            let k = libm::cbrt(f64::from(last_max - w.cwnd) / 0.4);
            for (time, cwnd) in windows(&mut cubic, &mut w, &mut c, rtt, (2.0 * k / 0.2) as usize) {
                let curve = 0.4 * (time - k) * (time - k) * (time - k) + f64::from(last_max);
                // The steepest part (about 30 segments a second) may lag by a fraction of a round trip.
                let tolerance = 2.0 + 0.004 * f64::from(last_max);
                assert!(
                    (f64::from(cwnd) - curve).abs() < tolerance,
                    "{last_max}: {cwnd} not {curve} at {time}"
                );
            }
        }
    }

    /// RFC 9438 section 4.3: alpha = 3 (1 - beta) / (1 + beta) = 0.53 segments per round trip where that is faster.
    #[test]
    fn friendly_region_grows_like_reno() {
        let rtt = Span::from_millis(10);
        let (mut cubic, mut w, mut c) = reduced(CubicConfig::default(), 40, rtt);
        let seen = windows(&mut cubic, &mut w, &mut c, rtt, 40);
        let slope = f64::from(seen[39].1 - seen[9].1) / 30.0;
        assert!((slope - 0.53).abs() < 0.08, "{slope}");
        let config = CubicConfig { tcp_friendliness: false, ..CubicConfig::default() };
        let (mut cubic, mut w, mut c) = reduced(config, 40, rtt);
        let seen = windows(&mut cubic, &mut w, &mut c, rtt, 40);
        assert!(seen[39].1 < 40);
    }

    #[test]
    fn idle_time_shifts_the_curve() {
        let rtt = Span::from_millis(100);
        let config = CubicConfig { tcp_friendliness: false, ..CubicConfig::default() };
        let grown = |idle: Span| {
            let (mut cubic, mut w, mut c) = reduced(config, 500, rtt);
            windows(&mut cubic, &mut w, &mut c, rtt, 20);
            c.last_sent = c.now;
            c.now += idle;
            cubic.event(&c, &mut w, Event::TransmitStart);
            windows(&mut cubic, &mut w, &mut c, rtt, 20).last().map(|(_, cwnd)| *cwnd)
        };
        assert_eq!(grown(Span::ZERO), grown(Span::from_secs(8)));
    }

    #[test]
    fn smallest_round_trip_ignores_the_second_after_an_epoch_begins() {
        let (mut cubic, mut w, mut c) = reduced(CubicConfig::default(), 100, Span::from_millis(100));
        cubic.grow(&c, &mut w, &sample(1));
        let short = AckSample { rtt: Some(Span::from_nanos(10)), ..sample(1) };
        c.now += Span::from_millis(992);
        cubic.delivered(&c, &mut w, &short);
        assert_eq!(cubic.min_rtt, 100_000);
        c.now += Span::from_millis(8);
        cubic.delivered(&c, &mut w, &short);
        assert_eq!(cubic.min_rtt, 1);
    }

    #[test]
    fn a_timeout_discards_w_max_and_the_epoch() {
        let (mut cubic, mut w, c) = reduced(CubicConfig::default(), 100, Span::from_millis(100));
        assert_eq!(cubic.last_max(), 100);
        cubic.set_recovery(&c, &mut w, Recovery::Loss);
        assert_eq!((cubic.last_max(), cubic.min_rtt, cubic.hystart.found()), (0, 0, false));
    }

    /// A path of 10 Mbit/s and 40 ms holds 33 segments. HyStart ends slow start near that window for a train of half the round trip, and
    /// near twice that for a train of a whole one (paced). Without HyStart the buffer of 200 segments overflows.
    #[test]
    fn hystart_leaves_slow_start_near_the_capacity() {
        let slow_start_ends_at = |config: CubicConfig| {
            let link = Link { buffer: 200, ..Link::new(Rate::from_mbps(10.0), Span::from_millis(40)) };
            let mut tcp = MinimalTcp::new(Cubic::new(config), link, |_, _| false);
            while tcp.window.ssthresh == u32::MAX {
                let next = tcp.connection.now + Span::from_millis(1);
                tcp.run_until(next);
            }
            (tcp.window.ssthresh, tcp.connection.lost)
        };
        let (exit, lost) = slow_start_ends_at(CubicConfig::default());
        assert!((16..=50).contains(&exit) && lost == 0, "{exit}");
        let (exit, lost) = slow_start_ends_at(CubicConfig { paced: true, ..CubicConfig::default() });
        assert!((33..=80).contains(&exit) && lost == 0, "{exit}");
        let (exit, lost) = slow_start_ends_at(CubicConfig { hystart: false, ..CubicConfig::default() });
        assert!(exit > 150 && lost > 0, "{exit}");
    }

    /// Window, threshold and count every two seconds equal those of Linux 6.12.117's own functions (with an exact cube root) for
    /// the same acknowledgements: 1 loss in 1777, a buffer of 100 segments, and a link of 10, then 4, then 20 Mbit/s.
    #[test]
    fn same_as_linux() {
        let expected: [(u32, u32, u32); 12] = [
            (116, 38, 6),
            (115, 87, 24),
            (97, 82, 111),
            (82, 69, 23),
            (63, 58, 19),
            (82, 58, 32),
            (84, 58, 534),
            (45, 41, 14),
            (49, 40, 48),
            (55, 40, 114),
            (45, 40, 71),
            (51, 40, 29),
        ];
        let link = Link { buffer: 100, ..Link::new(Rate::from_mbps(10.0), Span::from_millis(40)) };
        let mut tcp =
            MinimalTcp::new(Cubic::new(CubicConfig::default()), link, |_, sequence| sequence % 1777 == 1776);
        for (i, expected) in expected.into_iter().enumerate() {
            tcp.run_until(Time::ZERO + Span::from_secs(2 * (i as u64 + 1)));
            assert_eq!((tcp.window.cwnd, tcp.window.ssthresh, tcp.window.cwnd_count), expected, "{i}");
            match i {
                3 => tcp.link.rate = Rate::from_mbps(4.0),
                6 => tcp.link.rate = Rate::from_mbps(20.0),
                _ => {}
            }
        }
    }
}
