//! What the tests of the disciplines share: a queue, its clock, and a list of what was dropped and marked.

use super::{AnyQdisc, Qdisc};
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
            arrived: 0,
        }
    }
    /// A packet arrives; its handle counts the arrivals from 0.
    pub fn enqueue(&mut self, ms: u64, bytes: u32) {
        let now = at(ms);
        let packet = Packet { handle: self.arrived, arrival: now, bytes, ecn: self.ecn, ..Packet::default() };
        self.arrived += 1;
        let mut context = Context { now, random: &mut self.random, sink: &mut self.log };
        self.qdisc.enqueue(&mut context, packet);
    }
    /// The handle of the packet that leaves.
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
    /// Offers `load` packets a millisecond to a link of one, for `ms` milliseconds, and checks that every packet ends
    /// in one place. Returns how many left.
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

pub fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// The error that `text` makes.
pub fn error(text: &str) -> String {
    AnyQdisc::parse(text).unwrap_err().to_string()
}
