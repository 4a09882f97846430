//! Queues, and who takes packets from them.

use super::Path;
use crate::link::AnyLink;
use crate::node::Role;
use crate::{Counters, NodeId, Observer, Signal};
use qdelay_core::qdisc::Qdisc;
use qdelay_core::{Context, DropReason, MarkReason, Packet, Sink, Span, Time};

/// Counts what a discipline drops and marks, and tells the observer.
struct Tally<'a, O> {
    now: Time,
    node: NodeId,
    counters: &'a mut Counters,
    observer: &'a mut O,
    /// Bytes dropped during this call.
    gone_bytes: u64,
}

impl<O: Observer> Sink for Tally<'_, O> {
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        self.counters.count_drop(packet, reason);
        self.gone_bytes += u64::from(packet.bytes);
        self.observer.dropped(self.now, self.node, packet, reason);
    }
    fn marked(&mut self, packet: &Packet, reason: MarkReason) {
        self.counters.count_mark(packet, reason);
        self.observer.marked(self.now, self.node, packet, reason);
    }
}
impl<Q: Qdisc> Path<Q> {
    #[inline]
    pub(super) fn enqueue<O: Observer>(
        &mut self,
        at: NodeId,
        mut packet: Packet,
        now: Time,
        observer: &mut O,
    ) {
        let node = &mut self.nodes[at.index()];
        let Role::Queue(queue) = &mut node.role else { return };
        packet.arrival = now;
        observer.enqueued(now, at, &packet);
        let mut sink = Tally { now, node: at, counters: &mut node.counters, observer, gone_bytes: 0 };
        queue.qdisc.enqueue(&mut Context { now, random: &mut queue.random, sink: &mut sink }, packet);
        let (puller, gone_bytes) = (queue.puller, sink.gone_bytes);
        let deadline = queue.qdisc.next_deadline();
        if deadline != queue.deadline {
            queue.deadline = deadline;
            self.deadlines.set(at.index(), deadline.max(now));
        }
        if gone_bytes > 0 && !node.listeners.is_empty() {
            self.tell(at, now, Signal::Dequeued { bytes: gone_bytes });
        }
        if self.idle[puller.index()] {
            self.wake(puller, now, observer);
        }
    }

    /// Takes a packet out of the queue `at`.
    #[inline]
    pub(super) fn dequeue<O: Observer>(&mut self, at: NodeId, now: Time, observer: &mut O) -> Option<Packet> {
        let node = &mut self.nodes[at.index()];
        let Role::Queue(queue) = &mut node.role else { return None };
        queue.qdisc.head()?;
        let mut sink = Tally { now, node: at, counters: &mut node.counters, observer, gone_bytes: 0 };
        let packet = queue.qdisc.dequeue(&mut Context { now, random: &mut queue.random, sink: &mut sink });
        let gone_bytes = sink.gone_bytes;
        let deadline = queue.qdisc.next_deadline();
        if deadline != queue.deadline {
            queue.deadline = deadline;
            self.deadlines.set(at.index(), deadline.max(now));
        }
        if let Some(packet) = &packet {
            node.counters.forwarded.add(packet);
            observer.dequeued(now, at, packet);
        }
        if !node.listeners.is_empty() {
            let remaining = queue.qdisc.backlog().bytes;
            let bytes = gone_bytes + packet.map_or(0, |packet| u64::from(packet.bytes));
            self.tell(at, now, Signal::Dequeued { bytes });
            self.tell(at, now, Signal::Remaining { bytes: remaining });
        }
        packet
    }

    #[cold]
    pub(super) fn run_timer<O: Observer>(&mut self, at: NodeId, now: Time, observer: &mut O) {
        let node = &mut self.nodes[at.index()];
        let Role::Queue(queue) = &mut node.role else { return };
        let mut sink = Tally { now, node: at, counters: &mut node.counters, observer, gone_bytes: 0 };
        queue.qdisc.poll(&mut Context { now, random: &mut queue.random, sink: &mut sink });
        let gone_bytes = sink.gone_bytes;
        queue.deadline = queue.qdisc.next_deadline();
        // A discipline that asks for the time it was just called at would keep everything from going on.
        self.deadlines.set(at.index(), queue.deadline.max(now + Span::from_nanos(1)));
        if gone_bytes > 0 {
            self.tell(at, now, Signal::Dequeued { bytes: gone_bytes });
        }
    }

    /// The node `id`, a gate or link, has something to take. A busy link looks by itself when it is done.
    pub(super) fn wake<O: Observer>(&mut self, mut id: NodeId, now: Time, observer: &mut O) {
        if let Role::Gate(gate) = &self.nodes[id.index()].role {
            if !gate.pulled {
                return self.deadlines.set(id.index(), now);
            }
            id = gate.next;
        }
        if !self.idle[id.index()] {
            return;
        }
        let Role::Link(link) = &mut self.nodes[id.index()].role else { return };
        let deadline = match &mut link.model {
            AnyLink::Line(_) | AnyLink::Rate(_) => return self.begin_sending(id, now, observer),
            AnyLink::Shaper(shaper) => shaper.eligible().max(now),
            AnyLink::Trace(trace) => trace.skip(now),
        };
        self.idle[id.index()] = false;
        self.deadlines.set(id.index(), deadline);
    }

    /// The link `id` takes a packet from its inputs; also says from which queue it came.
    #[inline]
    pub(super) fn pull<O: Observer>(
        &mut self,
        id: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<(Packet, NodeId)> {
        let Role::Link(link) = &self.nodes[id.index()].role else { return None };
        match link.only {
            Some(queue) => self.dequeue(queue, now, observer).map(|packet| (packet, queue)),
            None => self.pull_in_turn(id, now, observer),
        }
    }

    /// As [`Path::pull`], with several inputs or through a gate.
    pub(super) fn pull_in_turn<O: Observer>(
        &mut self,
        id: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<(Packet, NodeId)> {
        let Role::Link(link) = &self.nodes[id.index()].role else { return None };
        let (count, mut index) = (link.inputs.nodes.len(), link.inputs.first());
        for _ in 0..count {
            let Role::Link(link) = &mut self.nodes[id.index()].role else { return None };
            let (input, after) = (link.inputs.nodes[index], link.inputs.after(index));
            let taken = match self.nodes[input.index()].role {
                Role::Gate(_) => self.pass(input, now, observer),
                _ => self.dequeue(input, now, observer).map(|packet| (packet, input)),
            };
            if taken.is_some() {
                let Role::Link(link) = &mut self.nodes[id.index()].role else { return None };
                link.inputs.turn = after;
                return taken;
            }
            index = after;
        }
        None
    }
}
