//! The event loop: the earliest event runs first, the path before the flows.

use crate::contents::ContentsStore;
use crate::flow::{FlowHost, RunningFlow};
use crate::flow_meter::FLOWS_MAX;
use crate::held::Held;
use crate::measurement::Measurement;
use crate::meter::{Arrival, Meter};
use crate::outcome::{FlowOutcome, Outcome};
use crate::packet_timestamps::PacketTimestampStore;
use crate::rates::Bins;
use crate::results::{self, AudioFigures, FlowSeries, StreamFigures, VideoFigures, VoiceFigures, WebFigures};
use crate::scenario::{FlowSpec, Scenario};
use crate::topology::{self, Topology, TopologyError};
use core::fmt;
use qdelay_core::component::{Arguments, ComponentError};
use qdelay_core::deadlines::Deadlines;
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{Span, Time};
use qdelay_path::{AnyLink, AuditError, Count, NodeId, Path, PathError};
use qdelay_record::Recorder;
use qdelay_traffic::ends::End;
use qdelay_traffic::experience::Experience;
use qdelay_traffic::numbering::Numbering;
use qdelay_traffic::transport::AnyEnds;

/// Why a run has no outcome.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// A component or the path of the scenario cannot be built.
    Topology(TopologyError),
    /// The path refused a call; a fault of the simulator.
    Path(PathError),
    /// A packet was lost or made up; a fault of the simulator.
    Audit(AuditError),
    /// The simulator holds contents of packets that are no longer on the path.
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
            RunError::Topology(error) => error.fmt(f),
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
        RunError::Topology(error)
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
    Simulation::new(scenario)?.finish()
}

/// Runs `scenario` to its end, and records every packet in `recorder`.
///
/// # Errors
/// As [`run`].
pub fn run_recorded(scenario: &Scenario, recorder: &mut impl Recorder) -> Result<Outcome, RunError> {
    Simulation::with_recorder(scenario, recorder)?.finish()
}

/// A run that its caller advances to a time, observes, changes, and advances further. The outcome is that of [`run`] for any
/// division into steps.
///
/// ```
/// use qdelay_core::component::Arguments;
/// use qdelay_core::qdisc::{self, AnyQdisc};
/// use qdelay_core::{Rate, Span, Time};
/// use qdelay_path::Line;
/// use qdelay_sim::{Bottleneck, FlowSpec, Scenario, Simulation};
/// use qdelay_traffic::transport::{self, TransportConfig};
///
/// let cubic = TransportConfig::build(&Arguments::parse(transport::COMPONENTS, "cubic").unwrap()).unwrap();
/// let qdisc = Arguments::parse(qdisc::COMPONENTS, "taildrop").unwrap();
/// let bottleneck = Bottleneck::link(qdisc, Line::new(Rate::from_mbps(10.0), 0));
/// let mut scenario = Scenario::new(bottleneck, Span::from_millis(40), Span::from_secs(10));
/// scenario.flows.push(FlowSpec::new("cubic", cubic));
/// let mut simulation = Simulation::new(&scenario).unwrap();
/// simulation.advance_to(Time::ZERO + Span::from_secs(5)).unwrap();
/// let full = simulation.backlog().packets;
/// simulation.replace_qdisc(AnyQdisc::parse("codel").unwrap()).unwrap();
/// simulation.advance_to(Time::ZERO + Span::from_secs(8)).unwrap();
/// assert!(simulation.backlog().packets < full);
/// let outcome = simulation.finish().unwrap();
/// assert_eq!(outcome.flows.len(), 1);
/// ```
pub struct Simulation<'a> {
    scenario: Held<'a>,
    /// The end of the warm-up.
    begin: Time,
    topology: Topology,
    meter: Meter<'a>,
    flows: Vec<RunningFlow>,
    /// One slot per flow. A deadline may be too early if the flow has postponed it; the flow is then asked again.
    deadlines: Deadlines,
}

