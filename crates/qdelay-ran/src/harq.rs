//! Hybrid automatic repeat request (HARQ, TS 36.321 clause 5.3.2, TS 38.321 clause 5.3.2): blocks that are lost on the air
//! are sent again, with the same bytes.
//!
//! Whether a block is lost is drawn when it is sent, from the stream of its UE. It is decoded or not after its time on the
//! air. A lost one is repeated a round trip after it was sent, as often as the setting says, before any new data; if it fails
//! once more, its bearers are told so at the time it should have been decoded.
//!
//! # Differences from the reference
//! * There is no number of processes: LTE's 8 (FDD) and NR's 16 are as many as a round trip of as many slots needs.
//! * A UE sends no new block in a TTI in which it repeats one (no spatial multiplexing of two blocks).
//! * A repetition fills as many groups as the block did, wherever they are free, and waits where they are not. Its
//!   acknowledgement always arrives, and is right.
//! * Soft combining is a shift of the MCS, not a sum of energies.

use crate::radio::{Bler, Quality};
use crate::rlc::BlockId;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// How blocks are lost on the air and repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HarqSetting {
    /// How likely a block is to be lost.
    pub bler: Bler,
    /// From the beginning of a block to that of its repetition, rounded up to whole TTIs. `None`: with TTIs of a slot 8 ms in
    /// LTE (FDD: answered after 4, TS 36.213 clause 7.3.1, repeated after 4 more), in NR 4 slots, or 6 where they are shorter
    /// than 0.5 ms: as long for the cell as for the UE.
    pub rtt: Option<Span>,
    /// How often a block is repeated at most; then it is lost. 3 by default: four transmissions, as is usual.
    pub retransmissions: u8,
    /// By how many steps of the MCS each repetition is easier to receive, because the UE adds up what it has heard (chase
    /// combining: twice the energy is 3 dB, about 3 steps). It tells only where a block was sent above what the channel
    /// takes.
    pub combining_mcs: u8,
}

impl Default for HarqSetting {
    fn default() -> HarqSetting {
        HarqSetting { bler: Bler::NONE, rtt: None, retransmissions: 3, combining_mcs: 3 }
    }
}

/// A transport block, from when it is first sent until it is decoded or given up.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub ue: u32,
    /// What the cell took the channel for when it first sent it: its MCS stays.
    pub chosen: Quality,
    /// Groups it fills.
    pub groups: u16,
    /// How often it was repeated.
    pub repeated: u8,
    /// What was sent last does not arrive.
    pub is_lost: bool,
    /// The TTI it was sent in last.
    pub tti: u64,
    /// What bearers have in it.
    pub parts: Vec<(u32, BlockId)>,
}

/// The blocks of a cell. All are as long on the air, and all are repeated after the same time, so that two queues hold them
/// in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    blocks: Vec<Block>,
    free: Vec<u32>,
    /// When the blocks on the air are decoded.
    flying: VecDeque<(Time, u32)>,
    /// The first TTI in which the lost ones may be repeated.
    waiting: VecDeque<(u64, u32)>,
    /// Those that could not, for what it has allocated.
    kept: Vec<(u64, u32)>,
}

impl Blocks {
    /// A new block of `ue`, which has no part yet.
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
                    tti,
                    parts: Vec::new(),
                });
                return self.blocks.len() as u32 - 1;
            }
        };
        let block = &mut self.blocks[number as usize];
        (block.ue, block.chosen, block.groups, block.tti) = (ue, chosen, groups, tti);
        (block.repeated, block.is_lost) = (0, false);
        number
    }
    /// One that [`Blocks::open`] gave and that was not closed.
    pub fn get(&mut self, number: u32) -> &mut Block {
        &mut self.blocks[number as usize]
    }
    /// It is over.
    pub fn close(&mut self, number: u32) {
        self.blocks[number as usize].parts.clear();
        self.free.push(number);
    }

    /// It is on the air until `decoded`, which is never before that of another one.
    pub fn send(&mut self, number: u32, decoded: Time) {
        self.flying.push_back((decoded, number));
    }
    /// When the next block is decoded.
    pub fn next_decoded(&self) -> Time {
        self.flying.front().map_or(Time::NEVER, |&(time, _)| time)
    }
    /// A block that is decoded by `now`.
    pub fn decoded(&mut self, now: Time) -> Option<u32> {
        self.flying.pop_front_if(|&mut (time, _)| time <= now).map(|(_, number)| number)
    }

    /// It is to be repeated from TTI `tti` on, which is never before that of another one.
    pub fn repeat(&mut self, number: u32, tti: u64) {
        self.waiting.push_back((tti, number));
    }
    /// The next TTI in which a block may be repeated.
    pub fn next_repetition(&self) -> Option<u64> {
        self.waiting.front().map(|&(tti, _)| tti)
    }
    /// The next block that may be repeated in TTI `tti` and was not kept. Each is sent or kept; then [`Blocks::end`].
    pub fn due(&mut self, tti: u64) -> Option<u32> {
        self.waiting.pop_front_if(|&mut (first, _)| first <= tti).map(|(_, number)| number)
    }
    /// It cannot be repeated in this TTI.
    pub fn keep(&mut self, number: u32, tti: u64) {
        self.kept.push((tti, number));
    }
    /// What was kept is first in the next TTI.
    pub fn end(&mut self) {
        while let Some(kept) = self.kept.pop() {
            self.waiting.push_front(kept);
        }
    }
}

impl HarqSetting {
    /// How likely it is that a block, repeated `repeated` times, is lost on a channel that is `truth`.
    pub(crate) fn loss(&self, chosen: Quality, repeated: u8, truth: Quality) -> f64 {
        let mcs = match chosen {
            Quality::Mcs(mcs) => mcs,
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
        let numbers: Vec<u32> = (0..4).map(|tti| blocks.open(7, Quality::Mcs(3), 2, tti)).collect();
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
    fn a_repetition_is_easier_to_receive() {
        let harq = HarqSetting { bler: Bler::new(0.1, 2.2).unwrap(), ..HarqSetting::default() };
        let loss = |repeated, truth| harq.loss(Quality::Mcs(12), repeated, Quality::Mcs(truth));
        assert_eq!((loss(0, 12), loss(1, 12)), (0.1, 0.1));
        assert_eq!(loss(1, 9), 0.1, "three steps too high, made up for");
        assert!(loss(0, 9) >= loss(1, 9));
    }
}
