//! Which node runs next: a tree of minima over one deadline for each node.
//!
//! Each inner cell holds the smaller of its two children, so the next deadline is at the root, and changing one costs
//! as many steps as the tree is high (three for eight nodes), fewer where a minimum does not change. Equal deadlines go
//! to the lower slot.

use crate::NodeId;
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::Time;

/// The deadlines of all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Deadlines {
    /// Cells 1.. of a binary heap's layout; the leaves are the upper half. `u64::MAX` stands for "never".
    cells: Vec<u64>,
    /// The leaf of each node.
    leaf_of: Vec<u32>,
    /// The node of each leaf, counted from the first leaf.
    node_of: Vec<u16>,
}

impl Deadlines {
    /// No deadline for any node. `order` holds each node once: among equal deadlines, earlier in `order` runs first.
    pub(crate) fn new(order: &[u16]) -> Deadlines {
        let leaves = order.len().next_power_of_two();
        let mut leaf_of = vec![0; order.len()];
        for (slot, &node) in order.iter().enumerate() {
            leaf_of[usize::from(node)] = (leaves + slot) as u32;
        }
        Deadlines { cells: vec![u64::MAX; 2 * leaves], leaf_of, node_of: order.to_vec() }
    }

    /// The earliest deadline of all.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        Time::from_nanos(self.cells[1])
    }

    /// The node that [`Deadlines::next`] belongs to.
    #[inline]
    pub(crate) fn first(&self) -> NodeId {
        let leaves = self.cells.len() / 2;
        let mut cell = 1;
        while cell < leaves {
            cell *= 2;
            cell += usize::from(self.cells[cell + 1] < self.cells[cell]);
        }
        NodeId(self.node_of[cell - leaves])
    }

    /// Gives `node` the deadline `time` in place of the one it had.
    #[inline]
    pub(crate) fn set(&mut self, node: NodeId, time: Time) {
        let mut cell = self.leaf_of[node.index()] as usize;
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

    /// The deadline of `node`.
    #[inline]
    pub(crate) fn get(&self, node: NodeId) -> Time {
        Time::from_nanos(self.cells[self.leaf_of[node.index()] as usize])
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
