//! Delays and bytes of each flow. Those of a group, a UE, a slice or a class are added up of its flows once, after the run.

use crate::rates::rate_mbps;
use crate::scenario::{FlowSpec, Scenario};
use qdelay_core::{Packet, Span};
use qdelay_record::{DelayHistogram, DelaySummary};

/// A scenario with more flows has delays of groups only: those of a flow take up to 0.4 MB while it runs.
pub const FLOWS_MAX: usize = 256;

/// The place of no meter.
const NOWHERE: usize = usize::MAX;

/// The mean of durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mean {
    sum_nanos: u128,
    count: u64,
}

impl Mean {
    #[inline]
    pub fn add(&mut self, span: Span) {
        self.sum_nanos += u128::from(span.as_nanos());
        self.count += 1;
    }
    pub fn is_empty(self) -> bool {
        self.count == 0
    }
    pub fn count(self) -> u64 {
        self.count
    }
    /// Zero without any.
    pub fn millis(self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_nanos as f64 / self.count as f64 / 1e6 }
    }
    fn merge(&mut self, other: Mean) {
        self.sum_nanos += other.sum_nanos;
        self.count += other.count;
    }
}

/// Measurements of the packets of a flow, or of several together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowDelays {
    /// Departure less arrival at the bottleneck, of uploads at the uplink.
    pub queue: DelayHistogram,
    /// From sender to receiver.
    pub one_way: DelayHistogram,
    /// Changes of the one-way delay from one packet to the next.
    jitter: Mean,
    /// IP bytes that left the bottleneck after the warm-up.
    bytes: u64,
    /// `bytes` when the rates end.
    rated_bytes: u64,
}

/// The figures of [`FlowDelays`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowDelayFigures {
    pub throughput_mbps: f64,
    pub queue_delay_ms: DelaySummary,
    pub one_way_delay_ms: DelaySummary,
    pub jitter_ms: f64,
}

impl FlowDelays {
    /// Measurements of several flows together.
    pub(crate) fn together<'a>(all: impl IntoIterator<Item = &'a FlowDelays>) -> FlowDelays {
        let mut sum = FlowDelays::default();
        for one in all {
            sum.queue.merge(&one.queue);
            sum.one_way.merge(&one.one_way);
            sum.jitter.merge(one.jitter);
            sum.bytes += one.bytes;
            sum.rated_bytes += one.rated_bytes;
        }
        sum
    }

    /// The figures after `measured` of measuring.
    pub(crate) fn figures(&self, measured: Span) -> FlowDelayFigures {
        FlowDelayFigures {
            throughput_mbps: rate_mbps(self.rated_bytes, measured),
            queue_delay_ms: self.queue.summary(),
            one_way_delay_ms: self.one_way.summary(),
            jitter_ms: self.jitter.millis(),
        }
    }
}

/// Measures each flow, or, of very many flows, each group.
pub struct FlowMeter {
    all: Vec<FlowDelays>,
    /// The place in `all` of each flow.
    place_of: Vec<usize>,
    /// The same, and [`NOWHERE`] for uploads, whose data does not cross the bottleneck.
    at_bottleneck: Vec<usize>,
    /// Whether each flow has a place of its own.
    is_by_flow: bool,
}

impl FlowMeter {
    /// A meter for the flows of `scenario`, whose groups are `group_of`.
    pub fn new(scenario: &Scenario, group_of: &[usize]) -> FlowMeter {
        let is_by_flow = group_of.len() <= FLOWS_MAX;
        let places = if is_by_flow { group_of.len() } else { scenario.groups.len().max(1) };
        let place_of: Vec<usize> =
            group_of.iter().enumerate().map(|(flow, group)| if is_by_flow { flow } else { *group }).collect();
        let at_bottleneck =
            |(flow, place): (&FlowSpec, &usize)| if flow.is_upload { NOWHERE } else { *place };
        FlowMeter {
            // Not copies of one: what no delay falls into takes no memory.
            all: (0..places).map(|_| FlowDelays::default()).collect(),
            at_bottleneck: scenario.flows.iter().zip(&place_of).map(at_bottleneck).collect(),
            place_of,
            is_by_flow,
        }
    }

    /// Whether the flow with this number is an upload.
    #[inline]
    pub fn is_upload(&self, flow: u32) -> bool {
        self.at_bottleneck.get(flow as usize) == Some(&NOWHERE)
    }

    /// A data packet of a flow, of its uplink where `is_up`, has left after `delay`; `warm` after the warm-up, `counts` where its delay is
    /// measured.
    #[inline]
    pub fn departed(&mut self, packet: &Packet, is_up: bool, delay: Span, warm: bool, counts: bool) {
        let places = if is_up { &self.place_of } else { &self.at_bottleneck };
        let Some(&place) = places.get(packet.flow as usize) else { return };
        let Some(flow) = self.all.get_mut(place) else { return };
        if warm {
            flow.bytes += u64::from(packet.bytes);
        }
        if counts {
            flow.queue.record(delay);
        }
    }

    /// A packet whose delay counts is delivered; `change` is that since the flow's packet before it.
    #[inline]
    pub fn delivered(&mut self, flow: u32, delay: Span, change: Option<Span>) {
        let Some(&place) = self.place_of.get(flow as usize) else { return };
        let Some(flow) = self.all.get_mut(place) else { return };
        flow.one_way.record(delay);
        if let Some(change) = change {
            flow.jitter.add(change);
        }
    }

    /// Rates end.
    pub fn end_rates(&mut self) {
        self.all.iter_mut().for_each(|flow| flow.rated_bytes = flow.bytes);
    }

    /// The figures of a flow after `measured` of measuring, where it has any of its own.
    pub fn figures(&self, flow: usize, measured: Span) -> Option<FlowDelayFigures> {
        let all = self.all.get(flow).filter(|_| self.is_by_flow)?;
        Some(all.figures(measured))
    }

    /// The figures and queue delays of each of `groups` groups, of those of their flows, which are `by_flow` where they are known already.
    pub fn of_groups(
        &self,
        groups: usize,
        group_of: &[usize],
        by_flow: &[Option<FlowDelayFigures>],
        measured: Span,
    ) -> Vec<(FlowDelayFigures, DelayHistogram)> {
        let of_group = |group: usize| {
            let members: Vec<usize> = if self.is_by_flow {
                (0..group_of.len()).filter(|flow| group_of[*flow] == group).collect()
            } else {
                vec![group]
            };
            if let [only] = members.as_slice()
                && let Some(delays) = self.all.get(*only)
            {
                let known = by_flow.get(*only).copied().flatten().filter(|_| self.is_by_flow);
                return (known.unwrap_or_else(|| delays.figures(measured)), delays.queue.clone());
            }
            let delays = FlowDelays::together(members.iter().filter_map(|place| self.all.get(*place)));
            (delays.figures(measured), delays.queue)
        };
        (0..groups).map(of_group).collect()
    }

    /// The delays of each flow; none where there is one flow, or too many.
    pub fn finish(self) -> Vec<FlowDelays> {
        if self.is_by_flow && self.all.len() > 1 { self.all } else { Vec::new() }
    }
}
