//! Delay breakdown of packets through a cell, and occupancy of its bearers, as defined in `docs/measures.md`.

use crate::cell::{BearerSpec, CellScenario};
use crate::cell_bins::CellBins;
use crate::contents::ContentsStore;
use crate::outcome::{DelayBound, DelayStage, Outcome};
use crate::results::{self, CellFigures};
use crate::scenario::Scenario;
use qdelay_core::{Packet, Span, Time};
use qdelay_path::stack::Place;
use qdelay_path::{CellUsage, Split};
use qdelay_ran::rlc::Mode;
use qdelay_record::{DelayHistogram, Occupancy};
use std::collections::BTreeMap;

/// Timestamps of a packet in the cell; [`Time::NEVER`] for a point it has not reached.
#[derive(Clone, Copy, Debug)]
struct CellTimestamps {
    n3: Time,
    /// Arrival at the node: at the UPF's queue if there is one, else at the SDAP's.
    entry: Time,
    sdap: Time,
    rlc: Time,
    /// When its first byte was dequeued from the RLC.
    first: Time,
    /// Index of its bearer.
    bearer: u32,
    /// Time at which its last byte was dequeued.
    has_departed: bool,
}

impl CellTimestamps {
    const NONE: CellTimestamps = CellTimestamps {
        n3: Time::NEVER,
        entry: Time::NEVER,
        sdap: Time::NEVER,
        rlc: Time::NEVER,
        first: Time::NEVER,
        bearer: 0,
        has_departed: false,
    };
}

/// Accumulates the delay breakdown of each group and the occupancy of each bearer.
pub struct DelayBreakdown {
    /// By the slot of a packet, the lower half of its handle.
    visits: Vec<CellTimestamps>,
    /// For each flow; the probe has none.
    group_of: Vec<usize>,
    groups: Vec<Group>,
    bearers: Vec<Bearer>,
    /// Packets within budget of each flow, over all QoS flows that carried it.
    budgets: Vec<BudgetCount>,
    tti: Span,
    /// A bearer has a PDCP of the standard.
    has_pdcp: bool,
    /// The lengths of [`DelayBound::ALL`].
    within: [Span; DelayBound::ALL.len()],
    /// Present if the scenario has a time series.
    bins: Option<CellBins>,
}

struct Group {
    stages: [DelayHistogram; DelayStage::ALL.len()],
    /// Packets whose last byte was taken within a TTI of their arrival.
    within_tti: u64,
    /// The same within each of [`DelayBound::ALL`].
    sent_within: [u64; DelayBound::ALL.len()],
    /// Packets whose last byte was taken.
    departed: u64,
    /// Departure less arrival at the node, for a group of uploads.
    node: Option<Box<DelayHistogram>>,
    /// From the packet's arrival at the node until it was handed up.
    total: DelayHistogram,
    /// The number of these within each of [`DelayBound::ALL`].
    delivered_within: [u64; DelayBound::ALL.len()],
}

impl Group {
    fn stage(&self, stage: DelayStage) -> &DelayHistogram {
        &self.stages[stage as usize]
    }
}

struct Bearer {
    bytes: Occupancy,
    packets: Occupancy,
    /// The QFIs that have a packet delay budget.
    budgets: Vec<(u16, Span)>,
    budget: Budget,
}

/// Compliance with a packet delay budget: from the far end of N3, or the node without N3, until delivery to the upper layer.
#[derive(Clone, Copy, Default)]
struct Budget {
    /// The budget; of several QoS flows the shortest.
    span: Span,
    count: BudgetCount,
}

/// Packets of QoS flows with a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetCount {
    /// Packets delivered after the warm-up.
    packets: u64,
    /// The number of these that were delivered within their budget.
    within: u64,
}

impl BudgetCount {
    #[inline]
    fn add(&mut self, is_within: bool) {
        self.packets += 1;
        self.within += u64::from(is_within);
    }
    /// Counts of several flows together.
    pub fn together(all: impl Iterator<Item = BudgetCount>) -> BudgetCount {
        all.fold(BudgetCount::default(), |sum, one| BudgetCount {
            packets: sum.packets + one.packets,
            within: sum.within + one.within,
        })
    }
    /// The share within budget; `None` without packets.
    pub fn share(self) -> Option<f64> {
        share(self.within, self.packets)
    }
}

