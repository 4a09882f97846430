//! The partition of a cell among slices, and its components.
//!
//! A new partition is a file, its `mod` line and a line of the registry below. The file has the `COMPONENT`, a type of the
//! settings with `Setting`, and the decision in each TTI as `Law`; the computation is in [`crate::slice`].

mod dispatch;
mod elastic;
mod fixed;

pub(crate) use elastic::{LIMIT, limit_rbs};

use crate::mac::Scheduler;
use crate::slice::{Grant, Queues, RbgCapacity, Rounding, Share, SliceError, Slices, Tti};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use dispatch::partitions;
use qdelay_core::component::{Arguments, Component, ComponentError};

partitions! {
    fixed::Fixed,
    elastic::Elastic,
}

/// A slice of a cell.
#[derive(Clone, Debug)]
pub struct CellSlice {
    /// Name of the slice, for display.
    pub name: String,
    /// The slice's share of the resource blocks that carry new data.
    pub share: Share,
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

    /// The law for a cell with these slices, in groups of `rbg_rbs` resource blocks.
    fn start(self, slices: Slices, rbg_rbs: u32, rounding: Rounding) -> Result<Self::Law, SliceError>;

    /// The smallest useful share, in resource blocks of a TTI: a smaller one is rounded down to nothing.
    fn least_rbs(self, rbg_rbs: u32) -> u32;
}

/// Assigns resource blocks to slices, TTI by TTI.
pub(crate) trait Law {
    /// Returns true if groups are assigned to bearers by packets ([`Law::decide`]). Otherwise each slice's
    /// scheduler shares the slice's grant among its UEs.
    fn by_packets(&self) -> bool;

    /// Resource blocks granted to a slice out of `rbs`, if the grant does not depend on earlier ones.
    fn granted(&self, slice: usize, rbs: u32) -> u32;

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
    pub granted: u32,
    /// Resource blocks that the slice's bearers were assigned; `used`: those that they used.
    pub got: u32,
    pub used: u32,
    /// The slice's quantum before the TTI.
    pub quantum: i64,
}
