//! Results of a link with a command behind it: measurements, verdict and exit status.

use qdelay_core::{Span, Time};
use qdelay_emu::audit::AuditFacts;
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Emulator, PortMeasures, Tap};
use qdelay_emu::gso::Offload;
use qdelay_record::Recorder;
use qdelay_study::results::{DelaySummary, Entity, round};
use serde::Serialize;
use std::collections::BTreeMap;

/// Results of the link.
#[derive(Debug)]
pub struct Outcome {
    /// The command's exit status.
    pub status: u8,
    /// The audit, with its verdict.
    pub facts: AuditFacts,
    /// What the devices passed as super-packets; `None` without offload.
    pub offload: Option<Offload>,
    /// How long the command ran.
    pub duration: Span,
    /// Packets in flight at that time.
    pub drained: DrainResult,
    /// Records that could not be written to their end: file, error, and what the file contains.
    pub broken: Vec<String>,
    /// Down and up.
    pub directions: [DirectionFigures; 2],
}

impl Outcome {
    /// Adds a file that could not be written to its end: file, error, and what it contains. The run then counts as not
    /// trustworthy.
    pub(super) fn broke(&mut self, why: String) {
        let verdict = &mut self.facts.verdict;
        verdict.trustworthy = false;
        verdict.reasons.push(why.clone());
        self.broken.push(why);
    }
}

/// Delivery of packets in flight after the command had ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct DrainResult {
    /// How long the link continued for them.
    pub time: Span,
    /// Packets that were still on the path at the end, and are lost.
    pub cut: u64,
}

/// Measurements of one direction.
#[derive(Debug, Serialize)]
pub struct DirectionFigures {
    /// Packets that arrived at the queue.
    pub packets_arrived: u64,
    /// Packets that left the path at its exit.
    pub packets_delivered: u64,
    /// Rate of packets that left the link while the command ran, Mbit/s.
    pub throughput_mbps: f64,
    /// Share of the link's capacity that was used, 0 to 1; `None` for a link without a rate limit.
    pub utilization: Option<f64>,
    /// From a packet's arrival to the end of its transmission.
    pub queue_delay_ms: DelaySummary,
    /// From a packet's arrival to its dequeue.
    pub sojourn_ms: DelaySummary,
    /// Packets dropped on the path.
    pub drops: u64,
    /// The same by reason.
    pub drops_by_reason: BTreeMap<&'static str, u64>,
    /// Packets marked on the path.
    pub marks: u64,
    /// Packets read that are not IP packets.
    pub malformed: u64,
}

/// Use of a direction's link, up to a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    throughput_mbps: f64,
    utilization: Option<f64>,
}

impl Used {
    pub(super) fn by<R: Recorder, T: Tap>(emulator: &Emulator<R, T>, port: Port, end: Time) -> Used {
        let usage = emulator.link_usage(port, end);
        let seconds = end.since(Time::ZERO).as_secs_f64();
        let sent = emulator.measures(port).departed.bytes as f64 * 8.0;
        // A link without a rate limit offers the maximum of the type.
        let bounded = usage.offered_bytes > 0 && usage.offered_bytes < u64::MAX / 16;
        Used {
            throughput_mbps: if seconds > 0.0 { round(sent / seconds / 1e6) } else { 0.0 },
            utilization: bounded.then(|| round(usage.utilization())),
        }
    }
}

impl DirectionFigures {
    pub(super) fn of<R: Recorder, T: Tap>(
        emulator: &Emulator<R, T>,
        port: Port,
        used: Used,
    ) -> DirectionFigures {
        let PortMeasures { arrived, delivered, malformed, sojourn, queue_delay, .. } =
            emulator.measures(port);
        let drops = emulator.drops_by_reason(port);
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
            marks: emulator.marks(port).packets,
            malformed: *malformed,
        }
    }
}
