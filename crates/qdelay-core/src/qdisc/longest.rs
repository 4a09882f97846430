//! The longest of many buckets: a tournament over their lengths.
//!
//! Every bucket is a leaf of a complete binary tree, and every node above holds the longer of its two
//! children, or the lower of two equal ones. A changed length is compared upwards again, at most
//! log2(buckets) times, up to the first node where another bucket won before and still wins.

use alloc::vec;
use alloc::vec::Vec;

/// The tournament. Lengths are those passed last to [`Longest::set`].
#[derive(Clone, Debug)]
pub(super) struct Longest {
    /// Length of each bucket, padded with zeros to a power of two.
    lengths: Vec<u64>,
    /// Winners: node `i` has the children `2 i` and `2 i + 1`; leaf `b` is node `lengths.len() + b` and needs
    /// no entry.
    winners: Vec<u32>,
}

impl Longest {
    /// The tournament over these lengths, of which there must be at least one.
    pub(super) fn new(lengths: impl ExactSizeIterator<Item = u64>) -> Longest {
        let leaves = lengths.len().max(2).next_power_of_two();
        let mut longest = Longest { lengths: lengths.collect(), winners: vec![0; leaves] };
        longest.lengths.resize(leaves, 0);
        for node in (1..leaves).rev() {
            longest.winners[node] = longest.play(node);
        }
        longest
    }

    /// Sets the length of `bucket`.
    #[inline]
    pub(super) fn set(&mut self, bucket: u32, length: u64) {
        if core::mem::replace(&mut self.lengths[bucket as usize], length) == length {
            return;
        }
        let mut node = (self.lengths.len() + bucket as usize) / 2;
        while node > 0 {
            let winner = self.play(node);
            let before = core::mem::replace(&mut self.winners[node], winner);
            if winner == before && winner != bucket {
                return;
            }
            node /= 2;
        }
    }

    /// The longest bucket; among equals, the lowest.
    #[inline]
    pub(super) fn winner(&self) -> u32 {
        self.winners[1]
    }

    #[inline]
    fn play(&self, node: usize) -> u32 {
        let (low, high) = (self.entrant(2 * node), self.entrant(2 * node + 1));
        if self.lengths[high as usize] > self.lengths[low as usize] { high } else { low }
    }

    #[inline]
    fn entrant(&self, node: usize) -> u32 {
        let leaves = self.lengths.len();
        if node >= leaves { (node - leaves) as u32 } else { self.winners[node] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// Compares tournaments of every size with a scan, with many ties.
    #[test]
    fn the_winner_is_the_lowest_of_the_longest() {
        let mut random = Random::derive(1, "longest", "test");
        for size in 1..=33usize {
            let mut lengths: Vec<u64> = (0..size).map(|_| random.below(4)).collect();
            let mut longest = Longest::new(lengths.iter().copied());
            for _ in 0..300 {
                let most = lengths.iter().max().unwrap();
                let expected = lengths.iter().position(|length| length == most).unwrap();
                assert_eq!(longest.winner() as usize, expected, "{lengths:?}");
                let bucket = random.below(size as u64) as usize;
                lengths[bucket] = random.below(5);
                longest.set(bucket as u32, lengths[bucket]);
            }
        }
    }
}
