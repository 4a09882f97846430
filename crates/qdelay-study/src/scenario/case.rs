//! One case: the settings of its point on every axis, checks for contradictions, and the simulator's scenario.

use super::Study;
use super::cell_tables::Cell;
use super::changes::{Change, Point};
use super::declare::{BINS_MAX, FLOWS_MAX, Flow, Hop, Path, Run, Settings};
use super::named::Named;
use super::sources::Sources;
use super::values::{Bins, Direction, Link, Loss, Percent, Qdisc, TraceFormat, TraceName, Uplink};
use crate::traces::TraceUsed;
use qdelay_config::{AnySetting, Fault, OrNone, Setting};
use qdelay_core::component::Arguments;
use qdelay_core::qdisc::{self, AnyQdisc, Qdisc as _};
use qdelay_core::{Random, Rate, Span};
use qdelay_path::{AnyLink, ImpairmentSpec, Impairments, Line, LinkModel, LossModel};
use qdelay_sim::{
    Bottleneck, CellScenario, FlowSpec, HopSpec, LinkSpec, ProbeSpec, Scenario, SecondCodepoint,
};
use serde_json::{Map, json};
use std::collections::BTreeMap;

/// With random starts flows start up to this much later: one or more round trips, and several ticks of any timer.
const START_SPREAD: Span = Span::from_millis(200);
/// The maximum number of bins of a time series if the width of the bins is not given.
const BINS: u64 = 500;

/// The keys of `[path]` that mean something with a cell.
const WITH_A_CELL: [&str; 10] = [
    "rtt",
    "jitter",
    "loss",
    "reorder",
    "reorder_by",
    "duplicate",
    "uplink",
    "uplink_limit",
    "uplink_qdisc",
    "uplink_loss",
];

/// A case, ready to run.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its place in the order of the axes.
    pub index: u64,
    /// Unique in the study, and good as the name of a folder: `07-bode-20-ms-cubic-2`.
    pub id: String,
    /// Its point on each axis.
    pub labels: Vec<String>,
    /// Every key with its value, defaults included: `path`, `flow`, `run`.
    pub resolved: serde_json::Value,
    /// The traces it runs on, by name.
    pub traces: BTreeMap<String, TraceUsed>,
    /// The simulator's scenario.
    pub scenario: Scenario,
    /// Whether a record of every packet is wanted.
    pub packets: bool,
}

impl Case {
    /// Its point on each axis of `study`, by the axis's name.
    pub fn labels(&self, study: &Study) -> BTreeMap<String, String> {
        study.axes.iter().map(|axis| axis.name.clone()).zip(self.labels.iter().cloned()).collect()
    }
}

/// The tables of a scenario: of its file, or of a case.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// Where `[path]` begins; 0 where it is missing.
    pub path_line: u32,
    pub path: Path,
    pub hops: Vec<Named<Hop>>,
    pub cell: Option<Cell>,
    pub flows: Vec<Named<Flow>>,
    pub run: Run,
}

impl Tables {
    /// The settings of an empty file.
    pub fn defaults() -> Tables {
        Tables {
            path_line: 0,
            path: Path::defaults(),
            hops: Vec::new(),
            cell: None,
            flows: Vec::new(),
            run: Run::defaults(),
        }
    }

