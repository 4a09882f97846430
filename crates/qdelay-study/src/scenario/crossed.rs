//! A study that a program specifies without a file: links, disciplines, transports and seeds.

use super::case::Tables;
use super::changes::{Change, Point};
use super::combinations::check_combinations;
use super::declare::{Flow, FlowChange, Path, PathChange, Run, Settings};
use super::matrix::Dimension;
use super::named::Named;
use super::read::axes;
use super::values::{Bins, Link, Qdisc, Starts, TraceName, Transport, Uplink};
use super::{Overrides, Study};
use crate::InputError;
use crate::traces::Library;
use crate::traces::delay::Delay;
use crate::traces::jitter::JitterText;
use qdelay_config::{Accept, Setting};
use qdelay_core::component::Arguments;
use qdelay_core::{Rate, Span};
use qdelay_path::AnyLink;
use qdelay_traffic::transport::TransportConfig;

/// Latest start of a flow, without random starts and with several flows; a file sets it as `flow.start_spread`, default 0.
pub const START_WITHIN: Span = Span::from_millis(4);

/// Values whose combinations are the cases. Labels are the user's text, unchanged.
#[derive(Clone, Debug)]
pub struct Crossed {
    /// The name of the study.
    pub name: String,
    /// Bottlenecks: the outermost axis.
    pub bottlenecks: Vec<(String, AnyLink)>,
    /// True if the bottlenecks are traces.
    pub are_traces: bool,
    /// True if a trace starts over at its end.
    pub repeat: bool,
    /// The queue disciplines.
    pub qdiscs: Vec<Arguments>,
    /// Transports; all flows of a case have the same one.
    pub transports: Vec<(String, TransportConfig)>,
    /// Seeds: the innermost axis.
    pub seeds: Vec<u64>,
    /// Choice of the places where runs begin on traces, and of the start times of flows.
    pub starts: Starts,
    /// Link of the acknowledgements, with the user's text.
    pub uplink: (String, Back),
    /// Packet limit of the uplink's queue.
    pub uplink_limit: u64,
    /// Round-trip time without queueing and transmission.
    pub rtt: Delay,
    /// Largest additional random delay behind the bottleneck; packets keep their order.
    pub jitter: Span,
    /// Number of flows in each case.
    pub flows: u64,
    /// Packet limit of the bottleneck's queue, unless the discipline sets its own `limit`; `None` for the discipline's default.
    pub limit: Option<u64>,
    /// True to send probe packets.
    pub probe: bool,
    /// True for series over time, in bins of the default width.
    pub series: bool,
    /// True to add the state of each connection to the series.
    pub connections: bool,
    /// Simulated time of each run.
    pub duration: Span,
    /// Time from which rates and delays are measured.
    pub warmup: Span,
    /// Smallest IP packet whose delay counts, in bytes.
    pub min_packet_bytes: u32,
}

/// The link of the acknowledgements, built.
#[derive(Clone, Debug)]
pub enum Back {
    /// No link: acknowledgements are not queued.
    None,
    /// A line with this rate.
    Rate(Rate),
    /// A link by its name.
    Link(AnyLink),
    /// The link that a trace drives.
    Trace(AnyLink),
}

impl Crossed {
    /// Builds the study, and a library with its links and traces.
    ///
    /// # Errors
    /// Settings that contradict each other.
    pub fn study(&self) -> Result<(Study, Library), InputError> {
        let library = self.library();
        let mut study = Study {
            name: self.name.clone(),
            title: String::new(),
            about: String::new(),
            source: String::new(),
            axes: Vec::new(),
            expects: Vec::new(),
            place: self.name.clone(),
            tables: Tables {
                path: self.path(),
                flows: vec![Named { name: "flow".to_string(), line: 0, keys: self.flow() }],
                run: self.run(),
                ..Tables::defaults()
            },
            dimensions: self.dimensions(),
            seeds: Vec::new(),
            starts: Starts::Auto,
            fallback: Default::default(),
            component_files: Default::default(),
            components: Default::default(),
            is_unverified: false,
            origin: Default::default(),
            cases: 0,
        };
        // Axes and checks are those of a scenario file.
        let overrides =
            Overrides { seeds: Some(self.seeds.clone()), starts: Some(self.starts), ..Overrides::default() };
        axes(&mut study, &overrides)
            .and_then(|()| check_combinations(&study))
            .map_err(|fault| fault.in_file(&self.name))?;
        Ok((study, library))
    }

