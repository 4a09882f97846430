//! From the outcome of a run to what stands in its files.

use crate::results::{
    Audio, Bearer, CaseSummary, Cdf, Cell, CellSeries, Codepoint, Delay, Flow, Group, GroupSeries, Hop,
    Level, Measures, Node, Quantum, SCHEMA_VERSION, Series, Slice, Voice, WholeDelays, round,
};
use crate::scenario::Case;
use qdelay_core::dscp;
use qdelay_record::{DelayHistogram, DelaySummary, OccupancySummary, jain_index};
use qdelay_sim::{
    AudioOutcome, CellGroup, CellOutcome, CodepointOutcome, Detail, FlowOutcome, FlowSpec, GroupOutcome,
    HopOutcome, NodeOutcome, Outcome, ReasonCount, SliceOutcome, Stage, VoiceOutcome, Within,
};
use std::collections::BTreeMap;

/// The percentiles of a curve, denser towards the end that matters.
pub const PERCENTS: [f64; 217] = percents();

const fn percents() -> [f64; 217] {
    let mut percents = [0.0; 217];
    let mut at = 0;
    // 0 to 98 by halves, to 99.8 by fifths, and then ever closer to the longest.
    while at < 197 {
        percents[at] = at as f64 / 2.0;
        at += 1;
    }
    let mut fifths = 1;
    while fifths < 10 {
        percents[at] = 98.0 + fifths as f64 / 5.0;
        at += 1;
        fifths += 1;
    }
    let last = [99.85, 99.9, 99.93, 99.95, 99.97, 99.98, 99.985, 99.99, 99.995, 99.999, 100.0];
    let mut i = 0;
    while i < last.len() {
        percents[at] = last[i];
        at += 1;
        i += 1;
    }
    percents
}

/// The figures and curves of a case.
pub fn summary(case: &Case, labels: BTreeMap<String, String>, outcome: &Outcome) -> CaseSummary {
    let detail = outcome.detail.as_deref();
    let power =
        (outcome.queue_delay_ms.p99 > 0.0).then(|| outcome.throughput_mbps / outcome.queue_delay_ms.p99);
    let flows: Vec<Flow> = case
        .scenario
        .flows
        .iter()
        .zip(&outcome.flows)
        .map(|(spec, flow)| self::flow(case, spec, flow))
        .collect();
    let groups: BTreeMap<String, Group> = detail
        .map(|detail| {
            detail.groups.iter().map(|group| (group.name.clone(), self::group(group, &flows))).collect()
        })
        .unwrap_or_default();
    let groups = complete(groups, case, outcome);
    let measures = Measures {
        throughput_mbps: round(outcome.throughput_mbps),
        utilization: round(outcome.utilization),
        capacity_mbps: detail.and_then(|detail| detail.capacity_mbps).map(round),
        queue_delay_ms: Delay::from(&outcome.queue_delay_ms),
        sojourn_ms: Delay::from(&outcome.sojourn_ms),
        backlog_max_packets: detail.map_or(0, |detail| detail.backlog_max.0),
        backlog_max_bytes: detail.map_or(0, |detail| detail.backlog_max.1),
        one_way_delay_ms: detail.map(|detail| Delay::from(&detail.one_way_delay_ms)).unwrap_or_default(),
        jitter_ms: detail.map_or(0.0, |detail| round(detail.jitter_ms)),
        power: power.map(round),
        drops: outcome.drops_total(),
        drops_by_reason: by_reason(&outcome.drops),
        marks: outcome.marks_total(),
        marks_by_reason: by_reason(&outcome.marks),
        packets_forwarded: outcome.packets_forwarded,
        jain: round(outcome.jain),
        probe_ms: outcome.probe_ms.as_ref().map(Delay::from),
        probe_sent: outcome.probe_sent_lost.map(|(sent, _)| sent),
        probe_lost: outcome.probe_sent_lost.map(|(_, lost)| lost),
        groups,
        flows,
        nodes: outcome.nodes.iter().map(|node| (node.name.clone(), Node::from(node))).collect(),
        codepoints: codepoints(detail).map(|of| (codepoint_name(of.dscp), Codepoint::from(of))).collect(),
        hops: (1..)
            .zip(&outcome.hops)
            .map(|(place, hop)| (hop.name.clone(), self::hop(place, hop)))
            .collect(),
        cell: outcome.cell.as_deref().map(|of_cell| cell(of_cell, measured_s(case))),
    };
    CaseSummary {
        schema_version: SCHEMA_VERSION,
        id: case.id.clone(),
        labels,
        measures,
        trustworthy: None,
        delay_cdf: detail.map(|detail| cdf(&detail.queue_delay)),
        group_delay_cdf: detail.map(|detail| {
            detail.groups.iter().map(|group| (group.name.clone(), cdf(&group.queue_delay))).collect()
        }),
        codepoint_delay_cdf: codepoints(detail)
            .next()
            .map(|_| codepoints(detail).map(|of| (codepoint_name(of.dscp), cdf(&of.queue_delay))).collect()),
        group_stage_cdf: outcome
            .cell
            .as_deref()
            .filter(|_| detail.is_some())
            .map(|cell| stage_cdfs(case, cell)),
        group_round_trip_cdf: round_trip_cdfs(case, outcome),
        series: detail.and_then(|detail| series(detail, outcome.cell.as_deref())),
    }
}

