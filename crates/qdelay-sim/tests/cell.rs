//! Cells in the simulator: closed forms, figures counted again from the packets, and any cell that is put together.

use crate::common::{All, flow, ms};
use arbtest::arbitrary::{Result, Unstructured};
use qdelay_core::component::Arguments;
use qdelay_core::pacer::SizeUnit;
use qdelay_core::{Span, Time, pacer, qdisc};
use qdelay_path::{F1Spec, Line, PullOrder};
use qdelay_ran::harq::HarqSetting;
use qdelay_ran::mac::Service;
use qdelay_ran::radio::{Bler, Capacity, Channel, Cqi, Mcs};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::{Carrier, McsTable, Overhead};
use qdelay_ran::{CellSetting, UeSetting};
use qdelay_sim::{
    Backhaul, BearerSpec, Bottleneck, CellScenario, DelayStage, Direction, Fate, FlowSpec, GateSpec,
    LinkSpec, Outcome, PacketRecord, QosFlowSpec, Scenario, UeSpec, UpfSpec, run, run_recorded,
};

pub fn discipline(text: &str) -> Arguments {
    Arguments::parse(qdisc::COMPONENTS, text).unwrap()
}

pub fn gate(text: &str) -> GateSpec {
    GateSpec {
        law: Arguments::parse(pacer::COMPONENTS, text).unwrap(),
        feedback: Span::ZERO,
        polling: Span::ZERO,
        packets: None,
        period: ms(1),
    }
}

fn qos_flow(qfi: u8) -> QosFlowSpec {
    QosFlowSpec { qfi, sdap: discipline("taildrop"), upf: None, budget: None, class: None }
}

fn bearer(name: &str, rlc: RlcSetting, law: &str, qfis: &[u8]) -> BearerSpec {
    BearerSpec {
        f1: F1Spec::None,
        name: name.to_string(),
        service: Service::usual(1),
        rlc,
        queue: discipline("taildrop:limit=100"),
        buffer_bytes: None,
        gate: gate(law),
        order: PullOrder::StrictPriority,
        qos_flows: qfis.iter().map(|qfi| qos_flow(*qfi)).collect(),
    }
}

fn ue(name: &str, channel: Channel, bearers: Vec<BearerSpec>) -> UeSpec {
    UeSpec { name: name.to_string(), setting: UeSetting::new(channel), bearers }
}

/// Ten seconds over 20 ms through an LTE cell of 5 MHz, one UE at its best.
pub fn scenario(law: &str, flows: &[&str]) -> Scenario {
    let bearers = vec![bearer("drb", RlcSetting::lte_um(), law, &[1, 2])];
    let cell = CellScenario {
        setting: CellSetting::new(Carrier::lte(25).unwrap()),
        tti: ms(1),
        unit: SizeUnit::Bytes,
        n3: None,
        ues: vec![ue("ue", Channel::Mcs(Mcs(28)), bearers)],
        by_dscp: Vec::new(),
        uplink: None,
    };
    Scenario {
        bottleneck: Bottleneck::Cell(Box::new(cell)),
        uplink: None,
        hops: Vec::new(),
        base_rtt: ms(20),
        rtt_curve: None,
        jitter: Span::ZERO.into(),
        uplink_jitter: Span::ZERO.into(),
        impairments: qdelay_sim::Impairments::default(),
        flows: flows.iter().enumerate().map(|(group, text)| FlowSpec { group, ..flow(text) }).collect(),
        groups: flows.iter().map(|text| (*text).to_string()).collect(),
        probe: None,
        duration: Span::from_secs(10),
        warmup: Span::ZERO,
        seed: 1,
        min_packet_bytes: 0,
        series: None,
        connections: false,
    }
}

pub fn cell_of(scenario: &mut Scenario) -> &mut CellScenario {
    let Bottleneck::Cell(cell) = &mut scenario.bottleneck else { panic!("a cell") };
    cell
}

