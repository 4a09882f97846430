//! The event loop: whoever is due first runs, the path before the flows.

use crate::cell::{cell_usage_between, slice_outcomes};
use crate::contents::ContentsStore;
use crate::figures::{Figures, Totals};
use crate::flow::{Carrier, Flow};
use crate::measure::{Arrival, Meter};
use crate::outcome::{CellOutcome, FlowOutcome, NodeOutcome, Outcome, ReasonCount};
use crate::passage::Passages;
use crate::queued::Queued;
use crate::scenario::{FlowSpec, Scenario};
use crate::stages::CellWatch;
use crate::topology::{self, Topology, TopologyError};
use core::fmt;
use qdelay_core::component::ComponentError;
use qdelay_core::deadlines::Deadlines;
use qdelay_core::{Span, Time};
use qdelay_path::{AuditError, BuildError, CellUsage, Counters, LinkUsage, NodeId, PathError, SliceUsage};
use qdelay_record::Recorder;
use qdelay_traffic::ends::End;
use qdelay_traffic::transport::AnyEnds;

/// Why a run has no outcome.
#[derive(Debug)]
pub enum RunError {
    /// A component cannot be built as asked.
    Component(ComponentError),
    /// The path cannot be built.
    Build(BuildError),
    /// The path refused a call; a fault of the simulator.
    Path(PathError),
    /// A packet was lost or made up; a fault of the simulator.
    Audit(AuditError),
    /// The simulator holds contents of packets that the path no longer knows of.
    Leak {
        /// Packets inside the path.
        inside: u64,
        /// Contents held for them.
        held: u64,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Component(error) => error.fmt(f),
            RunError::Build(error) => error.fmt(f),
            RunError::Path(error) => write!(f, "the path refused a call: {error}"),
            RunError::Audit(error) => write!(f, "the audit failed: {error}"),
            RunError::Leak { inside, held } => {
                write!(
                    f,
                    "the audit failed: {inside} packets are on the path and the contents of {held} are held"
                )
            }
        }
    }
}
impl std::error::Error for RunError {}

impl From<TopologyError> for RunError {
    fn from(error: TopologyError) -> Self {
        match error {
            TopologyError::Component(error) => RunError::Component(error),
            TopologyError::Build(error) => RunError::Build(error),
        }
    }
}
impl From<PathError> for RunError {
    fn from(error: PathError) -> Self {
        RunError::Path(error)
    }
}

/// Runs `scenario` to its end.
///
/// # Errors
/// The scenario cannot be built, or the audit of the path fails.
pub fn run(scenario: &Scenario) -> Result<Outcome, RunError> {
    run_recorded(scenario, &mut ())
}

/// Runs `scenario` to its end, and tells `recorder` of every packet.
///
/// # Errors
/// As [`run`].
pub fn run_recorded<R: Recorder>(scenario: &Scenario, recorder: &mut R) -> Result<Outcome, RunError> {
    let mut simulation = Simulation::new(scenario, recorder)?;
    simulation.advance_in_bins(Time::ZERO, Time::ZERO + scenario.warmup)?;
    simulation.end_warmup();
    simulation.advance_in_bins(Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration)?;
    simulation.outcome()
}

struct Simulation<'a, R> {
    scenario: &'a Scenario,
    topology: Topology,
    meter: Meter<'a, R>,
    flows: Vec<Flow>,
    /// One slot a flow. A deadline here may be early: a flow that has moved its own is asked again when it comes.
    deadlines: Deadlines,
    usage_at_warmup: LinkUsage,
    cell_usage_at_warmup: CellUsage,
    slices_at_warmup: Vec<SliceUsage>,
}

impl<'a, R: Recorder> Simulation<'a, R> {
    fn new(scenario: &'a Scenario, recorder: &'a mut R) -> Result<Self, RunError> {
        let topology = topology::build(scenario)?;
        let seed = scenario.seed;
        let mut flows: Vec<Flow> =
            scenario.flows.iter().enumerate().map(|(i, spec)| Flow::new(i, spec, seed)).collect();
        flows.extend(scenario.probe.iter().map(|probe| Flow::probe(probe, seed)));
        let mut deadlines = Deadlines::new(flows.len());
        for (slot, flow) in flows.iter().enumerate() {
            deadlines.set(slot, flow.start);
        }
        let places = || topology.places.clone();
        let cell =
            scenario.bottleneck.as_cell().map(|cell| Box::new(CellWatch::new(scenario, cell, places())));
        let meter = Meter {
            queue: topology.queue,
            link: topology.link,
            receivers: topology.receivers,
            figures: Figures::new(scenario, &topology.path, &topology.hops),
            cell,
            contents: ContentsStore::default(),
            arrivals: Vec::new(),
            passages: Passages::default(),
            recorder,
        };
        Ok(Simulation {
            scenario,
            topology,
            meter,
            flows,
            deadlines,
            usage_at_warmup: LinkUsage { sent_bytes: 0, offered_bytes: 0 },
            cell_usage_at_warmup: CellUsage::default(),
            slices_at_warmup: Vec::new(),
        })
    }