    /// The settings changed by `points`. A setting of one flow or hop takes precedence over a setting of all.
    pub fn with<'a>(&self, points: impl Iterator<Item = &'a Point> + Clone) -> Tables {
        let mut tables = self.clone();
        points.clone().filter(|point| point.which.is_none()).for_each(|point| tables.set(point));
        points.filter(|point| point.which.is_some()).for_each(|point| tables.set(point));
        tables
    }

    fn set(&mut self, point: &Point) {
        let is_meant = |place: usize| point.which.is_none_or(|which| which == place);
        match &point.change {
            Change::Path(change) => self.path.set(change),
            Change::Run(change) => self.run.set(change),
            Change::Hop(change) => {
                let all = self.hops.iter_mut().enumerate();
                all.filter(|(place, _)| is_meant(*place)).for_each(|(_, hop)| hop.keys.set(change));
            }
            Change::Flow(change) => {
                let all = self.flows.iter_mut().enumerate();
                all.filter(|(place, _)| is_meant(*place)).for_each(|(_, flow)| flow.keys.set(change));
            }
            Change::Cell(change) => self.cell.iter_mut().for_each(|cell| cell.keys.set(change)),
            Change::CellUplink(change) => {
                let uplink = self.cell.iter_mut().filter_map(|cell| cell.uplink.as_mut());
                uplink.for_each(|uplink| uplink.keys.set(change));
            }
            Change::Slice(change) => {
                let all = self.cell.iter_mut().flat_map(|cell| cell.slices.iter_mut().enumerate());
                all.filter(|(place, _)| is_meant(*place)).for_each(|(_, slice)| slice.keys.set(change));
            }
            Change::Ue(change) => {
                let all = self.cell.iter_mut().flat_map(|cell| cell.ues.iter_mut().enumerate());
                all.filter(|(place, _)| is_meant(*place)).for_each(|(_, ue)| ue.keys.set(change));
            }
            Change::Bearer(change) => {
                let all = self.cell.iter_mut().flat_map(|cell| &mut cell.ues).flat_map(|ue| &mut ue.bearers);
                all.filter(|bearer| is_meant(bearer.called)).for_each(|bearer| bearer.keys.set(change));
            }
        }
    }

    /// Checks for contradictions between settings, without reading a trace.
    ///
    /// # Errors
    /// The contradiction, in the line of one of the settings.
    pub fn check(&self) -> Result<(), Fault> {
        match &self.cell {
            Some(cell) => {
                self.check_no_link()?;
                cell.check()?;
            }
            None => QueueAndLink::from(&self.path).check(Path::TABLE.name, self.path_line)?,
        }
        for hop in &self.hops {
            QueueAndLink::from(&hop.keys).check(Hop::TABLE.name, hop.line)?;
        }
        self.check_uplink()?;
        self.check_times()?;
        self.check_flows()
    }

    /// As [`Study::warnings`](super::Study::warnings), of this case.
    pub fn cell_warnings(&self) -> Vec<Fault> {
        self.cell.as_ref().map_or(Vec::new(), Cell::warnings)
    }

    /// With a cell there is no link.
    fn check_no_link(&self) -> Result<(), Fault> {
        let Path { link, trace, trace_format, once, qdisc, limit, .. } = &self.path;
        let of_link: [&dyn AnySetting; 6] = [link, trace, trace_format, once, qdisc, limit];
        match of_link.into_iter().find(|setting| setting.is_given()) {
            Some(setting) => {
                let message = "a cell is given; expected this without [cell] only";
                Err(Fault::new(setting.line(), setting.key().path, message))
            }
            None => Ok(()),
        }
    }

    /// Without an uplink it has no queue.
    fn check_uplink(&self) -> Result<(), Fault> {
        let Path { uplink, uplink_qdisc, uplink_limit, .. } = &self.path;
        if self.cell.as_ref().is_some_and(|cell| cell.uplink.is_some()) {
            let of_path: [&dyn AnySetting; 3] = [uplink, uplink_qdisc, uplink_limit];
            return match of_path.into_iter().find(|setting| setting.is_given()) {
                Some(setting) => {
                    let message =
                        "the cell has an uplink of its own; expected this without [cell.uplink] only";
                    Err(Fault::new(setting.line(), setting.key().path, message))
                }
                None => Ok(()),
            };
        }
        if uplink_qdisc.is_given() && uplink.get() == Uplink::None {
            let message = "there is no uplink; expected path.uplink too, such as uplink = \"10mbit\"";
            return Err(uplink_qdisc.fault(message));
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), Fault> {
        let (duration, warmup) = (self.run.duration.get(), self.run.warmup.get());
        if warmup >= duration {
            let message =
                format!("{warmup} is not shorter than the duration of {duration}; expected time to measure");
            return Err(self.run.warmup.fault(message));
        }
        if let Some(width) = self.series()
            && duration.as_nanos() / width.as_nanos().max(1) > BINS_MAX
        {
            let series = &self.run.series;
            let message = format!("'{}': more than {BINS_MAX} bins; expected wider ones", series.text());
            return Err(series.fault(message));
        }
        if self.series().is_none() && self.run.connections.get() {
            let message = "there are no series that they could be added to; expected run.series too, such as series = \"20ms\"";
            return Err(self.run.connections.fault(message));
        }
        for Named { keys, .. } in &self.flows {
            let (start, spread) = (keys.start.get(), keys.spread.get());
            let latest = start + spread;
            if latest >= duration {
                let key = if spread.is_zero() || start >= duration { &keys.start } else { &keys.spread };
                let message =
                    format!("starts at up to {latest} in a run of {duration}; expected an earlier start");
                return Err(key.fault(message));
            }
            if keys.stop.get().is_some_and(|stop| stop <= latest) {
                let message = format!(
                    "{} is not later than the start at {latest}; expected a later stop",
                    keys.stop.text()
                );
                return Err(keys.stop.fault(message));
            }
        }
        Ok(())
    }

    /// Keys of a flow that mean nothing without another one.
    fn check_companions(&self) -> Result<(), Fault> {
        for Named { keys, .. } in &self.flows {
            if !keys.access_jitter.get().is_zero() && access(keys).is_none() {
                let message = "there is no access link that it could be behind; expected access too, such as access = \"10mbit\"";
                return Err(keys.access_jitter.fault(message));
            }
            if other_share(keys) > 0.0 && !keys.other_dscp.is_set() {
                let message =
                    "no packet has another codepoint; expected other_dscp too, such as other_dscp = \"be\"";
                return Err(keys.other_share.fault(message));
            }
        }
        Ok(())
    }

    /// Uploads need an uplink, in a cell its own.
    fn check_directions(&self) -> Result<(), Fault> {
        let mut uploads = self.flows.iter().filter(|flow| flow.keys.direction.get() == Direction::Up);
        let Some(Named { keys, .. }) = uploads.next() else { return Ok(()) };
        if let Some(cell) = &self.cell {
            let message = "an upload in a cell whose uplink is not its own; expected a table [cell.uplink] too, or down";
            return if cell.uplink.is_some() { Ok(()) } else { Err(keys.direction.fault(message)) };
        }
        if self.path.uplink.get() == Uplink::None {
            let message = "there is no uplink that its data could cross; expected path.uplink too, such as uplink = \"10mbit\"";
            return Err(keys.direction.fault(message));
        }
        Ok(())
    }

    /// The destinations of the flows of an entry: indices of UEs, and QFIs. Without a cell it is one destination, which is not
    /// used.
    fn destinations(&self, flow: &Named<Flow>) -> Result<Vec<(usize, u8)>, Fault> {
        const MESSAGE: &str = "there is no cell; expected this with [cell] only";
        match &self.cell {
            Some(cell) => cell.destinations(flow),
            None if flow.keys.ue.is_set() => Err(flow.keys.ue.fault(MESSAGE)),
            None if flow.keys.qfi.is_set() => Err(flow.keys.qfi.fault(MESSAGE)),
            None => Ok(vec![(0, 1)]),
        }
    }

    fn check_flows(&self) -> Result<(), Fault> {
        self.check_companions()?;
        self.check_directions()?;
        let mut counts: Vec<u64> = Vec::new();
        for flow in &self.flows {
            let destinations = self.destinations(flow)?.len() as u64;
            counts.push(flow.keys.count.get().saturating_mul(destinations));
        }
        let counts = || counts.iter().copied();
        let total = counts().fold(0, u64::saturating_add);
        if total > FLOWS_MAX {
            let message = format!("{total} flows are too many; expected at most {FLOWS_MAX} in all");
            return Err(Fault::new(self.flows.last().map_or(0, |flow| flow.line), "flow", message));
        }
        let names = || self.flows.iter();
        let several: BTreeMap<&str, u64> =
            names().zip(counts()).filter(|(_, n)| *n > 1).map(|(flow, n)| (flow.name.as_str(), n)).collect();
        for flow in names() {
            let Some((group, number)) = flow.name.rsplit_once('-') else { continue };
            if let (Some(count), Ok(number)) = (several.get(group), number.parse::<u64>())
                && (1..=*count).contains(&number)
            {
                let message = format!(
                    "'{}' is the name of one of the {count} flows of '{group}' too; expected another name",
                    flow.name
                );
                return Err(Fault::new(flow.line, "flow.name", message));
            }
        }
        Ok(())
    }

    /// Width of the bins of the series; `None` for off.
    fn series(&self) -> Option<Span> {
        let automatic = || Some(automatic_series(self.run.duration.get()));
        self.run.series.get().map_or_else(automatic, |Bins(width)| width)
    }

    fn hops(&self, sources: &mut Sources<'_>) -> Result<Vec<HopSpec>, Fault> {
        let hop = |Named { name, keys, .. }: &Named<Hop>| -> Result<HopSpec, Fault> {
            let bottleneck = QueueAndLink::from(keys);
            Ok(HopSpec {
                name: name.clone(),
                qdisc: bottleneck.qdisc()?,
                link: LinkSpec(bottleneck.link_below(sources)?),
                delay: keys.delay.get(),
            })
        };
        self.hops.iter().map(hop).collect()
    }

    fn uplink(&self, sources: &mut Sources<'_>) -> Result<Option<qdelay_sim::Uplink>, Fault> {
        if self.cell.as_ref().is_some_and(|cell| cell.uplink.is_some()) {
            return Ok(None);
        }
        let setting = &self.path.uplink;
        let link = match setting.get() {
            Uplink::None => return Ok(None),
            Uplink::Rate(rate) => Ok(line(rate)),
            Uplink::Link => sources.link(setting.text()),
            Uplink::Trace => {
                let trace = sources.trace(setting.text(), None, !self.path.once.get());
                trace.map_err(|error| error + sources.library.or_link(setting.text()))
            }
        };
        let link = link.map_err(|message| setting.fault(message))?;
        let (limit, qdisc) = (self.path.uplink_limit.get(), &self.path.uplink_qdisc);
        let link = LinkSpec(with_promised_rate(qdisc, link)?);
        let qdisc = qdisc.is_given().then(|| with_limit(qdisc, Some(limit))).transpose()?;
        Ok(Some(qdelay_sim::Uplink { link, limit, qdisc }))
    }

    /// Loss, reordering and duplication.
    fn impairments(&self) -> Impairments {
        let Path { loss, uplink_loss, reorder, reorder_by, duplicate, .. } = &self.path;
        let model = |loss: &Setting<OrNone<Loss>>| {
            loss.value().as_option().map_or(LossModel::None, |Loss(model)| *model)
        };
        let down = ImpairmentSpec {
            loss: model(loss),
            reorder: reorder.get().0,
            reorder_by: reorder_by.get(),
            duplicate: duplicate.get().0,
        };
        let up = ImpairmentSpec { loss: model(uplink_loss), ..ImpairmentSpec::default() };
        Impairments { down, up }
    }

    /// The simulator's scenario.
    ///
    /// # Errors
    /// A trace that cannot be read, or a discipline that cannot be built with the path's limit.
    pub fn scenario(&self, seed: u64, sources: &mut Sources<'_>) -> Result<Scenario, Fault> {
        let flows = self.flow_specs(seed, sources.random.is_some())?;
        let bottleneck = match &self.cell {
            Some(cell) => {
                let by_dscp = cell.by_dscp(&flows, &self.flows);
                Bottleneck::Cell(Box::new(CellScenario { by_dscp, ..cell.scenario(sources)? }))
            }
            None => {
                let path = QueueAndLink::from(&self.path);
                Bottleneck::Link { qdisc: path.qdisc()?, link: LinkSpec(path.link_below(sources)?) }
            }
        };
        Ok(Scenario {
            hops: self.hops(sources)?,
            bottleneck,
            uplink: self.uplink(sources)?,
            base_rtt: self.path.rtt.get(),
            jitter: self.path.jitter.get(),
            impairments: self.impairments(),
            flows,
            groups: self.flows.iter().map(|flow| flow.name.clone()).collect(),
            probe: self.run.probe.get().then(ProbeSpec::default),
            duration: self.run.duration.get(),
            warmup: self.run.warmup.get(),
            seed,
            min_packet_bytes: self.run.min_packet_bytes.get(),
            series: self.series(),
            connections: self.run.connections.get(),
        })
    }

    /// The time within which the flows of an entry start: where it is not given and starts are random, at most a tenth of the time
    /// that they have.
    fn spread(&self, flow: &Flow, is_random: bool) -> Span {
        if !is_random || flow.spread.is_given() {
            return flow.spread.get();
        }
        let end = flow.stop.get().unwrap_or(self.run.duration.get());
        START_SPREAD.min(end.saturating_sub(flow.start.get()) / 10)
    }

    fn flow_specs(&self, seed: u64, is_random: bool) -> Result<Vec<FlowSpec>, Fault> {
        let mut specs = Vec::new();
        for (group, flow) in self.flows.iter().enumerate() {
            let Named { name: called, keys, .. } = flow;
            let count = keys.count.get();
            let destinations = self.destinations(flow)?;
            let several = count > 1 || destinations.len() > 1;
            let spread = self.spread(keys, is_random);
            let members = destinations.iter().flat_map(|to| (0..count).map(|_| *to)).zip(1_u64..);
            for ((ue, qfi), member) in members {
                let name = if several { format!("{called}-{member}") } else { called.clone() };
                let transport = &keys.transport;
                specs.push(FlowSpec {
                    name,
                    group,
                    start: keys.start.get() + random_start(seed, specs.len(), spread),
                    stop: keys.stop.get(),
                    dscp: keys.dscp.get().0,
                    other: keys
                        .other_dscp
                        .get()
                        .map(|dscp| SecondCodepoint { dscp: dscp.0, share: other_share(keys) }),
                    access: access(keys),
                    access_jitter: keys.access_jitter.get(),
                    discard_after: keys.discard_after.get(),
                    extra_rtt: keys.extra_rtt.get(),
                    is_upload: keys.direction.get() == Direction::Up,
                    ue,
                    qfi,
                    ..FlowSpec::new(transport.text(), transport.value().0.as_ref().clone())
                });
            }
        }
        Ok(specs)
    }

    /// Every key with its value; with random starts also the `places` on traces where the run begins.
    pub fn resolved(&self, seed: u64, places: Option<&BTreeMap<String, Span>>) -> serde_json::Value {
        let flow = |flow: &Named<Flow>| {
            let mut keys = flow.keys.json();
            keys.insert("spread".to_string(), json!(self.spread(&flow.keys, places.is_some()).to_string()));
            keys.insert("name".to_string(), json!(flow.name));
            if self.cell.is_none() {
                keys.remove("ue");
                keys.remove("qfi");
            }
            serde_json::Value::Object(keys)
        };
        let flows: Vec<serde_json::Value> = self.flows.iter().map(flow).collect();
        let mut run = self.run.json();
        run.remove("seeds");
        run.insert("seed".to_string(), json!(seed));
        run.insert("starts".to_string(), json!(if places.is_some() { "random" } else { "fixed" }));
        if let Some(places) = places.filter(|places| !places.is_empty()) {
            let places: BTreeMap<&String, String> =
                places.iter().map(|(name, place)| (name, place.to_string())).collect();
            run.insert("places".to_string(), json!(places));
        }
        // Runs without it say nothing of it, as before there was such a key.
        if !self.run.connections.get() {
            run.remove("connections");
        }
        run.insert(
            "series".to_string(),
            json!(self.series().map_or("off".to_string(), |width| width.to_string())),
        );
        let mut path = self.path.json();
        let Some(cell) = &self.cell else {
            self.add_hops(&mut path);
            return json!({ "path": path, "flow": flows, "run": run });
        };
        path.retain(|key, _| WITH_A_CELL.contains(&key.as_str()));
        self.add_hops(&mut path);
        json!({ "path": path, "cell": cell.json(), "flow": flows, "run": run })
    }

    fn add_hops(&self, path: &mut Map<String, serde_json::Value>) {
        let hop = |hop: &Named<Hop>| {
            let mut keys = hop.keys.json();
            keys.insert("name".to_string(), json!(hop.name));
            serde_json::Value::Object(keys)
        };
        if !self.hops.is_empty() {
            let hops: Vec<serde_json::Value> = self.hops.iter().map(hop).collect();
            path.insert("hop".to_string(), json!(hops));
        }
    }

    /// How long a run lasts.
    pub fn duration(&self) -> Span {
        self.run.duration.get()
    }

    /// Whether every packet is recorded.
    pub fn packets(&self) -> bool {
        self.run.packets.get()
    }
}

