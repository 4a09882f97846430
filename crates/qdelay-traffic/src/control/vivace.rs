//! PCC Vivace (Dong et al., "PCC Vivace: Online-Learning Congestion Control", NSDI 2018): a sender that tries rates, computes the utility
//! of each, and follows the gradient of the utility.
//!
//! Time is divided into monitor intervals of about a round trip. An interval with the rate x (Mbit/s) has the utility
//! x^t - b x dRTT/dT - c x L, where dRTT/dT is the slope of the round trips over the time of sending and L the share of lost segments.
//! * *Slow start* doubles the rate while the utility grows. The first interval with a smaller utility ends it; the rate returns to that of
//!   the interval before.
//! * *Probing*, from then on: four intervals in two pairs, in each pair one at r(1+ε) and one at r(1-ε) in random order. A pair gives a gradient
//!   γ = (u(r(1+ε)) - u(r(1-ε))) / 2εr. Where both have the same sign, the rate changes by m(τ) θ0 γ with their mean. The confidence amplifier m is
//!   τ up to 3 and 2τ - 3 above, for the τ-th change in the same direction. A change is at most ω r, where ω = ω0 + kδ: k counts the changes in
//!   a row that reached the bound; a smaller change sets it to the least with which it is within; a new direction sets it to 0.
//!
//! | parameter | default | source |
//! | --- | --- | --- |
//! | `utility` | latency | section 3; with `loss`, b = 0 |
//! | `exponent` | 0.9 | t, section 3 |
//! | `latency_weight` | 900 | b, section 3 |
//! | `loss_weight` | 11.35 | c, section 3 |
//! | `epsilon` | 0.05 | ε, section 4.2 |
//! | `theta` | 1 | θ0, section 4.2 |
//! | `boundary` | 0.05 | ω0, section 4.2 |
//! | `boundary_step` | 0.1 | δ, section 4.2 |
//! | `slope_filter` | 0.01 | section 4.3; smaller slopes of the round trip count as 0 |
//!
//! The paper's text was not available for m(τ), θ0 and the slope filter; their values remain to be compared with it.
//!
//! Choices made here:
//! * Doublings and steps wait for the utilities of all earlier intervals, and the sender keeps its rate meanwhile (a doubling waits in the authors'
//!   program as well).
//! * An interval has at least 10 segments (the minimum of PCC Allegro, NSDI 2015), and ends with the next acknowledgement.
//! * The first rate is the initial window per round trip. While its utility is negative, less than that of sending nothing, it is halved.
//! * An interval is late if its outcome is unknown after its own length plus two round trips (the paper's time limit); a late interval halves
//!   the rate.
//! * Rates are those of application data, at least 0.05 Mbit/s.
//!
//! Differences from the paper: the paper repeats a pair with a surprising result (faster, and yet less loss or delay); here every step needs two
//! pairs. TCP's retransmission timer halves the rate too and restarts probing. If the receive window has limited a
//! sender below its rate, x is the rate actually sent; an interval that the application limited is repeated. The congestion window is not part of
//! the algorithm: it is twice the data of a round trip at the rate (in slow start: of the smallest round trip), plus 10 segments. The authors'
//! program (branch NSDI-2018) has other weights than the paper, weighs losses up to 3% with 1, truncates slopes to multiples of 0.02, adds 0.06 to
//! its bound by default, and has an amplifier that grows still faster from the sixth step on.

mod interval;
mod rate;
#[cfg(test)]
mod tests;

use super::{AckSample, AnyController, Connection, Controller, Event, Window};
use crate::knobs;
use crate::profile::Profile;
use alloc::boxed::Box;
use interval::{Interval, Measured};
use qdelay_core::component::{Arguments, Component, Parameter, Typed, Unit};
use qdelay_core::{Random, Rate, Span, Time};
use rate::RateControl;

const UTILITY: Typed<str> = Typed::new(
    "utility",
    "latency",
    "Utility: latency for a short queue, loss for throughput despite random loss",
)
.unit(Unit::Choice(&["latency", "loss"]))
.source("Dong et al. 2018, section 3");
const EXPONENT: Typed<f64> = Typed::new("exponent", "0.9", "Power of the rate in the utility")
    .within("0.1", "0.99")
    .source("t, Dong et al. 2018");
