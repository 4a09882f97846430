//! Hears of the path's events and keeps what the outcome needs.

use crate::contents::ContentsStore;
use crate::figures::Figures;
use crate::passage::{Passages, seen};
use qdelay_core::{DropReason, MarkReason, Packet, Time};
use qdelay_path::{NodeId, Observer};
use qdelay_record::{Direction, Fate, PacketRecord, Recorder};

/// A packet that has come out of the path.
#[derive(Clone, Copy)]
pub struct Arrival {
    pub packet: Packet,
    pub at_receiver: bool,
}

/// Everything that is watched.
pub struct Meter<'a, R> {
    pub queue: NodeId,
    pub link: NodeId,
    pub receivers: NodeId,
    pub figures: Figures,
    pub contents: ContentsStore,
    /// What came out and is not handed to its flow yet.
    pub arrivals: Vec<Arrival>,
    pub passages: Passages,
    pub recorder: &'a mut R,
}

/// Set in the handle of a packet that goes back to the sender.
pub const ACKNOWLEDGEMENT: u64 = 1 << 63;

impl<R: Recorder> Observer for Meter<'_, R> {
    #[inline]
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if node != self.queue {
            return;
        }
        self.figures.enqueued(now, packet);
        if R::ON {
            self.passages.of(slot(packet)).arrival = now;
        }
    }

    #[inline]
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if node != self.queue {
            return;
        }
        self.figures.dequeued(now, packet);
        if R::ON {
            self.passages.of(slot(packet)).dequeued = now;
        }
    }

    #[inline]
    fn departed(&mut self, now: Time, node: NodeId, _queue: NodeId, packet: &Packet) {
        if node != self.link {
            return;
        }
        self.figures.departed(now, packet);
        if R::ON {
            self.passages.of(slot(packet)).departed = now;
        }
    }

    #[inline]
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        let is_data = packet.handle & ACKNOWLEDGEMENT == 0;
        self.figures.dropped(now, packet, is_data, node == self.queue);
        if R::ON {
            self.record(now, packet, Fate::Dropped(reason));
        }
        self.contents.free(packet.handle);
    }

    #[inline]
    fn marked(&mut self, _now: Time, node: NodeId, _packet: &Packet, _reason: MarkReason) {
        if node == self.queue {
            self.figures.marked();
        }
    }

    #[inline]
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let at_receiver = node == self.receivers;
        if at_receiver && self.figures.watches() {
            let created = self.contents.get(packet.handle).created;
            self.figures.delivered(now, packet, created);
        }
        if R::ON {
            self.record(now, packet, Fate::Delivered);
        }
        self.arrivals.push(Arrival { packet: *packet, at_receiver });
    }
}

impl<R: Recorder> Meter<'_, R> {
    fn record(&mut self, now: Time, packet: &Packet, fate: Fate) {
        let passage = *self.passages.of(slot(packet));
        let back = packet.handle & ACKNOWLEDGEMENT != 0;
        self.recorder.packet(&PacketRecord {
            flow: packet.flow,
            bytes: packet.bytes,
            direction: if back { Direction::Acknowledgement } else { Direction::Data },
            dscp: packet.dscp,
            ecn: packet.ecn,
            created: self.contents.get(packet.handle).created,
            arrival: seen(passage.arrival),
            dequeued: seen(passage.dequeued),
            departed: seen(passage.departed),
            ended: now,
            fate,
        });
    }
}

#[inline]
fn slot(packet: &Packet) -> usize {
    ContentsStore::slot(packet.handle)
}
