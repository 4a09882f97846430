//! Earliest deadline first, EDF (Liu and Layland, "Scheduling algorithms for multiprogramming in a
//! hard-real-time environment", Journal of the ACM 20(1), 1973): serves the UE with the packet that is due
//! first.
//!
//! The deadline of a packet is its arrival time at the RLC plus the delay budget of its bearer's class, the
//! shortest of those of its QoS flows. With `deadline=packet` the deadline is the packet's own: that of its PDU
//! set (the arrival of the first packet of the set at the node plus PSDB, TS 23.501 clause 5.7.7.2), or for a
//! packet of no set its arrival at the RLC plus the delay budget of its QoS flow. The channel does not matter;
//! UEs of the same deadline take turns.
//!
//! # Differences from the reference
//! * A UE has the earliest deadline of the packets at the heads of its bearers. Bearers without a class have
//!   the budget of QCI or 5QI 9, 300 ms.
//! * A packet whose deadline is over is sent all the same, before others.
//! * With `deadline=packet` only heads count: a packet that waits behind one of a later deadline has that one's
//!   deadline until it is at the head.

use super::{Candidate, CandidateSource, Setting, Urgency, ranked};
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};

const DEADLINE: Typed<str> = Typed::new(
    "deadline",
    "bearer",
    "Deadline of a head packet: by the shortest budget of its bearer, or its own (of its PDU set or QoS flow).",
)
.unit(Unit::Choice(&["bearer", "packet"]))
.source("ours; TS 23.501 clause 5.7.7.2 for PDU sets");

pub(super) static COMPONENT: Component = Component::new(
    Kind::Scheduler,
    "edf",
    "Resource blocks to the UE with the earliest deadline: arrival of its head packet plus the delay budget of its class.",
)
.source("Liu and Layland, Journal of the ACM 20(1), 1973")
.with(&[DEADLINE.parameter()]);

/// Grants the UE with the earliest deadline all it needs, then the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edf {
    /// Whether the deadline is that of the packet at the head, in place of its bearer's.
    pub by_packet: bool,
}

impl Setting for Edf {
    type Law = Law;

    fn build(arguments: &Arguments) -> Edf {
        Edf { by_packet: arguments.get(&DEADLINE) == "packet" }
    }
    fn start(self, _: usize, _: Span) -> Law {
        Law::default()
    }
    fn by_delay(self) -> Option<Urgency> {
        Some(if self.by_packet { Urgency::OwnDeadline } else { Urgency::Deadline })
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
