//! What a run gives: the measures of `docs/measures.md`.

use core::fmt;
use qdelay_core::Span;
use qdelay_path::{ByReason, CellUsage, Counters, NodeId, Path, SliceUsage};
use qdelay_record::{DelayHistogram, DelaySummary, OccupancySummary};

pub use qdelay_traffic::audio::AudioOutcome;
pub use qdelay_traffic::voice::VoiceOutcome;

/// The measures of one run. Equal scenarios give equal outcomes.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// IP bytes that left the bottleneck after the warm-up, over that time; Mbit/s.
    pub throughput_mbps: f64,
    /// Bytes the link sent over bytes it offered, idle opportunities counted, after the warm-up; 0 to 1.
    pub utilization: f64,
    /// Departure from the bottleneck less arrival at it, of data-direction packets after the warm-up.
    pub queue_delay_ms: DelaySummary,
    /// What the discipline saw as packets left it.
    pub sojourn_ms: DelaySummary,
    /// Drops at the bottleneck's queue in the whole run, by reason.
    pub drops: Vec<ReasonCount>,
    /// Marks at the bottleneck's queue in the whole run, by reason.
    pub marks: Vec<ReasonCount>,
    /// Packets that left the bottleneck in the whole run.
    pub packets_forwarded: u64,
    /// One-way delay of the probe's packets beyond the propagation delay, after the warm-up.
    pub probe_ms: Option<DelaySummary>,
    /// Probe packets sent and lost in the whole run.
    pub probe_sent_lost: Option<(u64, u64)>,
    /// Each flow.
    pub flows: Vec<FlowOutcome>,
    /// Jain's index over the flows' goodputs.
    pub jain: f64,
    /// Each node of the path.
    pub nodes: Vec<NodeOutcome>,
    /// Each hop in front of the bottleneck, in their order.
    pub hops: Vec<HopOutcome>,
    /// Groups and bins of time, where the scenario asks for any.
    pub detail: Option<Box<Detail>>,
    /// What only a cell has.
    pub cell: Option<Box<CellOutcome>>,
}

/// Where the delay of a packet arises on its way through a cell. All together are the time from the packet's arrival at the
/// first of them until the UE hands it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Stage {
    /// The link in front of the node, and its queue.
    N3,
    /// The UPF's queue.
    Upf,
    /// The SDAP's queue.
    Sdap,
    /// The queue of the RLC, until the first byte is taken.
    Rlc,
    /// From the first byte taken until a part of the packet is received for the first time.
    Air,
    /// From then until the packet is whole and handed up: other parts, repetitions, order.
    Reassembly,
}

impl Stage {
    /// In the order of the way.
    pub const ALL: [Stage; 6] =
        [Stage::N3, Stage::Upf, Stage::Sdap, Stage::Rlc, Stage::Air, Stage::Reassembly];

    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::N3 => "n3",
            Stage::Upf => "upf",
            Stage::Sdap => "sdap",
            Stage::Rlc => "rlc",
            Stage::Air => "air",
            Stage::Reassembly => "reassembly",
        }
    }
}

/// The measures that only a cell has. Delays are of data packets that UEs handed up after the warm-up; the probe's are left
/// out.
#[derive(Clone, Debug, PartialEq)]
pub struct CellOutcome {
    /// Its TTI.
    pub tti: Span,
    /// What became of its resource blocks after the warm-up.
    pub usage: CellUsage,
    /// Delay by stage, of those that there are.
    pub stages: Vec<(Stage, DelayHistogram)>,
    /// Share of the packets whose last byte was taken at most a TTI after they came to the node; `None` without any.
    pub within_tti: Option<f64>,
    /// The same of each group; of all where there are no groups.
    pub groups: Vec<CellGroup>,
    /// Each bearer, in the order of the cell.
    pub bearers: Vec<BearerOutcome>,
    /// From arrival at the node until the UE handed the packet up.
    pub total: DelayHistogram,
    /// Share of the packets handed up that were so within each of [`Within::ALL`].
    pub delivered_within: Vec<(Within, f64)>,
    /// Each slice, where the cell is divided.
    pub slices: Vec<SliceOutcome>,
    /// What happened over time, in the bins of [`Series`]; `None` without any.
    pub series: Option<CellSeries>,
}

/// A time within which packets are handed up, since they came to the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// Microseconds.
    Micros(u64),
    /// TTIs.
    Ttis(u64),
}

