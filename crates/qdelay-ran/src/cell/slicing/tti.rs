//! One TTI of a cell with slices, after the repetitions.

use super::heads::{Heads, Waiting};
use super::{NONE, Part, Slicing, Wish};
use crate::cell::partition::Law as _;
use crate::cell::tti::{Filled, Radios};
use crate::cell::{Cell, Source};
use crate::mac::{Candidate, CandidateSource, Frame, Law as _, Sharing};
use qdelay_core::Time;

/// Number of sizes that are queried at once.
const SIZES: usize = 16;

/// Candidates that are complete: no channel is queried.
struct Complete;

impl CandidateSource for Complete {
    fn query_channel(&mut self, _: &mut Candidate) {}
}

impl Cell {
    /// Shares the resource blocks that repetitions left in TTI number `tti`, and fills the blocks.
    pub(in crate::cell) fn run_slices<S: Source>(
        &mut self,
        tti: u64,
        now: Time,
        frame: Frame<'_>,
        source: &mut S,
        filled: &mut Filled,
    ) {
        let Some(mut slicing) = self.slicing.take() else { return };
        // The number fits: at most 275 resource blocks in each of 1000 slots.
        let rbs = (frame.count(frame.all()) - filled.rbs) as u32;
        slicing.begin(tti, rbs);
        slicing.calm_ttis = 0;
        self.collect_wishes(&mut slicing, tti, now, frame);
        if slicing.law.by_packets() {
            self.collect_heads(&mut slicing, tti, rbs, source);
            slicing.decide_by_packets(rbs, false);
        } else {
            slicing.share_out();
            slicing.decide_by_schedulers(tti, &self.candidates);
        }
        slicing.parts.sort_unstable_by_key(|part| (part.candidate, part.slice, part.bearers));
        self.fill_parts(&mut slicing, tti, now, frame, source, filled);
        let is_content = self.settle_slices(&mut slicing, source);
        slicing.end();
        self.count(frame, filled, is_content);
        self.slicing = Some(slicing);
    }

    /// Collects the demands of the bearers with data, and their channels.
    fn collect_wishes(&mut self, slicing: &mut Slicing, tti: u64, now: Time, frame: Frame<'_>) {
        slicing.wishes.clear();
        let is_special = self.carrier.grid.is_special(tti);
        let by_packets = slicing.law.by_packets();
        for number in 0..self.candidates.len() {
            let candidate = &mut self.candidates[number];
            Radios { links: &mut self.carrier.links, frame, now }.query_channel(candidate);
            let candidate = &self.candidates[number];
            let loads =
                candidate.first_bearer as usize..(candidate.first_bearer + candidate.bearers) as usize;
            let slice_of = |bearer: u32| slicing.slice_of.get(bearer as usize).copied().unwrap_or(0);
            let first = slice_of(self.loads[loads.start].bearer);
            // A UE with several grants in one block gets the lower bound of a part, so that the sum of the
            // parts fits the block.
            let is_part = match by_packets {
                true => candidate.bearers > 1,
                false => self.loads[loads.clone()].iter().any(|load| slice_of(load.bearer) != first),
            };
            let is_out = candidate.rate_bytes == 0;
            let channel = match is_out {
                true => NONE,
                false => {
                    let (kind, groups) = ((is_part, is_special), slicing.groups);
                    slicing.channels.number(candidate.ue, candidate.quality, kind, groups, &frame)
                }
            };
            for load in &self.loads[loads] {
                let slice = slice_of(load.bearer);
                let state = &self.bearers[load.bearer as usize];
                let wanted_bytes = state.wanted_bytes;
                slicing.wishes.push(Wish { slice, wanted_bytes, channel, part: NONE });
                if by_packets || is_out {
                    continue;
                }
                let of = &mut slicing.slices[usize::from(slice)];
                if of.numbers.last().is_none_or(|last| last.0 != number as u32) {
                    of.numbers.push((number as u32, 0));
                    of.members.push(Candidate { bearers: 0, ..Candidate::new(candidate.ue, 0, u64::MAX) });
                }
                if let (Some(member), Some((_, bearers))) = (of.members.last_mut(), of.numbers.last_mut()) {
                    member.bearers += 1;
                    member.wanted_bytes = member.wanted_bytes.saturating_add(wanted_bytes);
                    member.least_bytes = member.least_bytes.min(state.least_bytes.into());
                    member.first_bearer = channel;
                    *bearers |= 1 << load.local;
                }
            }
        }
        for slice in &mut slicing.slices {
            for member in &mut slice.members {
                if self.sharing == Sharing::EqualShare {
                    member.least_bytes = member.least_bytes.saturating_mul(member.bearers.into());
                }
                let channel = slicing.channels.all().get(member.first_bearer as usize);
                let groups_for = |bytes| {
                    let groups = channel.and_then(|channel| channel.groups_for(bytes));
                    groups.unwrap_or(slicing.groups)
                };
                member.is_queried = true;
                member.need = groups_for(member.wanted_bytes);
                member.least = groups_for(member.wanted_bytes.min(member.least_bytes));
            }
        }
    }

