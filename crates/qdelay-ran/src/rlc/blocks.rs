//! What is on the air: for each transport block the parts that this bearer has in it.

use super::BlockId;
use alloc::vec::Vec;

/// A PDU in a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// What it is a part of: a packet (NR, transparent), or a PDU with its concatenated packets (LTE).
    pub unit: u32,
    /// Sequence number as the header carries it.
    pub sn: u32,
    /// First byte of the unit.
    pub from: u32,
    /// The byte after the last.
    pub to: u32,
    /// The unit ends with it.
    pub last: bool,
    /// The sender asks for a status report.
    pub poll: bool,
}

#[derive(Clone, Debug, Default)]
struct Block {
    parts: Vec<Part>,
    /// The entity was established anew since.
    void: bool,
    used: bool,
}

/// The blocks, reused with what they have allocated.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    free: Vec<u32>,
}

impl Blocks {
    /// A block with `parts`, which are drained.
    pub fn add(&mut self, parts: &mut Vec<Part>) -> BlockId {
        let id = match self.free.pop() {
            Some(id) => id,
            None => {
                self.blocks.push(Block::default());
                self.blocks.len() as u32 - 1
            }
        };
        let block = &mut self.blocks[id as usize];
        (block.void, block.used) = (false, true);
        block.parts.append(parts);
        BlockId(id)
    }

    /// Ends `id` and moves its parts to `parts`, which must be empty. Whether they mean nothing any more, as where there
    /// is no such block.
    pub fn take(&mut self, id: BlockId, parts: &mut Vec<Part>) -> bool {
        let Some(block) = self.blocks.get_mut(id.0 as usize).filter(|block| block.used) else { return true };
        block.used = false;
        parts.append(&mut block.parts);
        self.free.push(id.0);
        block.void
    }

    /// What is on the air means nothing any more.
    pub fn void(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.void = true);
    }
}
