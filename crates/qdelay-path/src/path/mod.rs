//! The path: runs its nodes in order of time.

mod bearers;
mod cells;
mod f1;
mod gates;
mod light;
mod links;
mod queues;
mod replace;
mod run;

use crate::AnyPacer;
use crate::air::Air;
use crate::link::LinkModel;
use crate::node::{Node, Role};
use crate::{AuditError, Count, Counters, LinkUsage, NodeId, Observer};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use qdelay_core::deadlines::Deadlines;
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{Packet, Time};
use qdelay_ran::pdcp::PdcpCounts;
use qdelay_ran::{AirUsage, Cell, CellUsage, SliceUsage};

/// A graph of named nodes that packets flow through, made by a [`PathBuilder`](crate::PathBuilder).
///
/// It does nothing by itself. The host hands it packets and the time:
///
/// * [`Path::ingress`] puts a packet into a node;
/// * [`Path::next_deadline`] says when the path has something to do next (perhaps early, never late);
/// * [`Path::poll`] does everything that is due, each thing at its own time. Calling it at any other time does nothing.
///
/// The [`Observer`] receives the outcome. Events of the same time run in a fixed order: trace links and cells first,
/// those further downstream before others; then nodes in the order they were declared; at one node in the order they came.
/// All events that are due run before an arrival of the same time. So results do not depend on how often the host polls.
#[derive(Clone, Debug)]
pub struct Path<Q = AnyQdisc> {
    nodes: Vec<Node<Q>>,
    names: Vec<String>,
    deadlines: Deadlines,
    /// Whether an arrival must wake the node, by index: links with nothing to send, and gates always.
    idle: Vec<bool>,
    now: Time,
    /// All nodes on the way of a packet.
    along: Vec<u32>,
    /// The seed of random streams.
    seed: u64,
}

/// Why a call was refused; the path is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// Time went backwards.
    TimeReversed {
        /// The time of the call before.
        now: Time,
        /// The time of this call.
        told: Time,
    },
    /// A packet was put into a node that takes none from outside: gates, links and cells take their packets from queues.
    NotAnEntry {
        /// The node, which may be of another path.
        node: NodeId,
    },
    /// The node is not of the kind that was to be replaced.
    NotA {
        /// The node, which may be of another path.
        node: NodeId,
        /// The expected kind.
        expected: &'static str,
    },
    /// A probability of loss that is not within 0 to 1.
    Loss {
        /// The node.
        node: NodeId,
    },
    /// A link with a light load was to be put in or taken out.
    Light {
        /// The node.
        node: NodeId,
    },
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathError::TimeReversed { now, told } => {
                write!(
                    f,
                    "time went backwards: expected {} ns or later, got {} ns",
                    now.as_nanos(),
                    told.as_nanos()
                )
            }
            PathError::NotAnEntry { node } => {
                write!(
                    f,
                    "node {} takes no packets from outside: expected a classifier, queue, delay or exit",
                    node.0
                )
            }
            PathError::NotA { node, expected } => {
                write!(f, "node {} cannot be replaced by a {expected}: expected a {expected}", node.0)
            }
            PathError::Loss { node } => {
                write!(f, "the loss of node {} is not a probability; expected 0 to 1", node.0)
            }
            PathError::Light { node } => {
                write!(f, "the link of node {} replays two loads, and {}", node.0, crate::light::FIXED)
            }
        }
    }
}
impl core::error::Error for PathError {}

impl<Q: Qdisc> Path<Q> {
    /// `along` has all nodes, none before one that sends to it.
    pub(crate) fn new(nodes: Vec<Node<Q>>, names: Vec<String>, along: Vec<u32>, seed: u64) -> Path<Q> {
        let idle = vec![true; nodes.len()];
        let mut path =
            Path { nodes, names, deadlines: Deadlines::new(0), idle, now: Time::ZERO, along, seed };
        path.deadlines = Deadlines::with_order(&path.order());
        for (index, node) in path.nodes.iter().enumerate() {
            if let Role::Queue(queue) = &node.role
                && queue.has_timer
            {
                path.deadlines.set(index, queue.deadline);
            }
            if let Role::Cell(Some(cell)) = &node.role {
                path.deadlines.set(index, cell.cell.next_deadline());
            }
        }
        path.find_hearers();
        path.find_bearers_below();
        path
    }

