//! Sizes of headers, exact to the byte. `tests/rlc_models` writes and reads the headers themselves, bit by
//! bit.

use super::setting::MacHeader;

impl MacHeader {
    /// Bytes of the subheader in front of a PDU of `pdu_bytes`.
    #[inline]
    pub const fn bytes(self, pdu_bytes: u64) -> u64 {
        match self {
            MacHeader::None => 0,
            MacHeader::Lte => 2 + (pdu_bytes > 127) as u64,
            MacHeader::Nr => 2 + (pdu_bytes > 255) as u64,
        }
    }

    /// The largest PDU that fits into `room_bytes` together with its subheader; 0 if none does. Limited by the subheader's
    /// length field.
    #[inline]
    pub const fn fits(self, room_bytes: u64) -> u64 {
        let (short, long) = match self {
            MacHeader::None => return if room_bytes < 32_767 { room_bytes } else { 32_767 },
            MacHeader::Lte => (127, 32_767),
            MacHeader::Nr => (255, 65_535),
        };
        let room = room_bytes.saturating_sub(2);
        if room <= short {
            room
        } else if room - 1 < long {
            room - 1
        } else {
            long
        }
    }
}

/// The longest element of an LTE PDU that another one may follow: the limit of a length indicator of 11 bits.
pub(super) const LTE_LI_MAX: u64 = 2047;

/// Bytes of `indicators` length indicators with their extension bits: 12 bits each, padded to a whole byte (TS 36.322
/// clause 6.2.1.3).
#[inline]
pub const fn lte_indicators_bytes(indicators: u64) -> u64 {
    (3 * indicators).div_ceil(2)
}

/// Bytes of the fixed part of a header of LTE's unacknowledged mode (TS 36.322 clause 6.2.1.3).
#[inline]
pub const fn lte_um_bytes(sn_bits: u8) -> u64 {
    if sn_bits > 5 { 2 } else { 1 }
}

/// Bytes of the fixed part of a header of LTE's acknowledged mode: for a whole PDU, or for a segment of one
/// (TS 36.322 clauses 6.2.1.4 and 6.2.1.5).
#[inline]
pub const fn lte_am_bytes(segment: bool) -> u64 {
    if segment { 4 } else { 2 }
}

/// Bytes of a header of NR's unacknowledged mode: for a whole packet without number, for a first segment
/// without offset, for another segment (TS 38.322 clause 6.2.2.3).
#[inline]
pub const fn nr_um_bytes(sn_bits: u8, from: u32, last: bool) -> u64 {
    if from == 0 && last {
        return 1;
    }
    (if sn_bits > 6 { 2 } else { 1 }) + if from > 0 { 2 } else { 0 }
}

/// Bytes of a header of NR's acknowledged mode, with an offset unless the PDU begins with the packet's first
/// byte (TS 38.322 clause 6.2.2.4).
#[inline]
pub const fn nr_am_bytes(sn_bits: u8, from: u32) -> u64 {
    (if sn_bits > 12 { 3 } else { 2 }) + if from > 0 { 2 } else { 0 }
}

/// Bits of a status report before its first gap: LTE (TS 36.322 clause 6.2.1.6), NR (TS 38.322 clause 6.2.2.5).
pub(super) const fn status_bits(lte: bool) -> u64 {
    if lte { 15 } else { 24 }
}

/// Bits of a gap in a status report: its number, optionally the offsets of the missing bytes, and optionally a count of
/// further PDUs.
pub(super) const fn gap_bits(lte: bool, sn_bits: u8, offsets: bool, range: bool) -> u64 {
    match lte {
        true => 12 + if offsets { 30 } else { 0 },
        false => {
            (if sn_bits > 12 { 24 } else { 16 }) + if offsets { 32 } else { 0 } + if range { 8 } else { 0 }
        }
    }
}
