//! The graph of a scenario, for any clock: a dumbbell with the bottleneck in the data direction and the uplink in the
//! other.
//!
//! ```text
//! flow i -> [access-i] -+-> [hops] -> [light] -> bottleneck -> link -> (by flow) -> [delay-down-i] -> receiver-side exit
//!                       |
//! sender-side exit <- delay-up-i <- [uplink-link <- uplink] <- [return-access-i] <- acknowledgements
//! ```
//!
//! Access links are wires, and one of acknowledgements that meets no others on its way has the delay in it.
//!
//! A node for loss, corruption, reordering and duplication, where there is any, stands in front of the delay of its direction.
//!
//! A [`Plan`] is the other kind of path: a queue, a link, an impairment and a delay in each direction, for `qdelay link` and gateways.
//!
//! A light load stands in front of the queue of a link that replays two loads.
//!
//! [Hops](HopSpec) are links in series that all flows cross before they come to the bottleneck. Where the bottleneck is a
//! [cell](CellScenario), its nodes stand in place of the bottleneck and the link, and every UE has an
//! uplink of its own, or queues at the [uplink of the cell](CellUplink). A host that knows the flow of a packet puts it in where that flow enters; one that knows only its class
//! has it sent there ([`FlowKey::Class`]).

mod adjust;
mod cell;
mod hops;
mod nodes;
mod plan;
mod uplink;

pub use adjust::{Adjustment, DirectionAdjustment};
pub use cell::{
    Backhaul, BearerSpec, ByDscp, CellScenario, CellUplink, GateSpec, QosFlowSpec, UeSpec, UpfSpec,
    UplinkBearerSpec,
};
pub use hops::{HOPS_MAX, HopSpec};
pub use nodes::Place;
pub use plan::{
    Direction, LATENESS_CEILING, LATENESS_FLOOR, PathNodes, Plan, Port, Role, lateness_limit, step,
};

use crate::delay::Part;
use crate::{
    AnyLink, BuildError, Curve, DelaySpec, ImpairmentSpec, Impairments, Jitter, Key, LinkModel, NodeId,
    NodeSpec, Path, PathBuilder, Rules, WireSpec,
};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use qdelay_core::component::{Arguments, ComponentError};
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_core::{Rate, Span};

/// The bottleneck of the data direction.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a scenario has one, and a box would have to be opened in every pattern"
)]
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
    /// Link of the uplink.
    pub link: LinkSpec,
    /// Packets its queue holds.
    pub limit: u64,
    /// The discipline of its queue, with a limit of its own; `None` for tail drop of `limit` packets.
    pub qdisc: Option<Arguments>,
}

impl Uplink {
    /// A link behind a tail-drop queue of `limit` packets.
    pub fn tail_drop(link: impl Into<AnyLink>, limit: u64) -> Uplink {
        Uplink { link: LinkSpec(link.into()), limit, qdisc: None }
    }
}

/// Path of a flow, apart from what all flows share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowWay {
    /// Rate of its own access link in front of the bottleneck, and behind it for acknowledgements; `None` for no limit.
    pub access: Option<Rate>,
    /// At most this much more delay behind the access link in the data direction; packets keep their order. Without an
    /// access link it is not looked at.
    pub access_jitter: Span,
    /// Added to the base round trip, for this flow alone, behind the uplink.
    pub extra_rtt: Span,
    /// A delay over time, in addition to `extra_rtt` and at the same place.
    pub extra_curve: Option<Box<Curve>>,
    /// The UE that it goes to: a place in [`CellScenario::ues`]. Without a cell it is not looked at.
    pub ue: usize,
    /// The QoS flow of that UE that carries it: its QFI. Without a cell it is not looked at.
    pub qfi: u8,
    /// Whether its data crosses the uplink, and its acknowledgements the bottleneck. The host puts them in there.
    pub is_upload: bool,
}

/// Field of a packet that names its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowKey {
    /// By [`Packet::flow`](qdelay_core::Packet::flow), and the host puts them in where their flow enters.
    Flow,
    /// By [`Packet::class`](qdelay_core::Packet::class), and all are put in at one place in each direction.
    Class,
}

