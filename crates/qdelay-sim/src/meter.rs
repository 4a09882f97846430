//! Observer of the path's events: passes them to the measurement and the recorder.

use crate::contents::ContentsStore;
use crate::measurement::Measurement;
use crate::packet_timestamps::{PacketTimestampStore, happened};
use crate::set_meter::SetMeter;
use qdelay_core::{DropReason, MarkReason, Packet, PduSet, Time};
use qdelay_path::{NodeId, Observer, Split};
use qdelay_record::{Direction, Fate, PacketRecord};
use qdelay_traffic::ends::Contents;
use qdelay_traffic::numbering::Numbering;

/// A packet that has left the path.
#[derive(Clone, Copy)]
pub struct Arrival {
    pub packet: Packet,
    pub at_receiver: bool,
}

/// The observer of the path in the simulator.
pub struct Meter<'a> {
    pub measuring: Measurement<'a>,
    pub contents: ContentsStore,
    /// Present if flows have PDU sets.
    pub sets: Option<Box<SetMeter>>,
    /// Packets that have left the path and are not yet passed to their flow.
    pub arrivals: Vec<Arrival>,
    /// Packets with [`KEPT`] that the path has dropped or doubled, not yet passed to their flow.
    pub fates: Vec<KeptFate>,
    pub timestamps: PacketTimestampStore,
    /// Whether every packet makes a record, and keeps timestamps for it.
    pub is_recording: bool,
    /// Packets that have ended and are not yet passed to the recorder. Kept here rather than passed on at once, so that the path is
    /// compiled for one observer, whatever the recorder.
    pub records: Vec<PacketRecord>,
    /// The counting of each flow, where packets are recorded.
    pub numberings: Vec<Numbering>,
}

/// Set in the handle of a packet that goes back to the sender.
pub const ACKNOWLEDGEMENT: u64 = 1 << 63;
/// Set in the handle of a packet for which its flow's ends store something.
pub const KEPT: u64 = 1 << 62;

/// Fate of a packet with [`KEPT`].
#[derive(Clone, Copy)]
pub struct KeptFate {
    pub flow: u32,
    pub contents: Contents,
    /// A copy was made; otherwise it was dropped.
    pub is_doubled: bool,
}

impl Meter<'_> {
    /// An event of a packet for the measures of PDU sets; out of line, because most runs have no sets.
    #[cold]
    #[inline(never)]
    fn set_event(&mut self, packet: &Packet, event: impl FnOnce(&mut SetMeter, &Contents)) {
        if let Some(sets) = &mut self.sets {
            event(sets, self.contents.get(packet.handle));
        }
    }
}

impl Observer for Meter<'_> {
    #[inline(always)]
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if self.sets.is_some() {
            self.set_event(packet, |sets, contents| sets.enqueued(now, node, packet, contents));
        }
        if self.measuring.enqueued(now, node, packet) && self.is_recording {
            self.timestamps.get_mut(slot(packet)).arrival = now;
        }
    }

    #[inline(always)]
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        debug_assert!(packet.arrival <= now, "a packet leaves its queue before it comes");
        if self.measuring.dequeued(now, node, packet) && self.is_recording {
            self.timestamps.get_mut(slot(packet)).dequeued = now;
        }
    }

    #[inline(always)]
    fn departed(&mut self, now: Time, node: NodeId, _queue: NodeId, packet: &Packet) {
        if self.sets.is_some() {
            self.set_event(packet, |sets, contents| sets.departed(now, node, packet, contents));
        }
        if self.measuring.departed(now, node, packet) && self.is_recording {
            self.timestamps.get_mut(slot(packet)).departed = now;
        }
    }

    #[inline]
    fn split(&mut self, now: Time, node: NodeId, packet: &Packet, split: Split) {
        self.measuring.split(now, node, packet, split);
        if self.sets.is_some() {
            self.set_event(packet, |sets, contents| sets.split(now, packet, contents));
        }
    }

    #[inline]
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.measuring.dropped(now, node, packet);
        if self.sets.is_some() {
            self.set_event(packet, |sets, contents| sets.dropped(node, packet, contents));
        }
        if self.is_recording {
            self.record(now, packet, Fate::Dropped(reason));
        }
        if packet.handle & KEPT != 0 {
            self.fate(packet, false);
        }
        self.contents.free(packet.handle);
    }

    #[inline]
    fn marked(&mut self, _now: Time, node: NodeId, packet: &Packet, _reason: MarkReason) {
        self.measuring.marked(node, packet);
    }

    fn duplicated(&mut self, _now: Time, _node: NodeId, packet: &Packet) -> Option<u64> {
        if packet.handle & KEPT != 0 {
            self.fate(packet, true);
        }
        let contents = *self.contents.get(packet.handle);
        let handle = self.contents.put(contents);
        self.begin(handle);
        if self.is_recording {
            *self.timestamps.get_mut(ContentsStore::slot(handle)) = *self.timestamps.get_mut(slot(packet));
        }
        // The upper half says the direction.
        Some(packet.handle >> 32 << 32 | handle)
    }

    #[inline(always)]
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let created = || self.contents.get(packet.handle).created;
        let at_receiver = self.measuring.delivered(now, node, packet, created);
        if self.is_recording {
            self.record(now, packet, Fate::Delivered);
        }
        self.arrivals.push(Arrival { packet: *packet, at_receiver });
    }

    fn pdu_set(&self, packet: &Packet) -> Option<PduSet> {
        let sets = self.sets.as_ref().filter(|_| packet.handle & ACKNOWLEDGEMENT == 0)?;
        sets.pdu_set(packet, self.contents.get(packet.handle))
    }

    #[inline(always)]
    fn pauses(&self) -> bool {
        !self.arrivals.is_empty()
    }
}

impl Meter<'_> {
    /// The packet with this handle enters the path.
    #[inline]
    pub fn begin(&mut self, handle: u64) {
        if self.is_recording {
            self.timestamps.begin(ContentsStore::slot(handle));
        }
    }

    #[inline(never)]
    fn fate(&mut self, packet: &Packet, is_doubled: bool) {
        let contents = *self.contents.get(packet.handle);
        self.fates.push(KeptFate { flow: packet.flow, contents, is_doubled });
    }

    #[inline(never)]
    fn record(&mut self, now: Time, packet: &Packet, fate: Fate) {
        let timestamps = *self.timestamps.get_mut(slot(packet));
        let back = packet.handle & ACKNOWLEDGEMENT != 0;
        let contents = self.contents.get(packet.handle);
        // A time of NEVER is that of an event that the packet did not reach.
        debug_assert!(contents.created <= timestamps.arrival && timestamps.arrival <= timestamps.dequeued);
        debug_assert!(timestamps.dequeued <= timestamps.departed && contents.created <= now);
        // The probe comes after the flows.
        let numbering = self.numberings.get(packet.flow as usize).copied().unwrap_or(Numbering::Packets);
        self.records.push(PacketRecord {
            flow: packet.flow,
            bytes: packet.bytes,
            direction: if back { Direction::Acknowledgement } else { Direction::Data },
            dscp: packet.dscp,
            ecn: packet.ecn,
            created: contents.created,
            arrival: happened(timestamps.arrival),
            dequeued: happened(timestamps.dequeued),
            departed: happened(timestamps.departed),
            ended: now,
            fate,
            sequence: numbering.sequence(contents, back),
        });
    }
}

#[inline]
fn slot(packet: &Packet) -> usize {
    ContentsStore::slot(packet.handle)
}
