//! F1-U: packets that cross it, and what the distributed unit reports.

use super::Path;
use crate::node::Role;
use crate::{NodeId, Observer, Served, Signal};
use qdelay_core::qdisc::Qdisc;
use qdelay_core::{Packet, Time};

impl<Q: Qdisc> Path<Q> {
    /// The node `id` has something to do by itself: a packet has crossed, or a report is due.
    pub(super) fn run_f1<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        let f1 = self.nodes[id.index()].role.f1_mut();
        if f1.reporter.deadline() <= now {
            let has_data = self.has_data_behind(id);
            let f1 = self.nodes[id.index()].role.f1_mut();
            if f1.reporter.tick(has_data) {
                self.report(id, now, has_data);
            }
        }
        let f1 = self.nodes[id.index()].role.f1_mut();
        if f1.schedule.next_deadline() <= now
            && let Some(packet) = f1.schedule.leave()
        {
            debug_assert!(packet.arrival <= now, "a packet crosses F1-U before it comes to it");
            self.arrive_over_f1(id, packet, now, observer);
        }
        self.follow_f1(id, now);
    }

    /// Sets the deadline of the node `id`.
    pub(super) fn follow_f1(&mut self, id: NodeId, now: Time) {
        let deadline = self.nodes[id.index()].role.f1_mut().deadline();
        self.deadlines.set(id.index(), deadline.max(now));
    }

    /// `packet` has crossed the node `id`, and comes into the queue of RLC.
    pub(super) fn arrive_over_f1<O: Observer>(
        &mut self,
        id: NodeId,
        packet: Packet,
        now: Time,
        observer: &mut O,
    ) {
        self.forwarded(id, &packet, now);
        let next = self.nodes[id.index()].role.f1_mut().next;
        let dropped = |path: &Self| path.nodes[next.index()].counters.dropped_total().packets;
        let before = dropped(self);
        let number = packet.count;
        self.push(next, packet, now, observer);
        let has_dropped = dropped(self) > before;
        if self.nodes[id.index()].role.f1_mut().reporter.arrived(now, number, has_dropped) {
            let has_data = self.has_data_behind(id);
            self.report(id, now, has_data);
        }
        self.follow_f1(id, now);
    }

    /// A TTI of the bearer behind the node `id` is over.
    pub(super) fn served_over_f1(&mut self, id: NodeId, now: Time, served: &Served) {
        if self.nodes[id.index()].role.f1_mut().reporter.served(served) {
            self.report(id, now, false);
            self.follow_f1(id, now);
        }
    }

    /// Whether the RLC behind the node `id` has data: in its queue, or a part of a packet.
    fn has_data_behind(&self, id: NodeId) -> bool {
        let Role::F1(f1) = &self.nodes[id.index()].role else { return false };
        let queue = self.nodes[f1.next.index()].role.queue();
        queue.backlog().packets > 0
            || self.nodes[queue.puller.index()].role.cell().cell.partly(queue.place as usize).packets > 0
    }

    /// The distributed unit reports.
    fn report(&mut self, id: NodeId, now: Time, has_data: bool) {
        let f1 = self.nodes[id.index()].role.f1_mut();
        let ddds = f1.reporter.report(now, has_data);
        if !f1.loses_report() {
            self.tell(id, now, Signal::Delivered(ddds));
        }
    }
}
