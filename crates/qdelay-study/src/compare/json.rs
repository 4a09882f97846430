//! The output of `qdelay compare --json`, as `docs/json.md` describes it: fields are added, never changed or taken away.

use super::pool::{CaseResult, first_equals};
use crate::results::Node;
use crate::results::{Delay, SCHEMA_VERSION, pretty, round};
use qdelay_sim::{FlowOutcome, ReasonCount};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    cases: Vec<Case<'a>>,
    /// How many different runs they are.
    distinct_runs: usize,
}

#[derive(Serialize)]
struct Case<'a> {
    axes: Axes<'a>,
    throughput_mbps: f64,
    utilization: f64,
    queue_delay_ms: Delay,
    sojourn_ms: Delay,
    drops: u64,
    drops_by_reason: BTreeMap<&'static str, u64>,
    marks: u64,
    marks_by_reason: BTreeMap<&'static str, u64>,
    packets_forwarded: u64,
    jain: f64,
    cpu_seconds: f64,
    wall_seconds: f64,
    probe_ms: Option<Delay>,
    probe_sent: Option<u64>,
    probe_lost: Option<u64>,
    flows: Vec<Flow<'a>>,
    nodes: BTreeMap<&'a str, Node>,
    /// The first seed that gave the same run; null where none before it did.
    same_run_as_seed: Option<u64>,
}

#[derive(Serialize)]
struct Axes<'a> {
    trace: &'a str,
    qdisc: &'a str,
    transport: &'a str,
    seed: u64,
}

#[derive(Serialize)]
struct Flow<'a> {
    transport: &'a str,
    goodput_mbps: f64,
    delivered_bytes: u64,
    completion_s: Option<f64>,
    packets_sent: u64,
    retransmits: u64,
    timeouts: u64,
    undone: u64,
    final_cwnd: u32,
    final_srtt_ms: f64,
}

/// All cases as one line of JSON for each, in one document.
pub fn cases(results: &[CaseResult]) -> String {
    let firsts = first_equals(results);
    let places = || firsts.iter().enumerate();
    let case = |(result, (place, first)): (_, (usize, &usize))| Case {
        same_run_as_seed: (place != *first).then(|| results[*first].axes.seed),
        ..Case::from(result)
    };
    pretty(&Report {
        schema_version: SCHEMA_VERSION,
        cases: results.iter().zip(places()).map(case).collect(),
        distinct_runs: places().filter(|(place, first)| place == *first).count(),
    })
}

impl<'a> From<&'a CaseResult> for Case<'a> {
    fn from(result: &'a CaseResult) -> Self {
        let CaseResult { axes, outcome, .. } = result;
        Case {
            axes: Axes {
                trace: &axes.trace,
                qdisc: &axes.qdisc,
                transport: &axes.transport,
                seed: axes.seed,
            },
            throughput_mbps: round(outcome.throughput_mbps),
            utilization: round(outcome.utilization),
            queue_delay_ms: Delay::from(&outcome.queue_delay_ms),
            sojourn_ms: Delay::from(&outcome.sojourn_ms),
            drops: outcome.drops_total(),
            drops_by_reason: by_reason(&outcome.drops),
            marks: outcome.marks_total(),
            marks_by_reason: by_reason(&outcome.marks),
            packets_forwarded: outcome.packets_forwarded,
            jain: round(outcome.jain),
            cpu_seconds: round(result.cpu_seconds),
            wall_seconds: round(result.wall_seconds),
            probe_ms: outcome.probe_ms.as_ref().map(Delay::from),
            probe_sent: outcome.probe_sent_lost.map(|(sent, _)| sent),
            probe_lost: outcome.probe_sent_lost.map(|(_, lost)| lost),
            flows: outcome.flows.iter().map(Flow::from).collect(),
            nodes: outcome.nodes.iter().map(|node| (node.name.as_str(), Node::from(node))).collect(),
            same_run_as_seed: None,
        }
    }
}

fn by_reason(counts: &[ReasonCount]) -> BTreeMap<&'static str, u64> {
    counts.iter().map(|count| (count.reason, count.packets)).collect()
}

impl<'a> From<&'a FlowOutcome> for Flow<'a> {
    fn from(flow: &'a FlowOutcome) -> Self {
        Flow {
            transport: &flow.transport,
            goodput_mbps: round(flow.goodput_mbps),
            delivered_bytes: flow.delivered_bytes,
            completion_s: flow.completion_s.map(round),
            packets_sent: flow.packets_sent,
            retransmits: flow.retransmits,
            timeouts: flow.timeouts,
            undone: flow.undone,
            final_cwnd: flow.final_cwnd,
            final_srtt_ms: round(flow.final_srtt_ms),
        }
    }
}
