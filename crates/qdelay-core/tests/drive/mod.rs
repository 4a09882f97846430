//! Workloads, and the harness that drives an implementation and records its drops and marks.

use crate::models::{Fate, MS, Model, Ns, Pkt, bucket};
use qdelay_core::component::Arguments;
use qdelay_core::qdisc::{AnyQdisc, COMPONENTS, DROPS, MARKS, Qdisc};
use qdelay_core::{Context, DropReason, Ecn, MarkReason, Packet, Random, Sink, Time};
use std::collections::BTreeSet;

/// Number of calls between two polls of a model that is polled late.
const LATE: usize = 50;

/// A call from outside.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Arrive { bytes: u32, capable: bool, flow: u32, dscp: u8, class: u16 },
    Serve,
}

/// A sequence of calls in time order.
pub type Workload = Vec<(Ns, Call)>;

/// Records the drops and marks of an implementation.
#[derive(Default)]
pub struct Ear(pub Vec<Fate>);

impl Sink for Ear {
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        assert!(DROPS.iter().any(|of| of.contains(&reason)), "no component declares {reason:?}");
        self.0.push(Fate::Drop(reason.name(), packet.handle));
    }
    fn marked(&mut self, packet: &Packet, reason: MarkReason) {
        assert!(MARKS.iter().any(|of| of.contains(&reason)), "no component declares {reason:?}");
        assert_eq!(packet.ecn, Ecn::Ce, "a marked packet carries the mark");
        self.0.push(Fate::Mark(reason.name(), packet.handle));
    }
}

/// An implementation under test, with its random stream.
pub struct Subject {
    pub qdisc: AnyQdisc,
    pub random: Random,
    pub ear: Ear,
}

impl Subject {
    pub fn new(text: &str, seed: u64) -> Subject {
        let arguments = Arguments::parse(COMPONENTS, text).unwrap_or_else(|e| panic!("{e}"));
        let qdisc = AnyQdisc::build(&arguments).unwrap_or_else(|e| panic!("{text}: {e}"));
        Subject { qdisc, random: Random::derive(seed, "q", "pie"), ear: Ear::default() }
    }
    pub fn enqueue(&mut self, now: Ns, packet: Packet) {
        let packet = Packet { arrival: Time::from_nanos(now), ..packet };
        self.qdisc.enqueue(
            &mut Context { now: Time::from_nanos(now), random: &mut self.random, sink: &mut self.ear },
            packet,
        );
    }
    pub fn dequeue(&mut self, now: Ns) -> Option<Packet> {
        self.qdisc.dequeue(&mut Context {
            now: Time::from_nanos(now),
            random: &mut self.random,
            sink: &mut self.ear,
        })
    }
    pub fn poll(&mut self, now: Ns) {
        self.qdisc.poll(&mut Context {
            now: Time::from_nanos(now),
            random: &mut self.random,
            sink: &mut self.ear,
        });
    }
    /// Polls at each deadline up to and including `now`, as a host does.
    pub fn poll_until(&mut self, now: Ns) {
        let mut last = None;
        while self.qdisc.next_deadline().as_nanos() <= now {
            let at = self.qdisc.next_deadline().as_nanos();
            assert!(last.is_none_or(|l| at > l), "a poll at its deadline must move the deadline on ({at})");
            last = Some(at);
            self.poll(at);
        }
    }
}

pub fn packet(id: u64, bytes: u32, capable: bool, flow: u32) -> Packet {
    let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
    Packet { handle: id, bytes, flow, ecn, ..Packet::default() }
}

/// Handles of everything that leaves at time `now`, in order.
pub fn drain(subject: &mut Subject, now: Ns) -> Vec<u64> {
    std::iter::from_fn(|| subject.dequeue(now)).map(|p| p.handle).collect()
}

/// Numbers of `count` flows from `first` on, no two of which share one of `buckets` buckets.
pub fn apart(count: usize, buckets: u64, first: u32) -> Vec<u32> {
    let mut flows: Vec<u32> = Vec::new();
    for flow in first.. {
        if flows.len() == count {
            break;
        }
        if flows.iter().all(|other| bucket(*other, 0, buckets) != bucket(flow, 0, buckets)) {
            flows.push(flow);
        }
    }
    flows
}

