//! The base station in a TTI: grants for a later TTI.

use super::{Configured, Content, Grant, UplinkCell};
use crate::cell::LEAST_BYTES;
use crate::mac::{Candidate, CandidateSource, Frame, Law as _};
use crate::radio::Tdd;
use qdelay_core::Time;

/// Queries the channels of UEs.
struct Radios<'a> {
    ues: &'a mut [super::Ue],
    frame: Frame<'a>,
    now: Time,
}

impl CandidateSource for Radios<'_> {
    fn query_channel(&mut self, candidate: &mut Candidate) {
        if candidate.is_queried {
            return;
        }
        candidate.is_queried = true;
        candidate.quality = self.ues[candidate.ue as usize].radio.known(self.now);
        candidate.rate_bytes = self.frame.bytes(candidate.quality, self.frame.all());
        let groups_for = |bytes| match bytes > candidate.rate_bytes {
            true => self.frame.groups(),
            false => self.frame.groups_for(candidate.quality, 0, bytes),
        };
        if candidate.rate_bytes > 0 {
            candidate.need = groups_for(candidate.wanted_bytes);
            candidate.least = groups_for(candidate.wanted_bytes.min(candidate.least_bytes));
        }
    }
}

impl UplinkCell {
    /// Gives the grants of TTI number `tti`, which begins at `now`: for the TTI that is
    /// [`UplinkCell::grant_ttis`] later. In time division duplex they are sent in slots that are not of the
    /// uplink, each for all TTIs for which a later one would be too late.
    pub(super) fn grant(&mut self, tti: u64, now: Time) {
        if self.duplex().is_some_and(|duplex| duplex.is_downlink(tti)) {
            return;
        }
        let later = self.duplex().and_then(|duplex| (tti + 1..).find(|&later| !duplex.is_downlink(later)));
        for granted in tti..later.unwrap_or(tti + 1) {
            self.plan_tti(granted + self.grant_ttis, now);
        }
    }

    /// The pattern of slots, those of the uplink as if they were downlink; `None` if all slots are of the
    /// uplink.
    fn duplex(&self) -> Option<&Tdd> {
        self.grid.tdd.as_ref().map(|(duplex, _)| duplex)
    }

    /// The TTI whose grants are for `tti`.
    pub(super) fn granting(&self, tti: u64) -> u64 {
        let last = tti.saturating_sub(self.grant_ttis);
        match self.duplex() {
            Some(duplex) => (0..=last).rev().find(|&tti| !duplex.is_downlink(tti)).unwrap_or(last),
            None => last,
        }
    }

    /// The first TTI of the uplink from `tti` on.
    pub(super) fn uplink_from(&self, tti: u64) -> u64 {
        match self.duplex() {
            Some(duplex) => (tti..).find(|&tti| duplex.is_downlink(tti)).unwrap_or(tti),
            None => tti,
        }
    }

    /// The first TTI in which the block of `tti` can be repeated: the grant for the repetition follows the
    /// decoding.
    pub(super) fn repetition(&self, tti: u64) -> u64 {
        let again = tti + self.harq_ttis;
        if self.duplex().is_none() {
            return again;
        }
        let decoded = again.saturating_sub(self.grant_ttis);
        let mut again = self.uplink_from(again);
        while self.granting(again) < decoded {
            again = self.uplink_from(again + 1);
        }
        again
    }

