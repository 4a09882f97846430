//! A bounded buffer of bytes in a ring, which grows to what it needs.

/// Smallest memory of a buffer that holds bytes.
const LEAST: usize = 16 * 1024;

/// Bytes in the order in which they came. At most `limit` are held; memory grows by doubling, and is not given back before the end of the
/// connection.
#[derive(Debug)]
pub(super) struct Ring {
    memory: Vec<u8>,
    /// Place of the first byte.
    head: usize,
    length: usize,
    limit: usize,
}

impl Ring {
    pub fn new(limit: usize) -> Ring {
        Ring { memory: Vec::new(), head: 0, length: 0, limit }
    }

    /// Number of bytes held.
    pub fn len(&self) -> usize {
        self.length
    }

    /// The next free bytes, to be written by a caller who then calls [`Ring::add`]; empty while the limit is reached.
    pub fn room(&mut self) -> &mut [u8] {
        if self.memory.len() < self.limit && self.memory.len() - self.length < LEAST {
            self.grow();
        }
        let size = self.memory.len();
        if self.length == size {
            return &mut [];
        }
        let tail = self.head + self.length;
        match tail < size {
            true => &mut self.memory[tail..],
            false => &mut self.memory[tail - size..self.head],
        }
    }

    fn grow(&mut self) {
        let size = (self.memory.len() * 2).max(LEAST).min(self.limit);
        // The bytes begin at the front again, so that the new memory follows them.
        self.memory.rotate_left(self.head);
        self.head = 0;
        self.memory.resize(size, 0);
    }

    /// Holds the first `count` bytes of [`Ring::room`].
    pub fn add(&mut self, count: usize) {
        debug_assert!(self.length + count <= self.memory.len(), "more bytes than there was room for");
        self.length = (self.length + count).min(self.memory.len());
    }

    /// The first `count` bytes in two parts, the second of which is empty unless they pass the end of the memory.
    pub fn first(&self, count: usize) -> [&[u8]; 2] {
        let count = count.min(self.length);
        let straight = count.min(self.memory.len() - self.head);
        [&self.memory[self.head..self.head + straight], &self.memory[..count - straight]]
    }

    /// Removes the first `count` bytes.
    pub fn remove(&mut self, count: usize) {
        let count = count.min(self.length);
        self.length -= count;
        self.head = match self.length {
            0 => 0,
            _ => (self.head + count) % self.memory.len(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(ring: &mut Ring, bytes: &[u8]) -> usize {
        let mut done = 0;
        while done < bytes.len() {
            let room = ring.room();
            let count = room.len().min(bytes.len() - done);
            if count == 0 {
                break;
            }
            room[..count].copy_from_slice(&bytes[done..done + count]);
            ring.add(count);
            done += count;
        }
        done
    }

    #[test]
    fn bytes_leave_in_order_across_the_end_and_growth() {
        let mut ring = Ring::new(40_000);
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| (n * 7 + n / 256) as u8).collect();
        let (mut added, mut removed) = (0, 0);
        let mut step = 1;
        while removed < bytes.len() {
            step = step * 5 % 30_011;
            added += add(&mut ring, &bytes[added..(added + step).min(bytes.len())]);
            assert_eq!(ring.len(), added - removed);
            assert!(ring.len() <= 40_000);
            let count = ring.len().min(step / 2 + 1);
            let got: Vec<u8> = ring.first(count).concat();
            assert_eq!(got, bytes[removed..removed + count]);
            ring.remove(count);
            removed += count;
        }
    }

    #[test]
    fn limit_is_never_exceeded() {
        let mut ring = Ring::new(20_000);
        assert_eq!(add(&mut ring, &[1; 50_000]), 20_000);
        assert!(ring.room().is_empty());
        ring.remove(5_000);
        assert_eq!(add(&mut ring, &[2; 50_000]), 5_000);
        assert_eq!(ring.first(usize::MAX).concat().len(), 20_000);
    }
}
