//! Carrier aggregation (TS 38.300 clause 6.7, TS 36.300 clause 5.5): several component carriers under one MAC.
//!
//! The bearers of a UE have one RLC, and MAC splits their data: each carrier has a scheduler, blocks and a HARQ entity for each UE
//! of its own (TS 38.321 clause 5.3.2.1), and a UE gets at most one new block on each carrier in a TTI. The carriers decide one
//! after the other, the primary cell (PCell) first, then the secondary cells (SCells) in the order of their declaration; each
//! decides about the data that the carriers before it have left. RLC puts the parts into order again: blocks of the same TTI are
//! decoded at the same time, and a block that is repeated on one carrier does not delay the other.
//!
//! A bearer gets one report of a TTI. Its capacity is the sum over the carriers.
//!
//! # Differences from the reference
//! * All carriers are activated at all times: no activation by MAC (TS 38.321 clause 5.9), no deactivation timer.
//! * All carriers have the technology and the slots of the primary cell. Blocks on a carrier with time division duplex are
//!   acknowledged in uplink slots of that carrier, while the standard has the acknowledgements of all carriers on the primary cell (or on a
//!   PUCCH SCell).
//! * The uplink has one carrier. A handover changes all carriers together; the channel of the other cell is that of its primary cell.
//! * Schedulers by delay take the waiting times at the beginning of the TTI for all carriers.

use super::tti::{Filled, Radios};
use super::{BearerState, Cell, Load, Source};
use crate::mac::{Candidate, CandidateSource as _, Law as _, Sharing};
use crate::radio::Quality;
use crate::rlc::Bearer;
use alloc::vec::Vec;
use core::mem::{swap, take};
use qdelay_core::Time;

/// State of a TTI on several carriers, kept for its allocations.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    /// Usage of each carrier, the primary cell first.
    filled: Vec<Filled>,
    /// Bytes that each candidate's blocks would have had with unlimited data, over the carriers so far.
    whole_bytes: Vec<u64>,
}

impl Aggregation {
    /// The state of a cell with `scells` secondary cells.
    pub fn new(scells: usize) -> Aggregation {
        Aggregation { filled: (0..=scells).map(|_| Filled::default()).collect(), whole_bytes: Vec::new() }
    }
}

impl Cell {
    /// Number of component carriers.
    pub(super) fn carriers(&self) -> usize {
        1 + self.scells.len()
    }

    /// Runs `what` with component carrier number `number` in turn, 0 being the primary cell.
    pub(super) fn on_carrier<T>(&mut self, number: usize, what: impl FnOnce(&mut Cell) -> T) -> T {
        let Some(place) = number.checked_sub(1) else { return what(self) };
        swap(&mut self.carrier, &mut self.scells[place]);
        let result = what(self);
        swap(&mut self.carrier, &mut self.scells[place]);
        result
    }

    /// Runs TTI number `self.tti`, which begins at `now`, on all carriers.
    #[inline(never)]
    pub(super) fn run_aggregated_tti<S: Source>(&mut self, now: Time, source: &mut S) {
        let tti = self.tti;
        self.count_idle(tti);
        let mut aggregation = take(&mut self.aggregation);
        for (number, filled) in aggregation.filled.iter_mut().enumerate() {
            *filled = self.on_carrier(number, |cell| cell.repeat_tti(tti, now));
        }
        self.end_without_data(source);
        let has_work = self.activity.ues() > 0 || aggregation.filled.iter().any(Filled::has_work);
        if has_work {
            self.share_tti(tti, now, source, &mut aggregation);
        }
        self.aggregation = aggregation;
    }

    /// Repeats the blocks of the carrier in turn that are due in TTI number `tti`.
    fn repeat_tti(&mut self, tti: u64, now: Time) -> Filled {
        let (grid, mut filled) = (self.carrier.grid.clone(), Filled::default());
        self.carrier.release(tti);
        self.repeat(tti, now, grid.frame(tti), &mut filled);
        filled
    }

    /// Shares what the repetitions left of each carrier among the UEs with data, and reports the TTI.
    fn share_tti<S: Source>(&mut self, tti: u64, now: Time, source: &mut S, aggregation: &mut Aggregation) {
        self.candidates.clear();
        self.loads.clear();
        self.held_back.begin();
        let grid = self.carrier.grid.clone();
        let (mut demands, _, candidates, _) = self.demands(tti, now, grid.frame(tti), source);
        demands.all(candidates);
        aggregation.whole_bytes.clear();
        aggregation.whole_bytes.resize(self.candidates.len(), 0);
        for number in 0..self.carriers() {
            if number > 0 {
                self.renew_candidates(tti, now, number, source);
            }
            let Aggregation { filled, whole_bytes } = &mut *aggregation;
            self.on_carrier(number, |cell| {
                cell.share_carrier(tti, now, source, &mut filled[number], whole_bytes)
            });
        }
        self.settle_aggregated(tti, source, &aggregation.whole_bytes);
    }

