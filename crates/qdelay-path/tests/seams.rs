//! Paths of several stages: classifier, queues, gates, links, delays, and signals that travel upstream.

use crate::common::{Event, Log, Tell, drain, ms, packet, queue};
use qdelay_core::pacer::Credit;
use qdelay_core::{DropReason, Packet, Rate, Span, Time};
use qdelay_path::*;

const ENTRY: &str = "classifier";

fn line(kbps: u64) -> NodeSpec {
    NodeSpec::link(Line::new(Rate::from_bps(kbps * 1000), 0))
}

/// classifier -> upper queue -> gate -> lower queue -> gate -> link (1000 bytes a ms) -> out
fn hierarchy(upper: AnyPacer, between: &[&str]) -> PathBuilder {
    let mut builder = PathBuilder::new()
        .node(ENTRY, NodeSpec::Classifier(Rules::by(Key::Flow).route(0..=0, "upf", Some(7))))
        .node("upf", queue("taildrop"))
        .node("upper gate", NodeSpec::Gate(upper))
        .node("sdap", queue("taildrop"))
        .node("lower gate", NodeSpec::Gate(AnyPacer::PASS_THROUGH))
        .node("link", line(8000))
        .node("out", NodeSpec::Exit)
        .chain(&["upf", "upper gate"]);
    let mut chain = vec!["upper gate"];
    chain.extend(between);
    chain.extend(["sdap", "lower gate", "link", "out"]);
    builder = builder.chain(&chain);
    builder
}

#[test]
fn pass_through_gates_change_nothing() {
    let mut path = hierarchy(AnyPacer::PASS_THROUGH, &[]).build(1).unwrap();
    let (entry, mut log) = (path.node(ENTRY).unwrap(), Log::default());
    for handle in 0..5 {
        path.ingress(ms(0), entry, packet(handle, 1000), &mut log).unwrap();
    }
    drain(&mut path, ms(100), &mut log);
    let expected: Vec<_> = (0..5).map(|handle| ((handle + 1) * 1_000_000, handle)).collect();
    assert_eq!(log.delivered(), expected);
    // All waited where the link takes from, and carry the class the classifier gave them.
    assert_eq!(path.counters(path.node("upf").unwrap()).unwrap().forwarded.packets, 5);
    assert!(log.events.iter().all(|e| !matches!(e, Event::Delivered { class, .. } if *class != 7)));
    let sdap = path.node("sdap").unwrap();
    for event in &log.events {
        if let Event::Departed { now, queue, handle, arrival, .. } = event {
            assert_eq!((*queue, *arrival), (sdap, ms(0)));
            assert_eq!(now.since(*arrival), Span::from_millis(handle + 1));
        }
    }
    assert_eq!(path.next_deadline(), Time::NEVER);
}

#[test]
fn what_no_rule_takes_is_dropped() {
    let mut path = hierarchy(AnyPacer::PASS_THROUGH, &[]).build(1).unwrap();
    let (entry, mut log) = (path.node(ENTRY).unwrap(), Log::default());
    path.ingress(ms(1), entry, Packet { flow: 1, ..packet(9, 100) }, &mut log).unwrap();
    let reason = DropReason::UNROUTABLE;
    assert_eq!(log.events, [Event::Dropped { now: ms(1), node: entry, handle: 9, reason }]);
    assert_eq!(path.counters(entry).unwrap().dropped(reason), Count { packets: 1, bytes: 100 });
    path.audit().unwrap();
}

