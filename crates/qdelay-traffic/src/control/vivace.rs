//! PCC Vivace (Dong et al., "PCC Vivace: Online-Learning Congestion Control", NSDI 2018): a sender that tries rates, computes the utility
//! that each has brought, and moves along the gradient of the utility.
//!
//! Time is divided into monitor intervals of about a round trip. What was sent in one at the rate x (Mbit/s) has the utility
//! x^t - b x dRTT/dT - c x L, where dRTT/dT is the slope of the round trips over the time of sending and L the share that was lost.
//! * *Slow start* doubles the rate while the utility grows. The first interval with a smaller utility ends it; the rate returns to what was sent
//!   in the one before.
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
//! The paper's own text was not at hand for m(τ), θ0 and the slope filter: their values are to be compared with it.
//!
//! Choices made here: a doubling and a step wait for the utilities of what was measured before, and meanwhile the sender keeps the rate (a
//! doubling waits in the authors' program as well). An interval lasts at least 10 segments (the least of PCC Allegro, NSDI 2015), and ends with the next
//! acknowledgement. The first rate is the initial window in a round trip; where its utility is below that of sending nothing, it is halved until
//! it is not. What is not known about an interval once that took as long again and two round trips more is late (the paper's time limit): it halves
//! the rate. Rates are those of application data, from 0.05 Mbit/s on.
//!
//! Differences from the paper: its second look at a surprising pair (faster, and yet less loss or delay) is the second pair here,
//! which every step needs; TCP's retransmission timer halves the rate as well and begins to probe anew. Where the window of the receiver left a
//! sender below its rate, x is what was sent, and an interval that the application limited is repeated. The window is no part of the algorithm:
//! it is twice what the rate sends in a round trip (in slow start: the least one), and 10 segments more. The authors' program (branch
//! NSDI-2018) has other weights than the paper, takes losses up to 3% at a weight of 1, cuts slopes to multiples of 0.02, adds 0.06 to its bound by
//! default, and its amplifier grows faster still from the sixth step on.

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

const UTILITY: Typed<str> =
    Typed::new("utility", "latency", "What is sought: a short queue, or throughput in spite of random loss")
        .unit(Unit::Choice(&["latency", "loss"]))
        .source("Dong et al. 2018, section 3");
const EXPONENT: Typed<f64> = Typed::new("exponent", "0.9", "Power of the rate in the utility")
    .within("0.1", "0.99")
    .source("t, Dong et al. 2018");
const LATENCY_WEIGHT: Typed<f64> =
    Typed::new("latency_weight", "900", "Weight of the round trip's slope where the utility is latency")
        .within("0", "1000000")
        .source("b, Dong et al. 2018");
const LOSS_WEIGHT: Typed<f64> = Typed::new("loss_weight", "11.35", "Weight of the share that is lost")
    .within("0", "1000000")
    .source("c, Dong et al. 2018");
const EPSILON: Typed<f64> =
    Typed::new("epsilon", "0.05", "How far the rates of a pair are from the one between")
        .within("0.001", "0.5")
        .source("Dong et al. 2018");
const THETA: Typed<f64> = Typed::new("theta", "1", "Change of the rate, in Mbit/s, for a gradient of 1")
    .within("0.001", "1000")
    .source("theta0, Dong et al. 2018");
const BOUNDARY: Typed<f64> = Typed::new("boundary", "0.05", "Largest first change, as a share of the rate")
    .within("0.001", "1")
    .source("omega0, Dong et al. 2018");
const BOUNDARY_STEP: Typed<f64> =
    Typed::new("boundary_step", "0.1", "What each change that reaches the bound adds to it")
        .within("0.001", "1")
        .source("delta, Dong et al. 2018");
const SLOPE_FILTER: Typed<f64> =
    Typed::new("slope_filter", "0.01", "Slope of the round trip below which it counts as constant")
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
    "TCP with PCC Vivace, which learns its rate from the utility that trials bring",
    "Dong et al., NSDI 2018",
    &PARAMETERS,
);

pub(super) fn build(arguments: &Arguments, _: &Profile) -> AnyController {
    Vivace::new(VivaceConfig::of(arguments)).into()
}

