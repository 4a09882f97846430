//! Hears of the path's events and keeps what the outcome needs.

use crate::contents::ContentsStore;
use qdelay_core::{DropReason, Packet, Time};
use qdelay_path::{NodeId, Observer};
use qdelay_record::DelayHistogram;

/// A packet that has come out of the path.
#[derive(Clone, Copy)]
pub struct Arrival {
    pub packet: Packet,
    pub at_receiver: bool,
}

/// Everything that is watched.
pub struct Meter {
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
}

impl Observer for Meter {
    #[inline]
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if node == self.queue && self.counts(now, packet) {
            self.sojourn.record(now.since(packet.arrival));
        }
    }

    #[inline]
    fn departed(&mut self, now: Time, node: NodeId, _queue: NodeId, packet: &Packet) {
        if node != self.link {
            return;
        }
        self.forwarded += 1;
        if now >= self.from {
            self.bytes += u64::from(packet.bytes);
        }
        if self.counts(now, packet) {
            self.queue_delay.record(now.since(packet.arrival));
        }
    }

    #[inline]
    fn dropped(&mut self, _now: Time, _node: NodeId, packet: &Packet, _reason: DropReason) {
        self.probe_lost += u64::from(packet.flow == self.probe_flow);
        self.contents.free(packet.handle);
    }

    #[inline]
    fn delivered(&mut self, _now: Time, node: NodeId, packet: &Packet) {
        self.arrivals.push(Arrival { packet: *packet, at_receiver: node == self.receivers });
    }
}

impl Meter {
    #[inline]
    fn counts(&self, now: Time, packet: &Packet) -> bool {
        now >= self.from && packet.bytes >= self.min_packet_bytes && packet.flow != self.probe_flow
    }
}
