//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-06): background traffic, which yields to other flows and keeps the queueing delay at `target`.
//!
//! The base is the smallest round trip of the last 10 minutes. The queueing delay is the smallest of the last 4 round trips less the base. With
//! *gain* = 1 / min(16, ceil(2 `target` / base)):
//! * *slow start* (section 4.1) begins with 2 segments, grows by gain per segment acknowledged, and ends at a loss; the first slow start also ends
//!   when the queueing delay is above 3/4 of the target;
//! * afterwards (4.2, 4.3) the window grows by gain per round trip while the queueing delay is below the target; above, it changes by
//!   gain - window (delay / target - 1), at most down to half of the window;
//! * *slowdowns* (4.4): the window is 2 segments for 2 round trips, so that all flows see the base, and returns by slow start. The first slowdown
//!   begins 2 round trips after the first slow start; the pause before each next one is 9 times as long as the last slowdown.
//!
//! A loss halves the window.
//!
//! | parameter | default | source |
//! | --- | --- | --- |
//! | `target` | 60 ms | section 4.5 |
//!
//! Differences from the draft: a loss during the 2 round trips of a slowdown halves the window to which it returns; a loss while the window
//! returns ends the slowdown; after a timeout the window returns as after a slowdown, and the next pause follows from that time.

use super::{AckSample, AnyController, Connection, Controller, Event, Recovery, Window};
use crate::knobs;
use crate::profile::Profile;
use qdelay_core::component::{Arguments, Component, Parameter, Typed};
use qdelay_core::{Random, Span, Time};

const TARGET: Typed<Span> = Typed::new("target", "60ms", "Target of the queueing delay")
    .within("1ms", "1s")
    .source("draft-irtf-iccrg-ledbat-plus-plus-06 section 4.5");
static PARAMETERS: [Parameter; knobs::KNOBS.len() + 1] = knobs::with_knobs(&[TARGET.parameter()]);

pub(super) static COMPONENT: Component = knobs::component(
    "ledbat",
    "TCP with LEDBAT++: background traffic that yields to other flows",
    "draft-irtf-iccrg-ledbat-plus-plus-06",
    &PARAMETERS,
);

pub(super) fn build(arguments: &Arguments, _: &Profile) -> AnyController {
    Ledbat::new(arguments.get(&TARGET)).into()
}

/// Smallest window, segments; also the window in slowdowns.
const MIN_CWND: u32 = 2;
/// Length of a slowdown, and of the pause before the first one, round trips.
const SLOWDOWN_ROUNDS: u64 = 2;
/// Pause between slowdowns, as a multiple of the last slowdown.
const PAUSE: u64 = 9;
/// Window of the base, minutes.
const MINUTES: usize = 10;
const MINUTE: u64 = 60_000_000_000;
/// Number of samples whose minimum is the current round trip.
const SAMPLES: usize = 4;
const MOST_DIVISOR: u32 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The first slow start.
    SlowStart,
    Avoidance,
    /// Slowdown with the smallest window, until the given time.
    Frozen(Time),
    /// Slow start back to the threshold after a slowdown.
    Ramp,
}

/// The LEDBAT++ controller. Round trips in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Ledbat {
    phase: Phase,
    /// Start of the current or last slowdown.
    began: Time,
    next: Time,
    /// Growth of less than a segment carried over.
    credit: f64,
    target: u32,
    samples: [u32; SAMPLES],
    sample: usize,
    /// Smallest round trip of each minute; that of the current minute is at index `minute`.
    minutes: [u32; MINUTES],
    minute: u64,
}

impl Default for Ledbat {
    fn default() -> Ledbat {
        Ledbat::new(Arguments::defaults(&COMPONENT).get(&TARGET))
    }
}

impl Ledbat {
    /// A controller with a target of the queueing delay from 1 ms to 1 s (values outside are clamped).
    pub fn new(target: Span) -> Ledbat {
        Ledbat {
            phase: Phase::SlowStart,
            began: Time::ZERO,
            next: Time::NEVER,
            credit: 0.0,
            target: target.as_micros().clamp(1_000, 1_000_000) as u32,
            samples: [u32::MAX; SAMPLES],
            sample: 0,
            minutes: [u32::MAX; MINUTES],
            minute: 0,
        }
    }

    fn base(&self) -> u32 {
        self.minutes.into_iter().fold(u32::MAX, u32::min)
    }

    fn delay(&self) -> u32 {
        self.samples.into_iter().fold(u32::MAX, u32::min).saturating_sub(self.base())
    }