impl CaseSummary {
    /// The figures alone.
    #[must_use]
    pub fn without_curves(self) -> CaseSummary {
        CaseSummary {
            delay_cdf: None,
            group_delay_cdf: None,
            codepoint_delay_cdf: None,
            group_stage_cdf: None,
            group_round_trip_cdf: None,
            series: None,
            ..self
        }
    }
}

fn codepoints(detail: Option<&Detail>) -> impl Iterator<Item = &CodepointOutcome> {
    detail.into_iter().flat_map(|detail| &detail.codepoints)
}

/// `ef`; `dscp-3` where it has no name.
fn codepoint_name(dscp: u8) -> String {
    dscp::name(dscp).map_or_else(|| format!("dscp-{dscp}"), str::to_string)
}

fn by_reason(counts: &[ReasonCount]) -> BTreeMap<String, u64> {
    counts.iter().map(|count| (count.reason.to_string(), count.packets)).collect()
}

fn flow(case: &Case, spec: &FlowSpec, flow: &FlowOutcome) -> Flow {
    Flow {
        name: spec.name.clone(),
        group: case.scenario.groups.get(spec.group).cloned().unwrap_or_default(),
        transport: spec.typed.clone(),
        goodput_mbps: round(flow.goodput_mbps),
        delivered_bytes: flow.delivered_bytes,
        completion_s: flow.completion_s.map(round),
        packets_sent: flow.packets_sent,
        packets_lost: flow.packets_lost,
        discarded_late: spec.discard_after.map(|_| flow.discarded_late),
        retransmits: flow.retransmits,
        timeouts: flow.timeouts,
        undone: flow.undone,
        final_cwnd: flow.final_cwnd,
        final_srtt_ms: round(flow.final_srtt_ms),
        srtt_mean_ms: round(flow.srtt_mean_ms),
        ue: case
            .scenario
            .bottleneck
            .as_cell()
            .and_then(|cell| cell.ues.get(spec.ue))
            .map(|ue| ue.name.clone()),
        qfi: case.scenario.bottleneck.as_cell().map(|_| spec.qfi),
        round_trip_ms: flow.round_trip.as_ref().map(|delays| Delay::from(&delays.summary())),
        voice: flow.voice.map(|voice| self::voice(&[voice])),
        audio: flow.audio.map(|call| audio(&[call])),
    }
}

/// What groups have that only some flows and only a cell have.
fn complete(mut groups: BTreeMap<String, Group>, case: &Case, outcome: &Outcome) -> BTreeMap<String, Group> {
    let named = |name: &String| case.scenario.groups.iter().position(|group| group == name);
    for (name, group) in &mut groups {
        let Some(place) = named(name) else { continue };
        if let Some(of_cell) = outcome.cell.as_ref().and_then(|cell| cell.groups.get(place)) {
            group.stages = Some(stages(&of_cell.stages));
            group.within_tti = of_cell.within_tti.map(round);
            group.total_ms = Some(Delay::from(&of_cell.total.summary()));
            group.sent_within = Some(within(&of_cell.sent_within));
            group.delivered_within = Some(within(&of_cell.delivered_within));
        }
        let members = || {
            let flows = case.scenario.flows.iter().zip(&outcome.flows);
            flows.filter(|(spec, _)| spec.group == place).map(|(_, flow)| flow)
        };
        let mut round_trips: Option<DelayHistogram> = None;
        for flow in members().filter_map(|flow| flow.round_trip.as_deref()) {
            round_trips.get_or_insert_default().merge(flow);
        }
        group.round_trip_ms = round_trips.map(|delays| Delay::from(&delays.summary()));
        let calls: Vec<VoiceOutcome> = members().filter_map(|flow| flow.voice).collect();
        group.voice = (!calls.is_empty()).then(|| voice(&calls));
        let calls: Vec<AudioOutcome> = members().filter_map(|flow| flow.audio).collect();
        group.audio = (!calls.is_empty()).then(|| audio(&calls));
    }
    groups
}

