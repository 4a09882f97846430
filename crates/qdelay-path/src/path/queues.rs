//! Queues, and the nodes that take packets from them.

use super::Path;
use crate::link::AnyLink;
use crate::node::{Queue, Role};
use crate::{Count, Counters, NodeId, Observer};
use qdelay_core::qdisc::Qdisc;
use qdelay_core::{Context, DropReason, MarkReason, Packet, PduSet, Random, Sink, Span, Time};

/// Counts the drops and marks of a discipline, and reports them to the observer.
pub(super) struct Tally<'a, O> {
    pub(super) now: Time,
    pub(super) node: NodeId,
    pub(super) counters: &'a mut Counters,
    pub(super) observer: &'a mut O,
    /// Dropped during this call.
    pub(super) gone: Count,
    /// The number of the newest of these.
    pub(super) newest: u32,
    /// Flow and number of a PDU set that needs all of its packets, of which one is among these.
    pub(super) broken: Option<(u32, u32)>,
}

impl<O: Observer> Sink for Tally<'_, O> {
    fn dropped(&mut self, packet: &Packet, reason: DropReason) {
        self.counters.dropped.add(reason, packet);
        self.gone.add(packet);
        self.newest = self.newest.max(packet.count);
        if let Some(set) = self.observer.pdu_set(packet)
            && set.is_integrated
        {
            self.broken = Some((packet.flow, set.number));
        }
        self.observer.dropped(self.now, self.node, packet, reason);
    }
    fn marked(&mut self, packet: &Packet, reason: MarkReason) {
        self.counters.marked.add(reason, packet);
        self.observer.marked(self.now, self.node, packet, reason);
    }
    fn pdu_set(&self, packet: &Packet) -> Option<PduSet> {
        self.observer.pdu_set(packet)
    }
}

impl<'a, O: Observer> Tally<'a, O> {
    /// Tally for one call of the discipline at `node`.
    #[inline(always)]
    pub(super) fn new(
        now: Time,
        node: NodeId,
        counters: &'a mut Counters,
        observer: &'a mut O,
    ) -> Tally<'a, O> {
        Tally { now, node, counters, observer, gone: Count::default(), newest: 0, broken: None }
    }
    /// Takes a packet out of `qdisc`.
    #[inline(never)]
    pub(super) fn take<Q: Qdisc>(&mut self, qdisc: &mut Q, random: &mut Random) -> Option<Packet> {
        qdisc.dequeue_if_queued(&mut Context { now: self.now, random, sink: self })
    }
}

impl<Q: Qdisc> Queue<Q> {
    /// Offers `packet` to the discipline; returns the dropped packets.
    #[inline]
    pub(super) fn enqueue<O: Observer>(
        &mut self,
        node: NodeId,
        packet: Packet,
        now: Time,
        counters: &mut Counters,
        observer: &mut O,
    ) -> Count {
        let mut sink = Tally::new(now, node, counters, observer);
        self.qdisc.enqueue(&mut Context { now, random: &mut self.random, sink: &mut sink }, packet);
        let Tally { gone, newest, broken, .. } = sink;
        if gone.packets > 0 && self.entry.is_some() {
            self.take_number_back(newest);
            if let Some(set) = broken.filter(|_| self.discards_sets()) {
                let mut sink = Tally::new(now, node, counters, observer);
                self.discard_set(now, set, &mut sink);
                return gone + sink.gone;
            }
        }
        gone
    }
}

impl<Q: Qdisc> Path<Q> {
    /// Sets the deadline of the queue `at` to that of its discipline, where it has changed.
    #[inline(never)]
    pub(super) fn follow_timer(&mut self, at: NodeId, now: Time) {
        let queue = self.nodes[at.index()].role.queue_mut();
        let deadline = queue.next_deadline();
        if deadline != queue.deadline {
            queue.deadline = deadline;
            self.deadlines.set(at.index(), deadline.max(now));
        }
    }

    /// Takes a packet out of the queue `at`.
    #[inline(never)]
    pub(super) fn dequeue<O: Observer>(&mut self, at: NodeId, now: Time, observer: &mut O) -> Option<Packet> {
        self.take_from(at, now, observer)
    }

