//! Building a path from named nodes and edges.

use crate::classifier::{Classifier, Route, Rules};
use crate::delay::{Delay, DelaySpec};
use crate::gate::{AnyGate, GateLaw};
use crate::link::AnyLink;
use crate::node::{Gate, Inputs, Link, Listener, Node, PullOrder, Queue, Role};
use crate::{NodeId, Path};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{Random, Span, Time};

/// What a node is.
#[derive(Clone, Debug)]
pub enum NodeSpec<Q = AnyQdisc> {
    /// Sends packets to one of several nodes. Its outputs are named by its rules; an edge from it is its default.
    Classifier(Rules),
    /// Holds packets until a gate or a link takes them.
    Queue(Q),
    /// Takes packets from queues when its law says so.
    Gate(AnyGate),
    /// Takes packets from queues, or through gates, as fast as its rate allows.
    Link(AnyLink),
    /// Lets time pass.
    Delay(DelaySpec),
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
    pub fn gate(gate: impl Into<AnyGate>) -> NodeSpec<Q> {
        NodeSpec::Gate(gate.into())
    }

    fn kind(&self) -> &'static str {
        match self {
            NodeSpec::Classifier(_) => "classifier",
            NodeSpec::Queue(_) => "queue",
            NodeSpec::Gate(_) => "gate",
            NodeSpec::Link(_) => "link",
            NodeSpec::Delay(_) => "delay",
            NodeSpec::Exit => "exit",
        }
    }
}

/// Why a path could not be built: the node it is about, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// The node's name; empty where it is about the whole path.
    pub node: String,
    /// What is wrong.
    pub problem: BuildProblem,
}

/// What is wrong with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildProblem {
    /// There is no node.
    Empty,
    /// More than 65535 nodes.
    TooMany(usize),
    /// Its name is empty.
    NoName,
    /// Two nodes have its name.
    DuplicateName,
    /// It is named by `by` but was not declared.
    Unknown {
        /// The node or statement that names it.
        by: String,
    },
    /// It has this many outputs where it must have one.
    Outputs(usize),
    /// It is an exit and has an output.
    ExitOutput,
    /// A queue whose output takes nothing from queues.
    NoPuller {
        /// The output.
        to: String,
    },
    /// A gate or link with no queue before it.
    NoUpstream,
    /// A gate or link whose input cannot be taken from.
    NotPullable {
        /// The input.
        from: String,
        /// What it is.
        kind: &'static str,
    },
    /// Packets can come back to it.
    Cycle,
    /// Two of a classifier's ranges overlap.
    Overlap {
        /// First and last key of one.
        one: (u32, u32),
        /// First and last key of the other.
        other: (u32, u32),
    },
    /// A probability of loss that is not within 0 to 1.
    Loss,
    /// It is meant to hear signals but is not a gate.
    NotAGate {
        /// What it is.
        kind: &'static str,
    },
    /// It was given an order of inputs but takes from none.
    NotAPuller {
        /// What it is.
        kind: &'static str,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.node.is_empty() {
            write!(f, "node '{}': ", self.node)?;
        }
        self.problem.fmt(f)
    }
}
impl core::error::Error for BuildError {}

impl fmt::Display for BuildProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildProblem::Empty => f.write_str("the path has no nodes; expected at least one"),
            BuildProblem::TooMany(count) => write!(f, "the path has {count} nodes; expected at most 65535"),
            BuildProblem::NoName => f.write_str("a node has an empty name; expected a name"),
            BuildProblem::DuplicateName => {
                f.write_str("two nodes have this name; expected names that differ")
            }
            BuildProblem::Unknown { by } => write!(f, "no such node, but {by} names it"),
            BuildProblem::Outputs(0) => f.write_str("nothing comes after it; expected one output"),
            BuildProblem::Outputs(count) => {
                write!(f, "{count} nodes come after it; expected one output (only a classifier has more)")
            }
            BuildProblem::ExitOutput => f.write_str("it is an exit; expected no output"),
            BuildProblem::NoPuller { to } => {
                write!(
                    f,
                    "it is a queue before '{to}', which takes nothing from it; expected a gate or a link"
                )
            }
            BuildProblem::NoUpstream => {
                f.write_str("nothing comes before it to take packets from; expected a queue")
            }
            BuildProblem::NotPullable { from, kind } => {
                write!(f, "it takes packets, but '{from}' before it is a {kind}; expected a queue in between")
            }
            BuildProblem::Cycle => {
                f.write_str("packets can come back to it; expected edges that lead from ingress to exits")
            }
            BuildProblem::Overlap { one, other } => write!(
                f,
                "ranges {}-{} and {}-{} overlap; expected each key in one range",
                one.0, one.1, other.0, other.1
            ),
            BuildProblem::Loss => f.write_str("loss is not a probability; expected 0 to 1"),
            BuildProblem::NotAGate { kind } => {
                write!(f, "feedback leads to it, but it is a {kind}; expected a gate")
            }
            BuildProblem::NotAPuller { kind } => {
                write!(f, "it has an order of inputs, but it is a {kind}; expected a gate or a link")
            }
        }
    }
}

fn fail<T>(node: &str, problem: BuildProblem) -> Result<T, BuildError> {
    Err(BuildError { node: node.to_string(), problem })
}

