//! Measurements at the hops before the bottleneck, as defined in `docs/measures.md`.

use crate::outcome;
use crate::rates::{capacity_mbps, rate_mbps};
use crate::results;
use crate::scenario::{HopSpec, Scenario};
use qdelay_core::{Packet, Span, Time};
use qdelay_path::{LinkUsage, NodeId, Path};
use qdelay_record::DelayHistogram;
use std::collections::BTreeMap;

/// Watches the hops of a path.
pub struct HopMeter {
    /// Bytes count from here on.
    from: Time,
    /// For each node, the index of the hop whose link it is; [`HopMeter::NONE`] for others.
    of_link: Vec<u8>,
    hops: Vec<Hop>,
}

struct Hop {
    name: String,
    queue: NodeId,
    link: NodeId,
    queue_delay: DelayHistogram,
    /// IP bytes that left.
    bytes: u64,
    /// The usage of the link at the end of the warm-up, and at the end of the run.
    usage: [LinkUsage; 2],
    drops: BTreeMap<String, u64>,
    marks: BTreeMap<String, u64>,
    arrived: u64,
    delivered: u64,
}

impl HopMeter {
    const NONE: u8 = u8::MAX;

    /// Watches the hops of `scenario` on `path`, whose queues and links are `nodes`; `None` without any.
    pub fn new(scenario: &Scenario, path: &Path, nodes: &[[NodeId; 2]]) -> Option<Box<HopMeter>> {
        if scenario.hops.is_empty() {
            return None;
        }
        let mut of_link = vec![HopMeter::NONE; path.nodes().count()];
        let hops: Vec<Hop> =
            scenario.hops.iter().zip(nodes).map(|(spec, nodes)| Hop::new(spec, *nodes)).collect();
        for (place, hop) in (0_u8..HopMeter::NONE).zip(&hops) {
            of_link[hop.link.index()] = place;
        }
        Some(Box::new(HopMeter { from: Time::ZERO + scenario.warmup, of_link, hops }))
    }

    /// A packet has left a link other than the bottleneck's; `counts` where it belongs to the figures of delay.
    #[inline]
    pub fn departed(&mut self, now: Time, node: NodeId, packet: &Packet, counts: bool) {
        let place = self.of_link.get(node.index()).copied().unwrap_or(HopMeter::NONE);
        let Some(hop) = self.hops.get_mut(usize::from(place)) else { return };
        if now >= self.from {
            hop.bytes += u64::from(packet.bytes);
        }
        if counts {
            hop.queue_delay.record(now.since(packet.arrival));
        }
    }

    /// The warm-up ends.
    pub fn end_warmup(&mut self, now: Time, path: &Path) {
        self.sample(0, now, path);
    }

    /// The run ends.
    pub fn end(&mut self, now: Time, path: &Path) {
        self.sample(1, now, path);
        for hop in &mut self.hops {
            let Some(counters) = path.counters(hop.queue) else { continue };
            hop.drops = outcome::drops([counters]);
            hop.marks = outcome::marks([counters]);
            hop.arrived = counters.received.packets;
            hop.delivered = path.counters(hop.link).map_or(0, |counters| counters.forwarded.packets);
        }
    }

    fn sample(&mut self, which: usize, now: Time, path: &Path) {
        for hop in &mut self.hops {
            hop.usage[which] = path.link_usage(hop.link, now).unwrap_or_default();
        }
    }

    /// Takes stock after `measured` of measuring: each by its name.
    pub fn finish(self, measured: Span) -> BTreeMap<String, results::HopFigures> {
        (1..).zip(self.hops).map(|(place, hop)| (hop.name.clone(), hop.finish(place, measured))).collect()
    }
}

impl Hop {
    fn new(spec: &HopSpec, [queue, link]: [NodeId; 2]) -> Hop {
        Hop {
            name: spec.name.clone(),
            queue,
            link,
            queue_delay: DelayHistogram::default(),
            bytes: 0,
            usage: [LinkUsage::default(); 2],
            drops: BTreeMap::new(),
            marks: BTreeMap::new(),
            arrived: 0,
            delivered: 0,
        }
    }

    fn finish(self, place: u64, measured: Span) -> results::HopFigures {
        let [before, after] = self.usage;
        let usage = after.since(before);
        results::HopFigures {
            place,
            arrived: self.arrived,
            delivered: self.delivered,
            drops: self.drops.values().sum(),
            drops_by_reason: self.drops,
            marks: self.marks.values().sum(),
            marks_by_reason: self.marks,
            throughput_mbps: rate_mbps(self.bytes, measured),
            capacity_mbps: capacity_mbps(usage.offered_bytes, measured),
            utilization: usage.utilization(),
            queue_delay_ms: self.queue_delay.summary(),
        }
    }
}
