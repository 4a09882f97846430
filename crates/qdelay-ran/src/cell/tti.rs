//! One TTI: repetitions, the plan of the scheduler, blocks, and the reports.

use super::host::Queue;
use super::{Cell, Load, Source, Ue};
use crate::mac::{Candidate, Frame, Law as _, Look, Prbs, Sharing};
use crate::rlc::Transmitted;
use qdelay_core::pacer::{Served, SizeUnit};
use qdelay_core::qdisc::Backlog;
use qdelay_core::{Span, Time};

/// Usage of the resource blocks of the current TTI.
#[derive(Default)]
pub(super) struct Filled {
    /// Groups, from the first on.
    groups: u16,
    /// The resource blocks in them.
    pub rbs: u64,
    /// Of these, in repetitions.
    repeated_rbs: u64,
    /// Sum of resource blocks, times the bytes that the whole carrier would have carried for the UEs they were assigned to.
    weighted_bytes: u128,
    /// Bytes of packets.
    pub sent_bytes: u64,
    /// A block that was due for repetition found no room.
    is_kept: bool,
}

impl Filled {
    pub fn add(&mut self, groups: u16, rbs: u64, whole_bytes: u64) {
        self.groups += groups;
        self.rbs += rbs;
        self.weighted_bytes += u128::from(rbs) * u128::from(whole_bytes);
    }
}

impl Load {
    fn new(bearer: usize, local: usize, unit: SizeUnit, queue: Backlog, partly: Backlog) -> Load {
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
        self.remaining_bytes = unit.of_all(queue.packets, queue.bytes) + partly.bytes;
        self.remaining_packets = queue.packets + partly.packets;
    }
}

/// Queries the channels of the UEs.
pub(super) struct Radios<'a> {
    pub ues: &'a mut [Ue],
    pub frame: Frame<'a>,
    pub now: Time,
}