/// The bytes between the gate and the lower queue's exit, the report on its way back included, never exceed the window, and
/// the gate opens exactly `delay` after a packet left the lower queue.
#[test]
fn credit_comes_back_after_its_delay() {
    for delay_us in [0, 300, 5000] {
        for between in [&[][..], &["hop"][..]] {
            let delay = Span::from_micros(delay_us);
            let mut builder =
                hierarchy(Credit::new(3000).into(), between).feedback("sdap", "upper gate", delay);
            if !between.is_empty() {
                builder = builder.node("hop", NodeSpec::delay(Span::from_micros(700)));
            }
            let mut path = builder.build(1).unwrap();
            let node = |name| path.node(name).unwrap();
            let (entry, upf, sdap) = (node(ENTRY), node("upf"), node("sdap"));
            let mut log = Log::default();
            for handle in 0..40 {
                path.ingress(ms(0), entry, packet(handle, 1000), &mut log).unwrap();
            }
            drain(&mut path, ms(10_000), &mut log);
            assert_eq!(log.delivered().len(), 40);

            // An oracle of the window from what was seen: out at the upper queue, back `delay` after the lower.
            let (mut out, mut back): (Vec<Time>, Vec<Time>) = Default::default();
            for event in &log.events {
                match *event {
                    Event::Dequeued { now, node, .. } if node == upf => out.push(now),
                    Event::Dequeued { now, node, .. } if node == sdap => back.push(now + delay),
                    _ => {}
                }
            }
            assert_eq!((out.len(), back.len()), (40, 40));
            for (index, &time) in out.iter().enumerate() {
                let expected = if index < 3 { ms(0) } else { back[index - 3] };
                assert_eq!(time, expected, "packet {index}, delay {delay}");
            }
        }
    }
}

/// Drops in the lower queue give their credit back too: the gate never starves.
#[test]
fn credit_of_dropped_packets_comes_back() {
    let mut path = PathBuilder::new()
        .node("upper", queue("taildrop"))
        .node("gate", NodeSpec::gate(Credit::new(10_000)))
        .node("lower", queue("taildrop:limit=2"))
        .node("link", line(8000))
        .node("out", NodeSpec::Exit)
        .chain(&["upper", "gate", "lower", "link", "out"])
        .feedback("lower", "gate", Span::from_millis(1))
        .build(1)
        .unwrap();
    let (entry, mut log) = (path.node("upper").unwrap(), Log::default());
    for handle in 0..100 {
        path.ingress(ms(0), entry, packet(handle, 1000), &mut log).unwrap();
    }
    drain(&mut path, ms(10_000), &mut log);
    let dropped = path.counters(path.node("lower").unwrap()).unwrap().dropped_total().packets;
    assert!(dropped > 0);
    assert_eq!(log.delivered().len() as u64 + dropped, 100);
    let Some(AnyPacer::Credit(law)) = path.gate(path.node("gate").unwrap()) else { panic!() };
    assert_eq!(law.out_bytes(), 0);
}

/// A link that takes through a gate gets a packet only when the law lets it, and is woken when a signal does.
#[test]
fn a_link_pulls_through_a_gate() {
    let mut path = PathBuilder::new()
        .node("queue", queue("taildrop"))
        .node("gate", NodeSpec::gate(Credit::new(1000)))
        .node("link", line(8000))
        .node("radio", NodeSpec::delay(Span::from_millis(2)))
        .node("out", NodeSpec::Exit)
        .chain(&["queue", "gate", "link", "radio", "out"])
        .feedback("radio", "gate", Span::from_millis(3))
        .build(1)
        .unwrap();
    let (entry, mut log) = (path.node("queue").unwrap(), Log::default());
    for handle in 0..4 {
        path.ingress(ms(0), entry, packet(handle, 1000), &mut log).unwrap();
    }
    drain(&mut path, ms(100), &mut log);
    // 1 ms on the line, 2 ms on the radio, 3 ms for the report.
    assert_eq!(log.delivered(), [(3_000_000, 0), (9_000_000, 1), (15_000_000, 2), (21_000_000, 3)]);
}

/// Two ways lead to the same queue, and a third of its own to the link behind it.
fn fan_in(order: PullOrder) -> Path {
    let rules = Rules::by(Key::Class).route(0..=0, "near", None).route(1..=1, "far", None);
    PathBuilder::new()
        .node("in", NodeSpec::Classifier(rules.otherwise("other", Some(9))))
        .node("near", NodeSpec::delay(Span::from_millis(1)))
        .node("far", NodeSpec::delay(Span::from_millis(2)))
        .node("shared", queue("taildrop"))
        .node("other", queue("taildrop"))
        .node("link", line(8000))
        .node("out", NodeSpec::Exit)
        .chain(&["near", "shared", "link", "out"])
        .chain(&["far", "shared"])
        .chain(&["other", "link"])
        .pull_order("link", order)
        .build(1)
        .unwrap()
}

