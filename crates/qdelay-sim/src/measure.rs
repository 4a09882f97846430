//! Hears of the path's events and keeps what the outcome needs.

use crate::contents::ContentsStore;
use crate::figures::Figures;
use crate::passage::{Passages, seen};
use crate::stages::CellWatch;
use crate::topology::Place;
use qdelay_core::{DropReason, MarkReason, Packet, Time};
use qdelay_path::{NodeId, Observer, Split};
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
    /// Where the bottleneck is a cell.
    pub cell: Option<Box<CellWatch>>,
    pub contents: ContentsStore,
    /// What came out and is not handed to its flow yet.
    pub arrivals: Vec<Arrival>,
    pub passages: Passages,
    pub recorder: &'a mut R,
}

/// Set in the handle of a packet that goes back to the sender.
pub const ACKNOWLEDGEMENT: u64 = 1 << 63;

/// Calls of every packet are inlined into the path's loops, however large; what only cells, groups and series need is not, so
/// that they stay small.
impl<R: Recorder> Observer for Meter<'_, R> {
    #[inline(always)]
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if node != self.queue {
            if self.cell.is_some() {
                self.enqueued_in_cell(now, node, packet);
            }
            return;
        }
        self.figures.enqueued(now, packet);
        if R::ON {
            self.passages.of(slot(packet)).arrival = now;
        }
    }

    #[inline(always)]
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if node != self.queue {
            if self.cell.is_some() {
                self.dequeued_in_cell(now, node, packet);
            }
            return;
        }
        self.figures.dequeued(now, packet);
        if R::ON {
            self.passages.of(slot(packet)).dequeued = now;
        }
    }

    #[inline(always)]
    fn departed(&mut self, now: Time, node: NodeId, _queue: NodeId, packet: &Packet) {
        if node != self.link {
            return self.figures.departed_elsewhere(now, node, packet);
        }
        if self.cell.is_some() {
            self.departed_from_cell(now, packet);
        } else {
            self.figures.departed(now, packet);
        }
        if R::ON {
            self.passages.of(slot(packet)).departed = now;
        }
    }

    #[inline]
    fn split(&mut self, now: Time, _node: NodeId, packet: &Packet, split: Split) {
        if self.figures.counts(now, packet)
            && let Some(cell) = &mut self.cell
        {
            cell.split(packet, split);
        }
    }

    #[inline]
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        let is_data = packet.handle & ACKNOWLEDGEMENT == 0;
        match &mut self.cell {
            None => self.figures.dropped(now, packet, is_data, node == self.queue),
            Some(cell) => {
                let (place, is_cell) = (cell.place(node.index()), node == self.link);
                self.figures.dropped(now, packet, is_data, place.is_of_node());
                if is_cell {
                    self.figures.dropped_below(packet);
                }
                if is_cell || place.is_of_node() {
                    cell.dropped(now, place, is_cell, packet);
                }
            }
        }
        if R::ON {
            self.record(now, packet, Fate::Dropped(reason));
        }
        self.contents.free(packet.handle);
    }

    #[inline]
    fn marked(&mut self, _now: Time, node: NodeId, packet: &Packet, _reason: MarkReason) {
        if node == self.queue || self.cell.as_ref().is_some_and(|cell| cell.place(node.index()).is_of_node())
        {
            self.figures.marked(packet);
        }
    }

    #[inline(always)]
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
    /// A packet enters the path with these contents.
    #[inline]
    pub fn begin(&mut self, handle: u64) {
        if R::ON {
            self.passages.begin(ContentsStore::slot(handle));
        }
        if let Some(cell) = &mut self.cell {
            cell.begin(ContentsStore::slot(handle));
        }
    }

    /// A packet has left the cell that is the bottleneck.
    #[inline(never)]
    fn departed_from_cell(&mut self, now: Time, packet: &Packet) {
        let Some(cell) = &mut self.cell else { return };
        cell.departed(now, packet, self.figures.counts(now, packet));
        self.figures.departed(now, &cell.as_it_came(packet));
    }

    /// A packet is offered to a queue other than the bottleneck's only one.
    #[inline(never)]
    fn enqueued_in_cell(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let Some(cell) = &mut self.cell else { return };
        let place = cell.place(node.index());
        if cell.enqueued(now, place, packet) {
            self.figures.enqueued(now, packet);
            if R::ON {
                self.passages.of(slot(packet)).arrival = now;
            }
        }
    }

    /// A packet is taken from such a queue.
    #[inline(never)]
    fn dequeued_in_cell(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let Some(cell) = &mut self.cell else { return };
        if matches!(cell.place(node.index()), Place::Rlc(_)) {
            cell.taken(now, packet);
            self.figures.dequeued(now, &cell.as_it_came(packet));
            if R::ON {
                self.passages.of(slot(packet)).dequeued = now;
            }
        }
    }

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
