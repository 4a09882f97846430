//! The figures of flows that have something in common in a cell.

use super::{FlowFigures, VoiceFigures};
use crate::flow_meter::FlowDelayFigures;
use qdelay_core::Span;
use qdelay_record::{DelayHistogram, DelaySummary, entity};

entity! {
    /// The flows to a UE, or those of a slice or of a QCI or 5QI, together; without uploads, whose data does not cross the cell.
    pub struct TrafficFigures {
        /// How many.
        pub flows: u64,
        /// IP bytes of theirs that left the bottleneck, Mbit/s.
        pub throughput_mbps: f64,
        /// Application bytes delivered, Mbit/s.
        pub goodput_mbps: f64,
        /// Departure less arrival at the bottleneck.
        pub queue_delay_ms: DelaySummary,
        /// From sender to receiver.
        pub one_way_delay_ms: DelaySummary,
        /// Mean difference of consecutive one-way delays of a flow.
        pub jitter_ms: f64,
        /// Segments or datagrams sent, in the whole run.
        pub packets_sent: u64,
        /// Data packets lost on the path, in the whole run.
        pub packets_lost: u64,
        /// Lost over sent.
        pub loss_ratio: f64,
        /// The packet delay budget of their QCIs or 5QIs; of several the shortest.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub budget_ms: Option<f64>,
        /// Share of the packets handed up that were so within the budget of their QoS flow, since they came to the far end of N3.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub within_budget: Option<f64>,
        /// Finite downloads: from the start of each until its last byte was in order at its receiver, in the whole run; those that came so far.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub completion_ms: Option<DelaySummary>,
        /// Finite downloads that were not complete at the end of the run.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub not_completed: Option<u64>,
        /// Figures of calls.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub voice: Option<VoiceFigures>,
    }
}

impl TrafficFigures {
    /// Figures of `flows` together, whose delays are `delays`. Budgets are left out.
    pub(crate) fn from_flows(flows: &[&FlowFigures], delays: &FlowDelayFigures) -> TrafficFigures {
        let sum = |count: fn(&FlowFigures) -> u64| flows.iter().map(|flow| count(flow)).sum();
        let (packets_sent, packets_lost) = (sum(|flow| flow.packets_sent), sum(|flow| flow.packets_lost));
        let (completion_ms, not_completed) = completions(flows);
        let calls: Vec<VoiceFigures> = flows.iter().filter_map(|flow| flow.voice).collect();
        TrafficFigures {
            flows: flows.len() as u64,
            throughput_mbps: delays.throughput_mbps,
            goodput_mbps: flows.iter().map(|flow| flow.goodput_mbps).sum(),
            queue_delay_ms: delays.queue_delay_ms,
            one_way_delay_ms: delays.one_way_delay_ms,
            jitter_ms: delays.jitter_ms,
            packets_sent,
            packets_lost,
            loss_ratio: loss_ratio(packets_lost, packets_sent),
            completion_ms,
            not_completed,
            voice: VoiceFigures::together(&calls),
            ..TrafficFigures::default()
        }
    }
}

/// The completion times of finite downloads, and the number that did not complete; `None` where no download is finite.
pub(crate) fn completions(flows: &[&FlowFigures]) -> (Option<DelaySummary>, Option<u64>) {
    let finite: Vec<Option<f64>> =
        flows.iter().filter(|flow| flow.bytes.is_some()).map(|flow| flow.completion_s).collect();
    if finite.is_empty() {
        return (None, None);
    }
    let mut delays = DelayHistogram::default();
    finite
        .iter()
        .flatten()
        .for_each(|seconds| delays.record(Span::from_nanos((seconds * 1e9).round() as u64)));
    (Some(delays.summary()), Some(finite.iter().filter(|seconds| seconds.is_none()).count() as u64))
}

/// Lost over sent; zero where nothing was sent.
pub(crate) fn loss_ratio(lost: u64, sent: u64) -> f64 {
    if sent == 0 { 0.0 } else { lost as f64 / sent as f64 }
}
