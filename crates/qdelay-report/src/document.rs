//! The data of the page: the figures of every case in one JSON text, and the series of each case in a text of its own
//! that is parsed when its plot comes into view.

use super::model::{Placed, SEED_AXIS, Study};
use super::parts::{self, Part};
use super::short::{DelayPart, FIGURE_DIGITS, SERIES_DIGITS, Short, delay_part, json, shorts};
use super::slices::{self, SlicePart};
use super::viewers::{self, Viewer};
use super::{Options, by, series};
use qdelay_core::component::Registry;
use qdelay_study::cautions;
use qdelay_study::coinciding;
use qdelay_study::confidence;
use qdelay_study::given_rate::has_given_rate;
use qdelay_study::results::{
    AxisFile, CaseSummary, Cdf, DelaySummary, ExpectResult, GroupFigures, PairedDifference, RunFile,
    TraceFile,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Most percentiles of one file, over all distributions: about 1.4 MB. Above it each distribution is thinned.
const PERCENTILES: usize = 250_000;
pub(super) struct Document {
    pub title: String,
    /// All but the series.
    pub main: String,
    /// Id of an element and its content: the series, and capacities that several of them share.
    pub parts: Vec<(String, String)>,
}

#[derive(Serialize)]
struct Main<'a> {
    title: &'a str,
    folders: Vec<FolderPart<'a>>,
    axes: &'a [AxisFile],
    groups: Vec<&'a str>,
    colour_axis: Option<usize>,
    /// Names of the figures that cases list: `delay.p99`.
    figures: Vec<String>,
    /// Half of a 95% interval in standard errors, of 2 runs, of 3, ...
    half_widths: Vec<Short<FIGURE_DIGITS>>,
    /// Lists of percentiles; cases name them by index, because most have the same.
    percents: Vec<Vec<Short<FIGURE_DIGITS>>>,
    /// Thinning of the distributions: one percentile of so many, to keep the file small.
    percentile_of: usize,
    cases: Vec<CasePart<'a>>,
    series: &'static str,
    /// The figures and percentiles of [`by::Row`]; whether some cases have no rows, to keep the file small.
    by_figures: &'static [&'static str],
    by_percents: Vec<Short<FIGURE_DIGITS>>,
    by_left_out: bool,
    /// Labels under which all figures are equal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    coinciding: Vec<String>,
    /// Cases whose figures say less than they seem to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cautions: Vec<String>,
    /// Groups whose bit rate is given, so that it does not tell how they fared.
    given_rates: Vec<&'a str>,
    /// The page begins with each group, and not with all flows together: the directions of a link have nothing in common.
    groups_first: bool,
}

#[derive(Serialize)]
struct FolderPart<'a> {
    name: &'a str,
    scenario: &'a str,
    title: &'a str,
    about: &'a str,
    axes: &'a [AxisFile],
    expects: &'a [ExpectResult],
    /// Components that cannot be compared between runs.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unverified: &'a [String],
    cases: usize,
    /// The population that several seeds were drawn from.
    #[serde(skip_serializing_if = "Option::is_none")]
    population: Option<&'a str>,
    differences: &'a [PairedDifference],
    /// Changes of a link while it ran: time in seconds, and the change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<(f64, &'a str)>,
    versions: BTreeSet<String>,
    traces: BTreeMap<&'a str, &'a TraceFile>,
    /// Data common to all cases.
    settings: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct CasePart<'a> {
    folder: usize,
    id: &'a str,
    at: &'a [usize],
    /// The first case of another seed that is the same run.
    #[serde(skip_serializing_if = "Option::is_none")]
    same: Option<usize>,
    /// In the order of [`Main::figures`]; null is a figure that there is not.
    all: Vec<Value>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    groups: BTreeMap<&'a str, Vec<Value>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    drops_by_reason: &'a BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    marks_by_reason: &'a BTreeMap<String, u64>,
    cdf: Option<CdfPart>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    group_cdf: BTreeMap<&'a str, CdfPart>,
    /// By group and kind of delay: `sdap`, `rlc`, `round_trip`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    other_cdf: BTreeMap<&'a str, BTreeMap<&'static str, CdfPart>>,
    /// Slices of a cell.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    slices: BTreeMap<&'a str, SlicePart>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    by: by::Rows<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    codepoints: Vec<(&'a str, Part)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hops: Vec<(&'a str, Part)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    directions: Vec<(&'a str, Part)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    viewers: Vec<Viewer<'a>>,
    series: bool,
}