impl Bearer {
    fn new(spec: &BearerSpec, from: Time) -> Bearer {
        let budgets: Vec<(u16, Span)> =
            spec.qos_flows.iter().filter_map(|flow| Some((u16::from(flow.qfi), flow.budget?))).collect();
        let shortest = budgets.iter().map(|(_, budget)| *budget).min().unwrap_or_default();
        let budget = Budget { span: shortest, ..Budget::default() };
        Bearer { bytes: Occupancy::new(from), packets: Occupancy::new(from), budgets, budget }
    }
}

impl DelayBreakdown {
    /// Nothing has happened yet.
    pub fn new(scenario: &Scenario, cell: &CellScenario) -> DelayBreakdown {
        let from = Time::ZERO + scenario.warmup;
        let last = scenario.groups.len().saturating_sub(1);
        let is_up = |group: usize| scenario.flows.iter().any(|flow| flow.is_upload && flow.group == group);
        let group = |number: usize| Group {
            node: is_up(number).then(Box::default),
            stages: Default::default(),
            within_tti: 0,
            sent_within: Default::default(),
            departed: 0,
            total: DelayHistogram::default(),
            delivered_within: Default::default(),
        };
        DelayBreakdown {
            visits: Vec::new(),
            group_of: scenario.flows.iter().map(|flow| flow.group.min(last)).collect(),
            groups: (0..=last).map(group).collect(),
            bearers: cell.bearers().map(|(_, bearer)| Bearer::new(bearer, from)).collect(),
            budgets: vec![BudgetCount::default(); scenario.flows.len()],
            tti: cell.tti,
            has_pdcp: has_pdcp(cell),
            within: DelayBound::ALL.map(|within| within.span(cell.tti)),
            bins: scenario.series.map(|_| CellBins::default()),
        }
    }

    #[inline]
    fn visit(&mut self, packet: &Packet) -> &mut CellTimestamps {
        let slot = ContentsStore::slot(packet.handle);
        if slot >= self.visits.len() {
            self.visits.resize(slot + 1, CellTimestamps::NONE);
        }
        &mut self.visits[slot]
    }

    /// A packet was delivered or dropped: clears the timestamps of its slot.
    #[inline]
    pub fn forget(&mut self, packet: &Packet) {
        *self.visit(packet) = CellTimestamps::NONE;
    }

    /// The packet with its arrival time at the node.
    #[inline]
    pub fn with_entry_time(&self, packet: &Packet) -> Packet {
        Packet { arrival: self.visits[ContentsStore::slot(packet.handle)].entry, ..*packet }
    }

    /// A packet is offered to a queue. Returns whether it is the first queue of the node.
    #[inline]
    pub fn enqueued(&mut self, now: Time, place: Place, packet: &Packet) -> bool {
        match place {
            Place::N3 => self.visit(packet).n3 = now,
            Place::Upf => {
                self.visit(packet).entry = now;
                return true;
            }
            Place::Sdap { .. } => {
                let visit = self.visit(packet);
                visit.sdap = now;
                if visit.entry == Time::NEVER {
                    visit.entry = now;
                    return true;
                }
            }
            Place::Rlc(bearer) => {
                let visit = self.visit(packet);
                (visit.rlc, visit.bearer) = (now, bearer);
                let bearer = &mut self.bearers[bearer as usize];
                bearer.packets.rise(now, 1);
                bearer.bytes.rise(now, u64::from(packet.bytes));
                if let Some(bins) = &mut self.bins {
                    bins.packets.rise(now, 1);
                    bins.bytes.rise(now, u64::from(packet.bytes));
                }
            }
            Place::Elsewhere
            | Place::Classes
            | Place::Hop
            | Place::HopLink
            | Place::Bottleneck
            | Place::Link
            | Place::Cell
            | Place::Uplink
            | Place::UplinkLink => {}
        }
        false
    }

    /// The first byte of a packet is dequeued from the RLC.
    #[inline]
    pub fn taken(&mut self, now: Time, packet: &Packet) {
        self.visit(packet).first = now;
    }

    /// The last byte of a packet is dequeued; `counts` if its delay is measured.
    #[inline]
    pub fn departed(&mut self, now: Time, packet: &Packet, counts: bool) {
        let visit = self.visit(packet);
        visit.has_departed = true;
        let (bearer, entry) = (visit.bearer, visit.entry);
        self.out_of(bearer, now, packet);
        if !counts {
            return;
        }
        let (delay, within) = (now.since(entry), self.within);
        let is_within = delay <= self.tti;
        if let Some(group) = self.group_mut(packet.flow) {
            group.departed += 1;
            group.node.iter_mut().for_each(|node| node.record(delay));
            group.within_tti += u64::from(is_within);
            for (count, span) in group.sent_within.iter_mut().zip(within) {
                *count += u64::from(delay <= span);
            }
        }
    }

