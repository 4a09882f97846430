//! The parts of the page about codepoints at the bottleneck and about hops before it.

use super::short::{DelayPart, FIGURE_DIGITS, Short, delay_part};
use qdelay_study::results::{CaseSummary, CodepointFigures, HopFigures};
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
    case.codepoints.iter().map(|(name, of)| (name.as_str(), codepoint(of))).collect()
}

/// The hops of a case in the order of the way.
pub(super) fn hops(case: &CaseSummary) -> Vec<(&str, Part)> {
    let mut hops: Vec<(&String, &HopFigures)> = case.hops.iter().collect();
    hops.sort_by_key(|(_, hop)| hop.place);
    hops.into_iter().map(|(name, of)| (name.as_str(), hop(of))).collect()
}

fn codepoint(of: &CodepointFigures) -> Part {
    Part {
        throughput: Short(of.throughput_mbps),
        utilization: None,
        delay: delay_part(&of.queue_delay_ms),
        arrived: of.arrived,
        dropped: of.dropped,
        marked: of.marked,
        loss: Short(of.loss),
    }
}

fn hop(of: &HopFigures) -> Part {
    Part {
        throughput: Short(of.throughput_mbps),
        utilization: Some(Short(of.utilization)),
        delay: delay_part(&of.queue_delay_ms),
        arrived: of.arrived,
        dropped: of.drops,
        marked: of.marks,
        loss: Short(of.drops as f64 / of.arrived.max(1) as f64),
    }
}
