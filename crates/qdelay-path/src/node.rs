//! The state of each node of a path.

use crate::air::Air;
use crate::classifier::Classifier;
use crate::delay::Delay;
use crate::f1::F1;
use crate::gate::Gate;
use crate::impairment::Impairment;
use crate::inputs::Inputs;
use crate::light::Light;
use crate::link::{AnyLink, LinkModel};
use crate::wire::Wire;
use crate::{Count, Counters, LinkUsage, NodeId, Signals, SizeUnit};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::pdu_set::DiscardedSets;
use qdelay_core::qdisc::{Backlog, Qdisc};
use qdelay_core::{Packet, Random, Span, Time};
use qdelay_ran::CellUsage;
use qdelay_ran::pdcp::PdcpSetting;

#[derive(Clone, Debug)]
pub(crate) struct Node<Q> {
    pub(crate) role: Role<Q>,
    pub(crate) counters: Counters,
    /// The gates that listen to this node, and the signals.
    pub(crate) listeners: Vec<Listener>,
}

// The tag stands by itself, and not in a value that a field never has, so that a match is a jump.
#[derive(Clone, Debug)]
#[repr(u8)]
pub(crate) enum Role<Q> {
    Classifier(Classifier),
    Queue(Queue<Q>),
    Gate(Box<Gate>),
    Link(Link),
    /// Taken out while the cell runs.
    Cell(Option<Box<CellNode>>),
    /// A replaced link that finishes its transmission.
    Leaving(Box<Leaving>),
    Delay(Delay),
    Wire(Box<Wire>),
    Impairment(Box<Impairment>),
    F1(Box<F1>),
    Light(Box<Light>),
    Exit,
}

/// Makes functions that return the content of a node whose role the builder has checked. They panic for another role, because to
/// continue would lose packets silently.
macro_rules! only {
    ($($kind:literal: $get:ident, $get_mut:ident: $Held:ty = $pattern:pat => $held:ident),* $(,)?) => {$(
        #[inline]
        #[track_caller]
        pub(crate) fn $get(&self) -> &$Held {
            match self {
                $pattern => $held,
                other => other.is_not($kind),
            }
        }
        #[inline]
        #[track_caller]
        pub(crate) fn $get_mut(&mut self) -> &mut $Held {
            match self {
                $pattern => $held,
                other => other.is_not($kind),
            }
        }
    )*};
}

impl<Q> Role<Q> {
    only! {
        "queue": queue, queue_mut: Queue<Q> = Role::Queue(held) => held,
        "gate": gate, gate_mut: Gate = Role::Gate(held) => held,
        "link": link, link_mut: Link = Role::Link(held) => held,
        "cell": cell, cell_mut: CellNode = Role::Cell(Some(held)) => held,
    }

    #[track_caller]
    pub(crate) fn leaving_mut(&mut self) -> &mut Leaving {
        match self {
            Role::Leaving(held) => held,
            other => other.is_not("leaving link"),
        }
    }
    #[track_caller]
    pub(crate) fn delay_mut(&mut self) -> &mut Delay {
        match self {
            Role::Delay(held) => held,
            other => other.is_not("delay"),
        }
    }
    #[track_caller]
    pub(crate) fn light_mut(&mut self) -> &mut Light {
        match self {
            Role::Light(held) => held,
            other => other.is_not("light load"),
        }
    }
    #[track_caller]
    pub(crate) fn f1_mut(&mut self) -> &mut F1 {
        match self {
            Role::F1(held) => held,
            other => other.is_not("F1"),
        }
    }
    #[track_caller]
    pub(crate) fn impairment_mut(&mut self) -> &mut Impairment {
        match self {
            Role::Impairment(held) => held,
            other => other.is_not("impairment"),
        }
    }
    /// Takes the cell out, to run it.
    #[inline]
    #[track_caller]
    pub(crate) fn take_cell(&mut self) -> Box<CellNode> {
        let taken = match self {
            Role::Cell(place) => place.take(),
            _ => None,
        };
        match taken {
            Some(cell) => cell,
            None => self.is_not("cell"),
        }
    }
    /// Puts the cell back that was taken out.
    #[inline]
    #[track_caller]
    pub(crate) fn return_cell(&mut self, cell: Box<CellNode>) {
        match self {
            Role::Cell(place @ None) => *place = Some(cell),
            other => other.is_not("running cell"),
        }
    }