const LATENCY_WEIGHT: Typed<f64> =
    Typed::new("latency_weight", "900", "Weight of the round trip's slope with utility=latency")
        .within("0", "1000000")
        .source("b, Dong et al. 2018");
const LOSS_WEIGHT: Typed<f64> = Typed::new("loss_weight", "11.35", "Weight of the share of lost segments")
    .within("0", "1000000")
    .source("c, Dong et al. 2018");
const EPSILON: Typed<f64> =
    Typed::new("epsilon", "0.05", "Distance of a pair's rates from the current rate, as a share")
        .within("0.001", "0.5")
        .source("Dong et al. 2018");
const THETA: Typed<f64> = Typed::new("theta", "1", "Change of the rate, in Mbit/s, for a gradient of 1")
    .within("0.001", "1000")
    .source("theta0, Dong et al. 2018");
const BOUNDARY: Typed<f64> = Typed::new("boundary", "0.05", "Largest first change, as a share of the rate")
    .within("0.001", "1")
    .source("omega0, Dong et al. 2018");
const BOUNDARY_STEP: Typed<f64> =
    Typed::new("boundary_step", "0.1", "Increment of the bound with each change that reaches it")
        .within("0.001", "1")
        .source("delta, Dong et al. 2018");
const SLOPE_FILTER: Typed<f64> = Typed::new(
    "slope_filter",
    "0.01",
    "Slope of the round trip below which the round trip counts as constant",
)
.within("0", "1")
.source("Dong et al. 2018, section 4.3");

static PARAMETERS: [Parameter; knobs::KNOBS.len() + 9] = knobs::with_knobs(&[
    UTILITY.parameter(),
    EXPONENT.parameter(),
    LATENCY_WEIGHT.parameter(),
    LOSS_WEIGHT.parameter(),
    EPSILON.parameter(),
    THETA.parameter(),
    BOUNDARY.parameter(),
    BOUNDARY_STEP.parameter(),
    SLOPE_FILTER.parameter(),
]);

pub(super) static COMPONENT: Component = knobs::component(
    "vivace",
    "TCP with PCC Vivace, which learns its rate from the utility of trials",
    "Dong et al., NSDI 2018",
    &PARAMETERS,
);

pub(super) fn build(arguments: &Arguments, _: &Profile) -> AnyController {
    Vivace::new(VivaceConfig::from_arguments(arguments)).into()
}

/// Parameters of [`Vivace`]; [`VivaceConfig::default`] has the paper's for latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VivaceConfig {
    /// Power of the rate in the utility.
    pub exponent: f64,
    /// Weight of the round trip's slope; 0 if only losses count.
    pub latency_weight: f64,
    /// Weight of the share of lost segments.
    pub loss_weight: f64,
    /// Distance of a pair's rates from the current rate, as a share.
    pub epsilon: f64,
    /// Change of the rate in Mbit/s for a gradient of 1.
    pub theta: f64,
    /// Largest first change, as a share of the rate.
    pub boundary: f64,
    /// Increment of the bound with each change that reaches it.
    pub boundary_step: f64,
    /// Slope of the round trip below which the round trip counts as constant.
    pub slope_filter: f64,
}

impl VivaceConfig {
    fn from_arguments(arguments: &Arguments) -> VivaceConfig {
        let is_latency = arguments.get(&UTILITY) == "latency";
        VivaceConfig {
            exponent: arguments.get(&EXPONENT),
            latency_weight: if is_latency { arguments.get(&LATENCY_WEIGHT) } else { 0.0 },
            loss_weight: arguments.get(&LOSS_WEIGHT),
            epsilon: arguments.get(&EPSILON),
            theta: arguments.get(&THETA),
            boundary: arguments.get(&BOUNDARY),
            boundary_step: arguments.get(&BOUNDARY_STEP),
            slope_filter: arguments.get(&SLOPE_FILTER),
        }
    }

