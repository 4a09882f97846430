//! The contents of the files of a result folder. Fields are only ever added, and readers ignore unknown fields. Files have no
//! times of day and no cost, so equal runs give equal bytes.

mod case;
mod json;

pub use case::{CaseSummary, Cdf};
pub use json::{pretty, text};
pub use qdelay_record::entity::{Entity, round};
pub use qdelay_record::{DelaySummary, OccupancySummary};
pub use qdelay_sim::results::{
    AirFigures, AudioFigures, BearerFigures, CellFigures, CellSeries, CodepointFigures, ConnectionSeries,
    FlowFigures, FlowSeries, GroupFigures, GroupSeries, HopFigures, Measures, NodeFigures, OutageFigures,
    PdcpFigures, QuantumFigures, ResponsivenessFigures, Series, SliceFigures, StreamFigures, StreamSeries,
    TrafficFigures, VideoFigures, VideoSeries, VoiceFigures, WebFigures, WebSeries, WholeMillisecondDelays,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of every file; changes only if a field has to change its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// `study.json`: of which study a folder is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyFile {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of the program.
    pub qdelay: String,
    /// The commit that the program was built from. Missing where it was built from a package.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
    /// Name of the scenario.
    pub scenario: String,
    /// Of the scenario's text, as digests of traces are made.
    pub source: String,
    /// What the command line changed: `seeds`, `duration`, `clock`, `starts`.
    pub overrides: BTreeMap<String, String>,
    /// What is written beside the summaries: `packets`, `series`.
    pub records: Vec<String>,
    /// The traces of its cases.
    pub traces: BTreeMap<String, TraceFile>,
    /// The shared objects whose components it names, each with its SHA-256. Missing without any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub component_files: BTreeMap<String, String>,
    /// The components of Python that it names: the parts of their code and data, each with its SHA-256 or version, or `unknown: ` and
    /// why it cannot be compared. Missing without any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub components: BTreeMap<String, BTreeMap<String, String>>,
    /// The axes, outermost first.
    pub axes: Vec<AxisFile>,
    /// How many cases.
    pub cases: u64,
    /// How the files of cases are guarded: `sha256`, by a `SHA256SUMS` in each. Missing in folders of before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digests: Option<String>,
}

/// An axis and its points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AxisFile {
    /// `path.qdisc`, `flow.transport`, `variant`, `seed`...
    pub name: String,
    /// The points, in order.
    pub labels: Vec<String>,
}

/// `summary.json` of a folder: every case without its curves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// What it is, in one line.
    pub title: String,
    /// What it is for.
    pub about: String,
    /// The axes, outermost first.
    pub axes: Vec<AxisFile>,
    /// The cases, in the order of the axes.
    pub cases: Vec<CaseSummary>,
    /// What was expected and what came.
    pub expects: Vec<ExpectResult>,
    /// Where a run was told to accept them (`unverified=True`): the components of Python with a part that cannot be compared between runs,
    /// one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unverified: Vec<String>,
    /// The cases that gave the same run as others, which differ from them in their seed alone: their ids, in groups of two or more.
    /// Each group is one observation.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub same_runs: Vec<Vec<String>>,
    /// The clock of the cases where that is not the simulator's: `real`, `lab`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<String>,
    /// With several seeds: of what the intervals hold the mean.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub population: Option<String>,
    /// With several seeds: the mean over them of every figure, with its interval, for each point of the other axes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub points: Vec<PointFile>,
    /// With several seeds: each point compared with the first one of an axis, seed by seed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub differences: Vec<PairedDifference>,
}

/// The cases that differ in their seed alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointFile {
    /// The point on each axis but the seed's.
    pub labels: BTreeMap<String, String>,
    /// How many seeds.
    pub seeds: u64,
    /// How many different runs they gave: the figures of equal runs count once.
    pub distinct_runs: u64,
    /// Every figure that all of them have, by its dotted path into a case.
    pub figures: BTreeMap<String, Interval>,
}

/// A mean and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The arithmetic mean.
    pub mean: f64,
    /// Half the width of its 95% confidence interval (Student's t); null for a single run.
    pub half_width: Option<f64>,
}

/// A point compared with another one, seed by seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedDifference {
    /// The axis on which they differ.
    pub axis: String,
    /// The label of the other one on it.
    pub baseline: String,
    /// The point itself.
    pub labels: BTreeMap<String, String>,
    /// How many different pairs of runs.
    pub pairs: u64,
    /// This point less the other one, by the measure's dotted path.
    pub measures: BTreeMap<String, Difference>,
}

/// A mean difference and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The mean of the differences.
    pub mean: f64,
    /// Half the width of its 95% confidence interval; null for a single pair.
    pub half_width: Option<f64>,
    /// The probability of such a mean, or one farther from 0, if there is no difference (Student's t); null for a single pair.
    pub p_value: Option<f64>,
    /// Whether that is too little for chance, by Holm's correction at 5% over all differences of the study.
    pub is_beyond_chance: bool,
}

