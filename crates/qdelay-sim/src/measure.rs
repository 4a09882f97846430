//! Hears of the path's events and keeps what the outcome needs.

use crate::contents::ContentsStore;
use crate::detail::Watch;
use crate::passage::{Passages, seen};
use qdelay_core::{DropReason, MarkReason, Packet, Time};
use qdelay_path::{NodeId, Observer};
use qdelay_record::{DelayHistogram, Direction, Fate, PacketRecord, Recorder};

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
    /// Delays and bytes count from here on.
    pub from: Time,
    pub min_packet_bytes: u32,
    /// The flow whose packets only probe.
    pub probe_flow: u32,
    pub queue_delay: DelayHistogram,
    pub sojourn: DelayHistogram,
    /// IP bytes that left the bottleneck.
    pub bytes: u64,
    /// Packets that left the bottleneck, in the whole run.
    pub forwarded: u64,
    /// Packets of the probe that were dropped, in the whole run.
    pub probe_lost: u64,
    pub contents: ContentsStore,
    /// What came out and is not handed to its flow yet.
    pub arrivals: Vec<Arrival>,
    /// Groups and bins, where they are asked for.
    pub watch: Option<Box<Watch>>,
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
        if let Some(watch) = &mut self.watch {
            watch.enqueued(now, packet);
        }
        if R::ON {
            self.passages.of(slot(packet)).arrival = now;
        }
    }

    #[inline]
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if node != self.queue {
            return;
        }
        if let Some(watch) = &mut self.watch {
            watch.dequeued(packet);
        }
        if self.counts(now, packet) {
            self.sojourn.record(now.since(packet.arrival));
        }
        if R::ON {
            self.passages.of(slot(packet)).dequeued = now;
        }
    }

    #[inline]
    fn departed(&mut self, now: Time, node: NodeId, _queue: NodeId, packet: &Packet) {
        if node != self.link {
            return;
        }
        self.forwarded += 1;
        let (warm, counts) = (now >= self.from, self.counts(now, packet));
        if warm {
            self.bytes += u64::from(packet.bytes);
        }
        let delay = now.since(packet.arrival);
        if counts {
            self.queue_delay.record(delay);
        }
        if let Some(watch) = &mut self.watch {
            watch.departed(packet, delay, warm, counts);
        }
        if R::ON {
            self.passages.of(slot(packet)).departed = now;
        }
    }

    #[inline]
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.probe_lost += u64::from(packet.flow == self.probe_flow);
        if let Some(watch) = &mut self.watch {
            if packet.handle & ACKNOWLEDGEMENT == 0 {
                watch.lost(packet.flow);
            }
            if node == self.queue {
                watch.dropped(now, packet);
            }
        }
        if R::ON {
            self.record(now, packet, Fate::Dropped(reason));
        }
        self.contents.free(packet.handle);
    }

    #[inline]
    fn marked(&mut self, _now: Time, node: NodeId, _packet: &Packet, _reason: MarkReason) {
        if node == self.queue
            && let Some(watch) = &mut self.watch
        {
            watch.marked();
        }
    }

    #[inline]
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let at_receiver = node == self.receivers;
        if at_receiver && self.watch.is_some() {
            self.watch_delivery(now, packet);
        }
        if R::ON {
            self.record(now, packet, Fate::Delivered);
        }
        self.arrivals.push(Arrival { packet: *packet, at_receiver });
    }
}

impl<R: Recorder> Meter<'_, R> {
    #[inline]
    fn counts(&self, now: Time, packet: &Packet) -> bool {
        now >= self.from && packet.bytes >= self.min_packet_bytes && packet.flow != self.probe_flow
    }

    fn watch_delivery(&mut self, now: Time, packet: &Packet) {
        let delay = now.since(self.contents.get(packet.handle).created);
        let counts = self.counts(now, packet);
        if let Some(watch) = &mut self.watch {
            watch.delivered(packet, delay, counts);
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
