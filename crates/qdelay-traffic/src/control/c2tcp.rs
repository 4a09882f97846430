//! C2TCP: Cellular Controlled Delay TCP (Abbasloo, Li, Xu and Chao, IFIP Networking 2018; Abbasloo, Xu and Chao, "C2TCP: A
//! Flexible Cellular TCP to Meet Stringent Delay Requirements", IEEE JSAC 37(4), 2019), on top of [`Cubic`].
//!
//! Each round trip is compared with a *setpoint*, `alpha` times the minimum round trip of the connection:
//! * *good condition*, round trip at or below the setpoint: in addition to Cubic's growth the window grows by setpoint / round trip segments per
//!   window, and the state of the bad condition is reset;
//! * *normal condition*, above the setpoint for less than an interval: Cubic alone;
//! * *bad condition*, above the setpoint for longer: the threshold is set to Cubic's after a loss, and the window falls to one segment;
//!   slow start follows. While the condition lasts, the window falls again after interval / sqrt(1), interval / sqrt(2) and so on, like
//!   the drops of CoDel (RFC 8289). The interval is the setpoint.
//!
//! The *tuner* changes `alpha` each `tuning`, by the mean round trip of that time and the application's `target`. With a mean above the target
//! `alpha` is multiplied by 1 - 2 (mean - target) / mean, below the target by 1 + (target - mean) / (2 mean); `alpha` is clamped to 1 to 10.
//!
//! | parameter | default | source |
//! | --- | --- | --- |
//! | `setpoint` | none | fixed setpoint, as in the first version (IFIP 2018: 100 ms); no tuner then |
//! | `interval` | the setpoint | IFIP 2018 has 100 ms |
//! | `target` | twice the minimum round trip | the authors' program, if the application names none |
//! | `alpha` | 1.5 | the authors' program, first value |
//! | `tuning` | 500 ms | the authors' program; 0 disables the tuner |
//! | `hystart` | on | Cubic's |
//!
//! Differences from the papers, which follow the authors' program (a kernel patch and a tuner): setpoint / round trip is truncated to a whole
//! number; round trips in the first second after the window has begun to follow Cubic's law are ignored, as in Cubic. Differences from the
//! program: times are microseconds, not milliseconds; the square root is exact; the tuner acts at the first acknowledgement after its time; Cubic
//! is that of Linux 6.12, not of 4.13.

use super::cubic::HYSTART;
use super::{AckSample, AnyController, Connection, Controller, Cubic, CubicConfig, Event, Recovery, Window};
use crate::knobs;
use crate::profile::Profile;
use alloc::boxed::Box;
use qdelay_core::component::{Arguments, Component, Parameter, Typed};
use qdelay_core::{Random, Span, Time};

const SETPOINT: Typed<Option<Span>> = Typed::new(
    "setpoint",
    "",
    "Fixed setpoint of the round trip; default alpha times the minimum round trip",
)
.within("1ms", "10s")
.source("Abbasloo et al., IFIP Networking 2018, which has 100ms");
const INTERVAL: Typed<Option<Span>> =
    Typed::new("interval", "", "Time above the setpoint after which the window falls; default the setpoint")
        .within("1ms", "10s")
        .source("IFIP 2018 has 100ms; the setpoint in JSAC 2019");
const TARGET: Typed<Option<Span>> =
    Typed::new("target", "", "Mean round trip that the application requests; default twice the minimum")
        .within("1ms", "10s")
        .source("Abbasloo et al., JSAC 37(4), 2019; the default is their program's");
const ALPHA: Typed<f64> =
    Typed::new("alpha", "1.5", "Initial setpoint, as a multiple of the minimum round trip")
        .within("1", "10")
        .source("the authors' program");
const TUNING: Typed<Span> =
    Typed::new("tuning", "500ms", "Interval between changes of alpha; 0 disables the tuner")
        .within("0", "1min")
        .source("the authors' program");
static PARAMETERS: [Parameter; knobs::KNOBS.len() + 6] = knobs::with_knobs(&[
    SETPOINT.parameter(),
    INTERVAL.parameter(),
    TARGET.parameter(),
    ALPHA.parameter(),
    TUNING.parameter(),
    HYSTART.parameter(),
]);

