//! Sources of datagrams: constant rate, on-off, calls, games, and the probe that measures the delay of a queue.

use crate::interval::Interval;
use crate::source::{CustomSource, RunningSource};
use crate::voice::Call;
use alloc::format;
use alloc::string::ToString;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use qdelay_core::{Random, Rate, Span, Time};

/// Smallest IP packet of a datagram, bytes: an IPv4 and a UDP header.
const BYTES_MIN: u32 = 28;
/// Largest IP packet, bytes.
const BYTES_MAX: u32 = 65_535;

/// Largest number of exponential on periods between two datagrams: each period costs a random draw.
const MOST_PERIODS: u64 = 10_000;

const RATE: Typed<Rate> = Typed::new("rate", "2mbit", "Rate of IP packets while on")
    .within("1bit", "")
    .source("BoDe section VII-C");
const SIZE: Typed<u64> =
    Typed::new("size", "1200b", "IP packet size").unit(Unit::Bytes).within("28", "65535");
const ON: Typed<Option<Span>> =
    Typed::new("on", "", "Mean length of the on periods; default always on").within("1us", "");
const OFF: Typed<Span> = Typed::new("off", "0", "Mean length of the off periods");
const PERIODS: Typed<str> = Typed::new("periods", "constant", "Distribution of the period lengths")
    .unit(Unit::Choice(&["constant", "exponential"]));
pub(crate) const PHASE: Typed<Span> =
    Typed::new("phase", "0", "Time from the start of the flow to its first datagram");
pub(crate) const ECHO: Typed<bool> = Typed::new(
    "echo",
    "off",
    "Whether the far end sends each datagram back, so that round trips are measured",
)
.source("off; as irtt does");

static COMPONENT: Component =
    Component::new(Kind::Transport, "udp", "Datagrams at a constant rate, or on and off")
        .source("BoDe section VII-C")
        .with(&[
            RATE.parameter(),
            SIZE.parameter(),
            ON.parameter(),
            OFF.parameter(),
            PERIODS.parameter(),
            PHASE.parameter(),
            ECHO.parameter(),
        ])
        .positional("rate");
pub(crate) const COMPONENTS: &[&Component] = &[&COMPONENT];

pub(crate) fn build(arguments: &Arguments) -> Result<UdpConfig, ComponentError> {
    let (on, off) = (arguments.get(&ON), arguments.get(&OFF));
    if on.is_none() && !off.is_zero() {
        let message = "off is given without on; expected both, or neither for a constant rate".to_string();
        return Err(arguments.fail(message));
    }
    let bytes = arguments.get(&SIZE) as u32;
    let gap = Interval::at_rate(arguments.get(&RATE), bytes);
    let exponential = arguments.get(&PERIODS) == "exponential";
    if gap.whole().is_zero() {
        return Err(arguments.fail(format!(
            "a datagram of {bytes} bytes every {:.2} ns; expected at least 1 ns: a lower rate or larger datagrams",
            gap.as_nanos_f64()
        )));
    }
    if let Some(on) = on
        && exponential
        && gap.whole() / MOST_PERIODS > on
    {
        return Err(arguments.fail(format!(
            "on periods of {on} for datagrams every {}; expected at most {MOST_PERIODS} on periods for a datagram",
            gap.whole()
        )));
    }
    let gaps = Gaps::OnOff { gap, on: on.unwrap_or(Span::MAX), off, exponential };
    Ok(UdpConfig::new(bytes, gaps).with_common(arguments))
}

/// Settings of a flow of datagrams.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UdpConfig {
    /// IP packet size in bytes.
    pub bytes: u32,
    /// Time from the start of the flow to its first datagram. If the interval of a flow is a multiple of the TTI of a cell, all packets of the
    /// flow arrive at the same offset within a TTI; the phase sets that offset.
    pub phase: Span,
    /// Times between datagrams.
    pub gaps: Gaps,
    /// Whether the far end sends each datagram back with the same size.
    pub echo: bool,
    /// Codec and playout of the listener if the datagrams carry speech; `None` otherwise. The datagrams sent do not depend on it.
    pub call: Option<Call>,
}

