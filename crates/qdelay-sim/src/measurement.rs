//! Measurements of a run, independent of the clock: in the simulator, or in a loop that forwards real packets.
//!
//! The host reports each event of its path in order of time, and passes the path at [`Measurement::next_sample`]: at the
//! ends of bins, of the warm-up and of the run. [`Packet::flow`] is the place of the packet's flow in [`Scenario::flows`], or the one
//! after the last for the probe. A packet of any other number belongs to no flow: it counts at the bottleneck, and in no group. The
//! lower half of [`Packet::handle`] is a small number that no other packet on the path has.

use crate::bin_clock::BinClock;
use crate::bottleneck_meter::BottleneckMeter;
use crate::delay_breakdown::DelayBreakdown;
use crate::held::Held;
use crate::outcome::{self, FlowOutcome, Outcome};
use crate::queue_sample::QueueSample;
use crate::rates::rate_mbps;
use crate::results::{AirFigures, FlowFigures, NodeFigures, PdcpFigures, Recoveries, SliceFigures, UP};
use crate::scenario::{FlowSpec, Scenario};
use crate::traffic::{self, CellPlace};
use crate::uplink_breakdown::UplinkBreakdown;
use qdelay_core::{Packet, Span, Time};
use qdelay_path::stack::{Place, Topology};
use qdelay_path::{AirUsage, CellUsage, Counters, LinkUsage, NodeId, Path, PdcpCounts, SliceUsage, Split};
use std::collections::BTreeMap;

/// Accumulates the measures of a run from the events of its path.
pub struct Measurement<'a> {
    scenario: Held<'a>,
    queue: NodeId,
    link: NodeId,
    receivers: NodeId,
    figures: BottleneckMeter,
    /// Present if the bottleneck is a cell.
    cell: Option<Box<DelayBreakdown>>,
    /// Present if that has an uplink of its own.
    uplink: Option<Box<UplinkBreakdown>>,
    places: Vec<Place>,
    is_back: Vec<bool>,
    /// Whether each flow is an upload; empty without uploads.
    is_upload: Vec<bool>,
    /// Ends of the bins of the series.
    bins: BinClock,
    /// End of the run; [`Time::NEVER`] while it is not known.
    end: Time,
    /// Time at which the rates end, if it is before the end of the run and not yet reached.
    rates_end: Time,
    /// `None` where the bottleneck is a cell.
    recoveries: Option<Recoveries>,
    /// At the end of the warm-up.
    begun: Option<WarmupEnd>,
    /// At the end of the rates, where that is before the end of the run.
    rated: Option<RatesEnd>,
    /// At the end of the run.
    ended: Option<RunEnd>,
}

/// Cumulative usage of the bottleneck at a time.
struct Usage {
    link: LinkUsage,
    cell: CellUsage,
    slices: Vec<SliceUsage>,
    /// PDCP counts of each bearer; `None` for a bearer without the PDCP of the standard.
    pdcp: Vec<Option<PdcpCounts>>,
    /// Transport blocks of each UE, in a cell that counts them.
    air: Vec<AirUsage>,
}

struct WarmupEnd {
    usage: Usage,
    /// Application bytes that each flow has delivered.
    delivered: Vec<u64>,
}

struct RatesEnd {
    time: Time,
    usage: Usage,
    /// Application bytes that each flow has delivered.
    delivered: Vec<u64>,
}

struct RunEnd {
    usage: Usage,
    drops: BTreeMap<String, u64>,
    marks: BTreeMap<String, u64>,
    nodes: BTreeMap<String, NodeFigures>,
}