/// Figures of a case, or of its flows of one entry. Rows leave out null.
#[derive(Default, Serialize)]
struct Figures {
    throughput: Short<FIGURE_DIGITS>,
    goodput: Option<Short<FIGURE_DIGITS>>,
    utilization: Option<Short<FIGURE_DIGITS>>,
    delay: DelayPart,
    one_way: DelayPart,
    jitter: Short<FIGURE_DIGITS>,
    power: Option<Short<FIGURE_DIGITS>>,
    drops: Option<u64>,
    marks: Option<u64>,
    loss: Option<Short<FIGURE_DIGITS>>,
    jain: Option<Short<FIGURE_DIGITS>>,
    /// Cells only: mean delay by stage.
    stages: Option<BTreeMap<String, DelayPart>>,
    within_tti: Option<Short<FIGURE_DIGITS>>,
    /// Calls only: their rating.
    r: Option<Short<FIGURE_DIGITS>>,
    mos: Option<Short<FIGURE_DIGITS>>,
    /// Present for groups in a cell whose QoS flows have classes.
    budget: Option<Short<FIGURE_DIGITS>>,
    within: Option<Short<FIGURE_DIGITS>>,
    /// Finite downloads: complete, incomplete, and their durations.
    done: Option<u64>,
    open: Option<u64>,
    took: Option<DelayPart>,
    /// Round trips a minute under load.
    rpm: Option<Short<FIGURE_DIGITS>>,
}

#[derive(Serialize)]
struct CdfPart {
    percent: usize,
    ms: Vec<Short<SERIES_DIGITS>>,
}

impl Document {
    pub(super) fn from_study(study: &Study, options: &Options) -> Document {
        let title = study_title(study, options);
        let (kept, series_kept) = series::kept(study, options.series_bins);
        let grouped = !groups(study).is_empty();
        let mut percents = Pool { every: percentile_of(study), ..Pool::default() };
        let mut names = Names::default();
        let by_percents = by::percents(study.cases.iter().map(|placed| study.figures(placed)));
        let (mut room, mut by_left_out) = (by::ROWS_MAX, false);
        let placed = study.cases.iter().zip(&kept);
        let cases = placed.map(|(placed, &kept)| {
            let figures = study.figures(placed);
            let part = case_part(placed, figures, (kept, grouped), &mut names, &mut percents);
            let rows = by::count(figures);
            let fits = rows <= room;
            (room, by_left_out) = (if fits { room - rows } else { 0 }, by_left_out || !fits);
            let directions = parts::directions(&study.folders[placed.folder].cases[placed.case]);
            let by = if fits { by::rows(figures, &by_percents) } else { by::Rows::new() };
            CasePart { by, directions, ..part }
        });
        let cases: Vec<CasePart> = cases.collect();
        let main = Main {
            title: &title,
            folders: (0..study.folders.len()).map(|index| folder_part(study, index)).collect(),
            axes: &study.axes,
            groups: groups(study),
            colour_axis: study.colour_axis(),
            figures: names.names,
            half_widths: half_widths(study),
            percentile_of: percents.every,
            percents: percents
                .lists
                .iter()
                .map(|list| list.iter().map(|&percent| Short(percent)).collect())
                .collect(),
            cases,
            series: series_kept,
            by_figures: &by::FIGURES,
            by_percents: by_percents.iter().map(|percent| Short(*percent)).collect(),
            by_left_out,
            coinciding: coinciding_labels(study),
            cautions: cautions::lines(
                &study.cases.iter().map(|placed| study.figures(placed)).collect::<Vec<_>>(),
            ),
            given_rates: given_rates(study, &options.registry),
            groups_first: study.is_of_links(),
        };
        let main = json(&main);
        Document { title, main, parts: series::parts(study, &kept, grouped) }
    }
}

