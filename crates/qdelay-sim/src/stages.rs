//! Where the delay of packets arises on their way through a cell, and how full its bearers are: the definitions of
//! `docs/measures.md`.

use crate::cell::{BearerSpec, CellScenario};
use crate::cell_series::CellBins;
use crate::contents::ContentsStore;
use crate::outcome::{BearerOutcome, Budget, CellGroup, CellOutcome, Stage, Within};
use crate::scenario::Scenario;
use qdelay_core::{Packet, Span, Time};
use qdelay_path::stack::Place;
use qdelay_path::{CellUsage, Split};
use qdelay_record::{DelayHistogram, Occupancy};

/// What a packet has seen of the cell so far. [`Time::NEVER`]: nothing.
#[derive(Clone, Copy, Debug)]
struct Visit {
    n3: Time,
    /// When it came to the node: to the UPF's queue where there is one, else to the SDAP's.
    entry: Time,
    sdap: Time,
    rlc: Time,
    /// When its first byte was taken from the RLC's queue.
    first: Time,
    /// The number of its bearer.
    bearer: u16,
    /// Its last byte was taken too.
    has_departed: bool,
}

impl Visit {
    const NONE: Visit = Visit {
        n3: Time::NEVER,
        entry: Time::NEVER,
        sdap: Time::NEVER,
        rlc: Time::NEVER,
        first: Time::NEVER,
        bearer: 0,
        has_departed: false,
    };
}

/// Watches a cell.
pub struct CellWatch {
    /// By the slot of a packet, the lower half of its handle.
    visits: Vec<Visit>,
    /// Of each flow; the probe has none.
    group_of: Vec<usize>,
    groups: Vec<Group>,
    bearers: Vec<Bearer>,
    tti: Span,
    /// The lengths of [`Within::ALL`].
    within: [Span; Within::ALL.len()],
    /// Where a series is asked for.
    bins: Option<CellBins>,
}

struct Group {
    stages: [DelayHistogram; Stage::ALL.len()],
    /// Packets whose last byte was taken within a TTI of their arrival.
    within_tti: u64,
    /// The same within each of [`Within::ALL`].
    sent_within: [u64; Within::ALL.len()],
    /// Packets whose last byte was taken.
    departed: u64,
    /// From the packet's arrival at the node until it was handed up.
    total: DelayHistogram,
    /// Of these, those within each of [`Within::ALL`].
    delivered_within: [u64; Within::ALL.len()],
}

struct Bearer {
    bytes: Occupancy,
    packets: Occupancy,
    /// The QFIs that have a packet delay budget.
    budgets: Vec<(u16, Span)>,
    budget: Budget,
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

impl CellWatch {
    /// Nothing has happened yet.
    pub fn new(scenario: &Scenario, cell: &CellScenario) -> CellWatch {
        let from = Time::ZERO + scenario.warmup;
        let last = scenario.groups.len().saturating_sub(1);
        let group = || Group {
            stages: Default::default(),
            within_tti: 0,
            sent_within: Default::default(),
            departed: 0,
            total: DelayHistogram::default(),
            delivered_within: Default::default(),
        };
        CellWatch {
            visits: Vec::new(),
            group_of: scenario.flows.iter().map(|flow| flow.group.min(last)).collect(),
            groups: (0..=last).map(|_| group()).collect(),
            bearers: cell.bearers().map(|(_, bearer)| Bearer::new(bearer, from)).collect(),
            tti: cell.tti,
            within: Within::ALL.map(|within| within.span(cell.tti)),
            bins: scenario.series.map(|_| CellBins::default()),
        }
    }

    #[inline]
    fn visit(&mut self, packet: &Packet) -> &mut Visit {
        let slot = ContentsStore::slot(packet.handle);
        if slot >= self.visits.len() {
            self.visits.resize(slot + 1, Visit::NONE);
        }
        &mut self.visits[slot]
    }

    /// A packet has ended: the next one in its slot is another.
    #[inline]
    pub fn forget(&mut self, packet: &Packet) {
        *self.visit(packet) = Visit::NONE;
    }

    /// The packet as it came to the node.
    #[inline]
    pub fn as_it_came(&self, packet: &Packet) -> Packet {
        Packet { arrival: self.visits[ContentsStore::slot(packet.handle)].entry, ..*packet }
    }

    /// A packet is offered to a queue. Whether it is the first one of the node.
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
                let bearer = &mut self.bearers[usize::from(bearer)];
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

    /// The first byte of a packet is taken from the RLC's queue.
    #[inline]
    pub fn taken(&mut self, now: Time, packet: &Packet) {
        self.visit(packet).first = now;
    }

