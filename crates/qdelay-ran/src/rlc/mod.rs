//! Radio link control (RLC): both ends of a data radio bearer, including the receiving PDCP above it.
//!
//! A [`Bearer`] takes packets from the queue in front of it when the MAC grants bytes, builds PDUs with headers of real size,
//! and reassembles the packets as transport blocks arrive. Nothing is encoded: a PDU is a range of bytes of a packet.
//! `docs/rlc.md` describes it for users.
//!
//! * Modes: transparent (`transparent`); unacknowledged of LTE (`um_lte`, over `concatenation`) and of NR (`um_nr`);
//!   acknowledged of both (`am`, `am_sender`, `am_receiver`, `status`).
//! * `header`: sizes of headers. `ledger`: the holders of each packet. `reordering`: PDCP.
//!
//! Sources: TS 36.322, TS 38.322, TS 38.323 (releases 15 and 16), TS 36.321 and TS 38.321 for MAC's subheaders.
//!
//! # Differences from the reference
//! * A packet becomes an SDU, and is numbered and segmented, when the MAC grants bytes, as in LTE; NR's preparation of PDUs
//!   before a grant does not change any byte on the air.
//! * LTE omits the length field of the last subheader in a transport block, but a bearer does not know whether it is the
//!   last: the field is always counted, which is 1 or 2 bytes too many for each block. Length indicators of 15 bits, numbers
//!   of 16 bits and other options of later releases are not implemented.
//! * With [`PdcpReordering`], packets that a queue drops before the MAC has taken them have no number, so they leave no gap at
//!   the receiver. With [`PdcpSetting`](crate::pdcp::PdcpSetting) they have one.
//! * Status reports for data in the other direction are not part of the data sent.

mod am;
mod am_receiver;
mod am_sender;
mod am_units;
mod assembly;
mod blocks;
mod chains;
mod component;
mod concatenation;
pub mod header;
mod intake;
mod ledger;
mod numbers;
mod prefixes;
mod reordering;
mod setting;
mod status;
mod transparent;
mod um_lte;
mod um_nr;

pub use component::COMPONENTS;
pub use setting::{
    Am, LteUm, MacHeader, Mode, NrAm, NrUm, PdcpReordering, RlcError, RlcSetting, StatusUplink,
};

use crate::pdcp;
use alloc::boxed::Box;
use alloc::vec::Vec;
use am::Acknowledged;
use am_units::Rat;
use blocks::{Blocks, Part};
use ledger::{Ledger, SduId};
use prefixes::Prefixes;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Span, Time};
use reordering::{Ideal, Pdcp, Standard};
use transparent::Transparent;
use um_lte::UmLte;
use um_nr::UmNr;

/// Drop reason: all transmissions of a transport block with a part of the packet failed, and RLC does not
/// retransmit it (HARQ under UM or TM).
pub const AIR: DropReason = DropReason::new("air");
/// Drop reason: the receiver stopped waiting for the missing parts (t-Reassembly, LTE t-Reordering).
pub const REASSEMBLY: DropReason = DropReason::new("reassembly");
/// Drop reason: AM reached the limit of retransmissions for a part of the packet.
pub const MAX_RETRANSMISSIONS: DropReason = DropReason::new("rlc_max_retransmissions");
/// Drop reason: the entity was re-established while it held the packet.
pub const REESTABLISHED: DropReason = DropReason::new("rlc_reestablished");
/// Drop reason: the UE changed its cell before it had received all of a packet that unacknowledged mode had
/// begun to send.
pub const HANDOVER: DropReason = DropReason::new("handover");
/// The drop reasons of a bearer.
pub static DROPS: &[DropReason] = &[
    AIR,
    REASSEMBLY,
    MAX_RETRANSMISSIONS,
    REESTABLISHED,
    HANDOVER,
    pdcp::DISCARD,
    pdcp::OLD,
    pdcp::DESYNCHRONIZED,
];

/// The part of a transport block that belongs to one bearer: from [`Bearer::transmit`] until the single call of
/// [`Bearer::received`] or [`Bearer::lost`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u32);

/// The delay of a delivered packet by cause, from the time at which its first byte was taken from the queue
/// of its bearer. The delay before that is the queue's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// Time from the first byte taken until a part of the packet was first received.
    pub air: Span,
    /// Time from then until the packet was complete and handed up: its other parts, retransmissions, and the
    /// reordering of RLC and of an ideal PDCP.
    pub reassembly: Span,
    /// Time from then until a PDCP of the standard delivered the packet; zero with an ideal PDCP.
    pub reordering: Span,
    /// Part of the time in the queue of a UE ([`UplinkCell`](crate::UplinkCell)): time that the UE waited
    /// until a scheduling request was sent.
    pub request: Span,
    /// Part of the time in the queue of a UE: time from then until the UE sent its first block.
    pub grant: Span,
}