    /// The node's role is none that can be here.
    #[cold]
    #[inline(never)]
    #[track_caller]
    pub(crate) fn is_not(&self, expected: &str) -> ! {
        panic!("impossible state of a path: expected {expected}, got {}", self.kind());
    }

    /// Name of the role in errors.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Role::Classifier(_) => "classifier",
            Role::Queue(_) => "queue",
            Role::Gate(_) => "gate",
            Role::Link(_) => "link",
            Role::Leaving(_) => "leaving link",
            Role::Cell(Some(_)) => "cell",
            Role::Cell(None) => "running cell",
            Role::Delay(_) => "delay",
            Role::Wire(_) => "wire",
            Role::Impairment(_) => "impairment",
            Role::F1(_) => "F1",
            Role::Light(_) => "light load",
            Role::Exit => "exit",
        }
    }
}

/// The limit of a bearer: its queue, and the rest of the packet that is partly sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BearerBuffer {
    /// Bytes in all.
    pub limit_bytes: u64,
    /// Bytes that each packet counts besides its own.
    pub header_bytes: u32,
}

/// PDCP in front of the queue of a bearer: what comes into the queue gets a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// A packet that the queue drops as it arrives gets no number.
    pub drops_before: bool,
    /// A packet that has waited so long is discarded ([`DISCARD`](qdelay_ran::pdcp::DISCARD)); [`Span::MAX`]: never. The discipline
    /// must keep the order of arrival.
    pub discard_timer: Span,
    /// The end of a discard timer, and the drop of an arrival whose PDU set needs it, discards all packets of the set.
    pub set_discard: bool,
    /// Packets have their numbers when they come: PDCP is on the other side of F1-U.
    pub is_done: bool,
}

impl Numbering {
    /// The numbering of `pdcp`, in front of the queue.
    pub const fn from_pdcp(pdcp: &PdcpSetting) -> Numbering {
        let PdcpSetting { drops_before, discard_timer, set_discard, .. } = *pdcp;
        Numbering { drops_before, discard_timer, set_discard, is_done: false }
    }
}

/// The entry of a bearer.
#[derive(Clone, Debug, Default)]
pub(crate) struct BearerEntry {
    /// The common limit of the discipline and the bearer.
    pub(crate) buffer: Option<BearerBuffer>,
    pub(crate) numbering: Option<Numbering>,
    /// COUNT of the next packet.
    pub(crate) next: u32,
    /// PDU sets that were discarded.
    pub(crate) discarded: DiscardedSets,
}

/// A gate that receives a node's signals, `delay` later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listener {
    pub(crate) gate: NodeId,
    pub(crate) delay: Span,
    pub(crate) kinds: Signals,
    /// The unit of the sizes that the gate is given.
    pub(crate) unit: SizeUnit,
}

#[derive(Clone, Debug)]
pub(crate) struct Queue<Q> {
    pub(crate) qdisc: Q,
    pub(crate) random: Random,
    /// The gate, link or cell that takes from this queue.
    pub(crate) puller: NodeId,
    /// Index among the puller's inputs: at a cell, the bearer.
    pub(crate) place: u32,
    /// Whether the discipline ever has a deadline, packets are discarded, other disciplines are to be served before it, or it is held.
    pub(crate) has_timer: bool,
    /// Whether its packets wait, whatever its puller has to offer.
    pub(crate) is_held: bool,
    /// The deadline, as it was set.
    pub(crate) deadline: Time,
    /// Disciplines that were replaced and still hold packets.
    pub(crate) retiring: Option<Box<Retiring<Q>>>,
    /// In front of a cell, where the bearer has an entry of its own.
    pub(crate) entry: Option<Box<BearerEntry>>,
}

/// Disciplines that were replaced, the oldest first. Each holds at least one packet.
#[derive(Clone, Debug)]
pub(crate) struct Retiring<Q> {
    pub(crate) queues: VecDeque<Retired<Q>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Retired<Q> {
    pub(crate) qdisc: Q,
    pub(crate) random: Random,
}

#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) model: AnyLink,
    pub(crate) inputs: Inputs,
    /// The input, where it is one queue: the short way.
    pub(crate) only: Option<NodeId>,
    pub(crate) next: NodeId,
    /// The packet in transmission.
    pub(crate) sending: Option<Sending>,
    /// The usage of the previous links.
    pub(crate) past: Option<Box<Past>>,
}

