//! Expectations: the range that a figure of the results should lie in, and the figure itself.
//!
//! The figure is computed in four steps, for each label of an axis if the least or the largest of these is asked for: select the cases; take the measure of each, divided by that of its own reference
//! (`normalise`); combine them to one figure (`aggregate`); divide that by the best of other selections, computed in the same way
//! (`alternatives`). There is no figure if a step finds nothing: a case lacks the measure, no case is selected, or a division is by
//! zero.

use crate::confidence;
use crate::results::{AxisFile, CaseSummary, ExpectResult, round};
use crate::same_runs;
use qdelay_config::words;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Separator between two measures, of which the first is divided by the second.
pub const OVER: &str = " / ";

/// Labels by axis.
pub type Selection = BTreeMap<String, Vec<String>>;

/// An `[[expect]]` of a scenario, or a claim of a paper.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// Line in the file, from 1.
    pub line: u32,
    /// The expectation in words.
    pub claim: String,
    /// Dotted path into a case of `summary.json`, such as `queue_delay_ms.p99` or `groups.video.loss_ratio`; or two paths with `
    /// / ` between, for the first divided by the second.
    pub measure: String,
    /// The selected cases (`where`): on each of these axes one of these labels, on the other axes any label.
    pub select: Selection,
    /// Labels of the reference case, in place of the case's own: each figure is divided by that of its reference. Empty for no
    /// division.
    pub normalise: BTreeMap<String, String>,
    /// Combination of the figures of several cases.
    pub aggregate: Aggregate,
    /// Labels of other cases, in place of the selected ones: the combined figure is divided by the best of theirs. Empty for no
    /// division.
    pub alternatives: Selection,
    /// Direction in which a figure of `alternatives` is better.
    pub best: Best,
    /// Axis for each of whose labels the figure is computed (`min_over`, `max_over`): the smallest or the largest of these is the
    /// figure.
    pub extreme: Option<(Best, String)>,
    /// Unit of `low`, `high` and `paper`; empty for none.
    pub unit: String,
    /// Smallest accepted figure.
    pub low: Option<f64>,
    /// Largest accepted figure.
    pub high: Option<f64>,
    /// The figure that a paper states.
    pub paper: Option<f64>,
}

words! {
    /// Combination of the figures of several cases.
    #[derive(Default)]
    pub enum Aggregate {
        /// Arithmetic mean.
        #[default]
        Mean = "mean",
        /// Geometric mean.
        Geomean = "geomean",
        /// Median.
        Median = "median",
        /// The smallest figure.
        Min = "min",
        /// The largest figure.
        Max = "max",
        /// Sum.
        Sum = "sum",
        /// Lower end of the 95% confidence interval of the mean (Student's t). Cases that differ only in their seed and have
        /// equal figures count once; a single case has no interval.
        Ci95Low = "ci95_low",
        /// Upper end of the 95% confidence interval of the mean.
        Ci95High = "ci95_high",
    }
}

words! {
    /// Direction in which a figure is better.
    #[derive(Default)]
    pub enum Best {
        /// The smallest figure is best.
        #[default]
        Min = "min",
        /// The largest figure is best.
        Max = "max",
    }
}

impl Expect {
    /// True if `figure` lies within the bounds, inclusive.
    pub fn accepts(&self, figure: f64) -> bool {
        within(figure, self.low, self.high)
    }

    /// True if the expectation uses the case with these labels: as a selected case, as a case of `alternatives`, or as the reference of
    /// either.
    pub fn reads(&self, labels: &BTreeMap<String, String>) -> bool {
        let mut others = self.select.clone();
        others.extend(self.alternatives.clone());
        let is_of = |select: &Selection, is_reference: bool| {
            let mut given =
                select.iter().filter(|(axis, _)| !is_reference || !self.normalise.contains_key(*axis));
            given.all(|(axis, among)| labels.get(axis).is_some_and(|label| among.contains(label)))
        };
        let is_reference = !self.normalise.is_empty()
            && self.normalise.iter().all(|(axis, label)| labels.get(axis) == Some(label));
        [&self.select, &others]
            .into_iter()
            .any(|select| is_of(select, false) || is_reference && is_of(select, true))
    }
}

/// True if `figure` lies between the bounds that are given, inclusive.
pub fn within(figure: f64, low: Option<f64>, high: Option<f64>) -> bool {
    low.is_none_or(|low| low <= figure) && high.is_none_or(|high| figure <= high)
}

/// The result of each expectation for the cases of a study.
pub fn evaluate(expects: &[Expect], axes: &[AxisFile], cases: &[CaseSummary]) -> Vec<ExpectResult> {
    let table = Table::new(axes, cases);
    expects.iter().map(|expect| result(expect, &table)).collect()
}

fn result(expect: &Expect, table: &Table<'_>) -> ExpectResult {
    let value = table.figure(expect);
    let matches = value.is_some_and(|figure| expect.accepts(figure));
    ExpectResult {
        claim: expect.claim.clone(),
        measure: expect.measure.clone(),
        unit: expect.unit.clone(),
        value,
        low: expect.low,
        high: expect.high,
        paper: expect.paper,
        verdict: if matches { "match" } else { "miss" }.to_string(),
        missing_reason: if value.is_none() { table.missing_reason(expect) } else { None },
    }
}

