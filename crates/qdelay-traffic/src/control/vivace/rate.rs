//! The rate control: the next rate to try, and the change of the rate by the utilities.

use super::VivaceConfig;
use qdelay_core::Random;

/// Lowest rate, Mbit/s.
const RATE_MIN: f64 = 0.05;
const RATE_MAX: f64 = 1e5;
/// Consecutive changes in one direction after which the amplifier grows twice as fast.
const CONFIDENT: u32 = 3;
/// Largest k of the bound; the bound is far larger than the rate before.
const BOUNDS_MAX: u32 = 1_000_000;

/// The rate control. Rates in Mbit/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateControl {
    config: VivaceConfig,
    rate: f64,
    phase: Phase,
    /// Whether the last change was an increase.
    upwards: bool,
    changes: u32,
    /// Consecutive changes that reached the bound (the paper's k).
    bounds: u32,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Slow start. `before`: sent rate and utility of the last interval; `is_asked`: whether an interval is being measured.
    Start { before: Option<(f64, f64)>, is_asked: bool },
    /// Probing with two pairs. `faster_first`: order of the rates in each pair; `asked`: intervals begun; `known`: intervals with a known
    /// utility.
    Probe { faster_first: [bool; 2], asked: usize, known: usize, utilities: [f64; 4] },
}

const PROBE: Phase = Phase::Probe { faster_first: [false; 2], asked: 0, known: 0, utilities: [0.0; 4] };

impl RateControl {
    pub(super) fn new(config: VivaceConfig, rate: f64) -> RateControl {
        let phase = Phase::Start { before: None, is_asked: false };
        let rate = rate.clamp(RATE_MIN, RATE_MAX);
        RateControl { config, rate, phase, upwards: true, changes: 0, bounds: 0 }
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn is_starting(&self) -> bool {
        matches!(self.phase, Phase::Start { .. })
    }

    /// Rate of the next interval, Mbit/s; `None` while the utilities of earlier intervals are awaited.
    pub(super) fn next(&mut self, random: &mut Random) -> Option<f64> {
        match &mut self.phase {
            Phase::Start { is_asked, .. } => {
                let was_asked = core::mem::replace(is_asked, true);
                (!was_asked).then_some(self.rate)
            }
            Phase::Probe { faster_first, asked, .. } => {
                let faster_first = faster_first.get_mut(*asked / 2)?;
                let is_first = *asked % 2 == 0;
                if is_first {
                    *faster_first = random.below(2) == 0;
                }
                *asked += 1;
                let sign = if *faster_first == is_first { 1.0 } else { -1.0 };
                Some(self.rate * (1.0 + sign * self.config.epsilon))
            }
        }
    }

    /// Records the utility of the oldest interval that [`RateControl::next`] has requested; `sent`: rate actually sent, Mbit/s.
    pub(super) fn result(&mut self, sent: f64, utility: f64) {
        match &mut self.phase {
            Phase::Start { before, is_asked } => {
                *is_asked = false;
                match *before {
                    Some((rate, best)) if utility <= best => {
                        self.rate = rate.clamp(RATE_MIN, RATE_MAX);
                        self.phase = PROBE;
                    }
                    // A negative utility is worse than that of sending nothing, 0.
                    None if utility < 0.0 && self.rate > RATE_MIN => {
                        self.rate = (self.rate / 2.0).max(RATE_MIN);
                    }
                    _ => {
                        *before = Some((sent, utility));
                        self.rate = (2.0 * self.rate).min(RATE_MAX);
                    }
                }
            }
            Phase::Probe { faster_first, known, utilities, .. } => {
                if let Some(slot) = utilities.get_mut(*known) {
                    *slot = utility;
                    *known += 1;
                }
                if *known == utilities.len() {
                    let [a, b, c, d] = *utilities;
                    let [first, second] = *faster_first;
                    let gains = [if first { a - b } else { b - a }, if second { c - d } else { d - c }];
                    self.phase = PROBE;
                    self.step(gains.map(|gain| gain / (2.0 * self.config.epsilon * self.rate)));
                }
            }
        }
    }

    /// Changes the rate if the gradients of both pairs have the same sign.
    fn step(&mut self, [first, second]: [f64; 2]) {
        let gradient = (first + second) / 2.0;
        let upwards = gradient > 0.0;
        if (first > 0.0) != (second > 0.0) || gradient == 0.0 || !gradient.is_finite() {
            return;
        }
        if upwards != self.upwards {
            (self.changes, self.bounds) = (0, 0);
        }
        self.upwards = upwards;
        self.changes = self.changes.saturating_add(1);
        let change = self.config.theta * amplifier(self.changes) * gradient.abs();
        let bound = self.boundary() * self.rate;
        if change > bound {
            self.bounds = (self.bounds + 1).min(BOUNDS_MAX);
        } else {
            let beyond = change / self.rate - self.config.boundary;
            let steps = libm::ceil(beyond / self.config.boundary_step).max(0.0);
            self.bounds = (steps as u32).min(self.bounds);
        }
        let change = change.min(bound);
        let rate = if upwards { self.rate + change } else { self.rate - change };
        self.rate = rate.clamp(RATE_MIN, RATE_MAX);
    }

    /// Largest change, as a share of the rate.
    fn boundary(&self) -> f64 {
        self.config.boundary + f64::from(self.bounds) * self.config.boundary_step
    }

    /// Discards all requested intervals, and restarts at the same rate.
    pub(super) fn forget(&mut self) {
        match &mut self.phase {
            Phase::Start { is_asked, .. } => *is_asked = false,
            Phase::Probe { .. } => self.phase = PROBE,
        }
    }

    /// Halves the rate because an outcome is late, and discards everything learnt before.
    pub(super) fn time_out(&mut self) {
        self.rate = (self.rate / 2.0).max(RATE_MIN);
        self.phase = match self.phase {
            Phase::Start { .. } => Phase::Start { before: None, is_asked: false },
            Phase::Probe { .. } => PROBE,
        };
        (self.changes, self.bounds) = (0, 0);
    }
}

/// The confidence amplifier m(τ).
fn amplifier(changes: u32) -> f64 {
    let changes_f = f64::from(changes);
    if changes <= CONFIDENT { changes_f } else { 2.0 * changes_f - f64::from(CONFIDENT) }
}
