//! The cell compared with a slow model that runs every TTI, with plain vectors, and shares no code with it.
//! Both use the same tables of the carrier, channels and random streams.
//!
//! Bearers are transparent here (a packet is sent whole), so that the model needs no RLC; `rlc_*.rs` compare
//! RLC with models.

use crate::cell_common::*;
use proptest::prelude::*;
use qdelay_core::component::Arguments;
use qdelay_core::pacer::{Served, SizeUnit, TddSlot};
use qdelay_core::{Random, Rate, Span, Time};
use qdelay_ran::cell::{DrxSetting, SLEEPS};
use qdelay_ran::mac::{COMPONENTS, Service};
use qdelay_ran::radio::{
    Bler, Channel, Combining, Control, Decoding, Mcs, OllaSetting, Quality, Radio, Rates, Reported, Tdd,
};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::Carrier;
use qdelay_ran::{Cell, CellSetting, CellUsage, HarqSetting, Scheduler, Sharing, Split, UeSetting};
use qdelay_trace::{RateStep, RateSteps};
use std::collections::VecDeque;

/// A scheduler in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    RoundRobin,
    /// Time in nanoseconds after which the weight of earlier throughput is 1/e.
    ProportionalFair {
        window: u64,
    },
    MaxThroughput,
    /// M-LWDF: proportional fair, weighted by delay.
    Mlwdf,
    ExpPf,
    Edf,
}

/// Schedulers and their models.
const JUDGED: [(&str, Law); 6] = [
    ("mlwdf", Law::Mlwdf),
    ("exp_pf", Law::ExpPf),
    ("edf", Law::Edf),
    ("round_robin", Law::RoundRobin),
    ("proportional_fair", Law::ProportionalFair { window: 100 * MS }),
    ("max_throughput", Law::MaxThroughput),
];

