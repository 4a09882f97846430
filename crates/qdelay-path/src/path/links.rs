//! Links: taking a packet, sending it, and what follows when it has left.

use super::Path;
use crate::link::{AnyLink, LinkModel, Serial, Shaped, Slotted};
use crate::node::{Role, Sending};
use crate::{NodeId, Observer, Signal};
use qdelay_core::qdisc::Qdisc;
use qdelay_core::{Packet, Time};

impl<Q: Qdisc> Path<Q> {
    /// A link that stores and forwards takes its next packet, or becomes idle.
    #[inline(always)]
    pub(super) fn begin_sending<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        let link = self.nodes[id.index()].role.link();
        let Some(queue) = link.only else { return self.begin_sending_in_turn(id, now, observer) };
        match self.take_from(queue, now, observer) {
            Some(packet) => self.start(id, queue, packet, now),
            None => self.go_idle(id),
        }
    }

    /// [`Path::begin_sending`] from several inputs or through a gate.
    #[inline(never)]
    fn begin_sending_in_turn<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        match self.pull_in_turn(id, now, observer) {
            Some((packet, queue)) => self.start(id, queue, packet, now),
            None => self.go_idle(id),
        }
    }

    /// The first bit of `packet`, taken from `queue`, is sent.
    #[inline(always)]
    fn start(&mut self, id: NodeId, queue: NodeId, packet: Packet, now: Time) {
        let node = &mut self.nodes[id.index()];
        node.counters.received.add(&packet);
        let link = node.role.link_mut();
        debug_assert!(link.sending.is_none(), "a line sends one packet at a time");
        link.sending = Some(Sending { packet, queue, sent_bytes: 0 });
        let AnyLink::Serial(line) = &mut link.model else { unreachable!("only lines store and forward") };
        let deadline = line.begin(now, packet.bytes);
        debug_assert!(deadline >= now, "the last bit is sent before the first");
        self.idle[id.index()] = false;
        self.deadlines.set(id.index(), deadline);
    }

    /// The link `id` found nothing to take.
    #[inline]
    fn go_idle(&mut self, id: NodeId) {
        // A line drops nothing: all that it has taken has left it.
        debug_assert_eq!(self.nodes[id.index()].counters.received, self.nodes[id.index()].counters.forwarded);
        self.idle[id.index()] = true;
        self.deadlines.set(id.index(), Time::NEVER);
    }

    /// A shaper may send: one packet at the start of its slot.
    #[inline]
    pub(super) fn release<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        let Some((packet, queue)) = self.pull(id, now, observer) else {
            self.idle[id.index()] = true;
            return self.deadlines.set(id.index(), Time::NEVER);
        };
        let node = &mut self.nodes[id.index()];
        node.counters.received.add(&packet);
        let link = node.role.link_mut();
        let AnyLink::Shaped(shaper) = &mut link.model else { unreachable!("only shapers release") };
        shaper.charge(now, packet.bytes);
        let (deadline, next) = (shaper.eligible().max(now), link.next);
        self.deadlines.set(id.index(), deadline);
        observer.departed(now, id, queue, &packet);
        self.forwarded(id, &packet, now);
        self.push(next, packet, now, observer);
    }

    /// A slotted link sends up to `budget` bytes, overhead included. Returns the unused bytes, which are none while there is data
    /// to send.
    #[inline(always)]
    fn carry<O: Observer>(&mut self, id: NodeId, now: Time, mut budget: u64, observer: &mut O) -> u64 {
        while budget > 0 {
            let link = self.nodes[id.index()].role.link_mut();
            let overhead = u64::from(link.model.overhead_bytes());
            let next = link.next;
            let mut sending = match link.sending.take() {
                Some(sending) => sending,
                None => {
                    let Some((packet, queue)) = self.pull(id, now, observer) else { break };
                    self.nodes[id.index()].counters.received.add(&packet);
                    Sending { packet, queue, sent_bytes: 0 }
                }
            };
            debug_assert!(sending.packet.arrival <= now, "a packet is sent before it comes to its queue");
            let left = u64::from(sending.packet.bytes) + overhead - sending.sent_bytes;
            if left > budget {
                sending.sent_bytes += budget;
                budget = 0;
                self.nodes[id.index()].role.link_mut().sending = Some(sending);
            } else {
                budget -= left;
                observer.departed(now, id, sending.queue, &sending.packet);
                self.forwarded(id, &sending.packet, now);
                self.push(next, sending.packet, now, observer);
            }
        }
        budget
    }

    /// A slot of a link that has slots.
    pub(super) fn slot<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        let AnyLink::Slotted(slotted) = &self.nodes[id.index()].role.link().model else {
            unreachable!("a link without slots has none");
        };
        let (slot_bytes, reports) = (slotted.slot_bytes(), slotted.reports());
        let left = self.carry(id, now, slot_bytes, observer);
        let waiting = if reports { self.waiting_bytes(id) } else { 0 };
        let node = &mut self.nodes[id.index()];
        let AnyLink::Slotted(slotted) = &mut node.role.link_mut().model else {
            unreachable!("a link stays what it is while it sends");
        };
        debug_assert!(left <= slot_bytes, "{left} of {slot_bytes} bytes are left");
        let next = slotted.sent(now, slot_bytes - left, waiting);
        debug_assert!(next >= now, "the next slot is in the past");
        self.idle[id.index()] = next == Time::NEVER;
        self.deadlines.set(id.index(), next);
        if !node.listeners.is_empty() {
            self.tell(id, now, Signal::Capacity { bytes: slot_bytes });
        }
    }

    /// The backlog of the link `id` in bytes on the link, with the rest of a packet that is partly sent.
    fn waiting_bytes(&self, id: NodeId) -> u64 {
        let link = self.nodes[id.index()].role.link();
        let overhead = u64::from(link.model.overhead_bytes());
        let queue = |id: &NodeId| {
            let backlog = self.nodes[id.index()].role.queue().backlog();
            backlog.bytes + backlog.packets * overhead
        };
        let input = |id: &NodeId| match &self.nodes[id.index()].role {
            Role::Gate(gate) => gate.inputs.nodes.iter().map(queue).sum(),
            _ => queue(id),
        };
        let begun = link.sending.as_ref().map_or(0, |sending| {
            (u64::from(sending.packet.bytes) + overhead).saturating_sub(sending.sent_bytes)
        });
        begun + link.inputs.nodes.iter().map(input).sum::<u64>()
    }
}
