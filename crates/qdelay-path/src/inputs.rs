//! The inputs of a gate or link, and their order.

use crate::NodeId;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Order in which a gate or link serves its inputs. One input at a time holds the place: a packet of another input does
/// not pass one that a gate holds back, unless it comes first in the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PullOrder {
    /// A packet of each in turn, inputs without packets left out.
    #[default]
    RoundRobin,
    /// Always of the first connected that has one.
    StrictPriority,
    /// Each input in turn up to `quantum_bytes` and the remainder of its last turn (Shreedhar and Varghese 1995). An input that
    /// runs empty loses its remainder. Its inputs must be queues.
    DeficitRoundRobin {
        /// Bytes that each turn adds, in the gate's unit; at least 1.
        quantum_bytes: u32,
    },
}

/// The inputs of a gate or link.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) order: PullOrder,
    /// Index of the input whose turn it is.
    pub(crate) turn: usize,
    /// Only with deficit round robin.
    pub(crate) deficits: Option<Box<Deficits>>,
}

impl Inputs {
    pub(crate) fn new(nodes: Vec<NodeId>, order: PullOrder) -> Inputs {
        let deficits = match order {
            PullOrder::DeficitRoundRobin { quantum_bytes } => {
                Some(Box::new(Deficits::new(nodes.clone(), quantum_bytes)))
            }
            PullOrder::RoundRobin | PullOrder::StrictPriority => None,
        };
        Inputs { nodes, order, turn: 0, deficits }
    }
    /// The input to ask first.
    #[inline]
    pub(crate) fn first(&self) -> usize {
        match self.order {
            PullOrder::StrictPriority => 0,
            PullOrder::RoundRobin | PullOrder::DeficitRoundRobin { .. } => self.turn,
        }
    }
    /// The input to ask after `index`.
    #[inline]
    pub(crate) fn after(&self, index: usize) -> usize {
        if index + 1 < self.nodes.len() { index + 1 } else { 0 }
    }
}

/// The state of deficit round robin.
#[derive(Clone, Debug)]
pub(crate) struct Deficits {
    pub(crate) nodes: Vec<NodeId>,
    quantum: i64,
    /// The bytes that each input may still send. Negative after a discipline returned a larger packet than its head.
    left: Vec<i64>,
    turn: usize,
    /// Whether the input whose turn it is has got its quantum.
    has_quantum: bool,
}

impl Deficits {
    fn new(nodes: Vec<NodeId>, quantum_bytes: u32) -> Deficits {
        let left = vec![0; nodes.len()];
        // The builder refuses a quantum of zero.
        Deficits { nodes, quantum: i64::from(quantum_bytes.max(1)), left, turn: 0, has_quantum: false }
    }

    /// The input whose head is to go next, and the head's size; `head` says the size of an input's head. Asked again with
    /// the same heads, it answers the same.
    pub(crate) fn choose(&mut self, head: impl Fn(NodeId) -> Option<u64>) -> Option<(usize, u64)> {
        loop {
            // Of the rounds to come, how many go by until the first head fits.
            let mut rounds = i64::MAX;
            for _ in 0..self.nodes.len() {
                let (input, left) = (*self.nodes.get(self.turn)?, self.left.get_mut(self.turn)?);
                match head(input) {
                    None => *left = 0,
                    Some(bytes) => {
                        let size = i64::try_from(bytes).unwrap_or(i64::MAX / 2);
                        if !self.has_quantum {
                            *left = left.saturating_add(self.quantum);
                            self.has_quantum = true;
                        }
                        if *left >= size {
                            return Some((self.turn, bytes));
                        }
                        rounds = rounds.min((size.saturating_sub(*left) - 1) / self.quantum);
                    }
                }
                self.turn = if self.turn + 1 < self.nodes.len() { self.turn + 1 } else { 0 };
                self.has_quantum = false;
            }
            if rounds == i64::MAX {
                return None;
            }
            // These would only add up: all at once, so that a small quantum costs nothing.
            let skipped = rounds.saturating_mul(self.quantum);
            for (input, left) in self.nodes.iter().zip(&mut self.left) {
                if head(*input).is_some() {
                    *left = left.saturating_add(skipped);
                }
            }
        }
    }

    /// A packet of `bytes` was taken from the input `index`.
    pub(crate) fn taken(&mut self, index: usize, bytes: u64) {
        if let Some(left) = self.left.get_mut(index) {
            *left = left.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX / 2));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use qdelay_core::Random;

    /// The textbook: visit an active queue, add the quantum, send while it lasts, round after round.
    fn literal(mut queues: Vec<VecDeque<u64>>, quantum: u64) -> Vec<(usize, u64)> {
        let (mut deficit, mut out) = (vec![0; queues.len()], Vec::new());
        while queues.iter().any(|queue| !queue.is_empty()) {
            for (index, queue) in queues.iter_mut().enumerate() {
                if queue.is_empty() {
                    continue;
                }
                deficit[index] += quantum;
                while let Some(&size) = queue.front()
                    && size <= deficit[index]
                {
                    deficit[index] -= size;
                    out.push((index, size));
                    queue.pop_front();
                }
                if queue.is_empty() {
                    deficit[index] = 0;
                }
            }
        }
        out
    }

    #[test]
    fn the_order_is_that_of_the_textbook() {
        let mut random = Random::derive(1, "deficits", "test");
        for _ in 0..300 {
            let count = 1 + random.below(5) as usize;
            let quantum = 1 + random.below(3000);
            let mut queues: Vec<VecDeque<u64>> =
                (0..count).map(|_| (0..random.below(20)).map(|_| 1 + random.below(1500)).collect()).collect();
            let expected = literal(queues.clone(), quantum);
            let nodes = (0..count as u32).map(NodeId).collect();
            let mut deficits = Deficits::new(nodes, quantum as u32);
            let mut out = Vec::new();
            loop {
                let head = |id: NodeId| queues[id.index()].front().copied();
                let chosen = deficits.choose(head);
                assert_eq!(deficits.choose(head), chosen, "asked twice");
                let Some((index, size)) = chosen else { break };
                out.push((index, size));
                queues[index].pop_front();
                deficits.taken(index, size);
            }
            assert_eq!(out, expected, "quantum {quantum}");
        }
    }

    #[test]
    fn a_tiny_quantum_and_a_huge_packet_cost_no_rounds() {
        let mut deficits = Deficits::new(vec![NodeId(0), NodeId(1)], 1);
        let heads = [u64::from(u32::MAX), u64::MAX];
        assert_eq!(deficits.choose(|id| heads.get(id.index()).copied()), Some((0, u64::from(u32::MAX))));
    }
}
