//! Order of the bearers of a UE: by priority, and in turns among equals.

use alloc::vec::Vec;

/// The bearers of a UE, numbered from 0, in the order of service.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    order: Vec<u8>,
    /// Priority of each bearer.
    priorities: Vec<u8>,
    has_equals: bool,
}

impl Turns {
    /// Bearers in the order of their priorities; among equals, in the order of their numbers. At most 32.
    pub fn new(priorities: Vec<u8>) -> Turns {
        debug_assert!(priorities.len() <= 32, "bearers are bits of 32");
        let mut order: Vec<u8> = (0..priorities.len()).map(|bearer| bearer as u8).collect();
        order.sort_by_key(|&bearer| priorities[usize::from(bearer)]);
        let has_equals =
            order.windows(2).any(|two| priorities[usize::from(two[0])] == priorities[usize::from(two[1])]);
        Turns { order, priorities, has_equals }
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }
    /// The bearer at position `place`.
    pub fn bearer_at(&self, place: usize) -> usize {
        self.order.get(place).copied().map_or(0, usize::from)
    }

    /// Ends a TTI in which the bearers of `sent` (one bit each) sent data: among equal priorities, the first of them moves
    /// behind the others.
    pub fn end(&mut self, sent: u32) {
        if !self.has_equals {
            return;
        }
        let mut place = 0;
        while let Some(&bearer) = self.order.get(place) {
            let priority = self.priorities[usize::from(bearer)];
            let equals = self.order[place..]
                .iter()
                .take_while(|&&other| self.priorities[usize::from(other)] == priority)
                .count();
            let group = &mut self.order[place..place + equals];
            if let Some(first) = group.iter().position(|&other| sent & 1 << other != 0) {
                group[first..].rotate_left(1);
            }
            place += equals;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_stay_and_equals_take_turns() {
        let mut turns = Turns::new([3, 1, 3, 3, 0].to_vec());
        let order = |turns: &Turns| (0..turns.len()).map(|place| turns.bearer_at(place)).collect::<Vec<_>>();
        assert_eq!(order(&turns), [4, 1, 0, 2, 3]);
        turns.end(0b11111);
        assert_eq!(order(&turns), [4, 1, 2, 3, 0]);
        turns.end(0b10010);
        assert_eq!(order(&turns), [4, 1, 2, 3, 0], "none of the equals sent");
        turns.end(0b01000);
        assert_eq!(order(&turns), [4, 1, 2, 0, 3], "2, which did not send, waits longest");
        assert_eq!(Turns::new(Vec::new()).len(), 0);
    }
}
