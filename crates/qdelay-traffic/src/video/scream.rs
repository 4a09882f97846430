//! SCReAM v2: queue delay, losses and marks set a window of bytes in flight, and the window sets the rate of the video.
//!
//! The *reference window* grows by a segment per round trip, faster the larger it is, but slowly near the value of its last reduction.
//! Losses reduce it to 0.7, marks by their meaning. Queue delay reduces it as virtual marks, from half of the target on and increasingly up
//! to the target. The rate is the window over the round trip, reduced if many bytes are in flight.
//!
//! Source: draft-johansson-ccwg-rfc8298bis-screamv2 (2025), section 4; RFC 8298 is its first version.
//!
//! # Differences from the reference
//! * The initial window is the first rate times the first round trip, instead of 3000 bytes.
//! * A packet is lost as soon as feedback reports a later one: there is no reordering window.
//! * The queue delay is the one-way delay less the minimum of the last 30 to 60 s. The clocks of both ends are synchronised.
//! * The target does not adapt to competing flows (section 4.5), and the sender discards no packets.
//! * The rate is reduced from 0.9 of the window in flight on, by a factor of at most 1.5: the draft has no values.
//! * Without feedback one packet leaves each 200 ms.

use super::gcc::PacketResult;
use qdelay_core::{Span, Time};

const MSS: f64 = 1000.0;
const LEAST_WINDOW: f64 = 3000.0;
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
/// Largest bytes in flight relative to the window.
const OVERHEAD: f64 = 1.5;
const ALPHA_GAIN: f64 = 1.0 / 16.0;
const DELAY_GAIN: f64 = 0.25;
const POST_CONGESTION_S: f64 = 4.0;
const GROWTH: f64 = 0.02;
const VIRTUAL_RTT_S: f64 = 0.025;
/// Largest window relative to the bytes in flight.
const HEADROOM: f64 = 2.0;
const IN_FLIGHT: f64 = 0.9;
const COMPENSATION: f64 = 1.5;
/// Number of frame sizes stored.
const FRAMES: usize = 64;
/// Length of each of the two periods whose minimum delay is the base delay.
const BASE: Span = Span::from_secs(30);
const SILENCE: Span = Span::from_millis(200);

/// Meaning of congestion marks (ECN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// Packets are not ECN-capable.
    Off,
    /// Classic ECN (RFC 3168), ECT(0): a mark is as rare as a loss.
    Classic,
    /// L4S (RFC 9331), ECT(1): the reduction follows the share of marked packets.
    L4s,
}

/// The state of the control.
#[derive(Clone, Debug)]
pub struct Scream {
    least: f64,
    most: f64,
    start: f64,
    marks: Marks,
    /// Target of the queue delay, s.
    delay_target: f64,
    window: f64,
    /// Window at its last reduction.
    inflection: f64,
    inflected: Option<Time>,
    congested: Option<Time>,
    srtt: f64,
    /// Minimum one-way delay of the current and of the previous period, and start of the current period.
    base: (Span, Span, Time),
    delay: f64,
    delay_avg: f64,
    delay_updated: Option<Time>,
    alpha: f64,
    alpha_updated: Option<Time>,
    delivered: u32,
    marked: u32,
    has_marks: bool,
    /// Most bytes in flight in the current and in the previous round trip, and start of the current one.
    most_in_flight: (f64, f64, Time),
    sizes: [f32; FRAMES],
    size_count: usize,
    size_high: f64,
    target: f64,
    active: Time,
}

impl Scream {
    /// Initial state. `least`, `most`, `start`: lowest, highest and first rate, bit/s; `delay_target`: target of the queue delay.
    pub fn new(least: f64, most: f64, start: f64, delay_target: Span, marks: Marks) -> Scream {
        Scream {
            least,
            most,
            start: start.clamp(least, most),
            marks,
            delay_target: delay_target.as_secs_f64(),
            window: LEAST_WINDOW,
            inflection: 1.0,
            inflected: None,
            congested: None,
            srtt: 0.0,
            base: (Span::MAX, Span::MAX, Time::ZERO),
            delay: 0.0,
            delay_avg: 0.0,
            delay_updated: None,
            alpha: 0.0,
            alpha_updated: None,
            delivered: 0,
            marked: 0,
            has_marks: false,
            most_in_flight: (0.0, 0.0, Time::ZERO),
            sizes: [1.0; FRAMES],
            size_count: 0,
            size_high: 1.0,
            target: start.clamp(least, most),
            active: Time::ZERO,
        }
    }

