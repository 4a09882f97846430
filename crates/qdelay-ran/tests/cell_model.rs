//! The cell against a slow model that ticks every TTI, with plain vectors, and shares no code with it. Both are given the
//! tables of the carrier, the channels and the random streams.
//!
//! Bearers are transparent here (a packet goes whole), so that the model needs no RLC; `rlc_*.rs` hold RLC against models.

use crate::cell_common::*;
use proptest::prelude::*;
use qdelay_core::pacer::{Served, SizeUnit};
use qdelay_core::{Random, Rate, Span, Time};
use qdelay_ran::mac::COMPONENTS;
use qdelay_ran::radio::{Bler, Channel, Control, Mcs, Quality, Radio, Rates, Reported};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::Carrier;
use qdelay_ran::{Cell, CellSetting, CellUsage, HarqSetting, Scheduler, Sharing, Split, UeSetting};
use qdelay_trace::{RateStep, RateSteps};
use std::collections::VecDeque;

/// What the model knows of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    RoundRobin,
    /// Nanoseconds after which the weight of what a UE got is 1/e.
    ProportionalFair {
        window: u64,
    },
    MaxThroughput,
}

/// Schedulers and their models.
const JUDGED: [(&str, Law); 3] = [
    ("round_robin", Law::RoundRobin),
    ("proportional_fair", Law::ProportionalFair { window: 100 * MS }),
    ("max_throughput", Law::MaxThroughput),
];

/// What both are built from.
#[derive(Clone, Debug)]
struct Plan {
    prbs: u16,
    slots: u64,
    phase: u64,
    scheduler: Scheduler,
    law: Law,
    sharing: Sharing,
    control: Control,
    unit: SizeUnit,
    loss: f64,
    retransmissions: u8,
    rtt_ttis: u64,
    air: u64,
    combining_mcs: u8,
    /// Its channel, what of it the cell knows, and the priorities of its bearers.
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
            .unit(self.unit)
            .harq(harq)
            .air(Span::from_nanos(self.air));
        for (channel, reported, priorities) in &self.ues {
            let ue = UeSetting::new(channel.clone()).reported(*reported);
            setting = setting.ue(priorities.iter().fold(ue, |ue, &priority| ue.bearer(rlc, priority)));
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
    sent: u64,
    repeated: u8,
    lost: bool,
    /// Bearer, and the packets it has in the block.
    jobs: Vec<(usize, Vec<(Job, u64)>)>,
}

struct Model {
    plan: Plan,
    carrier: Carrier,
    queues: Vec<VecDeque<Job>>,
    /// A packet that did not fit the last grant.
    waiting: Vec<Option<Job>>,
    /// (decoded at, block)
    flying: Vec<(u64, Block)>,
    /// (first TTI, block)
    lost: Vec<(u64, Block)>,
    random: Vec<Random>,
    radios: Vec<Radio>,
    /// What the cell takes the channels for in this TTI, and what they are.
    known: Vec<Quality>,
    truth: Vec<Quality>,
    /// Bearers of each UE in the order they are served.
    orders: Vec<Vec<usize>>,
    /// The UE that is first, or among equals.
    next: usize,
    /// It was left out in this TTI.
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
    /// Bytes of the cell's unit that wait.
    fn waits(&self, bearer: usize) -> u64 {
        self.waiting[bearer].iter().chain(&self.queues[bearer]).map(|job| self.cost(job.bytes)).sum()
    }
    fn data_prbs(&self, tti: u64) -> Vec<u64> {
        (tti * self.plan.slots..(tti + 1) * self.plan.slots)
            .map(|slot| u64::from(self.plan.control.data_prbs(slot, self.plan.prbs)))
            .collect()
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
            if let Quality::Mcs(mcs) = quality {
                bytes += u64::from(self.carrier.block_bytes(mcs, mine as u16));
            }
        }
        if let Quality::Bytes(whole) = quality {
            bytes = whole * rbs / self.data_prbs(tti).iter().sum::<u64>();
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
    /// The fewest groups from `at` on for `bytes`, or all there are.
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
        let loss = bler.probability(mcs, self.truth[block.ue]);
        block.lost = loss == 1.0 || (loss > 0.0 && self.random[block.ue].unit() < loss);
        self.flying.push((now + self.plan.air, block));
    }

