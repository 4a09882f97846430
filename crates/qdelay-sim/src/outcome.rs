//! The outcome of a run: its figures, and the delay distributions of its curves.

use crate::flow_meter::FlowDelays;
use crate::results::{FlowFigures, FlowSeries, Measures, ResponsivenessFigures, Series};
use crate::scenario::Scenario;
use core::fmt;
use core::ops::Deref;
use qdelay_core::Span;
use qdelay_path::{ByReason, Counters};
use qdelay_record::DelayHistogram;
use std::collections::BTreeMap;

/// The outcome of one run. Equal scenarios give equal outcomes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Figures, with full precision.
    pub measures: Measures,
    /// Time series, if the scenario has one.
    pub series: Option<Series>,
    /// Delay distributions, if the scenario has groups or a series.
    pub delays: Option<Box<Delays>>,
}

impl Deref for Outcome {
    type Target = Measures;
    fn deref(&self) -> &Measures {
        &self.measures
    }
}

impl Outcome {
    /// Adds the flows of `scenario`, and the sums of flows to their groups.
    pub(crate) fn add_flows(&mut self, scenario: &Scenario, mut ends: Vec<FlowOutcome>) {
        for (place, name) in scenario.groups.iter().enumerate() {
            let ends = scenario.flows.iter().zip(&ends);
            let members: Vec<&FlowOutcome> =
                ends.filter(|(spec, _)| spec.group == place).map(|(_, end)| end).collect();
            let round_trips = round_trips(members.iter().copied());
            if let Some(group) = self.measures.groups.get_mut(name) {
                group.add_flows(&members.iter().map(|end| &end.flow).collect::<Vec<&FlowFigures>>());
                group.round_trip_ms = round_trips.as_ref().map(DelayHistogram::summary);
            }
            if let (Some(delays), Some(round_trips)) = (&mut self.delays, round_trips) {
                delays.round_trips.insert(name.clone(), round_trips);
            }
        }
        // A transfer that ends would leave the path without load for a part of the run.
        let loads = scenario.flows.iter().zip(&ends).filter(|(spec, _)| spec.transport.is_endless_transfer());
        let loads: Vec<f64> = loads.map(|(_, end)| end.flow.srtt_mean_ms).collect();
        let probes = round_trips(ends.iter());
        self.measures.responsiveness =
            probes.and_then(|probes| ResponsivenessFigures::from_round_trips(&probes, &loads));
        for end in &mut ends {
            end.flow.round_trip_ms = end.round_trips.as_ref().map(|delays| delays.summary());
            if let (Some(series), Some(over_time)) = (&mut self.series, end.over_time.take()) {
                series.flows.insert(end.flow.name.clone(), *over_time);
            }
        }
        self.measures.flows = ends.into_iter().map(|end| end.flow).collect();
    }
}

/// The round trips of flows that have any, together.
pub(crate) fn round_trips<'a>(flows: impl Iterator<Item = &'a FlowOutcome>) -> Option<DelayHistogram> {
    let mut together: Option<DelayHistogram> = None;
    for flow in flows.filter_map(|end| end.round_trips.as_deref()) {
        together.get_or_insert_default().merge(flow);
    }
    together
}

/// All delays of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delays {
    /// The delays of [`Measures::queue_delay_ms`].
    pub queue: DelayHistogram,
    /// The same of each group.
    pub groups: BTreeMap<String, DelayHistogram>,
    /// Delays of the data of TCP flows until it arrived, and the number of segments that did not, by group.
    pub arrivals: BTreeMap<String, (DelayHistogram, u64)>,
    /// The delays of each flow, in the order of [`Measures::flows`]; empty where there is one, or more than 256.
    pub flows: Vec<FlowDelays>,
    /// [`Measures::queue_delay_ms`] of the downlink of each UE, slice and class of a cell; empty as `flows` are.
    pub parts: Parts<DelayHistogram>,
    /// The same of each codepoint; empty where all flows have one.
    pub codepoints: BTreeMap<String, DelayHistogram>,
    /// Cells only: by stage, and their `total`, of each group.
    pub stages: Option<BTreeMap<String, BTreeMap<String, DelayHistogram>>>,
    /// Round trips of each group that has any.
    pub round_trips: BTreeMap<String, DelayHistogram>,
}