/// The progress of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowProgress {
    /// Application bytes that its receiver has.
    pub delivered_bytes: u64,
    /// The smoothed round trip time of its sender, where it has one.
    pub smoothed_rtt: Option<Span>,
}

/// Sums at the bottleneck since the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Packets that left the link, with their IP bytes.
    pub left: Count,
    /// Dropped by the queue.
    pub dropped: Count,
    /// Marked by the queue.
    pub marked: Count,
    /// Packets whose delay counts: those that left after the warm-up and are not too small.
    pub measured: u64,
    /// The sum of their delays in the queue, departure less arrival, in nanoseconds.
    pub delay_nanos: u128,
    /// What the link could have carried, in bytes on the link.
    pub offered_bytes: u64,
}

impl<'a> Simulation<'a> {
    /// The run of `scenario` before its first event.
    ///
    /// # Errors
    /// The scenario cannot be built.
    pub fn new(scenario: impl Into<Held<'a>>) -> Result<Self, RunError> {
        Simulation::build(scenario.into(), None)
    }

    /// The run of `scenario` before its first event; `recorder` is notified of every packet.
    ///
    /// # Errors
    /// The scenario cannot be built.
    pub fn with_recorder(
        scenario: impl Into<Held<'a>>,
        recorder: impl Recorder + 'a,
    ) -> Result<Self, RunError> {
        let recorder = recorder.is_on().then(|| Box::new(recorder) as Box<dyn Recorder + 'a>);
        Simulation::build(scenario.into(), recorder)
    }

    fn build(scenario: Held<'a>, recorder: Option<Box<dyn Recorder + 'a>>) -> Result<Self, RunError> {
        let topology = topology::build(&scenario)?;
        let seed = scenario.seed;
        let entries = |index: usize| [topology.data_entry[index], topology.ack_entry[index]];
        let flow = |(index, spec)| RunningFlow::new(index, spec, seed, entries(index));
        let mut flows: Vec<RunningFlow> = scenario.flows.iter().enumerate().map(flow).collect();
        if scenario.connections && scenario.series.is_some() && flows.len() <= FLOWS_MAX {
            flows.iter_mut().for_each(|flow| flow.log = Some(Box::default()));
        }
        let last = flows.len();
        flows.extend(scenario.probe.iter().map(|probe| RunningFlow::probe(probe, seed, entries(last))));
        let mut deadlines = Deadlines::new(flows.len());
        for (slot, flow) in flows.iter().enumerate() {
            deadlines.set(slot, flow.due);
        }
        let meter = Meter {
            measuring: Measurement::new(scenario.clone(), &topology),
            contents: ContentsStore::default(),
            arrivals: Vec::new(),
            fates: Vec::new(),
            timestamps: PacketTimestampStore::default(),
            numberings: match recorder {
                Some(_) => scenario.flows.iter().map(|flow| Numbering::of(&flow.transport)).collect(),
                None => Vec::new(),
            },
            recorder,
        };
        let begin = Time::ZERO + scenario.warmup;
        Ok(Simulation { scenario, begin, topology, meter, flows, deadlines })
    }

    /// Runs every event up to `time`, that time included, or up to the end of the scenario. A time before [`Simulation::now`]
    /// changes nothing.
    ///
    /// # Errors
    /// The path refused a call: a fault of the simulator.
    pub fn advance_to(&mut self, time: Time) -> Result<(), RunError> {
        loop {
            let next = self.meter.measuring.next_sample();
            if next == Time::NEVER {
                return Ok(());
            }
            // Nothing has happened at the very beginning.
            let until = next.min(time);
            if until > self.now() {
                self.run_until(until)?;
            }
            if next > time {
                return Ok(());
            }
            self.sample(next);
        }
    }

    /// Runs to the end of the scenario and returns its outcome.
    ///
    /// # Errors
    /// The audit of the path fails.
    pub fn finish(mut self) -> Result<Outcome, RunError> {
        self.advance_to(Time::NEVER)?;
        self.outcome()
    }

    /// The time up to which everything has happened.
    pub fn now(&self) -> Time {
        self.topology.path.now()
    }
    /// Whether the scenario is over.
    pub fn is_over(&self) -> bool {
        self.meter.measuring.is_over()
    }
    /// The path with its nodes, their counters and disciplines. Its nodes have names: [`Simulation::queue`] is the bottleneck's.
    pub fn path(&self) -> &Path {
        &self.topology.path
    }
    /// The queue of the bottleneck; of a cell, the cell itself.
    pub fn queue(&self) -> NodeId {
        self.topology.queue
    }
    /// The link of the bottleneck, or the cell.
    pub fn link(&self) -> NodeId {
        self.topology.link
    }
    /// Packets and IP bytes in the queue of the bottleneck; of a cell, in its air interface.
    pub fn backlog(&self) -> Count {
        self.topology.path.inside(self.topology.queue)
    }
    /// Every flow of the scenario so far, in its order.
    pub fn flows(&self) -> impl Iterator<Item = FlowProgress> {
        self.flows.iter().take(self.scenario.flows.len()).map(|flow| FlowProgress {
            delivered_bytes: flow.ends.delivered_bytes(),
            smoothed_rtt: flow.ends.smoothed_rtt().filter(|rtt| !rtt.is_zero()),
        })
    }
    /// What the user of the flow of this index has had so far; `None` where nothing is kept of it, or there is no such flow.
    pub fn experience(&self, flow: usize) -> Option<Experience<'_>> {
        let flow = self.flows.get(flow).filter(|_| flow < self.scenario.flows.len())?;
        flow.ends.experience(self.now().min(flow.stop))
    }

