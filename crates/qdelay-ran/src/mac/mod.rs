//! MAC schedulers: they assign the resource block groups of a TTI to UEs, and a UE's share to its bearers.
//!
//! For every UE with data a scheduler is given the data, the number of groups for all of it, and the rate of the whole carrier.
//! It plans the number of groups for each UE and their order on the carrier. The channel is the same in all groups (wideband
//! CQI), so only the number matters; the last group of a carrier may be smaller than the others.
//!
//! The papers' cells have one UE, for which all schedulers are equal. Priorities apply among the bearers of a UE ([`Sharing`]), not
//! among UEs. Schedulers by delay (`Setting::by_delay`) are also given how long the packets at the heads of the bearers have
//! waited, against the budgets of their classes ([`Service`]).
//!
//! A new scheduler is a file, its `mod` line and a line of the registry below. The file has the `COMPONENT`, a type with its
//! settings (`Setting`), and a type with its state (`Law`).

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
pub(crate) use frame::{Frame, Grid, Prbs};
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

/// How the bearers of a UE share its resource blocks in a TTI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Bearers with the lowest priority number first; bearers of equal priority take turns at being first. The next bearer uses the
    /// remainder.
    #[default]
    Priority,
    /// Each bearer with data gets the same number of bytes, rounded down, whatever its priority; unused bytes are wasted (the
    /// schedulers of ns-3's `lte` module, `RrFfMacScheduler::DoSchedDlTriggerReq`).
    EqualShare,
}

/// A UE with data in this TTI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub ue: u32,
    /// Its bearers with data: their number, and their position in a list of the host.
    pub bearers: u32,
    pub first_bearer: u32,
    /// Bytes that would carry all it has, headers included.
    pub wanted_bytes: u64,
    /// The least number of bytes that it can use.
    pub least_bytes: u64,
    /// The channel as the cell knows it; valid only with `looked`, like all fields below.
    pub quality: Quality,
    pub looked: bool,
    /// Bytes of the whole carrier.
    pub rate_bytes: u64,
    /// Groups that would carry all it has.
    pub need: u16,
    /// The least number of groups that it can use.
    pub least: u16,
    /// Groups that the plan assigns to it.
    pub groups: u16,
    /// The bytes that were carried, for the counts of the TTI.
    pub prbs: Prbs,
    /// For schedulers by delay: how urgent it is, by the [`Urgency`] that the scheduler asks for.
    pub urgency: f64,
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
            urgency: 0.0,
        }
    }
}

/// Provides the candidates of a TTI and their channels; each channel is asked for at most once in a TTI. A scheduler asks for
/// all candidates, or for one after the other as long as it has something for them. By default they are all known before.
pub(crate) trait Look {
    /// Fills in the fields of the candidate that depend on its channel.
    fn look(&mut self, candidate: &mut Candidate);
    /// Completes `candidates`, in the order of their UEs.
    #[inline]
    fn all(&mut self, candidates: &mut Vec<Candidate>) {
        let _ = candidates;
    }
    /// The candidates are to be taken in turn, from that of UE `next` on: the number of the first.
    #[inline]
    fn begin(&mut self, candidates: &mut Vec<Candidate>, next: u32) -> usize {
        candidates.partition_point(|candidate| candidate.ue < next)
    }
    /// The number of the candidate at `place` in turn after `first`; the places are asked for one after the other.
    #[inline]
    fn in_turn(&mut self, candidates: &mut Vec<Candidate>, first: usize, place: usize) -> Option<usize> {
        let (count, number) = (candidates.len(), first + place);
        (place < count).then_some(if number < count { number } else { number - count })
    }
}

/// The settings of a scheduler. Each file of this folder has them besides its `COMPONENT`.
pub(crate) trait Setting: Copy {
    /// The scheduler's state, which it keeps from TTI to TTI.
    type Law: Law;

    /// The settings that `arguments` of its `COMPONENT` describe.
    fn build(arguments: &Arguments) -> Self;

    /// For a cell with this many UEs.
    fn start(self, ues: usize, tti: Span) -> Self::Law;

    /// The longest TTI with which it can be used.
    fn longest_tti(self) -> Span {
        Span::MAX
    }

    /// How it decides by the time that packets have waited, if it does. Such a scheduler cannot be used within a slice.
    fn by_delay(self) -> Option<Urgency> {
        None
    }

    /// The most resource blocks that a UE may borrow, if elastic quantum partition with a slice for each UE replaces all
    /// planning. Such a scheduler cannot be used within a slice.
    fn divides(self) -> Option<u32> {
        None
    }
}

/// A scheduler with the state that it keeps from TTI to TTI.
pub(crate) trait Law {
    /// Plans TTI number `tti`: shares out `groups` among the candidates of `look`, and puts the numbers of those that get some
    /// into `plan`, which is empty, in the order they stand on the carrier.
    fn plan<L: Look>(
        &mut self,
        tti: u64,
        candidates: &mut Vec<Candidate>,
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
