//! A slow model of an uplink, TTI after TTI, for whole packets without headers: requests, reports, grants by
//! round robin, and blocks that are lost and sent again. It shares no code with the uplink except the sizes
//! of blocks, which are judged elsewhere, and the draws of losses, which are input.

use crate::cell_common::{Arrival, MS, Notice, ms};
use crate::uplink_common::drive;
use proptest::prelude::*;
use qdelay_core::{Random, Span};
use qdelay_ran::radio::{Bler, Channel, Mcs};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::Carrier;
use qdelay_ran::uplink::{Configured, Reports, Requests};
use qdelay_ran::{CellSetting, HarqSetting, UeSetting, UplinkSetting};
use std::collections::VecDeque;

const PRBS: u16 = 25;
/// Number of groups: two PRBs each, one in the last.
const GROUPS: usize = 13;

#[derive(Clone, Debug)]
struct Plan {
    mcs: Vec<u8>,
    /// Priorities of the bearers of each UE, all different.
    priorities: Vec<Vec<u8>>,
    request: Option<(u64, u64, u64)>,
    configured: Option<(u64, u32)>,
    periodic: u64,
    retry: u64,
    first: u32,
    loss: f64,
    again: u8,
    grant: u64,
}

impl Plan {
    fn setting(&self) -> UplinkSetting {
        let bler = Bler::new(self.loss, Bler::SLOPE).unwrap();
        let rtt = Some(ms(4 + self.grant));
        let harq = HarqSetting { bler, retransmissions: self.again, rtt, ..HarqSetting::default() };
        let cell = CellSetting::new(Carrier::lte(PRBS).unwrap()).harq(harq);
        let requests = self.request.map(|(period, offset, prohibit)| Requests {
            period: ms(period),
            offset: ms(offset),
            prohibit: Span::from_micros(prohibit),
        });
        let setting = UplinkSetting::new(cell)
            .requests(requests)
            .configured(self.configured.map(|(period, bytes)| Configured { period: ms(period), bytes }))
            .reports(Reports { periodic: ms(self.periodic), retransmission: ms(self.retry) })
            .grant_delay(Some(ms(self.grant)))
            .first_bytes(self.first);
        self.mcs.iter().zip(&self.priorities).fold(setting, |setting, (mcs, priorities)| {
            let ue = UeSetting::new(Channel::Mcs(Mcs(*mcs)));
            setting.ue(priorities
                .iter()
                .fold(ue, |ue, priority| ue.bearer(RlcSetting::transparent(), *priority)))
        })
    }
    /// Bytes of `prbs` PRBs.
    fn bytes(&self, ue: usize, prbs: usize) -> u64 {
        u64::from(Carrier::lte(PRBS).unwrap().of_uplink().block_bytes(self.mcs[ue], prbs as u16))
    }
    /// Bytes of `groups` groups from group `from` on.
    fn groups_bytes(&self, ue: usize, from: usize, groups: usize) -> u64 {
        let all = usize::from(PRBS);
        self.bytes(ue, ((from + groups) * 2).min(all) - (from * 2).min(all))
    }
    /// The fewest groups that hold the bytes, or all groups.
    fn groups_for(&self, ue: usize, bytes: u64) -> usize {
        (1..GROUPS).find(|&groups| self.groups_bytes(ue, 0, groups) >= bytes).unwrap_or(GROUPS)
    }
}

/// The upper end of the range of 36.321 that contains the bytes: a geometric series from 10 to 150000 in 61
/// steps.
fn reported(bytes: u64) -> u64 {
    if bytes == 0 {
        return 0;
    }
    let end = |step: i32| (10.0 * 15_000_f64.powf(f64::from(step) / 61.0) - 1e-6).ceil() as u64;
    (0..62).map(end).find(|&end| end >= bytes).unwrap_or(150_000)
}

#[derive(Clone, Debug)]
struct Block {
    ue: usize,
    /// TTI of the first transmission, for which the grant was.
    first: u64,
    sent: u64,
    groups: usize,
    transmissions: u8,
    is_lost: bool,
    packets: Vec<u64>,
    report: Option<u64>,
    is_configured: bool,
}

#[derive(Default)]
struct Ue {
    /// Packets of each bearer, with their bytes.
    queues: Vec<VecDeque<(u64, u64)>>,
    wants_to_report: bool,
    /// Time of the last report, ns.
    reported_at: Option<u64>,
    /// Last time at which the UE had a grant, and data left.
    served_at: Option<u64>,
    requested_at: Option<u64>,
    /// The base station's knowledge: the demand.
    demand: u64,
    may_have_more: bool,
    last_report: Option<u64>,
    /// Grants: TTI, bytes, and true once the block has ended.
    grants: Vec<(u64, u64, bool)>,
}

