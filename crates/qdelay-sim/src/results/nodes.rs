//! The packets of the nodes of a path.

use super::CellUplinkFigures;
use qdelay_path::{NodeId, Path};
use qdelay_record::{DelaySummary, entity};
use std::collections::BTreeMap;

entity! {
    /// The packets of one codepoint at the bottleneck: counts of the whole run, other figures after the warm-up.
    #[derive(Copy)]
    pub struct CodepointFigures {
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
        pub queue_delay_ms: DelaySummary,
    }
}

entity! {
    /// A hop in front of the bottleneck: counts of the whole run, the rest after the warm-up.
    pub struct HopFigures {
        /// Position on the path, from 1.
        pub place: u64,
        /// Packets that arrived at its queue.
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
        /// Mean rate that its link offered, Mbit/s; null without a limit.
        pub capacity_mbps: Option<f64>,
        /// Bytes sent over bytes offered.
        pub utilization: f64,
        /// Departure from its link less arrival at its queue.
        pub queue_delay_ms: DelaySummary,
    }
}

entity! {
    /// The uplink; in a cell those of all UEs together: counts of the whole run, the rest after the warm-up.
    pub struct UplinkFigures {
        /// Packets that arrived at its queue.
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
        /// Mean rate that its link offered, Mbit/s; null without a limit.
        pub capacity_mbps: Option<f64>,
        /// Bytes sent over bytes offered.
        pub utilization: f64,
        /// Departure from its link less arrival at its queue.
        pub queue_delay_ms: DelaySummary,
        /// The uplink of a cell, where it is one.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub cell: Option<CellUplinkFigures>,
    }
}

impl From<HopFigures> for UplinkFigures {
    fn from(hop: HopFigures) -> UplinkFigures {
        let HopFigures { arrived, delivered, drops, drops_by_reason, marks, marks_by_reason, .. } = hop;
        let HopFigures { throughput_mbps, capacity_mbps, utilization, queue_delay_ms, .. } = hop;
        UplinkFigures {
            arrived,
            delivered,
            drops,
            drops_by_reason,
            marks,
            marks_by_reason,
            throughput_mbps,
            capacity_mbps,
            utilization,
            queue_delay_ms,
            cell: None,
        }
    }
}

entity! {
    /// A node of the path. What it received and copied is what it forwarded, dropped, and has inside.
    #[derive(Copy, Eq)]
    pub struct NodeFigures {
        /// Packets that arrived.
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
        /// Copies made of packets, where there are any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub copies: Option<u64>,
        /// Packets inside at the end.
        pub inside: u64,
    }
}

impl NodeFigures {
    /// The counts of `node` so far; `None` for nodes without counters.
    pub(crate) fn from_path(path: &Path, node: NodeId) -> Option<NodeFigures> {
        path.counters(node).map(|counters| NodeFigures {
            received_packets: counters.received.packets,
            received_bytes: counters.received.bytes,
            forwarded_packets: counters.forwarded.packets,
            forwarded_bytes: counters.forwarded.bytes,
            dropped: counters.dropped_total().packets,
            marked: counters.marked_total().packets,
            copies: Some(counters.copies.packets).filter(|copies| *copies > 0),
            inside: path.inside(node).packets,
        })
    }
}
