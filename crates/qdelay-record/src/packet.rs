//! What became of each packet, told to whoever wants to write it down.

use qdelay_core::{DropReason, Ecn, Time};

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Over the bottleneck.
    Data,
    /// Back to the sender.
    Acknowledgement,
}

/// Where a packet ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// At the other end.
    Delivered,
    /// On the way.
    Dropped(DropReason),
}

/// A packet that is through. Times it did not live to see are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// Number of its flow; the probe's comes after the last.
    pub flow: u32,
    /// Size of the IP packet in bytes.
    pub bytes: u32,
    /// Which way it went.
    pub direction: Direction,
    /// Its codepoint.
    pub dscp: u8,
    /// Its ECN codepoint at the end.
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
    /// Which of both, and why.
    pub fate: Fate,
}

/// Hears of each packet as it ends, in the order in which they end. Packets that are on the path when the run ends are
/// not told.
pub trait Recorder {
    /// Whether anything is written down; without it nothing is kept for it either.
    const ON: bool;
    /// `record` is through.
    fn packet(&mut self, record: &PacketRecord);
}

/// Writes nothing down.
impl Recorder for () {
    const ON: bool = false;
    #[inline]
    fn packet(&mut self, _: &PacketRecord) {}
}
