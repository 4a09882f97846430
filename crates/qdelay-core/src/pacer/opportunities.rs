//! The last service opportunities of a bearer: transmission time intervals (TTIs) in which it could have sent data.

use super::Served;

/// Number of opportunities: a frame of LTE, in which some TTIs carry less than others.
const COUNT: usize = 10;

/// Bytes that a bearer could have sent in its last ten service opportunities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Opportunities {
    bytes: [u32; COUNT],
    turn: u8,
}

impl Opportunities {
    /// Records the report of a TTI. One in which the bearer could have sent nothing is no opportunity: an uplink
    /// slot, or a TTI that other bearers had.
    pub(super) fn served(&mut self, served: &Served) {
        if served.capacity_bytes == 0 {
            return;
        }
        if let Some(bytes) = self.bytes.get_mut(usize::from(self.turn)) {
            *bytes = u32::try_from(served.capacity_bytes).unwrap_or(u32::MAX);
        }
        self.turn = (self.turn + 1) % COUNT as u8;
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
