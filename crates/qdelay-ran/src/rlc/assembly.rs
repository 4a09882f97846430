//! The received bytes of a unit: of a packet in NR, of a re-segmented PDU in LTE.

use alloc::vec::Vec;

/// The received bytes of one unit, as ordered ranges that neither overlap nor touch.
#[derive(Clone, Debug, Default)]
pub(super) struct Assembly {
    ranges: Vec<(u32, u32)>,
    /// Size of the unit, known once its last segment has arrived.
    end: Option<u32>,
}

impl Assembly {
    /// Adds `from..to`, with the unit's end if `last`. Returns false for a complete duplicate.
    pub fn add(&mut self, from: u32, to: u32, last: bool) -> bool {
        debug_assert!(from < to, "a segment has at least one byte");
        if last {
            self.end = Some(to);
        }
        let first = self.ranges.partition_point(|range| range.1 < from);
        let after = self.ranges.partition_point(|range| range.0 <= to);
        match self.ranges.get(first..after) {
            None | Some([]) => self.ranges.insert(first, (from, to)),
            Some([only]) if only.0 <= from && only.1 >= to => return false,
            Some(joined) => {
                let start = joined.first().map_or(from, |range| range.0.min(from));
                let stop = joined.last().map_or(to, |range| range.1.max(to));
                self.ranges.drain(first + 1..after);
                self.ranges[first] = (start, stop);
            }
        }
        debug_assert!(self.ranges.is_sorted_by(|a, b| a.1 < b.0), "ranges neither overlap nor touch");
        true
    }

    /// Returns true if every byte has arrived.
    pub fn is_whole(&self) -> bool {
        self.end.is_some_and(|end| self.ranges.as_slice() == [(0, end)])
    }

    /// Returns true if a byte before the last received one is missing.
    pub fn has_hole(&self) -> bool {
        !matches!(self.ranges.as_slice(), [] | [(0, _)])
    }

    /// Number of bytes from the first on without a gap.
    pub fn prefix(&self) -> u32 {
        match self.ranges.first() {
            Some(&(0, to)) => to,
            _ => 0,
        }
    }

    /// The missing ranges; the last has no end (`None`) if the size of the unit is unknown.
    pub fn gaps(&self) -> impl Iterator<Item = (u32, Option<u32>)> + '_ {
        let before = self.ranges.iter().scan(0, |from, &(start, stop)| {
            let gap = (*from, Some(start));
            *from = stop;
            Some(gap)
        });
        let reached = self.ranges.last().map_or(0, |range| range.1);
        let tail = self.end.is_none().then_some((reached, None));
        before.filter(|&(from, to)| to != Some(from)).chain(tail)
    }
}

/// Usual largest number of ranges at a time: more require as many missing segments of one unit.
const USUAL_RANGES: usize = 4;

/// Assemblies in use, reused with their allocations.
#[derive(Clone, Debug, Default)]
pub(super) struct Assemblies {
    all: Vec<Assembly>,
    free: Vec<u32>,
}

impl Assemblies {
    /// Adds an empty assembly.
    pub fn add(&mut self) -> u32 {
        match self.free.pop() {
            Some(id) => id,
            None => {
                // Capacity for the usual number, so that reuse never allocates.
                self.all.push(Assembly { ranges: Vec::with_capacity(USUAL_RANGES), end: None });
                self.all.len() as u32 - 1
            }
        }
    }
    #[inline]
    pub fn get(&self, id: u32) -> &Assembly {
        &self.all[id as usize]
    }
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut Assembly {
        &mut self.all[id as usize]
    }
    /// Removes `id`.
    pub fn remove(&mut self, id: u32) {
        let assembly = &mut self.all[id as usize];
        assembly.ranges.clear();
        assembly.end = None;
        self.free.push(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn ranges_join_and_gaps_are_the_rest() {
        let mut assembly = Assembly::default();
        assert_eq!(assembly.gaps().collect::<Vec<_>>(), vec![(0, None)]);
        assert!(assembly.add(10, 20, false) && assembly.has_hole());
        assert_eq!(assembly.gaps().collect::<Vec<_>>(), vec![(0, Some(10)), (20, None)]);
        assert!(assembly.add(30, 40, true));
        assert_eq!(assembly.gaps().collect::<Vec<_>>(), vec![(0, Some(10)), (20, Some(30))]);
        assert!(!assembly.add(12, 20, false));
        assert!(assembly.add(0, 10, false) && assembly.prefix() == 20 && !assembly.is_whole());
        assert!(assembly.add(15, 35, false) && assembly.is_whole() && !assembly.has_hole());
        assert_eq!(assembly.gaps().count(), 0);
    }

    #[test]
    fn an_assembly_equals_a_set_of_bytes() {
        let mut random = qdelay_core::Random::derive(1, "assembly", "test");
        for _ in 0..500 {
            let mut assembly = Assembly::default();
            let mut there = [false; 40];
            for _ in 0..12 {
                let from = random.below(39) as u32;
                let to = from + 1 + random.below(u64::from(39 - from) + 1) as u32;
                let news = there[from as usize..to as usize].contains(&false);
                there[from as usize..to as usize].fill(true);
                assert_eq!(assembly.add(from, to, to == 40), news);
                let mut missing = [false; 40];
                for (from, to) in assembly.gaps() {
                    missing[from as usize..to.unwrap_or(40) as usize].fill(true);
                }
                let whole = !there.contains(&false);
                assert!((0..40).all(|byte| missing[byte] != there[byte]), "{assembly:?}");
                assert_eq!(assembly.is_whole(), whole);
                assert_eq!(assembly.prefix() as usize, there.iter().take_while(|&&byte| byte).count());
                let reached = there.iter().rposition(|&byte| byte).unwrap_or(0);
                assert_eq!(assembly.has_hole(), there[..=reached].contains(&false));
            }
        }
    }
}
