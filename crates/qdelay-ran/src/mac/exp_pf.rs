//! Exponential rule with proportional fair, EXP/PF (Rhee, Holtzman and Kim, "Scheduling of real/non-real time services: adaptive
//! EXP/PF algorithm", VTC 2003 Spring): serves the UE with the highest `exp((a W - m) / (1 + sqrt(m))) r / T`.
//!
//! `a W`, `r` and `T` are those of M-LWDF; `m` is the mean of `a W` over the UEs with data.
//!
//! # Differences from the reference
//! * All UEs are ranked by the rule of real-time services; those without a class have the budget of QCI or 5QI 9. The reference
//!   ranks others by proportional fair, with a weight that it adapts.
//! * A UE has the largest `a W` of its bearers, with logarithms to base 10. UEs that cannot be sent anything are not in the mean.

use super::averages::{Averages, WINDOW};
use super::ranked::Next;
use super::{Candidate, Look, Setting, Urgency};
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind};

pub(super) static COMPONENT: Component = Component::new(
    Kind::Scheduler,
    "exp_pf",
    "As proportional fair while nobody is late, and more by delay the later a UE is than the others.",
)
.source("Rhee, Holtzman and Kim, VTC 2003 Spring")
.with(&[WINDOW.parameter()]);

/// Grants the UE with the highest exponential of its weighted delay times its rate over its recent throughput all it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpPf {
    /// Averaging window of the recent throughput. At least a TTI.
    pub window: Span,
}

impl Setting for ExpPf {
    type Law = Law;

    fn build(arguments: &Arguments) -> ExpPf {
        ExpPf { window: arguments.get(&WINDOW) }
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

/// The largest exponent that counts.
const HIGHEST_EXPONENT: f64 = 300.0;

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
        look.all(candidates);
        candidates.iter_mut().for_each(|candidate| look.look(candidate));
        let (sum, count) = candidates
            .iter()
            .filter(|candidate| candidate.need > 0)
            .fold((0.0, 0_u32), |(sum, count), candidate| (sum + candidate.urgency, count + 1));
        let mean = sum / f64::from(count.max(1));
        self.next.rank(candidates, groups, plan, |candidate| metric(averages, mean, candidate));
    }

    fn begin(&mut self, tti: u64) {
        self.averages.begin(tti);
    }

    fn metric(&self, candidate: &Candidate) -> f64 {
        metric(&self.averages, 0.0, candidate)
    }

    fn carried(&mut self, ue: u32, bytes: u64) {
        self.averages.carried(ue, bytes);
    }
}

#[inline]
fn metric(averages: &Averages, mean: f64, candidate: &Candidate) -> f64 {
    let exponent = (candidate.urgency - mean) / (1.0 + libm::sqrt(mean));
    // Far beyond it metrics would overflow.
    libm::exp(exponent.min(HIGHEST_EXPONENT)) * candidate.rate_bytes as f64 / averages.of(candidate.ue)
}
