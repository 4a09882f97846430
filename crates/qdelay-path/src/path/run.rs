//! Running of due events, and moving of packets from node to node.

use super::Path;
use crate::delay::{Delay, Entry};
use crate::f1::Sending as OverF1;
use crate::impairment::{CORRUPTED, Change, Verdict};
use crate::link::AnyLink;
use crate::node::{Role, Sending};
use crate::schedule::Schedule;
use crate::wire::Entered;
use crate::{Count, NodeId, Observer};
use qdelay_core::deadlines::Deadlines;
use qdelay_core::qdisc::Qdisc;
use qdelay_core::{DropReason, Packet, Time};
use qdelay_ran::rlc::ANNOUNCED_BYTES;

/// Takes the packet of the node `id` that goes on at `now`, and sets when the next one does.
#[inline(always)]
fn take_due(id: NodeId, schedule: &mut Schedule, deadlines: &mut Deadlines, now: Time) -> Option<Packet> {
    debug_assert!(schedule.next_deadline() <= now || schedule.len() == 0, "a packet goes on too early");
    let packet = schedule.leave();
    deadlines.set(id.index(), schedule.next_deadline());
    packet
}

impl<Q: Qdisc> Path<Q> {
    /// Runs all events that are due by `now`, each at its own time.
    #[inline]
    pub(super) fn run<O: Observer>(&mut self, now: Time, observer: &mut O) {
        if self.deadlines.is_due(now) {
            self.run_due(now, observer, false);
        }
    }

    /// Runs all events that are due by `until`; if it `pauses`, up to a time at which the observer does, which is returned.
    #[inline(never)]
    pub(super) fn run_due<O: Observer>(
        &mut self,
        until: Time,
        observer: &mut O,
        pauses: bool,
    ) -> Option<Time> {
        let mut before = Time::ZERO;
        while let Some((now, index)) = self.deadlines.due(until) {
            // An event that is late would have found another state of the path.
            debug_assert!(before <= now && now <= until, "an event at {now:?} after one at {before:?}");
            before = now;
            self.fire(NodeId(index as u32), now, observer);
            if pauses && observer.pauses() && !self.deadlines.is_due(now) {
                return Some(now);
            }
        }
        None
    }

