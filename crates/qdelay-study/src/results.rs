//! What stands in the files of a result folder. They are only added to; readers ignore what they do not know. No times of
//! day and no cost: equal runs are equal bytes.

mod json;

pub use json::{pretty, text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of every file; changes only if a field has to change its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// Delays in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delay {
    /// How many packets.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Maximum.
    pub max: f64,
}

/// `study.json`: of which study a folder is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyFile {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of the program.
    pub qdelay: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Of the scenario's text, as digests of traces are made.
    pub source: String,
    /// What the command line changed: `seeds`, `duration`, `clock`.
    pub overrides: BTreeMap<String, String>,
    /// What is written beside the summaries: `packets`, `series`.
    pub records: Vec<String>,
    /// The traces of its cases.
    pub traces: BTreeMap<String, TraceFile>,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// The cases that gave the same run as others, which differ from them in their seed alone: their ids, in groups of two or more.
    /// Each group is one observation.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub same_runs: Vec<Vec<String>>,
    /// The clock of the cases where that is not the simulator's: `real`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<String>,
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
    /// The clock it ran under where that is not the simulator's: `real`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<String>,
    /// Under a real clock: whether it can be trusted, and why.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub audit: Option<Audit>,
}

/// What a run under a real clock says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// Nothing speaks against it.
    pub trustworthy: bool,
    /// What speaks against it.
    pub reasons: Vec<String>,
    /// How late packets were released.
    pub lateness_ms: Delay,
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

/// The figures of a case: an entry of the folder's `summary.json`, and the case's own `summary.json` with its curves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseSummary {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Which case.
    pub id: String,
    /// Its point on each axis.
    pub labels: BTreeMap<String, String>,
    /// IP bytes that left the bottleneck over time, Mbit/s.
    pub throughput_mbps: f64,
    /// Bytes sent over bytes offered.
    pub utilization: f64,
    /// Mean rate that the bottleneck offered, Mbit/s; null where the link knows no bound.
    pub capacity_mbps: Option<f64>,
    /// Departure less arrival at the bottleneck.
    pub queue_delay_ms: Delay,
    /// What the discipline saw.
    pub sojourn_ms: Delay,
    /// Most packets that the bottleneck's queue held in the whole run.
    pub backlog_max_packets: u64,
    /// Most bytes.
    pub backlog_max_bytes: u64,
    /// From sender to receiver.
    pub one_way_delay_ms: Delay,
    /// Mean difference of consecutive one-way delays of a flow, over all flows.
    pub jitter_ms: f64,
    /// Throughput over the 99th percentile of the queue delay, Mbit/s/ms; null where nothing was delayed.
    pub power: Option<f64>,
    /// Packets that the bottleneck's queue dropped, in the whole run.
    pub drops: u64,
    /// The same by reason.
    pub drops_by_reason: BTreeMap<String, u64>,
    /// Packets that it marked.
    pub marks: u64,
    /// The same by reason.
    pub marks_by_reason: BTreeMap<String, u64>,
    /// Packets that left the bottleneck in the whole run.
    pub packets_forwarded: u64,
    /// Jain's index of the goodputs.
    pub jain: f64,
    /// Delays of the probe.
    pub probe_ms: Option<Delay>,
    /// Its packets.
    pub probe_sent: Option<u64>,
    /// Its lost packets.
    pub probe_lost: Option<u64>,
    /// By entry of `[[flow]]`.
    pub groups: BTreeMap<String, Group>,
    /// Each flow.
    pub flows: Vec<Flow>,
    /// Each node of the path.
    pub nodes: BTreeMap<String, Node>,
    /// Packets by their codepoint at the bottleneck, `ef` or `dscp-3`; where flows use more than one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub codepoints: BTreeMap<String, Codepoint>,
    /// Each hop in front of the bottleneck, by its name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub hops: BTreeMap<String, Hop>,
    /// What only a cell has.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cell: Option<Cell>,
    /// Under a real clock: whether nothing speaks against the figures. `run.json` says what does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trustworthy: Option<bool>,
    /// Queue delays by percentile; in the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_cdf: Option<Cdf>,
    /// The same for each entry of `[[flow]]`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group_delay_cdf: Option<BTreeMap<String, Cdf>>,
    /// The same for each codepoint, where flows use more than one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub codepoint_delay_cdf: Option<BTreeMap<String, Cdf>>,
    /// Of a cell: delays by stage, and their `total`, for each entry of `[[flow]]`; in the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group_stage_cdf: Option<BTreeMap<String, BTreeMap<String, Cdf>>>,
    /// Round trips of datagrams that are sent back, by entry of `[[flow]]`; in the case's own file only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group_round_trip_cdf: Option<BTreeMap<String, Cdf>>,
    /// Rates and delays over time; in the case's own file only, and null where they are off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub series: Option<Series>,
}

