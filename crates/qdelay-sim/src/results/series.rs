//! Figures over time.

use super::FlowSeries;
use qdelay_record::entity;
use std::collections::BTreeMap;

entity! {
    /// Figures of each bin of time. All lists have one entry per bin.
    pub struct Series {
        /// Width of a bin in seconds; bin `i` is from `i * bin_s` on.
        pub bin_s: f64,
        /// Rate that the link offered, Mbit/s; null for a link without a limit.
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
        /// By flow, of calls with video, video streams, browsers and, with `[run] connections`, connections; not there for others, and with
        /// more than 256 flows.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        pub flows: BTreeMap<String, FlowSeries>,
        /// Series of a cell.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub cell: Option<CellSeries>,
    }
}

entity! {
    /// The part of one entry of `[[flow]]` in a [`Series`].
    pub struct GroupSeries {
        /// IP bytes that left, Mbit/s.
        pub throughput_mbps: Vec<f64>,
        /// Mean queue delay of the packets that left.
        pub delay_mean_ms: Vec<Option<f64>>,
        /// Largest of them.
        pub delay_max_ms: Vec<Option<f64>>,
    }
}

entity! {
    /// Figures of a cell in each bin of time. All lists have one entry per bin.
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
        /// Resource blocks that carried data.
        pub rbs_used: Vec<u64>,
        /// MCS that the scheduler takes the channel for at the end of the bin, mean over the UEs; null where channels are given in
        /// bytes, and in an outage.
        pub mcs: Vec<Option<f64>>,
        /// Number of layers with which the scheduler sends to a UE, likewise; empty without rank adaptation.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub rank: Vec<Option<f64>>,
    }
}
