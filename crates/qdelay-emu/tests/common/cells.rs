//! Paths with a cell: like the emulator of the 5G QoS thesis, and like its testbed.

use qdelay_core::component::Arguments;
use qdelay_core::pacer::SizeUnit;
use qdelay_core::{Rate, Span, pacer, qdisc};
use qdelay_emu::classes::{ClassRule, Classes};
use qdelay_emu::dumbbell::DumbbellPlan;
use qdelay_path::stack::{
    Backhaul, BearerSpec, Bottleneck, CellScenario, FlowWay, GateSpec, LinkSpec, QosFlowSpec, UeSpec,
    UpfSpec, Uplink,
};
use qdelay_path::{F1Spec, Impairments, Line, PullOrder};
use qdelay_ran::harq::HarqSetting;
use qdelay_ran::mac::Service;
use qdelay_ran::radio::{Bler, Capacity, Channel, Mcs};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::Carrier;
use qdelay_ran::{CellSetting, UeSetting};
use qdelay_trace::CapacitySteps;

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn discipline(text: &str) -> Arguments {
    Arguments::parse(qdisc::COMPONENTS, text).unwrap()
}

fn gate(text: &str) -> GateSpec {
    let law = Arguments::parse(pacer::COMPONENTS, text).unwrap();
    GateSpec { law, feedback: Span::ZERO, polling: Span::ZERO, packets: None, period: ms(1) }
}

fn qos_flow(qfi: u8, sdap: &str) -> QosFlowSpec {
    QosFlowSpec { qfi, sdap: discipline(sdap), upf: None, budget: None, class: None }
}

fn bearer(name: &str, rlc: RlcSetting, queue: &str, law: &str, qos_flows: Vec<QosFlowSpec>) -> BearerSpec {
    let order = PullOrder::StrictPriority;
    BearerSpec {
        f1: F1Spec::None,
        name: name.to_string(),
        service: Service::usual(1),
        rlc,
        queue: discipline(queue),
        buffer_bytes: None,
        gate: gate(law),
        order,
        qos_flows,
    }
}

fn plan(cell: CellScenario, ways: Vec<FlowWay>) -> DumbbellPlan {
    // Classes follow the codepoints of the scripts; the remaining packets have a route of their own, and some have none.
    let rule = |dscp, class| ClassRule { dscp: Some(dscp), class, ..ClassRule::default() };
    let classes = Classes { rules: vec![rule(46, 0), rule(8, 1), rule(34, 2)], otherwise: 7 };
    DumbbellPlan {
        hops: Vec::new(),
        bottleneck: Bottleneck::Cell(Box::new(cell)),
        uplink: Some(Uplink::tail_drop(Line::new(Rate::from_bps(20_000_000), 0), 50)),
        base_rtt: ms(9),
        rtt_curve: None,
        jitter: ms(1).into(),
        uplink_jitter: qdelay_path::Jitter::NONE,
        delays: [None, None],
        is_changeable: false,
        impairments: Impairments::default(),
        ways,
        classes,
        seed: 7,
    }
}

/// The class of the scripts' packets, as [`Classes`] above assign it.
pub fn class(dscp: u8) -> usize {
    match dscp {
        46 => 0,
        8 => 1,
        34 => 2,
        _ => 7,
    }
}

/// TTIs of 10 ms that carry a number of packets; UPF and SDAP poll once per ms; pacers at both if there is a `usp`.
pub fn like_the_emulator(law: &str, sdap: &str, usp: Option<&str>) -> DumbbellPlan {
    let looks = |text: &str| GateSpec { polling: ms(1), packets: Some(10), ..gate(text) };
    let upf = |text: &str| Some(UpfSpec { qdisc: discipline("taildrop:limit=60"), gate: looks(text) });
    let qos_flows = [1, 2].map(|qfi| QosFlowSpec { upf: usp.and_then(upf), ..qos_flow(qfi, sdap) });
    let mut drb = bearer("drb-1", RlcSetting::whole_packets(), "taildrop:limit=30", law, qos_flows.into());
    drb.gate = looks(law);
    let trace = CapacitySteps::new(vec![3, 9, 0, 6, 12]).unwrap();
    let channel = Channel::Capacity(Capacity {
        trace,
        tick: qdelay_trace::capacity::TICK,
        spread: false,
        repeat: true,
    });
    let setting = CellSetting::new(Carrier::lte(25).unwrap());
    let cell = CellScenario {
        setting: setting.tti(ms(10)).unit(SizeUnit::Packets).air(Span::ZERO),
        tti: ms(10),
        unit: SizeUnit::Packets,
        n3: None,
        ues: vec![UeSpec { name: "ue".to_string(), setting: UeSetting::new(channel), bearers: vec![drb] }],
        by_dscp: Vec::new(),
        uplink: None,
    };
    let access = Some(Rate::from_bps(100_000_000));
    let way = |qfi, access, extra_rtt| FlowWay { access, extra_rtt, qfi, ..FlowWay::default() };
    plan(cell, vec![way(1, None, Span::ZERO), way(2, access, ms(3)), way(2, None, Span::ZERO)])
}

/// TTIs of 1 ms, two UEs with two bearers each, transport blocks that are lost and retransmitted, feedback with a delay of 1 ms,
/// and a link in front of the base station.
pub fn like_the_testbed(law: &str, rlc: RlcSetting) -> DumbbellPlan {
    let ue = |name: &str, mcs: u8| {
        let mut drb =
            bearer("data", rlc, "codel", law, vec![qos_flow(2, "taildrop:limit=40"), qos_flow(3, "bode")]);
        drb.gate.feedback = ms(1);
        let voice =
            bearer("voice", RlcSetting::lte_um(), "taildrop", "vanilla", vec![qos_flow(1, "taildrop")]);
        UeSpec {
            name: name.to_string(),
            setting: UeSetting::new(Channel::Mcs(Mcs(mcs))),
            bearers: vec![voice, drb],
        }
    };
    let harq = HarqSetting { bler: Bler::new(0.2, Bler::SLOPE).unwrap(), ..HarqSetting::default() };
    let cell = CellScenario {
        setting: CellSetting::new(Carrier::lte(25).unwrap()).harq(harq),
        tti: ms(1),
        unit: SizeUnit::Bytes,
        n3: Some(Backhaul { link: LinkSpec(Line::new(Rate::from_bps(50_000_000), 44).into()), limit: 80 }),
        ues: vec![ue("near", 20), ue("far", 4)],
        by_dscp: Vec::new(),
        uplink: None,
    };
    let way = |ue, qfi| FlowWay { ue, qfi, ..FlowWay::default() };
    plan(cell, vec![way(0, 1), way(0, 2), way(1, 3)])
}
