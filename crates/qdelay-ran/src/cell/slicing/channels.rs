//! What whole groups carry for a UE: tables that are worked out once for each MCS, and anew where a channel is given in bytes.
//!
//! A UE has one block in a TTI. Where several of its bearers or slices have groups in it, the block carries what its groups
//! carry together, which is not quite the sum of what they would carry in blocks of their own: transport block sizes are steps.
//! What `n` groups add to a block is then at least the least difference between two sizes that are `n` groups apart, and so
//! many bytes is what is counted on.

use crate::mac::Frame;
use crate::radio::Quality;
use crate::slice::{Channel, MOST_GROUPS};
use alloc::vec::Vec;

/// MCSs are below 32.
const MCS_MAX: usize = 32;

/// The channels of a cell's UEs.
#[derive(Clone, Debug, Default)]
pub(super) struct Channels {
    /// For each MCS that of a block alone and that of a part of a block; behind these for each UE its own.
    list: Vec<Channel>,
    is_known: Vec<bool>,
    /// Of the UE in hand.
    whole: Vec<u32>,
}

impl Channels {
    /// All of them.
    pub fn all(&self) -> &[Channel] {
        &self.list
    }
    /// What `groups` of the channel `number` carry at least.
    pub fn bytes_in(&self, number: u32, groups: u16) -> u64 {
        self.list.get(number as usize).map_or(0, |channel| channel.bytes_in(groups).into())
    }

    /// The number of the channel of `ue` in a TTI, which is this good; `is_part` where others have groups in its block too.
    /// Groups beyond those of the whole carrier, `groups`, are not asked for.
    pub fn number(
        &mut self,
        ue: u32,
        quality: Quality,
        is_part: bool,
        groups: u16,
        frame: &Frame<'_>,
    ) -> u32 {
        let number = match quality {
            Quality::Mcs(mcs) => usize::from(mcs).min(MCS_MAX - 1) * 2 + usize::from(is_part),
            Quality::Bytes(_) | Quality::Outage => 2 * MCS_MAX + ue as usize,
        };
        if number >= self.list.len() {
            self.list.resize_with(number + 1, Channel::default);
            self.is_known.resize(number + 1, false);
        }
        let is_lasting = matches!(quality, Quality::Mcs(_));
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
            let besides = usize::from(groups) - part;
            (0..=besides).map(|other| at(other + part).saturating_sub(at(other))).min().unwrap_or(0)
        });
        number as u32
    }
}
