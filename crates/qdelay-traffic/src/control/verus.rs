//! Verus (Zaki et al., "Adaptive Congestion Control for Unpredictable Cellular Networks", SIGCOMM 2015): learns the delay of each
//! window, decides every 5 ms whether the target delay rises or falls, and sets the window that has the target delay.
//!
//! * The [`Profile`] has a mean delay for each window, from the round trips of segments sent with that window; every second a curve is fitted to
//!   the means.
//! * In each epoch of 5 ms, D is the largest round trip measured, or the time since the last measurement if that is longer; d is the running
//!   mean of D. The target delay, *aim*, changes by -2 ms if d > `ratio` x smallest round trip, by -1 ms if D > d, otherwise by +2 ms, but not
//!   below the smallest round trip. The window is the largest whose delay on the curve is at most *aim*.
//! * *Slow start* adds a segment per acknowledged segment, until a loss at more than 20 segments or a round trip above 500 ms.
//! * A *loss* sets the window to `decrease` times the window with which the lost segment was sent. Until segments sent with at most that window are
//!   acknowledged, each acknowledgement adds 1 / window, and the profile does not learn.
//!
//! | parameter | default | source |
//! | --- | --- | --- |
//! | `ratio` | 6 | R; the authors' program |
//! | `decrease` | 0.7 | M; the authors' program |
//!
//! Source: the paper's algorithm as its talk at the IETF (96, iccrg) and the authors' program (github.com/yzaki/verus, MIT, commit 4b1bbf0)
//! describe it; constants are those of the program. The paper's own text was not at hand.
//!
//! Differences from the program:
//! * The program is a protocol over UDP, and sends the packets of a window spread over the epochs of a round trip; here the window and the
//!   retransmissions are TCP's.
//! * The program declares a gap in the sequence numbers lost after 150 ms; here TCP detects losses.
//! * Epochs without acknowledgements are made up for at the next acknowledgement.
//! * The program's curve is a penalized spline; see [`Profile`] for ours.
//! * If no window has the delay *aim*, the program restarts with slow start; here the curve extends beyond the windows seen.
//! * If *aim* has fallen to the smallest round trip, the program sends nothing for an epoch; here the window is one segment. If nothing is in flight
//!   then, the smallest round trip grows by 10 ms; here only in epochs with acknowledgements, since it would grow throughout a timeout.

mod profile;

use super::{AckSample, AnyController, Connection, Controller, Event, Window};
use crate::knobs;
use crate::profile::Profile as World;
use alloc::vec::Vec;
use profile::Profile;
use qdelay_core::component::{Arguments, Component, Parameter, Typed};
use qdelay_core::{Random, Span, Time};

const RATIO: Typed<f64> = Typed::new(
    "ratio",
    "6",
    "Largest mean delay at which the target delay still rises, as a multiple of the smallest round trip",
)
.within("1.1", "100")
.source("R, Zaki et al. 2015; the authors' program");
const DECREASE: Typed<f64> = Typed::new("decrease", "0.7", "Factor on the window after a loss")
    .within("0.1", "0.95")
    .source("M, Zaki et al. 2015; the authors' program");
static PARAMETERS: [Parameter; knobs::KNOBS.len() + 2] =
    knobs::with_knobs(&[RATIO.parameter(), DECREASE.parameter()]);

pub(super) static COMPONENT: Component = knobs::component(
    "verus",
    "TCP with Verus, which learns the delay of each window",
    "Zaki et al., SIGCOMM 2015",
    &PARAMETERS,
);

pub(super) fn build(arguments: &Arguments, _: &World) -> AnyController {
    Verus::new(arguments.get(&RATIO), arguments.get(&DECREASE)).into()
}

/// Length of an epoch.
const EPOCH: Span = Span::from_millis(5);
/// Decrease of the target delay while the delay grows (delta 1), ms.
const SMALL_STEP: f64 = 1.0;
const LARGE_STEP: f64 = 2.0;
/// Weight of the past in the running mean of epochs' delays.
const PAST: f64 = 0.2;
/// Growth of the delay below which it counts as constant, milliseconds.
const CONSTANT: f64 = 1e-4;
/// Largest window at which a loss does not end slow start, segments.
const SMALL_WINDOW: f64 = 20.0;
/// Round trip that ends slow start, ms.
const LATE: f64 = 500.0;
/// Increment of the smallest round trip once it is unreachable, ms.
const GIVE: f64 = 10.0;
/// Number of epochs whose windows are stored: 5 s.
const REMEMBERED: usize = 1024;
/// Interval between fits of the curve.
const CURVE_EVERY: Span = Span::from_secs(1);

