//! PDU sets (3GPP release 18): knows those that are on the path, tells queues and schedulers about them, and counts how each ended.
//!
//! A set begins when the first of its packets comes to the bottleneck: to the far end of N3, to the first queue of the node, or to the
//! queue of a link. It is complete when the last one is handed up behind the cell (behind a link: has left it). TS 23.501 clause 5.7.7.2
//! has the same span for PSDB. The sender's way to the bottleneck and the way behind it do not count.

use crate::cell::CellScenario;
use crate::outcome::Outcome;
use crate::results::PduSetFigures;
use crate::scenario::{FlowSets, Scenario};
use qdelay_core::pdu_set::{IMPORTANCE_MAX, IMPORTANCE_MIN};
use qdelay_core::{Packet, PduSet, Span, Time};
use qdelay_path::NodeId;
use qdelay_path::stack::{Place, Topology};
use qdelay_record::DelayHistogram;
use qdelay_traffic::ends::Contents;
use qdelay_traffic::video::wire::VideoPacket;

/// Sets of a flow that are followed at a time: the numbers of ten bits (TS 26.522 clause 4.2). A packet of an older set is counted as lost.
const FOLLOWED: usize = 1 << 10;
/// Time before the end in which sets that begin are left out, because their outcome is undecided; no budget is longer.
const UNDECIDED: Span = Span::from_secs(1);

/// Follows the sets of the flows that have them.
pub struct SetMeter {
    /// By the number of the flow; `None` for one without sets.
    flows: Vec<Option<Flow>>,
    places: Vec<Place>,
    /// Whether packets leave the bottleneck by being handed up (a cell) in the data direction, and in that of uploads.
    is_handed_up: [bool; 2],
    /// Sets that begin from the first time on and before the second are counted.
    counted: (Time, Time),
}

struct Flow {
    sets: FlowSets,
    is_upload: bool,
    /// The latest sets, by their number modulo [`FOLLOWED`].
    open: Vec<Open>,
    counts: Counts,
}

/// A set whose packets come.
#[derive(Clone, Copy)]
struct Open {
    number: u32,
    /// When it began; [`Time::NEVER`] for a place without a set.
    begun: Time,
    /// When a packet was handed up last.
    latest: Time,
    pdus: u16,
    handed_up: u16,
    handed_bytes: u32,
    importance: u8,
    /// A packet was lost on the air: behind the queue of the RLC.
    is_lost_on_air: bool,
}

const NONE: Open = Open {
    number: 0,
    begun: Time::NEVER,
    latest: Time::NEVER,
    pdus: 0,
    handed_up: 0,
    handed_bytes: 0,
    importance: IMPORTANCE_MAX,
    is_lost_on_air: false,
};

/// How sets ended.
#[derive(Clone, Default)]
struct Counts {
    sets: u64,
    complete: u64,
    lost_on_air: u64,
    within_psdb: u64,
    /// For each delay of [`FlowSets::within`].
    within: Vec<u64>,
    /// Sets by importance from [`IMPORTANCE_MIN`] on: all, and those complete within PSDB.
    by_importance: [(u64, u64); (IMPORTANCE_MAX - IMPORTANCE_MIN + 1) as usize],
    /// Bytes that were handed up of sets that were not complete within PSDB.
    useless_bytes: u64,
    delays: DelayHistogram,
}

impl Counts {
    fn add(&mut self, sets: &FlowSets, open: &Open) {
        let delay = (open.handed_up == open.pdus).then(|| open.latest.since(open.begun));
        let is_within = |budget: Span| delay.is_some_and(|delay| delay <= budget);
        let is_good = sets.psdb.map_or(delay.is_some(), is_within);
        self.sets += 1;
        self.lost_on_air += u64::from(open.is_lost_on_air);
        self.within_psdb += u64::from(is_good);
        self.within.resize(sets.within.len(), 0);
        for (count, budget) in self.within.iter_mut().zip(&sets.within) {
            *count += u64::from(is_within(*budget));
        }
        if let Some(of) = self.by_importance.get_mut(usize::from(open.importance - IMPORTANCE_MIN)) {
            *of = (of.0 + 1, of.1 + u64::from(is_good));
        }
        if !is_good {
            self.useless_bytes += u64::from(open.handed_bytes);
        }
        if let Some(delay) = delay {
            self.complete += 1;
            self.delays.record(delay);
        }
    }

