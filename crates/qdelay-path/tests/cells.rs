//! Cells on a path: pacers above them that hear what they did, packets in parts, losses on the air.

use crate::common::{Event, Log, Tell, drain, ms, packet, queue};
use qdelay_core::pacer::{Credit, PacerSetting};
use qdelay_core::{Packet, Rate, Span, Time};
use qdelay_path::*;
use qdelay_ran::radio::{Bler, Capacity, Channel, Mcs};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::Carrier;
use qdelay_ran::{HarqSetting, UeSetting};
use std::collections::BTreeMap;

fn us(n: u64) -> Time {
    Time::from_nanos(n * 1000)
}

fn carrier() -> Carrier {
    Carrier::lte(25).unwrap()
}

/// Bytes that a TTI of the carrier carries at this MCS.
fn block(mcs: u8) -> u64 {
    u64::from(carrier().block_bytes(mcs, 25))
}

/// One UE at MCS 28 with these bearers, nothing lost.
fn setting(bearers: &[RlcSetting]) -> CellSetting {
    let ue = UeSetting::new(Channel::Mcs(Mcs(28)));
    CellSetting::new(carrier()).ue(bearers.iter().fold(ue, |ue, rlc| ue.bearer(*rlc, 1)))
}

fn pacer(text: &str) -> NodeSpec {
    let setting = PacerSetting::default();
    NodeSpec::Gate(AnyPacer::parse(text, &setting).unwrap())
}

/// classifier -> two SDAP queues (QFI 0 before QFI 1) -> pacer -> RLC queue -> cell -> out
fn hierarchy(law: &str, delay: Span, cell: CellSetting) -> PathBuilder {
    let rules = Rules::by(Key::Class).route(0..=0, "voice", None).route(1..=1, "bulk", None);
    PathBuilder::new()
        .node("upf", NodeSpec::Classifier(rules))
        .node("voice", queue("taildrop:limit=100000"))
        .node("bulk", queue("taildrop:limit=100000"))
        .node("pacer", pacer(law))
        .node("rlc", queue("taildrop:limit=100000"))
        .node("cell", NodeSpec::cell(cell))
        .node("out", NodeSpec::Exit)
        .connect("voice", "pacer")
        .chain(&["bulk", "pacer", "rlc", "cell", "out"])
        .pull_order("pacer", PullOrder::StrictPriority)
        .feedback("rlc", "pacer", delay)
}

/// What the usage of a cell says, held against what was seen.
fn check_usage(path: &Path, now: Time, log: &Log, bytes: u32) -> CellUsage {
    let cell = path.node("cell").unwrap();
    let usage = path.cell_usage(cell, now).unwrap();
    assert_eq!(usage.used_rbs + usage.wasted_rbs + usage.unfit_rbs, usage.offered_rbs);
    assert_eq!(usage.offered_rbs, 25 * (now.as_nanos() / 1_000_000 + 1));
    let departed = log.events.iter().filter(|event| matches!(event, Event::Departed { .. })).count() as u64;
    let begun = u64::from(bytes);
    let whole = departed * begun;
    assert!((whole..whole + begun).contains(&usage.sent_bytes), "{usage:?}, {departed} departed");
    let link = path.link_usage(cell, now).unwrap();
    assert_eq!((link.sent_bytes, link.offered_bytes), (usage.sent_bytes, usage.offered_bytes));
    usage
}