    fn gain(&self) -> f64 {
        1.0 / f64::from((2 * self.target).div_ceil(self.base().max(1)).clamp(1, MOST_DIVISOR))
    }

    fn observe(&mut self, now: Time, rtt: u32) {
        let minute = now.as_nanos() / MINUTE;
        for passed in (self.minute + 1..=minute).take(MINUTES) {
            self.minutes[passed as usize % MINUTES] = u32::MAX;
        }
        if minute.saturating_sub(self.minute) >= MINUTES as u64 {
            self.minutes = [u32::MAX; MINUTES];
        }
        self.minute = minute;
        let least = &mut self.minutes[minute as usize % MINUTES];
        *least = (*least).min(rtt);
        self.samples[self.sample] = rtt;
        self.sample = (self.sample + 1) % SAMPLES;
    }

    /// Adds `change` segments to the window; a fraction is carried over.
    fn change(&mut self, window: &mut Window, change: f64) {
        self.credit += change;
        let whole = libm::floor(self.credit);
        self.credit -= whole;
        let cwnd = f64::from(window.cwnd) + whole;
        window.cwnd = cwnd.clamp(f64::from(MIN_CWND), f64::from(window.clamp.max(MIN_CWND))) as u32;
    }

    /// Grows the window in slow start; returns whether it has reached the threshold.
    fn start_slowly(&mut self, connection: &Connection, window: &mut Window, acked: u32) -> bool {
        if connection.window_limited {
            self.change(window, self.gain() * f64::from(acked));
            window.cwnd = window.cwnd.min(window.ssthresh.max(MIN_CWND));
        }
        window.cwnd >= window.ssthresh
    }

    fn avoid(&mut self, connection: &Connection, window: &mut Window, acked: u32) {
        let cwnd = f64::from(window.cwnd.max(1));
        let over = f64::from(self.delay()) / f64::from(self.target) - 1.0;
        let in_a_round = if over <= 0.0 { self.gain() } else { (self.gain() - cwnd * over).max(-cwnd / 2.0) };
        if in_a_round < 0.0 || connection.window_limited {
            self.change(window, in_a_round * f64::from(acked) / cwnd);
        }
    }

    fn end_slowdown(&mut self, now: Time) {
        self.phase = Phase::Avoidance;
        self.next = now + now.since(self.began) * PAUSE;
    }

    fn end_first_slow_start(&mut self, connection: &Connection) {
        self.phase = Phase::Avoidance;
        self.next = connection.now + connection.srtt * SLOWDOWN_ROUNDS;
    }
}

