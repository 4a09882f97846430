//! Earliest deadline first, EDF (Liu and Layland, "Scheduling algorithms for multiprogramming in a
//! hard-real-time environment", Journal of the ACM 20(1), 1973): serves the UE with the packet that is due
//! first.
//!
//! The deadline of a packet is its arrival time at the RLC plus the delay budget of its bearer's class. The
//! channel does not matter; UEs of the same deadline take turns.
//!
//! # Differences from the reference
//! * A UE has the earliest deadline of the packets at the heads of its bearers. Bearers without a class have
//!   the budget of QCI or 5QI 9, 300 ms.
//! * A packet whose deadline is over is sent all the same, before others.

use super::{Candidate, CandidateSource, Setting, Urgency, ranked};
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind};

pub(super) static COMPONENT: Component = Component::new(
    Kind::Scheduler,
    "edf",
    "Resource blocks to the UE with the earliest deadline: arrival of its head packet plus the delay budget of its class.",
)
.source("Liu and Layland, Journal of the ACM 20(1), 1973");

/// Grants the UE with the earliest deadline all it needs, then the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edf;

impl Setting for Edf {
    type Law = Law;

    fn build(_: &Arguments) -> Edf {
        Edf
    }
    fn start(self, _: usize, _: Span) -> Law {
        Law::default()
    }
    fn by_delay(self) -> Option<Urgency> {
        Some(Urgency::Deadline)
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
        self.0.plan(candidates, groups, look, plan, |candidate| candidate.urgency);
    }
    fn metric(&self, candidate: &Candidate) -> f64 {
        candidate.urgency
    }
}
