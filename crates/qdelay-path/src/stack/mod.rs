//! The graph of a scenario, whoever holds the clock: a dumbbell with the bottleneck in the data direction and the uplink in the
//! other.
//!
//! ```text
//! flow i -> [access-i] -+-> [hops] -> bottleneck -> link -> (by flow) -> [delay-down-i] -> receiver-side exit
//!                       |
//! sender-side exit <- delay-up-i <- [uplink-link <- uplink] <- [return-access-i] <- acknowledgements
//! ```
//!
//! [Hops](HopSpec) are links in series that all flows cross before they come to the bottleneck. Where the bottleneck is a
//! [cell](CellScenario), its nodes stand in place of the bottleneck and the link, and every UE has an
//! uplink of its own. A host that knows the flow of a packet puts it in where that flow enters; one that knows only its class
//! has it sent there ([`FlowKey::Class`]).

mod cell;
mod hops;
mod nodes;

pub use cell::{Backhaul, BearerSpec, ByDscp, CellScenario, GateSpec, QosFlowSpec, UeSpec, UpfSpec};
pub use hops::{HOPS_MAX, HopSpec};
pub use nodes::Place;

use crate::{AnyLink, BuildError, DelaySpec, Key, Line, NodeId, NodeSpec, Path, PathBuilder, Rules};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use qdelay_core::component::{Arguments, ComponentError};
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_core::{Rate, Span};

/// What the data direction crosses.
#[derive(Clone, Debug)]
pub enum Bottleneck {
    /// A queue and the link that it feeds.
    Link {
        /// The queue's discipline.
        qdisc: Arguments,
        /// The link.
        link: LinkSpec,
    },
    /// A cell of a mobile network, and the queues above it.
    Cell(Box<CellScenario>),
}

impl Bottleneck {
    /// A queue and a link.
    pub fn link(qdisc: Arguments, link: impl Into<AnyLink>) -> Bottleneck {
        Bottleneck::Link { qdisc, link: LinkSpec(link.into()) }
    }
    /// The discipline and the link, unless it is a cell.
    pub fn as_link(&self) -> Option<(&Arguments, &LinkSpec)> {
        if let Bottleneck::Link { qdisc, link } = self { Some((qdisc, link)) } else { None }
    }
    /// The cell, if it is one.
    pub fn as_cell(&self) -> Option<&CellScenario> {
        if let Bottleneck::Cell(cell) = self { Some(cell) } else { None }
    }
}

/// A link, ready to be put on a path.
#[derive(Clone, Debug)]
pub struct LinkSpec(pub AnyLink);

/// The way back.
#[derive(Clone, Debug)]
pub struct Uplink {
    /// What it carries.
    pub link: LinkSpec,
    /// Packets its queue holds.
    pub limit: u64,
}

/// Where a flow goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowWay {
    /// Its own access link in front of the bottleneck, and behind it for acknowledgements; `None` for no limit.
    pub access: Option<Rate>,
    /// At most this much more delay behind the access link in the data direction; packets keep their order. Without an
    /// access link it is not looked at.
    pub access_jitter: Span,
    /// Added to the base round trip, for this flow alone.
    pub extra_rtt: Span,
    /// The UE that it goes to: a place in [`CellScenario::ues`]. Without a cell it is not looked at.
    pub ue: usize,
    /// The QoS flow of that UE that carries it: its QFI. Without a cell it is not looked at.
    pub qfi: u8,
}

/// How packets say which flow they are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowKey {
    /// By [`Packet::flow`](qdelay_core::Packet::flow), and the host puts them in where their flow enters.
    Flow,
    /// By [`Packet::class`](qdelay_core::Packet::class), and all are put in at one place in each direction.
    Class,
}

/// What a graph is built from.
#[derive(Clone, Copy, Debug)]
pub struct Dumbbell<'a> {
    /// What the data direction crosses in front of the bottleneck, in this order.
    pub hops: &'a [HopSpec],
    /// What the data direction crosses.
    pub bottleneck: &'a Bottleneck,
    /// What the acknowledgements cross; behind a cell each UE has such an uplink of its own.
    pub uplink: Option<&'a Uplink>,
    /// Round trip without any queue or transmission: half of it behind the bottleneck, half behind the uplink.
    pub base_rtt: Span,
    /// At most this much more delay behind the bottleneck.
    pub jitter: Span,
    /// The flows, each with a number of its own: its place here. What is of none goes the first one's way in a cell.
    pub flows: &'a [FlowWay],
    /// How packets say which they are of.
    pub key: FlowKey,
    /// Seed of every random stream.
    pub seed: u64,
}

/// A path and the places on it that matter to flows.
pub struct Topology {
    /// The path.
    pub path: Path,
    /// The bottleneck's queue. A cell has several: here it is itself, which nothing is queued at.
    pub queue: NodeId,
    /// The bottleneck's link, or the cell.
    pub link: NodeId,
    /// The exit of data.
    pub receivers: NodeId,
    /// The exit of acknowledgements.
    pub senders: NodeId,
    /// Where each flow's data enters, and behind the last one what is of no flow; of [`FlowKey::Class`] all at one place.
    pub data_entry: Vec<NodeId>,
    /// Where each flow's acknowledgements enter; as above.
    pub ack_entry: Vec<NodeId>,
    /// Queues and links of the uplinks; none without an uplink.
    pub uplinks: Vec<[NodeId; 2]>,
    /// Of each node, whether acknowledgements come to it and not data.
    pub is_back: Vec<bool>,
    /// What each node is to a cell, by its place; empty without one.
    pub places: Vec<Place>,
}

