//! Maximum throughput: the UE with the highest rate is granted all it needs, then the next; equal rates take turns. The other
//! UEs may starve (ns-3's `lte`, maximum throughput).

use super::{Candidate, CandidateSource, Setting, ranked};
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind};

pub(super) static COMPONENT: Component = Component::new(
    Kind::Scheduler,
    "max_throughput",
    "Resource blocks to the UE with the highest rate; the others may starve.",
)
.source("ns-3 lte (maximum throughput)");

/// The scheduler of maximum throughput: the UE with the highest rate is granted all it needs, then the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaxThroughput;

impl Setting for MaxThroughput {
    type Law = Law;

    fn build(_: &Arguments) -> MaxThroughput {
        MaxThroughput
    }
    fn start(self, _: usize, _: Span) -> Law {
        Law::default()
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Law(ranked::Next);

impl super::Law for Law {
    fn plan<L: CandidateSource>(
        &mut self,
        _: u64,
        candidates: &mut Vec<Candidate>,
        groups: u16,
        look: &mut L,
        plan: &mut Vec<u32>,
    ) {
        self.0.plan(candidates, groups, look, plan, |candidate| candidate.rate_bytes as f64);
    }
    fn metric(&self, candidate: &Candidate) -> f64 {
        candidate.rate_bytes as f64
    }
}