    /// [`Path::dequeue`], inlined with all disciplines where it is called: the fast path of a line.
    #[inline(always)]
    pub(super) fn take_from<O: Observer>(
        &mut self,
        at: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<Packet> {
        let node = &mut self.nodes[at.index()];
        let queue = node.role.queue_mut();
        let (has_timer, is_heard) = (queue.has_timer, !node.listeners.is_empty());
        if has_timer || is_heard {
            if queue.is_held {
                return None;
            }
            if queue.retiring.is_some() {
                return self.dequeue_oldest(at, now, observer);
            }
            // Taking from an empty queue is no news.
            queue.qdisc.head()?;
        }
        let mut sink = Tally::new(now, at, &mut node.counters, observer);
        let packet =
            queue.qdisc.dequeue_if_queued(&mut Context { now, random: &mut queue.random, sink: &mut sink });
        let gone = sink.gone;
        if let Some(packet) = &packet {
            node.counters.forwarded.add(packet);
            observer.dequeued(now, at, packet);
        }
        if has_timer || is_heard {
            let gone = gone + packet.as_ref().map_or(Count::default(), Count::one);
            self.tell_of_taking(at, now, gone, has_timer, is_heard);
        }
        packet
    }

    /// `gone` has left the queue `at`, which has a timer or is heard of.
    #[inline(never)]
    fn tell_of_taking(&mut self, at: NodeId, now: Time, gone: Count, has_timer: bool, is_heard: bool) {
        if has_timer {
            self.follow_timer(at, now);
        }
        if is_heard {
            self.tell_of_dequeue(at, now, gone);
        }
    }

    /// `gone` has left the queue `at`.
    #[inline(never)]
    pub(super) fn tell_of_dequeue(&mut self, at: NodeId, now: Time, gone: Count) {
        let queue = self.nodes[at.index()].role.queue();
        let left = queue.backlog();
        self.tell_gone(at, now, gone);
        self.tell_left(at, now, Count { packets: left.packets, bytes: left.bytes });
    }

    #[cold]
    pub(super) fn run_timer<O: Observer>(&mut self, at: NodeId, now: Time, observer: &mut O) {
        let node = &mut self.nodes[at.index()];
        let queue = node.role.queue_mut();
        let mut sink = Tally::new(now, at, &mut node.counters, observer);
        for old in queue.retiring.iter_mut().flat_map(|retiring| &mut retiring.queues) {
            old.qdisc.poll(&mut Context { now, random: &mut old.random, sink: &mut sink });
        }
        queue.qdisc.poll(&mut Context { now, random: &mut queue.random, sink: &mut sink });
        queue.discard_old(now, &mut sink);
        let gone = sink.gone;
        queue.retire();
        queue.deadline = queue.next_deadline();
        debug_assert!(node.is_conserving(), "{:?}", node.counters);
        let queue = node.role.queue();
        // A discipline that asks for the time it was just called at would keep everything from going on.
        self.deadlines.set(at.index(), queue.deadline.max(now + Span::from_nanos(1)));
        self.copy_backlog(at, now);
        if gone.packets > 0 {
            self.tell_gone(at, now, gone);
        }
    }

    /// The node `id`, a gate, link or cell, can take a packet from `input`. A busy link checks by itself when it is done.
    #[inline]
    pub(super) fn wake<O: Observer>(&mut self, id: NodeId, input: NodeId, now: Time, observer: &mut O) {
        match &self.nodes[id.index()].role {
            Role::Link(_) => self.wake_link(id, now, observer),
            Role::Gate(gate) if gate.pulled => self.wake_link(gate.next, now, observer),
            Role::Gate(_) => self.run_soon(id, now),
            Role::Cell(_) => self.wake_cell(id, input, now),
            // A link that leaves is busy, as long as it is there.
            Role::Leaving(_) => {}
            other @ (Role::Queue(_)
            | Role::Classifier(_)
            | Role::Delay(_)
            | Role::Wire(_)
            | Role::Impairment(_)
            | Role::F1(_)
            | Role::Light(_)
            | Role::Exit) => other.is_not("gate, link or cell"),
        }
    }

    #[inline(never)]
    fn wake_link<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        if !self.idle[id.index()] {
            return;
        }
        let link = self.nodes[id.index()].role.link_mut();
        let deadline = match &mut link.model {
            AnyLink::Serial(_) => return self.begin_sending(id, now, observer),
            model @ (AnyLink::Shaped(_) | AnyLink::Slotted(_)) => model.wake(now),
        };
        self.idle[id.index()] = false;
        self.deadlines.set(id.index(), deadline);
    }

    /// The link `id` takes a packet from its inputs; also returns the queue of the packet.
    #[inline]
    pub(super) fn pull<O: Observer>(
        &mut self,
        id: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<(Packet, NodeId)> {
        let link = self.nodes[id.index()].role.link();
        match link.only {
            Some(queue) => self.dequeue(queue, now, observer).map(|packet| (packet, queue)),
            None => self.pull_in_turn(id, now, observer),
        }
    }

    /// [`Path::pull`] from several inputs or through a gate.
    pub(super) fn pull_in_turn<O: Observer>(
        &mut self,
        id: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<(Packet, NodeId)> {
        let link = self.nodes[id.index()].role.link();
        if link.inputs.deficits.is_some() {
            return self.pull_by_deficit(id, now, observer);
        }
        let (count, mut index) = (link.inputs.nodes.len(), link.inputs.first());
        for _ in 0..count {
            let link = self.nodes[id.index()].role.link();
            let (input, after) = (link.inputs.nodes[index], link.inputs.after(index));
            let taken = match self.nodes[input.index()].role {
                Role::Gate(_) => self.pass(input, now, observer),
                _ => self.dequeue(input, now, observer).map(|packet| (packet, input)),
            };
            if taken.is_some() {
                self.nodes[id.index()].role.link_mut().inputs.turn = after;
                return taken;
            }
            index = after;
        }
        None
    }

    /// [`Path::pull`] in deficit round robin over queues.
    fn pull_by_deficit<O: Observer>(
        &mut self,
        id: NodeId,
        now: Time,
        observer: &mut O,
    ) -> Option<(Packet, NodeId)> {
        let link = self.nodes[id.index()].role.link();
        // Where a discipline has only packets to drop, another input may have one.
        for _ in 0..=link.inputs.nodes.len() {
            let link = self.nodes[id.index()].role.link_mut();
            let mut deficits = link.inputs.deficits.take().expect("deficit round robin");
            let chosen = deficits.choose(|input| self.head_bytes(input));
            let place = chosen.map(|(index, _)| (index, deficits.nodes[index]));
            let taken = place.map(|(_, input)| self.dequeue(input, now, observer));
            if let (Some((index, _)), Some(Some(packet))) = (place, &taken) {
                deficits.taken(index, u64::from(packet.bytes));
            }
            self.nodes[id.index()].role.link_mut().inputs.deficits = Some(deficits);
            if let Some(packet) = taken? {
                return place.map(|(_, input)| (packet, input));
            }
        }
        None
    }
}