/// An expectation and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectResult {
    /// What was expected, in words.
    pub claim: String,
    /// The measure it is about.
    pub measure: String,
    /// Unit of the figures.
    pub unit: String,
    /// What came; null where no case fits or the measure is not there.
    pub ours: Option<f64>,
    /// Least accepted.
    pub low: Option<f64>,
    /// Largest accepted.
    pub high: Option<f64>,
    /// What a paper says.
    pub paper: Option<f64>,
    /// `match` or `miss`; `skipped` where a trace stood in for another.
    pub verdict: String,
    /// Why nothing came: the first case without the measure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lacking: Option<String>,
}

/// `run.json` of a case: what was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of the program.
    pub qdelay: String,
    /// Name of the scenario.
    pub scenario: String,
    /// The case.
    pub id: String,
    /// Its point on each axis.
    pub labels: BTreeMap<String, String>,
    /// Every key with its value, defaults included: `path`, `flow`, `run`.
    pub resolved: serde_json::Value,
    /// The traces it ran on.
    pub traces: BTreeMap<String, TraceFile>,
    /// The clock it ran under where that is not the simulator's: `real`, `lab`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<String>,
    /// Under a real clock: whether it can be trusted, and why.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub audit: Option<Audit>,
    /// In the laboratory: what ran it, and what its kernel counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub laboratory: Option<Laboratory>,
}

/// What ran a case in the laboratory. Equal scenarios, seeds and versions give equal files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Laboratory {
    /// The kernel's release, as `uname -r` prints it.
    pub kernel: String,
    /// Digest of the packages that the machine is made of: `qdelay lab list` names them.
    pub image: String,
    /// What emulated the machine.
    pub machine: String,
    /// What the packets went through: `qdelay`, or `linux`, a queue discipline of the kernel.
    pub bottleneck: String,
    /// What the kernel has counted at its queue discipline, by the names of `tc -s -j qdisc`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub counters: BTreeMap<String, u64>,
    /// When each flow began, seconds: its start in the scenario, and up to 0.1 s more by the seed.
    pub starts_s: Vec<f64>,
    /// When the first packet of each flow's connection came to the bottleneck, seconds; `None` where none came.
    #[serde(default)]
    pub opened_s: Vec<Option<f64>>,
    /// When the first data of each flow came to the bottleneck, seconds: later, because programs agree on a test first; `None` where none
    /// came.
    #[serde(default)]
    pub begun_s: Vec<Option<f64>>,
}

/// What a run under a real clock says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Nothing speaks against it.
    pub trustworthy: bool,
    /// What speaks against it.
    pub reasons: Vec<String>,
    /// How late packets were released.
    pub lateness_ms: DelaySummary,
    /// A release that is later is late.
    pub late_limits_ms: [f64; 2],
    /// How many were.
    pub releases_late: u64,
    /// When the emulator was not there.
    #[serde(default)]
    pub stalls: Stalls,
    /// Packets lost outside the path.
    pub lost_outside: u64,
    /// What was read from devices and is no IP packet.
    pub malformed: u64,
    /// Processor time of the emulator.
    pub cpu_seconds: f64,
    /// Processor time that the machine's host took from it; null where the kernel does not say.
    pub steal_seconds: Option<f64>,
    /// Whether real-time priority was granted.
    pub realtime: bool,
    /// What irtt says of the flows that it made.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub irtt: Vec<Irtt>,
    /// What programs of the user say of the flows that they are.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub programs: Vec<ProgramReport>,
}

/// What a program of the user says of the flow that it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramReport {
    /// The flow.
    pub flow: String,
    /// The command.
    pub command: String,
    /// The line that it has printed.
    pub told: serde_json::Value,
}

/// When the emulator of a run under a real clock was not there, and what may have waited for it unread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stalls {
    /// How often it was late for itself by more than a release may be late.
    pub count: u64,
    /// All of these intervals together.
    pub total_ms: f64,
    /// The longest time that it was late for itself by, if it was ever.
    pub longest_gap_ms: f64,
    /// IP packets that were read.
    pub packets_read: u64,
    /// Of these, those that may have waited unread for longer than the limit.
    pub packets_unseen: u64,
    /// Packets that the devices had dropped when they were asked after an interval of 5 ms or more, and not before.
    pub dropped: u64,
    /// When the longest intervals began and how long they were, at most eight, the longest first.
    pub longest: Vec<Stall>,
}

/// An interval in which the emulator was not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// When it should have been there, since the start.
    pub begin_s: f64,
    /// How much later it was.
    pub length_ms: f64,
}

/// What irtt says of a flow under a real clock: packets that its server sends back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Irtt {
    /// Name of the flow.
    pub flow: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets that its server had got when it sent the last reply that came.
    pub received_there: u64,
    /// Replies that came.
    pub received_back: u64,
    /// Smallest round trip.
    pub round_trip_min_ms: f64,
    /// Its mean.
    pub round_trip_mean_ms: f64,
    /// Largest.
    pub round_trip_max_ms: f64,
    /// Smallest one-way delay to the server, by one clock.
    pub there_min_ms: f64,
    /// Its mean.
    pub there_mean_ms: f64,
    /// Largest.
    pub there_max_ms: f64,
    /// Mean one-way delay of replies.
    pub back_mean_ms: f64,
}

/// A trace that a case ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFile {
    /// Of its bytes: FNV-1a, 64 bits, in hexadecimal.
    pub digest: String,
    /// The trace that was asked for and is not at hand.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stands_in_for: Option<String>,
}
