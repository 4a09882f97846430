//! Building a path from named nodes and edges.

use crate::air::Air;
use crate::classifier::{Classifier, Route, Rules};
use crate::delay::{Delay, DelaySpec};
use crate::f1::{F1, F1Setting};
use crate::gate::{Clock, Gate, Refused};
use crate::impairment::{Impairment, ImpairmentSpec};
use crate::inputs::Inputs;
use crate::light::{Light, LightLoad};
use crate::link::AnyLink;
use crate::node::{BearerBuffer, CellNode, Link, Listener, Node, Numbering, Queue, Role};
use crate::problem::{BuildError, BuildProblem};
use crate::wire::{Wire, WireSpec};
use crate::{AnyPacer, NODES_MAX, NodeId, Pacer, Path, PullOrder, SizeUnit};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{Random, Span};
use qdelay_ran::{Cell, CellSetting, UplinkCell, UplinkSetting};

/// The specification of a node.
#[derive(Clone, Debug)]
pub enum NodeSpec<Q = AnyQdisc> {
    /// Sends packets to one of several nodes. Its outputs are named by its rules; an edge from it is its default.
    Classifier(Rules),
    /// Holds packets until a gate or a link takes them.
    Queue(Q),
    /// Takes packets from queues when its law says so.
    Gate(AnyPacer),
    /// Takes packets from queues, or through gates, as fast as its rate allows.
    Link(AnyLink),
    /// Takes packets from the queue of each of its bearers, in the order they are connected, as its radio allows.
    Cell(Box<CellSetting>),
    /// The same in the other direction: the queues are those of UEs.
    Uplink(Box<UplinkSetting>),
    /// Lets time pass.
    Delay(DelaySpec),
    /// Sends packets one after the other at a rate, and lets time pass.
    Wire(WireSpec),
    /// Gives packets PDCP numbers and carries them to the queue of a bearer of a cell with TTIs of `tti`; gates that listen to it are
    /// told what the RLC does with them.
    F1 {
        /// F1-U.
        setting: F1Setting,
        /// The TTI.
        tti: Span,
    },
    /// Loses packets, lets them be overtaken, and makes copies.
    Impairment(ImpairmentSpec),
    /// Replays the light load of the link behind the queue that follows, past which it sends packets where both are empty.
    Light(LightLoad),
    /// Hands packets to the host.
    Exit,
}

impl<Q> NodeSpec<Q> {
    /// A constant delay.
    pub fn delay(span: Span) -> NodeSpec<Q> {
        NodeSpec::Delay(DelaySpec::constant(span))
    }
    /// A link.
    pub fn link(link: impl Into<AnyLink>) -> NodeSpec<Q> {
        NodeSpec::Link(link.into())
    }
    /// A gate.
    pub fn gate(gate: impl Into<AnyPacer>) -> NodeSpec<Q> {
        NodeSpec::Gate(gate.into())
    }

    /// A cell.
    pub fn cell(setting: CellSetting) -> NodeSpec<Q> {
        NodeSpec::Cell(Box::new(setting))
    }
    /// The uplink of a cell.
    pub fn uplink(setting: UplinkSetting) -> NodeSpec<Q> {
        NodeSpec::Uplink(Box::new(setting))
    }
    /// A cell, or its uplink.
    fn is_cell(&self) -> bool {
        matches!(self, NodeSpec::Cell(_) | NodeSpec::Uplink(_))
    }

    fn kind(&self) -> &'static str {
        match self {
            NodeSpec::Classifier(_) => "classifier",
            NodeSpec::Queue(_) => "queue",
            NodeSpec::Gate(_) => "gate",
            NodeSpec::Link(_) => "link",
            NodeSpec::Cell(_) => "cell",
            NodeSpec::Uplink(_) => "uplink",
            NodeSpec::Delay(_) => "delay",
            NodeSpec::Wire(_) => "wire",
            NodeSpec::Impairment(_) => "impairment",
            NodeSpec::Light(_) => "light load",
            NodeSpec::F1 { .. } => "F1",
            NodeSpec::Exit => "exit",
        }
    }
}

fn fail<T>(node: &str, problem: BuildProblem) -> Result<T, BuildError> {
    Err(BuildError { node: node.to_string(), problem })
}