    /// Target rate of IP packets, bit/s.
    pub fn target(&self) -> f64 {
        self.target
    }
    /// Smoothed round trip; zero before the first.
    pub fn rtt(&self) -> Span {
        Span::from_secs_f64(self.srtt)
    }
    /// Reference window, bytes.
    pub fn window(&self) -> f64 {
        self.window
    }
    /// Meaning of congestion marks.
    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// Earliest send time of a packet of `bytes` bytes with `in_flight` bytes in flight.
    pub fn opens(&self, bytes: u32, in_flight: u64) -> Time {
        // Before the first round-trip sample only the pacer limits.
        let limit = self.window * OVERHEAD * self.size_high;
        let is_open = self.srtt == 0.0 || (in_flight + u64::from(bytes)) as f64 <= limit || in_flight == 0;
        if is_open { Time::ZERO } else { self.active + SILENCE }
    }

    /// Records that a packet leaves; `in_flight`: bytes in flight with that packet.
    pub fn on_sent(&mut self, now: Time, in_flight: u64) {
        self.active = now;
        let (most, _, since) = &mut self.most_in_flight;
        *most = most.max(in_flight as f64);
        if now.since(*since).as_secs_f64() >= self.srtt {
            self.most_in_flight = (in_flight as f64, self.most_in_flight.0, now);
        }
    }

    /// Records a frame of `bytes` bytes from the encoder; `interval`: time between frames.
    pub fn on_frame(&mut self, bytes: u32, interval: Span) {
        let ratio = 8.0 * f64::from(bytes) / (self.target * interval.as_secs_f64());
        if ratio > 1.0 {
            self.sizes[self.size_count % FRAMES] = ratio as f32;
            self.size_count += 1;
            let mut sorted = self.sizes;
            let sorted = &mut sorted[..self.size_count.min(FRAMES)];
            sorted.sort_unstable_by(f32::total_cmp);
            self.size_high = f64::from(sorted[sorted.len() * 3 / 4]);
        }
    }

    /// Processes feedback on `packets`. `marked`: packets with a congestion mark; `in_flight`: bytes in flight before the feedback.
    pub fn on_feedback(&mut self, now: Time, packets: &[PacketResult], marked: u32, in_flight: u64) {
        self.active = now;
        let Some(last) = packets.iter().rfind(|packet| packet.arrived.is_some()) else { return };
        let Some(arrived) = last.arrived else { return };
        let sample = now.since(last.sent).as_secs_f64();
        if self.srtt == 0.0 {
            self.srtt = sample;
            self.window = (self.start * sample / 8.0).max(LEAST_WINDOW);
        } else {
            self.srtt += (sample - self.srtt) / 8.0;
        }
        self.queue_delay(now, arrived.since(last.sent));
        self.fraction_marked(now, packets.len() as u32, marked);
        let is_lost = packets.iter().any(|packet| packet.arrived.is_none());
        let ratio = in_flight as f64 / self.window;
        self.reduce(now, is_lost, marked > 0);
        let bytes: u64 = packets.iter().map(|packet| u64::from(packet.bytes)).sum();
        let unmarked = bytes as f64 * (1.0 - f64::from(marked) / packets.len() as f64).max(0.0);
        self.grow(now, unmarked);
        self.set_target(ratio);
    }

    fn queue_delay(&mut self, now: Time, one_way: Span) {
        if now.since(self.base.2) > BASE {
            self.base = (one_way, self.base.0, now);
        }
        self.base.0 = self.base.0.min(one_way);
        self.delay = one_way.saturating_sub(self.base.0.min(self.base.1)).as_secs_f64();
        if self.delay_updated.is_none_or(|last| now.since(last).as_secs_f64() >= self.srtt) {
            self.delay_avg = if self.delay < self.delay_avg {
                self.delay
            } else {
                DELAY_GAIN * self.delay + (1.0 - DELAY_GAIN) * self.delay_avg
            };
            self.delay_updated = Some(now);
        }
    }

    fn fraction_marked(&mut self, now: Time, delivered: u32, marked: u32) {
        (self.delivered, self.marked) = (self.delivered + delivered, self.marked + marked);
        self.has_marks |= marked > 0;
        let step = self.srtt.min(0.01);
        if self.alpha_updated.is_none_or(|last| now.since(last).as_secs_f64() >= step) && self.delivered > 0 {
            let share = f64::from(self.marked) / f64::from(self.delivered);
            self.alpha = ALPHA_GAIN * share + (1.0 - ALPHA_GAIN) * self.alpha;
            (self.delivered, self.marked, self.alpha_updated) = (0, 0, Some(now));
        }
    }

    fn is_l4s(&self) -> bool {
        self.marks == Marks::L4s && self.has_marks
    }