    /// Runs from `start` to `end`, and closes the bins that end on the way.
    fn advance_in_bins(&mut self, start: Time, end: Time) -> Result<(), RunError> {
        let mut now = start;
        while now < end {
            let Some(closes) = Figures::bin_end(self.scenario, now) else { return self.advance_to(end) };
            now = closes.min(end);
            self.advance_to(now)?;
            if now == closes {
                self.close_bin(now);
            }
        }
        Ok(())
    }

    fn close_bin(&mut self, now: Time) {
        let path = &self.topology.path;
        let queued = match self.meter.cell {
            None => Queued::of(path, core::iter::once(self.topology.queue)),
            Some(_) => Queued::of(path, self.node_queues()),
        };
        let usage = self.link_usage(now.since(Time::ZERO));
        self.meter.figures.close_bin(now, queued, usage);
        let cell_usage = self.cell_usage(now.since(Time::ZERO));
        if let Some(cell) = &mut self.meter.cell {
            let mcs = path.cell(self.topology.link).and_then(|cell| cell.mcs(now));
            cell.close_bin(now, cell_usage, mcs);
        }
        if now <= Time::ZERO + self.scenario.warmup {
            return;
        }
        for flow in &mut self.flows {
            if let Some(smoothed) = flow.ends.smoothed_rtt().filter(|rtt| !rtt.is_zero()) {
                flow.srtts = (flow.srtts.0 + 1, flow.srtts.1 + smoothed);
            }
        }
    }

    /// Runs everything that is due before `end`, and the clock to it.
    fn advance_to(&mut self, end: Time) -> Result<(), RunError> {
        loop {
            let path_due = self.topology.path.next_deadline();
            let flow_due = self.deadlines.next();
            let now = path_due.min(flow_due);
            if now >= end {
                break;
            }
            if path_due <= flow_due {
                self.topology.path.poll(now, &mut self.meter)?;
            } else {
                self.wake_flow(now)?;
            }
            if !self.meter.arrivals.is_empty() {
                self.hand_over_arrivals(now)?;
            }
        }
        self.topology.path.poll(end, &mut self.meter)?;
        self.hand_over_arrivals(end)
    }

    fn end_warmup(&mut self) {
        for flow in &mut self.flows {
            flow.delivered_at_warmup = flow.ends.delivered_bytes();
            flow.ends.end_warmup((Time::ZERO + self.scenario.warmup).min(flow.stop));
        }
        self.usage_at_warmup = self.link_usage(self.scenario.warmup);
        self.cell_usage_at_warmup = self.cell_usage(self.scenario.warmup);
        self.slices_at_warmup = self.slices(self.scenario.warmup);
        self.meter.figures.end_warmup(Time::ZERO + self.scenario.warmup, &self.topology.path);
    }

    /// The queues of the node above a cell.
    fn node_queues(&self) -> impl Iterator<Item = NodeId> {
        let places = self.topology.path.nodes().zip(&self.topology.places);
        places.filter(|(_, place)| place.is_of_node()).map(|(node, _)| node)
    }

    fn slices(&self, at: Span) -> Vec<SliceUsage> {
        self.topology.path.cell_slices(self.topology.link, Time::ZERO + at)
    }

    fn cell_usage(&self, at: Span) -> CellUsage {
        self.topology.path.cell_usage(self.topology.link, Time::ZERO + at).unwrap_or_default()
    }

    fn link_usage(&self, at: Span) -> LinkUsage {
        let usage = self.topology.path.link_usage(self.topology.link, Time::ZERO + at);
        usage.unwrap_or(LinkUsage { sent_bytes: 0, offered_bytes: 0 })
    }

    /// Hands what came out of the path to its flow, which may answer.
    fn hand_over_arrivals(&mut self, now: Time) -> Result<(), RunError> {
        let mut next = 0;
        while let Some(&arrival) = self.meter.arrivals.get(next) {
            next += 1;
            self.arrive(now, arrival)?;
        }
        self.meter.arrivals.clear();
        Ok(())
    }

    #[inline]
    fn arrive(&mut self, now: Time, arrival: Arrival) -> Result<(), RunError> {
        let packet = arrival.packet;
        let contents = *self.meter.contents.get(packet.handle);
        self.meter.contents.free(packet.handle);
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        if arrival.at_receiver
            && let Some(limit) = flow.discard_after
            && now.since(contents.created) > limit
        {
            flow.discarded_late += 1;
            return Ok(());
        }
        if index == self.scenario.flows.len() {
            self.meter.figures.probed(now, contents.created);
        }
        let at = if arrival.at_receiver { End::Far } else { End::Near };
        let (ends, mut carrier, is_stopped) = self.carrier(now, index);
        let deadline = ends.arrive(now, at, &packet, &contents, is_stopped, &mut carrier)?;
        if deadline < self.deadlines.get(index) {
            self.deadlines.set(index, deadline);
        }
        Ok(())
    }