/// The specification of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Dumbbell<'a> {
    /// The hops of the data direction before the bottleneck, in this order.
    pub hops: &'a [HopSpec],
    /// The bottleneck.
    pub bottleneck: &'a Bottleneck,
    /// The uplink of the acknowledgements; behind a cell each UE has such an uplink of its own.
    pub uplink: Option<&'a Uplink>,
    /// Round trip without any queue or transmission: half of it behind the bottleneck, half behind the uplink.
    pub base_rtt: Span,
    /// A round trip over time, in place of `base_rtt`.
    pub rtt_curve: Option<&'a Curve>,
    /// A random part of the delay behind the bottleneck.
    pub jitter: &'a Jitter,
    /// A random part of the delay behind the uplink.
    pub uplink_jitter: &'a Jitter,
    /// Loss, corruption, reordering and duplication.
    pub impairments: &'a Impairments,
    /// The flows, each with a number of its own: its place here. What is of none goes the first one's way in a cell.
    pub flows: &'a [FlowWay],
    /// Field of a packet that names its flow.
    pub key: FlowKey,
    /// True if impairments may be added while the path runs.
    pub is_changeable: bool,
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
    /// The delay behind it.
    pub down: NodeId,
    /// The exit of data.
    pub receivers: NodeId,
    /// The impairments of data and acknowledgements, where there are.
    pub impairments: [Option<NodeId>; 2],
    /// The delay of acknowledgements, or where those of each flow are sent to a delay of their own.
    pub up: NodeId,
    /// The exit of acknowledgements.
    pub senders: NodeId,
    /// Entry of each flow's data, and behind the last one that of packets without a flow; with [`FlowKey::Class`] one entry for all. An
    /// upload's acknowledgements enter here.
    pub data_entry: Vec<NodeId>,
    /// Entry of each flow's acknowledgements; as above. An upload's data enters here.
    pub ack_entry: Vec<NodeId>,
    /// Queue and link of each hop, in the order of [`Dumbbell::hops`].
    pub hops: Vec<[NodeId; 2]>,
    /// Queues and links of the uplinks; none without an uplink. The link of all bearers in the uplink of a cell is that uplink.
    pub uplinks: Vec<[NodeId; 2]>,
    /// Whether acknowledgements come to the node and not data, by [`NodeId::index`].
    pub is_back: Vec<bool>,
    /// The role of each node, by [`NodeId::index`].
    pub places: Vec<Place>,
}

/// Why there is no path.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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

/// Packets an access link holds: enough never to drop.
const ACCESS_LIMIT: u64 = 1_000_000;
/// The nodes at which packets that say their class only are put in: data and acknowledgements.
const CLASSES: [&str; 2] = ["flows", "returns"];
/// The nodes that lose, reorder and copy packets: behind the bottleneck and behind the uplink.
const IMPAIRMENTS: [&str; 2] = ["impairment", "uplink-impairment"];

/// A plain queue.
fn tail_drop(text: &str) -> Result<AnyQdisc, ComponentError> {
    AnyQdisc::build(&Arguments::parse(qdisc::COMPONENTS, text)?)
}

/// The path during construction, and the nodes so far.
#[derive(Default)]
struct Stack {
    builder: PathBuilder,
    places: Vec<Place>,
    is_back: Vec<bool>,
}

impl Stack {
    /// Declares a node on the way of data.
    fn add(&mut self, place: Place, name: &str, spec: NodeSpec) -> NodeId {
        self.places.push(place);
        self.is_back.push(false);
        self.builder.add(name, spec)
    }
    /// Declares a node on the way of acknowledgements.
    fn add_back(&mut self, place: Place, name: &str, spec: NodeSpec) -> NodeId {
        let node = self.add(place, name, spec);
        self.is_back[node.index()] = true;
        node
    }
    /// Packets go through the nodes of these names one after the other; some may be declared later.
    fn chain(&mut self, names: &[&str]) {
        self.change(|builder| builder.chain(names));
    }
    /// [`Stack::chain`] that ends at an existing node.
    fn chain_to(&mut self, names: &[&str], to: NodeId) {
        let to = self.builder.name_of(to).to_string();
        self.chain(&[names, &[&to]].concat());
    }
    /// The light load of `link` in front of its `queue`, where it has one; returns the node that packets enter by.
    fn add_light(&mut self, link: &LinkSpec, name: &str, queue: NodeId) -> NodeId {
        let Some(load) = link.0.light() else { return queue };
        self.chain_to(&[name], queue);
        // It belongs to the direction of its queue.
        let is_back = self.is_back[queue.index()];
        let node = self.add(Place::Elsewhere, name, NodeSpec::Light(load));
        self.is_back[node.index()] = is_back;
        node
    }
    fn change(&mut self, change: impl FnOnce(PathBuilder) -> PathBuilder) {
        self.builder = change(core::mem::take(&mut self.builder));
    }
}

