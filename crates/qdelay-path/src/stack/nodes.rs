//! The nodes of a cell: see [`CellScenario`].
//!
//! Queues and gates are called by what they are, their UE and what of it they serve: `rlc/ue-1/drb-1`, `sdap/ue-1/qfi-9`.

use super::cell::{BearerSpec, ByDscp, CellScenario, GateSpec, QosFlowSpec, UeSpec};
use super::{FlowWay, Stack, StackError, tail_drop};
use crate::{BearerBuffer, F1Spec, Key, NodeId, NodeSpec, Numbering, Rules};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::ComponentError;
use qdelay_core::dscp::CODEPOINTS;
use qdelay_core::pacer::{AnyPacer, PacerSetting};
use qdelay_core::qdisc::AnyQdisc;

/// The node that sends each flow to the QoS flow that carries it.
const CLASSIFIER: &str = "qos-flows";
/// The node of the cell itself.
const CELL: &str = "cell";
/// The largest packet.
const MTU_BYTES: u64 = 1500;

/// The role of a node of a [`Dumbbell`](super::Dumbbell).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// A delay, an exit, an access link, or what sends packets to their UE's queues.
    #[default]
    Elsewhere,
    /// Sends packets of [`FlowKey::Class`](super::FlowKey::Class) to where their flow enters.
    Classes,
    /// The queue of a hop.
    Hop,
    /// The link of a hop.
    HopLink,
    /// The bottleneck's only queue.
    Bottleneck,
    /// The bottleneck's link.
    Link,
    /// A cell in place of the two.
    Cell,
    /// The queue in front of the node that the cell belongs to.
    N3,
    /// A queue at the UPF.
    Upf,
    /// A queue at the SDAP.
    Sdap {
        /// Whether it is behind a queue at the UPF.
        is_behind_upf: bool,
    },
    /// The queue of a bearer's RLC, by the bearer's number.
    Rlc(u32),
    /// The queue of an uplink.
    Uplink,
    /// The link of an uplink, or that of a cell itself.
    UplinkLink,
}

impl Place {
    /// Whether it is a queue of the node: of the UPF, the SDAP or the RLC.
    #[inline]
    pub const fn is_of_node(self) -> bool {
        matches!(self, Place::Upf | Place::Sdap { .. } | Place::Rlc(_))
    }
    /// Whether it is a queue of the bottleneck (of its link, or of the node above a cell) or of an uplink.
    #[inline]
    pub const fn is_queue(self) -> bool {
        self.is_of_node() || matches!(self, Place::Bottleneck | Place::Uplink)
    }
    /// Whether it is the first of these queues on a packet's way.
    #[inline]
    pub const fn is_first(self) -> bool {
        matches!(self, Place::Bottleneck | Place::Uplink | Place::Upf | Place::Sdap { is_behind_upf: false })
    }
    /// Whether it is the last of them.
    #[inline]
    pub const fn is_last(self) -> bool {
        matches!(self, Place::Bottleneck | Place::Uplink | Place::Rlc(_))
    }
    /// Whether it is the link or cell behind them.
    #[inline]
    pub const fn is_link(self) -> bool {
        matches!(self, Place::Link | Place::Cell | Place::UplinkLink)
    }
}

pub(super) fn of_bearer(what: &str, ue: &UeSpec, bearer: &BearerSpec) -> String {
    format!("{what}/{}/{}", ue.name, bearer.name)
}
fn of_qos_flow(what: &str, ue: &UeSpec, qos_flow: &QosFlowSpec) -> String {
    format!("{what}/{}/qfi-{}", ue.name, qos_flow.qfi)
}

