//! What a queue needs to know of a packet, and how much a queue holds.

use crate::Time;

/// The explicit congestion notification codepoint of a packet (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// The sender does not understand marks: the packet must be dropped where another is marked.
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
    /// Whether a queue may mark this packet in place of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

/// A packet as a path sees it: 32 bytes, two to a cache line, copied freely. What is inside (a simulated TCP segment, a
/// kernel buffer, a RAN stack's descriptor) belongs to whoever put it on the path and is known here by `handle` only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The host's name for the contents: an index, a pointer, whatever it likes. Never read by a path.
    pub handle: u64,
    /// When the packet entered the queue it is in. Set by the path at every queue it enters.
    pub arrival: Time,
    /// Size of the IP packet in bytes, header included.
    pub bytes: u32,
    /// The flow it belongs to: an index of the host's, or a hash of the 5-tuple.
    pub flow: u32,
    /// Where a classifier has put it: a QoS flow, a bearer, a priority.
    pub class: u16,
    /// Differentiated services codepoint (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// ECN codepoint.
    pub ecn: Ecn,
}

const _: () = assert!(core::mem::size_of::<Packet>() == 32);

/// What a queue holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets queued.
    pub packets: u64,
    /// Bytes queued (IP bytes).
    pub bytes: u64,
}
