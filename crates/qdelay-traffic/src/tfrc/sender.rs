//! A sender with unlimited data up to a highest rate: packets of one size, spaced by the rate that [`RateControl`] allows.
//!
//! Source: RFC 5348 section 4.6.

use super::receiver::ReceiverConfig;
use super::{DataHeader, RateConfig, RateControl, Report};
use qdelay_core::{Rate, Span, Time};

/// Settings of a TFRC flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcConfig {
    /// IP packet size of data, `s`, bytes.
    pub bytes: u32,
    /// Highest rate of the application; the allowed rate may be less.
    pub max_rate: Rate,
    /// Settings of the sender's rate control.
    pub rate: RateConfig,
    /// Settings of the receiver.
    pub receiver: ReceiverConfig,
    /// Whether data packets are ECN-capable.
    pub ecn: bool,
}

/// The state of a sender.
#[derive(Clone, Debug)]
pub struct Sender {
    bytes: u32,
    max_rate: f64,
    control: RateControl,
    /// Due time of the last packet; `None` before the first.
    last: Option<Time>,
    next: Time,
    seq: u32,
    sent: u64,
}

impl Sender {
    /// A sender whose first packet, number `seq`, leaves at `start`.
    pub fn new(config: &TfrcConfig, start: Time, seq: u32) -> Sender {
        Sender {
            bytes: config.bytes,
            max_rate: config.max_rate.as_bps() as f64 / 8.0,
            control: RateControl::new(config.rate),
            last: None,
            next: start,
            seq,
            sent: 0,
        }
    }

    /// Time at which [`Sender::poll`] is due.
    pub fn next_deadline(&self) -> Time {
        self.next.min(self.control.next_deadline())
    }
    /// Packets sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }
    /// Size of data packets, IP bytes.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }
    /// The rate control.
    pub fn control(&self) -> &RateControl {
        &self.control
    }

    /// Runs the no-feedback timer; returns the header of the packet that leaves at `now`, if one is due.
    pub fn poll(&mut self, now: Time) -> Option<DataHeader> {
        if now >= self.control.next_deadline() {
            self.control.on_deadline(now);
            self.reschedule(now);
        }
        if now < self.next {
            return None;
        }
        let header =
            DataHeader { seq: self.seq, lane: 0, lane_seq: self.seq, sent: now, rtt: self.control.rtt() };
        self.seq = self.seq.wrapping_add(1);
        self.sent += 1;
        // A host that is late by more than one packet sends no burst to catch up.
        let gap = self.gap();
        self.last = Some(self.next.max(now - gap));
        self.control.sent(now, self.control.rate() <= self.max_rate);
        self.reschedule(Time::ZERO);
        Some(header)
    }

    /// Processes a report of the receiver.
    pub fn on_report(&mut self, now: Time, report: &Report) {
        self.control.on_report(now, report);
        self.reschedule(now);
    }

    /// Sets the due time of the next packet: one gap after the last packet, but not before `earliest`.
    fn reschedule(&mut self, earliest: Time) {
        if let Some(last) = self.last {
            self.next = (last + self.gap()).max(earliest);
        }
    }

    /// Gap between packets at the allowed rate; at least a nanosecond, so that time advances.
    fn gap(&self) -> Span {
        let rate = self.control.rate().min(self.max_rate);
        Span::from_secs_f64(f64::from(self.bytes) / rate).max(Span::from_nanos(1))
    }
}
