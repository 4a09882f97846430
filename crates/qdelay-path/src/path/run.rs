//! Running of due events, and moving of packets from node to node.

use super::Path;
use crate::delay::Entry;
use crate::impairment::Verdict;
use crate::link::AnyLink;
use crate::node::Role;
use crate::ran::rlc::ANNOUNCED_BYTES;
use crate::{Count, NodeId, Observer};
use qdelay_core::qdisc::Qdisc;
use qdelay_core::{DropReason, Packet, Time};

impl<Q: Qdisc> Path<Q> {
    /// Runs all events that are due by `now`, each at its own time.
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

    /// As [`Path::run`], where something is due.
    #[inline(never)]
    pub(super) fn run_due<O: Observer>(&mut self, now: Time, observer: &mut O) {
        loop {
            self.fire(NodeId(self.deadlines.first() as u32), self.deadlines.next(), observer);
            if !self.is_due(now) {
                return;
            }
        }
    }

    /// Runs the event of `id` that is due at `now`, and sets its next deadline.
    #[inline(always)]
    pub(super) fn fire<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        let node = &mut self.nodes[id.index()];
        match &mut node.role {
            Role::Delay(delay) => {
                let next = delay.next;
                let Some(packet) = delay.leave() else {
                    return self.deadlines.set(id.index(), Time::NEVER);
                };
                self.deadlines.set(id.index(), delay.next_deadline());
                node.counters.forwarded.add(&packet);
                if !node.listeners.is_empty() {
                    self.tell_gone(id, now, Count::of(&packet));
                }
                self.push(next, packet, now, observer);
            }
            Role::Impairment(impairment) => {
                let next = impairment.next;
                let Some(packet) = impairment.leave() else {
                    return self.deadlines.set(id.index(), Time::NEVER);
                };
                self.deadlines.set(id.index(), impairment.next_deadline());
                self.forwarded(id, &packet, now);
                self.push(next, packet, now, observer);
            }
            Role::Link(link) => match link.model {
                AnyLink::Serial(_) => self.finish_sending(id, now, observer),
                AnyLink::Shaped(_) => self.release(id, now, observer),
                AnyLink::Slotted(_) => self.slot(id, now, observer),
            },
            Role::PlainLine(_) => self.leave_line(id, now, observer),
            Role::Gate(gate) if gate.due > now => {
                let due = gate.due;
                self.set_due(id, due, now);
            }
            Role::Gate(_) => self.run_gate(id, now, observer),
            Role::Cell(_) => self.run_cell(id, now, observer),
            Role::Leaving(_) => self.run_leaving(id, now, observer),
            Role::Queue(_) => self.run_timer(id, now, observer),
            other @ (Role::Classifier(_) | Role::PlainQueue(_) | Role::Exit) => {
                other.is_not("node with deadlines")
            }
        }
    }

    /// Counts that `id` forwards `packet`, and signals it to listeners.
    #[inline]
    pub(super) fn forwarded(&mut self, id: NodeId, packet: &Packet, now: Time) {
        let node = &mut self.nodes[id.index()];
        node.counters.forwarded.add(packet);
        if !node.listeners.is_empty() {
            self.tell_gone(id, now, Count::of(packet));
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
                Role::Queue(queue) => {
                    packet.arrival = now;
                    observer.enqueued(now, to, &packet);
                    if queue.buffer.is_some() && !self.has_room(to, &packet) {
                        return self.discard(to, &packet, now, DropReason::TAIL_LIMIT, observer);
                    }
                    if packet.bytes >= ANNOUNCED_BYTES {
                        self.announce(to, &packet);
                    }
                    let node = &mut self.nodes[to.index()];
                    let queue = node.role.queue_mut();
                    let gone = queue.enqueue(to, packet, now, &mut node.counters, observer);
                    let (puller, has_timer) = (queue.puller, queue.has_timer);
                    if has_timer {
                        self.follow_timer(to, now);
                    }
                    if gone.packets > 0 {
                        self.tell_gone(to, now, gone);
                    }
                    if self.idle[puller.index()] {
                        self.wake(puller, to, now, observer);
                    }
                    return;
                }
                Role::PlainQueue(queue) => {
                    let line = queue.line;
                    return self.enter_line(to, line, packet, now, observer);
                }
                Role::Delay(delay) => match delay.enter(now, &packet) {
                    Entry::Behind => return,
                    Entry::First(leave) => return self.deadlines.set(to.index(), leave),
                    Entry::Lost => return self.discard(to, &packet, now, DropReason::LOSS, observer),
                    Entry::Through => delay.next,
                },
                Role::Impairment(impairment) => match impairment.enter(now) {
                    Verdict::Through => impairment.next,
                    Verdict::Lost => return self.discard(to, &packet, now, DropReason::LOSS, observer),
                    Verdict::Held { leave, has_copy } => {
                        return self.keep(to, packet, leave, has_copy, now, observer);
                    }
                },
                Role::Exit => {
                    observer.delivered(now, to, &packet);
                    node.counters.forwarded.add(&packet);
                    if !node.listeners.is_empty() {
                        self.tell_gone(to, now, Count::of(&packet));
                    }
                    return;
                }
                Role::Classifier(classifier) => match classifier.route(&packet) {
                    Some(route) => {
                        packet.class = route.class.unwrap_or(packet.class);
                        route.to
                    }
                    None => return self.discard(to, &packet, now, DropReason::UNROUTABLE, observer),
                },
                other @ (Role::Gate(_)
                | Role::Link(_)
                | Role::PlainLine(_)
                | Role::Cell(_)
                | Role::Leaving(_)) => other.is_not("node that takes what is pushed"),
            };
            node.counters.forwarded.add(&packet);
            if !node.listeners.is_empty() {
                self.tell_gone(to, now, Count::of(&packet));
            }
            to = next;
        }
    }

    /// The impairment `at` keeps `packet` until `leave`, and a copy behind it if the host has a handle for one.
    #[cold]
    fn keep<O: Observer>(
        &mut self,
        at: NodeId,
        packet: Packet,
        leave: Time,
        has_copy: bool,
        now: Time,
        observer: &mut O,
    ) {
        let node = &mut self.nodes[at.index()];
        let impairment = node.role.impairment_mut();
        impairment.hold(leave, packet);
        if has_copy && let Some(handle) = observer.duplicated(now, at, &packet) {
            let copy = Packet { handle, ..packet };
            impairment.hold(leave, copy);
            node.counters.copies.add(&copy);
        }
        let deadline = impairment.next_deadline();
        self.deadlines.set(at.index(), deadline);
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
        self.nodes[at.index()].counters.dropped.add(reason, packet);
        observer.dropped(now, at, packet, reason);
        self.tell_gone(at, now, Count::of(packet));
    }
}