    /// Collects the grants that the packets at the heads of the bearers need, in the order of the bearers among equal
    /// candidates.
    fn collect_heads<S: Source>(&self, slicing: &mut Slicing, tti: u64, rbs: u32, source: &S) {
        let Slicing { slices, heads, channels, wishes, ues, .. } = slicing;
        let groups = (rbs / slicing.rbg_rbs.max(1)).min(u16::MAX.into()) as u16;
        slices.iter_mut().for_each(|slice| slice.scheduler.begin(tti));
        let Heads { list, ends } = heads;
        for (number, candidate) in self.candidates.iter().enumerate() {
            if candidate.rate_bytes == 0 {
                continue;
            }
            let turns = &self.ues[candidate.ue as usize].turns;
            let loads =
                candidate.first_bearer as usize..(candidate.first_bearer + candidate.bearers) as usize;
            for (load, wish) in self.loads[loads.clone()].iter().zip(&wishes[loads]) {
                let bearer = load.bearer as usize;
                let slice = &slices[usize::from(wish.slice)];
                let packets = source.backlog(bearer).packets;
                let (mut sizes, mut known, mut at, mut told, mut is_all) = ([0; SIZES], 0, 0, 0, false);
                let next = || {
                    if at == known {
                        is_all = told as u64 == packets;
                        (known, at) = (source.sizes(bearer, told, &mut sizes).min(SIZES), 0);
                    }
                    let size = *sizes[..known].get(at)?;
                    (at, told) = (at + 1, told + 1);
                    Some(size)
                };
                let first = ends.len() as u32;
                self.rlcs[bearer].prefixes(channels.bytes_in(wish.channel, groups), next, ends);
                // If all packets are known, the demand ends at the last one.
                let end = ends[first as usize..].last().filter(|_| is_all);
                let place =
                    (0..turns.len()).position(|place| turns.bearer_at(place) == usize::from(load.local));
                let before = if candidate.ue < slice.next { *ues } else { 0 };
                list.push(Waiting {
                    bearer: load.bearer,
                    candidate: number as u32,
                    ue: candidate.ue,
                    slice: wish.slice,
                    local: load.local,
                    channel: wish.channel,
                    first,
                    last: ends.len() as u32,
                    backlog_bytes: end.map_or(wish.wanted_bytes, |&end| end.into()),
                    metric: slice.scheduler.metric(candidate),
                    turn: ((candidate.ue + before).saturating_sub(slice.next), place.unwrap_or(0) as u8),
                });
            }
        }
        list.sort_unstable_by(|one, other| {
            one.slice
                .cmp(&other.slice)
                .then(other.metric.total_cmp(&one.metric))
                .then(one.turn.cmp(&other.turn))
        });
    }

