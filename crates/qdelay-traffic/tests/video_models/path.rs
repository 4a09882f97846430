//! Calls over two links, one per direction, whose rates change at given times. A link has a first-in first-out queue with a limit in time at
//! the current rate, and a propagation delay. Data of a call uses one link, its reports the other.

use qdelay_core::{Random, Span, Time};
use qdelay_traffic::video::VideoConfig;
use qdelay_traffic::video::feedback::Report;
use qdelay_traffic::video::frames::Ledger;
use qdelay_traffic::video::gcc::PacketResult;
use qdelay_traffic::video::gcc::probe::Cluster;
use qdelay_traffic::video::receiver::Receiver;
use qdelay_traffic::video::sender::{Controller, Sender};
use qdelay_traffic::video::wire::VideoPacket;
use std::collections::VecDeque;

enum Item {
    Data(usize, VideoPacket, u64),
    Report(usize, Box<Report>),
}

/// A link of one direction.
pub struct Link {
    /// Rate changes: time, s, and rate, bit/s.
    pub rates: Vec<(f64, f64)>,
    /// Longest queue, s at the current rate.
    pub limit_s: f64,
    pub delay: Span,
    queue: VecDeque<(Time, u32, Item)>,
    bytes: u64,
    served: Time,
    arriving: VecDeque<(Time, u32, Item)>,
    pub lost: u64,
    /// Delivered packets: time of leaving the queue, size, time in the queue, ms.
    pub delivered: Vec<(Time, u32, f64)>,
}

impl Link {
    pub fn new(rates: &[(f64, f64)], limit_s: f64, delay: Span) -> Link {
        Link {
            rates: rates.to_vec(),
            limit_s,
            delay,
            queue: VecDeque::new(),
            bytes: 0,
            served: Time::NEVER,
            arriving: VecDeque::new(),
            lost: 0,
            delivered: Vec::new(),
        }
    }

    fn rate(&self, now: Time) -> f64 {
        let second = now.as_secs_f64();
        self.rates.iter().rfind(|(from, _)| *from <= second).unwrap().1
    }

    fn push(&mut self, now: Time, bytes: u32, item: Item) {
        if 8.0 * (self.bytes + u64::from(bytes)) as f64 > self.limit_s * self.rate(now) {
            self.lost += 1;
            return;
        }
        self.bytes += u64::from(bytes);
        self.queue.push_back((now, bytes, item));
        if self.queue.len() == 1 {
            self.begin(now);
        }
    }

    fn begin(&mut self, now: Time) {
        self.served = match self.queue.front() {
            Some(&(_, bytes, _)) => now + Span::from_secs_f64(8.0 * f64::from(bytes) / self.rate(now)),
            None => Time::NEVER,
        };
    }

    fn serve(&mut self, now: Time) {
        let (came, bytes, item) = self.queue.pop_front().unwrap();
        self.bytes -= u64::from(bytes);
        self.delivered.push((now, bytes, now.since(came).as_millis_f64()));
        self.arriving.push_back((now + self.delay, bytes, item));
        self.begin(now);
    }
}

pub struct Call {
    /// Link of the data: 0 for the first, 1 for the second.
    pub way: usize,
    pub stop: Time,
    pub sender: Sender,
    pub receiver: Receiver,
    pub ledger: Ledger,
    /// Time and target rate, bit/s, after each feedback.
    pub targets: Vec<(Time, f64)>,
}

pub struct Path {
    pub now: Time,
    pub links: [Link; 2],
    pub calls: Vec<Call>,
}

/// Observer of a sender's events.
pub trait Tap {
    /// A packet of `bytes` IP bytes leaves; `probe`: its probe.
    fn sent(&mut self, now: Time, call: usize, number: u64, bytes: u32, probe: Option<Cluster>);
    /// Feedback has arrived; `target`: target rate after it, bit/s.
    fn feedback(&mut self, now: Time, call: usize, results: &[PacketResult], target: f64);
}

impl Tap for () {
    fn sent(&mut self, _: Time, _: usize, _: u64, _: u32, _: Option<Cluster>) {}
    fn feedback(&mut self, _: Time, _: usize, _: &[PacketResult], _: f64) {}
}

impl Path {
    pub fn new(links: [Link; 2]) -> Path {
        Path { now: Time::ZERO, links, calls: Vec::new() }
    }

