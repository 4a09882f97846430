//! The transport blocks on the air: for each one the parts of this bearer.

use super::BlockId;
use super::chains::{Chain, Chains, Places};
use alloc::vec::Vec;

/// A PDU in a transport block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Unit of the PDU: a packet (NR, transparent), or a PDU with its concatenated packets (LTE).
    pub unit: u32,
    /// Sequence number as in the header.
    pub sn: u32,
    /// First byte of the unit.
    pub from: u32,
    /// The byte after the last.
    pub to: u32,
    /// True if the PDU includes the end of the unit.
    pub last: bool,
    /// True if the sender requests a status report.
    pub poll: bool,
}

#[derive(Clone, Debug)]
struct Block {
    parts: Chain,
    /// True if the entity has been re-established since.
    void: bool,
    used: bool,
}

/// Blocks in use and free ones, reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    blocks: Places<Block>,
    parts: Chains<Part>,
}

impl Blocks {
    /// A block with `parts`, which are drained.
    pub fn add(&mut self, parts: &mut Vec<Part>) -> BlockId {
        let mut chain = Chain::EMPTY;
        for part in parts.drain(..) {
            self.parts.push(&mut chain, part);
        }
        BlockId(self.blocks.add(Block { parts: chain, void: false, used: true }))
    }

    /// Removes `id` and moves its parts to `parts`, which must be empty. Returns true if they are void, also
    /// if there is no such block.
    pub fn remove(&mut self, id: BlockId, parts: &mut Vec<Part>) -> bool {
        debug_assert!(parts.is_empty(), "the list holds the parts of one block");
        let Some(block) = self.blocks.find_mut(id.0).filter(|block| block.used) else { return true };
        block.used = false;
        parts.extend(self.parts.iter(block.parts));
        self.parts.clear(&mut block.parts);
        let void = block.void;
        self.blocks.remove(id.0);
        void
    }

    /// Marks everything on the air as void.
    pub fn void(&mut self) {
        for id in 0..self.blocks.len() as u32 {
            self.blocks.get_mut(id).void = true;
        }
    }
}