/// Coordinates of a case: the index of its label on each axis.
type Point = Vec<usize>;

/// The cases of a study by their coordinates on the axes.
#[derive(Debug)]
pub struct Table<'a> {
    axes: &'a [AxisFile],
    cases: BTreeMap<Point, Placed>,
}

#[derive(Debug)]
struct Placed {
    /// The case as JSON, where measures are looked up by their path.
    file: Value,
    /// Number of the run: equal for cases that differ only in their seed and have equal figures.
    run: usize,
}

/// The run of a case, and the run of its reference. Equal pairs count as one observation.
pub type Runs = (usize, Option<usize>);

impl<'a> Table<'a> {
    /// Leaves out cases that lack a label on some axis.
    pub fn new(axes: &'a [AxisFile], cases: &[CaseSummary]) -> Table<'a> {
        let point = |case: &CaseSummary| -> Option<Point> {
            axes.iter().map(|axis| position(axis, case.labels.get(&axis.name)?)).collect()
        };
        let runs = same_runs::first_equals(cases);
        let entry = |(case, run): (&CaseSummary, usize)| {
            Some((point(case)?, Placed { file: serde_json::to_value(case).ok()?, run }))
        };
        Table { axes, cases: cases.iter().zip(runs).filter_map(entry).collect() }
    }

    /// The figure of `expect`, rounded to six decimals.
    pub fn figure(&self, expect: &Expect) -> Option<f64> {
        let Some((extreme, name)) = &expect.extreme else {
            return finite(round(self.ratio(expect, &expect.select)?));
        };
        let axis = self.axes.iter().find(|axis| axis.name == *name)?;
        let labels = expect.select.get(name).unwrap_or(&axis.labels);
        let of_label = |label: &String| {
            let mut select = expect.select.clone();
            select.insert(name.clone(), vec![label.clone()]);
            self.ratio(expect, &select)
        };
        // A label without a figure leaves none: the extreme of the others would be a different figure.
        let figures: Vec<f64> = labels.iter().map(of_label).collect::<Option<_>>()?;
        let figure = match extreme {
            Best::Min => figures.into_iter().reduce(f64::min),
            Best::Max => figures.into_iter().reduce(f64::max),
        };
        finite(round(figure?))
    }

    /// Figure of the selected cases, divided by the best of the alternatives.
    fn ratio(&self, expect: &Expect, select: &Selection) -> Option<f64> {
        let figure = self.over_cases(expect, select)?;
        if expect.alternatives.is_empty() {
            return Some(figure);
        }
        let mut best: Option<f64> = None;
        for labels in combinations(&expect.alternatives) {
            let mut select = select.clone();
            select.extend(labels);
            // A selection without cases leaves no figure: the best of the others would be a different figure.
            let other = self.over_cases(expect, &select)?;
            best = Some(match (best, expect.best) {
                (None, _) => other,
                (Some(best), Best::Min) => best.min(other),
                (Some(best), Best::Max) => best.max(other),
            });
        }
        finite(figure / best?)
    }

    /// Reason for a missing figure: the first case that lacks the measure, or an empty selection. `None` if all cases have it, so
    /// that a division is by zero.
    pub fn missing_reason(&self, expect: &Expect) -> Option<String> {
        let others = combinations(&expect.alternatives).into_iter().filter(|labels| !labels.is_empty());
        let selections = std::iter::once(Selection::new()).chain(others);
        for labels in selections {
            let mut select = expect.select.clone();
            select.extend(labels);
            let points = self.selected(&select);
            if points.is_empty() {
                return Some("no case is selected".to_string());
            }
            let references = points.iter().filter_map(|point| self.reference(point, &expect.normalise));
            let all: Vec<Point> = points.iter().map(|point| point.to_vec()).chain(references).collect();
            let of_point = |point: &Point| {
                let case = &self.cases.get(point)?.file;
                let path = expect.measure.split(OVER).find(|path| figure(case, path).is_none())?;
                Some(format!("case {} has no {path}", case.get("id")?.as_str()?))
            };
            if let Some(lacking) = all.iter().find_map(of_point) {
                return Some(lacking);
            }
        }
        None
    }

    /// The axes of the study.
    pub fn axes(&self) -> &'a [AxisFile] {
        self.axes
    }

    /// Coordinates and figure of every case that `expect` selects; the figure is divided by that of its reference, if there is
    /// one. `None` if any case has no figure.
    pub fn case_figures(&self, expect: &Expect) -> Option<Vec<(&[usize], f64)>> {
        let with_figure = |point| Some((Point::as_slice(point), self.case_figure(expect, point)?));
        self.selected(&expect.select).into_iter().map(with_figure).collect()
    }

