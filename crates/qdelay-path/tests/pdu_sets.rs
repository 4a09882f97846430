//! PDU sets on a path: the discard of whole sets by PDCP against a slow model, and EDF by the deadlines of packets in closed form.

use crate::common::{ms, queue};
use qdelay_core::qdisc::SET_DISCARD;
use qdelay_core::{DropReason, Packet, PduSet, Random, Span, Time};
use qdelay_path::{BearerBuffer, CellSetting, NodeId, NodeSpec, Numbering, Observer, Path, PathBuilder};
use qdelay_ran::UeSetting;
use qdelay_ran::mac::{Scheduler, Service};
use qdelay_ran::pdcp::{DISCARD, PdcpSetting};
use qdelay_ran::radio::{Channel, Mcs};
use qdelay_ran::rlc::{MacHeader, RlcSetting};
use qdelay_ran::tables::Carrier;
use qdelay_testing::for_each_seed;
use std::collections::{BTreeMap, BTreeSet};

/// Queue, number and end of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Came(u64, u64),
    Taken(u64, u64),
    Dropped(u64, u64, &'static str),
}

/// A host that knows the sets of packets, by handle.
#[derive(Default)]
struct Host {
    sets: BTreeMap<u64, PduSet>,
    events: Vec<Event>,
    departed: Vec<(u64, u64)>,
    counts: BTreeMap<u64, u32>,
}

impl Observer for Host {
    fn enqueued(&mut self, now: Time, _: NodeId, packet: &Packet) {
        self.events.push(Event::Came(now.as_nanos(), packet.handle));
    }
    fn dequeued(&mut self, now: Time, _: NodeId, packet: &Packet) {
        self.events.push(Event::Taken(now.as_nanos(), packet.handle));
    }
    fn departed(&mut self, now: Time, _: NodeId, _: NodeId, packet: &Packet) {
        self.departed.push((now.as_nanos() / 1_000_000, packet.handle));
    }
    fn dropped(&mut self, now: Time, _: NodeId, packet: &Packet, reason: DropReason) {
        self.events.push(Event::Dropped(now.as_nanos(), packet.handle, reason.name()));
    }
    fn delivered(&mut self, _: Time, _: NodeId, packet: &Packet) {
        self.counts.insert(packet.handle, packet.count);
    }
    fn pdu_set(&self, packet: &Packet) -> Option<PduSet> {
        self.sets.get(&packet.handle).copied()
    }
}

fn set(number: u32, pdu: u16, pdus: u16, is_integrated: bool) -> PduSet {
    PduSet { number, pdu, pdus, bytes: 0, importance: 8, is_integrated, deadline: Time::NEVER }
}

/// A cell of one bearer with 549 bytes for each TTI of 1 ms.
fn path(qdisc: &str, numbering: Numbering, buffer: Option<BearerBuffer>) -> Path {
    let pdcp = PdcpSetting {
        sn_bits: 18,
        t_reordering: Span::from_millis(20),
        out_of_order_delivery: false,
        discard_timer: numbering.discard_timer,
        set_discard: numbering.set_discard,
        ciphered: true,
        drops_before: numbering.drops_before,
    };
    let rlc = RlcSetting { mac: MacHeader::None, pdcp: Some(pdcp), ..RlcSetting::nr_um() };
    let ue = UeSetting::new(Channel::Mcs(Mcs(28))).bearer(rlc, 1);
    let builder = PathBuilder::new()
        .node("rlc", queue(qdisc))
        .node("cell", NodeSpec::cell(CellSetting::new(Carrier::lte(6).unwrap()).ue(ue)))
        .node("out", NodeSpec::Exit)
        .chain(&["rlc", "cell", "out"])
        .numbering("rlc", numbering);
    let builder = match buffer {
        Some(buffer) => builder.buffer("rlc", buffer),
        None => builder,
    };
    builder.build(1).unwrap()
}

/// A packet that waits, as the model has it.
#[derive(Clone, Copy)]
struct One {
    handle: u64,
    came: u64,
}

