//! Paired comparisons: tables of the effect of a choice on the flow that makes it, and on all others.
//!
//! A cell is of two points on an axis that differ in one choice. All else is equal, the seed included, so that the figure with the
//! choice is divided by the one without it, case by case, or, where it is a share, less that: what remains after the mean over all
//! seeds is the choice's doing, and the interval is that of Student's t over the seeds. Where an axis is not said, a cell is of
//! every mix of its labels: the least and the most of them, and in how many the choice pays. Seeds that gave the same runs, with
//! the choice and without it, count as one.

use super::labels::{Labels, selection};
use qdelay_study::confidence;
use qdelay_study::expect::{Expect, Runs, Selection, Table};
use qdelay_study::results::round;
use qdelay_study::same_runs::SEED;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A table to be made: a `[[table]]` of a paper's file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairedComparison {
    /// Name for `--figure`.
    pub figure: String,
    /// Subject of the comparison.
    pub title: String,
    /// The observation to make.
    #[serde(default)]
    pub note: String,
    /// The meaning of its rows.
    pub rows_are: String,
    /// A change of a smaller share counts as none, however sure it is.
    pub least: f64,
    /// The cases that are meant, for all cells.
    #[serde(default, rename = "where")]
    select: BTreeMap<String, Labels>,
    #[serde(rename = "row")]
    rows: Vec<RowOf>,
    #[serde(rename = "column")]
    columns: Vec<ColumnOf>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowOf {
    name: String,
    scenario: String,
    #[serde(default, rename = "where")]
    select: BTreeMap<String, Labels>,
}

/// A choice and the flows that it affects.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnOf {
    name: String,
    #[serde(default, rename = "where")]
    select: BTreeMap<String, Labels>,
    normalise: BTreeMap<String, String>,
    own: Concern,
    others: Vec<Concern>,
}

/// A figure for which larger is better for a flow.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Concern {
    name: String,
    measure: String,
    /// The possible maximum of the figure. The change is then that of the share: a difference instead of a ratio, because a ratio
    /// to a value near zero is meaningless.
    of: Option<f64>,
}

/// A table as it came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedTable {
    /// The name for `--figure`.
    pub figure: String,
    /// Subject of the comparison.
    pub title: String,
    /// The observation to make.
    pub note: String,
    /// The meaning of its rows.
    pub rows_are: String,
    /// A change of a smaller share counts as none.
    pub least: f64,
    /// The choices.
    pub columns: Vec<String>,
    /// The condition of the choice.
    pub rows: Vec<PairedRow>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedRow {
    /// The conditions of the choices.
    pub name: String,
    /// The scenario that it was run by.
    pub scenario: String,
    /// A cell for each column; null if the results do not have it.
    pub cells: Vec<Option<PairedCell>>,
}

/// The effect of a choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedCell {
    /// The effect on the flow that makes it.
    pub own: Change,
    /// To others.
    pub others: Vec<Change>,
}

/// A change as a share: 0.2 is a fifth more; of what is a share itself, the difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Actor and its measure.
    pub name: String,
    /// Mean over mixes and seeds.
    pub mean: f64,
    /// Half of the 95% interval of the mean, over the seeds; null with a single seed.
    pub margin: Option<f64>,
    /// The number of mixes.
    pub mixes: u64,
    /// The mixes with a significant improvement of at least the smallest relevant size.
    pub better: u64,
    /// The mixes with such a deterioration.
    pub worse: u64,
    /// Mean over seeds in the mix with the least.
    pub least: f64,
    /// In that with the most.
    pub most: f64,
}

/// The verdict of a cell on a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The flow gains, and another flow loses.
    PaysAndHarms,
    /// The flow gains, and no flow loses.
    Pays,
    /// The flow does not gain, and another flow loses.
    Harms,
    /// Only the flow that makes the choice loses.
    Costs,
    /// No certain change.
    Nothing,
}

