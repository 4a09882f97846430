//! Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018).
//!
//! The *standing* round trip is the minimum of the last half smoothed round trip. The queueing delay is the standing round trip less the minimum
//! round trip of the last 10 s. The target rate of a sender is 1 / (`delta` x queueing delay) segments per second:
//! * at each acknowledgement the window moves by `v / (delta x window)` per segment, up if the current rate is below the target, otherwise
//!   down; the sender paces at two windows per standing round trip;
//! * *velocity* `v` is 1, and doubles each round trip once the window has moved in the same direction for three round trips; a change of
//!   direction resets it to 1;
//! * slow start doubles the window each round trip until the current rate exceeds the target rate;
//! * *competitive mode*: Copa flows empty the queue once in five round trips. The queue is nearly empty if the queueing delay is below a tenth of
//!   the largest one in the last four round trips. If it was not nearly empty for five round trips, other flows fill it: then 1 / `delta` grows by 1
//!   in each round trip without a loss and halves in each with a loss, but not below its value in the default mode, which is restored when the
//!   queue empties again.
//!
//! In equilibrium each flow has 1 / `delta` segments in the standing queue, and all have the same rate.
//!
//! | parameter | default | source |
//! | --- | --- | --- |
//! | `delta` | 0.5 | section 2.1 |
//! | `competitive` | on | section 2.2; off: always the default mode |
//! | `velocity_reset` | on | ours; off: the paper's rule (below) |
//!
//! Differences from the paper:
//! * the two minima are estimated by three candidates (see [`WindowedMax`](super::windowed_max)), and may be above the true ones for part
//!   of the window; the round trip of the handshake is ignored, since its packets are shorter than a segment;
//! * with `velocity_reset` the velocity becomes 1 as soon as the window has to change direction. The paper checks once per round trip: a high
//!   velocity then continues for up to one more round trip, and the window overshoots on paths of many segments (100 Mbit/s, 200 ms: 35% used);
//! * the velocity is at most `delta x window`, so that the window at most doubles in a round trip;
//! * a queueing delay below the transmission time of 1.5 segments also counts as nearly empty, since on a slow link a tenth of the oscillation is
//!   less than one segment;
//! * the queue that slow start leaves does not count as filled by other flows for five round trips;
//! * rounds end with delivered segments, and the mode is chosen at the end of each round.
//!
//! The reaction to losses and timeouts is ours, for queues that are kept too short for 1 / `delta` segments: if more than a tenth of the segments
//! (at least 10) were lost in default mode, the window halves, at least to 1, and slow start ends. Fewer losses have no effect. After a timeout
//! slow start begins again.

use super::windowed_max::WindowedMax;
use super::{AckSample, AnyController, Connection, Controller, Recovery, Window};
use crate::knobs;
use crate::profile::Profile;
use alloc::boxed::Box;
use qdelay_core::component::{Arguments, Component, Parameter, Typed};
use qdelay_core::{Random, Rate};

const DELTA: Typed<f64> = Typed::new("delta", "0.5", "Weight of delay relative to throughput")
    .within("0.01", "10")
    .source("Arun and Balakrishnan, NSDI 2018, section 2.1");
const COMPETITIVE: Typed<bool> =
    Typed::new("competitive", "on", "Competitive mode against flows that fill the queue")
        .source("NSDI 2018, section 2.2");
const VELOCITY_RESET: Typed<bool> = Typed::new(
    "velocity_reset",
    "on",
    "Whether a change of direction resets the velocity at once; off: at the end of the round trip",
)
.source("ours; off is NSDI 2018, section 2.1");
static PARAMETERS: [Parameter; knobs::KNOBS.len() + 3] =
    knobs::with_knobs(&[DELTA.parameter(), COMPETITIVE.parameter(), VELOCITY_RESET.parameter()]);

pub(super) static COMPONENT: Component = knobs::component(
    "copa",
    "TCP with Copa: 1/delta segments of each flow in the queue",
    "Arun and Balakrishnan, NSDI 2018",
    &PARAMETERS,
);

pub(super) fn build(arguments: &Arguments, _: &Profile) -> AnyController {
    Copa::configured(arguments).into()
}

/// Window of the minimum round trip, microseconds.
const LEAST_WINDOW: u32 = 10_000_000;
/// Number of round trips within which a queue of Copa flows is nearly empty once.
const ROUNDS: usize = 5;
const ROUNDS_OF_LARGEST: usize = 4;
/// Share of the largest queueing delay below which the queue is nearly empty.
const NEARLY_EMPTY: f64 = 0.1;
/// Rounds in one direction after which the velocity doubles.
const STEADY: u32 = 3;
/// Smallest window by delay, segments: keeps acknowledgements arriving at a receiver that acknowledges every other segment.
const MIN_CWND: f64 = 2.0;
/// Share of lost segments above which the default mode halves its window.
const MANY_LOST: f64 = 0.1;
const JUDGED: u64 = 10;

