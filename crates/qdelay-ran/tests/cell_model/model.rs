//! The slow model of a cell: queues, blocks and HARQ, TTI by TTI.

use super::{Law, Plan};
use crate::cell_common::*;
use qdelay_core::pacer::{Served, SizeUnit, TddSlot};
use qdelay_core::{Random, Span, Time};
use qdelay_ran::radio::{Bler, Combining, Decoding, Quality, Radio};
use qdelay_ran::tables::Carrier;
use qdelay_ran::{CellUsage, Sharing, Split};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) handle: u64,
    pub(super) bytes: u64,
    pub(super) arrival: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) ue: usize,
    pub(super) quality: Quality,
    pub(super) groups: u64,
    pub(super) first: u64,
    pub(super) sent: u64,
    pub(super) repeated: u8,
    pub(super) lost: bool,
    /// SNR of each transmission, as a ratio.
    pub(super) heard: Vec<f64>,
    /// Bearers, each with its packets in the block.
    pub(super) jobs: Vec<(usize, Vec<(Job, u64)>)>,
}

pub(super) struct Model {
    pub(super) plan: Plan,
    pub(super) carrier: Carrier,
    pub(super) queues: Vec<VecDeque<Job>>,
    /// A packet of each bearer that did not fit the last grant.
    pub(super) waiting: Vec<Option<Job>>,
    /// Blocks on the air, each with its time of decoding.
    pub(super) flying: Vec<(u64, Block)>,
    /// Lost blocks, each with the first TTI of its repetition.
    pub(super) lost: Vec<(u64, Block)>,
    /// HARQ processes whose blocks were decoded: (first TTI of another use, UE).
    pub(super) held: Vec<(u64, usize)>,
    /// Offset of OLLA in dB for each UE; `granted`: time of its last new block.
    pub(super) offsets: Vec<f64>,
    pub(super) granted: Vec<Option<u64>>,
    /// SNR of each channel in dB, if it has any.
    pub(super) snr_db: Vec<Option<f64>>,
    pub(super) random: Vec<Random>,
    pub(super) radios: Vec<Radio>,
    /// Quality of each channel in this TTI, as known to the cell; `truth`: the true one.
    pub(super) known: Vec<Quality>,
    pub(super) truth: Vec<Quality>,
    /// Bearers of each UE in the order of service.
    pub(super) orders: Vec<Vec<usize>>,
    /// UE that is first, or first among equals.
    pub(super) next: usize,
    /// True if that UE was left out in this TTI.
    pub(super) held_over: bool,
    pub(super) lately: Vec<f64>,
    pub(super) last_ue: usize,
    pub(super) usage: CellUsage,
    pub(super) log: Vec<Event>,
}

impl Model {
    pub(super) fn new(plan: &Plan) -> Model {
        let mut bearers = 0;
        let orders: Vec<Vec<usize>> = plan
            .ues
            .iter()
            .map(|(_, _, priorities)| {
                let mut order: Vec<usize> = (0..priorities.len()).collect();
                order.sort_by_key(|&n| (priorities[n], n));
                bearers += order.len();
                order.iter().map(|n| bearers - order.len() + n).collect()
            })
            .collect();
        Model {
            carrier: Carrier::lte(plan.prbs).unwrap(),
            queues: vec![VecDeque::new(); bearers],
            waiting: vec![None; bearers],
            flying: Vec::new(),
            lost: Vec::new(),
            held: Vec::new(),
            offsets: vec![0.0; plan.ues.len()],
            granted: vec![None; plan.ues.len()],
            snr_db: Vec::new(),
            random: (0..plan.ues.len())
                .map(|ue| Random::derive(1, &format!("cell UE {ue}"), "harq"))
                .collect(),
            radios: (plan.ues.iter().enumerate())
                .map(|(ue, (channel, reported, _))| {
                    let (carrier, tti) = (Carrier::lte(plan.prbs).unwrap(), Span::from_nanos(plan.tti()));
                    channel.start(&carrier, tti, *reported, 1, &format!("cell UE {ue}")).unwrap()
                })
                .collect(),
            known: Vec::new(),
            truth: Vec::new(),
            lately: vec![0.0; plan.ues.len()],
            orders,
            next: 0,
            held_over: false,
            last_ue: 0,
            usage: CellUsage::default(),
            log: Vec::new(),
            plan: plan.clone(),
        }
    }