/// The Verus controller. Delays are round trips in milliseconds.
#[derive(Clone, Debug)]
pub struct Verus {
    ratio: f64,
    decrease: f64,
    in_slow_start: bool,
    /// Whether the controller is in loss recovery: from a loss until segments sent after it are acknowledged.
    in_loss: bool,
    /// Whether a late round trip ended slow start, not a loss: the target delay does not fall in that recovery.
    is_late: bool,
    window: f64,
    aim: f64,
    least: f64,
    /// Largest delay of this epoch; negative before the first.
    largest: f64,
    /// Running mean of `largest`; negative before the first.
    mean: f64,
    /// End of the current epoch; the first epoch begins at the end of slow start.
    epoch_end: Time,
    last_ack: Time,
    curve_due: Time,
    profile: Profile,
    /// Windows by epoch since the start of the connection: a ring buffer.
    sent_with: Vec<u32>,
    newest: u64,
}

impl Default for Verus {
    fn default() -> Verus {
        let arguments = Arguments::defaults(&COMPONENT);
        Verus::new(arguments.get(&RATIO), arguments.get(&DECREASE))
    }
}

fn epoch_of(time: Time) -> u64 {
    time.as_nanos() / EPOCH.as_nanos()
}

fn milliseconds(span: Span) -> f64 {
    span.as_secs_f64() * 1e3
}

impl Verus {
    /// A controller with ratio R, 1.1 to 100, and decrease M, 0.1 to 0.95; values outside are clamped.
    pub fn new(ratio: f64, decrease: f64) -> Verus {
        Verus {
            ratio: ratio.clamp(1.1, 100.0),
            decrease: decrease.clamp(0.1, 0.95),
            in_slow_start: true,
            in_loss: false,
            is_late: false,
            window: 1.0,
            aim: 0.0,
            least: f64::INFINITY,
            largest: -1.0,
            mean: -1.0,
            epoch_end: Time::NEVER,
            last_ack: Time::ZERO,
            curve_due: Time::NEVER,
            profile: Profile::default(),
            sent_with: Vec::new(),
            newest: 0,
        }
    }

    /// Stores the current window for all epochs up to `now`.
    fn remember(&mut self, now: Time) {
        let epoch = epoch_of(now);
        let missing = epoch.saturating_sub(self.newest).min(REMEMBERED as u64);
        for index in epoch + 1 - missing..=epoch {
            self.sent_with[index as usize % REMEMBERED] = self.window as u32;
        }
        self.newest = epoch;
    }

    /// Window in the epoch of the time `sent`.
    fn window_at(&self, sent: Time) -> u32 {
        let oldest = self.newest.saturating_sub(REMEMBERED as u64 - 1);
        self.sent_with[epoch_of(sent).clamp(oldest, self.newest) as usize % REMEMBERED].max(1)
    }

    fn end_slow_start(&mut self, now: Time) {
        self.in_slow_start = false;
        self.profile.draw();
        self.aim = self.aim_of(self.window);
        self.epoch_end = now + EPOCH;
        self.curve_due = now + CURVE_EVERY;
        self.largest = -1.0;
        self.mean = -1.0;
    }

    /// Target delay of a window: its delay on the curve, at least the smallest round trip.
    fn aim_of(&self, window: f64) -> f64 {
        let delay = self.profile.delay(window);
        if self.least.is_finite() { delay.max(self.least) } else { delay }
    }

    /// Reacts to the loss of a segment that was sent with the window `sent_with`.
    fn lose(&mut self, now: Time, sent_with: f64) {
        if !self.in_loss {
            self.in_loss = true;
            self.window = self.window.min(self.decrease * sent_with).max(1.0);
            if !self.in_slow_start {
                self.aim = self.aim_of(self.window);
            }
        }
        if self.in_slow_start && self.window > SMALL_WINDOW {
            self.end_slow_start(now);
        }
    }