impl PairedComparison {
    /// The scenarios that its rows need.
    pub fn scenarios(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|row| row.scenario.as_str())
    }

    /// All labels of rows and columns with their scenarios. A test checks that they exist.
    pub fn labels(&self) -> Vec<(&str, String, String)> {
        let mut all = Vec::new();
        for (row, column) in self.pairs() {
            let references = column.normalise.iter().map(|(axis, label)| (axis.clone(), vec![label.clone()]));
            for (axis, labels) in self.select(row, column).into_iter().chain(references) {
                all.extend(labels.into_iter().map(|label| (row.scenario.as_str(), axis.clone(), label)));
            }
        }
        all
    }

    /// The measures that columns name.
    pub fn measures(&self) -> impl Iterator<Item = &str> {
        let concerns =
            self.columns.iter().flat_map(|column| std::iter::once(&column.own).chain(&column.others));
        concerns.map(|concern| concern.measure.as_str())
    }

    fn pairs(&self) -> impl Iterator<Item = (&RowOf, &ColumnOf)> {
        self.rows.iter().flat_map(|row| self.columns.iter().map(move |column| (row, column)))
    }

    /// Without any figure yet.
    pub(crate) fn empty(&self) -> PairedTable {
        let row = |row: &RowOf| PairedRow {
            name: row.name.clone(),
            scenario: row.scenario.clone(),
            cells: vec![None; self.columns.len()],
        };
        PairedTable {
            figure: self.figure.clone(),
            title: self.title.clone(),
            note: self.note.clone(),
            rows_are: self.rows_are.clone(),
            least: self.least,
            columns: self.columns.iter().map(|column| column.name.clone()).collect(),
            rows: self.rows.iter().map(row).collect(),
        }
    }

    /// Writes what `table`, the results of `scenario`, has into `made`.
    pub(crate) fn fill(&self, scenario: &str, table: &Table<'_>, made: &mut PairedTable) {
        for (row, into) in self.rows.iter().zip(&mut made.rows).filter(|(row, _)| row.scenario == scenario) {
            into.cells = self.columns.iter().map(|column| self.cell(row, column, table)).collect();
        }
    }

    /// The labels on axes for all cells, the row and the column; the more specific take precedence.
    fn select(&self, row: &RowOf, column: &ColumnOf) -> Selection {
        let mut select = selection(&self.select);
        select.extend(selection(&row.select));
        select.extend(selection(&column.select));
        select
    }

    fn cell(&self, row: &RowOf, column: &ColumnOf, table: &Table<'_>) -> Option<PairedCell> {
        let select = self.select(row, column);
        let figures = |concern: &Concern, select: &Selection, normalise: &BTreeMap<String, String>| {
            let expect = Expect {
                measure: concern.measure.clone(),
                select: select.clone(),
                normalise: normalise.clone(),
                ..Expect::default()
            };
            let cases = table.case_figures(&expect)?;
            Some(cases.into_iter().map(|(point, figure)| (point.to_vec(), figure)).collect::<Vec<_>>())
        };
        let change = |concern: &Concern| {
            let changes = match concern.of {
                None => {
                    let ratios = figures(concern, &select, &column.normalise)?;
                    ratios.into_iter().map(|(point, ratio)| (point, ratio - 1.0)).collect()
                }
                Some(all) => {
                    let mut without = select.clone();
                    without.extend(
                        column.normalise.iter().map(|(axis, label)| (axis.clone(), vec![label.clone()])),
                    );
                    let (with, without) = (
                        figures(concern, &select, &BTreeMap::new())?,
                        figures(concern, &without, &BTreeMap::new())?,
                    );
                    differences(with, &without, all)?
                }
            };
            let seed = table.axes().iter().position(|axis| axis.name == SEED);
            let runs: Vec<_> =
                changes.iter().map(|(point, _)| table.runs(point, &column.normalise)).collect();
            paired(&concern.name, &changes, &runs, seed, self.least)
        };
        Some(PairedCell {
            own: change(&column.own)?,
            others: column.others.iter().map(change).collect::<Option<_>>()?,
        })
    }
}

/// A case by its label on each axis, as an index, and a figure.
type Figure = (Vec<usize>, f64);

/// The change of a share, case by case. Both are in the order of the axes, so that they pair where there are as many of each.
fn differences(with: Vec<Figure>, without: &[Figure], all: f64) -> Option<Vec<Figure>> {
    (with.len() == without.len()).then(|| {
        let pairs = with.into_iter().zip(without);
        pairs.map(|((point, figure), (_, other))| (point, (figure - other) / all)).collect()
    })
}