    /// Gives the bottleneck another discipline, or the same with other parameters, now. Packets in the old one leave first; none is
    /// dropped.
    ///
    /// # Errors
    /// The bottleneck is a cell, which has several queues.
    pub fn replace_qdisc(&mut self, qdisc: AnyQdisc) -> Result<(), RunError> {
        let (now, queue) = (self.now(), self.topology.queue);
        self.topology.path.replace_queue(now, queue, qdisc, &mut self.meter)?;
        self.hand_over_arrivals(now)
    }
    /// Replaces the link of the bottleneck now. The old link finishes its transmission.
    ///
    /// # Errors
    /// The bottleneck is a cell.
    pub fn replace_link(&mut self, link: AnyLink) -> Result<(), RunError> {
        let (now, node) = (self.now(), self.topology.link);
        self.topology.path.replace_link(now, node, link, &mut self.meter)?;
        self.hand_over_arrivals(now)
    }

    /// Gives the link of the bottleneck the rates of `link`, which has the same until now: the run goes on as if it had had them from the
    /// beginning. Whether it can: only a line whose rate changes can, to another that begins with the run; otherwise it is as before,
    /// and [`Simulation::replace_link`] is left.
    ///
    /// # Errors
    /// The bottleneck is a cell.
    pub fn continue_link(&mut self, link: &AnyLink) -> Result<bool, RunError> {
        let (now, node) = (self.now(), self.topology.link);
        let is_continued = self.topology.path.continue_link(now, node, link, &mut self.meter)?;
        self.hand_over_arrivals(now)?;
        Ok(is_continued)
    }

    /// Gives the discipline of the bottleneck the parameters of `arguments`, now; it keeps its packets and its state. Whether it can:
    /// otherwise it is as before, and [`Simulation::replace_qdisc`] is left.
    ///
    /// # Errors
    /// The bottleneck is a cell, which has several queues; the inner error says what of the parameters cannot be.
    pub fn adjust_qdisc(&mut self, arguments: &Arguments) -> Result<Result<bool, ComponentError>, RunError> {
        let queue = self.topology.queue;
        Ok(self.topology.path.change_queue(queue, |qdisc| qdisc.adjust(arguments))?)
    }

