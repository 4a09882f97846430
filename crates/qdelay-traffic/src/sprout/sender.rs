//! The sender: packets that will leave the queue in time by the forecast, and heartbeats.
//!
//! Source: NSDI 2013, sections 3.2, 3.4 and 3.5.

use super::{DataHeader, HEADER_BYTES, Report, SproutConfig, TICK, TICKS};
use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// Largest difference of send times at which packets may arrive reordered.
const REORDER: Span = Span::from_millis(10);

/// The state of a sender.
#[derive(Clone, Debug)]
pub struct Sender {
    size: u32,
    heartbeat: Span,
    /// Ticks within which a packet is to leave the queue.
    ahead: usize,
    /// The latest report and its arrival time.
    report: Option<(Report, Time)>,
    /// Ticks of the latest forecast that have passed.
    tick: usize,
    /// Estimated bytes in the queue.
    queue: u64,
    /// Bytes sent.
    sent: u64,
    packets: u64,
    /// Time at which a heartbeat is due.
    heartbeat_due: Time,
    /// Recent packets: send time, and bytes sent up to their end.
    recent: VecDeque<(Time, u64)>,
    throwaway: u64,
}

impl Sender {
    /// A sender whose first packet leaves at `start`.
    pub fn new(config: &SproutConfig, start: Time) -> Sender {
        Sender {
            size: config.bytes,
            heartbeat: config.heartbeat,
            ahead: (config.target.as_nanos() / TICK.as_nanos()) as usize,
            report: None,
            tick: 0,
            queue: 0,
            sent: 0,
            packets: 0,
            heartbeat_due: start,
            recent: VecDeque::new(),
            throwaway: 0,
        }
    }

    /// Sends the next packet if one is due: its header and size, IP bytes. To be called until it returns `None`.
    pub fn poll(&mut self, now: Time) -> Option<(DataHeader, u32)> {
        self.advance(now);
        let (window, full, header) = (self.window(), u64::from(self.size), u64::from(HEADER_BYTES));
        if window <= header && now < self.heartbeat_due {
            return None;
        }
        let bytes = window.clamp(header, full);
        let is_last = window <= bytes + header;
        let time_to_next = if is_last { self.heartbeat } else { Span::ZERO };
        let bytes = bytes as u32;
        while let Some(&(time, end)) = self.recent.front()
            && now.since(time) > REORDER
        {
            self.throwaway = end;
            self.recent.pop_front();
        }
        let header = DataHeader { seq: self.sent, throwaway: self.throwaway, time_to_next };
        self.sent += u64::from(bytes);
        self.queue += u64::from(bytes);
        self.packets += 1;
        self.recent.push_back((now, self.sent));
        self.heartbeat_due = now + self.heartbeat;
        Some((header, bytes))
    }

    /// Processes a report; a report older than the latest one is ignored.
    pub fn on_report(&mut self, now: Time, report: &Report) {
        if self.report.is_some_and(|(latest, _)| report.time < latest.time) {
            return;
        }
        self.report = Some((*report, now));
        self.tick = 0;
        self.queue = self.sent.saturating_sub(report.received_or_lost);
    }

    /// Time at which [`Sender::poll`] is due.
    pub fn next_deadline(&self) -> Time {
        match &self.report {
            Some((_, arrived)) if self.tick < TICKS => {
                let ticks = Span::from_nanos(TICK.as_nanos() * (self.tick as u64 + 1));
                self.heartbeat_due.min(*arrived + ticks)
            }
            _ => self.heartbeat_due,
        }
    }

    /// Packets sent.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes that the sender may send, as of the last call: forecast deliveries from the end of the current tick until the target, less
    /// the estimated queue.
    pub fn window(&self) -> u64 {
        let end = self.tick + 1;
        let ahead = self.delivered((end + self.ahead).min(TICKS)) - self.delivered(end.min(TICKS));
        ahead.saturating_sub(self.queue)
    }

    /// Forecast deliveries within the first `ticks` ticks, bytes; non-decreasing in `ticks`.
    fn delivered(&self, ticks: usize) -> u64 {
        match (&self.report, ticks) {
            (Some((report, _)), 1..) => {
                let most = report.forecast[..ticks].iter().max();
                u64::from(most.copied().unwrap_or(0)) * u64::from(self.size)
            }
            _ => 0,
        }
    }

    /// Reduces the estimated queue by the deliveries of the ticks that have passed.
    fn advance(&mut self, now: Time) {
        let Some((_, arrived)) = self.report else { return };
        let passed = (now.since(arrived).as_nanos() / TICK.as_nanos()).min(TICKS as u64) as usize;
        if passed > self.tick {
            // Tick by tick, because the queue cannot be less than empty in any tick.
            for tick in self.tick..passed {
                let left = self.delivered(tick + 1) - self.delivered(tick);
                self.queue = self.queue.saturating_sub(left);
            }
            self.tick = passed;
        }
    }
}