/// Calls together; at least one.
fn voice(calls: &[VoiceOutcome]) -> Voice {
    let mean = |figure: fn(&VoiceOutcome) -> f64| {
        round(calls.iter().map(figure).sum::<f64>() / calls.len().max(1) as f64)
    };
    Voice {
        r: mean(|call| call.quality.r),
        r_min: round(calls.iter().map(|call| call.quality.r).fold(f64::INFINITY, f64::min)),
        mos: mean(|call| call.quality.mos),
        mouth_to_ear_ms: mean(|call| call.quality.mouth_to_ear.as_millis_f64()),
        loss_ratio: mean(|call| call.heard.loss),
        late_ratio: mean(|call| call.heard.late as f64 / call.heard.sent.max(1) as f64),
    }
}

/// Adaptive calls together; at least one.
fn audio(calls: &[AudioOutcome]) -> Audio {
    let mean = |figure: fn(&AudioOutcome) -> f64| {
        round(calls.iter().map(figure).sum::<f64>() / calls.len().max(1) as f64)
    };
    Audio {
        green_share: mean(|call| call.green_share),
        blue_share: mean(|call| call.blue_share),
        off_share: mean(|call| call.off_share),
        changes: mean(|call| call.changes as f64),
        hang_ups: mean(|call| call.hang_ups as f64),
        codec_mbps: mean(|call| call.codec_mbps),
    }
}

fn stages(stages: &[(Stage, DelayHistogram)]) -> BTreeMap<String, Delay> {
    stages.iter().map(|(stage, delays)| (stage.name().to_string(), Delay::from(&delays.summary()))).collect()
}

fn cell(cell: &CellOutcome, measured_s: f64) -> Cell {
    let level = |level: &OccupancySummary| Level {
        mean: round(level.mean),
        p95: round(level.p95),
        max: round(level.max),
    };
    let bearers = cell.bearers.iter().map(|bearer| {
        let kept = bearer.budget.filter(|budget| budget.packets > 0);
        let levels = Bearer {
            bytes: level(&bearer.bytes),
            packets: level(&bearer.packets),
            budget_ms: bearer.budget.map(|budget| round(budget.span.as_millis_f64())),
            within_budget: kept.map(|budget| round(budget.within as f64 / budget.packets as f64)),
        };
        (format!("{}/{}", bearer.ue, bearer.bearer), levels)
    });
    let usage = cell.usage;
    let unused = (usage.wasted_rbs + usage.unfit_rbs) as f64;
    Cell {
        tti_ms: round(cell.tti.as_millis_f64()),
        stages: stages(&cell.stages),
        within_tti: cell.within_tti.map(round),
        rbs_offered: usage.offered_rbs,
        rbs_used: usage.used_rbs,
        rbs_wasted: usage.wasted_rbs,
        rbs_unfit: usage.unfit_rbs,
        rbs_repeated: usage.repeated_rbs,
        rbs_unused_share: if usage.offered_rbs == 0 { 0.0 } else { round(unused / usage.offered_rbs as f64) },
        bearers: bearers.collect(),
        total_ms: Delay::from(&cell.total.summary()),
        delivered_within: within(&cell.delivered_within),
        slices: cell.slices.iter().map(|one| (one.name.clone(), slice(one, measured_s))).collect(),
    }
}

fn within(shares: &[(Within, f64)]) -> BTreeMap<String, f64> {
    shares.iter().map(|(within, share)| (within.to_string(), round(*share))).collect()
}

/// Seconds that are measured.
fn measured_s(case: &Case) -> f64 {
    case.scenario.duration.saturating_sub(case.scenario.warmup).as_secs_f64()
}