/// The rate of a flow's own access link; `None` without a limit.
fn access(flow: &Flow) -> Option<Rate> {
    flow.access.get().filter(|rate| *rate != Rate::INFINITE)
}

/// The share of a flow's data packets with another codepoint.
fn other_share(flow: &Flow) -> f64 {
    flow.other_share.get().map_or(0.0, |Percent(share)| share)
}

/// The keys of `[path]`, or of a hop, that make a queue and the link behind it.
struct QueueAndLink<'a> {
    link: &'a Setting<Option<Link>>,
    trace: &'a Setting<Option<TraceName>>,
    trace_format: &'a Setting<Option<TraceFormat>>,
    once: &'a Setting<bool>,
    qdisc: &'a Setting<Qdisc>,
    limit: &'a Setting<Option<u64>>,
}

impl<'a> From<&'a Path> for QueueAndLink<'a> {
    fn from(Path { link, trace, trace_format, once, qdisc, limit, .. }: &'a Path) -> Self {
        Self { link, trace, trace_format, once, qdisc, limit }
    }
}

impl<'a> From<&'a Hop> for QueueAndLink<'a> {
    fn from(Hop { link, trace, trace_format, once, qdisc, limit, .. }: &'a Hop) -> Self {
        Self { link, trace, trace_format, once, qdisc, limit }
    }
}

