//! Storage of the bytes of datagrams on the path; a packet carries the number of its datagram.

use bytes::BytesMut;

/// Size of the blocks that datagrams are cut from, bytes: one allocation serves many datagrams.
const BLOCK: usize = 64 * 1024;

/// A slab of datagrams, indexed by their numbers.
#[derive(Debug, Default)]
pub struct Store {
    slots: Vec<Slot>,
    free: Vec<u32>,
    block: BytesMut,
}

#[derive(Debug, Default)]
struct Slot {
    bytes: BytesMut,
    /// Number of packets on the path that carry these bytes: more than one after the path has copied a packet.
    packets: u32,
}

impl Store {
    /// Stores a datagram and returns its number.
    pub fn put(&mut self, datagram: &[u8]) -> u64 {
        let bytes = self.cut(datagram);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = Slot { bytes, packets: 1 };
        u64::from(slot)
    }

    fn cut(&mut self, datagram: &[u8]) -> BytesMut {
        if self.block.capacity() < datagram.len() {
            self.block.reserve(BLOCK.max(datagram.len()));
        }
        self.block.extend_from_slice(datagram);
        self.block.split()
    }

    /// Removes a packet that arrives, and returns its bytes.
    pub fn remove(&mut self, number: u64) -> BytesMut {
        let slot = &mut self.slots[number as usize];
        debug_assert!(slot.packets > 0, "datagram {number} is not on the path");
        if slot.packets > 1 {
            slot.packets -= 1;
            let copy = std::mem::take(&mut slot.bytes);
            let bytes = self.cut(&copy);
            self.slots[number as usize].bytes = copy;
            return bytes;
        }
        let bytes = std::mem::take(&mut slot.bytes);
        self.lose(number);
        bytes
    }

    /// Removes a packet that was dropped.
    pub fn lose(&mut self, number: u64) {
        let slot = &mut self.slots[number as usize];
        slot.packets = slot.packets.saturating_sub(1);
        if slot.packets == 0 {
            slot.bytes = BytesMut::new();
            self.free.push(number as u32);
        }
    }

    /// Counts another packet with the same bytes: the path has copied one.
    pub fn double(&mut self, number: u64) {
        debug_assert!(self.slots[number as usize].packets > 0, "datagram {number} is not on the path");
        self.slots[number as usize].packets += 1;
    }

    /// Number of datagrams on the path; the copies of one packet count once.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_arrive_and_slots_are_used_again() {
        let mut store = Store::default();
        let (a, b) = (store.put(b"one"), store.put(b"two"));
        store.double(a);
        assert_eq!(&store.remove(a)[..], b"one");
        assert_eq!(&store.remove(a)[..], b"one");
        store.lose(b);
        assert_eq!(store.len(), 0);
        let long = vec![7; 3 * BLOCK];
        let numbers = [store.put(b"three"), store.put(&long)];
        assert!(numbers.contains(&a) && numbers.contains(&b));
        assert_eq!(&store.remove(numbers[1])[..], &long[..]);
        assert_eq!((&store.remove(numbers[0])[..], store.len()), (&b"three"[..], 0));
    }
}
