//! Modified largest weighted delay first, M-LWDF (Andrews, Kumaran, Ramanan, Stolyar, Whiting and
//! Vijayakumar, "Providing quality of service over a shared wireless link", IEEE Communications Magazine
//! 39(2), 2001): serves the UE with the highest `a W r / T`.
//!
//! `W` is the time that the packet at the head of a bearer has waited in the RLC, `a = -log10(loss) / budget`
//! with the loss rate and the delay budget of its class, `r` the rate of the whole carrier, and `T` the
//! recent throughput, as in proportional fair.
//!
//! # Differences from the reference
//! * A UE has the largest `a W` of its bearers. Bearers without a class have those of QCI or 5QI 9: 300 ms
//!   and one in a million.
//! * The logarithm is to base 10, which does not change the order. A nanosecond is added to `W`, so that UEs
//!   whose packets have just come are ranked by proportional fair.

use super::averages::WINDOW;
use super::weighted::{Law, Weight};
use super::{Candidate, Setting, Urgency};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind};

pub(super) static COMPONENT: Component = Component::new(
    Kind::Scheduler,
    "mlwdf",
    "Resource blocks to the UE with the highest delay over its delay budget, times the proportional-fair metric.",
)
.source("Andrews et al., IEEE Communications Magazine 39(2), 2001")
.with(&[WINDOW.parameter()]);

/// The scheduler M-LWDF: the UE with the highest weighted delay times its rate over its recent throughput is
/// granted all it needs, then the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mlwdf {
    /// Averaging window of the recent throughput. At least a TTI.
    pub window: Span,
}

impl Setting for Mlwdf {
    type Law = Law<Delay>;

    fn build(arguments: &Arguments) -> Mlwdf {
        Mlwdf { window: arguments.get(&WINDOW) }
    }
    fn start(self, ues: usize, tti: Span) -> Law<Delay> {
        Law::new(ues, tti, self.window)
    }
    fn longest_tti(self) -> Span {
        self.window
    }
    fn by_delay(self) -> Option<Urgency> {
        Some(Urgency::Weighted)
    }
}

/// The weighted delay of a UE's head packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delay;

impl Weight for Delay {
    #[inline]
    fn weight(&self, candidate: &Candidate) -> f64 {
        candidate.urgency
    }
}