    fn merge(&mut self, other: &Counts) {
        self.sets += other.sets;
        self.complete += other.complete;
        self.lost_on_air += other.lost_on_air;
        self.within_psdb += other.within_psdb;
        self.within.resize(other.within.len().max(self.within.len()), 0);
        self.within.iter_mut().zip(&other.within).for_each(|(all, one)| *all += one);
        for (all, one) in self.by_importance.iter_mut().zip(&other.by_importance) {
            *all = (all.0 + one.0, all.1 + one.1);
        }
        self.useless_bytes += other.useless_bytes;
        self.delays.merge(&other.delays);
    }

    fn figures(&self, sets: &FlowSets, measured: Span) -> PduSetFigures {
        let share = |count: u64, of: u64| count as f64 / of.max(1) as f64;
        let by_importance = (IMPORTANCE_MIN..).zip(&self.by_importance).filter(|(_, of)| of.0 > 0);
        PduSetFigures {
            sets: self.sets,
            psdb_ms: sets.psdb.map(Span::as_millis_f64),
            within_psdb: sets.psdb.map(|_| share(self.within_psdb, self.sets)),
            within: sets
                .within
                .iter()
                .zip(&self.within)
                .map(|(budget, count)| (budget.to_string(), share(*count, self.sets)))
                .collect(),
            pser: sets.pser,
            error_rate: share(self.sets - self.complete, self.sets),
            air_error_rate: share(self.lost_on_air, self.sets),
            psihi: sets.psihi,
            useless_mbps: sets.psihi.then(|| crate::rates::rate_mbps(self.useless_bytes, measured)),
            delay_ms: self.delays.summary(),
            by_importance: by_importance
                .map(|(importance, (all, good))| (importance.to_string(), share(*good, *all)))
                .collect(),
        }
    }
}

impl SetMeter {
    /// A meter for the flows of `scenario` with sets; `None` without any.
    pub fn new(scenario: &Scenario, topology: &Topology) -> Option<Box<SetMeter>> {
        if scenario.flows.iter().all(|flow| flow.sets.is_none()) {
            return None;
        }
        let cell = scenario.bottleneck.as_cell();
        let has_uplink = |cell: &CellScenario| cell.uplink.is_some();
        let end = Time::ZERO + scenario.duration;
        Some(Box::new(SetMeter {
            flows: scenario
                .flows
                .iter()
                .map(|flow| {
                    Some(Flow {
                        sets: flow.sets.as_deref()?.clone(),
                        is_upload: flow.is_upload,
                        open: vec![NONE; FOLLOWED],
                        counts: Counts::default(),
                    })
                })
                .collect(),
            places: topology.places.clone(),
            is_handed_up: [cell.is_some(), cell.is_some_and(has_uplink)],
            counted: (Time::ZERO + scenario.warmup, Time::ZERO + end.since(Time::ZERO + UNDECIDED)),
        }))
    }

    fn flow(&self, packet: &Packet) -> Option<&Flow> {
        self.flows.get(packet.flow as usize)?.as_ref()
    }

    /// The set of `packet` with these contents.
    pub fn pdu_set(&self, packet: &Packet, contents: &Contents) -> Option<PduSet> {
        let flow = self.flow(packet)?;
        let set = VideoPacket::pdu_set(contents)?;
        let open = &flow.open[set.number as usize % FOLLOWED];
        let is_open = open.begun != Time::NEVER && open.number == set.number;
        let deadline = match flow.sets.psdb {
            Some(psdb) if is_open => open.begun + psdb,
            _ => Time::NEVER,
        };
        Some(PduSet { is_integrated: flow.sets.psihi, deadline, ..set })
    }

