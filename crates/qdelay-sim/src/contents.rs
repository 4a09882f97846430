//! What is inside the packets that are on the path, found by their handles.

use qdelay_traffic::ends::Contents;

/// A store that reuses the place of what was taken out last, which is likely to be in the cache still.
#[derive(Clone, Debug, Default)]
pub struct ContentsStore {
    slots: Vec<Contents>,
    free: Vec<u32>,
}

impl ContentsStore {
    /// Puts contents in; the handle finds them again.
    #[inline]
    pub fn put(&mut self, contents: Contents) -> u64 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = contents;
            return u64::from(slot);
        }
        self.slots.push(contents);
        (self.slots.len() - 1) as u64
    }

    /// The place that `handle` names; its upper half is the host's to use.
    #[inline]
    pub const fn slot(handle: u64) -> usize {
        handle as u32 as usize
    }

    /// The contents that `handle` stands for.
    #[inline]
    pub fn get(&self, handle: u64) -> &Contents {
        &self.slots[Self::slot(handle)]
    }

    /// Forgets contents; their handle is free for others.
    #[inline]
    pub fn free(&mut self, handle: u64) {
        self.free.push(handle as u32);
    }

    /// How many are in.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