/// What holds for every cell.
fn check(outcome: &Outcome) {
    let cell = outcome.cell.as_ref().expect("figures of the cell");
    assert_eq!(cell.rbs_used + cell.rbs_wasted + cell.rbs_unfit, cell.rbs_offered);
    assert!((0.0..=1.0).contains(&outcome.utilization), "{}", outcome.utilization);
    let counts: Vec<u64> = cell.stages.values().map(|delays| delays.count).collect();
    let sum = |of: fn(&qdelay_sim::results::NodeFigures) -> u64| {
        let node = |name: &str| ["upf/", "sdap/", "rlc/", "cell"].iter().any(|begin| name.starts_with(begin));
        outcome.nodes.iter().filter(|(name, _)| node(name)).map(|(_, node)| of(node)).sum::<u64>()
    };
    assert_eq!(sum(|node| node.dropped), outcome.drops);
    assert_eq!(sum(|node| node.marked), outcome.marks);
    for (stage, delays) in &cell.stages {
        let whole = counts.iter().max().copied().unwrap_or(0);
        assert!(stage == DelayStage::Upf.name() || delays.count == whole, "{stage} {counts:?}");
    }
    for level in cell.bearers.values().flat_map(|bearer| [bearer.bytes, bearer.packets]) {
        assert!(level.mean <= level.max && level.p95 <= level.max, "{level:?}");
    }
    assert!(cell.within_tti.is_none_or(|share| (0.0..=1.0).contains(&share)));
}

pub fn play(scenario: &Scenario) -> Outcome {
    let outcome = run(scenario).unwrap();
    check(&outcome);
    outcome
}

fn stage(outcome: &Outcome, wanted: DelayStage) -> f64 {
    let cell = outcome.cell.as_ref().unwrap();
    cell.stages.get(wanted.name()).map_or(f64::NAN, |delays| delays.mean)
}

/// A packet every 20 ms that comes 300 us after the beginning of a TTI waits for the next one, and has it for itself.
#[test]
fn alone_a_packet_waits_for_the_next_tti() {
    for micros in [1, 300, 999] {
        let text = format!("voip:phase={micros}us");
        let outcome = play(&scenario("vanilla", &[&text]));
        let wait = 1.0 - micros as f64 / 1000.0;
        let close = |ours: f64, wanted: f64| assert!((ours - wanted).abs() < 1e-9, "{ours} {wanted}");
        close(outcome.queue_delay_ms.mean, wait);
        close(outcome.queue_delay_ms.max, wait);
        close(outcome.sojourn_ms.mean, wait);
        close(stage(&outcome, DelayStage::Sdap), 0.0);
        close(stage(&outcome, DelayStage::Rlc), wait);
        // LTE decodes a block 4 ms after it began.
        close(stage(&outcome, DelayStage::Air), 4.0);
        close(stage(&outcome, DelayStage::Reassembly), 0.0);
        close(outcome.one_way_delay_ms.mean, wait + 4.0 + 10.0);
        assert_eq!(outcome.cell.as_ref().unwrap().within_tti, Some(1.0));
        // 200 bytes are there for `wait` of every 20 ms.
        let bearer = &outcome.cell.as_ref().unwrap().bearers["ue/drb"];
        assert!((bearer.bytes.mean - 200.0 * wait / 20.0).abs() < 0.1, "{:?}", bearer.bytes);
        assert_eq!((bearer.bytes.max, bearer.packets.max), (200.0, 1.0));
        assert_eq!(bearer.packets.p95, 0.0, "at most 1 of 20 ms");
    }
}

/// Three whole packets in every TTI of 10 ms, whatever their size: 3.6 Mbit/s of full ones.
#[test]
fn packets_as_the_unit() {
    let mut s = scenario("vanilla", &["udp:6mbit:size=1500b"]);
    let cell = cell_of(&mut s);
    let trace = qdelay_trace::CapacitySteps::new(vec![3]).unwrap();
    let channel = Channel::Capacity(Capacity {
        trace,
        tick: qdelay_trace::capacity::TICK,
        spread: false,
        repeat: true,
    });
    (cell.unit, cell.tti) = (SizeUnit::Packets, ms(10));
    cell.setting =
        CellSetting::new(Carrier::lte(25).unwrap()).tti(ms(10)).unit(SizeUnit::Packets).air(Span::ZERO);
    cell.ues = vec![ue("ue", channel, vec![bearer("drb", RlcSetting::whole_packets(), "vanilla", &[1])])];
    let outcome = play(&s);
    assert_eq!(
        outcome.packets_forwarded,
        3 * 1000,
        "none waits at time 0, and the last TTI begins just at the end"
    );
    assert!((outcome.throughput_mbps - 3.6).abs() < 0.005, "{}", outcome.throughput_mbps);
    // The queue is full: 100 packets leave 3 by 3, the last of them after 34 TTIs.
    let bearer = &outcome.cell.as_ref().unwrap().bearers["ue/drb"];
    assert_eq!(bearer.packets.max, 100.0);
    assert!((outcome.queue_delay_ms.p50 - 333.0).abs() < 10.0, "{}", outcome.queue_delay_ms.p50);
    assert_eq!(stage(&outcome, DelayStage::Air), 0.0);
}