pub(super) static COMPONENT: Component = knobs::component(
    "c2tcp",
    "TCP with C2TCP: Cubic whose round trips stay near a setpoint",
    "Abbasloo, Xu and Chao, IEEE JSAC 37(4), 2019",
    &PARAMETERS,
);

pub(super) fn build(arguments: &Arguments, _: &Profile) -> AnyController {
    let cubic = CubicConfig { hystart: arguments.get(&HYSTART), ..CubicConfig::default() };
    C2tcp::new(config(arguments), cubic).into()
}

fn config(arguments: &Arguments) -> C2tcpConfig {
    C2tcpConfig {
        setpoint: arguments.get(&SETPOINT),
        interval: arguments.get(&INTERVAL),
        target: arguments.get(&TARGET),
        alpha: arguments.get(&ALPHA),
        tuning: arguments.get(&TUNING),
    }
}

/// Range of `alpha`.
const ALPHAS: (f64, f64) = (1.0, 10.0);

/// Parameters of [`C2tcp`]; [`C2tcpConfig::default`] is the authors'.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct C2tcpConfig {
    /// Fixed setpoint; `None`: `alpha` times the minimum round trip.
    pub setpoint: Option<Span>,
    /// Time above the setpoint after which the window falls; `None`: the setpoint.
    pub interval: Option<Span>,
    /// Mean round trip that the application requests; `None`: twice the minimum.
    pub target: Option<Span>,
    /// Initial setpoint as a multiple of the minimum round trip, 1 to 10 (default 1.5; values outside are clamped).
    pub alpha: f64,
    /// Interval between changes of `alpha` (default 500 ms); zero disables the tuner.
    pub tuning: Span,
}

impl Default for C2tcpConfig {
    fn default() -> C2tcpConfig {
        config(&Arguments::defaults(&COMPONENT))
    }
}

/// The C2TCP controller.
#[derive(Clone, Debug)]
pub struct C2tcp {
    cubic: Cubic,
    /// Minimum round trip of the connection; [`Span::MAX`] before the first.
    least: Span,
    alpha: f64,
    /// Time at which the window falls next; `None` in good condition.
    next: Option<Time>,
    /// Number of falls of the window in this bad condition.
    fallen: u32,
    /// Sum of the round trips since the last tuning.
    sum: Span,
    samples: u32,
    tuned: Time,
    /// Boxed, so that connections of other controls do not become larger.
    config: Box<C2tcpConfig>,
}

impl Default for C2tcp {
    fn default() -> C2tcp {
        C2tcp::new(C2tcpConfig::default(), CubicConfig::default())
    }
}

impl C2tcp {
    /// A controller with parameters `config`, on top of a Cubic with parameters `cubic`.
    pub fn new(config: C2tcpConfig, cubic: CubicConfig) -> C2tcp {
        C2tcp {
            cubic: Cubic::new(cubic),
            least: Span::MAX,
            alpha: config.alpha.clamp(ALPHAS.0, ALPHAS.1),
            next: None,
            fallen: 0,
            sum: Span::ZERO,
            samples: 0,
            tuned: Time::ZERO,
            config: Box::new(config),
        }
    }

    fn setpoint(&self) -> Span {
        self.config.setpoint.unwrap_or_else(|| times(self.least, self.alpha))
    }

    fn tune(&mut self, now: Time) {
        let is_fixed = self.config.setpoint.is_some() || self.config.tuning.is_zero();
        if is_fixed || now.since(self.tuned) < self.config.tuning || self.samples == 0 {
            return;
        }
        let mean = (self.sum / u64::from(self.samples)).as_secs_f64();
        let target = self.config.target.unwrap_or(self.least * 2).as_secs_f64();
        let away = if mean > target { 2.0 * (target - mean) } else { 0.5 * (target - mean) };
        self.alpha = (self.alpha * (1.0 + away / mean)).clamp(ALPHAS.0, ALPHAS.1);
        (self.sum, self.samples, self.tuned) = (Span::ZERO, 0, now);
    }