/// Collects nodes and edges; [`PathBuilder::build`] reports mistakes.
#[derive(Clone, Debug)]
pub struct PathBuilder<Q = AnyQdisc> {
    nodes: Vec<(String, NodeSpec<Q>)>,
    edges: Vec<(String, String)>,
    feedback: Vec<(String, String, Span)>,
    orders: Vec<(String, PullOrder)>,
    /// The settings of gates besides their laws.
    clocks: Vec<(String, GateOption)>,
    /// The settings of queues in front of a cell besides their disciplines.
    bearers: Vec<(String, BearerOption)>,
}

#[derive(Clone, Copy, Debug)]
enum BearerOption {
    Buffer(BearerBuffer),
    Numbering(Numbering),
}

#[derive(Clone, Copy, Debug)]
enum GateOption {
    Polling(Span),
    Opportunities(u32, Span),
    Unit(SizeUnit),
}

impl<Q> Default for PathBuilder<Q> {
    fn default() -> Self {
        PathBuilder {
            nodes: Vec::new(),
            edges: Vec::new(),
            feedback: Vec::new(),
            orders: Vec::new(),
            clocks: Vec::new(),
            bearers: Vec::new(),
        }
    }
}

impl<Q> PathBuilder<Q> {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }
    /// Declares a node. Among events of the same time, nodes declared first run first.
    #[must_use]
    pub fn node(mut self, name: &str, spec: NodeSpec<Q>) -> Self {
        self.add(name, spec);
        self
    }
    /// [`PathBuilder::node`] that returns the node's id on the path.
    pub fn add(&mut self, name: &str, spec: NodeSpec<Q>) -> NodeId {
        // More nodes than there are ids are refused by `build`.
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push((name.to_string(), spec));
        id
    }
    /// The name of the node that [`PathBuilder::add`] returned as `id`.
    pub fn name_of(&self, id: NodeId) -> &str {
        &self.nodes[id.index()].0
    }
    /// Packets go from `from` to `to`. The inputs of a gate or link are in the order of these calls.
    #[must_use]
    pub fn connect(mut self, from: &str, to: &str) -> Self {
        self.edges.push((from.to_string(), to.to_string()));
        self
    }
    /// Packets go through `names` one after the other.
    #[must_use]
    pub fn chain(mut self, names: &[&str]) -> Self {
        for pair in names.windows(2) {
            self = self.connect(pair[0], pair[1]);
        }
        self
    }
    /// The gate `to` hears the signals of `from` that its law listens for, `delay` after they were caused.
    #[must_use]
    pub fn feedback(mut self, from: &str, to: &str, delay: Span) -> Self {
        self.feedback.push((from.to_string(), to.to_string(), delay));
        self
    }
    /// Sets the order in which the gate or link `node` serves its inputs; round robin without it.
    #[must_use]
    pub fn pull_order(mut self, node: &str, order: PullOrder) -> Self {
        self.orders.push((node.to_string(), order));
        self
    }
    /// The gate `gate` asks its law at multiples of `period` only, as a program that polls; with zero it asks after every event,
    /// which is the default. It lets as many packets through each time as the law lets go.
    #[must_use]
    pub fn polling(mut self, gate: &str, period: Span) -> Self {
        self.clocks.push((gate.to_string(), GateOption::Polling(period)));
        self
    }
    /// The gate `gate` lets at most `packets` through in each `period`, counted from multiples of it; by default as many as its
    /// law allows.
    #[must_use]
    pub fn opportunities(mut self, gate: &str, packets: u32, period: Span) -> Self {
        self.clocks.push((gate.to_string(), GateOption::Opportunities(packets, period)));
        self
    }
    /// The unit in which the gate `gate` counts packets: for the sizes that its law is given, and in the signals about departed
    /// and remaining packets. By default bytes.
    #[must_use]
    pub fn size_unit(mut self, gate: &str, unit: SizeUnit) -> Self {
        self.clocks.push((gate.to_string(), GateOption::Unit(unit)));
        self
    }
    /// The common limit of the queue `queue`, in front of a cell, and its bearer. An arrival that does not fit is dropped
    /// ([`DropReason::TAIL_LIMIT`](qdelay_core::DropReason::TAIL_LIMIT)) before the discipline is called.
    #[must_use]
    pub fn buffer(mut self, queue: &str, buffer: BearerBuffer) -> Self {
        self.bearers.push((queue.to_string(), BearerOption::Buffer(buffer)));
        self
    }
    /// PDCP numbers packets as they come into the queue `queue`, in front of a cell, from 0 on
    /// ([`Packet::count`](qdelay_core::Packet::count)).
    #[must_use]
    pub fn numbering(mut self, queue: &str, numbering: Numbering) -> Self {
        self.bearers.push((queue.to_string(), BearerOption::Numbering(numbering)));
        self
    }
}

