//! A sender and a receiver with a link that delivers 1500 bytes at given times, in one or several packets, from an unlimited
//! queue.

use qdelay_core::{Random, Span, Time};
use qdelay_traffic::sprout::{DataHeader, Receiver, Report, Sender, SproutConfig};
use std::collections::VecDeque;

pub struct Path<'a> {
    pub now: Time,
    pub sender: Sender,
    pub receiver: Receiver,
    one_way: Span,
    /// Time of the next delivery opportunity after a given time.
    next_opportunity: Box<dyn FnMut(Time) -> Time + 'a>,
    opportunity: Time,
    /// Delivered bytes of the packet at the head of the queue.
    begun: u32,
    queue: VecDeque<(Time, DataHeader, u32)>,
    data: VecDeque<(Time, DataHeader, u32)>,
    reports: VecDeque<(Time, Report)>,
    /// Delivered packets: time of leaving the queue, size, time in the queue.
    pub delivered: Vec<(Time, u32, Span)>,
    /// Sent packets: send time and size.
    pub sent: Vec<(Time, u32)>,
    /// Reports in the order of their creation.
    pub made: Vec<Report>,
}

/// Delivery opportunities as a Poisson process of `rate` per second.
pub fn poisson(rate: f64, seed: u64) -> impl FnMut(Time) -> Time {
    let mut random = Random::derive(seed, "link", "poisson");
    move |after| after + Span::from_secs_f64(-(1.0 - random.unit()).ln() / rate)
}

impl<'a> Path<'a> {
    pub fn new(
        config: &SproutConfig,
        round_trip: Span,
        mut next_opportunity: impl FnMut(Time) -> Time + 'a,
    ) -> Path<'a> {
        Path {
            now: Time::ZERO,
            sender: Sender::new(config, Time::ZERO),
            receiver: Receiver::new(config),
            one_way: round_trip / 2,
            opportunity: next_opportunity(Time::ZERO),
            next_opportunity: Box::new(next_opportunity),
            begun: 0,
            queue: VecDeque::new(),
            data: VecDeque::new(),
            reports: VecDeque::new(),
            delivered: Vec::new(),
            sent: Vec::new(),
            made: Vec::new(),
        }
    }

    pub fn run(&mut self, end: Time) {
        loop {
            let due = [
                self.opportunity,
                self.data.front().map_or(Time::NEVER, |entry| entry.0),
                self.reports.front().map_or(Time::NEVER, |entry| entry.0),
                self.receiver.next_deadline(),
                self.sender.next_deadline(),
            ];
            let now = due.into_iter().min().unwrap();
            assert!(now >= self.now, "time goes back");
            if now >= end {
                self.now = end;
                return;
            }
            self.now = now;
            if due[0] == now {
                let mut left = 1500;
                while let Some(&(sent, header, bytes)) = self.queue.front()
                    && bytes <= left + self.begun
                {
                    left -= bytes - self.begun;
                    self.begun = 0;
                    self.queue.pop_front();
                    self.delivered.push((now, bytes, now.since(sent)));
                    self.data.push_back((now + self.one_way, header, bytes));
                }
                // The rest of the opportunity is used for the next packet.
                if !self.queue.is_empty() {
                    self.begun += left;
                }
                self.opportunity = (self.next_opportunity)(now);
                continue;
            }
            if due[1] == now {
                let (_, header, bytes) = self.data.pop_front().unwrap();
                self.receiver.on_data(now, &header, bytes);
            }
            if due[2] == now {
                let (_, report) = self.reports.pop_front().unwrap();
                self.sender.on_report(now, &report);
            }
            if let Some(report) = self.receiver.on_deadline(now) {
                self.made.push(report);
                self.reports.push_back((now + self.one_way, report));
            }
            while let Some((header, bytes)) = self.sender.poll(now) {
                self.sent.push((now, bytes));
                self.queue.push_back((now, header, bytes));
            }
        }
    }

    /// Delivery rate between two times, packets/s of 1500 bytes.
    pub fn rate(&self, from: Time, to: Time) -> f64 {
        let within = self.delivered.iter().filter(|entry| entry.0 >= from && entry.0 < to);
        within.map(|entry| f64::from(entry.1)).sum::<f64>() / 1500.0 / to.since(from).as_secs_f64()
    }
}
