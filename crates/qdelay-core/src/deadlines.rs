//! The next event: a tree of minima over one deadline for each slot.
//!
//! Entries form groups of four. Each entry above the lowest level is the minimum of the group below it. An
//! entry is one number: the deadline in its high bits, and in its lowest bits the slot's position in the
//! order. The root therefore gives the next slot without a search, and equal deadlines need no further
//! comparison: the slot that is first in the order wins.
//!
//! Changing one deadline climbs to the root: three steps for up to 64 slots, and always all of them, since
//! the extent of a change cannot be predicted. The climb reads only the other entries of each group, which do
//! not depend on earlier steps, so the steps overlap. This was measured to be faster than groups of two, than
//! stopping where nothing changes, than searching for the first slot from the root, and than comparing all
//! entries of a group after the new one is stored, which takes fewer instructions but has to wait for the
//! store. (The measurements were made when an entry was two numbers.)
//!
//! The position takes as many bits as the number of slots needs, and the deadline the rest. A deadline beyond
//! [`Deadlines::horizon`] is stored as the horizon, and so comes early: the horizon is 2.3 years for up to
//! 256 slots, 78 hours for up to 65536.

use crate::Time;
use alloc::vec;
use alloc::vec::Vec;

/// Entries in a group.
const WIDTH: usize = 4;

/// Number of the first entry of the third level, which every tree has: it is the lowest level for up to 64
/// slots.
const THIRD_LEVEL: usize = WIDTH * WIDTH * WIDTH;

/// Number of entries of the three highest levels, with the unused numbers among them.
const TOP: usize = THIRD_LEVEL * 2;

/// Stores `value` in the entry `number` of `entries`; returns the minimum of its group. The code has no
/// branches, because their outcome cannot be predicted.
#[inline(always)]
fn put(entries: &mut [u64; TOP], number: usize, value: u64) -> u64 {
    entries[number % TOP] = value;
    let pair = (number ^ 2) & !1;
    let across = entries[pair % TOP].min(entries[(pair + 1) % TOP]);
    value.min(entries[(number ^ 1) % TOP].min(across))
}

/// The deadlines of a fixed number of slots.
#[derive(Clone, Debug)]
pub struct Deadlines {
    /// Entries of the three highest levels: entries `4 n` to `4 n + 3` are below entry `n`. Others are never
    /// read.
    top: [u64; TOP],
    /// Entries below those levels, indexed by entry number; empty for up to 64 slots.
    deep: Vec<u64>,
    /// Minimum of the group below the root, as an entry: deadline and position.
    least: u64,
    least_nanos: u64,
    /// Number of the first entry of the lowest level.
    lowest: usize,
    /// Value of the deadline bits for a slot without a deadline.
    never: u64,
    /// Number of low bits of an entry that hold the slot's position in the order.
    bits: u32,
    /// The position of each slot.
    places: Vec<u32>,
    /// The slot at each position.
    slots: Vec<u32>,
}

impl Deadlines {
    /// A tree of `slots` slots without deadlines; among equal deadlines the lower slot runs first.
    pub fn new(slots: usize) -> Deadlines {
        Deadlines::with_order(&(0..slots as u32).collect::<Vec<u32>>())
    }

    /// A tree without deadlines. `order` holds each slot once that will ever have a deadline (no other may be
    /// set): among equal deadlines, the slot that is earlier in `order` runs first.
    pub fn with_order(order: &[u32]) -> Deadlines {
        let mut lowest = THIRD_LEVEL;
        while lowest < order.len() {
            lowest *= WIDTH;
        }
        let slots = order.iter().map(|&slot| slot as usize + 1).max().unwrap_or(0);
        let mut places = vec![u32::MAX; slots];
        for (place, &slot) in order.iter().enumerate() {
            places[slot as usize] = place as u32;
        }
        // The position takes the low bits of an entry, so that equal deadlines compare by position.
        let bits = order.len().next_power_of_two().trailing_zeros();
        let mut deadlines = Deadlines {
            top: [u64::MAX; TOP],
            deep: if lowest > THIRD_LEVEL { vec![u64::MAX; 2 * lowest] } else { Vec::new() },
            least: u64::MAX << bits,
            least_nanos: u64::MAX >> bits,
            lowest,
            never: u64::MAX >> bits,
            bits,
            places,
            slots: if order.is_empty() { vec![0] } else { order.to_vec() },
        };
        for &slot in order {
            deadlines.set(slot as usize, Time::NEVER);
        }
        deadlines
    }

