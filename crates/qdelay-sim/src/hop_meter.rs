//! Measurements at the hops before the bottleneck and at the uplink, as defined in `docs/measures.md`.

use crate::outcome;
use crate::rates::{capacity_mbps, rate_mbps};
use crate::results;
use crate::scenario::Scenario;
use qdelay_core::{Packet, Span, Time};
use qdelay_path::stack::Topology;
use qdelay_path::{LinkUsage, NodeId, Path};
use qdelay_record::DelayHistogram;
use std::collections::BTreeMap;

/// Watches the hops of a path, and its uplink where the scenario asks for it.
pub struct HopMeter {
    /// Bytes count from here on.
    from: Time,
    /// For each node, the index of the hop whose link it is; [`HopMeter::NONE`] for others.
    of_link: Vec<u8>,
    /// The hops, and behind them the uplink if it is watched.
    hops: Vec<Hop>,
    /// The place of the uplink; [`HopMeter::NONE`] where it is not watched.
    uplink: u8,
}

struct Hop {
    name: String,
    /// Several only of an uplink of which each UE has its own; of that of a cell one link.
    queues: Vec<NodeId>,
    links: Vec<NodeId>,
    queue_delay: DelayHistogram,
    /// IP bytes that left.
    bytes: u64,
    /// `bytes` when the rates end.
    rated_bytes: u64,
    /// The usage of the links at the end of the warm-up, and at the end of the rates.
    usage: [LinkUsage; 2],
    drops: BTreeMap<String, u64>,
    marks: BTreeMap<String, u64>,
    arrived: u64,
    delivered: u64,
}

impl HopMeter {
    const NONE: u8 = u8::MAX;

    /// Watches the hops and the uplink of `scenario` on the path of `topology`; `None` where there is nothing to watch.
    pub fn new(scenario: &Scenario, topology: &Topology) -> Option<Box<HopMeter>> {
        let hops = scenario.hops.iter().zip(&topology.hops);
        let mut hops: Vec<Hop> = hops.map(|(spec, nodes)| Hop::new(&spec.name, vec![*nodes])).collect();
        let mut uplink = HopMeter::NONE;
        if scenario.measures_uplink() && !topology.uplinks.is_empty() {
            // There are few hops.
            uplink = hops.len() as u8;
            hops.push(Hop::new("uplink", topology.uplinks.clone()));
        }
        if hops.is_empty() {
            return None;
        }
        let mut of_link = vec![HopMeter::NONE; topology.path.nodes().count()];
        for (place, hop) in (0_u8..HopMeter::NONE).zip(&hops) {
            for link in &hop.links {
                of_link[link.index()] = place;
            }
        }
        Some(Box::new(HopMeter { from: Time::ZERO + scenario.warmup, of_link, hops, uplink }))
    }

    /// A packet has left a link other than the bottleneck's; `counts` where it belongs to the figures of delay. Returns whether
    /// it is the uplink.
    #[inline]
    pub fn departed(&mut self, now: Time, node: NodeId, packet: &Packet, counts: bool) -> bool {
        let place = self.of_link.get(node.index()).copied().unwrap_or(HopMeter::NONE);
        let Some(hop) = self.hops.get_mut(usize::from(place)) else { return false };
        if now >= self.from {
            hop.bytes += u64::from(packet.bytes);
        }
        if counts {
            hop.queue_delay.record(now.since(packet.arrival));
        }
        place == self.uplink
    }

    /// The warm-up ends.
    pub fn end_warmup(&mut self, now: Time, path: &Path) {
        self.sample(0, now, path);
    }

    /// Rates end.
    pub fn end_rates(&mut self, now: Time, path: &Path) {
        self.sample(1, now, path);
        self.hops.iter_mut().for_each(|hop| hop.rated_bytes = hop.bytes);
    }

    /// The run ends.
    pub fn end(&mut self, path: &Path) {
        for hop in &mut self.hops {
            let queues = || hop.queues.iter().filter_map(|node| path.counters(*node));
            let links = hop.links.iter().filter_map(|node| path.counters(*node));
            let (drops, marks) = (outcome::drops(queues()), outcome::marks(queues()));
            hop.arrived = queues().map(|counters| counters.received.packets).sum();
            hop.delivered = links.map(|counters| counters.forwarded.packets).sum();
            (hop.drops, hop.marks) = (drops, marks);
        }
    }

    fn sample(&mut self, which: usize, now: Time, path: &Path) {
        for hop in &mut self.hops {
            let links = hop.links.iter().filter_map(|link| path.link_usage(*link, now));
            hop.usage[which] = links.fold(LinkUsage::default(), |sum, link| LinkUsage {
                sent_bytes: sum.sent_bytes + link.sent_bytes,
                offered_bytes: sum.offered_bytes.saturating_add(link.offered_bytes),
            });
        }
    }

    /// Takes stock after `measured` of measuring: each hop by its name, and the uplink.
    pub fn finish(
        mut self,
        measured: Span,
    ) -> (BTreeMap<String, results::HopFigures>, Option<results::UplinkFigures>) {
        let uplink = (self.uplink != HopMeter::NONE).then(|| self.hops.pop()).flatten();
        let uplink = uplink.map(|uplink| uplink.finish(0, measured).into());
        let hops = (1..).zip(self.hops);
        let hops = hops.map(|(place, hop)| (hop.name.clone(), hop.finish(place, measured))).collect();
        (hops, uplink)
    }
}

impl Hop {
    fn new(name: &str, nodes: Vec<[NodeId; 2]>) -> Hop {
        let queues = nodes.iter().map(|[queue, _]| *queue).collect();
        let mut links: Vec<NodeId> = nodes.iter().map(|[_, link]| *link).collect();
        links.dedup();
        Hop {
            name: name.to_string(),
            queues,
            links,
            queue_delay: DelayHistogram::default(),
            bytes: 0,
            rated_bytes: 0,
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
            throughput_mbps: rate_mbps(self.rated_bytes, measured),
            capacity_mbps: capacity_mbps(usage.offered_bytes, measured),
            utilization: usage.utilization(),
            queue_delay_ms: self.queue_delay.summary(),
        }
    }
}
