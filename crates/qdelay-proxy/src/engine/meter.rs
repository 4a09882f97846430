//! Observer of the path: measurements by direction, contents of packets that are gone, and packets that have arrived.

use super::Key;
use super::store::{Content, Store};
use qdelay_core::{DropReason, MarkReason, Packet, Time};
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Event, EventKind, PortMeasures, Tap};
use qdelay_emu::metrics::Metrics;
use qdelay_path::stack::{PathNodes, Role};
use qdelay_path::{NodeId, Observer};
use std::collections::VecDeque;

/// A packet that has left the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub time: Time,
    /// The side that it has reached.
    pub port: Port,
    pub packet: Packet,
}

#[derive(Debug)]
pub(super) struct Meter {
    pub nodes: PathNodes,
    /// Measurements by the port that the packets come from.
    pub measures: [PortMeasures; 2],
    /// Counts by class, if the proxy is watched.
    pub metrics: Option<Box<Metrics>>,
    pub store: Store,
    /// Packets that have arrived and are not processed yet.
    pub arrivals: VecDeque<Arrival>,
    /// Resets that were dropped on the path, with the port that they came from.
    pub lost_resets: Vec<(Key, Port)>,
}

impl Meter {
    pub fn new(nodes: PathNodes) -> Meter {
        Meter {
            nodes,
            measures: Default::default(),
            metrics: None,
            store: Store::default(),
            arrivals: VecDeque::new(),
            lost_resets: Vec::new(),
        }
    }

    #[inline]
    fn count(&mut self, time: Time, node: NodeId, kind: EventKind, packet: &Packet) {
        if let Some(metrics) = &mut self.metrics {
            // Packets wait in one queue, which stamps their arrival.
            let (entered, reached_bottleneck) = (packet.arrival, packet.arrival);
            metrics.event(&Event { time, node, kind, packet: *packet, entered, reached_bottleneck }, &[]);
        }
    }
}

impl Observer for Meter {
    #[inline]
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let Role { place, source } = self.nodes.role(node);
        if place.is_first() {
            self.measures[source.index()].arrived.add(packet);
        }
        self.count(now, node, EventKind::Enqueued, packet);
    }

    #[inline]
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let Role { place, source } = self.nodes.role(node);
        if place.is_last() {
            self.measures[source.index()].sojourn.record(now.since(packet.arrival));
        }
        self.count(now, node, EventKind::Dequeued, packet);
    }

    #[inline]
    fn departed(&mut self, now: Time, node: NodeId, _: NodeId, packet: &Packet) {
        let Role { place, source } = self.nodes.role(node);
        if place.is_link() {
            let measures = &mut self.measures[source.index()];
            measures.departed.add(packet);
            measures.queue_delay.record(now.since(packet.arrival));
        }
        self.count(now, node, EventKind::Departed, packet);
    }

    #[inline]
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.count(now, node, EventKind::Dropped(reason), packet);
        match self.store.take(packet.handle) {
            Content::Reset(key) => self.lost_resets.push((key, self.nodes.role(node).source)),
            Content::Datagram(_, data) => self.store.give_back(data),
            Content::Segment(..) | Content::Free => {}
        }
    }

    #[inline]
    fn marked(&mut self, now: Time, node: NodeId, packet: &Packet, reason: MarkReason) {
        self.count(now, node, EventKind::Marked(reason), packet);
    }

    #[inline]
    fn corrupted(&mut self, _: Time, node: NodeId, _: &Packet) -> bool {
        // The checksum fails at the receiver, whose kernel would drop the packet: it is dropped here.
        self.measures[self.nodes.role(node).source.index()].corrupted += 1;
        false
    }

    #[inline]
    fn duplicated(&mut self, _: Time, node: NodeId, packet: &Packet) -> Option<u64> {
        self.measures[self.nodes.role(node).source.index()].duplicated += 1;
        Some(self.store.copy(packet.handle))
    }

    #[inline]
    fn delivered(&mut self, time: Time, node: NodeId, packet: &Packet) {
        let source = self.nodes.role(node).source;
        self.measures[source.index()].delivered.add(packet);
        self.count(time, node, EventKind::Delivered, packet);
        self.arrivals.push_back(Arrival { time, port: source.other(), packet: *packet });
    }

    #[inline]
    fn pauses(&self) -> bool {
        !self.arrivals.is_empty()
    }
}
