//! Modified largest weighted delay first, M-LWDF (Andrews, Kumaran, Ramanan, Stolyar, Whiting and Vijayakumar, "Providing quality of
//! service over a shared wireless link", IEEE Communications Magazine 39(2), 2001): serves the UE with the highest `a W r / T`.
//!
//! `W` is how long the packet at the head of a bearer has waited in the RLC, `a = -log10(loss) / budget` with the loss rate and the
//! delay budget of its class, `r` the rate of the whole carrier, and `T` the recent throughput, as in proportional fair.
//!
//! # Differences from the reference
//! * A UE has the largest `a W` of its bearers. Bearers without a class have those of QCI or 5QI 9: 300 ms and one in a million.
//! * The logarithm is that to base 10, which does not change the order. `W` is a nanosecond more than it is, so that UEs whose
//!   packets have just come are ranked by proportional fair.

use super::averages::{Averages, WINDOW};
use super::ranked::Next;
use super::{Candidate, Look, Setting, Urgency};
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind};

pub(super) static COMPONENT: Component = Component::new(
    Kind::Scheduler,
    "mlwdf",
    "Resource blocks to the UE whose first packet has waited longest for its budget, times proportional fair.",
)
.source("Andrews et al., IEEE Communications Magazine 39(2), 2001")
.with(&[WINDOW.parameter()]);

/// Grants the UE with the highest weighted delay times its rate over its recent throughput all it needs, then the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mlwdf {
    /// Averaging window of the recent throughput. At least a TTI.
    pub window: Span,
}

impl Setting for Mlwdf {
    type Law = Law;

    fn build(arguments: &Arguments) -> Mlwdf {
        Mlwdf { window: arguments.get(&WINDOW) }
    }
    fn start(self, ues: usize, tti: Span) -> Law {
        Law::new(ues, tti, self.window)
    }
    fn longest_tti(self) -> Span {
        self.window
    }
    fn by_delay(self) -> Option<Urgency> {
        Some(Urgency::Weighted)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Law {
    next: Next,
    averages: Averages,
}

impl Law {
    fn new(ues: usize, tti: Span, window: Span) -> Law {
        Law { next: Next::default(), averages: Averages::new(ues, tti, window) }
    }
}

impl super::Law for Law {
    fn plan<L: Look>(
        &mut self,
        tti: u64,
        candidates: &mut Vec<Candidate>,
        groups: u16,
        look: &mut L,
        plan: &mut Vec<u32>,
    ) {
        self.begin(tti);
        let averages = &self.averages;
        self.next.plan(candidates, groups, look, plan, |candidate| metric(averages, candidate));
    }

    fn begin(&mut self, tti: u64) {
        self.averages.begin(tti);
    }

    fn metric(&self, candidate: &Candidate) -> f64 {
        metric(&self.averages, candidate)
    }

    fn carried(&mut self, ue: u32, bytes: u64) {
        self.averages.carried(ue, bytes);
    }
}

#[inline]
fn metric(averages: &Averages, candidate: &Candidate) -> f64 {
    candidate.urgency * candidate.rate_bytes as f64 / averages.of(candidate.ue)
}