impl Controller for Ledbat {
    fn init(&mut self, _: &Connection, window: &mut Window, _: &mut Random) {
        window.cwnd = window.cwnd.min(MIN_CWND);
    }

    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        match self.phase {
            Phase::Frozen(_) => return (window.ssthresh / 2).max(MIN_CWND),
            Phase::Ramp => self.end_slowdown(connection.now),
            Phase::SlowStart => self.end_first_slow_start(connection),
            Phase::Avoidance => {}
        }
        (window.cwnd / 2).max(MIN_CWND)
    }

    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        let acked = sample.acked_sacked;
        if self.base() == u32::MAX {
            return;
        }
        match self.phase {
            Phase::SlowStart => {
                let is_late = u64::from(self.delay()) * 4 > u64::from(self.target) * 3;
                if is_late || self.start_slowly(connection, window, acked) {
                    self.end_first_slow_start(connection);
                }
            }
            Phase::Avoidance if connection.now >= self.next => {
                window.ssthresh = window.cwnd.max(MIN_CWND);
                window.cwnd = MIN_CWND;
                self.credit = 0.0;
                self.began = connection.now;
                self.phase = Phase::Frozen(connection.now + connection.srtt * SLOWDOWN_ROUNDS);
            }
            Phase::Avoidance => self.avoid(connection, window, acked),
            Phase::Frozen(until) => {
                window.cwnd = MIN_CWND;
                if connection.now >= until {
                    self.phase = Phase::Ramp;
                }
            }
            Phase::Ramp => {
                if self.start_slowly(connection, window, acked) {
                    self.end_slowdown(connection.now);
                }
            }
        }
    }

    fn delivered(&mut self, connection: &Connection, _: &mut Window, sample: &AckSample) {
        if let Some(rtt) = sample.rtt {
            self.observe(connection.now, u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX - 1).max(1));
        }
    }

    fn set_recovery(&mut self, connection: &Connection, _: &mut Window, to: Recovery) {
        if to == Recovery::Loss {
            self.began = connection.now;
            self.credit = 0.0;
            self.phase = Phase::Ramp;
        }
    }

    fn event(&mut self, _: &Connection, window: &mut Window, event: Event) {
        if event == Event::ReductionComplete && matches!(self.phase, Phase::Frozen(_)) {
            window.cwnd = MIN_CWND;
        }
    }

    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::minimal::{Link, MinimalTcp, connection, sample, window};
    use super::*;
    use alloc::vec::Vec;
    use qdelay_core::Rate;

    /// Gain (section 4.2): 1/6 for a base of 20 ms, 1 from 120 ms on, at least 1/16.
    #[test]
    fn gain_follows_the_base() {
        for (millis, divisor) in
            [(1, 16.0), (7, 16.0), (10, 12.0), (20, 6.0), (50, 3.0), (119, 2.0), (120, 1.0), (400, 1.0)]
        {
            let mut ledbat = Ledbat::default();
            ledbat.observe(Time::ZERO, millis * 1000);
            assert!((ledbat.gain() * divisor - 1.0).abs() < 1e-9, "{millis}");
        }
    }

    /// Change per window of acknowledgements (section 4.3): +1/3 below 60 ms; above, 1/3 - 90 (delay / 60 - 1), at most down to half.
    #[test]
    fn the_window_follows_the_delay() {
        for (delay, change) in
            [(0, 0.33), (59_000, 0.33), (61_000, -1.2), (70_000, -14.7), (120_000, -45.0), (500_000, -45.0)]
        {
            let mut ledbat = Ledbat { phase: Phase::Avoidance, ..Ledbat::default() };
            ledbat.observe(Time::ZERO, 50_000);
            (0..SAMPLES).for_each(|_| ledbat.observe(Time::ZERO, 50_000 + delay));
            let mut w = window(90, 45);
            // One acknowledgement for the whole window: single ones would each use the window of the one before.
            ledbat.grow(&connection(Time::ZERO), &mut w, &sample(90));
            let changed = f64::from(w.cwnd) + ledbat.credit - 90.0;
            assert!((changed - change).abs() < 0.05, "{delay}: {changed}");
        }
    }

    #[test]
    fn the_base_expires_after_ten_minutes() {
        let mut ledbat = Ledbat::default();
        let mut base = Vec::new();
        for minute in 0..12 {
            ledbat.observe(
                Time::ZERO + Span::from_secs(60 * minute),
                if minute == 1 { 30_000 } else { 50_000 },
            );
            base.push(ledbat.base() / 1000);
        }
        assert_eq!(base, [50, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 50]);
        ledbat.observe(Time::ZERO + Span::from_secs(1_000_000), 70_000);
        assert_eq!(ledbat.base(), 70_000);
    }

    /// Growth and decrease of one flow balance at gain = window (delay / 60 - 1), a queueing delay slightly above 60 ms. Slowdowns take a
    /// tenth of the time.
    #[test]
    fn one_flow_holds_the_target() {
        for (mbps, rtt) in [(12.0, 20u64), (12.0, 100), (48.0, 50)] {
            let link = Link { buffer: 5_000, ..Link::new(Rate::from_mbps(mbps), Span::from_millis(rtt)) };
            let mut tcp = MinimalTcp::new(Ledbat::default(), link, |_, _| false);
            tcp.run_until(Time::ZERO + Span::from_secs(60));
            let before = tcp.connection.delivered;
            let (mut waited, mut slow, mut slowdowns, mut was_slow) = (Vec::new(), 0, 0, false);
            for n in 0..240_000 {
                tcp.run_until(Time::ZERO + Span::from_millis(60_000 + n));
                let is_slow = tcp.controller.phase != Phase::Avoidance;
                slowdowns += u32::from(is_slow && !was_slow);
                slow += u32::from(is_slow);
                was_slow = is_slow;
                waited.push(tcp.link.free.since(tcp.connection.now).as_millis_f64());
            }
            waited.sort_by(f64::total_cmp);
            let median = waited[waited.len() / 2];
            let high = waited[waited.len() * 99 / 100];
            let used = (tcp.connection.delivered - before) as f64 * 12_000.0 / (mbps * 1e6 * 240.0);
            let case = alloc::format!("{mbps} {rtt}: {median} {high} {used} {slow} {slowdowns}");
            assert!((50.0..=62.0).contains(&median) && high < 75.0, "{case}");
            assert!(
                used > 0.85 && slowdowns >= 4 && (0.05..0.13).contains(&(f64::from(slow) / 240_000.0)),
                "{case}"
            );
        }
    }
}