/// Rule for the times between a source's datagrams.
#[derive(Clone, Debug, PartialEq)]
pub enum Gaps {
    /// Constant while on. A gap that an on period cuts off continues in the next on period, so that the rate while on is exact for any
    /// lengths of the periods. With constant periods, or without off periods, nothing is random.
    OnOff {
        /// Time from one datagram to the next while on.
        gap: Interval,
        /// Mean length of the on periods; [`Span::MAX`] for always on.
        on: Span,
        /// Mean length of the off periods.
        off: Span,
        /// Whether period lengths are exponential; constant otherwise.
        exponential: bool,
    },
    /// Multiples of a codec's interval: one in a talk spurt, more over a pause. The codec's clock continues through the pause, so that the phase
    /// is constant. Talk spurts and pauses have exponential lengths, rounded up to whole intervals.
    Spurts {
        /// Time from one packet of the codec to the next.
        gap: Span,
        /// Mean length of a talk spurt.
        talk: Span,
        /// Mean length of a pause.
        pause: Span,
    },
    /// Normally distributed; a gap of zero or less is drawn again.
    Normal {
        /// Mean before the cut at zero.
        mean: Span,
        /// Standard deviation before the cut at zero.
        deviation: Span,
    },
    /// Uniform, both ends included.
    Uniform {
        /// Shortest gap.
        low: Span,
        /// Longest gap.
        high: Span,
    },
    /// The times and sizes of a source from outside.
    Custom(CustomSource),
}

impl UdpConfig {
    /// Datagrams of `bytes` bytes at a constant rate of IP packets, one way.
    pub fn at_rate(rate: Rate, bytes: u32) -> UdpConfig {
        UdpConfig::new(bytes, Gaps::always(Interval::at_rate(rate, bytes)))
    }

    /// Datagrams of `bytes` bytes from the start of the flow on, one way.
    pub const fn new(bytes: u32, gaps: Gaps) -> UdpConfig {
        UdpConfig { bytes, phase: Span::ZERO, gaps, echo: false, call: None }
    }

    /// These settings with the values of the parameters [`PHASE`] and [`ECHO`].
    pub(crate) fn with_common(self, arguments: &Arguments) -> UdpConfig {
        UdpConfig { phase: arguments.get(&PHASE), echo: arguments.get(&ECHO), ..self }
    }
}

impl Gaps {
    /// A constant gap.
    pub fn constant(gap: Span) -> Gaps {
        Gaps::always(gap.into())
    }

    const fn always(gap: Interval) -> Gaps {
        Gaps::OnOff { gap, on: Span::MAX, off: Span::ZERO, exponential: false }
    }

    /// The gap in whole nanoseconds; `None` unless it is constant.
    pub fn as_constant(&self) -> Option<Span> {
        match *self {
            Gaps::OnOff { gap, on: Span::MAX, .. } => Some(gap.whole()),
            _ => None,
        }
    }
}

/// A source of datagrams, numbered from 0; the next datagram has the number [`UdpSource::sent`].
#[derive(Clone, Debug)]
pub struct UdpSource {
    gaps: Gaps,
    /// The source from outside; `None` for built-in gaps.
    running: Option<RunningSource>,
    /// Size of the next datagram, IP bytes.
    bytes: u32,
    random: Random,
    next: Time,
    sent: u64,
    /// Fraction of a nanosecond left over from the gaps so far: see [`Interval::next`].
    carry: u64,
    /// End of the current on period.
    on_until: Time,
    /// Number of packets that remain in the talk spurt after the next packet.
    left: u64,
}

