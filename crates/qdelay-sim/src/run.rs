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
use crate::scenario::FlowSpec;
use crate::set_meter::SetMeter;
use crate::topology::{self, Topology, TopologyError};
use core::fmt;
use qdelay_core::deadlines::Deadlines;
use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{Span, Time};
use qdelay_path::{AnyLink, AuditError, PathError};
use qdelay_record::Recorder;
use qdelay_traffic::ends::End;
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

/// A run between two of its events. A recorder is passed to the calls that let time pass, as a trait object: path and flows are compiled
/// once for all recorders.
pub struct Run<'a> {
    pub scenario: Held<'a>,
    /// The end of the warm-up.
    begin: Time,
    pub topology: Topology,
    pub meter: Meter<'a>,
    pub flows: Vec<RunningFlow>,
    /// One slot per flow. A deadline may be too early if the flow has postponed it; the flow is then asked again.
    deadlines: Deadlines,
}

impl<'a> Run<'a> {
    /// The run of `scenario` before its first event. With `is_recording` each packet that ends makes a record.
    ///
    /// # Errors
    /// The scenario cannot be built.
    pub fn new(scenario: Held<'a>, is_recording: bool) -> Result<Self, RunError> {
        let topology = topology::build(&scenario)?;
        let seed = scenario.seed;
        let entries = |index: usize| [topology.data_entry[index], topology.ack_entry[index]];
        let flow = |(index, spec)| RunningFlow::new(index, spec, seed, entries(index));
        let mut flows: Vec<RunningFlow> = scenario.flows.iter().enumerate().map(flow).collect();
        if scenario.connections && scenario.series.is_some() && flows.len() <= FLOWS_MAX {
            flows.iter_mut().for_each(|flow| flow.log = Some(Box::default()));
        }
        // The probe is the flow after the last, as on the path of `topology`.
        let last = flows.len();
        flows.extend(scenario.probe.iter().map(|probe| RunningFlow::probe(probe, seed, entries(last))));
        let mut deadlines = Deadlines::new(flows.len());
        for (slot, flow) in flows.iter().enumerate() {
            deadlines.set(slot, flow.due);
        }
        let meter = Meter {
            measuring: Measurement::new(scenario.clone(), &topology),
            contents: ContentsStore::default(),
            sets: SetMeter::new(&scenario, &topology),
            arrivals: Vec::new(),
            fates: Vec::new(),
            timestamps: PacketTimestampStore::default(),
            is_recording,
            records: Vec::new(),
            numberings: if is_recording {
                scenario.flows.iter().map(|flow| Numbering::for_transport(&flow.transport)).collect()
            } else {
                Vec::new()
            },
        };
        let begin = Time::ZERO + scenario.warmup;
        Ok(Run { scenario, begin, topology, meter, flows, deadlines })
    }

    /// Runs every event up to `time`, that time included, or up to the end of the scenario. A time before [`Run::now`] changes nothing.
    ///
    /// # Errors
    /// The path refused a call: a fault of the simulator.
    pub fn advance_to(&mut self, time: Time, recorder: &mut dyn Recorder) -> Result<(), RunError> {
        loop {
            let next = self.meter.measuring.next_sample();
            if next == Time::NEVER {
                return Ok(());
            }
            // Nothing has happened at the very beginning.
            let until = next.min(time);
            if until > self.now() {
                self.run_until(until, recorder)?;
            }
            if next > time {
                return Ok(());
            }
            self.sample(next);
        }
    }

    /// The time up to which everything has happened.
    pub fn now(&self) -> Time {
        self.topology.path.now()
    }

    /// Replaces the discipline of the bottleneck now.
    ///
    /// # Errors
    /// The bottleneck is a cell.
    pub fn replace_qdisc(&mut self, qdisc: AnyQdisc, recorder: &mut dyn Recorder) -> Result<(), RunError> {
        let (now, queue) = (self.now(), self.topology.queue);
        self.topology.path.replace_queue(now, queue, qdisc, &mut self.meter)?;
        self.settle(now, recorder)
    }

    /// Replaces the link of the bottleneck now.
    ///
    /// # Errors
    /// The bottleneck is a cell.
    pub fn replace_link(&mut self, link: AnyLink, recorder: &mut dyn Recorder) -> Result<(), RunError> {
        let (now, node) = (self.now(), self.topology.link);
        self.topology.path.replace_link(now, node, link, &mut self.meter)?;
        self.settle(now, recorder)
    }

    /// Gives the link of the bottleneck the rates of `link`; returns whether it can.
    ///
    /// # Errors
    /// The bottleneck is a cell.
    pub fn continue_link(&mut self, link: &AnyLink, recorder: &mut dyn Recorder) -> Result<bool, RunError> {
        let (now, node) = (self.now(), self.topology.link);
        let is_continued = self.topology.path.continue_link(now, node, link, &mut self.meter)?;
        self.settle(now, recorder)?;
        Ok(is_continued)
    }

    /// Passes on packets that a change of the path at `now` has delivered or dropped.
    fn settle(&mut self, now: Time, recorder: &mut dyn Recorder) -> Result<(), RunError> {
        self.hand_over_arrivals(now, recorder)?;
        self.hand_over_records(recorder);
        Ok(())
    }