#[test]
fn fan_in_by_push_and_by_pull() {
    for (order, expected) in [
        // The first of the others is already on the line when the shared queue gets its packets.
        (PullOrder::RoundRobin, [8, 0, 9, 4, 10, 1, 11, 5]),
        (PullOrder::StrictPriority, [8, 0, 4, 1, 5, 9, 10, 11]),
    ] {
        let mut path = fan_in(order);
        let (entry, mut log) = (path.node("in").unwrap(), Log::default());
        for (handle, class) in [(0, 0), (1, 1), (4, 0), (5, 1), (8, 2), (9, 3), (10, 4), (11, 5)] {
            path.ingress(Time::ZERO, entry, Packet { class, ..packet(handle, 1000) }, &mut log).unwrap();
        }
        drain(&mut path, ms(100), &mut log);
        let order: Vec<u64> = log.delivered().iter().map(|d| d.1).collect();
        assert_eq!(order, expected);
        assert_eq!(log.delivered().last().unwrap().0, 8_000_000);
    }
}

/// Both directions in one graph: each with its own entry and exit, and nothing shared.
#[test]
fn two_directions_in_one_graph() {
    let mut path = PathBuilder::new()
        .node("down", queue("taildrop"))
        .node("down link", line(8000))
        .node("client", NodeSpec::Exit)
        .node("up", queue("taildrop"))
        .node("up link", line(800))
        .node("server", NodeSpec::Exit)
        .chain(&["down", "down link", "client"])
        .chain(&["up", "up link", "server"])
        .build(1)
        .unwrap();
    let (down, up) = (path.node("down").unwrap(), path.node("up").unwrap());
    let mut out: Vec<Delivered> = Vec::new();
    path.ingress(ms(0), down, packet(1, 1000), &mut Tell(&mut out)).unwrap();
    path.ingress(ms(0), up, packet(2, 50), &mut Tell(&mut out)).unwrap();
    path.poll(ms(10), &mut Tell(&mut out)).unwrap();
    let seen: Vec<_> = out.iter().map(|d| (d.time.as_nanos(), path.name(d.exit), d.packet.handle)).collect();
    assert_eq!(seen, [(500_000, "server", 2), (1_000_000, "client", 1)]);
}

#[test]
fn time_does_not_go_backwards() {
    let mut path = fan_in(PullOrder::RoundRobin);
    let entry = path.node("in").unwrap();
    path.poll(ms(5), &mut Tell(&mut ())).unwrap();
    let refused = Err(PathError::TimeReversed { now: ms(5), told: ms(4) });
    assert_eq!(path.poll(ms(4), &mut Tell(&mut ())), refused);
    assert_eq!(path.ingress(ms(4), entry, packet(0, 100), &mut Tell(&mut ())), refused);
    assert_eq!(path.counters(entry).unwrap().received, Count::default());
    path.ingress(ms(5), entry, packet(0, 100), &mut Tell(&mut ())).unwrap();
    let link = path.node("link").unwrap();
    assert_eq!(
        path.ingress(ms(5), link, packet(1, 100), &mut Tell(&mut ())),
        Err(PathError::NotAnEntry { node: link })
    );
    path.audit().unwrap();
}