    fn reduce(&mut self, now: Time, is_lost: bool, is_marked: bool) {
        let since = |last: Option<Time>| last.map_or(f64::INFINITY, |last| now.since(last).as_secs_f64());
        if since(self.congested) < VIRTUAL_RTT_S.min(self.srtt) {
            return;
        }
        let is_marked = is_marked && self.marks != Marks::Off;
        let half = self.delay_target / 2.0;
        let is_active = self.is_l4s() && self.alpha >= 2.0 * MSS * 8.0 / (self.target * self.srtt);
        let is_delayed = self.delay > half && !is_active;
        if !is_lost && !is_marked && !is_delayed {
            return;
        }
        if since(self.inflected) > 0.25 {
            (self.inflected, self.inflection) = (Some(now), self.window);
        }
        if is_lost {
            self.window *= BETA_LOSS;
        }
        if is_marked && self.marks == Marks::Classic {
            self.window *= BETA_ECN;
        } else if is_marked {
            let mut backoff = self.alpha / 2.0 * (1.0 - 2.0 * MSS / self.window).max(0.8);
            if since(self.congested) > 5.0 {
                self.window = self.window.min(self.most_in_flight.1);
                (backoff, self.alpha) = (backoff.max(0.25), 0.25);
            }
            self.window *= 1.0 - backoff;
        }
        if is_delayed {
            let share = ((self.delay_avg - half) / half).clamp(0.0, 1.0);
            self.window *= 1.0 - share / 2.0;
        }
        self.window = self.window.max(LEAST_WINDOW);
        self.congested = Some(now);
    }

    fn grow(&mut self, now: Time, acknowledged: f64) {
        let calm =
            self.congested.map_or(1.0, |last| now.since(last).as_secs_f64() / POST_CONGESTION_S).min(1.0);
        let short = (self.srtt / VIRTUAL_RTT_S).min(1.0);
        let lowest = if self.is_l4s() { (0.02 * self.window / MSS).clamp(0.1, 1.0) } else { 0.1 };
        let far = 4.0 * (self.window - self.inflection) / self.inflection;
        let far = (far * far).clamp(lowest, 1.0);
        let faster = 1.0 + GROWTH * self.window / MSS * calm * far;
        let more = acknowledged * MSS / self.window * short * short * far * faster;
        let allowed = MSS + HEADROOM * self.most_in_flight.0.max(self.most_in_flight.1);
        if self.window + more <= allowed {
            self.window += more;
        }
    }

    fn set_target(&mut self, in_flight: f64) {
        let mut factor = 1.0;
        if !self.is_l4s() && in_flight > IN_FLIGHT {
            factor /= (in_flight / IN_FLIGHT).min(COMPENSATION);
        }
        factor *= 1.0 - (MSS / self.window - 0.1).clamp(0.0, 0.8);
        self.target = (factor * 8.0 * self.window / self.srtt.max(1e-4)).clamp(self.least, self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feedback of ten packets of 1000 bytes each 100 ms, after a round trip of 100 ms and one-way delays of 50 ms and `queue`.
    fn feed(scream: &mut Scream, round: u64, queue: u64, is_lost: bool) {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let sent = 100 * round;
        let packets: alloc::vec::Vec<PacketResult> = (0..10)
            .map(|number| PacketResult {
                number,
                sent: at(sent),
                arrived: (number != 4 || !is_lost).then(|| at(sent + 50 + queue)),
                bytes: 1000,
                probe: 0,
            })
            .collect();
        scream.on_sent(at(sent), 10_000);
        scream.on_feedback(at(sent + 100), &packets, 0, 8000);
    }

    fn scream() -> Scream {
        Scream::new(1e5, 1e8, 8e5, Span::from_millis(60), Marks::Off)
    }

    #[test]
    fn the_window_grows_by_a_segment_per_round_trip_and_faster_when_large() {
        let mut scream = scream();
        feed(&mut scream, 0, 0, false);
        // A window of 10 kB grows by 1000 bytes and 20% more.
        assert!((scream.window() - 11_200.0).abs() < 1e-6, "{}", scream.window());
        assert!((scream.target() - 8.0 * scream.window() / 0.1).abs() < 1e-6);
        // The window is at most twice the bytes in flight.
        for round in 1..100 {
            feed(&mut scream, round, 0, false);
        }
        assert!(scream.window() <= 21_000.0 && scream.window() > 19_000.0, "{}", scream.window());
    }

    #[test]
    fn losses_and_queue_delay_reduce_the_window() {
        let (mut plain, mut lossy) = (scream(), scream());
        for round in 0..10 {
            feed(&mut plain, round, 0, false);
            feed(&mut lossy, round, 0, round == 9);
        }
        assert!((0.6..0.8).contains(&(lossy.window() / plain.window())));
        // Below half of the target the window is not reduced. At the target it is halved each round trip, then grows by the 10 kB
        // acknowledged times a segment over the window: x / 2 = 10^7 / x has the root 4472.
        let before = plain.window();
        for round in 10..30 {
            feed(&mut plain, round, 25, false);
        }
        assert!(plain.window() >= before);
        for round in 30..60 {
            feed(&mut plain, round, 60, false);
        }
        assert!(
            (3000.0..9000.0).contains(&plain.window()) && plain.window() < 0.5 * before,
            "{}",
            plain.window()
        );
    }
}