fn slice(slice: &SliceOutcome, measured_s: f64) -> Slice {
    let usage = &slice.usage;
    let charged = usage.used_rbs + usage.wasted_rbs + usage.unfit_rbs;
    let quantum = || {
        let at = |percent| round(usage.quanta.percentile(percent) as f64);
        let (min, p25, p50, p75, max) = (at(0.0), at(25.0), at(50.0), at(75.0), at(100.0));
        Quantum { min, p25, p50, p75, max, mean: round(usage.quanta.mean()) }
    };
    Slice {
        share: round(f64::from(slice.share_millionths) / 1e6),
        rbs_granted: usage.granted_rbs,
        rbs_used: usage.used_rbs,
        rbs_wasted: usage.wasted_rbs,
        rbs_unfit: usage.unfit_rbs,
        rbs_lent: usage.granted_rbs as i64 - charged as i64,
        rbs_used_share: round(usage.used_rbs as f64 / usage.granted_rbs.max(1) as f64),
        throughput_mbps: round(usage.sent_bytes as f64 * 8.0 / measured_s / 1e6),
        quantum_rbs: (usage.quanta.ttis() > 0).then(quantum),
    }
}

fn group(group: &GroupOutcome, flows: &[Flow]) -> Group {
    let members: Vec<&Flow> = flows.iter().filter(|flow| flow.group == group.name).collect();
    let sent: u64 = members.iter().map(|flow| flow.packets_sent).sum();
    Group {
        flows: members.len() as u64,
        throughput_mbps: round(group.throughput_mbps),
        goodput_mbps: round(members.iter().map(|flow| flow.goodput_mbps).sum()),
        jain: round(jain_index(&members.iter().map(|flow| flow.goodput_mbps).collect::<Vec<f64>>())),
        queue_delay_ms: Delay::from(&group.queue_delay.summary()),
        queue_delay_std_ms: round(group.queue_delay.deviation()),
        one_way_delay_ms: Delay::from(&group.one_way_delay_ms),
        one_way_min_ms: round(group.one_way_min_ms),
        jitter_ms: round(group.jitter_ms),
        jitter_from_first_ms: round(group.jitter_from_first_ms),
        one_way_whole: WholeDelays::from(&group.one_way_whole),
        in_order_ms: group.in_order_ms.as_ref().map(Delay::from),
        packets_sent: sent,
        packets_lost: group.packets_lost,
        loss_ratio: if sent == 0 { 0.0 } else { round(group.packets_lost as f64 / sent as f64) },
        retransmits: members.iter().map(|flow| flow.retransmits).sum(),
        discarded_late: members.iter().filter_map(|flow| flow.discarded_late).reduce(|all, one| all + one),
        // Filled in where there are any.
        ..Group::default()
    }
}

fn cdf(delays: &DelayHistogram) -> Cdf {
    let ms: Vec<f64> = delays.curve(&PERCENTS).into_iter().map(round).collect();
    Cdf { percent: PERCENTS[..ms.len()].to_vec(), ms }
}

fn stage_cdfs(case: &Case, cell: &CellOutcome) -> BTreeMap<String, BTreeMap<String, Cdf>> {
    let groups = case.scenario.groups.iter().zip(&cell.groups);
    let stages = |stages: &[(Stage, DelayHistogram)]| {
        stages.iter().map(|(stage, delays)| (stage.name().to_string(), cdf(delays))).collect()
    };
    let all = |group: &CellGroup| {
        let mut all: BTreeMap<String, Cdf> = stages(&group.stages);
        all.insert("total".to_string(), cdf(&group.total));
        all
    };
    groups.map(|(name, group)| (name.clone(), all(group))).collect()
}

/// Of the groups that have any.
fn round_trip_cdfs(case: &Case, outcome: &Outcome) -> Option<BTreeMap<String, Cdf>> {
    let mut groups: BTreeMap<String, DelayHistogram> = BTreeMap::new();
    for (spec, flow) in case.scenario.flows.iter().zip(&outcome.flows) {
        if let (Some(delays), Some(name)) = (flow.round_trip.as_deref(), case.scenario.groups.get(spec.group))
        {
            groups.entry(name.clone()).or_default().merge(delays);
        }
    }
    (!groups.is_empty()).then(|| groups.iter().map(|(name, delays)| (name.clone(), cdf(delays))).collect())
}

