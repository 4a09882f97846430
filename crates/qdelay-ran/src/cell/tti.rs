//! One TTI: repetitions, the plan of the scheduler, blocks, and the reports.

use super::component::RadioLink;
use super::host::Queue;
use super::{Cell, Load, Source};
use crate::mac::{Candidate, CandidateSource, Frame, Law as _, Prbs, Sharing};
use crate::rlc::Transmitted;
use core::ops::Range;
use qdelay_core::pacer::SizeUnit;
use qdelay_core::qdisc::Backlog;
use qdelay_core::{Span, Time};

/// Usage of the resource blocks of the current TTI.
#[derive(Clone, Debug, Default)]
pub(super) struct Filled {
    /// Number of groups used, from the first on.
    pub groups: u16,
    /// Resource blocks in these groups.
    pub rbs: u64,
    /// Resource blocks in repetitions.
    repeated_rbs: u64,
    /// Sum over UEs of their resource blocks times the bytes that the whole carrier would have carried for
    /// them.
    weighted_bytes: u128,
    /// Bytes of packets sent.
    pub sent_bytes: u64,
    /// True if a block that was due for repetition found no room.
    is_kept: bool,
}

impl Filled {
    /// Returns true if a block was repeated, or was due and found no room.
    pub fn has_work(&self) -> bool {
        self.groups > 0 || self.is_kept
    }
    pub fn add(&mut self, groups: u16, rbs: u64, whole_bytes: u64) {
        self.groups += groups;
        self.rbs += rbs;
        self.weighted_bytes += u128::from(rbs) * u128::from(whole_bytes);
    }
}

impl Load {
    pub(super) fn new(bearer: usize, local: usize, unit: SizeUnit, queue: Backlog, partly: Backlog) -> Load {
        let mut load = Load {
            bearer: bearer as u32,
            local: local as u8,
            used_bytes: 0,
            sent_bytes: 0,
            remaining_bytes: 0,
            remaining_packets: 0,
            left_packets: 0,
            left_sojourn: Span::ZERO,
        };
        load.set_remaining(unit, queue, partly);
        load
    }
    fn set_remaining(&mut self, unit: SizeUnit, queue: Backlog, partly: Backlog) {
        self.remaining_bytes = unit.counted_bytes_of(queue.packets, queue.bytes) + partly.bytes;
        self.remaining_packets = queue.packets + partly.packets;
    }
}

/// Queries the channels of the UEs.
pub(super) struct Radios<'a> {
    pub links: &'a mut [RadioLink],
    pub frame: Frame<'a>,
    pub now: Time,
}

impl CandidateSource for Radios<'_> {
    #[inline]
    fn query_channel(&mut self, candidate: &mut Candidate) {
        if candidate.is_queried {
            return;
        }
        candidate.is_queried = true;
        candidate.quality = self.links[candidate.ue as usize].radio.known(self.now);
        candidate.rate_bytes = self.frame.bytes(candidate.quality, self.frame.all());
        if candidate.rate_bytes == 0 {
            return;
        }
        let groups_for = |bytes| match bytes > candidate.rate_bytes {
            true => self.frame.groups(),
            false => self.frame.groups_for(candidate.quality, 0, bytes),
        };
        candidate.need = groups_for(candidate.wanted_bytes);
        candidate.least = groups_for(candidate.wanted_bytes.min(candidate.least_bytes));
    }
}

impl Cell {
    /// Runs TTI number `self.tti`, which begins at `now`.
    pub(super) fn run_tti<S: Source>(&mut self, now: Time, source: &mut S) {
        debug_assert_eq!(self.clock.time(self.tti), now, "a TTI runs at its beginning");
        if !self.scells.is_empty() {
            return self.run_aggregated_tti(now, source);
        }
        let tti = self.tti;
        self.count_idle(tti);
        // The grid is cloned, so that the rest of the cell can be borrowed mutably.
        let grid = self.carrier.grid.clone();
        let frame = grid.frame(tti);
        let mut filled = Filled::default();
        self.carrier.release(tti);
        self.repeat(tti, now, frame, &mut filled);
        self.end_without_data(source);
        let everyone = self.activity.ues();
        if everyone == 0 && !filled.has_work() {
            return;
        }
        self.carrier.account.next = tti + 1;
        self.candidates.clear();
        self.loads.clear();
        self.plan.clear();
        let is_divided = self.slicing.is_some();
        let has_guarantees = self.guarantees.is_some();
        let (mut demands, scheduler, candidates, plan) = self.demands(tti, now, frame, source);
        if is_divided {
            demands.all(candidates);
            return self.run_slices(tti, now, frame, source, &mut filled);
        }
        let free = frame.groups() - filled.groups;
        if has_guarantees {
            demands.all(candidates);
            self.plan_guaranteed(tti, now, frame, free, source);
        } else {
            scheduler.plan(tti, candidates, free, &mut demands, plan);
        }
        self.fill(tti, now, frame, source, &mut filled);
        self.settle(tti, now, frame, source, &filled, everyone);
        let is_content = |candidate: &Candidate| {
            candidate.groups > 0 && frame.bytes(candidate.quality, candidate.prbs) >= candidate.wanted_bytes
        };
        let is_content = self.candidates.len() == everyone && self.candidates.iter().all(is_content);
        self.count(frame, &filled, is_content);
    }

