//! Links below a queue, arrivals, and the promises that hold for every packet.

use super::cases::Pair;
use crate::drive::{Subject, packet, within};
use crate::dsd::GREEN;
use crate::models::fifo::TailDrop;
use crate::models::{Fate, MS, Model, Ns, Pkt, Room};
use qdelay_core::{Packet, Random};
use std::collections::{BTreeMap, VecDeque};

/// A link.
#[derive(Clone, Debug)]
pub enum Link {
    /// A line of this many bits per second.
    Line(u64),
    /// Opportunities of so many bytes at these times; unused ones are lost.
    Opportunities(Vec<(Ns, u64)>),
}

/// Service of each packet: time of its beginning, and time at which its last byte left.
pub type Left = BTreeMap<u64, (Ns, Ns)>;

/// A queue above a link.
pub trait Above {
    fn enqueue(&mut self, now: Ns, packet: Pkt);
    fn dequeue(&mut self, now: Ns) -> Option<Pkt>;
}

pub struct Flat {
    pub queue: TailDrop,
    pub dropped: Vec<u64>,
}
impl Above for Flat {
    fn enqueue(&mut self, now: Ns, packet: Pkt) {
        let mut log = Vec::new();
        self.queue.enqueue(now, packet, &mut || 0.0, &mut log);
        self.dropped.extend(log.into_iter().map(Fate::id));
    }
    fn dequeue(&mut self, now: Ns) -> Option<Pkt> {
        self.queue.dequeue(now, &mut Vec::new())
    }
}
impl Above for Pair {
    fn enqueue(&mut self, now: Ns, packet: Pkt) {
        self.enqueue(now, packet);
    }
    fn dequeue(&mut self, now: Ns) -> Option<Pkt> {
        let deadline = self.model.blue.front().copied();
        let place = self.model.rate.map(|_| now);
        let packet = self.dequeue(now);
        if let (Some(packet), Some((blue, begins)), Some(place)) = (packet, deadline, place)
            && packet.id == blue.id
        {
            assert!(place <= begins, "{}: blue {} at {place}, deadline {begins}", self.what, blue.id);
        }
        packet
    }
}

/// Runs until all packets are sent. Service of the link precedes an arrival of the same time.
pub fn run(queue: &mut impl Above, arrivals: &[Pkt], link: &Link) -> Left {
    let mut left = Left::new();
    let mut arrivals = arrivals.iter().copied().peekable();
    match link {
        Link::Line(rate) => {
            let mut free = None;
            loop {
                let next = arrivals.peek().map(|packet| packet.arrival);
                let now = match (free, next) {
                    (Some(free), Some(next)) => next.min(free),
                    (free, next) => match free.or(next) {
                        Some(now) => now,
                        None => return left,
                    },
                };
                if free == Some(now) {
                    free = None;
                } else if let Some(packet) = arrivals.next() {
                    queue.enqueue(now, packet);
                }
                if free.is_none()
                    && let Some(packet) = queue.dequeue(now)
                {
                    let end = now + u64::from(packet.bytes) * 8_000_000_000 / rate;
                    left.insert(packet.id, (now, end));
                    free = Some(end);
                }
            }
        }
        Link::Opportunities(opportunities) => {
            let mut sending: Option<(Pkt, u64)> = None;
            for &(now, mut bytes) in opportunities {
                while let Some(packet) = arrivals.next_if(|packet| packet.arrival < now) {
                    queue.enqueue(packet.arrival, packet);
                }
                while bytes > 0 {
                    let (packet, rest) = match sending.take() {
                        Some(sending) => sending,
                        None => match queue.dequeue(now) {
                            Some(packet) => {
                                left.insert(packet.id, (now, Ns::MAX));
                                (packet, u64::from(packet.bytes))
                            }
                            None => break,
                        },
                    };
                    let part = rest.min(bytes);
                    bytes -= part;
                    if part == rest {
                        left.entry(packet.id).and_modify(|(_, end)| *end = now);
                    } else {
                        sending = Some((packet, rest - part));
                    }
                }
            }
            left
        }
    }
}

/// Requirements on the arrivals.
#[derive(Clone, Copy)]
pub struct Traffic {
    /// Mean time between packets.
    pub gap: Ns,
    /// True if all packets have 1000 bytes.
    pub equal: bool,
    /// Unit of all times: they are multiples of it.
    pub grid: Ns,
}

