//! MAC schedulers: which UE gets how many resource block groups of a TTI, and which of its bearers what of them.
//!
//! A scheduler knows what every UE with data wants, how many groups that takes, and the rate of its whole carrier; it plans
//! how many groups each gets, and in which order they stand. The channel is as good in one group as in another (wideband
//! CQI), so which groups does not matter; the last of a carrier may be smaller than the others.
//!
//! The papers' cells have one UE, where every scheduler does the same. Priorities count among the bearers of a UE
//! ([`Sharing`]), not among UEs.

mod component;
mod frame;
mod proportional_fair;
mod ranked;
mod round_robin;
mod turns;

pub use component::COMPONENTS;
pub(crate) use frame::{Frame, Grid, Prbs};
pub(crate) use turns::Turns;

use crate::radio::Quality;
use alloc::vec::Vec;
use proportional_fair::ProportionalFair;
use qdelay_core::Span;
use round_robin::RoundRobin;

/// Which UE gets which resource blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// The same number of groups to each, up to what it wants; who gets one more takes turns.
    RoundRobin,
    /// To whom has the highest rate for what it got lately, as much as it wants (Jalali, Padovani and Pankaj, VTC 2000);
    /// then to the next.
    ProportionalFair {
        /// Over how long "lately" is. At least a TTI.
        window: Span,
    },
    /// To whom has the highest rate, as much as it wants; then to the next.
    MaxThroughput,
    /// To bearers whose packets go whole, as many as possible: elastic quantum partition, with each UE a slice of its own of the same
    /// share ([`crate::slice`]). Of a cell that is not divided otherwise.
    Eqp {
        /// The most resource blocks that a UE may have borrowed.
        limit_rbs: u32,
    },
}

/// How the bearers of a UE share what it gets in a TTI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Those of the lowest priority number first; those of equal priority take turns at being first. What one leaves, the
    /// next may take.
    #[default]
    Priority,
    /// Each that has something to send gets the same number of bytes, whatever its priority, rounded down; what it does not
    /// use is wasted (the schedulers of ns-3's `lte` module, `RrFfMacScheduler::DoSchedDlTriggerReq`).
    EqualShare,
}

/// A UE with data in this TTI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub ue: u32,
    /// Its bearers with data: how many, and where they stand in a list of the host's.
    pub bearers: u32,
    pub first_bearer: u32,
    /// Bytes that would carry all it has, headers included.
    pub wanted_bytes: u64,
    /// Fewer bytes than this are of no use to it.
    pub least_bytes: u64,
    /// What the cell takes its channel for; with `looked` only, as is all that follows.
    pub quality: Quality,
    pub looked: bool,
    /// Bytes of the whole carrier.
    pub rate_bytes: u64,
    /// Groups that would carry all it has.
    pub need: u16,
    /// Fewer groups are of no use to it.
    pub least: u16,
    /// Groups that it is planned to get.
    pub groups: u16,
    /// What was carried: for the account of the TTI.
    pub prbs: Prbs,
}

impl Candidate {
    pub fn new(ue: u32, wanted_bytes: u64, least_bytes: u64) -> Candidate {
        Candidate {
            ue,
            bearers: 0,
            first_bearer: 0,
            wanted_bytes,
            least_bytes,
            quality: Quality::Outage,
            looked: false,
            rate_bytes: 0,
            need: 0,
            least: 0,
            groups: 0,
            prbs: Prbs::default(),
        }
    }
}

/// Says how good the channels of candidates are, each asked at most once a TTI.
pub(crate) trait Look {
    /// Fills in what of the candidate depends on its channel.
    fn look(&mut self, candidate: &mut Candidate);
}

/// A scheduler with what it remembers from TTI to TTI.
#[derive(Clone, Debug)]
pub(crate) enum State {
    RoundRobin(RoundRobin),
    ProportionalFair(ProportionalFair),
    MaxThroughput(ranked::Next),
}

impl State {
    pub fn new(scheduler: Scheduler, ues: usize, tti: Span) -> State {
        match scheduler {
            // The other one plans nothing itself.
            Scheduler::RoundRobin | Scheduler::Eqp { .. } => State::RoundRobin(RoundRobin::default()),
            Scheduler::ProportionalFair { window } => {
                State::ProportionalFair(ProportionalFair::new(ues, tti, window))
            }
            Scheduler::MaxThroughput => State::MaxThroughput(ranked::Next::default()),
        }
    }

    /// Plans TTI number `tti`: shares out `groups`, and puts the numbers of the candidates that get some into `plan`, which
    /// is empty, in the order they stand on the carrier. Candidates stand in the order of their UEs.
    pub fn plan<L: Look>(
        &mut self,
        tti: u64,
        candidates: &mut [Candidate],
        groups: u16,
        look: &mut L,
        plan: &mut Vec<u32>,
    ) {
        match self {
            State::RoundRobin(law) => law.plan(candidates, groups, look, plan),
            State::ProportionalFair(law) => law.plan(tti, candidates, groups, look, plan),
            State::MaxThroughput(next) => {
                next.plan(candidates, groups, look, plan, |candidate| candidate.rate_bytes as f64);
            }
        }
    }

    /// TTI number `tti` begins, in which something else decides how much each candidate gets.
    pub fn begin(&mut self, tti: u64) {
        if let State::ProportionalFair(law) = self {
            law.begin(tti);
        }
    }

    /// How the policy ranks a candidate whose channel is known, in the TTI that has begun: the highest first, equal ones in
    /// turn.
    pub fn metric(&self, candidate: &Candidate) -> f64 {
        match self {
            State::RoundRobin(_) => 0.0,
            State::ProportionalFair(law) => law.metric(candidate),
            State::MaxThroughput(_) => candidate.rate_bytes as f64,
        }
    }

    /// What the plan gave `ue` carried a new block of `bytes`.
    pub fn carried(&mut self, ue: u32, bytes: u64) {
        if let State::ProportionalFair(law) = self {
            law.carried(ue, bytes);
        }
    }

    /// What the plan gave `ue` was of no use to it: it is first the next time, where there is an order.
    pub fn failed(&mut self, ue: u32) {
        if let State::RoundRobin(law) = self {
            law.failed(ue);
        }
    }
}

#[cfg(test)]
mod testing {
    use super::*;

    /// (UE, groups it needs, the least it can use) of each candidate.
    pub struct Known<'a>(pub &'a [(u32, u16, u16)]);

    impl Look for Known<'_> {
        fn look(&mut self, candidate: &mut Candidate) {
            if let Some(&(_, need, least)) = self.0.iter().find(|known| known.0 == candidate.ue) {
                (candidate.need, candidate.least, candidate.looked) = (need, least, true);
            }
        }
    }

    pub fn candidates(wanted: &[(u32, u16, u16)]) -> Vec<Candidate> {
        wanted.iter().map(|&(ue, _, _)| Candidate::new(ue, 1, 1)).collect()
    }
}
