//! Transport-wide feedback: reports of the arrival time of each packet of the flow, several times per second.
//!
//! Source: draft-holmer-rmcat-transport-wide-cc-extensions-01, section 3.1, for contents, resolution (250 us) and size of a report.

use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// Resolution of arrival times, ns.
const STEP: u64 = 250_000;
/// Bytes around the RTCP packets: IPv4 and UDP (28), and the index and the tag of SRTCP (14).
const AROUND: u32 = 42;

/// A report of the receiver.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Packets that have arrived since the report before: number and arrival time, in the order of numbers.
    pub arrivals: Vec<(u64, Time)>,
    /// Video packets to be retransmitted (generic NACK, RFC 4585 section 6.2.1).
    pub missing: Vec<u32>,
    /// Whether a key frame is requested (picture loss indication, RFC 4585 section 6.3.1).
    pub wants_key: bool,
    /// Packets with a congestion mark since the report before, for SCReAM (RFC 8888).
    pub marked: u32,
}

impl Report {
    /// Empties the report.
    pub fn clear(&mut self) {
        self.arrivals.clear();
        self.missing.clear();
        (self.wants_key, self.marked) = (false, 0);
    }

    /// Whether the report is empty.
    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty() && self.missing.is_empty() && !self.wants_key
    }

    /// Size of the report's IP packet, bytes: a compound of feedback, NACK and PLI.
    pub fn bytes(&self) -> u32 {
        let mut bytes = AROUND;
        if let (Some(first), Some(last)) = (self.arrivals.first(), self.arrivals.last()) {
            // A chunk of two bytes per seven packets, and a byte per packet that has arrived.
            let covered = (last.0 - first.0 + 1) as u32;
            bytes += (20 + 2 * covered.div_ceil(7) + self.arrivals.len() as u32).next_multiple_of(4);
        }
        if !self.missing.is_empty() {
            bytes += 12 + 4 * self.missing.len() as u32;
        }
        bytes + if self.wants_key { 12 } else { 0 }
    }
}

/// Arrivals not yet reported.
#[derive(Clone, Debug)]
pub struct Recorder {
    interval: Span,
    due: Time,
    arrivals: Vec<(u64, Time)>,
    marked: u32,
}

impl Recorder {
    /// An empty recorder; from the first packet on, a report is due each `interval`.
    pub fn new(interval: Span) -> Recorder {
        Recorder { interval, due: Time::NEVER, arrivals: Vec::new(), marked: 0 }
    }

    /// Records the arrival of packet `number`.
    pub fn add(&mut self, now: Time, number: u64, is_marked: bool) {
        if self.arrivals.is_empty() {
            self.due = if self.due == Time::NEVER { now + self.interval } else { self.due.max(now) };
        }
        self.arrivals.push((number, Time::from_nanos(now.as_nanos() / STEP * STEP)));
        self.marked += u32::from(is_marked);
    }

    /// Time at which the next feedback is due.
    pub fn next_deadline(&self) -> Time {
        if self.arrivals.is_empty() { Time::NEVER } else { self.due }
    }

    /// Moves the arrivals into `report` if feedback is due; returns whether there were any.
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
    fn an_arrival_is_reported_once() {
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
        // IPv4 and UDP; RTCP with a chunk and three arrival times; SRTCP.
        assert_eq!(report.bytes(), 28 + 28 + 14);
        assert_eq!(recorder.next_deadline(), Time::NEVER);
    }
}
