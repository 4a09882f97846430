//! Elastic quantum partition as a scheduler: each UE is a slice of its own with the same share (5G QoS thesis, sections 4.4
//! and 4.6), so that as many packets as possible are sent whole.
//!
//! The partition makes all decisions ([`crate::slice`]); there is no plan here.
//!
//! No model: the model of slices covers the partition.

use super::Setting;
use super::round_robin::{Law, RoundRobin};
use crate::cell::partition::{LIMIT, limit_rbs};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind};

pub(super) static COMPONENT: Component = Component::new(
    Kind::Scheduler,
    "eqp",
    "Elastic quantum partition: as many whole packets as fit, and equal shares for all UEs over time. Not within a slice.",
)
.source("5G QoS thesis, sections 4.4 and 4.6")
.with(&[LIMIT.parameter()]);

/// The scheduler EQP: sends as many whole packets as possible. Only for a cell without slices.
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
