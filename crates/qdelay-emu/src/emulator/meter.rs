//! Observer of the path's events: updates measurements, writes ECN marks, frees dropped packets, and collects released packets.

use super::{Event, EventKind, PortMeasures, Release, Tap};
use crate::device::Port;
use crate::frame;
use crate::pool::{Pool, Slot};
use qdelay_core::{DropReason, MarkReason, Packet, Random, Span, Time};
use qdelay_path::stack::{PathNodes, Role};
use qdelay_path::{NodeId, Observer, Split};
use qdelay_record::{Direction, Fate, PacketRecord, Recorder};
use std::collections::VecDeque;

/// Timestamps of a packet on the path, kept for a recorder, or if packets wait in several queues.
#[derive(Clone, Copy, Debug, Default)]
struct PacketTimestamps {
    entered: Option<Time>,
    reached_bottleneck: Option<Time>,
    dequeued: Option<Time>,
    departed: Option<Time>,
}

pub(super) struct Meter<R, T> {
    pub pool: Pool,
    pub nodes: PathNodes,
    /// Measurements by the port that the packets come from.
    pub measures: [PortMeasures; 2],
    pub releases: VecDeque<Release>,
    pub recorder: R,
    pub tap: T,
    /// Timestamps by slot number.
    timestamps: Vec<PacketTimestamps>,
    /// True if packets wait in several queues one after the other, each of which stamps their arrival.
    has_stages: bool,
    /// Draws the bits that are changed in corrupted packets.
    bits: Random,
}

/// The slot in a packet's handle; the upper half is the packet's number.
#[inline]
pub(super) fn slot_of(packet: &Packet) -> Slot {
    Slot(packet.handle as u32)
}
#[inline]
pub(super) fn handle(sequence: u32, slot: Slot) -> u64 {
    u64::from(sequence) << 32 | u64::from(slot.0)
}

impl<R: Recorder, T: Tap> Meter<R, T> {
    pub fn new(pool: Pool, nodes: PathNodes, has_stages: bool, recorder: R, tap: T) -> Self {
        let measures = [PortMeasures::default(), PortMeasures::default()];
        let releases = VecDeque::with_capacity(1024);
        let mut timestamps = Vec::new();
        if recorder.is_on() || has_stages {
            timestamps.resize(pool.slots(), PacketTimestamps::default());
        }
        let bits = Random::derive(0, "corrupt", "bit");
        Meter { pool, nodes, measures, releases, recorder, tap, timestamps, has_stages, bits }
    }

    #[inline]
    fn notify_tap(&mut self, time: Time, node: NodeId, kind: EventKind, packet: &Packet) {
        let (entered, reached_bottleneck) = self.since(packet);
        let bytes = self.pool.packet(slot_of(packet), packet.bytes);
        self.tap.event(&Event { time, node, kind, packet: *packet, entered, reached_bottleneck }, bytes);
    }

    /// Times at which a packet entered the path, and arrived at the bottleneck.
    #[inline]
    fn since(&self, packet: &Packet) -> (Time, Time) {
        if !self.has_stages {
            return (packet.arrival, packet.arrival);
        }
        let stamps = self.timestamps.get(slot_of(packet).index()).copied().unwrap_or_default();
        (stamps.entered.unwrap_or(packet.arrival), stamps.reached_bottleneck.unwrap_or(Time::NEVER))
    }

    /// Initializes the timestamps of a packet that is about to enter the path.
    #[inline]
    pub fn begin(&mut self, now: Time, packet: &Packet) {
        if self.has_stages {
            *self.timestamps_of(packet) =
                PacketTimestamps { entered: Some(now), ..PacketTimestamps::default() };
        }
    }

    /// The time since a packet's arrival at the bottleneck.
    #[inline]
    fn waited(&self, now: Time, packet: &Packet) -> Span {
        now.since(self.since(packet).1.min(now))
    }

    #[inline]
    fn timestamps_of(&mut self, packet: &Packet) -> &mut PacketTimestamps {
        let index = slot_of(packet).index();
        if index >= self.timestamps.len() {
            // The pool has grown.
            self.timestamps.resize(self.pool.slots().max(index + 1), PacketTimestamps::default());
        }
        &mut self.timestamps[index]
    }

