//! The last service opportunities of a bearer: transmission time intervals (TTIs) in which it could have sent data.

use super::Served;

/// Bytes that a bearer could have sent in its last ten service opportunities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Opportunities {
    bytes: [u32; Opportunities::COUNT],
    turn: u8,
}

impl Opportunities {
    /// Number of opportunities: a frame of LTE, in which some TTIs carry less than others.
    pub(super) const COUNT: usize = 10;

    /// Records the report of a TTI. One in which the bearer could have sent nothing is no opportunity: an uplink
    /// slot, or a TTI that other bearers had.
    pub(super) fn served(&mut self, served: &Served) {
        if served.capacity_bytes > 0 {
            self.push(served.capacity_bytes);
        }
    }
    /// Records an opportunity that could have carried `capacity_bytes`, at most 4 GB.
    pub(super) fn push(&mut self, capacity_bytes: u64) {
        if let Some(bytes) = self.bytes.get_mut(usize::from(self.turn)) {
            *bytes = u32::try_from(capacity_bytes).unwrap_or(u32::MAX);
        }
        self.turn = (self.turn + 1) % Opportunities::COUNT as u8;
    }
    /// [`Opportunities::push`], `times` times.
    pub(super) fn push_repeated(&mut self, capacity_bytes: u64, times: u64) {
        let count = Opportunities::COUNT as u64;
        (0..times.min(count)).for_each(|_| self.push(capacity_bytes));
        self.turn = ((u64::from(self.turn) + times.saturating_sub(count) % count) % count) as u8;
    }
    /// The most that one of them could have carried, bytes, at most 4 GB; `None` before the first.
    pub(super) fn best(&self) -> Option<u64> {
        self.bytes.iter().copied().max().filter(|bytes| *bytes > 0).map(u64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_ten_opportunities_without_the_ttis_of_others() {
        let mut last = Opportunities::default();
        assert_eq!(last.best(), None);
        for bytes in [0, 900, 0, 100] {
            last.served(&Served { capacity_bytes: bytes, ..Served::default() });
        }
        assert_eq!(last.best(), Some(900));
        for _ in 0..8 {
            last.served(&Served { capacity_bytes: 100, ..Served::default() });
        }
        assert_eq!(last.best(), Some(900));
        (0..100).for_each(|_| last.served(&Served::default()));
        assert_eq!(last.best(), Some(900));
        last.served(&Served { capacity_bytes: 50, ..Served::default() });
        assert_eq!(last.best(), Some(100));
    }
}
