//! Links in series in front of the bottleneck, and what access links add: times by hand, and against the recursion of queues in
//! series (D. V. Lindley 1952, one server after the other).

use crate::common::{Event, Log, drain, ms, packet};
use proptest::prelude::*;
use qdelay_core::component::Arguments;
use qdelay_core::{DropReason, Packet, Rate, Span, Time, qdisc};
use qdelay_path::stack::{Bottleneck, Dumbbell, FlowKey, FlowWay, HopSpec, LinkSpec, Topology};
use qdelay_path::{Impairments, Jitter, Line, NodeId};

fn discipline(text: &str) -> Arguments {
    Arguments::parse(qdisc::COMPONENTS, text).unwrap()
}

fn us(n: u64) -> Time {
    Time::from_nanos(n * 1000)
}

fn line(nanos_per_byte: u64) -> Line {
    Line::new(Rate::from_bps(8_000_000_000 / nanos_per_byte), 0)
}

fn hop(name: &str, qdisc: &str, nanos_per_byte: u64, delay: Span) -> HopSpec {
    let link = LinkSpec(line(nanos_per_byte).into());
    HopSpec { name: name.to_string(), qdisc: discipline(qdisc), link, delay, curve: None }
}

/// A bottleneck of 8 Mbit/s behind `hops`, and 5 ms behind it.
fn build(hops: &[HopSpec], flows: &[FlowWay], key: FlowKey) -> Topology {
    let dumbbell = Dumbbell {
        hops,
        bottleneck: &Bottleneck::link(discipline("taildrop:limit=1000"), line(1000)),
        uplink: None,
        rtt_curve: None,
        base_rtt: Span::from_millis(10),
        jitter: &Jitter::NONE,
        uplink_jitter: &Jitter::NONE,
        impairments: &Impairments::default(),
        flows,
        key,
        is_changeable: false,
        seed: 1,
    };
    dumbbell.build().unwrap()
}

fn three() -> [HopSpec; 3] {
    [
        hop("a", "taildrop", 1000, Span::from_millis(2)),
        hop("b", "taildrop", 2000, Span::ZERO),
        hop("c", "taildrop", 500, Span::from_millis(1)),
    ]
}

/// When each packet left a link, since the run began and since it came to the queue before it, in microseconds.
fn departures(log: &Log, link: NodeId) -> Vec<(u64, u64)> {
    let one = |event: &Event| match *event {
        Event::Departed { now, node, arrival, .. } if node == link => {
            Some((now.as_nanos() / 1000, now.since(arrival).as_nanos() / 1000))
        }
        _ => None,
    };
    log.events.iter().filter_map(one).collect()
}

/// Three packets of 1000 bytes at once. They take 1, 2, 0.5 and 1 ms on the four links; 2 ms are behind the first, 1 ms behind
/// the third, and 5 ms behind the last.
#[test]
fn three_hops_by_hand() {
    for key in [FlowKey::Flow, FlowKey::Class] {
        let mut topology = build(&three(), &[FlowWay::default()], key);
        let (path, mut log) = (&mut topology.path, Log::default());
        for handle in 0..3 {
            path.ingress(Time::ZERO, topology.data_entry[0], packet(handle, 1000), &mut log).unwrap();
        }
        drain(path, Time::NEVER, &mut log);
        let link = |name: &str| departures(&log, path.node(name).unwrap());
        assert_eq!(link("hop-link/a"), [(1000, 1000), (2000, 2000), (3000, 3000)]);
        // They come at 3, 4 and 5 ms.
        assert_eq!(link("hop-link/b"), [(5000, 2000), (7000, 3000), (9000, 4000)]);
        // Every 2 ms, which is longer than this link needs.
        assert_eq!(link("hop-link/c"), [(5500, 500), (7500, 500), (9500, 500)]);
        assert_eq!(link("link"), [(7500, 1000), (9500, 1000), (11_500, 1000)]);
        assert_eq!(log.delivered(), [(12_500_000, 0), (14_500_000, 1), (16_500_000, 2)]);
    }
}