/// The change over cases, of which `runs` says what they are runs of.
fn paired(
    name: &str,
    cases: &[Figure],
    runs: &[Option<Runs>],
    seed: Option<usize>,
    least: f64,
) -> Option<Change> {
    let mut mixes: BTreeMap<Vec<usize>, Vec<f64>> = BTreeMap::new();
    let mut seeds: BTreeMap<usize, (Vec<f64>, Vec<Option<Runs>>)> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for ((point, change), run) in cases.iter().zip(runs) {
        let mut mix = point.clone();
        let of_seed = seed.map_or(0, |axis| std::mem::take(&mut mix[axis]));
        if seen.insert((mix.clone(), *run)) {
            mixes.entry(mix).or_default().push(*change);
        }
        let of_seed = seeds.entry(of_seed).or_default();
        of_seed.0.push(*change);
        of_seed.1.push(*run);
    }
    let mut seen = BTreeSet::new();
    let each_seed: Vec<f64> = seeds
        .values()
        .filter(|(_, runs)| seen.insert(runs))
        .filter_map(|(changes, _)| Some(mean_margin(changes)?.0))
        .collect();
    let (mean, margin) = mean_margin(&each_seed)?;
    let each_mix: Vec<(f64, Option<f64>)> = mixes.values().filter_map(|of_mix| mean_margin(of_mix)).collect();
    let certain = |sign: f64| {
        let is = |(mean, margin): &&(f64, Option<f64>)| is_certain(sign * mean, *margin, least);
        each_mix.iter().filter(is).count() as u64
    };
    let ends = each_mix
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (mix, _)| (low.min(*mix), high.max(*mix)));
    let finite = mean.is_finite() && ends.0.is_finite() && ends.1.is_finite();
    finite.then(|| Change {
        name: name.to_string(),
        mean: round(mean),
        margin: margin.map(round),
        mixes: each_mix.len() as u64,
        better: certain(1.0),
        worse: certain(-1.0),
        least: round(ends.0),
        most: round(ends.1),
    })
}

/// Whether a change for the better is beyond chance, and large enough to count. One seed says nothing of chance.
fn is_certain(mean: f64, margin: Option<f64>, least: f64) -> bool {
    mean >= least && margin.is_some_and(|margin| mean - margin > 0.0)
}

/// Mean, and half of its 95% interval where there are two values or more.
fn mean_margin(values: &[f64]) -> Option<(f64, Option<f64>)> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (!values.is_empty()).then(|| (mean, confidence::half_width(values)))
}

impl PairedCell {
    /// The other flow that loses most.
    pub fn harm(&self) -> Option<&Change> {
        self.others.iter().min_by(|one, other| one.least.total_cmp(&other.least))
    }

    /// Text of the cell.
    pub fn judgement(&self) -> Judgement {
        let harms = self.others.iter().any(|other| other.worse > 0);
        match (self.own.better > 0, harms) {
            (true, true) => Judgement::PaysAndHarms,
            (true, false) => Judgement::Pays,
            (false, true) => Judgement::Harms,
            (false, false) if self.own.worse > 0 => Judgement::Costs,
            (false, false) => Judgement::Nothing,
        }
    }

    /// The change for the other flow that loses most, in percent, and the name of that flow.
    pub fn harm_text(&self) -> String {
        self.harm().map(|harm| format!("{} {}", harm.text(), harm.name)).unwrap_or_default()
    }
}

impl Change {
    /// Such as `+12 ±3*`; of several mixes the least and the most, and in how many it is certain: `-20 to +8 (2↑ 9↓ of 16)`. The
    /// star: beyond chance, and more than the least that counts.
    pub fn text(&self) -> String {
        if self.mixes > 1 {
            let counts = format!("{}\u{2191} {}\u{2193} of {}", self.better, self.worse, self.mixes);
            return format!("{} to {} ({counts})", percent(self.least), percent(self.most));
        }
        let mut text = percent(self.mean);
        if let Some(margin) = self.margin.filter(|margin| *margin > 0.0) {
            // Writing to a string cannot fail.
            let _ = write!(text, " \u{b1}{}", size(margin * 100.0));
        }
        if self.better + self.worse > 0 {
            text.push('*');
        }
        text
    }
}

/// With its sign; whole numbers from ten on.
fn percent(share: f64) -> String {
    let value = share * 100.0;
    match size(value) {
        zero if zero == "0" || zero == "0.0" => "0".to_string(),
        text => format!("{}{text}", if value < 0.0 { "-" } else { "+" }),
    }
}