pub fn arrivals(random: &mut Random, traffic: Traffic) -> Vec<Pkt> {
    let share = random.unit();
    let bursts = random.below(2) == 0;
    let mut now = 0.0;
    let count = within(random, 50, 400);
    let one = |id| {
        let burst = if bursts { within(random, 0, 12) == 0 } else { true };
        let mean = traffic.gap as f64 * if bursts { 13.0 } else { 1.0 };
        now += if burst { mean * random.exponential() } else { 0.0 };
        let bytes =
            if traffic.equal { 1000 } else { [40, 200, 576, 1000, 1500, 1500][random.below(6) as usize] };
        let dscp = if random.unit() < share { GREEN } else { 0 };
        let arrival = now as Ns / traffic.grid * traffic.grid;
        Pkt { id, arrival, bytes, capable: random.below(2) == 0, flow: 0, dscp, class: 0 }
    };
    (0..count).map(one).collect()
}

/// Checks the promises on every link: order within a colour, the bound, the buffer, and that every loss is
/// reported.
pub fn check_promises(pair: &Pair, arrivals: &[Pkt], left: &Left, d: Ns) {
    let what = &pair.what;
    let mut dropped = BTreeMap::new();
    for (now, fate) in pair.fates.iter().filter(|(_, fate)| !fate.is_mark()) {
        assert!(dropped.insert(fate.id(), (*now, *fate)).is_none(), "{what}: {fate:?} twice");
    }
    let inside = pair.model.holds().0 as usize;
    assert_eq!(left.len() + dropped.len() + inside, arrivals.len(), "{what}");
    for is_green in [false, true] {
        let mut last = 0;
        for packet in arrivals.iter().filter(|packet| (pair.model.is_green)(packet) == is_green) {
            let Some((begin, _)) = left.get(&packet.id).copied() else { continue };
            assert!(begin >= last, "{what}: {} before its turn", packet.id);
            last = begin;
            assert!(!is_green || begin - packet.arrival <= d, "{what}: green {} waited too long", packet.id);
        }
    }
    let occupied = |at: Ns| {
        let waits = |p: &&Pkt| {
            p.arrival <= at
                && left.get(&p.id).is_none_or(|(begin, _)| *begin > at)
                && dropped.get(&p.id).is_none_or(|(when, _)| *when > at)
        };
        let waiting: Vec<u64> = arrivals.iter().filter(waits).map(|p| u64::from(p.bytes)).collect();
        (waiting.len(), waiting.iter().sum::<u64>())
    };
    for packet in arrivals.iter().step_by(7) {
        let (packets, bytes) = occupied(packet.arrival);
        assert!(pair.model.room.allows(packets, bytes), "{what}: {packets} packets, {bytes} bytes");
    }
}

pub fn flat(room: Room, arrivals: &[Pkt], link: &Link) -> (Left, Vec<u64>) {
    let mut flat = Flat { queue: TailDrop { room, queue: VecDeque::new() }, dropped: Vec::new() };
    let left = run(&mut flat, arrivals, link);
    (left, flat.dropped)
}

/// Rates at which every byte takes whole nanoseconds.
pub const WHOLE: [u64; 5] = [1_000_000, 2_000_000, 5_000_000, 8_000_000, 10_000_000];

/// The implementation alone.
pub struct Plain(pub Subject);
impl Above for Plain {
    fn enqueue(&mut self, now: Ns, p: Pkt) {
        self.0.enqueue(now, Packet { dscp: p.dscp, ..packet(p.id, p.bytes, p.capable, p.flow) });
    }
    fn dequeue(&mut self, now: Ns) -> Option<Pkt> {
        let p = self.0.dequeue(now)?;
        let arrival = p.arrival.as_nanos();
        Some(Pkt { id: p.handle, arrival, bytes: p.bytes, capable: false, flow: 0, dscp: p.dscp, class: 0 })
    }
}

pub fn opportunities(random: &mut Random, until: Ns, gap: Ns, whole: bool) -> Vec<(Ns, u64)> {
    let mut now = 0;
    let mut all = Vec::new();
    let mut factor = 1.0;
    while now < until {
        if random.below(50) == 0 {
            factor = 0.2 + 2.0 * random.unit();
            // An outage precedes one opportunity in four.
            now += if random.below(4) == 0 { random.below(200 * MS) } else { 0 };
        }
        now += (gap as f64 * factor * random.exponential()) as Ns;
        let bytes = if whole { 1000 * within(random, 1, 3) } else { within(random, 1, 2500) };
        all.push((now, bytes));
    }
    // The last opportunities suffice for all remaining packets.
    all.extend((0..2000).map(|n| (now + n * MS, 1000)));
    all
}