impl Ue {
    fn waiting(&self) -> u64 {
        self.queues.iter().flatten().map(|(_, bytes)| bytes).sum()
    }
}

struct Model<'a> {
    plan: &'a Plan,
    ues: Vec<Ue>,
    random: Vec<Random>,
    /// Blocks on the air, in the order of sending.
    blocks: Vec<Block>,
    /// Blocks to be repeated, each with the first TTI for it, in order.
    again: Vec<(u64, Block)>,
    /// Plans of TTIs: TTI, UE, groups, bytes; or a block to be repeated.
    planned: Vec<(u64, usize, usize, u64, Option<Block>)>,
    requests: Vec<(u64, usize)>,
    turn: usize,
    out: Vec<(u64, u64, bool)>,
    used_rbs: u64,
}

impl Model<'_> {
    fn run(plan: &Plan, seed: u64, arrivals: &[Arrival], ttis: u64) -> (Vec<(u64, u64, bool)>, u64) {
        let ue =
            |priorities: &Vec<u8>| Ue { queues: vec![VecDeque::new(); priorities.len()], ..Ue::default() };
        let mut model = Model {
            plan,
            ues: plan.priorities.iter().map(ue).collect(),
            random: (0..plan.mcs.len())
                .map(|ue| Random::derive(seed, &format!("uplink UE {ue}"), "harq"))
                .collect(),
            blocks: Vec::new(),
            again: Vec::new(),
            planned: Vec::new(),
            requests: Vec::new(),
            turn: 0,
            out: Vec::new(),
            used_rbs: 0,
        };
        let owner: Vec<(usize, usize)> = plan
            .priorities
            .iter()
            .enumerate()
            .flat_map(|(ue, all)| (0..all.len()).map(move |bearer| (ue, bearer)))
            .collect();
        let mut coming = arrivals.iter().enumerate().peekable();
        for tti in 0..ttis {
            let now = tti * MS;
            // Packets that arrive at the time of a TTI are too late for it.
            while let Some((handle, &(_, bearer, bytes))) = coming.next_if(|(_, arrival)| arrival.0 < now) {
                let (ue, bearer) = owner[bearer];
                model.arrive(ue, bearer, handle as u64, u64::from(bytes));
            }
            model.decode(tti);
            model.retry(now);
            model.send(tti);
            model.plan_tti(tti + plan.grant);
        }
        (model.out, model.used_rbs)
    }

    fn arrive(&mut self, ue: usize, bearer: usize, handle: u64, bytes: u64) {
        let priorities = &self.plan.priorities[ue];
        let of = &mut self.ues[ue];
        let busy = |other: &usize| !of.queues[*other].is_empty();
        let is_first = (0..priorities.len()).filter(busy).all(|other| priorities[bearer] < priorities[other]);
        of.wants_to_report |= of.queues[bearer].is_empty() && is_first;
        of.queues[bearer].push_back((handle, bytes));
    }

    /// Decodes the blocks and requests of four TTIs ago.
    fn decode(&mut self, tti: u64) {
        let (ended, flying): (Vec<Block>, Vec<Block>) =
            std::mem::take(&mut self.blocks).into_iter().partition(|block| block.sent + 4 == tti);
        self.blocks = flying;
        for block in ended {
            if block.is_lost && block.transmissions <= self.plan.again {
                self.again.push((block.sent + 4 + self.plan.grant, block));
                continue;
            }
            self.out.extend(block.packets.iter().map(|&handle| (tti * MS, handle, !block.is_lost)));
            let ue = &mut self.ues[block.ue];
            let report = block.report.filter(|_| !block.is_lost);
            if block.is_configured && report.is_none() {
                continue;
            }
            ue.grants.iter_mut().filter(|grant| grant.0 == block.first).for_each(|grant| grant.2 = true);
            if let Some(bytes) = report
                && ue.last_report.is_none_or(|last| last < block.first)
            {
                ue.last_report = Some(block.first);
                let later: u64 =
                    ue.grants.iter().filter(|grant| grant.0 > block.first).map(|grant| grant.1).sum();
                ue.demand = bytes.saturating_sub(later);
                ue.may_have_more = bytes > 0;
            }
            let last = ue.last_report;
            let is_open = |grant: &(u64, u64, bool)| !grant.2 && last.is_none_or(|last| grant.0 > last);
            if ue.may_have_more && ue.demand == 0 && !ue.grants.iter().any(is_open) {
                ue.demand = u64::from(self.plan.first);
            }
        }
        for (sent, ue) in self.requests.extract_if(.., |(sent, _)| *sent + 4 == tti) {
            let ue = &mut self.ues[ue];
            ue.may_have_more = true;
            if !ue.grants.iter().any(|grant| grant.0 > sent) {
                ue.demand = ue.demand.max(u64::from(self.plan.first));
            }
        }
    }

    fn retry(&mut self, now: u64) {
        for ue in &mut self.ues {
            if let Some(served) = ue.served_at
                && served + self.plan.retry * MS <= now
            {
                ue.served_at = None;
                ue.wants_to_report |= ue.waiting() > 0;
            }
        }
    }

    fn send(&mut self, tti: u64) {
        let now = tti * MS;
        let mut used = 0;
        let due: Vec<_> = self.planned.extract_if(.., |planned| planned.0 == tti).collect();
        let mut has_sent = vec![false; self.ues.len()];
        for (_, ue, groups, bytes, again) in due {
            match again {
                Some(block) => self.fly(block, tti, used),
                None => {
                    self.fill(tti, ue, (used, groups), bytes, false);
                    has_sent[ue] = true;
                }
            }
            used += groups;
        }
        for ue in 0..self.ues.len() {
            if let Some((period, bytes)) = self.plan.configured
                && tti % period == ue as u64 % period
                && self.ues[ue].waiting() > 0
            {
                let groups = self.plan.groups_for(ue, u64::from(bytes));
                let repeats = self
                    .blocks
                    .iter()
                    .any(|block| block.ue == ue && block.sent == tti && block.transmissions > 1);
                if groups <= GROUPS - used && !repeats {
                    let bytes = self.plan.groups_bytes(ue, used, groups);
                    if self.fill(tti, ue, (used, groups), bytes, true) {
                        used += groups;
                    }
                }
            }
        }
        for ue in 0..self.ues.len() {
            if let Some((period, offset, prohibit)) = self.plan.request
                && self.ues[ue].wants_to_report
                && tti % period == (offset + ue as u64) % period
                && self.ues[ue].requested_at.is_none_or(|last| last + prohibit * 1000 <= now)
            {
                self.ues[ue].requested_at = Some(now);
                self.requests.push((tti, ue));
            }
        }
    }

    /// Returns true if a block was sent.
    fn fill(
        &mut self,
        tti: u64,
        number: usize,
        (from, groups): (usize, usize),
        bytes: u64,
        is_configured: bool,
    ) -> bool {
        let (plan, now) = (self.plan, tti * MS);
        let ue = &mut self.ues[number];
        let waiting = ue.waiting();
        let is_due = ue.wants_to_report || ue.reported_at.is_none_or(|last| last + plan.periodic * MS <= now);
        let has_report = is_due && !(waiting <= bytes && waiting + 2 > bytes);
        let mut room = if has_report { bytes.saturating_sub(2) } else { bytes };
        let mut order: Vec<usize> = (0..ue.queues.len()).collect();
        order.sort_by_key(|&bearer| plan.priorities[number][bearer]);
        let mut packets = Vec::new();
        for bearer in order {
            while let Some((handle, _)) =
                ue.queues[bearer].pop_front_if(|packet| packet.1 <= room).inspect(|packet| room -= packet.1)
            {
                packets.push(handle);
            }
        }
        if is_configured && packets.is_empty() {
            return false;
        }
        let left = ue.waiting();
        ue.served_at = (left > 0).then_some(now);
        let report = (has_report || room >= 2).then(|| reported(left));
        if report.is_some() {
            ue.reported_at = Some(now);
        }
        if report.is_some() || left == 0 {
            ue.wants_to_report = false;
        }
        let block = Block {
            ue: number,
            first: tti,
            sent: tti,
            groups,
            transmissions: 0,
            is_lost: false,
            packets,
            report,
            is_configured,
        };
        self.fly(block, tti, from);
        true
    }

    fn fly(&mut self, mut block: Block, tti: u64, from: usize) {
        block.sent = tti;
        block.transmissions += 1;
        block.is_lost = self.plan.loss > 0.0 && self.random[block.ue].unit() < self.plan.loss;
        self.used_rbs += (((from + block.groups) * 2).min(25) - (from * 2).min(25)) as u64;
        self.blocks.push(block);
    }

    /// The base station shares out TTI number `tti`.
    fn plan_tti(&mut self, tti: u64) {
        let plan = self.plan;
        let mut used = 0;
        let mut repeats = vec![false; self.ues.len()];
        let mut kept = Vec::new();
        for (first, block) in std::mem::take(&mut self.again) {
            if first > tti || repeats[block.ue] || block.groups > GROUPS - used {
                kept.push((first, block));
                continue;
            }
            repeats[block.ue] = true;
            used += block.groups;
            self.planned.push((tti, block.ue, block.groups, 0, Some(block)));
        }
        self.again = kept;
        if self.ues.iter().all(|ue| ue.demand == 0) {
            return;
        }
        if let Some((period, bytes)) = plan.configured {
            for ue in (0..self.ues.len()).filter(|&ue| tti % period == ue as u64 % period && !repeats[ue]) {
                used = (used + plan.groups_for(ue, u64::from(bytes))).min(GROUPS);
            }
        }
        let mut wanting: Vec<(usize, usize, usize)> = (0..self.ues.len())
            .filter(|&ue| self.ues[ue].demand > 0 && !repeats[ue])
            .map(|ue| {
                let demand = self.ues[ue].demand;
                (ue, plan.groups_for(ue, demand), plan.groups_for(ue, demand.min(32)))
            })
            .collect();
        wanting.sort_by_key(|&(ue, ..)| (ue < self.turn, ue));
        let mut left = GROUPS - used;
        let (mut shares, mut missed, mut last) = (Vec::new(), None, None);
        for (ue, need, least) in wanting {
            if left == 0 {
                break;
            }
            if least > left {
                missed.get_or_insert(ue);
                continue;
            }
            left -= least;
            last = Some(ue);
            shares.push((ue, need, least));
        }
        if let [(_, need, share)] = &mut shares[..] {
            *share = (*need).min(*share + left);
            left = GROUPS - used - *share;
        } else {
            for level in 2..=GROUPS {
                for (ue, need, share) in &mut shares {
                    if left > 0 && *share < level.min(*need) {
                        *share += 1;
                        left -= 1;
                        last = Some(*ue);
                    }
                }
            }
        }
        if let Some(next) = missed.or(last.map(|ue| ue + 1)) {
            self.turn = next;
        }
        for (ue, _, mut share) in shares {
            let aim = self.ues[ue].demand.min(plan.groups_bytes(ue, 0, share));
            while plan.groups_bytes(ue, used, share) < aim && left > 0 {
                (share, left) = (share + 1, left - 1);
            }
            let bytes = plan.groups_bytes(ue, used, share);
            used += share;
            self.planned.push((tti, ue, share, bytes, None));
            self.ues[ue].demand = self.ues[ue].demand.saturating_sub(bytes);
            self.ues[ue].grants.push((tti, bytes, false));
        }
    }
}

