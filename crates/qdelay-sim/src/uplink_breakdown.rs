//! Delay breakdown of packets through the uplink of a cell, as defined in `docs/measures.md`.

use crate::results::{CellUplinkFigures, UplinkPathFigures};
use crate::scenario::Scenario;
use qdelay_core::{Packet, Time};
use qdelay_path::stack::{Place, Topology};
use qdelay_path::{CellUsage, NodeId, Path, Split};
use qdelay_record::DelayHistogram;
use std::collections::BTreeMap;

/// The parts of a packet's time in the uplink, in their order: those of its wait are not one after the other, but sum up to it.
const STAGES: [&str; 6] = ["request", "grant", "queue", "air", "reassembly", "reordering"];

/// Accumulates the delay breakdown of each group, and of all packets.
pub struct UplinkBreakdown {
    node: NodeId,
    group_of: Vec<usize>,
    groups: Vec<Group>,
    has_pdcp: bool,
    /// At the end of the warm-up, and at the end of the run.
    usage: [CellUsage; 2],
}

#[derive(Default)]
struct Group {
    stages: [DelayHistogram; STAGES.len()],
    total: DelayHistogram,
}

impl UplinkBreakdown {
    /// Nothing has happened yet; `None` where `scenario` has no uplink of a cell.
    pub fn new(scenario: &Scenario, topology: &Topology) -> Option<Box<UplinkBreakdown>> {
        let uplink = scenario.bottleneck.as_cell()?.uplink.as_ref()?;
        let mut places = topology.path.nodes().zip(&topology.places);
        let (node, _) = places.find(|(_, place)| **place == Place::UplinkLink)?;
        let last = scenario.groups.len().saturating_sub(1);
        Some(Box::new(UplinkBreakdown {
            node,
            group_of: scenario.flows.iter().map(|flow| flow.group.min(last)).collect(),
            groups: (0..=last).map(|_| Group::default()).collect(),
            has_pdcp: uplink.bearers.iter().any(|bearer| bearer.rlc.pdcp.is_some()),
            usage: [CellUsage::default(); 2],
        }))
    }

    /// The base station has handed up a packet whose delay is measured.
    pub fn split(&mut self, now: Time, packet: &Packet, split: Split) {
        let Some(group) = self.group_of.get(packet.flow as usize) else { return };
        let group = &mut self.groups[*group];
        let total = now.since(packet.arrival);
        let Split { air, reassembly, reordering, request, grant } = split;
        let queue = total.saturating_sub(air + reassembly + reordering + request + grant);
        group.total.record(total);
        let spans = [request, grant, queue, air, reassembly, reordering];
        group.stages.iter_mut().zip(spans).for_each(|(stage, span)| stage.record(span));
    }

    /// The end of the warm-up (0) or of the run (1).
    pub fn sample(&mut self, which: usize, now: Time, path: &Path) {
        self.usage[which] = path.cell_usage(self.node, now).unwrap_or_default();
    }

    /// The figures of all packets, and of each group in the order of `names`.
    pub fn finish(self, names: &[String]) -> (CellUplinkFigures, BTreeMap<String, UplinkPathFigures>) {
        let mut all = Group::default();
        for group in &self.groups {
            all.total.merge(&group.total);
            all.stages.iter_mut().zip(&group.stages).for_each(|(all, one)| all.merge(one));
        }
        let [before, after] = self.usage;
        let has_pdcp = self.has_pdcp;
        let usage = after.since(&before);
        let groups = names.iter().cloned().zip(self.groups.iter().map(|group| group.figures(has_pdcp)));
        (CellUplinkFigures::from_usage(usage, all.figures(has_pdcp)), groups.collect())
    }
}

impl Group {
    fn figures(&self, has_pdcp: bool) -> UplinkPathFigures {
        let stages = STAGES.iter().zip(&self.stages).filter(|(name, _)| has_pdcp || **name != "reordering");
        UplinkPathFigures {
            stages: stages.map(|(name, delays)| (name.to_string(), delays.summary())).collect(),
            total_ms: self.total.summary(),
        }
    }
}