/// Calls of every packet are inlined into the path's loops, however large; what only cells, groups and series need is not, so
/// that they stay small.
impl<'a> Measurement<'a> {
    /// Measurement of the path of `topology`, or of one that is built like it, before its first event.
    pub fn new(scenario: impl Into<Held<'a>>, topology: &Topology) -> Measurement<'a> {
        let scenario = scenario.into();
        let end = Time::ZERO + scenario.duration;
        Measurement::with_bins(scenario, topology, end, None)
    }

    /// Measurement of a run whose end is not known yet, and is set by [`Measurement::end_at`]; the duration of `scenario` has no effect. The series has at most `bins` bins, an even
    /// number: each two become one when it is reached, and the next ones are twice as wide.
    pub fn open_ended(scenario: impl Into<Held<'a>>, topology: &Topology, bins: usize) -> Measurement<'a> {
        Measurement::with_bins(scenario.into(), topology, Time::NEVER, Some(bins))
    }

    fn with_bins(scenario: Held<'a>, topology: &Topology, end: Time, most: Option<usize>) -> Measurement<'a> {
        Measurement {
            queue: topology.queue,
            link: topology.link,
            receivers: topology.receivers,
            figures: BottleneckMeter::new(&scenario, topology, most),
            cell: scenario.bottleneck.as_cell().map(|cell| Box::new(DelayBreakdown::new(&scenario, cell))),
            uplink: UplinkBreakdown::new(&scenario, topology),
            places: topology.places.clone(),
            is_back: topology.is_back.clone(),
            is_upload: uploads(&scenario),
            bins: BinClock::new(scenario.series, most, end),
            end,
            rates_end: Time::NEVER,
            recoveries: scenario.bottleneck.as_cell().is_none().then(Recoveries::new),
            begun: None,
            rated: None,
            ended: None,
            scenario,
        }
    }

    /// Ends the rates at `time`, after the warm-up and before the end of the run: throughput, goodput, capacity and utilization
    /// are of the time until then; counts, delays and the series go on.
    pub fn end_rates_at(&mut self, time: Time) {
        self.rates_end = time;
    }

    /// Ends the run at `time`, which is not before the last sample.
    pub fn end_at(&mut self, time: Time) {
        self.end = time;
        self.bins.end_at(time);
    }

    /// Number of measured packets that left the bottleneck, and the sum of their delays in its queue in nanoseconds.
    pub fn queue_delays(&self) -> (u64, u128) {
        self.figures.queue_delays()
    }

    /// A packet is offered to a queue. Returns whether it is the bottleneck's.
    #[inline(always)]
    pub fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) -> bool {
        if node != self.queue {
            return self.cell.is_some() && self.enqueued_in_cell(now, node, packet);
        }
        self.figures.enqueued(now, packet);
        true
    }

    /// A packet is dequeued. Returns whether it has left the bottleneck's queue.
    #[inline(always)]
    pub fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) -> bool {
        if node != self.queue {
            return self.cell.is_some() && self.dequeued_in_cell(now, node, packet);
        }
        self.figures.dequeued(now, packet);
        true
    }

    /// A packet has left a link or a cell. Returns whether that is the bottleneck.
    #[inline(always)]
    pub fn departed(&mut self, now: Time, node: NodeId, packet: &Packet) -> bool {
        if node != self.link {
            self.figures.departed_elsewhere(now, node, packet);
            return false;
        }
        if self.cell.is_some() {
            self.departed_from_cell(now, packet);
        } else {
            self.figures.departed(now, packet);
        }
        true
    }

    /// A packet is reassembled behind the cell or its uplink.
    #[inline]
    pub fn split(&mut self, now: Time, node: NodeId, packet: &Packet, split: Split) {
        if !self.figures.counts(now, packet) {
            return;
        }
        if node != self.link {
            if let Some(uplink) = &mut self.uplink {
                uplink.split(now, packet, split);
            }
        } else if let Some(cell) = &mut self.cell {
            cell.split(packet, split);
        }
    }

    /// A node has dropped a packet.
    #[inline]
    pub fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet) {
        let is_data = self.is_back[node.index()] == self.is_upload(packet);
        let Some(cell) = &mut self.cell else {
            return self.figures.dropped(now, packet, is_data, node == self.queue);
        };
        let (place, is_cell) = (self.places[node.index()], node == self.link);
        self.figures.dropped(now, packet, is_data, place.is_of_node());
        if is_cell {
            self.figures.dropped_below(packet);
        }
        if is_cell || place.is_of_node() {
            cell.dropped(now, place, is_cell, packet);
        }
        cell.forget(packet);
    }

    /// A queue has marked a packet.
    #[inline]
    pub fn marked(&mut self, node: NodeId, packet: &Packet) {
        if node == self.queue || self.cell.is_some() && self.places[node.index()].is_of_node() {
            self.figures.marked(packet);
        }
    }