    /// Fills the blocks, one for each UE.
    fn fill_parts<S: Source>(
        &mut self,
        slicing: &mut Slicing,
        tti: u64,
        now: Time,
        frame: Frame<'_>,
        source: &mut S,
        filled: &mut Filled,
    ) {
        let mut first = 0;
        while let Some(&Part { candidate: number, .. }) = slicing.parts.get(first) {
            let of_ue = slicing.parts[first..].iter().take_while(|part| part.candidate == number).count();
            let candidate = self.candidates[number as usize];
            let block = self.carrier.blocks.open(candidate.ue, candidate.quality, 0, tti);
            let (mut groups, mut sent) = (0, 0);
            for place in first..first + of_ue {
                let part = &mut slicing.parts[place];
                let whole = |groups: u16| frame.whole_bytes(candidate.quality, groups);
                let mut granted = part.groups;
                // More groups may carry less: one resource block of LTE at I_TBS 6 carries more than two.
                while granted > 1 && whole(groups + granted - 1) > whole(groups + granted) {
                    granted -= 1;
                }
                part.bytes = whole(groups + granted).saturating_sub(whole(groups));
                let of_part = self.fill_part(
                    block,
                    &candidate,
                    part,
                    slicing.wishes.as_mut_slice(),
                    place,
                    now,
                    source,
                );
                sent |= of_part;
                let slice = &mut slicing.slices[usize::from(part.slice)];
                if of_part == 0 {
                    slice.scheduler.failed(candidate.ue);
                    continue;
                }
                groups += granted;
                part.used_groups = granted;
                slice.used_rbs += u32::from(granted) * slicing.rbg_rbs;
                slice.scheduler.carried(candidate.ue, part.bytes);
            }
            self.ues[candidate.ue as usize].turns.end(sent);
            first += of_ue;
            if groups == 0 {
                self.carrier.blocks.close(block);
                continue;
            }
            self.carrier.blocks.get(block).groups = groups;
            filled.add(groups, u64::from(groups) * u64::from(slicing.rbg_rbs), candidate.rate_bytes);
            self.carrier.account.last_ue = candidate.ue;
            self.send(block, now);
        }
        for load in 0..self.loads.len() {
            let (sent_bytes, slice) = (self.loads[load].sent_bytes, slicing.wishes[load].slice);
            filled.sent_bytes += sent_bytes;
            slicing.slices[usize::from(slice)].usage.sent_bytes += sent_bytes;
        }
    }

    /// Lets the bearers of a part fill it. Returns those that sent data, one bit each.
    #[allow(clippy::too_many_arguments)]
    fn fill_part<S: Source>(
        &mut self,
        block: u32,
        candidate: &Candidate,
        part: &Part,
        wishes: &mut [Wish],
        number: usize,
        now: Time,
        source: &mut S,
    ) -> u32 {
        let loads = candidate.first_bearer as usize..(candidate.first_bearer + candidate.bearers) as usize;
        let is_of_part = |local: u8| part.bearers & 1 << local != 0;
        let (mut wanted, mut least) = (0_u64, u64::MAX);
        for place in loads.clone().filter(|&place| is_of_part(self.loads[place].local)) {
            wishes[place].part = number as u32;
            wanted = wanted.saturating_add(wishes[place].wanted_bytes);
            least = least.min(self.bearers[self.loads[place].bearer as usize].least_bytes.into());
        }
        if part.is_rest && part.bytes < wanted.min(least) {
            return 0;
        }
        let share = part.bytes / u64::from(part.bearers.count_ones().max(1));
        let (mut left, mut sent) = (part.bytes, 0);
        for turn in 0..self.ues[candidate.ue as usize].turns.len() {
            let local = self.ues[candidate.ue as usize].turns.bearer_at(turn) as u8;
            if !is_of_part(local) {
                continue;
            }
            let Some(load) = loads.clone().find(|&place| self.loads[place].local == local) else { continue };
            let grant = match self.sharing {
                Sharing::Priority => left,
                Sharing::EqualShare => share,
            };
            let done = self.send_load(load, block, now, grant, source);
            left = left.saturating_sub(done.used_bytes);
            sent |= u32::from(done.block.is_some()) << local;
        }
        sent
    }