/// The Copa controller. The state is boxed, so that connections of other controls do not become larger.
#[derive(Clone, Debug)]
pub struct Copa(Box<State>);

/// Smallest and largest round trip of a round, microseconds.
#[derive(Clone, Copy, Debug)]
struct Round {
    least: u32,
    largest: u32,
}

const NO_ROUND: Round = Round { least: u32::MAX, largest: 0 };

#[derive(Clone, Debug)]
struct State {
    /// Congestion window with its fraction, segments.
    cwnd: f64,
    written: u32,
    /// `delta` of the default mode; `delta` below is the current value.
    default_delta: f64,
    delta: f64,
    competes: bool,
    resets_velocity: bool,
    is_competitive: bool,
    velocity: f64,
    in_slow_start: bool,
    /// Complements of round trips, microseconds: the largest belongs to the smallest round trip.
    standing: WindowedMax,
    least: WindowedMax,
    /// Value of `delivered` at which the round ends: the first segment sent after that many deliveries is acknowledged.
    round_end: u64,
    cwnd_at_start: f64,
    went_up: bool,
    /// Consecutive rounds in which the window moved in the same direction.
    steady: u32,
    lost_at_start: u64,
    /// Segments lost by the last check of the share of losses.
    lost_judged: u64,
    delivered_judged: u64,
    /// Latest rounds, the current one first.
    rounds: [Round; ROUNDS],
    rate: Rate,
}

impl Default for Copa {
    fn default() -> Copa {
        Copa::configured(&Arguments::defaults(&COMPONENT))
    }
}

impl Copa {
    fn configured(arguments: &Arguments) -> Copa {
        let mut copa = Copa::new(arguments.get(&DELTA), arguments.get(&COMPETITIVE));
        copa.0.resets_velocity = arguments.get(&VELOCITY_RESET);
        copa
    }

    /// A controller with `delta` from 0.01 to 10 (values outside are clamped). `competes`: whether it has the competitive mode.
    pub fn new(delta: f64, competes: bool) -> Copa {
        let delta = delta.clamp(0.01, 10.0);
        Copa(Box::new(State {
            cwnd: MIN_CWND,
            written: 0,
            default_delta: delta,
            delta,
            competes,
            resets_velocity: true,
            is_competitive: false,
            velocity: 1.0,
            in_slow_start: true,
            standing: WindowedMax::default(),
            least: WindowedMax::default(),
            round_end: 0,
            cwnd_at_start: MIN_CWND,
            went_up: true,
            steady: 0,
            lost_at_start: 0,
            lost_judged: 0,
            delivered_judged: 0,
            rounds: [NO_ROUND; ROUNDS],
            rate: Rate::from_bps(0),
        }))
    }

    /// Whether the controller is in competitive mode.
    pub fn is_competitive(&self) -> bool {
        self.0.is_competitive
    }
}

impl State {
    fn standing_micros(&self) -> u32 {
        !self.standing.get()
    }

    fn queueing_micros(&self) -> u32 {
        self.standing_micros().saturating_sub(!self.least.get())
    }

    fn sample(&mut self, connection: &Connection, rtt: u32) {
        // Only differences of these times are used, so they may wrap.
        let now = (connection.now.as_nanos() / 1_000) as u32;
        let half = (connection.srtt.as_micros() / 2).min(u64::from(LEAST_WINDOW)) as u32;
        self.standing.update(half, now, !rtt);
        self.least.update(LEAST_WINDOW, now, !rtt);
        let round = &mut self.rounds[0];
        *round = Round { least: round.least.min(rtt), largest: round.largest.max(rtt) };
    }

    fn end_round(&mut self, connection: &Connection) {
        self.round_end = connection.delivered;
        let goes_up = self.cwnd > self.cwnd_at_start;
        self.steady = if goes_up == self.went_up { self.steady.saturating_add(1) } else { 1 };
        self.velocity = if self.steady > STEADY { self.velocity * 2.0 } else { 1.0 };
        self.went_up = goes_up;
        self.cwnd_at_start = self.cwnd;
        self.judge_losses(connection);
        self.choose_mode(connection);
        self.rounds.rotate_right(1);
        self.rounds[0] = NO_ROUND;
        self.lost_at_start = connection.lost;
    }