    /// A packet that was sent at `created` has left the path. Returns whether it was delivered to a receiver.
    #[inline(always)]
    pub fn delivered(
        &mut self,
        now: Time,
        node: NodeId,
        packet: &Packet,
        created: impl FnOnce() -> Time,
    ) -> bool {
        if (node == self.receivers) == self.is_upload(packet) {
            return false;
        }
        if self.figures.uses_delivery(packet) {
            self.figures.delivered(now, packet, created());
        }
        if let Some(cell) = &mut self.cell {
            cell.forget(packet);
        }
        true
    }

    /// Whether the packet's flow is an upload.
    #[inline]
    fn is_upload(&self, packet: &Packet) -> bool {
        self.is_upload.get(packet.flow as usize).copied().unwrap_or(false)
    }

    /// A connection sends data up to the byte `end` of all that it sends.
    #[inline]
    pub fn sent(&mut self, now: Time, flow: usize, end: u64) {
        self.figures.sent(now, flow, end);
    }

    /// The bytes from `first` to `end` of a connection arrive.
    #[inline]
    pub fn arrived(&mut self, now: Time, flow: usize, data: (u64, u64)) {
        self.figures.arrived(now, flow, data);
    }

    /// The first `bytes` of a connection are delivered to its application.
    #[inline]
    pub fn in_order(&mut self, now: Time, flow: usize, bytes: u64) {
        self.figures.in_order(now, flow, bytes);
    }

    #[inline(never)]
    fn enqueued_in_cell(&mut self, now: Time, node: NodeId, packet: &Packet) -> bool {
        let Some(cell) = &mut self.cell else { return false };
        let is_first = cell.enqueued(now, self.places[node.index()], packet);
        if is_first {
            self.figures.enqueued(now, packet);
        }
        is_first
    }

    #[inline(never)]
    fn dequeued_in_cell(&mut self, now: Time, node: NodeId, packet: &Packet) -> bool {
        let Some(cell) = &mut self.cell else { return false };
        let is_last = matches!(self.places[node.index()], Place::Rlc(_));
        if is_last {
            cell.taken(now, packet);
            self.figures.dequeued(now, &cell.with_entry_time(packet));
        }
        is_last
    }

    #[inline(never)]
    fn departed_from_cell(&mut self, now: Time, packet: &Packet) {
        let Some(cell) = &mut self.cell else { return };
        cell.departed(now, packet, self.figures.counts(now, packet));
        self.figures.departed(now, &cell.with_entry_time(packet));
    }

    /// Time of the next sample of the path; [`Time::NEVER`] once the run is over.
    #[inline]
    pub fn next_sample(&self) -> Time {
        let next = match (&self.begun, &self.ended) {
            (None, _) => (Time::ZERO + self.scenario.warmup).min(self.end),
            (Some(_), None) => self.end.min(self.rates_end),
            (Some(_), Some(_)) => return Time::NEVER,
        };
        let look = self.recoveries.as_ref().map_or(Time::NEVER, Recoveries::next);
        self.bins.next().min(look).min(next)
    }

    /// Whether the run is over: what happens later does not count.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    /// The path as it is at [`Measurement::next_sample`]: all that is due by then has happened, and nothing else. `delivered` are the
    /// application bytes that each flow has delivered. Whether a bin has ended.
    pub fn sample(&mut self, now: Time, path: &Path, delivered: impl Iterator<Item = u64>) -> bool {
        // A sample that the host skips would leave out a bin, or the end of the run.
        debug_assert_eq!(now, self.next_sample());
        if let Some(recoveries) = &mut self.recoveries
            && now == recoveries.next()
        {
            let usage = path.link_usage(self.link, now).unwrap_or_default();
            recoveries.sample(now, usage, now >= Time::ZERO + self.scenario.warmup);
        }
        let is_bin = now == self.bins.next();
        if is_bin {
            self.close_bin(now, path);
        }
        if now == self.rates_end {
            self.rates_end = Time::NEVER;
            let (usage, delivered) = (self.usage(now, path), delivered.collect());
            self.rated = Some(RatesEnd { time: now, usage, delivered });
            self.figures.end_rates(now, path);
        } else if now == Time::ZERO + self.scenario.warmup {
            self.begun = Some(WarmupEnd { usage: self.usage(now, path), delivered: delivered.collect() });
            self.figures.end_warmup(now, path);
            self.uplink.iter_mut().for_each(|uplink| uplink.sample(0, now, path));
        }
        if now == self.end {
            self.ended = Some(self.ended(now, path));
            if self.rated.is_none() {
                self.figures.end_rates(now, path);
            }
            self.figures.end(path);
            self.uplink.iter_mut().for_each(|uplink| uplink.sample(1, now, path));
        }
        is_bin
    }