/// What became of packets of one codepoint at the bottleneck: counts of the whole run, the rest after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Codepoint {
    /// Packets offered to its queue.
    pub arrived: u64,
    /// Packets that left it.
    pub delivered: u64,
    /// Packets that it dropped.
    pub dropped: u64,
    /// Packets that its queue marked.
    pub marked: u64,
    /// Dropped over arrived.
    pub loss: f64,
    /// IP bytes that left, Mbit/s.
    pub throughput_mbps: f64,
    /// Departure less arrival.
    pub queue_delay_ms: Delay,
}

/// A hop in front of the bottleneck: counts of the whole run, the rest after the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hop {
    /// Where it stands on the way, from 1.
    pub place: u64,
    /// Packets that came to its queue.
    pub arrived: u64,
    /// Packets that left its link.
    pub delivered: u64,
    /// Packets that its queue dropped.
    pub drops: u64,
    /// The same by reason.
    pub drops_by_reason: BTreeMap<String, u64>,
    /// Packets that it marked.
    pub marks: u64,
    /// The same by reason.
    pub marks_by_reason: BTreeMap<String, u64>,
    /// IP bytes that left its link, Mbit/s.
    pub throughput_mbps: f64,
    /// Mean rate that its link offered, Mbit/s; null where it knows no bound.
    pub capacity_mbps: Option<f64>,
    /// Bytes sent over bytes offered.
    pub utilization: f64,
    /// Departure from its link less arrival at its queue.
    pub queue_delay_ms: Delay,
}

/// What only a cell has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Its transmission time interval.
    pub tti_ms: f64,
    /// Delay by stage: `n3`, `upf`, `sdap`, `rlc`, `air`, `reassembly`, of those that there are.
    pub stages: BTreeMap<String, Delay>,
    /// Share of packets whose last byte was taken at most a TTI after they came to the node; null without any.
    pub within_tti: Option<f64>,
    /// Resource blocks that could carry data.
    pub rbs_offered: u64,
    /// Those that did.
    pub rbs_used: u64,
    /// Those that nobody had data for.
    pub rbs_wasted: u64,
    /// Those that were left although somebody had data, because nothing fitted.
    pub rbs_unfit: u64,
    /// Of the used: those that repeated a lost block.
    pub rbs_repeated: u64,
    /// Wasted and unfit over offered.
    pub rbs_unused_share: f64,
    /// How full each bearer was, by `UE/bearer`.
    pub bearers: BTreeMap<String, Bearer>,
    /// From arrival at the node until the UE handed the packet up: all stages but `n3` together.
    #[serde(default)]
    pub total_ms: Delay,
    /// Share of the packets handed up that were so within a time of their arrival at the node: `500us`, `1ms`... and `1tti`...
    #[serde(default)]
    pub delivered_within: BTreeMap<String, f64>,
    /// What each slice got, by its name, where the cell is divided.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub slices: BTreeMap<String, Slice>,
}

/// What a slice got: `rbs_granted = rbs_used + rbs_wasted + rbs_unfit + rbs_lent`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// What was agreed, of all resource blocks that carry new data.
    pub share: f64,
    /// Resource blocks that were agreed, rounded as the partition does.
    pub rbs_granted: u64,
    /// Those that carried its data.
    pub rbs_used: u64,
    /// Those charged to it that nobody used, where it had no more data.
    pub rbs_wasted: u64,
    /// Those charged to it that nobody used, where it had.
    pub rbs_unfit: u64,
    /// What it lent more than it borrowed, over all of the measured time; below zero the other way round.
    pub rbs_lent: i64,
    /// Used over granted.
    pub rbs_used_share: f64,
    /// Bytes of packets taken, Mbit/s.
    pub throughput_mbps: f64,
    /// Its quantum over time; null without one.
    pub quantum_rbs: Option<Quantum>,
}

/// A quantum over time, in resource blocks: what a slice had lent, or borrowed where it is below zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantum {
    /// The least.
    pub min: f64,
    /// What it was below in a quarter of the TTIs.
    pub p25: f64,
    /// Median.
    pub p50: f64,
    /// What it was below in three quarters of the TTIs.
    pub p75: f64,
    /// The most.
    pub max: f64,
    /// Mean.
    pub mean: f64,
}