impl<Q: Qdisc> PathBuilder<Q> {
    /// Builds the path. Each node draws from random streams of its own, derived from `seed`, its name and the purpose.
    ///
    /// # Errors
    /// The first mistake found, with the name of the node and what was expected.
    pub fn build(self, seed: u64) -> Result<Path<Q>, BuildError> {
        // Every mistake in names and edges is found before the first node is made: nodes may then rely on their neighbours.
        let ids = self.names()?;
        let graph = self.graph(&ids)?;
        self.check_edges(&graph)?;
        let along = self.along(&graph)?;
        let mut feedback = Vec::new();
        for (from, to, delay) in &self.feedback {
            let (from, to) =
                (find(&ids, from, || "feedback".to_string())?, find(&ids, to, || "feedback".to_string())?);
            feedback.push((from, to, *delay));
        }
        self.check_orders(&ids, &graph)?;
        for (name, option) in &self.clocks {
            let id = find(&ids, name, || alloc::format!("{option:?}"))?;
            let spec = &self.nodes[id.index()].1;
            if !matches!(spec, NodeSpec::Gate(_)) {
                return fail(name, BuildProblem::NoClock { kind: spec.kind() });
            }
            if let GateOption::Opportunities(packets, period) = option
                && (*packets == 0 || period.is_zero())
            {
                return fail(name, BuildProblem::NoOpportunity);
            }
        }
        let clocks: Vec<(NodeId, GateOption)> = self
            .clocks
            .iter()
            .filter_map(|(name, option)| Some((*ids.get(name.as_str())?, *option)))
            .collect();
        let mut bearers: Vec<(NodeId, BearerOption)> = Vec::new();
        for (name, option) in &self.bearers {
            let id = find(&ids, name, || alloc::format!("{option:?}"))?;
            let next = graph[id.index()].outputs.first().map(|next| &self.nodes[next.index()].1);
            let spec = &self.nodes[id.index()].1;
            if !(matches!(spec, NodeSpec::Queue(_)) && next.is_some_and(NodeSpec::is_cell)) {
                return fail(name, BuildProblem::NoBearer { kind: spec.kind() });
            }
            bearers.push((id, *option));
        }
        // The place of a queue among the inputs of its puller: at a cell, the bearer.
        let mut places = vec![0; graph.len()];
        for (index, node) in graph.iter().enumerate() {
            for (place, input) in node.inputs.iter().enumerate().rev() {
                if graph[input.index()].outputs.first().is_some_and(|next| next.index() == index) {
                    places[input.index()] = place as u32;
                }
            }
        }
        let orders: BTreeMap<String, PullOrder> = self.orders.into_iter().collect();
        let (mut nodes, mut names) = (Vec::new(), Vec::new());
        for (((name, spec), place), at_puller) in self.nodes.into_iter().zip(graph).zip(places) {
            let order = orders.get(&name).copied().unwrap_or_default();
            nodes.push(Node::new(role(&name, spec, place, at_puller, order, seed)?));
            names.push(name);
        }
        for (id, option) in clocks {
            give(nodes[id.index()].role.gate_mut(), option);
        }
        for (id, option) in bearers {
            let queue = nodes[id.index()].role.queue_mut();
            let entry = queue.entry.get_or_insert_default();
            match option {
                BearerOption::Buffer(buffer) => entry.buffer = Some(buffer),
                BearerOption::Numbering(numbering) => entry.numbering = Some(numbering),
            }
            queue.has_timer |= queue.discards();
        }
        // Listeners come last: the kinds of signals are those of the law, which is there once its node is made.
        for (from, to, delay) in feedback {
            let (kinds, unit) = match &nodes[to.index()].role {
                Role::Gate(gate) => (gate.law.listens(), gate.unit),
                other => return fail(&names[to.index()], BuildProblem::NotAGate { kind: other.kind() }),
            };
            nodes[from.index()].listeners.push(Listener { gate: to, delay, kinds, unit });
            if let Role::Gate(gate) = &mut nodes[from.index()].role
                && kinds.refused
                && gate.refused.is_none()
            {
                gate.refused = Some(Box::new(Refused::new(gate.inputs.nodes.len())));
            }
        }
        Ok(Path::new(nodes, names, along, seed))
    }
}

