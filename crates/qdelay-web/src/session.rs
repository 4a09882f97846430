//! Cases of a scenario that are played beside each other: advanced together, observed, and steered while they run.

use crate::feel::{self, Feeling};
use crate::watch::{Column, Recording};
use qdelay_core::component::Arguments;
use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{Span, Time};
use qdelay_path::{AnyLink, LinkModel, NodeId};
use qdelay_record::jain_index;
use qdelay_sim::{Bottleneck, RunError, Simulation, Sums};
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_study::{figures, results};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Percentiles of a curve drawn during a run.
const PERCENTS: [f64; 61] = percents();
/// Rates of flows are means over this many bins.
const RECENT_BINS: usize = 20;
/// Name of a scenario without a file, in errors.
pub const NAME: &str = "scenario.toml";

const fn percents() -> [f64; 61] {
    let mut percents = [0.0; 61];
    let mut at = 0;
    // Even percentiles from 0 to 96, then in shrinking steps to the maximum.
    while at < 49 {
        percents[at] = at as f64 * 2.0;
        at += 1;
    }
    let last = [97.0, 98.0, 98.5, 99.0, 99.3, 99.5, 99.7, 99.8, 99.9, 99.95, 99.99, 100.0];
    let mut i = 0;
    while i < last.len() {
        percents[at] = last[i];
        at += 1;
        i += 1;
    }
    percents
}

/// Case that is played.
pub struct Side {
    case: Case,
    labels: BTreeMap<String, String>,
    /// `None` after the end.
    simulation: Option<Simulation<'static, Recording>>,
    /// Recording of a finished run; empty before.
    kept: Recording,
    bin: Span,
    /// Number of finished bins.
    closed: usize,
    last: Sums,
    /// Nodes whose packets are the queue.
    queues: Vec<NodeId>,
    /// Current discipline.
    qdisc: Option<Arguments>,
    /// Link from the beginning of the run on, for its capacity.
    link: Option<AnyLink>,
    /// Bytes of each flow at the ends of the last bins, the oldest first.
    delivered: Vec<Vec<u64>>,
    /// Start of the counts for the page: the start of the run, or the last restart of the figures.
    since: (Time, Sums),
}

/// Flow of a side, as named by the page.
#[derive(Clone, Debug, Serialize)]
pub struct FlowDescription {
    /// Name of the flow.
    pub name: String,
    /// Index of the flow's group.
    pub group: usize,
    /// Transport, as typed.
    pub transport: String,
}

/// Description of a side.
#[derive(Clone, Debug, Serialize)]
pub struct SideDescription {
    /// Identifier of the case.
    pub id: String,
    /// Point on each axis.
    pub labels: BTreeMap<String, String>,
    /// Flows of the side.
    pub flows: Vec<FlowDescription>,
    /// Groups by their numbers.
    pub groups: Vec<String>,
    /// Duration of the run, s.
    pub duration_s: f64,
    /// True for a cell as the bottleneck, whose link and queues cannot be replaced.
    pub is_cell: bool,
    /// Discipline as typed; empty for a cell.
    pub qdisc: String,
    /// Round-trip time without queues, ms.
    pub rtt_ms: f64,
}

/// Figures of a side so far.
#[derive(Clone, Debug, Serialize)]
pub struct Progress {
    /// Time of the run, s.
    pub now_s: f64,
    /// Start of the counts, s.
    pub since_s: f64,
    /// The run has ended.
    pub is_over: bool,
    /// IP packets that left the link, Mbit/s.
    pub throughput_mbps: f64,
    /// Capacity of the link, Mbit/s.
    pub capacity_mbps: f64,
    /// Queue delays: count, mean, percentiles and maximum, ms.
    pub delay: results::DelaySummary,
    /// Queue delays at [`Progress::percents`], ms.
    pub curve_ms: Vec<f64>,
    /// Percentiles of the curve.
    pub percents: Vec<f64>,
    /// Queue delays of each group.
    pub groups: Vec<results::DelaySummary>,
    /// Packets in the queue.
    pub backlog_packets: u64,
    /// Drops by reason.
    pub drops: BTreeMap<&'static str, u64>,
    /// Packets marked by the queue.
    pub marked: u64,
    /// Application bytes of each flow over the last bins, Mbit/s.
    pub flows_mbps: Vec<f64>,
    /// Jain's index over the greedy flows.
    pub fairness: Option<f64>,
    /// Experience of users, by the index of the flow.
    pub feelings: Vec<(usize, Feeling)>,
}