/// The result of a transmission opportunity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmitted {
    /// The block that is now on the air; `None` if nothing fitted or there was no data.
    pub block: Option<BlockId>,
    /// Bytes of the grant that are filled, MAC subheaders included. In transparent mode with counted bytes, the counted
    /// bytes.
    pub used_bytes: u64,
    /// Bytes of packets that were taken for the first time, without any header (in transparent mode with counted bytes, the
    /// counted bytes).
    pub sdu_bytes: u64,
}

/// The source of a bearer's packets.
pub trait Supply {
    /// Takes the next packet of the queue, which may drop others before it.
    fn pull(&mut self) -> Option<Packet>;
    /// Returns true if the queue is empty. A queue that is not empty may still return no packet from `pull`.
    fn is_empty(&self) -> bool;
    /// Reports that the last byte of `packet` was taken for the first time. At most once for each packet,
    /// before its delivery or drop.
    fn departed(&mut self, packet: &Packet);
}

/// The destination of a bearer's packets, each of which ends once.
pub trait Receiver {
    /// Reports that `packet` is complete and handed up.
    fn delivered(&mut self, packet: Packet, split: Split);
    /// Reports that `packet` is lost.
    fn dropped(&mut self, packet: &Packet, reason: DropReason);
}

/// Statistics of acknowledged mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AmCounts {
    /// Status reports written.
    pub reports: u64,
    /// Bytes of these reports, without MAC's subheader.
    pub report_bytes: u64,
    /// Number of re-establishments of the bearer after maxRetxThreshold.
    pub reestablished: u64,
}

/// State that all modes have.
#[derive(Clone, Debug)]
struct Common {
    ledger: Ledger,
    blocks: Blocks,
    /// Parts of the current block: kept for its allocation.
    parts: Vec<Part>,
    pdcp: Option<Pdcp>,
}

