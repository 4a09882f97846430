//! Workloads, and the harness that drives an implementation and records what it says.

#![allow(dead_code)]

use crate::models::{Fate, MS, Model, Ns, Pkt};
use qdelay_core::component::Arguments;
use qdelay_core::qdisc::{AnyQdisc, COMPONENTS, Qdisc};
use qdelay_core::{Context, DropReason, Ecn, MarkReason, Packet, Random, Sink, Time};

/// A call from outside.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Arrive { bytes: u32, capable: bool, flow: u32 },
    Serve,
}

/// A sequence of calls in time order.
pub type Workload = Vec<(Ns, Call)>;

/// Hears an implementation.
#[derive(Default)]
pub struct Ear(pub Vec<Fate>);

impl Sink for Ear {
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        let id = packet.handle;
        self.0.push(match reason {
            DropReason::TailLimit => Fate::Tail(id),
            DropReason::HeadLimit => Fate::Head(id),
            DropReason::SojournBound => Fate::Sojourn(id),
            DropReason::Codel => Fate::Codel(id),
            DropReason::Pie => Fate::Pie(id),
            DropReason::Loss | DropReason::Unroutable => panic!("no discipline drops for {}", reason.name()),
        });
    }
    fn marked(&mut self, packet: &Packet, reason: MarkReason) {
        let id = packet.handle;
        assert_eq!(packet.ecn, Ecn::Ce, "a marked packet carries the mark");
        self.0.push(match reason {
            MarkReason::Codel => Fate::MarkCodel(id),
            MarkReason::CeThreshold => Fate::MarkThreshold(id),
            MarkReason::Pie => Fate::MarkPie(id),
        });
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

/// Runs `workload` through the implementation and its model and compares every call. Returns how many packets were
/// dropped or marked by a decision (limits aside), so that a caller can see that there was something to compare.
pub fn compare(what: &str, subject: &mut Subject, model: &mut dyn Model, workload: &Workload) -> u64 {
    let mut decisions = 0;
    let mut expected = Vec::new();
    for (step, &(now, call)) in workload.iter().enumerate() {
        subject.poll_until(now);
        model.advance(now);
        assert!(subject.ear.0.is_empty(), "{what}: step {step}: a timer drops nothing");
        // The model draws from a copy, so that a draw that one side makes and the other has no use for shifts nothing.
        let mut copy = subject.random.clone();
        expected.clear();
        let (ours, theirs) = match call {
            Call::Arrive { bytes, capable, flow } => {
                let id = step as u64;
                subject.enqueue(now, packet(id, bytes, capable, flow));
                let pkt = Pkt { id, arrival: now, bytes, capable };
                model.enqueue(now, pkt, &mut || copy.unit(), &mut expected);
                (None, None)
            }
            Call::Serve => (subject.dequeue(now), model.dequeue(now, &mut expected)),
        };
        let backlog = subject.qdisc.backlog();
        let bytes: u64 = model.queue().iter().map(|p| u64::from(p.bytes)).sum();
        assert!(
            subject.ear.0 == expected
                && ours.map(|p| p.handle) == theirs.map(|p| p.id)
                && (backlog.packets, backlog.bytes) == (model.queue().len() as u64, bytes)
                && subject.qdisc.head().map(|p| p.handle) == model.queue().front().map(|p| p.id),
            "{what}: step {step} at {now} ns, {call:?}:\n\
             implementation: {:?} returned {:?} backlog {backlog:?} head {:?}\n\
             model:          {expected:?} returned {:?} backlog {} packets {bytes} bytes head {:?}",
            subject.ear.0,
            ours.map(|p| p.handle),
            subject.qdisc.head().map(|p| p.handle),
            theirs,
            model.queue().len(),
            model.queue().front().map(|p| p.id),
        );
        if let Some(p) = ours {
            let marked = expected
                .iter()
                .any(|f| matches!(f, Fate::MarkCodel(i) | Fate::MarkThreshold(i) if *i == p.handle));
            assert!(!marked || p.ecn == Ecn::Ce, "{what}: step {step}: a marked packet leaves with its mark");
        }
        decisions += expected.iter().filter(|f| !matches!(f, Fate::Tail(_) | Fate::Head(_))).count() as u64;
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
    // Packets a second on average, and how much of that is served.
    let rate = within(random, 50, 1500) as f64;
    let load = 0.4 + 2.0 * random.unit();
    let mut calls = arrivals(random, length, rate);
    calls.extend(service(random, length, rate / load));
    for (now, _) in &mut calls {
        *now = *now / grid * grid;
    }
    // A stable sort keeps arrivals before service where they tie; half of the workloads have it the other way round.
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
    let gap = 1e9 / rate;
    let mut calls = Workload::new();
    let mut now = 0.0;
    while (now as Ns) < length {
        let train = match kind {
            // Poisson; bursts; on for 200 ms then off for 200 ms; overload in the first half then sparse; constant.
            0 => 1,
            1 => within(random, 1, 40),
            _ => 1,
        };
        for _ in 0..train {
            let bytes = match sizes {
                0 => 1500,
                1 => within(random, 40, 1500) as u32,
                // Sixteen of these are the 16384 bytes that rate measurements begin and end at.
                2 => 1024,
                _ => [40, 172, 576, 1500, 1500, 1500][random.below(6) as usize],
            };
            let capable = match capable {
                0 => false,
                1 => true,
                _ => random.below(2) == 0,
            };
            calls.push((now as Ns, Call::Arrive { bytes, capable, flow: random.below(4) as u32 }));
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

fn service(random: &mut Random, length: Ns, rate: f64) -> Workload {
    let mut calls = Workload::new();
    let mut now = 0.0;
    let mut factor = 1.0;
    let mut change = 0.0;
    let steady = random.below(3) == 0;
    // A little past the last arrival, so that queues drain and idle.
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
