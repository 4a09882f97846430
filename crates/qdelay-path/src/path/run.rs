//! Running what is due, and moving packets from node to node.

use super::Path;
use crate::delay::Entry;
use crate::link::AnyLink;
use crate::node::Role;
use crate::{NodeId, Observer, Signal};
use qdelay_core::qdisc::Qdisc;
use qdelay_core::{DropReason, Packet, Time};

impl<Q: Qdisc> Path<Q> {
    /// Runs what is due by `now`, each event at its own time.
    #[inline]
    pub(super) fn run<O: Observer>(&mut self, now: Time, observer: &mut O) {
        if self.is_due(now) {
            self.run_due(now, observer);
        }
    }

    #[inline]
    pub(super) fn is_due(&self, now: Time) -> bool {
        let due = self.deadlines.next();
        due <= now && due < Time::NEVER
    }

    #[inline(never)]
    pub(super) fn run_due<O: Observer>(&mut self, now: Time, observer: &mut O) {
        while self.is_due(now) {
            self.fire(NodeId(self.deadlines.first() as u16), self.deadlines.next(), observer);
        }
    }

    /// Runs the event of `id` that is due at `now`, and sets its next deadline.
    #[inline]
    pub(super) fn fire<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        match &mut self.nodes[id.index()].role {
            Role::Delay(delay) => {
                let next = delay.next;
                let (packet, deadline) = delay.leave();
                self.deadlines.set(id.index(), deadline);
                if let Some(packet) = packet {
                    self.forwarded(id, &packet, now);
                    self.push(next, packet, now, observer);
                }
            }
            Role::Link(link) => match link.model {
                AnyLink::Line(_) | AnyLink::Rate(_) => self.finish_sending(id, now, observer),
                AnyLink::Shaper(_) => self.release(id, now, observer),
                AnyLink::Trace(_) => self.opportunity(id, now, observer),
            },
            Role::Gate(_) => self.run_gate(id, now, observer),
            Role::Queue(_) => self.run_timer(id, now, observer),
            Role::Classifier(_) | Role::Exit => self.deadlines.set(id.index(), Time::NEVER),
        }
    }

    /// Counts that `id` sends `packet` on, and tells who listens.
    #[inline]
    pub(super) fn forwarded(&mut self, id: NodeId, packet: &Packet, now: Time) {
        let node = &mut self.nodes[id.index()];
        node.counters.forwarded.add(packet);
        if !node.listeners.is_empty() {
            self.tell(id, now, Signal::Dequeued { bytes: u64::from(packet.bytes) });
        }
    }

    /// Puts `packet` into the node `to` and on through those that keep it no time, up to one that does.
    #[inline]
    pub(super) fn push<O: Observer>(
        &mut self,
        mut to: NodeId,
        mut packet: Packet,
        now: Time,
        observer: &mut O,
    ) {
        loop {
            let node = &mut self.nodes[to.index()];
            node.counters.received.add(&packet);
            let next = match &mut node.role {
                Role::Queue(_) => return self.enqueue(to, packet, now, observer),
                Role::Delay(delay) => match delay.enter(now, &packet) {
                    Entry::Behind => return,
                    Entry::First(leave) => return self.deadlines.set(to.index(), leave),
                    Entry::Lost => return self.discard(to, &packet, now, DropReason::Loss, observer),
                    Entry::Through => delay.next,
                },
                Role::Exit => {
                    observer.delivered(now, to, &packet);
                    return self.forwarded(to, &packet, now);
                }
                Role::Classifier(classifier) => match classifier.route(&packet) {
                    Some(route) => {
                        packet.class = route.class.unwrap_or(packet.class);
                        route.to
                    }
                    None => return self.discard(to, &packet, now, DropReason::Unroutable, observer),
                },
                // The builder connects nothing that pushes to these.
                Role::Gate(_) | Role::Link(_) => {
                    return self.discard(to, &packet, now, DropReason::Unroutable, observer);
                }
            };
            self.forwarded(to, &packet, now);
            to = next;
        }
    }

    /// A node that is not a queue drops `packet`.
    #[cold]
    pub(super) fn discard<O: Observer>(
        &mut self,
        at: NodeId,
        packet: &Packet,
        now: Time,
        reason: DropReason,
        observer: &mut O,
    ) {
        self.nodes[at.index()].counters.count_drop(packet, reason);
        observer.dropped(now, at, packet, reason);
        self.tell(at, now, Signal::Dequeued { bytes: u64::from(packet.bytes) });
    }
}