impl UdpSource {
    /// A source of a flow that starts at `start`.
    pub fn new(config: UdpConfig, start: Time, mut random: Random) -> UdpSource {
        let next = start + config.phase;
        let (mut on_until, mut left) = (Time::NEVER, 0);
        match config.gaps {
            Gaps::OnOff { on, exponential, .. } => on_until = next + period(on, exponential, &mut random),
            Gaps::Spurts { gap, talk, .. } => left = intervals(gap, talk, &mut random).saturating_sub(1),
            Gaps::Normal { .. } | Gaps::Uniform { .. } | Gaps::Custom(_) => {}
        }
        let running = if let Gaps::Custom(source) = &config.gaps { Some(source.start()) } else { None };
        let UdpConfig { bytes, gaps, .. } = config;
        let mut source = UdpSource { gaps, running, bytes, random, next, sent: 0, carry: 0, on_until, left };
        source.schedule_custom();
        source
    }

    /// A probe: packets of `bytes` bytes with gaps uniform between `low` and `high`.
    pub fn probe(bytes: u32, low: Span, high: Span, start: Time, random: Random) -> UdpSource {
        UdpSource::new(UdpConfig::new(bytes, Gaps::Uniform { low, high }), start, random)
    }

    /// Send time of the next datagram.
    pub fn next_deadline(&self) -> Time {
        self.next
    }
    /// Datagrams sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends the next datagram if it is due; returns its size, IP bytes.
    pub fn poll(&mut self, now: Time) -> Option<u32> {
        if now < self.next {
            return None;
        }
        self.sent += 1;
        let bytes = self.bytes;
        debug_assert!(
            self.carry == 0 || matches!(self.gaps, Gaps::OnOff { .. }),
            "a carry without a constant gap"
        );
        match self.gaps {
            Gaps::OnOff { gap, on, off, exponential } => {
                let gap = gap.next(&mut self.carry);
                self.pass(gap, on, off, exponential);
            }
            Gaps::Spurts { gap, talk, pause } => {
                let mut gaps = 1;
                if self.left == 0 {
                    gaps += intervals(gap, pause, &mut self.random);
                    self.left = intervals(gap, talk, &mut self.random);
                }
                self.left = self.left.saturating_sub(1);
                self.next += gap * gaps;
            }
            Gaps::Normal { mean, deviation } => self.next += normal(mean, deviation, &mut self.random),
            Gaps::Uniform { low, high } => {
                let width = high.saturating_sub(low).as_nanos();
                self.next += low + Span::from_nanos(self.random.below(width.saturating_add(1)));
            }
            Gaps::Custom(_) => self.schedule_custom(),
        }
        Some(bytes)
    }

    /// Advances the next send time by `left` of on time, skipping off periods.
    #[inline]
    fn pass(&mut self, mut left: Span, on: Span, off: Span, exponential: bool) {
        if on == Span::MAX {
            self.next += left;
            return;
        }
        while left >= self.on_until.since(self.next) {
            left = left - self.on_until.since(self.next);
            self.next = self.on_until + period(off, exponential, &mut self.random);
            if !exponential {
                // All whole cycles are skipped in one step.
                let cycles = left.as_nanos() / on.as_nanos().max(1);
                self.next += (on + off) * cycles;
                left = left - on * cycles;
            }
            self.on_until = self.next + period(on, exponential, &mut self.random).max(Span::from_nanos(1));
        }
        self.next += left;
    }

    /// Asks a source from outside for its next datagram.
    fn schedule_custom(&mut self) {
        let Some(running) = &mut self.running else { return };
        match running.next(&mut self.random) {
            Some((gap, bytes)) => {
                (self.next, self.bytes) = (self.next + gap, bytes.clamp(BYTES_MIN, BYTES_MAX))
            }
            None => self.next = Time::NEVER,
        }
    }
}

fn period(mean: Span, exponential: bool, random: &mut Random) -> Span {
    if mean == Span::MAX || !exponential {
        return mean;
    }
    Span::from_secs_f64(mean.as_secs_f64() * random.exponential())
}