    fn library(&self) -> Library {
        let library = Library::new();
        let know = |name: &str, is_trace: bool, link: &AnyLink| match is_trace {
            true => library.know_trace(name, self.repeat, link),
            false => library.know_link(name, link),
        };
        for (typed, link) in &self.bottlenecks {
            know(typed, self.are_traces, link);
        }
        match &self.uplink {
            (_, Back::None | Back::Rate(_)) => {}
            (typed, Back::Link(link)) => know(typed, false, link),
            (typed, Back::Trace(link)) => know(typed, true, link),
        }
        library
    }

    fn path(&self) -> Path {
        let mut path = Path::defaults();
        path.rtt.set(self.rtt.text(), self.rtt.clone());
        path.jitter.set(self.jitter, JitterText::from(self.jitter));
        path.uplink_limit.set(self.uplink_limit, self.uplink_limit);
        if let Some(limit) = self.limit {
            path.limit.set(limit, Some(limit));
        }
        if !self.repeat {
            path.repeat.set("off", false);
        }
        let (typed, back) = &self.uplink;
        let uplink = match back {
            Back::None => Uplink::None,
            Back::Rate(rate) => Uplink::Rate(*rate),
            Back::Link(_) => Uplink::Link,
            Back::Trace(_) => Uplink::Trace,
        };
        path.uplink.set(typed, uplink);
        path
    }

    fn flow(&self) -> Flow {
        let mut flow = Flow::defaults();
        flow.count.set(self.flows, self.flows);
        let is_random = self.starts.are_random(self.seeds.len());
        if self.flows > 1 && !is_random {
            flow.start_spread.set(START_WITHIN, START_WITHIN);
        }
        flow
    }

    fn run(&self) -> Run {
        let mut run = Run::defaults();
        run.duration.set(self.duration, self.duration);
        run.warmup.set(self.warmup, self.warmup);
        run.probe.set(if self.probe { "on" } else { "off" }, self.probe);
        run.min_packet_bytes.set(self.min_packet_bytes, self.min_packet_bytes);
        if !self.series {
            run.series.set("off", Some(Bins(None)));
        }
        if self.connections {
            run.connections.set("on", true);
        }
        run
    }

    fn dimensions(&self) -> Vec<Dimension> {
        let (path, flow) = (Path::defaults(), Flow::defaults());
        let links = self.bottlenecks.iter().map(|(typed, _)| typed);
        let links = if self.are_traces {
            let points = links.map(|typed| given(&path.trace, typed, Some(TraceName)));
            dimension("path.trace", points.map(|trace| Change::Path(PathChange::trace(trace))))
        } else {
            let points = links.map(|typed| given(&path.link, typed, Some(Link)));
            dimension("path.link", points.map(|link| Change::Path(PathChange::link(link))))
        };
        let qdiscs = self.qdiscs.iter().map(|qdisc| given(&path.qdisc, qdisc.typed(), Qdisc(qdisc.clone())));
        let transports = self
            .transports
            .iter()
            .map(|(typed, config)| given(&flow.transport, typed, Transport(Box::new(config.clone()))));
        vec![
            links,
            dimension("path.qdisc", qdiscs.map(|qdisc| Change::Path(PathChange::qdisc(qdisc)))),
            dimension("flow.transport", transports.map(|to| Change::Flow(FlowChange::transport(to)))),
        ]
    }
}

fn dimension(name: &str, changes: impl Iterator<Item = Change>) -> Dimension {
    let points: Vec<Vec<Point>> = changes.map(|change| vec![Point { element: None, change }]).collect();
    let labels = points.iter().flatten().map(|point| point.change.setting().text().to_string()).collect();
    Dimension { name: name.to_string(), labels, points }
}

/// A setting like `default`, with a value from a program.
fn given<T: Accept>(default: &Setting<T>, text: &str, value: T) -> Setting<T> {
    let mut setting = default.clone();
    setting.set(text, value);
    setting
}
