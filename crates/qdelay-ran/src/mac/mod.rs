//! MAC schedulers: they assign the resource block groups of a TTI to UEs, and a UE's share to its bearers.
//!
//! A scheduler receives, for every UE with data, the number of bytes, the number of groups for all of them,
//! and the rate of the whole carrier. It plans the number of groups for each UE and their order on the
//! carrier. The channel is the same in all groups (wideband CQI), so only the number matters; the last group
//! of a carrier may be smaller than the others.
//!
//! The papers' cells have one UE, for which all schedulers are equal. Priorities apply among the bearers of a
//! UE ([`Sharing`]), not among UEs. Schedulers by delay (`Setting::by_delay`) also receive the waiting times
//! of the packets at the heads of the bearers, against the budgets of their classes ([`Service`]).
//!
//! A new scheduler is a file, its `mod` line and a line of the registry below. The file has the `COMPONENT`,
//! a type with its settings (`Setting`), and a type with its state (`Law`).

mod averages;
mod custom;
mod dispatch;
mod edf;
mod eqp;
mod exp_pf;
mod frame;
mod max_throughput;
mod mlwdf;
mod proportional_fair;
mod ranked;
mod round_robin;
mod service;
mod turns;
mod weighted;

pub use custom::{CustomScheduler, Demand, Policy, custom};
pub(crate) use frame::{Frame, Grid, Prbs, multiple};
pub use service::Service;
pub(crate) use service::Urgency;
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
    mlwdf::Mlwdf,
    exp_pf::ExpPf,
    edf::Edf,
}

/// The sharing of a UE's resource blocks among its bearers in a TTI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Bearers with the lowest priority number first; bearers of equal priority take turns at being first. The next bearer uses the
    /// remainder.
    #[default]
    Priority,
    /// Each bearer with data gets the same number of bytes, rounded down, at any priority; unused bytes are
    /// wasted (the schedulers of ns-3's `lte` module, `RrFfMacScheduler::DoSchedDlTriggerReq`).
    EqualShare,
}

/// A UE with data in this TTI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub ue: u32,
    /// Number of the UE's bearers with data; `first_bearer`: their position in a list of the host.
    pub bearers: u32,
    pub first_bearer: u32,
    /// Bytes that would carry all the UE's data, headers included.
    pub wanted_bytes: u64,
    /// Smallest useful number of bytes.
    pub least_bytes: u64,
    /// Channel as the cell knows it; valid only with `is_queried`, like all fields below.
    pub quality: Quality,
    pub is_queried: bool,
    /// Bytes that the whole carrier would carry for the UE.
    pub rate_bytes: u64,
    /// Groups that would carry all the UE's data.
    pub need: u16,
    /// Smallest useful number of groups.
    pub least: u16,
    /// Groups that the plan assigns to the UE.
    pub groups: u16,
    /// Resource blocks used, for the counts of the TTI.
    pub prbs: Prbs,
    /// Urgency by the [`Urgency`] that the scheduler asks for; used by schedulers by delay.
    pub urgency: f64,
}

impl Candidate {
    /// The places of its bearers' loads in the list of the host.
    #[inline]
    pub fn loads(&self) -> core::ops::Range<usize> {
        let first = self.first_bearer as usize;
        first..first + self.bearers as usize
    }
    pub fn new(ue: u32, wanted_bytes: u64, least_bytes: u64) -> Candidate {
        Candidate {
            ue,
            bearers: 0,
            first_bearer: 0,
            wanted_bytes,
            least_bytes,
            quality: Quality::Outage,
            is_queried: false,
            rate_bytes: 0,
            need: 0,
            least: 0,
            groups: 0,
            prbs: Prbs::default(),
            urgency: 0.0,
        }
    }
}

