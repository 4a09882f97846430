//! Contents of the files in a result folder. Fields are only added while [`SCHEMA_VERSION`] stays the same, and readers ignore
//! unknown ones. Files contain no time of day and no cost, so equal runs write equal bytes.

mod case;
mod json;

pub use case::{CaseSummary, Cdf};
pub use json::{pretty, text};
pub use qdelay_record::entity::{Entity, round};
pub use qdelay_record::{DelaySummary, OccupancySummary};
// Every entity of a run, so that a new one is declared in the simulator alone.
pub use qdelay_sim::results::*;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Version of every file; increases only if a field is renamed or its meaning changes.
pub const SCHEMA_VERSION: u32 = 2;

/// Reads the `schema_version` of a file, which decides whether the other fields have the names of this program.
///
/// # Errors
/// The text is not a JSON object with a `schema_version`.
pub fn schema_version_of(text: &str) -> serde_json::Result<u32> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u32,
    }
    serde_json::from_str::<Version>(text).map(|version| version.schema_version)
}

/// Message that refuses a file of another version; `None` if `version` is [`SCHEMA_VERSION`].
pub fn other_schema(version: u32) -> Option<String> {
    match version.cmp(&SCHEMA_VERSION) {
        Ordering::Equal => None,
        Ordering::Greater => Some(format!(
            "schema_version is {version}; expected {SCHEMA_VERSION}: a newer qdelay wrote this and can read it"
        )),
        Ordering::Less => Some(format!(
            "schema_version is {version}; expected {SCHEMA_VERSION}: an older qdelay wrote this with other names of fields, and the same \
             command into a new folder writes it anew"
        )),
    }
}

/// Value of [`Summary::recorded_by`] for a link.
pub const LINK: &str = "link";
/// Note for figures of a link's traffic.
pub const LINK_NOTE: &str =
    "Traffic of programs behind a link: another run has other traffic, and one run has no interval.";

impl Summary {
    /// True for the records of a link, whose traffic no run repeats.
    pub fn is_of_link(&self) -> bool {
        self.recorded_by.as_deref() == Some(LINK)
    }
}

/// `study.json`: identity of the study that a folder belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyFile {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of the program.
    pub qdelay: String,
    /// Commit that the program was built from; missing for a build from a package.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commit: Option<String>,
    /// Name of the scenario.
    pub scenario: String,
    /// Digest of the scenario's text: FNV-1a, 64 bits, in hexadecimal.
    pub source: String,
    /// Changes by the command line: `seeds`, `duration`, `clock`, `starts`, `connections`.
    pub overrides: BTreeMap<String, String>,
    /// Files written for each case besides the summaries: `packets`, `series`.
    pub records: Vec<String>,
    /// Traces of the cases.
    pub traces: BTreeMap<String, TraceFile>,
    /// Shared objects with components that the scenario names, each with its SHA-256. Missing without any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub component_files: BTreeMap<String, String>,
    /// Python components that the scenario names: the parts of their code and data, each with its SHA-256 or version, or
    /// `unknown: ` and the reason why it cannot be compared. Missing without any.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub components: BTreeMap<String, BTreeMap<String, String>>,
    /// The axes, outermost first.
    pub axes: Vec<AxisFile>,
    /// Number of cases.
    pub cases: u64,
    /// Protection of case files: `sha256` for a `SHA256SUMS` in each case.
    pub digests: String,
}

impl StudyFile {
    /// True for the records of a link, which have no scenario.
    pub fn is_of_link(&self) -> bool {
        self.scenario == LINK && self.source.is_empty()
    }
}

/// An axis and its points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AxisFile {
    /// Name of the axis: `path.qdisc`, `flow.transport`, `variant`, `seed`...
    pub name: String,
    /// Labels of the points, in order.
    pub labels: Vec<String>,
}

/// `summary.json` of a folder: every case without its curves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Title of the scenario, in one line.
    pub title: String,
    /// Purpose of the scenario.
    pub about: String,
    /// The axes, outermost first.
    pub axes: Vec<AxisFile>,
    /// The cases, in the order of the axes.
    pub cases: Vec<CaseSummary>,
    /// Expectations with the figures found.
    pub expects: Vec<ExpectResult>,
    /// Components of Python with a part that cannot be compared between runs, one sentence each; only where a run was told to accept
    /// them (`unverified=True`).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unverified: Vec<String>,
    /// Ids of cases that differ only in their seed and have equal figures, in groups of two or more. Each group is one
    /// observation.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub same_runs: Vec<Vec<String>>,
    /// Clock of the cases: `real` or `lab`; missing for the simulator.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<String>,
    /// `link` for the records of `qdelay link --out`: traffic of a program, which no run repeats. Missing for a study.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recorded_by: Option<String>,
    /// With several seeds: population that the means and intervals hold for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub population: Option<String>,
    /// With several seeds: for each point of the other axes, the mean of every figure over the seeds, with its interval.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub points: Vec<PointFile>,
    /// With several seeds: differences of each point from the first point of an axis, paired by seed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub differences: Vec<PairedDifference>,
}

