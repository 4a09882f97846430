//! The base station's knowledge of a UE: from scheduling requests, buffer status reports, and its own grants.
//!
//! A report contains the remainder after its block had been filled; the bytes granted for later TTIs are
//! subtracted. A report that arrives after a later one, because its block was repeated, is out of date. If
//! all reported bytes have been granted and no report of an empty buffer has arrived, the base station grants
//! as much as after a request, once it has decoded its last grant: data that arrived at the UE meanwhile
//! would not cause another request (TS 36.321 clause 5.4.5).

use alloc::collections::VecDeque;

/// A grant.
#[derive(Clone, Copy, Debug)]
struct Granted {
    tti: u64,
    bytes: u64,
    /// True if the block was decoded, or given up.
    has_ended: bool,
}

/// The base station's knowledge of a UE.
#[derive(Clone, Debug, Default)]
pub(super) struct Station {
    /// Bytes to be granted.
    pub demand: u64,
    /// True if the UE may have more: it has not reported an empty buffer.
    is_open: bool,
    /// The grants of TTIs after that of the last report, in their order.
    granted: VecDeque<Granted>,
    /// The TTI after that of the last report.
    reported: u64,
}

impl Station {
    /// Handles a request that was sent in `tti`; `bytes` are granted for it.
    pub fn requested(&mut self, tti: u64, bytes: u64) {
        self.is_open = true;
        // A later grant will carry a report.
        if !self.granted.iter().any(|grant| grant.tti > tti) {
            self.demand = self.demand.max(bytes);
        }
    }
    /// Records that `bytes` are granted for `tti`, which is later than any before.
    pub fn grant(&mut self, tti: u64, bytes: u64) {
        let last = self.granted.back();
        debug_assert!(last.is_none_or(|grant| grant.tti < tti), "grants are in the order of TTIs");
        self.demand = self.demand.saturating_sub(bytes);
        self.granted.push_back(Granted { tti, bytes, has_ended: false });
    }
    /// Handles the end of the block of `tti`: decoded with a report of `report` bytes, without one, or not at
    /// all. `poll` is the grant for a UE that may have more.
    pub fn ended(&mut self, tti: u64, report: Option<u64>, poll: u64) {
        if let Ok(place) = self.granted.binary_search_by_key(&tti, |grant| grant.tti) {
            self.granted[place].has_ended = true;
        }
        if let Some(bytes) = report
            && tti >= self.reported
        {
            self.reported = tti + 1;
            while self.granted.pop_front_if(|grant| grant.tti <= tti).is_some() {}
            let later: u64 = self.granted.iter().map(|grant| grant.bytes).sum();
            self.demand = bytes.saturating_sub(later);
            self.is_open = bytes > 0;
        }
        if self.is_open && self.demand == 0 && self.granted.iter().all(|grant| grant.has_ended) {
            self.demand = poll;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_grants_are_subtracted_from_a_report() {
        let mut station = Station::default();
        station.requested(0, 100);
        station.grant(8, 120);
        assert_eq!(station.demand, 0);
        station.ended(8, Some(1000), 100);
        assert_eq!(station.demand, 1000);
        station.grant(16, 400);
        station.grant(17, 400);
        station.ended(16, Some(900), 100);
        assert_eq!(station.demand, 500);
        station.requested(10, 100);
        assert_eq!(station.demand, 500);
    }

    #[test]
    fn a_ue_that_may_have_more_is_polled_after_its_grants() {
        let mut station = Station::default();
        station.requested(0, 100);
        station.grant(8, 100);
        station.grant(9, 50);
        station.ended(8, None, 100);
        assert_eq!(station.demand, 0, "the second may have a report");
        station.ended(9, None, 100);
        assert_eq!(station.demand, 100);
        station.grant(20, 100);
        station.ended(20, Some(0), 100);
        assert_eq!(station.demand, 0, "nothing is left");
    }

    #[test]
    fn a_report_of_a_repeated_block_is_out_of_date() {
        let mut station = Station::default();
        station.requested(0, 100);
        (8..10).for_each(|tti| station.grant(tti, 100));
        station.ended(9, Some(500), 100);
        station.ended(8, Some(5000), 100);
        assert_eq!(station.demand, 500);
    }
}