fn plan() -> impl Strategy<Value = Plan> {
    // The sizes of MCS 6 do not grow with the PRBs.
    let mcs = prop::sample::select(vec![4_u8, 10, 16, 20, 28]);
    let priorities = prop::sample::select(vec![vec![1], vec![1, 2], vec![3, 1, 2]]);
    let ues = prop::collection::vec((mcs, priorities), 1..6);
    let request = (
        prop::sample::select(vec![1_u64, 2, 5, 10, 20]),
        0_u64..20,
        prop::sample::select(vec![0_u64, 3000, 12_500]),
    );
    let configured = prop::option::of((1_u64..12, 32_u32..400));
    let harq = (prop::sample::select(vec![0.0, 0.1, 0.5]), 0_u8..4);
    let timers = (1_u64..20, 5_u64..100, 32_u32..1500, 1_u64..6);
    (ues, prop::option::of(request), configured, harq, timers).prop_map(
        |(ues, request, configured, (loss, again), (periodic, retry, first, grant))| {
            let (mcs, priorities) = ues.into_iter().unzip();
            let usual = || configured.is_none().then_some((10, 0, 0));
            let request =
                request.map(|(period, offset, prohibit)| (period, offset % period, prohibit)).or_else(usual);
            Plan { mcs, priorities, request, configured, periodic, retry, first, loss, again, grant }
        },
    )
}

/// Arrivals may have any size, also above a configured grant or a first grant of 32 bytes: a packet that does
/// not fit waits for a larger grant.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let one = (0..300 * MS, 0..100_usize, 1..400_u32);
    prop::collection::vec(one, 0..250).prop_map(|mut all| {
        all.sort();
        all
    })
}

proptest! {
    #[test]
    fn the_uplink_matches_the_model(plan in plan(), mut arrivals in arrivals(), seed in any::<u64>()) {
        let count: usize = plan.priorities.iter().map(Vec::len).sum();
        arrivals.iter_mut().for_each(|arrival| arrival.1 %= count);
        let ttis = 500;
        let (expected, used_rbs) = Model::run(&plan, seed, &arrivals, ttis);
        let (uplink, host) = drive(plan.setting(), seed, &arrivals, (ttis - 1) * MS);
        let found: Vec<(u64, u64, bool)> = host
            .log
            .iter()
            .filter_map(|event| match event.what {
                Notice::Delivered(handle, _) => Some((event.time, handle, true)),
                Notice::Dropped(handle, _) => Some((event.time, handle, false)),
                _ => None,
            })
            .collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(uplink.usage(host.now).used_rbs, used_rbs);
    }
}
