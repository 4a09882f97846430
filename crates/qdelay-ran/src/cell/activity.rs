//! The bearers with data to send, and the subset whose reports are passed in every TTI.

use alloc::vec;
use alloc::vec::Vec;

/// Numbers of the set bits, in ascending order.
#[inline]
pub(crate) fn ones(mut bits: u32) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        lowest
    })
}

/// A bit for each bearer of a UE, and one for each UE with any such bearer. A UE has at most 32 bearers.
#[derive(Clone, Debug)]
struct Bits {
    bearers: Vec<u32>,
    /// One bit per UE, 64 UEs per word.
    ues: Vec<u64>,
    /// UEs with a bit.
    count: usize,
}

impl Bits {
    fn new(ues: usize) -> Bits {
        Bits { bearers: vec![0; ues], ues: vec![0; ues.div_ceil(64)], count: 0 }
    }
    #[inline]
    fn set(&mut self, ue: usize, bearer: usize) {
        debug_assert!(bearer < 32, "a UE has at most 32 bearers");
        if self.bearers[ue] == 0 {
            self.ues[ue / 64] |= 1 << (ue % 64);
            self.count += 1;
        }
        self.bearers[ue] |= 1 << bearer;
    }
    #[inline]
    fn clear(&mut self, ue: usize, bearer: usize) {
        let before = self.bearers[ue];
        self.bearers[ue] &= !(1 << bearer);
        if before != 0 && self.bearers[ue] == 0 {
            self.ues[ue / 64] &= !(1 << (ue % 64));
            self.count -= 1;
        }
    }
    #[inline]
    fn has(&self, ue: usize, bearer: usize) -> bool {
        self.bearers[ue] & 1 << bearer != 0
    }
    /// The first UE from `from` on with a bit.
    #[inline]
    fn first_from(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.ues.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.ues.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }
}

/// The bearers with data, and the watched ones among them: these are reported in every TTI, while the reports
/// of the others wait ([`super::Source::may_wait`]).
#[derive(Clone, Debug)]
pub(super) struct Activity {
    with_data: Bits,
    watched: Bits,
    /// Bearers with data that are not watched.
    waiting: usize,
}

impl Activity {
    pub fn new(ues: usize) -> Activity {
        Activity { with_data: Bits::new(ues), watched: Bits::new(ues), waiting: 0 }
    }
    /// Records that bearer `bearer` of `ue` now has data, and watches it.
    #[inline]
    pub fn begin(&mut self, ue: usize, bearer: usize) {
        self.watch(ue, bearer);
        self.with_data.set(ue, bearer);
    }
    /// Records that bearer `bearer` of `ue` has no data left.
    #[inline]
    pub fn end(&mut self, ue: usize, bearer: usize) {
        self.watch(ue, bearer);
        self.with_data.clear(ue, bearer);
        self.watched.clear(ue, bearer);
    }
    /// Watches bearer `bearer` of `ue`: its reports do not wait.
    #[inline]
    pub fn watch(&mut self, ue: usize, bearer: usize) {
        self.waiting -= usize::from(self.waits(ue, bearer));
        self.watched.set(ue, bearer);
    }
    /// Stops watching bearer `bearer` of `ue`, which has data: its reports wait.
    #[inline]
    pub fn leave(&mut self, ue: usize, bearer: usize) {
        debug_assert!(self.has(ue, bearer), "only a bearer with data has reports");
        self.waiting += usize::from(self.watched.has(ue, bearer));
        self.watched.clear(ue, bearer);
    }
    #[inline]
    pub fn has(&self, ue: usize, bearer: usize) -> bool {
        self.with_data.has(ue, bearer)
    }
    /// Returns true if the bearer has data and its reports wait.
    #[inline]
    pub fn waits(&self, ue: usize, bearer: usize) -> bool {
        self.with_data.has(ue, bearer) && !self.watched.has(ue, bearer)
    }
    /// Returns true if the reports of any bearer wait.
    #[inline]
    pub fn any_waits(&self) -> bool {
        self.waiting > 0
    }
    /// The bearers of `ue` with data, as bits.
    #[inline]
    pub fn bearers(&self, ue: usize) -> u32 {
        self.with_data.bearers[ue]
    }
    /// The watched bearers of `ue`, as bits.
    #[inline]
    pub fn watched(&self, ue: usize) -> u32 {
        self.watched.bearers[ue]
    }
    /// Returns true if no UE has data.
    pub fn is_empty(&self) -> bool {
        self.with_data.count == 0
    }
    /// Number of UEs with data.
    pub fn ues(&self) -> usize {
        self.with_data.count
    }
    /// The first UE from `from` on with data.
    #[inline]
    pub fn first_from(&self, from: usize) -> Option<usize> {
        self.with_data.first_from(from)
    }
    /// The first UE from `from` on with a watched bearer.
    #[inline]
    pub fn first_watched(&self, from: usize) -> Option<usize> {
        self.watched.first_from(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_ue_with_data_is_found() {
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

    #[test]
    fn watched_bearers_have_data() {
        let mut activity = Activity::new(70);
        activity.begin(65, 2);
        activity.begin(65, 4);
        assert!(activity.first_watched(0) == Some(65) && !activity.waits(65, 2));
        activity.leave(65, 2);
        assert!(activity.waits(65, 2) && activity.watched(65) == 1 << 4 && activity.ues() == 1);
        activity.end(65, 4);
        assert!(activity.first_watched(0).is_none() && activity.first_from(0) == Some(65));
        activity.watch(65, 2);
        assert!(activity.first_watched(65) == Some(65) && !activity.waits(65, 2));
        activity.leave(65, 2);
        activity.end(65, 2);
        assert!(activity.is_empty() && !activity.waits(65, 2));
    }
}
