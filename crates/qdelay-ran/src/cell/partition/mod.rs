//! The partition of a cell among slices, and its components.
//!
//! A new partition is a file, its `mod` line and a line of the registry below. The file has the `COMPONENT`, a type of the
//! settings with `Setting`, and the decision in each TTI as `Law`; the computation is in [`crate::slice`].

mod dispatch;
mod elastic;
mod fixed;
mod rrm;

pub(crate) use elastic::{LIMIT, limit_rbs};

use super::error::CellError;
use crate::mac::{Grid, Scheduler};
use crate::slice::{
    Grant, PolicyAccount, Queues, Ratios, RbgCapacity, Rounding, Share, SliceDemand, SliceError,
    SliceSetting, Slices, Tti,
};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use dispatch::partitions;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError};

partitions! {
    fixed::Fixed,
    elastic::Elastic,
    rrm::Rrm,
}

/// The agreed part of the resource blocks: a share, or policy ratios with the partition [`Partition::Rrm`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreed {
    /// A share.
    Share(Share),
    /// Policy ratios.
    Ratios(Ratios),
}

impl Agreed {
    /// The share, or the minimum, in millionths.
    pub const fn millionths(self) -> u32 {
        match self {
            Agreed::Share(share) => share.millionths(),
            Agreed::Ratios(ratios) => ratios.min(),
        }
    }
}
impl From<Share> for Agreed {
    fn from(share: Share) -> Agreed {
        Agreed::Share(share)
    }
}
impl From<Ratios> for Agreed {
    fn from(ratios: Ratios) -> Agreed {
        Agreed::Ratios(ratios)
    }
}

/// A slice of a cell.
#[derive(Clone, Debug)]
pub struct CellSlice {
    /// Name of the slice, for display.
    pub name: String,
    /// The slice's part of the resource blocks that carry new data.
    pub agreed: Agreed,
    /// The scheduler among the slice's UEs; `None` for the cell's own. With a partition that decides by
    /// packets ([`Partition::Elastic`]), it only orders equal candidates.
    pub scheduler: Option<Scheduler>,
    /// The slice's bearers, by number over all UEs.
    pub bearers: Vec<usize>,
}

/// The settings of a partition. Each file of this folder implements it besides its `COMPONENT`.
pub(crate) trait Setting: Copy {
    /// The decision in each TTI.
    type Law: Law;

    /// The settings that `arguments` of the partition's `COMPONENT` describe.
    fn build(arguments: &Arguments) -> Self;

    /// The law for the slices of `division`.
    fn start(self, division: &Division<'_>) -> Result<Self::Law, CellError>;

    /// Returns true if slices have policy ratios in place of a share.
    fn by_ratios(self) -> bool {
        false
    }
}

/// The slices of a cell, and the resource blocks that are divided among them.
pub(crate) struct Division<'a> {
    pub slices: &'a [CellSlice],
    /// Number of bearers of the cell.
    pub bearers: usize,
    pub rounding: Rounding,
    /// Resource blocks in a group, over all slots of a TTI.
    pub rbg_rbs: u32,
    /// Resource blocks of a TTI without control.
    pub tti_rbs: u32,
    pub tti: Span,
    pub grid: &'a Grid,
}

impl Division<'_> {
    /// The slices with their shares, each of at least `least_rbs` resource blocks in a TTI: a smaller one is rounded down to
    /// nothing.
    fn shares(&self, least_rbs: u32) -> Result<Slices, CellError> {
        let agreed = |(slice, of): (usize, &CellSlice)| match of.agreed {
            Agreed::Share(share) => Ok(share),
            Agreed::Ratios(_) => Err(CellError::Slices(SliceError::NoShare { slice })),
        };
        let shares = self.slices.iter().enumerate().map(agreed).collect::<Result<Vec<Share>, _>>()?;
        let settings: Vec<SliceSetting<'_>> = shares
            .iter()
            .zip(self.slices)
            .map(|(&share, slice)| SliceSetting { share, drbs: &slice.bearers })
            .collect();
        let slices = Slices::new(&settings, self.bearers).map_err(CellError::Slices)?;
        let is_nothing =
            |share: &Share| self.rounding == Rounding::Down && share.rounded_down(self.tti_rbs) < least_rbs;
        match shares.iter().position(is_nothing) {
            Some(slice) => {
                Err(CellError::ShareOfNothing { slice, share: shares[slice], rbs: self.tti_rbs, least_rbs })
            }
            None => Ok(slices),
        }
    }

    /// The policy ratios of the slices.
    fn ratios(&self) -> Result<Vec<Ratios>, CellError> {
        let agreed = |(slice, of): (usize, &CellSlice)| match of.agreed {
            Agreed::Ratios(ratios) => Ok(ratios),
            Agreed::Share(_) => Err(CellError::Slices(SliceError::NoRatios { slice })),
        };
        self.slices.iter().enumerate().map(agreed).collect()
    }
}

/// Assigns resource blocks to slices, TTI by TTI.
pub(crate) trait Law {
    /// Returns true if groups are assigned to bearers by packets ([`Law::decide`]). Otherwise each slice's
    /// scheduler shares the slice's grant among its UEs.
    fn by_packets(&self) -> bool;

    /// Begins TTI number `tti`, with `rbs` resource blocks for new data.
    fn begin(&mut self, tti: u64, rbs: u32) {
        let _ = (tti, rbs);
    }

    /// Resource blocks granted to a slice out of `rbs`, if the grant does not depend on earlier ones; of a law that shares out by
    /// demand, those that it granted in the present TTI.
    fn granted(&self, slice: usize, rbs: u32) -> u32;

    /// Grants groups by the demands of the slices. Returns false if grants do not depend on demands.
    fn share_out(&mut self, demands: impl Iterator<Item = SliceDemand>) -> bool {
        let _ = demands;
        false
    }

    /// Passes the idle TTIs `from` to `until` - 1, with `rbs` resource blocks each. Returns false if the law needs no notice of
    /// them.
    fn idle(&mut self, from: u64, until: u64, rbs: impl Fn(u64) -> u32) -> bool {
        let _ = (from, until, rbs);
        false
    }

    /// Returns true if a slice other than `slice` wanted more in the present TTI and is below its maximum; false without maxima.
    fn is_another_hungry(&self, slice: usize) -> bool {
        let _ = slice;
        false
    }

    /// The accounts of the slices, of a law that keeps them itself.
    fn accounts(&self) -> Option<Vec<PolicyAccount>> {
        None
    }

    /// Resource blocks that a slice has lent and not got back; `None` if the partition has no lending.
    fn quantum(&self, slice: usize) -> Option<i64>;

    /// Decides a TTI by packets. `None` if the law does not decide by packets, or refuses.
    fn decide<Q: Queues>(&mut self, tti: Tti, channels: &[RbgCapacity], queues: &Q) -> Option<Decided<'_>>;

    /// Further groups that a slice could have used for packets that are not sent whole, out of the unassigned groups.
    fn spare_groups(&self, slice: Charged) -> u16;
}

/// The decision of a law that decides by packets.
pub(crate) struct Decided<'a> {
    /// Resource blocks of each slice.
    pub granted: &'a [u32],
    /// Grants of queues, in the order of the queues.
    pub grants: &'a [Grant],
}

/// The resource blocks of a slice in a TTI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charged {
    /// Index of the slice.
    pub slice: usize,
    pub granted: u32,
    /// Resource blocks that the slice's bearers were assigned; `used`: those that they used.
    pub got: u32,
    pub used: u32,
    /// The slice's quantum before the TTI.
    pub quantum: i64,
}
