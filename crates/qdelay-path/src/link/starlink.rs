//! A satellite link whose allocation is reset at fixed times and grows while data waits: the terminal of a Starlink user, as measurements of
//! 2025 and 2026 describe it.
//!
//! The link sends in frames. After each reset it has the rate `rate` / `ramp`. While packets wait behind a frame, the rate grows
//! linearly, within `ramp_time` to `rate`. It keeps what it has reached until the next reset, or until nothing has been sent for `idle`.
//! With `spread` every period has another rate, drawn uniformly around `rate`.
//!
//! | parameter | meaning | default | source |
//! | --- | --- | --- | --- |
//! | `rate` | rate of a busy link after the ramp | required | |
//! | `ramp` | ratio of the rate after the ramp to the rate after a reset | 3.4 | measurements of 2026: 3.4 downlink, 2 uplink |
//! | `ramp_time` | time from the one to the other under pressure | 400 ms | the same |
//! | `period` | time between resets | 15 s | Tanveer et al. (HotNets 2023) and others |
//! | `first` | first reset after the beginning | 15 s | |
//! | `idle` | time without data after which the rate is that after a reset | 1 s | ours: not published |
//! | `spread` | range of the rates of periods around `rate`, as a share of it | 0% | ours; recordings differ |
//! | `frame` | duration of a frame | 4/3 ms | Humphreys et al. (2023): 750 frames per second |
//! | `seed` | seed of the rates of periods | 1 | |
//! | `overhead` | bytes added to each packet | 0 | |
//!
//! The queue in front of it is a discipline as at any link. Measurements agree that it drops from the head (Garcia, Sundberg and Brunstrom, IMC
//! 2026, arXiv 2605.27717: `headdrop`), and disagree whether flows share it: see `docs/starlink.md`. Losses at resets are a loss
//! over time of the path; the delay of the path is one over time too.
//!
//! Differences from what was measured: the shape of the ramp is a line, and its threshold is any packet that waits; a frame carries whole bytes,
//! so rates are multiples of 6 kbit/s; a frame at the very time of an arrival is too early for it.

use super::parameters::{OVERHEAD, RATE, fail, overhead, rate};
use super::{LinkModel, Slotted};
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use qdelay_core::{Random, Span, Time};
use qdelay_trace::synth;

const RAMP: Typed<f64> =
    Typed::new("ramp", "3.4", "Ratio of the rate after the ramp to the rate after a reset.")
        .within("1", "100")
        .source("measurements of 2026: 3.4 downlink, 2 uplink");
const RAMP_TIME: Typed<Span> =
    Typed::new("ramp_time", "400ms", "Time from the rate after a reset to the full rate, while data waits.")
        .within("1us", "60s")
        .source("measurements of 2026");
const PERIOD: Typed<Span> = Typed::new("period", "15s", "Time between resets.")
    .within("100ms", "60min")
    .source("Tanveer et al., HotNets 2023");
const FIRST: Typed<Span> = Typed::new("first", "15s", "Time of the first reset.").within("0s", "60min");
const IDLE: Typed<Span> =
    Typed::new("idle", "1s", "Time without data after which the rate is that after a reset.")
        .within("1ms", "60min")
        .source("ours");
const SPREAD: Typed<f64> = Typed::new(
    "spread",
    "0%",
    "Largest difference of a period's rate from rate, as a share of it; drawn uniformly for each period.",
)
.unit(Unit::Percent)
.within("0%", "90%")
.source("ours");
const FRAME: Typed<Span> = Typed::new("frame", "1333333ns", "Duration of a frame.")
    .within("62500ns", "100ms")
    .source("Humphreys et al., IEEE TAES 2023");
const SEED: Typed<u64> = synth::SEED.about("Seed of the rates of periods.");

pub(super) static COMPONENT: Component = Component::new(
    Kind::Link,
    "starlink",
    "A satellite link: its rate is reset every 15 s and grows while data waits.",
)
.source("Tanveer et al. 2023, Garcia et al. 2026")
.with(&[
    RATE.parameter(),
    RAMP.parameter(),
    RAMP_TIME.parameter(),
    PERIOD.parameter(),
    FIRST.parameter(),
    IDLE.parameter(),
    SPREAD.parameter(),
    FRAME.parameter(),
    SEED.parameter(),
    OVERHEAD.parameter(),
])
.positional("rate");

pub(super) const EXAMPLE: &str = "starlink:200mbit";

/// A link of a satellite terminal.
#[derive(Clone, Debug, PartialEq)]
pub struct Starlink {
    /// Bytes of a frame at the full rate, before it is rounded.
    full_bytes: f64,
    ramp: f64,
    /// Frames of the whole ramp.
    ramp_frames: f64,
    period: Span,
    first: Span,
    idle: Span,
    spread: f64,
    frame: Span,
    seed: u64,
    overhead_bytes: u32,
    begin: Time,
    /// The reset that the state is of: 0 before the first.
    reset: u64,
    /// Frames of pressure since the reset, at the last frame.
    climbed: u64,
    /// The last frame that sent something.
    last: Time,
    /// Bytes of the next frame.
    budget: u64,
    /// Bytes of all frames before `counted`.
    offered: u64,
    counted: Time,
}

impl Eq for Starlink {}