fn give(gate: &mut Gate, option: GateOption) {
    match option {
        GateOption::Unit(unit) => gate.unit = unit,
        GateOption::Polling(period) => gate.clock.get_or_insert_with(Box::default).polling = period,
        GateOption::Opportunities(packets, period) => {
            let clock: &mut Clock = gate.clock.get_or_insert_with(Box::default);
            (clock.packets, clock.period) = (packets, period);
        }
    }
}

/// A node's neighbours.
#[derive(Clone, Debug, Default)]
struct Place {
    inputs: Vec<NodeId>,
    outputs: Vec<NodeId>,
    /// The next node is a link (asked of gates), and one before it is a gate (asked of links).
    before_link: bool,
    after_gate: bool,
    /// A classifier's rules with their nodes found, and its default.
    routes: Vec<(u32, u32, Route)>,
    default: Option<Route>,
}

fn find(ids: &BTreeMap<&str, NodeId>, name: &str, by: impl Fn() -> String) -> Result<NodeId, BuildError> {
    match ids.get(name) {
        Some(&id) => Ok(id),
        None => fail(name, BuildProblem::Unknown { by: by() }),
    }
}

impl<Q> PathBuilder<Q> {
    fn names(&self) -> Result<BTreeMap<&str, NodeId>, BuildError> {
        match self.nodes.len() {
            0 => return fail("", BuildProblem::Empty),
            count if count > NODES_MAX => return fail("", BuildProblem::TooMany(count)),
            _ => {}
        }
        let mut ids = BTreeMap::new();
        for (index, (name, _)) in self.nodes.iter().enumerate() {
            if name.is_empty() {
                return fail("", BuildProblem::NoName);
            }
            if ids.insert(name.as_str(), NodeId(index as u32)).is_some() {
                return fail(name, BuildProblem::DuplicateName);
            }
        }
        Ok(ids)
    }

    /// Finds every node that an edge or a rule names.
    fn graph(&self, ids: &BTreeMap<&str, NodeId>) -> Result<Vec<Place>, BuildError> {
        let mut places = vec![Place::default(); self.nodes.len()];
        for (from, to) in &self.edges {
            let source = find(ids, from, || alloc::format!("an edge to '{to}'"))?;
            let target = find(ids, to, || alloc::format!("an edge from '{from}'"))?;
            places[source.index()].outputs.push(target);
            places[target.index()].inputs.push(source);
        }
        for (index, (name, spec)) in self.nodes.iter().enumerate() {
            let NodeSpec::Classifier(rules) = spec else { continue };
            let id = NodeId(index as u32);
            let route = |to: &str, class| {
                find(ids, to, || alloc::format!("classifier '{name}'")).map(|to| Route { to, class })
            };
            let mut routes = Vec::new();
            for rule in &rules.rules {
                routes.push((*rule.keys.start(), *rule.keys.end(), route(&rule.to, rule.class)?));
            }
            // An edge from a classifier is its default output.
            let edges = core::mem::take(&mut places[index].outputs);
            let mut defaults: Vec<Route> = edges.iter().map(|&to| Route { to, class: None }).collect();
            if let Some((to, class)) = &rules.default {
                defaults.push(route(to, *class)?);
            }
            if defaults.len() > 1 {
                return fail(name, BuildProblem::Outputs(defaults.len()));
            }
            let default = defaults.first().copied();
            let mut outputs: Vec<NodeId> =
                routes.iter().map(|r| r.2.to).chain(default.map(|r| r.to)).collect();
            outputs.sort_unstable();
            outputs.dedup();
            for to in &outputs {
                if !places[to.index()].inputs.contains(&id) {
                    places[to.index()].inputs.push(id);
                }
            }
            let inputs = core::mem::take(&mut places[index].inputs);
            places[index] = Place { inputs, outputs, routes, default, ..Place::default() };
        }
        for place in &mut places {
            let spec = |id: &NodeId| &self.nodes[id.index()].1;
            place.before_link = place.outputs.iter().any(|to| matches!(spec(to), NodeSpec::Link(_)));
            place.after_gate = place.inputs.iter().any(|from| matches!(spec(from), NodeSpec::Gate(_)));
        }
        Ok(places)
    }

