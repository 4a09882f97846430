//! Observers of the events on a path.

use crate::NodeId;
use alloc::vec::Vec;
use qdelay_core::{DropReason, MarkReason, Packet, PduSet, Time};
use qdelay_ran::Split;

/// Receives every event on a path, in order of time. Dispatch is static: methods that are not overridden cost nothing.
///
/// A packet that enters the path ends in exactly one call of [`Observer::delivered`] or [`Observer::dropped`], so the
/// host frees what [`Packet::handle`] stands for there. An observer may keep copies but cannot call the path.
#[expect(unused_variables, reason = "the names of the arguments are the documentation")]
pub trait Observer {
    /// `packet` was offered to the queue `node`, and [`Packet::arrival`] is `now`. If the queue drops it,
    /// [`Observer::dropped`] follows.
    #[inline]
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {}
    /// `packet` was taken from the queue `node`. `now - packet.arrival` is its sojourn, as the queue's law saw it.
    #[inline]
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {}
    /// `packet`, taken from `queue` earlier or just now, has left the link or cell `node`. `now - packet.arrival` is its queueing
    /// delay, the time of its transmission included where the link is one that stores and forwards. A packet departs from
    /// a cell as its last byte is taken from the queue of its bearer; it is on the air then.
    #[inline]
    fn departed(&mut self, now: Time, node: NodeId, queue: NodeId, packet: &Packet) {}
    /// `packet` is whole behind the cell `node`, and this is where the time since it was first taken went. It goes on
    /// right after.
    #[inline]
    fn split(&mut self, now: Time, node: NodeId, packet: &Packet, split: Split) {}
    /// `packet` is gone: `node` dropped it.
    #[inline]
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {}
    /// The queue `node` marked `packet`, which goes on.
    #[inline]
    fn marked(&mut self, now: Time, node: NodeId, packet: &Packet, reason: MarkReason) {}
    /// The impairment `node` corrupts `packet`. Returns whether the host has changed its bytes and it goes on; false, as here, where the host
    /// has none, so that the packet is dropped.
    #[inline]
    fn corrupted(&mut self, now: Time, node: NodeId, packet: &Packet) -> bool {
        false
    }
    /// The impairment `node` wants to make a copy of `packet`. Returns the handle of the copy, which has an end of its own as any
    /// packet that enters; `None` where the host makes none, as it is here, so that there is no copy.
    #[inline]
    fn duplicated(&mut self, now: Time, node: NodeId, packet: &Packet) -> Option<u64> {
        None
    }
    /// `packet` has reached the exit `node` and is the host's again.
    #[inline]
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {}
    /// The PDU set of `packet`, which is on the path; `None`, as it is here, for a packet of no set. Asked by disciplines, a PDCP and
    /// schedulers that decide by sets.
    #[inline]
    fn pdu_set(&self, packet: &Packet) -> Option<PduSet> {
        None
    }
    /// Whether the host is to be asked before time goes on: [`Path::advance`](crate::Path::advance) ends there.
    #[inline]
    fn pauses(&self) -> bool {
        false
    }
}

/// Hears nothing.
impl Observer for () {}

/// A packet that reached an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// When.
    pub time: Time,
    /// The exit.
    pub exit: NodeId,
    /// The packet.
    pub packet: Packet,
}

/// Collects delivered packets, for a host that drains them after each call.
impl Observer for Vec<Delivered> {
    #[inline]
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.push(Delivered { time: now, exit: node, packet: *packet });
    }
    #[inline]
    fn pauses(&self) -> bool {
        !self.is_empty()
    }
}

/// Two observers that receive the same events, the first one first. The handle of a copy is the second one's if the first has none.
impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline]
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.0.enqueued(now, node, packet);
        self.1.enqueued(now, node, packet);
    }
    #[inline]
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.0.dequeued(now, node, packet);
        self.1.dequeued(now, node, packet);
    }
    #[inline]
    fn departed(&mut self, now: Time, node: NodeId, queue: NodeId, packet: &Packet) {
        self.0.departed(now, node, queue, packet);
        self.1.departed(now, node, queue, packet);
    }
    #[inline]
    fn split(&mut self, now: Time, node: NodeId, packet: &Packet, split: Split) {
        self.0.split(now, node, packet, split);
        self.1.split(now, node, packet, split);
    }
    #[inline]
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.0.dropped(now, node, packet, reason);
        self.1.dropped(now, node, packet, reason);
    }
    #[inline]
    fn marked(&mut self, now: Time, node: NodeId, packet: &Packet, reason: MarkReason) {
        self.0.marked(now, node, packet, reason);
        self.1.marked(now, node, packet, reason);
    }
    #[inline]
    fn corrupted(&mut self, now: Time, node: NodeId, packet: &Packet) -> bool {
        let (first, second) = (self.0.corrupted(now, node, packet), self.1.corrupted(now, node, packet));
        first || second
    }
    #[inline]
    fn duplicated(&mut self, now: Time, node: NodeId, packet: &Packet) -> Option<u64> {
        let (first, second) = (self.0.duplicated(now, node, packet), self.1.duplicated(now, node, packet));
        first.or(second)
    }
    #[inline]
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.0.delivered(now, node, packet);
        self.1.delivered(now, node, packet);
    }
    #[inline]
    fn pdu_set(&self, packet: &Packet) -> Option<PduSet> {
        self.0.pdu_set(packet).or_else(|| self.1.pdu_set(packet))
    }
    #[inline]
    fn pauses(&self) -> bool {
        self.0.pauses() || self.1.pauses()
    }
}

/// An observer that the host keeps, or any of several (`&mut dyn Observer`), for which the path is compiled once.
impl<O: Observer + ?Sized> Observer for &mut O {
    #[inline]
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        (**self).enqueued(now, node, packet);
    }
    #[inline]
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        (**self).dequeued(now, node, packet);
    }
    #[inline]
    fn departed(&mut self, now: Time, node: NodeId, queue: NodeId, packet: &Packet) {
        (**self).departed(now, node, queue, packet);
    }
    #[inline]
    fn split(&mut self, now: Time, node: NodeId, packet: &Packet, split: Split) {
        (**self).split(now, node, packet, split);
    }
    #[inline]
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        (**self).dropped(now, node, packet, reason);
    }
    #[inline]
    fn marked(&mut self, now: Time, node: NodeId, packet: &Packet, reason: MarkReason) {
        (**self).marked(now, node, packet, reason);
    }
    #[inline]
    fn corrupted(&mut self, now: Time, node: NodeId, packet: &Packet) -> bool {
        (**self).corrupted(now, node, packet)
    }
    #[inline]
    fn duplicated(&mut self, now: Time, node: NodeId, packet: &Packet) -> Option<u64> {
        (**self).duplicated(now, node, packet)
    }
    #[inline]
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        (**self).delivered(now, node, packet);
    }
    #[inline]
    fn pdu_set(&self, packet: &Packet) -> Option<PduSet> {
        (**self).pdu_set(packet)
    }
    #[inline]
    fn pauses(&self) -> bool {
        (**self).pauses()
    }
}
