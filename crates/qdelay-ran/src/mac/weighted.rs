//! Weighted proportional fair: serves the UE with the highest weight times its rate over its recent
//! throughput. Related schedulers differ in their [`Weight`].

use super::averages::Averages;
use super::ranked::Next;
use super::{Candidate, CandidateSource};
use alloc::vec::Vec;
use core::fmt::Debug;
use qdelay_core::Span;

/// The factor of a UE's rank besides its rate and its throughput.
pub(crate) trait Weight: Clone + Debug + Default {
    /// Begins a TTI with these candidates, which are complete.
    fn begin(&mut self, candidates: &[Candidate]) {
        let _ = candidates;
    }
    /// The weight of a candidate.
    fn weight(&self, candidate: &Candidate) -> f64;
}

#[derive(Clone, Debug)]
pub(crate) struct Law<W> {
    next: Next,
    averages: Averages,
    weight: W,
}

impl<W: Weight> Law<W> {
    pub fn new(ues: usize, tti: Span, window: Span) -> Law<W> {
        Law { next: Next::default(), averages: Averages::new(ues, tti, window), weight: W::default() }
    }
}

impl<W: Weight> super::Law for Law<W> {
    fn plan<L: CandidateSource>(
        &mut self,
        tti: u64,
        candidates: &mut Vec<Candidate>,
        groups: u16,
        look: &mut L,
        plan: &mut Vec<u32>,
    ) {
        self.begin(tti);
        look.all(candidates);
        candidates.iter_mut().for_each(|candidate| look.query_channel(candidate));
        self.weight.begin(candidates);
        let (averages, weight) = (&self.averages, &self.weight);
        self.next.rank(candidates, groups, plan, |candidate| metric(averages, weight, candidate));
    }

    fn begin(&mut self, tti: u64) {
        self.averages.begin(tti);
    }

    fn metric(&self, candidate: &Candidate) -> f64 {
        metric(&self.averages, &self.weight, candidate)
    }

    fn carried(&mut self, ue: u32, bytes: u64) {
        self.averages.carried(ue, bytes);
    }
}

#[inline]
fn metric<W: Weight>(averages: &Averages, weight: &W, candidate: &Candidate) -> f64 {
    weight.weight(candidate) * candidate.rate_bytes as f64 / averages.throughput(candidate.ue)
}
