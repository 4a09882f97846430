//! Bytes that whole groups carry for a UE: tables that are computed once for each rung, in whole and in special
//! slots, and in every TTI for a channel given in bytes.
//!
//! A UE has one block in a TTI. If several of its bearers or slices have groups in it, the block carries the
//! bytes of all groups together, which is not exactly the sum of separate blocks, because transport block
//! sizes are discrete. The bytes that `n` groups add to a block are at least the smallest difference between
//! two sizes that are `n` groups apart, and the tables for parts of a block hold that minimum.

use crate::mac::Frame;
use crate::radio::Quality;
use crate::slice::{MOST_GROUPS, RbgCapacity};
use alloc::vec::Vec;

/// Fewest rungs with tables: an MCS is below 32.
const LEAST_RUNGS: usize = 32;
/// Tables of a rung.
const KINDS: usize = 4;

/// The channels of a cell's UEs.
#[derive(Clone, Debug)]
pub(super) struct Channels {
    /// Number of rungs with tables.
    rungs: usize,
    /// Tables: for each rung those of a block alone and of a part of a block, in whole and in special slots; then one for each UE.
    list: Vec<RbgCapacity>,
    is_known: Vec<bool>,
    /// Table of the current UE.
    whole: Vec<u32>,
}

impl Channels {
    /// Channels on a carrier with this number of rungs.
    pub fn new(rungs: usize) -> Channels {
        let rungs = rungs.max(LEAST_RUNGS);
        Channels { rungs, list: Vec::new(), is_known: Vec::new(), whole: Vec::new() }
    }
    /// All tables.
    pub fn all(&self) -> &[RbgCapacity] {
        &self.list
    }
    /// The fewest bytes that `groups` groups of channel `number` carry.
    pub fn bytes_in(&self, number: u32, groups: u16) -> u64 {
        self.list.get(number as usize).map_or(0, |channel| channel.bytes_in(groups).into())
    }

    /// Index of the table of `ue` in a TTI with this quality; `is_part` if others have groups in its block
    /// too, `is_special` in a special slot. Only entries up to `groups`, the groups of the whole carrier, are used.
    pub fn number(
        &mut self,
        ue: u32,
        quality: Quality,
        (is_part, is_special): (bool, bool),
        groups: u16,
        frame: &Frame<'_>,
    ) -> u32 {
        let kind = 2 * usize::from(is_special) + usize::from(is_part);
        let number = match quality {
            Quality::Rung(rung) => usize::from(rung.row()).min(self.rungs - 1) * KINDS + kind,
            Quality::Bytes(_) | Quality::Outage => KINDS * self.rungs + ue as usize,
        };
        if number >= self.list.len() {
            self.list.resize_with(number + 1, RbgCapacity::default);
            self.is_known.resize(number + 1, false);
        }
        let is_lasting = matches!(quality, Quality::Rung(_));
        if self.is_known[number] && is_lasting {
            return number as u32;
        }
        self.is_known[number] = true;
        let groups = groups.min(MOST_GROUPS);
        self.whole.clear();
        self.whole.extend(
            (0..=groups).map(|groups| frame.whole_bytes(quality, groups).min(u32::MAX.into()) as u32),
        );
        let (whole, channel) = (&self.whole, &mut self.list[number]);
        let at = |groups: usize| whole.get(groups).copied().unwrap_or(0);
        channel.set(groups, |part| {
            let part = usize::from(part);
            if !is_part {
                return at(part);
            }
            // The bytes that a part adds are bounded by the smallest difference of two sizes that are `part`
            // apart, since block sizes are not linear in groups.
            let besides = usize::from(groups) - part;
            (0..=besides).map(|other| at(other + part).saturating_sub(at(other))).min().unwrap_or(0)
        });
        number as u32
    }
}
