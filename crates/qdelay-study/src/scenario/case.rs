//! One case: the settings of its point on every axis, what contradicts what, and the simulator's scenario.

use super::Study;
use super::cell_case::{CellView, Matched};
use super::declare::{BINS_MAX, FLOW, FLOWS_MAX, HOP, PATH, RUN};
use super::fault::Fault;
use super::matrix::Target;
use super::point::Settings;
use super::setting::{Meaning, Setting, Uplink};
use super::sources::Sources;
use crate::traces::TraceUsed;
use qdelay_core::component::{Arguments, Value};
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{Random, Rate, Span};
use qdelay_path::{AnyLink, Line, LinkModel};
use qdelay_sim::{Bottleneck, CellScenario, FlowSpec, HopSpec, LinkSpec, OtherMark, ProbeSpec, Scenario};
use serde_json::{Map, json};
use std::collections::BTreeMap;

/// What the time series has at most where its bins' width is not given.
const BINS: u64 = 500;

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
    /// What the simulator runs.
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

/// All settings of one point.
pub(super) struct View<'a> {
    study: &'a Study,
    pub path: Settings<'a>,
    hops: Vec<Settings<'a>>,
    cell: Option<CellView<'a>>,
    flows: Vec<Settings<'a>>,
    run: Settings<'a>,
}

