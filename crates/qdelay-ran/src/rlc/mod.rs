//! Radio link control (RLC): both ends of a data radio bearer, with PDCP's reordering on top.
//!
//! A [`Bearer`] takes packets from the queue in front of it when the MAC grants bytes, makes PDUs of them with headers of
//! real size, and puts them together again as transport blocks arrive. Nothing is encoded: a PDU is which bytes of which
//! packet. `docs/rlc.md` explains it for users.
//!
//! * Modes: transparent (`transparent`); unacknowledged of LTE (`um_lte`, over `concatenation`) and of NR (`um_nr`);
//!   acknowledged of both (`am`, `am_sender`, `am_receiver`, `status`).
//! * `header`: sizes of headers. `ledger`: who holds which packet. `pdcp`: reordering.
//!
//! Sources: TS 36.322, TS 38.322, TS 38.323 (releases 15 and 16), TS 36.321 and TS 38.321 for MAC's subheaders.
//!
//! # Differences from the reference
//! * A packet is made an SDU, numbered and segmented when the MAC asks, as in LTE; NR's preparing of PDUs before a grant
//!   changes no byte on the air.
//! * LTE leaves the length field out of the last subheader of a transport block, which no bearer knows of itself: it is
//!   counted always, 1 or 2 bytes too many for each block. Length indicators of 15 bits, numbers of 16 bits and other
//!   options of later releases are left out.
//! * What a queue drops before the MAC has taken it has no number, so it makes no gap at the receiver.
//! * Status reports of the other direction's data are not part of what is sent.

mod am;
mod am_receiver;
mod am_sender;
mod am_units;
mod assembly;
mod blocks;
mod chains;
mod concatenation;
pub mod header;
mod intake;
mod ledger;
mod numbers;
mod pdcp;
mod prefixes;
mod setting;
mod status;
mod transparent;
mod um_lte;
mod um_nr;

pub use setting::{
    Am, LteUm, MacHeader, Mode, NrAm, NrUm, PdcpReordering, RlcError, RlcSetting, StatusUplink,
};

use alloc::boxed::Box;
use alloc::vec::Vec;
use am::Acknowledged;
use am_units::World;
use blocks::{Blocks, Part};
use ledger::{Ledger, SduId};
use pdcp::Pdcp;
use prefixes::Prefixes;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{DropReason, Packet, Span, Time};
use transparent::Transparent;
use um_lte::UmLte;
use um_nr::UmNr;

/// Dropped, since all transmissions of a transport block with a part of it failed, and nothing repeats it (HARQ under UM or TM).
pub const AIR: DropReason = DropReason::new("air");
/// Dropped, since the receiver gave up waiting for the missing parts (t-Reassembly, LTE t-Reordering).
pub const REASSEMBLY: DropReason = DropReason::new("reassembly");
/// Dropped, since AM repeated a part of it as often as it may.
pub const MAX_RETRANSMISSIONS: DropReason = DropReason::new("rlc_max_retransmissions");
/// Dropped, since the entity was established anew while it held the packet.
pub const REESTABLISHED: DropReason = DropReason::new("rlc_reestablished");
/// Why a bearer drops packets.
pub static DROPS: &[DropReason] = &[AIR, REASSEMBLY, MAX_RETRANSMISSIONS, REESTABLISHED];

/// The part of a transport block that belongs to one bearer: from [`Bearer::transmit`] until it is told
/// [`Bearer::received`] or [`Bearer::lost`], once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(u32);

/// Where the delay of a delivered packet arose, from when its first byte was taken from the queue of its bearer. What it
/// waited before that is its queue's business.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// From its first byte taken until a part of it was received for the first time.
    pub air: Span,
    /// From then until it was whole and handed up: its other parts, retransmissions, and order.
    pub reassembly: Span,
}

/// What a transmission opportunity carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmitted {
    /// The block that is on the air now; `None` where nothing fitted or nothing was there.
    pub block: Option<BlockId>,
    /// Bytes of the grant that are filled, MAC subheaders included. In transparent mode with counted bytes, those.
    pub used_bytes: u64,
    /// Bytes of packets that were taken for the first time, without any header (in transparent mode with counted bytes,
    /// those).
    pub sdu_bytes: u64,
}

/// Where a bearer takes packets from.
pub trait Supply {
    /// The next packet of the queue, which may drop others on the way.
    fn pull(&mut self) -> Option<Packet>;
    /// Whether nothing waits. A queue that says it is not empty may still have nothing when it is pulled from.
    fn is_empty(&self) -> bool;
    /// The last byte of `packet` was taken for the first time. At most once for each packet, before its end is told.
    fn departed(&mut self, packet: &Packet);
}