impl QueueAndLink<'_> {
    /// The table that begins in `line` must have either a link or a trace.
    fn check(&self, table: &str, line: u32) -> Result<(), Fault> {
        const EITHER: &str =
            "expected one of both, such as trace = \"synth-lte-driving\" or link = \"10mbit\"";
        match (self.link.is_set(), self.trace.is_set()) {
            (true, true) => {
                let message = format!("a link and a trace are given; {EITHER}");
                let is_link_later = self.link.line() > self.trace.line();
                return Err(if is_link_later { self.link.fault(message) } else { self.trace.fault(message) });
            }
            (false, false) => {
                return Err(Fault::new(line, table, format!("no link and no trace is given; {EITHER}")));
            }
            _ => {}
        }
        let of_traces: [&dyn AnySetting; 2] = [self.once, self.trace_format];
        match of_traces.into_iter().find(|setting| self.link.is_set() && setting.is_given()) {
            Some(setting) => {
                let message = "a link is given; expected this with a trace only";
                Err(Fault::new(setting.line(), setting.key().path, message))
            }
            None => Ok(()),
        }
    }

    /// The discipline, with the table's limit if the discipline's own limit is not given.
    fn qdisc(&self) -> Result<Arguments, Fault> {
        with_limit(self.qdisc, self.limit.get())
    }

    fn link(&self, sources: &mut Sources<'_>) -> Result<AnyLink, Fault> {
        if self.link.is_set() {
            return sources.link(self.link.text()).map_err(|message| self.link.fault(message));
        }
        let format = self.trace_format.is_set().then(|| self.trace_format.text());
        let trace = sources.trace(self.trace.text(), format, !self.once.get());
        trace.map_err(|message| self.trace.fault(message))
    }

    /// The link below the discipline, which has the rate that the discipline counts on, if it does.
    fn link_below(&self, sources: &mut Sources<'_>) -> Result<AnyLink, Fault> {
        with_promised_rate(self.qdisc, self.link(sources)?)
    }
}