/// How full a bearer was: what its RLC has got and the MAC has not taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bearer {
    /// IP bytes.
    pub bytes: Level,
    /// Packets.
    pub packets: Level,
    /// The packet delay budget of its QCI or 5QI; of several QoS flows the shortest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub budget_ms: Option<f64>,
    /// Share of the packets handed up that were so within their budget, since they came to the far end of N3; null without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub within_budget: Option<f64>,
}

/// A level over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Mean over time.
    pub mean: f64,
    /// What it did not exceed in 95% of the time.
    pub p95: f64,
    /// The highest that lasted.
    pub max: f64,
}

/// One-way delays after each was cut down to whole milliseconds, as a receiver whose clock counts these sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WholeDelays {
    /// Their mean.
    pub mean_ms: f64,
    /// The least.
    pub min_ms: f64,
    /// The most.
    pub max_ms: f64,
    /// Standard deviation.
    pub deviation_ms: f64,
    /// Mean difference of consecutive ones of a flow.
    pub jitter_ms: f64,
    /// Mean difference from the first of their flow.
    pub jitter_from_first_ms: f64,
}

/// How a call, or the calls of an entry of `[[flow]]`, sounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Voice {
    /// The E-model's rating R (ITU-T G.107); of several calls the mean.
    pub r: f64,
    /// The rating of the worst call.
    pub r_min: f64,
    /// Mean opinion score for conversation; of several calls the mean.
    pub mos: f64,
    /// From mouth to ear; of several calls the mean.
    pub mouth_to_ear_ms: f64,
    /// Packets not heard over packets sent, by loss and by lateness.
    pub loss_ratio: f64,
    /// Of the packets sent: those that came too late for the listener's buffer.
    pub late_ratio: f64,
}

/// What an adaptive call, or those of an entry of `[[flow]]`, did; of several the means. Shares are of the time from its start to
/// its stop, after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Audio {
    /// It sent mainly with its own codepoint.
    pub green_share: f64,
    /// It sent mainly with its other codepoint.
    pub blue_share: f64,
    /// It sent nothing.
    pub off_share: f64,
    /// Changes of codepoint.
    pub changes: f64,
    /// Times it gave up for a while.
    pub hang_ups: f64,
    /// Rate of the codec, on and off, without headers and error correction, Mbit/s.
    pub codec_mbps: f64,
}

/// The flows of an entry of `[[flow]]` together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// How many.
    pub flows: u64,
    /// IP bytes of theirs that left the bottleneck, Mbit/s.
    pub throughput_mbps: f64,
    /// Application bytes delivered, Mbit/s.
    pub goodput_mbps: f64,
    /// Jain's index over the goodputs of its flows.
    #[serde(default)]
    pub jain: f64,
    /// Departure less arrival at the bottleneck.
    pub queue_delay_ms: Delay,
    /// The standard deviation of that.
    #[serde(default)]
    pub queue_delay_std_ms: f64,
    /// From sender to receiver.
    pub one_way_delay_ms: Delay,
    /// The least of these.
    #[serde(default)]
    pub one_way_min_ms: f64,
    /// Mean difference of consecutive one-way delays.
    pub jitter_ms: f64,
    /// Mean difference of one-way delays from the first of their flow.
    #[serde(default)]
    pub jitter_from_first_ms: f64,
    /// One-way delays, each cut down to whole milliseconds.
    #[serde(default)]
    pub one_way_whole: WholeDelays,
    /// Of TCP: from the first time that a segment was sent until its data was in order at the receiver.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub in_order_ms: Option<Delay>,
    /// Segments or datagrams sent, in the whole run.
    pub packets_sent: u64,
    /// Data packets lost on the path, in the whole run.
    pub packets_lost: u64,
    /// Lost over sent.
    pub loss_ratio: f64,
    /// With `discard_after`: data packets that receivers threw away because they came too late, in the whole run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub discarded_late: Option<u64>,
    /// Retransmissions, in the whole run.
    #[serde(default)]
    pub retransmits: u64,
    /// Of a cell: delay by stage.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stages: Option<BTreeMap<String, Delay>>,
    /// Of a cell: see [`Cell::within_tti`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub within_tti: Option<f64>,
    /// Of a cell: share of packets whose last byte was taken within a time of their arrival at the node: `500us`, `1ms`...
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent_within: Option<BTreeMap<String, f64>>,
    /// Of a cell: see [`Cell::total_ms`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub total_ms: Option<Delay>,
    /// Of a cell: see [`Cell::delivered_within`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivered_within: Option<BTreeMap<String, f64>>,
    /// Of datagrams that are sent back: from sending one to its return.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trip_ms: Option<Delay>,
    /// Of calls.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub voice: Option<Voice>,
    /// Of adaptive calls.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub audio: Option<Audio>,
}

