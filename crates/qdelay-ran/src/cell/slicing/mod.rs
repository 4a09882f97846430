//! A cell that is divided among slices.
//!
//! A slice is a share of the resource blocks and a set of bearers; two bearers of one UE may be in two
//! slices. In a TTI
//!
//! 1. lost blocks of any slice are repeated; shares apply to the remaining resource blocks (5G QoS thesis,
//!    section 4.5.1);
//! 2. the law of the partition ([`crate::slice`]) decides. The fixed partition gives each slice whole groups,
//!    which the slice's own scheduler shares out among its UEs, and so do policy ratios, by what each slice
//!    wants; elastic quantum partition gives groups to bearers, by the sizes of the packets at their heads;
//! 3. each UE has one block, which holds the grants of all its slices, slice by slice.
//!
//! Within transport blocks nothing is lent: the part of a block that a slice or, with elastic quantum
//! partition, a bearer leaves unused is padding.
//!
//! # Elastic quantum partition
//! * The cost of a packet is the bytes that its RLC would fill with it, headers included; the remainder of a
//!   partly sent packet is the first packet, and so is each retransmission of acknowledged mode.
//! * The queue in front of the RLC is read, not dequeued. With a discipline that drops packets at dequeue,
//!   such as CoDel, the sizes are estimates: other packets may leave than those chosen, or more.
//! * Among equal candidates, the bearers of a slice are ordered by its scheduler: in turn, or by descending
//!   metric; those of a UE by their priorities. The order begins with the first bearer that got nothing in
//!   the previous decision.
//! * A UE in outage, or one that repeats a block, is excluded.
//!
//! # Time division duplex
//! Shares are of the resource blocks of slots with downlink data. In an uplink slot there are none: nothing is
//! granted, and no quantum changes. In a special slot a group carries fewer bytes; its capacities are in tables
//! of their own.
//!
//! # The signal `Served`
//! In a cell with slices, `capacity_bytes` is the capacity that a bearer could have had from its slice: its
//! grant plus the unused resource blocks. With elastic quantum partition, unused resource blocks count only
//! as far as the slice may borrow for packets that are not sent whole.
//!
//! # Idle TTIs
//! No UE sends in an idle TTI, yet slices lend: borrowed resource blocks are paid back. Idle TTIs are
//! therefore computed one by one, until the quanta do not change any more.

mod channels;
mod heads;
mod quanta;
#[cfg(test)]
mod tests;
mod tti;

pub use quanta::QuantumHistogram;

use super::partition::{CellSlice, Charged, Division, Elastic, Law as _, Partition, State as Law};
use super::{CellError, CellSetting, UeSetting};
use crate::mac::{Candidate, Grid, State};
use crate::slice::{MOST_SLICES, RbgCapacity, Rounding, Share, SliceDemand, SliceError, Tti, slices_of_drbs};
use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;
use channels::Channels;
use heads::Heads;

/// Usage of one slice.
///
/// In every TTI, and so in any interval: `granted = used + wasted + unfit + lent`, where `lent` is the growth
/// of the slice's quantum, negative if it borrowed. With the fixed partition nothing is lent. With policy ratios
/// `granted` is the slice's minimum, and each averaging window is balanced as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceUsage {
    /// Agreed resource blocks: the slice's share of those that carry new data, rounded down; with the fixed partition to
    /// whole groups; with policy ratios its minimum.
    pub granted_rbs: u64,
    /// Resource blocks that carried the slice's data, padding within them included.
    pub used_rbs: u64,
    /// Resource blocks charged to the slice but unused, when none of its bearers had more data.
    pub wasted_rbs: u64,
    /// Resource blocks charged to the slice but unused, when one of its bearers had more data.
    pub unfit_rbs: u64,
    /// Bytes of packets that were taken from the queues, in the cell's unit.
    pub sent_bytes: u64,
    /// Distribution of the slice's quantum after each TTI; empty with a partition without quanta.
    pub quanta: QuantumHistogram,
    /// With policy ratios only.
    pub policy: Option<PolicyUsage>,
}

/// Further counts of a slice with policy ratios, in resource blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyUsage {
    /// Granted to the slice beyond its minimum, over the averaging windows.
    pub borrowed_rbs: u64,
    /// Dedicated to the slice and idle, while another slice below its maximum had data for them.
    pub idle_dedicated_rbs: u64,
    /// Granted to the slice and unused, because nothing fitted, while another slice below its maximum had data for them.
    pub idle_granted_rbs: u64,
}

