//! The time series of cases: those that are in the file, each in an element of its own.

use super::connections;
use super::model::{Placed, SEED_AXIS, Study};
use super::short::{SERIES_DIGITS, Short, json, maybe_shorts, shorts};
use super::viewers::{self, OverTime};
use qdelay_study::results::{CellSeries, FlowSeries, Series};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Most cases whose series are in one file: nobody looks at more plots.
const SERIES_CASES: usize = 400;

#[derive(Serialize)]
struct SeriesPart<'a> {
    bin: f64,
    /// Id of the element with it; null for a link without a limit.
    capacity: Option<String>,
    throughput: Vec<Short<SERIES_DIGITS>>,
    mean: Vec<Option<Short<SERIES_DIGITS>>>,
    max: Vec<Option<Short<SERIES_DIGITS>>>,
    backlog: &'a [u64],
    drops: &'a [u64],
    marks: &'a [u64],
    /// DSD's g.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    bias: Vec<Short<SERIES_DIGITS>>,
    groups: BTreeMap<&'a str, GroupSeriesPart>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    viewers: OverTime<'a>,
    /// Connections, and how many more there are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    connections: Vec<connections::ConnectionPart<'a>>,
    #[serde(skip_serializing_if = "is_zero")]
    more_connections: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<CellSeriesPart>,
}

/// Time series of a cell only.
#[derive(Serialize)]
struct CellSeriesPart {
    /// kB in the RLC: mean over time, and most.
    rlc_mean: Vec<Short<SERIES_DIGITS>>,
    rlc_max: Vec<Short<SERIES_DIGITS>>,
    /// Percent of the resource blocks.
    used: Vec<Option<Short<SERIES_DIGITS>>>,
    /// Empty where no channel has one.
    mcs: Vec<Option<Short<SERIES_DIGITS>>>,
}

#[derive(Serialize)]
struct GroupSeriesPart {
    throughput: Vec<Short<SERIES_DIGITS>>,
    mean: Vec<Option<Short<SERIES_DIGITS>>>,
    max: Vec<Option<Short<SERIES_DIGITS>>>,
}

/// The cases whose series are in the file: `all`, `first` (the first seed only) or `none`. `most` bins, and [`SERIES_CASES`].
pub(super) fn kept(study: &Study, most: usize) -> (Vec<bool>, &'static str) {
    let bins = |placed: &Placed| {
        let series = study.figures(placed).series.as_ref();
        // The series of a viewer, or of a connection, are about as long as all others.
        series.map_or(0, |series| {
            let has_user =
                |flow: &&FlowSeries| flow.video.is_some() || flow.stream.is_some() || flow.web.is_some();
            let users = series.flows.values().filter(has_user).count().min(viewers::MOST);
            series.throughput_mbps.len() * (1 + users + connections::count(series))
        })
    };
    let total = |kept: &[bool]| -> usize {
        study.cases.iter().zip(kept).map(|(placed, &kept)| if kept { bins(placed) } else { 0 }).sum()
    };
    let fits =
        |kept: &[bool]| total(kept) <= most && kept.iter().filter(|kept| **kept).count() <= SERIES_CASES;
    let all: Vec<bool> = study.cases.iter().map(|placed| bins(placed) > 0).collect();
    if fits(&all) {
        return (all, "all");
    }
    let seed = study.axes.iter().position(|axis| axis.name == SEED_AXIS);
    let mut seen = BTreeSet::new();
    let mut without_seed = |placed: &Placed| {
        let key = placed.at.iter().enumerate().map(|(axis, &at)| if Some(axis) == seed { 0 } else { at });
        seen.insert(key.collect::<Vec<_>>())
    };
    let first: Vec<bool> =
        study.cases.iter().zip(&all).map(|(placed, &there)| there && without_seed(placed)).collect();
    if fits(&first) { (first, "first") } else { (vec![false; all.len()], "none") }
}

/// Id and content of an element for each case with series, and for the capacities that several share.
pub(super) fn parts(study: &Study, kept: &[bool], grouped: bool) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    let mut capacities: BTreeMap<String, String> = BTreeMap::new();
    for (index, placed) in study.cases.iter().enumerate().filter(|&(index, _)| kept[index]) {
        let figures = study.figures(placed);
        let Some(series) = &figures.series else { continue };
        let capacity = capacity_part(series, &mut capacities);
        let (connections, more_connections) = connections::over_time(figures, series);
        let part = SeriesPart {
            connections,
            more_connections,
            viewers: viewers::over_time(series, &viewers::viewers(figures)),
            ..series_part(series, capacity, grouped)
        };
        parts.push((format!("series-{index}"), json(&part)));
    }
    parts.extend(capacities.into_iter().map(|(content, id)| (id, content)));
    parts
}

/// Cases on one trace have one capacity: it is in the file once.
fn capacity_part(series: &Series, known: &mut BTreeMap<String, String>) -> Option<String> {
    if series.capacity_mbps.iter().all(Option::is_none) {
        return None;
    }
    let next = format!("capacity-{}", known.len());
    Some(known.entry(json(&maybe_shorts(&series.capacity_mbps))).or_insert(next).clone())
}

fn series_part(series: &Series, capacity: Option<String>, grouped: bool) -> SeriesPart<'_> {
    let groups = series.groups.iter().filter(|_| grouped).map(|(name, group)| {
        let part = GroupSeriesPart {
            throughput: shorts(&group.throughput_mbps),
            mean: maybe_shorts(&group.delay_mean_ms),
            max: maybe_shorts(&group.delay_max_ms),
        };
        (name.as_str(), part)
    });
    SeriesPart {
        bin: series.bin_s,
        capacity,
        throughput: shorts(&series.throughput_mbps),
        mean: maybe_shorts(&series.delay_mean_ms),
        max: maybe_shorts(&series.delay_max_ms),
        backlog: &series.backlog_packets,
        drops: &series.drops,
        marks: &series.marks,
        bias: shorts(&series.green_bias),
        groups: groups.collect(),
        viewers: OverTime::new(),
        connections: Vec::new(),
        more_connections: 0,
        cell: series.cell.as_ref().map(cell_series_part),
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn cell_series_part(cell: &CellSeries) -> CellSeriesPart {
    let share =
        |(used, offered): (&u64, &u64)| (*offered > 0).then(|| Short(100.0 * *used as f64 / *offered as f64));
    let has_mcs = cell.mcs.iter().any(Option::is_some);
    CellSeriesPart {
        rlc_mean: cell.rlc_bytes_mean.iter().map(|bytes| Short(bytes / 1e3)).collect(),
        rlc_max: cell.rlc_bytes_max.iter().map(|bytes| Short(*bytes as f64 / 1e3)).collect(),
        used: cell.rbs_used.iter().zip(&cell.rbs_offered).map(share).collect(),
        mcs: if has_mcs { maybe_shorts(&cell.mcs) } else { Vec::new() },
    }
}
