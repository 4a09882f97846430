//! The sender's intake from the queue: one packet after the other, in as many segments as the grants require.

use super::ledger::{Ledger, SduId};
use super::{Supply, Transmitted};
use qdelay_core::qdisc::Backlog;
use qdelay_core::{Packet, Time};

/// A segment of one SDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bite {
    pub sdu: SduId,
    pub from: u32,
    /// The byte after the last.
    pub to: u32,
    /// True if the segment includes the end of the SDU.
    pub last: bool,
}

/// The sender's end of the queue. Holds the open SDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Intake {
    overhead_bytes: u32,
    open: Option<(SduId, u32)>,
}

impl Intake {
    pub fn new(overhead_bytes: u32) -> Intake {
        Intake { overhead_bytes, open: None }
    }

    /// The open SDU, or the next from the queue: its first byte that is not taken, and its size.
    #[inline(always)]
    pub fn open<S: Supply>(&mut self, ledger: &mut Ledger, supply: &mut S) -> Option<(u32, u32)> {
        if let Some((sdu, from)) = self.open {
            return Some((from, ledger.get(sdu).bytes));
        }
        let sdu = match ledger.next_forwarded() {
            Some(sdu) => sdu,
            None => ledger.add(supply.pull()?, self.overhead_bytes),
        };
        self.open = Some((sdu, 0));
        Some((0, ledger.get(sdu).bytes))
    }

    /// Takes up to `bytes` of the SDU that [`Intake::open`] returned. The user of the segment holds the SDU
    /// once for it.
    pub fn take_segment<S: Supply>(
        &mut self,
        ledger: &mut Ledger,
        now: Time,
        bytes: u64,
        supply: &mut S,
        done: &mut Transmitted,
    ) -> Option<Bite> {
        let (sdu, from) = self.open?;
        let end = ledger.get(sdu).bytes;
        debug_assert!(from < end, "an open SDU has bytes that are not taken");
        let to = from + bytes.min(u64::from(end - from)) as u32;
        let last = to == end;
        ledger.taken(sdu, now);
        done.sdu_bytes += ledger.first_bytes(sdu, from, to);
        if last {
            self.open = None;
            if ledger.departed(sdu) {
                supply.departed(&ledger.get(sdu).packet);
            }
        } else {
            self.open = Some((sdu, to));
            ledger.hold(sdu);
        }
        Some(Bite { sdu, from, to, last })
    }

    /// Bytes of a packet with its PDCP and SDAP headers.
    pub fn sdu_bytes(&self, packet_bytes: u32) -> u64 {
        u64::from(packet_bytes) + u64::from(self.overhead_bytes)
    }

    /// Bytes of the PDCP and SDAP headers.
    pub fn overhead_bytes(&self) -> u32 {
        self.overhead_bytes
    }

    /// Bytes of the open SDU that are not taken, headers included; 0 if none is open.
    #[inline]
    pub fn rest_bytes(&self, ledger: &Ledger) -> u64 {
        self.open.map_or(0, |(sdu, from)| u64::from(ledger.get(sdu).bytes - from))
    }

    /// Returns true if an SDU is open.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Computes [`super::Bearer::head_packet`].
    pub fn head(&self, ledger: &Ledger) -> Option<Packet> {
        self.open.map(|(sdu, _)| ledger.get(sdu).packet)
    }

    /// Computes [`super::Bearer::remaining`].
    pub fn remaining(&self, ledger: &Ledger) -> Backlog {
        self.open.map_or(Backlog::default(), |(sdu, from)| Backlog {
            packets: 1,
            bytes: ledger.payload_bytes(sdu, from, ledger.get(sdu).bytes),
        })
    }

    /// The open SDU, and its first byte that is not taken.
    pub fn opened(&self) -> Option<(SduId, u32)> {
        self.open
    }

    /// Drops the reference to the open SDU; the caller releases it.
    pub fn reset(&mut self) -> Option<SduId> {
        self.open.take().map(|(sdu, _)| sdu)
    }

    /// Bytes of SDUs in `queue`, PDCP headers included.
    #[inline]
    pub fn queued_bytes(&self, queue: Backlog) -> u64 {
        // A packet of zero bytes counts as one.
        (queue.bytes + queue.packets * u64::from(self.overhead_bytes)).max(queue.packets)
    }
}
