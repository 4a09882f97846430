//! The next event: a tree of minima over one deadline for each slot.
//!
//! Entries form groups of four. Each entry above the lowest level holds the minimum of the group below it, together with the
//! slot it belongs to, so that the root gives the next slot without a search. Changing one deadline climbs to the root: three
//! steps for up to 64 slots, and always all of them, since the extent of a change cannot be predicted. On the way the climb
//! reads only the other entries of each group, which do not depend on earlier steps, so the steps overlap. Measured faster
//! than groups of two, than stopping where nothing changes, than searching for the first slot from the root, and than
//! comparing all entries of a group after the new one is stored, which takes fewer instructions but has to wait for the
//! store. Among equal deadlines the slot that is first in the order wins.

use crate::Time;
use alloc::vec;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// Entries in a group.
const WIDTH: usize = 4;

/// Number of the group after the groups of the two highest levels.
const TOP: usize = 2 * WIDTH;

/// Number of the first entry of the third level, which every tree has: it is the lowest for up to 64 slots.
const THIRD_LEVEL: usize = WIDTH * WIDTH * WIDTH;

/// A deadline with a tag: 32 bits for the slot's position in the order and 32 bits for the slot. The smallest entry runs
/// next.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Time,
    tag: u64,
}

/// Entries as separate arrays, so that indexing needs no multiplication.
#[derive(Clone, Copy, Debug)]
struct Group {
    times: [Time; WIDTH],
    tags: [u64; WIDTH],
}

impl Group {
    #[inline(always)]
    fn entry(&self, lane: usize) -> Entry {
        Entry { time: self.times[lane], tag: self.tags[lane] }
    }

    /// Stores `value` in `lane`; returns the minimum.
    #[inline(always)]
    fn put(&mut self, lane: usize, value: Entry) -> Entry {
        (self.times[lane], self.tags[lane]) = (value.time, value.tag);
        let pair = !lane & 2;
        let across = self.entry(pair).or_earlier(self.entry(pair + 1));
        value.or_smaller(self.entry(lane ^ 1).or_smaller(across))
    }
}

/// Without branches, because their outcome cannot be predicted.
impl Entry {
    #[inline(always)]
    fn or(self, other: Entry, is_other: bool) -> Entry {
        Entry {
            time: select_unpredictable(is_other, other.time, self.time),
            tag: select_unpredictable(is_other, other.tag, self.tag),
        }
    }
    /// The smaller of two.
    #[inline(always)]
    fn or_smaller(self, other: Entry) -> Entry {
        let whole = |entry: Entry| u128::from(entry.time.as_nanos()) << 64 | u128::from(entry.tag);
        self.or(other, whole(other) < whole(self))
    }
    /// The smaller of two entries, of which `self` is first in the order.
    #[inline(always)]
    fn or_earlier(self, other: Entry) -> Entry {
        self.or(other, other.time < self.time)
    }
}

/// The deadlines of a fixed number of slots.
#[derive(Clone, Debug)]
pub struct Deadlines {
    /// Group `g` has the entries from `4 g` on and is below entry `g`. Groups whose numbers are skipped are never read.
    groups: Vec<Group>,
    /// Replaces the groups of the two highest levels: group 1, below the root, and the four below it.
    top: [Group; TOP],
    /// The minimum of the group below the root.
    least: Entry,
    /// Number of the first entry of the lowest level.
    lowest: usize,
    /// The tag of each slot's entry. The slot's position is that of the entry, counted from the first of the lowest level.
    tags: Vec<u64>,
}

impl Deadlines {
    /// No deadline for any of `slots` slots; among equal deadlines the lower slot runs first.
    pub fn new(slots: usize) -> Deadlines {
        Deadlines::with_order(&(0..slots as u32).collect::<Vec<u32>>())
    }

    /// No deadline for any slot. `order` holds each slot once that will ever have a deadline (no other may be set): among
    /// equal deadlines, the slot that is earlier in `order` runs first.
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
        let least = Entry { time: Time::NEVER, tag: 0 };
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

    /// The slot that [`Deadlines::next`] belongs to; the first in the order if no slot has a deadline.
    #[inline]
    pub fn first(&self) -> usize {
        self.least.tag as u32 as usize
    }

    /// Replaces the deadline of `slot` by `time`.
    #[inline]
    pub fn set(&mut self, slot: usize, time: Time) {
        let tag = self.tags[slot];
        let mut number = self.lowest + (tag >> 32) as usize;
        let mut least = Entry { time, tag };
        while number >= THIRD_LEVEL * WIDTH {
            (number, least) = self.climb(number, least);
        }
        // The last three steps are unrolled: the compiler would make branches of a loop.
        (number, least) = self.climb(number, least);
        least = self.top[number / WIDTH % TOP].put(number % WIDTH, least);
        number /= WIDTH;
        self.least = self.top[1].put(number % WIDTH, least);
    }

    /// Stores `value` in the entry `number`; returns the number of the entry above and the minimum of its group.
    #[inline(always)]
    fn climb(&mut self, number: usize, value: Entry) -> (usize, Entry) {
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