/// Adds the nodes up to the cell; returns the one that packets enter by, and the cell.
pub(super) fn add(
    stack: &mut Stack,
    spec: &CellScenario,
    key: Key,
    flows: &[FlowWay],
) -> Result<(NodeId, NodeId), StackError> {
    let filters = Filters::from_cell(spec);
    let rules = rules(spec, key, flows, &filters);
    let mut entry = stack.add(Place::Elsewhere, CLASSIFIER, NodeSpec::Classifier(rules));
    for (name, rules) in filters.nodes {
        stack.add(Place::Elsewhere, &name, NodeSpec::Classifier(rules));
    }
    if let Some(n3) = &spec.n3 {
        let qdisc = tail_drop(&format!("taildrop:limit={}", n3.limit))?;
        entry = stack.add(Place::N3, "n3", NodeSpec::Queue(qdisc));
        stack.add(Place::Elsewhere, "n3-link", NodeSpec::link(n3.link.0.clone()));
        stack.chain(&["n3", "n3-link", CLASSIFIER]);
    }
    for (number, (ue, bearer)) in (0_u32..).zip(spec.bearers()) {
        let (pacer, rlc) = (of_bearer("pacer", ue, bearer), of_bearer("rlc", ue, bearer));
        let round_trip = bearer.gate.feedback + bearer.f1.delay() * 2;
        let setting = PacerSetting {
            tti: spec.tti,
            round_trip,
            mtu_bytes: MTU_BYTES,
            peak_bytes: spec.setting.peak_bytes(&ue.setting),
            tdd_opportunity: spec.setting.tdd_opportunity(),
            is_sparse: spec.setting.is_sparse(&ue.setting),
            split: None,
        };
        for qos_flow in &bearer.qos_flows {
            let sdap = of_qos_flow("sdap", ue, qos_flow);
            let place = Place::Sdap { is_behind_upf: qos_flow.upf.is_some() };
            stack.add(place, &sdap, NodeSpec::Queue(AnyQdisc::build(&qos_flow.sdap)?));
            stack.chain(&[&sdap, &pacer]);
            if let Some(upf) = &qos_flow.upf {
                let (queue, usp) = (of_qos_flow("upf", ue, qos_flow), of_qos_flow("usp", ue, qos_flow));
                stack.add(Place::Upf, &queue, NodeSpec::Queue(AnyQdisc::build(&upf.qdisc)?));
                // It listens for departures and refusals of the gate below.
                gate(stack, &usp, &pacer, &upf.gate, spec, &setting)?;
                stack.chain(&[&queue, &usp, &sdap]);
            }
        }
        stack.add(Place::Rlc(number), &rlc, NodeSpec::Queue(AnyQdisc::build(&bearer.queue)?));
        let f1 = of_bearer("f1", ue, bearer);
        let (told_by, to_rlc) = match bearer.f1 {
            F1Spec::Ideal(delay) if delay > Span::ZERO => (&rlc, Some(NodeSpec::delay(delay))),
            F1Spec::None | F1Spec::Ideal(_) => (&rlc, None),
            F1Spec::Standard(setting) => (&f1, Some(NodeSpec::F1 { setting, tti: spec.tti })),
        };
        match to_rlc {
            Some(node) => {
                stack.add(Place::Elsewhere, &f1, node);
                stack.chain(&[&pacer, &f1, &rlc, CELL]);
            }
            None => stack.chain(&[&pacer, &rlc, CELL]),
        }
        let told_after = bearer.gate.feedback + bearer.f1.delay();
        let told = GateSpec { feedback: told_after, ..bearer.gate.clone() };
        let over_f1 = PacerSetting { split: bearer.f1.split(bearer.gate.feedback), ..setting };
        gate(stack, &pacer, told_by, &told, spec, &over_f1)?;
        stack.change(|builder| builder.pull_order(&pacer, bearer.order));
        if let Some(pdcp) = bearer.rlc.pdcp {
            let numbering = Numbering::from_pdcp(&pdcp);
            let is_done = matches!(bearer.f1, F1Spec::Standard(_));
            stack.change(|builder| builder.numbering(&rlc, Numbering { is_done, ..numbering }));
        }
        if let Some(limit_bytes) = bearer.buffer_bytes {
            let buffer = BearerBuffer { limit_bytes, header_bytes: bearer.rlc.sdu_overhead_bytes };
            stack.change(|builder| builder.buffer(&rlc, buffer));
        }
    }
    Ok((entry, stack.add(Place::Cell, CELL, NodeSpec::cell(spec.complete()))))
}