    fn decode(&mut self, now: u64) {
        while let Some(first) = self.flying.iter().position(|&(at, _)| at <= now) {
            let (at, block) = self.flying.remove(first);
            if block.lost && block.repeated < self.plan.retransmissions {
                self.lost.push((block.sent + self.plan.rtt_ttis, block));
                continue;
            }
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

    /// TTI number `tti` at `now`.
    fn tick(&mut self, tti: u64, now: u64) {
        let time = Time::from_nanos(now);
        self.known = self.radios.iter_mut().map(|radio| radio.known(time)).collect();
        self.truth = self.radios.iter_mut().map(|radio| radio.quality(time)).collect();
        let all_groups = self.groups(tti);
        let (mut at, mut used, mut weighted, mut sent) = (0, 0_u64, 0_u128, 0);
        let (mut repeating, mut is_kept) = (Vec::new(), false);
        for (first, mut block) in std::mem::take(&mut self.lost) {
            let fits = !repeating.contains(&block.ue) && block.groups <= all_groups - at;
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
        let ues: Vec<usize> = (0..self.plan.ues.len())
            .filter(|&ue| self.bearers_of(ue).iter().any(|&bearer| self.waits(bearer) > 0))
            .collect();
        let rate = |model: &Model, ue: usize| model.carries(tti, model.known[ue], &[(0, all_groups)]).1;
        let shares = self.share(tti, all_groups - at, &ues, &repeating);
        let mut spare = all_groups - at - shares.iter().map(|share| share.1).sum::<u64>();
        let had: Vec<bool> = (0..self.queues.len()).map(|bearer| self.waits(bearer) > 0).collect();
        let wanted: Vec<u64> = ues.iter().map(|&ue| self.wanted(ue)).collect();
        // By UE: groups (from, to), and by bearer: bytes used, and what it is told.
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
            self.send(now, Block { ue, quality, groups, sent: tti, repeated: 0, lost: false, jobs });
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

    fn wanted(&self, ue: usize) -> u64 {
        self.bearers_of(ue).into_iter().map(|bearer| self.waits(bearer)).sum()
    }

    /// How many groups each UE gets, in their order.
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
            Law::ProportionalFair { .. } | Law::MaxThroughput => {
                let metric = |model: &Model, ue: usize| {
                    let rate = model.carries(tti, model.known[ue], &[(0, all)]).1 as f64;
                    if let Law::ProportionalFair { .. } = model.plan.law {
                        rate / (model.lately[ue] + 1.0)
                    } else {
                        rate
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

    /// What UEs got of the TTI goes into their averages, which then are a TTI older.
    fn remember(&mut self, carried: &[(usize, u64)]) {
        if let Law::ProportionalFair { window } = self.plan.law {
            let decay = (-(self.plan.tti() as f64) / window as f64).exp();
            for (ue, lately) in self.lately.iter_mut().enumerate() {
                let bytes: u64 = carried.iter().filter(|one| one.0 == ue).map(|one| one.1).sum();
                *lately = decay * (*lately + (1.0 - decay) * bytes as f64);
            }
        }
    }

    /// The bearers of `ue` take packets for `bytes`.
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
        // Among equal priorities, the first that sent goes behind the others.
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

fn check(plan: &Plan, arrivals: &[Arrival], end: u64) -> (Host, CellUsage) {
    let mut model = Model::new(plan);
    model.run(arrivals, end);
    // Without time on the air, the last TTI's packets arrive in it.
    model.decode(end);
    let mut cell = plan.cell();
    let host = drive(&mut cell, arrivals, end);
    for (ours, theirs) in host.log.iter().zip(&model.log) {
        assert_eq!(ours, theirs, "ours is left, the model's is right");
    }
    assert_eq!(host.log.len(), model.log.len());
    assert_eq!(cell.usage(Time::from_nanos(end)), model.usage);
    audit(&cell, &host, arrivals);
    let usage = cell.usage(host.now);
    (host, usage)
}

/// A scheduler without a model fails here, unless its file has a line `//! No model: ` with the reason.
#[test]
fn every_scheduler_has_a_model_or_says_why_not() {
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
    let harq = (prop::sample::select(vec![0.0, 0.1, 0.6]), 0_u8..4, 1_u64..10, 0..12 * MS, 0_u8..4);
    (radio, law, sharing, control, harq, prop::collection::vec(ue, 1..6)).prop_map(
        |(
            (prbs, slots, phase, unit),
            (scheduler, law),
            sharing,
            control,
            (loss, retransmissions, rtt_ttis, air, combining_mcs),
            ues,
        )| Plan {
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
            // Decoded before it is repeated.
            air: air.min(rtt_ttis * slots * MS),
            combining_mcs,
            ues,
        },
    )
}

proptest! {
    #[test]
    fn the_cell_does_as_the_model(
        plan in plans(),
        mut arrivals in prop::collection::vec((0..60 * MS, 0..100_usize, 40..1500_u32), 0..120),
        gap in 0..100 * MS,
        on_the_grid in any::<bool>(),
    ) {
        arrivals.sort();
        let bearers: usize = plan.ues.iter().map(|ue| ue.2.len()).sum();
        // A pause in the middle, so that there are idle TTIs.
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