impl Within {
    /// Those that are counted.
    pub const ALL: [Within; 15] = [
        Within::Micros(500),
        Within::Micros(1000),
        Within::Micros(2000),
        Within::Micros(3000),
        Within::Micros(4000),
        Within::Micros(5000),
        Within::Micros(8000),
        Within::Micros(10_000),
        Within::Micros(20_000),
        Within::Micros(50_000),
        Within::Micros(100_000),
        Within::Ttis(1),
        Within::Ttis(2),
        Within::Ttis(4),
        Within::Ttis(8),
    ];
    /// How long that is.
    pub fn span(self, tti: Span) -> Span {
        match self {
            Within::Micros(micros) => Span::from_micros(micros),
            Within::Ttis(ttis) => tti * ttis,
        }
    }
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Within::Micros(micros) if micros.is_multiple_of(1000) => write!(f, "{}ms", micros / 1000),
            Within::Micros(micros) => write!(f, "{micros}us"),
            Within::Ttis(ttis) => write!(f, "{ttis}tti"),
        }
    }
}

/// What a slice got after the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceOutcome {
    /// Its name.
    pub name: String,
    /// What was agreed, in millionths of the resource blocks.
    pub share_millionths: u32,
    /// Its resource blocks, and its quantum over time.
    pub usage: SliceUsage,
}

/// What happened in a cell in each bin of time, from the start of the run on, the warm-up included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellSeries {
    /// IP bytes that the RLC of all bearers had got and the MAC had not taken: the mean over time.
    pub rlc_bytes_mean: Vec<f64>,
    /// The most that lasted.
    pub rlc_bytes_max: Vec<u64>,
    /// The same in packets; one that is partly taken counts whole.
    pub rlc_packets_mean: Vec<f64>,
    /// The most that lasted.
    pub rlc_packets_max: Vec<u64>,
    /// Resource blocks that could carry data.
    pub rbs_offered: Vec<u64>,
    /// Those that did.
    pub rbs_used: Vec<u64>,
    /// MCS that the scheduler takes the channel for at the end of the bin, mean over the UEs; `None` where channels are
    /// given in bytes, and in an outage.
    pub mcs: Vec<Option<f64>>,
}

/// What the packets of a group met in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellGroup {
    /// Delay by stage.
    pub stages: Vec<(Stage, DelayHistogram)>,
    /// See [`CellOutcome::within_tti`].
    pub within_tti: Option<f64>,
    /// Share of the packets whose last byte was taken within each of [`Within::ALL`] after they came to the node; empty
    /// without a packet.
    pub sent_within: Vec<(Within, f64)>,
    /// See [`CellOutcome::total`].
    pub total: DelayHistogram,
    /// See [`CellOutcome::delivered_within`]; empty without a packet.
    pub delivered_within: Vec<(Within, f64)>,
}

/// How full a bearer was after the warm-up: what its RLC has got and the MAC has not taken; a packet that is partly taken
/// counts whole.
#[derive(Clone, Debug, PartialEq)]
pub struct BearerOutcome {
    /// The name of its UE.
    pub ue: String,
    /// Its own.
    pub bearer: String,
    /// Packets that came after the warm-up and were handed up, against the packet delay budget of their QoS flow; `None` where the
    /// bearer has none.
    pub budget: Option<Budget>,
    /// IP bytes.
    pub bytes: OccupancySummary,
    /// Packets.
    pub packets: OccupancySummary,
}

/// How packets keep a packet delay budget: from the far end of N3, or the node where there is none, until they are handed up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// The budget; of several QoS flows the shortest.
    pub span: Span,
    /// Packets of QoS flows with a budget that were handed up.
    pub packets: u64,
    /// Those that were so within their budget.
    pub within: u64,
}

/// Measures by group of flows and over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// Mean rate that the bottleneck offered after the warm-up, Mbit/s; `None` where it has no bound.
    pub capacity_mbps: Option<f64>,
    /// The delays that [`Outcome::queue_delay_ms`] sums up.
    pub queue_delay: DelayHistogram,
    /// Most packets, and most bytes, that the bottleneck's queue held in the whole run.
    pub backlog_max: (u64, u64),
    /// From entering the path to the receiver, of data packets after the warm-up; the probe's are left out.
    pub one_way_delay_ms: DelaySummary,
    /// Mean difference of a flow's consecutive one-way delays, over all flows.
    pub jitter_ms: f64,
    /// Each group, in the order of the scenario's names.
    pub groups: Vec<GroupOutcome>,
    /// By codepoint, in their order; empty where all flows have one.
    pub codepoints: Vec<CodepointOutcome>,
    /// What happened over time.
    pub series: Option<Series>,
}