    /// Checks which nodes may follow which.
    fn check_edges(&self, places: &[Place]) -> Result<(), BuildError> {
        for ((name, spec), place) in self.nodes.iter().zip(places) {
            match (spec, place.outputs.len()) {
                (NodeSpec::Exit, 0) => {}
                (NodeSpec::Exit, _) => return fail(name, BuildProblem::ExitOutput),
                (NodeSpec::Classifier(_), 1..) | (_, 1) => {}
                (_, count) => return fail(name, BuildProblem::Outputs(count)),
            }
            if let NodeSpec::Queue(_) = spec {
                let (to, next) = &self.nodes[place.outputs[0].index()];
                if !(matches!(next, NodeSpec::Gate(_) | NodeSpec::Link(_)) || next.is_cell()) {
                    return fail(name, BuildProblem::NoPuller { to: to.clone() });
                }
            }
            if matches!(spec, NodeSpec::Gate(_) | NodeSpec::Link(_)) || spec.is_cell() {
                self.check_inputs(name, matches!(spec, NodeSpec::Link(_)), place)?;
            }
            // The reporter of F1-U counts the packets of one bearer, so no other packet may come into the queue behind it.
            if let NodeSpec::F1 { setting, .. } = spec {
                let queue = &places[place.outputs[0].index()];
                let behind = queue.outputs.first().map(|next| &self.nodes[next.index()].1);
                if queue.inputs.len() != 1 || !matches!(behind, Some(NodeSpec::Cell(_))) {
                    return fail(name, BuildProblem::NoBearerBehind);
                }
                let probabilities = [setting.loss, setting.ddds_loss];
                if !probabilities.iter().all(|loss| (0.0..=1.0).contains(loss)) {
                    return fail(name, BuildProblem::Loss);
                }
            }
            if let NodeSpec::Light(_) = spec {
                let behind = places[place.outputs[0].index()].outputs.first();
                if !behind.is_some_and(|next| matches!(self.nodes[next.index()].1, NodeSpec::Link(_))) {
                    return fail(name, BuildProblem::NoLinkBehind);
                }
            }
            if let NodeSpec::Impairment(spec) = spec
                && !spec.is_possible()
            {
                return fail(name, BuildProblem::Loss);
            }
        }
        Ok(())
    }

    fn check_inputs(&self, name: &str, is_link: bool, place: &Place) -> Result<(), BuildError> {
        if place.inputs.is_empty() {
            return fail(name, BuildProblem::NoUpstream);
        }
        for input in &place.inputs {
            let (from, spec) = &self.nodes[input.index()];
            match spec {
                NodeSpec::Queue(_) => {}
                NodeSpec::Gate(_) if is_link => {}
                _ => return fail(name, BuildProblem::NotPullable { from: from.clone(), kind: spec.kind() }),
            }
        }
        Ok(())
    }

    /// Checks that only nodes with several inputs have an order of inputs.
    fn check_orders(&self, ids: &BTreeMap<&str, NodeId>, places: &[Place]) -> Result<(), BuildError> {
        for (name, order) in &self.orders {
            let id = find(ids, name, || alloc::format!("an order of inputs ({order:?})"))?;
            let spec = &self.nodes[id.index()].1;
            if !matches!(spec, NodeSpec::Gate(_) | NodeSpec::Link(_)) {
                return fail(name, BuildProblem::NotAPuller { kind: spec.kind() });
            }
            let PullOrder::DeficitRoundRobin { quantum_bytes } = order else { continue };
            if *quantum_bytes == 0 {
                return fail(name, BuildProblem::NoQuantum);
            }
            let inputs = places[id.index()].inputs.iter().map(|input| &self.nodes[input.index()]);
            if let Some((from, _)) = inputs.into_iter().find(|node| matches!(node.1, NodeSpec::Gate(_))) {
                return fail(name, BuildProblem::DeficitThroughGate { from: from.clone() });
            }
        }
        Ok(())
    }