    /// Reports the TTI to every bearer with data. Returns true if all demands were met.
    fn settle_slices<S: Source>(&mut self, slicing: &mut Slicing, source: &mut S) -> bool {
        let mut all = true;
        for number in 0..self.candidates.len() {
            let candidate = &self.candidates[number];
            let (first, ue) = (candidate.first_bearer as usize, candidate.ue as usize);
            for place in first..first + candidate.bearers as usize {
                let Wish { slice, channel, part, .. } = slicing.wishes[place];
                // Sums over the bearers that share the part.
                let (mut wanted, mut used, mut sharers) = (0_u64, 0, 0_u64);
                let loads = first..first + self.candidates[number].bearers as usize;
                for other in loads.filter(|&other| other == place || shares(slicing, slice, other)) {
                    wanted = wanted.saturating_add(slicing.wishes[other].wanted_bytes);
                    used += self.loads[other].used_bytes;
                    sharers += 1;
                }
                let part = slicing.parts.get(part as usize);
                let is_served = part.is_some_and(|part| part.used_groups > 0);
                let is_enough = part.is_some_and(|part| part.bytes >= wanted);
                let is_content = is_served && (is_enough || self.loads[place].remaining_packets == 0);
                let groups = part.map_or(0, |part| part.used_groups);
                let whole =
                    slicing.channels.bytes_in(channel, groups + slicing.spare_groups(usize::from(slice)));
                let own = self.loads[place].used_bytes;
                let capacity_bytes = match (self.sharing, slicing.law.by_packets()) {
                    (Sharing::EqualShare, false) => whole / sharers.max(1),
                    (Sharing::EqualShare, true) | (Sharing::Priority, _) => {
                        (whole + own).saturating_sub(used).max(own)
                    }
                };
                let slice = &mut slicing.slices[usize::from(slice)];
                slice.is_content &= is_content;
                all &= is_content;
                self.tell(self.carrier.account.next - 1, place, capacity_bytes, source);
                let load = self.loads[place];
                if groups > 0
                    && self.wanted_bytes(load.bearer as usize, source.backlog(load.bearer as usize)) == 0
                {
                    self.activity.end(ue, usize::from(load.local));
                }
            }
        }
        all
    }
}

impl Slicing {
    /// Lets the scheduler of each slice share the groups of its grant.
    fn decide_by_schedulers(&mut self, tti: u64, candidates: &[Candidate]) {
        for (number, slice) in self.slices.iter_mut().enumerate() {
            let groups = (slice.granted_rbs / self.rbg_rbs.max(1)) as u16;
            for member in &mut slice.members {
                // A demand larger than the slice's grant takes all of it.
                member.least = member.least.min(groups);
                member.rate_bytes = self.channels.bytes_in(member.first_bearer, groups);
            }
            slice.scheduler.plan(tti, &mut slice.members, groups, &mut Complete, &mut slice.plan);
            for &place in &slice.plan {
                let (member, (candidate, bearers)) =
                    (&slice.members[place as usize], slice.numbers[place as usize]);
                debug_assert_eq!(candidates[candidate as usize].ue, member.ue);
                slice.got_rbs += u32::from(member.groups) * self.rbg_rbs;
                self.parts.push(Part {
                    candidate,
                    slice: number as u16,
                    bearers,
                    groups: member.groups,
                    used_groups: 0,
                    bytes: 0,
                    is_rest: false,
                });
            }
        }
    }
}

/// Returns true if the bearer of this demand shares the grant of its UE in `slice`.
fn shares(slicing: &Slicing, slice: u16, wish: usize) -> bool {
    !slicing.law.by_packets() && slicing.wishes[wish].slice == slice
}
