//! Helpers for the tests of the disciplines: a queue, its clock, and a list of drops and marks.

use super::{AnyQdisc, Backlog, Qdisc};
use crate::{Context, DropReason, Ecn, MarkReason, Packet, Random, Sink, Time};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

#[derive(Default)]
pub struct Log {
    pub dropped: Vec<(u64, DropReason)>,
    pub marked: Vec<(u64, MarkReason)>,
}
impl Sink for Log {
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        self.dropped.push((packet.handle, reason));
    }
    fn marked(&mut self, packet: &Packet, reason: MarkReason) {
        assert_eq!(packet.ecn, Ecn::Ce);
        self.marked.push((packet.handle, reason));
    }
}

pub struct Bench {
    pub qdisc: AnyQdisc,
    pub log: Log,
    pub random: Random,
    pub ecn: Ecn,
    pub dscp: u8,
    pub class: u16,
    pub flow: u32,
    pub arrived: u64,
}

impl Bench {
    pub fn new(text: &str) -> Bench {
        let qdisc = AnyQdisc::parse(text).unwrap();
        Bench {
            qdisc,
            log: Log::default(),
            random: Random::derive(1, "node", "aqm"),
            ecn: Ecn::NotEct,
            dscp: 0,
            class: 0,
            flow: 0,
            arrived: 0,
        }
    }
    /// Enqueues a packet; its handle counts the arrivals from 0.
    pub fn enqueue(&mut self, ms: u64, bytes: u32) {
        let now = at(ms);
        let packet = Packet {
            handle: self.arrived,
            arrival: now,
            bytes,
            ecn: self.ecn,
            dscp: self.dscp,
            class: self.class,
            flow: self.flow,
            count: 0,
        };
        self.arrived += 1;
        let mut context = Context { now, random: &mut self.random, sink: &mut self.log };
        self.qdisc.enqueue(&mut context, packet);
    }
    /// Enqueues packets of one flow.
    pub fn enqueue_flow(&mut self, flow: u32, ms: u64, sizes: &[u32]) {
        self.flow = flow;
        sizes.iter().for_each(|bytes| self.enqueue(ms, *bytes));
    }
    /// The handles of the packets that leave in the next `count` dequeues; fewer if the queue runs empty.
    pub fn dequeue_many(&mut self, ms: u64, count: usize) -> Vec<u64> {
        (0..count).map_while(|_| self.dequeue(ms)).collect()
    }
    /// Dequeues once; returns the handle of the packet that leaves.
    pub fn dequeue(&mut self, ms: u64) -> Option<u64> {
        let mut context = Context { now: at(ms), random: &mut self.random, sink: &mut self.log };
        self.qdisc.dequeue(&mut context).map(|packet| packet.handle)
    }
    pub fn poll(&mut self, ms: u64) {
        let mut context = Context { now: at(ms), random: &mut self.random, sink: &mut self.log };
        self.qdisc.poll(&mut context);
    }
    pub fn drops(&self, reason: DropReason) -> usize {
        self.log.dropped.iter().filter(|(_, r)| *r == reason).count()
    }
    /// Offers `load` packets a millisecond to a link of one, for `ms` milliseconds, and checks that every
    /// packet is accounted for once. Returns the number of packets that left.
    pub fn overload(&mut self, ms: u64, load: u64) -> u64 {
        let mut left = 0;
        for now in 0..ms {
            if self.qdisc.next_deadline() <= at(now) {
                self.poll(now);
                assert!(self.qdisc.next_deadline() > at(now));
            }
            (0..load).for_each(|_| self.enqueue(now, 1500));
            left += u64::from(self.dequeue(now).is_some());
            let backlog = self.qdisc.backlog();
            assert_eq!(backlog.bytes, 1500 * backlog.packets);
            assert_eq!(left + backlog.packets + self.log.dropped.len() as u64, self.arrived);
        }
        left
    }
}

/// Drives `text` with random arrivals of ten flows and dequeues, polled when due, and checks: at most
/// `packets` are queued, the packet at the head leaves next unless packets are dropped at dequeue, every
/// packet is accounted for once, and each flow's packets leave in order.
pub fn fair_in_random_traffic(text: &str, packets: u64) {
    let mut bench = Bench::new(text);
    let mut choice = Random::derive(7, text, "test");
    let (mut flows, mut last, mut left) = (Vec::new(), [None; 10], 0);
    for step in 0..20_000 {
        let ms = step / 10;
        if bench.qdisc.next_deadline() <= at(ms) {
            bench.poll(ms);
        }
        if choice.below(40) < 21 {
            bench.enqueue_flow(choice.below(10) as u32, ms, &[40 + choice.below(1461) as u32]);
            flows.push(bench.flow);
        } else {
            let (head, drops) = (bench.qdisc.head().map(|packet| packet.handle), bench.log.dropped.len());
            let next = bench.dequeue(ms);
            if bench.log.dropped.len() == drops {
                assert_eq!(next, head, "{text}");
            }
            if let Some(handle) = next {
                left += 1;
                let last = &mut last[flows[handle as usize] as usize];
                assert!(last.replace(handle) < Some(handle), "{text}");
            }
        }
        let backlog = bench.qdisc.backlog();
        assert!(backlog.packets <= packets, "{text}");
        assert_eq!(bench.qdisc.head().is_none(), backlog == Backlog::default());
        assert_eq!(left + backlog.packets + bench.log.dropped.len() as u64, bench.arrived, "{text}");
    }
    while bench.dequeue(3000).is_some() {}
    assert_eq!(bench.qdisc.backlog(), Backlog::default());
}

pub fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// The error of parsing `text`.
pub fn error(text: &str) -> String {
    AnyQdisc::parse(text).unwrap_err().to_string()
}