impl Starlink {
    pub(super) fn build(arguments: &Arguments) -> Result<Starlink, ComponentError> {
        let (rate, frame) = (rate(arguments)?, arguments.get(&FRAME));
        let full_bytes = rate.as_bps() as f64 / 8.0 * frame.as_secs_f64();
        let ramp = arguments.get(&RAMP);
        let least = full_bytes / ramp * (1.0 - arguments.get(&SPREAD));
        if !(0.5..1e12).contains(&least) {
            let expected =
                "a rate whose frames after a reset carry 1 byte or more, and a rate below infinite";
            return Err(fail(arguments, expected));
        }
        let ramp_frames = arguments.get(&RAMP_TIME).as_secs_f64() / frame.as_secs_f64();
        let [period, first, idle] = [&PERIOD, &FIRST, &IDLE].map(|key| arguments.get(key));
        let mut link = Starlink {
            full_bytes,
            ramp,
            ramp_frames: ramp_frames.max(1.0),
            period,
            first,
            idle,
            spread: arguments.get(&SPREAD),
            frame,
            seed: arguments.get(&SEED),
            overhead_bytes: overhead(arguments),
            begin: Time::ZERO,
            reset: 0,
            climbed: 0,
            last: Time::ZERO,
            budget: 0,
            offered: 0,
            counted: Time::ZERO,
        };
        link.budget = link.bytes(0, 0);
        Ok(link)
    }

    /// The number of resets up to `now`.
    fn resets(&self, now: Time) -> u64 {
        let passed = now.since(self.begin);
        match passed.as_nanos().checked_sub(self.first.as_nanos()) {
            Some(behind) => 1 + behind / self.period.as_nanos(),
            None => 0,
        }
    }
    /// The time of the reset `number`, from 1.
    fn reset_time(&self, number: u64) -> Time {
        self.begin + self.first + self.period * (number - 1)
    }
    /// Bytes of a frame in the period of a reset, after this many frames of pressure.
    fn bytes(&self, reset: u64, climbed: u64) -> u64 {
        let draw = || Random::derive(self.seed.wrapping_add(reset), "starlink", "rate").unit();
        let period = if self.spread > 0.0 { 1.0 + self.spread * (2.0 * draw() - 1.0) } else { 1.0 };
        let climbed = (climbed as f64 / self.ramp_frames).min(1.0);
        let share = (1.0 + (self.ramp - 1.0) * climbed) / self.ramp;
        // Rounded to whole bytes.
        ((self.full_bytes * period * share + 0.5) as u64).max(1)
    }
    /// The first frame later than `now`.
    fn frame_after(&self, now: Time) -> Time {
        let (frame, passed) = (self.frame.as_nanos(), now.since(self.begin).as_nanos());
        self.begin + Span::from_nanos((passed / frame + 1).saturating_mul(frame))
    }
    /// The state at a frame at `now`, when nothing has been sent since the last one: the reset, and frames of pressure.
    fn state(&self, now: Time) -> (u64, u64) {
        let reset = self.resets(now);
        let is_kept = reset == self.reset && now.since(self.last) < self.idle;
        (reset, if is_kept { self.climbed } else { 0 })
    }
    /// Bytes of the frames after `counted` up to `now` of a link that sends nothing meanwhile.
    fn idle_bytes(&self, now: Time) -> u64 {
        let frames = |until: Time| until.since(self.begin).as_nanos() / self.frame.as_nanos();
        let (mut from, end) = (frames(self.counted), frames(now));
        let mut bytes = 0_u64;
        while from < end {
            let at = self.begin + self.frame * (from + 1);
            let (reset, climbed) = self.state(at);
            // Up to the frame before the next change.
            let next_reset = self.reset_time(reset + 1);
            let fades = if climbed > 0 { self.last + self.idle } else { Time::NEVER };
            let change = next_reset.min(fades);
            let until = frames(change - Span::from_nanos(1)).clamp(from + 1, end);
            bytes = bytes.saturating_add((until - from).saturating_mul(self.bytes(reset, climbed)));
            from = until;
        }
        bytes
    }
}

impl Slotted for Starlink {
    fn wake(&mut self, now: Time) -> Time {
        // Frames up to now were not used.
        self.offered = self.offered.saturating_add(self.idle_bytes(now));
        self.counted = now;
        let next = self.frame_after(now);
        (self.reset, self.climbed) = self.state(next);
        self.budget = self.bytes(self.reset, self.climbed);
        next
    }
    #[inline]
    fn slot_bytes(&self) -> u64 {
        self.budget
    }
    fn sent(&mut self, now: Time, _: u64, waiting: u64) -> Time {
        self.offered = self.offered.saturating_add(self.budget);
        (self.counted, self.last) = (now, now);
        if waiting == 0 {
            return Time::NEVER;
        }
        self.climbed += 1;
        let next = now + self.frame;
        (self.reset, self.climbed) = self.state(next);
        self.budget = self.bytes(self.reset, self.climbed);
        next
    }
    fn reports(&self) -> bool {
        true
    }
}

impl LinkModel for Starlink {
    #[inline]
    fn overhead_bytes(&self) -> u32 {
        self.overhead_bytes
    }
    fn offered_bytes(&self, now: Time) -> u64 {
        self.offered.saturating_add(self.idle_bytes(now))
    }
    fn begin_at(&mut self, begin: Time) {
        (self.begin, self.last, self.counted) = (begin, begin, begin);
        (self.reset, self.climbed, self.offered) = (0, 0, 0);
        self.budget = self.bytes(0, 0);
    }
}
