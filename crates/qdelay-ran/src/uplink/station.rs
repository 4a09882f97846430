//! What the base station knows of a UE: from scheduling requests, buffer status reports, and its own grants.
//!
//! A report says what was left when its block had been filled; what was granted for later TTIs is taken off. A report that comes
//! after a later one, because its block was repeated, is out of date. Where all that was reported has been granted and no report
//! has said that nothing is left, the base station grants as much as after a request, once it has decoded its last grant: what came
//! to the UE meanwhile would not cause another request (TS 36.321 clause 5.4.5).

use alloc::collections::VecDeque;

/// A grant.
#[derive(Clone, Copy, Debug)]
struct Granted {
    tti: u64,
    bytes: u64,
    /// Its block was decoded, or given up.
    has_ended: bool,
}

/// The base station's knowledge of a UE.
#[derive(Clone, Debug, Default)]
pub(super) struct Station {
    /// Bytes that are to be granted.
    pub demand: u64,
    /// The UE may have more: it has not said that it has nothing left.
    is_open: bool,
    /// The grants of TTIs after that of the last report, in their order.
    granted: VecDeque<Granted>,
    /// The TTI after that of the last report.
    reported: u64,
}

impl Station {
    /// A request that was sent in `tti` is decoded; `bytes` are granted for one.
    pub fn requested(&mut self, tti: u64, bytes: u64) {
        self.is_open = true;
        // With a later grant comes a report.
        if !self.granted.iter().any(|grant| grant.tti > tti) {
            self.demand = self.demand.max(bytes);
        }
    }
    /// `bytes` are granted for `tti`, which is later than any before.
    pub fn grant(&mut self, tti: u64, bytes: u64) {
        self.demand = self.demand.saturating_sub(bytes);
        self.granted.push_back(Granted { tti, bytes, has_ended: false });
    }
    /// The block of `tti` has ended: decoded with a report that is taken for `report` bytes, without one, or not at all. `poll` is what
    /// is granted to a UE that may have more.
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
    fn later_grants_are_taken_off_a_report() {
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
    fn a_ue_that_may_have_more_is_asked_once_its_grants_have_ended() {
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
