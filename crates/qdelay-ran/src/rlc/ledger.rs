//! The packets that a bearer holds, each in one place until it is delivered or dropped.
//!
//! A packet is held by the sender while bytes of it are unsent or unacknowledged, by every PDU on the air with bytes of it,
//! and by the receiver while it waits for the rest. The last holder to release an undelivered packet drops it, so that none
//! is lost from the account, whatever timers and windows do.

use super::chains::Places;
use super::{Receiver, Split};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
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
    /// PDCP COUNT of the packet.
    pub count: u64,
    /// End of the bytes that were taken before a handover.
    taken_to: u32,
    first_taken: Time,
    first_received: Time,
    /// Time at which RLC handed the packet to a PDCP with its own delay.
    handed_up: Time,
    /// Reason for which the packet can never be delivered, once known.
    doom: Option<DropReason>,
    /// True if the last byte has been taken.
    departed: bool,
    /// True if RLC has handed the packet to PDCP.
    above: bool,
    /// True if the packet was delivered or dropped.
    ended: bool,
}

/// All packets of a bearer.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger {
    sdus: Places<Sdu>,
    inside: Backlog,
    next_count: u64,
    /// Packets that a handover has brought back, to be sent from their first byte; each is held once.
    forwarded: VecDeque<SduId>,
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
            taken_to: 0,
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

    /// Takes the bytes `from..to` of the SDU; returns the number of packet bytes taken for the first time.
    #[inline]
    pub fn first_bytes(&mut self, id: SduId, from: u32, to: u32) -> u64 {
        let from = from.max(self.sdus.get(id).taken_to);
        if from < to { self.payload_bytes(id, from, to) } else { 0 }
    }

    /// The bytes of the packet among the bytes `from..to` of the SDU: the PDCP header comes first.
    #[inline]
    pub fn payload_bytes(&self, id: SduId, from: u32, to: u32) -> u64 {
        let sdu = self.sdus.get(id);
        debug_assert!(from <= to, "a range of bytes ends after its beginning");
        let header = sdu.bytes - sdu.packet.bytes.min(sdu.bytes);
        u64::from(to.saturating_sub(header) - from.saturating_sub(header))
    }

    /// Records that the first byte is taken, now or earlier.
    #[inline]
    pub fn taken(&mut self, id: SduId, now: Time) {
        let sdu = self.sdus.get_mut(id);
        sdu.first_taken = sdu.first_taken.min(now);
    }

    /// Records that the last byte is taken. Returns true if it is for the first time.
    #[inline]
    pub fn departed(&mut self, id: SduId) -> bool {
        !core::mem::replace(&mut self.sdus.get_mut(id).departed, true)
    }

    /// Brings back, in order of arrival, all packets that RLC has not handed up and that have not ended. Of
    /// the `open` packet only the given number of bytes has been taken.
    pub fn forward(&mut self, open: Option<(SduId, u32)>) {
        let mut back: Vec<(u64, SduId)> = Vec::new();
        for id in 0..self.sdus.len() as u32 {
            let sdu = self.sdus.get_mut(id);
            // A free slot holds a packet that has ended.
            if sdu.above || sdu.ended {
                continue;
            }
            debug_assert!(sdu.holders > 0, "a packet that has not ended has a holder");
            let is_waiting = self.forwarded.contains(&id);
            let taken_to = match open {
                Some((open, to)) if open == id => to,
                _ if is_waiting => 0,
                _ => sdu.bytes,
            };
            sdu.taken_to = sdu.taken_to.max(taken_to);
            sdu.doom = None;
            sdu.holders += u32::from(!is_waiting);
            back.push((sdu.count, id));
        }
        back.sort_unstable();
        self.forwarded.clear();
        self.forwarded.extend(back.into_iter().map(|(_, id)| id));
    }

    /// Removes and returns the next packet that a handover has brought back.
    #[inline]
    pub fn next_forwarded(&mut self) -> Option<SduId> {
        self.forwarded.pop_front()
    }

    /// The first packet that a handover has brought back.
    pub fn first_forwarded(&self) -> Option<SduId> {
        self.forwarded.front().copied()
    }

    /// Releases all packets that a handover has brought back; they have ended.
    pub fn clear_forwarded<R: Receiver>(&mut self, receiver: &mut R) {
        while let Some(sdu) = self.forwarded.pop_front() {
            self.release(sdu, receiver);
        }
    }

    /// Returns true if there are packets that a handover has brought back.
    #[inline]
    pub fn has_forwarded(&self) -> bool {
        !self.forwarded.is_empty()
    }

    /// All packets that a handover has brought back, with their IP bytes.
    #[cold]
    pub fn forwarded(&self) -> Backlog {
        let bytes = self.forwarded.iter().map(|&id| u64::from(self.sdus.get(id).packet.bytes)).sum();
        Backlog { packets: self.forwarded.len() as u64, bytes }
    }

    /// IP bytes of the packet at position `place` among those that a handover has brought back.
    pub fn forwarded_bytes(&self, place: usize) -> Option<u32> {
        self.forwarded.get(place).map(|&id| self.sdus.get(id).packet.bytes)
    }

    /// Adds a holder.
    #[inline]
    pub fn hold(&mut self, id: SduId) {
        let sdu = self.sdus.get_mut(id);
        debug_assert!(sdu.holders > 0, "a packet without holders has been removed");
        sdu.holders += 1;
    }

    /// Removes a holder. The last one drops the packet.
    #[inline]
    pub fn release<R: Receiver>(&mut self, id: SduId, receiver: &mut R) {
        let sdu = self.sdus.get_mut(id);
        debug_assert!(sdu.holders > 0, "each holder releases once");
        sdu.holders -= 1;
        if sdu.holders == 0 {
            let reason = sdu.doom.unwrap_or(super::REASSEMBLY);
            self.end(id, reason, receiver);
            self.sdus.remove(id);
        }
    }

    /// Records that a part of the packet has been received.
    #[inline]
    pub fn received(&mut self, id: SduId, now: Time) {
        let sdu = self.sdus.get_mut(id);
        sdu.first_received = sdu.first_received.min(now);
    }

    /// Records that a part of the packet is lost for good; the first `reason` is kept.
    pub fn doom(&mut self, id: SduId, reason: DropReason) {
        self.sdus.get_mut(id).doom.get_or_insert(reason);
    }

    /// Returns true if a part of the packet is lost for good.
    pub fn is_doomed(&self, id: SduId) -> bool {
        self.sdus.get(id).doom.is_some()
    }

    /// Drops the packet if it can never be delivered and the MAC has taken all of it; the receiver may detect
    /// the loss later.
    #[inline]
    pub fn bury<R: Receiver>(&mut self, id: SduId, receiver: &mut R) {
        let sdu = self.sdus.get(id);
        if let (true, Some(reason)) = (sdu.departed, sdu.doom) {
            self.end(id, reason, receiver);
        }
    }

    /// Drops the packet, unless it has ended already. Its holders keep it.
    pub fn end<R: Receiver>(&mut self, id: SduId, reason: DropReason, receiver: &mut R) {
        let sdu = self.sdus.get_mut(id);
        if !sdu.ended {
            sdu.ended = true;
            debug_assert!(self.inside.packets > 0, "a packet that has not ended is inside");
            self.inside.packets -= 1;
            self.inside.bytes -= u64::from(sdu.packet.bytes);
            receiver.dropped(&sdu.packet, reason);
        }
    }

    /// Drops the packet, unless it has ended already or waits in PDCP.
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

    /// Hands the packet from RLC to PDCP, which becomes a holder. Returns false if it was handed up before,
    /// or has ended.
    pub fn hand_up(&mut self, id: SduId) -> bool {
        let sdu = self.sdus.get_mut(id);
        let first = !sdu.above && !sdu.ended;
        if first {
            sdu.above = true;
            sdu.holders += 1;
        }
        first
    }

    /// Records that PDCP holds the packet from now on, for the split of its delay.
    pub fn waits_above(&mut self, id: SduId, now: Time) {
        self.sdus.get_mut(id).handed_up = now;
    }

    /// Delivers the packet, unless it has ended already. Its holders keep it.
    pub fn deliver<R: Receiver>(&mut self, id: SduId, now: Time, receiver: &mut R) {
        let sdu = self.sdus.get_mut(id);
        if !sdu.ended {
            sdu.ended = true;
            debug_assert!(self.inside.packets > 0, "a packet that has not ended is inside");
            self.inside.packets -= 1;
            self.inside.bytes -= u64::from(sdu.packet.bytes);
            let handed_up = sdu.handed_up.min(now);
            let split = Split {
                air: sdu.first_received.since(sdu.first_taken),
                reassembly: handed_up.since(sdu.first_received),
                reordering: now.since(handed_up),
                ..Split::default()
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