impl Side {
    fn new(study: &Study, case: Case, bin: Span) -> Result<Side, String> {
        let scenario = Arc::new(case.scenario.clone());
        let flows: Vec<(usize, bool)> =
            scenario.flows.iter().map(|flow| (flow.group, feel::is_felt(&flow.transport))).collect();
        let place = format!("case {}", case.id);
        let simulation = Simulation::with_recorder(Arc::clone(&scenario), Recording::new(bin, &flows));
        let simulation = simulation.map_err(|error| format!("{place}: {error}"))?;
        let (qdisc, link) = match &scenario.bottleneck {
            Bottleneck::Link { qdisc, link } => (Some(qdisc.clone()), Some(link.0.clone())),
            Bottleneck::Cell(_) => (None, None),
        };
        let queues = match qdisc {
            Some(_) => vec![simulation.queue()],
            None => {
                // Packets of a cell wait in the queues of the node and in the air interface; the drawn backlog is their sum.
                let path = simulation.path();
                let is_queue = |node: &NodeId| {
                    ["upf", "sdap", "rlc"].iter().any(|name| path.name(*node).starts_with(name))
                };
                path.nodes().filter(is_queue).chain([simulation.queue()]).collect()
            }
        };
        let labels = case.labels(study);
        let delivered = vec![vec![0; scenario.flows.len()]];
        Ok(Side {
            case,
            labels,
            simulation: Some(simulation),
            kept: Recording::new(bin, &[]),
            bin,
            closed: 0,
            last: Sums::default(),
            queues,
            qdisc,
            link,
            delivered,
            since: (Time::ZERO, Sums::default()),
        })
    }

    /// Description of the side.
    pub fn describe(&self) -> SideDescription {
        let scenario = &self.case.scenario;
        let flow = |flow: &qdelay_sim::FlowSpec| FlowDescription {
            name: flow.name.clone(),
            group: flow.group,
            transport: flow.typed.clone(),
        };
        SideDescription {
            id: self.case.id.clone(),
            labels: self.labels.clone(),
            flows: scenario.flows.iter().map(flow).collect(),
            groups: scenario.groups.clone(),
            duration_s: scenario.duration.as_secs_f64(),
            is_cell: self.qdisc.is_none(),
            qdisc: self.qdisc.as_ref().map_or(String::new(), |qdisc| qdisc.typed().to_string()),
            rtt_ms: scenario.base_rtt.as_millis_f64(),
        }
    }

    /// Recording of the run so far.
    pub fn recording(&self) -> &Recording {
        self.simulation.as_ref().map_or(&self.kept, Simulation::recorder)
    }
    /// Number of finished bins.
    pub fn bins(&self) -> usize {
        self.closed
    }
    /// Current time of the run.
    pub fn now(&self) -> Time {
        let end = Time::ZERO + self.case.scenario.duration;
        self.simulation.as_ref().map_or(end, Simulation::now)
    }

    /// Advances the side to `time`, or to the end of its run.
    fn advance_to(&mut self, time: Time) -> Result<(), String> {
        let Some(simulation) = &mut self.simulation else { return Ok(()) };
        loop {
            let end = Time::ZERO + self.bin * (self.closed as u64 + 1);
            let to = end.min(time);
            simulation.advance_to(to).map_err(|error| format!("case {}: {error}", self.case.id))?;
            if simulation.now() < end {
                return Ok(());
            }
            // Columns hold values within the bin: differences of sums since the start.
            let (sums, last) = (simulation.sums(), self.last);
            let backlog = self.queues.iter().map(|node| simulation.path().inside(*node));
            let (packets, bytes) = backlog.fold((0, 0), |sum, at| (sum.0 + at.packets, sum.1 + at.bytes));
            let mbps = |bytes: u64| (bytes as f64 * 8e3 / self.bin.as_nanos() as f64) as f32;
            let recording = simulation.recorder_mut();
            recording.close(
                self.closed,
                [
                    (Column::Capacity, mbps(sums.offered_bytes - last.offered_bytes)),
                    (Column::Rate, mbps(sums.left.bytes - last.left.bytes)),
                    (Column::Backlog, bytes as f32),
                    (Column::Packets, packets as f32),
                    (Column::Dropped, (sums.dropped.packets - last.dropped.packets) as f32),
                    (Column::Marked, (sums.marked.packets - last.marked.packets) as f32),
                ],
            );
            recording.forget_before(end);
            (self.closed, self.last) = (self.closed + 1, sums);
            self.delivered.push(simulation.flows().map(|flow| flow.delivered_bytes).collect());
            if self.delivered.len() > RECENT_BINS + 1 {
                self.delivered.remove(0);
            }
        }
    }