/// Settings from which cell and model are built.
#[derive(Clone, Debug)]
struct Plan {
    prbs: u16,
    slots: u64,
    phase: u64,
    scheduler: Scheduler,
    law: Law,
    sharing: Sharing,
    control: Control,
    /// Slots of time division duplex, and downlink symbols of special ones.
    tdd: Option<(&'static str, u8)>,
    unit: SizeUnit,
    loss: f64,
    retransmissions: u8,
    rtt_ttis: u64,
    air: u64,
    combining_mcs: u8,
    decoding: Decoding,
    processes: Option<u8>,
    /// Outer-loop link adaptation of each UE; `drx`: DRX of each UE in ms: cycle, on, inactivity, short
    /// cycle, short cycles, offset.
    olla: Vec<Option<OllaSetting>>,
    drx: Vec<Option<[u64; 6]>>,
    /// Budget in ms and exponent of loss of each priority.
    classes: [(u64, u8); 3],
    /// For each UE: its channel, the reports of it, and the priorities of its bearers.
    ues: Vec<(Channel, Reported, Vec<u8>)>,
}

impl Plan {
    fn tti(&self) -> u64 {
        self.slots * MS
    }
    fn cell(&self) -> Cell {
        let harq = HarqSetting {
            bler: Bler::new(self.loss, Bler::SLOPE).unwrap(),
            rtt: Some(Span::from_nanos(self.tti() * self.rtt_ttis)),
            retransmissions: self.retransmissions,
            combining_mcs: self.combining_mcs,
            decoding: self.decoding,
            processes: self.processes,
        };
        let rlc = match self.unit {
            SizeUnit::Bytes => RlcSetting::transparent(),
            SizeUnit::Packets => RlcSetting::whole_packets(),
        };
        let mut setting = CellSetting::new(Carrier::lte(self.prbs).unwrap())
            .tti(Span::from_nanos(self.tti()))
            .phase(Span::from_nanos(self.phase))
            .scheduler(self.scheduler.clone())
            .sharing(self.sharing)
            .control(self.control)
            .tdd(self.tdd.map(|(slots, symbols)| Tdd::new(slots, symbols).unwrap()))
            .unit(self.unit)
            .harq(harq)
            .air(Span::from_nanos(self.air));
        for (number, (channel, reported, priorities)) in self.ues.iter().enumerate() {
            let drx = self.drx[number].map(|[cycle, on, inactivity, short, shorts, offset]| {
                let mut text =
                    format!("drx:cycle={cycle}ms:on={on}ms:inactivity={inactivity}ms:offset={offset}ms");
                if short > 0 {
                    text += &format!(":short={short}ms:shorts={shorts}");
                }
                DrxSetting::build(&Arguments::parse(SLEEPS, &text).unwrap()).unwrap()
            });
            let ue = UeSetting::new(channel.clone()).reported(*reported).olla(self.olla[number]).drx(drx);
            let bearer = |ue: UeSetting, &priority: &u8| {
                let (budget, loss_exponent) = self.classes[usize::from(priority)];
                ue.serving(rlc, Service { priority, budget: ms(budget), loss_exponent, guaranteed: None })
            };
            setting = setting.ue(priorities.iter().fold(ue, bearer));
        }
        Cell::new(setting, 1, "cell").unwrap()
    }
}

#[derive(Clone, Debug)]
struct Job {
    handle: u64,
    bytes: u64,
    arrival: u64,
}

#[derive(Clone, Debug)]
struct Block {
    ue: usize,
    quality: Quality,
    groups: u64,
    first: u64,
    sent: u64,
    repeated: u8,
    lost: bool,
    /// SNR of each transmission, as a ratio.
    heard: Vec<f64>,
    /// Bearers, each with its packets in the block.
    jobs: Vec<(usize, Vec<(Job, u64)>)>,
}

struct Model {
    plan: Plan,
    carrier: Carrier,
    queues: Vec<VecDeque<Job>>,
    /// A packet of each bearer that did not fit the last grant.
    waiting: Vec<Option<Job>>,
    /// Blocks on the air, each with its time of decoding.
    flying: Vec<(u64, Block)>,
    /// Lost blocks, each with the first TTI of its repetition.
    lost: Vec<(u64, Block)>,
    /// HARQ processes whose blocks were decoded: (first TTI of another use, UE).
    held: Vec<(u64, usize)>,
    /// Offset of OLLA in dB for each UE; `granted`: time of its last new block.
    offsets: Vec<f64>,
    granted: Vec<Option<u64>>,
    /// SNR of each channel in dB, if it has any.
    snr_db: Vec<Option<f64>>,
    random: Vec<Random>,
    radios: Vec<Radio>,
    /// Quality of each channel in this TTI, as known to the cell; `truth`: the true one.
    known: Vec<Quality>,
    truth: Vec<Quality>,
    /// Bearers of each UE in the order of service.
    orders: Vec<Vec<usize>>,
    /// UE that is first, or first among equals.
    next: usize,
    /// True if that UE was left out in this TTI.
    held_over: bool,
    lately: Vec<f64>,
    last_ue: usize,
    usage: CellUsage,
    log: Vec<Event>,
}

impl Model {
    fn new(plan: &Plan) -> Model {
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

    fn cost(&self, bytes: u64) -> u64 {
        if self.plan.unit == SizeUnit::Packets { 1500 } else { bytes }
    }
    fn bearer(&self, ue: usize, n: usize) -> usize {
        self.plan.ues[..ue].iter().map(|ue| ue.2.len()).sum::<usize>() + n
    }
    fn bearers_of(&self, ue: usize) -> Vec<usize> {
        (0..self.plan.ues[ue].2.len()).map(|n| self.bearer(ue, n)).collect()
    }
    /// Waiting bytes of a bearer, in the cell's unit.
    fn waits(&self, bearer: usize) -> u64 {
        self.waiting[bearer].iter().chain(&self.queues[bearer]).map(|job| self.cost(job.bytes)).sum()
    }
    fn data_prbs(&self, tti: u64) -> Vec<u64> {
        if self.kind(tti) == 'U' || self.kind(tti) == 'S' && self.plan.tdd.is_some_and(|tdd| tdd.1 == 3) {
            return vec![0];
        }
        (tti * self.plan.slots..(tti + 1) * self.plan.slots)
            .map(|slot| u64::from(self.plan.control.data_prbs(slot, self.plan.prbs)))
            .collect()
    }
    /// Kind of TTI number `tti`: D, S or U.
    fn kind(&self, tti: u64) -> char {
        let Some((slots, _)) = self.plan.tdd else { return 'D' };
        slots.chars().nth((tti % slots.len() as u64) as usize).unwrap()
    }
    /// Number of resource blocks whose size a block on `prbs` of them has in TTI `tti`.
    fn sized(&self, tti: u64, prbs: u64) -> u64 {
        // TS 36.213 clause 7.1.7: a block in a special subframe has the size for some of its resource blocks.
        match (self.kind(tti), self.plan.tdd) {
            ('S', Some((_, 6))) if prbs > 0 => (prbs * 375 / 1000).max(1),
            ('S', _) if prbs > 0 => (prbs * 75 / 100).max(1),
            _ => prbs,
        }
    }
    /// The slot of a report, found by a search: bytes of all resource blocks at MCS 14, here and in the next
    /// slot with any.
    fn slot(&self, tti: u64) -> Option<TddSlot> {
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
    fn carries(&self, tti: u64, quality: Quality, ranges: &[(u64, u64)]) -> (u64, u64) {
        let size = u64::from(self.carrier.rbg_prbs());
        let (mut rbs, mut bytes) = (0, 0);
        for prbs in self.data_prbs(tti) {
            let mine: u64 = (0..prbs)
                .filter(|prb| ranges.iter().any(|range| (range.0..range.1).contains(&(prb / size))))
                .count() as u64;
            rbs += mine;
            let sized = self.sized(tti, mine);
            if let Quality::Mcs(mcs) = quality {
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
    fn groups(&self, tti: u64) -> u64 {
        let most = self.data_prbs(tti).into_iter().max().unwrap();
        most.div_ceil(u64::from(self.carrier.rbg_prbs()))
    }
    /// The fewest groups from `at` on for `bytes`, or all groups.
    fn groups_for(&self, tti: u64, quality: Quality, at: u64, bytes: u64) -> u64 {
        let all = self.groups(tti) - at;
        (0..all).find(|&n| self.carries(tti, quality, &[(at, at + n)]).1 >= bytes).unwrap_or(all)
    }

    fn tell(&mut self, time: u64, bearer: usize, what: What) {
        self.log.push(Event { time, bearer, what });
    }

    fn send(&mut self, now: u64, mut block: Block) {
        let gain = self.plan.combining_mcs * block.repeated;
        let mcs = if let Quality::Mcs(mcs) = block.quality { mcs.saturating_sub(gain) } else { 0 };
        let bler = Bler::new(self.plan.loss, Bler::SLOPE).unwrap();
        let mut loss = bler.probability(mcs, self.truth[block.ue]);
        if let (Decoding::Snr { slope_db, combining }, Quality::Mcs(mcs)) =
            (self.plan.decoding, block.quality)
        {
            let snr_db = self.snr_db[block.ue].or(match self.truth[block.ue] {
                Quality::Mcs(mcs) => Some(threshold_db(mcs)),
                _ => None,
            });
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

    fn decode(&mut self, now: u64) {
        while let Some(first) = self.flying.iter().position(|&(at, _)| at <= now) {
            let (at, block) = self.flying.remove(first);
            if let (0, Some(olla), Quality::Mcs(mcs)) =
                (block.repeated, self.plan.olla[block.ue], block.quality)
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
                        What::Dropped(job.handle, qdelay_ran::rlc::AIR)
                    } else {
                        What::Delivered(job.handle, split)
                    };
                    self.tell(at, bearer, what);
                }
            }
        }
    }

    /// Runs TTI number `tti` at `now`.
    fn tick(&mut self, tti: u64, now: u64) {
        let time = Time::from_nanos(now);
        self.known = self.radios.iter_mut().map(|radio| radio.known(time)).collect();
        self.truth = self.radios.iter_mut().map(|radio| radio.quality(time)).collect();
        self.snr_db = self.radios.iter_mut().map(|radio| radio.snr_db(time)).collect();
        for ue in 0..self.known.len() {
            if let (Some(_), Quality::Mcs(mcs)) = (self.plan.olla[ue], self.known[ue]) {
                let level = threshold_db(mcs) + self.offsets[ue];
                let fits = (0..=28).filter(|&mcs| threshold_db(mcs) <= level);
                self.known[ue] = Quality::Mcs(fits.max().unwrap_or(0));
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
                self.tell(now, bearer, What::Served(served));
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

    fn is_silent(&self, ue: usize, now: u64) -> bool {
        let of = |block: &(u64, Block)| block.1.ue == ue;
        let busy = self.flying.iter().filter(|block| of(block)).count()
            + self.lost.iter().filter(|block| of(block)).count()
            + self.held.iter().filter(|held| held.1 == ue).count();
        let has_process = self.plan.processes.is_none_or(|processes| busy < usize::from(processes));
        !has_process || self.sleeps(ue, now)
    }

    /// TS 38.321 clause 5.7: true unless the on-duration timer or the inactivity timer runs.
    fn sleeps(&self, ue: usize, now: u64) -> bool {
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

    /// Waiting time in s of the first packet of each bearer of `ue` with data, and its class.
    fn heads(&self, ue: usize, now: u64) -> Vec<(f64, (u64, u8))> {
        let of = |bearer: usize| {
            let job = self.waiting[bearer].as_ref().or(self.queues[bearer].front())?;
            let priority = self.plan.ues[ue].2[bearer - self.bearer(ue, 0)];
            Some(((now - job.arrival + 1) as f64 / 1e9, self.plan.classes[usize::from(priority)]))
        };
        self.bearers_of(ue).into_iter().filter_map(of).collect()
    }

    fn wanted(&self, ue: usize) -> u64 {
        self.bearers_of(ue).into_iter().map(|bearer| self.waits(bearer)).sum()
    }

    /// Number of groups of each UE, in the order of the UEs.
    fn share(&mut self, tti: u64, groups: u64, ues: &[usize], repeating: &[usize]) -> Vec<(usize, u64)> {
        let all = self.groups(tti);
        let mut order: Vec<usize> = ues.iter().copied().filter(|ue| !repeating.contains(ue)).collect();
        order.retain(|&ue| self.carries(tti, self.known[ue], &[(0, all)]).1 > 0);
        order.sort_by_key(|&ue| (ue < self.next, ue));
        let need = |model: &Model, ue: usize| model.groups_for(tti, model.known[ue], 0, model.wanted(ue));
        let least = |model: &Model, ue: usize| {
            let active = model.bearers_of(ue).into_iter().filter(|&bearer| model.waits(bearer) > 0).count();
            let least = if model.plan.sharing == Sharing::EqualShare { 1500 * active as u64 } else { 1500 };
            model.groups_for(tti, model.known[ue], 0, model.wanted(ue).min(least))
        };
        let (mut shares, mut left) = (Vec::new(), groups);
        self.held_over = false;
        match self.plan.law {
            Law::RoundRobin => {
                for ue in order {
                    if left == 0 {
                        break;
                    }
                    let least = least(self, ue);
                    if least <= left {
                        shares.push((ue, least));
                        left -= least;
                        if !self.held_over {
                            self.next = ue + 1;
                        }
                    } else if !self.held_over {
                        (self.next, self.held_over) = (ue, true);
                    }
                }
                while left > 0 {
                    let poor = (0..shares.len()).filter(|&n| shares[n].1 < need(self, shares[n].0));
                    let Some(poorest) = poor.min_by_key(|&n| (shares[n].1, n)) else { break };
                    shares[poorest].1 += 1;
                    left -= 1;
                    if !self.held_over {
                        self.next = shares[poorest].0 + 1;
                    }
                }
            }
            _ => {
                let now = self.plan.phase + tti * self.plan.tti();
                let late = |model: &Model, ue: usize| {
                    let weighed = |&(waited, (budget, loss)): &(f64, (u64, u8))| {
                        -(10_f64.powi(-i32::from(loss))).log10() / (budget as f64 / 1e3) * waited
                    };
                    model.heads(ue, now).iter().map(weighed).fold(0.0, f64::max)
                };
                let mean = order.iter().map(|&ue| late(self, ue)).sum::<f64>() / order.len().max(1) as f64;
                let metric = |model: &Model, ue: usize| {
                    let rate = model.carries(tti, model.known[ue], &[(0, all)]).1 as f64;
                    let fair = rate / (model.lately[ue] + 1.0);
                    match model.plan.law {
                        Law::ProportionalFair { .. } => fair,
                        Law::Mlwdf => late(model, ue) * fair,
                        Law::ExpPf => ((late(model, ue) - mean) / (1.0 + mean.sqrt())).exp() * fair,
                        Law::Edf => {
                            let left = model
                                .heads(ue, now)
                                .into_iter()
                                .map(|(waited, (budget, _))| budget as f64 / 1e3 - waited);
                            -left.fold(f64::INFINITY, f64::min)
                        }
                        Law::RoundRobin | Law::MaxThroughput => rate,
                    }
                };
                while left > 0 {
                    let mut best: Option<usize> = None;
                    for &ue in &order {
                        if least(self, ue) <= left && best.is_none_or(|b| metric(self, ue) > metric(self, b))
                        {
                            best = Some(ue);
                        }
                    }
                    let Some(ue) = best else { break };
                    order.retain(|&other| other != ue);
                    let groups = need(self, ue).min(left);
                    shares.push((ue, groups));
                    left -= groups;
                    self.next = ue + 1;
                }
            }
        }
        shares
    }

    /// Adds the bytes carried in the TTI to the averages, which then are a TTI older.
    fn remember(&mut self, carried: &[(usize, u64)]) {
        let window = match self.plan.law {
            Law::ProportionalFair { window } => Some(window),
            Law::Mlwdf | Law::ExpPf => Some(100 * MS),
            _ => None,
        };
        if let Some(window) = window {
            let decay = (-(self.plan.tti() as f64) / window as f64).exp();
            for (ue, lately) in self.lately.iter_mut().enumerate() {
                let bytes: u64 = carried.iter().filter(|one| one.0 == ue).map(|one| one.1).sum();
                *lately = decay * (*lately + (1.0 - decay) * bytes as f64);
            }
        }
    }

    /// Lets the bearers of `ue` take packets for `bytes`.
    fn fill(
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
                self.tell(now, bearer, What::Departed(job.handle));
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

    fn run(&mut self, arrivals: &[Arrival], end: u64) {
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
fn threshold_db(mcs: u8) -> f64 {
    let efficiency = Carrier::lte(6).unwrap().mcs_efficiency(mcs);
    10.0 * (2_f64.powf(efficiency / 0.75) - 1.0).log10()
}

fn check(plan: &Plan, arrivals: &[Arrival], end: u64) -> (Host, CellUsage) {
    let mut model = Model::new(plan);
    model.run(arrivals, end);
    // Without time on the air, packets of the last TTI are received in it.
    model.decode(end);
    let mut cell = plan.cell();
    let host = drive(&mut cell, arrivals, end);
    for (ours, theirs) in host.log.iter().zip(&model.log) {
        assert_eq!(ours, theirs, "the cell's on the left, the model's on the right");
    }
    assert_eq!(host.log.len(), model.log.len());
    assert_eq!(cell.usage(Time::from_nanos(end)), model.usage);
    audit(&cell, &host, arrivals);
    let usage = cell.usage(host.now);
    (host, usage)
}

/// A scheduler without a model fails here, unless its file has a line `//! No model: ` with the reason.
#[test]
fn every_scheduler_has_a_model_or_a_stated_reason() {
    for name in COMPONENTS.iter().map(|component| component.name) {
        let path = format!("{}/src/mac/{name}.rs", env!("CARGO_MANIFEST_DIR"));
        let file = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let is_judged = JUDGED.iter().any(|judged| judged.0 == name);
        let is_excused = file.contains("\n//! No model: ");
        assert!(
            is_judged != is_excused,
            "{name} needs a line in JUDGED, or in {path} a line `//! No model: ...`"
        );
    }
}

fn plans() -> impl Strategy<Value = Plan> {
    let fading = (-5_i32..25, 1_u32..50)
        .prop_map(|(snr, block)| Channel::parse(&format!("fading:snr={snr}:block={block}ms")).unwrap());
    let rates = prop::collection::vec(0_u64..30_000_000, 1..9).prop_map(|rates| {
        let step =
            |(n, &rate)| RateStep { start: Time::ZERO + ms(37) * n as u64, rate: Rate::from_bps(rate) };
        let steps: Vec<RateStep> = rates.iter().enumerate().map(step).collect();
        Channel::Rates(Rates { trace: RateSteps::new(steps, ms(37 * 9)).unwrap(), repeat: true })
    });
    let channel =
        prop_oneof![4 => (0_u8..29).prop_map(|mcs| Channel::Mcs(Mcs(mcs))), 2 => fading, 1 => rates];
    let reported = (prop::sample::select(vec![0_u64, 0, 3, 20]), prop::sample::select(vec![0_u64, 0, 7, 20]))
        .prop_map(|(delay, period)| Reported { delay: ms(delay), period: ms(period) });
    let ue = (channel, reported, prop::collection::vec(0_u8..3, 1..4));
    let radio = (
        prop::sample::select(vec![6_u16, 15, 25, 50]),
        prop::sample::select(vec![1_u64, 1, 2, 10]),
        0..3 * MS,
        prop::sample::select(vec![SizeUnit::Bytes, SizeUnit::Packets]),
    );
    let law = prop_oneof![
        3 => prop::sample::select(&JUDGED[..]).prop_map(|(name, law)| (name.to_string(), law)),
        1 => (10_u64..200).prop_map(|n| {
            (format!("proportional_fair:window={n}ms"), Law::ProportionalFair { window: n * MS })
        }),
    ]
    .prop_map(|(text, law)| (Scheduler::parse(&text).unwrap(), law));
    let sharing = prop_oneof![Just(Sharing::Priority), Just(Sharing::EqualShare)];
    let control = (1_u32..12, 0_u32..12, 0_u32..3, 0_u16..6).prop_map(|(period, first, count, reserved)| {
        Control::new(period, first % period, count.min(period), reserved).unwrap()
    });
    let combining =
        prop::sample::select(vec![Combining::Chase, Combining::IncrementalRedundancy, Combining::None]);
    let decoding = prop_oneof![
        Just(Decoding::Steps),
        (0.3_f64..5.0, combining).prop_map(|(slope_db, combining)| Decoding::Snr { slope_db, combining }),
    ];
    let processes = prop::option::of(1_u8..5);
    let harq = (
        prop::sample::select(vec![0.0, 0.1, 0.6]),
        0_u8..4,
        1_u64..10,
        0..12 * MS,
        0_u8..4,
        decoding,
        processes,
    );
    let olla = prop::option::of((0.01_f64..0.7, 0.05_f64..3.0, 0.5_f64..9.0))
        .prop_map(|olla| olla.map(|(target, step_db, limit_db)| OllaSetting { target, step_db, limit_db }));
    let drx = prop::option::of((1_u64..4, 4_u64..9, 1_u64..4, 0_u64..12, any::<bool>(), 1_u64..4, 0_u64..40))
        .prop_map(|drx| {
            drx.map(|(times, short, on, inactivity, has_short, shorts, offset)| {
                let has_short = has_short && times > 1;
                let cycle = times * short;
                [cycle, on, inactivity, if has_short { short } else { 0 }, shorts, offset % cycle]
            })
        });
    let class = (1_u64..300, 1_u8..9);
    let tdd = prop::option::of((
        prop::sample::select(vec!["DDDSU", "DSUUDDSUUD", "DSUDDDSUDD", "UUUD"]),
        prop::sample::select(vec![3_u8, 6, 10]),
    ));
    let sharing = (sharing, tdd);
    let air = (prop::collection::vec((olla, drx), 6), (class.clone(), class.clone(), class));
    (radio, law, sharing, control, harq, prop::collection::vec(ue, 1..6), air).prop_map(
        |(
            (prbs, slots, phase, unit),
            (scheduler, law),
            (sharing, tdd),
            control,
            (loss, retransmissions, rtt_ttis, air, combining_mcs, decoding, processes),
            ues,
            (settings, classes),
        )| Plan {
            tdd: tdd.filter(|_| slots == 1),
            decoding,
            processes,
            olla: settings.iter().map(|both| both.0).collect(),
            drx: settings.iter().map(|both| both.1).collect(),
            classes: [classes.0, classes.1, classes.2],
            prbs,
            slots,
            phase,
            scheduler,
            law,
            sharing,
            control,
            unit,
            loss,
            retransmissions,
            rtt_ttis,
            // A block is decoded before it is repeated.
            air: air.min(rtt_ttis * slots * MS),
            combining_mcs,
            ues,
        },
    )
}

proptest! {
    #[test]
    fn the_cell_matches_the_model(
        plan in plans(),
        mut arrivals in prop::collection::vec((0..60 * MS, 0..100_usize, 40..1500_u32), 0..120),
        gap in 0..100 * MS,
        on_the_grid in any::<bool>(),
    ) {
        arrivals.sort();
        let bearers: usize = plan.ues.iter().map(|ue| ue.2.len()).sum();
        // A pause in the middle gives idle TTIs.
        let half = arrivals.len() / 2;
        for (n, arrival) in arrivals.iter_mut().enumerate() {
            arrival.0 += if n >= half { gap } else { 0 };
            arrival.1 %= bearers;
            if on_the_grid {
                arrival.0 = plan.phase + arrival.0 / plan.tti() * plan.tti();
            }
        }
        check(&plan, &arrivals, 300 * MS);
    }
}