/// A busy cell with losses, whose flows stop before the end, so that everything is out of it then.
fn lossy(rlc: RlcSetting, law: &str) -> Scenario {
    let mut s = scenario(law, &["cubic", "gaming:20ms", "udp:18mbit:size=700b"]);
    let harq = HarqSetting {
        bler: Bler::new(0.2, Bler::SLOPE).unwrap(),
        retransmissions: 2,
        ..HarqSetting::default()
    };
    let cell = cell_of(&mut s);
    cell.setting = CellSetting::new(Carrier::lte(25).unwrap()).harq(harq);
    cell.ues[0].bearers[0] = bearer("drb", rlc, law, &[1, 2]);
    s.flows[1].qfi = 2;
    s.flows.iter_mut().for_each(|flow| flow.stop = Some(Span::from_secs(6)));
    s
}

/// The stages of the way add up, packet by packet, to the time from arrival to hand-up: so do their sums.
#[test]
fn stages_make_up_the_delay() {
    for rlc in [RlcSetting::lte_um(), RlcSetting::lte_am()] {
        for law in ["vanilla", "e5g-bdp", "drql"] {
            let s = lossy(rlc, law);
            let mut all = All::default();
            let outcome = run_recorded(&s, &mut all).unwrap();
            check(&outcome);
            let delivered: Vec<&PacketRecord> = all
                .0
                .iter()
                .filter(|record| record.direction == Direction::Data && record.fate == Fate::Delivered)
                .collect();
            assert!(delivered.len() > 3000, "{law}");
            let nanos =
                |record: &&PacketRecord| (record.ended - ms(10)).since(record.arrival.unwrap()).as_nanos();
            let mean = delivered.iter().map(nanos).sum::<u64>() as f64 / delivered.len() as f64 / 1e6;
            let cell = outcome.cell.as_ref().unwrap();
            let sum: f64 = cell.stages.values().map(|delays| delays.mean).sum();
            assert!(cell.stages.values().all(|delays| delays.count == delivered.len() as u64));
            assert!((sum - mean).abs() < 1e-6 * mean, "{law} {sum} {mean}");
            let by_group: u64 = outcome.groups.values().map(|group| group.total_ms.unwrap().count).sum();
            assert_eq!(by_group, delivered.len() as u64);
        }
    }
}

/// Without a pacer all that has come and has not departed is at the RLC.
#[test]
fn occupancy_is_that_of_the_packets() {
    let s = lossy(RlcSetting::lte_um(), "vanilla");
    let mut all = All::default();
    let outcome = run_recorded(&s, &mut all).unwrap();
    let (mut bytes, mut packets, mut within, mut departed) = (0.0, 0.0, 0_u64, 0_u64);
    for record in all.0.iter().filter(|record| record.direction == Direction::Data) {
        // Those that a full queue refused were never in it.
        let (Some(arrival), Some(left)) = (record.arrival, record.departed) else { continue };
        let stay = left.since(arrival);
        bytes += stay.as_secs_f64() * f64::from(record.bytes);
        packets += stay.as_secs_f64();
        departed += 1;
        within += u64::from(stay <= ms(1));
    }
    let cell = outcome.cell.as_ref().unwrap();
    let bearer = &cell.bearers["ue/drb"];
    assert!((bearer.bytes.mean / (bytes / 10.0) - 1.0).abs() < 1e-9, "{} {bytes}", bearer.bytes.mean);
    assert!((bearer.packets.mean / (packets / 10.0) - 1.0).abs() < 1e-9);
    assert_eq!(cell.within_tti, Some(within as f64 / departed as f64));
    assert_eq!(bearer.packets.max, 101.0, "100 in the queue and one that is partly taken");
}

