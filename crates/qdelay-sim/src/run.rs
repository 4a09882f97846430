//! The event loop: whoever is due first runs, the path before the flows.

use crate::cell::{cell_usage_between, slice_outcomes};
use crate::contents::{Contents, ContentsStore};
use crate::controlled::Outgoing;
use crate::figures::{Figures, Totals};
use crate::flow::{Datagrams, Ends, Flow, UDP_HEADERS};
use crate::measure::{ACKNOWLEDGEMENT, Arrival, Meter};
use crate::outcome::{CellOutcome, FlowOutcome, NodeOutcome, Outcome, ReasonCount, VoiceOutcome};
use crate::passage::Passages;
use crate::queued::Queued;
use crate::scenario::{FlowSpec, Scenario};
use crate::stages::CellWatch;
use crate::topology::{self, Topology, TopologyError};
use core::fmt;
use qdelay_core::component::ComponentError;
use qdelay_core::deadlines::Deadlines;
use qdelay_core::{Ecn, Packet, Span, Time};
use qdelay_path::{AuditError, BuildError, CellUsage, Counters, LinkUsage, NodeId, PathError, SliceUsage};
use qdelay_record::Recorder;
use qdelay_traffic::segment::Segment;
use qdelay_traffic::tfrc::HEADER_BYTES;

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
    /// Segments of the call that is being handled.
    out: Vec<Segment>,
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
            out: Vec::new(),
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
            let smoothed = match &flow.ends {
                Ends::Tcp { sender, .. } => sender.sender().rtt().smoothed(),
                Ends::Controlled(ends) => ends.control().rtt(),
                Ends::Udp(_) => continue,
            };
            if !smoothed.is_zero() {
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
            flow.delivered_at_warmup = flow.delivered_bytes;
            match &mut flow.ends {
                Ends::Udp(Datagrams { source, listener: Some(listener), .. }) => {
                    listener.playout.restart(source.sent());
                }
                Ends::Controlled(ends) => {
                    ends.end_warmup((Time::ZERO + self.scenario.warmup).min(flow.stop));
                }
                _ => {}
            }
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
        let contents = self.meter.contents.get(packet.handle);
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        if arrival.at_receiver
            && let Some(limit) = flow.discard_after
            && now.since(contents.created) > limit
        {
            flow.discarded_late += 1;
            self.meter.contents.free(packet.handle);
            return Ok(());
        }
        let deadline = match &mut flow.ends {
            Ends::Controlled(_) => {
                let contents = *contents;
                self.meter.contents.free(packet.handle);
                return self.arrive_controlled(now, arrival, &contents);
            }
            Ends::Udp(datagrams) if arrival.at_receiver => {
                let contents = *contents;
                flow.delivered_bytes += u64::from(packet.bytes.saturating_sub(UDP_HEADERS));
                if let Some(listener) = &mut datagrams.listener {
                    listener.playout.arrived(contents.number, contents.created, now);
                }
                let is_sent_back = datagrams.echo.is_some();
                if index == self.scenario.flows.len() {
                    self.meter.figures.probed(now, contents.created);
                }
                self.meter.contents.free(packet.handle);
                return if is_sent_back { self.echo(now, &packet, contents) } else { Ok(()) };
            }
            Ends::Udp(datagrams) => {
                if let Some(round_trips) = &mut datagrams.echo
                    && now >= Time::ZERO + self.scenario.warmup
                {
                    round_trips.record(now.since(contents.created));
                }
                self.meter.contents.free(packet.handle);
                return Ok(());
            }
            Ends::Tcp { .. } if !arrival.at_receiver && now >= flow.stop => {
                self.meter.contents.free(packet.handle);
                return Ok(());
            }
            Ends::Tcp { sender, receiver, bytes } => {
                let end = if arrival.at_receiver { receiver } else { sender };
                end.on_segment(now, &contents.segment, packet.ecn, &mut self.out);
                if arrival.at_receiver {
                    flow.delivered_bytes = end.bytes_received();
                    self.meter.figures.in_order(now, index, flow.delivered_bytes);
                    if flow.finished.is_none() && bytes.is_some_and(|all| flow.delivered_bytes >= all) {
                        flow.finished = Some(now);
                    }
                }
                end.next_deadline()
            }
        };
        self.meter.contents.free(packet.handle);
        if deadline < self.deadlines.get(index) {
            self.deadlines.set(index, deadline);
        }
        self.send(now, index, !arrival.at_receiver)
    }

    /// Data or a report of a flow that TFRC controls.
    fn arrive_controlled(
        &mut self,
        now: Time,
        arrival: Arrival,
        contents: &Contents,
    ) -> Result<(), RunError> {
        let packet = arrival.packet;
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        let Ends::Controlled(ends) = &mut flow.ends else { return Ok(()) };
        let mut report = None;
        if arrival.at_receiver {
            flow.delivered_bytes += u64::from(packet.bytes.saturating_sub(HEADER_BYTES));
            report = ends.on_data(now, contents, packet.bytes, packet.ecn == Ecn::Ce);
        } else if now < flow.stop {
            ends.on_report(now, contents.number);
        }
        let deadline = if now < flow.stop { ends.next_deadline() } else { ends.receiver_deadline() };
        if deadline < self.deadlines.get(index) {
            self.deadlines.set(index, deadline);
        }
        self.send_report(now, index, report)
    }

    /// Runs the timers of the flow that is due.
    fn wake_flow(&mut self, now: Time) -> Result<(), RunError> {
        let index = self.deadlines.first();
        let flow = &mut self.flows[index];
        if now >= flow.stop {
            return self.wake_stopped(now, index);
        }
        match &mut flow.ends {
            Ends::Udp(Datagrams { source, .. }) => {
                let number = source.sent();
                let bytes = source.poll(now);
                let next = source.next_deadline();
                self.deadlines.set(index, next);
                match bytes {
                    Some(bytes) => self.send_datagram(now, index, bytes, number),
                    None => Ok(()),
                }
            }
            Ends::Controlled(ends) => {
                let outgoing = ends.poll(now, || flow.marking.draw());
                let report = ends.poll_receiver(now);
                self.deadlines.set(index, ends.next_deadline());
                if let Some(outgoing) = outgoing {
                    self.send_controlled(now, index, outgoing)?;
                }
                self.send_report(now, index, report)
            }
            Ends::Tcp { sender, bytes, .. } => {
                if !flow.started {
                    flow.started = true;
                    sender.connect(now, &mut self.out);
                    sender.write(now, Flow::wanted(*bytes), &mut self.out);
                    if bytes.is_some() {
                        sender.close(now, &mut self.out);
                    }
                }
                sender.on_deadline(now, &mut self.out);
                self.send(now, index, true)?;
                self.wake_receiver(now, index)
            }
        }
    }

    /// A flow whose sender is gone: as of a program that was killed, nothing more comes of it. Its receiver lives on.
    fn wake_stopped(&mut self, now: Time, index: usize) -> Result<(), RunError> {
        match &mut self.flows[index].ends {
            Ends::Udp(_) => {
                self.deadlines.set(index, Time::NEVER);
                Ok(())
            }
            Ends::Tcp { receiver, .. } => {
                receiver.on_deadline(now, &mut self.out);
                self.deadlines.set(index, receiver.next_deadline());
                self.send(now, index, false)
            }
            Ends::Controlled(ends) => {
                let report = ends.poll_receiver(now);
                self.deadlines.set(index, ends.receiver_deadline());
                self.send_report(now, index, report)
            }
        }
    }

    /// Runs the timers of a flow's receiving end, and takes note of when either end wants to be called again.
    fn wake_receiver(&mut self, now: Time, index: usize) -> Result<(), RunError> {
        let Ends::Tcp { sender, receiver, .. } = &mut self.flows[index].ends else { return Ok(()) };
        receiver.on_deadline(now, &mut self.out);
        self.deadlines.set(index, sender.next_deadline().min(receiver.next_deadline()));
        self.send(now, index, false)
    }

    /// Puts the segments of `out`, if any, on the path.
    #[inline]
    fn send(&mut self, now: Time, index: usize, from_sender: bool) -> Result<(), RunError> {
        if self.out.is_empty() {
            return Ok(());
        }
        self.send_segments(now, index, from_sender)
    }

    fn send_segments(&mut self, now: Time, index: usize, from_sender: bool) -> Result<(), RunError> {
        let entries = if from_sender { &self.topology.data_entry } else { &self.topology.ack_entry };
        let entry = entries[index];
        let flow = &mut self.flows[index];
        let Ends::Tcp { sender, receiver, .. } = &flow.ends else { return Ok(()) };
        let end = if from_sender { sender } else { receiver };
        let direction = if from_sender { 0 } else { ACKNOWLEDGEMENT };
        for segment in self.out.drain(..) {
            if from_sender && segment.len > 0 {
                self.meter.figures.sent(now, index, end.data_end(&segment));
            }
            let handle = self.meter.contents.put(Contents { segment, created: now, number: 0 });
            self.meter.begin(handle);
            let packet = Packet {
                handle: handle | direction,
                arrival: now,
                bytes: segment.ip_bytes(),
                flow: index as u32,
                class: 0,
                dscp: if from_sender { flow.marking.data() } else { flow.marking.dscp },
                ecn: end.ecn(&segment),
            };
            self.topology.path.ingress(now, entry, packet, &mut self.meter)?;
        }
        Ok(())
    }

    fn send_datagram(&mut self, now: Time, index: usize, bytes: u32, number: u64) -> Result<(), RunError> {
        let handle = self.meter.contents.put(Contents { created: now, number, ..Contents::default() });
        self.meter.begin(handle);
        let packet = Packet {
            handle,
            arrival: now,
            bytes,
            flow: index as u32,
            dscp: self.flows[index].marking.data(),
            ecn: Ecn::NotEct,
            ..Packet::default()
        };
        self.topology.path.ingress(now, self.topology.data_entry[index], packet, &mut self.meter)?;
        Ok(())
    }

    fn send_controlled(&mut self, now: Time, index: usize, outgoing: Outgoing) -> Result<(), RunError> {
        let handle = self.meter.contents.put(outgoing.contents);
        self.meter.begin(handle);
        let packet = Packet {
            handle,
            arrival: now,
            bytes: outgoing.bytes,
            flow: index as u32,
            dscp: self.flows[index].marking.of(outgoing.is_other),
            ecn: outgoing.ecn,
            ..Packet::default()
        };
        self.topology.path.ingress(now, self.topology.data_entry[index], packet, &mut self.meter)?;
        Ok(())
    }

    /// Sends TFRC's report of this number, if there is one.
    fn send_report(&mut self, now: Time, index: usize, number: Option<u64>) -> Result<(), RunError> {
        let flow = &self.flows[index];
        let (Some(number), Ends::Controlled(ends)) = (number, &flow.ends) else { return Ok(()) };
        let handle = self.meter.contents.put(Contents { created: now, number, ..Contents::default() });
        self.meter.begin(handle);
        let packet = Packet {
            handle: handle | ACKNOWLEDGEMENT,
            arrival: now,
            bytes: ends.report_bytes(),
            flow: index as u32,
            dscp: flow.marking.dscp,
            ecn: Ecn::NotEct,
            ..Packet::default()
        };
        self.topology.path.ingress(now, self.topology.ack_entry[index], packet, &mut self.meter)?;
        Ok(())
    }

    /// Sends a datagram back as it came.
    fn echo(&mut self, now: Time, packet: &Packet, contents: Contents) -> Result<(), RunError> {
        let handle = self.meter.contents.put(contents);
        self.meter.begin(handle);
        let entry = self.topology.ack_entry[packet.flow as usize];
        let dscp = self.flows[packet.flow as usize].marking.dscp;
        let back = Packet { handle: handle | ACKNOWLEDGEMENT, arrival: now, class: 0, dscp, ..*packet };
        self.topology.path.ingress(now, entry, back, &mut self.meter)?;
        Ok(())
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
            probe_sent: self.scenario.probe.and_then(|_| self.flows.last()).map(datagrams),
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

/// A packet of a call that takes longer is too late for any listener.
const UNDECIDED: Span = Span::from_secs(1);

fn datagrams(flow: &Flow) -> u64 {
    match &flow.ends {
        Ends::Udp(Datagrams { source, .. }) => source.sent(),
        Ends::Controlled(ends) => ends.sent(),
        Ends::Tcp { .. } => 0,
    }
}

fn flow_outcome(spec: &FlowSpec, flow: &Flow, measured: f64, end: Time) -> FlowOutcome {
    let delivered = flow.delivered_bytes - flow.delivered_at_warmup;
    let mut outcome = FlowOutcome {
        transport: spec.typed.clone(),
        goodput_mbps: delivered as f64 * 8.0 / measured / 1e6,
        delivered_bytes: flow.delivered_bytes,
        completion_s: flow.finished.map(|at| at.since(flow.start).as_secs_f64()),
        packets_sent: datagrams(flow),
        discarded_late: flow.discarded_late,
        ..FlowOutcome::default()
    };
    let srtt_mean_ms = flow.srtts.1.as_millis_f64() / flow.srtts.0.max(1) as f64;
    if let Ends::Controlled(ends) = &flow.ends {
        outcome.timeouts = ends.control().expirations();
        outcome.final_srtt_ms = ends.control().rtt().as_millis_f64();
        outcome.srtt_mean_ms = srtt_mean_ms;
        outcome.audio = ends.audio_outcome(end.min(flow.stop));
    }
    if let Ends::Udp(Datagrams { source, echo, listener }) = &flow.ends {
        outcome.round_trip = echo.clone();
        outcome.voice = listener.as_ref().and_then(|listener| {
            // Of packets that were sent at the very end nobody can say whether they would have been heard.
            let undecided = UNDECIDED.as_nanos() / listener.call.interval.as_nanos().max(1);
            let heard = listener.playout.heard(source.sent().saturating_sub(undecided));
            (heard.sent > 0).then(|| VoiceOutcome { heard, quality: listener.call.quality(&heard) })
        });
    }
    if let Ends::Tcp { sender, .. } = &flow.ends {
        let counts = sender.sender().counts();
        outcome.packets_sent = counts.segments_sent;
        outcome.retransmits = counts.retransmits;
        outcome.timeouts = counts.timeouts;
        outcome.undone = counts.undone;
        outcome.final_cwnd = sender.sender().window().cwnd;
        outcome.final_srtt_ms = sender.sender().rtt().smoothed().as_millis_f64();
        outcome.srtt_mean_ms = srtt_mean_ms;
    }
    outcome
}