    /// A queue of the node, or the cell, has dropped a packet.
    pub fn dropped(&mut self, now: Time, place: Place, is_cell: bool, packet: &Packet) {
        let visit = *self.visit(packet);
        match place {
            Place::Rlc(bearer) => self.out_of(bearer, now, packet),
            _ if is_cell && !visit.has_departed => self.out_of(visit.bearer, now, packet),
            _ => {}
        }
    }

    #[inline]
    fn out_of(&mut self, bearer: u32, now: Time, packet: &Packet) {
        if let Some(bearer) = self.bearers.get_mut(bearer as usize) {
            bearer.packets.fall(now, 1);
            bearer.bytes.fall(now, u64::from(packet.bytes));
            if let Some(bins) = &mut self.bins {
                bins.packets.fall(now, 1);
                bins.bytes.fall(now, u64::from(packet.bytes));
            }
        }
    }

    /// A bin of the series ends; the arguments are those of [`CellBins::close`].
    pub fn close_bin(&mut self, now: Time, usage: CellUsage, mcs: Option<f64>, rank: Option<Option<f64>>) {
        if let Some(bins) = &mut self.bins {
            bins.close(now, usage, mcs, rank);
        }
    }

    /// Joins each two closed bins.
    pub fn halve_bins(&mut self) {
        if let Some(bins) = &mut self.bins {
            bins.halve();
        }
    }

    #[inline]
    fn group_mut(&mut self, flow: u32) -> Option<&mut Group> {
        let group = *self.group_of.get(flow as usize)?;
        self.groups.get_mut(group)
    }

    /// The UE has delivered a packet whose delay is measured.
    #[inline]
    pub fn split(&mut self, packet: &Packet, split: Split) {
        let visit = *self.visit(packet);
        let (within, has_pdcp) = (self.within, self.has_pdcp);
        if let Some(bearer) = self.bearers.get_mut(visit.bearer as usize)
            && let Some((_, budget)) = bearer.budgets.iter().find(|(qfi, _)| *qfi == packet.class)
        {
            // The budget of a QoS flow begins at the far end of N3 (TS 23.501 clause 5.7.3.4), that of the node where there is no N3.
            let from = if visit.n3 == Time::NEVER { visit.entry } else { visit.n3 };
            let whole = visit.first.since(from) + split.air + split.reassembly + split.reordering;
            let is_within = whole <= *budget;
            bearer.budget.count.add(is_within);
            if let Some(flow) = self.budgets.get_mut(packet.flow as usize) {
                flow.add(is_within);
            }
        }
        let Some(group) = self.group_mut(packet.flow) else { return };
        let total = visit.first.since(visit.entry) + split.air + split.reassembly + split.reordering;
        group.total.record(total);
        for (count, span) in group.delivered_within.iter_mut().zip(within) {
            *count += u64::from(total <= span);
        }
        let mut record = |stage: DelayStage, span: Span| group.stages[stage as usize].record(span);
        if visit.n3 != Time::NEVER {
            record(DelayStage::N3, visit.entry.since(visit.n3));
        }
        if visit.entry != visit.sdap {
            record(DelayStage::Upf, visit.sdap.since(visit.entry));
        }
        record(DelayStage::Sdap, visit.rlc.since(visit.sdap));
        record(DelayStage::Rlc, visit.first.since(visit.rlc));
        record(DelayStage::Air, split.air);
        record(DelayStage::Reassembly, split.reassembly);
        if has_pdcp {
            record(DelayStage::Reordering, split.reordering);
        }
    }