/// A flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// The entry of `[[flow]]` it is of.
    pub group: String,
    /// What its ends run.
    pub transport: String,
    /// Application bytes delivered, Mbit/s.
    pub goodput_mbps: f64,
    /// Application bytes delivered in the whole run.
    pub delivered_bytes: u64,
    /// When a finite download was complete, since it started.
    pub completion_s: Option<f64>,
    /// Segments or datagrams sent.
    pub packets_sent: u64,
    /// Data packets lost on the path.
    pub packets_lost: u64,
    /// With `discard_after`: data packets that its receiver threw away because they came too late.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub discarded_late: Option<u64>,
    /// Retransmissions.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Reductions taken back.
    pub undone: u64,
    /// Congestion window at the end, segments.
    pub final_cwnd: u32,
    /// Smoothed round trip at the end.
    pub final_srtt_ms: f64,
    /// Mean of the smoothed round trip over time, after the warm-up; 0 where there is no series.
    #[serde(default)]
    pub srtt_mean_ms: f64,
    /// Of a cell: the name of its UE.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ue: Option<String>,
    /// Of a cell: the QoS flow that carries it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub qfi: Option<u8>,
    /// Of datagrams that are sent back: from sending one to its return.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trip_ms: Option<Delay>,
    /// Of a call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub voice: Option<Voice>,
    /// Of an adaptive call.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub audio: Option<Audio>,
}

/// A node of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Packets that came.
    pub received_packets: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Packets that went on.
    pub forwarded_packets: u64,
    /// Their bytes.
    pub forwarded_bytes: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets inside at the end.
    pub inside: u64,
}

/// Delays by percentile; two lists of one length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cdf {
    /// 0 to 100, ascending.
    pub percent: Vec<f64>,
    /// The delay that so many percent of the packets do not exceed.
    pub ms: Vec<f64>,
}

/// What happened in each bin of time. All lists have one entry a bin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Width of a bin in seconds; bin `i` is from `i * bin_s` on.
    pub bin_s: f64,
    /// Rate the link offered, Mbit/s; null where the link knows no bound.
    pub capacity_mbps: Vec<Option<f64>>,
    /// IP bytes that left, Mbit/s.
    pub throughput_mbps: Vec<f64>,
    /// Mean queue delay of the packets that left; null where none did.
    pub delay_mean_ms: Vec<Option<f64>>,
    /// Largest queue delay of the packets that left.
    pub delay_max_ms: Vec<Option<f64>>,
    /// Packets in the bottleneck's queue at the end of the bin.
    pub backlog_packets: Vec<u64>,
    /// Packets its queue dropped.
    pub drops: Vec<u64>,
    /// Packets it marked.
    pub marks: Vec<u64>,
    /// DSD's g at the end of the bin; empty where no queue of the bottleneck has one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub green_bias: Vec<f64>,
    /// By entry of `[[flow]]`.
    pub groups: BTreeMap<String, GroupSeries>,
    /// Of a cell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cell: Option<CellSeries>,
}

/// What only a cell has in each bin of time. All lists have one entry a bin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellSeries {
    /// IP bytes that the RLC of all bearers had got and the MAC had not taken: the mean over time.
    pub rlc_bytes_mean: Vec<f64>,
    /// The most that lasted.
    pub rlc_bytes_max: Vec<u64>,
    /// The same in packets.
    pub rlc_packets_mean: Vec<f64>,
    /// The most that lasted.
    pub rlc_packets_max: Vec<u64>,
    /// Resource blocks that could carry data.
    pub rbs_offered: Vec<u64>,
    /// Those that did.
    pub rbs_used: Vec<u64>,
    /// MCS that the scheduler takes the channel for at the end of the bin, mean over the UEs; null where channels are given in
    /// bytes, and in an outage.
    pub mcs: Vec<Option<f64>>,
}

/// The part of one entry of `[[flow]]` in a [`Series`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupSeries {
    /// IP bytes that left, Mbit/s.
    pub throughput_mbps: Vec<f64>,
    /// Mean queue delay of the packets that left.
    pub delay_mean_ms: Vec<Option<f64>>,
    /// Largest of them.
    pub delay_max_ms: Vec<Option<f64>>,
}

/// Six decimals: nanoseconds of a millisecond, bits of a megabit. More would be noise to read.
pub fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