/// Parameters of [`Vivace`]; [`VivaceConfig::default`] has the paper's for latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VivaceConfig {
    /// Power of the rate in the utility.
    pub exponent: f64,
    /// Weight of the round trip's slope; 0 where only losses count.
    pub latency_weight: f64,
    /// Weight of the share that is lost.
    pub loss_weight: f64,
    /// How far the rates of a pair are from the one between, as a share of it.
    pub epsilon: f64,
    /// Change of the rate in Mbit/s for a gradient of 1.
    pub theta: f64,
    /// Largest first change, as a share of the rate.
    pub boundary: f64,
    /// What each change that reaches the bound adds to it.
    pub boundary_step: f64,
    /// Slope of the round trip below which it counts as constant.
    pub slope_filter: f64,
}

impl VivaceConfig {
    fn of(arguments: &Arguments) -> VivaceConfig {
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

    /// The utility of sending `rate` Mbit/s where the round trip grows by `slope` seconds a second and the share `loss` is lost.
    pub fn utility(&self, rate: f64, slope: f64, loss: f64) -> f64 {
        let slope = if slope.abs() < self.slope_filter { 0.0 } else { slope };
        libm::pow(rate, self.exponent) - self.latency_weight * rate * slope - self.loss_weight * rate * loss
    }
}

impl Default for VivaceConfig {
    fn default() -> VivaceConfig {
        VivaceConfig::of(&Arguments::defaults(&COMPONENT))
    }
}

/// Least number of segments in an interval.
const INTERVAL_SEGMENTS: u64 = 10;
/// Intervals that are measured and not known yet: at most the four of a probe.
const PENDING: usize = 4;
/// The round trip before the first sample (Linux's for BBR).
const RTT_INITIAL: Span = Span::from_millis(1);
/// Segments in the window beyond twice what the rate sends in a round trip, and the most in it.
const WINDOW_EXTRA: f64 = 10.0;
const WINDOW_MAX: f64 = 1e9;
const BITS_PER_MEGABIT: f64 = 1e6;

/// The Vivace controller. Its state is behind a pointer, so that the enum of all controllers stays small.
#[derive(Clone, Debug)]
pub struct Vivace(Box<State>);

#[derive(Clone, Debug)]
struct State {
    config: VivaceConfig,
    rate: RateControl,
    /// Mbit/s that the sender paces at.
    sending: f64,
    seen_rtt: bool,
    /// The intervals that are measured, oldest first; the last may be still running.
    intervals: [Interval; PENDING],
    count: usize,
    is_running: bool,
    /// The latest time at which a segment was sent that has been delivered.
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

    /// The rate around which is probed, Mbit/s of application data.
    pub fn rate_mbps(&self) -> f64 {
        self.0.rate.rate()
    }

    /// Whether slow start has not ended yet.
    pub fn is_starting(&self) -> bool {
        self.0.rate.is_starting()
    }
}

impl State {
    /// Starts with the initial window in a round trip.
    fn start(&mut self, connection: &Connection, window: &Window) {
        self.seen_rtt = !connection.srtt.is_zero();
        let rtt = if self.seen_rtt { connection.srtt } else { RTT_INITIAL };
        let rate = megabits(connection, f64::from(window.cwnd)) / rtt.as_secs_f64();
        self.rate = RateControl::new(self.config, rate);
        self.sending = self.rate.rate();
        self.forget();
    }

    /// What is being measured is not worth anything.
    fn forget(&mut self) {
        self.rate.forget();
        (self.count, self.is_running) = (0, false);
    }

    fn pending(&mut self) -> &mut [Interval] {
        self.intervals.get_mut(..self.count).unwrap_or_default()
    }

    /// The interval in which something was sent at `sent`.
    fn interval_of(&mut self, sent: Time) -> Option<&mut Interval> {
        self.pending().iter_mut().rev().find(|interval| interval.start <= sent && sent < interval.end)
    }

    /// Ends the running interval where it has lasted long enough.
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

    /// Tells the rate control the utility of the oldest intervals, as far as all is known about them.
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

    /// Starts the next interval where none is running and the rate control wants one.
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
            // After an idle time.
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

/// Segments sent so far, each time that one was sent.
fn transmissions(connection: &Connection) -> u64 {
    connection.delivered + connection.lost + u64::from(connection.in_flight)
}

/// So many segments of application data, in Mbit.
fn megabits(connection: &Connection, segments: f64) -> f64 {
    segments * f64::from(connection.mss) * 8.0 / BITS_PER_MEGABIT
}