/// Provides the candidates of a TTI and their channels; each channel is queried at most once in a TTI. A
/// scheduler queries all candidates, or one after the other as long as it has groups to assign. By default
/// all candidates are complete before.
pub(crate) trait CandidateSource {
    /// Fills in the fields of the candidate that depend on its channel.
    fn query_channel(&mut self, candidate: &mut Candidate);
    /// Completes `candidates`, in the order of their UEs.
    #[inline]
    fn all(&mut self, candidates: &mut Vec<Candidate>) {
        let _ = candidates;
    }
    /// Prepares to take the candidates in turn from UE `next` on; returns the index of the first.
    #[inline]
    fn begin(&mut self, candidates: &mut Vec<Candidate>, next: u32) -> usize {
        candidates.partition_point(|candidate| candidate.ue < next)
    }
    /// The index of the candidate at position `place` in turn after `first`; positions are queried in
    /// ascending order.
    #[inline]
    fn in_turn(&mut self, candidates: &mut Vec<Candidate>, first: usize, place: usize) -> Option<usize> {
        let (count, number) = (candidates.len(), first + place);
        (place < count).then_some(if number < count { number } else { number - count })
    }
}

/// The settings of a scheduler. Each file of this folder implements it besides its `COMPONENT`.
pub(crate) trait Setting: Copy {
    /// The scheduler's state, which it keeps from TTI to TTI.
    type Law: Law;

    /// The settings that `arguments` of the scheduler's `COMPONENT` describe.
    fn build(arguments: &Arguments) -> Self;

    /// The initial state for a cell with `ues` UEs and a TTI of `tti`.
    fn start(self, ues: usize, tti: Span) -> Self::Law;

    /// Longest TTI with which the scheduler can be used.
    fn longest_tti(self) -> Span {
        Span::MAX
    }

    /// The urgency of waiting packets by which the scheduler decides; `None` if it does not decide by delay.
    /// A scheduler by delay cannot be used within a slice.
    fn by_delay(self) -> Option<Urgency> {
        None
    }

    /// The most resource blocks that a UE may borrow, if elastic quantum partition with a slice for each UE
    /// replaces all planning; `None` otherwise. Such a scheduler cannot be used within a slice.
    fn divides(self) -> Option<u32> {
        None
    }
}

/// A scheduler with the state that it keeps from TTI to TTI.
pub(crate) trait Law {
    /// Plans TTI number `tti`: shares `groups` among the candidates of `look`, and puts the indices of those
    /// that get some into `plan`, which is empty, in their order on the carrier.
    fn plan<L: CandidateSource>(
        &mut self,
        tti: u64,
        candidates: &mut Vec<Candidate>,
        groups: u16,
        look: &mut L,
        plan: &mut Vec<u32>,
    );

    /// Begins TTI number `tti`, in which another law decides the grants.
    #[inline]
    fn begin(&mut self, tti: u64) {
        let _ = tti;
    }

    /// The rank of a candidate whose channel is known, in the TTI that has begun: the highest first, equal
    /// ones in turn.
    fn metric(&self, candidate: &Candidate) -> f64;

    /// Records that the groups planned for `ue` carried a new block of `bytes`.
    #[inline]
    fn carried(&mut self, ue: u32, bytes: u64) {
        let _ = (ue, bytes);
    }

    /// Records that the groups planned for `ue` were too few to be useful: the UE is first the next time,
    /// where there is an order.
    #[inline]
    fn failed(&mut self, ue: u32) {
        let _ = ue;
    }
}

#[cfg(test)]
mod testing {
    use super::*;

    /// Candidates that are complete: (UE, groups needed, smallest useful number of groups) of each.
    pub struct CompleteCandidates<'a>(pub &'a [(u32, u16, u16)]);

    impl CandidateSource for CompleteCandidates<'_> {
        fn query_channel(&mut self, candidate: &mut Candidate) {
            if let Some(&(_, need, least)) = self.0.iter().find(|known| known.0 == candidate.ue) {
                (candidate.need, candidate.least, candidate.is_queried) = (need, least, true);
            }
        }
    }

    pub fn candidates(wanted: &[(u32, u16, u16)]) -> Vec<Candidate> {
        wanted.iter().map(|&(ue, _, _)| Candidate::new(ue, 1, 1)).collect()
    }
}