impl Common {
    /// Hands `sdu` to PDCP: RLC has received all of it.
    #[inline]
    fn hand_up<R: Receiver>(&mut self, sdu: SduId, now: Time, receiver: &mut R) {
        match &mut self.pdcp {
            None => self.ledger.deliver(sdu, now, receiver),
            Some(Pdcp::Ideal(pdcp)) => {
                if self.ledger.hand_up(sdu) {
                    pdcp.received(&mut self.ledger, now, sdu, receiver);
                }
            }
            Some(Pdcp::Standard(pdcp)) => {
                if self.ledger.hand_up(sdu) {
                    self.ledger.waits_above(sdu, now);
                    pdcp.received(&mut self.ledger, now, sdu, receiver);
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Entity {
    Transparent(Transparent),
    LteUm(UmLte),
    NrUm(UmNr),
    Acknowledged(Box<Acknowledged>),
}

/// Packet size in IP bytes below which [`Bearer::announce`] has no effect: even with the largest PDCP and
/// SDAP headers, smaller packets fit a length indicator.
pub const ANNOUNCED_BYTES: u32 = header::LTE_LI_MAX as u32 + 1 - setting::SDU_OVERHEAD_MAX;

/// Both ends of one data radio bearer.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Bearer {
    common: Common,
    entity: Entity,
}

/// Packets that `bearers` hold, as [`Bearer::inside`].
pub(crate) fn inside(bearers: &[Bearer]) -> Backlog {
    bearers.iter().map(Bearer::inside).fold(Backlog::default(), |all, one| Backlog {
        packets: all.packets + one.packets,
        bytes: all.bytes + one.bytes,
    })
}

impl Bearer {
    /// Builds the bearer of `setting`.
    ///
    /// # Errors
    /// The first invalid setting, with the expected value.
    pub fn new(setting: RlcSetting) -> Result<Bearer, RlcError> {
        setting.check()?;
        let (entity, pdcp) = match setting.mode {
            Mode::Transparent { counted_bytes } => {
                (Entity::Transparent(Transparent::new(&setting, counted_bytes)), None)
            }
            Mode::LteUm(um) => (Entity::LteUm(UmLte::new(&setting, um)), None),
            Mode::NrUm(um) => (Entity::NrUm(UmNr::new(&setting, um)), um.pdcp),
            Mode::LteAm(am) => {
                let entity = Acknowledged::new(&setting, am, Rat::Lte);
                (Entity::Acknowledged(Box::new(entity)), None)
            }
            Mode::NrAm(NrAm { am, pdcp }) => {
                let entity = Acknowledged::new(&setting, am, Rat::Nr);
                (Entity::Acknowledged(Box::new(entity)), pdcp)
            }
        };
        let common = Common {
            ledger: Ledger::default(),
            blocks: Blocks::default(),
            parts: Vec::new(),
            pdcp: match setting.pdcp {
                Some(pdcp) => Some(Pdcp::Standard(Standard::new(pdcp))),
                None => pdcp.map(|pdcp| Pdcp::Ideal(Ideal::new(pdcp))),
            },
        };
        Ok(Bearer { common, entity })
    }

    /// Announces a packet of `packet_bytes` IP bytes that has arrived at the queue. In a PDU of LTE, no
    /// element can follow an SDU of more than 2047 bytes (TS 36.322 clause 6.2.2.5): from the first such
    /// packet on, [`Bearer::wanted_bytes`] includes room for further PDUs. Without this call the bearer would
    /// detect such packets only on sending the first one, and its demand would have been too small for the
    /// packets that follow in the same grant. Not needed for packets below [`ANNOUNCED_BYTES`].
    pub fn announce(&mut self, packet_bytes: u32) {
        match &mut self.entity {
            Entity::LteUm(entity) => entity.announce(packet_bytes),
            Entity::Acknowledged(entity) => entity.announce(packet_bytes),
            Entity::Transparent(_) | Entity::NrUm(_) => {}
        }
    }

    /// Bytes of a grant that the bearer would fill now, with `queue` waiting, headers included; 0 if there is no data. If
    /// headers depend on packet sizes, the result is a few bytes too large rather than too small, provided that long packets
    /// were announced with [`Bearer::announce`]. A window that becomes full during the transmission may reduce the bytes
    /// sent.
    pub fn wanted_bytes(&self, queue: Backlog) -> u64 {
        let queue = self.with_forwarded(queue);
        match &self.entity {
            Entity::Transparent(entity) => entity.wanted_bytes(&self.common, queue),
            Entity::LteUm(entity) => entity.wanted_bytes(&self.common, queue),
            Entity::NrUm(entity) => entity.wanted_bytes(&self.common, queue),
            Entity::Acknowledged(entity) => entity.wanted_bytes(&self.common, queue),
        }
    }

    /// Appends to `ends` the grant sizes with which the first packet is sent whole, the first two, and so on: the remainder
    /// of a partly sent one, each pending retransmission, and then the packets of the queue, whose IP bytes `next` returns
    /// one after the other. Up to grants of `limit_bytes`, and at most [`MOST_PACKETS`](crate::slice::MOST_PACKETS). With a
    /// discipline that drops packets at dequeue the result is an estimate.
    pub fn prefixes(&self, limit_bytes: u64, mut next: impl FnMut() -> Option<u32>, ends: &mut Vec<u32>) {
        let first = ends.len();
        let mut place = 0;
        let next = || match self.common.ledger.forwarded_bytes(place) {
            Some(bytes) => {
                place += 1;
                Some(bytes)
            }
            None => next(),
        };
        let prefixes = &mut Prefixes { next, limit_bytes, ends, first };
        match &self.entity {
            Entity::Transparent(entity) => entity.prefixes(&self.common, prefixes),
            Entity::LteUm(entity) => entity.prefixes(&self.common, prefixes),
            Entity::NrUm(entity) => entity.prefixes(&self.common, prefixes),
            Entity::Acknowledged(entity) => entity.prefixes(&self.common, prefixes),
        }
    }

    /// A transmission opportunity of `grant_bytes`, MAC subheaders included.
    #[inline(always)]
    pub fn transmit<S: Supply>(&mut self, now: Time, grant_bytes: u64, supply: &mut S) -> Transmitted {
        let common = &mut self.common;
        let mut done = match &mut self.entity {
            Entity::Transparent(entity) => entity.transmit(common, now, grant_bytes, supply),
            Entity::LteUm(entity) => entity.transmit(common, now, grant_bytes, supply),
            Entity::NrUm(entity) => entity.transmit(common, now, grant_bytes, supply),
            Entity::Acknowledged(entity) => entity.transmit(common, now, grant_bytes, supply),
        };
        debug_assert!(done.used_bytes <= grant_bytes, "a transmission fits its grant");
        if !common.parts.is_empty() {
            done.block = Some(common.blocks.add(&mut common.parts));
        }
        done
    }

    /// Handles the decoding of the transport block with `block`. No effect on a block that has already ended.
    pub fn received<R: Receiver>(&mut self, now: Time, block: BlockId, receiver: &mut R) {
        self.ended(now, block, true, receiver);
    }

    /// Handles that HARQ has given `block` up. No effect on a block that has already ended.
    pub fn lost<R: Receiver>(&mut self, now: Time, block: BlockId, receiver: &mut R) {
        self.ended(now, block, false, receiver);
    }

    fn ended<R: Receiver>(&mut self, now: Time, block: BlockId, arrived: bool, receiver: &mut R) {
        let common = &mut self.common;
        let mut parts = core::mem::take(&mut common.parts);
        let void = common.blocks.remove(block, &mut parts);
        for part in parts.drain(..) {
            match &mut self.entity {
                Entity::Transparent(entity) => entity.ended(common, now, part, arrived, receiver),
                Entity::LteUm(entity) => entity.ended(common, now, part, arrived, receiver),
                Entity::NrUm(entity) => entity.ended(common, now, part, arrived, receiver),
                Entity::Acknowledged(entity) => {
                    entity.ended(common, now, part, (arrived, void), receiver);
                }
            }
        }
        common.parts = parts;
    }

    /// Time of the next [`Bearer::poll`]: timers of both ends, and a status report in transit. Any call may
    /// change it. In the past if work is due at once.
    pub fn next_deadline(&self) -> Time {
        let pdcp = self.common.pdcp.as_ref().map_or(Time::NEVER, Pdcp::next_deadline);
        match &self.entity {
            Entity::Transparent(_) => Time::NEVER,
            Entity::LteUm(entity) => entity.next_deadline().min(pdcp),
            Entity::NrUm(entity) => entity.next_deadline().min(pdcp),
            Entity::Acknowledged(entity) => entity.next_deadline().min(pdcp),
        }
    }

    /// Runs the events due at `now`; does nothing at any other time.
    pub fn poll<R: Receiver>(&mut self, now: Time, receiver: &mut R) {
        let common = &mut self.common;
        match &mut self.entity {
            Entity::Transparent(_) => {}
            Entity::LteUm(entity) => entity.poll(common, now, receiver),
            Entity::NrUm(entity) => entity.poll(common, now, receiver),
            Entity::Acknowledged(entity) => entity.poll(common, now, receiver),
        }
        if let Some(pdcp) = &mut common.pdcp {
            pdcp.poll(&mut common.ledger, now, receiver);
        }
    }

    /// Handles a handover of the UE ([`cell`](crate::cell)): both entities are re-established. Acknowledged
    /// mode brings back the packets that the UE has not received completely, to send them again before all
    /// others. Other modes drop them as [`HANDOVER`], except that transparent mode keeps the packets on the
    /// air: the cell reports those blocks as lost.
    #[cold]
    #[inline(never)]
    pub(crate) fn hand_over<R: Receiver>(&mut self, now: Time, receiver: &mut R) {
        let common = &mut self.common;
        match &mut self.entity {
            Entity::Transparent(_) => return,
            Entity::Acknowledged(entity) => return entity.hand_over(common, now, receiver),
            Entity::LteUm(entity) => entity.hand_over(common, now, receiver),
            Entity::NrUm(entity) => entity.hand_over(common, receiver),
        }
        common.ledger.end_all(HANDOVER, receiver);
    }

    /// Prepares for handovers: where no PDCP restores the order of packets, one is added. LTE's acknowledged
    /// mode needs none.
    pub(crate) fn expect_handovers(&mut self) {
        if let (Entity::Acknowledged(_), None) = (&self.entity, &self.common.pdcp) {
            let reordering = PdcpReordering { t_reordering: pdcp::USUAL_OVER_AM };
            self.common.pdcp = Some(Pdcp::Ideal(Ideal::new(reordering)));
        }
    }

    /// The packet that is partly taken: 1 or 0 packets, and its bytes that are not taken (without headers; in
    /// transparent mode with counted bytes, the counted bytes); plus the packets that a handover has brought
    /// back.
    pub fn remaining(&self) -> Backlog {
        let open = match &self.entity {
            Entity::Transparent(entity) => entity.remaining(&self.common),
            Entity::LteUm(entity) => entity.intake.remaining(&self.common.ledger),
            Entity::NrUm(entity) => entity.intake.remaining(&self.common.ledger),
            Entity::Acknowledged(entity) => entity.sender.intake.remaining(&self.common.ledger),
        };
        self.with_forwarded(open)
    }

    /// `backlog` plus the packets that a handover has brought back.
    #[inline]
    fn with_forwarded(&self, backlog: Backlog) -> Backlog {
        if !self.common.ledger.has_forwarded() {
            return backlog;
        }
        let forwarded = self.common.ledger.forwarded();
        Backlog { packets: backlog.packets + forwarded.packets, bytes: backlog.bytes + forwarded.bytes }
    }

    /// Time at which the packet of [`Bearer::remaining`] entered its queue.
    pub fn head(&self) -> Option<Time> {
        self.head_packet().map(|packet| packet.arrival)
    }

    /// The packet of [`Bearer::remaining`].
    pub fn head_packet(&self) -> Option<Packet> {
        let open = match &self.entity {
            Entity::Transparent(entity) => entity.head(&self.common),
            Entity::LteUm(entity) => entity.intake.head(&self.common.ledger),
            Entity::NrUm(entity) => entity.intake.head(&self.common.ledger),
            Entity::Acknowledged(entity) => entity.sender.intake.head(&self.common.ledger),
        };
        open.or_else(|| self.common.ledger.first_forwarded().map(|id| self.common.ledger.get(id).packet))
    }

    /// Packets that the bearer holds and that are neither delivered nor dropped; IP bytes.
    #[inline]
    pub fn inside(&self) -> Backlog {
        self.common.ledger.inside()
    }

    /// Statistics of a PDCP of the standard up to `now`; `None` with an ideal PDCP.
    pub fn pdcp(&self, now: Time) -> Option<pdcp::PdcpCounts> {
        match &self.common.pdcp {
            Some(Pdcp::Standard(standard)) => Some(standard.counts(now)),
            _ => None,
        }
    }

    /// Statistics of acknowledged mode; zeros in other modes.
    pub fn counts(&self) -> AmCounts {
        match &self.entity {
            Entity::Acknowledged(entity) => entity.counts,
            _ => AmCounts::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::{Random, Span};

    #[derive(Default)]
    struct Endless {
        waiting: u32,
        pulled: u64,
        ended: u64,
    }
    impl Supply for Endless {
        fn pull(&mut self) -> Option<Packet> {
            self.waiting = self.waiting.checked_sub(1)?;
            self.pulled += 1;
            Some(Packet { bytes: 40 + self.pulled as u32 % 1460, ..Packet::default() })
        }
        fn is_empty(&self) -> bool {
            self.waiting == 0
        }
        fn departed(&mut self, _: &Packet) {}
    }
    impl Receiver for Endless {
        fn delivered(&mut self, _: Packet, _: Split) {
            self.ended += 1;
        }
        fn dropped(&mut self, _: &Packet, _: DropReason) {
            self.ended += 1;
        }
    }

    #[test]
    fn every_holder_releases_its_packets() {
        let mut few = RlcSetting::lte_am();
        if let Mode::LteAm(am) = &mut few.mode {
            am.max_retransmissions = 1;
        }
        let settings = [
            RlcSetting::whole_packets(),
            RlcSetting::lte_um(),
            RlcSetting::nr_um(),
            RlcSetting::lte_am(),
            RlcSetting::nr_am(),
            few,
        ];
        for setting in settings {
            let mut random = Random::derive(1, "rlc", "test");
            let mut bearer = Bearer::new(setting).unwrap();
            let mut host = Endless::default();
            let mut flying = Vec::new();
            for tti in 0..20_000u64 {
                let now = Time::ZERO + Span::from_millis(tti);
                let is_end = tti > 15_000;
                host.waiting += if is_end { 0 } else { random.below(3) as u32 };
                let grant = if is_end { 10_000 } else { random.below(3000) };
                let block = bearer.transmit(now, grant, &mut host).block;
                flying.extend(block.map(|id| (tti + 4 + 8 * random.below(3), id)));
                flying.retain(|&(due, id)| {
                    if due > tti {
                        return true;
                    }
                    match random.below(10) {
                        0 if !is_end => bearer.lost(now, id, &mut host),
                        _ => bearer.received(now, id, &mut host),
                    }
                    false
                });
                bearer.poll(now, &mut host);
            }
            assert_eq!((host.ended, host.waiting), (host.pulled, 0), "{setting:?}");
            let pdus = match &bearer.entity {
                Entity::LteUm(entity) => entity.held(),
                Entity::Acknowledged(entity) => entity.held(),
                _ => 0,
            };
            assert_eq!((bearer.common.ledger.held(), pdus), (0, 0), "{setting:?}");
            // Slots are reused.
            assert!(bearer.common.ledger.slots() as u64 * 4 < host.pulled, "{setting:?}");
        }
    }
}