    /// Figures of the side so far.
    pub fn progress(&self) -> Progress {
        let (recording, now, scenario) = (self.recording(), self.now(), &self.case.scenario);
        let sums = self.simulation.as_ref().map_or(self.last, Simulation::sums);
        let (since, before) = self.since;
        let seconds = now.since(since).as_secs_f64();
        let mbps = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8e-6 / seconds } else { 0.0 };
        let summary = |group| recording.delays(group).map(|delays| delays.summary()).unwrap_or_default();
        let flows_mbps = self.flow_rates();
        let rates = scenario.flows.iter().zip(&flows_mbps);
        let takes = rates.filter(|(flow, _)| flow.transport.is_endless_transfer()).map(|(_, rate)| *rate);
        let takes: Vec<f64> = takes.collect();
        Progress {
            now_s: now.since(Time::ZERO).as_secs_f64(),
            since_s: since.since(Time::ZERO).as_secs_f64(),
            is_over: self.simulation.as_ref().is_none_or(Simulation::is_over),
            throughput_mbps: mbps(sums.left.bytes - before.left.bytes),
            capacity_mbps: mbps(sums.offered_bytes - before.offered_bytes),
            delay: summary(None),
            curve_ms: recording.delays(None).map(|delays| delays.curve(&PERCENTS)).unwrap_or_default(),
            percents: PERCENTS.to_vec(),
            groups: (0..scenario.groups.len()).map(|group| summary(Some(group))).collect(),
            backlog_packets: self.backlog(),
            drops: recording.drops().clone(),
            marked: sums.marked.packets - before.marked.packets,
            fairness: (takes.len() > 1 && takes.iter().any(|rate| *rate > 0.0)).then(|| jain_index(&takes)),
            flows_mbps,
            feelings: self.feelings(recording, now),
        }
    }

    fn backlog(&self) -> u64 {
        let Some(simulation) = &self.simulation else { return 0 };
        self.queues.iter().map(|node| simulation.path().inside(*node).packets).sum()
    }

    fn flow_rates(&self) -> Vec<f64> {
        let (first, last) = (&self.delivered[0], &self.delivered[self.delivered.len() - 1]);
        let seconds = (self.bin * (self.delivered.len() as u64 - 1).max(1)).as_secs_f64();
        first.iter().zip(last).map(|(first, last)| (last - first) as f64 * 8e-6 / seconds).collect()
    }

    fn feelings(&self, recording: &Recording, now: Time) -> Vec<(usize, Feeling)> {
        let of = |(index, flow): (usize, &qdelay_sim::FlowSpec)| {
            let packets = recording
                .passed(index)
                .and_then(|passed| feel::packets_feeling(&flow.transport, passed, now));
            let told = || feel::application_feeling(&self.simulation.as_ref()?.experience(index)?);
            Some((index, packets.or_else(told)?))
        };
        self.case.scenario.flows.iter().enumerate().filter_map(of).collect()
    }

    /// Restarts the figures for the page.
    fn forget(&mut self) {
        self.simulation.as_mut().map_or(&mut self.kept, Simulation::recorder_mut).forget();
        let sums = self.simulation.as_ref().map_or(self.last, Simulation::sums);
        self.since = (self.now(), sums);
    }

    /// Gives the side the discipline of `case`, if it differs.
    fn take_qdisc(&mut self, study: &Study, case: &Case) -> Result<(), String> {
        let (Some(simulation), Bottleneck::Link { qdisc, .. }) =
            (&mut self.simulation, &case.scenario.bottleneck)
        else {
            return Err(format!("case {}: is a cell or over; expected a link to steer", self.case.id));
        };
        let values = |of: &Arguments| of.values().map(|(_, value)| value.clone()).collect::<Vec<_>>();
        let is_same = |now: &Arguments| now.typed() == qdisc.typed() && values(now) == values(qdisc);
        if self.qdisc.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        let fault = |error: RunError| format!("case {}: {error}", case.id);
        let is_adjusted =
            self.qdisc.as_ref().is_some_and(|now| now.component().name == qdisc.component().name)
                && simulation.adjust_qdisc(qdisc).map_err(fault)?.map_err(|error| error.to_string())?;
        if !is_adjusted {
            let built = AnyQdisc::build(qdisc).map_err(|error| error.to_string())?;
            simulation.replace_qdisc(built).map_err(fault)?;
        }
        self.qdisc = Some(qdisc.clone());
        self.labels = case.labels(study);
        Ok(())
    }

    /// Ends the run and writes its figures as `summary.json`.
    fn finish(&mut self) -> Result<String, String> {
        let fault = |error| format!("case {}: {error}", self.case.id);
        let simulation = self.simulation.take().ok_or_else(|| format!("case {}: is over", self.case.id))?;
        let (outcome, recording) = simulation.into_parts().map_err(fault)?;
        self.kept = recording;
        Ok(results::text(&figures::summary(&self.case.id, self.labels.clone(), &outcome)))
    }
}