/// Something of each UE of a cell, of each slice, and of each QCI or 5QI, by their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts<T> {
    /// By UE.
    pub ues: BTreeMap<String, T>,
    /// By slice.
    pub slices: BTreeMap<String, T>,
    /// By QCI or 5QI.
    pub classes: BTreeMap<String, T>,
}

impl<T> Default for Parts<T> {
    fn default() -> Parts<T> {
        Parts { ues: BTreeMap::new(), slices: BTreeMap::new(), classes: BTreeMap::new() }
    }
}

/// Figures that the ends of a flow report at the end of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowOutcome {
    /// Figures of the flow, but for those that depend on the scenario or on what the path did.
    pub flow: FlowFigures,
    /// Datagrams that are sent back: the time from sending a datagram to its return, after the warm-up.
    pub round_trips: Option<Box<DelayHistogram>>,
    /// Experience of its user over time, if the scenario has a series.
    pub over_time: Option<Box<FlowSeries>>,
}

/// A component of the delay breakdown of a packet through a cell. All together are the time from the packet's arrival at the
/// first of them until the UE hands it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum DelayStage {
    /// The link in front of the node, and its queue.
    N3,
    /// The UPF's queue.
    Upf,
    /// The SDAP's queue.
    Sdap,
    /// The queue of the RLC, until the first byte is taken.
    Rlc,
    /// From the first byte taken until a part of the packet is received for the first time.
    Air,
    /// From then until the packet is whole and handed up: other parts, repetitions, order.
    Reassembly,
    /// From then until a PDCP of the standard hands it up: earlier numbers that are missing.
    Reordering,
}

impl DelayStage {
    /// In the order in which a packet passes them.
    pub const ALL: [DelayStage; 7] = [
        DelayStage::N3,
        DelayStage::Upf,
        DelayStage::Sdap,
        DelayStage::Rlc,
        DelayStage::Air,
        DelayStage::Reassembly,
        DelayStage::Reordering,
    ];

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            DelayStage::N3 => "n3",
            DelayStage::Upf => "upf",
            DelayStage::Sdap => "sdap",
            DelayStage::Rlc => "rlc",
            DelayStage::Air => "air",
            DelayStage::Reassembly => "reassembly",
            DelayStage::Reordering => "reordering",
        }
    }
}

/// A bound on the delay from a packet's arrival at the node to its delivery by the UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayBound {
    /// Microseconds.
    Micros(u64),
    /// TTIs.
    Ttis(u64),
}

impl DelayBound {
    /// The bounds that are counted.
    pub const ALL: [DelayBound; 15] = [
        DelayBound::Micros(500),
        DelayBound::Micros(1000),
        DelayBound::Micros(2000),
        DelayBound::Micros(3000),
        DelayBound::Micros(4000),
        DelayBound::Micros(5000),
        DelayBound::Micros(8000),
        DelayBound::Micros(10_000),
        DelayBound::Micros(20_000),
        DelayBound::Micros(50_000),
        DelayBound::Micros(100_000),
        DelayBound::Ttis(1),
        DelayBound::Ttis(2),
        DelayBound::Ttis(4),
        DelayBound::Ttis(8),
    ];
    /// The bound as a duration.
    pub fn span(self, tti: Span) -> Span {
        match self {
            DelayBound::Micros(micros) => Span::from_micros(micros),
            DelayBound::Ttis(ttis) => tti * ttis,
        }
    }
}

impl fmt::Display for DelayBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DelayBound::Micros(micros) if micros.is_multiple_of(1000) => write!(f, "{}ms", micros / 1000),
            DelayBound::Micros(micros) => write!(f, "{micros}us"),
            DelayBound::Ttis(ttis) => write!(f, "{ttis}tti"),
        }
    }
}

/// Packets that nodes have dropped together, by reason.
pub fn drops<'a>(nodes: impl IntoIterator<Item = &'a Counters>) -> BTreeMap<String, u64> {
    let mut sum = ByReason::default();
    nodes.into_iter().for_each(|counters| sum.add_all(&counters.dropped));
    sum.iter().map(|(reason, count)| (reason.name().to_string(), count.packets)).collect()
}

/// Packets that nodes have marked together, by reason.
pub fn marks<'a>(nodes: impl IntoIterator<Item = &'a Counters>) -> BTreeMap<String, u64> {
    let mut sum = ByReason::default();
    nodes.into_iter().for_each(|counters| sum.add_all(&counters.marked));
    sum.iter().map(|(reason, count)| (reason.name().to_string(), count.packets)).collect()
}
