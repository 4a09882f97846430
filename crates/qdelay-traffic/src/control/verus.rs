//! Verus (Zaki et al., "Adaptive Congestion Control for Unpredictable Cellular Networks", SIGCOMM 2015): learns which delay belongs to which
//! window, decides every 5 ms whether the delay may rise or must fall, and takes the window that belongs to that delay.
//!
//! * The [`Profile`] has a mean delay for each window, made of the round trips of segments that were sent with it; every second a curve is laid
//!   through it.
//! * In each epoch of 5 ms, D is the largest round trip that came back, or the time since the last one if that is longer; d is its running
//!   mean, and the delay that is aimed at, *aim*, moves: by -2 ms where d > `ratio` x least round trip, by -1 ms where D > d, else by +2 ms; not
//!   below the least round trip. The window is the largest whose delay on the curve is not above *aim*.
//! * *Slow start* adds a segment for each that is acknowledged, until a loss at more than 20 segments or a round trip above 500 ms.
//! * A *loss* multiplies the window with which the lost segment was sent by `decrease`. Until segments come back that were sent with no more than
//!   that, each adds 1 / window, and the profile learns nothing.
//!
//! | parameter | default | source |
//! | --- | --- | --- |
//! | `ratio` | 6 | R; the authors' program |
//! | `decrease` | 0.7 | M; the authors' program |
//!
//! Source: the paper's algorithm as its talk at the IETF (96, iccrg) and the authors' program (github.com/yzaki/verus, MIT, commit 4b1bbf0)
//! describe it; constants are those of the program. The paper's own text was not at hand.
//!
//! Differences from the program: it is a protocol over UDP, where each epoch may send as many packets as its window has room for and as the
//! rest of the round trip leaves; here the window is TCP's, whose acknowledgements let segments go, and retransmissions are TCP's. The program
//! takes a gap in the numbers for a loss after 150 ms, TCP by its own rules. Epochs without acknowledgements are made up with the next one. Its
//! curve is a penalized spline; see [`Profile`] for ours. Where no window belongs to *aim*, it begins anew with slow start; here the curve goes on
//! beyond the windows seen. Where *aim* has fallen to the least round trip it sends nothing for an epoch; here the window is one segment. Where nothing is in flight
//! then, the least round trip grows by 10 ms; here only in epochs with acknowledgements, since it would grow all through a timeout.

mod profile;

use super::{AckSample, AnyController, Connection, Controller, Event, Window};
use crate::knobs;
use crate::profile::Profile as World;
use alloc::vec::Vec;
use profile::Profile;
use qdelay_core::component::{Arguments, Component, Parameter, Typed};
use qdelay_core::{Random, Span, Time};

const RATIO: Typed<f64> =
    Typed::new("ratio", "6", "Largest delay, over the least round trip, that may grow further")
        .within("1.1", "100")
        .source("R, Zaki et al. 2015; the authors' program");
const DECREASE: Typed<f64> = Typed::new("decrease", "0.7", "What a loss multiplies the window with")
    .within("0.1", "0.95")
    .source("M, Zaki et al. 2015; the authors' program");
static PARAMETERS: [Parameter; knobs::KNOBS.len() + 2] =
    knobs::with_knobs(&[RATIO.parameter(), DECREASE.parameter()]);

pub(super) static COMPONENT: Component = knobs::component(
    "verus",
    "TCP with Verus, which learns the delay that belongs to each window",
    "Zaki et al., SIGCOMM 2015",
    &PARAMETERS,
);

pub(super) fn build(arguments: &Arguments, _: &World) -> AnyController {
    Verus::new(arguments.get(&RATIO), arguments.get(&DECREASE)).into()
}

/// An epoch.
const EPOCH: Span = Span::from_millis(5);
/// Milliseconds that the aim falls where the delay grows (delta 1), and that it falls or rises else (delta 2).
const SMALL_STEP: f64 = 1.0;
const LARGE_STEP: f64 = 2.0;
/// Weight of the past in the running mean of epochs' delays.
const PAST: f64 = 0.2;
/// Growth of the delay below which it counts as constant, milliseconds.
const CONSTANT: f64 = 1e-4;
/// A loss at no more than this window does not end slow start.
const SMALL_WINDOW: f64 = 20.0;
/// A round trip that ends slow start, milliseconds.
const LATE: f64 = 500.0;
/// What the least round trip grows by where it cannot be reached any more, milliseconds.
const GIVE: f64 = 10.0;
/// Epochs whose windows are remembered: 5 s.
const REMEMBERED: usize = 1024;
/// Between two curves.
const CURVE_EVERY: Span = Span::from_secs(1);

/// The Verus controller. Delays are round trips in milliseconds.
#[derive(Clone, Debug)]
pub struct Verus {
    ratio: f64,
    decrease: f64,
    in_slow_start: bool,
    /// Since a loss, until what was sent after it comes back.
    in_loss: bool,
    /// The loss was a delay at which slow start ended: the aim does not fall meanwhile.
    is_late: bool,
    window: f64,
    aim: f64,
    least: f64,
    /// The largest delay of this epoch; negative before the first.
    largest: f64,
    /// Running mean of `largest`; negative before the first.
    mean: f64,
    /// When this epoch ends; the first begins with slow start's end.
    epoch_end: Time,
    last_ack: Time,
    curve_due: Time,
    profile: Profile,
    /// Windows by epoch since the connection's start, in a ring, and the last epoch that is there.
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
    /// A controller with this R (1.1 to 100) and M (0.1 to 0.95); what is outside is clamped.
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

    /// The window is that of all epochs until now.
    fn remember(&mut self, now: Time) {
        let epoch = epoch_of(now);
        let missing = epoch.saturating_sub(self.newest).min(REMEMBERED as u64);
        for index in epoch + 1 - missing..=epoch {
            self.sent_with[index as usize % REMEMBERED] = self.window as u32;
        }
        self.newest = epoch;
    }

    /// The window with which a segment was sent then.
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

    /// The delay that belongs to a window; none is below the least round trip, once there is one.
    fn aim_of(&self, window: f64) -> f64 {
        let delay = self.profile.delay(window);
        if self.least.is_finite() { delay.max(self.least) } else { delay }
    }

    /// A loss of a segment that was sent with this window.
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

    /// A round trip came back.
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

    /// The end of an epoch.
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
        // Beyond what is remembered nothing would change any more.
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
        // The call has no time: slow start ends with what was sent last.
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
