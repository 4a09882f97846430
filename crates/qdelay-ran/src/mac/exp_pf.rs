//! Exponential rule with proportional fair, EXP/PF (Rhee, Holtzman and Kim, "Scheduling of real/non-real time
//! services: adaptive EXP/PF algorithm", VTC 2003 Spring): serves the UE with the highest
//! `exp((a W - m) / (1 + sqrt(m))) r / T`.
//!
//! `a W`, `r` and `T` are those of M-LWDF; `m` is the mean of `a W` over the UEs with data.
//!
//! # Differences from the reference
//! * All UEs are ranked by the rule of real-time services; those without a class have the budget of QCI or
//!   5QI 9. The reference ranks others by proportional fair, with a weight that it adapts.
//! * A UE has the largest `a W` of its bearers, with logarithms to base 10. UEs that cannot be sent anything
//!   are not in the mean.

use super::averages::WINDOW;
use super::weighted::{Law, Weight};
use super::{Candidate, Setting, Urgency};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind};

pub(super) static COMPONENT: Component = Component::new(
    Kind::Scheduler,
    "exp_pf",
    "Proportional fair for equal delays; the weight of a UE grows exponentially as its delay exceeds the mean.",
)
.source("Rhee, Holtzman and Kim, VTC 2003 Spring")
.with(&[WINDOW.parameter()]);

/// The scheduler EXP/PF: the UE with the highest exponential of its weighted delay times its rate over its
/// recent throughput is granted all it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpPf {
    /// Averaging window of the recent throughput. At least a TTI.
    pub window: Span,
}

impl Setting for ExpPf {
    type Law = Law<Lateness>;

    fn build(arguments: &Arguments) -> ExpPf {
        ExpPf { window: arguments.get(&WINDOW) }
    }
    fn start(self, ues: usize, tti: Span) -> Law<Lateness> {
        Law::new(ues, tti, self.window)
    }
    fn longest_tti(self) -> Span {
        self.window
    }
    fn by_delay(self) -> Option<Urgency> {
        Some(Urgency::Weighted)
    }
}

/// Largest exponent; larger ones are clamped.
const HIGHEST_EXPONENT: f64 = 300.0;

/// The exponential of the excess of a UE's weighted delay over the mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lateness {
    /// `m` of this TTI.
    mean: f64,
}

impl Weight for Lateness {
    fn begin(&mut self, candidates: &[Candidate]) {
        let (sum, count) = candidates
            .iter()
            .filter(|candidate| candidate.need > 0)
            .fold((0.0, 0_u32), |(sum, count), candidate| (sum + candidate.urgency, count + 1));
        self.mean = sum / f64::from(count.max(1));
    }
    #[inline]
    fn weight(&self, candidate: &Candidate) -> f64 {
        let exponent = (candidate.urgency - self.mean) / (1.0 + libm::sqrt(self.mean));
        // Larger exponents would make metrics overflow.
        libm::exp(exponent.min(HIGHEST_EXPONENT))
    }
}
