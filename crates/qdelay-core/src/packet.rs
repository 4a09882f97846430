//! The packet, with the properties that a queue needs, and the backlog of a queue.

use crate::Time;

/// The explicit congestion notification codepoint of a packet (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// The sender does not support ECN: the packet must be dropped where another would be marked.
    #[default]
    NotEct = 0,
    /// ECN-capable transport, codepoint 1 (RFC 9331 uses it for L4S).
    Ect1 = 1,
    /// ECN-capable transport, codepoint 0.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Returns true if a queue may mark this packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

/// A packet as a path sees it: 32 bytes, two to a cache line, copied freely. Its contents (a simulated TCP segment, a kernel
/// buffer, a RAN stack's descriptor) belong to the host that put it on the path; a path has only its `handle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The host's reference to the contents: an index, a pointer or any other number. Never read by a path.
    pub handle: u64,
    /// Time at which the packet entered its present queue. Set by the path at every queue.
    pub arrival: Time,
    /// Size of the IP packet in bytes, header included.
    pub bytes: u32,
    /// Flow of the packet: an index of the host's, or a hash of the 5-tuple.
    pub flow: u32,
    /// Class assigned by a classifier: a QoS flow, a bearer, a priority.
    pub class: u16,
    /// Differentiated services codepoint (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// COUNT of PDCP (TS 38.323 clause 6.3.5), set as the packet enters a bearer that numbers its packets; 0
    /// anywhere else.
    pub count: u32,
}

const _: () = assert!(core::mem::size_of::<Packet>() == 32);

/// The backlog of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets queued.
    pub packets: u64,
    /// Bytes queued (IP bytes).
    pub bytes: u64,
}