    /// Repeats the blocks that are due, as far as there is room.
    pub(super) fn repeat(&mut self, tti: u64, now: Time, frame: Frame<'_>, filled: &mut Filled) {
        while let Some(number) = self.carrier.blocks.due(tti) {
            let block = self.carrier.blocks.get(number);
            let link = &mut self.carrier.links[block.ue as usize];
            let is_short = self.carrier.grid.is_special(tti) && !self.carrier.grid.is_special(block.first);
            if link.repeated == tti + 1 || block.groups > frame.groups() - filled.groups || is_short {
                self.carrier.blocks.keep(number, tti);
                filled.is_kept = true;
                continue;
            }
            link.repeated = tti + 1;
            block.repeated += 1;
            block.tti = tti;
            let rbs = frame.count(frame.prbs(filled.groups, block.groups));
            let whole_bytes = frame.bytes(block.chosen, frame.all());
            filled.repeated_rbs += rbs;
            filled.add(block.groups, rbs, whole_bytes);
            self.carrier.account.last_ue = block.ue;
            self.send(number, now);
        }
        debug_assert!(filled.groups <= frame.groups(), "repetitions fit the carrier");
        self.carrier.blocks.end();
    }

    /// Sends a block, and draws if it is lost.
    pub(super) fn send(&mut self, number: u32, now: Time) {
        let block = self.carrier.blocks.get(number);
        let link = &mut self.carrier.links[block.ue as usize];
        if let Some(air) = &mut self.ues[block.ue as usize].air
            && block.repeated == 0
        {
            link.occupy();
            air.granted(now);
        }
        let loss = if block.repeated == 0 && link.radio.is_plain() {
            // The scheduler has used the true channel of this TTI: the block suits it, so only the base rate
            // applies.
            self.harq.bler.base()
        } else {
            self.harq.loss_of(block, &mut link.radio, now)
        };
        block.is_lost = loss >= 1.0 || (loss > 0.0 && link.random.unit() < loss);
        self.carrier.blocks.send(number, now + self.air);
    }

    /// Fills the planned blocks.
    pub(super) fn fill<S: Source>(
        &mut self,
        tti: u64,
        now: Time,
        frame: Frame<'_>,
        source: &mut S,
        filled: &mut Filled,
    ) {
        let planned: u16 = self.plan.iter().map(|&number| self.candidates[number as usize].groups).sum();
        debug_assert!(filled.groups + planned <= frame.groups(), "a plan fits the carrier");
        let mut spare = frame.groups() - filled.groups - planned;
        for place in 0..self.plan.len() {
            let number = self.plan[place] as usize;
            let candidate = &self.candidates[number];
            let Candidate { ue, quality, groups: planned, rate_bytes, .. } = *candidate;
            let first = candidate.first_bearer as usize;
            let loads = first..first + candidate.bearers as usize;
            let mut groups = planned;
            let mut prbs = frame.prbs(filled.groups, groups);
            let mut bytes = frame.bytes(quality, prbs);
            if spare > 0 {
                // Later groups may be smaller than the first ones, from which the plan was made.
                let aim = candidate.wanted_bytes.min(frame.bytes(quality, frame.prbs(0, groups)));
                while bytes < aim && groups < planned + spare {
                    groups += 1;
                    prbs = frame.prbs(filled.groups, groups);
                    bytes = frame.bytes(quality, prbs);
                }
            }
            let block = self.carrier.blocks.open(ue, quality, groups, tti);
            filled.sent_bytes += self.fill_block(block, ue as usize, loads, now, bytes, source);
            let candidate = &mut self.candidates[number];
            if self.carrier.blocks.get(block).parts.is_empty() {
                self.carrier.blocks.close(block);
                self.carrier.scheduler.failed(ue);
                (candidate.groups, candidate.prbs) = (0, Prbs::default());
                continue;
            }
            spare -= groups - planned;
            (candidate.groups, candidate.prbs) = (groups, prbs);
            filled.add(groups, frame.count(prbs), rate_bytes);
            self.carrier.account.last_ue = ue;
            self.carrier.scheduler.carried(ue, bytes);
            self.send(block, now);
        }
    }

