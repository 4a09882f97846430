//! Packets that leave a light load: past the queue and the link of the heavy load where these are empty, else into the queue.

use super::Path;
use crate::{NodeId, Observer};
use qdelay_core::Time;
use qdelay_core::qdisc::Qdisc;

impl<Q: Qdisc> Path<Q> {
    /// A packet leaves the light load `id`.
    #[inline(never)]
    pub(super) fn run_light<O: Observer>(&mut self, id: NodeId, now: Time, observer: &mut O) {
        let light = self.nodes[id.index()].role.light_mut();
        let Some((mut packet, in_train)) = light.leave() else { return };
        let (queue, deadline) = (light.next, light.schedule.next_deadline());
        self.deadlines.set(id.index(), deadline);
        self.forwarded(id, &packet, now);
        let link = self.nodes[queue.index()].role.queue().puller;
        let is_empty = |node: NodeId| self.nodes[node.index()].inside().packets == 0;
        if !in_train || !is_empty(queue) || !is_empty(link) {
            return self.push(queue, packet, now, observer);
        }
        // Counts and observers see a packet that neither waits nor is sent for any time.
        packet.arrival = now;
        self.nodes[queue.index()].counters.received.add(&packet);
        observer.enqueued(now, queue, &packet);
        observer.dequeued(now, queue, &packet);
        self.forwarded(queue, &packet, now);
        self.nodes[link.index()].counters.received.add(&packet);
        observer.departed(now, link, queue, &packet);
        self.forwarded(link, &packet, now);
        let next = self.nodes[link.index()].role.link().next;
        self.push(next, packet, now, observer);
    }
}
