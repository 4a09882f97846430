//! Data received above a gap: its ranges, and the SACK blocks that report them.
//!
//! RFC 2018 (SACK) and RFC 2883 (duplicate SACK). Blocks are ordered as in Linux `selective_acks`: the most recently changed one first.

use crate::segment::{SACK_BLOCKS, Segment};
use alloc::vec::Vec;

/// Number of blocks stored for SACK options; one more than fit beside timestamps (Linux `selective_acks`).
const STORED_BLOCKS: usize = 4;
/// Blocks that a later acknowledgement is sure to report (Linux `TCP_SACK_BLOCKS_EXPECTED`).
const EXPECTED_BLOCKS: usize = 2;

/// Ranges of sequence numbers above the next one expected. A range is its first number and one past its last.
#[derive(Clone, Debug, Default)]
pub(super) struct OutOfOrder {
    /// Ranges received, ascending, disjoint, not touching.
    ranges: Vec<(u64, u64)>,
    /// Ranges for SACK options, most recently changed first.
    blocks: [(u64, u64); STORED_BLOCKS],
    block_count: usize,
    /// Range received twice that the next acknowledgement reports (RFC 2883).
    duplicate: Option<(u64, u64)>,
}

impl OutOfOrder {
    /// Whether no data is above a gap.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes received above a gap.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.1 - range.0).sum()
    }

    /// Whether an acknowledgement now would carry SACK blocks.
    pub fn has_blocks(&self) -> bool {
        self.block_count > 0 || self.duplicate.is_some()
    }

    /// Lets the next acknowledgement report a range that was received twice.
    pub fn report_duplicate(&mut self, start: u64, end: u64) {
        self.duplicate = Some((start, end));
    }

    /// Stores a range above a gap. Returns the whole range that now contains it, and whether it was received before.
    pub fn store(&mut self, start: u64, end: u64) -> ((u64, u64), bool) {
        let first = self.ranges.partition_point(|range| range.1 < start);
        let (mut low, mut high) = (start, end);
        let mut is_duplicate = false;
        let mut after = first;
        while after < self.ranges.len() && self.ranges[after].0 <= end {
            let range = self.ranges[after];
            if range.0 <= start && end <= range.1 {
                self.duplicate = Some((start, end));
                is_duplicate = true;
            }
            low = low.min(range.0);
            high = high.max(range.1);
            after += 1;
        }
        if after == first {
            self.ranges.insert(first, (low, high));
        } else {
            self.ranges[first] = (low, high);
            self.ranges.drain(first + 1..after);
        }
        debug_assert!(first == 0 || self.ranges[first - 1].1 < low, "ranges touch below {low}");
        debug_assert!(
            self.ranges.get(first + 1).is_none_or(|next| high < next.0),
            "ranges touch above {high}"
        );
        ((low, high), is_duplicate)
    }

    /// Stores a range above a gap as [`OutOfOrder::store`] does, without a report of duplicates.
    pub fn store_unreported(&mut self, start: u64, end: u64) -> ((u64, u64), bool) {
        let stored = self.store(start, end);
        self.duplicate = None;
        stored
    }

    /// Whether the blocks that a held-back acknowledgement would report now are among those of the next one, when this range is added. They are
    /// not if this range makes another block the third or a later one (Linux `tcp_sack_new_ofo_skb`).
    pub fn is_reported_later(&self, start: u64, end: u64) -> bool {
        let blocks = &self.blocks[..self.block_count];
        let grown = blocks.iter().position(|block| block.1 >= start && block.0 <= end);
        grown.unwrap_or(self.block_count) < EXPECTED_BLOCKS
    }

    /// Moves a block to the front, and removes the blocks that it contains or touches.
    pub fn store_block(&mut self, (start, end): (u64, u64)) {
        let mut kept = [(0, 0); STORED_BLOCKS];
        kept[0] = (start, end);
        let mut count = 1;
        for &block in &self.blocks[..self.block_count] {
            let outside = block.1 < start || block.0 > end;
            if outside && count < STORED_BLOCKS {
                kept[count] = block;
                count += 1;
            }
        }
        self.blocks = kept;
        self.block_count = count;
        debug_assert!(self.block_count <= self.ranges.len(), "a block without a range");
    }

    /// Removes the ranges that `next`, the next number expected, has reached. Returns the next number expected after them.
    pub fn absorb(&mut self, mut next: u64) -> u64 {
        let mut reached = 0;
        while reached < self.ranges.len() && self.ranges[reached].0 <= next {
            next = next.max(self.ranges[reached].1);
            reached += 1;
        }
        self.ranges.drain(..reached);
        let mut count = 0;
        for i in 0..self.block_count {
            if self.blocks[i].0 > next {
                self.blocks[count] = self.blocks[i];
                count += 1;
            }
        }
        self.block_count = count;
        debug_assert!(
            self.ranges.first().is_none_or(|range| range.0 > next),
            "a range at {next} is in order"
        );
        next
    }

    /// Writes the SACK option of an acknowledgement: the duplicate first, then the blocks.
    pub fn write_option(&mut self, segment: &mut Segment) {
        let mut count = 0;
        if let Some((start, end)) = self.duplicate.take() {
            segment.sack[0] = (start as u32, end as u32);
            count = 1;
        }
        for &(start, end) in &self.blocks[..self.block_count] {
            if count == SACK_BLOCKS {
                break;
            }
            segment.sack[count] = (start as u32, end as u32);
            count += 1;
        }
        segment.sack_count = count as u8;
    }
}