    /// Grows the window in good condition, beside Cubic's growth.
    fn reward(&mut self, window: &mut Window, setpoint: Span, rtt: Span) {
        self.next = None;
        let ratio = setpoint.as_micros() / rtt.as_micros().max(1);
        let count = u64::from(window.cwnd_count).saturating_add(ratio);
        let cwnd = u64::from(window.cwnd.max(1));
        let grown = u64::from(window.cwnd).saturating_add(count / cwnd);
        window.cwnd = grown.min(u64::from(window.clamp)) as u32;
        window.cwnd_count = (count % cwnd) as u32;
    }

    /// Reduces the window to one segment: round trips were above the setpoint for the interval, or until the next time of CoDel's law.
    fn fall(&mut self, connection: &Connection, window: &mut Window, interval: Span) {
        self.fallen = self.fallen.saturating_add(1);
        self.next = Some(connection.now + times(interval, 1.0 / libm::sqrt(f64::from(self.fallen))));
        window.ssthresh = self.cubic.ssthresh(connection, window);
        window.cwnd = 1;
        window.cwnd_count = 0;
    }
}

impl Controller for C2tcp {
    fn init(&mut self, connection: &Connection, window: &mut Window, random: &mut Random) {
        self.cubic.init(connection, window, random);
        self.tuned = connection.now;
    }

    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        self.cubic.ssthresh(connection, window)
    }

    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        self.cubic.grow(connection, window, sample);
    }

    fn delivered(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        self.cubic.delivered(connection, window, sample);
        let Some(rtt) = sample.rtt else { return };
        if self.cubic.is_draining(connection) {
            return;
        }
        self.least = self.least.min(rtt);
        self.sum += rtt;
        self.samples += 1;
        self.tune(connection.now);
        let setpoint = self.setpoint();
        let interval = self.config.interval.unwrap_or(setpoint);
        match self.next {
            _ if rtt <= setpoint => self.reward(window, setpoint, rtt),
            None => {
                self.next = Some(connection.now + interval);
                self.fallen = 0;
            }
            Some(next) if connection.now > next => self.fall(connection, window, interval),
            Some(_) => {}
        }
    }

    fn set_recovery(&mut self, connection: &Connection, window: &mut Window, to: Recovery) {
        self.cubic.set_recovery(connection, window, to);
    }

    fn event(&mut self, connection: &Connection, window: &mut Window, event: Event) {
        self.cubic.event(connection, window, event);
    }

    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}

fn times(span: Span, factor: f64) -> Span {
    Span::from_secs_f64(span.as_secs_f64() * factor)
}

#[cfg(test)]
mod tests {
    use super::super::minimal::{Link, MinimalTcp, connection, sample, window};
    use super::*;
    use alloc::vec::Vec;
    use qdelay_core::Rate;

    const FIXED: Span = Span::from_millis(100);

    fn fixed() -> C2tcp {
        let config = C2tcpConfig { setpoint: Some(FIXED), ..C2tcpConfig::default() };
        C2tcp::new(config, CubicConfig { hystart: false, ..CubicConfig::default() })
    }

    /// Feeds acknowledgements of one segment, 1 ms apart, with round trips `rtts`, ms; returns the times at which the window fell, ms.
    fn fed(c2tcp: &mut C2tcp, w: &mut Window, from: u64, rtts: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut falls = Vec::new();
        for (n, rtt) in rtts.enumerate() {
            let c = connection(Time::ZERO + Span::from_millis(from + n as u64));
            let taken = AckSample { rtt: Some(Span::from_millis(rtt)), ..sample(1) };
            let before = w.cwnd;
            c2tcp.delivered(&c, w, &taken);
            if w.cwnd < before {
                assert_eq!((w.cwnd, w.cwnd_count), (1, 0));
                falls.push(from + n as u64);
                *w = window(before, w.ssthresh);
            }
        }
        falls
    }

    /// RFC 8289's law: the n-th reaction comes interval / sqrt(n) before the next.
    #[test]
    fn the_window_falls_as_codel_drops() {
        let mut w = window(50, 25);
        let falls = fed(&mut fixed(), &mut w, 0, core::iter::repeat_n(101, 600));
        // 100 ms after the first acknowledgement, then after further 100 / sqrt(1), 100 / sqrt(2), ... ms, each rounded up to a millisecond.
        let mut expected = Vec::new();
        let mut next = 100.0;
        for n in 1..=20 {
            let at = libm::floor(next) + 1.0;
            expected.push(at as u64);
            next = at + 100.0 / libm::sqrt(f64::from(n));
        }
        expected.retain(|at| *at < 600);
        assert_eq!(falls, expected);
    }