/// Where a bearer hands packets up, each once.
pub trait Receiver {
    /// `packet` is whole and handed up.
    fn delivered(&mut self, packet: Packet, split: Split);
    /// `packet` is lost.
    fn dropped(&mut self, packet: &Packet, reason: DropReason);
}

/// What acknowledged mode did besides carrying packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AmCounts {
    /// Status reports written.
    pub reports: u64,
    /// Their bytes, without MAC's subheader.
    pub report_bytes: u64,
    /// How often the bearer was established anew, after maxRetxThreshold.
    pub reestablished: u64,
}

/// What all modes share.
#[derive(Clone, Debug)]
struct Common {
    ledger: Ledger,
    blocks: Blocks,
    /// Parts of the block in hand: kept for what it has allocated.
    parts: Vec<Part>,
    pdcp: Option<Pdcp>,
}

impl Common {
    /// RLC has `sdu` whole.
    #[inline]
    fn hand_up<R: Receiver>(&mut self, sdu: SduId, now: Time, receiver: &mut R) {
        match &mut self.pdcp {
            None => self.ledger.deliver(sdu, now, receiver),
            Some(pdcp) => {
                if self.ledger.hand_up(sdu) {
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

/// [`Bearer::announce`] has no use for smaller packets, in IP bytes: with the largest headers of PDCP and SDAP they still have
/// a length indicator.
pub const ANNOUNCED_BYTES: u32 = header::LTE_LI_MAX as u32 + 1 - setting::SDU_OVERHEAD_MAX;

/// Both ends of one data radio bearer.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Bearer {
    common: Common,
    entity: Entity,
}

impl Bearer {
    /// A bearer as `setting` says.
    ///
    /// # Errors
    /// The first thing wrong with the setting, with what was expected.
    pub fn new(setting: RlcSetting) -> Result<Bearer, RlcError> {
        setting.check()?;
        let (entity, pdcp) = match setting.mode {
            Mode::Transparent { counted_bytes } => {
                (Entity::Transparent(Transparent::new(&setting, counted_bytes)), None)
            }
            Mode::LteUm(um) => (Entity::LteUm(UmLte::new(&setting, um)), None),
            Mode::NrUm(um) => (Entity::NrUm(UmNr::new(&setting, um)), um.pdcp),
            Mode::LteAm(am) => {
                let entity = Acknowledged::new(&setting, am, World::Lte);
                (Entity::Acknowledged(Box::new(entity)), None)
            }
            Mode::NrAm(NrAm { am, pdcp }) => {
                let entity = Acknowledged::new(&setting, am, World::Nr);
                (Entity::Acknowledged(Box::new(entity)), pdcp)
            }
        };
        let common = Common {
            ledger: Ledger::default(),
            blocks: Blocks::default(),
            parts: Vec::new(),
            pdcp: pdcp.map(Pdcp::new),
        };
        Ok(Bearer { common, entity })
    }

    /// A packet of `packet_bytes` IP bytes has come into the queue. Nothing can follow an SDU of more than 2047 bytes in a PDU of
    /// LTE (TS 36.322 clause 6.2.2.5): from the first such packet on [`Bearer::wanted_bytes`] has room for further PDUs. Without
    /// that it learns of them as it sends the first one, and has asked too little for what follows in the same grant. Of
    /// packets below [`ANNOUNCED_BYTES`] there is no need to tell.
    pub fn announce(&mut self, packet_bytes: u32) {
        match &mut self.entity {
            Entity::LteUm(entity) => entity.announce(packet_bytes),
            Entity::Acknowledged(entity) => entity.announce(packet_bytes),
            Entity::Transparent(_) | Entity::NrUm(_) => {}
        }
    }

    /// Bytes of a grant that it would fill now, with `queue` waiting, headers included; 0 where there is nothing to send.
    /// Where headers depend on the sizes of packets it is a few bytes too many rather than too few, if [`Bearer::announce`] was
    /// told of long packets. A window that fills up meanwhile may let less through.
    pub fn wanted_bytes(&self, queue: Backlog) -> u64 {
        match &self.entity {
            Entity::Transparent(entity) => entity.wanted_bytes(&self.common, queue),
            Entity::LteUm(entity) => entity.wanted_bytes(&self.common, queue),
            Entity::NrUm(entity) => entity.wanted_bytes(&self.common, queue),
            Entity::Acknowledged(entity) => entity.wanted_bytes(&self.common, queue),
        }
    }

    /// Puts behind `ends` how large a grant has to be for the first packet to go whole, for the first two, and so on: the rest
    /// of one that is partly sent, each retransmission that is due, and then the packets of the queue, whose IP bytes `next`
    /// tells one after the other. Up to grants of `limit_bytes`, and at most
    /// [`MOST_PACKETS`](crate::slice::MOST_PACKETS). A discipline that drops what was told makes the answer a guess.
    pub fn prefixes(&self, limit_bytes: u64, next: impl FnMut() -> Option<u32>, ends: &mut Vec<u32>) {
        let first = ends.len();
        let prefixes = &mut Prefixes { next, limit_bytes, ends, first };
        match &self.entity {
            Entity::Transparent(entity) => entity.prefixes(&self.common, prefixes),
            Entity::LteUm(entity) => entity.prefixes(&self.common, prefixes),
            Entity::NrUm(entity) => entity.prefixes(&self.common, prefixes),
            Entity::Acknowledged(entity) => entity.prefixes(&self.common, prefixes),
        }
    }

    /// A transmission opportunity of `grant_bytes`, MAC subheaders included.
    pub fn transmit<S: Supply>(&mut self, now: Time, grant_bytes: u64, supply: &mut S) -> Transmitted {
        let common = &mut self.common;
        let mut done = match &mut self.entity {
            Entity::Transparent(entity) => entity.transmit(common, now, grant_bytes, supply),
            Entity::LteUm(entity) => entity.transmit(common, now, grant_bytes, supply),
            Entity::NrUm(entity) => entity.transmit(common, now, grant_bytes, supply),
            Entity::Acknowledged(entity) => entity.transmit(common, now, grant_bytes, supply),
        };
        if !common.parts.is_empty() {
            done.block = Some(common.blocks.add(&mut common.parts));
        }
        done
    }

    /// The transport block with `block` was decoded. A block that has ended before is nothing.
    pub fn received<R: Receiver>(&mut self, now: Time, block: BlockId, receiver: &mut R) {
        self.ended(now, block, true, receiver);
    }

    /// HARQ has given `block` up. A block that has ended before is nothing.
    pub fn lost<R: Receiver>(&mut self, now: Time, block: BlockId, receiver: &mut R) {
        self.ended(now, block, false, receiver);
    }

    fn ended<R: Receiver>(&mut self, now: Time, block: BlockId, arrived: bool, receiver: &mut R) {
        let common = &mut self.common;
        let mut parts = core::mem::take(&mut common.parts);
        let void = common.blocks.take(block, &mut parts);
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

    /// When [`Bearer::poll`] has something to do: timers of both ends, and a status report on its way. Anything told to
    /// the bearer may change it. In the past where something is due at once.
    pub fn next_deadline(&self) -> Time {
        let pdcp = self.common.pdcp.as_ref().map_or(Time::NEVER, Pdcp::next_deadline);
        match &self.entity {
            Entity::Transparent(_) => Time::NEVER,
            Entity::LteUm(entity) => entity.next_deadline(),
            Entity::NrUm(entity) => entity.next_deadline().min(pdcp),
            Entity::Acknowledged(entity) => entity.next_deadline().min(pdcp),
        }
    }

    /// Does what is due at `now`; at any other time nothing.
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

    /// The packet that is partly taken: 1 or 0 packets, and its bytes that are not (without headers; in transparent mode
    /// with counted bytes, those).
    pub fn remaining(&self) -> Backlog {
        match &self.entity {
            Entity::Transparent(entity) => entity.remaining(&self.common),
            Entity::LteUm(entity) => entity.intake.remaining(&self.common.ledger),
            Entity::NrUm(entity) => entity.intake.remaining(&self.common.ledger),
            Entity::Acknowledged(entity) => entity.sender.intake.remaining(&self.common.ledger),
        }
    }

    /// Packets that it holds and that are neither delivered nor dropped; IP bytes.
    #[inline]
    pub fn inside(&self) -> Backlog {
        self.common.ledger.inside()
    }

    /// What acknowledged mode did besides; zeros in other modes.
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
    fn whoever_held_a_packet_lets_go_of_it() {
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
            // Places are used again.
            assert!(bearer.common.ledger.slots() as u64 * 4 < host.pulled, "{setting:?}");
        }
    }
}
