//! A monitor interval: what was sent in it, and what became of that.

use super::{BITS_PER_MEGABIT, Connection, megabits};
use qdelay_core::{Span, Time};

/// What may leave at once on top of what the rate allows: two segments and a millisecond of the rate.
const BURST_SEGMENTS: f64 = 2.0;
const BURST_SECONDS: f64 = 1e-3;

/// A monitor interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub start: Time,
    /// [`Time::NEVER`] while it runs.
    pub end: Time,
    /// When everything must be known about it.
    pub due: Time,
    /// Mbit/s that the sender paces at.
    rate: f64,
    /// Mbit/s that were sent.
    sent_rate: f64,
    /// Segments sent before it, in it, and lost of these.
    pub sent_before: u64,
    sent: u64,
    pub lost: u64,
    /// The next sequence number to be sent when it ended.
    pub next_sequence: u64,
    /// Whether the application had nothing to send for a time.
    pub is_limited: bool,
    /// The first round trip, and sums over all: times of sending since the start, round trips beyond the first (seconds).
    first_rtt: Span,
    count: f64,
    time: f64,
    rtt: f64,
    time_square: f64,
    time_rtt: f64,
}

/// What an interval tells the utility.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    /// Mbit/s.
    pub rate: f64,
    /// Seconds of round trip per second of sending.
    pub slope: f64,
    /// Share lost of what was sent.
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
    /// One that starts now, after so many segments were sent.
    pub(super) fn new(connection: &Connection, rate: f64, sent_before: u64) -> Interval {
        Interval {
            start: connection.now,
            rate,
            sent_before,
            is_limited: connection.app_limited,
            ..Interval::default()
        }
    }

    /// Ends it now, after so many segments were sent in it.
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

    /// A segment sent at `sent`, in this interval, has come back after `rtt`.
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

    /// The slope of the line of least squares; 0 where all was sent at once.
    fn slope(&self) -> f64 {
        let spread = self.count * self.time_square - self.time * self.time;
        if spread <= 1e-12 * self.count * self.time_square || self.count < 2.0 {
            return 0.0;
        }
        (self.count * self.time_rtt - self.time * self.rtt) / spread
    }
}