/// Why there is no path.
#[derive(Clone, Debug, PartialEq)]
pub enum StackError {
    /// A discipline or pacer cannot be built as asked.
    Component(ComponentError),
    /// The path cannot be built.
    Build(BuildError),
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StackError::Component(error) => error.fmt(f),
            StackError::Build(error) => error.fmt(f),
        }
    }
}
impl core::error::Error for StackError {}

impl From<ComponentError> for StackError {
    fn from(error: ComponentError) -> Self {
        StackError::Component(error)
    }
}
impl From<BuildError> for StackError {
    fn from(error: BuildError) -> Self {
        StackError::Build(error)
    }
}

/// Packets an access link's queue holds: enough never to drop.
const ACCESS_LIMIT: &str = "taildrop:limit=1000000";
/// The nodes at which packets that say their class only are put in: data and acknowledgements.
pub const CLASSES: [&str; 2] = ["flows", "returns"];

/// A plain queue.
fn tail_drop(text: &str) -> Result<AnyQdisc, ComponentError> {
    AnyQdisc::build(&Arguments::parse(qdisc::COMPONENTS, text)?)
}

/// Names of nodes that flows enter by, and of all that are on the way back.
struct Names {
    entry: String,
    ups: Vec<String>,
    data: Vec<String>,
    acks: Vec<String>,
    back: Vec<String>,
}

