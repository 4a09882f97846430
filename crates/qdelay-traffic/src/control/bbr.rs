//! BBR version 1 (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00), as in Linux 6.12 or Linux 4.19 (`tcp_bbr.c`; [`BbrKernel`]).
//!
//! Two estimates model the path: the bottleneck bandwidth (the largest delivery rate of the last 10 round trips)
//! and the smallest round trip (of the last 10 s). The sender paces at a gain times the bandwidth, and limits the data in flight
//! to a gain times the product of both. The gains depend on the mode:
//! * *Startup*: 2885/1000 for both, until the bandwidth has not grown by a quarter in three round trips;
//! * *Drain*: paces at 1000/2885 until the data in flight equals the product;
//! * *ProbeBW*: cycles through pacing gains 5/4, 3/4 and six of 1, each for about one smallest round trip, starting anywhere
//!   but at 3/4; window gain 2;
//! * *ProbeRTT*: when the smallest round trip is 10 s old, at most 4 segments in flight for 200 ms and one round trip.
//!
//! A loss reduces only the window of the first round trip of recovery (packet conservation). Parts in separate files:
//! [`modes`], [`window`], [`policer`] (long-term bandwidth) and [`aggregation`] (withheld acknowledgements). Parameters are
//! `kernel`, and `hz`, the kernel's clock (250 a second), in which the 10 s and the 200 ms are counted.
//!
//! Bandwidth is a fixed-point number of segments per microsecond with 24 fraction bits, gains have 8 fraction bits, times
//! are in whole microseconds; truncations are the kernel's.
//!
//! Differences from the reference (Linux): the phase that the next cycle starts with is drawn ahead, since not every call has a
//! random stream at hand; intervals are truncated to microseconds after the subtraction, not before; counters have 64 bits;
//! quantities that only a rate above 10 Gbit/s would overflow are bounded instead of wrapped; the mark "limited by
//! the application" in ProbeRTT is left to the transport ([`Controller::marks_app_limited`]), and so are the larger send buffer
//! and the switch to pacing. Compared call by call with the functions of Linux 6.12.117, compiled outside the kernel, over
//! millions of calls in all modes, with losses, policers and idle times: the same window, rate and mode after each. That of 4.19
//! was not compared so; its differences are few ([`BbrKernel::V4_19`]), and tests have the arithmetic of each.

mod aggregation;
mod modes;
mod policer;
#[cfg(test)]
mod tests;
mod window;

use super::jiffies::Jiffies;
use super::windowed_max::WindowedMax;
use super::{AckSample, AnyController, Connection, Controller, Event, Recovery, Window};
use crate::knobs;
use crate::profile::Profile;
use aggregation::Aggregation;
use policer::{Policer, Verdict};
use qdelay_core::component::{Arguments, Component, Parameter, Typed, Unit};
use qdelay_core::{Random, Rate, Span, Time};

const KERNEL: Typed<str> = Typed::new("kernel", "6.12", "Linux version whose BBR is modelled")
    .unit(Unit::Choice(&["4.19", "6.12"]))
    .source("Linux tcp_bbr.c of these versions");
static PARAMETERS: [Parameter; knobs::KNOBS.len() + 1] = knobs::with_knobs(&[KERNEL.parameter()]);

pub(super) static COMPONENT: Component = knobs::component(
    "bbr",
    "TCP with BBR version 1",
    "Cardwell et al., ACM Queue 14(5), 2016; Linux tcp_bbr.c",
    &PARAMETERS,
);

pub(super) fn build(arguments: &Arguments, _: &Profile) -> AnyController {
    let kernel = BbrKernel::from_arguments(arguments);
    Bbr::new(BbrConfig { kernel, ..BbrConfig::default() }).into()
}

