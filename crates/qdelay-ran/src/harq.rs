//! Hybrid automatic repeat request (HARQ, TS 36.321 clause 5.3.2, TS 38.321 clause 5.3.2): blocks that are
//! lost on the air are retransmitted with the same bytes.
//!
//! The loss of a block is drawn from the random stream of its UE when the block is sent. The result is known
//! after its time on the air. A lost block is retransmitted one round trip after it was sent, up to the
//! configured number of times, before any new data; if the last retransmission fails too, its bearers are
//! notified at the time of its decoding.
//!
//! # Differences from the reference
//! * The number of processes is unlimited by default: LTE's 8 (FDD) and NR's 16 suffice for a round trip of
//!   that many slots. A process is free for new data one round trip after its block was sent last, when that
//!   was decoded.
//! * A UE sends no new block in a TTI in which it retransmits one (no spatial multiplexing of two blocks).
//! * A retransmission fills as many groups as the original block, wherever they are free, and waits if they
//!   are not. Its acknowledgement always arrives, and is correct.
//! * Soft combining is a shift of the MCS, unless the loss of blocks is decided by their SNR ([`Decoding`]).

use crate::radio::{Bler, Decoding, Quality, Radio, loss};
use crate::rlc::BlockId;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// Block losses on the air and their retransmissions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HarqSetting {
    /// The block error rate.
    pub bler: Bler,
    /// Time from the beginning of a block to that of its retransmission, rounded up to whole TTIs. `None` is
    /// the default for TTIs of one slot: 8 ms in LTE (FDD: acknowledged after 4, TS 36.213 clause 7.3.1,
    /// retransmitted after 4 more), in NR 4 slots, or 6 if slots are shorter than 0.5 ms, with the same
    /// processing time in the cell as in the UE.
    pub rtt: Option<Span>,
    /// Most retransmissions of a block, after which it is lost. Default 3, that is four transmissions, as is common.
    pub retransmissions: u8,
    /// Number of MCS steps by which each retransmission is easier to decode, because the UE combines all
    /// transmissions (chase combining: twice the energy is 3 dB, about 3 steps). It matters only for blocks
    /// sent with an MCS above the channel's, and has no effect where the SNR decides.
    pub combining_mcs: u8,
    /// The rule that decides the loss of a block.
    pub decoding: Decoding,
    /// HARQ processes of a UE: number of blocks that may be on the air or wait for repetition at a time;
    /// `None` for no limit.
    pub processes: Option<u8>,
}

impl Default for HarqSetting {
    fn default() -> HarqSetting {
        HarqSetting {
            bler: Bler::NONE,
            rtt: None,
            retransmissions: 3,
            combining_mcs: 3,
            decoding: Decoding::Steps,
            processes: None,
        }
    }
}

/// A transport block, from its first transmission until it is decoded or given up.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub ue: u32,
    /// Channel quality assumed at the first transmission; its MCS and number of layers are kept for repetitions.
    pub chosen: Quality,
    /// Number of groups it fills.
    pub groups: u16,
    /// Number of repetitions so far; the highest number if it is given up.
    pub repeated: u8,
    /// True if the last transmission was lost.
    pub is_lost: bool,
    /// TTI of the first transmission; `tti`: TTI of the last one.
    pub first: u64,
    pub tti: u64,
    /// SNR of all transmissions together, as a ratio; used where the SNR decides.
    pub snr: f64,
    /// The parts of its bearers.
    pub parts: Vec<(u32, BlockId)>,
}

/// The blocks of a cell. All have the same time on the air and the same time until repetition, so that two queues hold them
/// in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    free: Vec<u32>,
    /// Blocks on the air, with the time of their decoding.
    flying: VecDeque<(Time, u32)>,
    /// Lost blocks, with the first TTI in which they may be repeated.
    waiting: VecDeque<(u64, u32)>,
    /// Blocks that could not be repeated in this TTI; kept for its allocation.
    kept: Vec<(u64, u32)>,
}