    /// MCS of a quality that has one.
    fn mcs_of(&self, quality: Quality) -> Option<u8> {
        let Quality::Rung(rung) = quality else { return None };
        Some(self.carrier.mcs_of(rung))
    }
    pub(super) fn cost(&self, bytes: u64) -> u64 {
        if self.plan.unit == SizeUnit::Packets { 1500 } else { bytes }
    }
    pub(super) fn bearer(&self, ue: usize, n: usize) -> usize {
        self.plan.ues[..ue].iter().map(|ue| ue.2.len()).sum::<usize>() + n
    }
    pub(super) fn bearers_of(&self, ue: usize) -> Vec<usize> {
        (0..self.plan.ues[ue].2.len()).map(|n| self.bearer(ue, n)).collect()
    }
    /// Waiting bytes of a bearer, in the cell's unit.
    pub(super) fn waits(&self, bearer: usize) -> u64 {
        self.waiting[bearer].iter().chain(&self.queues[bearer]).map(|job| self.cost(job.bytes)).sum()
    }
    pub(super) fn data_prbs(&self, tti: u64) -> Vec<u64> {
        if self.kind(tti) == 'U' || self.kind(tti) == 'S' && self.plan.tdd.is_some_and(|tdd| tdd.1 == 3) {
            return vec![0];
        }
        (tti * self.plan.slots..(tti + 1) * self.plan.slots)
            .map(|slot| u64::from(self.plan.control.data_prbs(slot, self.plan.prbs)))
            .collect()
    }
    /// Kind of TTI number `tti`: D, S or U.
    pub(super) fn kind(&self, tti: u64) -> char {
        let Some((slots, _)) = self.plan.tdd else { return 'D' };
        slots.chars().nth((tti % slots.len() as u64) as usize).unwrap()
    }
    /// Number of resource blocks whose size a block on `prbs` of them has in TTI `tti`.
    pub(super) fn sized(&self, tti: u64, prbs: u64) -> u64 {
        // TS 36.213 clause 7.1.7: a block in a special subframe has the size for some of its resource blocks.
        match (self.kind(tti), self.plan.tdd) {
            ('S', Some((_, 6))) if prbs > 0 => (prbs * 375 / 1000).max(1),
            ('S', _) if prbs > 0 => (prbs * 75 / 100).max(1),
            _ => prbs,
        }
    }
    /// The slot of a report, found by a search: bytes of all resource blocks at MCS 14, here and in the next
    /// slot with any.
    pub(super) fn slot(&self, tti: u64) -> Option<TddSlot> {
        let (_, symbols) = self.plan.tdd?;
        let carries = |tti: u64| match self.kind(tti) {
            'U' => 0,
            'S' if symbols == 3 => 0,
            _ => self.carrier.block_bytes(14, self.sized(tti, u64::from(self.plan.prbs)) as u16),
        };
        let next = (tti + 1..).find(|&next| carries(next) > 0)?;
        Some(TddSlot {
            carries: carries(tti),
            next_carries: carries(next),
            next: Span::from_nanos((next - tti) * self.plan.tti()),
        })
    }
    /// Resource blocks, and bytes at `quality`, of groups `from..to` in TTI `tti`.
    pub(super) fn carries(&self, tti: u64, quality: Quality, ranges: &[(u64, u64)]) -> (u64, u64) {
        let size = u64::from(self.carrier.rbg_prbs());
        let (mut rbs, mut bytes) = (0, 0);
        for prbs in self.data_prbs(tti) {
            let mine: u64 = (0..prbs)
                .filter(|prb| ranges.iter().any(|range| (range.0..range.1).contains(&(prb / size))))
                .count() as u64;
            rbs += mine;
            let sized = self.sized(tti, mine);
            if let Some(mcs) = self.mcs_of(quality) {
                bytes += u64::from(self.carrier.block_bytes(mcs, sized as u16));
            }
        }
        if let Quality::Bytes(whole) = quality {
            bytes = whole * rbs / self.data_prbs(tti).iter().sum::<u64>().max(1);
        }
        if self.plan.unit == SizeUnit::Packets {
            bytes = bytes / 1500 * 1500;
        }
        (rbs, bytes)
    }
    pub(super) fn groups(&self, tti: u64) -> u64 {
        let most = self.data_prbs(tti).into_iter().max().unwrap();
        most.div_ceil(u64::from(self.carrier.rbg_prbs()))
    }
    /// The fewest groups from `at` on for `bytes`, or all groups.
    pub(super) fn groups_for(&self, tti: u64, quality: Quality, at: u64, bytes: u64) -> u64 {
        let all = self.groups(tti) - at;
        (0..all).find(|&n| self.carries(tti, quality, &[(at, at + n)]).1 >= bytes).unwrap_or(all)
    }