#[test]
fn every_build_error_names_the_node() {
    let refused = |builder: PathBuilder, node: &str, words: &str| {
        let error = builder.build(1).unwrap_err();
        assert_eq!(error.node, node, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    let delay = || NodeSpec::delay(Span::from_millis(1));
    let new = PathBuilder::new;
    refused(new(), "", "no nodes");
    refused(new().node("a", NodeSpec::Exit).node("a", NodeSpec::Exit), "a", "names that differ");
    refused(new().node("", NodeSpec::Exit), "", "empty name");
    refused(new().node("a", delay()).connect("a", "b"), "b", "an edge from 'a'");
    refused(new().node("a", delay()), "a", "expected one output");
    let two = new().node("a", delay()).node("x", NodeSpec::Exit).node("y", NodeSpec::Exit);
    refused(two.connect("a", "x").connect("a", "y"), "a", "2 nodes");
    refused(new().node("x", NodeSpec::Exit).node("y", NodeSpec::Exit).connect("x", "y"), "x", "no output");
    let queue_only = new().node("q", queue("taildrop")).node("x", NodeSpec::Exit);
    refused(queue_only.clone().connect("q", "x"), "q", "a gate, a link or a cell");
    refused(queue_only.clone().node("l", line(1)).chain(&["l", "x"]), "q", "one output");
    refused(new().node("l", line(1)).node("x", NodeSpec::Exit).connect("l", "x"), "l", "expected a queue");
    let pushed = new().node("d", delay()).node("l", line(1)).node("x", NodeSpec::Exit);
    refused(pushed.chain(&["d", "l", "x"]), "l", "'d' before it is a delay");
    refused(new().node("a", delay()).node("b", delay()).chain(&["a", "b", "a"]), "a", "come back");
    let rules = Rules::by(Key::Dscp).route(0..=9, "x", None).route(9..=12, "x", None);
    refused(new().node("c", NodeSpec::Classifier(rules)).node("x", NodeSpec::Exit), "c", "0-9 and 9-12");
    let nowhere = Rules::by(Key::Dscp).otherwise("y", None);
    refused(new().node("c", NodeSpec::Classifier(nowhere)), "y", "classifier 'c'");
    let lossy =
        NodeSpec::Impairment(ImpairmentSpec { loss: LossModel::Random(1.5), ..ImpairmentSpec::default() });
    refused(new().node("d", lossy).node("x", NodeSpec::Exit).connect("d", "x"), "d", "0 to 1");
    let plain = new().node("d", delay()).node("x", NodeSpec::Exit).connect("d", "x");
    refused(plain.clone().feedback("x", "d", Span::ZERO), "d", "expected a gate");
    refused(plain.clone().feedback("x", "e", Span::ZERO), "e", "feedback");
    refused(plain.clone().pull_order("d", PullOrder::StrictPriority), "d", "it is a delay");
    let mut many = new();
    for index in 0..=NODES_MAX {
        many = many.node(&index.to_string(), NodeSpec::Exit);
    }
    refused(many, "", "at most 262143");
}

/// Jitter keeps the order and stays within its bound; loss takes its share; both repeat with the seed.
#[test]
fn jitter_and_loss() {
    let spec = DelaySpec::constant(Span::from_millis(10)).with_jitter(Span::from_micros(1600));
    let loss = ImpairmentSpec { loss: LossModel::Random(0.1), ..ImpairmentSpec::default() };
    let run = |seed, name: &str| {
        let mut path = PathBuilder::<qdelay_core::qdisc::AnyQdisc>::new()
            .node("loss", NodeSpec::Impairment(loss.clone()))
            .node(name, NodeSpec::Delay(spec.clone()))
            .node("x", NodeSpec::Exit)
            .chain(&["loss", name, "x"])
            .build(seed)
            .unwrap();
        let (entry, mut log) = (path.node("loss").unwrap(), Log::default());
        for handle in 0..20_000 {
            path.ingress(Time::from_nanos(handle * 200_000), entry, packet(handle, 500), &mut log).unwrap();
        }
        drain(&mut path, ms(10_000), &mut log);
        log
    };
    let log = run(1, "radio");
    let delivered = log.delivered();
    assert!((17_800..18_200).contains(&delivered.len()), "{}", delivered.len());
    assert!(delivered.windows(2).all(|pair| pair[0].1 < pair[1].1));
    let extra: Vec<u64> =
        delivered.iter().map(|(time, handle)| time - handle * 200_000 - 10_000_000).collect();
    assert!(extra.iter().all(|&extra| extra <= 1_600_000));
    assert!(extra.iter().any(|&extra| extra < 100_000) && extra.iter().any(|&extra| extra > 1_500_000));
    assert_eq!(log, run(1, "radio"));
    assert_ne!(log.delivered(), run(2, "radio").delivered());
    assert_ne!(log.delivered(), run(1, "other").delivered());
}