    /// All nodes on the way of a packet: none before one that sends to it. Refuses cycles.
    fn along(&self, places: &[Place]) -> Result<Vec<u32>, BuildError> {
        let mut waiting: Vec<usize> = places.iter().map(|place| place.inputs.len()).collect();
        let mut ready: VecDeque<usize> = (0..places.len()).filter(|&index| waiting[index] == 0).collect();
        let mut along = Vec::new();
        while let Some(index) = ready.pop_front() {
            along.push(index as u32);
            for to in &places[index].outputs {
                waiting[to.index()] -= 1;
                if waiting[to.index()] == 0 {
                    ready.push_back(to.index());
                }
            }
        }
        match waiting.iter().position(|&inputs| inputs > 0) {
            Some(index) => fail(&self.nodes[index].0, BuildProblem::Cycle),
            None => Ok(along),
        }
    }
}

fn role<Q: Qdisc>(
    name: &str,
    spec: NodeSpec<Q>,
    place: Place,
    at_puller: u32,
    order: PullOrder,
    seed: u64,
) -> Result<Role<Q>, BuildError> {
    // Checked before: all but exits and classifiers have one output.
    let next = place.outputs.first().copied().unwrap_or(NodeId(0));
    let inputs = Inputs::new(place.inputs, order);
    Ok(match spec {
        NodeSpec::Classifier(rules) => match Classifier::new(rules.key, place.routes, place.default) {
            Ok(classifier) => Role::Classifier(classifier),
            Err([one, other]) => return fail(name, BuildProblem::Overlap { one, other }),
        },
        NodeSpec::Queue(qdisc) => {
            let random = Random::derive(seed, name, "qdisc");
            let (has_timer, deadline) = (qdisc.has_timer(), qdisc.next_deadline());
            let place = at_puller;
            let (retiring, entry, is_held) = (None, None, false);
            Role::Queue(Queue {
                qdisc,
                random,
                puller: next,
                place,
                has_timer,
                is_held,
                deadline,
                retiring,
                entry,
            })
        }
        NodeSpec::Gate(law) => Role::Gate(Box::new(Gate::new(law, inputs, next, place.before_link))),
        NodeSpec::Cell(setting) => {
            let cell = Cell::new(*setting, seed, name).map(Air::Down);
            air(name, cell.map_err(BuildProblem::Cell), inputs, next)?
        }
        NodeSpec::Uplink(setting) => {
            let uplink = UplinkCell::new(*setting, seed, name).map(|uplink| Air::Up(Box::new(uplink)));
            air(name, uplink.map_err(BuildProblem::Uplink), inputs, next)?
        }
        NodeSpec::Link(model) => {
            let only = match inputs.nodes[..] {
                [input] if !place.after_gate => Some(input),
                _ => None,
            };
            Role::Link(Link { model, inputs, only, next, sending: None, past: None })
        }
        NodeSpec::Delay(spec) => Role::Delay(Delay::new(spec, next, seed, name)),
        NodeSpec::Wire(spec) => Role::Wire(Box::new(Wire::new(spec, next))),
        NodeSpec::Impairment(spec) => Role::Impairment(Box::new(Impairment::new(spec, next, seed, name))),
        NodeSpec::Light(load) => Role::Light(Box::new(Light::new(load, next))),
        NodeSpec::F1 { setting, tti } => Role::F1(Box::new(F1::new(&setting, tti, next, seed, name))),
        NodeSpec::Exit => Role::Exit,
    })
}

/// A cell or an uplink with a queue for each of its bearers.
fn air<Q>(
    name: &str,
    air: Result<Air, BuildProblem>,
    inputs: Inputs,
    next: NodeId,
) -> Result<Role<Q>, BuildError> {
    let air = air.or_else(|problem| fail(name, problem))?;
    let (bearers, queues) = (air.bearers(), inputs.nodes);
    if bearers != queues.len() {
        return fail(name, BuildProblem::Bearers { bearers, queues: queues.len() });
    }
    Ok(Role::Cell(Some(Box::new(CellNode::new(air, queues, next)))))
}