    pub(super) fn tell(&mut self, time: u64, bearer: usize, what: Notice) {
        self.log.push(Event { time, bearer, what });
    }

    pub(super) fn send(&mut self, now: u64, mut block: Block) {
        let gain = self.plan.combining_mcs * block.repeated;
        let mcs = self.mcs_of(block.quality).map_or(0, |mcs| mcs.saturating_sub(gain));
        let bler = Bler::new(self.plan.loss, Bler::SLOPE).unwrap();
        let mut loss = bler.probability(mcs, self.truth[block.ue]);
        if let (Decoding::Snr { slope_db, combining }, Some(mcs)) =
            (self.plan.decoding, self.mcs_of(block.quality))
        {
            let snr_db = self.snr_db[block.ue].or(self.mcs_of(self.truth[block.ue]).map(threshold_db));
            block.heard.extend(snr_db.map(|db| 10_f64.powf(db / 10.0)));
            let heard = match combining {
                Combining::Chase => block.heard.iter().sum::<f64>(),
                Combining::IncrementalRedundancy => {
                    block.heard.iter().map(|snr| 1.0 + snr).product::<f64>() - 1.0
                }
                Combining::None => block.heard.last().copied().unwrap_or(0.0),
            };
            let above = 10.0 * heard.log10() - threshold_db(mcs);
            let odds = (-slope_db * above).exp() / 9.0;
            // A chance of decoding remains, and is drawn.
            let most = 1.0 - f64::EPSILON / 2.0;
            let chance = if odds.is_finite() { (odds / (1.0 + odds)).min(most) } else { most };
            loss = if snr_db.is_none() { 1.0 } else { chance.max(self.plan.loss) };
        }
        if block.repeated == 0 {
            self.granted[block.ue] = Some(now);
        }
        block.lost = loss == 1.0 || (loss > 0.0 && self.random[block.ue].unit() < loss);
        self.flying.push((now + self.plan.air, block));
    }

