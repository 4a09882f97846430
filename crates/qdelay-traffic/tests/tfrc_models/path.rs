//! A sender and a receiver with a path of constant delay, which loses and marks chosen packets.

use qdelay_core::{Span, Time};
use qdelay_traffic::tfrc::{DataHeader, Receiver, Report, Sender, TfrcConfig};
use std::collections::VecDeque;

/// Fate of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Comes,
    Lost,
    Marked,
}

pub struct Path {
    pub now: Time,
    pub sender: Sender,
    pub receiver: Receiver,
    pub bytes: u32,
    one_way: Span,
    data: VecDeque<(Time, DataHeader, bool)>,
    reports: VecDeque<(Time, Report)>,
    /// Reports received by the sender, with their arrival times.
    pub seen: Vec<(Time, Report)>,
    pub is_deaf: bool,
    pub sent: u64,
}

impl Path {
    pub fn new(config: &TfrcConfig, round_trip: Span, seq: u32) -> Path {
        Path {
            now: Time::ZERO,
            sender: Sender::new(config, Time::ZERO, seq),
            receiver: Receiver::new(config.receiver),
            bytes: config.bytes,
            one_way: round_trip / 2,
            data: VecDeque::new(),
            reports: VecDeque::new(),
            seen: Vec::new(),
            is_deaf: false,
            sent: 0,
        }
    }

    /// Runs until `end`. `fate`: fate of packets 0, 1, ...; `look`: called after every step.
    pub fn run(&mut self, end: Time, mut fate: impl FnMut(u64) -> Fate, mut look: impl FnMut(&Path)) {
        loop {
            let due = [
                self.data.front().map_or(Time::NEVER, |entry| entry.0),
                self.reports.front().map_or(Time::NEVER, |entry| entry.0),
                self.receiver.next_deadline(),
                self.sender.next_deadline(),
            ];
            let now = due.into_iter().min().unwrap_or(Time::NEVER);
            if now >= end {
                self.now = end;
                return;
            }
            self.now = now;
            if due[0] == now {
                let (_, header, marked) = self.data.pop_front().unwrap();
                let report = self.receiver.on_data(now, &header, self.bytes, marked);
                self.answer(report);
            } else if due[1] == now {
                let (_, report) = self.reports.pop_front().unwrap();
                if !self.is_deaf {
                    self.sender.on_report(now, &report);
                    self.seen.push((now, report));
                }
            } else if due[2] == now {
                let report = self.receiver.on_deadline(now);
                self.answer(report);
            } else if let Some(header) = self.sender.poll(now) {
                let fate = fate(self.sent);
                self.sent += 1;
                if fate != Fate::Lost {
                    self.data.push_back((now + self.one_way, header, fate == Fate::Marked));
                }
            }
            look(self);
        }
    }

    fn answer(&mut self, report: Option<Report>) {
        if let Some(report) = report {
            self.reports.push_back((self.now + self.one_way, report));
        }
    }
}