    /// What has happened at the bottleneck so far: differences of two of these are what happened between them.
    pub fn sums(&self) -> Sums {
        let path = &self.topology.path;
        let (measured, delay_nanos) = self.meter.measuring.queue_delays();
        let at = |node| path.counters(node);
        let usage = path.link_usage(self.topology.link, self.now()).unwrap_or_default();
        Sums {
            left: at(self.topology.link).map_or(Count::default(), |counters| counters.forwarded),
            dropped: at(self.topology.queue).map_or(Count::default(), |counters| counters.dropped_total()),
            marked: at(self.topology.queue).map_or(Count::default(), |counters| counters.marked_total()),
            measured,
            delay_nanos,
            offered_bytes: usage.offered_bytes,
        }
    }

    fn sample(&mut self, now: Time) {
        let delivered = self.flows.iter().map(|flow| flow.ends.delivered_bytes());
        let is_bin = self.meter.measuring.sample(now, &self.topology.path, delivered);
        let begin = Time::ZERO + self.scenario.warmup;
        for flow in &mut self.flows {
            if is_bin && let Some(log) = &mut flow.log {
                log.sample(now, flow.ends.connection().filter(|_| now < flow.stop));
            }
            if now == begin {
                flow.ends.end_warmup(begin.min(flow.stop));
            } else if is_bin
                && now > begin
                && let Some(smoothed) = flow.ends.smoothed_rtt().filter(|rtt| !rtt.is_zero())
            {
                flow.srtts = (flow.srtts.0 + 1, flow.srtts.1 + smoothed);
            }
        }
    }

    /// Runs everything that is due before `end`, and the clock to it.
    fn run_until(&mut self, end: Time) -> Result<(), RunError> {
        loop {
            // Of what is due at the same time, the path is first.
            let flow_due = self.deadlines.next();
            if self.topology.path.advance(flow_due.min(end), &mut self.meter)? {
                self.hand_over_arrivals(self.now())?;
            } else if flow_due < end {
                self.wake_flow(flow_due)?;
                if !self.meter.arrivals.is_empty() {
                    self.hand_over_arrivals(flow_due)?;
                }
            } else {
                return Ok(());
            }
        }
    }

    /// Passes delivered packets to their flows, which may answer.
    fn hand_over_arrivals(&mut self, now: Time) -> Result<(), RunError> {
        let mut next = 0;
        while let Some(&arrival) = self.meter.arrivals.get(next) {
            next += 1;
            if !self.meter.fates.is_empty() {
                self.hand_over_fates();
            }
            self.arrive(now, arrival)?;
        }
        self.meter.arrivals.clear();
        Ok(())
    }