    /// The order in which nodes run at the same time: trace links and cells from the last to the first on the way of a packet, so
    /// that none sees a packet that another let go at that very time; then all others as declared. Nodes that never have a
    /// deadline are left out.
    fn order(&self) -> Vec<u32> {
        let role = |index: u32| &self.nodes[index as usize].role;
        let has_deadlines = |index: u32| match role(index) {
            Role::Queue(queue) => queue.has_timer,
            Role::Gate(_) | Role::Link(_) | Role::Cell(_) | Role::Leaving(_) | Role::Delay(_) => true,
            Role::Wire(_) | Role::Impairment(_) | Role::F1(_) | Role::Light(_) => true,
            Role::Classifier(_) | Role::Exit => false,
        };
        let is_ahead = |index: u32| match role(index) {
            Role::Link(link) => link.model.runs_first(),
            Role::Leaving(leaving) => leaving.successor.runs_first(),
            Role::Cell(_) => true,
            Role::Classifier(_)
            | Role::Queue(_)
            | Role::Gate(_)
            | Role::Delay(_)
            | Role::Wire(_)
            | Role::Impairment(_)
            | Role::F1(_)
            | Role::Light(_)
            | Role::Exit => false,
        };
        let ahead = self.along.iter().rev().copied().filter(|&index| is_ahead(index));
        let others = (0..self.nodes.len() as u32).filter(|&index| !is_ahead(index));
        ahead.chain(others).filter(|&index| has_deadlines(index)).collect()
    }

    /// Puts `packet` into `node` at `now`, after everything that is due by then.
    ///
    /// # Errors
    /// `now` is before the time of an earlier call, or the node takes no packets from outside.
    #[inline(always)]
    pub fn ingress<O: Observer>(
        &mut self,
        now: Time,
        node: NodeId,
        packet: Packet,
        observer: &mut O,
    ) -> Result<(), PathError> {
        match self.nodes.get(node.index()).map(|entry| &entry.role) {
            None | Some(Role::Gate(_) | Role::Link(_) | Role::Cell(_) | Role::Leaving(_)) => {
                return Err(PathError::NotAnEntry { node });
            }
            Some(_) => self.poll(now, observer)?,
        }
        self.nodes[node.index()].counters.ingress.add(&packet);
        self.put(node, packet, now, observer);
        self.run(now, observer);
        Ok(())
    }

    /// Does everything that is due by `now`. Without anything due, only the time is taken note of.
    ///
    /// # Errors
    /// `now` is before the time of an earlier call.
    #[inline]
    pub fn poll<O: Observer>(&mut self, now: Time, observer: &mut O) -> Result<(), PathError> {
        if now < self.now {
            return Err(PathError::TimeReversed { now: self.now, told: now });
        }
        self.now = now;
        self.run(now, observer);
        Ok(())
    }

    /// [`Path::poll`] that ends behind everything of the first time at which the observer [pauses](Observer::pauses), and returns
    /// whether it has: [`Path::now`] is that time then.
    ///
    /// # Errors
    /// `until` is before the time of an earlier call.
    #[inline]
    pub fn advance<O: Observer>(&mut self, until: Time, observer: &mut O) -> Result<bool, PathError> {
        if until < self.now {
            return Err(PathError::TimeReversed { now: self.now, told: until });
        }
        let paused = self.run_due(until, observer, true);
        self.now = paused.unwrap_or(until);
        Ok(paused.is_some())
    }