impl<'a> View<'a> {
    /// The settings at `digits`, the point on each axis but the seed's.
    pub fn new(study: &'a Study, digits: &[usize]) -> View<'a> {
        let mut view = View {
            study,
            path: Settings::new(&PATH, &study.path.settings),
            hops: study.hops.iter().map(|hop| Settings::new(&HOP, &hop.layer.settings)).collect(),
            cell: study.cell.as_ref().map(CellView::new),
            flows: study.flows.iter().map(|flow| Settings::new(&FLOW, &flow.layer.settings)).collect(),
            run: Settings::new(&RUN, &study.run.settings),
        };
        let points = || study.dimensions.iter().zip(digits).flat_map(|(axis, digit)| &axis.points[*digit]);
        // What is set for one flow or hop stands over what is set for all.
        for (target, setting) in points() {
            match *target {
                Target::EveryFlow(key) => view.flows.iter_mut().for_each(|flow| flow.all[key] = setting),
                Target::EveryHop(key) => view.hops.iter_mut().for_each(|hop| hop.all[key] = setting),
                _ => {}
            }
        }
        for (target, setting) in points() {
            match *target {
                Target::Path(key) => view.path.all[key] = setting,
                Target::Run(key) => view.run.all[key] = setting,
                Target::Flow(flow, key) => view.flows[flow].all[key] = setting,
                Target::Hop(hop, key) => view.hops[hop].all[key] = setting,
                _ => {}
            }
        }
        if let Some(cell) = &mut view.cell {
            let of_cell = |(target, _): &&'a (Target, Setting)| target.is_of_cell();
            cell.set(points().filter(of_cell).map(|(target, setting)| (*target, setting)).collect());
        }
        view
    }

    /// What the settings say against each other, without a trace being read.
    ///
    /// # Errors
    /// The contradiction, in the line of one of the settings.
    pub fn check(&self) -> Result<(), Fault> {
        match &self.cell {
            Some(cell) => {
                self.check_no_link()?;
                cell.check()?;
            }
            None => check_link(&self.path, self.study.path_line)?,
        }
        for (hop, settings) in self.study.hops.iter().zip(&self.hops) {
            check_link(settings, hop.line)?;
        }
        self.check_times()?;
        self.check_flows()
    }

    /// With a cell there is no link.
    fn check_no_link(&self) -> Result<(), Fault> {
        for key in ["link", "trace", "trace_format", "once", "qdisc", "limit"] {
            if self.path.get(key).given {
                return Err(self.path.fault(key, "a cell is given; expected this without [cell] only"));
            }
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), Fault> {
        let (duration, warmup) = (self.run.span("duration"), self.run.span("warmup"));
        if warmup >= duration {
            let message =
                format!("{warmup} is not shorter than the duration of {duration}; expected time to measure");
            return Err(self.run.fault("warmup", message));
        }
        if let Some(width) = self.series()
            && duration.as_nanos() / width.as_nanos().max(1) > BINS_MAX
        {
            let message =
                format!("'{}': more than {BINS_MAX} bins; expected wider ones", self.run.get("series").text);
            return Err(self.run.fault("series", message));
        }
        for flow in &self.flows {
            let (start, spread) = (flow.span("start"), flow.span("spread"));
            let latest = start + spread;
            let key = if spread.is_zero() || start >= duration { "start" } else { "spread" };
            if latest >= duration {
                let message =
                    format!("starts at up to {latest} in a run of {duration}; expected an earlier start");
                return Err(flow.fault(key, message));
            }
            if flow.get("stop").span().is_some_and(|stop| stop <= latest) {
                let stop = flow.get("stop");
                let message =
                    format!("{} is not later than the start at {latest}; expected a later stop", stop.text);
                return Err(flow.fault("stop", message));
            }
        }
        Ok(())
    }

    /// Keys of a flow that mean nothing without another one.
    fn check_companions(&self) -> Result<(), Fault> {
        for flow in &self.flows {
            if !flow.span("access_jitter").is_zero() && flow.get("access").rate().is_none() {
                let message = "there is no access link that it could be behind; expected access too, such as access = \"10mbit\"";
                return Err(flow.fault("access_jitter", message));
            }
            if flow.get("other_share").probability() > 0.0 && !flow.get("other_dscp").is_set() {
                let message =
                    "no packet has another codepoint; expected other_dscp too, such as other_dscp = \"be\"";
                return Err(flow.fault("other_share", message));
            }
        }
        Ok(())
    }

    /// Where the flows of an entry go: UEs by their place, and QFIs. Without a cell, to one place that nobody asks for.
    fn destinations(&self, entry: usize) -> Result<Vec<(usize, u8)>, Fault> {
        let flow = &self.flows[entry];
        if let Some(cell) = &self.cell {
            let super::Flow { name, line, .. } = &self.study.flows[entry];
            return cell.destinations(name, flow, *line);
        }
        match ["ue", "qfi"].into_iter().find(|key| flow.get(key).is_set()) {
            Some(key) => Err(flow.fault(key, "there is no cell; expected this with [cell] only")),
            None => Ok(vec![(0, 1)]),
        }
    }

    /// Adds the packet filters of a cell that packets of these flows match.
    pub fn add_matched_filters(&self, matched: &mut Matched) {
        if let Some(cell) = &self.cell {
            for (flow, settings) in self.study.flows.iter().zip(&self.flows) {
                cell.add_matched(&flow.name, settings, matched);
            }
        }
    }

    /// The simulator's cell for these flows.
    fn cell_scenario(
        &self,
        cell: &CellView<'_>,
        flows: &[FlowSpec],
        sources: &mut Sources<'_>,
    ) -> Result<CellScenario, Fault> {
        let names = self.study.flows.iter().map(|flow| flow.name.as_str());
        let entries: Vec<(&str, &Settings<'_>)> = names.zip(&self.flows).collect();
        Ok(CellScenario { by_dscp: cell.by_dscp(flows, &entries), ..cell.scenario(sources)? })
    }

    fn check_flows(&self) -> Result<(), Fault> {
        self.check_companions()?;
        let mut counts: Vec<u64> = Vec::new();
        for (entry, flow) in self.flows.iter().enumerate() {
            let destinations = self.destinations(entry)?.len() as u64;
            counts.push(flow.get("count").whole().saturating_mul(destinations));
        }
        let counts = || counts.iter().copied();
        let total = counts().fold(0, u64::saturating_add);
        if total > FLOWS_MAX {
            let message = format!("{total} flows are too many; expected at most {FLOWS_MAX} in all");
            return Err(Fault::new(self.study.flows.last().map_or(0, |flow| flow.line), "flow", message));
        }
        let names = || self.study.flows.iter();
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
        match self.run.get("series").meaning {
            Meaning::Series(width) => width,
            _ => Some(automatic_series(self.run.span("duration"))),
        }
    }

    fn hops(&self, sources: &mut Sources<'_>) -> Result<Vec<HopSpec>, Fault> {
        let named = self.study.hops.iter().zip(&self.hops);
        let hop = |(hop, settings): (&super::hops::Hop, &Settings<'_>)| -> Result<HopSpec, Fault> {
            Ok(HopSpec {
                name: hop.name.clone(),
                qdisc: qdisc(settings)?,
                link: LinkSpec(link_below(settings, sources)?),
                delay: settings.span("delay"),
            })
        };
        named.map(hop).collect()
    }

    fn uplink(&self, sources: &mut Sources<'_>) -> Result<Option<qdelay_sim::Uplink>, Fault> {
        let setting = self.path.get("uplink");
        let link = match setting.meaning {
            Meaning::Uplink(Uplink::None) => return Ok(None),
            Meaning::Uplink(Uplink::Rate(rate)) => Ok(line(rate)),
            Meaning::Uplink(Uplink::Link) => sources.library.link(&setting.text),
            _ => {
                let trace = sources.trace(&setting.text, None, !self.path.get("once").is_on());
                trace.map_err(|error| error + sources.library.or_link(&setting.text))
            }
        };
        let link = LinkSpec(link.map_err(|message| self.path.fault("uplink", message))?);
        Ok(Some(qdelay_sim::Uplink { link, limit: self.path.get("uplink_limit").whole() }))
    }

    /// The simulator's scenario.
    ///
    /// # Errors
    /// A trace that cannot be read, or a discipline that cannot be built with the path's limit.
    pub fn scenario(&self, seed: u64, sources: &mut Sources<'_>) -> Result<Scenario, Fault> {
        let flows = self.flow_specs(seed)?;
        let bottleneck = match &self.cell {
            Some(cell) => Bottleneck::Cell(Box::new(self.cell_scenario(cell, &flows, sources)?)),
            None => Bottleneck::Link {
                qdisc: qdisc(&self.path)?,
                link: LinkSpec(link_below(&self.path, sources)?),
            },
        };
        Ok(Scenario {
            hops: self.hops(sources)?,
            bottleneck,
            uplink: self.uplink(sources)?,
            base_rtt: self.path.span("rtt"),
            jitter: self.path.span("jitter"),
            flows,
            groups: self.study.flows.iter().map(|flow| flow.name.clone()).collect(),
            probe: self.run.get("probe").is_on().then(ProbeSpec::default),
            duration: self.run.span("duration"),
            warmup: self.run.span("warmup"),
            seed,
            // The declared range keeps it within 16 bits.
            min_packet_bytes: self.run.get("min_packet_bytes").whole() as u32,
            series: self.series(),
        })
    }

    fn flow_specs(&self, seed: u64) -> Result<Vec<FlowSpec>, Fault> {
        let mut specs = Vec::new();
        for (group, (flow, settings)) in self.study.flows.iter().zip(&self.flows).enumerate() {
            let transport = settings.get("transport");
            let Meaning::Transport(config) = &transport.meaning else { continue };
            let count = settings.get("count").whole();
            let destinations = self.destinations(group)?;
            let several = count > 1 || destinations.len() > 1;
            let members = destinations.iter().flat_map(|to| (0..count).map(|_| *to)).zip(1_u64..);
            for ((ue, qfi), member) in members {
                let name = if several { format!("{}-{member}", flow.name) } else { flow.name.clone() };
                specs.push(FlowSpec {
                    name,
                    group,
                    start: settings.span("start") + random_start(seed, specs.len(), settings.span("spread")),
                    stop: settings.get("stop").span(),
                    dscp: settings.get("dscp").dscp().unwrap_or(0),
                    other: settings.get("other_dscp").dscp().map(|dscp| {
                        let share = settings.get("other_share").probability();
                        OtherMark { dscp, share }
                    }),
                    access: settings.get("access").rate(),
                    access_jitter: settings.span("access_jitter"),
                    discard_after: settings.get("discard_after").span(),
                    extra_rtt: settings.span("extra_rtt"),
                    ue,
                    qfi,
                    ..FlowSpec::new(&transport.text, **config)
                });
            }
        }
        Ok(specs)
    }

    /// Every key with its value.
    pub fn resolved(&self, seed: u64) -> serde_json::Value {
        let flow = |(flow, settings): (&super::Flow, &Settings<'_>)| {
            let mut keys = settings.json();
            keys.insert("name".to_string(), json!(flow.name));
            if self.cell.is_none() {
                keys.remove("ue");
                keys.remove("qfi");
            }
            serde_json::Value::Object(keys)
        };
        let flows: Vec<serde_json::Value> = self.study.flows.iter().zip(&self.flows).map(flow).collect();
        let mut run = self.run.json();
        run.remove("seeds");
        run.insert("seed".to_string(), json!(seed));
        run.insert(
            "series".to_string(),
            json!(self.series().map_or("off".to_string(), |width| width.to_string())),
        );
        let mut path = self.path.json();
        let Some(cell) = &self.cell else {
            self.add_hops(&mut path);
            return json!({ "path": path, "flow": flows, "run": run });
        };
        path.retain(|key, _| ["rtt", "jitter", "uplink", "uplink_limit"].contains(&key.as_str()));
        self.add_hops(&mut path);
        json!({ "path": path, "cell": cell.json(), "flow": flows, "run": run })
    }

    fn add_hops(&self, path: &mut Map<String, serde_json::Value>) {
        let hop = |(hop, settings): (&super::hops::Hop, &Settings<'_>)| {
            let mut keys = settings.json();
            keys.insert("name".to_string(), json!(hop.name));
            serde_json::Value::Object(keys)
        };
        if !self.hops.is_empty() {
            let hops: Vec<serde_json::Value> = self.study.hops.iter().zip(&self.hops).map(hop).collect();
            path.insert("hop".to_string(), json!(hops));
        }
    }

    /// Whether every packet is recorded.
    pub fn packets(&self) -> bool {
        self.run.get("packets").is_on()
    }
}

/// Either a link or a trace has to be there, in `[path]` or in a hop that begins in `line`.
fn check_link(settings: &Settings<'_>, line: u32) -> Result<(), Fault> {
    const EITHER: &str = "expected one of both, such as trace = \"synth-lte-driving\" or link = \"10mbit\"";
    let (link, trace) = (settings.get("link"), settings.get("trace"));
    match (link.is_set(), trace.is_set()) {
        (true, true) => {
            let later = if link.line > trace.line { "link" } else { "trace" };
            return Err(settings.fault(later, format!("a link and a trace are given; {EITHER}")));
        }
        (false, false) => {
            let message = format!("no link and no trace is given; {EITHER}");
            return Err(Fault::new(line, settings.table.name, message));
        }
        _ => {}
    }
    for key in ["once", "trace_format"] {
        if link.is_set() && settings.get(key).given {
            return Err(settings.fault(key, "a link is given; expected this with a trace only"));
        }
    }
    Ok(())
}

/// The discipline with the limit of `[path]`, or of the hop, where it has none of its own.
fn qdisc(settings: &Settings<'_>) -> Result<Arguments, Fault> {
    let Meaning::Qdisc(arguments) = &settings.get("qdisc").meaning else {
        return Err(settings.fault("qdisc", "no discipline; expected one"));
    };
    let mut arguments = arguments.clone();
    let limit = settings.get("limit");
    if limit.is_set() {
        arguments.default_to("limit", Value::Whole(limit.whole()));
    }
    AnyQdisc::build(&arguments).map_err(|error| settings.fault("qdisc", error))?;
    Ok(arguments)
}

/// The link of `[path]` or of a hop.
fn link(settings: &Settings<'_>, sources: &mut Sources<'_>) -> Result<AnyLink, Fault> {
    let (link, trace) = (settings.get("link"), settings.get("trace"));
    if link.is_set() {
        return sources.library.link(&link.text).map_err(|message| settings.fault("link", message));
    }
    let format = settings.get("trace_format");
    let format = format.is_set().then_some(format.text.as_str());
    let repeat = !settings.get("once").is_on();
    sources.trace(&trace.text, format, repeat).map_err(|message| settings.fault("trace", message))
}

/// The link below the discipline, which has the rate that the discipline counts on, if it does.
fn link_below(settings: &Settings<'_>, sources: &mut Sources<'_>) -> Result<AnyLink, Fault> {
    let link = link(settings, sources)?;
    let Meaning::Qdisc(arguments) = &settings.get("qdisc").meaning else { return Ok(link) };
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
    Err(settings.fault("qdisc", message))
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
