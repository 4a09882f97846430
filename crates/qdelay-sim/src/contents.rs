//! Contents of the packets in flight on the path, by packet handle.

use qdelay_traffic::ends::Contents;

/// A slab that reuses the slot freed last, which is likely still in the cache.
#[derive(Clone, Debug, Default)]
pub struct ContentsStore {
    slots: Vec<Contents>,
    free: Vec<u32>,
}

impl ContentsStore {
    /// Stores contents and returns their handle.
    #[inline]
    pub fn put(&mut self, contents: Contents) -> u64 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = contents;
            return u64::from(slot);
        }
        self.slots.push(contents);
        debug_assert!(self.slots.len() <= u32::MAX as usize, "a handle has 32 bits for its slot");
        (self.slots.len() - 1) as u64
    }

    /// The slot of `handle`: its lower 32 bits; the upper 32 are free for the host.
    #[inline]
    pub const fn slot(handle: u64) -> usize {
        handle as u32 as usize
    }

    /// The contents of `handle`.
    #[inline]
    pub fn get(&self, handle: u64) -> &Contents {
        &self.slots[Self::slot(handle)]
    }

    /// Frees the slot of `handle` for reuse.
    #[inline]
    pub fn free(&mut self, handle: u64) {
        self.free.push(handle as u32);
        // More free slots than slots: the contents of a packet were freed twice.
        debug_assert!(self.free.len() <= self.slots.len() && Self::slot(handle) < self.slots.len());
    }

    /// Number of occupied slots.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