/// What a packet was told to have taken on the air and in reassembly is what passed between its first byte being taken and its
/// being handed up; it departs in between.
#[test]
fn the_split_adds_up() {
    for (rlc, bler) in [
        (RlcSetting::lte_um(), 0.0),
        (RlcSetting::lte_um(), 0.3),
        (RlcSetting::lte_am(), 0.3),
        (RlcSetting::nr_um(), 0.3),
        (RlcSetting::nr_am(), 0.3),
    ] {
        let harq = HarqSetting {
            bler: Bler::new(bler, Bler::SLOPE).unwrap(),
            retransmissions: 1,
            ..HarqSetting::default()
        };
        let mut path = hierarchy("vanilla", Span::ZERO, setting(&[rlc]).harq(harq)).build(1).unwrap();
        let (entry, mut log) = (path.node("upf").unwrap(), Log::default());
        for handle in 0..3000 {
            path.ingress(us(700 * handle), entry, packet(handle, 1400), &mut log).unwrap();
            path.audit().unwrap();
        }
        let cell = path.node("cell").unwrap();
        assert!(path.inside(cell).packets > 0, "some are on the air");
        drain(&mut path, ms(60_000), &mut log);
        assert_eq!(path.inside(cell), Count::default());

        let rlc_queue = path.node("rlc").unwrap();
        let (mut taken, mut departed, mut dropped) = (BTreeMap::new(), BTreeMap::new(), 0);
        let mut last: Option<(u64, Time, Split)> = None;
        let mut delivered = 0;
        for event in &log.events {
            match *event {
                Event::Dequeued { now, node, handle, .. } if node == rlc_queue => {
                    taken.insert(handle, now);
                }
                Event::Departed { now, node, queue, handle, .. } => {
                    assert_eq!((node, queue), (cell, rlc_queue));
                    assert!(departed.insert(handle, now).is_none(), "{handle} departs once");
                }
                Event::Split { now, node, handle, split } => {
                    assert_eq!(node, cell);
                    assert_eq!(split.air + split.reassembly, now.since(taken[&handle]), "{rlc:?}");
                    assert!(split.air >= Span::from_millis(4) && departed[&handle] <= now);
                    last = Some((handle, now, split));
                }
                Event::Delivered { now, handle, .. } => {
                    let (told, at, _) = last.take().expect("told before");
                    assert_eq!((told, at), (handle, now));
                    delivered += 1;
                }
                Event::Dropped { node, reason, .. } => {
                    assert_eq!(node, cell);
                    let expected = [
                        qdelay_ran::rlc::AIR,
                        qdelay_ran::rlc::REASSEMBLY,
                        qdelay_ran::rlc::MAX_RETRANSMISSIONS,
                    ];
                    assert!(expected.contains(&reason), "{reason:?}");
                    dropped += 1;
                }
                _ => {}
            }
        }
        assert_eq!(delivered + dropped, 3000);
        assert_eq!(
            dropped > 0,
            bler > 0.0
                && matches!(rlc.mode, qdelay_ran::rlc::Mode::LteUm(_) | qdelay_ran::rlc::Mode::NrUm(_)),
            "{rlc:?} {dropped}"
        );
        if bler == 0.0 {
            check_usage(&path, path.now(), &log, 1400);
        }
    }
}

/// A packet that reaches a bearer's queue in the instant of a TTI comes too late for it, however the nodes are declared,
/// whether the cell was idle or not.
#[test]
fn the_tti_comes_before_what_arrives_with_it() {
    for forwards in [true, false] {
        let mut nodes = vec![
            ("delay", NodeSpec::delay(Span::from_millis(5))),
            ("queue", queue("taildrop")),
            ("gate", NodeSpec::Gate(AnyPacer::PASS_THROUGH)),
            ("rlc", queue("taildrop")),
            ("cell", NodeSpec::cell(setting(&[RlcSetting::transparent()]))),
            ("out", NodeSpec::Exit),
        ];
        if !forwards {
            nodes.reverse();
        }
        let mut path = nodes
            .into_iter()
            .fold(PathBuilder::new(), |builder, (name, spec)| builder.node(name, spec))
            .chain(&["delay", "queue", "gate", "rlc", "cell", "out"])
            .build(1)
            .unwrap();
        let [delay, rlc] = ["delay", "rlc"].map(|name| path.node(name).unwrap());
        let mut log = Log::default();
        // At 6 ms through the delay, with an idle cell: the TTI at 7 ms, decoded 4 ms later.
        path.ingress(ms(1), delay, packet(0, 100), &mut log).unwrap();
        // At 20 ms, when the TTI takes one that is already there, with room to spare.
        path.ingress(ms(15), delay, packet(1, 100), &mut log).unwrap();
        path.ingress(us(19_500), rlc, packet(2, 100), &mut log).unwrap();
        drain(&mut path, ms(100), &mut log);
        assert_eq!(log.delivered(), [(11_000_000, 0), (24_000_000, 2), (25_000_000, 1)]);
    }
}

/// Nothing follows more than 2047 bytes in a PDU of LTE: the scheduler grants room for two PDUs already where the first packet of
/// that size waits.
#[test]
fn the_first_long_packet_leaves_room_for_what_follows_it() {
    for rlc in [RlcSetting::lte_um(), RlcSetting::lte_am()] {
        // Some of these sizes end with a group of resource blocks.
        for bytes in 40..200 {
            let mut path = PathBuilder::new()
                .node("rlc", queue("taildrop"))
                .node("cell", NodeSpec::cell(setting(&[rlc])))
                .node("out", NodeSpec::Exit)
                .chain(&["rlc", "cell", "out"])
                .build(1)
                .unwrap();
            let (entry, mut log) = (path.node("rlc").unwrap(), Log::default());
            path.ingress(us(500), entry, packet(0, 2050), &mut log).unwrap();
            path.ingress(us(500), entry, packet(1, bytes), &mut log).unwrap();
            drain(&mut path, ms(1000), &mut log);
            let delivered = log.events.iter().filter_map(|event| match event {
                Event::Delivered { now, .. } => Some(*now),
                _ => None,
            });
            assert_eq!(delivered.collect::<Vec<_>>(), [ms(5), ms(5)], "{bytes} bytes behind the first");
        }
    }
}

