//! Results of a link with a command behind it: measurements, verdict and exit status.

use qdelay_core::{Span, Time};
use qdelay_emu::audit::AuditFacts;
use qdelay_emu::control::Changed;
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
    /// Figures of the audit, with its verdict.
    pub facts: AuditFacts,
    /// Super-packets that the devices supported; `None` without offload.
    pub offload: Option<Offload>,
    /// Time that the command ran.
    pub duration: Span,
    /// Delivery of the packets in flight at the end of the command.
    pub drained: DrainResult,
    /// Messages about records that could not be written to their end: file, error, and the number of records in the file.
    pub broken: Vec<String>,
    /// Changes to the link while it ran.
    pub changes: Vec<Changed>,
    /// Message about a server of `--serve` that ended with an error before the command.
    pub server: Option<String>,
    /// Figures of both directions: down, up.
    pub directions: [DirectionFigures; 2],
}

impl Outcome {
    /// Adds a message about a file that could not be written to its end. The run then counts as not
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
    /// Time that the link continued after the end of the command.
    pub time: Span,
    /// Packets that were still on the path when the link ended, and are lost.
    pub cut: u64,
}

/// Measurements of one direction.
#[derive(Debug, Serialize)]
pub struct DirectionFigures {
    /// Packets that arrived at the queue.
    pub packets_arrived: u64,
    /// Packets that left the path at its exit.
    pub packets_delivered: u64,
    /// Rate of packets that left the link while the command ran, in Mbit/s.
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
pub(super) struct Used {
    throughput_mbps: f64,
    utilization: Option<f64>,
}

impl Used {
    pub(super) fn from_emulator<R: Recorder, T: Tap>(
        emulator: &Emulator<R, T>,
        port: Port,
        end: Time,
    ) -> Used {
        let usage = emulator.link_usage(port, end);
        let seconds = end.since(Time::ZERO).as_secs_f64();
        let sent = emulator.measures(port).departed.bytes as f64 * 8.0;
        // A link without a rate limit reports the maximum of the type as capacity.
        let bounded = usage.offered_bytes > 0 && usage.offered_bytes < u64::MAX / 16;
        Used {
            throughput_mbps: if seconds > 0.0 { round(sent / seconds / 1e6) } else { 0.0 },
            utilization: bounded.then(|| round(usage.utilization())),
        }
    }
}

impl DirectionFigures {
    pub(super) fn from_emulator<R: Recorder, T: Tap>(
        emulator: &Emulator<R, T>,
        port: Port,
        used: Used,
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
        } = emulator.measures(port);
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
            corrupted: *corrupted,
            duplicated: *duplicated,
            reset: *reset,
        }
    }
}