/// The clause, followed literally over the arrivals and departures that the path had: the drops that there should be.
fn expected(
    host: &Host,
    flows: &BTreeMap<u64, u32>,
    timer: u64,
    by_set: bool,
    limit: usize,
    end: u64,
) -> Vec<Event> {
    let name = |handle: u64| host.sets.get(&handle).map(|set| (flows[&handle], set.number));
    let (mut waiting, mut gone, mut drops) = (Vec::<One>::new(), BTreeSet::new(), Vec::new());
    fn take(waiting: &mut Vec<One>, is_meant: impl Fn(&One) -> bool) -> Vec<One> {
        let (meant, rest) = waiting.iter().partition::<Vec<One>, _>(|one| is_meant(one));
        *waiting = rest;
        meant
    }
    let discard =
        |waiting: &mut Vec<One>, gone: &mut BTreeSet<_>, drops: &mut Vec<Event>, now, of: (u32, u32)| {
            gone.insert(of);
            let rest = take(waiting, |one| name(one.handle) == Some(of));
            drops.extend(rest.iter().map(|one| Event::Dropped(now, one.handle, "set_discard")));
        };
    let over = [Event::Came(end, u64::MAX)];
    for event in host.events.iter().chain(&over) {
        let (Event::Came(now, handle) | Event::Taken(now, handle)) = *event else { continue };
        // Timers that have ended since the event before, the oldest first.
        while let Some(first) = waiting.first().copied().filter(|first| first.came + timer <= now) {
            waiting.remove(0);
            drops.push(Event::Dropped(first.came + timer, first.handle, "pdcp_discard"));
            if let Some(of) = name(first.handle).filter(|_| by_set) {
                discard(&mut waiting, &mut gone, &mut drops, first.came + timer, of);
            }
        }
        if handle == u64::MAX {
            continue;
        }
        let of = name(handle);
        if let Event::Taken(..) = event {
            take(&mut waiting, |one| one.handle == handle);
        } else if of.is_some_and(|of| gone.contains(&of)) {
            drops.push(Event::Dropped(now, handle, "set_discard"));
        } else if waiting.len() == limit {
            drops.push(Event::Dropped(now, handle, "tail_limit"));
            if by_set && host.sets.get(&handle).is_some_and(|set| set.is_integrated) {
                discard(&mut waiting, &mut gone, &mut drops, now, of.unwrap());
            }
        } else {
            waiting.push(One { handle, came: now });
        }
    }
    drops
}

/// Sets of two flows and packets of no set, at more than the cell can send: each drop is that of the model, at its time.
#[test]
fn a_set_is_discarded_as_the_clause_says() {
    let mut seen = BTreeSet::new();
    for_each_seed(400, |seed| {
        let mut random = Random::derive(seed, "pdu sets", "test");
        let timer = Span::from_millis(2 + random.below(12));
        let (by_set, limit) = (random.below(4) > 0, 3 + random.below(20) as usize);
        let numbering = Numbering {
            drops_before: random.below(2) == 0,
            discard_timer: timer,
            set_discard: by_set,
            is_done: false,
        };
        let mut path = path(&format!("taildrop:limit={limit}"), numbering, None);
        let entry = path.node("rlc").unwrap();
        let (mut host, mut flows, mut sending) = (Host::default(), BTreeMap::new(), [(0, 0, 0, false); 2]);
        // Away from the beginnings of TTIs, at which packets are taken.
        let mut now = 300_000;
        for handle in 0..150 {
            now += random.below(3) * 200_000;
            if now.is_multiple_of(1_000_000) {
                now += 100_000;
            }
            let flow = random.below(3) as u32;
            if let Some(sent) = sending.get_mut(flow as usize) {
                if sent.1 == sent.2 {
                    *sent = (sent.0 + 1, 0, 1 + random.below(6) as u16, random.below(2) == 0);
                }
                host.sets.insert(handle, set(sent.0, sent.1, sent.2, sent.3));
                sent.1 += 1;
            }
            flows.insert(handle, flow);
            let packet = Packet { handle, flow, bytes: 100 + random.below(900) as u32, ..Packet::default() };
            path.ingress(Time::from_nanos(now), entry, packet, &mut host).unwrap();
        }
        let end = now + 100_000_000;
        path.poll(Time::from_nanos(end), &mut host).unwrap();
        let drops: Vec<Event> =
            host.events.iter().filter(|event| matches!(event, Event::Dropped(..))).copied().collect();
        assert_eq!(drops, expected(&host, &flows, timer.as_nanos(), by_set, limit, end));
        seen.extend(drops.iter().map(|drop| match drop {
            Event::Dropped(_, _, reason) => *reason,
            _ => "",
        }));
        path.audit().unwrap();
    });
    assert_eq!(seen.into_iter().collect::<Vec<&str>>(), ["pdcp_discard", "set_discard", "tail_limit"]);
}

