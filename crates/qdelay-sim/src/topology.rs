//! The graph of a scenario: a dumbbell with the bottleneck in the data direction and the uplink in the other.
//!
//! ```text
//! flow i -> [access-i] -+-> bottleneck -> link -> (by flow) -> [delay-down-i] -> receiver-side exit
//!                       |
//! sender-side exit <- delay-up-i <- [uplink-link <- uplink] <- [return-access-i] <- acknowledgements
//! ```
//!
//! Where the bottleneck is a cell, its nodes stand in place of the bottleneck and the link (`cell` below), and every UE has an
//! uplink of its own.

mod cell;

use crate::scenario::{Bottleneck, FlowSpec, Scenario};
pub use cell::Place;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, ComponentError};
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_path::{BuildError, DelaySpec, Key, Line, NodeId, NodeSpec, Path, PathBuilder, Rules};
use std::collections::BTreeMap;

/// The path of a scenario and the places on it that matter to flows.
pub struct Topology {
    pub path: Path,
    /// The bottleneck's queue. A cell has several: here it is itself, which nothing is queued at.
    pub queue: NodeId,
    /// The bottleneck's link, or the cell.
    pub link: NodeId,
    pub receivers: NodeId,
    /// Where each flow's data enters.
    pub data_entry: Vec<NodeId>,
    /// Where each flow's acknowledgements enter.
    pub ack_entry: Vec<NodeId>,
    /// What each node is to a cell, by its place; empty without one.
    pub places: Vec<Place>,
}

/// Why a scenario has no path.
#[derive(Debug)]
pub enum TopologyError {
    Component(ComponentError),
    Build(BuildError),
}

impl From<ComponentError> for TopologyError {
    fn from(error: ComponentError) -> Self {
        TopologyError::Component(error)
    }
}
impl From<BuildError> for TopologyError {
    fn from(error: BuildError) -> Self {
        TopologyError::Build(error)
    }
}

/// Packets an access link's queue holds: enough never to drop.
const ACCESS_LIMIT: &str = "taildrop:limit=1000000";

/// A plain queue.
fn tail_drop(text: &str) -> Result<AnyQdisc, ComponentError> {
    AnyQdisc::build(&Arguments::parse(qdisc::COMPONENTS, text)?)
}

/// Builds the path. The probe, if any, is the flow after the last.
pub fn build(scenario: &Scenario) -> Result<Topology, TopologyError> {
    let half = scenario.base_rtt / 2;
    let rest = scenario.base_rtt.saturating_sub(half);
    let flows = &scenario.flows;
    let down = NodeSpec::Delay(DelaySpec { jitter: scenario.jitter, ..DelaySpec::constant(half) });
    let mut builder = PathBuilder::new();
    let (entry, last) = match &scenario.bottleneck {
        Bottleneck::Link { qdisc, link } => {
            builder = builder
                .node("bottleneck", NodeSpec::Queue(AnyQdisc::build(qdisc)?))
                .node("link", NodeSpec::link(link.0.clone()))
                .connect("bottleneck", "link");
            ("bottleneck", "link")
        }
        Bottleneck::Cell(spec) => {
            builder = cell::add(builder, spec, flows)?;
            (if spec.n3.is_some() { cell::N3 } else { cell::CLASSIFIER }, cell::CELL)
        }
    };
    builder = builder
        .node("down", down)
        .node("receivers", NodeSpec::Exit)
        .node("senders", NodeSpec::Exit)
        .chain(&[last, "down", "receivers"]);
    let mut ups = Vec::new();
    for ue in 0..scenario.bottleneck.as_cell().map_or(1, |cell| cell.ues.len()) {
        let Some(uplink) = &scenario.uplink else {
            ups.push("up".to_string());
            continue;
        };
        let name = |what: &str| match scenario.bottleneck.as_cell().and_then(|cell| cell.ues.get(ue)) {
            Some(ue) => format!("{what}/{}", ue.name),
            None => what.to_string(),
        };
        let (queue, link) = (name("uplink"), name("uplink-link"));
        builder = builder
            .node(&queue, NodeSpec::Queue(tail_drop(&format!("taildrop:limit={}", uplink.limit))?))
            .node(&link, NodeSpec::link(uplink.link.0.clone()))
            .chain(&[&queue, &link, "up"]);
        ups.push(queue);
    }
    let up_of = |flow: &FlowSpec| ups.get(flow.ue).or_else(|| ups.first()).map_or("up", String::as_str);
    builder = connect_up(builder, rest, flows);
    let mut data_names = Vec::new();
    let mut ack_names = Vec::new();
    for (i, flow) in flows.iter().enumerate() {
        data_names.push(entry.to_string());
        ack_names.push(up_of(flow).to_string());
        let Some(rate) = flow.access else { continue };
        let name = |what: &str| format!("{what}-{i}");
        for (side, to) in [("access", entry), ("return", up_of(flow))] {
            let (queue, line) = (name(side), name(&format!("{side}-line")));
            builder = builder
                .node(&queue, NodeSpec::Queue(tail_drop(ACCESS_LIMIT)?))
                .node(&line, NodeSpec::link(Line::new(rate, 0)))
                .chain(&[&queue, &line, to]);
        }
        data_names[i] = name("access");
        ack_names[i] = name("return");
    }
    let path = builder.build(scenario.seed)?;
    let nodes: BTreeMap<&str, NodeId> = path.nodes().map(|node| (path.name(node), node)).collect();
    let find =
        |name: &str| nodes.get(name).copied().unwrap_or_else(|| unreachable!("'{name}' was just added"));
    let entries = |names: &[String], default: &str| {
        names.iter().map(|name| find(name)).chain([find(default)]).collect::<Vec<NodeId>>()
    };
    let is_cell = scenario.bottleneck.as_cell().is_some();
    Ok(Topology {
        queue: find(if is_cell { last } else { entry }),
        link: find(last),
        receivers: find("receivers"),
        data_entry: entries(&data_names, entry),
        ack_entry: entries(&ack_names, ups.first().map_or("up", String::as_str)),
        places: scenario.bottleneck.as_cell().map_or(Vec::new(), |spec| cell::places(&path, spec)),
        path,
    })
}

/// From `up` to the senders: one delay for all, or one for each flow that has an extra round trip.
fn connect_up(mut builder: PathBuilder, rest: Span, flows: &[FlowSpec]) -> PathBuilder {
    if flows.iter().all(|flow| flow.extra_rtt == Span::ZERO) {
        return builder.node("up", NodeSpec::delay(rest)).connect("up", "senders");
    }
    let mut rules = Rules::by(Key::Flow).otherwise("up-all", None);
    for (i, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.extra_rtt > Span::ZERO) {
        let name = format!("up-{i}");
        builder = builder.node(&name, NodeSpec::delay(rest + flow.extra_rtt)).connect(&name, "senders");
        rules = rules.route(i as u32..=i as u32, &name, None);
    }
    builder
        .node("up", NodeSpec::Classifier(rules))
        .node("up-all", NodeSpec::delay(rest))
        .connect("up-all", "senders")
}
