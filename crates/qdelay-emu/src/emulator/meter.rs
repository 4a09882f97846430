//! Hears of the path's events: measures, marks, frees what is dropped, and collects what is to be written to devices.

use super::{Event, EventKind, Measures, Release, Tap};
use crate::device::Port;
use crate::frame;
use crate::plan::Places;
use crate::pool::{Pool, Slot};
use qdelay_core::{DropReason, MarkReason, Packet, Time};
use qdelay_path::{NodeId, Observer};
use qdelay_record::{Direction, Fate, PacketRecord, Recorder};
use std::collections::VecDeque;

/// The times of a packet that is on the path, kept for a recorder.
#[derive(Clone, Copy, Debug, Default)]
struct Passage {
    dequeued: Option<Time>,
    departed: Option<Time>,
}

pub(super) struct Meter<R, T> {
    pub pool: Pool,
    pub places: Places,
    /// By the port the packets come from.
    pub measures: [Measures; 2],
    pub releases: VecDeque<Release>,
    pub recorder: R,
    pub tap: T,
    /// By slot.
    passages: Vec<Passage>,
}

/// The slot in a packet's handle; the number of the packet stands above it.
#[inline]
pub(super) fn slot_of(packet: &Packet) -> Slot {
    Slot(packet.handle as u32)
}
#[inline]
pub(super) fn handle(sequence: u32, slot: Slot) -> u64 {
    u64::from(sequence) << 32 | u64::from(slot.0)
}

impl<R: Recorder, T: Tap> Meter<R, T> {
    pub fn new(pool: Pool, places: Places, recorder: R, tap: T) -> Self {
        let measures = [Measures::default(), Measures::default()];
        let releases = VecDeque::with_capacity(1024);
        Meter { pool, places, measures, releases, recorder, tap, passages: Vec::new() }
    }

    #[inline]
    fn tell(&mut self, time: Time, node: NodeId, kind: EventKind, packet: &Packet) {
        let bytes = self.pool.packet(slot_of(packet), packet.bytes);
        self.tap.event(&Event { time, node, kind, packet: *packet }, bytes);
    }

    #[inline]
    fn passage(&mut self, packet: &Packet) -> &mut Passage {
        let index = slot_of(packet).index();
        if index >= self.passages.len() {
            self.passages.resize(self.pool.limit().max(index + 1), Passage::default());
        }
        &mut self.passages[index]
    }

    fn record(&mut self, ended: Time, port: Port, packet: &Packet, fate: Fate) {
        let Passage { dequeued, departed } = std::mem::take(self.passage(packet));
        self.recorder.packet(&PacketRecord {
            flow: packet.flow,
            bytes: packet.bytes,
            direction: match port {
                Port::Outside => Direction::Data,
                Port::Inside => Direction::Acknowledgement,
            },
            dscp: packet.dscp,
            ecn: packet.ecn,
            created: packet.arrival,
            arrival: Some(packet.arrival),
            dequeued,
            departed,
            ended,
            fate,
        });
    }
}

/// Which of a pair of nodes `node` is.
#[inline]
fn of(nodes: [NodeId; 2], node: NodeId) -> Port {
    if node == nodes[0] { Port::Inside } else { Port::Outside }
}

impl<R: Recorder, T: Tap> Observer for Meter<R, T> {
    #[inline]
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.measures[of(self.places.queue, node).index()].arrived.add(packet);
        self.tell(now, node, EventKind::Enqueued, packet);
    }

    #[inline]
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.measures[of(self.places.queue, node).index()].sojourn.record(now.since(packet.arrival));
        if R::ON {
            self.passage(packet).dequeued = Some(now);
        }
        self.tell(now, node, EventKind::Dequeued, packet);
    }

    #[inline]
    fn departed(&mut self, now: Time, node: NodeId, _queue: NodeId, packet: &Packet) {
        let measures = &mut self.measures[of(self.places.link, node).index()];
        measures.departed.add(packet);
        measures.queue_delay.record(now.since(packet.arrival));
        if R::ON {
            self.passage(packet).departed = Some(now);
        }
        self.tell(now, node, EventKind::Departed, packet);
    }

    #[inline]
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.tell(now, node, EventKind::Dropped(reason), packet);
        if R::ON {
            // The nodes of the direction down are declared before those of the other.
            let is_down = node.index() <= self.places.exit[Port::Inside.index()].index();
            let port = if is_down { Port::Outside } else { Port::Inside };
            self.record(now, port, packet, Fate::Dropped(reason));
        }
        self.pool.give(slot_of(packet));
    }

    #[inline]
    fn marked(&mut self, now: Time, node: NodeId, packet: &Packet, reason: MarkReason) {
        let slot = slot_of(packet);
        let header = usize::from(self.pool.header(slot));
        frame::set_ce(self.pool.bytes_mut(slot).get_mut(header..).unwrap_or(&mut []));
        self.tell(now, node, EventKind::Marked(reason), packet);
    }

    #[inline]
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let port = of(self.places.exit, node);
        self.measures[port.other().index()].delivered.add(packet);
        self.tell(now, node, EventKind::Delivered, packet);
        if R::ON {
            self.record(now, port.other(), packet, Fate::Delivered);
        }
        let slot = slot_of(packet);
        let header = self.pool.header(slot);
        self.releases.push_back(Release { port, slot, bytes: packet.bytes, header, due: now });
    }
}