/// Scenario with its played cases.
pub struct Session {
    study: Study,
    /// Sides.
    pub sides: Vec<Side>,
}

/// Reads a scenario.
///
/// # Errors
/// The first mistake, with its line and what was expected.
pub fn read(text: &str) -> Result<Study, String> {
    Study::parse(NAME, text, &Overrides::default()).map_err(|error| error.to_string())
}

impl Session {
    /// Makes the cases of these indices before their first event, with bins of time of `bin`.
    ///
    /// # Errors
    /// The first mistake of the scenario, with its line and what was expected.
    pub fn new(text: &str, cases: &[u64], bin: Span, library: &Library) -> Result<Session, String> {
        let study = read(text)?;
        let side = |index: &u64| {
            let case = study.case(*index, library).map_err(|error| error.to_string())?;
            Side::new(&study, case, bin)
        };
        let sides = cases.iter().map(side).collect::<Result<Vec<Side>, String>>()?;
        Ok(Session { study, sides })
    }

    /// Advances all sides to `time`, or to the ends of their runs.
    ///
    /// # Errors
    /// A fault of the simulator.
    pub fn advance_to(&mut self, time: Time) -> Result<(), String> {
        self.sides.iter_mut().try_for_each(|side| side.advance_to(time))
    }

    /// Restarts the figures for the page now.
    pub fn forget(&mut self) {
        self.sides.iter_mut().for_each(Side::forget);
    }

    /// Gives each side the discipline of one of `cases` of `text`.
    ///
    /// # Errors
    /// A mistake in `text`, or a bottleneck that is a cell.
    pub fn take_qdiscs(&mut self, text: &str, cases: &[u64], library: &Library) -> Result<(), String> {
        let study = read(text)?;
        if cases.len() != self.sides.len() {
            return Err(format!("{} cases for {} sides", cases.len(), self.sides.len()));
        }
        // All disciplines are read before the first change, so that an error changes nothing.
        let case = |index: &u64| study.case(*index, library).map_err(|error| error.to_string());
        let cases = cases.iter().map(case).collect::<Result<Vec<Case>, String>>()?;
        for (side, case) in self.sides.iter_mut().zip(&cases) {
            side.take_qdisc(&study, case)?;
        }
        self.study = study;
        Ok(())
    }

    /// Gives the link of all sides the rates of `whole`, whose past equals that of the link: the run continues as if it had had them from
    /// the
    /// beginning. A link without this ability, such as a trace, is replaced by `rest`, the same schedule from now on.
    ///
    /// # Errors
    /// A mistake in the link's text, or a bottleneck that is a cell.
    pub fn take_link(&mut self, rest: &str, whole: &str, library: &Library) -> Result<(), String> {
        let (rest, whole) = (library.link(rest)?, library.link(whole)?);
        for side in &mut self.sides {
            let place = format!("case {}", side.case.id);
            let simulation = side.simulation.as_mut().ok_or_else(|| format!("{place}: is over"))?;
            let fault = |error: RunError| format!("{place}: {error}");
            if !simulation.continue_link(&whole).map_err(fault)? {
                simulation.replace_link(rest.clone()).map_err(fault)?;
            }
            side.link = Some(whole.clone());
        }
        Ok(())
    }

    /// Capacity of the first side's link in each of `count` spans of `width` from `from` on, Mbit/s; empty for a cell.
    pub fn capacity(&self, from: Time, width: Span, count: usize) -> Vec<f32> {
        let Some(link) = self.sides.first().and_then(|side| side.link.as_ref()) else { return Vec::new() };
        let bytes = |at: usize| link.offered_bytes(from + width * at as u64);
        let mbps = |bytes: u64| (bytes as f64 * 8e3 / width.as_nanos().max(1) as f64) as f32;
        (0..count).map(|at| mbps(bytes(at + 1).saturating_sub(bytes(at)))).collect()
    }

    /// Runs a side to its end, and writes its figures as `summary.json` of `qdelay run`. Afterwards the side is over.
    ///
    /// # Errors
    /// A failed audit, or an unknown side.
    pub fn finish(&mut self, side: usize) -> Result<String, String> {
        self.sides.get_mut(side).ok_or_else(|| format!("no side {side}"))?.finish()
    }

    /// Scenario that is played.
    pub fn study(&self) -> &Study {
        &self.study
    }
}