    pub(super) fn decode(&mut self, now: u64) {
        while let Some(first) = self.flying.iter().position(|&(at, _)| at <= now) {
            let (at, block) = self.flying.remove(first);
            if let (0, Some(olla), Some(mcs)) =
                (block.repeated, self.plan.olla[block.ue], self.mcs_of(block.quality))
            {
                let offset = &mut self.offsets[block.ue];
                if block.lost && mcs > 0 {
                    *offset = (*offset - olla.step_db).max(-olla.limit_db);
                } else if !block.lost && mcs < 28 {
                    *offset = (*offset + olla.step_db * olla.target / (1.0 - olla.target)).min(olla.limit_db);
                }
            }
            if block.lost && block.repeated < self.plan.retransmissions {
                self.lost.push((block.sent + self.plan.rtt_ttis, block));
                continue;
            }
            self.held.push((block.sent + self.plan.rtt_ttis, block.ue));
            for (bearer, jobs) in block.jobs {
                for (job, taken) in jobs {
                    let split = Split { air: Span::from_nanos(at - taken), ..Split::default() };
                    let what = if block.lost {
                        Notice::Dropped(job.handle, qdelay_ran::rlc::AIR)
                    } else {
                        Notice::Delivered(job.handle, split)
                    };
                    self.tell(at, bearer, what);
                }
            }
        }
    }