    /// Halves the window of the default mode if many segments were lost. Over a discipline that keeps the queue short nothing else would reduce it.
    fn judge_losses(&mut self, connection: &Connection) {
        let lost = connection.lost - self.lost_judged;
        let all = lost + connection.delivered - self.delivered_judged;
        if all < JUDGED {
            return;
        }
        self.lost_judged = connection.lost;
        self.delivered_judged = connection.delivered;
        if !self.is_competitive && lost as f64 > MANY_LOST * all as f64 {
            self.cwnd = (self.cwnd / 2.0).max(1.0);
            self.cwnd_at_start = self.cwnd;
            self.in_slow_start = false;
            self.velocity = 1.0;
            self.steady = 0;
        }
    }

    fn choose_mode(&mut self, connection: &Connection) {
        let least = !self.least.get();
        let largest = self.rounds.iter().take(ROUNDS_OF_LARGEST).map(|round| round.largest).max();
        let above = f64::from(largest.unwrap_or(0).saturating_sub(least));
        let segment = 1.5 * f64::from(self.standing_micros()) / self.cwnd;
        let is_empty = |round: &Round| {
            let waited = f64::from(round.least.saturating_sub(least));
            round.largest == 0 || waited < (NEARLY_EMPTY * above).max(segment)
        };
        self.is_competitive = self.competes && !self.in_slow_start && !self.rounds.iter().any(is_empty);
        self.delta = if !self.is_competitive {
            self.default_delta
        } else if connection.lost > self.lost_at_start {
            (self.delta * 2.0).min(self.default_delta)
        } else {
            1.0 / (1.0 / self.delta + 1.0)
        };
    }

    fn move_window(&mut self, sample: &AckSample) {
        let acked = f64::from(sample.acked_sacked);
        let waited = f64::from(self.queueing_micros());
        // Current rate above 1 / (delta x queueing delay), with both sides multiplied by standing round trip, delta and delay.
        let is_above = self.cwnd * waited * self.delta > f64::from(self.standing_micros());
        if self.in_slow_start {
            if !is_above {
                if !sample.is_app_limited {
                    self.cwnd += acked;
                }
                return;
            }
            self.in_slow_start = false;
            self.steady = 0;
            // The queue left by slow start does not show other flows.
            self.rounds = [NO_ROUND; ROUNDS];
        }
        if self.resets_velocity && self.velocity > 1.0 && is_above == self.went_up {
            self.velocity = 1.0;
            self.steady = 0;
            self.went_up = !is_above;
        }
        self.velocity = self.velocity.min(self.delta * self.cwnd).max(1.0);
        let step = acked * self.velocity / (self.delta * self.cwnd);
        if is_above {
            self.cwnd = (self.cwnd - step).max(MIN_CWND.min(self.cwnd));
        } else if !sample.is_app_limited {
            self.cwnd += step;
        }
    }

    fn pace(&mut self, connection: &Connection) {
        let rtt = if self.standing.get() == 0 { 1_000 } else { self.standing_micros().max(1) };
        let bits = 2.0 * self.cwnd * f64::from(connection.mss) * 8.0;
        self.rate = Rate::from_bps((bits * 1e6 / f64::from(rtt)) as u64);
    }
}

impl Controller for Copa {
    fn init(&mut self, connection: &Connection, window: &mut Window, _: &mut Random) {
        let state = &mut *self.0;
        window.ssthresh = u32::MAX;
        state.cwnd = f64::from(window.cwnd);
        state.cwnd_at_start = state.cwnd;
        state.written = window.cwnd;
        state.pace(connection);
    }

    fn ssthresh(&mut self, _: &Connection, window: &Window) -> u32 {
        window.ssthresh
    }

    fn grow(&mut self, _: &Connection, _: &mut Window, _: &AckSample) {}

    fn owns_window(&self) -> bool {
        true
    }