/// Collects nodes and edges; mistakes are told by [`PathBuilder::build`].
#[derive(Clone, Debug)]
pub struct PathBuilder<Q = AnyQdisc> {
    nodes: Vec<(String, NodeSpec<Q>)>,
    edges: Vec<(String, String)>,
    feedback: Vec<(String, String, Span)>,
    orders: Vec<(String, PullOrder)>,
}

impl<Q> Default for PathBuilder<Q> {
    fn default() -> Self {
        PathBuilder { nodes: Vec::new(), edges: Vec::new(), feedback: Vec::new(), orders: Vec::new() }
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
        self.nodes.push((name.to_string(), spec));
        self
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
    /// In which order the gate or link `node` serves its inputs; otherwise round robin.
    #[must_use]
    pub fn pull_order(mut self, node: &str, order: PullOrder) -> Self {
        self.orders.push((node.to_string(), order));
        self
    }
}

impl<Q: Qdisc> PathBuilder<Q> {
    /// Builds the path. Each node draws from random streams of its own, derived from `seed`, its name and the purpose.
    ///
    /// # Errors
    /// The first mistake found, with the name of the node and what was expected.
    pub fn build(self, seed: u64) -> Result<Path<Q>, BuildError> {
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
        for (node, order) in &self.orders {
            let id = find(&ids, node, || alloc::format!("an order of inputs ({order:?})"))?;
            let spec = &self.nodes[id.index()].1;
            if !matches!(spec, NodeSpec::Gate(_) | NodeSpec::Link(_)) {
                return fail(node, BuildProblem::NotAPuller { kind: spec.kind() });
            }
        }
        let orders: BTreeMap<String, PullOrder> = self.orders.into_iter().collect();
        let (mut nodes, mut names) = (Vec::new(), Vec::new());
        for ((name, spec), place) in self.nodes.into_iter().zip(graph) {
            let order = orders.get(&name).copied().unwrap_or_default();
            nodes.push(Node::new(role(&name, spec, place, order, seed)?));
            names.push(name);
        }
        for (from, to, delay) in feedback {
            let kinds = match &nodes[to.index()].role {
                Role::Gate(gate) => gate.law.listens(),
                other => return fail(&names[to.index()], BuildProblem::NotAGate { kind: kind_of(other) }),
            };
            nodes[from.index()].listeners.push(Listener { gate: to, delay, kinds });
        }
        Ok(Path::new(nodes, names, along, seed))
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
            count if count > usize::from(u16::MAX) => return fail("", BuildProblem::TooMany(count)),
            _ => {}
        }
        let mut ids = BTreeMap::new();
        for (index, (name, _)) in self.nodes.iter().enumerate() {
            if name.is_empty() {
                return fail("", BuildProblem::NoName);
            }
            if ids.insert(name.as_str(), NodeId(index as u16)).is_some() {
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
            let id = NodeId(index as u16);
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

    /// Checks what may come after what.
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
                if !matches!(next, NodeSpec::Gate(_) | NodeSpec::Link(_)) {
                    return fail(name, BuildProblem::NoPuller { to: to.clone() });
                }
            }
            if let NodeSpec::Gate(_) | NodeSpec::Link(_) = spec {
                self.check_inputs(name, matches!(spec, NodeSpec::Link(_)), place)?;
            }
            if let NodeSpec::Delay(delay) = spec
                && !delay.is_possible()
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
    order: PullOrder,
    seed: u64,
) -> Result<Role<Q>, BuildError> {
    // Checked before: all but exits and classifiers have one output.
    let next = place.outputs.first().copied().unwrap_or(NodeId(0));
    let inputs = Inputs { nodes: place.inputs, order, turn: 0 };
    Ok(match spec {
        NodeSpec::Classifier(rules) => match Classifier::new(rules.key, place.routes, place.default) {
            Ok(classifier) => Role::Classifier(classifier),
            Err([one, other]) => return fail(name, BuildProblem::Overlap { one, other }),
        },
        NodeSpec::Queue(qdisc) => {
            let random = Random::derive(seed, name, "qdisc");
            let (has_timer, deadline) = (qdisc.has_timer(), qdisc.next_deadline());
            Role::Queue(Queue { qdisc, random, puller: next, has_timer, deadline, retiring: None })
        }
        NodeSpec::Gate(law) => Role::Gate(Gate {
            law,
            inputs,
            next,
            pulled: place.before_link,
            retry: Time::NEVER,
            inbox: VecDeque::new(),
        }),
        NodeSpec::Link(model) => {
            let only = match inputs.nodes[..] {
                [input] if !place.after_gate => Some(input),
                _ => None,
            };
            Role::Link(Link { model, inputs, only, next, sending: None, past: None })
        }
        NodeSpec::Delay(spec) => Role::Delay(Delay::new(spec, next, seed, name)),
        NodeSpec::Exit => Role::Exit,
    })
}

fn kind_of<Q>(role: &Role<Q>) -> &'static str {
    match role {
        Role::Classifier(_) => "classifier",
        Role::Queue(_) => "queue",
        Role::Gate(_) => "gate",
        Role::Link(_) | Role::Leaving(_) => "link",
        Role::Delay(_) => "delay",
        Role::Exit => "exit",
    }
}