impl Blocks {
    /// Adds a block of `ue`, without any part yet; returns its number.
    pub fn open(&mut self, ue: u32, chosen: Quality, groups: u16, tti: u64) -> u32 {
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.blocks.push(Block {
                    ue,
                    chosen,
                    groups,
                    repeated: 0,
                    is_lost: false,
                    first: tti,
                    tti,
                    snr: 0.0,
                    parts: Vec::new(),
                });
                return self.blocks.len() as u32 - 1;
            }
        };
        let block = &mut self.blocks[number as usize];
        (block.ue, block.chosen, block.groups, block.first, block.tti) = (ue, chosen, groups, tti, tti);
        (block.repeated, block.is_lost, block.snr) = (0, false, 0.0);
        number
    }
    /// The block with this number, which was opened and not closed.
    pub fn get(&mut self, number: u32) -> &mut Block {
        &mut self.blocks[number as usize]
    }
    /// Removes a block.
    pub fn close(&mut self, number: u32) {
        debug_assert!(!self.free.contains(&number), "a block is closed once");
        self.blocks[number as usize].parts.clear();
        self.free.push(number);
    }

    /// Puts a block on the air until `decoded`, which must not precede that of an earlier call.
    pub fn send(&mut self, number: u32, decoded: Time) {
        let last = self.flying.back();
        debug_assert!(last.is_none_or(|&(time, _)| time <= decoded), "blocks are decoded in order");
        self.flying.push_back((decoded, number));
    }
    /// The time at which the next block is decoded.
    pub fn next_decoded(&self) -> Time {
        self.flying.front().map_or(Time::NEVER, |&(time, _)| time)
    }
    /// Removes and returns a block that is decoded by `now`.
    pub fn decoded(&mut self, now: Time) -> Option<u32> {
        self.flying.pop_front_if(|&mut (time, _)| time <= now).map(|(_, number)| number)
    }

    /// Gives up the blocks of `ue` that are on the air or wait for repetition, in the order in which they were sent: they are
    /// decoded at `now`, as lost for good.
    #[cold]
    pub fn flush(&mut self, ue: u32, now: Time) {
        let Blocks { blocks, flying, waiting, .. } = self;
        let is_of = |number: u32| blocks[number as usize].ue == ue;
        let all = waiting.iter().map(|&(_, number)| number).chain(flying.iter().map(|&(_, number)| number));
        let mut taken: Vec<u32> = all.filter(|&number| is_of(number)).collect();
        waiting.retain(|&(_, number)| !is_of(number));
        flying.retain(|&(_, number)| !is_of(number));
        taken.sort_by_key(|&number| blocks[number as usize].first);
        for &number in taken.iter().rev() {
            let block = &mut blocks[number as usize];
            (block.is_lost, block.repeated) = (true, u8::MAX);
            flying.push_front((now, number));
        }
    }

    /// Schedules a block for repetition from TTI `tti` on, which must not precede that of an earlier call.
    pub fn repeat(&mut self, number: u32, tti: u64) {
        let last = self.waiting.back();
        debug_assert!(last.is_none_or(|&(first, _)| first <= tti), "blocks are repeated in order");
        self.waiting.push_back((tti, number));
    }
    /// The next TTI in which a block may be repeated.
    pub fn next_repetition(&self) -> Option<u64> {
        self.waiting.front().map(|&(tti, _)| tti)
    }
    /// The next block that may be repeated in TTI `tti` and was not kept. Each must be sent or kept before
    /// [`Blocks::end`].
    pub fn due(&mut self, tti: u64) -> Option<u32> {
        self.waiting.pop_front_if(|&mut (first, _)| first <= tti).map(|(_, number)| number)
    }
    /// Keeps a block that cannot be repeated in this TTI.
    pub fn keep(&mut self, number: u32, tti: u64) {
        self.kept.push((tti, number));
    }
    /// Ends a TTI: kept blocks are first in the next TTI.
    pub fn end(&mut self) {
        while let Some(kept) = self.kept.pop() {
            self.waiting.push_front(kept);
        }
    }
}