    /// Utility of an interval. `rate`: Mbit/s; `slope`: growth of the round trip, s/s; `loss`: share of lost segments, 0 to 1.
    pub fn utility(&self, rate: f64, slope: f64, loss: f64) -> f64 {
        let slope = if slope.abs() < self.slope_filter { 0.0 } else { slope };
        libm::pow(rate, self.exponent) - self.latency_weight * rate * slope - self.loss_weight * rate * loss
    }
}

impl Default for VivaceConfig {
    fn default() -> VivaceConfig {
        VivaceConfig::from_arguments(&Arguments::defaults(&COMPONENT))
    }
}

/// Smallest number of segments in an interval.
const INTERVAL_SEGMENTS: u64 = 10;
/// Most intervals with an unknown outcome: the four of a probe.
const PENDING: usize = 4;
/// Assumed round trip before the first sample (Linux's for BBR).
const RTT_INITIAL: Span = Span::from_millis(1);
/// Segments of the window beyond twice the data of a round trip.
const WINDOW_EXTRA: f64 = 10.0;
const WINDOW_MAX: f64 = 1e9;
const BITS_PER_MEGABIT: f64 = 1e6;

/// The Vivace controller. The state is boxed, so that connections of other controls do not become larger.
#[derive(Clone, Debug)]
pub struct Vivace(Box<State>);

#[derive(Clone, Debug)]
struct State {
    config: VivaceConfig,
    rate: RateControl,
    /// Pacing rate, Mbit/s of application data.
    sending: f64,
    seen_rtt: bool,
    /// Intervals with an unknown outcome, the oldest first; the last one may still be running.
    intervals: [Interval; PENDING],
    count: usize,
    is_running: bool,
    /// Latest send time of a delivered segment.
    newest: Time,
}

impl Default for Vivace {
    fn default() -> Vivace {
        Vivace::new(VivaceConfig::default())
    }
}

impl Vivace {
    /// A controller with these parameters.
    pub fn new(config: VivaceConfig) -> Vivace {
        Vivace(Box::new(State {
            config,
            rate: RateControl::new(config, 0.0),
            sending: 0.0,
            seen_rtt: false,
            intervals: [Interval::default(); PENDING],
            count: 0,
            is_running: false,
            newest: Time::ZERO,
        }))
    }

    /// Current rate, around which pairs are tried, Mbit/s of application data.
    pub fn rate_mbps(&self) -> f64 {
        self.0.rate.rate()
    }

    /// Whether the controller is in slow start.
    pub fn is_starting(&self) -> bool {
        self.0.rate.is_starting()
    }
}

impl State {
    /// Sets the first rate: the initial window per round trip.
    fn start(&mut self, connection: &Connection, window: &Window) {
        self.seen_rtt = !connection.srtt.is_zero();
        let rtt = if self.seen_rtt { connection.srtt } else { RTT_INITIAL };
        let rate = megabits(connection, f64::from(window.cwnd)) / rtt.as_secs_f64();
        self.rate = RateControl::new(self.config, rate);
        self.sending = self.rate.rate();
        self.forget();
    }

    /// Discards all intervals.
    fn forget(&mut self) {
        self.rate.forget();
        (self.count, self.is_running) = (0, false);
    }

    fn pending(&mut self) -> &mut [Interval] {
        self.intervals.get_mut(..self.count).unwrap_or_default()
    }

    /// Interval that contains the send time `sent`.
    fn interval_of(&mut self, sent: Time) -> Option<&mut Interval> {
        self.pending().iter_mut().rev().find(|interval| interval.start <= sent && sent < interval.end)
    }

    /// Ends the running interval if it has lasted long enough.
    fn end_interval(&mut self, connection: &Connection) {
        let is_running = self.is_running;
        let Some(last) = self.pending().last_mut().filter(|_| is_running) else { return };
        last.is_limited |= connection.app_limited;
        let sent = transmissions(connection).saturating_sub(last.sent_before);
        if connection.now < last.start + connection.srtt || sent < INTERVAL_SEGMENTS {
            return;
        }
        last.finish(connection, sent);
        self.is_running = false;
    }