    /// Runs the event of `id` that is due at `now`, and sets its next deadline.
    #[inline(always)]
    pub(super) fn fire<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        let node = &mut self.nodes[id.index()];
        // The deadline of a line is known when it has taken its next packet.
        let mut is_line = false;
        let (next, packet) = match &mut node.role {
            Role::Delay(Delay { next, schedule, .. }) => {
                let Some(packet) = take_due(id, schedule, &mut self.deadlines, now) else { return };
                (*next, packet)
            }
            Role::Wire(wire) => {
                let Some(packet) = take_due(id, &mut wire.schedule, &mut self.deadlines, now) else { return };
                (wire.next, packet)
            }
            Role::Impairment(impairment) => {
                let Some(packet) = take_due(id, &mut impairment.schedule, &mut self.deadlines, now) else {
                    return;
                };
                (impairment.next, packet)
            }
            Role::Link(link) => match link.model {
                // The last bit is sent.
                AnyLink::Serial(_) => {
                    let Some(Sending { packet, queue, .. }) = link.sending else {
                        return self.begin_sending(id, now, observer);
                    };
                    link.sending = None;
                    debug_assert!(
                        packet.arrival <= now,
                        "a packet leaves the link before it comes to its queue"
                    );
                    observer.departed(now, id, queue, &packet);
                    is_line = true;
                    (link.next, packet)
                }
                AnyLink::Shaped(_) => return self.release(id, now, observer),
                AnyLink::Slotted(_) => return self.slot(id, now, observer),
            },
            Role::Gate(gate) if gate.due > now => {
                let due = gate.due;
                return self.set_due(id, due, now);
            }
            Role::Gate(_) => return self.run_gate(id, now, observer),
            Role::Cell(_) => return self.run_cell(id, now, observer),
            Role::Leaving(_) => return self.run_leaving(id, now, observer),
            Role::Queue(_) => return self.run_timer(id, now, observer),
            Role::F1(_) => return self.run_f1(id, now, observer),
            Role::Light(_) => return self.run_light(id, now, observer),
            other @ (Role::Classifier(_) | Role::Exit) => other.is_not("node with deadlines"),
        };
        node.counters.forwarded.add(&packet);
        if !node.listeners.is_empty() {
            self.tell_gone(id, now, Count::one(&packet));
        }
        self.put(next, packet, now, observer);
        if is_line {
            self.begin_sending(id, now, observer);
        }
    }

    /// Counts that `id` forwards `packet`, and signals it to listeners.
    #[inline]
    pub(super) fn forwarded(&mut self, id: NodeId, packet: &Packet, now: Time) {
        let node = &mut self.nodes[id.index()];
        node.counters.forwarded.add(packet);
        if !node.listeners.is_empty() {
            self.tell_gone(id, now, Count::one(packet));
        }
    }

    /// Out-of-line copy of [`Path::put`].
    #[inline(never)]
    pub(super) fn push<O: Observer>(&mut self, to: NodeId, packet: Packet, now: Time, observer: &mut O) {
        self.put(to, packet, now, observer);
    }

    /// Puts `packet` into the node `to` and on through those that keep it no time, up to one that does.
    #[inline(always)]
    pub(super) fn put<O: Observer>(
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
                    if queue.entry.is_some()
                        && let Err(reason) = self.enters_bearer(to, &mut packet, now, observer)
                    {
                        return self.discard(to, &packet, now, reason, observer);
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
                        // A discipline reports each packet that it drops.
                        debug_assert!(self.nodes[to.index()].is_conserving(), "node {}", to.index());
                        self.tell_gone(to, now, gone);
                    }
                    if self.idle[puller.index()] {
                        self.wake(puller, to, now, observer);
                    }
                    return;
                }
                Role::Delay(delay) => match delay.enter(now, &packet) {
                    Entry::Behind => return,
                    Entry::First(leave) => return self.deadlines.set(to.index(), leave),
                    Entry::Through => delay.next,
                },
                Role::Wire(wire) => match wire.enter(now, &packet) {
                    Entered::Behind => return,
                    Entered::First(arrival) => return self.deadlines.set(to.index(), arrival),
                    Entered::NoRoom => {
                        return self.discard(to, &packet, now, DropReason::TAIL_LIMIT, observer);
                    }
                },
                Role::Impairment(impairment) => match impairment.enter(now) {
                    Verdict::Through => impairment.next,
                    Verdict::Dropped(reason) => return self.discard(to, &packet, now, reason, observer),
                    Verdict::Changed(change) => return self.keep(to, packet, change, now, observer),
                },
                Role::F1(f1) => match f1.enter(now, &mut packet) {
                    OverF1::OnItsWay => return self.follow_f1(to, now),
                    OverF1::Lost => return self.discard(to, &packet, now, DropReason::LOSS, observer),
                    OverF1::Through => return self.arrive_over_f1(to, packet, now, observer),
                },
                Role::Light(light) => {
                    if let Some(leave) = light.enter(now, &packet) {
                        self.deadlines.set(to.index(), leave);
                    }
                    return;
                }
                Role::Exit => {
                    observer.delivered(now, to, &packet);
                    node.counters.forwarded.add(&packet);
                    // Nothing stays at an exit.
                    debug_assert_eq!(node.counters.forwarded, node.counters.received);
                    if !node.listeners.is_empty() {
                        self.tell_gone(to, now, Count::one(&packet));
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
                other @ (Role::Gate(_) | Role::Link(_) | Role::Cell(_) | Role::Leaving(_)) => {
                    other.is_not("node that takes what is pushed")
                }
            };
            node.counters.forwarded.add(&packet);
            if !node.listeners.is_empty() {
                self.tell_gone(to, now, Count::one(&packet));
            }
            to = next;
        }
    }

    /// The impairment `at` corrupts `packet`, or keeps it for a time, or has a copy follow it, if the host can do so.
    #[cold]
    fn keep<O: Observer>(&mut self, at: NodeId, packet: Packet, change: Change, now: Time, observer: &mut O) {
        let Change { leave, has_copy, is_corrupt } = change;
        debug_assert!(leave >= now, "a packet leaves before it comes");
        if is_corrupt && !observer.corrupted(now, at, &packet) {
            return self.discard(at, &packet, now, CORRUPTED, observer);
        }
        let node = &mut self.nodes[at.index()];
        let impairment = node.role.impairment_mut();
        impairment.schedule.insert(leave, &packet);
        if has_copy && let Some(handle) = observer.duplicated(now, at, &packet) {
            let copy = Packet { handle, ..packet };
            impairment.schedule.insert(leave, &copy);
            node.counters.copies.add(&copy);
        }
        let deadline = impairment.schedule.next_deadline();
        debug_assert!(node.is_conserving(), "{:?}", node.counters);
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
        self.tell_gone(at, now, Count::one(packet));
    }
}
