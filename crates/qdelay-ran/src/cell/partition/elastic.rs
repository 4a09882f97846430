//! Elastic quantum partition as a component; [`Eqp`] decides.

use super::{Charged, Decided, Division, Setting};
use crate::cell::error::CellError;
use crate::slice::{Eqp, Queues, RbgCapacity, Rounding, Tti};
use alloc::boxed::Box;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};

/// The quantum limit of EQP, a parameter of both the partition and the scheduler.
pub(crate) const LIMIT: Typed<u64> = Typed::new(
    "limit",
    "100",
    "The quantum limit: most resource blocks that a slice may have borrowed; at least a resource block group.",
)
.unit(Unit::Count("resource blocks"))
.within("1", "1000000")
.source("5G QoS thesis, section 4.5.1");

pub(super) static COMPONENT: Component = Component::new(
    Kind::Partition,
    "eqp",
    "Elastic quantum partition: slices lend and borrow resource blocks to send as many whole packets as possible.",
)
.source("5G QoS thesis, section 4.4")
.with(&[LIMIT.parameter()]);

/// Elastic quantum partition: slices lend and borrow resource blocks, so that packets are sent whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elastic {
    /// The most resource blocks that a slice may have borrowed, or lent.
    pub limit_rbs: u32,
}

/// Value of [`LIMIT`] in `arguments`; the declared range fits the type.
pub(crate) fn limit_rbs(arguments: &Arguments) -> u32 {
    arguments.get(&LIMIT) as u32
}

impl Setting for Elastic {
    type Law = Law;

    fn build(arguments: &Arguments) -> Elastic {
        Elastic { limit_rbs: limit_rbs(arguments) }
    }
    fn start(self, division: &Division<'_>) -> Result<Law, CellError> {
        let Division { rbg_rbs, rounding, .. } = *division;
        let eqp = Eqp::new(division.shares(1)?, self.limit_rbs, rbg_rbs).map_err(CellError::Slices)?;
        let eqp = eqp.rounding(rounding);
        // The scheduler's variant leaves lenders unbounded: where most UEs are idle, a bound would leave
        // their shares unused too.
        let eqp = if rounding == Rounding::Down { eqp.bound_lenders() } else { eqp };
        Ok(Law { eqp: Box::new(eqp), rbg_rbs })
    }
}

/// Assigns groups to bearers, by the sizes of the packets at their heads.
#[derive(Clone, Debug)]
pub(crate) struct Law {
    pub eqp: Box<Eqp>,
    rbg_rbs: u32,
}

impl super::Law for Law {
    fn by_packets(&self) -> bool {
        true
    }
    fn granted(&self, slice: usize, rbs: u32) -> u32 {
        self.eqp.slices().shares().get(slice).map_or(0, |share| share.rounded_down(rbs))
    }
    fn quantum(&self, slice: usize) -> Option<i64> {
        Some(self.eqp.quanta().get(slice).copied().unwrap_or(0))
    }
    #[inline]
    fn decide<Q: Queues>(&mut self, tti: Tti, channels: &[RbgCapacity], queues: &Q) -> Option<Decided<'_>> {
        // All errors were checked when the cell was built.
        self.eqp.decide(tti, channels, queues).ok()?;
        Some(Decided { granted: self.eqp.granted(), grants: self.eqp.grants() })
    }
    fn spare_groups(&self, slice: Charged) -> u16 {
        let (rbg, limit) = (i64::from(self.rbg_rbs), self.eqp.limit_rbs());
        let mut quantum = slice.quantum + i64::from(slice.granted) - i64::from(slice.got);
        let mut spare = 0;
        for _ in 0..self.eqp.unused_rbs() / self.rbg_rbs.max(1) {
            if 4 * quantum <= -3 * limit || quantum - rbg < -limit {
                break;
            }
            (quantum, spare) = (quantum - rbg, spare + 1);
        }
        spare
    }
}