/// A warm-up leaves measures out, and changes nothing else.
#[test]
fn what_comes_before_the_warm_up_is_left_out() {
    let mut s = scenario("drql", &["cubic", "voip"]);
    let whole = play(&s);
    s.warmup = Span::from_secs(4);
    let part = play(&s);
    let rbs = |outcome: &Outcome| outcome.cell.as_ref().unwrap().rbs_offered;
    assert_eq!((rbs(&whole), rbs(&part)), (10_000 * 25, 6_000 * 25));
    assert_eq!((&whole.nodes, whole.packets_forwarded), (&part.nodes, part.packets_forwarded));
    assert!(part.queue_delay_ms.count < whole.queue_delay_ms.count);
}

/// What another UE sends back does not stand before one's own acknowledgements.
#[test]
fn each_ue_has_an_uplink_of_its_own() {
    let mut s = scenario("vanilla", &["gaming:20ms:echo=on", "udp:8mbit:echo=on"]);
    let one = cell_of(&mut s).ues[0].clone();
    cell_of(&mut s).ues.push(UeSpec { name: "other".to_string(), ..one });
    s.uplink = Some(qdelay_sim::Uplink::tail_drop(crate::common::link("line:1mbit").0, 1000));
    let busy = |s: &Scenario| play(s).flows[0].round_trip_ms.unwrap().mean;
    let together = busy(&s);
    s.flows[1].ue = 1;
    let apart = busy(&s);
    assert!(together > 100.0 && apart < 30.0, "{together} {apart}");
}

#[test]
fn the_way_through_backhaul_and_upf() {
    let mut s = scenario("drql", &["cubic", "gaming:20ms"]);
    let cell = cell_of(&mut s);
    cell.n3 = Some(Backhaul {
        link: LinkSpec(Line::new(qdelay_core::Rate::from_mbps(100.0), 36).into()),
        limit: 1000,
    });
    for flow in &mut cell.ues[0].bearers[0].qos_flows {
        flow.upf = Some(UpfSpec { qdisc: discipline("sfq"), gate: gate("usp") });
    }
    let outcome = play(&s);
    let names: Vec<&String> = outcome.cell.as_ref().unwrap().stages.keys().collect();
    assert_eq!(names, ["air", "n3", "reassembly", "rlc", "sdap", "upf"]);
    // A packet alone: 236 bytes at 100 Mbit/s.
    assert!(stage(&outcome, DelayStage::N3) >= 0.0188, "{}", stage(&outcome, DelayStage::N3));
    assert!(stage(&outcome, DelayStage::Upf) > 1.0, "USP keeps the bulk flow's packets up there");
    let node = |name: &str| outcome.nodes[name].received_packets;
    assert_eq!(node("n3"), node("n3-link") + outcome.nodes["n3"].inside);
    assert!(node("upf/ue/qfi-1") > 5000 && node("usp/ue/qfi-1") > 5000 && node("upf/ue/qfi-2") == 0);
}

fn any_rlc(u: &mut Unstructured<'_>, is_nr: bool) -> Result<RlcSetting> {
    Ok(match (u.int_in_range(0..=2)?, is_nr) {
        (0, false) => RlcSetting::lte_um(),
        (0, true) => RlcSetting::nr_um(),
        (1, false) => RlcSetting::lte_am(),
        (1, true) => RlcSetting::nr_am(),
        _ => RlcSetting::transparent(),
    })
}