/// Packets of a discarded set that come later get no number, so that nobody waits for them.
#[test]
fn what_comes_later_of_a_discarded_set_has_no_number() {
    let numbering = Numbering {
        drops_before: false,
        discard_timer: Span::from_millis(5),
        set_discard: true,
        is_done: false,
    };
    let mut path = path("taildrop", numbering, None);
    let entry = path.node("rlc").unwrap();
    let mut host = Host::default();
    // Ten packets of 500 bytes fill the cell for ten TTIs; the sixth is the first of a set, whose third comes after 8 ms.
    for handle in 0..10 {
        if (6..8).contains(&handle) {
            host.sets.insert(handle, set(0, handle as u16 - 6, 3, false));
        }
        path.ingress(
            Time::from_nanos(300_000),
            entry,
            Packet { handle, bytes: 500, ..Packet::default() },
            &mut host,
        )
        .unwrap();
    }
    host.sets.insert(10, set(0, 2, 3, false));
    for handle in 10..12 {
        path.ingress(
            Time::from_nanos(8_300_000),
            entry,
            Packet { handle, bytes: 500, ..Packet::default() },
            &mut host,
        )
        .unwrap();
    }
    path.poll(ms(200), &mut host).unwrap();
    assert!(host.events.contains(&Event::Dropped(8_300_000, 10, SET_DISCARD.name())), "{:?}", host.events);
    assert!(host.events.contains(&Event::Dropped(5_300_000, 9, DISCARD.name())));
    assert_eq!(host.counts.get(&11), Some(&10), "{:?}", host.counts);
}

/// A bearer without room for a packet of a set that needs it discards what it has of the set.
#[test]
fn a_full_bearer_discards_the_rest_of_the_set() {
    let numbering =
        Numbering { drops_before: true, discard_timer: Span::MAX, set_discard: true, is_done: false };
    let buffer = BearerBuffer { limit_bytes: 1600, header_bytes: 0 };
    for (is_integrated, dropped) in [(true, vec![1, 2, 3]), (false, vec![3])] {
        let mut path = path("taildrop", numbering, Some(buffer));
        let entry = path.node("rlc").unwrap();
        let mut host = Host::default();
        for handle in 0..5 {
            if (1..4).contains(&handle) {
                host.sets.insert(handle, set(4, handle as u16 - 1, 3, is_integrated));
            }
            let packet = Packet { handle, bytes: 500, ..Packet::default() };
            path.ingress(Time::from_nanos(300_000), entry, packet, &mut host).unwrap();
        }
        let of = |event: &Event| match event {
            Event::Dropped(_, handle, _) => Some(*handle),
            _ => None,
        };
        let mut gone: Vec<u64> = host.events.iter().filter_map(of).filter(|handle| *handle < 4).collect();
        gone.sort_unstable();
        assert_eq!(gone, dropped);
        path.poll(ms(100), &mut host).unwrap();
        path.audit().unwrap();
    }
}

/// Two UEs with a packet each, which fills a TTI: who is first. The bearer of UE 0 has QoS flows of 10 and 300 ms, that of UE 1 one of
/// 100 ms.
#[test]
fn edf_serves_by_the_deadline_of_the_bearer_or_of_the_packet() {
    let service = |millis| Service { budget: Span::from_millis(millis), ..Service::usual(1) };
    let set_until = |millis| Some(PduSet { deadline: ms(millis), ..set(0, 0, 1, true) });
    for (scheduler, class, set, first) in [
        ("edf", 2, None, 0),
        ("edf", 2, set_until(150), 0),
        ("edf:deadline=packet", 1, None, 0),
        // The bulk of a bearer does not take the budget of the other flow.
        ("edf:deadline=packet", 2, None, 1),
        // The deadline of a set stands above the budget of the QoS flow.
        ("edf:deadline=packet", 2, set_until(90), 0),
        ("edf:deadline=packet", 1, set_until(150), 1),
    ] {
        let rlc = RlcSetting { mac: MacHeader::None, ..RlcSetting::nr_um() };
        let ue = || UeSetting::new(Channel::Mcs(Mcs(28)));
        let budget = |millis| Span::from_millis(millis);
        let setting = CellSetting::new(Carrier::lte(6).unwrap())
            .scheduler(Scheduler::parse(scheduler).unwrap())
            .ue(ue().serving(rlc, service(10)).budgets(vec![(1, budget(10)), (2, budget(300))]))
            .ue(ue().serving(rlc, service(100)).budgets(vec![(3, budget(100))]));
        let mut path = PathBuilder::new()
            .node("zero", queue("taildrop"))
            .node("one", queue("taildrop"))
            .node("cell", NodeSpec::cell(setting))
            .node("out", NodeSpec::Exit)
            .chain(&["zero", "cell", "out"])
            .chain(&["one", "cell"])
            .build(1)
            .unwrap();
        let mut host = Host::default();
        host.sets.extend(set.map(|set| (0, set)));
        for (handle, (entry, class)) in [("zero", class), ("one", 3)].into_iter().enumerate() {
            let entry = path.node(entry).unwrap();
            let packet = Packet { handle: handle as u64, bytes: 500, class, ..Packet::default() };
            path.ingress(Time::from_nanos(300_000), entry, packet, &mut host).unwrap();
        }
        path.poll(ms(50), &mut host).unwrap();
        assert_eq!(host.departed, [(1, first), (2, 1 - first)], "{scheduler} {class} {set:?}");
    }
}