    fn sample(&mut self, now: Time) {
        debug_assert_eq!(now, self.now(), "the path is sampled at its own time");
        debug_assert!(
            self.meter.arrivals.is_empty(),
            "packets wait for their flows while the path is sampled"
        );
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
    fn run_until(&mut self, end: Time, recorder: &mut dyn Recorder) -> Result<(), RunError> {
        debug_assert!(self.now() <= end, "time runs backwards");
        loop {
            // Of what is due at the same time, the path is first.
            let flow_due = self.deadlines.next();
            if self.topology.path.advance(flow_due.min(end), &mut self.meter)? {
                self.hand_over_arrivals(self.now(), recorder)?;
            } else if flow_due < end {
                self.wake_flow(flow_due, recorder)?;
                if !self.meter.arrivals.is_empty() {
                    self.hand_over_arrivals(flow_due, recorder)?;
                }
            } else {
                self.hand_over_records(recorder);
                return Ok(());
            }
        }
    }

    /// Passes delivered packets to their flows, which may answer.
    fn hand_over_arrivals(&mut self, now: Time, recorder: &mut dyn Recorder) -> Result<(), RunError> {
        let mut next = 0;
        while let Some(&arrival) = self.meter.arrivals.get(next) {
            next += 1;
            self.hand_over_reports(recorder);
            self.arrive(now, arrival)?;
        }
        self.meter.arrivals.clear();
        Ok(())
    }

    /// Passes on what the path has reported of packets that ended or were doubled: before each event of a flow, so that a copy is known
    /// before it arrives, and that records take little memory.
    #[inline]
    fn hand_over_reports(&mut self, recorder: &mut dyn Recorder) {
        if !self.meter.fates.is_empty() {
            self.hand_over_fates();
        }
        if !self.meter.records.is_empty() {
            self.hand_over_records(recorder);
        }
    }

    /// Tells flows that keep something for their packets which of these are gone or doubled.
    #[inline(never)]
    fn hand_over_fates(&mut self) {
        for fate in self.meter.fates.drain(..) {
            let ends = &mut self.flows[fate.flow as usize].ends;
            if fate.is_doubled { ends.doubled(&fate.contents) } else { ends.lost(&fate.contents) }
        }
    }

    /// Passes records of packets that have ended to `recorder`, in the order in which they ended.
    #[inline(never)]
    fn hand_over_records(&mut self, recorder: &mut dyn Recorder) {
        self.meter.records.iter().for_each(|record| recorder.packet(record));
        self.meter.records.clear();
    }

    #[inline]
    fn arrive(&mut self, now: Time, arrival: Arrival) -> Result<(), RunError> {
        let packet = arrival.packet;
        let contents = *self.meter.contents.get(packet.handle);
        debug_assert!(contents.created <= now, "a packet arrives before it was sent");
        self.meter.contents.free(packet.handle);
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        // A receiver that discards by age has no use for the packet: ends that keep state for their packets count it as lost.
        if arrival.at_receiver
            && let Some(limit) = flow.discard_delay
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
    fn wake_flow(&mut self, now: Time, recorder: &mut dyn Recorder) -> Result<(), RunError> {
        self.hand_over_reports(recorder);
        let index = self.deadlines.first();
        // A flow may be asked too early, never too late: its timers would run in the past.
        debug_assert!(self.flows[index].due >= self.now() && now >= self.now());
        let (ends, mut carrier, is_stopped) = self.carrier(now, index);
        let deadline = ends.wake(now, is_stopped, &mut carrier)?;
        debug_assert!(deadline >= now, "a flow asks for a time in the past");
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

    /// The outcome of a run that is over.
    ///
    /// # Errors
    /// The audit of the path fails.
    pub fn outcome(self) -> Result<Outcome, RunError> {
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
        let mut outcome = self.meter.measuring.finish(flows, probe_sent);
        if let Some(sets) = self.meter.sets {
            sets.finish(&self.scenario, end.since(self.begin), &mut outcome);
        }
        Ok(outcome)
    }
}

fn flow_outcome(spec: &FlowSpec, flow: &RunningFlow, end: Time, bins: Option<Bins>) -> FlowOutcome {
    // A flow that stops early is measured up to its stop: later it has no sender.
    let end = end.min(flow.stop);
    let ended = flow.ends.figures(end);
    let figures = results::FlowFigures {
        delivered_bytes: flow.ends.delivered_bytes(),
        bytes: spec.transport.bytes(),
        completion_s: ended.finished.map(|at| at.since(flow.start).as_secs_f64()),
        packets_sent: ended.packets_sent,
        retransmits: ended.retransmits,
        discarded_late: spec.discard_delay.map(|_| flow.discarded_late),
        timeouts: ended.timeouts,
        undone: ended.undone,
        probes: ended.probes,
        duplicates: ended.duplicates,
        final_cwnd: ended.window,
        final_srtt_ms: flow.ends.smoothed_rtt().unwrap_or(Span::ZERO).as_millis_f64(),
        srtt_mean_ms: flow.srtts.1.as_millis_f64() / flow.srtts.0.max(1) as f64,
        voice: ended.voice.as_ref().map(VoiceFigures::from_outcome),
        audio: ended.audio.as_ref().map(AudioFigures::from_outcome),
        stream: ended.stream.as_ref().map(StreamFigures::from_outcome),
        web: ended.web.as_ref().map(WebFigures::from_outcome),
        video: ended.video.as_ref().map(VideoFigures::from_outcome),
        ..results::FlowFigures::default()
    };
    let user =
        bins.and_then(|bins| Some(FlowSeries::from_experience(&flow.ends.experience(end)?, end, bins)));
    let connection = flow.log.as_ref().and_then(|log| log.series()).cloned();
    let is_any = user.is_some() || connection.is_some();
    let over_time = is_any.then(|| Box::new(FlowSeries { connection, ..user.unwrap_or_default() }));
    FlowOutcome { flow: figures, round_trips: flow.round_trips.clone(), over_time }
}