fn any_scenario(u: &mut Unstructured<'_>) -> Result<Scenario> {
    let laws = ["vanilla", "dynrlc", "drql", "5g-bdp", "e5g-bdp", "credit:window=6kb"];
    let flows = ["cubic", "bbr", "gaming:20ms:echo=on", "voip", "udp:5mbit:size=1200b", "cubic:bytes=200kb"];
    let is_nr = u.arbitrary()?;
    let carrier = if is_nr {
        Carrier::nr(
            u.int_in_range(0..=3)?,
            u.int_in_range(10..=100)?,
            McsTable::Qam256,
            1,
            Overhead::default(),
        )
    } else {
        Carrier::lte(*u.choose(&[6, 25, 100])?)
    };
    let carrier = carrier.unwrap();
    let tti = carrier.slot() * u.int_in_range(1..=3_u64)?;
    let harq = HarqSetting {
        bler: Bler::new(f64::from(u.int_in_range(0..=50_u8)?) / 100.0, Bler::SLOPE).unwrap(),
        retransmissions: u.int_in_range(0..=3)?,
        rtt: Some(tti * 8),
        ..HarqSetting::default()
    };
    let mut s = scenario("vanilla", &[]);
    let mut ues = Vec::new();
    for ue_number in 0..u.int_in_range(1..=3)? {
        let mut bearers = Vec::new();
        for number in 0..u.int_in_range(1..=2_u8)? {
            let mut one = bearer(
                &format!("drb-{number}"),
                any_rlc(u, is_nr)?,
                u.choose(&laws)?,
                &[2 * number + 1, 2 * number + 2],
            );
            one.gate.feedback = Span::from_micros(u.int_in_range(0..=3000)?);
            one.gate.polling = *u.choose(&[Span::ZERO, ms(1), ms(3)])?;
            one.gate.packets = *u.choose(&[None, Some(1), Some(10)])?;
            one.order = *u.choose(&[
                PullOrder::StrictPriority,
                PullOrder::RoundRobin,
                PullOrder::DeficitRoundRobin { quantum_bytes: 1500 },
            ])?;
            one.queue = discipline(u.choose(&["taildrop:limit=20", "codel", "bode", "pie:limit=50"])?);
            one.service.priority = u.int_in_range(1..=2)?;
            if u.arbitrary()? {
                one.qos_flows[0].upf = Some(UpfSpec {
                    qdisc: discipline(u.choose(&["sfq", "taildrop:limit=30"])?),
                    gate: gate("usp"),
                });
            }
            bearers.push(one);
        }
        let channel = match u.int_in_range(0..=2)? {
            0 => Channel::Mcs(Mcs(u.int_in_range(0..=27)?)),
            1 => Channel::parse("fading:snr=10").unwrap(),
            _ => Channel::Cqi(Cqi { cqi: u.int_in_range(1..=15)?, mapping: None }),
        };
        ues.push(ue(&format!("ue-{ue_number}"), channel, bearers));
    }
    for _ in 0..u.int_in_range(1..=4)? {
        let place = u.int_in_range(0..=ues.len() - 1)?;
        let qfi = u.int_in_range(1..=2 * ues[place].bearers.len() as u8)?;
        let start = ms(u.int_in_range(0..=300)?);
        s.flows.push(FlowSpec { ue: place, qfi, start, ..flow(u.choose(&flows)?) });
    }
    let cell = cell_of(&mut s);
    cell.setting = CellSetting::new(carrier).tti(tti).harq(harq);
    (cell.tti, cell.ues) = (tti, ues);
    if u.arbitrary()? {
        cell.n3 = Some(Backhaul {
            link: LinkSpec(Line::new(qdelay_core::Rate::from_mbps(20.0), 36).into()),
            limit: 30,
        });
    }
    if u.arbitrary()? {
        s.uplink = Some(qdelay_sim::Uplink::tail_drop(crate::common::link("uplink").0, 100));
    }
    s.groups = vec!["all".to_string()];
    s.probe = u.arbitrary::<bool>()?.then(Default::default);
    s.series = u.arbitrary::<bool>()?.then(|| ms(100));
    s.seed = u.arbitrary()?;
    s.duration = ms(u.int_in_range(500..=1500)?);
    Ok(s)
}

/// Every run audits itself: no packet is lost or made up, whatever stands where.
#[test]
fn any_cell_accounts_for_every_packet() {
    arbtest::arbtest(|u| {
        let s = any_scenario(u)?;
        let (mut one, mut other) = (All::default(), All::default());
        let outcome = run_recorded(&s, &mut one).unwrap_or_else(|error| panic!("{error}"));
        check(&outcome);
        assert_eq!(run_recorded(&s, &mut other).unwrap(), outcome, "twice the same");
        assert_eq!(one.0.len(), other.0.len());
        for record in &one.0 {
            let order =
                [Some(record.created), record.arrival, record.dequeued, record.departed, Some(record.ended)];
            let known: Vec<Time> = order.into_iter().flatten().collect();
            assert!(known.windows(2).all(|pair| pair[0] <= pair[1]), "{record:?}");
        }
        Ok(())
    })
    .budget(qdelay_testing::effort::duration(2.0));
}

