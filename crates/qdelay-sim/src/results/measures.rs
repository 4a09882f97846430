//! The figures of a run.

use super::{
    CellFigures, CodepointFigures, FlowFigures, GroupFigures, HopFigures, NodeFigures, OutageFigures,
    ResponsivenessFigures, UplinkFigures,
};
use qdelay_record::{DelaySummary, entity};
use std::collections::BTreeMap;

entity! {
    /// The figures of a run.
    pub struct Measures {
        /// IP bytes that left the bottleneck over time, Mbit/s.
        pub throughput_mbps: f64,
        /// Bytes sent over bytes offered.
        pub utilization: f64,
        /// Mean rate that the bottleneck offered, Mbit/s; null for a link without a limit.
        pub capacity_mbps: Option<f64>,
        /// Departure less arrival at the bottleneck.
        pub queue_delay_ms: DelaySummary,
        /// The delay that the discipline observes.
        pub sojourn_ms: DelaySummary,
        /// Most packets that the bottleneck's queue held in the whole run.
        pub backlog_max_packets: u64,
        /// Most bytes.
        pub backlog_max_bytes: u64,
        /// From sender to receiver, without uploads.
        pub one_way_delay_ms: DelaySummary,
        /// Mean difference of consecutive one-way delays of a flow, over all flows but uploads.
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
        /// Jain's index of the goodputs, without uploads.
        pub jain: f64,
        /// Delays of the probe.
        pub probe_ms: Option<DelaySummary>,
        /// Packets of the probe.
        pub probe_sent: Option<u64>,
        /// Lost packets of the probe.
        pub probe_lost: Option<u64>,
        /// Round trips a minute, where datagrams that are sent back share the path with downloads or uploads that do not end.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub responsiveness: Option<ResponsivenessFigures>,
        /// Outages of the link, where there were any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub outages: Option<OutageFigures>,
        /// By entry of `[[flow]]`.
        pub groups: BTreeMap<String, GroupFigures>,
        /// Each flow.
        pub flows: Vec<FlowFigures>,
        /// Each node of the path.
        pub nodes: BTreeMap<String, NodeFigures>,
        /// Packets by their codepoint at the bottleneck, `ef` or `dscp-3`; where flows use more than one.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        pub codepoints: BTreeMap<String, CodepointFigures>,
        /// Each hop in front of the bottleneck, by its name.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        pub hops: BTreeMap<String, HopFigures>,
        /// The uplink, where there are uploads or it has a discipline of its own.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub uplink: Option<UplinkFigures>,
        /// Results of cells only.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub cell: Option<CellFigures>,
    }
}
