//! Hears of the path's events: measures, marks, frees what is dropped, and collects what is to be written to devices.

use super::{Event, EventKind, Measures, Release, Tap};
use crate::device::Port;
use crate::frame;
use crate::plan::{Places, Role};
use crate::pool::{Pool, Slot};
use qdelay_core::{DropReason, MarkReason, Packet, Span, Time};
use qdelay_path::{NodeId, Observer, Split};
use qdelay_record::{Direction, Fate, PacketRecord, Recorder};
use std::collections::VecDeque;

/// The times of a packet that is on the path, kept for a recorder, or where it may wait in several queues.
#[derive(Clone, Copy, Debug, Default)]
struct Passage {
    entered: Option<Time>,
    came: Option<Time>,
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
    /// Whether packets wait in several queues one after the other, each of which stamps their arrival.
    has_stages: bool,
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
    pub fn new(pool: Pool, places: Places, has_stages: bool, recorder: R, tap: T) -> Self {
        let measures = [Measures::default(), Measures::default()];
        let releases = VecDeque::with_capacity(1024);
        Meter { pool, places, measures, releases, recorder, tap, passages: Vec::new(), has_stages }
    }

    #[inline]
    fn tell(&mut self, time: Time, node: NodeId, kind: EventKind, packet: &Packet) {
        let (entered, came) = self.since(packet);
        let bytes = self.pool.packet(slot_of(packet), packet.bytes);
        self.tap.event(&Event { time, node, kind, packet: *packet, entered, came }, bytes);
    }

    /// When a packet entered the path, and when it came to the bottleneck.
    #[inline]
    fn since(&self, packet: &Packet) -> (Time, Time) {
        if !self.has_stages {
            return (packet.arrival, packet.arrival);
        }
        let passage = self.passages.get(slot_of(packet).index()).copied().unwrap_or_default();
        (passage.entered.unwrap_or(packet.arrival), passage.came.unwrap_or(Time::NEVER))
    }

    /// A packet is about to enter the path.
    #[inline]
    pub fn begin(&mut self, now: Time, packet: &Packet) {
        if self.has_stages {
            *self.passage(packet) = Passage { entered: Some(now), ..Passage::default() };
        }
    }

    /// The time since a packet has come to the bottleneck, where it waits now.
    #[inline]
    fn waited(&self, now: Time, packet: &Packet) -> Span {
        now.since(self.since(packet).1.min(now))
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
        let (entered, came) = self.since(packet);
        let Passage { dequeued, departed, .. } = std::mem::take(self.passage(packet));
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
            arrival: (came != Time::NEVER).then_some(came),
            dequeued,
            departed,
            ended,
            fate,
        });
    }
}

impl<R: Recorder, T: Tap> Observer for Meter<R, T> {
    #[inline]
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let Role { place, source } = self.places.role(node);
        if place.is_first() {
            self.measures[source.index()].arrived.add(packet);
            if self.has_stages {
                self.passage(packet).came = Some(now);
            }
        }
        self.tell(now, node, EventKind::Enqueued, packet);
    }

    #[inline]
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let Role { place, source } = self.places.role(node);
        if place.is_last() {
            let sojourn = self.waited(now, packet);
            self.measures[source.index()].sojourn.record(sojourn);
            if R::ON {
                self.passage(packet).dequeued = Some(now);
            }
        }
        self.tell(now, node, EventKind::Dequeued, packet);
    }

    #[inline]
    fn departed(&mut self, now: Time, node: NodeId, _queue: NodeId, packet: &Packet) {
        let Role { place, source } = self.places.role(node);
        if place.is_link() {
            let delay = self.waited(now, packet);
            let measures = &mut self.measures[source.index()];
            measures.departed.add(packet);
            measures.queue_delay.record(delay);
            if R::ON {
                self.passage(packet).departed = Some(now);
            }
        }
        self.tell(now, node, EventKind::Departed, packet);
    }

    #[inline]
    fn split(&mut self, now: Time, node: NodeId, packet: &Packet, split: Split) {
        self.tell(now, node, EventKind::Split(split), packet);
    }

    #[inline]
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.tell(now, node, EventKind::Dropped(reason), packet);
        if R::ON {
            let source = self.places.role(node).source;
            self.record(now, source, packet, Fate::Dropped(reason));
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
        let port = self.places.role(node).source.other();
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