/// Of each flow and UE: delays, and the packets that were handed up within the budget of their QoS flow, counted from the packets. Half
/// of the base round trip is behind the UE.
#[test]
fn packets_of_flows_and_ues_within_their_budget() {
    let mut s = scenario("vanilla", &["cubic", "voip", "cubic"]);
    s.duration = Span::from_secs(6);
    s.groups = ["first", "call", "second"].map(str::to_string).to_vec();
    for flow in &mut s.flows {
        // Nothing is on its way at the end.
        flow.stop = Some(ms(4_000));
    }
    (s.flows[0].qfi, s.flows[1].qfi) = (2, 1);
    (s.flows[2].qfi, s.flows[2].ue, s.flows[2].start) = (2, 1, ms(500));
    let budgets = [6, 30];
    let cell = cell_of(&mut s);
    let second = UeSpec {
        name: "other".to_string(),
        setting: UeSetting::new(Channel::Mcs(Mcs(12))),
        ..cell.ues[0].clone()
    };
    cell.ues.push(second);
    for flow in cell.ues.iter_mut().flat_map(|ue| &mut ue.bearers).flat_map(|bearer| &mut bearer.qos_flows) {
        flow.budget = Some(ms(budgets[usize::from(flow.qfi) - 1]));
        flow.class = Some(format!("5qi-{}", flow.qfi));
    }
    let mut all = All::default();
    let outcome = run_recorded(&s, &mut all).unwrap();
    check(&outcome);
    let of = |flow: usize| {
        let is_meant = move |r: &&PacketRecord| r.flow == flow as u32 && r.direction == Direction::Data;
        all.0.iter().filter(is_meant).filter(|r| r.fate == Fate::Delivered)
    };
    // Packets of a flow, and those within budget: nothing is between the sender and the node.
    let counted = |flow: usize| {
        let budget = ms(10 + budgets[usize::from(s.flows[flow].qfi) - 1]);
        let within = of(flow).filter(|r| r.ended.since(r.created) <= budget).count();
        (within as f64, of(flow).count() as f64)
    };
    let cell = outcome.cell.as_ref().unwrap();
    let close =
        |ours: Option<f64>, wanted: f64| assert!((ours.unwrap() - wanted).abs() < 1e-9, "{ours:?} {wanted}");
    for (index, flow) in outcome.flows.iter().enumerate() {
        let (within, count) = counted(index);
        close(flow.within_budget, within / count);
        assert_eq!(
            (flow.budget_ms, flow.class.as_deref()),
            if index == 1 { (Some(6.0), Some("5qi-1")) } else { (Some(30.0), Some("5qi-2")) }
        );
        close(outcome.groups[&flow.group].within_budget, within / count);
    }
    let share = |members: &[usize]| {
        let sums = members
            .iter()
            .map(|flow| counted(*flow))
            .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        sums.0 / sums.1
    };
    assert!(share(&[0]) < 0.9 && share(&[1]) > 0.0, "{} {}", share(&[0]), share(&[1]));
    close(cell.by_ue["ue"].within_budget, share(&[0, 1]));
    close(cell.by_ue["other"].within_budget, share(&[2]));
    close(cell.by_class["5qi-2"].within_budget, share(&[0, 2]));
    assert_eq!((cell.by_ue["ue"].flows, cell.by_ue["ue"].budget_ms), (2, Some(6.0)), "the shortest");
    assert!(cell.by_slice.is_empty());
    for (name, members) in [("ue", vec![0, 1]), ("other", vec![2])] {
        let one_way: Vec<f64> = members
            .iter()
            .flat_map(|flow| of(*flow))
            .map(|r| r.ended.since(r.created).as_millis_f64())
            .collect();
        let ours = cell.by_ue[name].one_way_delay_ms;
        assert_eq!(ours.count, one_way.len() as u64);
        close(Some(ours.mean), one_way.iter().sum::<f64>() / one_way.len() as f64);
        close(Some(ours.max), one_way.iter().copied().fold(0.0, f64::max));
        let queued: f64 = members
            .iter()
            .flat_map(|flow| of(*flow))
            .map(|r| r.departed.unwrap().since(r.arrival.unwrap()).as_millis_f64())
            .sum();
        close(Some(cell.by_ue[name].queue_delay_ms.mean), queued / one_way.len() as f64);
    }
}