    /// The last byte of a packet is taken; `counts` where it belongs to the figures of delay.
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
            group.within_tti += u64::from(is_within);
            for (count, span) in group.sent_within.iter_mut().zip(within) {
                *count += u64::from(delay <= span);
            }
        }
    }

    /// A packet is gone from a queue of the node, or from the cell.
    pub fn dropped(&mut self, now: Time, place: Place, is_cell: bool, packet: &Packet) {
        let visit = *self.visit(packet);
        match place {
            Place::Rlc(bearer) => self.out_of(bearer, now, packet),
            _ if is_cell && !visit.has_departed => self.out_of(visit.bearer, now, packet),
            _ => {}
        }
    }

    #[inline]
    fn out_of(&mut self, bearer: u16, now: Time, packet: &Packet) {
        if let Some(bearer) = self.bearers.get_mut(usize::from(bearer)) {
            bearer.packets.fall(now, 1);
            bearer.bytes.fall(now, u64::from(packet.bytes));
            if let Some(bins) = &mut self.bins {
                bins.packets.fall(now, 1);
                bins.bytes.fall(now, u64::from(packet.bytes));
            }
        }
    }

    /// A bin of the series ends, with so much done since the run began, and channels that are good for this MCS.
    pub fn close_bin(&mut self, now: Time, usage: CellUsage, mcs: Option<f64>) {
        if let Some(bins) = &mut self.bins {
            bins.close(now, usage, mcs);
        }
    }

    #[inline]
    fn group_mut(&mut self, flow: u32) -> Option<&mut Group> {
        let group = *self.group_of.get(flow as usize)?;
        self.groups.get_mut(group)
    }

    /// A packet was handed up by the UE and belongs to the figures of delay.
    #[inline]
    pub fn split(&mut self, packet: &Packet, split: Split) {
        let visit = *self.visit(packet);
        let within = self.within;
        if let Some(bearer) = self.bearers.get_mut(usize::from(visit.bearer))
            && let Some((_, budget)) = bearer.budgets.iter().find(|(qfi, _)| *qfi == packet.class)
        {
            let from = if visit.n3 == Time::NEVER { visit.entry } else { visit.n3 };
            let whole = visit.first.since(from) + split.air + split.reassembly;
            bearer.budget.packets += 1;
            bearer.budget.within += u64::from(whole <= *budget);
        }
        let Some(group) = self.group_mut(packet.flow) else { return };
        let total = visit.first.since(visit.entry) + split.air + split.reassembly;
        group.total.record(total);
        for (count, span) in group.delivered_within.iter_mut().zip(within) {
            *count += u64::from(total <= span);
        }
        let mut record = |stage: Stage, span: Span| group.stages[stage as usize].record(span);
        if visit.n3 != Time::NEVER {
            record(Stage::N3, visit.entry.since(visit.n3));
        }
        if visit.entry != visit.sdap {
            record(Stage::Upf, visit.sdap.since(visit.entry));
        }
        record(Stage::Sdap, visit.rlc.since(visit.sdap));
        record(Stage::Rlc, visit.first.since(visit.rlc));
        record(Stage::Air, split.air);
        record(Stage::Reassembly, split.reassembly);
    }

    /// Takes stock at `end`, after the cell did so much in the measured time.
    pub fn finish(self, cell: &CellScenario, usage: CellUsage, end: Time) -> CellOutcome {
        let has_upf = |spec: &BearerSpec| spec.qos_flows.iter().any(|flow| flow.upf.is_some());
        let stages: Vec<Stage> = Stage::ALL
            .into_iter()
            .filter(|stage| match stage {
                Stage::N3 => cell.n3.is_some(),
                Stage::Upf => cell.bearers().any(|(_, bearer)| has_upf(bearer)),
                _ => true,
            })
            .collect();
        let mut all: Vec<(Stage, DelayHistogram)> =
            stages.iter().map(|stage| (*stage, DelayHistogram::default())).collect();
        for (stage, sum) in &mut all {
            self.groups.iter().for_each(|group| sum.merge(&group.stages[*stage as usize]));
        }
        let mut total = DelayHistogram::default();
        self.groups.iter().for_each(|group| total.merge(&group.total));
        let share = |within: u64, departed: u64| (departed > 0).then(|| within as f64 / departed as f64);
        let sum = |count: fn(&Group) -> u64| self.groups.iter().map(count).sum();
        let groups = self.groups.iter().map(|group| CellGroup {
            stages: stages.iter().map(|stage| (*stage, group.stages[*stage as usize].clone())).collect(),
            within_tti: share(group.within_tti, group.departed),
            sent_within: Within::ALL
                .into_iter()
                .zip(group.sent_within)
                .filter_map(|(within, count)| Some((within, share(count, group.departed)?)))
                .collect(),
            total: group.total.clone(),
            delivered_within: delivered_within(core::slice::from_ref(group)),
        });
        let bearers = cell.bearers().zip(&self.bearers).map(|((ue, spec), bearer)| BearerOutcome {
            ue: ue.name.clone(),
            bearer: spec.name.clone(),
            budget: (!bearer.budgets.is_empty()).then_some(bearer.budget),
            bytes: bearer.bytes.summary(end),
            packets: bearer.packets.summary(end),
        });
        CellOutcome {
            tti: self.tti,
            usage,
            stages: all,
            within_tti: share(sum(|group| group.within_tti), sum(|group| group.departed)),
            groups: groups.collect(),
            bearers: bearers.collect(),
            total,
            delivered_within: delivered_within(&self.groups),
            slices: Vec::new(),
            series: self.bins.map(CellBins::finish),
        }
    }
}

/// Which part of the packets of `groups` was handed up within each time; nothing without a packet.
fn delivered_within(groups: &[Group]) -> Vec<(Within, f64)> {
    let all: u64 = groups.iter().map(|group| group.total.count()).sum();
    if all == 0 {
        return Vec::new();
    }
    let counted = |place: usize| groups.iter().map(|group| group.delivered_within[place]).sum::<u64>();
    Within::ALL
        .iter()
        .enumerate()
        .map(|(place, within)| (*within, counted(place) as f64 / all as f64))
        .collect()
}