    /// When [`Path::poll`] should be called next: never late, perhaps early; [`Time::NEVER`] while nothing will happen.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.deadlines.next()
    }

    /// The time of the latest call.
    pub fn now(&self) -> Time {
        self.now
    }
    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.names.iter().position(|known| known == name).map(|index| NodeId(index as u32))
    }
    /// The name of a node; empty for a node of another path.
    pub fn name(&self, node: NodeId) -> &str {
        self.names.get(node.index()).map_or("", String::as_str)
    }
    /// All nodes in the order they were declared.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<Q> {
        (0..self.nodes.len()).map(|index| NodeId(index as u32))
    }
    /// The counters of a node; `None` for a node of another path.
    pub fn counters(&self, node: NodeId) -> Option<&Counters> {
        self.nodes.get(node.index()).map(|node| &node.counters)
    }
    /// The packets in a node now: a queue's backlog, the packet a link is sending, what a cell has taken and not handed up, what a
    /// delay holds back.
    pub fn inside(&self, node: NodeId) -> Count {
        self.nodes.get(node.index()).map_or(Count::default(), Node::inside)
    }
    /// The discipline that receives the arrivals of a queue; `None` for another node.
    pub fn qdisc(&self, node: NodeId) -> Option<&Q> {
        match self.nodes.get(node.index()).map(|node| &node.role) {
            Some(Role::Queue(queue)) => Some(&queue.qdisc),
            _ => None,
        }
    }
    /// The law of a gate; `None` for another node. What it hears of TTIs in which its bearer waited may come late, but comes
    /// before it is asked.
    pub fn gate(&self, node: NodeId) -> Option<&AnyPacer> {
        match self.nodes.get(node.index()).map(|node| &node.role) {
            Some(Role::Gate(gate)) => Some(&gate.law),
            _ => None,
        }
    }
    /// The cell that a node is; `None` for another node, and for an uplink.
    pub fn cell(&self, node: NodeId) -> Option<&Cell> {
        self.air(node)?.as_cell()
    }
    fn air(&self, node: NodeId) -> Option<&Air> {
        match self.nodes.get(node.index()).map(|node| &node.role) {
            Some(Role::Cell(Some(cell))) => Some(&cell.cell),
            _ => None,
        }
    }
    /// The usage of the resource blocks of a cell or an uplink up to `now`; `None` for another node.
    pub fn cell_usage(&self, node: NodeId, now: Time) -> Option<CellUsage> {
        self.air(node).map(|air| air.usage(now))
    }
    /// The usage of each slice of a cell up to `now`; empty without slices, and for another node.
    pub fn cell_slices(&self, node: NodeId, now: Time) -> Vec<SliceUsage> {
        self.air(node).map_or(Vec::new(), |air| air.slices(now))
    }
    /// Counts of the transport blocks of each UE of a cell up to `now`; empty in a cell that does not count them, and for another node.
    pub fn cell_air(&self, node: NodeId, now: Time) -> Vec<AirUsage> {
        self.cell(node).map_or(Vec::new(), |cell| cell.air(now))
    }
    /// Statistics of the receiving PDCP of each bearer of a cell or an uplink up to `now`, `None` where that is ideal; empty for another node.
    pub fn cell_pdcp(&self, node: NodeId, now: Time) -> Vec<Option<PdcpCounts>> {
        let of = |air: &Air| (0..air.bearers()).map(|bearer| air.pdcp(bearer, now)).collect();
        self.air(node).map_or(Vec::new(), of)
    }
    /// The used and offered capacity of a link or cell up to `now`; `None` for another node.
    pub fn link_usage(&self, node: NodeId, now: Time) -> Option<LinkUsage> {
        let node = self.nodes.get(node.index())?;
        match &node.role {
            Role::Link(link) => Some(link.usage(node.counters.forwarded, now)),
            Role::Leaving(leaving) => Some(leaving.link.usage(node.counters.forwarded, now)),
            Role::Cell(Some(cell)) => {
                let CellUsage { sent_bytes, offered_bytes, .. } = cell.usage(now);
                Some(LinkUsage { sent_bytes, offered_bytes })
            }
            _ => None,
        }
    }

    /// Checks that no packet and no byte was lost or made up.
    ///
    /// # Errors
    /// The first node, or the whole, where the counts do not add up.
    pub fn audit(&self) -> Result<(), AuditError> {
        // Each node is checked first, so that an error names the node; sums over all nodes then find packets lost between two of them.
        let [mut received, mut ingress, mut handed, mut delivered, mut all_dropped, mut all_inside] =
            [Count::default(); 6];
        let mut all_copies = Count::default();
        for (node, name) in self.nodes().zip(&self.names) {
            if let Role::Queue(queue) = &self.nodes[node.index()].role
                && let Some(fault) = queue.qdisc.fault()
            {
                return Err(AuditError::Discipline { node, name: name.clone(), fault });
            }
            let (Counters { received: came, forwarded, ingress: entered, copies, .. }, dropped, inside) = {
                let node = &self.nodes[node.index()];
                (&node.counters, node.counters.dropped_total(), node.inside())
            };
            if *came + *copies != *forwarded + dropped + inside {
                let (name, received, forwarded) = (name.clone(), *came + *copies, *forwarded);
                return Err(AuditError::Node { node, name, received, forwarded, dropped, inside });
            }
            received = received + *came;
            ingress = ingress + *entered;
            all_copies = all_copies + *copies;
            all_dropped = all_dropped + dropped;
            all_inside = all_inside + inside;
            match self.nodes[node.index()].role {
                Role::Exit => delivered = delivered + *forwarded,
                _ => handed = handed + *forwarded,
            }
        }
        if handed + ingress != received {
            let received = Count {
                packets: received.packets.saturating_sub(ingress.packets),
                bytes: received.bytes.saturating_sub(ingress.bytes),
            };
            return Err(AuditError::Handover { forwarded: handed, received });
        }
        let ingress = ingress + all_copies;
        if ingress != delivered + all_dropped + all_inside {
            return Err(AuditError::Path { ingress, delivered, dropped: all_dropped, inside: all_inside });
        }
        Ok(())
    }
}
