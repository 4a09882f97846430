//! The choice among the queues of one slice.

use super::Channel;

/// How much larger a slice's packets are made for the choice, in 1/65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inflation(u32);

impl Inflation {
    const ONE: u64 = 1 << 16;
    /// Packets count as what they are.
    pub const NONE: Inflation = Inflation(1 << 16);

    /// `1 + 5 f^5` for the part `f` of its limit that a slice has borrowed, rounded to 1/65536.
    pub fn of(borrowed_rbs: i64, limit_rbs: i64) -> Inflation {
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
    /// What `bytes` count as, rounded up.
    #[inline]
    pub fn inflate(self, bytes: u32) -> u64 {
        (u64::from(bytes) * u64::from(self.0)).div_ceil(Inflation::ONE)
    }
    /// At least the most bytes that count as no more than `bytes`, and few more.
    pub fn deflate(self, bytes: u32) -> u32 {
        match self.is_none() {
            true => bytes,
            false => (bytes as f64 * (65536.0 / f64::from(self.0))) as u32 + 1,
        }
    }
}

/// The queues of one slice and what bounds a choice among them.
#[derive(Debug)]
pub(super) struct Problem<'a, Q> {
    pub queues: &'a Q,
    pub channels: &'a [Channel],
    /// Queues, with a channel that there is: ascending from one on, and then from the first to that one.
    pub members: &'a [u32],
    pub inflation: Inflation,
    /// Groups at the size that selects.
    pub capacity: u16,
    /// Groups at the real size, where these may bind.
    pub budget: Option<u16>,
    /// Whether the sum of groups at the real size is kept within the budget. Otherwise only each queue's is.
    pub is_limited: bool,
}