/// A gate that listens to `from`.
fn gate(
    stack: &mut Stack,
    name: &str,
    from: &str,
    gate: &GateSpec,
    spec: &CellScenario,
    setting: &PacerSetting,
) -> Result<(), ComponentError> {
    stack.add(Place::Elsewhere, name, NodeSpec::gate(AnyPacer::build(&gate.law, setting)?));
    stack.change(|builder| {
        let mut builder = builder.size_unit(name, spec.unit).feedback(from, name, gate.feedback);
        if gate.polling > Span::ZERO {
            builder = builder.polling(name, gate.polling);
        }
        if let Some(packets) = gate.packets {
            builder = builder.opportunities(name, packets, gate.period);
        }
        builder
    });
    Ok(())
}

/// Names of the nodes where packets enter, by the index of the UE and QFI.
fn entries(spec: &CellScenario) -> BTreeMap<(usize, u8), String> {
    let mut entries = BTreeMap::new();
    for (place, ue) in spec.ues.iter().enumerate() {
        for qos_flow in ue.bearers.iter().flat_map(|bearer| &bearer.qos_flows) {
            let name = of_qos_flow(if qos_flow.upf.is_some() { "upf" } else { "sdap" }, ue, qos_flow);
            entries.insert((place, qos_flow.qfi), name);
        }
    }
    entries
}

/// Classifiers by codepoint, one for each UE and way of telling its packets apart.
struct Filters {
    nodes: Vec<(String, Rules)>,
    /// Name of the classifier of each entry of [`CellScenario::by_dscp`].
    names: Vec<String>,
}

impl Filters {
    fn from_cell(spec: &CellScenario) -> Filters {
        let mut filters = Filters { nodes: Vec::new(), names: Vec::new() };
        if spec.by_dscp.is_empty() {
            return filters;
        }
        let entries = entries(spec);
        let mut known: BTreeMap<(usize, &[u8; CODEPOINTS]), String> = BTreeMap::new();
        let mut count: BTreeMap<usize, usize> = BTreeMap::new();
        for by_dscp in &spec.by_dscp {
            let name = known.entry((by_dscp.ue, &by_dscp.qfis)).or_insert_with(|| {
                let ue = spec.ues.get(by_dscp.ue).map_or("", |ue| ue.name.as_str());
                let count = count.entry(by_dscp.ue).or_insert(0);
                *count += 1;
                let name =
                    if *count == 1 { format!("filters/{ue}") } else { format!("filters/{ue}/{count}") };
                filters.nodes.push((name.clone(), by_codepoint(by_dscp, &entries)));
                name
            });
            filters.names.push(name.clone());
        }
        filters
    }
}

/// Each codepoint to the QoS flow that carries it.
fn by_codepoint(by_dscp: &ByDscp, entries: &BTreeMap<(usize, u8), String>) -> Rules {
    let mut rules = Rules::by(Key::Dscp);
    for (codepoint, qfi) in (0_u32..).zip(by_dscp.qfis) {
        if let Some(entry) = entries.get(&(by_dscp.ue, qfi)) {
            rules = rules.route(codepoint..=codepoint, entry, Some(u16::from(qfi)));
        }
    }
    rules
}

/// Each flow to its QoS flow, or to where its codepoints are told apart, and what else there is (the probe) to the first.
fn rules(spec: &CellScenario, key: Key, flows: &[FlowWay], filters: &Filters) -> Rules {
    let entries = entries(spec);
    let filtered: BTreeMap<usize, &String> =
        spec.by_dscp.iter().map(|by_dscp| by_dscp.flow).zip(&filters.names).collect();
    let first = spec.bearers().next().and_then(|(_, bearer)| bearer.qos_flows.first());
    let first = first.and_then(|qos_flow| entries.get(&(0, qos_flow.qfi)));
    let rest = filtered.get(&flows.len()).copied().or(first);
    let mut rules = Rules::by(key).otherwise(rest.map_or("", String::as_str), None);
    for (number, flow) in (0_u32..).zip(flows) {
        if let Some(filters) = filtered.get(&(number as usize)) {
            rules = rules.route(number..=number, filters, None);
        } else if let Some(entry) = entries.get(&(flow.ue, flow.qfi)) {
            rules = rules.route(number..=number, entry, Some(u16::from(flow.qfi)));
        }
    }
    rules
}