/// Fraction bits of a bandwidth in segments per microsecond.
const BW_BITS: u32 = 24;
/// A gain of 1.
const UNIT: u32 = 256;
/// Startup gain, 2 / ln 2: the smallest gain that doubles the rate each round trip.
const HIGH_GAIN: u32 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
/// ProbeBW's window gain: tolerates withheld acknowledgements.
const CWND_GAIN: u32 = UNIT * 2;
/// ProbeBW's pacing gains.
const CYCLE: [u32; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Phases that a cycle may start with: all but the second.
const CYCLE_STARTS: u64 = 7;
/// Window of the bandwidth filter, round trips.
const BW_ROUNDS: u32 = 10;
/// Age at which ProbeRTT measures the smallest round trip again, s.
const MIN_RTT_SECONDS: u64 = 10;
/// Minimum time in ProbeRTT, ms.
const PROBE_RTT_MILLIS: u64 = 200;
/// Minimum window, segments: keeps acknowledgements arriving at a receiver that acknowledges every other segment.
const MIN_CWND: u32 = 4;
/// Initial window, segments (Linux `TCP_INIT_CWND`).
const INITIAL_CWND: u32 = 10;
/// Growth of the bandwidth per round trip below which Startup may have filled the pipe.
const FULL_BW_GROWTH: u32 = UNIT * 5 / 4;
const FULL_BW_ROUNDS: u8 = 3;
/// Margin of the pacing rate below the estimated bandwidth, percent, from Linux 4.20 on.
const MARGIN_PERCENT: u64 = 1;
/// Pacing rate below which segments leave one at a time, bytes/s (1.2 Mbit/s).
const SINGLE_BELOW: u64 = 1_200_000 / 8;
/// Length of a batch as a power of two: 2^-10 s of the pacing rate.
const BATCH_SHIFT: u32 = 10;
const BATCH_BYTES: u64 = 65_215;
const BATCH_SEGMENTS: u32 = 127;

/// The state of BBR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Exponential search for the bandwidth.
    #[default]
    Startup,
    /// Draining the queue that Startup has built.
    Drain,
    /// Steady state with regular probes for more bandwidth (ProbeBW).
    ProbeBandwidth,
    /// Few segments in flight, to measure the smallest round trip (ProbeRTT).
    ProbeRoundTrip,
}

/// Version of Linux whose BBR is modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BbrKernel {
    /// Linux 4.19. Differences from 6.12:
    /// * the window has no allowance for aggregated acknowledgements (`bbr_ack_aggregation_cwnd`, from 5.1 on);
    /// * in ProbeBW two segments are added to every target with a gain above 1, so always to the window; 6.12 adds them only in
    ///   the phase that probes for bandwidth;
    /// * pacing leaves no margin below the estimated bandwidth;
    /// * segments that pacing has not yet released count as in flight.
    V4_19,
    /// Linux 6.12.
    V6_12,
}

impl BbrKernel {
    fn from_arguments(arguments: &Arguments) -> BbrKernel {
        if arguments.get(&KERNEL) == "4.19" { BbrKernel::V4_19 } else { BbrKernel::V6_12 }
    }
}

/// Parameters of [`Bbr`]; [`BbrConfig::default`] is Linux's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BbrConfig {
    /// Ticks of the kernel's clock a second, 1 to 1,000,000 (default 250; values outside are clamped).
    pub hz: u32,
    /// Linux version whose BBR is modelled (default 6.12).
    pub kernel: BbrKernel,
}

impl Default for BbrConfig {
    fn default() -> BbrConfig {
        BbrConfig { hz: 250, kernel: BbrKernel::from_arguments(&Arguments::defaults(&COMPONENT)) }
    }
}

/// The BBR controller.
#[derive(Clone, Copy, Debug)]
pub struct Bbr {
    jiffies: Jiffies,
    mode: Mode,
    pacing_gain: u32,
    cwnd_gain: u32,
    /// Pacing rate, bytes/s.
    pacing_rate: u64,
    seen_rtt: bool,

    // The model: bandwidth over round trips.
    bandwidth: WindowedMax,
    round: u32,
    /// Value of `delivered` at which the round ends: the first segment sent after that many deliveries is acknowledged.
    round_end: u64,
    round_start: bool,
    policer: Policer,
    aggregation: Aggregation,
    kernel: BbrKernel,

    // The model: smallest round trip, microseconds, and the tick at which it was seen.
    min_rtt: u32,
    min_rtt_tick: u64,