    /// Records a round-trip sample.
    fn observe(&mut self, now: Time, rtt: Span) {
        let delay = milliseconds(rtt);
        self.least = self.least.min(delay);
        let sent_with = self.window_at(Time::from_nanos(now.as_nanos().saturating_sub(rtt.as_nanos())));
        if self.in_slow_start && delay > LATE {
            self.window = (self.decrease * f64::from(sent_with)).max(1.0);
            self.in_loss = true;
            self.is_late = true;
            self.end_slow_start(now);
        }
        if self.in_loss && f64::from(sent_with) <= self.window {
            self.in_loss = false;
            self.is_late = false;
            self.largest = -1.0;
        }
        self.largest = self.largest.max(delay);
        if self.in_loss {
            self.window += 1.0 / self.window;
            if !self.in_slow_start {
                self.aim = self.aim.min(self.profile.delay(self.window));
            }
        } else {
            self.profile.learn(sent_with, delay);
        }
    }

    /// Sets target delay and window at the end of an epoch.
    fn decide(&mut self, now: Time, in_flight: u32) {
        let is_heard = self.largest >= 0.0;
        let largest =
            if is_heard { self.largest } else { milliseconds(now.since(self.last_ack)).max(self.mean) };
        self.largest = -1.0;
        if self.mean < 0.0 {
            self.mean = largest;
        }
        let mut is_empty = false;
        if self.mean > self.ratio * self.least {
            if !self.is_late {
                self.aim = (self.aim - LARGE_STEP).max(self.least);
                is_empty = self.aim == self.least;
                if is_empty && is_heard && in_flight < 2 {
                    self.least += GIVE;
                    is_empty = false;
                }
            }
        } else if largest - self.mean > CONSTANT {
            self.aim = (self.aim - SMALL_STEP).max(self.least);
        } else {
            self.aim += LARGE_STEP;
        }
        self.window = if is_empty { 1.0 } else { self.profile.window(self.aim).max(1.0) };
        self.mean = PAST * self.mean + (1.0 - PAST) * largest;
    }

    fn run_epochs(&mut self, now: Time, in_flight: u32) {
        // Epochs older than the stored ones have no effect.
        let earliest = Time::from_nanos(now.as_nanos().saturating_sub(EPOCH.as_nanos() * REMEMBERED as u64));
        self.epoch_end = self.epoch_end.max(earliest);
        while self.epoch_end <= now {
            let end = self.epoch_end;
            if end >= self.curve_due {
                self.profile.draw();
                self.curve_due = end + CURVE_EVERY;
            }
            self.decide(end, in_flight);
            self.epoch_end = end + EPOCH;
        }
    }
}

impl Controller for Verus {
    fn init(&mut self, connection: &Connection, window: &mut Window, _: &mut Random) {
        self.window = f64::from(window.cwnd);
        self.sent_with = alloc::vec![window.cwnd; REMEMBERED];
        self.newest = epoch_of(connection.now);
        self.last_ack = connection.now;
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn ssthresh(&mut self, _: &Connection, window: &Window) -> u32 {
        window.ssthresh
    }

    fn grow(&mut self, _: &Connection, _: &mut Window, _: &AckSample) {}

    fn lost(&mut self, sent: Time) {
        let sent_with = f64::from(self.window_at(sent));
        // The call has no time of its own: the time of the last acknowledgement stands in.
        self.lose(self.last_ack, sent_with);
    }

    fn control(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample, _: &mut Random) {
        let now = connection.now;
        if !self.in_slow_start {
            self.run_epochs(now, connection.in_flight);
        }
        if let Some(rtt) = sample.rtt {
            self.observe(now, rtt);
        }
        if self.in_slow_start && !self.in_loss {
            self.window += f64::from(sample.acked_sacked);
        }
        self.last_ack = now;
        self.window = self.window.min(f64::from(window.clamp));
        window.cwnd = (self.window as u32).max(1);
        self.remember(now);
    }

    fn event(&mut self, connection: &Connection, window: &mut Window, event: Event) {
        if event != Event::Timeout {
            return;
        }
        self.window = 1.0;
        if self.least.is_finite() {
            if self.in_slow_start {
                self.end_slow_start(connection.now);
            }
            self.in_loss = true;
            self.aim = self.least;
        }
        window.cwnd = 1;
        self.remember(connection.now);
    }

    fn undo(&mut self, _: &Connection, window: &Window, _: u32) -> u32 {
        window.cwnd
    }

    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}
