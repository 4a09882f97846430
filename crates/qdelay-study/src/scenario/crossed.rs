//! A study of links, disciplines, transports and seeds, as a program asks for it instead of a file.

use super::declare::{FLOW, PATH, RUN, Table};
use super::layer::{Layer, place};
use super::matrix::{Dimension, Target};
use super::setting::{Meaning, Setting, Uplink};
use super::{Flow, Overrides, Study, axes, check_combinations};
use crate::InputError;
use crate::traces::Library;
use qdelay_core::component::{Arguments, Value};
use qdelay_core::{Rate, Span};
use qdelay_path::AnyLink;
use qdelay_traffic::transport::TransportConfig;

/// Several flows that are alike start at random times before this; in files it is `flow.spread`, and 0 unless given.
pub const START_WITHIN: Span = Span::from_millis(4);

/// What all cases are crossed from. Labels are to the letter what the user typed.
#[derive(Clone, Debug)]
pub struct Crossed {
    /// What the study is called.
    pub name: String,
    /// The bottlenecks, outermost.
    pub bottlenecks: Vec<(String, AnyLink)>,
    /// Whether these are traces.
    pub are_traces: bool,
    /// Whether a trace ends, instead of starting over.
    pub once: bool,
    /// The queue disciplines.
    pub qdiscs: Vec<Arguments>,
    /// The transports, one of which all flows of a case run.
    pub transports: Vec<(String, TransportConfig)>,
    /// The seeds, innermost.
    pub seeds: Vec<u64>,
    /// What acknowledgements cross, as it was typed.
    pub uplink: (String, Back),
    /// Packets the uplink's queue holds.
    pub uplink_limit: u64,
    /// Round trip without any queue.
    pub base_rtt: Span,
    /// At most this much more delay behind the bottleneck.
    pub jitter: Span,
    /// Flows of each case.
    pub flows: u64,
    /// Packets the bottleneck's queue holds where the discipline's `limit` is not given; without it the discipline's default.
    pub limit: Option<u64>,
    /// Whether there is a probe.
    pub probe: bool,
    /// Simulated time.
    pub duration: Span,
    /// Where measuring begins.
    pub warmup: Span,
    /// Smallest packet whose delay counts.
    pub min_packet_bytes: u32,
}

/// What acknowledgements cross.
#[derive(Clone, Debug)]
pub enum Back {
    /// Nothing: they are not queued.
    None,
    /// A line of this rate.
    Rate(Rate),
    /// A link by its name.
    Link(AnyLink),
    /// The link that a trace drives.
    Trace(AnyLink),
}

impl Crossed {
    /// The study, and a library that has its links and traces.
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
            path_line: 0,
            path: self.path(),
            hops: Vec::new(),
            cell: None,
            flows: vec![Flow { name: "flow".to_string(), line: 0, layer: self.flow() }],
            run: self.run(),
            dimensions: self.dimensions(),
            seeds: Vec::new(),
            fallback: Default::default(),
            cases: 0,
        };
        let overrides = Overrides { seeds: Some(self.seeds.clone()), duration: None };
        axes(&mut study, &overrides)
            .and_then(|()| check_combinations(&study))
            .map_err(|fault| fault.of(&self.name))?;
        Ok((study, library))
    }

    fn library(&self) -> Library {
        let library = Library::new();
        let know = |name: &str, is_trace: bool, link: &AnyLink| match is_trace {
            true => library.know_trace(name, !self.once, link),
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

    fn path(&self) -> Layer {
        let mut path = Layer::defaults(&PATH);
        set(&mut path, "rtt", Value::Span(self.base_rtt));
        set(&mut path, "jitter", Value::Span(self.jitter));
        set(&mut path, "uplink_limit", Value::Whole(self.uplink_limit));
        if let Some(limit) = self.limit {
            set(&mut path, "limit", Value::Whole(limit));
        }
        if self.once {
            set(&mut path, "once", Value::Switch(true));
        }
        let (typed, back) = &self.uplink;
        let uplink = match back {
            Back::None => Uplink::None,
            Back::Rate(rate) => Uplink::Rate(*rate),
            Back::Link(_) => Uplink::Link,
            Back::Trace(_) => Uplink::Trace,
        };
        path.settings[place(&PATH, "uplink")] = given(typed, Meaning::Uplink(uplink));
        path
    }

    fn flow(&self) -> Layer {
        let mut flow = Layer::defaults(&FLOW);
        set(&mut flow, "count", Value::Whole(self.flows));
        if self.flows > 1 {
            set(&mut flow, "spread", Value::Span(START_WITHIN));
        }
        flow
    }

    fn run(&self) -> Layer {
        let mut run = Layer::defaults(&RUN);
        set(&mut run, "duration", Value::Span(self.duration));
        set(&mut run, "warmup", Value::Span(self.warmup));
        set(&mut run, "probe", Value::Switch(self.probe));
        set(&mut run, "min_packet_bytes", Value::Whole(self.min_packet_bytes.into()));
        run.settings[place(&RUN, "series")] = given("off", Meaning::Series(None));
        run
    }

    fn dimensions(&self) -> Vec<Dimension> {
        let path = |key| Target::Path(place(&PATH, key));
        let (link, meaning) =
            if self.are_traces { ("trace", Meaning::Name) } else { ("link", Meaning::Link) };
        let links = self.bottlenecks.iter().map(|(typed, _)| (typed.as_str(), meaning.clone()));
        let qdiscs = self.qdiscs.iter().map(|qdisc| (qdisc.typed(), Meaning::Qdisc(qdisc.clone())));
        let transports = self
            .transports
            .iter()
            .map(|(typed, config)| (typed.as_str(), Meaning::Transport(Box::new(*config))));
        vec![
            dimension(&PATH, link, path(link), links),
            dimension(&PATH, "qdisc", path("qdisc"), qdiscs),
            dimension(&FLOW, "transport", Target::EveryFlow(place(&FLOW, "transport")), transports),
        ]
    }
}

fn dimension<'a>(
    table: &Table,
    key: &str,
    target: Target,
    points: impl Iterator<Item = (&'a str, Meaning)>,
) -> Dimension {
    let mut dimension =
        Dimension { name: format!("{}.{key}", table.name), labels: Vec::new(), points: Vec::new() };
    for (typed, meaning) in points {
        dimension.labels.push(typed.to_string());
        dimension.points.push(vec![(target, given(typed, meaning))]);
    }
    dimension
}

fn set(layer: &mut Layer, key: &str, value: Value) {
    let text = match &value {
        Value::Span(span) => span.to_string(),
        Value::Switch(on) => on.to_string(),
        Value::Whole(n) => n.to_string(),
        other => format!("{other:?}"),
    };
    layer.settings[place(layer.table, key)] = given(&text, Meaning::Value(value));
}

fn given(text: &str, meaning: Meaning) -> Setting {
    Setting { line: 0, given: true, text: text.to_string(), meaning }
}
