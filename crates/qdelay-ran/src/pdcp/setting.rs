//! Configuration of PDCP by RRC.

use qdelay_core::Span;

/// The lengths of sequence numbers in bits (TS 38.331 `pdcp-SN-SizeDL`).
pub const SN_BITS: [u8; 2] = [12, 18];

/// Default of t-Reordering over unacknowledged mode: longer than all transmissions of HARQ.
pub(crate) const USUAL_OVER_UM: Span = Span::from_millis(100);
/// Default of t-Reordering over acknowledged mode: longer than t-Reassembly, a report and a retransmission.
pub(crate) const USUAL_OVER_AM: Span = Span::from_millis(300);

/// Settings of the PDCP of TS 38.323.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdcpSetting {
    /// Bits of a sequence number: 12 or 18.
    pub sn_bits: u8,
    /// t-Reordering: time that the receiver waits for a missing number; [`Span::MAX`]: infinity.
    pub t_reordering: Span,
    /// outOfOrderDelivery: true if packets are delivered as they come.
    pub out_of_order_delivery: bool,
    /// discardTimer: time that a packet may wait behind PDCP before a part of it is sent; [`Span::MAX`]:
    /// infinity.
    pub discard_timer: Span,
    /// pdu-SetDiscard: true if a discard discards the whole PDU set of the packet (release 18).
    pub set_discard: bool,
    /// True if packets are ciphered: then no node behind PDCP can read or change their headers.
    pub ciphered: bool,
    /// True if the queue of the bearer admits an arrival before the packet is numbered: then a drop at
    /// arrival leaves no gap in the numbers. Other drops always leave one.
    pub drops_before: bool,
}

impl PdcpSetting {
    /// Bytes of the header of a data PDU (TS 38.323 clauses 6.2.2.2 and 6.2.2.3): 2 with 12 bits, 3 with 18.
    pub const fn header_bytes(&self) -> u32 {
        if self.sn_bits == 12 { 2 } else { 3 }
    }
    /// `Window_Size` (clause 7.2): half of all numbers.
    pub const fn window(&self) -> u64 {
        1 << (self.sn_bits - 1)
    }
}
