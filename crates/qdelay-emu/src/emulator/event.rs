//! Events of the path, for logs and for tests.

use qdelay_core::{DropReason, Ecn, MarkReason, Packet, Time};
use qdelay_path::{NodeId, Observer, Path, Split};

/// What happened to a packet on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It came from a device and was offered to the queue `node`.
    Enqueued,
    /// The queue `node` let it go.
    Dequeued,
    /// It has left the link `node`.
    Departed,
    /// The node `node` dropped it.
    Dropped(DropReason),
    /// The queue `node` marked it.
    Marked(MarkReason),
    /// It is whole behind the cell `node`, and this is where the time since it was first taken went.
    Split(Split),
    /// It came out at the exit `node`, to be written to a device.
    Delivered,
}

/// One event of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The path's time of it. Events come in order of time.
    pub time: Time,
    /// Where.
    pub node: NodeId,
    /// What.
    pub kind: EventKind,
    /// The packet as it is now. `packet.arrival` is when it came to the queue that it was in last.
    pub packet: Packet,
    /// When it entered the path.
    pub entered: Time,
    /// When it came to the first queue of the bottleneck; [`Time::NEVER`] before.
    pub came: Time,
}

impl Event {
    /// The packet's number, in the order in which packets came from the devices, from 0; it starts over after 2^32.
    #[inline]
    pub const fn sequence(&self) -> u32 {
        (self.packet.handle >> 32) as u32
    }
}

/// Hears of every event on the path together with the packet's bytes: for logs. It is called on the data path, so it must
/// neither block nor allocate.
pub trait Tap {
    /// `event` has happened to the packet whose IP bytes are `bytes`.
    fn event(&mut self, event: &Event, bytes: &[u8]);
    /// When it wants to look at the path next; [`Time::NEVER`] for never again.
    #[inline]
    fn next_look(&self) -> Time {
        Time::NEVER
    }
    /// The path as it is at `now`, which is [`Tap::next_look`]: all that is due by then has happened, and nothing else. The next
    /// look has to be later.
    #[inline]
    fn look(&mut self, now: Time, path: &Path) {
        let _ = (now, path);
    }
}

/// Hears nothing.
impl Tap for () {
    #[inline]
    fn event(&mut self, _: &Event, _: &[u8]) {}
}

/// Two taps that hear the same, the first one first.
impl<A: Tap, B: Tap> Tap for (A, B) {
    #[inline]
    fn event(&mut self, event: &Event, bytes: &[u8]) {
        self.0.event(event, bytes);
        self.1.event(event, bytes);
    }
    #[inline]
    fn next_look(&self) -> Time {
        self.0.next_look().min(self.1.next_look())
    }
    #[inline]
    fn look(&mut self, now: Time, path: &Path) {
        if self.0.next_look() <= now {
            self.0.look(now, path);
        }
        if self.1.next_look() <= now {
            self.1.look(now, path);
        }
    }
}

/// A tap that may be there.
impl<T: Tap> Tap for Option<T> {
    #[inline]
    fn event(&mut self, event: &Event, bytes: &[u8]) {
        if let Some(tap) = self {
            tap.event(event, bytes);
        }
    }
    #[inline]
    fn next_look(&self) -> Time {
        self.as_ref().map_or(Time::NEVER, Tap::next_look)
    }
    #[inline]
    fn look(&mut self, now: Time, path: &Path) {
        if let Some(tap) = self {
            tap.look(now, path);
        }
    }
}

/// A tap that the host keeps.
impl<T: Tap> Tap for &mut T {
    #[inline]
    fn event(&mut self, event: &Event, bytes: &[u8]) {
        (**self).event(event, bytes);
    }
    #[inline]
    fn next_look(&self) -> Time {
        (**self).next_look()
    }
    #[inline]
    fn look(&mut self, now: Time, path: &Path) {
        (**self).look(now, path);
    }
}

/// An event as it is compared: without the host's name for the contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// The path's time.
    pub time: Time,
    /// Where.
    pub node: NodeId,
    /// What.
    pub kind: EventKind,
    /// The packet's number in the order of arrival.
    pub sequence: u32,
    /// Its size, flow, codepoints, and when it arrived.
    pub bytes: u32,
    /// Hash of its addresses and ports.
    pub flow: u32,
    /// Differentiated services codepoint.
    pub dscp: u8,
    /// ECN codepoint at the time.
    pub ecn: Ecn,
    /// When it came to the queue.
    pub arrival: Time,
}

/// Keeps every event: of an emulator as its [`Tap`], of a bare path as its [`Observer`]. What makes equal decisions has equal
/// logs. It grows without bound: for tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventLog {
    /// In the order in which they happened.
    pub events: Vec<Logged>,
}

impl Tap for EventLog {
    fn event(&mut self, event: &Event, _: &[u8]) {
        let Event { time, node, kind, packet, .. } = *event;
        let Packet { bytes, flow, dscp, ecn, arrival, .. } = packet;
        let sequence = event.sequence();
        self.events.push(Logged { time, node, kind, sequence, bytes, flow, dscp, ecn, arrival });
    }
}

impl EventLog {
    fn hear(&mut self, time: Time, node: NodeId, kind: EventKind, packet: &Packet) {
        let (packet, never) = (*packet, Time::NEVER);
        self.event(&Event { time, node, kind, packet, entered: never, came: never }, &[]);
    }
}

/// The packet's number is the upper half of [`Packet::handle`], as in an emulator.
impl Observer for EventLog {
    fn enqueued(&mut self, time: Time, node: NodeId, packet: &Packet) {
        self.hear(time, node, EventKind::Enqueued, packet);
    }
    fn dequeued(&mut self, time: Time, node: NodeId, packet: &Packet) {
        self.hear(time, node, EventKind::Dequeued, packet);
    }
    fn departed(&mut self, time: Time, node: NodeId, _: NodeId, packet: &Packet) {
        self.hear(time, node, EventKind::Departed, packet);
    }
    fn split(&mut self, time: Time, node: NodeId, packet: &Packet, split: Split) {
        self.hear(time, node, EventKind::Split(split), packet);
    }
    fn dropped(&mut self, time: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.hear(time, node, EventKind::Dropped(reason), packet);
    }
    fn marked(&mut self, time: Time, node: NodeId, packet: &Packet, reason: MarkReason) {
        self.hear(time, node, EventKind::Marked(reason), packet);
    }
    fn delivered(&mut self, time: Time, node: NodeId, packet: &Packet) {
        self.hear(time, node, EventKind::Delivered, packet);
    }
}
