//! Who runs next: a tree of minima over one deadline for each slot.
//!
//! Cells stand in groups of four. Each cell above the lowest level holds the least of the group below it, together with the
//! place it belongs to, so that who is next is known at the root without a search. Changing one deadline climbs to the root:
//! three steps for up to 64 slots, and always all of them, since how far a change goes cannot be foreseen. On the way it
//! looks at the other cells of each group only, which do not depend on the steps before: so the steps overlap. Measured
//! faster than two cells to a group, than stopping where nothing changes, and than searching for the first from the root.
//! Equal deadlines go to the slot that is first in the order.

use crate::Time;
use alloc::vec;
use alloc::vec::Vec;

/// A deadline in the upper 64 bits, then 32 bits each of the slot's place in the order and of the slot: the smallest is whose
/// turn it is.
type Cell = u128;

/// Cells in a group.
const WIDTH: usize = 4;

/// Number of the first cell of the third level, which every tree has: it is the lowest for up to 64 slots.
const THIRD_LEVEL: usize = WIDTH * (1 + WIDTH);

const fn cell(time: Time, tag: u64) -> Cell {
    ((time.as_nanos() as Cell) << 64) | tag as Cell
}

/// The smaller of two, without a branch: which one it is cannot be foreseen.
#[inline]
fn smaller(a: Cell, b: Cell) -> Cell {
    core::hint::select_unpredictable(a < b, a, b)
}

/// The deadlines of a fixed number of slots.
#[derive(Clone, Debug)]
pub struct Deadlines {
    /// The root's group first, then level by level: below cell `i` of group `g` is group `4 g + i + 1`.
    groups: Vec<[Cell; WIDTH]>,
    /// The least of the root's group.
    least: Cell,
    /// Number of the first cell of the lowest level, where the cells of a group count on from those of the one before.
    lowest: usize,
    /// The lower half of each slot's cell. Its place is that of the cell, counted from the first of the lowest level.
    tags: Vec<u64>,
}

impl Deadlines {
    /// No deadline for any of `slots` slots; among equal deadlines the lower slot runs first.
    pub fn new(slots: usize) -> Deadlines {
        Deadlines::with_order(&(0..slots as u32).collect::<Vec<u32>>())
    }

    /// No deadline for any slot. `order` holds each slot once that will ever have one (no other may be set): among equal
    /// deadlines, earlier in `order` runs first.
    pub fn with_order(order: &[u32]) -> Deadlines {
        let (mut above, mut width) = (0, 1);
        while width * WIDTH < order.len() || above * WIDTH < THIRD_LEVEL {
            above += width;
            width *= WIDTH;
        }
        let slots = order.iter().map(|&slot| slot as usize + 1).max().unwrap_or(0);
        let mut tags = vec![u64::MAX; slots];
        for (place, &slot) in order.iter().enumerate() {
            tags[slot as usize] = (place as u64) << 32 | u64::from(slot);
        }
        let mut deadlines = Deadlines {
            groups: vec![[Cell::MAX; WIDTH]; above + width],
            least: cell(Time::NEVER, 0),
            lowest: above * WIDTH,
            tags,
        };
        for &slot in order {
            deadlines.set(slot as usize, Time::NEVER);
        }
        deadlines
    }

    /// The earliest deadline of all.
    #[inline]
    pub fn next(&self) -> Time {
        Time::from_nanos((self.least >> 64) as u64)
    }

    /// The slot that [`Deadlines::next`] belongs to; the first in the order where no slot has one.
    #[inline]
    pub fn first(&self) -> usize {
        self.least as u32 as usize
    }

    /// Gives `slot` the deadline `time` in place of the one it had.
    #[inline]
    pub fn set(&mut self, slot: usize, time: Time) {
        let tag = self.tags[slot];
        let mut number = self.lowest + (tag >> 32) as usize;
        let mut least = cell(time, tag);
        while number >= THIRD_LEVEL + WIDTH * WIDTH * WIDTH {
            least = self.climb(number, least);
            number = number / WIDTH - 1;
        }
        // The last three steps written out: in a loop the compiler makes branches of them.
        least = self.climb(number, least);
        number = number / WIDTH - 1;
        least = self.climb(number, least);
        number = number / WIDTH - 1;
        self.least = self.climb(number, least);
    }

    /// Puts `value` into the cell `number`; returns the least of its group.
    #[inline(always)]
    fn climb(&mut self, number: usize, value: Cell) -> Cell {
        let (group, lane) = (&mut self.groups[number / WIDTH], number % WIDTH);
        group[lane] = value;
        let others = smaller(group[lane ^ 1], smaller(group[lane ^ 2], group[lane ^ 3]));
        smaller(value, others)
    }

    /// The deadline of `slot`.
    #[inline]
    pub fn get(&self, slot: usize) -> Time {
        let number = self.lowest + (self.tags[slot] >> 32) as usize;
        Time::from_nanos((self.groups[number / WIDTH][number % WIDTH] >> 64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn the_first_is_the_least_and_ties_follow_the_order() {
        let mut random = Random::derive(1, "deadlines", "test");
        for slots in [1, 2, 3, 4, 5, 8, 16, 17, 21, 64, 65, 256, 257] {
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