    /// Runs the timers of the flow that is due. From its stop on the near end is gone, and the far end lives on.
    fn wake_flow(&mut self, now: Time) -> Result<(), RunError> {
        let index = self.deadlines.first();
        let (ends, mut carrier, is_stopped) = self.carrier(now, index);
        let deadline = ends.wake(now, is_stopped, &mut carrier)?;
        self.deadlines.set(index, deadline);
        Ok(())
    }

    /// The ends of a flow, who carries their packets, and whether the flow has been stopped.
    #[inline]
    fn carrier(&mut self, now: Time, index: usize) -> (&mut AnyEnds, Carrier<'_, 'a, R>, bool) {
        let Flow { ends, stop, marking, round_trips, .. } = &mut self.flows[index];
        let is_warm = now >= Time::ZERO + self.scenario.warmup;
        let carrier = Carrier {
            now,
            index,
            entries: [self.topology.data_entry[index], self.topology.ack_entry[index]],
            path: &mut self.topology.path,
            meter: &mut self.meter,
            marking,
            round_trips: round_trips.as_deref_mut().filter(|_| is_warm),
        };
        (ends, carrier, now >= *stop)
    }

    /// Audits the path and takes stock.
    fn outcome(mut self) -> Result<Outcome, RunError> {
        self.meter.figures.end(Time::ZERO + self.scenario.duration, &self.topology.path);
        let path = &self.topology.path;
        path.audit().map_err(RunError::Audit)?;
        let inside: u64 = path.nodes().map(|node| path.inside(node).packets).sum();
        let held = self.meter.contents.len() as u64;
        if inside != held {
            return Err(RunError::Leak { inside, held });
        }
        let measured = self.scenario.duration.saturating_sub(self.scenario.warmup).as_secs_f64();
        let end = Time::ZERO + self.scenario.duration;
        let usage = self.link_usage(self.scenario.duration);
        let specs = self.scenario.flows.iter();
        // Whatever is dropped by the cell counts, and by any queue above it.
        let bottleneck: Vec<&Counters> = match self.meter.cell {
            None => path.counters(self.topology.queue).into_iter().collect(),
            Some(_) => self
                .node_queues()
                .chain([self.topology.link])
                .filter_map(|node| path.counters(node))
                .collect(),
        };
        let totals = Totals {
            offered_bytes: usage.offered_bytes - self.usage_at_warmup.offered_bytes,
            sent_bytes: usage.sent_bytes - self.usage_at_warmup.sent_bytes,
            drops: ReasonCount::drops(bottleneck.iter().copied()),
            marks: ReasonCount::marks(bottleneck.iter().copied()),
            flows: specs
                .zip(&self.flows)
                .map(|(spec, flow)| flow_outcome(spec, flow, measured, end))
                .collect(),
            nodes: path.nodes().filter_map(|node| NodeOutcome::of(path, node)).collect(),
            probe_sent: self
                .scenario
                .probe
                .and_then(|_| self.flows.last())
                .map(|probe| probe.ends.figures(end).packets_sent),
        };
        let usage_at_end = self.cell_usage(self.scenario.duration);
        let slices_at_end = self.slices(self.scenario.duration);
        let cell = self.scenario.bottleneck.as_cell().zip(self.meter.cell).map(|(spec, watch)| {
            let usage = cell_usage_between(self.cell_usage_at_warmup, usage_at_end);
            let outcome = watch.finish(spec, usage, Time::ZERO + self.scenario.duration);
            let slices = slice_outcomes(spec.setting.slices(), &self.slices_at_warmup, &slices_at_end);
            Box::new(CellOutcome { slices, ..outcome })
        });
        Ok(Outcome { cell, ..self.meter.figures.finish(self.scenario, totals) })
    }
}

fn flow_outcome(spec: &FlowSpec, flow: &Flow, measured: f64, end: Time) -> FlowOutcome {
    let told = flow.ends.figures(end.min(flow.stop));
    let delivered_bytes = flow.ends.delivered_bytes();
    FlowOutcome {
        transport: spec.typed.clone(),
        goodput_mbps: (delivered_bytes - flow.delivered_at_warmup) as f64 * 8.0 / measured / 1e6,
        delivered_bytes,
        completion_s: told.finished.map(|at| at.since(flow.start).as_secs_f64()),
        packets_sent: told.packets_sent,
        retransmits: told.retransmits,
        packets_lost: 0,
        discarded_late: flow.discarded_late,
        timeouts: told.timeouts,
        undone: told.undone,
        final_cwnd: told.window,
        final_srtt_ms: flow.ends.smoothed_rtt().unwrap_or(Span::ZERO).as_millis_f64(),
        srtt_mean_ms: flow.srtts.1.as_millis_f64() / flow.srtts.0.max(1) as f64,
        round_trip: flow.round_trips.clone(),
        voice: told.voice,
        audio: told.audio,
    }
}