    fn record(&mut self, ended: Time, port: Port, packet: &Packet, fate: Fate) {
        let (entered, reached_bottleneck) = self.since(packet);
        let PacketTimestamps { dequeued, departed, .. } = std::mem::take(self.timestamps_of(packet));
        self.recorder.packet(&PacketRecord {
            flow: packet.flow,
            bytes: packet.bytes,
            direction: match port {
                Port::Outside => Direction::Data,
                Port::Inside => Direction::Acknowledgement,
            },
            dscp: packet.dscp,
            ecn: packet.ecn,
            created: entered,
            arrival: (reached_bottleneck != Time::NEVER).then_some(reached_bottleneck),
            dequeued,
            departed,
            ended,
            fate,
            // Headers of transports are not read.
            sequence: None,
        });
    }
}

impl<R: Recorder, T: Tap> Observer for Meter<R, T> {
    #[inline]
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let Role { place, source } = self.nodes.role(node);
        if place.is_first() {
            self.measures[source.index()].arrived.add(packet);
            if self.has_stages {
                self.timestamps_of(packet).reached_bottleneck = Some(now);
            }
        }
        self.notify_tap(now, node, EventKind::Enqueued, packet);
    }

    #[inline]
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let Role { place, source } = self.nodes.role(node);
        if place.is_last() {
            let sojourn = self.waited(now, packet);
            self.measures[source.index()].sojourn.record(sojourn);
            if self.recorder.is_on() {
                self.timestamps_of(packet).dequeued = Some(now);
            }
        }
        self.notify_tap(now, node, EventKind::Dequeued, packet);
    }

    #[inline]
    fn departed(&mut self, now: Time, node: NodeId, _queue: NodeId, packet: &Packet) {
        let Role { place, source } = self.nodes.role(node);
        if place.is_link() {
            let delay = self.waited(now, packet);
            let measures = &mut self.measures[source.index()];
            measures.departed.add(packet);
            measures.queue_delay.record(delay);
            if self.recorder.is_on() {
                self.timestamps_of(packet).departed = Some(now);
            }
        }
        self.notify_tap(now, node, EventKind::Departed, packet);
    }

    #[inline]
    fn split(&mut self, now: Time, node: NodeId, packet: &Packet, split: Split) {
        self.notify_tap(now, node, EventKind::Split(split), packet);
    }

    #[inline]
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.notify_tap(now, node, EventKind::Dropped(reason), packet);
        if self.recorder.is_on() {
            let source = self.nodes.role(node).source;
            self.record(now, source, packet, Fate::Dropped(reason));
        }
        self.pool.free_slot(slot_of(packet));
    }

    #[inline]
    fn marked(&mut self, now: Time, node: NodeId, packet: &Packet, reason: MarkReason) {
        let slot = slot_of(packet);
        let header = usize::from(self.pool.header(slot));
        frame::set_ce(self.pool.bytes_mut(slot).get_mut(header..).unwrap_or(&mut []));
        self.notify_tap(now, node, EventKind::Marked(reason), packet);
    }

    #[cold]
    fn corrupted(&mut self, now: Time, node: NodeId, packet: &Packet) -> bool {
        let slot = slot_of(packet);
        let (header, is_unsummed) = (self.pool.header(slot), self.pool.is_unsummed(slot));
        let range = usize::from(header)..usize::from(header) + packet.bytes as usize;
        let data = self.pool.bytes_mut(slot).get_mut(range).unwrap_or(&mut []);
        if is_unsummed {
            frame::complete_checksum(data);
        }
        frame::corrupt(data, |bits| self.bits.below(bits));
        // With a complete checksum the packet is written alone, so that its receiver sees the error.
        self.pool.set_header(slot, header, false);
        self.measures[self.nodes.role(node).source.index()].corrupted += 1;
        self.notify_tap(now, node, EventKind::Corrupted, packet);
        true
    }

    #[cold]
    fn duplicated(&mut self, _now: Time, node: NodeId, packet: &Packet) -> Option<u64> {
        let slot = slot_of(packet);
        let copy = self.pool.copy_slot(slot)?;
        self.measures[self.nodes.role(node).source.index()].duplicated += 1;
        let copied = handle((packet.handle >> 32) as u32, copy);
        if self.recorder.is_on() || self.has_stages {
            let timestamps = *self.timestamps_of(packet);
            *self.timestamps_of(&Packet { handle: copied, ..*packet }) = timestamps;
        }
        Some(copied)
    }

    #[inline]
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let port = self.nodes.role(node).source.other();
        self.measures[port.other().index()].delivered.add(packet);
        self.notify_tap(now, node, EventKind::Delivered, packet);
        if self.recorder.is_on() {
            self.record(now, port.other(), packet, Fate::Delivered);
        }
        let slot = slot_of(packet);
        let header = self.pool.header(slot);
        let is_unsummed = self.pool.is_unsummed(slot);
        self.releases.push_back(Release { port, slot, bytes: packet.bytes, header, is_unsummed, due: now });
    }
}
