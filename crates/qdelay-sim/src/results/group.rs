//! The figures of all flows of an entry of `[[flow]]`.

use super::flow::traffic_entity;
use super::traffic::{completions, loss_ratio};
use super::{
    AudioFigures, FlowFigures, StreamFigures, UplinkPathFigures, VideoFigures, VoiceFigures, WebFigures,
};
use qdelay_record::entity::round;
use qdelay_record::{DelayHistogram, DelaySummary, entity, jain_index};
use std::collections::BTreeMap;

traffic_entity! {
    /// The flows of an entry of `[[flow]]` together.
    pub struct GroupFigures {
        /// How many.
        pub flows: u64,
        /// `up` of uploads, whose data crosses the uplink; not there for others.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub direction: Option<String>,
        /// IP bytes of theirs that left the bottleneck, of uploads the uplink, Mbit/s.
        pub throughput_mbps: f64,
        /// Application bytes delivered, Mbit/s.
        pub goodput_mbps: f64,
        /// Jain's index over the goodputs of its flows.
        #[serde(default)]
        pub jain: f64,
        /// Departure less arrival at the bottleneck, of uploads at the uplink.
        pub queue_delay_ms: DelaySummary,
        /// The standard deviation of that.
        #[serde(default)]
        pub queue_delay_std_ms: f64,
        /// From sender to receiver.
        pub one_way_delay_ms: DelaySummary,
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
        pub one_way_whole: WholeMillisecondDelays,
        /// TCP only: the time from the first time that a segment was sent until its data was in order at the receiver.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub in_order_ms: Option<DelaySummary>,
        /// TCP only: the time from the first time that a segment was sent until all of it had arrived at the receiver, in any
        /// transmission.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub arrival_ms: Option<ArrivalFigures>,
        /// Segments or datagrams sent, in the whole run.
        pub packets_sent: u64,
        /// Data packets lost on the path, in the whole run.
        pub packets_lost: u64,
        /// Lost over sent.
        pub loss_ratio: f64,
        /// With `discard_delay`: data packets that receivers discarded because they were too late, in the whole run.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub discarded_late: Option<u64>,
        /// Retransmissions, in the whole run.
        #[serde(default)]
        pub retransmits: u64,
        /// Finite downloads: from the start of each until its last byte was in order at its receiver, in the whole run; those that came so far.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub completion_ms: Option<DelaySummary>,
        /// Finite downloads that were not complete at the end of the run.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub not_completed: Option<u64>,
        /// Cells only: the packet delay budget of its flows' QCI or 5QI; of several the shortest.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub budget_ms: Option<f64>,
        /// Cells only: share of the packets handed up that were so within the budget of their QoS flow, since they came to the far end of N3.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub within_budget: Option<f64>,
        /// Cells only: delay by stage.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub stages: Option<BTreeMap<String, DelaySummary>>,
        /// Cells only: share of packets whose last byte was taken at most a TTI after they came to the node; null without any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub within_tti: Option<f64>,
        /// Cells only: share of packets whose last byte was taken within a time of their arrival at the node: `500us`, `1ms`...
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub sent_within: Option<BTreeMap<String, f64>>,
        /// Cells only: from arrival at the node until the UE handed the packet up: all stages but `n3` together.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub total_ms: Option<DelaySummary>,
        /// Cells only: share of the packets handed up that were so within a time of their arrival at the node.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub delivered_within: Option<BTreeMap<String, f64>>,
        /// Uploads in a cell: departure less arrival at the node of the packets down, answers or acknowledgements.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub node_delay_ms: Option<DelaySummary>,
        /// With an uplink of the cell: what the packets upwards took there, data or acknowledgements.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub uplink: Option<UplinkPathFigures>,
    }
}

entity! {
    /// Delays of TCP segments until they arrived, retransmissions included, in milliseconds. A segment that had not arrived at the end
    /// of the run is later than all others: a percentile that falls on one is null.
    #[derive(Copy)]
    pub struct ArrivalFigures {
        /// Segments that arrived after the warm-up.
        pub count: u64,
        /// Segments that had not arrived at the end of the run.
        pub not_arrived: u64,
        /// Mean of those that arrived.
        pub mean: f64,
        /// Median of all.
        pub p50: Option<f64>,
        /// 95th percentile of all.
        pub p95: Option<f64>,
        /// 99th percentile of all.
        pub p99: Option<f64>,
        /// 99.9th percentile of all.
        pub p999: Option<f64>,
    }
}

impl ArrivalFigures {
    /// Figures of the delays `arrived`, beside segments that did not arrive.
    pub(crate) fn of(arrived: &DelayHistogram, not_arrived: u64) -> ArrivalFigures {
        let DelaySummary { count, mean, .. } = arrived.summary();
        let percentile = |percent: f64| {
            let of_arrived = percent_of_arrived(percent, count, not_arrived)?;
            Some(arrived.percentile(of_arrived))
        };
        let [p50, p95, p99, p999] = [50.0, 95.0, 99.0, 99.9].map(percentile);
        ArrivalFigures { count, not_arrived, mean, p50, p95, p99, p999 }
    }
}

/// The percentile among `arrived` delays that is the `percent`th percentile of these and `missing` longer ones; `None` if that is one
/// of the longer ones.
pub fn percent_of_arrived(percent: f64, arrived: u64, missing: u64) -> Option<f64> {
    let rank = (percent / 100.0 * (arrived + missing) as f64).ceil();
    // Half a rank less, so that rounding cannot lead to the next.
    (arrived > 0 && rank <= arrived as f64).then(|| (rank.max(1.0) - 0.5) / arrived as f64 * 100.0)
}

entity! {
    /// One-way delays after each was cut down to whole milliseconds, as a receiver whose clock counts these sees them.
    #[derive(Copy)]
    pub struct WholeMillisecondDelays {
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
}

impl GroupFigures {
    /// Adds what its flows got. Goodputs are added, and compared, as they stand in files, so that readers get the same of them.
    pub(crate) fn add_flows(&mut self, members: &[&FlowFigures]) {
        let goodputs: Vec<f64> = members.iter().map(|flow| round(flow.goodput_mbps)).collect();
        self.flows = members.len() as u64;
        self.direction = members.iter().find_map(|flow| flow.direction.clone());
        self.goodput_mbps = goodputs.iter().sum();
        self.jain = jain_index(&goodputs);
        self.packets_sent = members.iter().map(|flow| flow.packets_sent).sum();
        // Losses were counted on the path; only the ends know how many packets were sent.
        self.loss_ratio = loss_ratio(self.packets_lost, self.packets_sent);
        self.retransmits = members.iter().map(|flow| flow.retransmits).sum();
        (self.completion_ms, self.not_completed) = completions(members);
        self.discarded_late =
            members.iter().filter_map(|flow| flow.discarded_late).reduce(|all, one| all + one);
        self.voice = VoiceFigures::together(
            &members.iter().filter_map(|flow| flow.voice).collect::<Vec<VoiceFigures>>(),
        );
        self.audio = AudioFigures::together(
            &members.iter().filter_map(|flow| flow.audio).collect::<Vec<AudioFigures>>(),
        );
        self.stream = StreamFigures::together(
            &members.iter().filter_map(|flow| flow.stream).collect::<Vec<StreamFigures>>(),
        );
        self.web =
            WebFigures::together(&members.iter().filter_map(|flow| flow.web).collect::<Vec<WebFigures>>());
        self.video = VideoFigures::together(
            &members.iter().filter_map(|flow| flow.video).collect::<Vec<VideoFigures>>(),
        );
    }
}