/// The cases that differ only in their seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointFile {
    /// Label on each axis except `seed`.
    pub labels: BTreeMap<String, String>,
    /// Number of seeds.
    pub seeds: u64,
    /// Number of distinct runs: seeds with equal figures count once.
    pub distinct_runs: u64,
    /// Every figure that all cases have, by its dotted path into a case.
    pub figures: BTreeMap<String, Interval>,
}

/// A mean and its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The arithmetic mean.
    pub mean: f64,
    /// Half the width of the 95% confidence interval (Student's t); null for a single run.
    pub half_width: Option<f64>,
}

/// A point compared with a baseline, paired by seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedDifference {
    /// Axis on which the two differ.
    pub axis: String,
    /// Label of the baseline on that axis.
    pub baseline: String,
    /// Labels of the compared point.
    pub labels: BTreeMap<String, String>,
    /// Number of distinct pairs of runs.
    pub pairs: u64,
    /// This point minus the baseline, by the measure's dotted path.
    pub measures: BTreeMap<String, Difference>,
}

/// A mean difference and its confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The mean of the differences.
    pub mean: f64,
    /// Half the width of the 95% confidence interval (Student's t); null for a single pair.
    pub half_width: Option<f64>,
    /// Probability of a mean difference at least as far from 0 if there is no true difference (Student's t); null for a single
    /// pair.
    pub p_value: Option<f64>,
    /// True if the difference is significant at 5%, after Holm's correction over all differences of the study.
    pub significant: bool,
}

/// An expectation and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectResult {
    /// The expectation, in words.
    pub claim: String,
    /// Measure: a dotted path into a case of `summary.json`, or two with ` / ` between.
    pub measure: String,
    /// Unit of `value`, `low`, `high` and `paper`.
    pub unit: String,
    /// Figure found; null if no case is selected or a case lacks the measure.
    pub value: Option<f64>,
    /// Smallest accepted figure.
    pub low: Option<f64>,
    /// Largest accepted figure.
    pub high: Option<f64>,
    /// Figure that a paper states.
    pub paper: Option<f64>,
    /// `match` or `miss`; `skipped` if a trace was substituted.
    pub verdict: String,
    /// Reason for a missing figure: the first case without the measure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub missing_reason: Option<String>,
}

/// `run.json` of a case: its settings and how it was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFile {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of the program.
    pub qdelay: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Id of the case.
    pub id: String,
    /// Label on each axis.
    pub labels: BTreeMap<String, String>,
    /// Every key with its value, including defaults: `path`, `cell`, `flow`, `run`.
    pub settings: serde_json::Value,
    /// Traces that the case ran on.
    pub traces: BTreeMap<String, TraceFile>,
    /// Clock: `real` or `lab`; missing for the simulator.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<String>,
    /// With a real clock: audit of the timing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub audit: Option<Audit>,
    /// In the laboratory: machine, kernel, and the kernel's counters.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub laboratory: Option<Laboratory>,
    /// Packets dropped in each direction of a link, by reason, at its queue and behind it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub drops_by_reason: BTreeMap<String, BTreeMap<String, u64>>,
}

/// Environment of a case in the laboratory. Equal scenarios, seeds and versions give equal files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Laboratory {
    /// Release of the kernel, as printed by `uname -r`.
    pub kernel: String,
    /// Digest of the packages that the virtual machine is built from; `qdelay lab list` names them.
    pub image: String,
    /// Emulator of the virtual machine.
    pub machine: String,
    /// Implementation of the bottleneck: `qdelay`, or `linux` for a queue discipline of the kernel.
    pub bottleneck: String,
    /// Counters of the kernel's queue discipline, named as by `tc -s -j qdisc`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub counters: BTreeMap<String, u64>,
    /// Start time of each flow, seconds: its start in the scenario, plus up to 0.1 s drawn by the seed.
    pub starts_s: Vec<f64>,
    /// Time when the first packet of each flow reached the bottleneck, seconds; null if none did.
    #[serde(default)]
    pub opened_s: Vec<Option<f64>>,
    /// Time when the first data of each flow reached the bottleneck, seconds; null if none did. Later than `opened_s`, because
    /// programs first agree on the test.
    #[serde(default)]
    pub begun_s: Vec<Option<f64>>,
}