/// What became of packets of one codepoint at the bottleneck: counts of the whole run, and what left after the warm-up. All
/// packets count, those of the probe too, but not in the delay.
#[derive(Clone, Debug, PartialEq)]
pub struct CodepointOutcome {
    /// The codepoint, 0 to 63.
    pub dscp: u8,
    /// Packets offered to the bottleneck's queue.
    pub arrived: u64,
    /// Packets that left the bottleneck.
    pub delivered: u64,
    /// Packets that it dropped: its queue, or the cell below.
    pub dropped: u64,
    /// Packets that its queue marked.
    pub marked: u64,
    /// IP bytes that left, Mbit/s.
    pub throughput_mbps: f64,
    /// Departure from the bottleneck less arrival at it.
    pub queue_delay: DelayHistogram,
}

/// What went through a hop in front of the bottleneck: counts of the whole run, the rest after the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct HopOutcome {
    /// Its name.
    pub name: String,
    /// Packets that came to its queue.
    pub arrived: u64,
    /// Packets that left its link.
    pub delivered: u64,
    /// Packets that its queue dropped, by reason.
    pub drops: Vec<ReasonCount>,
    /// Packets that it marked, by reason.
    pub marks: Vec<ReasonCount>,
    /// IP bytes that left its link, Mbit/s.
    pub throughput_mbps: f64,
    /// Mean rate that its link offered, Mbit/s; `None` where it has no bound.
    pub capacity_mbps: Option<f64>,
    /// Bytes its link sent over bytes it offered; 0 to 1.
    pub utilization: f64,
    /// Departure from its link less arrival at its queue; the probe's are left out.
    pub queue_delay: DelayHistogram,
}

/// What the flows of a group got together.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupOutcome {
    /// Its name.
    pub name: String,
    /// IP bytes of theirs that left the bottleneck after the warm-up, over that time; Mbit/s.
    pub throughput_mbps: f64,
    /// Departure from the bottleneck less arrival at it.
    pub queue_delay: DelayHistogram,
    /// From entering the path to the receiver.
    pub one_way_delay_ms: DelaySummary,
    /// The least of these; 0 without any.
    pub one_way_min_ms: f64,
    /// Mean difference of a flow's consecutive one-way delays.
    pub jitter_ms: f64,
    /// Mean difference of a flow's one-way delays from its first that counts.
    pub jitter_from_first_ms: f64,
    /// The same, with each delay cut down to whole milliseconds.
    pub one_way_whole: WholeDelays,
    /// Of TCP: from the first time that a segment was sent until its data was in order at the receiver.
    pub in_order_ms: Option<DelaySummary>,
    /// Data packets that the path lost, in the whole run.
    pub packets_lost: u64,
    /// What happened over time; empty lists without bins.
    pub series: GroupSeries,
}

/// One-way delays after each was cut down to whole milliseconds; zeros without any.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WholeDelays {
    /// Their mean.
    pub mean_ms: f64,
    /// The least.
    pub min_ms: f64,
    /// The most.
    pub max_ms: f64,
    /// Standard deviation.
    pub deviation_ms: f64,
    /// Mean difference of a flow's consecutive ones.
    pub jitter_ms: f64,
    /// Mean difference of a flow's from its first that counts.
    pub jitter_from_first_ms: f64,
}

/// What happened at the bottleneck in each bin of time, from the start of the run on, the warm-up included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Width of a bin. The last one may be cut short by the end of the run; its rates are over what it has.
    pub bin: Span,
    /// Rate the link offered; `None` where it has no bound.
    pub capacity_mbps: Vec<Option<f64>>,
    /// IP bytes that left.
    pub throughput_mbps: Vec<f64>,
    /// Mean queue delay of the packets that left, the probe's too; `None` where none did.
    pub delay_mean_ms: Vec<Option<f64>>,
    /// Largest of them.
    pub delay_max_ms: Vec<Option<f64>>,
    /// Packets queued at the end of the bin.
    pub backlog_packets: Vec<u64>,
    /// Packets dropped by the queue.
    pub drops: Vec<u64>,
    /// Packets marked by it.
    pub marks: Vec<u64>,
    /// DSD's g at the end of the bin: the probability that green goes first; empty where no queue has one. Of several queues
    /// of a cell their mean.
    pub green_bias: Vec<f64>,
}