    /// Grants the resource blocks of TTI number `tti`, with what is known at `now`.
    fn plan_tti(&mut self, tti: u64, now: Time) {
        if tti < self.planned {
            return;
        }
        self.planned = tti + 1;
        if self.uplink_from(tti) != tti {
            return;
        }
        let grid = self.grid.clone();
        let frame = grid.frame(tti);
        let mut used = self.plan_repetitions(tti, frame.groups());
        let is_asked = self.demanding.iter().any(|&word| word != 0);
        if !is_asked {
            return;
        }
        used += self.reserved(tti, now, frame).min(frame.groups() - used);
        self.candidates.clear();
        self.plan.clear();
        for word in 0..self.demanding.len() {
            let mut bits = self.demanding[word];
            while bits != 0 {
                let ue = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let Some(of) = self.ues.get(ue).filter(|of| of.repeats != tti + 1) else { continue };
                self.candidates.push(Candidate::new(ue as u32, of.station.demand, LEAST_BYTES));
            }
        }
        let free = frame.groups() - used;
        let mut radios = Radios { ues: &mut self.ues, frame, now };
        self.scheduler.plan(tti, &mut self.candidates, free, &mut radios, &mut self.plan);
        let planned = self.plan.iter().map(|&number| self.candidates[number as usize].groups);
        let mut spare = free - planned.sum::<u16>();
        for place in 0..self.plan.len() {
            let candidate = self.candidates[self.plan[place] as usize];
            let Candidate { ue, quality, wanted_bytes, mut groups, .. } = candidate;
            let mut bytes = frame.bytes(quality, frame.prbs(used, groups));
            // Later groups may be smaller than the first ones, from which the plan was made.
            let aim = wanted_bytes.min(frame.bytes(quality, frame.prbs(0, groups)));
            while bytes < aim && spare > 0 {
                (groups, spare) = (groups + 1, spare - 1);
                bytes = frame.bytes(quality, frame.prbs(used, groups));
            }
            used += groups;
            self.grants.push_back(Grant { tti, groups, what: Content::New { ue, bytes, quality } });
            self.ues[ue as usize].station.grant(tti, bytes);
            self.scheduler.carried(ue, bytes);
            self.demand(ue);
        }
    }

    /// Grants the repetitions that are due in TTI number `tti`, as far as there is room. Returns their groups.
    fn plan_repetitions(&mut self, tti: u64, groups: u16) -> u16 {
        let mut used = 0;
        while let Some(number) = self.blocks.due(tti) {
            let block = self.blocks.get(number);
            let ue = &mut self.ues[block.ue as usize];
            if ue.repeats == tti + 1 || block.groups > groups - used {
                self.blocks.keep(number, tti);
                continue;
            }
            ue.repeats = tti + 1;
            used += block.groups;
            self.grants.push_back(Grant { tti, groups: block.groups, what: Content::Again(number) });
        }
        self.blocks.end();
        used
    }

    /// Number of groups reserved for configured grants in TTI number `tti`.
    fn reserved(&mut self, tti: u64, now: Time, frame: Frame<'_>) -> u16 {
        let Some(Configured { period, bytes }) = self.configured else { return 0 };
        let period = (period.as_nanos() / self.clock.tti.as_nanos().max(1)).max(1);
        // Configured grants of earlier TTIs that are not of the uplink are postponed until this one.
        let mut first = tti;
        while first > 0 && tti - first + 1 < period && self.uplink_from(first - 1) == tti {
            first -= 1;
        }
        let mut groups = 0_u16;
        for due in first..=tti {
            // The UEs with a grant are those whose number, within the period, is that of the TTI.
            let mut ue = (due % period) as usize;
            while let Some(of) = self.ues.get_mut(ue) {
                if of.repeats != tti + 1 {
                    groups =
                        groups.saturating_add(frame.groups_for(of.radio.known(now), 0, u64::from(bytes)));
                }
                ue += period as usize;
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use crate::radio::{Channel, Mcs, Tdd};
    use crate::rlc::RlcSetting;
    use crate::tables::Carrier;
    use crate::{CellSetting, UeSetting, UplinkCell, UplinkSetting};

    /// Table 8-2 of TS 36.213: number of subframes from the grant in subframe n to its block.
    #[test]
    fn grants_of_lte_are_as_far_ahead_as_its_table_says() {
        type Row<'a> = (&'a str, &'a [(u64, u64)]);
        let table: [Row<'_>; 5] = [
            ("1", &[(1, 6), (4, 4), (6, 6), (9, 4)]),
            ("2", &[(3, 4), (8, 4)]),
            ("3", &[(0, 4), (8, 4), (9, 4)]),
            ("4", &[(8, 4), (9, 4)]),
            ("5", &[(8, 4)]),
        ];
        for (number, rows) in table {
            let ue = UeSetting::new(Channel::Mcs(Mcs(20))).bearer(RlcSetting::lte_um(), 1);
            let cell = CellSetting::new(Carrier::lte(25).unwrap()).tdd(Some(Tdd::new(number, 10).unwrap()));
            let uplink = UplinkCell::new(UplinkSetting::new(cell).ue(ue), 1, "uplink").unwrap();
            for &(subframe, later) in rows {
                let sent = 20 + subframe + later;
                assert_eq!(uplink.uplink_from(sent), sent, "configuration {number}");
                assert_eq!(uplink.granting(sent), 20 + subframe, "configuration {number}");
            }
        }
    }
}
