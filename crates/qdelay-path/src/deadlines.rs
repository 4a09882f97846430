//! Which node runs next: a tree of minima over one deadline for each node.
//!
//! Each pair of siblings holds the least deadlines of its two halves, so the next deadline of all is at the top, and
//! changing one costs as many steps as the tree is high (three for eight nodes), fewer where a minimum does not change.
//! Equal deadlines go to the lower slot.

use crate::NodeId;
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::Time;

/// The deadlines of all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Deadlines {
    /// The least of all; `u64::MAX` stands for "never".
    least: u64,
    /// Pairs 1.. of a binary heap's layout: the children of pair `i` are the pairs `2 i` and `2 i + 1`. The lower half of the
    /// tree holds the deadlines themselves.
    pairs: Vec<[u64; 2]>,
    /// The place of each node: twice the pair, plus the side.
    place_of: Vec<u32>,
    /// The node of each place, counted from the first.
    node_of: Vec<u16>,
}

impl Deadlines {
    /// No deadline for any node. `order` holds each node once: among equal deadlines, earlier in `order` runs first.
    pub(crate) fn new(order: &[u16]) -> Deadlines {
        let places = order.len().next_power_of_two().max(2);
        let mut place_of = vec![0; order.len()];
        for (slot, &node) in order.iter().enumerate() {
            place_of[usize::from(node)] = (places + slot) as u32;
        }
        Deadlines { least: u64::MAX, pairs: vec![[u64::MAX; 2]; places], place_of, node_of: order.to_vec() }
    }

    /// The earliest deadline of all.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        Time::from_nanos(self.least)
    }

    /// The node that [`Deadlines::next`] belongs to.
    #[inline]
    pub(crate) fn first(&self) -> NodeId {
        let mut place = 1;
        while let Some(pair) = self.pairs.get(place) {
            place = 2 * place + usize::from(pair[1] < pair[0]);
        }
        NodeId(self.node_of[place - self.pairs.len()])
    }

    /// Gives `node` the deadline `time` in place of the one it had.
    #[inline]
    pub(crate) fn set(&mut self, node: NodeId, time: Time) {
        let mut place = self.place_of[node.index()] as usize;
        let mut least = time.as_nanos();
        while place > 1 {
            let pair = &mut self.pairs[place / 2];
            let before = pair[0].min(pair[1]);
            pair[place % 2] = least;
            least = pair[0].min(pair[1]);
            if least == before {
                return;
            }
            place /= 2;
        }
        self.least = least;
    }

    /// The deadline of `node`.
    #[inline]
    pub(crate) fn get(&self, node: NodeId) -> Time {
        let place = self.place_of[node.index()] as usize;
        Time::from_nanos(self.pairs[place / 2][place % 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Random;

    #[test]
    fn the_first_is_the_least_and_ties_follow_the_order() {
        let mut random = Random::derive(1, "deadlines", "test");
        for count in 1..20_u16 {
            let order: Vec<u16> = (0..count).rev().collect();
            let mut tree = Deadlines::new(&order);
            let mut plain = vec![u64::MAX; usize::from(count)];
            assert_eq!(tree.next(), Time::NEVER);
            for _ in 0..200 {
                let node = random.below(u64::from(count)) as u16;
                let time = if random.below(4) == 0 { u64::MAX } else { random.below(5) };
                plain[usize::from(node)] = time;
                tree.set(NodeId(node), Time::from_nanos(time));
                let least = plain.iter().copied().min().unwrap_or(u64::MAX);
                assert_eq!(tree.next().as_nanos(), least);
                let first = order.iter().copied().find(|&n| plain[usize::from(n)] == least);
                assert_eq!(Some(tree.first().0), first);
                assert_eq!(tree.get(NodeId(node)).as_nanos(), time);
            }
        }
    }
}