/// An exponential length in whole intervals, at least one.
fn intervals(interval: Span, mean: Span, random: &mut Random) -> u64 {
    let length = period(mean, true, random).as_nanos();
    length.div_ceil(interval.as_nanos().max(1)).max(1)
}

/// A normal draw above zero. With a mean above zero at least half of the draws are, so the loop ends.
fn normal(mean: Span, deviation: Span, random: &mut Random) -> Span {
    if mean.is_zero() {
        return Span::from_nanos(1);
    }
    loop {
        let gap = mean.as_secs_f64() + deviation.as_secs_f64() * random.normal();
        let gap = if gap > 0.0 { Span::from_secs_f64(gap) } else { Span::ZERO };
        if !gap.is_zero() {
            return gap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const START: Time = Time::from_nanos(7_000_000);

    fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    fn random() -> Random {
        Random::derive(1, "udp", "test")
    }

    fn count(mut source: UdpSource, seconds: u64) -> u64 {
        let end = Time::ZERO + Span::from_secs(seconds);
        while source.next_deadline() < end {
            let now = source.next_deadline();
            assert!(source.poll(now).is_some());
        }
        source.sent()
    }

    /// Gaps between the first `number` datagrams, ms.
    fn gaps(config: UdpConfig, number: usize) -> Vec<f64> {
        let mut source = UdpSource::new(config.clone(), START, random());
        assert_eq!(source.next_deadline(), START + config.phase);
        let gap = |_| {
            let now = source.next_deadline();
            assert_eq!(source.poll(now - Span::from_nanos(1)), None);
            assert_eq!(source.poll(now), Some(config.bytes));
            source.next_deadline().since(now).as_millis_f64()
        };
        (0..number).map(gap).collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / values.len() as f64;
        (mean, libm::sqrt(square))
    }

    #[test]
    fn constant_on_off_and_probe_sources_have_their_rates() {
        let constant = UdpConfig::at_rate(Rate::from_bps(1_000_000), 1250);
        assert_eq!(constant.gaps.as_constant(), Some(ms(10)));
        assert_eq!(count(UdpSource::new(constant, Time::ZERO, random()), 10), 1000);
        let on_off = |exponential| {
            let gaps = Gaps::OnOff { gap: ms(10).into(), on: ms(500), off: ms(500), exponential };
            assert_eq!(gaps.as_constant(), None);
            UdpConfig::new(1250, gaps)
        };
        assert_eq!(count(UdpSource::new(on_off(false), Time::ZERO, random()), 10), 500);
        let sent = count(UdpSource::new(on_off(true), Time::ZERO, random()), 2000) as f64;
        assert!((sent / 100_000.0 - 1.0).abs() < 0.1, "{sent}");
        let probe = UdpSource::probe(64, ms(5), ms(15), Time::ZERO, random());
        let sent = count(probe, 100) as f64;
        assert!((sent / 10_000.0 - 1.0).abs() < 0.02, "{sent}");
    }

    /// Periods shorter than a gap, no multiple of a gap, and without off periods: half or all of the rate.
    #[test]
    fn the_rate_while_on_is_exact_for_any_periods() {
        let half = |gap: u64, on: u64, exponential| {
            let gaps = Gaps::OnOff { gap: ms(gap).into(), on: ms(on), off: ms(on), exponential };
            count(UdpSource::new(UdpConfig::new(1250, gaps), Time::ZERO, random()), 10_000) as f64
                / (10_000_000.0 / gap as f64 / 2.0)
        };
        for (gap, on) in [(96, 10), (25, 20), (96, 1000), (7, 3), (1000, 1)] {
            assert!((half(gap, on, false) - 1.0).abs() < 2e-3, "{gap} {on}: {}", half(gap, on, false));
            assert!((half(gap, on, true) - 1.0).abs() < 0.1, "{gap} {on}: {}", half(gap, on, true));
        }
        let gap = Interval::at_rate(Rate::from_bps(1_000_000), 1200);
        let gaps = Gaps::OnOff { gap, on: Span::from_micros(1), off: Span::ZERO, exponential: false };
        assert_eq!(count(UdpSource::new(UdpConfig::new(1200, gaps), Time::ZERO, random()), 96), 10_000);
    }

    #[test]
    fn gaps_below_a_nanosecond_are_refused() {
        let build = |text: &str| build(&Arguments::parse(COMPONENTS, text).unwrap());
        let refused = |text: &str| build(text).unwrap_err().to_string();
        assert!(refused("udp:600gbit:size=64b").contains("every 0.85 ns; expected at least 1 ns"));
        assert!(refused("udp:1bit:on=1us:periods=exponential").contains("expected at most 10000 on periods"));
        let sent =
            |text: &str, seconds| count(UdpSource::new(build(text).unwrap(), Time::ZERO, random()), seconds);
        assert_eq!(sent("udp:900mbit:size=64b", 1), 900_000_000 / 512 + 1);
        assert_eq!(sent("udp:1bit:size=125b:on=1us:off=1us", 2001), 2);
    }

    #[test]
    fn a_constant_source_keeps_its_phase() {
        let config = UdpConfig { phase: ms(3), ..UdpConfig::new(200, Gaps::constant(ms(20))) };
        assert!(gaps(config, 1000).iter().all(|gap| *gap == 20.0));
    }

    #[test]
    fn normal_gaps_have_their_mean_and_deviation() {
        // 20 ms is four deviations from zero: the cut at zero changes the moments by less than these draws can show.
        for mean in [20, 40, 60, 70] {
            let all = gaps(UdpConfig::new(200, Gaps::Normal { mean: ms(mean), deviation: ms(5) }), 50_000);
            let (found, deviation) = moments(&all);
            assert!(
                (found - mean as f64).abs() < 0.1 && (deviation - 5.0).abs() < 0.1,
                "{found} {deviation}"
            );
            assert!(all.iter().all(|gap| *gap > 0.0));
        }
        // A normal distribution cut in its middle, at zero, has the mean sqrt(2 / pi).
        let narrow = Gaps::Normal { mean: Span::from_nanos(1), deviation: ms(10) };
        let (mean, _) = moments(&gaps(UdpConfig::new(200, narrow), 50_000));
        assert!((mean / 10.0 - 0.797_885).abs() < 0.01, "{mean}");
    }

    /// All gaps are multiples of the codec's interval g. An exponential length rounded up to multiples of g has the mean
    /// g / (1 - exp(-g / mean)).
    #[test]
    fn talk_spurts_and_pauses_have_their_means_in_whole_intervals() {
        let gaps_of = Gaps::Spurts { gap: ms(20), talk: ms(1004), pause: ms(1587) };
        let all = gaps(UdpConfig::new(200, gaps_of), 200_000);
        assert!(all.iter().all(|gap| *gap >= 20.0 && gap % 20.0 == 0.0));
        let pauses: Vec<f64> = all.iter().filter(|gap| **gap > 20.0).map(|gap| gap - 20.0).collect();
        let rounded = |mean: f64| 20.0 / (1.0 - libm::exp(-20.0 / mean));
        let pause = pauses.iter().sum::<f64>() / pauses.len() as f64;
        assert!((pause / rounded(1587.0) - 1.0).abs() < 0.05, "{pause}");
        let talk = 20.0 * all.len() as f64 / pauses.len() as f64;
        assert!((talk / rounded(1004.0) - 1.0).abs() < 0.05, "{talk}");
    }

    #[test]
    fn a_late_poll_returns_all_due_datagrams() {
        let mut source = UdpSource::new(UdpConfig::new(200, Gaps::constant(ms(20))), Time::ZERO, random());
        let now = Time::ZERO + ms(45);
        assert_eq!(core::iter::from_fn(|| source.poll(now)).count(), 3);
        assert_eq!((source.next_deadline(), source.sent()), (Time::ZERO + ms(60), 3));
    }
}