    pub fn add(&mut self, config: &VideoConfig, way: usize, start_s: f64, stop_s: f64) {
        let start = Time::ZERO + Span::from_secs_f64(start_s);
        let name = format!("call{}", self.calls.len());
        self.calls.push(Call {
            way,
            stop: Time::ZERO + Span::from_secs_f64(stop_s),
            sender: Sender::new(config, start, Random::derive(1, &name, "encoder")),
            receiver: Receiver::new(config.feedback, config.nack, start),
            ledger: Ledger::default(),
            targets: Vec::new(),
        });
    }

    pub fn run(&mut self, seconds: f64, tap: &mut impl Tap) {
        let end = Time::ZERO + Span::from_secs_f64(seconds);
        loop {
            let arrival = |link: &Link| link.arriving.front().map_or(Time::NEVER, |item| item.0);
            let of_links = self.links.iter().map(|link| link.served.min(arrival(link)));
            let of_calls = self.calls.iter().map(|call| {
                let sender = call.sender.next_deadline();
                call.receiver.next_deadline().min(if sender < call.stop { sender } else { Time::NEVER })
            });
            let now = of_links.chain(of_calls).min().unwrap();
            if now > end {
                return;
            }
            assert!(now >= self.now);
            self.now = now;
            for way in 0..2 {
                if self.links[way].served <= now {
                    self.links[way].serve(now);
                }
                while arrival(&self.links[way]) <= now {
                    let (_, _, item) = self.links[way].arriving.pop_front().unwrap();
                    self.arrive(now, item, tap);
                }
            }
            for call in 0..self.calls.len() {
                self.wake(now, call, tap);
            }
        }
    }

    fn arrive(&mut self, now: Time, item: Item, tap: &mut impl Tap) {
        match item {
            Item::Data(index, packet, number) => {
                let call = &mut self.calls[index];
                call.receiver.on_packet(now, &packet, number, false, &mut call.ledger);
            }
            Item::Report(index, report) => {
                let call = &mut self.calls[index];
                let results = call.sender.on_report(now, &report).to_vec();
                if !results.is_empty() {
                    let target = call.sender.target();
                    call.targets.push((now, target));
                    tap.feedback(now, index, &results, target);
                }
            }
        }
    }

    fn wake(&mut self, now: Time, index: usize, tap: &mut impl Tap) {
        let Path { links, calls, .. } = self;
        let call = &mut calls[index];
        if now < call.stop && call.sender.next_deadline() <= now {
            loop {
                let probe = match call.sender.control() {
                    Controller::Gcc(gcc) => gcc.probe(),
                    Controller::Scream(_) | Controller::None { .. } => None,
                };
                let Some((packet, number)) = call.sender.poll(now, &mut call.ledger) else { break };
                tap.sent(now, index, number, packet.bytes(), probe);
                links[call.way].push(now, packet.bytes(), Item::Data(index, packet, number));
            }
        }
        if call.receiver.next_deadline() <= now {
            let mut report = Box::<Report>::default();
            call.receiver.poll(now, &mut report);
            if !report.is_empty() {
                links[1 - call.way].push(now, report.bytes(), Item::Report(index, report));
            }
        }
    }

    /// Mean rate of the packets that left the link between two times, bit/s.
    pub fn rate(&self, from_s: f64, to_s: f64) -> f64 {
        let bytes: u64 = self.links[0]
            .delivered
            .iter()
            .filter(|(time, ..)| (from_s..to_s).contains(&time.as_secs_f64()))
            .map(|(_, bytes, _)| u64::from(*bytes))
            .sum();
        8.0 * bytes as f64 / (to_s - from_s)
    }

    /// Quantile `q`, 0 to 1, of the queue delay between two times, ms.
    pub fn delay(&self, q: f64, from_s: f64, to_s: f64) -> f64 {
        let within = self.links[0].delivered.iter();
        let within = within.filter(|(time, ..)| (from_s..to_s).contains(&time.as_secs_f64()));
        let mut delays: Vec<f64> = within.map(|(.., delay)| *delay).collect();
        delays.sort_by(f64::total_cmp);
        delays[((delays.len() - 1) as f64 * q) as usize]
    }

    /// Mean target rate of a call between two times, bit/s.
    pub fn target(&self, call: usize, from_s: f64, to_s: f64) -> f64 {
        let targets = self.calls[call].targets.iter();
        let within: Vec<f64> = targets
            .filter(|(time, _)| (from_s..to_s).contains(&time.as_secs_f64()))
            .map(|(_, target)| *target)
            .collect();
        within.iter().sum::<f64>() / within.len() as f64
    }
}