    /// Runs TTI number `tti` at `now`.
    pub(super) fn tick(&mut self, tti: u64, now: u64) {
        let time = Time::from_nanos(now);
        self.known = self.radios.iter_mut().map(|radio| radio.known(time)).collect();
        self.truth = self.radios.iter_mut().map(|radio| radio.quality(time)).collect();
        self.snr_db = self.radios.iter_mut().map(|radio| radio.snr_db(time)).collect();
        for ue in 0..self.known.len() {
            if let (Some(_), Some(mcs)) = (self.plan.olla[ue], self.mcs_of(self.known[ue])) {
                let level = threshold_db(mcs) + self.offsets[ue];
                let fits = (0..=28).filter(|&mcs| threshold_db(mcs) <= level);
                self.known[ue] = Quality::mcs(fits.max().unwrap_or(0));
            }
        }
        self.held.retain(|held| held.0 > tti);
        let all_groups = self.groups(tti);
        let (mut at, mut used, mut weighted, mut sent) = (0, 0_u64, 0_u128, 0);
        let (mut repeating, mut is_kept) = (Vec::new(), false);
        for (first, mut block) in std::mem::take(&mut self.lost) {
            let is_shorter = self.kind(tti) == 'S' && self.kind(block.first) != 'S';
            let fits = !repeating.contains(&block.ue) && block.groups <= all_groups - at && !is_shorter;
            if first > tti || !fits {
                is_kept |= first <= tti;
                self.lost.push((first, block));
                continue;
            }
            let rbs = self.carries(tti, block.quality, &[(at, at + block.groups)]).0;
            (used, at) = (used + rbs, at + block.groups);
            self.usage.repeated_rbs += rbs;
            weighted += u128::from(rbs * self.carries(tti, block.quality, &[(0, all_groups)]).1);
            (block.repeated, block.sent) = (block.repeated + 1, tti);
            repeating.push(block.ue);
            self.last_ue = block.ue;
            self.send(now, block);
        }
        // UEs that can get nothing: they repeat, sleep, or have no process left.
        repeating.extend((0..self.plan.ues.len()).filter(|&ue| self.is_silent(ue, now)));
        let ues: Vec<usize> = (0..self.plan.ues.len())
            .filter(|&ue| self.bearers_of(ue).iter().any(|&bearer| self.waits(bearer) > 0))
            .collect();
        let rate = |model: &Model, ue: usize| model.carries(tti, model.known[ue], &[(0, all_groups)]).1;
        let shares = self.share(tti, all_groups - at, &ues, &repeating);
        let mut spare = all_groups - at - shares.iter().map(|share| share.1).sum::<u64>();
        let had: Vec<bool> = (0..self.queues.len()).map(|bearer| self.waits(bearer) > 0).collect();
        let wanted: Vec<u64> = ues.iter().map(|&ue| self.wanted(ue)).collect();
        // For each UE its groups (from, to); for each bearer the bytes used, and the report.
        let mut got = vec![None; self.plan.ues.len()];
        let mut told = vec![Served::default(); self.queues.len()];
        let mut uses = vec![0; self.queues.len()];
        let (mut failed, mut carried) = (None, Vec::new());
        for (ue, mut groups) in shares {
            let quality = self.known[ue];
            let aim = self.wanted(ue).min(self.carries(tti, quality, &[(0, groups)]).1);
            let mut rest = spare;
            while rest > 0 && self.carries(tti, quality, &[(at, at + groups)]).1 < aim {
                (groups, rest) = (groups + 1, rest - 1);
            }
            let (rbs, bytes) = self.carries(tti, quality, &[(at, at + groups)]);
            let jobs = self.fill(ue, now, bytes, &mut told, &mut uses);
            if jobs.is_empty() {
                failed = failed.or(Some(ue));
                continue;
            }
            sent += told
                .iter()
                .enumerate()
                .filter(|(b, _)| self.bearers_of(ue).contains(b))
                .map(|(_, t)| t.sent_bytes)
                .sum::<u64>();
            spare = rest;
            got[ue] = Some((at, at + groups));
            (used, at) = (used + rbs, at + groups);
            weighted += u128::from(rbs * rate(self, ue));
            self.last_ue = ue;
            carried.push((ue, bytes));
            self.send(
                now,
                Block {
                    ue,
                    quality,
                    groups,
                    first: tti,
                    sent: tti,
                    repeated: 0,
                    lost: false,
                    heard: Vec::new(),
                    jobs,
                },
            );
        }
        if self.plan.law == Law::RoundRobin
            && let Some(ue) = failed
            && !self.held_over
        {
            self.next = ue;
        }
        self.remember(&carried);
        let mut all_content = true;
        for (&ue, &wanted) in ues.iter().zip(&wanted) {
            let quality = self.known[ue];
            let mine: Vec<(u64, u64)> = got[ue].into_iter().chain([(at, all_groups)]).collect();
            let mut whole = self.carries(tti, quality, &mine).1;
            if repeating.contains(&ue) {
                whole = 0;
            }
            let carried = got[ue].map_or(0, |range| self.carries(tti, quality, &[range]).1);
            all_content &= got[ue].is_some() && carried >= wanted;
            let active: Vec<usize> = self.bearers_of(ue).into_iter().filter(|&bearer| had[bearer]).collect();
            for &bearer in &active {
                let others: u64 = active.iter().filter(|&&b| b != bearer).map(|&b| uses[b]).sum();
                let waiting = self.waiting[bearer].iter().len() + self.queues[bearer].len();
                let served = Served {
                    capacity_bytes: match self.plan.sharing {
                        Sharing::Priority => whole.saturating_sub(others),
                        Sharing::EqualShare => whole / active.len() as u64,
                    },
                    remaining_bytes: self.waits(bearer),
                    remaining_packets: waiting as u64,
                    tdd: self.slot(tti),
                    ..told[bearer]
                };
                self.tell(now, bearer, Notice::Served(served));
            }
        }
        let rbs: u64 = self.data_prbs(tti).iter().sum();
        self.usage.offered_rbs += rbs;
        self.usage.used_rbs += used;
        self.usage.sent_bytes += sent;
        if all_content && !is_kept {
            self.usage.wasted_rbs += rbs - used;
        } else {
            self.usage.unfit_rbs += rbs - used;
        }
        self.usage.offered_bytes +=
            if used > 0 { (weighted / u128::from(used)) as u64 } else { rate(self, self.last_ue) };
    }

    pub(super) fn is_silent(&self, ue: usize, now: u64) -> bool {
        let of = |block: &(u64, Block)| block.1.ue == ue;
        let busy = self.flying.iter().filter(|block| of(block)).count()
            + self.lost.iter().filter(|block| of(block)).count()
            + self.held.iter().filter(|held| held.1 == ue).count();
        let has_process = self.plan.processes.is_none_or(|processes| busy < usize::from(processes));
        !has_process || self.sleeps(ue, now)
    }

