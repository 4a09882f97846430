//! Events of the path, for logs and for tests.

use crate::device::Port;
use qdelay_core::{DropReason, Ecn, MarkReason, Packet, Time};
use qdelay_path::{AnyLink, NodeId, Observer, Path, Split};

/// The kind of an event of a packet on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The packet arrived from a device and was offered to the queue `node`.
    Enqueued,
    /// The packet was dequeued from the queue `node`.
    Dequeued,
    /// The packet has left the link `node`.
    Departed,
    /// The packet was dropped by the node `node`.
    Dropped(DropReason),
    /// The packet was marked by the queue `node`.
    Marked(MarkReason),
    /// A bit of the packet was changed by the impairment `node`.
    Corrupted,
    /// The packet is complete behind the cell `node`, with the components of its delay since it was first taken from the queue.
    Split(Split),
    /// The packet left the path at the exit `node`, to be written to a device.
    Delivered,
}

/// One event of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time of the event on the path. Events are in order of time.
    pub time: Time,
    /// The node of the event.
    pub node: NodeId,
    /// The kind of the event.
    pub kind: EventKind,
    /// The packet after the event. `packet.arrival` is the time of arrival at its latest queue.
    pub packet: Packet,
    /// Time at which the packet entered the path.
    pub entered: Time,
    /// Time at which the packet arrived at the first queue of the bottleneck; [`Time::NEVER`] before.
    pub reached_bottleneck: Time,
}

impl Event {
    /// The packet's number, in the order in which packets came from the devices, from 0; it wraps after 2^32.
    #[inline]
    pub const fn sequence(&self) -> u32 {
        (self.packet.handle >> 32) as u32
    }
}

/// Observer of every event on the path together with the packet's bytes, for logs and measurements. The data thread calls it,
/// so a tap must neither block nor allocate.
pub trait Tap {
    /// Called when `event` has happened to the packet whose IP bytes are `bytes`.
    fn event(&mut self, event: &Event, bytes: &[u8]);
    /// True if the tap reads a packet's bytes behind the IP header: checksums that were left out are then completed first.
    #[inline]
    fn reads_bytes(&self) -> bool {
        true
    }
    /// Time at which the tap next needs to inspect the path; [`Time::NEVER`] for never again.
    #[inline]
    fn next_inspection(&self) -> Time {
        Time::NEVER
    }
    /// Inspects the path at `now`, which is [`Tap::next_inspection`]: all events due by then have happened, and no others. The
    /// next inspection has to be later.
    #[inline]
    fn inspect(&mut self, now: Time, path: &Path) {
        let _ = (now, path);
    }
    /// Called when `link` has begun at `now` in place of the link of packets that come from `port`.
    fn link_replaced(&mut self, now: Time, port: Port, link: &AnyLink) {
        let _ = (now, port, link);
    }
}

/// A tap that ignores all events.
impl Tap for () {
    #[inline]
    fn event(&mut self, _: &Event, _: &[u8]) {}
    #[inline]
    fn reads_bytes(&self) -> bool {
        false
    }
}

/// Two taps for the same events, called in this order.
impl<A: Tap, B: Tap> Tap for (A, B) {
    #[inline]
    fn event(&mut self, event: &Event, bytes: &[u8]) {
        self.0.event(event, bytes);
        self.1.event(event, bytes);
    }
    #[inline]
    fn reads_bytes(&self) -> bool {
        self.0.reads_bytes() || self.1.reads_bytes()
    }
    #[inline]
    fn next_inspection(&self) -> Time {
        self.0.next_inspection().min(self.1.next_inspection())
    }
    #[inline]
    fn inspect(&mut self, now: Time, path: &Path) {
        if self.0.next_inspection() <= now {
            self.0.inspect(now, path);
        }
        if self.1.next_inspection() <= now {
            self.1.inspect(now, path);
        }
    }
    fn link_replaced(&mut self, now: Time, port: Port, link: &AnyLink) {
        self.0.link_replaced(now, port, link);
        self.1.link_replaced(now, port, link);
    }
}

