//! Memory for packets' bytes: slots of equal size, which are reused.
//!
//! Parameters: the MTU in bytes, which rounded up to a multiple of 256 is the size of a slot (1536 for 1500 bytes, 9216 for
//! 9000); the limit in slots. The pool grows by 256 slots at a time when no slot is free, and never shrinks; at its final size
//! it allocates nothing. The slot that was freed last is taken first, while it is still in the processor's caches.

/// A slot in a [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(pub(crate) u32);

impl Slot {
    /// The slot's index in the pool, from 0, for tables of the same length.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of slots in one allocation.
const CHUNK: usize = 256;
/// The size of a slot is a multiple of this many bytes.
const GRAIN: usize = 256;

/// Slots for packets, of equal size.
#[derive(Debug)]
pub struct Pool {
    slot_bytes: usize,
    limit: usize,
    chunks: Vec<Box<[u8]>>,
    free: Vec<u32>,
    /// True for each slot in use, by slot.
    taken: Vec<bool>,
    /// Bytes in front of the IP packet, and whether its transport checksum is left out, by slot.
    headers: Vec<(u8, bool)>,
    in_use: usize,
    peak: usize,
}

impl Pool {
    /// Creates a pool of slots for packets of up to `mtu` bytes (at most 65535), with at most `limit` slots (rounded up to a multiple
    /// of 256). Nothing is allocated yet.
    pub fn new(mtu: u16, limit: u32) -> Pool {
        Pool {
            slot_bytes: usize::from(mtu).max(1).next_multiple_of(GRAIN),
            // Slot numbers have 32 bits.
            limit: (limit as usize).clamp(1, u32::MAX as usize - CHUNK).next_multiple_of(CHUNK),
            chunks: Vec::new(),
            free: Vec::new(),
            taken: Vec::new(),
            headers: Vec::new(),
            in_use: 0,
            peak: 0,
        }
    }

    /// Grows to at least `slots` slots, or the limit, and touches the memory, so that no page faults occur later.
    pub fn reserve(&mut self, slots: u32) {
        while self.taken.len() < (slots as usize).min(self.limit) {
            self.grow();
        }
    }

    /// Size of a slot in bytes.
    pub const fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }
    /// Number of slots allocated so far.
    pub const fn slots(&self) -> usize {
        self.taken.len()
    }
    /// Number of slots in use.
    pub const fn in_use(&self) -> usize {
        self.in_use
    }
    /// Maximum number of slots in use at one time so far.
    pub const fn peak(&self) -> usize {
        self.peak
    }
    /// Maximum number of slots.
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Takes a free slot, which still contains the bytes of its previous packet; `None` while all are in use.
    #[inline]
    pub fn take_slot(&mut self) -> Option<Slot> {
        if self.free.is_empty() {
            self.grow();
        }
        let slot = self.free.pop()?;
        self.taken[slot as usize] = true;
        self.in_use += 1;
        self.peak = self.peak.max(self.in_use);
        Some(Slot(slot))
    }

    /// Takes a free slot, and copies the bytes and the header of `slot` into it; `None` while all are in use.
    #[cold]
    pub fn copy_slot(&mut self, slot: Slot) -> Option<Slot> {
        let copy = self.take_slot()?;
        let (header, is_unsummed) = (self.header(slot), self.is_unsummed(slot));
        self.set_header(copy, header, is_unsummed);
        // Slots of different chunks cannot be borrowed together; a copy of a packet is rare.
        let bytes = self.bytes(slot).to_vec();
        self.bytes_mut(copy).copy_from_slice(&bytes);
        Some(copy)
    }

    /// Frees `slot`. Returns `false` if it was not in use.
    #[inline]
    pub fn free_slot(&mut self, slot: Slot) -> bool {
        match self.taken.get_mut(slot.index()) {
            Some(taken) if *taken => *taken = false,
            _ => return false,
        }
        self.free.push(slot.0);
        self.in_use -= 1;
        true
    }

    /// All bytes of the slot; empty for a slot of another pool.
    #[inline]
    pub fn bytes(&self, slot: Slot) -> &[u8] {
        let start = slot.index() % CHUNK * self.slot_bytes;
        match self.chunks.get(slot.index() / CHUNK) {
            Some(chunk) => &chunk[start..start + self.slot_bytes],
            None => &[],
        }
    }