/// The part of a group in a [`Series`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupSeries {
    /// IP bytes that left, Mbit/s.
    pub throughput_mbps: Vec<f64>,
    /// Mean queue delay of the packets that left.
    pub delay_mean_ms: Vec<Option<f64>>,
    /// Largest of them.
    pub delay_max_ms: Vec<Option<f64>>,
}

/// A reason and how many packets it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonCount {
    /// Name of the reason.
    pub reason: &'static str,
    /// Packets.
    pub packets: u64,
}

/// What a flow got.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowOutcome {
    /// What the user typed.
    pub transport: String,
    /// Application bytes delivered after the warm-up, over that time; Mbit/s.
    pub goodput_mbps: f64,
    /// Application bytes delivered in the whole run.
    pub delivered_bytes: u64,
    /// When a finite download was complete, in seconds since it started.
    pub completion_s: Option<f64>,
    /// Segments or datagrams sent.
    pub packets_sent: u64,
    /// Retransmissions among them.
    pub retransmits: u64,
    /// Data packets that the path lost in the whole run; counted only where the scenario has groups.
    pub packets_lost: u64,
    /// Data packets that its receiver threw away because they came too late, in the whole run; see
    /// [`FlowSpec::discard_after`](crate::FlowSpec::discard_after).
    pub discarded_late: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Reductions that were taken back as spurious.
    pub undone: u64,
    /// Congestion window at the end, segments.
    pub final_cwnd: u32,
    /// Smoothed round trip at the end, ms.
    pub final_srtt_ms: f64,
    /// Mean of the smoothed round trip as it was at the ends of the bins after the warm-up, ms; 0 without bins.
    pub srtt_mean_ms: f64,
    /// Of datagrams that are sent back: from sending one to its return, after the warm-up.
    pub round_trip: Option<Box<DelayHistogram>>,
    /// Of a call: what was heard of it, after the warm-up.
    pub voice: Option<VoiceOutcome>,
    /// Of an adaptive call: what it did, after the warm-up.
    pub audio: Option<AudioOutcome>,
}

/// What went through a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeOutcome {
    /// Its name.
    pub name: String,
    /// Packets and bytes that came.
    pub received: (u64, u64),
    /// Packets and bytes that went on.
    pub forwarded: (u64, u64),
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets still inside at the end.
    pub inside: u64,
}

impl ReasonCount {
    /// What nodes have dropped together, by reason, in the order of their names.
    pub fn drops<'a>(nodes: impl IntoIterator<Item = &'a Counters>) -> Vec<ReasonCount> {
        let mut sum = ByReason::default();
        nodes.into_iter().for_each(|counters| sum.add_all(&counters.dropped));
        sum.iter()
            .map(|(reason, count)| ReasonCount { reason: reason.name(), packets: count.packets })
            .collect()
    }
    /// What nodes have marked together, by reason, in the order of their names.
    pub fn marks<'a>(nodes: impl IntoIterator<Item = &'a Counters>) -> Vec<ReasonCount> {
        let mut sum = ByReason::default();
        nodes.into_iter().for_each(|counters| sum.add_all(&counters.marked));
        sum.iter()
            .map(|(reason, count)| ReasonCount { reason: reason.name(), packets: count.packets })
            .collect()
    }
}

impl NodeOutcome {
    /// What has gone through `node` so far; `None` for nodes that do not count.
    pub fn of(path: &Path, node: NodeId) -> Option<NodeOutcome> {
        path.counters(node).map(|counters| NodeOutcome {
            name: path.name(node).to_string(),
            received: (counters.received.packets, counters.received.bytes),
            forwarded: (counters.forwarded.packets, counters.forwarded.bytes),
            dropped: counters.dropped_total().packets,
            marked: counters.marked_total().packets,
            inside: path.inside(node).packets,
        })
    }
}

impl Outcome {
    /// All drops at the bottleneck's queue.
    pub fn drops_total(&self) -> u64 {
        self.drops.iter().map(|drop| drop.packets).sum()
    }
    /// All marks at the bottleneck's queue.
    pub fn marks_total(&self) -> u64 {
        self.marks.iter().map(|mark| mark.packets).sum()
    }
}