    // Startup.
    full_bw: u32,
    full_bw_rounds: u8,
    full_bw_reached: bool,

    // ProbeBW: phase, the time it began (microseconds), and the phase the next cycle starts with.
    phase: u8,
    phase_start: u64,
    next_phase: Option<u8>,

    // ProbeRTT: the tick after which it may end, once few segments are in flight.
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    marks_app_limited: bool,

    // Recovery: the window to return to, and the state at the last acknowledgement.
    prior_cwnd: u32,
    prior_recovery: Recovery,
    packet_conservation: bool,
}

impl Default for Bbr {
    fn default() -> Bbr {
        Bbr::new(BbrConfig::default())
    }
}

impl Bbr {
    /// A controller with these parameters.
    pub fn new(config: BbrConfig) -> Bbr {
        Bbr {
            jiffies: Jiffies::new(config.hz),
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: 0,
            seen_rtt: false,
            bandwidth: WindowedMax::default(),
            round: 0,
            round_end: 0,
            round_start: false,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            kernel: config.kernel,
            min_rtt: u32::MAX,
            min_rtt_tick: 0,
            full_bw: 0,
            full_bw_rounds: 0,
            full_bw_reached: false,
            phase: 0,
            phase_start: 0,
            next_phase: None,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            marks_app_limited: false,
            prior_cwnd: 0,
            prior_recovery: Recovery::Open,
            packet_conservation: false,
        }
    }

    /// The current mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The estimated bottleneck bandwidth, as application data of `mss` bytes a segment.
    pub fn bandwidth(&self, mss: u32) -> Rate {
        let bits = u128::from(self.bw()) * u128::from(mss) * 8_000_000;
        Rate::from_bps((bits >> BW_BITS) as u64)
    }

    /// The estimated smallest round trip; `None` before the first sample.
    pub fn min_rtt(&self) -> Option<Span> {
        (self.min_rtt != u32::MAX).then(|| Span::from_micros(u64::from(self.min_rtt)))
    }

    /// The pacing gain.
    pub fn pacing_gain(&self) -> f64 {
        f64::from(self.pacing_gain) / f64::from(UNIT)
    }

    /// Whether a policer was detected and the long-term bandwidth is in use.
    pub fn is_policed(&self) -> bool {
        self.policer.bandwidth().is_some()
    }

    fn bw(&self) -> u32 {
        self.policer.bandwidth().unwrap_or(self.bandwidth.get())
    }

    // The model.

