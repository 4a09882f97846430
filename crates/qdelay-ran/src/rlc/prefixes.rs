//! Grant sizes with which the first waiting packet is sent whole, the first two, and so on: needed by a
//! scheduler that avoids segmentation.
//!
//! Data ahead of the queue counts too: the remainder of a partly sent packet, and each pending
//! retransmission, as a separate packet. Every mode computes its result for such a grant, headers included;
//! `tests/rlc_prefixes.rs` compares each result with the actual transmission.

use super::header::{LTE_LI_MAX, lte_indicators_bytes};
use super::setting::MacHeader;
use crate::slice::MOST_PACKETS;
use alloc::vec::Vec;

/// The sizes of the waiting packets, and the output.
pub(super) struct Prefixes<'a, N> {
    /// The IP bytes of the next packet in the queue; `None` after the last whose size is known.
    pub next: N,
    /// Largest possible grant: further packets are not useful.
    pub limit_bytes: u64,
    pub ends: &'a mut Vec<u32>,
    /// Index at which the output begins.
    pub first: usize,
}

impl<N: FnMut() -> Option<u32>> Prefixes<'_, N> {
    /// SDU bytes of the next packet, with the PDCP header; `None` after the last one.
    pub fn next_sdu(&mut self, overhead_bytes: u32) -> Option<u64> {
        Some(u64::from((self.next)()?.saturating_add(overhead_bytes).max(1)))
    }
    /// Appends a packet that is whole with a grant of `end` bytes. Returns true if further packets are
    /// useful.
    pub fn push(&mut self, end: u64) -> bool {
        if end > self.limit_bytes || self.ends.len() - self.first >= MOST_PACKETS {
            return false;
        }
        let Ok(end) = u32::try_from(end) else { return false };
        // A packet that needs no more than the previous one counts one byte: ends must be distinct.
        let before = if self.ends.len() > self.first { self.ends.last().copied() } else { None };
        self.ends.push(before.map_or(end, |before| end.max(before + 1)));
        true
    }
}

impl MacHeader {
    /// The smallest room for which [`MacHeader::fits`] accepts a PDU of `pdu_bytes`; `None` if no room is large enough.
    pub(super) fn room_for(self, pdu_bytes: u64) -> Option<u64> {
        let room = pdu_bytes + self.bytes(pdu_bytes);
        (self.fits(room) >= pdu_bytes).then_some(room)
    }
}

/// Appends packets in LTE's PDUs with length indicators, after `used` bytes of other PDUs. `rest_bytes` is
/// the remainder of an open packet, 0 for none; `pdus` is the number of sequence numbers available for PDUs.
pub(super) fn concatenated<N: FnMut() -> Option<u32>>(
    (fixed_bytes, mac, overhead_bytes): (u64, MacHeader, u32),
    (mut used, rest_bytes, pdus): (u64, u64, u64),
    prefixes: &mut Prefixes<'_, N>,
) {
    let (mut elements, mut data, mut pdus) = (0, 0, pdus);
    let mut open = (rest_bytes > 0).then_some(rest_bytes);
    while pdus > 0 {
        let Some(size) = open.take().or_else(|| prefixes.next_sdu(overhead_bytes)) else { return };
        // The grant if the packet is the last element of its PDU.
        let pdu = fixed_bytes + lte_indicators_bytes(elements) + data + size;
        let Some(room) = mac.room_for(pdu) else { return };
        if !prefixes.push(used + room) {
            return;
        }
        (elements, data) = (elements + 1, data + size);
        if size > LTE_LI_MAX {
            // No element can follow the packet in its PDU.
            (used, elements, data) = (used + room, 0, 0);
            pdus -= 1;
        }
    }
}

/// Appends NR's packets, each in its own PDU, after `used` bytes of other PDUs. `header(from)` is the header
/// of the last PDU of a packet of which `from` bytes are sent; `least(from)` is the largest grant that the
/// sender leaves unused. `packets` is the number of sequence numbers available for new packets.
pub(super) fn apart<N: FnMut() -> Option<u32>>(
    (mac, overhead_bytes): (MacHeader, u32),
    (mut used, rest_bytes, mut packets): (u64, u64, u64),
    header: impl Fn(u32) -> u64,
    least: impl Fn(u32) -> u64,
    prefixes: &mut Prefixes<'_, N>,
) {
    let mut open = (rest_bytes > 0).then_some(rest_bytes);
    loop {
        let from = u32::from(open.is_some());
        // The remainder of a partly sent packet is the first; it needs no sequence number.
        let size = match open.take() {
            Some(rest) => rest,
            None if packets == 0 => return,
            None => {
                packets -= 1;
                let Some(size) = prefixes.next_sdu(overhead_bytes) else { return };
                size
            }
        };
        let pdu = header(from) + size;
        let Some(room) = mac.room_for(pdu.max(least(from) + 1)) else { return };
        if !prefixes.push(used + room) {
            return;
        }
        used += pdu + mac.bytes(pdu);
    }
}
