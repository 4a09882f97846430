//! The packets that a bearer holds, each in one place until it is delivered or dropped.
//!
//! A packet is held by the sender while bytes of it are unsent or unacknowledged, by every PDU on the air with bytes of it,
//! and by the receiver while it waits for the rest. The last holder to release an undelivered packet drops it, so that none
//! is lost from the account, whatever timers and windows do.

use super::chains::Places;
use super::{Receiver, Split};
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Time};

/// Index of a packet in the ledger.
pub(super) type SduId = u32;

/// The null index.
pub(super) const NONE: u32 = u32::MAX;

/// A packet with its PDCP header: a service data unit (SDU) of RLC.
#[derive(Clone, Debug)]
pub(super) struct Sdu {
    pub packet: Packet,
    /// Bytes with the PDCP and SDAP headers, at least 1.
    pub bytes: u32,
    holders: u32,
    /// Its PDCP count.
    pub count: u64,
    first_taken: Time,
    first_received: Time,
    /// When RLC handed it to a PDCP that has time of its own.
    handed_up: Time,
    /// The reason for which it can never be delivered, once known.
    doom: Option<DropReason>,
    /// Its last byte has been taken.
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
    /// Adds `packet`, held once.
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
            handed_up: Time::NEVER,
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

    /// The bytes of the packet among the bytes `from..to` of the SDU: the PDCP header comes first.
    #[inline]
    pub fn payload_bytes(&self, id: SduId, from: u32, to: u32) -> u64 {
        let sdu = self.sdus.get(id);
        let header = sdu.bytes - sdu.packet.bytes.min(sdu.bytes);
        u64::from(to.saturating_sub(header) - from.saturating_sub(header))
    }

    /// Its first byte is taken, now or earlier.
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

    /// Adds a holder.
    #[inline]
    pub fn hold(&mut self, id: SduId) {
        self.sdus.get_mut(id).holders += 1;
    }

    /// Removes a holder. The last one drops the packet.
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

    /// A part of it has been received.
    #[inline]
    pub fn received(&mut self, id: SduId, now: Time) {
        let sdu = self.sdus.get_mut(id);
        sdu.first_received = sdu.first_received.min(now);
    }

    /// A part of it is lost for good; the first `reason` is kept.
    pub fn doom(&mut self, id: SduId, reason: DropReason) {
        self.sdus.get_mut(id).doom.get_or_insert(reason);
    }

    /// Whether a part of it is lost for good.
    pub fn is_doomed(&self, id: SduId) -> bool {
        self.sdus.get(id).doom.is_some()
    }

    /// Drops it if it can never be delivered and the MAC has taken all of it; the receiver may detect the loss later.
    #[inline]
    pub fn bury<R: Receiver>(&mut self, id: SduId, receiver: &mut R) {
        let sdu = self.sdus.get(id);
        if let (true, Some(reason)) = (sdu.departed, sdu.doom) {
            self.end(id, reason, receiver);
        }
    }

    /// Drops it, unless it has ended already. Its holders keep it.
    pub fn end<R: Receiver>(&mut self, id: SduId, reason: DropReason, receiver: &mut R) {
        let sdu = self.sdus.get_mut(id);
        if !sdu.ended {
            sdu.ended = true;
            self.inside.packets -= 1;
            self.inside.bytes -= u64::from(sdu.packet.bytes);
            receiver.dropped(&sdu.packet, reason);
        }
    }

    /// Drops it, unless it has ended already or waits in PDCP.
    pub fn end_below<R: Receiver>(&mut self, id: SduId, reason: DropReason, receiver: &mut R) {
        if !self.sdus.get(id).above {
            self.end(id, reason, receiver);
        }
    }

    /// Drops all packets that RLC has not handed up.
    pub fn end_all<R: Receiver>(&mut self, reason: DropReason, receiver: &mut R) {
        for id in 0..self.sdus.len() as u32 {
            self.end_below(id, reason, receiver);
        }
    }

    /// RLC hands it to PDCP, which becomes a holder. Returns false if it was handed up before, or has ended.
    pub fn hand_up(&mut self, id: SduId) -> bool {
        let sdu = self.sdus.get_mut(id);
        let first = !sdu.above && !sdu.ended;
        if first {
            sdu.above = true;
            sdu.holders += 1;
        }
        first
    }

    /// From now on its time is PDCP's.
    pub fn waits_above(&mut self, id: SduId, now: Time) {
        self.sdus.get_mut(id).handed_up = now;
    }

    /// Delivers it, unless it has ended already. Its holders keep it.
    pub fn deliver<R: Receiver>(&mut self, id: SduId, now: Time, receiver: &mut R) {
        let sdu = self.sdus.get_mut(id);
        if !sdu.ended {
            sdu.ended = true;
            self.inside.packets -= 1;
            self.inside.bytes -= u64::from(sdu.packet.bytes);
            let handed_up = sdu.handed_up.min(now);
            let split = Split {
                air: sdu.first_received.since(sdu.first_taken),
                reassembly: handed_up.since(sdu.first_received),
                reordering: now.since(handed_up),
            };
            receiver.delivered(sdu.packet, split);
        }
    }

    /// Packets neither delivered nor dropped.
    #[inline]
    pub fn inside(&self) -> Backlog {
        self.inside
    }

    /// Packets with a holder, ended or not.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.sdus.used()
    }

    /// Slots for packets, used or not.
    #[cfg(test)]
    pub fn slots(&self) -> usize {
        self.sdus.len()
    }
}
