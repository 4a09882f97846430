//! A TCP segment as the simulator carries it: the header fields of RFC 9293, RFC 2018 and RFC 7323, no payload.

use qdelay_core::Ecn;

/// Flag bits of a segment's header.
pub mod flag {
    /// Synchronize: the first segment of either side.
    pub const SYN: u8 = 1;
    /// Acknowledgement number is valid.
    pub const ACK: u8 = 2;
    /// The sender has no more data.
    pub const FIN: u8 = 4;
    /// Congestion echo (RFC 3168 section 6.1).
    pub const ECE: u8 = 8;
    /// Congestion window reduced (RFC 3168 section 6.1).
    pub const CWR: u8 = 16;
    /// Push: the last segment of a burst (Linux sets it on every burst of two or more).
    pub const PSH: u8 = 32;
    /// Mark of a retransmission, whose packet is not ECN-capable (RFC 3168 section 6.1.5); not a bit of the TCP header.
    pub const RESENT: u8 = 64;
}

/// The largest number of selective acknowledgement blocks beside a timestamp option (RFC 2018 section 3).
pub const SACK_BLOCKS: usize = 3;

/// A TCP segment. Sequence numbers are 32 bits wide, as on the wire; endpoints count in 64 bits and convert by [`expand`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Receive window in bytes, after scaling.
    pub window: u32,
    /// Timestamp value in microseconds (RFC 7323); wraps.
    pub ts_value: u32,
    /// Timestamp echo reply.
    pub ts_echo: u32,
    /// Selectively acknowledged ranges, first byte and one past the last, most recent first.
    pub sack: [(u32, u32); SACK_BLOCKS],
    /// Bytes of application data.
    pub len: u16,
    /// Number of entries of `sack` in use, 0 to 3.
    pub sack_count: u8,
    /// Bits of [`flag`].
    pub flags: u8,
}

/// IPv4 and TCP headers without options, in bytes.
const HEADERS: u32 = 40;
/// Timestamp option with its padding.
const TIMESTAMPS: u32 = 12;

impl Segment {
    /// Whether all of `flags` are set.
    pub const fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }
    /// The selectively acknowledged ranges.
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sack_count).min(SACK_BLOCKS)]
    }
    /// Size of its IP packet in bytes.
    pub fn ip_bytes(&self) -> u32 {
        debug_assert!(usize::from(self.sack_count) <= SACK_BLOCKS, "{} SACK blocks", self.sack_count);
        let sack = if self.sack_count > 0 { 4 + 8 * u32::from(self.sack_count) } else { 0 };
        let syn = if self.has(flag::SYN) { 8 } else { 0 };
        HEADERS + TIMESTAMPS + sack + syn + u32::from(self.len)
    }
    /// ECN field of the segment's IP packet: only data sent for the first time is ECN-capable (RFC 3168 sections 6.1.4 and 6.1.5). `negotiated`:
    /// both ends use ECN.
    pub fn ecn(&self, negotiated: bool) -> Ecn {
        if negotiated && self.len > 0 && !self.has(flag::RESENT) { Ecn::Ect0 } else { Ecn::NotEct }
    }
}

/// The 64-bit number nearest to `near` whose low half is `wire`.
pub fn expand(wire: u32, near: u64) -> u64 {
    let distance = wire.wrapping_sub(near as u32) as i32;
    near.wrapping_add_signed(i64::from(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_include_headers_and_options() {
        assert_eq!(Segment { len: 1448, ..Segment::default() }.ip_bytes(), 1500);
        assert_eq!(Segment { flags: flag::ACK, sack_count: 3, ..Segment::default() }.ip_bytes(), 80);
        assert_eq!(Segment { flags: flag::SYN, ..Segment::default() }.ip_bytes(), 60);
    }

    #[test]
    fn wrapped_numbers_expand_to_the_nearest() {
        assert_eq!(expand(5, 0), 5);
        assert_eq!(expand(5, 0xffff_fff0), 0x1_0000_0005);
        assert_eq!(expand(0xffff_fff0, 0x1_0000_0005), 0xffff_fff0);
    }
}
