//! A monitor interval: its sent segments and their outcome.

use super::{BITS_PER_MEGABIT, Connection, megabits};
use qdelay_core::{Span, Time};

/// Burst beyond the paced data that may leave in an interval, segments, in addition to a millisecond of the rate.
const BURST_SEGMENTS: f64 = 2.0;
const BURST_SECONDS: f64 = 1e-3;

/// A monitor interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub start: Time,
    /// End of the interval; [`Time::NEVER`] while it runs.
    pub end: Time,
    /// Time limit for the outcome.
    pub due: Time,
    /// Pacing rate in the interval, Mbit/s.
    rate: f64,
    /// Rate actually sent, Mbit/s.
    sent_rate: f64,
    /// Transmissions before the interval, segments.
    pub sent_before: u64,
    sent: u64,
    pub lost: u64,
    /// Next sequence number to send at the end of the interval.
    pub next_sequence: u64,
    /// Whether the application limited the sender in the interval.
    pub is_limited: bool,
    /// First round trip of the interval.
    first_rtt: Span,
    count: f64,
    time: f64,
    rtt: f64,
    time_square: f64,
    time_rtt: f64,
}

/// Inputs of the utility of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// Rate actually sent, Mbit/s.
    pub rate: f64,
    /// Slope of the round trip over the time of sending, s/s.
    pub slope: f64,
    /// Share of lost segments, 0 to 1.
    pub loss: f64,
}

impl Default for Interval {
    fn default() -> Interval {
        Interval {
            start: Time::NEVER,
            end: Time::NEVER,
            due: Time::NEVER,
            rate: 0.0,
            sent_rate: 0.0,
            sent_before: 0,
            sent: 0,
            lost: 0,
            next_sequence: 0,
            is_limited: false,
            first_rtt: Span::ZERO,
            count: 0.0,
            time: 0.0,
            rtt: 0.0,
            time_square: 0.0,
            time_rtt: 0.0,
        }
    }
}

impl Interval {
    /// An interval that starts now. `rate`: pacing rate, Mbit/s; `sent_before`: transmissions so far, segments.
    pub(super) fn new(connection: &Connection, rate: f64, sent_before: u64) -> Interval {
        Interval {
            start: connection.now,
            rate,
            sent_before,
            is_limited: connection.app_limited,
            ..Interval::default()
        }
    }

    /// Ends the interval now; `sent`: transmissions in it, segments.
    pub(super) fn finish(&mut self, connection: &Connection, sent: u64) {
        self.end = connection.now;
        self.due = self.end + self.end.since(self.start) + connection.srtt * 2;
        self.sent = sent;
        self.next_sequence = connection.nxt;
        let seconds = self.end.since(self.start).as_secs_f64();
        let burst = BURST_SEGMENTS + self.rate * BURST_SECONDS / megabits(connection, 1.0);
        let most = megabits(connection, sent as f64 + burst) / seconds.max(1.0 / BITS_PER_MEGABIT);
        self.sent_rate = self.rate.min(most);
    }

    /// Adds the round trip of a segment sent at `sent` in this interval.
    pub(super) fn add_round_trip(&mut self, sent: Time, rtt: Span) {
        if self.count == 0.0 {
            self.first_rtt = rtt;
        }
        let time = sent.since(self.start).as_secs_f64();
        let rtt = rtt.as_secs_f64() - self.first_rtt.as_secs_f64();
        self.count += 1.0;
        self.time += time;
        self.rtt += rtt;
        self.time_square += time * time;
        self.time_rtt += time * rtt;
    }

    pub(super) fn measured(&self) -> Measured {
        let loss = self.lost.min(self.sent) as f64 / self.sent.max(1) as f64;
        Measured { rate: self.sent_rate, slope: self.slope(), loss }
    }

    /// Slope of the least-squares line through the round trips, s/s; 0 if all segments were sent at one time.
    fn slope(&self) -> f64 {
        let spread = self.count * self.time_square - self.time * self.time;
        if spread <= 1e-12 * self.count * self.time_square || self.count < 2.0 {
            return 0.0;
        }
        (self.count * self.time_rtt - self.time * self.rtt) / spread
    }
}