/// A cell and its surroundings.
#[derive(Clone, Debug)]
pub(crate) struct CellNode {
    pub(crate) cell: Air,
    /// The queue of each bearer.
    pub(crate) queues: Vec<NodeId>,
    pub(crate) next: NodeId,
    /// The backlog of each queue: a contiguous copy, because a cell reads it in every TTI.
    pub(crate) waiting: Vec<Backlog>,
    /// The gates that receive the report of a TTI for each bearer.
    pub(crate) hearers: Vec<Hearer>,
}

/// The gates that receive the report of a TTI for a bearer: derived from the listeners of its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hearer {
    Nobody,
    /// One gate, without delay.
    AtOnce(NodeId),
    /// One gate, which hears nothing else: the reports may come late.
    Late(NodeId),
    /// See there.
    Listeners,
    /// The end of F1-U in the unit of the RLC.
    F1(NodeId),
}

impl Hearer {
    pub(crate) fn from_listeners(listeners: &[Listener]) -> Hearer {
        let mut hearing = listeners.iter().filter(|listener| listener.kinds.served);
        match (hearing.next(), hearing.next()) {
            (None, _) => Hearer::Nobody,
            (Some(only), None) if only.delay.is_zero() => Hearer::AtOnce(only.gate),
            _ => Hearer::Listeners,
        }
    }
}

impl CellNode {
    pub(crate) fn new(cell: Air, queues: Vec<NodeId>, next: NodeId) -> CellNode {
        let (waiting, hearers) = (vec![Backlog::default(); queues.len()], vec![Hearer::Nobody; queues.len()]);
        CellNode { cell, queues, next, waiting, hearers }
    }
    pub(crate) fn usage(&self, now: Time) -> CellUsage {
        self.cell.usage(now)
    }
    pub(crate) fn inside(&self) -> Count {
        let backlog = self.cell.inside();
        Count { packets: backlog.packets, bytes: backlog.bytes }
    }
}

/// See [`Role::Leaving`].
#[derive(Clone, Debug)]
pub(crate) struct Leaving {
    pub(crate) link: Link,
    pub(crate) successor: AnyLink,
}

/// The count of all links that a node has had, up to the change to the present one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Past {
    /// When the present one took over.
    pub(crate) until: Time,
    /// Bytes on the link; those of an endless link are the ones it has sent.
    pub(crate) sent_bytes: u64,
    pub(crate) offered_bytes: u64,
    /// The packets that the node had forwarded.
    pub(crate) forwarded: Count,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) packet: Packet,
    /// Queue that the packet was taken from.
    pub(crate) queue: NodeId,
    /// Bytes that went with earlier opportunities of a trace, overhead included.
    pub(crate) sent_bytes: u64,
}

impl Link {
    /// The usage of this link and the previous ones up to `now`; `forwarded` are the packets that the node has forwarded.
    pub(crate) fn usage(&self, forwarded: Count, now: Time) -> LinkUsage {
        let past = self.past.as_deref().copied().unwrap_or_default();
        let [packets, bytes] =
            [forwarded.packets - past.forwarded.packets, forwarded.bytes - past.forwarded.bytes];
        let whole = past.sent_bytes + bytes + packets * u64::from(self.model.overhead_bytes());
        let sent_bytes = whole + self.sending.map_or(0, |sending| sending.sent_bytes);
        let offered = match self.model.offered_bytes(now) {
            u64::MAX => u64::MAX,
            bytes => bytes
                .saturating_sub(self.past.as_ref().map_or(0, |past| self.model.offered_bytes(past.until))),
        };
        LinkUsage { sent_bytes, offered_bytes: past.offered_bytes.saturating_add(offered) }
    }

    pub(crate) fn inside(&self) -> Count {
        self.sending.map_or(Count::default(), |s| Count { packets: 1, bytes: u64::from(s.packet.bytes) })
    }
}

