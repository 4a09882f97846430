//! Who runs next: a tree of minima over one deadline for each slot.
//!
//! Each inner cell holds the smaller of its two children, so the next deadline is at the root, and changing one costs at
//! most as many steps as the tree is high, fewer where a minimum does not change. Equal deadlines go to the slot that is
//! first in the order.

use crate::Time;
use alloc::vec;
use alloc::vec::Vec;

/// The deadlines of a fixed number of slots.
#[derive(Clone, Debug)]
pub struct Deadlines {
    /// Cells 1.. of a binary heap's layout; the leaves are the upper half. `u64::MAX` stands for "never".
    cells: Vec<u64>,
    /// The leaf of each slot.
    leaf_of: Vec<u32>,
    /// The slot of each leaf, counted from the first leaf.
    slot_of: Vec<u32>,
}

impl Deadlines {
    /// No deadline for any of `slots` slots; among equal deadlines the lower slot runs first.
    pub fn new(slots: usize) -> Deadlines {
        Deadlines::with_order(&(0..slots as u32).collect::<Vec<u32>>())
    }

    /// No deadline for any slot. `order` holds each slot once: among equal deadlines, earlier in `order` runs first.
    pub fn with_order(order: &[u32]) -> Deadlines {
        let leaves = order.len().next_power_of_two();
        let mut leaf_of = vec![0; order.len()];
        for (leaf, &slot) in order.iter().enumerate() {
            leaf_of[slot as usize] = (leaves + leaf) as u32;
        }
        Deadlines { cells: vec![u64::MAX; 2 * leaves], leaf_of, slot_of: order.to_vec() }
    }

    /// The earliest deadline of all.
    #[inline]
    pub fn next(&self) -> Time {
        Time::from_nanos(self.cells[1])
    }

    /// The slot that [`Deadlines::next`] belongs to; slot 0 where there are none.
    #[inline]
    pub fn first(&self) -> usize {
        let leaves = self.cells.len() / 2;
        let mut cell = 1;
        while cell < leaves {
            cell *= 2;
            cell += usize::from(self.cells[cell + 1] < self.cells[cell]);
        }
        self.slot_of.get(cell - leaves).map_or(0, |&slot| slot as usize)
    }

    /// Gives `slot` the deadline `time` in place of the one it had.
    #[inline]
    pub fn set(&mut self, slot: usize, time: Time) {
        let mut cell = self.leaf_of[slot] as usize;
        self.cells[cell] = time.as_nanos();
        while cell > 1 {
            let smaller = self.cells[cell].min(self.cells[cell ^ 1]);
            cell /= 2;
            if self.cells[cell] == smaller {
                return;
            }
            self.cells[cell] = smaller;
        }
    }

    /// The deadline of `slot`.
    #[inline]
    pub fn get(&self, slot: usize) -> Time {
        Time::from_nanos(self.cells[self.leaf_of[slot] as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn the_first_is_the_least_and_ties_follow_the_order() {
        let mut random = Random::derive(1, "deadlines", "test");
        for slots in [1, 2, 3, 8, 21] {
            let mut deadlines = Deadlines::new(slots);
            let mut plain = vec![Time::NEVER; slots];
            assert_eq!((deadlines.next(), deadlines.first()), (Time::NEVER, 0));
            for _ in 0..2000 {
                let slot = random.below(slots as u64) as usize;
                let time = Time::from_nanos(random.below(10));
                deadlines.set(slot, time);
                plain[slot] = time;
                let least = *plain.iter().min().unwrap();
                let first = plain.iter().position(|&t| t == least).unwrap();
                assert_eq!((deadlines.next(), deadlines.first()), (least, first));
                assert_eq!(deadlines.get(slot), time);
            }
        }
    }
}
