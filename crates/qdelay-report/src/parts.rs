//! The parts of the page about codepoints at the bottleneck, about hops before it, and about the directions of a link.

use super::load::LoadedCase;
use super::short::{DelayPart, FIGURE_DIGITS, Short, delay_part};
use qdelay_study::results::{CaseSummary, CodepointFigures, DelaySummary, HopFigures};
use serde::Serialize;
use std::collections::BTreeMap;

type Figure = Short<FIGURE_DIGITS>;

/// A codepoint, a hop, or a direction.
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
    /// Drops of a direction by reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<String>,
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

/// The directions of a link: the bottleneck is down. Losses behind the link count as drops.
pub(super) fn directions<'a>(case: &'a LoadedCase) -> Vec<(&'a str, Part)> {
    let figures = &case.summary;
    let up = figures.uplink.as_ref();
    let one = |(name, drops): (&'a String, &BTreeMap<String, u64>)| {
        let group = figures.groups.get(name)?;
        let (utilization, capacity, marks) = match &group.direction {
            None => (figures.utilization, figures.capacity_mbps, figures.marks),
            Some(_) => (up?.utilization, up?.capacity_mbps, up?.marks),
        };
        let counts = [group.packets_sent, group.packets_lost, marks];
        // A link without a limit has no share that is used.
        let rates = (group.throughput_mbps, capacity.map(|_| utilization));
        let reasons: Vec<String> = drops.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        let part = part(rates, &group.queue_delay_ms, counts, group.loss_ratio);
        Some((name.as_str(), Part { reasons: Some(reasons.join(", ")), ..part }))
    };
    case.run.drops_by_reason.iter().filter_map(one).collect()
}

fn part(
    (throughput, utilization): (f64, Option<f64>),
    delay: &DelaySummary,
    [arrived, dropped, marked]: [u64; 3],
    loss: f64,
) -> Part {
    let (throughput, utilization) = (Short(throughput), utilization.map(Short));
    Part {
        throughput,
        utilization,
        delay: delay_part(delay),
        arrived,
        dropped,
        marked,
        loss: Short(loss),
        reasons: None,
    }
}