/// The discipline of `setting`, with this limit if its own is not given.
fn with_limit(setting: &Setting<Qdisc>, limit: Option<u64>) -> Result<Arguments, Fault> {
    let mut arguments = setting.value().0.clone();
    if let Some(limit) = limit {
        arguments.default_to(&qdisc::LIMIT, limit);
    }
    AnyQdisc::build(&arguments).map_err(|error| setting.fault(error))?;
    Ok(arguments)
}

/// The link below the discipline of `setting`, if it has the rate that the discipline counts on.
fn with_promised_rate(setting: &Setting<Qdisc>, link: AnyLink) -> Result<AnyLink, Fault> {
    let arguments = &setting.value().0;
    let promised = AnyQdisc::build(arguments).ok().and_then(|qdisc| qdisc.promised_rate());
    let Some(promised) = promised else { return Ok(link) };
    let found = match link.rate() {
        Some(rate) if promised <= rate => return Ok(link),
        Some(rate) => format!("the link has {rate}"),
        None => "the link's rate varies".to_string(),
    };
    let message = format!(
        "{} counts on {promised}, and {found}; expected the rate of the link, or none where it varies",
        arguments.component().name
    );
    Err(setting.fault(message))
}

fn line(rate: Rate) -> AnyLink {
    Line::new(rate, 0).into()
}

