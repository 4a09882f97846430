//! The parts of the page about codepoints at the bottleneck and about hops before it.

use super::short::{DelayPart, FIGURE_DIGITS, Short, delay_part};
use qdelay_study::results::{CaseSummary, CodepointFigures, DelaySummary, HopFigures};
use serde::Serialize;

type Figure = Short<FIGURE_DIGITS>;

/// A codepoint or a hop.
#[derive(Serialize)]
pub(super) struct Part {
    throughput: Figure,
    #[serde(skip_serializing_if = "Option::is_none")]
    utilization: Option<Figure>,
    delay: DelayPart,
    arrived: u64,
    dropped: u64,
    marked: u64,
    loss: Figure,
}

/// By their names, as the codepoints of a case are listed.
pub(super) fn codepoints(case: &CaseSummary) -> Vec<(&str, Part)> {
    let part = |of: &CodepointFigures| {
        let counts = [of.arrived, of.dropped, of.marked];
        part((of.throughput_mbps, None), &of.queue_delay_ms, counts, of.loss)
    };
    case.codepoints.iter().map(|(name, of)| (name.as_str(), part(of))).collect()
}

/// The hops of a case in the order of the way.
pub(super) fn hops(case: &CaseSummary) -> Vec<(&str, Part)> {
    let mut hops: Vec<(&String, &HopFigures)> = case.hops.iter().collect();
    hops.sort_by_key(|(_, hop)| hop.place);
    let part = |of: &HopFigures| {
        let (rates, counts) = ((of.throughput_mbps, Some(of.utilization)), [of.arrived, of.drops, of.marks]);
        part(rates, &of.queue_delay_ms, counts, of.drops as f64 / of.arrived.max(1) as f64)
    };
    hops.into_iter().map(|(name, of)| (name.as_str(), part(of))).collect()
}

fn part(
    (throughput, utilization): (f64, Option<f64>),
    delay: &DelaySummary,
    [arrived, dropped, marked]: [u64; 3],
    loss: f64,
) -> Part {
    let (throughput, utilization) = (Short(throughput), utilization.map(Short));
    Part { throughput, utilization, delay: delay_part(delay), arrived, dropped, marked, loss: Short(loss) }
}