impl Dumbbell<'_> {
    /// Builds the path. A probe, if any, is the flow after the last.
    ///
    /// # Errors
    /// A component that cannot be built, or a path that cannot be.
    pub fn build(&self) -> Result<Topology, StackError> {
        let half = self.base_rtt / 2;
        let cell = self.bottleneck.as_cell();
        let down = NodeSpec::Delay(DelaySpec { jitter: self.jitter, ..DelaySpec::constant(half) });
        let mut builder = PathBuilder::new();
        let (entry, last) = match self.bottleneck {
            Bottleneck::Link { qdisc, link } => {
                builder = builder
                    .node("bottleneck", NodeSpec::Queue(AnyQdisc::build(qdisc)?))
                    .node("link", NodeSpec::link(link.0.clone()))
                    .connect("bottleneck", "link");
                ("bottleneck", "link")
            }
            Bottleneck::Cell(spec) => {
                builder = nodes::add(builder, spec, self.key(), self.flows)?;
                (if spec.n3.is_some() { nodes::N3 } else { nodes::CLASSIFIER }, nodes::CELL)
            }
        };
        builder = builder
            .node("down", down)
            .node("receivers", NodeSpec::Exit)
            .node("senders", NodeSpec::Exit)
            .chain(&[last, "down", "receivers"]);
        let (builder, entry) = hops::add(builder, self.hops, entry)?;
        let mut names = Names {
            entry,
            ups: Vec::new(),
            data: Vec::new(),
            acks: Vec::new(),
            back: vec!["senders".to_string(), "up".to_string()],
        };
        let mut builder = self.add_uplinks(builder, &mut names)?;
        builder = self.add_up(builder, &mut names);
        builder = self.add_access(builder, &mut names)?;
        if self.key == FlowKey::Class {
            builder = self.add_classes(builder, &mut names);
        }
        let path = builder.build(self.seed)?;
        Ok(self.topology(path, &names, last, cell))
    }

    fn key(&self) -> Key {
        match self.key {
            FlowKey::Flow => Key::Flow,
            FlowKey::Class => Key::Class,
        }
    }

    /// An uplink, or one for each UE.
    fn add_uplinks(&self, mut builder: PathBuilder, names: &mut Names) -> Result<PathBuilder, StackError> {
        let cell = self.bottleneck.as_cell();
        for ue in 0..cell.map_or(1, |cell| cell.ues.len()) {
            let Some(uplink) = self.uplink else {
                names.ups.push("up".to_string());
                continue;
            };
            let name = |what: &str| match cell.and_then(|cell| cell.ues.get(ue)) {
                Some(ue) => format!("{what}/{}", ue.name),
                None => what.to_string(),
            };
            let (queue, link) = (name("uplink"), name("uplink-link"));
            builder = builder
                .node(&queue, NodeSpec::Queue(tail_drop(&format!("taildrop:limit={}", uplink.limit))?))
                .node(&link, NodeSpec::link(uplink.link.0.clone()))
                .chain(&[&queue, &link, "up"]);
            names.back.extend([queue.clone(), link]);
            names.ups.push(queue);
        }
        Ok(builder)
    }

    /// From `up` to the senders: one delay for all, or one for each flow that has an extra round trip.
    fn add_up(&self, mut builder: PathBuilder, names: &mut Names) -> PathBuilder {
        let rest = self.base_rtt.saturating_sub(self.base_rtt / 2);
        if self.flows.iter().all(|flow| flow.extra_rtt == Span::ZERO) {
            return builder.node("up", NodeSpec::delay(rest)).connect("up", "senders");
        }
        let mut rules = Rules::by(self.key()).otherwise("up-all", None);
        for (i, flow) in self.flows.iter().enumerate().filter(|(_, flow)| flow.extra_rtt > Span::ZERO) {
            let name = format!("up-{i}");
            builder = builder.node(&name, NodeSpec::delay(rest + flow.extra_rtt)).connect(&name, "senders");
            rules = rules.route(i as u32..=i as u32, &name, None);
            names.back.push(name);
        }
        names.back.push("up-all".to_string());
        builder
            .node("up", NodeSpec::Classifier(rules))
            .node("up-all", NodeSpec::delay(rest))
            .connect("up-all", "senders")
    }

    /// The access links, and where each flow enters.
    fn add_access(&self, mut builder: PathBuilder, names: &mut Names) -> Result<PathBuilder, StackError> {
        for (i, flow) in self.flows.iter().enumerate() {
            let up = names.up_of(flow).to_string();
            let Some(rate) = flow.access else {
                names.data.push(names.entry.clone());
                names.acks.push(up);
                continue;
            };
            let name = |what: &str| format!("{what}-{i}");
            let mut data_to = names.entry.clone();
            if flow.access_jitter > Span::ZERO {
                // Its random stream is that of its name, and so the flow's own.
                let jitter = name("access-jitter");
                let spec = DelaySpec { jitter: flow.access_jitter, ..DelaySpec::constant(Span::ZERO) };
                builder = builder.node(&jitter, NodeSpec::Delay(spec)).connect(&jitter, &data_to);
                data_to = jitter;
            }
            for (side, to) in [("access", &data_to), ("return", &up)] {
                let (queue, line) = (name(side), name(&format!("{side}-line")));
                builder = builder
                    .node(&queue, NodeSpec::Queue(tail_drop(ACCESS_LIMIT)?))
                    .node(&line, NodeSpec::link(Line::new(rate, 0)))
                    .chain(&[&queue, &line, to]);
            }
            names.data.push(name("access"));
            names.acks.push(name("return"));
            names.back.extend([name("return"), name("return-line")]);
        }
        Ok(builder)
    }

    /// One place in each direction that sends every class to where its flow enters.
    fn add_classes(&self, mut builder: PathBuilder, names: &mut Names) -> PathBuilder {
        let [flows, returns] = CLASSES;
        let (entry, first_up) = (names.entry.clone(), names.first_up().to_string());
        for (name, entries, rest) in
            [(flows, &mut names.data, entry.as_str()), (returns, &mut names.acks, first_up.as_str())]
        {
            let mut rules = Rules::by(Key::Class).otherwise(rest, None);
            for (class, entry) in (0_u32..).zip(entries.iter()) {
                rules = rules.route(class..=class, entry, None);
            }
            builder = builder.node(name, NodeSpec::Classifier(rules));
            entries.iter_mut().for_each(|entry| *entry = name.to_string());
        }
        names.back.push(returns.to_string());
        builder
    }

    fn topology(&self, path: Path, names: &Names, last: &str, cell: Option<&CellScenario>) -> Topology {
        let nodes: BTreeMap<&str, NodeId> = path.nodes().map(|node| (path.name(node), node)).collect();
        let find =
            |name: &str| nodes.get(name).copied().unwrap_or_else(|| unreachable!("'{name}' was just added"));
        let is_by_class = self.key == FlowKey::Class;
        let entries = |all: &[String], class: &str, default: &str| {
            let rest = if is_by_class { class } else { default };
            all.iter().map(|name| find(name)).chain([find(rest)]).collect::<Vec<NodeId>>()
        };
        let uplinks = match self.uplink {
            None => Vec::new(),
            Some(_) => {
                let link = |queue: &str| queue.replacen("uplink", "uplink-link", 1);
                names.ups.iter().map(|queue| [find(queue), find(&link(queue))]).collect()
            }
        };
        let mut is_back = vec![false; nodes.len()];
        for name in &names.back {
            if let Some(entry) = is_back.get_mut(find(name).index()) {
                *entry = true;
            }
        }
        Topology {
            queue: find(if cell.is_some() { last } else { "bottleneck" }),
            link: find(last),
            receivers: find("receivers"),
            senders: find("senders"),
            data_entry: entries(&names.data, CLASSES[0], &names.entry),
            ack_entry: entries(&names.acks, CLASSES[1], names.first_up()),
            uplinks,
            is_back,
            places: cell.map_or(Vec::new(), |spec| nodes::places(&path, spec)),
            path,
        }
    }
}

impl Names {
    fn first_up(&self) -> &str {
        self.ups.first().map_or("up", String::as_str)
    }
    fn up_of(&self, flow: &FlowWay) -> &str {
        self.ups.get(flow.ue).map_or(self.first_up(), String::as_str)
    }
}