#[test]
fn nodes_are_where_they_are_said_to_be() {
    let topology = build(&three(), &[FlowWay::default()], FlowKey::Flow);
    let path = &topology.path;
    assert_eq!(path.name(topology.queue), "bottleneck");
    assert_eq!(path.name(topology.link), "link");
    // What is of no flow, such as a probe, goes through them too.
    assert!(topology.data_entry.iter().all(|entry| path.name(*entry) == "hop/a"));
    for hop in three() {
        assert!(path.node(&hop.queue_node()).is_some() && path.node(&hop.link_node()).is_some());
        assert_eq!(path.node(&hop.delay_node()).is_some(), hop.delay > Span::ZERO);
        assert!(!topology.is_back[path.node(&hop.queue_node()).unwrap().index()]);
    }
    assert_eq!(HopSpec::propagation(&three()), Span::from_millis(3));
}

#[test]
fn what_a_hop_drops_ends_there() {
    let hops = [hop("a", "taildrop:limit=2", 1000, Span::ZERO), hop("b", "taildrop", 500, Span::ZERO)];
    let mut topology = build(&hops, &[FlowWay::default()], FlowKey::Flow);
    let (path, mut log) = (&mut topology.path, Log::default());
    for handle in 0..5 {
        path.ingress(ms(1), topology.data_entry[0], packet(handle, 1000), &mut log).unwrap();
    }
    drain(path, Time::NEVER, &mut log);
    // One is being sent and two wait.
    let queue = path.node("hop/a").unwrap();
    let dropped = |handle| Event::Dropped { now: ms(1), node: queue, handle, reason: DropReason::TAIL_LIMIT };
    let drops: Vec<&Event> = log.events.iter().filter(|e| matches!(e, Event::Dropped { .. })).collect();
    assert_eq!(drops, [&dropped(3), &dropped(4)]);
    let counters = path.counters(queue).unwrap();
    assert_eq!((counters.received.packets, counters.dropped_total().packets), (5, 2));
    assert_eq!(log.delivered().len(), 3);
}

/// Equal packets never wait for a link that is at least as fast as the one before it.
#[test]
fn a_faster_hop_adds_its_serialisation_alone() {
    let run = |hops: &[HopSpec]| {
        let mut topology = build(hops, &[FlowWay::default()], FlowKey::Flow);
        let mut log = Log::default();
        for handle in 0..50 {
            let at = us(handle * 700 % 9000 + handle * 300);
            let entry = topology.data_entry[0];
            topology.path.ingress(at.max(topology.path.now()), entry, packet(handle, 500), &mut log).unwrap();
        }
        drain(&mut topology.path, Time::NEVER, &mut log);
        log.delivered()
    };
    let slow = hop("slow", "taildrop", 4000, Span::ZERO);
    let alone = run(core::slice::from_ref(&slow));
    for nanos_per_byte in [4000, 2500, 1000, 8] {
        let both = run(&[slow.clone(), hop("fast", "codel", nanos_per_byte, Span::ZERO)]);
        let later: Vec<(u64, u64)> =
            alone.iter().map(|(at, who)| (at + 500 * nanos_per_byte, *who)).collect();
        assert_eq!(both, later, "{nanos_per_byte} ns a byte");
    }
}

