//! The graph of a scenario: a dumbbell with the bottleneck in the data direction and the uplink in the other.
//!
//! ```text
//! flow i -> [access-i] -+-> bottleneck -> link -> (by flow) -> [delay-down-i] -> receiver-side exit
//!                       |
//! sender-side exit <- delay-up-i <- [uplink-link <- uplink] <- [return-access-i] <- acknowledgements
//! ```

use crate::scenario::{FlowSpec, Scenario};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, ComponentError};
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_path::{BuildError, DelaySpec, Key, Line, NodeId, NodeSpec, Path, PathBuilder, Rules};

/// The path of a scenario and the places on it that matter to flows.
pub struct Topology {
    pub path: Path,
    pub queue: NodeId,
    pub link: NodeId,
    pub receivers: NodeId,
    /// Where each flow's data enters.
    pub data_entry: Vec<NodeId>,
    /// Where each flow's acknowledgements enter.
    pub ack_entry: Vec<NodeId>,
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
    let mut builder = PathBuilder::new()
        .node("bottleneck", NodeSpec::Queue(AnyQdisc::build(&scenario.qdisc)?))
        .node("link", NodeSpec::link(scenario.link.0.clone()))
        .node("down", NodeSpec::Delay(DelaySpec { jitter: scenario.jitter, ..DelaySpec::constant(half) }))
        .node("receivers", NodeSpec::Exit)
        .node("senders", NodeSpec::Exit)
        .chain(&["bottleneck", "link", "down", "receivers"]);
    let mut up = "up";
    if let Some(uplink) = &scenario.uplink {
        builder = builder
            .node("uplink", NodeSpec::Queue(tail_drop(&format!("taildrop:limit={}", uplink.limit))?))
            .node("uplink-link", NodeSpec::link(uplink.link.0.clone()))
            .chain(&["uplink", "uplink-link", "up"]);
        up = "uplink";
    }
    builder = connect_up(builder, rest, flows);
    let mut data_names = Vec::new();
    let mut ack_names = Vec::new();
    for (i, flow) in flows.iter().enumerate() {
        data_names.push("bottleneck".to_string());
        ack_names.push(up.to_string());
        let Some(rate) = flow.access else { continue };
        let name = |what: &str| format!("{what}-{i}");
        for (side, to) in [("access", "bottleneck"), ("return", up)] {
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
    let find = |name: &str| path.node(name).unwrap_or_else(|| unreachable!("'{name}' was just added"));
    let entries = |names: &[String], default: &str| {
        names.iter().map(|name| find(name)).chain([find(default)]).collect::<Vec<NodeId>>()
    };
    Ok(Topology {
        queue: find("bottleneck"),
        link: find("link"),
        receivers: find("receivers"),
        data_entry: entries(&data_names, "bottleneck"),
        ack_entry: entries(&ack_names, up),
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