    #[test]
    fn one_good_round_trip_resets_the_bad_condition() {
        let mut w = window(50, 25);
        let mostly = (0..600).map(|n| if n % 90 == 89 { 100 } else { 300 });
        assert_eq!(fed(&mut fixed(), &mut w, 0, mostly), [0; 0]);
    }

    /// Cubic's threshold: 717 / 1024 of 50 segments.
    #[test]
    fn the_threshold_is_that_of_a_loss() {
        let (mut c2tcp, mut w) = (fixed(), window(50, u32::MAX));
        fed(&mut c2tcp, &mut w, 0, core::iter::repeat_n(101, 102));
        assert_eq!((w.ssthresh, c2tcp.cubic.last_max()), (35, 50));
    }

    /// The additional growth is floor(100 / rtt) segments per window.
    #[test]
    fn good_round_trips_are_rewarded() {
        for (rtt, rounds, cwnd) in [(100, 4, 54), (51, 4, 54), (50, 4, 58), (20, 4, 70)] {
            let mut w = window(50, 25);
            // The number of acknowledgements in `rounds` growing windows.
            let ratio: u64 = 100 / rtt;
            let acks: u64 = (0..rounds * ratio).map(|n| (50 + n).div_ceil(ratio)).sum();
            fed(&mut fixed(), &mut w, 0, core::iter::repeat_n(rtt, acks as usize));
            assert!(w.cwnd.abs_diff(cwnd) <= 2, "{rtt}: {}", w.cwnd);
        }
    }

    /// With a target of 20 ms a mean of 30 ms multiplies `alpha` by 1/3, and one of 16 ms by 1.125, clamped to 1 to 10 (JSAC 2019).
    #[test]
    fn the_tuner_follows_the_target() {
        let config =
            C2tcpConfig { target: Some(Span::from_millis(20)), alpha: 6.0, ..C2tcpConfig::default() };
        let tuned = |rtts: &[u64]| {
            let mut c2tcp = C2tcp::new(config, CubicConfig::default());
            for (n, rtt) in rtts.iter().enumerate() {
                c2tcp.least = Span::from_millis(10);
                c2tcp.sum = Span::from_millis(*rtt) * 7;
                c2tcp.samples = 7;
                c2tcp.tune(Time::ZERO + Span::from_millis(500 * (n as u64 + 1)));
            }
            c2tcp.alpha
        };
        assert!((tuned(&[30]) - 2.0).abs() < 1e-9);
        assert!((tuned(&[16]) - 6.75).abs() < 1e-9);
        assert!((tuned(&[30, 30, 30]) - 1.0).abs() < 1e-9);
        assert!((tuned(&[11; 20]) - 10.0).abs() < 1e-9);
    }

    /// Over a deep buffer, Cubic's mean round trip becomes seconds; C2TCP's stays near the target, and the link is used.
    #[test]
    fn the_mean_round_trip_is_near_the_target() {
        for millis in [60, 100, 160] {
            let link = Link { buffer: 2000, ..Link::new(Rate::from_mbps(12.0), Span::from_millis(40)) };
            let config = C2tcpConfig { target: Some(Span::from_millis(millis)), ..C2tcpConfig::default() };
            let mut tcp = MinimalTcp::new(C2tcp::new(config, CubicConfig::default()), link, |_, _| false);
            tcp.run_until(Time::ZERO + Span::from_secs(10));
            let (mut sum, mut count) = (0.0, 0.0);
            let before = tcp.connection.delivered;
            for n in 0..4000 {
                tcp.run_until(Time::ZERO + Span::from_millis(10_000 + 10 * n));
                sum += tcp.link.free.since(tcp.connection.now).as_millis_f64() + 40.0;
                count += 1.0;
            }
            let used = (tcp.connection.delivered - before) as f64 / 40_000.0;
            let mean = sum / count;
            assert!(mean < millis as f64 * 1.25 && used > 0.85, "{millis}: {mean} ms, {used}");
        }
    }
}