/// At most three lines.
fn coinciding_labels(study: &Study) -> Vec<String> {
    let cases: Vec<&CaseSummary> = study.cases.iter().map(|placed| study.figures(placed)).collect();
    coinciding::lines(&coinciding::coinciding(&study.axes, &cases), 3, " ")
}

pub(super) fn study_title(study: &Study, options: &Options) -> String {
    let own = |folder: &super::load::Folder| {
        let summary = &folder.summary;
        if summary.title.is_empty() { summary.scenario.clone() } else { summary.title.clone() }
    };
    options.title.clone().unwrap_or_else(|| {
        let mut titles: Vec<String> = Vec::new();
        for folder in &study.folders {
            let title = own(folder);
            if !titles.contains(&title) {
                titles.push(title);
            }
        }
        titles.join(" | ")
    })
}

/// Names of the entries of `[[flow]]`, if there is more than one.
fn groups(study: &Study) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for flow in study.cases.iter().flat_map(|placed| &study.figures(placed).flows) {
        if !names.contains(&flow.group.as_str()) {
            names.push(&flow.group);
        }
    }
    for name in study.cases.iter().flat_map(|placed| study.figures(placed).groups.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if names.len() > 1 { names } else { Vec::new() }
}

/// The groups of which every flow is datagrams at a rate of their own: calls, games, plain UDP.
fn given_rates<'a>(study: &'a Study, registry: &Registry) -> Vec<&'a str> {
    // There are few transports, and many flows.
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    let mut rates: BTreeMap<&str, bool> = BTreeMap::new();
    for flow in study.cases.iter().flat_map(|placed| &study.figures(placed).flows) {
        let transport = flow.transport.as_str();
        let is_given = *known.entry(transport).or_insert_with(|| has_given_rate(transport, registry));
        *rates.entry(&flow.group).or_insert(true) &= is_given;
    }
    rates.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
}

fn folder_part(study: &Study, index: usize) -> FolderPart<'_> {
    let folder = &study.folders[index];
    let summary = &folder.summary;
    let runs = || folder.cases.iter().map(|case| &case.run);
    FolderPart {
        // One alone needs no name, so that equal results make equal pages wherever they lie.
        name: if study.folders.len() > 1 { &folder.name } else { "" },
        scenario: &summary.scenario,
        title: &summary.title,
        about: &summary.about,
        axes: &summary.axes,
        expects: &summary.expects,
        unverified: &summary.unverified,
        cases: folder.cases.len(),
        population: summary.population.as_deref(),
        differences: &summary.differences,
        changes: runs()
            .filter_map(|run| run.audit.as_ref())
            .flat_map(|audit| &audit.changes)
            .map(|change| (change.time_s, change.what.as_str()))
            .collect(),
        versions: runs().map(|run: &RunFile| version(run, folder.commit.as_deref())).collect(),
        traces: runs()
            .flat_map(|run| run.traces.iter().map(|(name, trace)| (name.as_str(), trace)))
            .collect(),
        settings: common_settings(study, index),
    }
}

/// The version in the form of `qdelay --version`.
fn version(run: &RunFile, commit: Option<&str>) -> String {
    commit.map_or_else(|| run.qdelay.clone(), |commit| format!("{} ({commit})", run.qdelay))
}

fn common_settings(study: &Study, folder: usize) -> BTreeMap<&str, &str> {
    let mut placed = study.cases.iter().filter(|placed| placed.folder == folder);
    let Some(first) = placed.next() else { return BTreeMap::new() };
    let mut common: BTreeMap<&str, &str> =
        first.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    for other in placed {
        common.retain(|key, value| other.settings.get(*key).is_some_and(|theirs| theirs == value));
    }
    common
}

