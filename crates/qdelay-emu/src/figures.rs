//! Figures of one direction of a link, as the results of a run print them.

use crate::emulator::PortMeasures;
use qdelay_core::{DropReason, Span};
use qdelay_path::{ByReason, Count, LinkUsage};
use qdelay_record::DelaySummary;
use qdelay_record::entity::{Entity, round};
use serde::Serialize;
use std::collections::BTreeMap;

/// Measurements of one direction.
#[derive(Debug, Serialize)]
pub struct DirectionFigures {
    /// Packets that arrived at the queue.
    pub packets_arrived: u64,
    /// Packets that left the path at its exit.
    pub packets_delivered: u64,
    /// Rate of packets that left the link while it was in use, in Mbit/s.
    pub throughput_mbps: f64,
    /// Share of the link's capacity that was used, 0 to 1; `None` for a link without a rate limit.
    pub utilization: Option<f64>,
    /// Time from a packet's arrival to the end of its transmission, in ms.
    pub queue_delay_ms: DelaySummary,
    /// Time from a packet's arrival to its dequeue, in ms.
    pub sojourn_ms: DelaySummary,
    /// Packets dropped on the path.
    pub drops: u64,
    /// Packets dropped on the path, by reason.
    pub drops_by_reason: BTreeMap<&'static str, u64>,
    /// Packets marked on the path.
    pub marks: u64,
    /// Packets read that are not IP packets.
    pub malformed: u64,
    /// Packets of which a bit was changed.
    pub corrupted: u64,
    /// Copies that were made of packets.
    pub duplicated: u64,
    /// Packets of connections that were reset, which did not enter the path.
    pub reset: u64,
}

/// Use of a direction's link up to a time.
#[derive(Clone, Copy, Debug)]
pub struct LinkUse {
    throughput_mbps: f64,
    utilization: Option<f64>,
}

impl LinkUse {
    /// The use during `span`, the time since the link's beginning.
    pub fn new(measures: &PortMeasures, usage: LinkUsage, span: Span) -> LinkUse {
        let seconds = span.as_secs_f64();
        let sent = measures.departed.bytes as f64 * 8.0;
        // A link without a rate limit reports the maximum of the type as capacity.
        let bounded = usage.offered_bytes > 0 && usage.offered_bytes < u64::MAX / 16;
        LinkUse {
            throughput_mbps: if seconds > 0.0 { round(sent / seconds / 1e6) } else { 0.0 },
            utilization: bounded.then(|| round(usage.utilization())),
        }
    }
}

impl DirectionFigures {
    /// The figures of the packets with these measurements.
    pub fn new(
        measures: &PortMeasures,
        drops: &ByReason<DropReason>,
        marks: Count,
        used: LinkUse,
    ) -> DirectionFigures {
        let PortMeasures {
            arrived,
            delivered,
            malformed,
            corrupted,
            duplicated,
            reset,
            sojourn,
            queue_delay,
            ..
        } = measures;
        let drops: BTreeMap<&str, u64> =
            drops.iter().map(|(reason, count)| (reason.name(), count.packets)).collect();
        DirectionFigures {
            packets_arrived: arrived.packets,
            packets_delivered: delivered.packets,
            throughput_mbps: used.throughput_mbps,
            utilization: used.utilization,
            queue_delay_ms: queue_delay.summary().rounded(),
            sojourn_ms: sojourn.summary().rounded(),
            drops: drops.values().sum(),
            drops_by_reason: drops,
            marks: marks.packets,
            malformed: *malformed,
            corrupted: *corrupted,
            duplicated: *duplicated,
            reset: *reset,
        }
    }
}
