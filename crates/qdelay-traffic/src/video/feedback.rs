//! Transport-wide feedback: when each packet of the flow arrived, several times a second.
//!
//! Source: draft-holmer-rmcat-transport-wide-cc-extensions-01, section 3.1, for what it tells, in steps of 250 us, and its size.

use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// The step of arrival times.
const STEP: u64 = 250_000;
/// IPv4 and UDP (28), and the index and the tag of SRTCP (14).
const AROUND: u32 = 42;

/// What the receiver tells.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Packets that have come since the last one: number and time, by number.
    pub arrivals: Vec<(u64, Time)>,
    /// Packets of the video to be sent again (RFC 4585, generic NACK).
    pub missing: Vec<u32>,
    /// Whether a key frame is asked for (RFC 4585, PLI).
    pub wants_key: bool,
    /// Whether marks of congestion were seen, for SCReAM: packets marked since the last one (RFC 8888).
    pub marked: u32,
}

impl Report {
    /// Nothing.
    pub fn clear(&mut self) {
        self.arrivals.clear();
        self.missing.clear();
        (self.wants_key, self.marked) = (false, 0);
    }

    /// Whether it tells nothing.
    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty() && self.missing.is_empty() && !self.wants_key
    }

    /// Size of its IP packet: RTCP packets of the three kinds in one.
    pub fn bytes(&self) -> u32 {
        let mut bytes = AROUND;
        if let (Some(first), Some(last)) = (self.arrivals.first(), self.arrivals.last()) {
            // A chunk of two bytes for seven packets, and a byte for each that has come.
            let told = (last.0 - first.0 + 1) as u32;
            bytes += (20 + 2 * told.div_ceil(7) + self.arrivals.len() as u32).next_multiple_of(4);
        }
        if !self.missing.is_empty() {
            bytes += 12 + 4 * self.missing.len() as u32;
        }
        bytes + if self.wants_key { 12 } else { 0 }
    }
}

/// The arrivals of which nothing was told yet.
#[derive(Clone, Debug)]
pub struct Recorder {
    interval: Span,
    due: Time,
    arrivals: Vec<(u64, Time)>,
    marked: u32,
}

impl Recorder {
    /// Feedback each `interval`, from the first packet on.
    pub fn new(interval: Span) -> Recorder {
        Recorder { interval, due: Time::NEVER, arrivals: Vec::new(), marked: 0 }
    }

    /// Packet `number` has come.
    pub fn add(&mut self, now: Time, number: u64, is_marked: bool) {
        if self.arrivals.is_empty() {
            self.due = if self.due == Time::NEVER { now + self.interval } else { self.due.max(now) };
        }
        self.arrivals.push((number, Time::from_nanos(now.as_nanos() / STEP * STEP)));
        self.marked += u32::from(is_marked);
    }

    /// When feedback is due.
    pub fn next_deadline(&self) -> Time {
        if self.arrivals.is_empty() { Time::NEVER } else { self.due }
    }

    /// Puts what is due into `report`; whether there was anything.
    pub fn poll(&mut self, now: Time, report: &mut Report) -> bool {
        if self.arrivals.is_empty() || now < self.due {
            return false;
        }
        self.due = now + self.interval;
        self.arrivals.sort_unstable();
        self.arrivals.dedup_by_key(|arrival| arrival.0);
        report.arrivals.extend_from_slice(&self.arrivals);
        self.arrivals.clear();
        report.marked = core::mem::take(&mut self.marked);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_is_told_once() {
        let at = |micros| Time::ZERO + Span::from_micros(micros);
        let mut recorder = Recorder::new(Span::from_millis(50));
        for (number, time) in [(0, 100), (2, 300), (1, 700), (1, 800)] {
            recorder.add(at(time), number, false);
        }
        let mut report = Report::default();
        assert!(!recorder.poll(at(50_000), &mut report));
        assert_eq!(recorder.next_deadline(), at(50_100));
        assert!(recorder.poll(at(50_100), &mut report));
        assert_eq!(report.arrivals, [(0, at(0)), (1, at(500)), (2, at(250))]);
        // IPv4, UDP, RTCP with a chunk and three times, SRTCP.
        assert_eq!(report.bytes(), 28 + 28 + 14);
        assert_eq!(recorder.next_deadline(), Time::NEVER);
    }
}
