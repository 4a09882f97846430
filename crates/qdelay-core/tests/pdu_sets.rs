//! The discipline `pdu_sets` against a slow model, which keeps every packet with its set in a plain list and follows the rules of
//! `docs/algorithms/pdu_sets.md` literally.

use qdelay_core::qdisc::{AnyQdisc, Qdisc, SET_DISCARD};
use qdelay_core::{Context, DropReason, MarkReason, Packet, PduSet, Random, Sink, Time};
use qdelay_testing::for_each_seed;
use std::collections::{BTreeMap, BTreeSet};

const MS: u64 = 1_000_000;

/// A host that knows the set of each packet, by its handle.
#[derive(Default)]
struct Host {
    sets: BTreeMap<u64, PduSet>,
    dropped: Vec<(u64, &'static str)>,
}

impl Sink for Host {
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        assert!(!self.dropped.iter().any(|(handle, _)| *handle == packet.handle), "dropped twice");
        self.dropped.push((packet.handle, reason.name()));
    }
    fn marked(&mut self, _: &Packet, _: MarkReason) {
        panic!("pdu_sets marks nothing");
    }
    fn pdu_set(&self, packet: &Packet) -> Option<PduSet> {
        self.sets.get(&packet.handle).copied()
    }
}

/// A packet as the model has it.
#[derive(Clone, Copy, Debug)]
struct One {
    handle: u64,
    came: u64,
    bytes: u64,
    flow: u32,
    /// Number, place in the set, importance, whether all are needed, deadline.
    set: Option<(u32, u16, u8, bool, u64)>,
}

impl One {
    fn name(&self) -> Option<(u32, u32)> {
        self.set.map(|set| (self.flow, set.0))
    }
}