/// Runs `workload` through the implementation and its model and compares every call. Returns the number of
/// packets dropped or marked by a decision (limits aside), so that a caller can check that there was
/// something to compare.
pub fn compare(what: &str, subject: &mut Subject, model: &mut dyn Model, workload: &Workload) -> u64 {
    let mut decisions = 0;
    let mut expected = Vec::new();
    let mut marked = BTreeSet::new();
    for (step, &(now, call)) in workload.iter().enumerate() {
        // The model draws from a copy of the stream, so that a draw that only one side makes does not shift
        // the other's.
        let mut copy = subject.random.clone();
        expected.clear();
        if !model.is_polled_late() {
            subject.poll_until(now);
            model.advance(now, &mut || copy.bits(), &mut expected);
        } else if step % LATE == 0 {
            subject.poll(now);
            model.advance(now, &mut || copy.bits(), &mut expected);
        }
        assert!(
            subject.ear.0 == expected,
            "{what}: step {step} at {now} ns: the timers of the implementation: {:?}, of the model: {expected:?}",
            subject.ear.0
        );
        subject.ear.0.clear();
        expected.clear();
        let mut copy = subject.random.clone();
        let (ours, theirs) = match call {
            Call::Arrive { bytes, capable, flow, dscp, class } => {
                let id = step as u64;
                subject.enqueue(now, Packet { dscp, class, ..packet(id, bytes, capable, flow) });
                let pkt = Pkt { id, arrival: now, bytes, capable, flow, dscp, class };
                model.enqueue(now, pkt, &mut || copy.unit(), &mut expected);
                (None, None)
            }
            Call::Serve => (subject.dequeue(now), model.dequeue(now, &mut expected)),
        };
        let backlog = subject.qdisc.backlog();
        let head = subject.qdisc.head().map(|p| p.handle);
        assert!(
            subject.ear.0 == expected
                && ours.map(|p| p.handle) == theirs.map(|p| p.id)
                && (backlog.packets, backlog.bytes) == model.holds()
                && head == model.head().map(|p| p.id),
            "{what}: step {step} at {now} ns, {call:?}:\n\
             implementation: {:?} returned {:?} {backlog:?} head {head:?}\n\
             model:          {expected:?} returned {theirs:?} backlog {:?} head {:?}",
            subject.ear.0,
            ours.map(|p| p.handle),
            model.holds(),
            model.head(),
        );
        marked.extend(expected.iter().filter(|fate| fate.is_mark()).map(|fate| fate.id()));
        if let Some(p) = ours {
            let carries = p.ecn == Ecn::Ce;
            assert_eq!(carries, marked.contains(&p.handle), "{what}: step {step}: the mark of {}", p.handle);
        }
        decisions += expected
            .iter()
            .filter(|f| !matches!(f, Fate::Drop("tail_limit", _) | Fate::Drop("head_limit", _)))
            .count() as u64;
        subject.ear.0.clear();
    }
    decisions
}