    /// All bytes of the slot for writing; empty for a slot of another pool.
    #[inline]
    pub fn bytes_mut(&mut self, slot: Slot) -> &mut [u8] {
        let start = slot.index() % CHUNK * self.slot_bytes;
        match self.chunks.get_mut(slot.index() / CHUNK) {
            Some(chunk) => &mut chunk[start..start + self.slot_bytes],
            None => &mut [],
        }
    }

    /// Records that the IP packet in `slot` begins after `header` bytes, and whether its transport checksum
    /// [is left out](crate::gso).
    #[inline]
    pub fn set_header(&mut self, slot: Slot, header: u8, is_unsummed: bool) {
        if let Some(entry) = self.headers.get_mut(slot.index()) {
            *entry = (header, is_unsummed);
        }
    }

    /// Bytes in front of the IP packet in `slot`, as last set.
    #[inline]
    pub fn header(&self, slot: Slot) -> u8 {
        self.headers.get(slot.index()).map_or(0, |entry| entry.0)
    }

    /// True if the checksum of the packet in `slot` is left out, as last set.
    #[inline]
    pub fn is_unsummed(&self, slot: Slot) -> bool {
        self.headers.get(slot.index()).is_some_and(|entry| entry.1)
    }

    /// The `bytes` bytes of the IP packet in `slot`; empty if the slot has fewer.
    #[inline]
    pub fn packet(&self, slot: Slot, bytes: u32) -> &[u8] {
        let start = usize::from(self.header(slot));
        self.bytes(slot).get(start..start + bytes as usize).unwrap_or(&[])
    }

    /// Adds a chunk, unless the limit is reached.
    #[cold]
    fn grow(&mut self) {
        let first = self.taken.len();
        if first >= self.limit {
            return;
        }
        let mut chunk = vec![0; CHUNK * self.slot_bytes].into_boxed_slice();
        // Writing each page now maps it, so that no page fault delays a packet.
        chunk.iter_mut().step_by(1024).for_each(|byte| *byte = std::hint::black_box(0));
        self.chunks.push(chunk);
        self.taken.resize(first + CHUNK, false);
        self.headers.resize(first + CHUNK, (0, false));
        // The free list has capacity for every slot, so that freeing never allocates.
        self.free.reserve(self.taken.len() - self.free.len());
        self.free.extend((first..first + CHUNK).rev().map(|slot| slot as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_size_is_a_multiple_of_the_grain() {
        for (mtu, bytes) in [(0, 256), (68, 256), (1500, 1536), (9000, 9216), (65535, 65536)] {
            assert_eq!(Pool::new(mtu, 1).slot_bytes(), bytes);
        }
    }

    #[test]
    fn pool_grows_to_its_limit() {
        let mut pool = Pool::new(100, 300);
        assert_eq!((pool.limit(), pool.in_use()), (512, 0));
        let slots: Vec<Slot> = std::iter::from_fn(|| pool.take_slot()).collect();
        assert_eq!((slots.len(), pool.in_use(), pool.peak()), (512, 512, 512));
        for slot in &slots {
            pool.bytes_mut(*slot).fill(slot.index() as u8);
        }
        assert!(slots.iter().all(|&slot| pool.bytes(slot).iter().all(|&byte| byte == slot.index() as u8)));
        assert!(slots.iter().all(|&slot| pool.free_slot(slot)));
        assert!(!pool.free_slot(slots[7]), "not in use");
        assert!(!pool.free_slot(Slot(512)) && pool.bytes(Slot(512)).is_empty(), "slot of another pool");
        assert_eq!((pool.in_use(), pool.peak()), (0, 512));
        assert_eq!(pool.take_slot(), Some(slots[511]), "the slot freed last");
    }

    #[test]
    fn reserving_takes_no_slot() {
        let mut pool = Pool::new(1500, 1000);
        pool.reserve(600);
        assert_eq!((pool.chunks.len(), pool.in_use()), (3, 0));
        pool.reserve(u32::MAX);
        assert_eq!(pool.chunks.len(), 4);
    }
}