/// The rules, followed literally.
struct Model {
    late: bool,
    low: Option<u8>,
    congestion: u64,
    packets: usize,
    bytes: u64,
    queue: Vec<One>,
    gone: BTreeSet<(u32, u32)>,
    dropped: Vec<(u64, &'static str)>,
}

impl Model {
    fn has_room(&self, bytes: u64) -> bool {
        let sum: u64 = self.queue.iter().map(|one| one.bytes).sum();
        self.queue.len() < self.packets && sum + bytes <= self.bytes
    }
    fn discard(&mut self, name: (u32, u32), reason: &'static str) {
        self.gone.insert(name);
        let (of_it, rest) = self.queue.iter().partition::<Vec<One>, _>(|one| one.name() == Some(name));
        self.dropped.extend(of_it.iter().map(|one| (one.handle, reason)));
        self.queue = rest;
    }
    fn arrive(&mut self, now: u64, one: One) {
        let Some((_, pdu, importance, needs_all, _)) = one.set else {
            match self.has_room(one.bytes) {
                true => self.queue.push(one),
                false => self.dropped.push((one.handle, "tail_limit")),
            }
            return;
        };
        let name = one.name().unwrap();
        if self.gone.contains(&name) {
            return self.dropped.push((one.handle, "set_discard"));
        }
        let is_congested = self.queue.first().is_some_and(|head| now - head.came > self.congestion);
        if is_congested && pdu == 0 && self.low.is_some_and(|low| importance >= low) {
            self.gone.insert(name);
            return self.dropped.push((one.handle, "set_importance"));
        }
        while !self.has_room(one.bytes) {
            // The least important set that is less important than the arrival's, of equal ones the newest.
            let mut worst: Option<One> = None;
            for other in self.queue.iter().filter(|other| other.set.is_some_and(|set| set.2 > importance)) {
                if worst.is_none_or(|worst| other.set.unwrap().2 >= worst.set.unwrap().2) {
                    worst = Some(*other);
                }
            }
            match worst {
                Some(worst) => self.discard(worst.name().unwrap(), "set_importance"),
                None => {
                    if needs_all {
                        self.discard(name, "set_discard");
                    }
                    return self.dropped.push((one.handle, "tail_limit"));
                }
            }
        }
        self.queue.push(one);
    }
    fn serve(&mut self, now: u64) -> Option<u64> {
        while self.late
            && let Some(head) = self.queue.first().copied()
            && head.set.is_some_and(|set| now >= set.4)
        {
            self.discard(head.name().unwrap(), "set_late");
        }
        (!self.queue.is_empty()).then(|| self.queue.remove(0).handle)
    }
}

/// Sets of three flows and packets of no set, in bursts and mixed, at a service that is often too slow.
#[test]
fn every_decision_is_that_of_the_model() {
    let mut decisions: BTreeMap<&str, u64> = BTreeMap::new();
    for_each_seed(1_500, |seed| {
        let mut random = Random::derive(seed, "pdu_sets", "test");
        let packets = 1 + random.below(40) as usize;
        let bytes = if random.below(3) == 0 { 1500 + random.below(30_000) } else { u64::MAX };
        let (late, congestion) = (random.below(2) == 0, random.below(8) * MS);
        let low = (random.below(2) == 0).then(|| 1 + random.below(15) as u8);
        let mut text = format!("pdu_sets:limit={packets}:congestion={}ms", congestion / MS);
        text += if late { ":late=on" } else { ":late=off" };
        text += &low.map_or(String::new(), |low| format!(":low={low}"));
        if bytes < u64::MAX {
            text += &format!(":limit_bytes={bytes}b");
        }
        let mut qdisc = AnyQdisc::parse(&text).unwrap();
        let mut host = Host::default();
        let mut model = Model {
            late,
            low,
            congestion,
            packets,
            bytes,
            queue: Vec::new(),
            gone: BTreeSet::new(),
            dropped: Vec::new(),
        };
        let mut draws = Random::derive(seed, "node", "qdisc");
        // The set that each flow sends: number, next packet, packets, importance, whether all are needed, deadline.
        let mut sending = [(0_u32, 0_u16, 0_u16, 1_u8, false, 0_u64); 3];
        let (mut now, mut handle) = (0, 0);
        for _ in 0..400 {
            now += random.below(3) * MS / 2;
            if random.below(5) < 3 {
                for _ in 0..1 + random.below(4) {
                    let flow = random.below(4) as u32;
                    let size = 40 + random.below(1461) as u32;
                    let set = sending.get_mut(flow as usize).map(|set| {
                        if set.1 == set.2 {
                            let pdus = 1 + random.below(6) as u16;
                            let importance = 1 + random.below(15) as u8;
                            *set = (
                                set.0 + 1,
                                0,
                                pdus,
                                importance,
                                random.below(2) == 0,
                                now + random.below(12) * MS,
                            );
                        }
                        set.1 += 1;
                        (set.0, set.1 - 1, set.3, set.4, set.5)
                    });
                    if let Some((number, pdu, importance, is_integrated, deadline)) = set {
                        let pdus = sending[flow as usize].2;
                        let deadline = Time::from_nanos(deadline);
                        let of = PduSet { number, pdu, pdus, bytes: 0, importance, is_integrated, deadline };
                        host.sets.insert(handle, of);
                    }
                    let arrival = Time::from_nanos(now);
                    let packet = Packet { handle, arrival, bytes: size, flow, ..Packet::default() };
                    let context = &mut Context { now: arrival, random: &mut draws, sink: &mut host };
                    qdisc.enqueue(context, packet);
                    model.arrive(now, One { handle, came: now, bytes: size.into(), flow, set });
                    handle += 1;
                }
            } else {
                let context =
                    &mut Context { now: Time::from_nanos(now), random: &mut draws, sink: &mut host };
                assert_eq!(qdisc.dequeue(context).map(|packet| packet.handle), model.serve(now), "{text}");
            }
            assert_eq!(host.dropped, model.dropped, "{text}");
            assert_eq!(qdisc.backlog().packets, model.queue.len() as u64, "{text}");
            let sum: u64 = model.queue.iter().map(|one| one.bytes).sum();
            assert_eq!(qdisc.backlog().bytes, sum, "{text}");
            assert_eq!(qdisc.head().map(|head| head.handle), model.queue.first().map(|one| one.handle));
        }
        for (_, reason) in &model.dropped {
            *decisions.entry(reason).or_default() += 1;
        }
    });
    let seen: Vec<&str> = decisions.keys().copied().collect();
    assert_eq!(seen, ["set_discard", "set_importance", "set_late", "tail_limit"], "{decisions:?}");
}

/// A host discards a set from any first-in first-out queue, and from no other.
#[test]
fn a_set_is_discarded_wherever_its_packets_are() {
    for (text, can) in
        [("taildrop", true), ("codel", true), ("bode", true), ("pdu_sets", true), ("fq_codel", false)]
    {
        let mut qdisc = AnyQdisc::parse(text).unwrap();
        let (mut host, mut draws) = (Host::default(), Random::derive(1, "node", "qdisc"));
        for handle in 0..12 {
            let set = PduSet {
                number: (handle % 3) as u32,
                pdu: (handle / 3) as u16,
                pdus: 4,
                bytes: 400,
                importance: 1,
                is_integrated: true,
                deadline: Time::NEVER,
            };
            if handle % 3 > 0 {
                host.sets.insert(handle, set);
            }
            let context = &mut Context { now: Time::ZERO, random: &mut draws, sink: &mut host };
            qdisc.enqueue(context, Packet { handle, bytes: 100, flow: 5, ..Packet::default() });
        }
        let context = &mut Context { now: Time::ZERO, random: &mut draws, sink: &mut host };
        assert_eq!(qdisc.discard_set(context, 5, 2, SET_DISCARD), can, "{text}");
        // Another flow has a set of this number too.
        qdisc.discard_set(context, 6, 1, SET_DISCARD);
        let expected: &[(u64, &str)] = if can {
            &[(2, "set_discard"), (5, "set_discard"), (8, "set_discard"), (11, "set_discard")]
        } else {
            &[]
        };
        assert_eq!(host.dropped, expected, "{text}");
        assert_eq!(qdisc.backlog().bytes, if can { 800 } else { 1200 }, "{text}");
    }
}