    /// Takes stock at `end`, after the cell did so much in the measured time: of all that a cell has but its slices. `names` are
    /// those of the groups. Returns, of each flow, its packets within budget.
    pub fn finish(
        self,
        names: &[String],
        cell: &CellScenario,
        usage: CellUsage,
        end: Time,
        outcome: &mut Outcome,
    ) -> Vec<BudgetCount> {
        let has_upf = |spec: &BearerSpec| spec.qos_flows.iter().any(|flow| flow.upf.is_some());
        let stages: Vec<DelayStage> = DelayStage::ALL
            .into_iter()
            .filter(|stage| match stage {
                DelayStage::N3 => cell.n3.is_some(),
                DelayStage::Upf => cell.bearers().any(|(_, bearer)| has_upf(bearer)),
                DelayStage::Reordering => self.has_pdcp,
                _ => true,
            })
            .collect();
        let merged = |delays: fn(&Group, DelayStage) -> &DelayHistogram, stage: DelayStage| {
            let mut all = DelayHistogram::default();
            self.groups.iter().for_each(|group| all.merge(delays(group, stage)));
            all.summary()
        };
        let sum = |count: fn(&Group) -> u64| self.groups.iter().map(count).sum();
        let bearers = cell.bearers().zip(&self.bearers).map(|((ue, spec), bearer)| {
            let budget = (!bearer.budgets.is_empty()).then_some(bearer.budget);
            let figures = results::BearerFigures {
                bytes: bearer.bytes.summary(end),
                packets: bearer.packets.summary(end),
                budget_ms: budget.map(|budget| budget.span.as_millis_f64()),
                within_budget: budget.and_then(|budget| budget.count.share()),
                pdcp: None,
            };
            (format!("{}/{}", ue.name, spec.name), figures)
        });
        let is_ideal =
            |spec: &BearerSpec| spec.rlc.pdcp.is_none() && !matches!(spec.rlc.mode, Mode::Transparent { .. });
        let ideal = cell.bearers().filter(|(_, spec)| is_ideal(spec)).count() as u64;
        outcome.measures.cell = Some(CellFigures {
            ideal_pdcp_bearers: (ideal > 0).then_some(ideal),
            tti_ms: self.tti.as_millis_f64(),
            stages: stages
                .iter()
                .map(|stage| (stage.name().to_string(), merged(Group::stage, *stage)))
                .collect(),
            within_tti: share(sum(|group| group.within_tti), sum(|group| group.departed)),
            bearers: bearers.collect(),
            total_ms: merged(|group, _| &group.total, DelayStage::N3),
            delivered_within: delivered_within(&self.groups),
            ..CellFigures::from_usage(usage)
        });
        let mut delays = BTreeMap::new();
        for (name, group) in names.iter().zip(&self.groups) {
            let mut by_stage: BTreeMap<String, DelayHistogram> =
                stages.iter().map(|stage| (stage.name().to_string(), group.stage(*stage).clone())).collect();
            // Groups are there only where the scenario has any; the delays of the whole cell are kept anyway.
            if let Some(figures) = outcome.measures.groups.get_mut(name) {
                figures.stages =
                    Some(by_stage.iter().map(|(stage, delays)| (stage.clone(), delays.summary())).collect());
                figures.within_tti = share(group.within_tti, group.departed);
                figures.sent_within = Some(shares(&group.sent_within, group.departed));
                figures.total_ms = Some(group.total.summary());
                figures.node_delay_ms = group.node.as_ref().map(|node| node.summary());
                figures.delivered_within = Some(delivered_within(core::slice::from_ref(group)));
            }
            by_stage.insert("total".to_string(), group.total.clone());
            delays.insert(name.clone(), by_stage);
        }
        if let Some(all) = &mut outcome.delays {
            all.stages = Some(delays);
        }
        if let Some(series) = &mut outcome.series {
            series.cell = self.bins.map(CellBins::finish);
        }
        self.budgets
    }
}

/// Whether a bearer has a PDCP of the standard.
fn has_pdcp(cell: &CellScenario) -> bool {
    cell.bearers().any(|(_, bearer)| bearer.rlc.pdcp.is_some())
}

/// A part as a share of all; `None` if there are none.
fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

/// The share of `all` packets within each of [`DelayBound::ALL`]; empty without packets.
fn shares(within: &[u64; DelayBound::ALL.len()], all: u64) -> BTreeMap<String, f64> {
    let named = |(within, count): (DelayBound, &u64)| Some((within.to_string(), share(*count, all)?));
    DelayBound::ALL.into_iter().zip(within).filter_map(named).collect()
}

/// The share of the packets of `groups` that were delivered within each time; empty without packets.
fn delivered_within(groups: &[Group]) -> BTreeMap<String, f64> {
    let counted = |place: usize| groups.iter().map(|group| group.delivered_within[place]).sum();
    let counts: [u64; DelayBound::ALL.len()] = core::array::from_fn(counted);
    shares(&counts, groups.iter().map(|group| group.total.count()).sum())
}