/// A backlog at a constant channel: each TTI takes what a block holds, headers included, and nothing is wasted.
#[test]
fn a_saturated_cell_sends_what_its_blocks_hold() {
    let mut path = hierarchy("vanilla", Span::ZERO, setting(&[RlcSetting::lte_um()])).build(1).unwrap();
    let (entry, mut log) = (path.node("upf").unwrap(), Log::default());
    for handle in 0..20_000 {
        path.ingress(Time::ZERO, entry, packet(handle, 1500), &mut log).unwrap();
    }
    path.poll(ms(10_000), &mut log).unwrap();
    let usage = check_usage(&path, ms(10_000), &log, 1500);
    // The first TTI, at 0, is over before anything arrives.
    assert_eq!((usage.wasted_rbs, usage.unfit_rbs), (25, 0));
    // PDCP 2, MAC up to 3, RLC 2 and a length of 12 bits for every packet but the last.
    let sent = usage.sent_bytes as f64 / (block(28) * 10_000) as f64;
    assert!((0.994..0.998).contains(&sent), "{sent}");
    path.audit().unwrap();
}

/// Pacers above a cell, with reports that take some time: the bulk flow waits at the SDAP, voice overtakes it there, the RLC
/// queue stays short, and the cell is kept busy.
#[test]
fn pacers_hold_back_at_the_sdap() {
    let mut mean = BTreeMap::new();
    for (law, busy) in [
        ("vanilla", 0.99),
        ("dynrlc", 0.6),
        ("drql", 0.9),
        ("5g-bdp", 0.6),
        ("e5g-bdp", 0.8),
        ("credit:4578b", 0.99),
    ] {
        for delay_us in [0, 300] {
            let delay = Span::from_micros(delay_us);
            let mut path = hierarchy(law, delay, setting(&[RlcSetting::lte_um()])).build(1).unwrap();
            let [entry, rlc] = ["upf", "rlc"].map(|name| path.node(name).unwrap());
            let (mut log, mut sum, mut handle) = (Log::default(), 0, 0);
            for step in 0..12_000 {
                let now = us(step * 250 + 37);
                // Twice what the cell carries, until 2 s; 200 bytes of voice every 20 ms.
                if step < 8000 && step % 2 == 0 {
                    for _ in 0..2 {
                        let bulk = Packet { class: 1, ..packet(handle, 1500) };
                        path.ingress(now, entry, bulk, &mut log).unwrap();
                        handle += 1;
                    }
                }
                if step % 80 == 0 {
                    path.ingress(now, entry, Packet { class: 0, ..packet(handle, 200) }, &mut log).unwrap();
                    handle += 1;
                }
                path.poll(now, &mut log).unwrap();
                // The first second is for finding out.
                if (4000..8000).contains(&step) {
                    sum += path.inside(rlc).bytes;
                }
                path.audit().unwrap();
            }
            let usage = path.cell_usage(path.node("cell").unwrap(), us(3_000_000)).unwrap();
            let used = usage.used_rbs as f64 / usage.offered_rbs as f64;
            println!("{law} {delay_us}: {used}");
            assert!(used > busy, "{law} {delay_us}: {used}");
            drain(&mut path, ms(60_000), &mut log);
            assert_eq!(log.delivered().len() as u64, handle, "{law} {delay_us}: nothing starves");
            assert_eq!(path.next_deadline(), Time::NEVER, "{law}");
            mean.insert((law, delay_us), sum / 4000);
        }
    }
    println!("mean bytes in the RLC queue: {mean:?}");
    for ((law, delay_us), bytes) in mean {
        let expected = if law == "vanilla" { bytes > 1_000_000 } else { bytes < 10_000 };
        assert!(expected, "{law} {delay_us}: {bytes} bytes in the RLC queue");
    }
}