/// Groups only where there are several: one alone is all flows.
fn case_part<'a>(
    placed: &'a Placed,
    case: &'a CaseSummary,
    (series, grouped): (bool, bool),
    names: &mut Names,
    percents: &mut Pool,
) -> CasePart<'a> {
    let mut cdf_part = |cdf: &Cdf| percents.part(cdf);
    CasePart {
        folder: placed.folder,
        id: &case.id,
        at: &placed.at,
        same: placed.same,
        all: names.row(&case_figures(case)),
        groups: case
            .groups
            .iter()
            .filter(|_| grouped)
            .map(|(name, group)| (name.as_str(), names.row(&group_figures(group))))
            .collect(),
        drops_by_reason: &case.drops_by_reason,
        marks_by_reason: &case.marks_by_reason,
        cdf: case.delay_cdf.as_ref().map(&mut cdf_part),
        group_cdf: case
            .group_delay_cdf
            .iter()
            .flatten()
            .filter(|_| grouped)
            .map(|(name, cdf)| (name.as_str(), cdf_part(cdf)))
            .collect(),
        other_cdf: other_cdfs(case)
            .into_iter()
            .map(|(name, cdfs)| (name, cdfs.into_iter().map(|(of, cdf)| (of, cdf_part(cdf))).collect()))
            .collect(),
        by: by::Rows::new(),
        slices: case.cell.as_ref().map(|cell| slices::parts(&cell.slices)).unwrap_or_default(),
        codepoints: parts::codepoints(case),
        hops: parts::hops(case),
        directions: Vec::new(),
        viewers: viewers::viewers(case),
        series,
    }
}

/// The factors of the standard error for as many runs as there are seeds.
fn half_widths(study: &Study) -> Vec<Short<FIGURE_DIGITS>> {
    let seeds = study.axes.iter().find(|axis| axis.name == SEED_AXIS).map_or(0, |axis| axis.labels.len());
    (1..seeds).map(|degrees| Short(confidence::quantile(degrees))).collect()
}

/// Distributions of delays other than the bottleneck's, by group and kind of delay.
fn other_cdfs(case: &CaseSummary) -> BTreeMap<&str, BTreeMap<&'static str, &Cdf>> {
    let mut all: BTreeMap<&str, BTreeMap<&'static str, &Cdf>> = BTreeMap::new();
    for (group, stages) in case.group_stage_cdf.iter().flatten() {
        for stage in ["sdap", "rlc"] {
            if let Some(cdf) = stages.get(stage).filter(|cdf| !cdf.ms.is_empty()) {
                all.entry(group).or_default().insert(stage, cdf);
            }
        }
    }
    for (name, curves) in [("round_trip", &case.group_round_trip_cdf), ("arrival", &case.group_arrival_cdf)] {
        for (group, cdf) in curves.iter().flatten().filter(|(_, cdf)| !cdf.ms.is_empty()) {
            all.entry(group).or_default().insert(name, cdf);
        }
    }
    all
}

fn case_figures(case: &CaseSummary) -> Figures {
    // Where there is one group, its flows are all.
    let only = case.groups.values().next().filter(|_| case.groups.len() == 1).map(group_figures);
    let only = only.unwrap_or_default();
    Figures {
        throughput: Short(case.throughput_mbps),
        goodput: Some(Short(case.flows.iter().map(|flow| flow.goodput_mbps).sum())),
        utilization: Some(Short(case.utilization)),
        delay: delay_part(&case.queue_delay_ms),
        one_way: delay_part(&case.one_way_delay_ms),
        jitter: Short(case.jitter_ms),
        power: case.power.map(Short),
        drops: Some(case.drops),
        marks: Some(case.marks),
        loss: only.loss,
        jain: Some(Short(case.jain)),
        stages: case.cell.as_ref().map(|cell| stages(&cell.stages)),
        within_tti: case.cell.as_ref().and_then(|cell| cell.within_tti).map(Short),
        mos: only.mos,
        done: only.done,
        open: only.open,
        took: only.took,
        rpm: case.responsiveness.and_then(|all| all.rpm.or(all.foreign_rpm)).map(Short),
        ..Figures::default()
    }
}