    /// Lets the bearers of a UE, whose loads are `loads`, fill `bytes` of its block. Returns the bytes of packets.
    fn fill_block<S: Source>(
        &mut self,
        number: u32,
        ue: usize,
        loads: Range<usize>,
        now: Time,
        bytes: u64,
        source: &mut S,
    ) -> u64 {
        let (first, count) = (loads.start, loads.len());
        // With equal shares a bearer leaves its unused bytes as padding, as in ns-3.
        let share = bytes / (count as u64).max(1);
        let (mut left, mut sent, mut sent_bytes) = (bytes, 0, 0);
        for place in 0..self.ues[ue].turns.len() {
            let local = self.ues[ue].turns.bearer_at(place);
            let of_ue = &self.loads[loads.clone()];
            let Some(load) = of_ue.iter().position(|load| usize::from(load.local) == local) else { continue };
            let grant = match (self.sharing, &self.guarantees) {
                (Sharing::Priority, None) => left,
                (Sharing::Priority, Some(guarantees)) => {
                    left.saturating_sub(guarantees.reserved(ue, place + 1))
                }
                (Sharing::EqualShare, _) => share,
            };
            let done = self.send_load(first + load, number, now, grant, source);
            left = left.saturating_sub(done.used_bytes);
            if let Some(guarantees) = &mut self.guarantees {
                guarantees.sent(ue, self.loads[first + load].bearer as usize, done.sdu_bytes);
            }
            sent_bytes += done.sdu_bytes;
            if done.block.is_some() {
                sent |= 1 << local;
            }
        }
        self.ues[ue].turns.end(sent);
        sent_bytes
    }

    /// Lets a bearer with data fill `grant` bytes of block `number`.
    #[inline]
    pub(super) fn send_load<S: Source>(
        &mut self,
        load: usize,
        number: u32,
        now: Time,
        grant: u64,
        source: &mut S,
    ) -> Transmitted {
        let before = self.loads[load];
        self.recall_load(self.carrier.account.next - 1, &before, source);
        let load = &mut self.loads[load];
        let bearer = load.bearer as usize;
        let rlc = &mut self.rlcs[bearer];
        let mut queue = Queue { source, bearer, now, left_packets: 0, left_sojourn: Default::default() };
        let done = rlc.transmit(now, grant, &mut queue);
        load.left_packets += queue.left_packets;
        load.left_sojourn += queue.left_sojourn;
        load.sent_bytes += done.sdu_bytes;
        load.used_bytes += done.used_bytes;
        let state = &mut self.bearers[bearer];
        // Cached values of the bearer are valid until RLC sends: they are renewed here.
        (state.partly, state.asked) = (rlc.remaining(), None);
        load.set_remaining(self.carrier.grid.unit, source.backlog(bearer), state.partly);
        if let Some(id) = done.block {
            self.carrier.blocks.get(number).parts.push((bearer as u32, id));
        }
        let deadline = rlc.next_deadline();
        if deadline != state.deadline {
            state.deadline = deadline;
            self.timers.set(bearer, deadline);
        }
        done
    }

    /// Counts the resource blocks; `is_content` if all demands were met.
    pub(super) fn count(&mut self, frame: Frame<'_>, filled: &Filled, is_content: bool) {
        let all = frame.count(frame.all());
        debug_assert!(filled.rbs <= all, "no resource block is used twice");
        let left = all - filled.rbs;
        let whole_bytes = if filled.rbs > 0 {
            (filled.weighted_bytes / u128::from(filled.rbs)) as u64
        } else {
            let last = &mut self.carrier.links[self.carrier.account.last_ue as usize];
            frame.bytes(last.radio.known(self.clock.time(self.carrier.account.next - 1)), frame.all())
        };
        let held_back_rbs = match left > 0 && !self.held_back.is_empty() {
            true => self.held_back_rbs(frame, left),
            false => 0,
        };
        let usage = &mut self.carrier.account.usage;
        usage.offered_rbs += all;
        usage.used_rbs += filled.rbs;
        usage.repeated_rbs += filled.repeated_rbs;
        usage.held_back_rbs += held_back_rbs;
        if left > 0 {
            match !filled.is_kept && is_content {
                true => usage.wasted_rbs += left,
                false => usage.unfit_rbs += left,
            }
        }
        usage.offered_bytes = usage.offered_bytes.saturating_add(whole_bytes);
        usage.sent_bytes += filled.sent_bytes;
    }
}