    fn ended(&self, now: Time, path: &Path) -> RunEnd {
        // Drops of the cell and of every queue above it are counted.
        let bottleneck = self.nodes(path, |place| is_queue(place) || place == Place::Cell);
        let counters: Vec<&Counters> = bottleneck.filter_map(|node| path.counters(node)).collect();
        // Where a flow enters is not of the path.
        let nodes = self.nodes(path, |place| place != Place::Classes);
        RunEnd {
            usage: self.usage(now, path),
            drops: outcome::drops(counters.iter().copied()),
            marks: outcome::marks(counters.iter().copied()),
            nodes: nodes
                .filter_map(|node| Some((path.name(node).to_string(), NodeFigures::from_path(path, node)?)))
                .collect(),
        }
    }

    fn close_bin(&mut self, now: Time, path: &Path) {
        let queued = QueueSample::from_path(path, self.nodes(path, is_queue));
        let link = path.link_usage(self.link, now).unwrap_or_default();
        self.figures.close_bin(now, queued, link);
        if let Some(watch) = &mut self.cell {
            let cell = path.cell(self.link);
            let usage = cell.map(|cell| cell.usage(now)).unwrap_or_default();
            let rank = cell.filter(|cell| cell.adapts_rank()).map(|cell| cell.rank(now));
            watch.close_bin(now, usage, cell.and_then(|cell| cell.mcs(now)), rank);
        }
        if self.bins.close(now, self.end) {
            self.figures.halve_bins();
            self.cell.iter_mut().for_each(|cell| cell.halve_bins());
        }
    }

    fn usage(&self, now: Time, path: &Path) -> Usage {
        Usage {
            link: path.link_usage(self.link, now).unwrap_or_default(),
            cell: path.cell_usage(self.link, now).unwrap_or_default(),
            slices: path.cell_slices(self.link, now),
            pdcp: path.cell_pdcp(self.link, now),
            air: path.cell_air(self.link, now),
        }
    }

    fn nodes(&self, path: &Path, is_meant: impl Fn(Place) -> bool) -> impl Iterator<Item = NodeId> {
        path.nodes().zip(&self.places).filter(move |(_, place)| is_meant(**place)).map(|(node, _)| node)
    }