impl HarqSetting {
    /// The probability that `block` is lost, whose next transmission begins at `now` on `radio`. Adds that
    /// transmission to the block's earlier ones.
    pub(crate) fn loss_of(&self, block: &mut Block, radio: &mut Radio, now: Time) -> f64 {
        let Decoding::Snr { slope_db, combining } = self.decoding else {
            return self.loss(block.chosen, block.repeated, radio.quality(now));
        };
        let Quality::Rung(rung) = block.chosen else {
            return self.bler.probability(0, radio.quality(now));
        };
        let Some((threshold_db, snr_db)) = radio.level_db(rung, now) else { return 1.0 };
        block.snr = combining.add(block.snr, libm::exp10(snr_db / 10.0));
        let excess_db = 10.0 * libm::log10(block.snr) - threshold_db;
        loss(slope_db, excess_db).max(self.bler.base())
    }

    /// The probability that a block, repeated `repeated` times, is lost on a channel of quality `truth`. The carrier has a fixed
    /// number of layers, so that a rung is an MCS.
    fn loss(&self, chosen: Quality, repeated: u8, truth: Quality) -> f64 {
        let mcs = match chosen {
            Quality::Rung(rung) => rung.row(),
            Quality::Bytes(_) | Quality::Outage => 0,
        };
        self.bler.probability(mcs.saturating_sub(self.combining_mcs.saturating_mul(repeated)), truth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_decoded_and_repeated_in_order() {
        let mut blocks = Blocks::default();
        let numbers: Vec<u32> = (0..4).map(|tti| blocks.open(7, Quality::mcs(3), 2, tti)).collect();
        for &number in &numbers {
            blocks.send(number, Time::from_nanos(10 + u64::from(number)));
        }
        assert_eq!(blocks.next_decoded(), Time::from_nanos(10));
        assert_eq!(blocks.decoded(Time::from_nanos(9)), None);
        assert_eq!(blocks.decoded(Time::from_nanos(11)), Some(0));
        assert_eq!(blocks.decoded(Time::from_nanos(11)), Some(1));
        assert_eq!(blocks.decoded(Time::from_nanos(11)), None);
        (0..4).for_each(|number| blocks.repeat(number, 8));
        assert_eq!((blocks.next_repetition(), blocks.due(7)), (Some(8), None));
        assert_eq!((blocks.due(8), blocks.due(8), blocks.due(8)), (Some(0), Some(1), Some(2)));
        blocks.keep(0, 8);
        blocks.keep(2, 8);
        blocks.end();
        assert_eq!((0..4).map_while(|_| blocks.due(9)).collect::<Vec<_>>(), [0, 2, 3]);
        blocks.close(2);
        assert_eq!(blocks.open(1, Quality::Outage, 1, 9), 2, "used again");
    }

    #[test]
    fn a_flushed_ue_loses_its_blocks_in_their_order() {
        let mut blocks = Blocks::default();
        let numbers: Vec<u32> =
            (0..5).map(|tti| blocks.open(tti as u32 % 2, Quality::mcs(3), 2, tti)).collect();
        numbers[1..].iter().for_each(|&number| blocks.send(number, Time::from_nanos(10 + u64::from(number))));
        blocks.repeat(0, 8);
        blocks.flush(0, Time::from_nanos(5));
        assert_eq!(blocks.next_repetition(), None);
        let now = Time::from_nanos(5);
        assert_eq!((0..4).map_while(|_| blocks.decoded(now)).collect::<Vec<_>>(), [0, 2, 4]);
        assert!([0, 2, 4].iter().all(|&number| blocks.get(number).is_lost));
        assert_eq!((blocks.decoded(now), blocks.next_decoded()), (None, Time::from_nanos(11)));
    }

    #[test]
    fn a_repetition_is_easier_to_receive() {
        let harq = HarqSetting { bler: Bler::new(0.1, 2.2).unwrap(), ..HarqSetting::default() };
        let loss = |repeated, truth| harq.loss(Quality::mcs(12), repeated, Quality::mcs(truth));
        assert_eq!((loss(0, 12), loss(1, 12)), (0.1, 0.1));
        assert_eq!(loss(1, 9), 0.1, "three steps too high, compensated by combining");
        assert!(loss(0, 9) >= loss(1, 9));
    }
}
