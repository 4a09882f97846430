//! The delay-based rate: increased while the queue is stable, reduced to 85% of the acknowledged rate when the queue grows, held while it
//! drains.
//!
//! Far from the link's capacity the rate grows by 8% per second; near it by about a packet per response time, which is twice the round
//! trip plus 100 ms. The rate is at most 1.5 times the acknowledged rate.
//!
//! Source: draft-ietf-rmcat-gcc-02 section 5.5. As in libwebrtc (June 2025), a decrease is another 5 kbit/s below the 85%, and the only upper
//! bound is 1.5 times the acknowledged rate.

use super::capacity::LinkCapacity;
use super::overuse::Usage;
use qdelay_core::{Span, Time};

/// Rate after an overuse, relative to the acknowledged rate.
const BETA: f64 = 0.85;
/// Growth factor far from the capacity, per second.
const GROWTH: f64 = 1.08;
/// Minimum growth near the capacity, bit/s per second.
const LEAST_GROWTH: f64 = 4000.0;
/// Time that the detector takes to see the effect of a change.
const DETECTION: Span = Span::from_millis(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
}

/// The state of the rate.
#[derive(Clone, Debug)]
pub struct Aimd {
    least: f64,
    rate: f64,
    state: State,
    capacity: LinkCapacity,
    changed: Option<Time>,
    reduced: Option<Time>,
    rtt: Span,
}

impl Aimd {
    /// Initial state with the rate `start` and the minimum `least`, bit/s.
    pub fn new(least: f64, start: f64) -> Aimd {
        Aimd {
            least,
            rate: start.max(least),
            state: State::Hold,
            capacity: LinkCapacity::default(),
            changed: None,
            reduced: None,
            rtt: Span::from_millis(200),
        }
    }

    /// Delay-based rate, bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }
    /// Sets the round trip.
    pub fn set_rtt(&mut self, rtt: Span) {
        self.rtt = rtt;
    }

    /// Whether a further reduction is due: one per round trip, or at once if the acknowledged rate is far lower.
    pub fn may_reduce(&self, now: Time, acknowledged: Option<f64>) -> bool {
        let interval = self.rtt.clamp(Span::from_millis(10), Span::from_millis(200));
        let last = match acknowledged {
            Some(_) => self.changed,
            None => self.reduced,
        };
        last.is_none_or(|last| now.since(last) >= interval)
            || acknowledged.is_some_and(|bps| bps < 0.5 * self.rate)
    }

    /// Sets the rate to the result of a probe, bit/s.
    pub fn set(&mut self, now: Time, bps: f64) {
        self.rate = bps.max(self.least);
        self.changed = Some(now);
    }

    /// Halves the rate: the queue grows before there is an acknowledged rate.
    pub fn halve(&mut self, now: Time) {
        self.rate = (self.rate / 2.0).max(self.least);
        (self.changed, self.reduced) = (Some(now), Some(now));
    }

    /// Updates the rate by the signal of a feedback. `acknowledged`: acknowledged rate, bit/s.
    pub fn update(&mut self, now: Time, usage: Usage, acknowledged: Option<f64>) {
        match usage {
            Usage::Over => self.decrease(now, acknowledged.unwrap_or(self.rate)),
            Usage::Under => self.state = State::Hold,
            Usage::Normal => {
                if self.state == State::Hold {
                    self.state = State::Increase;
                    self.changed = Some(now);
                }
                self.increase(now, acknowledged);
            }
        }
        self.rate = self.rate.max(self.least);
    }

    fn increase(&mut self, now: Time, acknowledged: Option<f64>) {
        let arrives = acknowledged.unwrap_or(self.rate);
        if arrives > self.capacity.bounds().1 {
            self.capacity.forget();
        }
        let limit = 1.5 * arrives + 10_000.0;
        if self.rate < limit {
            let seconds = self.changed.map_or(0.0, |last| now.since(last).as_secs_f64());
            let more = if self.capacity.estimate().is_some() {
                self.near_growth() * seconds
            } else {
                (self.rate * (libm::pow(GROWTH, seconds.min(1.0)) - 1.0)).max(1000.0)
            };
            self.rate = (self.rate + more).min(limit);
        }
        self.changed = Some(now);
    }

    /// Growth near the capacity, bit/s per second: about a packet per response time.
    fn near_growth(&self) -> f64 {
        let frame = self.rate / 30.0;
        let packets = libm::ceil(frame / (8.0 * 1200.0)).max(1.0);
        let response = 2.0 * (self.rtt + DETECTION).as_secs_f64();
        (frame / packets / response).max(LEAST_GROWTH)
    }

    fn decrease(&mut self, now: Time, arrives: f64) {
        let mut reduced = BETA * arrives;
        if reduced > 5000.0 {
            reduced -= 5000.0;
        }
        if reduced > self.rate
            && let Some(capacity) = self.capacity.estimate()
        {
            reduced = BETA * capacity;
        }
        self.rate = self.rate.min(reduced);
        if arrives < self.capacity.bounds().0 {
            self.capacity.forget();
        }
        self.capacity.overused(arrives);
        self.state = State::Hold;
        (self.changed, self.reduced) = (Some(now), Some(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn the_rate_grows_by_8_percent_a_second_without_a_known_capacity() {
        let mut aimd = Aimd::new(1e4, 1e6);
        aimd.set_rtt(Span::from_millis(100));
        for n in 0..=200 {
            aimd.update(time_ms(50 * n), Usage::Normal, Some(aimd.rate()));
        }
        let expected = 1e6 * libm::pow(1.08, 10.0);
        assert!((aimd.rate() / expected - 1.0).abs() < 0.01, "{}", aimd.rate());
    }

    /// An overuse leaves 85% of the acknowledged rate; then the rate grows by a packet of 1111 bytes per 0.4 s (at 1 Mbit/s a frame has 4
    /// packets).
    #[test]
    fn near_the_capacity_the_rate_grows_by_a_packet_per_response_time() {
        let mut aimd = Aimd::new(1e4, 1e6);
        aimd.set_rtt(Span::from_millis(100));
        aimd.update(time_ms(0), Usage::Over, Some(1e6));
        assert_eq!(aimd.rate(), 845_000.0);
        aimd.update(time_ms(1000), Usage::Normal, Some(845_000.0));
        aimd.update(time_ms(2000), Usage::Normal, Some(845_000.0));
        let packet = 845_000.0 / 30.0 / 3.0;
        assert!((aimd.rate() - 845_000.0 - packet / 0.4).abs() < 1.0, "{}", aimd.rate());
        // The acknowledged rate exceeds the former capacity: growth is multiplicative again.
        let before = aimd.rate();
        aimd.update(time_ms(3000), Usage::Normal, Some(2e6));
        assert!((aimd.rate() / before - 1.08).abs() < 1e-9);
    }

    #[test]
    fn the_rate_is_at_most_1_5_times_the_acknowledged_rate() {
        let mut aimd = Aimd::new(1e4, 1e6);
        aimd.update(time_ms(2000), Usage::Normal, Some(5e5));
        assert_eq!(aimd.rate(), 1e6);
    }
}