    /// Takes stock of a run that is over. Of `flows` those figures are filled in that the scenario or the path has: what names them,
    /// goodputs, losses and round trips. `probe_sent` are the packets that the probe sent; `None` without one.
    ///
    /// # Panics
    /// The host has skipped samples.
    pub fn finish(self, flows: Vec<FlowOutcome>, probe_sent: Option<u64>) -> Outcome {
        let (Some(WarmupEnd { usage: before, delivered }), Some(RunEnd { usage, drops, marks, nodes })) =
            (self.begun, self.ended)
        else {
            panic!("the path was not sampled at the end of the warm-up or of the run")
        };
        let scenario = &*self.scenario;
        let (begin, end) = (Time::ZERO + scenario.warmup, self.end);
        // Of a run whose rates have ended with it, the flows know the bytes that they have delivered.
        let (rates_end, usage, until) = match self.rated {
            Some(RatesEnd { time, usage, delivered }) => (time, usage, Some(delivered)),
            None => (end, usage, None),
        };
        let measured = rates_end.since(begin);
        let complete = |(number, ((spec, FlowOutcome { flow, round_trips, over_time }), before)): (
            usize,
            ((&FlowSpec, FlowOutcome), u64),
        )| {
            let until = until.as_ref().and_then(|until| until.get(number).copied());
            let delivered = until.unwrap_or(flow.delivered_bytes).saturating_sub(before);
            let goodput_mbps = rate_mbps(delivered, measured);
            let flow = FlowFigures { goodput_mbps, ..named(scenario, spec, flow) };
            FlowOutcome { flow, round_trips, over_time }
        };
        let flows = scenario.flows.iter().zip(flows).zip(delivered).enumerate().map(complete).collect();
        let link = usage.link.since(before.link);
        let mut outcome = self.figures.finish(scenario, measured, link, flows, probe_sent);
        outcome.measures.outages = self.recoveries.and_then(Recoveries::finish);
        if let Some((spec, watch)) = scenario.bottleneck.as_cell().zip(self.cell) {
            let budgets =
                watch.finish(&scenario.groups, spec, usage.cell.since(&before.cell), end, &mut outcome);
            traffic::add(measured, &budgets, &mut outcome);
            let agreed = spec.setting.slices().iter();
            let slices = agreed.zip(usage.slices).enumerate().map(|(number, (slice, now))| {
                // Before the first TTI there are none.
                let usage = before.slices.get(number).map_or_else(|| now.clone(), |before| now.since(before));
                (slice.name.clone(), SliceFigures::from_usage(slice.agreed.millionths(), &usage, measured))
            });
            if let Some(cell) = &mut outcome.measures.cell {
                cell.slices = slices.collect();
                // What a slice may not use would count as held back.
                cell.rbs_held_back_share = cell.rbs_held_back_share.filter(|_| cell.slices.is_empty());
                let air = usage.air.iter().zip(&before.air).map(|(now, before)| now.since(before));
                let named = spec.ues.iter().zip(air);
                cell.air = named
                    .map(|(ue, air)| (ue.name.clone(), AirFigures::from_usage(&air, &ue.setting, measured)))
                    .collect();
                for (number, (ue, bearer)) in spec.bearers().enumerate() {
                    let place = cell.bearers.get_mut(&format!("{}/{}", ue.name, bearer.name));
                    let counts = usage.pdcp.get(number).copied().flatten();
                    let before = before.pdcp.get(number).copied().flatten().unwrap_or_default();
                    if let (Some(place), Some(counts)) = (place, counts) {
                        place.pdcp = Some(PdcpFigures::from_counts(&counts.since(&before), measured));
                    }
                }
            }
        }
        if let Some(watch) = self.uplink {
            let (figures, groups) = watch.finish(&scenario.groups);
            if let Some(uplink) = &mut outcome.measures.uplink {
                uplink.cell = Some(figures);
            }
            for (name, figures) in groups {
                if let Some(group) = outcome.measures.groups.get_mut(&name) {
                    group.uplink = Some(figures);
                }
            }
        }
        let measures = &mut outcome.measures;
        (measures.drops, measures.drops_by_reason) = (drops.values().sum(), drops);
        (measures.marks, measures.marks_by_reason) = (marks.values().sum(), marks);
        measures.nodes = nodes;
        outcome
    }
}

/// Whether each flow is an upload; empty without uploads.
fn uploads(scenario: &Scenario) -> Vec<bool> {
    let all: Vec<bool> = scenario.flows.iter().map(|flow| flow.is_upload).collect();
    if all.contains(&true) { all } else { Vec::new() }
}

/// A flow's figures with its name, group, transport, UE and QFI from the scenario.
fn named(scenario: &Scenario, spec: &FlowSpec, flow: FlowFigures) -> FlowFigures {
    let cell = scenario.bottleneck.as_cell();
    let place = cell.map(|cell| CellPlace::from_spec(cell, spec)).unwrap_or_default();
    FlowFigures {
        name: spec.name.clone(),
        group: scenario.groups.get(spec.group).cloned().unwrap_or_default(),
        transport: spec.typed.clone(),
        direction: spec.is_upload.then(|| UP.to_string()),
        ue: cell.and_then(|cell| cell.ues.get(spec.ue)).map(|ue| ue.name.clone()),
        qfi: cell.map(|_| spec.qfi),
        slice: place.slice,
        class: place.class,
        budget_ms: place.budget.map(Span::as_millis_f64),
        ..flow
    }
}

/// Whether it is a queue of the bottleneck.
fn is_queue(place: Place) -> bool {
    place.is_of_node() || place == Place::Bottleneck
}