impl PolicyUsage {
    fn since(self, earlier: PolicyUsage) -> PolicyUsage {
        PolicyUsage {
            borrowed_rbs: self.borrowed_rbs.saturating_sub(earlier.borrowed_rbs),
            idle_dedicated_rbs: self.idle_dedicated_rbs.saturating_sub(earlier.idle_dedicated_rbs),
            idle_granted_rbs: self.idle_granted_rbs.saturating_sub(earlier.idle_granted_rbs),
        }
    }
}

impl SliceUsage {
    /// The difference to `earlier`, an earlier value of the same usage.
    #[must_use]
    pub fn since(&self, earlier: &SliceUsage) -> SliceUsage {
        SliceUsage {
            granted_rbs: self.granted_rbs.saturating_sub(earlier.granted_rbs),
            used_rbs: self.used_rbs.saturating_sub(earlier.used_rbs),
            wasted_rbs: self.wasted_rbs.saturating_sub(earlier.wasted_rbs),
            unfit_rbs: self.unfit_rbs.saturating_sub(earlier.unfit_rbs),
            sent_bytes: self.sent_bytes.saturating_sub(earlier.sent_bytes),
            quanta: self.quanta.since(&earlier.quanta),
            policy: self.policy.map(|policy| policy.since(earlier.policy.unwrap_or_default())),
        }
    }
}

/// The slices of a cell.
#[derive(Clone, Debug)]
pub(super) struct Slicing {
    law: Law,
    rounding: Rounding,
    /// Resource blocks in a group, over all slots of a TTI.
    rbg_rbs: u32,
    /// Whole groups of a TTI without control.
    groups: u16,
    ues: u32,
    /// The slice of each bearer.
    slice_of: Vec<u16>,
    slices: Vec<Slice>,
    /// Idle TTIs since the quanta last changed.
    calm_ttis: u64,
    channels: Channels,
    /// Demand of each load of the cell on its slice, in the current TTI.
    wishes: Vec<Wish>,
    parts: Vec<Part>,
    heads: Heads,
}

/// A slice.
#[derive(Clone, Debug)]
struct Slice {
    scheduler: State,
    /// The UE that goes first among equal candidates.
    next: u32,
    usage: SliceUsage,
    /// Resource blocks granted to the slice in the current TTI, those that it used, and those that its
    /// bearers were assigned.
    granted_rbs: u32,
    used_rbs: u32,
    got_rbs: u32,
    /// Quantum of the slice before the TTI.
    quantum: i64,
    /// True if no bearer wanted more than it got.
    is_content: bool,
    /// UEs with data in this slice, for the scheduler of a fixed partition; with their indices among the
    /// cell's candidates, and their bearers.
    members: Vec<Candidate>,
    numbers: Vec<(u32, u32)>,
    plan: Vec<u32>,
}

/// The demand of a bearer with data.
#[derive(Clone, Copy, Debug)]
struct Wish {
    slice: u16,
    wanted_bytes: u64,
    /// Index of the bearer's channel table; `NONE` in an outage.
    channel: u32,
    /// Index of the part that the bearer shares.
    part: u32,
}

const NONE: u32 = u32::MAX;

/// The grant of one UE in one slice, for all its bearers or for one.
#[derive(Clone, Copy, Debug)]
struct Part {
    candidate: u32,
    slice: u16,
    /// Bearers, one bit each.
    bearers: u32,
    /// Groups granted to the part; `used_groups`: those that it used.
    groups: u16,
    used_groups: u16,
    bytes: u64,
    /// True if the groups complete no packet: they are the remainder, too small for one.
    is_rest: bool,
}

