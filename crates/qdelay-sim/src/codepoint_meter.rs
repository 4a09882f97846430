//! Measurements by codepoint at the bottleneck.

use crate::rates::rate_mbps;
use crate::results;
use crate::scenario::Scenario;
use qdelay_core::dscp::{self, CODEPOINTS};
use qdelay_core::{Packet, Span};
use qdelay_record::DelayHistogram;

/// Accumulates measures of packets at the bottleneck by codepoint.
pub struct CodepointMeter {
    /// The place of each codepoint in `of`; [`CodepointMeter::NONE`] as long as there is none.
    place: [u8; CODEPOINTS],
    of: Vec<Codepoint>,
}

#[derive(Default)]
struct Codepoint {
    dscp: u8,
    arrived: u64,
    delivered: u64,
    dropped: u64,
    marked: u64,
    /// IP bytes that left after the warm-up.
    bytes: u64,
    /// `bytes` when the rates end.
    rated_bytes: u64,
    queue_delay: DelayHistogram,
}

impl CodepointMeter {
    const NONE: u8 = u8::MAX;

    /// A meter if the flows of `scenario` use more than one codepoint.
    pub fn new(scenario: &Scenario) -> Option<CodepointMeter> {
        let flows = scenario.flows.iter();
        let used = flows.flat_map(|flow| [Some(flow.dscp), flow.other.map(|other| other.dscp)]).flatten();
        let mut watch = CodepointMeter { place: [CodepointMeter::NONE; CODEPOINTS], of: Vec::new() };
        for dscp in used {
            watch.codepoint(dscp);
        }
        (watch.of.len() > 1).then_some(watch)
    }

    /// The entry of `dscp`; created at the first packet if no flow declares it.
    #[inline]
    fn codepoint(&mut self, dscp: u8) -> &mut Codepoint {
        // A codepoint has six bits.
        let dscp = dscp % CODEPOINTS as u8;
        let place = &mut self.place[usize::from(dscp)];
        if *place == CodepointMeter::NONE {
            // At most 64.
            *place = self.of.len() as u8;
            self.of.push(Codepoint { dscp, ..Codepoint::default() });
        }
        &mut self.of[usize::from(*place)]
    }

    /// A packet is offered to the bottleneck's queue.
    #[inline]
    pub fn arrived(&mut self, packet: &Packet) {
        self.codepoint(packet.dscp).arrived += 1;
    }
    /// A packet has left the bottleneck; `counts` where it belongs to the figures of delay, `warm` after the warm-up.
    #[inline]
    pub fn departed(&mut self, packet: &Packet, delay: Span, warm: bool, counts: bool) {
        let codepoint = self.codepoint(packet.dscp);
        codepoint.delivered += 1;
        if warm {
            codepoint.bytes += u64::from(packet.bytes);
        }
        if counts {
            codepoint.queue_delay.record(delay);
        }
    }
    /// Rates end.
    pub fn end_rates(&mut self) {
        self.of.iter_mut().for_each(|codepoint| codepoint.rated_bytes = codepoint.bytes);
    }
    /// The bottleneck has dropped a packet.
    pub fn dropped(&mut self, packet: &Packet) {
        self.codepoint(packet.dscp).dropped += 1;
    }
    /// The bottleneck's queue has marked a packet.
    pub fn marked(&mut self, packet: &Packet) {
        self.codepoint(packet.dscp).marked += 1;
    }

    /// Takes stock after `measured` of measuring: each by its name, with its delays.
    pub fn finish(
        self,
        measured: Span,
    ) -> impl Iterator<Item = (String, results::CodepointFigures, DelayHistogram)> {
        self.of.into_iter().map(move |codepoint| {
            let figures = results::CodepointFigures {
                arrived: codepoint.arrived,
                delivered: codepoint.delivered,
                dropped: codepoint.dropped,
                marked: codepoint.marked,
                loss: codepoint.dropped as f64 / codepoint.arrived.max(1) as f64,
                throughput_mbps: rate_mbps(codepoint.rated_bytes, measured),
                queue_delay_ms: codepoint.queue_delay.summary(),
            };
            (name(codepoint.dscp), figures, codepoint.queue_delay)
        })
    }
}

/// `ef`; `dscp-3` where it has no name.
fn name(dscp: u8) -> String {
    dscp::name(dscp).map_or_else(|| format!("dscp-{dscp}"), str::to_string)
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn codepoints_are_called_by_their_names() {
        let names = [0, 46, 45, 3].map(name);
        assert_eq!(names, ["be", "ef", "nqb", "dscp-3"]);
    }
}
