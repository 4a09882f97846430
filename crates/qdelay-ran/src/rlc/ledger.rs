//! The packets that a bearer holds, each in one place until it is delivered or dropped.
//!
//! A packet is held by the sender while bytes of it are unsent or unacknowledged, by every PDU on the air with bytes of it,
//! and by the receiver while it waits for the rest. Who lets go of it last without its having been delivered drops it: so
//! none is forgotten, whatever timers and windows do.

use super::chains::Places;
use super::{Receiver, Split};
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Time};

/// Number of a packet in the ledger.
pub(super) type SduId = u32;

/// No number at all.
pub(super) const NONE: u32 = u32::MAX;

/// A packet with PDCP's header: what RLC calls a service data unit.
#[derive(Clone, Debug)]
pub(super) struct Sdu {
    pub packet: Packet,
    /// Bytes with PDCP's and SDAP's headers, at least 1.
    pub bytes: u32,
    holders: u32,
    /// Number that PDCP gave it.
    pub count: u64,
    first_taken: Time,
    first_received: Time,
    /// Why it can never be delivered, once that is known.
    doom: Option<DropReason>,
    /// Its last byte was taken.
    departed: bool,
    /// RLC has handed it to PDCP.
    above: bool,
    /// Delivered or dropped.
    ended: bool,
}

/// All packets of a bearer.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    sdus: Places<Sdu>,
    inside: Backlog,
    next_count: u64,
}

impl Ledger {
    /// Enters `packet`, held once.
    pub fn add(&mut self, packet: Packet, overhead_bytes: u32) -> SduId {
        self.inside.packets += 1;
        self.inside.bytes += u64::from(packet.bytes);
        let sdu = Sdu {
            packet,
            bytes: packet.bytes.saturating_add(overhead_bytes).max(1),
            holders: 1,
            count: self.next_count,
            first_taken: Time::NEVER,
            first_received: Time::NEVER,
            doom: None,
            departed: false,
            above: false,
            ended: false,
        };
        self.next_count += 1;
        self.sdus.add(sdu)
    }

    #[inline]
    pub fn get(&self, id: SduId) -> &Sdu {
        self.sdus.get(id)
    }

    /// Of the bytes `from..to` of the SDU, those of the packet: PDCP's header comes first.
    #[inline]
    pub fn payload_bytes(&self, id: SduId, from: u32, to: u32) -> u64 {
        let sdu = self.sdus.get(id);
        let header = sdu.bytes - sdu.packet.bytes.min(sdu.bytes);
        u64::from(to.saturating_sub(header) - from.saturating_sub(header))
    }

    /// The first byte of it is taken, now or before.
    #[inline]
    pub fn taken(&mut self, id: SduId, now: Time) {
        let sdu = self.sdus.get_mut(id);
        sdu.first_taken = sdu.first_taken.min(now);
    }

    /// Its last byte is taken.
    #[inline]
    pub fn departed(&mut self, id: SduId) {
        self.sdus.get_mut(id).departed = true;
    }

    /// One more holder.
    #[inline]
    pub fn hold(&mut self, id: SduId) {
        self.sdus.get_mut(id).holders += 1;
    }

    /// One holder less. The last one drops it.
    #[inline]
    pub fn release<R: Receiver>(&mut self, id: SduId, receiver: &mut R) {
        let sdu = self.sdus.get_mut(id);
        sdu.holders -= 1;
        if sdu.holders == 0 {
            let reason = sdu.doom.unwrap_or(super::REASSEMBLY);
            self.end(id, reason, receiver);
            self.sdus.remove(id);
        }
    }

    /// A part of it has arrived.
    #[inline]
    pub fn received(&mut self, id: SduId, now: Time) {
        let sdu = self.sdus.get_mut(id);
        sdu.first_received = sdu.first_received.min(now);
    }

    /// A part of it is gone for good, for the first `reason` that is told.
    pub fn doom(&mut self, id: SduId, reason: DropReason) {
        self.sdus.get_mut(id).doom.get_or_insert(reason);
    }

    /// Whether a part of it is gone for good.
    pub fn is_doomed(&self, id: SduId) -> bool {
        self.sdus.get(id).doom.is_some()
    }

    /// Drops it if it can never be delivered and the MAC has nothing more to take of it: the receiver may find out later.
    #[inline]
    pub fn bury<R: Receiver>(&mut self, id: SduId, receiver: &mut R) {
        let sdu = self.sdus.get(id);
        if let (true, Some(reason)) = (sdu.departed, sdu.doom) {
            self.end(id, reason, receiver);
        }
    }

    /// Drops it, unless it has ended before. Its holders keep it.
    pub fn end<R: Receiver>(&mut self, id: SduId, reason: DropReason, receiver: &mut R) {
        let sdu = self.sdus.get_mut(id);
        if !sdu.ended {
            sdu.ended = true;
            self.inside.packets -= 1;
            self.inside.bytes -= u64::from(sdu.packet.bytes);
            receiver.dropped(&sdu.packet, reason);
        }
    }

    /// Drops it, unless it has ended before or waits in PDCP.
    pub fn end_below<R: Receiver>(&mut self, id: SduId, reason: DropReason, receiver: &mut R) {
        if !self.sdus.get(id).above {
            self.end(id, reason, receiver);
        }
    }

    /// Drops all that RLC has not handed up.
    pub fn end_all<R: Receiver>(&mut self, reason: DropReason, receiver: &mut R) {
        for id in 0..self.sdus.len() as u32 {
            self.end_below(id, reason, receiver);
        }
    }

    /// RLC hands it to PDCP, which becomes a holder. False where it has done so before, or it has ended.
    pub fn hand_up(&mut self, id: SduId) -> bool {
        let sdu = self.sdus.get_mut(id);
        let first = !sdu.above && !sdu.ended;
        if first {
            sdu.above = true;
            sdu.holders += 1;
        }
        first
    }

    /// Delivers it, unless it has ended before. Its holders keep it.
    pub fn deliver<R: Receiver>(&mut self, id: SduId, now: Time, receiver: &mut R) {
        let sdu = self.sdus.get_mut(id);
        if !sdu.ended {
            sdu.ended = true;
            self.inside.packets -= 1;
            self.inside.bytes -= u64::from(sdu.packet.bytes);
            let split = Split {
                air: sdu.first_received.since(sdu.first_taken),
                reassembly: now.since(sdu.first_received),
            };
            receiver.delivered(sdu.packet, split);
        }
    }

    /// Packets neither delivered nor dropped.
    #[inline]
    pub fn inside(&self) -> Backlog {
        self.inside
    }

    /// Packets that somebody holds, ended or not.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.sdus.used()
    }

    /// Places for packets, used or not.
    #[cfg(test)]
    pub fn slots(&self) -> usize {
        self.sdus.len()
    }
}
