//! The choice among the queues of one slice: its members, costs and bounds.

use super::{Queues, RbgCapacity};

/// Inflation of a slice's packets for the choice, in 1/65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inflation(u32);

impl Inflation {
    const ONE: u64 = 1 << 16;
    /// No inflation.
    pub const NONE: Inflation = Inflation(1 << 16);

    /// The factor `1 + 5 f^5` for the part `f` of its limit that a slice has borrowed, rounded to 1/65536.
    pub fn from_borrowed(borrowed_rbs: i64, limit_rbs: i64) -> Inflation {
        if borrowed_rbs <= 0 {
            return Inflation::NONE;
        }
        let fraction = (borrowed_rbs as f64 / limit_rbs.max(1) as f64).min(1.0);
        let square = fraction * fraction;
        Inflation(((1.0 + 5.0 * (square * square * fraction)) * 65536.0 + 0.5) as u32)
    }
    #[cfg(test)]
    pub fn from_sixteenths(sixteenths: u32) -> Inflation {
        Inflation(sixteenths << 12)
    }
    pub fn is_none(self) -> bool {
        self == Inflation::NONE
    }
    /// The inflated size of `bytes`, rounded up.
    #[inline]
    pub fn inflate(self, bytes: u32) -> u64 {
        (u64::from(bytes) * u64::from(self.0)).div_ceil(Inflation::ONE)
    }
    /// An upper bound, close to exact, on the bytes whose inflated size is at most `bytes`.
    pub fn deflate(self, bytes: u32) -> u32 {
        match self.is_none() {
            true => bytes,
            false => (bytes as f64 * (65536.0 / f64::from(self.0))) as u32 + 1,
        }
    }
}

/// The queues of one slice and the bounds of a choice among them.
#[derive(Debug)]
pub(super) struct Problem<'a, Q> {
    pub queues: &'a Q,
    pub channels: &'a [RbgCapacity],
    /// Queues with a known channel: ascending from one on, and then from the first to that one.
    pub members: &'a [u32],
    pub inflation: Inflation,
    /// Capacity in groups at the inflated size.
    pub capacity: u16,
    /// Budget in groups at the real size, if it may be binding.
    pub budget: Option<u16>,
    /// True if the sum of groups at the real size is kept within the budget; otherwise only that of each
    /// queue is.
    pub is_limited: bool,
}

impl<Q> Problem<'_, Q> {
    /// Number of distinct values of the real groups.
    pub fn depth(&self) -> usize {
        self.budget.filter(|_| self.is_limited).map_or(1, |budget| usize::from(budget) + 1)
    }
}

impl<Q: Queues> Problem<'_, Q> {
    /// Costs of `bytes` from the head of a queue: groups, and groups at the real size, which are 0 if they are not limited.
    /// `None` if they do not fit.
    #[inline]
    pub fn cost(&self, channel: &RbgCapacity, bytes: u32) -> Option<(u16, u16)> {
        let groups = channel.groups_for(self.inflation.inflate(bytes))?;
        if groups > self.capacity {
            return None;
        }
        let Some(budget) = self.budget else { return Some((groups, 0)) };
        let real = channel.groups_for(u64::from(bytes))?;
        (real <= budget).then_some((groups, real))
    }
    /// Adds the costs of 1, 2, … packets from the head of a queue, as many as fit.
    #[cfg(test)]
    pub fn push_costs(&self, queue: u32, channel: usize, costs: &mut alloc::vec::Vec<(u16, u16)>) {
        let (channel, head) = (&self.channels[channel], self.queues.head(queue as usize));
        let packets = 1..=head.ends.len().min(super::MOST_PACKETS);
        costs.extend(packets.map_while(|packets| self.cost(channel, head.bytes(packets))));
    }
}

/// A number of packets from the head of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    pub packets: u16,
    /// Cost in groups at the inflated size.
    pub groups: u16,
    /// Cost in groups at the real size; 0 if it is not limited.
    pub charged: u16,
}