    /// TS 38.321 clause 5.7: true unless the on-duration timer or the inactivity timer runs.
    pub(super) fn sleeps(&self, ue: usize, now: u64) -> bool {
        let Some([cycle, on, inactivity, short, shorts, offset]) = self.plan.drx[ue] else { return false };
        let mut cycle = (cycle * MS) as i64;
        if let Some(granted) = self.granted[ue] {
            let expires = granted + inactivity * MS;
            if now <= expires {
                return false;
            }
            if now < expires + short * shorts * MS {
                cycle = (short * MS) as i64;
            }
        }
        let mut begin = (offset * MS) as i64 % cycle - cycle;
        while begin + cycle <= now as i64 {
            begin += cycle;
        }
        now as i64 - begin >= (on * MS) as i64
    }

    /// Lets the bearers of `ue` take packets for `bytes`.
    pub(super) fn fill(
        &mut self,
        ue: usize,
        now: u64,
        bytes: u64,
        told: &mut [Served],
        uses: &mut [u64],
    ) -> Vec<(usize, Vec<(Job, u64)>)> {
        let order = self.orders[ue].clone();
        let active: Vec<usize> = order.iter().copied().filter(|&bearer| self.waits(bearer) > 0).collect();
        let (mut left, mut jobs) = (bytes, Vec::new());
        for &bearer in &active {
            let grant = match self.plan.sharing {
                Sharing::Priority => left,
                Sharing::EqualShare => bytes / active.len() as u64,
            };
            let mut taken = Vec::new();
            let mut room = grant;
            while let Some(job) = self.waiting[bearer].take().or_else(|| self.queues[bearer].pop_front()) {
                if self.cost(job.bytes) > room {
                    self.waiting[bearer] = Some(job);
                    break;
                }
                room -= self.cost(job.bytes);
                told[bearer].sent_bytes += self.cost(job.bytes);
                told[bearer].left_packets += 1;
                told[bearer].left_sojourn += Span::from_nanos(now - job.arrival);
                self.tell(now, bearer, Notice::Departed(job.handle));
                taken.push((job, now));
            }
            uses[bearer] = grant - room;
            left -= grant - room;
            if !taken.is_empty() {
                jobs.push((bearer, taken));
            }
        }
        // Among equal priorities, the first that sent moves behind the others.
        let priority = |bearer: usize| self.plan.ues[ue].2[bearer - self.bearer(ue, 0)];
        let mut moved: Vec<u8> = Vec::new();
        let mut order = order;
        for bearer in self.orders[ue].clone() {
            if jobs.iter().any(|job| job.0 == bearer) && !moved.contains(&priority(bearer)) {
                moved.push(priority(bearer));
                order.retain(|&other| other != bearer);
                let behind = order.iter().rposition(|&other| priority(other) <= priority(bearer));
                order.insert(behind.map_or(0, |at| at + 1), bearer);
            }
        }
        self.orders[ue] = order;
        jobs
    }

    pub(super) fn run(&mut self, arrivals: &[Arrival], end: u64) {
        let (mut next, mut tti) = (0, 0);
        loop {
            let now = self.plan.phase + tti * self.plan.tti();
            while next < arrivals.len() && arrivals[next].0 < now.min(end) {
                let (arrival, bearer, bytes) = arrivals[next];
                self.queues[bearer].push_back(Job { handle: next as u64, bytes: u64::from(bytes), arrival });
                next += 1;
            }
            self.decode(now.min(end));
            if now > end {
                return;
            }
            self.tick(tti, now);
            tti += 1;
        }
    }
}

/// SNR at which one LTE block of `mcs` in ten is lost: the efficiency of that MCS is 0.75 of Shannon's bound.
pub(super) fn threshold_db(mcs: u8) -> f64 {
    let efficiency = Carrier::lte(6).unwrap().mcs_efficiency(mcs);
    10.0 * (2_f64.powf(efficiency / 0.75) - 1.0).log10()
}
