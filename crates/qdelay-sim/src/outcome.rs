//! What a run gives: the measures of `docs/measures.md`.

use qdelay_record::DelaySummary;

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
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Reductions that were taken back as spurious.
    pub undone: u64,
    /// Congestion window at the end, segments.
    pub final_cwnd: u32,
    /// Smoothed round trip at the end, ms.
    pub final_srtt_ms: f64,
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