    /// Coordinates of the cases that `select` selects; empty for an unknown axis.
    fn selected(&self, select: &Selection) -> Vec<&Point> {
        let mut accepted: Vec<Option<Vec<usize>>> = vec![None; self.axes.len()];
        for (name, labels) in select {
            let Some(axis) = self.axes.iter().position(|axis| axis.name == *name) else { return Vec::new() };
            let known = labels.iter().filter_map(|label| position(&self.axes[axis], label)).collect();
            accepted[axis] = Some(known);
        }
        let meant = |point: &&Point| {
            let on_axis = |(label, accepted): (&usize, &Option<Vec<usize>>)| {
                accepted.as_ref().is_none_or(|labels| labels.contains(label))
            };
            point.iter().zip(&accepted).all(on_axis)
        };
        self.cases.keys().filter(meant).collect()
    }

    fn over_cases(&self, expect: &Expect, select: &Selection) -> Option<f64> {
        let points = self.selected(select);
        let figures: Vec<f64> =
            points.iter().map(|point| self.case_figure(expect, point)).collect::<Option<_>>()?;
        if !matches!(expect.aggregate, Aggregate::Ci95Low | Aggregate::Ci95High) {
            return combine(figures, expect.aggregate);
        }
        // Equal runs are one observation: they do not narrow the interval.
        let mut seen = BTreeSet::new();
        let runs = points.iter().map(|point| self.runs(point, &expect.normalise));
        let of_new_runs = figures.iter().zip(runs).filter(|(_, runs)| seen.insert(*runs));
        combine(of_new_runs.map(|(figure, _)| *figure).collect(), expect.aggregate)
    }

    /// The runs that the figure of a case comes from.
    pub fn runs(&self, point: &[usize], normalise: &BTreeMap<String, String>) -> Option<Runs> {
        let reference = if normalise.is_empty() {
            None
        } else {
            Some(self.cases.get(&self.reference(point, normalise)?)?.run)
        };
        Some((self.cases.get(point)?.run, reference))
    }

    /// Coordinates of the reference of a case.
    fn reference(&self, point: &[usize], normalise: &BTreeMap<String, String>) -> Option<Point> {
        let mut reference = point.to_vec();
        for (name, label) in normalise {
            let axis = self.axes.iter().position(|axis| axis.name == *name)?;
            reference[axis] = position(&self.axes[axis], label)?;
        }
        Some(reference)
    }

    fn case_figure(&self, expect: &Expect, point: &Point) -> Option<f64> {
        let figure = self.measure(point, &expect.measure)?;
        if expect.normalise.is_empty() {
            return Some(figure);
        }
        let reference = self.reference(point, &expect.normalise)?;
        finite(figure / self.measure(&reference, &expect.measure)?)
    }

    fn measure(&self, point: &Point, measure: &str) -> Option<f64> {
        measured(&self.cases.get(point)?.file, measure)
    }
}

/// Measure of a case: a figure, or one divided by another.
pub fn measured(case: &Value, measure: &str) -> Option<f64> {
    match measure.split_once(OVER) {
        Some((path, other)) => finite(figure(case, path)? / figure(case, other)?),
        None => figure(case, measure),
    }
}

/// The number at a dotted path into a case.
fn figure(case: &Value, path: &str) -> Option<f64> {
    path.split('.').try_fold(case, |value, name| value.get(name))?.as_f64()
}

fn position(axis: &AxisFile, label: &str) -> Option<usize> {
    axis.labels.iter().position(|known| known == label)
}

fn finite(figure: f64) -> Option<f64> {
    figure.is_finite().then_some(figure)
}

/// Every combination of one label from each axis.
fn combinations(selection: &Selection) -> Vec<Selection> {
    selection.iter().fold(vec![Selection::new()], |all, (axis, labels)| {
        let with = |chosen: &Selection, label: &String| {
            let mut chosen = chosen.clone();
            chosen.insert(axis.clone(), vec![label.clone()]);
            chosen
        };
        all.iter().flat_map(|chosen| labels.iter().map(move |label| with(chosen, label))).collect()
    })
}

fn combine(mut figures: Vec<f64>, aggregate: Aggregate) -> Option<f64> {
    if figures.is_empty() {
        return None;
    }
    let count = figures.len() as f64;
    let sum: f64 = figures.iter().sum();
    finite(match aggregate {
        Aggregate::Sum => sum,
        Aggregate::Mean => sum / count,
        Aggregate::Ci95Low => sum / count - confidence::half_width(&figures)?,
        Aggregate::Ci95High => sum / count + confidence::half_width(&figures)?,
        // A negative figure gives NaN, and so no figure.
        Aggregate::Geomean => (figures.iter().map(|figure| figure.ln()).sum::<f64>() / count).exp(),
        Aggregate::Min => figures.iter().copied().fold(f64::INFINITY, f64::min),
        Aggregate::Max => figures.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Aggregate::Median => {
            figures.sort_by(f64::total_cmp);
            let middle = figures.len() / 2;
            if figures.len() % 2 == 1 {
                figures[middle]
            } else {
                (figures[middle - 1] + figures[middle]) / 2.0
            }
        }
    })
}
