//! Counts at each node, and the audit that holds a path to them.

use crate::NodeId;
use alloc::string::String;
use core::fmt;
use qdelay_core::{DropReason, MarkReason, Packet};

/// Packets and their IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
}

impl Count {
    /// One packet.
    #[inline]
    pub const fn of(packet: &Packet) -> Count {
        Count { packets: 1, bytes: packet.bytes as u64 }
    }
    /// Counts one more packet.
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
    }
}

impl core::ops::Add for Count {
    type Output = Count;
    fn add(self, other: Count) -> Count {
        Count { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl core::iter::Sum for Count {
    fn sum<I: Iterator<Item = Count>>(all: I) -> Count {
        all.fold(Count::default(), core::ops::Add::add)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets of {} bytes", self.packets, self.bytes)
    }
}

/// What happened at one node since the path was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Came from another node or from the host.
    pub received: Count,
    /// Went on: to the next node, or at an exit to the host.
    pub forwarded: Count,
    /// Came from the host (a part of `received`).
    pub ingress: Count,
    dropped: [Count; DropReason::ALL.len()],
    marked: [Count; MarkReason::ALL.len()],
}

impl Counters {
    /// Dropped here for `reason`.
    pub fn dropped(&self, reason: DropReason) -> Count {
        self.dropped[reason as usize]
    }
    /// Dropped here for any reason.
    pub fn dropped_total(&self) -> Count {
        self.dropped.iter().copied().sum()
    }
    /// Marked here for `reason`.
    pub fn marked(&self, reason: MarkReason) -> Count {
        self.marked[reason as usize]
    }
    /// Marked here for any reason.
    pub fn marked_total(&self) -> Count {
        self.marked.iter().copied().sum()
    }
    #[inline]
    pub(crate) fn count_drop(&mut self, packet: &Packet, reason: DropReason) {
        self.dropped[reason as usize].add(packet);
    }
    #[inline]
    pub(crate) fn count_mark(&mut self, packet: &Packet, reason: MarkReason) {
        self.marked[reason as usize].add(packet);
    }
}

/// What a link or cell has done with its capacity. At a link both counts are of bytes on the link: IP bytes and the link's
/// overhead. At a cell they are [`CellUsage::sent_bytes`](crate::CellUsage::sent_bytes) and `offered_bytes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkUsage {
    /// Sent: for packets that have left; on a trace link also the part of a packet that is already through.
    pub sent_bytes: u64,
    /// What could have been sent since the run began, whether or not there was anything to send.
    pub offered_bytes: u64,
}

/// Packets were lost or made up: a defect of the path or of a discipline in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditError {
    /// At one node, received is not forwarded + dropped + inside.
    Node {
        /// The node.
        node: NodeId,
        /// Its name.
        name: String,
        /// Came in.
        received: Count,
        /// Went on.
        forwarded: Count,
        /// Was dropped.
        dropped: Count,
        /// Is inside.
        inside: Count,
    },
    /// Over all nodes, what went on is not what came in at the next.
    Handover {
        /// Sent on by nodes that are not exits.
        forwarded: Count,
        /// Received from other nodes.
        received: Count,
    },
    /// Over the whole path, ingress is not delivered + dropped + inside.
    Path {
        /// Came from the host.
        ingress: Count,
        /// Reached an exit.
        delivered: Count,
        /// Was dropped.
        dropped: Count,
        /// Is inside.
        inside: Count,
    },
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuditError::Node { name, received, forwarded, dropped, inside, .. } => write!(
                f,
                "node '{name}': received {received}, but forwarded {forwarded} + dropped {dropped} + inside {inside}"
            ),
            AuditError::Handover { forwarded, received } => {
                write!(f, "nodes forwarded {forwarded} to each other, but received {received}")
            }
            AuditError::Path { ingress, delivered, dropped, inside } => write!(
                f,
                "path: ingress {ingress}, but delivered {delivered} + dropped {dropped} + inside {inside}"
            ),
        }
    }
}
impl core::error::Error for AuditError {}
