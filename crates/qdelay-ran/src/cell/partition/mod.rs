//! How a cell is divided among slices, and how users name that.
//!
//! A new partition is a file, its `mod` line and a line of the registry below. The file has the `COMPONENT`, a type of the settings
//! with `Setting`, and what decides in each TTI with `Law`; what it computes is in [`crate::slice`].

mod any;
mod elastic;
mod fixed;

pub(crate) use elastic::{LIMIT, limit_rbs};

use crate::mac::Scheduler;
use crate::slice::{Channel, Grant, Queues, Rounding, Share, SliceError, Slices, Tti};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use any::partitions;
use qdelay_core::component::{Arguments, Component, ComponentError};

partitions! {
    fixed::Fixed,
    elastic::Elastic,
}

/// A slice of a cell.
#[derive(Clone, Debug)]
pub struct CellSlice {
    /// What it is called, for people.
    pub name: String,
    /// Its part of the resource blocks that carry new data.
    pub share: Share,
    /// Which of its UEs gets what of it; `None` for what the cell has. Where packets decide how much each gets
    /// ([`Partition::Elastic`]), it says whose come first among equals.
    pub scheduler: Option<Scheduler>,
    /// Its bearers, by number over all UEs.
    pub bearers: Vec<usize>,
}

/// A partition as it is set: what a file of this folder has beside its `COMPONENT`.
pub(crate) trait Setting: Copy {
    /// What decides in each TTI.
    type Law: Law;

    /// What `arguments` of its `COMPONENT` say.
    fn build(arguments: &Arguments) -> Self;

    /// Of a cell with these slices, in groups of `rbg_rbs` resource blocks.
    fn start(self, slices: Slices, rbg_rbs: u32, rounding: Rounding) -> Result<Self::Law, SliceError>;

    /// A share of fewer resource blocks of a TTI is a share of nothing.
    fn least_rbs(self, rbg_rbs: u32) -> u32;
}

/// Gives slices their resource blocks, TTI by TTI.
pub(crate) trait Law {
    /// Whether packets decide how much each bearer gets ([`Law::decide`]). Elsewhere the scheduler of each slice shares out what the
    /// slice is granted among its UEs.
    fn by_packets(&self) -> bool;

    /// What a slice is granted of `rbs` resource blocks, where that does not depend on what it was granted before.
    fn granted(&self, slice: usize, rbs: u32) -> u32;

    /// What a slice has lent and not got back, in resource blocks; `None` where nothing is lent.
    fn quantum(&self, slice: usize) -> Option<i64>;

    /// Decides a TTI by packets. `None` where it does not, or where it refuses.
    fn decide<Q: Queues>(&mut self, tti: Tti, channels: &[Channel], queues: &Q) -> Option<Decided<'_>>;

    /// Groups more that a slice could have got for packets that do not go whole, of those that nobody got.
    fn spare_groups(&self, slice: Charged) -> u16;
}

/// What a law that asks for packets has decided.
pub(crate) struct Decided<'a> {
    /// Resource blocks of each slice.
    pub granted: &'a [u32],
    /// In the order of the queues.
    pub grants: &'a [Grant],
}

/// What a slice had in a TTI, in resource blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charged {
    pub granted: u32,
    /// What its bearers got, and what of it they used.
    pub got: u32,
    pub used: u32,
    /// Its quantum before the TTI.
    pub quantum: i64,
}