    /// Counts rounds, samples for a policer, and adds the delivery rate to the estimate.
    fn update_bandwidth(&mut self, connection: &Connection, sample: &AckSample) {
        self.round_start = false;
        let Some(interval) = interval_micros(sample) else { return };
        if sample.prior_delivered >= self.round_end {
            self.round_end = connection.delivered;
            self.round = self.round.wrapping_add(1);
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.look_for_policer(connection, sample);
        let bw = ((u64::from(sample.delivered) << BW_BITS) / interval).min(u64::from(u32::MAX)) as u32;
        // A sample limited by the application is ignored, unless it exceeds the estimate.
        if !sample.is_app_limited || bw >= self.bandwidth.get() {
            self.bandwidth.update(BW_ROUNDS, self.round, bw);
        }
    }

    fn look_for_policer(&mut self, connection: &Connection, sample: &AckSample) {
        let probing = self.mode == Mode::ProbeBandwidth;
        match self.policer.update(connection, sample, self.round_start, probing) {
            Verdict::Unchanged => {}
            Verdict::Policed => self.pacing_gain = UNIT,
            Verdict::Expired => self.enter_probe_bandwidth(connection),
        }
    }

    fn update_aggregation(&mut self, connection: &Connection, window: &Window, sample: &AckSample) {
        if sample.acked_sacked > 0 && interval_micros(sample).is_some() {
            let now = delivered_micros(connection);
            self.aggregation.update(now, sample.acked_sacked, self.bw(), window.cwnd, self.round_start);
        }
    }

    /// Bandwidth-delay product times a gain, rounded up, segments.
    fn bdp(&self, bw: u32, gain: u32) -> u32 {
        if self.min_rtt == u32::MAX {
            return INITIAL_CWND;
        }
        let product = u64::from(bw) * u64::from(self.min_rtt);
        // The product fits 64 bits; times the gain it overflows above 90 million segments, where it saturates.
        let scaled = product.saturating_mul(u64::from(gain)) >> 8;
        scaled.div_ceil(1 << BW_BITS).min(u64::from(u32::MAX)) as u32
    }

    /// Adds room for the batches on both hosts to `cwnd`, which has `gain`, rounds up to an even number, and adds two when
    /// probing must exceed the product.
    fn with_batches(&self, cwnd: u32, gain: u32, mss: u32) -> u32 {
        let cwnd = cwnd.saturating_add(3 * self.batch(mss)).saturating_add(1) & !1;
        let exceeds = match self.kernel {
            BbrKernel::V4_19 => gain > UNIT,
            BbrKernel::V6_12 => self.phase == 0,
        };
        cwnd.saturating_add(if exceeds && self.mode == Mode::ProbeBandwidth { 2 } else { 0 })
    }

    fn target_in_flight(&self, bw: u32, gain: u32, mss: u32) -> u32 {
        self.with_batches(self.bdp(bw, gain), gain, mss)
    }

    /// Segments that leave in one batch at the current pacing rate.
    fn batch(&self, mss: u32) -> u32 {
        let bytes = (self.pacing_rate >> BATCH_SHIFT).min(BATCH_BYTES) as u32;
        (bytes / mss.max(1)).max(self.min_burst()).min(BATCH_SEGMENTS)
    }

    /// Segments in the network when pacing releases the next batch, given `in_flight` now.
    fn in_network_at_departure(&self, connection: &Connection, in_flight: u32) -> u32 {
        if self.kernel == BbrKernel::V4_19 {
            return in_flight;
        }
        let wait = connection.next_departure.since(connection.now).as_micros();
        let leaving = (u64::from(self.bw()).saturating_mul(wait) >> BW_BITS) as u32;
        let batch = if self.pacing_gain > UNIT { self.batch(connection.mss) } else { 0 };
        in_flight.saturating_add(batch).saturating_sub(leaving)
    }

    // The rate.

    /// Sets the initial pacing rate: the window per smoothed round trip, or per 1 ms before the first sample, times the Startup gain.
    fn init_pacing(&mut self, connection: &Connection, window: &Window) {
        let mut rtt = 1_000;
        if !connection.srtt.is_zero() {
            rtt = connection.srtt.as_micros().max(1);
            self.seen_rtt = true;
        }
        let bw = ((u64::from(window.cwnd) << BW_BITS) / rtt).min(u64::from(u32::MAX)) as u32;
        self.pacing_rate = self.bytes_per_second(connection.mss, bw, HIGH_GAIN);
    }

    fn bytes_per_second(&self, mss: u32, bw: u32, gain: u32) -> u64 {
        let margin = match self.kernel {
            BbrKernel::V4_19 => 0,
            BbrKernel::V6_12 => MARGIN_PERCENT,
        };
        bytes_per_second(mss, bw, gain, margin)
    }

    /// Paces at `gain` times the bandwidth; while the pipe fills, the rate only rises.
    fn set_pacing_rate(&mut self, connection: &Connection, window: &Window, gain: u32) {
        let rate = self.bytes_per_second(connection.mss, self.bw(), gain);
        if !self.seen_rtt && !connection.srtt.is_zero() {
            self.init_pacing(connection, window);
        }
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Draws the phase that the next cycle starts with, if the last draw was used.
    fn draw_phase(&mut self, random: &mut Random) {
        if self.next_phase.is_none() {
            let phase = CYCLE.len() as u64 - random.below(CYCLE_STARTS);
            self.next_phase = Some((phase % CYCLE.len() as u64) as u8);
        }
    }
}

impl Controller for Bbr {
    fn init(&mut self, connection: &Connection, window: &mut Window, random: &mut Random) {
        *self = Bbr::new(BbrConfig { hz: self.jiffies.hz(), kernel: self.kernel });
        window.ssthresh = u32::MAX;
        self.min_rtt = u32::try_from(connection.min_rtt.as_micros()).unwrap_or(u32::MAX);
        self.min_rtt_tick = self.jiffies.ticks(connection.now);
        self.aggregation.restart_epoch(micros(connection.now));
        self.policer.reset(connection);
        self.init_pacing(connection, window);
        self.draw_phase(random);
    }

    fn ssthresh(&mut self, _: &Connection, window: &Window) -> u32 {
        self.save_cwnd(window);
        window.ssthresh
    }

    fn grow(&mut self, _: &Connection, _: &mut Window, _: &AckSample) {}

    fn owns_window(&self) -> bool {
        true
    }

    fn control(
        &mut self,
        connection: &Connection,
        window: &mut Window,
        sample: &AckSample,
        random: &mut Random,
    ) {
        self.draw_phase(random);
        self.update_bandwidth(connection, sample);
        self.update_aggregation(connection, window, sample);
        self.update_phase(connection, sample);
        self.check_full_pipe(sample);
        self.check_drain(connection, window);
        self.update_min_rtt(connection, window, sample);
        self.update_gains();
        self.set_pacing_rate(connection, window, self.pacing_gain);
        self.set_cwnd(connection, window, sample);
    }

    fn set_recovery(&mut self, connection: &Connection, _: &mut Window, to: Recovery) {
        if to != Recovery::Loss {
            return;
        }
        self.prior_recovery = Recovery::Loss;
        self.full_bw = 0;
        // A timeout counts as the end of a round, and as a loss.
        self.round_start = true;
        self.look_for_policer(connection, &AckSample { losses: 1, ..NOTHING });
    }

    fn event(&mut self, connection: &Connection, window: &mut Window, event: Event) {
        if event != Event::TransmitStart || !connection.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart_epoch(micros(connection.now));
        match self.mode {
            // With nothing in flight the pacing gain is 1 in any phase.
            Mode::ProbeBandwidth => self.set_pacing_rate(connection, window, UNIT),
            Mode::ProbeRoundTrip => {
                let tick = self.jiffies.ticks(connection.now);
                self.check_probe_round_trip_done(connection, window, tick);
            }
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn undo(&mut self, connection: &Connection, window: &Window, _: u32) -> u32 {
        self.full_bw = 0;
        self.full_bw_rounds = 0;
        self.policer.reset(connection);
        window.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps(self.pacing_rate.saturating_mul(8)))
    }

    fn marks_app_limited(&self) -> bool {
        self.marks_app_limited
    }

    fn min_burst(&self) -> u32 {
        if self.pacing_rate < SINGLE_BELOW { 1 } else { 2 }
    }

    fn in_kernel(&self) -> Option<&'static str> {
        // The kernel's own version decides which BBR it runs.
        Some("bbr")
    }
}

/// An empty acknowledgement sample.
const NOTHING: AckSample = AckSample {
    acked_sacked: 0,
    acked: 0,
    losses: 0,
    prior_delivered: 0,
    delivered: 0,
    interval: None,
    prior_in_flight: 0,
    rtt: None,
    is_app_limited: false,
    is_ack_delayed: false,
};

/// Rate of a scaled bandwidth times a gain, less a margin in percent, bytes/s. The order of operations, and so the truncation, is the
/// kernel's.
fn bytes_per_second(mss: u32, bw: u32, gain: u32, margin: u64) -> u64 {
    let scaled = (u64::from(bw) * u64::from(mss)).saturating_mul(u64::from(gain)) >> 8;
    scaled.saturating_mul(1_000_000 / 100 * (100 - margin)) >> BW_BITS
}

/// Interval of a valid sample, microseconds.
fn interval_micros(sample: &AckSample) -> Option<u64> {
    sample.interval.map(Span::as_micros).filter(|micros| *micros > 0)
}

fn micros(time: Time) -> u64 {
    time.as_nanos() / 1_000
}

fn delivered_micros(connection: &Connection) -> u64 {
    micros(connection.delivered_time)
}