fn size(value: f64) -> String {
    let value = value.abs();
    if value >= 9.95 { format!("{value:.0}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_study::results::AxisFile;

    const MIXES: [[usize; 2]; 4] = [[0, 0], [0, 1], [1, 0], [1, 1]];

    fn from_ratios(ratios: [f64; 4], seed: Option<usize>) -> Change {
        let cases: Vec<Figure> =
            MIXES.iter().zip(ratios).map(|(point, ratio)| (point.to_vec(), ratio - 1.0)).collect();
        let runs: Vec<Option<Runs>> = (0..cases.len()).map(|run| Some((run, None))).collect();
        paired("x", &cases, &runs, seed, 0.01).expect("there are cases")
    }

    /// By hand: means of seeds 0.2 and 0.3, so 0.25 with a standard error of 0.05, times 12.706.
    #[test]
    fn a_mean_over_mixes_and_an_interval_over_seeds() {
        let change = from_ratios([1.1, 1.2, 1.3, 1.4], Some(1));
        assert!((change.mean - 0.25).abs() < 1e-9);
        assert!((change.margin.expect("two seeds") - 12.706 * 0.05).abs() < 1e-4, "{change:?}");
        assert_eq!((change.mixes, change.least, change.most), (2, 0.15, 0.35));
        assert_eq!((change.better, change.worse), (0, 0), "two seeds that differ say little");
    }

    #[test]
    fn what_is_certain_counts() {
        let same = from_ratios([1.5, 1.5, 0.9, 0.9], Some(1));
        assert_eq!((same.better, same.worse), (1, 1), "no chance is left where seeds agree");
        let little = from_ratios([1.005, 1.005, 0.995, 0.995], Some(1));
        assert_eq!((little.better, little.worse), (0, 0), "less than a percent is none");
        let single = from_ratios([1.5, 1.5, 0.9, 0.9], None);
        assert_eq!((single.mixes, single.better, single.margin), (4, 0, None), "one seed says nothing");
        assert!(paired("x", &[], &[], Some(0), 0.01).is_none());
    }

    #[test]
    fn seeds_that_gave_the_same_runs_are_one() {
        // Two mixes, three seeds; the second seed gave the runs of the first.
        let cases: Vec<Figure> = [0.5, 0.1, 0.5, 0.1, 0.7, 0.1]
            .into_iter()
            .enumerate()
            .map(|(place, change)| (vec![place / 2, place % 2], change))
            .collect();
        let runs = [0, 1, 0, 1, 4, 1].map(|run| Some((run, None)));
        let change = paired("x", &cases, &runs, Some(0), 0.01).expect("a change");
        let expected = mean_margin(&[0.3, 0.4]).expect("two seeds");
        assert_eq!((change.mean, change.margin), (0.35, expected.1.map(round)));
        // In the second mix, all three seeds gave the same run, so no change in it is significant.
        assert_eq!((change.better, change.mixes), (0, 2));
        let distinct: Vec<Option<Runs>> = (0..6).map(|run| Some((run, None))).collect();
        assert_eq!(paired("x", &cases, &distinct, Some(0), 0.01).expect("a change").better, 2);
    }

    #[test]
    fn cells_are_read_as_they_are_written() {
        let one = |name: &str, mean: f64, margin: f64| Change {
            name: name.to_string(),
            mean,
            margin: Some(margin),
            mixes: 1,
            better: u64::from(mean - margin > 0.0),
            worse: u64::from(mean + margin < 0.0),
            least: mean,
            most: mean,
        };
        let cell = |own: f64, calls: f64| PairedCell {
            own: one("", own, 0.04),
            others: vec![one("downloads", -0.001, 0.02), one("calls", calls, 0.02)],
        };
        assert_eq!(cell(0.314, -0.083).own.text(), "+31 \u{b1}4.0*");
        assert_eq!(cell(0.314, -0.083).harm_text(), "-8.3 \u{b1}2.0* calls");
        assert_eq!(cell(0.314, 0.5).harm_text(), "-0.1 \u{b1}2.0 downloads");
        let all = [
            (0.3, -0.3, Judgement::PaysAndHarms),
            (0.3, 0.0, Judgement::Pays),
            (-0.3, -0.3, Judgement::Harms),
            (-0.3, 0.0, Judgement::Costs),
            (0.0, 0.0, Judgement::Nothing),
        ];
        for (own, calls, judgement) in all {
            assert_eq!(cell(own, calls).judgement(), judgement);
        }
        let several =
            Change { mixes: 16, better: 2, worse: 9, least: -0.2, most: 0.081, ..one("", 0.0, 0.1) };
        assert_eq!(several.text(), "-20 to +8.1 (2\u{2191} 9\u{2193} of 16)");
        assert_eq!(percent(-0.0001), "0");
    }

    const TABLE: &str = r#"{
        "figure": "1", "title": "t", "rows_are": "queue", "least": 0.01, "where": { "colour": "lies" },
        "row": [{ "name": "flat", "scenario": "s", "where": { "queue": ["a"] } }, { "name": "other", "scenario": "z" }],
        "column": [{ "name": "c", "normalise": { "colour": "honest" },
            "own": { "name": "", "measure": "utilization" },
            "others": [{ "name": "o", "measure": "jain" }, { "name": "p", "measure": "jain", "of": 2.0 }] }]
    }"#;

    fn blank() -> serde_json::Value {
        let delay = serde_json::to_value(qdelay_study::results::DelaySummary::default()).expect("a delay");
        serde_json::json!({
            "schema_version": 2, "id": "x", "labels": {}, "throughput_mbps": 1.0, "utilization": 1.0,
            "capacity_mbps": null, "queue_delay_ms": delay, "sojourn_ms": delay, "backlog_max_packets": 3,
            "backlog_max_bytes": 4500, "one_way_delay_ms": delay, "jitter_ms": 0.0, "power": null, "drops": 0,
            "drops_by_reason": {}, "marks": 0, "marks_by_reason": {}, "packets_forwarded": 1, "jain": 1.0,
            "probe_ms": null, "probe_sent": null, "probe_lost": null, "flows": [], "nodes": {}, "groups": {},
        })
    }

    fn case(labels: [&str; 3], utilization: f64, jain: f64) -> qdelay_study::results::CaseSummary {
        let mut case: qdelay_study::results::CaseSummary =
            serde_json::from_value(blank()).expect("every field");
        case.labels = ["colour", "queue", "seed"]
            .iter()
            .zip(labels)
            .map(|(axis, label)| (axis.to_string(), label.to_string()))
            .collect();
        (case.utilization, case.jain) = (utilization, jain);
        case
    }

    #[test]
    fn a_table_is_made_of_results() {
        let changes: PairedComparison = serde_json::from_str(TABLE).expect("a table");
        let axis = |name: &str, labels: &[&str]| AxisFile {
            name: name.to_string(),
            labels: labels.iter().map(|label| label.to_string()).collect(),
        };
        let axes =
            [axis("colour", &["honest", "lies"]), axis("queue", &["a", "b"]), axis("seed", &["1", "2"])];
        let mut cases = Vec::new();
        for (seed, scale) in [("1", 1.0), ("2", 3.0)] {
            cases.push(case(["honest", "a", seed], 0.2 * scale, 0.5));
            cases.push(case(["lies", "a", seed], 0.3 * scale, 0.4));
            cases.push(case(["honest", "b", seed], 0.1, 0.1));
            cases.push(case(["lies", "b", seed], 0.1, 0.1));
        }
        let table = Table::new(&axes, &cases);
        let mut made = changes.empty();
        changes.fill("s", &table, &mut made);
        let cell = made.rows[0].cells[0].as_ref().expect("a cell");
        assert!((cell.own.mean - 0.5).abs() < 1e-6 && cell.own.better == 1, "{cell:?}");
        assert!((cell.others[0].mean + 0.2).abs() < 1e-6 && cell.others[0].worse == 1);
        assert!((cell.others[1].mean + 0.05).abs() < 1e-6, "a tenth less, of two: {cell:?}");
        assert_eq!(cell.judgement(), Judgement::PaysAndHarms);
        assert_eq!(made.rows[1].cells, [None], "of another scenario");
        let text = serde_json::to_string(&made).expect("JSON");
        assert_eq!(serde_json::from_str::<PairedTable>(&text).expect("the same"), made);
        assert_eq!(changes.labels().len(), 2 + 1 + 2);
        assert_eq!(changes.measures().collect::<Vec<_>>(), ["utilization", "jain", "jain"]);
    }
}