impl Slicing {
    /// The slices of `setting`, whose frames are those of `grid`; `None` without a partition.
    pub fn new(setting: &CellSetting, grid: &Grid) -> Result<Option<Slicing>, CellError> {
        let Some((partition, slices, rounding)) = divided(setting) else { return Ok(None) };
        let ues = setting.ues.len();
        if slices.is_empty() || slices.len() > MOST_SLICES {
            return Err(CellError::Slices(SliceError::Count { slices: slices.len() }));
        }
        let rbg_prbs = setting.carrier.rbg_prbs().max(1);
        // TTIs have at most 1000 slots.
        let rbg_rbs = u32::from(rbg_prbs) * setting.slots() as u32;
        let law = Law::new(
            partition,
            &Division {
                slices: &slices,
                bearers: setting.bearers(),
                rounding,
                rbg_rbs,
                tti_rbs: u32::from(setting.carrier.prbs()) * setting.slots() as u32,
                tti: setting.tti,
                grid,
            },
        )?;
        let of_bearers = slices_of_drbs(slices.iter().map(|slice| &slice.bearers[..]), setting.bearers());
        let slice_of = of_bearers.map_err(CellError::Slices)?;
        let slice = |slice: &CellSlice| Slice {
            scheduler: State::new(slice.scheduler.as_ref().unwrap_or(&setting.scheduler), ues, setting.tti),
            next: 0,
            usage: SliceUsage::default(),
            granted_rbs: 0,
            used_rbs: 0,
            got_rbs: 0,
            quantum: 0,
            is_content: true,
            members: Vec::new(),
            numbers: Vec::new(),
            plan: Vec::new(),
        };
        Ok(Some(Slicing {
            law,
            rounding,
            rbg_rbs,
            groups: setting.carrier.prbs() / rbg_prbs,
            ues: ues as u32,
            slice_of,
            slices: slices.iter().map(slice).collect(),
            calm_ttis: 0,
            channels: Channels::new(setting.carrier.rungs()),
            wishes: Vec::new(),
            parts: Vec::new(),
            heads: Heads::default(),
        }))
    }

    /// Usage of each slice until now.
    pub fn usages(&self) -> Vec<SliceUsage> {
        let mut usages: Vec<SliceUsage> = self.slices.iter().map(|slice| slice.usage.clone()).collect();
        // A law with accounts of its own granted what was used and unused until now.
        for (usage, account) in usages.iter_mut().zip(self.law.accounts().unwrap_or_default()) {
            usage.granted_rbs = account.granted;
            usage.wasted_rbs += account.wasted;
            usage.policy = Some(PolicyUsage {
                borrowed_rbs: account.borrowed,
                idle_dedicated_rbs: account.withheld_from_others,
                ..usage.policy.unwrap_or_default()
            });
        }
        usages
    }

    /// Runs the idle TTIs `from` to `until` - 1, in which no UE has data.
    pub fn idle(&mut self, from: u64, until: u64, grid: &Grid) {
        let rbs = |tti: u64| grid.rbs(tti);
        if self.law.idle(from, until, rbs) {
            return;
        }
        let mut tti = from;
        while tti < until && self.is_restless(grid.period()) {
            self.begin(tti, rbs(tti));
            self.decide_by_packets(rbs(tti), true);
            let stays = |(number, slice): (usize, &Slice)| {
                self.law.quantum(number).is_none_or(|quantum| quantum == slice.quantum)
            };
            let is_calm = self.slices.iter().enumerate().all(stays);
            self.end();
            self.calm_ttis = if is_calm { self.calm_ttis + 1 } else { 0 };
            tti += 1;
        }
        if tti >= until {
            return;
        }
        for number in 0..self.slices.len() {
            let granted = super::account::repeated(tti, until, grid.period(), |tti| {
                self.law.granted(number, rbs(tti)).into()
            });
            let usage = &mut self.slices[number].usage;
            usage.granted_rbs = usage.granted_rbs.saturating_add(granted);
            usage.wasted_rbs = usage.wasted_rbs.saturating_add(granted);
            if let Some(quantum) = self.law.quantum(number) {
                usage.quanta.add(quantum, until - tti);
            }
        }
    }

    /// Returns true if another idle TTI may change the quanta.
    fn is_restless(&self, period: u64) -> bool {
        let lends = self.law.quantum(0).is_some();
        lends && (self.rounding == Rounding::Carried || self.calm_ttis < period)
    }

    /// Begins TTI number `tti`, with `rbs` resource blocks for new data.
    fn begin(&mut self, tti: u64, rbs: u32) {
        self.law.begin(tti, rbs);
        for number in 0..self.slices.len() {
            let granted_rbs = self.law.granted(number, rbs);
            let quantum = self.law.quantum(number).unwrap_or(0);
            let slice = &mut self.slices[number];
            (slice.granted_rbs, slice.quantum) = (granted_rbs, quantum);
            (slice.used_rbs, slice.got_rbs, slice.is_content) = (0, 0, true);
            slice.members.clear();
            slice.numbers.clear();
            slice.plan.clear();
        }
        self.parts.clear();
        self.heads.list.clear();
        self.heads.ends.clear();
    }