impl Look for Radios<'_> {
    #[inline]
    fn look(&mut self, candidate: &mut Candidate) {
        if candidate.looked {
            return;
        }
        candidate.looked = true;
        candidate.quality = self.ues[candidate.ue as usize].radio.known(self.now);
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
        let tti = self.tti;
        self.count_idle(tti);
        // Cloned, so that the rest of the cell can be borrowed mutably.
        let grid = self.grid.clone();
        let frame = grid.frame(tti);
        let mut filled = Filled::default();
        self.repeat(tti, now, frame, &mut filled);
        self.collect(tti, source);
        if self.candidates.is_empty() && filled.groups == 0 && !filled.is_kept {
            return;
        }
        self.account.next = tti + 1;
        if self.slicing.is_some() {
            return self.run_slices(tti, now, frame, source, &mut filled);
        }
        self.plan.clear();
        let mut radios = Radios { ues: &mut self.ues, frame, now };
        let free = frame.groups() - filled.groups;
        self.scheduler.plan(tti, &mut self.candidates, free, &mut radios, &mut self.plan);
        self.fill(tti, now, frame, source, &mut filled);
        self.settle(now, frame, source, &filled);
        let is_content = |candidate: &Candidate| {
            candidate.groups > 0 && frame.bytes(candidate.quality, candidate.prbs) >= candidate.wanted_bytes
        };
        self.count(frame, &filled, self.candidates.iter().all(is_content));
    }

    /// Repeats the blocks that are due, as far as there is room.
    fn repeat(&mut self, tti: u64, now: Time, frame: Frame<'_>, filled: &mut Filled) {
        while let Some(number) = self.blocks.due(tti) {
            let block = self.blocks.get(number);
            let ue = &mut self.ues[block.ue as usize];
            if ue.repeated == tti + 1 || block.groups > frame.groups() - filled.groups {
                self.blocks.keep(number, tti);
                filled.is_kept = true;
                continue;
            }
            ue.repeated = tti + 1;
            block.repeated += 1;
            block.tti = tti;
            let rbs = frame.count(frame.prbs(filled.groups, block.groups));
            let whole_bytes = frame.bytes(block.chosen, frame.all());
            filled.repeated_rbs += rbs;
            filled.add(block.groups, rbs, whole_bytes);
            self.account.last_ue = block.ue;
            self.send(number, now);
        }
        self.blocks.end();
    }

    /// Sends a block, and draws whether it is lost.
    pub(super) fn send(&mut self, number: u32, now: Time) {
        let block = self.blocks.get(number);
        let ue = &mut self.ues[block.ue as usize];
        let loss = self.harq.loss(block.chosen, block.repeated, ue.radio.quality(now));
        block.is_lost = loss >= 1.0 || (loss > 0.0 && ue.random.unit() < loss);
        self.blocks.send(number, now + self.air);
    }

    /// Collects the UEs and bearers with data.
    fn collect<S: Source>(&mut self, tti: u64, source: &S) {
        self.candidates.clear();
        self.loads.clear();
        let mut from = 0;
        while let Some(number) = self.activity.first_from(from) {
            from = number + 1;
            let Ue { first, repeated, .. } = self.ues[number];
            let first_bearer = self.loads.len();
            let (mut wanted, mut least) = (0_u64, u64::MAX);
            let mut mask = self.activity.bearers(number);
            while mask != 0 {
                let local = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                let bearer = first + local;
                let queue = source.backlog(bearer);
                let wanted_bytes = self.wanted_bytes(bearer, queue);
                if wanted_bytes == 0 {
                    self.activity.end(number, local);
                    continue;
                }
                let state = &self.bearers[bearer];
                self.loads.push(Load::new(bearer, local, self.grid.unit, queue, state.partly));
                wanted = wanted.saturating_add(wanted_bytes);
                least = least.min(u64::from(state.least_bytes));
            }
            let bearers = self.loads.len() - first_bearer;
            if bearers == 0 {
                continue;
            }
            if self.sharing == Sharing::EqualShare {
                least = least.saturating_mul(bearers as u64);
            }
            self.candidates.push(Candidate {
                bearers: bearers as u32,
                first_bearer: first_bearer as u32,
                // A UE that repeats a block sends no new one: it is treated as in outage.
                looked: repeated == tti + 1,
                ..Candidate::new(number as u32, wanted, least)
            });
        }
    }

    /// Fills the blocks that are planned.
    fn fill<S: Source>(
        &mut self,
        tti: u64,
        now: Time,
        frame: Frame<'_>,
        source: &mut S,
        filled: &mut Filled,
    ) {
        let planned: u16 = self.plan.iter().map(|&number| self.candidates[number as usize].groups).sum();
        let mut spare = frame.groups() - filled.groups - planned;
        for place in 0..self.plan.len() {
            let number = self.plan[place] as usize;
            let candidate = self.candidates[number];
            let (ue, quality) = (candidate.ue, candidate.quality);
            let mut groups = candidate.groups;
            let mut prbs = frame.prbs(filled.groups, groups);
            let mut bytes = frame.bytes(quality, prbs);
            if spare > 0 {
                // Groups further up may be smaller than the first ones, with which the plan was made.
                let aim = candidate.wanted_bytes.min(frame.bytes(quality, frame.prbs(0, groups)));
                while bytes < aim && groups < candidate.groups + spare {
                    groups += 1;
                    prbs = frame.prbs(filled.groups, groups);
                    bytes = frame.bytes(quality, prbs);
                }
            }
            let block = self.blocks.open(ue, quality, groups, tti);
            filled.sent_bytes += self.fill_block(block, &candidate, now, bytes, source);
            let candidate = &mut self.candidates[number];
            if self.blocks.get(block).parts.is_empty() {
                self.blocks.close(block);
                self.scheduler.failed(ue);
                (candidate.groups, candidate.prbs) = (0, Prbs::default());
                continue;
            }
            spare -= groups - candidate.groups;
            (candidate.groups, candidate.prbs) = (groups, prbs);
            filled.add(groups, frame.count(prbs), candidate.rate_bytes);
            self.account.last_ue = ue;
            self.scheduler.carried(ue, bytes);
            self.send(block, now);
        }
    }

    /// Lets the bearers of a UE fill `bytes` of its block. Returns the bytes of packets.
    fn fill_block<S: Source>(
        &mut self,
        number: u32,
        candidate: &Candidate,
        now: Time,
        bytes: u64,
        source: &mut S,
    ) -> u64 {
        let ue = candidate.ue as usize;
        let (first, count) = (candidate.first_bearer as usize, candidate.bearers as usize);
        let share = bytes / (count as u64).max(1);
        let (mut left, mut sent, mut sent_bytes) = (bytes, 0, 0);
        for place in 0..self.ues[ue].turns.len() {
            let local = self.ues[ue].turns.at(place);
            let of_ue = &self.loads[first..first + count];
            let Some(load) = of_ue.iter().position(|load| usize::from(load.local) == local) else { continue };
            let grant = match self.sharing {
                Sharing::Priority => left,
                Sharing::EqualShare => share,
            };
            let done = self.send_load(first + load, number, now, grant, source);
            left = left.saturating_sub(done.used_bytes);
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
        let load = &mut self.loads[load];
        let bearer = load.bearer as usize;
        let rlc = &mut self.rlcs[bearer];
        let mut queue = Queue { source, bearer, now, left_packets: 0, left_sojourn: Default::default() };
        let done = rlc.transmit(now, grant, &mut queue);
        (load.left_packets, load.left_sojourn) = (queue.left_packets, queue.left_sojourn);
        load.sent_bytes = done.sdu_bytes;
        load.used_bytes = done.used_bytes;
        let state = &mut self.bearers[bearer];
        (state.partly, state.asked) = (rlc.remaining(), None);
        load.set_remaining(self.grid.unit, source.backlog(bearer), state.partly);
        if let Some(id) = done.block {
            self.blocks.get(number).parts.push((bearer as u32, id));
        }
        let deadline = rlc.next_deadline();
        if deadline != state.deadline {
            state.deadline = deadline;
            self.timers.set(bearer, deadline);
        }
        done
    }

    /// Reports the TTI to every bearer that had data, and removes those that have none left.
    fn settle<S: Source>(&mut self, now: Time, frame: Frame<'_>, source: &mut S, filled: &Filled) {
        let left_groups = frame.groups() - filled.groups;
        let left = frame.prbs(filled.groups, left_groups);
        let mut candidates = core::mem::take(&mut self.candidates);
        for candidate in &mut candidates {
            let mut whole = 0;
            if left_groups > 0 || candidate.groups > 0 {
                Radios { ues: &mut self.ues, frame, now }.look(candidate);
                whole = frame.bytes(candidate.quality, candidate.prbs + left);
            }
            let (first, count) = (candidate.first_bearer as usize, candidate.bearers as usize);
            let used: u64 = self.loads[first..first + count].iter().map(|load| load.used_bytes).sum();
            for place in first..first + count {
                let load = self.loads[place];
                let bearer = load.bearer as usize;
                let capacity_bytes = match self.sharing {
                    Sharing::Priority => (whole + load.used_bytes).saturating_sub(used),
                    Sharing::EqualShare => whole / u64::from(candidate.bearers),
                };
                self.tell(place, capacity_bytes, source);
                // The host may have enqueued new packets during the report.
                if candidate.groups > 0 && self.wanted_bytes(bearer, source.backlog(bearer)) == 0 {
                    self.activity.end(candidate.ue as usize, usize::from(load.local));
                }
            }
        }
        self.candidates = candidates;
    }

    /// Reports the TTI to a bearer that had data, with this capacity.
    #[inline]
    pub(super) fn tell<S: Source>(&self, load: usize, capacity_bytes: u64, source: &mut S) {
        let load = &self.loads[load];
        let served = Served {
            capacity_bytes,
            sent_bytes: load.sent_bytes,
            remaining_bytes: load.remaining_bytes,
            remaining_packets: load.remaining_packets,
            left_packets: load.left_packets,
            left_sojourn: load.left_sojourn,
        };
        source.served(load.bearer as usize, served);
    }

    /// Counts the resource blocks; `is_content` if all demands were met.
    pub(super) fn count(&mut self, frame: Frame<'_>, filled: &Filled, is_content: bool) {
        let all = frame.count(frame.all());
        let left = all - filled.rbs;
        let whole_bytes = if filled.rbs > 0 {
            (filled.weighted_bytes / u128::from(filled.rbs)) as u64
        } else {
            let last = &mut self.ues[self.account.last_ue as usize];
            frame.bytes(last.radio.known(self.clock.time(self.account.next - 1)), frame.all())
        };
        let usage = &mut self.account.usage;
        usage.offered_rbs += all;
        usage.used_rbs += filled.rbs;
        usage.repeated_rbs += filled.repeated_rbs;
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
