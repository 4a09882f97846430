//! Fixed partition as a component; [`FixedPartition`] decides.

use super::{Charged, Decided, Division, Setting};
use crate::cell::error::CellError;
use crate::slice::{FixedPartition, Queues, RbgCapacity, Tti};
use qdelay_core::component::{Arguments, Component, Kind};

pub(super) static COMPONENT: Component = Component::new(
    Kind::Partition,
    "fp",
    "Each slice gets the whole resource block groups of its share in every TTI; unused ones are lost.",
)
.source("5G QoS thesis, section 4.4; OpenAirInterface, FlexRAN");

/// The fixed partition: each slice gets its share in every TTI; unused resource blocks are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed;

impl Setting for Fixed {
    type Law = Law;

    fn build(_: &Arguments) -> Fixed {
        Fixed
    }
    fn start(self, division: &Division<'_>) -> Result<Law, CellError> {
        let rbg_rbs = division.rbg_rbs;
        let slices = division.shares(rbg_rbs)?;
        Ok(Law { of: FixedPartition::new(slices, rbg_rbs).map_err(CellError::Slices)?, rbg_rbs })
    }
}

/// Assigns whole groups to each slice.
#[derive(Clone, Debug)]
pub(crate) struct Law {
    of: FixedPartition,
    rbg_rbs: u32,
}

impl super::Law for Law {
    fn by_packets(&self) -> bool {
        false
    }
    fn granted(&self, slice: usize, rbs: u32) -> u32 {
        self.of.groups(slice, rbs) * self.rbg_rbs
    }
    fn quantum(&self, _: usize) -> Option<i64> {
        None
    }
    fn decide<Q: Queues>(&mut self, _: Tti, _: &[RbgCapacity], _: &Q) -> Option<Decided<'_>> {
        None
    }
    fn spare_groups(&self, slice: Charged) -> u16 {
        ((slice.granted - slice.used) / self.rbg_rbs.max(1)) as u16
    }
}