    /// Grants groups to the slices by the demands of their members, if the law does so.
    fn share_out(&mut self) {
        let demand = |slice: &Slice| {
            let wanted = slice.members.iter().map(|member| u64::from(member.need)).sum::<u64>();
            let least = slice.members.iter().map(|member| member.least).min();
            // The law grants at most the groups of a TTI.
            SliceDemand { wanted: wanted.min(u16::MAX.into()) as u16, least: least.unwrap_or(0) }
        };
        if !self.law.share_out(self.slices.iter().map(demand)) {
            return;
        }
        for (number, slice) in self.slices.iter_mut().enumerate() {
            slice.granted_rbs = self.law.granted(number, 0);
        }
    }

    /// Calls a law that decides by packets; appends the resulting parts.
    fn decide_by_packets(&mut self, rbs: u32, is_idle: bool) {
        let channels: &[RbgCapacity] = if is_idle { &[] } else { self.channels.all() };
        let Some(decided) = self.law.decide(Tti { rbs, first: 0 }, channels, &self.heads) else { return };
        for (slice, &granted) in self.slices.iter_mut().zip(decided.granted) {
            slice.granted_rbs = granted;
        }
        let grants = decided.grants;
        for grant in grants {
            let waiting = &self.heads.list[grant.queue];
            self.slices[usize::from(waiting.slice)].got_rbs += u32::from(grant.groups) * self.rbg_rbs;
            self.parts.push(Part {
                candidate: waiting.candidate,
                slice: waiting.slice,
                bearers: 1 << waiting.local,
                groups: grant.groups,
                used_groups: 0,
                bytes: 0,
                is_rest: grant.packets == 0,
            });
        }
        for (number, slice) in self.slices.iter_mut().enumerate() {
            // The first UE that got nothing is first the next time; if all got some, the UE after the first.
            let own = || {
                self.heads.list.iter().enumerate().filter(|(_, waiting)| usize::from(waiting.slice) == number)
            };
            let is_served = |queue: usize| grants.binary_search_by_key(&queue, |grant| grant.queue).is_ok();
            let unserved = own().find(|&(queue, _)| !is_served(queue)).map(|(_, waiting)| waiting.ue);
            let behind = own().next().map(|(_, waiting)| waiting.ue + 1);
            slice.next = unserved.or(behind).unwrap_or(slice.next);
        }
    }

    /// Further groups that a slice could have used for packets that are not sent whole, out of the unassigned groups.
    fn spare_groups(&self, number: usize) -> u16 {
        let slice = &self.slices[number];
        self.law.spare_groups(Charged {
            slice: number,
            granted: slice.granted_rbs,
            got: slice.got_rbs,
            used: slice.used_rbs,
            quantum: slice.quantum,
        })
    }

    /// Ends a TTI: counts its resource blocks.
    fn end(&mut self) {
        for (number, slice) in self.slices.iter_mut().enumerate() {
            let lent = self.law.quantum(number).map_or(0, |quantum| {
                slice.usage.quanta.add(quantum, 1);
                quantum - slice.quantum
            });
            let (granted, used) = (u64::from(slice.granted_rbs), u64::from(slice.used_rbs));
            // The result is never negative, because a slice is charged for the blocks that it uses.
            let left = (i64::from(slice.granted_rbs) - lent - i64::from(slice.used_rbs)).max(0) as u64;
            slice.usage.granted_rbs += granted;
            slice.usage.used_rbs += used;
            match slice.is_content {
                true => slice.usage.wasted_rbs += left,
                false => slice.usage.unfit_rbs += left,
            }
            if left > 0 && self.law.is_another_hungry(number) {
                slice.usage.policy.get_or_insert_default().idle_granted_rbs += left;
            }
        }
    }
}

/// The law, the slices, and the rounding of their shares: as configured, or with a slice for each UE.
fn divided(setting: &CellSetting) -> Option<(Partition, Cow<'_, [CellSlice]>, Rounding)> {
    if let Some(partition) = setting.partition {
        return Some((partition, Cow::Borrowed(&setting.slices), Rounding::Down));
    }
    let limit_rbs = setting.scheduler.divides()?;
    let millionths = Share::ALL.millionths() / (setting.ues.len().max(1) as u32);
    let mut next = 0;
    let slice = |(number, ue): (usize, &UeSetting)| {
        let first = next;
        next += ue.bearers();
        CellSlice {
            name: format!("UE {number}"),
            agreed: Share::from_millionths(millionths).unwrap_or(Share::ALL).into(),
            scheduler: None,
            bearers: (first..next).collect(),
        }
    };
    let slices = setting.ues.iter().enumerate().map(slice).collect();
    Some((Elastic { limit_rbs }.into(), Cow::Owned(slices), Rounding::Carried))
}
