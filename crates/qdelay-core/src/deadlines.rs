//! Who runs next: a tree of minima over one deadline for each slot.
//!
//! Cells stand in groups of four. Each cell above the lowest level holds the least of the group below it, together with the
//! place it belongs to, so that who is next is known at the root without a search. Changing one deadline climbs to the root:
//! three steps for up to 64 slots, and always all of them, since how far a change goes cannot be foreseen. On the way it
//! looks at the other cells of each group only, which do not depend on the steps before: so the steps overlap. Measured
//! faster than two cells to a group, than stopping where nothing changes, than searching for the first from the root, and than
//! comparing all cells of a group once the new one is in it, which takes fewer instructions but has to wait for it.
//! Equal deadlines go to the slot that is first in the order.

use crate::Time;
use alloc::vec;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// Cells in a group.
const WIDTH: usize = 4;

/// Number of the group after those of the two highest levels.
const TOP: usize = 2 * WIDTH;

/// Number of the first cell of the third level, which every tree has: it is the lowest for up to 64 slots.
const THIRD_LEVEL: usize = WIDTH * WIDTH * WIDTH;

/// A deadline, and 32 bits each of the slot's place in the order and of the slot: the smallest is whose turn it is.
#[derive(Clone, Copy, Debug)]
struct Cell {
    time: Time,
    tag: u64,
}

/// Cells, taken apart so that where one is needs no multiplication.
#[derive(Clone, Copy, Debug)]
struct Group {
    times: [Time; WIDTH],
    tags: [u64; WIDTH],
}

impl Group {
    #[inline(always)]
    fn cell(&self, lane: usize) -> Cell {
        Cell { time: self.times[lane], tag: self.tags[lane] }
    }

    /// Puts `value` into `lane`; returns the least.
    #[inline(always)]
    fn put(&mut self, lane: usize, value: Cell) -> Cell {
        (self.times[lane], self.tags[lane]) = (value.time, value.tag);
        let pair = !lane & 2;
        let across = self.cell(pair).or_earlier(self.cell(pair + 1));
        value.or_smaller(self.cell(lane ^ 1).or_smaller(across))
    }
}

/// Without branches: which one is taken cannot be foreseen.
impl Cell {
    #[inline(always)]
    fn or(self, other: Cell, is_other: bool) -> Cell {
        Cell {
            time: select_unpredictable(is_other, other.time, self.time),
            tag: select_unpredictable(is_other, other.tag, self.tag),
        }
    }
    /// The smaller of two.
    #[inline(always)]
    fn or_smaller(self, other: Cell) -> Cell {
        let whole = |cell: Cell| u128::from(cell.time.as_nanos()) << 64 | u128::from(cell.tag);
        self.or(other, whole(other) < whole(self))
    }
    /// The smaller of two, of which this one is first in the order.
    #[inline(always)]
    fn or_earlier(self, other: Cell) -> Cell {
        self.or(other, other.time < self.time)
    }
}

/// The deadlines of a fixed number of slots.
#[derive(Clone, Debug)]
pub struct Deadlines {
    /// Group `g` has the cells from `4 g` on and stands below cell `g`. Those that the numbers leave out are not looked at.
    groups: Vec<Group>,
    /// In their place, those of the two highest levels: group 1, which is the root's, and the four below it.
    top: [Group; TOP],
    /// The least of the root's group.
    least: Cell,
    /// Number of the first cell of the lowest level.
    lowest: usize,
    /// The tag of each slot's cell. Its place is that of the cell, counted from the first of the lowest level.
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
        let mut lowest = THIRD_LEVEL;
        while lowest < order.len() {
            lowest *= WIDTH;
        }
        let slots = order.iter().map(|&slot| slot as usize + 1).max().unwrap_or(0);
        let mut tags = vec![u64::MAX; slots];
        for (place, &slot) in order.iter().enumerate() {
            tags[slot as usize] = (place as u64) << 32 | u64::from(slot);
        }
        let never = Group { times: [Time::NEVER; WIDTH], tags: [u64::MAX; WIDTH] };
        let least = Cell { time: Time::NEVER, tag: 0 };
        let mut deadlines =
            Deadlines { groups: vec![never; lowest / 2], top: [never; TOP], least, lowest, tags };
        for &slot in order {
            deadlines.set(slot as usize, Time::NEVER);
        }
        deadlines
    }

    /// The earliest deadline of all.
    #[inline]
    pub fn next(&self) -> Time {
        self.least.time
    }

    /// The slot that [`Deadlines::next`] belongs to; the first in the order where no slot has one.
    #[inline]
    pub fn first(&self) -> usize {
        self.least.tag as u32 as usize
    }

    /// Gives `slot` the deadline `time` in place of the one it had.
    #[inline]
    pub fn set(&mut self, slot: usize, time: Time) {
        let tag = self.tags[slot];
        let mut number = self.lowest + (tag >> 32) as usize;
        let mut least = Cell { time, tag };
        while number >= THIRD_LEVEL * WIDTH {
            (number, least) = self.climb(number, least);
        }
        // The last three steps written out: in a loop the compiler makes branches of them.
        (number, least) = self.climb(number, least);
        least = self.top[number / WIDTH % TOP].put(number % WIDTH, least);
        number /= WIDTH;
        self.least = self.top[1].put(number % WIDTH, least);
    }

    /// Puts `value` into the cell `number`; returns the cell above and the least of its group.
    #[inline(always)]
    fn climb(&mut self, number: usize, value: Cell) -> (usize, Cell) {
        let above = number / WIDTH;
        (above, self.groups[above].put(number % WIDTH, value))
    }

    /// The deadline of `slot`.
    #[inline]
    pub fn get(&self, slot: usize) -> Time {
        let number = self.lowest + (self.tags[slot] >> 32) as usize;
        self.groups[number / WIDTH].times[number % WIDTH]
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
