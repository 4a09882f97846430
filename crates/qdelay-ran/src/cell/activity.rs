//! The bearers with data to send.

use alloc::vec;
use alloc::vec::Vec;

/// A bit for each bearer with data, and one for each UE with any such bearer. A UE has at most 32 bearers.
#[derive(Clone, Debug)]
pub(super) struct Activity {
    bearers: Vec<u32>,
    /// One bit per UE, 64 UEs per word.
    ues: Vec<u64>,
    /// UEs with a bit.
    count: usize,
}

impl Activity {
    pub fn new(ues: usize) -> Activity {
        Activity { bearers: vec![0; ues], ues: vec![0; ues.div_ceil(64)], count: 0 }
    }
    /// Bearer `bearer` of `ue` now has data.
    #[inline]
    pub fn begin(&mut self, ue: usize, bearer: usize) {
        if self.bearers[ue] == 0 {
            self.ues[ue / 64] |= 1 << (ue % 64);
            self.count += 1;
        }
        self.bearers[ue] |= 1 << bearer;
    }
    /// Bearer `bearer` of `ue` has no data left.
    #[inline]
    pub fn end(&mut self, ue: usize, bearer: usize) {
        let before = self.bearers[ue];
        self.bearers[ue] &= !(1 << bearer);
        if before != 0 && self.bearers[ue] == 0 {
            self.ues[ue / 64] &= !(1 << (ue % 64));
            self.count -= 1;
        }
    }
    #[inline]
    pub fn has(&self, ue: usize, bearer: usize) -> bool {
        self.bearers[ue] & 1 << bearer != 0
    }
    /// The bearers of `ue` with data, as bits.
    #[inline]
    pub fn bearers(&self, ue: usize) -> u32 {
        self.bearers[ue]
    }
    /// Whether no UE has data.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// The first UE from `from` on with data.
    #[inline]
    pub fn first_from(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.ues.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.ues.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ues_with_bearers() {
        let mut activity = Activity::new(130);
        let all = |activity: &Activity| {
            let mut found = Vec::new();
            while let Some(ue) = activity.first_from(found.last().map_or(0, |last| last + 1)) {
                found.push(ue);
            }
            found
        };
        assert!(activity.is_empty() && all(&activity).is_empty());
        for (ue, bearer) in [(129, 3), (0, 0), (63, 29), (64, 1), (0, 5), (0, 5)] {
            activity.begin(ue, bearer);
        }
        assert_eq!(all(&activity), [0, 63, 64, 129]);
        assert_eq!(activity.bearers(0), 0b10_0001);
        assert!(activity.has(63, 29) && !activity.has(63, 28));
        activity.end(0, 0);
        assert_eq!(all(&activity).len(), 4);
        activity.end(0, 5);
        activity.end(0, 5);
        assert_eq!(all(&activity), [63, 64, 129]);
    }
}
