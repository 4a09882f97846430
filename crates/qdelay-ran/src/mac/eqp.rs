//! Elastic quantum partition as a scheduler: each UE is a slice of its own of the same share (5G QoS thesis, sections 4.4 and
//! 4.6), so that bearers whose packets go whole are as many as possible.
//!
//! The partition decides all ([`crate::slice`]); nothing is planned here.
//!
//! No model: that of slices judges the partition.

use super::Setting;
use super::round_robin::{Law, RoundRobin};
use crate::cell::partition::{LIMIT, limit_rbs};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind};

pub(super) static COMPONENT: Component = Component {
    kind: Kind::Scheduler,
    name: "eqp",
    about: "Elastic quantum partition: as many whole packets as fit; over time the same to each UE. Not of a slice.",
    source: "5G QoS thesis, sections 4.4 and 4.6",
    parameters: &[LIMIT],
    positional: None,
};

/// To bearers whose packets go whole, as many as possible. Of a cell that is not divided otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eqp {
    /// The most resource blocks that a UE may have borrowed.
    pub limit_rbs: u32,
}

impl Setting for Eqp {
    type Law = Law;

    fn build(arguments: &Arguments) -> Eqp {
        Eqp { limit_rbs: limit_rbs(arguments) }
    }
    fn start(self, ues: usize, tti: Span) -> Law {
        RoundRobin.start(ues, tti)
    }
    fn divides(self) -> Option<u32> {
        Some(self.limit_rbs)
    }
}