fn group_figures(group: &GroupFigures) -> Figures {
    let p99 = group.queue_delay_ms.p99;
    Figures {
        throughput: Short(group.throughput_mbps),
        goodput: Some(Short(group.goodput_mbps)),
        delay: delay_part(&group.queue_delay_ms),
        one_way: delay_part(&group.one_way_delay_ms),
        jitter: Short(group.jitter_ms),
        power: (p99 > 0.0).then(|| Short(group.throughput_mbps / p99)),
        loss: Some(Short(group.loss_ratio)),
        stages: group.stages.as_ref().map(|down| with_uplink(stages(down), group)),
        within_tti: group.within_tti.map(Short),
        r: group.voice.map(|voice| Short(voice.r)),
        mos: group.voice.map(|voice| Short(voice.mos)),
        budget: group.budget_ms.map(Short),
        within: group.within_budget.map(Short),
        done: group.completion_ms.map(|completion| completion.count),
        open: group.not_completed,
        took: group.completion_ms.filter(|completion| completion.count > 0).as_ref().map(delay_part),
        ..Figures::default()
    }
}

/// Adds the stages of the uplink to those of a group whose data goes up; the stages of the downlink are its answers'.
fn with_uplink(mut all: BTreeMap<String, DelayPart>, group: &GroupFigures) -> BTreeMap<String, DelayPart> {
    if let (Some(_), Some(uplink)) = (&group.direction, &group.uplink) {
        all.extend(uplink.stages.iter().map(|(name, delay)| (format!("up-{name}"), delay_part(delay))));
    }
    all
}

fn stages(stages: &BTreeMap<String, DelaySummary>) -> BTreeMap<String, DelayPart> {
    stages.iter().map(|(name, delay)| (name.clone(), delay_part(delay))).collect()
}

/// The names of figures, in the order in which cases list them.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    index: BTreeMap<String, usize>,
}

impl Names {
    fn row(&mut self, figures: &Figures) -> Vec<Value> {
        let mut row = vec![Value::Null; self.names.len()];
        // Text keys and numbers: this cannot fail.
        self.place("", serde_json::to_value(figures).unwrap_or_default(), &mut row);
        row
    }

    fn place(&mut self, name: &str, value: Value, row: &mut Vec<Value>) {
        match value {
            Value::Object(fields) => {
                for (field, value) in fields {
                    let name = if name.is_empty() { field } else { format!("{name}.{field}") };
                    self.place(&name, value, row);
                }
            }
            Value::Null => {}
            number => {
                let next = self.names.len();
                let at = *self.index.entry(name.to_string()).or_insert(next);
                if at == next {
                    self.names.push(name.to_string());
                    row.resize(next + 1, Value::Null);
                }
                row[at] = number;
            }
        }
    }
}

/// The step between kept percentiles, so that all distributions together have at most [`PERCENTILES`].
fn percentile_of(study: &Study) -> usize {
    let cdfs = study.cases.iter().flat_map(|placed| {
        let case = study.figures(placed);
        let others = other_cdfs(case).into_values().flat_map(BTreeMap::into_values);
        case.delay_cdf.iter().chain(case.group_delay_cdf.iter().flat_map(BTreeMap::values)).chain(others)
    });
    cdfs.map(|cdf| cdf.ms.len()).sum::<usize>().div_ceil(PERCENTILES).max(1)
}

/// Lists of percentiles, each once; of each every so many, and the last.
#[derive(Default)]
struct Pool {
    lists: Vec<Vec<f64>>,
    every: usize,
}

impl Pool {
    fn part(&mut self, cdf: &Cdf) -> CdfPart {
        let last = cdf.ms.len().saturating_sub(1);
        let thin = |list: &[f64]| -> Vec<f64> {
            let kept = list.iter().enumerate().filter(|(at, _)| at % self.every == 0 || *at == last);
            kept.map(|(_, value)| *value).collect()
        };
        let (percent, ms) = (thin(&cdf.percent), thin(&cdf.ms));
        CdfPart { percent: self.index(&percent), ms: shorts(&ms) }
    }

    fn index(&mut self, list: &[f64]) -> usize {
        self.lists.iter().position(|known| known == list).unwrap_or_else(|| {
            self.lists.push(list.to_vec());
            self.lists.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lists_are_kept_once() {
        let mut pool = Pool::default();
        assert_eq!([pool.index(&[1.0]), pool.index(&[2.0]), pool.index(&[1.0])], [0, 1, 0]);
    }
}