/// Entries of the flows.
struct Entries {
    data: Vec<NodeId>,
    acks: Vec<NodeId>,
}

impl Dumbbell<'_> {
    /// Builds the path. A probe, if any, is the flow after the last.
    ///
    /// # Errors
    /// A component that cannot be built, or a path that cannot be.
    pub fn build(&self) -> Result<Topology, StackError> {
        // From the bottleneck outwards: hops and access links are chained to the entry that the bottleneck has.
        let mut stack = Stack::default();
        let (entry, queue, link) = self.add_bottleneck(&mut stack)?;
        let down = NodeSpec::Delay(self.delay(Part::Half, Span::ZERO));
        let down = stack.add(Place::Elsewhere, "down", down);
        let receivers = stack.add(Place::Elsewhere, "receivers", NodeSpec::Exit);
        let senders = stack.add_back(Place::Elsewhere, "senders", NodeSpec::Exit);
        let last = stack.builder.name_of(link).to_string();
        if self.is_impaired(&self.impairments.down) {
            stack.chain(&[&last, IMPAIRMENTS[0], "down", "receivers"]);
        } else {
            stack.chain(&[&last, "down", "receivers"]);
        }
        let impaired_down = self.add_impairment(&mut stack, &self.impairments.down, IMPAIRMENTS[0]);
        let (entry, hops) = hops::add(&mut stack, self.hops, entry)?;
        let (ups, uplinks) = self.add_uplinks(&mut stack)?;
        let up = self.add_up(&mut stack);
        let impaired_up = self.add_impairment(&mut stack, &self.impairments.up, IMPAIRMENTS[1]);
        if impaired_up.is_some() || !ups.is_empty() && self.is_impaired(&self.impairments.up) {
            stack.chain(&[IMPAIRMENTS[1], "up"]);
        }
        let ups = if ups.is_empty() { vec![impaired_up.unwrap_or(up)] } else { ups };
        let mut entries = self.add_access(&mut stack, entry, &ups, senders)?;
        if self.key == FlowKey::Class {
            self.add_classes(&mut stack, &mut entries);
        }
        let impairments =
            self.add_idle_impairments(&mut stack, [impaired_down, impaired_up], !uplinks.is_empty());
        let Stack { builder, places, is_back } = stack;
        let Entries { data: data_entry, acks: ack_entry } = entries;
        let path = builder.build(self.seed)?;
        Ok(Topology {
            path,
            queue,
            link,
            down,
            receivers,
            impairments,
            up,
            senders,
            data_entry,
            ack_entry,
            hops,
            uplinks,
            is_back,
            places,
        })
    }

    /// Whether there is a node for `spec`: where it does something, and where it may be changed to do something.
    fn is_impaired(&self, spec: &ImpairmentSpec) -> bool {
        !spec.is_none() || self.is_changeable
    }

    /// The node `name` for `spec`, where it does something.
    fn add_impairment(&self, stack: &mut Stack, spec: &ImpairmentSpec, name: &str) -> Option<NodeId> {
        let is_up = name == IMPAIRMENTS[1];
        let add = if is_up { Stack::add_back } else { Stack::add };
        (!spec.is_none()).then(|| add(stack, Place::Elsewhere, name, NodeSpec::Impairment(spec.clone())))
    }

    /// Where the path may be changed, the nodes of impairments that do nothing yet, behind all others, so that these have the places that they have in
    /// the simulator. Acknowledgements that meet no uplink have none.
    fn add_idle_impairments(
        &self,
        stack: &mut Stack,
        [down, up]: [Option<NodeId>; 2],
        has_uplink: bool,
    ) -> [Option<NodeId>; 2] {
        let idle = || NodeSpec::Impairment(ImpairmentSpec::default());
        let down =
            down.or_else(|| self.is_changeable.then(|| stack.add(Place::Elsewhere, IMPAIRMENTS[0], idle())));
        let up = up.or_else(|| {
            (self.is_changeable && has_uplink)
                .then(|| stack.add_back(Place::Elsewhere, IMPAIRMENTS[1], idle()))
        });
        [down, up]
    }

    fn key(&self) -> Key {
        match self.key {
            FlowKey::Flow => Key::Flow,
            FlowKey::Class => Key::Class,
        }
    }

    /// The node that packets enter by, the bottleneck's queue and its link; of a cell itself for both.
    fn add_bottleneck(&self, stack: &mut Stack) -> Result<(NodeId, NodeId, NodeId), StackError> {
        match self.bottleneck {
            Bottleneck::Link { qdisc, link } => {
                let qdisc = NodeSpec::Queue(AnyQdisc::build(qdisc)?);
                let queue = stack.add(Place::Bottleneck, "bottleneck", qdisc);
                let entry = stack.add_light(link, "light", queue);
                let link = stack.add(Place::Link, "link", NodeSpec::link(link.0.clone()));
                stack.chain(&["bottleneck", "link"]);
                Ok((entry, queue, link))
            }
            Bottleneck::Cell(spec) => {
                let (entry, cell) = nodes::add(stack, spec, self.key(), self.flows)?;
                Ok((entry, cell, cell))
            }
        }
    }

    /// The uplink of the cell, if it has one.
    fn cell_uplink(&self) -> Option<(&CellScenario, &CellUplink)> {
        let cell = self.bottleneck.as_cell()?;
        Some((cell, cell.uplink.as_ref()?))
    }

    /// An uplink, or one for each UE: where its packets enter, and queues and links.
    fn add_uplinks(&self, stack: &mut Stack) -> Result<(Vec<NodeId>, Vec<[NodeId; 2]>), StackError> {
        let behind = if self.is_impaired(&self.impairments.up) { IMPAIRMENTS[1] } else { "up" };
        if let Some((cell, uplink)) = self.cell_uplink() {
            let added = uplink::add(stack, cell, uplink, self.key(), self.flows, behind)?;
            return Ok((added.entries, added.pairs));
        }
        let Some(uplink) = self.uplink else { return Ok((Vec::new(), Vec::new())) };
        let ues: Vec<String> = match self.bottleneck.as_cell() {
            Some(cell) => cell.ues.iter().map(|ue| format!("/{}", ue.name)).collect(),
            None => vec![String::new()],
        };
        let (mut entries, mut uplinks) = (Vec::new(), Vec::new());
        for ue in ues {
            let queue = format!("uplink{ue}");
            // UEs share no uplink here: each has a queue and a link of its own.
            stack.chain(&[&queue, &format!("uplink-link{ue}"), behind]);
            let qdisc = match &uplink.qdisc {
                Some(qdisc) => AnyQdisc::build(qdisc)?,
                None => tail_drop(&format!("taildrop:limit={}", uplink.limit))?,
            };
            let queue = stack.add_back(Place::Uplink, &queue, NodeSpec::Queue(qdisc));
            entries.push(stack.add_light(&uplink.link, &format!("uplink-light{ue}"), queue));
            let link = NodeSpec::link(uplink.link.0.clone());
            uplinks.push([queue, stack.add_back(Place::UplinkLink, &format!("uplink-link{ue}"), link)]);
        }
        Ok((entries, uplinks))
    }

    /// The part of the base round trip that is behind the uplink, where it does not change over time.
    fn rest(&self) -> Span {
        self.base_rtt.saturating_sub(self.base_rtt / 2)
    }

    /// A part of the round trip, and `extra`.
    fn delay(&self, part: Part, extra: Span) -> DelaySpec {
        let own = match (self.rtt_curve, part) {
            (Some(_), _) => Span::ZERO,
            (None, Part::Half) => self.base_rtt / 2,
            (None, Part::Rest | Part::Whole) => self.rest(),
        };
        let curve = self.rtt_curve.map(|curve| Box::new(curve.clone().part(part)));
        let jitter = if part == Part::Half { self.jitter } else { self.uplink_jitter };
        DelaySpec { curve, ..DelaySpec::constant(own + extra).with_jitter(jitter.clone()) }
    }

    /// Whether the acknowledgements of `flow` meet no others on their way, so that its access link leads to the senders.
    fn returns_alone(&self, flow: &FlowWay) -> bool {
        let is_direct =
            self.uplink.is_none() && self.cell_uplink().is_none() && !self.is_impaired(&self.impairments.up);
        let has_jitter = !self.uplink_jitter.is_none() || flow.is_upload && flow.access_jitter > Span::ZERO;
        let moves = self.rtt_curve.is_some() || flow.extra_curve.is_some();
        flow.access.is_some() && is_direct && !has_jitter && !moves
    }

    /// From `up` to the senders: one delay for all, or one for each flow that has an extra round trip.
    fn add_up(&self, stack: &mut Stack) -> NodeId {
        let rest = |extra: Span| NodeSpec::Delay(self.delay(Part::Rest, extra));
        let has_extra = |flow: &FlowWay| {
            (flow.extra_rtt > Span::ZERO || flow.extra_curve.is_some()) && !self.returns_alone(flow)
        };
        if !self.flows.iter().any(has_extra) {
            stack.chain(&["up", "senders"]);
            return stack.add_back(Place::Elsewhere, "up", rest(Span::ZERO));
        }
        let mut rules = Rules::by(self.key()).otherwise("up-all", None);
        for (i, flow) in self.flows.iter().enumerate().filter(|(_, flow)| has_extra(flow)) {
            let name = format!("up-{i}");
            let mut spec = self.delay(Part::Rest, flow.extra_rtt);
            match &flow.extra_curve {
                // A delay has one curve.
                Some(extra) if spec.curve.is_some() => {
                    let behind = format!("up-extra-{i}");
                    let extra = DelaySpec::over_time(Curve::clone(extra));
                    stack.add_back(Place::Elsewhere, &behind, NodeSpec::Delay(extra));
                    stack.chain(&[&name, &behind, "senders"]);
                }
                extra => {
                    spec.curve = spec.curve.or_else(|| extra.clone());
                    stack.chain(&[&name, "senders"]);
                }
            }
            stack.add_back(Place::Elsewhere, &name, NodeSpec::Delay(spec));
            rules = rules.route(i as u32..=i as u32, &name, None);
        }
        let up = stack.add_back(Place::Elsewhere, "up", NodeSpec::Classifier(rules));
        stack.add_back(Place::Elsewhere, "up-all", rest(Span::ZERO));
        stack.chain(&["up-all", "senders"]);
        up
    }

    /// The access links, and where each flow enters: in the direction of data `entry`, in the other the uplink of its UE. Behind
    /// the last flow stands where what is of no flow enters.
    fn add_access(
        &self,
        stack: &mut Stack,
        entry: NodeId,
        ups: &[NodeId],
        senders: NodeId,
    ) -> Result<Entries, StackError> {
        let mut entries = Entries { data: Vec::new(), acks: Vec::new() };
        for (i, flow) in self.flows.iter().enumerate() {
            let up = ups.get(flow.ue).copied().unwrap_or(ups[0]);
            let Some(rate) = flow.access else {
                entries.data.push(entry);
                entries.acks.push(up);
                continue;
            };
            let name = |what: &str| format!("{what}-{i}");
            let (mut down_to, mut up_to) = (entry, up);
            if flow.access_jitter > Span::ZERO {
                // Its random stream is that of its name, and so the flow's own.
                let jitter = name("access-jitter");
                let spec = DelaySpec::constant(Span::ZERO).with_jitter(flow.access_jitter);
                let spec = NodeSpec::Delay(spec);
                if flow.is_upload {
                    stack.chain_to(&[&jitter], up_to);
                    up_to = stack.add_back(Place::Elsewhere, &jitter, spec);
                } else {
                    stack.chain_to(&[&jitter], down_to);
                    down_to = stack.add(Place::Elsewhere, &jitter, spec);
                }
            }
            let mut delay = Span::ZERO;
            if self.returns_alone(flow) {
                (up_to, delay) = (senders, self.rest() + flow.extra_rtt);
            }
            type Add = fn(&mut Stack, Place, &str, NodeSpec) -> NodeId;
            let mut add = |side: &str, to: NodeId, delay: Span, add: Add| {
                let node = name(side);
                stack.chain_to(&[&node], to);
                let wire = WireSpec { rate, delay, limit: ACCESS_LIMIT };
                add(stack, Place::Elsewhere, &node, NodeSpec::Wire(wire))
            };
            entries.data.push(add("access", down_to, Span::ZERO, Stack::add));
            entries.acks.push(add("return", up_to, delay, Stack::add_back));
        }
        entries.data.push(entry);
        entries.acks.push(ups[0]);
        Ok(entries)
    }

    /// One place in each direction that sends every class to where its flow enters.
    fn add_classes(&self, stack: &mut Stack, entries: &mut Entries) {
        let mut add =
            |name: &str, entries: &mut Vec<NodeId>, add: fn(&mut Stack, Place, &str, NodeSpec) -> NodeId| {
                let mut rules = Rules::by(Key::Class);
                let names = entries.iter().map(|entry| stack.builder.name_of(*entry));
                for (class, name) in (0_u32..).zip(names) {
                    rules = match (class as usize) < self.flows.len() {
                        true => rules.route(class..=class, name, None),
                        false => rules.otherwise(name, None),
                    };
                }
                let node = add(stack, Place::Classes, name, NodeSpec::Classifier(rules));
                entries.fill(node);
            };
        add(CLASSES[0], &mut entries.data, Stack::add);
        add(CLASSES[1], &mut entries.acks, Stack::add_back);
    }
}