/// An optional tap.
impl<T: Tap> Tap for Option<T> {
    #[inline]
    fn event(&mut self, event: &Event, bytes: &[u8]) {
        if let Some(tap) = self {
            tap.event(event, bytes);
        }
    }
    #[inline]
    fn reads_bytes(&self) -> bool {
        self.as_ref().is_some_and(Tap::reads_bytes)
    }
    #[inline]
    fn next_inspection(&self) -> Time {
        self.as_ref().map_or(Time::NEVER, Tap::next_inspection)
    }
    #[inline]
    fn inspect(&mut self, now: Time, path: &Path) {
        if let Some(tap) = self {
            tap.inspect(now, path);
        }
    }
    fn link_replaced(&mut self, now: Time, port: Port, link: &AnyLink) {
        if let Some(tap) = self {
            tap.link_replaced(now, port, link);
        }
    }
}

/// A borrowed tap.
impl<T: Tap> Tap for &mut T {
    #[inline]
    fn event(&mut self, event: &Event, bytes: &[u8]) {
        (**self).event(event, bytes);
    }
    #[inline]
    fn reads_bytes(&self) -> bool {
        (**self).reads_bytes()
    }
    #[inline]
    fn next_inspection(&self) -> Time {
        (**self).next_inspection()
    }
    #[inline]
    fn inspect(&mut self, now: Time, path: &Path) {
        (**self).inspect(now, path);
    }
    fn link_replaced(&mut self, now: Time, port: Port, link: &AnyLink) {
        (**self).link_replaced(now, port, link);
    }
}

/// An event without the packet's handle, for comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Time of the event on the path.
    pub time: Time,
    /// The node of the event.
    pub node: NodeId,
    /// The kind of the event.
    pub kind: EventKind,
    /// The packet's number in the order of arrival.
    pub sequence: u32,
    /// The packet's size in bytes.
    pub bytes: u32,
    /// Hash of the packet's addresses and ports.
    pub flow: u32,
    /// Differentiated services codepoint.
    pub dscp: u8,
    /// ECN codepoint after the event.
    pub ecn: Ecn,
    /// Time at which the packet arrived at its latest queue.
    pub arrival: Time,
}

/// Log of every event: of an emulator as its [`Tap`], of a bare path as its [`Observer`]. Equal decisions give equal logs. The
/// log grows without bound, so only tests use it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventLog {
    /// Events in the order in which they happened.
    pub events: Vec<LoggedEvent>,
}

impl Tap for EventLog {
    fn reads_bytes(&self) -> bool {
        false
    }
    fn event(&mut self, event: &Event, _: &[u8]) {
        let Event { time, node, kind, packet, .. } = *event;
        let Packet { bytes, flow, dscp, ecn, arrival, .. } = packet;
        let sequence = event.sequence();
        self.events.push(LoggedEvent { time, node, kind, sequence, bytes, flow, dscp, ecn, arrival });
    }
}

impl EventLog {
    fn push(&mut self, time: Time, node: NodeId, kind: EventKind, packet: &Packet) {
        let (packet, never) = (*packet, Time::NEVER);
        self.event(&Event { time, node, kind, packet, entered: never, reached_bottleneck: never }, &[]);
    }
}

/// Observer of a bare path: the packet's number is the upper half of [`Packet::handle`], as in an emulator.
impl Observer for EventLog {
    fn enqueued(&mut self, time: Time, node: NodeId, packet: &Packet) {
        self.push(time, node, EventKind::Enqueued, packet);
    }
    fn dequeued(&mut self, time: Time, node: NodeId, packet: &Packet) {
        self.push(time, node, EventKind::Dequeued, packet);
    }
    fn departed(&mut self, time: Time, node: NodeId, _: NodeId, packet: &Packet) {
        self.push(time, node, EventKind::Departed, packet);
    }
    fn split(&mut self, time: Time, node: NodeId, packet: &Packet, split: Split) {
        self.push(time, node, EventKind::Split(split), packet);
    }
    fn dropped(&mut self, time: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.push(time, node, EventKind::Dropped(reason), packet);
    }
    fn marked(&mut self, time: Time, node: NodeId, packet: &Packet, reason: MarkReason) {
        self.push(time, node, EventKind::Marked(reason), packet);
    }
    fn delivered(&mut self, time: Time, node: NodeId, packet: &Packet) {
        self.push(time, node, EventKind::Delivered, packet);
    }
}
