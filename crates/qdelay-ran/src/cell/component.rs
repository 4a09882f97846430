//! A component carrier of a cell: its resource blocks, scheduler, blocks and account, and the channel of each UE on it.
//!
//! A cell without carrier aggregation has one, the primary cell (PCell).

use super::CellUsage;
use super::account::{Account, Clock, Idle};
use crate::harq::Blocks;
use crate::mac::{Grid, State};
use crate::radio::{Quality, Radio};
use crate::tables::{Carrier, Rung};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use qdelay_core::{Random, Time};

/// A component carrier.
#[derive(Clone, Debug)]
pub(super) struct Component {
    pub grid: Grid,
    pub scheduler: State,
    pub blocks: Blocks,
    /// HARQ processes in use, with the TTI from which each is free; used where they are limited.
    pub releases: VecDeque<(u64, u32)>,
    pub account: Account,
    /// The channel and the HARQ entity of each UE.
    pub links: Vec<RadioLink>,
}

/// A UE on a component carrier.
#[derive(Clone, Debug)]
pub(super) struct RadioLink {
    pub radio: Radio,
    /// True if the channel never changes.
    pub is_constant: bool,
    /// Random numbers of lost blocks.
    pub random: Random,
    /// The TTI after the one in which the UE last repeated a block; 0 if it has not.
    pub repeated: u64,
    /// HARQ processes in use, and their number: 0 if the UE is not configured with the carrier.
    pub busy: u32,
    pub processes: u32,
}

impl RadioLink {
    /// Returns true if no HARQ process is free.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.busy >= self.processes
    }

    /// Occupies a HARQ process.
    pub fn occupy(&mut self) {
        debug_assert!(!self.is_full(), "a UE without a free process gets no new block");
        self.busy += 1;
    }
}

impl Component {
    /// Counts the TTIs before `until` that have not been counted, in which no UE had data.
    pub fn count_idle(&mut self, until: u64, clock: Clock) {
        if let Some(link) = self.links.get_mut(self.account.last_ue as usize) {
            let idle = Idle { radio: &mut link.radio, is_constant: link.is_constant };
            self.account.idle(until, &self.grid, clock, idle);
        }
    }

    /// The usage including the TTIs before `until`.
    pub fn usage(&self, until: u64, clock: Clock) -> CellUsage {
        let last = self.links.get(self.account.last_ue as usize).map(|link| (&link.radio, link.is_constant));
        self.account.until(until, &self.grid, clock, last)
    }

    /// Frees the HARQ processes whose blocks were acknowledged by TTI number `tti`.
    pub fn release(&mut self, tti: u64) {
        while let Some((_, ue)) = self.releases.pop_front_if(|&mut (free, _)| free <= tti) {
            let link = &mut self.links[ue as usize];
            debug_assert!(link.busy > 0, "a process is freed once");
            link.busy -= 1;
        }
    }

    /// Mean over the UEs of the MCS by which the scheduler assesses their channels at `now`; `None` if none has an MCS.
    pub fn mcs(&self, now: Time) -> Option<f64> {
        self.mean_of(now, |carrier, rung| carrier.mcs_of(rung))
    }

    /// The same of the rank; `None` without rank adaptation.
    pub fn rank(&self, now: Time) -> Option<f64> {
        let of = |carrier: &Carrier, rung| carrier.rank_of(rung);
        self.grid.carrier.adapts_rank().then(|| self.mean_of(now, of)).flatten()
    }

    /// Mean of a number of the UEs' known rungs.
    fn mean_of(&self, now: Time, number: impl Fn(&Carrier, Rung) -> u8) -> Option<f64> {
        let known = self.links.iter().filter_map(|link| match link.radio.clone().known(now) {
            Quality::Rung(rung) => Some(f64::from(number(&self.grid.carrier, rung))),
            Quality::Bytes(_) | Quality::Outage => None,
        });
        let (sum, count) = known.fold((0.0, 0_u32), |(sum, count), number| (sum + number, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }
}
