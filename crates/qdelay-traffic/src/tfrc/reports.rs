//! Reports that are on their way from the far end to the near one, which packets name by their numbers.

use alloc::vec;
use alloc::vec::Vec;

/// How many may be on their way: one or two come in a round trip. An older one is nobody's news.
const REPORTS: usize = 256;

/// The latest reports: number `n` at `n % REPORTS`.
pub(crate) struct Reports<R> {
    latest: Vec<R>,
    count: u64,
}

impl<R: Copy + Default> Default for Reports<R> {
    fn default() -> Reports<R> {
        Reports { latest: vec![R::default(); REPORTS], count: 0 }
    }
}

impl<R: Copy> Reports<R> {
    /// Keeps a report; its number.
    pub fn keep(&mut self, report: R) -> u64 {
        let number = self.count;
        self.latest[(number % REPORTS as u64) as usize] = report;
        self.count += 1;
        number
    }

    /// The report of this number. One that was forgotten on its way is as good as lost.
    pub fn get(&self, number: u64) -> Option<&R> {
        let is_there = number < self.count && self.count - number <= REPORTS as u64;
        is_there.then(|| &self.latest[(number % REPORTS as u64) as usize])
    }
}
