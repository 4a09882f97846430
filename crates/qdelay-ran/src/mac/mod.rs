//! MAC schedulers: which UE gets how many resource block groups of a TTI, and which of its bearers what of them.
//!
//! A scheduler knows what every UE with data wants, how many groups that takes, and the rate of its whole carrier; it plans
//! how many groups each gets, and in which order they stand. The channel is as good in one group as in another (wideband
//! CQI), so which groups does not matter; the last of a carrier may be smaller than the others.
//!
//! The papers' cells have one UE, where every scheduler does the same. Priorities count among the bearers of a UE
//! ([`Sharing`]), not among UEs.
//!
//! A new one is a file, its `mod` line and a line of the registry below. The file has the `COMPONENT`, a type of the settings with
//! `Setting`, and what it remembers with `Law`.

mod custom;
mod dispatch;
mod eqp;
mod frame;
mod max_throughput;
mod proportional_fair;
mod ranked;
mod round_robin;
mod turns;

pub use custom::{CustomScheduler, Demand, Policy, custom};
pub(crate) use frame::{Frame, Grid, Prbs};
pub(crate) use turns::Turns;

use crate::radio::Quality;
use alloc::format;
use alloc::vec::Vec;
use dispatch::schedulers;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError};

schedulers! {
    round_robin::RoundRobin,
    proportional_fair::ProportionalFair,
    max_throughput::MaxThroughput,
    eqp::Eqp,
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

/// A scheduler as it is set: what a file of this folder has beside its `COMPONENT`.
pub(crate) trait Setting: Copy {
    /// The same with what it remembers from TTI to TTI.
    type Law: Law;

    /// What `arguments` of its `COMPONENT` say.
    fn build(arguments: &Arguments) -> Self;

    /// Of a cell of so many UEs.
    fn start(self, ues: usize, tti: Span) -> Self::Law;

    /// It has no sense in a cell whose TTI is longer.
    fn longest_tti(self) -> Span {
        Span::MAX
    }

    /// The most resource blocks that a UE may borrow, where elastic quantum partition with a slice for each UE takes the place of
    /// all planning. It is not for a slice then.
    fn divides(self) -> Option<u32> {
        None
    }
}

/// A scheduler with what it remembers from TTI to TTI.
pub(crate) trait Law {
    /// Plans TTI number `tti`: shares out `groups`, and puts the numbers of the candidates that get some into `plan`, which
    /// is empty, in the order they stand on the carrier. Candidates stand in the order of their UEs.
    fn plan<L: Look>(
        &mut self,
        tti: u64,
        candidates: &mut [Candidate],
        groups: u16,
        look: &mut L,
        plan: &mut Vec<u32>,
    );

    /// TTI number `tti` begins, in which something else decides how much each candidate gets.
    #[inline]
    fn begin(&mut self, tti: u64) {
        let _ = tti;
    }

    /// How the policy ranks a candidate whose channel is known, in the TTI that has begun: the highest first, equal ones in
    /// turn.
    fn metric(&self, candidate: &Candidate) -> f64;

    /// What the plan gave `ue` carried a new block of `bytes`.
    #[inline]
    fn carried(&mut self, ue: u32, bytes: u64) {
        let _ = (ue, bytes);
    }

    /// What the plan gave `ue` was of no use to it: it is first the next time, where there is an order.
    #[inline]
    fn failed(&mut self, ue: u32) {
        let _ = ue;
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
