//! The bytes of datagrams that are on the path, each under a number.

use bytes::BytesMut;

/// Datagrams are cut from blocks of this size, so that few are allocated.
const BLOCK: usize = 64 * 1024;

/// A slab of datagrams.
#[derive(Debug, Default)]
pub struct Store {
    slots: Vec<Slot>,
    free: Vec<u32>,
    block: BytesMut,
}

#[derive(Debug, Default)]
struct Slot {
    bytes: BytesMut,
    /// Packets on the path with these bytes.
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

    /// The bytes of a packet that arrives.
    pub fn take(&mut self, number: u64) -> BytesMut {
        let slot = &mut self.slots[number as usize];
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

    /// A packet is gone.
    pub fn lose(&mut self, number: u64) {
        let slot = &mut self.slots[number as usize];
        slot.packets = slot.packets.saturating_sub(1);
        if slot.packets == 0 {
            slot.bytes = BytesMut::new();
            self.free.push(number as u32);
        }
    }

    /// There is another packet with the same bytes.
    pub fn double(&mut self, number: u64) {
        self.slots[number as usize].packets += 1;
    }

    /// Datagrams on the path.
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
        assert_eq!(&store.take(a)[..], b"one");
        assert_eq!(&store.take(a)[..], b"one");
        store.lose(b);
        assert_eq!(store.len(), 0);
        let long = vec![7; 3 * BLOCK];
        let numbers = [store.put(b"three"), store.put(&long)];
        assert!(numbers.contains(&a) && numbers.contains(&b));
        assert_eq!(&store.take(numbers[1])[..], &long[..]);
        assert_eq!((&store.take(numbers[0])[..], store.len()), (&b"three"[..], 0));
    }
}