    /// A packet comes to a queue: with the first of its set the set begins, where the bottleneck does.
    pub fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet, contents: &Contents) {
        let place = self.places[node.index()];
        if !(place.is_first() || place == Place::N3) {
            return;
        }
        let Some(flow) = self.flows.get_mut(packet.flow as usize).and_then(Option::as_mut) else { return };
        if flow.is_upload != (place == Place::Uplink) {
            return;
        }
        let Some(set) = VideoPacket::pdu_set(contents) else { return };
        let open = &mut flow.open[set.number as usize % FOLLOWED];
        if open.begun != Time::NEVER && open.number >= set.number {
            return;
        }
        let before = *open;
        *open = Open {
            number: set.number,
            begun: now,
            pdus: set.pdus,
            importance: set.importance.clamp(IMPORTANCE_MIN, IMPORTANCE_MAX),
            ..NONE
        };
        flow.close(before, self.counted);
    }

    /// The set that `packet` belongs to, if it is followed.
    fn open(&mut self, packet: &Packet, contents: &Contents) -> Option<&mut Open> {
        let flow = self.flows.get_mut(packet.flow as usize)?.as_mut()?;
        let set = VideoPacket::pdu_set(contents)?;
        let open = &mut flow.open[set.number as usize % FOLLOWED];
        (open.begun != Time::NEVER && open.number == set.number).then_some(open)
    }

    /// A packet has left a link or the queue of a cell.
    pub fn departed(&mut self, now: Time, node: NodeId, packet: &Packet, contents: &Contents) {
        let Some(is_upload) = self.flow(packet).map(|flow| flow.is_upload) else { return };
        let link = if is_upload { Place::UplinkLink } else { Place::Link };
        if self.places[node.index()] == link && !self.is_handed_up[usize::from(is_upload)] {
            self.handed_up(now, packet, contents);
        }
    }

    /// A packet is whole behind a cell or its uplink.
    pub fn split(&mut self, now: Time, packet: &Packet, contents: &Contents) {
        let Some(is_upload) = self.flow(packet).map(|flow| flow.is_upload) else { return };
        if self.is_handed_up[usize::from(is_upload)] {
            self.handed_up(now, packet, contents);
        }
    }

    fn handed_up(&mut self, now: Time, packet: &Packet, contents: &Contents) {
        if let Some(open) = self.open(packet, contents) {
            open.handed_up += 1;
            open.handed_bytes += packet.bytes;
            open.latest = now;
        }
    }

    /// A node has dropped a packet.
    pub fn dropped(&mut self, node: NodeId, packet: &Packet, contents: &Contents) {
        let place = self.places[node.index()];
        let is_air = place == Place::Cell || place == Place::UplinkLink;
        if let Some(open) = self.open(packet, contents).filter(|_| is_air) {
            open.is_lost_on_air = true;
        }
    }

    /// Adds the figures of flows and groups, measured for `measured`, to those of the run.
    pub fn finish(mut self, scenario: &Scenario, measured: Span, outcome: &mut Outcome) {
        let mut groups: Vec<Option<(Counts, FlowSets)>> = vec![None; scenario.groups.len()];
        for (flow, spec) in self.flows.iter_mut().zip(&scenario.flows) {
            let Some(flow) = flow else { continue };
            for open in std::mem::take(&mut flow.open) {
                flow.close(open, self.counted);
            }
            if let Some(group) = groups.get_mut(spec.group) {
                group.get_or_insert_with(|| (Counts::default(), flow.sets.clone())).0.merge(&flow.counts);
            }
        }
        for (figures, flow) in outcome.measures.flows.iter_mut().zip(&self.flows) {
            figures.pdu_sets = flow.as_ref().map(|flow| flow.counts.figures(&flow.sets, measured));
        }
        for (name, group) in scenario.groups.iter().zip(groups) {
            if let (Some(figures), Some((counts, sets))) = (outcome.measures.groups.get_mut(name), group) {
                figures.pdu_sets = Some(counts.figures(&sets, measured));
            }
        }
    }
}

impl Flow {
    /// Counts a set of which nothing comes any more, if it began in the measured time.
    fn close(&mut self, open: Open, (from, until): (Time, Time)) {
        if open.begun != Time::NEVER && open.begun >= from && open.begun < until {
            self.counts.add(&self.sets, &open);
        }
    }
}