/// The draw of the flow with this index, uniform below `spread`.
pub fn random_start(seed: u64, index: usize, spread: Span) -> Span {
    if spread.is_zero() {
        return Span::ZERO;
    }
    let mut random = Random::derive(seed, &format!("flow-{index}"), "start");
    Span::from_nanos(random.below(spread.as_nanos()))
}

/// A 500th of `duration`, rounded up to 10, 20, 50, 100... ms.
pub(super) fn automatic_series(duration: Span) -> Span {
    let wanted = duration / BINS;
    let mut width = Span::from_millis(10);
    for factor in [2, 5, 10].into_iter().cycle() {
        if width >= wanted {
            break;
        }
        // 2, 5 and 10 times the power of ten that the round began with.
        width = match factor {
            5 => width * 5 / 2,
            _ => width * 2,
        };
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_of_bins() {
        let width = |seconds| automatic_series(Span::from_secs(seconds)).as_millis();
        assert_eq!((width(1), width(5), width(6), width(30), width(60)), (10, 10, 20, 100, 200));
        assert_eq!((width(500), width(600), width(3600), width(86_400)), (1000, 2000, 10_000, 200_000));
        assert!((1..5000).all(|s| Span::from_secs(s).as_nanos().div_ceil(width(s) * 1_000_000) <= BINS));
    }
}