    fn control(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample, _: &mut Random) {
        let state = &mut *self.0;
        if window.cwnd != state.written {
            // A timeout, or its undo, has changed the window.
            state.cwnd = f64::from(window.cwnd);
        }
        if let Some(rtt) = sample.rtt {
            state.sample(connection, u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX - 1).max(1));
        }
        if state.standing.get() != 0 {
            state.move_window(sample);
            if sample.interval.is_some() && sample.prior_delivered >= state.round_end {
                state.end_round(connection);
            }
        }
        state.cwnd = state.cwnd.clamp(1.0, f64::from(window.clamp).max(1.0));
        window.cwnd = state.cwnd as u32;
        state.written = window.cwnd;
        state.pace(connection);
    }

    fn set_recovery(&mut self, _: &Connection, _: &mut Window, to: Recovery) {
        if to == Recovery::Loss {
            self.0.in_slow_start = true;
            self.0.velocity = 1.0;
            self.0.steady = 0;
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.0.rate)
    }

    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::minimal::{Link, MinimalTcp};
    use super::*;
    use alloc::vec::Vec;
    use qdelay_core::{Span, Time};

    /// Segments in the queue at each millisecond of 20 s, after 10 s; the throughput; whether the mode was competitive.
    fn waiting(delta: f64, competes: bool, mbps: f64, rtt: u64) -> (Vec<f64>, f64, bool) {
        let rate = Rate::from_mbps(mbps);
        let link = Link { buffer: 5_000, ..Link::new(rate, Span::from_millis(rtt)) };
        let mut tcp = MinimalTcp::new(Copa::new(delta, competes), link, |_, _| false);
        tcp.run_until(Time::ZERO + Span::from_secs(10));
        let before = tcp.connection.delivered;
        let one = rate.time_for(1500).as_secs_f64();
        let waiting = (0..20_000).map(|n| {
            tcp.run_until(Time::ZERO + Span::from_millis(10_000 + n));
            tcp.link.free.since(tcp.connection.now).as_secs_f64() / one
        });
        let waiting = waiting.collect();
        let used = (tcp.connection.delivered - before) as f64 * one / 20.0;
        (waiting, used, tcp.controller.is_competitive())
    }

    /// In equilibrium the queue oscillates between 0 and 2.5 / delta segments around 1.25 / delta (sections 2.1 and 3). With a higher velocity the
    /// oscillation is larger: the 99th percentile is 10.1 segments at 12 Mbit/s and 100 ms with the default delta.
    #[test]
    fn the_queue_holds_about_one_over_delta() {
        for (delta, competes) in [(0.1, false), (0.5, true)] {
            for (mbps, rtt) in [(12.0, 20), (12.0, 100), (48.0, 50)] {
                let (mut waiting, used, is_competitive) = waiting(delta, competes, mbps, rtt);
                let mean = waiting.iter().sum::<f64>() / waiting.len() as f64;
                waiting.sort_by(f64::total_cmp);
                let high = waiting[waiting.len() * 99 / 100];
                let case = alloc::format!("{delta} {mbps} {rtt}: {mean} {high} {used}");
                assert!((0.5 / delta..2.5 / delta).contains(&mean), "{case}");
                assert!(used > 0.95 && !is_competitive, "{case}");
            }
        }
    }

    /// With 30 ms of queue by other flows the queue never empties: competitive mode begins within some round trips. 1 / delta then grows by one per
    /// round trip, and halves with a loss.
    #[test]
    fn competitive_mode_is_aimd_of_one_over_delta() {
        let state = &mut *Copa::default().0;
        state.in_slow_start = false;
        let mut c = super::super::minimal::connection(Time::ZERO);
        c.srtt = Span::from_millis(80);
        state.sample(&c, 40_000);
        state.cwnd = 100.0;
        let mut inverse = Vec::new();
        for round in 1..=12 {
            for part in 0..10 {
                c.now = Time::ZERO + Span::from_millis(80 * round + 8 * part);
                state.sample(&c, 70_000 + 1_000 * part as u32);
            }
            c.lost += u64::from(round == 10);
            state.end_round(&c);
            inverse.push(libm::round(1.0 / state.delta) as u32);
        }
        // The first round saw an empty queue, and is one of the last five until the sixth.
        assert_eq!(inverse, [2, 2, 2, 2, 2, 3, 4, 5, 6, 3, 4, 5]);
        c.now += Span::from_millis(80);
        state.sample(&c, 40_500);
        state.end_round(&c);
        assert!(!state.is_competitive && (state.delta - 0.5).abs() < 1e-9);
    }

    /// In default mode a loss of 1 of 12 segments has no effect, and one of 4 of 20 halves the window.
    #[test]
    fn many_losses_halve_the_window_of_the_default_mode() {
        let state = &mut *Copa::default().0;
        let mut c = super::super::minimal::connection(Time::ZERO);
        let mut after = |lost, delivered, is_competitive| {
            (state.cwnd, state.is_competitive) = (8.0, is_competitive);
            c.lost += lost;
            c.delivered += delivered;
            state.judge_losses(&c);
            state.cwnd
        };
        assert_eq!([after(1, 11, false), after(4, 16, false), after(4, 16, true)], [8.0, 4.0, 8.0]);
        // Five segments are too few for a decision; ten are enough.
        assert_eq!([after(2, 3, false), after(0, 5, false)], [8.0, 4.0]);
    }

    #[test]
    fn velocity_doubles_after_three_rounds_of_one_direction() {
        let state = &mut *Copa::default().0;
        state.steady = 0;
        let c = super::super::minimal::connection(Time::ZERO);
        let mut seen = Vec::new();
        for step in [1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0] {
            state.cwnd += step;
            state.end_round(&c);
            seen.push(state.velocity as u32);
        }
        assert_eq!(seen, [1, 1, 1, 2, 4, 1, 1]);
    }
}
