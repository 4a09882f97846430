//! The nodes of a cell: see [`CellScenario`].
//!
//! Queues and gates are called by what they are, their UE and what of it they serve: `rlc/ue-1/drb-1`, `sdap/ue-1/qfi-9`.

use super::cell::{BearerSpec, ByDscp, CellScenario, GateSpec, QosFlowSpec, UeSpec};
use super::{FlowWay, StackError, tail_drop};
use crate::{BearerBuffer, Key, NodeSpec, Path, PathBuilder, Rules};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::ComponentError;
use qdelay_core::dscp::CODEPOINTS;
use qdelay_core::pacer::{AnyPacer, PacerSetting};
use qdelay_core::qdisc::AnyQdisc;

/// The queue in front of the node.
pub const N3: &str = "n3";
/// Sends each flow to the QoS flow that carries it.
pub const CLASSIFIER: &str = "qos-flows";
/// The cell itself.
pub const CELL: &str = "cell";
/// The largest packet.
const MTU_BYTES: u64 = 1500;

/// What a node is to a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Nothing of it.
    #[default]
    Elsewhere,
    /// The queue in front of it.
    N3,
    /// A queue at the UPF.
    Upf,
    /// A queue at the SDAP.
    Sdap,
    /// The queue of a bearer's RLC, by the bearer's number.
    Rlc(u16),
}

impl Place {
    /// Whether it is a queue of the node: of the UPF, the SDAP or the RLC.
    #[inline]
    pub const fn is_of_node(self) -> bool {
        matches!(self, Place::Upf | Place::Sdap | Place::Rlc(_))
    }
}

fn of_bearer(what: &str, ue: &UeSpec, bearer: &BearerSpec) -> String {
    format!("{what}/{}/{}", ue.name, bearer.name)
}
fn of_qos_flow(what: &str, ue: &UeSpec, qos_flow: &QosFlowSpec) -> String {
    format!("{what}/{}/qfi-{}", ue.name, qos_flow.qfi)
}

/// Adds the nodes up to the cell.
pub fn add(
    mut builder: PathBuilder,
    spec: &CellScenario,
    key: Key,
    flows: &[FlowWay],
) -> Result<PathBuilder, StackError> {
    let filters = Filters::of(spec);
    builder = builder.node(CLASSIFIER, NodeSpec::Classifier(rules(spec, key, flows, &filters)));
    for (name, rules) in filters.nodes {
        builder = builder.node(&name, NodeSpec::Classifier(rules));
    }
    if let Some(n3) = &spec.n3 {
        builder = builder
            .node(N3, NodeSpec::Queue(tail_drop(&format!("taildrop:limit={}", n3.limit))?))
            .node("n3-link", NodeSpec::link(n3.link.0.clone()))
            .chain(&[N3, "n3-link", CLASSIFIER]);
    }
    for (ue, bearer) in spec.bearers() {
        let (pacer, rlc) = (of_bearer("pacer", ue, bearer), of_bearer("rlc", ue, bearer));
        for qos_flow in &bearer.qos_flows {
            let sdap = of_qos_flow("sdap", ue, qos_flow);
            builder =
                builder.node(&sdap, NodeSpec::Queue(AnyQdisc::build(&qos_flow.sdap)?)).connect(&sdap, &pacer);
            if let Some(upf) = &qos_flow.upf {
                let (queue, usp) = (of_qos_flow("upf", ue, qos_flow), of_qos_flow("usp", ue, qos_flow));
                builder = builder.node(&queue, NodeSpec::Queue(AnyQdisc::build(&upf.qdisc)?));
                // It hears what leaves the gate below, and that this refuses.
                builder = gate(builder, &usp, &pacer, &upf.gate, spec)?.chain(&[&queue, &usp, &sdap]);
            }
        }
        builder = gate(builder, &pacer, &rlc, &bearer.gate, spec)?
            .pull_order(&pacer, bearer.order)
            .node(&rlc, NodeSpec::Queue(AnyQdisc::build(&bearer.queue)?))
            .chain(&[&pacer, &rlc, CELL]);
        if let Some(limit_bytes) = bearer.buffer_bytes {
            let buffer = BearerBuffer { limit_bytes, header_bytes: bearer.rlc.sdu_overhead_bytes };
            builder = builder.buffer(&rlc, buffer);
        }
    }
    Ok(builder.node(CELL, NodeSpec::cell(spec.complete())))
}

/// A gate that hears of `from`.
fn gate(
    mut builder: PathBuilder,
    name: &str,
    from: &str,
    gate: &GateSpec,
    spec: &CellScenario,
) -> Result<PathBuilder, ComponentError> {
    let setting = PacerSetting { tti: spec.tti, mtu_bytes: MTU_BYTES };
    builder =
        builder.node(name, NodeSpec::gate(AnyPacer::build(&gate.law, &setting)?)).size_unit(name, spec.unit);
    builder = builder.feedback(from, name, gate.feedback);
    if gate.polling > Span::ZERO {
        builder = builder.polling(name, gate.polling);
    }
    if let Some(packets) = gate.packets {
        builder = builder.opportunities(name, packets, gate.period);
    }
    Ok(builder)
}

/// Where packets enter: of each UE by its place, and QFI.
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
    /// Of each entry of [`CellScenario::by_dscp`], the name of its classifier.
    names: Vec<String>,
}

impl Filters {
    fn of(spec: &CellScenario) -> Filters {
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

/// What each node of `path` is to the cell.
pub fn places(path: &Path, spec: &CellScenario) -> Vec<Place> {
    let mut places = vec![Place::Elsewhere; path.nodes().count()];
    // Asking the path for each name would be slow where there are thousands.
    let nodes: BTreeMap<&str, usize> = path.nodes().map(|node| (path.name(node), node.index())).collect();
    let mut set = |name: &str, place: Place| {
        if let Some(entry) = nodes.get(name).and_then(|index| places.get_mut(*index)) {
            *entry = place;
        }
    };
    set(N3, Place::N3);
    for (number, (ue, bearer)) in (0_u16..).zip(spec.bearers()) {
        set(&of_bearer("rlc", ue, bearer), Place::Rlc(number));
        for qos_flow in &bearer.qos_flows {
            set(&of_qos_flow("sdap", ue, qos_flow), Place::Sdap);
            set(&of_qos_flow("upf", ue, qos_flow), Place::Upf);
        }
    }
    places
}