/// Audit of a run with a real clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// True if no check found a problem.
    pub trustworthy: bool,
    /// Problems found, one sentence each.
    pub reasons: Vec<String>,
    /// Grade of a link's delays, from `fine` to `poor`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grade: Option<String>,
    /// Error of all but one of a link's delays in a thousand, ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delays_hold_to_ms: Option<f64>,
    /// Lateness of packet releases, ms.
    pub lateness_ms: DelaySummary,
    /// Limits of the lateness, ms; a release later than these is late.
    pub late_limits_ms: [f64; 2],
    /// Number of late releases.
    pub releases_late: u64,
    /// Intervals in which the emulator did not run.
    #[serde(default)]
    pub stalls: Stalls,
    /// Packets lost outside the path.
    pub lost_outside: u64,
    /// Frames read from devices that are not IP packets.
    pub malformed: u64,
    /// CPU time of the emulator, seconds.
    pub cpu_seconds: f64,
    /// CPU time taken by the host of the virtual machine (steal), seconds; null if the kernel does not report it.
    pub steal_seconds: Option<f64>,
    /// True if real-time priority was granted.
    pub realtime: bool,
    /// Reports of irtt, one for each flow that irtt generated.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub irtt: Vec<Irtt>,
    /// Reports of the user's own programs, one for each flow that a program generated.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub programs: Vec<ProgramReport>,
    /// Changes that were made to the path by hand while the case ran, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub changes: Vec<PathChange>,
}

/// A change that was made to the path by hand while a case ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathChange {
    /// Time on the path since when it holds, seconds.
    pub time_s: f64,
    /// The change as text.
    pub what: String,
}

/// Report of a user's program about its flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramReport {
    /// Name of the flow.
    pub flow: String,
    /// Command line of the program.
    pub command: String,
    /// Line of JSON that the program printed.
    pub report: serde_json::Value,
}

/// Intervals in which the emulator of a run with a real clock did not run, and packets that may have waited unread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stalls {
    /// Number of intervals by which the emulator was behind its own schedule, longer than the limit of a late release.
    pub count: u64,
    /// Total length of these intervals, ms.
    pub total_ms: f64,
    /// Longest delay of the emulator behind its own schedule, ms; 0 if it was never late.
    pub longest_gap_ms: f64,
    /// IP packets read from devices.
    pub packets_read: u64,
    /// Packets read that may have waited unread for longer than the limit.
    pub packets_unseen: u64,
    /// Packets that were written while the emulator stalled, and may have left late.
    #[serde(default)]
    pub packets_held: u64,
    /// Packets that the devices reported as dropped after an interval of at least 5 ms, counted only for such intervals.
    pub dropped: u64,
    /// The longest intervals, at most eight, longest first.
    pub longest: Vec<Stall>,
}

/// An interval in which the emulator did not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// Time when the emulator should have run, seconds since the start.
    pub begin_s: f64,
    /// Delay until it ran, ms.
    pub length_ms: f64,
}

/// Report of irtt about a flow with a real clock; its server returns every packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Irtt {
    /// Name of the flow.
    pub flow: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets that the server had received when it sent the last reply that arrived.
    pub received_forward: u64,
    /// Replies received.
    pub received_reverse: u64,
    /// Smallest round trip, ms.
    pub round_trip_min_ms: f64,
    /// Mean round trip, ms.
    pub round_trip_mean_ms: f64,
    /// Largest round trip, ms.
    pub round_trip_max_ms: f64,
    /// Smallest one-way delay to the server, ms; both ends share a clock.
    pub forward_min_ms: f64,
    /// Mean one-way delay to the server, ms.
    pub forward_mean_ms: f64,
    /// Largest one-way delay to the server, ms.
    pub forward_max_ms: f64,
    /// Mean one-way delay of replies, ms.
    pub reverse_mean_ms: f64,
}

/// A trace that a case ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFile {
    /// Digest of the trace's bytes: FNV-1a, 64 bits, in hexadecimal.
    pub digest: String,
    /// The requested trace, which is missing and replaced by this one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub substitute_for: Option<String>,
}
