//! How large a grant has to be for the first packet that waits to go whole, for the first two, and so on: what a scheduler
//! needs that would not cut packets in two.
//!
//! What stands before the queue counts too: the rest of a packet that is partly sent, and each retransmission that is due, as
//! a packet of its own. Every mode says what it would do with such a grant, headers included; `tests/rlc_prefixes.rs` holds
//! each answer against what it then does.

use super::header::{LTE_LI_MAX, lte_indicators_bytes};
use super::setting::MacHeader;
use crate::slice::MOST_PACKETS;
use alloc::vec::Vec;

/// The sizes of the packets that wait, and where the answer goes.
pub(super) struct Prefixes<'a, N> {
    /// The IP bytes of the next packet in the queue; none behind the last whose size is known.
    pub next: N,
    /// A grant will not be larger: further packets are of no use.
    pub limit_bytes: u64,
    pub ends: &'a mut Vec<u32>,
    /// Where the answer begins.
    pub first: usize,
}

impl<N: FnMut() -> Option<u32>> Prefixes<'_, N> {
    /// The SDU bytes of the next packet, with headers of PDCP.
    pub fn next_sdu(&mut self, overhead_bytes: u32) -> Option<u64> {
        Some(u64::from((self.next)()?.saturating_add(overhead_bytes).max(1)))
    }
    /// One packet more is whole with a grant of `end` bytes. Whether further ones are of use.
    pub fn push(&mut self, end: u64) -> bool {
        if end > self.limit_bytes || self.ends.len() - self.first >= MOST_PACKETS {
            return false;
        }
        let Ok(end) = u32::try_from(end) else { return false };
        // A packet that needs no more than the one before it is counted a byte: ends are told apart.
        let before = if self.ends.len() > self.first { self.ends.last().copied() } else { None };
        self.ends.push(before.map_or(end, |before| end.max(before + 1)));
        true
    }
}

impl MacHeader {
    /// The smallest room of which [`MacHeader::fits`] says that a PDU of `pdu_bytes` fits; `None` where no room is large enough.
    pub(super) fn room_for(self, pdu_bytes: u64) -> Option<u64> {
        let room = pdu_bytes + self.bytes(pdu_bytes);
        (self.fits(room) >= pdu_bytes).then_some(room)
    }
}

/// LTE: packets that go into PDUs with length indicators, behind `used` bytes of other PDUs. `rest_bytes` is what is left of
/// an open packet, 0 for none; `pdus` is how many numbers there are for PDUs.
pub(super) fn concatenated<N: FnMut() -> Option<u32>>(
    (fixed_bytes, mac, overhead_bytes): (u64, MacHeader, u32),
    (mut used, rest_bytes, pdus): (u64, u64, u64),
    prefixes: &mut Prefixes<'_, N>,
) {
    let (mut elements, mut data, mut pdus) = (0, 0, pdus);
    let mut open = (rest_bytes > 0).then_some(rest_bytes);
    while pdus > 0 {
        let Some(size) = open.take().or_else(|| prefixes.next_sdu(overhead_bytes)) else { return };
        // As an element that nothing follows.
        let pdu = fixed_bytes + lte_indicators_bytes(elements) + data + size;
        let Some(room) = mac.room_for(pdu) else { return };
        if !prefixes.push(used + room) {
            return;
        }
        (elements, data) = (elements + 1, data + size);
        if size > LTE_LI_MAX {
            // Nothing can follow it in its PDU.
            (used, elements, data) = (used + room, 0, 0);
            pdus -= 1;
        }
    }
}

/// NR: each packet in a PDU of its own, behind `used` bytes of other PDUs. `header(from)` is that of the last PDU of a packet
/// of which `from` bytes are sent; `least(from)` is what the sender leaves a grant alone for. `packets` is how many numbers
/// there are for new packets.
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