impl<Q: Qdisc> Queue<Q> {
    /// [`Qdisc::sizes`] of the oldest discipline.
    pub(crate) fn sizes(&self, from: usize, sizes: &mut [u32]) -> usize {
        let oldest = self.retiring.as_ref().and_then(|retiring| retiring.queues.front());
        oldest.map_or(&self.qdisc, |old| &old.qdisc).sizes(from, sizes)
    }
    /// The backlog of all disciplines.
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        let mut sum = self.qdisc.backlog();
        for backlog in
            self.retiring.iter().flat_map(|retiring| &retiring.queues).map(|old| old.qdisc.backlog())
        {
            sum.packets += backlog.packets;
            sum.bytes += backlog.bytes;
        }
        sum
    }
    /// Whether a discard timer runs for its packets.
    pub(crate) fn discards(&self) -> bool {
        self.discard_timer() < Span::MAX
    }
    pub(crate) fn discard_timer(&self) -> Span {
        let numbering = self.entry.as_ref().and_then(|entry| entry.numbering);
        numbering.map_or(Span::MAX, |numbering| numbering.discard_timer)
    }
    /// Whether its bearer discards whole PDU sets.
    #[inline]
    pub(crate) fn discards_sets(&self) -> bool {
        let numbering = self.entry.as_ref().and_then(|entry| entry.numbering);
        numbering.is_some_and(|numbering| numbering.set_discard)
    }
    /// When the packet at the head is to be discarded.
    pub(crate) fn next_discard(&self) -> Time {
        match self.discard_timer() {
            Span::MAX => Time::NEVER,
            timer => self.head().map_or(Time::NEVER, |head| head.arrival + timer),
        }
    }
    /// The packet at the head, of the oldest discipline.
    #[inline]
    pub(crate) fn head(&self) -> Option<&Packet> {
        match &self.retiring {
            None => self.qdisc.head(),
            Some(retiring) => {
                retiring.queues.iter().find_map(|old| old.qdisc.head()).or_else(|| self.qdisc.head())
            }
        }
    }
    /// The earliest deadline of all disciplines.
    #[inline]
    pub(crate) fn next_deadline(&self) -> Time {
        let own = self.qdisc.next_deadline().min(self.next_discard());
        match &self.retiring {
            None => own,
            Some(retiring) => {
                retiring.queues.iter().map(|old| old.qdisc.next_deadline()).fold(own, Time::min)
            }
        }
    }
}

impl<Q: Qdisc> Node<Q> {
    pub(crate) fn new(role: Role<Q>) -> Node<Q> {
        Node { role, counters: Counters::default(), listeners: Vec::new() }
    }

    /// Whether the packets that came are those that went on, were dropped or are inside: it holds between two calls of the node.
    pub(crate) fn is_conserving(&self) -> bool {
        let Counters { received, copies, forwarded, .. } = &self.counters;
        *received + *copies == *forwarded + self.counters.dropped_total() + self.inside()
    }

    /// The packets in the node.
    pub(crate) fn inside(&self) -> Count {
        match &self.role {
            Role::Queue(queue) => {
                let backlog = queue.backlog();
                Count { packets: backlog.packets, bytes: backlog.bytes }
            }
            Role::Link(link) => link.inside(),
            Role::Leaving(leaving) => leaving.link.inside(),
            Role::Cell(cell) => cell.as_ref().map_or(Count::default(), |cell| cell.inside()),
            Role::Delay(delay) => delay.schedule.inside(),
            Role::Wire(wire) => wire.schedule.inside(),
            Role::Impairment(impairment) => impairment.schedule.inside(),
            Role::F1(f1) => f1.schedule.inside(),
            Role::Light(light) => light.schedule.inside(),
            Role::Classifier(_) | Role::Gate(_) | Role::Exit => Count::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::qdisc::AnyQdisc;

    #[test]
    #[should_panic(expected = "expected gate, got exit")]
    fn a_node_of_another_role_asserts() {
        Role::<AnyQdisc>::Exit.gate();
    }

    #[test]
    #[should_panic(expected = "expected cell, got running cell")]
    fn a_cell_that_runs_is_not_there() {
        Role::<AnyQdisc>::Cell(None).cell_mut();
    }
}