/// Packets as the unit: a TTI of 10 ms carries so many, whatever their size, and a gate counts them so.
#[test]
fn packets_as_the_unit() {
    let trace = qdelay_trace::CapacitySteps::new(vec![3, 0, 5]).unwrap();
    let ue = UeSetting::new(Channel::Capacity(Capacity {
        trace,
        tick: qdelay_trace::capacity::TICK,
        spread: false,
        repeat: false,
    }));
    let cell = CellSetting::new(carrier())
        .tti(Span::from_millis(10))
        .unit(SizeUnit::Packets)
        .air(Span::ZERO)
        .ue(ue.bearer(RlcSetting::whole_packets(), 1));
    let mut path = PathBuilder::new()
        .node("sdap", queue("taildrop:limit=100000"))
        .node("gate", NodeSpec::gate(Credit::new(6000)))
        .node("rlc", queue("taildrop:limit=4"))
        .node("cell", NodeSpec::cell(cell))
        .node("out", NodeSpec::Exit)
        .chain(&["sdap", "gate", "rlc", "cell", "out"])
        .feedback("rlc", "gate", Span::ZERO)
        .size_unit("gate", SizeUnit::Packets)
        .build(1)
        .unwrap();
    let (entry, mut log) = (path.node("sdap").unwrap(), Log::default());
    for handle in 0..1000 {
        path.ingress(Time::ZERO, entry, packet(handle, 40 + handle as u32 % 1400), &mut log).unwrap();
    }
    path.poll(us(3_000_000), &mut log).unwrap();
    // The first TTI is over. Then 99 of 3 packets, 100 of none, and 100 of as many as the gate lets into the RLC queue.
    let at = |from: u64, to: u64| {
        log.delivered().iter().filter(|(time, _)| (from..to).contains(&(time / 1_000_000))).count()
    };
    assert_eq!((at(0, 1000), at(1000, 2000), at(2000, 3000)), (297, 0, 400));
    assert_eq!(path.counters(path.node("rlc").unwrap()).unwrap().dropped_total().packets, 0);
    let usage = path.cell_usage(path.node("cell").unwrap(), us(2_999_999)).unwrap();
    assert_eq!(usage.sent_bytes, (297 + 400) * 1500);
    path.audit().unwrap();
}

#[test]
fn what_cannot_be_built_or_done() {
    let refused = |builder: PathBuilder, node: &str, words: &str| {
        let error = builder.build(1).unwrap_err();
        assert_eq!(error.node, node, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    let um = RlcSetting::lte_um();
    let whole = || hierarchy("vanilla", Span::ZERO, setting(&[um]));
    refused(hierarchy("vanilla", Span::ZERO, setting(&[um, um])), "cell", "2 bearers with 1 queues");
    refused(hierarchy("vanilla", Span::ZERO, CellSetting::new(carrier())), "cell", "no UE");
    refused(whole().pull_order("cell", PullOrder::RoundRobin), "cell", "it is a cell");
    refused(whole().feedback("out", "cell", Span::ZERO), "cell", "it is a cell; expected a gate");
    let gate = PathBuilder::new()
        .node("queue", queue("taildrop"))
        .node("gate", NodeSpec::Gate(AnyPacer::PASS_THROUGH))
        .node("cell", NodeSpec::cell(setting(&[um])))
        .node("out", NodeSpec::Exit)
        .chain(&["queue", "gate", "cell", "out"]);
    refused(gate, "cell", "'gate' before it is a gate; expected a queue");
    let mut path = whole().build(1).unwrap();
    let cell = path.node("cell").unwrap();
    let refused = path.ingress(ms(0), cell, packet(0, 100), &mut Tell(&mut ()));
    assert_eq!(refused, Err(PathError::NotAnEntry { node: cell }));
    let line = Line::new(Rate::from_bps(1), 0).into();
    assert!(path.replace_link(ms(0), cell, line, &mut ()).is_err());
    assert!(path.cell_usage(path.node("rlc").unwrap(), ms(0)).is_none());
    assert_eq!(path.cell(cell).map(Cell::bearers), Some(1));
}

/// A pacer is replaced in the middle of traffic: nothing is lost, and the new one hears what it listens for.
#[test]
fn a_pacer_can_be_replaced() {
    let cell = setting(&[RlcSetting::lte_um()]);
    let mut path = hierarchy("vanilla", Span::from_micros(200), cell).build(1).unwrap();
    let [entry, gate, rlc] = ["upf", "pacer", "rlc"].map(|name| path.node(name).unwrap());
    let mut log = Log::default();
    let laws = ["dynrlc", "vanilla", "e5g-bdp", "credit:3000b", "5g-bdp", "vanilla"];
    let mut handle = 0;
    for (number, law) in laws.iter().enumerate() {
        let begin = number as u64 * 100;
        for _ in 0..100 {
            path.ingress(ms(begin), entry, Packet { class: 1, ..packet(handle, 1500) }, &mut log).unwrap();
            handle += 1;
        }
        path.poll(ms(begin + 50), &mut log).unwrap();
        let waiting = path.inside(rlc).packets;
        // A law that lets everything through has brought all that is left down; the others hold it back.
        let before = if number == 0 { "vanilla" } else { laws[number - 1] };
        assert_eq!(waiting > 15, before == "vanilla", "{before}: {waiting}");
        let law = AnyPacer::parse(law, &PacerSetting::default()).unwrap();
        path.replace_gate(ms(begin + 50), gate, law, &mut log).unwrap();
        path.audit().unwrap();
    }
    drain(&mut path, ms(60_000), &mut log);
    let order: Vec<u64> = log.delivered().iter().map(|delivered| delivered.1).collect();
    assert_eq!(order, (0..handle).collect::<Vec<_>>());
    assert!(path.replace_gate(ms(60_000), rlc, AnyPacer::PASS_THROUGH, &mut log).is_err());
}
