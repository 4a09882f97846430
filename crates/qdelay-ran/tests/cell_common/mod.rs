//! A host for cells under test: plain queues, and a log of all notifications.

use qdelay_core::component::Arguments;
use qdelay_core::pacer::Served;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Span, Time};
use qdelay_ran::mac::{COMPONENTS, Scheduler};
use qdelay_ran::{Cell, CellUsage, Source, Split};
use std::collections::VecDeque;

pub const MS: u64 = 1_000_000;

pub fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

/// Every scheduler with its defaults.
pub fn schedulers() -> impl Iterator<Item = Scheduler> {
    COMPONENTS.iter().map(|component| Scheduler::build(&Arguments::defaults(component)).unwrap())
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notice {
    /// Packet's handle.
    Departed(u64),
    Delivered(u64, Split),
    Dropped(u64, DropReason),
    Served(Served),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Time in nanoseconds.
    pub time: u64,
    pub bearer: usize,
    pub what: Notice,
}

/// An arrival: time (ns), bearer, size in bytes.
pub type Arrival = (u64, usize, u32);

#[derive(Default)]
pub struct Host {
    pub now: Time,
    pub queues: Vec<VecDeque<Packet>>,
    pub log: Vec<Event>,
    pub runs: u64,
}

impl Host {
    pub fn new(bearers: usize) -> Host {
        Host { queues: vec![VecDeque::new(); bearers], ..Host::default() }
    }
    fn tell(&mut self, bearer: usize, what: Notice) {
        self.log.push(Event { time: self.now.as_nanos(), bearer, what });
    }
    pub fn delivered(&self) -> impl Iterator<Item = (u64, usize, u64, Split)> {
        self.log.iter().filter_map(|event| match event.what {
            Notice::Delivered(handle, split) => Some((event.time, event.bearer, handle, split)),
            _ => None,
        })
    }
    pub fn dropped(&self) -> impl Iterator<Item = (u64, usize, u64, DropReason)> {
        self.log.iter().filter_map(|event| match event.what {
            Notice::Dropped(handle, reason) => Some((event.time, event.bearer, handle, reason)),
            _ => None,
        })
    }
    pub fn served(&self, bearer: usize) -> impl Iterator<Item = (u64, Served)> {
        self.log.iter().filter_map(move |event| match event.what {
            Notice::Served(served) if event.bearer == bearer => Some((event.time, served)),
            _ => None,
        })
    }
}

impl Source for Host {
    fn backlog(&self, bearer: usize) -> Backlog {
        let queue = &self.queues[bearer];
        Backlog {
            packets: queue.len() as u64,
            bytes: queue.iter().map(|packet| u64::from(packet.bytes)).sum(),
        }
    }
    fn sizes(&self, bearer: usize, from: usize, sizes: &mut [u32]) -> usize {
        let known = self.queues[bearer].iter().skip(from).zip(sizes);
        known.map(|(packet, size)| *size = packet.bytes).count()
    }
    fn head(&self, bearer: usize) -> Option<Time> {
        self.queues[bearer].front().map(|packet| packet.arrival)
    }
    fn pull(&mut self, bearer: usize) -> Option<Packet> {
        self.queues[bearer].pop_front()
    }
    fn departed(&mut self, bearer: usize, packet: &Packet) {
        self.tell(bearer, Notice::Departed(packet.handle));
    }
    fn delivered(&mut self, bearer: usize, packet: Packet, split: Split) {
        self.tell(bearer, Notice::Delivered(packet.handle, split));
    }
    fn dropped(&mut self, bearer: usize, packet: &Packet, reason: DropReason) {
        self.tell(bearer, Notice::Dropped(packet.handle, reason));
    }
    fn served(&mut self, bearer: usize, served: Served) {
        self.tell(bearer, Notice::Served(served));
    }
}

/// Runs the events due by `end`, each at its time.
pub fn advance(cell: &mut Cell, host: &mut Host, end: Time) {
    while cell.next_deadline() <= end && cell.next_deadline() < Time::NEVER {
        host.now = cell.next_deadline();
        host.runs += 1;
        cell.run(host.now, host);
        assert!(cell.next_deadline() > host.now, "all that is due was done");
    }
    host.now = end;
}

/// Puts `packet` into its queue.
pub fn arrive(cell: &mut Cell, host: &mut Host, bearer: usize, packet: Packet) {
    let packet = Packet { arrival: host.now, ..packet };
    host.queues[bearer].push_back(packet);
    if host.queues[bearer].len() == 1 {
        cell.wake(host.now, bearer);
    }
}

/// Drives `cell` to `end` with `arrivals` in the order of their times; a packet's handle is its number.
pub fn drive(cell: &mut Cell, arrivals: &[Arrival], end: u64) -> Host {
    let mut host = Host::new(cell.bearers());
    for (handle, &(time, bearer, bytes)) in arrivals.iter().enumerate() {
        advance(cell, &mut host, Time::from_nanos(time));
        arrive(cell, &mut host, bearer, Packet { handle: handle as u64, bytes, ..Packet::default() });
    }
    advance(cell, &mut host, Time::from_nanos(end));
    host
}

/// Checks that every packet ended once or is inside, and that every resource block is counted.
pub fn audit(cell: &Cell, host: &Host, arrivals: &[Arrival]) {
    audit_of(cell.inside(), cell.usage(host.now), host, arrivals);
}

/// Checks the same for a cell or uplink that holds `inside` and has this `usage`.
pub fn audit_of(inside: Backlog, usage: CellUsage, host: &Host, arrivals: &[Arrival]) {
    let mut ended = vec![0; arrivals.len()];
    for event in &host.log {
        if let Notice::Delivered(handle, _) | Notice::Dropped(handle, _) = event.what {
            ended[handle as usize] += 1;
        }
    }
    for queue in &host.queues {
        queue.iter().for_each(|packet| ended[packet.handle as usize] += 1);
    }
    let open: Vec<usize> = (0..arrivals.len()).filter(|&n| ended[n] == 0).collect();
    assert!(ended.iter().all(|&n| n <= 1), "ended twice");
    assert_eq!(inside.packets, open.len() as u64);
    assert_eq!(inside.bytes, open.iter().map(|&n| u64::from(arrivals[n].2)).sum::<u64>());
    assert_eq!(usage.used_rbs + usage.wasted_rbs + usage.unfit_rbs, usage.offered_rbs);
    assert!(usage.repeated_rbs <= usage.used_rbs);
}