    /// Passes the utilities of the oldest intervals with known outcomes to the rate control.
    fn take_results(&mut self, connection: &Connection) {
        let reordering = if connection.min_rtt == Span::MAX { Span::ZERO } else { connection.min_rtt / 4 };
        while let Some(first) = self.pending().first().copied() {
            let is_known = connection.una >= first.next_sequence || self.newest >= first.end + reordering;
            if first.end == Time::NEVER || !is_known {
                if connection.now > first.due {
                    self.rate.time_out();
                    self.forget();
                }
                return;
            }
            let Measured { rate, slope, loss } = first.measured();
            if first.is_limited {
                self.forget();
                return;
            }
            self.rate.result(rate, self.config.utility(rate, slope, loss));
            self.intervals.copy_within(1.., 0);
            self.count -= 1;
        }
    }

    /// Starts the next interval if none is running and the rate control requests one.
    fn begin_interval(&mut self, connection: &Connection, random: &mut Random) {
        if self.is_running || self.count == PENDING {
            return;
        }
        let Some(rate) = self.rate.next(random) else {
            self.sending = self.rate.rate();
            return;
        };
        self.sending = rate;
        if let Some(next) = self.intervals.get_mut(self.count) {
            *next = Interval::new(connection, rate, transmissions(connection));
            self.count += 1;
            self.is_running = true;
        }
    }

    fn set_window(&self, connection: &Connection, window: &mut Window) {
        let segment = megabits(connection, 1.0);
        let rtt =
            if self.rate.is_starting() { connection.min_rtt.min(connection.srtt) } else { connection.srtt };
        let round = self.sending * rtt.as_secs_f64() / segment;
        let cwnd = libm::ceil(2.0 * round + WINDOW_EXTRA).min(WINDOW_MAX);
        window.cwnd = (cwnd as u32).min(window.clamp).max(1);
    }
}

impl Controller for Vivace {
    fn init(&mut self, connection: &Connection, window: &mut Window, _: &mut Random) {
        window.ssthresh = u32::MAX;
        self.0.start(connection, window);
    }

    fn ssthresh(&mut self, _: &Connection, window: &Window) -> u32 {
        window.ssthresh
    }

    fn grow(&mut self, _: &Connection, _: &mut Window, _: &AckSample) {}

    fn owns_window(&self) -> bool {
        true
    }

    fn lost(&mut self, sent: Time) {
        if let Some(interval) = self.0.interval_of(sent) {
            interval.lost += 1;
        }
    }

    fn control(
        &mut self,
        connection: &Connection,
        window: &mut Window,
        sample: &AckSample,
        random: &mut Random,
    ) {
        let state = &mut *self.0;
        if connection.srtt.is_zero() {
            return;
        }
        if !state.seen_rtt {
            state.start(connection, window);
        }
        if let Some(rtt) = sample.rtt {
            let sent = Time::from_nanos(connection.now.as_nanos().saturating_sub(rtt.as_nanos()));
            state.newest = state.newest.max(sent);
            if let Some(interval) = state.interval_of(sent) {
                interval.add_round_trip(sent, rtt);
            }
        }
        state.end_interval(connection);
        state.take_results(connection);
        state.begin_interval(connection, random);
        state.set_window(connection, window);
    }

    fn event(&mut self, connection: &Connection, _: &mut Window, event: Event) {
        match event {
            Event::Timeout => {
                self.0.rate.time_out();
                self.0.forget();
                self.0.sending = self.0.rate.rate();
            }
            // The sender restarts after an idle time: the running interval is void.
            Event::TransmitStart if connection.app_limited && self.0.is_running => {
                self.0.pending().iter_mut().for_each(|interval| interval.is_limited = true);
            }
            Event::TransmitStart | Event::WindowRestart | Event::ReductionComplete => {}
        }
    }

    fn undo(&mut self, _: &Connection, window: &Window, _: u32) -> u32 {
        window.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps((self.0.sending * BITS_PER_MEGABIT) as u64))
    }

    fn min_burst(&self) -> u32 {
        1
    }

    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}

/// Transmissions so far, segments, retransmissions included.
fn transmissions(connection: &Connection) -> u64 {
    connection.delivered + connection.lost + u64::from(connection.in_flight)
}

/// Application data of `segments` segments, Mbit.
fn megabits(connection: &Connection, segments: f64) -> f64 {
    segments * f64::from(connection.mss) * 8.0 / BITS_PER_MEGABIT
}