proptest! {
    /// A packet begins when it has come and the one before it is gone.
    #[test]
    fn queues_in_series(
        gaps in proptest::collection::vec((0_u64..4_000_000, 40_u32..=1500), 1..80),
        hops in proptest::collection::vec((prop_oneof![Just(100_u64), Just(500), Just(1000), Just(4000)],
                                           0_u64..3_000_000), 0..5),
    ) {
        let specs: Vec<HopSpec> = hops.iter().enumerate()
            .map(|(i, (slow, delay))| hop(&format!("h{i}"), "taildrop:limit=1000", *slow, Span::from_nanos(*delay)))
            .collect();
        let mut topology = build(&specs, &[FlowWay::default()], FlowKey::Flow);
        let mut log = Log::default();
        let mut now = 0;
        let mut times: Vec<u64> = Vec::new();
        for (handle, (gap, bytes)) in (0..).zip(&gaps) {
            now += gap;
            times.push(now);
            let entry = topology.data_entry[0];
            topology.path.ingress(Time::from_nanos(now), entry, packet(handle, *bytes), &mut log).unwrap();
        }
        drain(&mut topology.path, Time::NEVER, &mut log);
        for (slow, delay) in hops.iter().copied().chain([(1000, 5_000_000)]) {
            let mut free = 0;
            for (time, (_, bytes)) in times.iter_mut().zip(&gaps) {
                free = free.max(*time) + u64::from(*bytes) * slow;
                *time = free + delay;
            }
        }
        let expected: Vec<(u64, u64)> = times.into_iter().zip(0..).collect();
        prop_assert_eq!(log.delivered(), expected);
    }
}

/// When packets of flow 0, 20 ms apart, come to the bottleneck after they have left their access line, in nanoseconds.
fn jitter_of_flow_0(flows: &[FlowWay]) -> Vec<u64> {
    let mut topology = build(&[], flows, FlowKey::Flow);
    let mut log = Log::default();
    for n in 0..500 {
        for (flow, entry) in topology.data_entry.clone().into_iter().enumerate().take(flows.len()) {
            let packet = Packet { flow: flow as u32, ..packet(n * 2 + flow as u64, 100) };
            topology.path.ingress(ms(20 * n), entry, packet, &mut log).unwrap();
        }
    }
    drain(&mut topology.path, Time::NEVER, &mut log);
    let at_bottleneck = |event: &Event| match *event {
        Event::Enqueued { now, node, handle } if node == topology.queue && handle.is_multiple_of(2) => {
            Some(now.since(ms(10 * handle)).as_nanos() - 100 * 8 * 100)
        }
        _ => None,
    };
    log.events.iter().filter_map(at_bottleneck).collect()
}

#[test]
fn access_jitter_is_uniform_and_each_flows_own() {
    let way = FlowWay {
        access: Some(Rate::from_bps(10_000_000)),
        access_jitter: Span::from_micros(1600),
        ..FlowWay::default()
    };
    let alone = jitter_of_flow_0(std::slice::from_ref(&way));
    assert_eq!(alone.len(), 500);
    assert!(alone.iter().all(|nanos| *nanos <= 1_600_000));
    let mean = alone.iter().sum::<u64>() as f64 / 500.0;
    // 800 us; the standard error of a uniform mean over 500 is 21 us.
    assert!((mean - 800_000.0).abs() < 80_000.0, "{mean}");
    assert!(alone.iter().any(|nanos| *nanos < 32_000) && alone.iter().any(|nanos| *nanos > 1_568_000));
    assert_eq!(jitter_of_flow_0(&[way.clone(), way.clone()]), alone, "another flow changes nothing");
    let none = FlowWay { access_jitter: Span::ZERO, ..way.clone() };
    assert!(jitter_of_flow_0(&[none]).iter().all(|nanos| *nanos == 0));
    let no_line = FlowWay { access: None, ..way };
    assert_eq!(build(&[], &[no_line], FlowKey::Flow).path.node("access-jitter-0"), None);
}

/// Packets that come at once keep their order.
#[test]
fn access_jitter_keeps_the_order() {
    let way = FlowWay {
        access: Some(Rate::from_bps(1_000_000_000)),
        access_jitter: Span::from_millis(50),
        ..FlowWay::default()
    };
    let mut topology = build(&[], &[way], FlowKey::Flow);
    let mut log = Log::default();
    for handle in 0..200 {
        topology.path.ingress(ms(handle), topology.data_entry[0], packet(handle, 100), &mut log).unwrap();
    }
    drain(&mut topology.path, Time::NEVER, &mut log);
    let order: Vec<u64> = log.delivered().iter().map(|(_, handle)| *handle).collect();
    assert_eq!(order, (0..200).collect::<Vec<u64>>());
}