fn series(detail: &Detail, cell: Option<&CellOutcome>) -> Option<Series> {
    let series = detail.series.as_ref()?;
    let groups = detail.groups.iter().map(|group| {
        let group_series = GroupSeries {
            throughput_mbps: rounded(&group.series.throughput_mbps),
            delay_mean_ms: rounded_some(&group.series.delay_mean_ms),
            delay_max_ms: rounded_some(&group.series.delay_max_ms),
        };
        (group.name.clone(), group_series)
    });
    Some(Series {
        bin_s: series.bin.as_secs_f64(),
        capacity_mbps: rounded_some(&series.capacity_mbps),
        throughput_mbps: rounded(&series.throughput_mbps),
        delay_mean_ms: rounded_some(&series.delay_mean_ms),
        delay_max_ms: rounded_some(&series.delay_max_ms),
        backlog_packets: series.backlog_packets.clone(),
        drops: series.drops.clone(),
        marks: series.marks.clone(),
        green_bias: rounded(&series.green_bias),
        groups: groups.collect(),
        cell: cell.and_then(|cell| cell.series.as_ref()).map(cell_series),
    })
}

fn cell_series(cell: &qdelay_sim::CellSeries) -> CellSeries {
    CellSeries {
        rlc_bytes_mean: rounded(&cell.rlc_bytes_mean),
        rlc_bytes_max: cell.rlc_bytes_max.clone(),
        rlc_packets_mean: rounded(&cell.rlc_packets_mean),
        rlc_packets_max: cell.rlc_packets_max.clone(),
        rbs_offered: cell.rbs_offered.clone(),
        rbs_used: cell.rbs_used.clone(),
        mcs: rounded_some(&cell.mcs),
    }
}

fn rounded(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| round(*value)).collect()
}

fn rounded_some(values: &[Option<f64>]) -> Vec<Option<f64>> {
    values.iter().map(|value| value.map(round)).collect()
}

impl From<&DelaySummary> for Delay {
    fn from(delay: &DelaySummary) -> Self {
        Delay {
            count: delay.count,
            mean: round(delay.mean),
            p50: round(delay.p50),
            p95: round(delay.p95),
            p99: round(delay.p99),
            p999: round(delay.p999),
            max: round(delay.max),
        }
    }
}

impl From<&qdelay_sim::WholeDelays> for WholeDelays {
    fn from(delays: &qdelay_sim::WholeDelays) -> Self {
        WholeDelays {
            mean_ms: round(delays.mean_ms),
            min_ms: round(delays.min_ms),
            max_ms: round(delays.max_ms),
            deviation_ms: round(delays.deviation_ms),
            jitter_ms: round(delays.jitter_ms),
            jitter_from_first_ms: round(delays.jitter_from_first_ms),
        }
    }
}

impl From<&CodepointOutcome> for Codepoint {
    fn from(of: &CodepointOutcome) -> Self {
        Codepoint {
            arrived: of.arrived,
            delivered: of.delivered,
            dropped: of.dropped,
            marked: of.marked,
            loss: round(of.dropped as f64 / of.arrived.max(1) as f64),
            throughput_mbps: round(of.throughput_mbps),
            queue_delay_ms: Delay::from(&of.queue_delay.summary()),
        }
    }
}

fn hop(place: u64, hop: &HopOutcome) -> Hop {
    let sum = |counts: &[ReasonCount]| counts.iter().map(|count| count.packets).sum();
    Hop {
        place,
        arrived: hop.arrived,
        delivered: hop.delivered,
        drops: sum(&hop.drops),
        drops_by_reason: by_reason(&hop.drops),
        marks: sum(&hop.marks),
        marks_by_reason: by_reason(&hop.marks),
        throughput_mbps: round(hop.throughput_mbps),
        capacity_mbps: hop.capacity_mbps.map(round),
        utilization: round(hop.utilization),
        queue_delay_ms: Delay::from(&hop.queue_delay.summary()),
    }
}

impl From<&NodeOutcome> for Node {
    fn from(node: &NodeOutcome) -> Self {
        Node {
            received_packets: node.received.0,
            received_bytes: node.received.1,
            forwarded_packets: node.forwarded.0,
            forwarded_bytes: node.forwarded.1,
            dropped: node.dropped,
            marked: node.marked,
            inside: node.inside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codepoints_are_called_by_their_names() {
        let names = [0, 46, 45, 3].map(codepoint_name);
        assert_eq!(names, ["be", "ef", "nqb", "dscp-3"]);
    }

    #[test]
    fn percentiles_ascend_to_the_last() {
        assert!(PERCENTS.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((PERCENTS[0], PERCENTS[216]), (0.0, 100.0));
        for wanted in [50.0, 95.0, 99.0, 99.9, 99.99] {
            assert!(PERCENTS.iter().any(|percent| (percent - wanted).abs() < 1e-9), "{wanted}");
        }
    }
}
