//! Packet records: timestamps and fate of each packet, passed to a recorder.

use qdelay_core::{DropReason, Ecn, Time};

/// Direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Over the bottleneck.
    Data,
    /// Back to the sender.
    Acknowledgement,
}

/// Fate of a packet on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// At the other end.
    Delivered,
    /// On the way.
    Dropped(DropReason),
}

/// A packet that was delivered or dropped. Timestamps of events that it did not reach are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// Number of its flow; the probe's comes after the last.
    pub flow: u32,
    /// Size of the IP packet in bytes.
    pub bytes: u32,
    /// Direction.
    pub direction: Direction,
    /// DSCP codepoint.
    pub dscp: u8,
    /// ECN codepoint at the end.
    pub ecn: Ecn,
    /// When it entered the path.
    pub created: Time,
    /// When it came to the bottleneck's queue.
    pub arrival: Option<Time>,
    /// When it was taken from that queue.
    pub dequeued: Option<Time>,
    /// When it had left the bottleneck.
    pub departed: Option<Time>,
    /// When it was delivered or dropped.
    pub ended: Time,
    /// Delivered, or dropped with a reason.
    pub fate: Fate,
    /// Number in the transport's counting, where that is known: of a TCP segment with data the number of its first byte (32 bits, 1 for
    /// the first byte of the connection), of one without the number up to which it acknowledges; of datagrams and reports which one it is.
    pub sequence: Option<u64>,
}

/// Receives a record of each packet when it is delivered or dropped, in that order. Packets in flight at the end of the run
/// are not recorded.
pub trait Recorder {
    /// A packet was delivered or dropped.
    fn packet(&mut self, record: &PacketRecord);
    /// Whether packets are recorded; if not, no timestamps are kept for them. Constant during a run.
    #[inline]
    fn is_on(&self) -> bool {
        true
    }
}

/// Records nothing.
impl Recorder for () {
    #[inline]
    fn packet(&mut self, _: &PacketRecord) {}
    #[inline]
    fn is_on(&self) -> bool {
        false
    }
}

impl<R: Recorder + ?Sized> Recorder for &mut R {
    #[inline]
    fn packet(&mut self, record: &PacketRecord) {
        (**self).packet(record);
    }
    #[inline]
    fn is_on(&self) -> bool {
        (**self).is_on()
    }
}
