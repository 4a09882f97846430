//! What a path keeps for each of its nodes.

use crate::classifier::Classifier;
use crate::delay::Delay;
use crate::gate::AnyGate;
use crate::link::AnyLink;
use crate::{Count, Counters, LinkUsage, NodeId, Signal, Signals};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use qdelay_core::qdisc::{Backlog, Qdisc};
use qdelay_core::{Packet, Random, Span, Time};

#[derive(Clone, Debug)]
pub(crate) struct Node<Q> {
    pub(crate) role: Role<Q>,
    pub(crate) counters: Counters,
    /// Who hears what of this node.
    pub(crate) listeners: Vec<Listener>,
}

#[derive(Clone, Debug)]
pub(crate) enum Role<Q> {
    Classifier(Classifier),
    Queue(Queue<Q>),
    Gate(Gate),
    Link(Link),
    /// A link that was replaced and ends what it has begun.
    Leaving(Box<Leaving>),
    Delay(Delay),
    Exit,
}

/// A gate that hears a node's signals, `delay` later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listener {
    pub(crate) gate: NodeId,
    pub(crate) delay: Span,
    pub(crate) kinds: Signals,
}

#[derive(Clone, Debug)]
pub(crate) struct Queue<Q> {
    pub(crate) qdisc: Q,
    pub(crate) random: Random,
    /// The gate or link that takes from this queue.
    pub(crate) puller: NodeId,
    /// Whether the discipline ever has a deadline, or others are to be served before it.
    pub(crate) has_timer: bool,
    /// The deadline, as it was set.
    pub(crate) deadline: Time,
    /// Disciplines that were replaced and still hold packets.
    pub(crate) retiring: Option<Box<Retiring<Q>>>,
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

/// In which order a gate or link serves its inputs. One input at a time holds the place: a packet of another input does
/// not pass one that a gate holds back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PullOrder {
    /// A packet of each in turn, inputs without packets left out.
    #[default]
    RoundRobin,
    /// Always of the first connected that has one.
    StrictPriority,
}

/// What a gate or link takes packets from.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) order: PullOrder,
    /// Whose turn it is.
    pub(crate) turn: usize,
}

impl Inputs {
    /// The input to ask first.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        match self.order {
            PullOrder::RoundRobin => self.turn,
            PullOrder::StrictPriority => 0,
        }
    }
    /// The input to ask after `index`.
    #[inline]
    pub(crate) fn after(&self, index: usize) -> usize {
        if index + 1 < self.nodes.len() { index + 1 } else { 0 }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) law: AnyGate,
    pub(crate) inputs: Inputs,
    pub(crate) next: NodeId,
    /// The next node is a link, which takes packets through the gate when it is free.
    pub(crate) pulled: bool,
    /// When the law wants to be asked again.
    pub(crate) retry: Time,
    /// Signals on their way, in order of arrival.
    pub(crate) inbox: VecDeque<(Time, Signal)>,
}

impl Gate {
    /// Puts a signal on its way, behind those that arrive at the same time.
    pub(crate) fn post(&mut self, time: Time, signal: Signal) {
        let place = self.inbox.partition_point(|entry| entry.0 <= time);
        self.inbox.insert(place, (time, signal));
    }
    /// When the gate has something to do by itself.
    pub(crate) fn deadline(&self) -> Time {
        self.inbox.front().map_or(Time::NEVER, |entry| entry.0).min(self.retry)
    }
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
    /// What the links before this one have done.
    pub(crate) past: Option<Box<Past>>,
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
    /// What the node had forwarded.
    pub(crate) forwarded: Count,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) packet: Packet,
    /// Where it was taken from.
    pub(crate) queue: NodeId,
    /// Bytes that went with earlier opportunities of a trace, overhead included.
    pub(crate) sent_bytes: u64,
}

impl Link {
    /// What this link and those before it have done up to `now`, where the node has forwarded so much.
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
    /// What all disciplines hold.
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
        let own = self.qdisc.next_deadline();
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

    /// What the node holds.
    pub(crate) fn inside(&self) -> Count {
        match &self.role {
            Role::Queue(queue) => {
                let backlog = queue.backlog();
                Count { packets: backlog.packets, bytes: backlog.bytes }
            }
            Role::Link(link) => link.inside(),
            Role::Leaving(leaving) => leaving.link.inside(),
            Role::Delay(delay) => delay.inside(),
            Role::Classifier(_) | Role::Gate(_) | Role::Exit => Count::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_wait_in_order_of_time_then_of_sending() {
        let inputs = Inputs { nodes: Vec::new(), order: PullOrder::RoundRobin, turn: 0 };
        let (law, next, retry) = (AnyGate::PASS_THROUGH, NodeId(0), Time::NEVER);
        let mut gate = Gate { law, inputs, next, pulled: false, retry, inbox: VecDeque::new() };
        for (time, bytes) in [(5, 1), (3, 2), (5, 3), (4, 4), (3, 5)] {
            gate.post(Time::from_nanos(time), Signal::Dequeued { bytes });
        }
        assert_eq!(gate.deadline(), Time::from_nanos(3));
        let order: Vec<u64> = gate
            .inbox
            .iter()
            .map(|(_, signal)| match signal {
                Signal::Dequeued { bytes } | Signal::Remaining { bytes } | Signal::Capacity { bytes } => {
                    *bytes
                }
            })
            .collect();
        assert_eq!(order, [2, 5, 4, 1, 3]);
    }
}