    /// The latest deadline that can be stored exactly; later ones become this.
    pub const fn horizon(&self) -> Time {
        Time::from_nanos(self.never - 1)
    }

    /// The earliest deadline of all.
    #[inline]
    pub fn next(&self) -> Time {
        self.time(self.least_nanos)
    }

    /// Returns true if a deadline is not later than `last`.
    #[inline(always)]
    pub fn is_due(&self, last: Time) -> bool {
        self.least_nanos <= last.as_nanos() && self.least_nanos != self.never
    }

    /// The earliest deadline and its slot, if it is not later than `last`.
    #[inline(always)]
    pub fn due(&self, last: Time) -> Option<(Time, usize)> {
        self.is_due(last).then(|| (Time::from_nanos(self.least_nanos), self.first()))
    }

    /// The slot that [`Deadlines::next`] belongs to; the first in the order if no slot has a deadline.
    #[inline]
    pub fn first(&self) -> usize {
        self.slots[(self.least & !(u64::MAX << self.bits)) as usize] as usize
    }

    /// The time for the deadline bits `nanos` of an entry.
    #[inline(always)]
    fn time(&self, nanos: u64) -> Time {
        if nanos == self.never { Time::NEVER } else { Time::from_nanos(nanos) }
    }

    /// Replaces the deadline of `slot` by `time`.
    #[inline]
    pub fn set(&mut self, slot: usize, time: Time) {
        let place = self.places[slot];
        let mut nanos = time.as_nanos();
        if nanos >= self.never {
            nanos = self.never - u64::from(time != Time::NEVER);
        }
        let mut number = self.lowest + place as usize;
        let mut least = nanos << self.bits | u64::from(place);
        while number >= TOP {
            let group = &mut self.deep[number & !(WIDTH - 1)..][..WIDTH];
            group[number % WIDTH] = least;
            least = group[0].min(group[1]).min(group[2].min(group[3]));
            number /= WIDTH;
        }
        // The last three steps are unrolled: the compiler would make branches of a loop.
        least = put(&mut self.top, number, least);
        least = put(&mut self.top, number / WIDTH, least);
        self.least = put(&mut self.top, number / (WIDTH * WIDTH), least);
        self.least_nanos = self.least >> self.bits;
    }

    /// The deadline of `slot`.
    #[inline]
    pub fn get(&self, slot: usize) -> Time {
        let number = self.lowest + self.places[slot] as usize;
        let entry = if number < TOP { self.top[number] } else { self.deep[number] };
        self.time(entry >> self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn the_earliest_deadline_is_next_and_ties_follow_the_order() {
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

    #[test]
    fn a_deadline_beyond_the_horizon_is_stored_as_the_horizon() {
        for slots in [1, 3, 256, 70_000] {
            let mut deadlines = Deadlines::new(slots);
            let horizon = deadlines.horizon();
            assert!(horizon > Time::ZERO + crate::Span::from_secs(36 * 3600), "{slots}");
            deadlines.set(slots - 1, horizon);
            assert_eq!((deadlines.next(), deadlines.first()), (horizon, slots - 1));
            deadlines.set(slots - 1, Time::from_nanos(u64::MAX - 1));
            assert_eq!((deadlines.next(), deadlines.first()), (horizon, slots - 1));
            deadlines.set(slots - 1, Time::NEVER);
            assert_eq!((deadlines.next(), deadlines.first()), (Time::NEVER, 0));
        }
    }
}