    /// Tells flows that keep something for their packets which of these are gone or doubled. A copy is known before it arrives.
    #[inline(never)]
    fn hand_over_fates(&mut self) {
        for fate in self.meter.fates.drain(..) {
            let ends = &mut self.flows[fate.flow as usize].ends;
            if fate.is_doubled { ends.doubled(&fate.contents) } else { ends.lost(&fate.contents) }
        }
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
            if flow.kept != 0 {
                flow.ends.lost(&contents);
            }
            return Ok(());
        }
        let at = if arrival.at_receiver { End::Far } else { End::Near };
        let (ends, mut carrier, is_stopped) = self.carrier(now, index);
        let deadline = ends.arrive(now, at, &packet, &contents, is_stopped, &mut carrier)?;
        if deadline < self.flows[index].due {
            self.flows[index].due = deadline;
            self.deadlines.set(index, deadline);
        }
        Ok(())
    }

    /// Runs the timers of the flow that is due. From its stop on the near end is gone, and the far end lives on.
    fn wake_flow(&mut self, now: Time) -> Result<(), RunError> {
        if !self.meter.fates.is_empty() {
            self.hand_over_fates();
        }
        let index = self.deadlines.first();
        let (ends, mut carrier, is_stopped) = self.carrier(now, index);
        let deadline = ends.wake(now, is_stopped, &mut carrier)?;
        self.flows[index].due = deadline;
        self.deadlines.set(index, deadline);
        Ok(())
    }

    /// The ends of a flow, the host of their packets, and whether the flow has been stopped.
    #[inline]
    fn carrier(&mut self, now: Time, index: usize) -> (&mut AnyEnds, FlowHost<'_, 'a>, bool) {
        let RunningFlow { ends, stop, marking, round_trips, entries, kept, .. } = &mut self.flows[index];
        let begin = self.begin;
        let carrier = FlowHost {
            now,
            index,
            entries: *entries,
            kept: *kept,
            path: &mut self.topology.path,
            meter: &mut self.meter,
            marking,
            round_trips: round_trips.as_deref_mut().filter(|_| now >= begin),
        };
        (ends, carrier, now >= *stop)
    }

    /// Audits the path and takes stock.
    fn outcome(self) -> Result<Outcome, RunError> {
        let path = &self.topology.path;
        path.audit().map_err(RunError::Audit)?;
        let inside: u64 = path.nodes().map(|node| path.inside(node).packets).sum();
        let held = self.meter.contents.len() as u64;
        if inside != held {
            return Err(RunError::Leak { inside, held });
        }
        let end = Time::ZERO + self.scenario.duration;
        let flows = self.scenario.flows.iter().zip(&self.flows);
        let probe = self.scenario.probe.and_then(|_| self.flows.last());
        let probe_sent = probe.map(|probe| probe.ends.figures(end).packets_sent);
        let series = self.scenario.series.filter(|_| self.scenario.flows.len() <= FLOWS_MAX);
        let bins = series.map(|width| Bins { width, end });
        let flows = flows.map(|(spec, flow)| flow_outcome(spec, flow, end, bins)).collect();
        Ok(self.meter.measuring.finish(flows, probe_sent))
    }
}

fn flow_outcome(spec: &FlowSpec, flow: &RunningFlow, end: Time, bins: Option<Bins>) -> FlowOutcome {
    let end = end.min(flow.stop);
    let told = flow.ends.figures(end);
    let figures = results::FlowFigures {
        delivered_bytes: flow.ends.delivered_bytes(),
        bytes: spec.transport.bytes(),
        completion_s: told.finished.map(|at| at.since(flow.start).as_secs_f64()),
        packets_sent: told.packets_sent,
        retransmits: told.retransmits,
        discarded_late: spec.discard_after.map(|_| flow.discarded_late),
        timeouts: told.timeouts,
        undone: told.undone,
        probes: told.probes,
        duplicates: told.duplicates,
        final_cwnd: told.window,
        final_srtt_ms: flow.ends.smoothed_rtt().unwrap_or(Span::ZERO).as_millis_f64(),
        srtt_mean_ms: flow.srtts.1.as_millis_f64() / flow.srtts.0.max(1) as f64,
        voice: told.voice.as_ref().map(VoiceFigures::of),
        audio: told.audio.as_ref().map(AudioFigures::of),
        stream: told.stream.as_ref().map(StreamFigures::of),
        web: told.web.as_ref().map(WebFigures::of),
        video: told.video.as_ref().map(VideoFigures::of),
        ..results::FlowFigures::default()
    };
    let user = bins.and_then(|bins| Some(FlowSeries::of(&flow.ends.experience(end)?, end, bins)));
    let connection = flow.log.as_ref().and_then(|log| log.series()).cloned();
    let is_any = user.is_some() || connection.is_some();
    let over_time = is_any.then(|| Box::new(FlowSeries { connection, ..user.unwrap_or_default() }));
    FlowOutcome { flow: figures, round_trips: flow.round_trips.clone(), over_time }
}