/// A number in `low..=high`.
pub fn within(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// A random workload: one of several kinds of arrivals merged with a varying service that has outages. `grid` rounds
/// every time down to a multiple (1 ms makes ties and exact bounds frequent).
pub fn workload(random: &mut Random, grid: Ns) -> Workload {
    let length = within(random, 2, 12) * 250 * MS;
    // Packets a second on average, and the share of them that is served.
    let rate = within(random, 50, 1500) as f64;
    let load = 0.4 + 2.0 * random.unit();
    let mut calls = arrivals(random, length, rate);
    calls.extend(service(random, length, rate / load));
    for (now, _) in &mut calls {
        *now = *now / grid * grid;
    }
    // A stable sort keeps arrivals before service where they tie; in half of the workloads service comes
    // first.
    if random.below(2) == 0 {
        calls.reverse();
    }
    calls.sort_by_key(|(now, _)| *now);
    calls
}

fn arrivals(random: &mut Random, length: Ns, rate: f64) -> Workload {
    let kind = random.below(5);
    let sizes = random.below(4);
    let capable = random.below(3);
    let mut flows = Flows::draw(random);
    let gap = 1e9 / rate;
    let mut calls = Workload::new();
    let mut now = if random.below(2) == 0 { 0.0 } else { 100e6 * random.unit() };
    while (now as Ns) < length {
        let train = match kind {
            // Kinds of arrivals: Poisson; bursts; on for 200 ms then off for 200 ms; overload in the first
            // half then sparse; constant.
            0 => 1,
            1 => within(random, 1, 40),
            _ => 1,
        };
        for _ in 0..train {
            let bytes = match sizes {
                0 => 1500,
                1 => within(random, 40, 1500) as u32,
                // Sixteen packets of this size are the 16384 bytes at which rate measurements begin and end.
                2 => 1024,
                _ => [40, 172, 576, 1500, 1500, 1500][random.below(6) as usize],
            };
            let capable = match capable {
                0 => false,
                1 => true,
                _ => random.below(2) == 0,
            };
            let (flow, dscp, class) = flows.next(random);
            calls.push((now as Ns, Call::Arrive { bytes, capable, flow, dscp, class }));
        }
        let early = (now as Ns) < length / 2;
        now += match kind {
            0 => gap * random.exponential(),
            1 => gap * 20.0 * random.exponential(),
            2 if (now as Ns / (200 * MS)).is_multiple_of(2) => gap * 0.5 * random.exponential(),
            2 => 200e6,
            3 if early => gap * 0.5,
            3 => gap * 20.0 * random.exponential(),
            _ => gap,
        };
    }
    calls
}

/// Senders: some flows, of which a few send most; packets of a codepoint and a class of their flow, or of
/// any.
struct Flows {
    flows: Vec<(u32, u8, u16)>,
    any: bool,
    /// Number of packets in a row of one flow.
    run: u64,
    current: usize,
}

/// Codepoints: default, LE, CS1, AF11, AF41, VA, NQB, EF, CS6 and one that has no name.
const CODEPOINTS: [u8; 10] = [0, 1, 8, 10, 34, 44, 45, 46, 48, 63];

impl Flows {
    fn draw(random: &mut Random) -> Flows {
        let count = [1, 2, 4, 12][random.below(4) as usize];
        // Flow numbers are indices or hashes.
        let hashed = random.below(2) == 0;
        let flow = |random: &mut Random, index: u32| if hashed { random.bits() as u32 } else { index };
        let flows = (0..count).map(|index| (flow(random, index), codepoint(random), class(random))).collect();
        Flows { flows, any: random.below(3) == 0, run: within(random, 1, 6), current: 0 }
    }

    fn next(&mut self, random: &mut Random) -> (u32, u8, u16) {
        if random.below(self.run) == 0 {
            let bound = 1 + random.below(self.flows.len() as u64);
            self.current = random.below(bound) as usize;
        }
        let (flow, dscp, class_of_flow) = self.flows[self.current];
        if self.any { (flow, codepoint(random), class(random)) } else { (flow, dscp, class_of_flow) }
    }
}

fn codepoint(random: &mut Random) -> u8 {
    CODEPOINTS[random.below(CODEPOINTS.len() as u64) as usize]
}

/// Classes, some of which agree in their last eight bits.
fn class(random: &mut Random) -> u16 {
    [0, 1, 2, 129, 255, 256, 257, 65535][random.below(8) as usize]
}

fn service(random: &mut Random, length: Ns, rate: f64) -> Workload {
    let mut calls = Workload::new();
    let mut now = 0.0;
    let mut factor = 1.0;
    let mut change = 0.0;
    let steady = random.below(3) == 0;
    // Service ends a little after the last arrival, so that queues drain and idle.
    while (now as Ns) < length + 300 * MS {
        if now >= change && !steady {
            change = now + 1e9 * (0.02 + 0.3 * random.unit());
            factor = match random.below(8) {
                // An outage.
                0 => {
                    now = change;
                    1.0
                }
                1 => 4.0,
                _ => 0.3 + 1.4 * random.unit(),
            };
        }
        calls.push((now as Ns, Call::Serve));
        now += 1e9 / (rate * factor);
    }
    calls
}
