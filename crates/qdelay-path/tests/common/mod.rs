//! What the tests of whole paths share.

use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{DropReason, Packet, Time};
use qdelay_path::{NodeId, NodeSpec, Observer, Path, Split};

/// Writes down everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    pub events: Vec<Event>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Enqueued { now: Time, node: NodeId, handle: u64 },
    Dequeued { now: Time, node: NodeId, handle: u64, arrival: Time },
    Departed { now: Time, node: NodeId, queue: NodeId, handle: u64, arrival: Time },
    Split { now: Time, node: NodeId, handle: u64, split: Split },
    Dropped { now: Time, node: NodeId, handle: u64, reason: DropReason },
    Delivered { now: Time, node: NodeId, handle: u64, class: u16 },
}

impl Event {
    pub fn time(&self) -> Time {
        match *self {
            Event::Enqueued { now, .. }
            | Event::Dequeued { now, .. }
            | Event::Departed { now, .. }
            | Event::Split { now, .. }
            | Event::Dropped { now, .. }
            | Event::Delivered { now, .. } => now,
        }
    }
}

impl Observer for Log {
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.events.push(Event::Enqueued { now, node, handle: packet.handle });
    }
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.events.push(Event::Dequeued { now, node, handle: packet.handle, arrival: packet.arrival });
    }
    fn departed(&mut self, now: Time, node: NodeId, queue: NodeId, packet: &Packet) {
        let (handle, arrival) = (packet.handle, packet.arrival);
        self.events.push(Event::Departed { now, node, queue, handle, arrival });
    }
    fn split(&mut self, now: Time, node: NodeId, packet: &Packet, split: Split) {
        self.events.push(Event::Split { now, node, handle: packet.handle, split });
    }
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.events.push(Event::Dropped { now, node, handle: packet.handle, reason });
    }
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.events.push(Event::Delivered { now, node, handle: packet.handle, class: packet.class });
    }
}

/// Tells another: each type of observer is a whole path to be built, and a call through a table costs these tests nothing.
pub struct Tell<'a>(pub &'a mut dyn Observer);

impl Observer for Tell<'_> {
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.0.dequeued(now, node, packet);
    }
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.0.delivered(now, node, packet);
    }
}

impl Log {
    /// (time in ns, handle) of each packet delivered.
    pub fn delivered(&self) -> Vec<(u64, u64)> {
        let one = |event: &Event| match *event {
            Event::Delivered { now, handle, .. } => Some((now.as_nanos(), handle)),
            _ => None,
        };
        self.events.iter().filter_map(one).collect()
    }
}

pub fn ms(n: u64) -> Time {
    Time::from_nanos(n * 1_000_000)
}

pub fn packet(handle: u64, bytes: u32) -> Packet {
    Packet { handle, bytes, ..Packet::default() }
}

pub fn queue(text: &str) -> NodeSpec {
    NodeSpec::Queue(AnyQdisc::parse(text).expect("a discipline"))
}

/// Runs a path to `end`, stopping at every deadline, and checks that time never goes backwards in the log.
pub fn drain(path: &mut Path, end: Time, log: &mut Log) {
    while path.next_deadline() <= end && path.next_deadline() < Time::NEVER {
        path.poll(path.next_deadline(), log).expect("time in order");
    }
    path.audit().expect("conservation");
    assert!(log.events.windows(2).all(|pair| pair[0].time() <= pair[1].time()), "time in order");
}