    /// The candidates with the data that is left for carrier number `number`.
    fn renew_candidates<S: Source>(&mut self, tti: u64, now: Time, number: usize, source: &S) {
        let Cell { candidates, loads, bearers, rlcs, ues, scells, sharing, .. } = self;
        let links = &scells[number - 1].links;
        for candidate in candidates {
            let loads = &loads[candidate.loads()];
            let (wanted, least) = wanted_bytes(loads, bearers, rlcs, source);
            let (ue, link) = (&ues[candidate.ue as usize], &links[candidate.ue as usize]);
            let least = match sharing {
                Sharing::Priority => least,
                Sharing::EqualShare => least.saturating_mul(loads.len() as u64),
            };
            *candidate = Candidate {
                bearers: candidate.bearers,
                first_bearer: candidate.first_bearer,
                is_queried: wanted == 0 || ue.is_silent(link, tti, now),
                urgency: candidate.urgency,
                ..Candidate::new(candidate.ue, wanted, least)
            };
        }
    }

    /// Shares and counts the resource blocks of the carrier in turn; adds to `whole_bytes`.
    fn share_carrier<S: Source>(
        &mut self,
        tti: u64,
        now: Time,
        source: &mut S,
        filled: &mut Filled,
        whole_bytes: &mut [u64],
    ) {
        let grid = self.carrier.grid.clone();
        let frame = grid.frame(tti);
        self.carrier.account.next = tti + 1;
        self.plan.clear();
        let Cell { carrier, candidates, plan, .. } = self;
        let free = frame.groups() - filled.groups;
        let mut radios = Radios { links: &mut carrier.links, frame, now };
        carrier.scheduler.plan(tti, candidates, free, &mut radios, plan);
        self.fill(tti, now, frame, source, filled);
        let left = frame.prbs(filled.groups, frame.groups() - filled.groups);
        let mut is_content = true;
        for (number, whole) in whole_bytes.iter_mut().enumerate() {
            let candidate = self.candidates[number];
            *whole += frame.bytes(self.quality(&candidate, tti, now), candidate.prbs + left);
            is_content &= candidate.wanted_bytes == 0
                || candidate.groups > 0
                    && frame.bytes(candidate.quality, candidate.prbs) >= candidate.wanted_bytes;
        }
        self.count(frame, filled, is_content);
    }

    /// The quality of a candidate's channel on the carrier in turn, whether or not it has data left for that.
    fn quality(&mut self, candidate: &Candidate, tti: u64, now: Time) -> Quality {
        let link = &mut self.carrier.links[candidate.ue as usize];
        match candidate.groups > 0 {
            true => candidate.quality,
            false if self.ues[candidate.ue as usize].is_silent(link, tti, now) => Quality::Outage,
            false => link.radio.known(now),
        }
    }

    /// Reports TTI number `tti` to every bearer that had data, and removes those that have none left.
    fn settle_aggregated<S: Source>(&mut self, tti: u64, source: &mut S, whole_bytes: &[u64]) {
        for (number, &whole) in whole_bytes.iter().enumerate() {
            let candidate = self.candidates[number];
            let used: u64 = self.loads[candidate.loads()].iter().map(|load| load.used_bytes).sum();
            for place in candidate.loads() {
                let load = self.loads[place];
                let capacity_bytes = self.capacity_bytes(&candidate, &load, whole, used);
                self.tell(tti, place, capacity_bytes, source);
                let bearer = load.bearer as usize;
                if load.used_bytes > 0 && self.wanted_bytes(bearer, source.backlog(bearer)) == 0 {
                    self.activity.end(candidate.ue as usize, usize::from(load.local));
                }
            }
        }
    }
}

/// Bytes that would carry the rest of the data of `loads`, and the smallest useful number of bytes.
fn wanted_bytes<S: Source>(
    loads: &[Load],
    states: &mut [BearerState],
    rlcs: &[Bearer],
    source: &S,
) -> (u64, u64) {
    let (mut wanted, mut least) = (0_u64, u64::MAX);
    for load in loads {
        let bearer = load.bearer as usize;
        let bytes = states[bearer].wanted_bytes(&rlcs[bearer], source.backlog(bearer));
        if bytes > 0 {
            wanted = wanted.saturating_add(bytes);
            least = least.min(u64::from(states[bearer].least_bytes));
        }
    }
    (wanted, least)
}
