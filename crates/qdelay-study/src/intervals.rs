//! Several seeds: the mean of each figure with its 95% interval, and paired differences between cases.
//!
//! The cases of a point differ in their seed alone. Their figures are treated as independent draws, so that equal runs count once
//! ([`same_runs`]). A difference is paired by the seed: two cases of one seed begin at the same places of their traces
//! (`run.starts`) and draw from streams of the same names, so that what the place does to both is not in the difference.

use crate::confidence::{beyond_chance, half_width, p_value};
use crate::results::{AxisFile, CaseSummary, Difference, Interval, PairedDifference, PointFile, round};
use crate::same_runs::{self, SEED};
use serde_json::Value;
use std::collections::BTreeMap;

/// What differences are made of: a label, and the dotted path into a case of `summary.json`.
pub const COMPARED: &[&str] =
    &["throughput_mbps", "queue_delay_ms.mean", "queue_delay_ms.p95", "queue_delay_ms.p99"];
/// Axes that are never compared along: other traces and links are other conditions.
const CONDITIONS: &[&str] = &[SEED, "path.trace", "path.link"];
/// The axis that is compared along if it has several points; else the first one that has.
const FIRST: &str = "path.qdisc";

/// A point of all axes but the seed, and its cases. The seed is the last axis, so that they are adjacent.
fn points<'a>(axes: &[AxisFile], cases: &'a [CaseSummary]) -> Vec<&'a [CaseSummary]> {
    let seeds = axes.last().map_or(1, |axis| axis.labels.len().max(1));
    if seeds < 2 { Vec::new() } else { cases.chunks(seeds).collect() }
}

/// The mean of every figure over the seeds of each point, with its interval; empty with one seed.
pub fn of_points(axes: &[AxisFile], cases: &[CaseSummary]) -> Vec<PointFile> {
    points(axes, cases).into_iter().map(point).collect()
}

fn point(cases: &[CaseSummary]) -> PointFile {
    let distinct = same_runs::distinct(cases);
    let mut figures: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for case in &distinct {
        if let Ok(file) = serde_json::to_value(case) {
            collect(&file, String::new(), &mut figures);
        }
    }
    // A figure that some cases lack, such as the delay of a flow that got nothing through, has no mean over all.
    figures.retain(|_, figures| figures.len() == distinct.len());
    PointFile {
        labels: labels(cases),
        seeds: cases.len() as u64,
        distinct_runs: distinct.len() as u64,
        figures: figures.into_iter().map(|(path, figures)| (path, interval(&figures))).collect(),
    }
}

/// The labels of a point, without the seed.
fn labels(cases: &[CaseSummary]) -> BTreeMap<String, String> {
    let mut labels = cases.first().map_or_else(BTreeMap::new, |case| case.labels.clone());
    labels.remove(SEED);
    labels
}

/// The mean of figures of distinct runs.
pub fn interval(figures: &[f64]) -> Interval {
    let mean = figures.iter().sum::<f64>() / figures.len().max(1) as f64;
    Interval { mean: round(mean), half_width: half_width(figures).map(round) }
}

/// Every number of a file, by its dotted path.
fn collect(value: &Value, path: String, figures: &mut BTreeMap<String, Vec<f64>>) {
    match value {
        Value::Number(number) => {
            figures.entry(path).or_default().extend(number.as_f64());
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(value, path, figures);
            }
        }
        _ => {}
    }
}

/// The axis along which cases are compared; `None` where no axis has several points to compare.
fn compared_axis(axes: &[AxisFile]) -> Option<&AxisFile> {
    let several = |axis: &&AxisFile| axis.labels.len() > 1 && !CONDITIONS.contains(&axis.name.as_str());
    axes.iter().filter(several).find(|axis| axis.name == FIRST).or_else(|| axes.iter().find(several))
}

/// The differences of each point from that with the first label of the compared axis, paired by seed, with Holm's correction over
/// all of them; empty with one seed or nothing to compare.
pub fn paired(axes: &[AxisFile], cases: &[CaseSummary]) -> Vec<PairedDifference> {
    compared_axis(axes).map_or(Vec::new(), |axis| paired_along(axis, axes, cases))
}

/// As [`paired`], along an axis of choice, which is one of `axes`. There are cases for every point of the axes, in their order.
pub fn paired_along(axis: &AxisFile, axes: &[AxisFile], cases: &[CaseSummary]) -> Vec<PairedDifference> {
    let Some(base) = axis.labels.first() else { return Vec::new() };
    let points = points(axes, cases);
    let mut found: Vec<PairedDifference> = Vec::new();
    for point in &points {
        let own = labels(point);
        if own.get(&axis.name) == Some(base) {
            continue;
        }
        let mut theirs = own.clone();
        theirs.insert(axis.name.clone(), base.clone());
        if let Some(reference) = points.iter().find(|point| labels(point) == theirs) {
            found.push(difference(axis, base, own, reference, point));
        }
    }
    let tests: Vec<f64> =
        found.iter().flat_map(|pair| pair.measures.values()).filter_map(|measure| measure.p_value).collect();
    let mut beyond = beyond_chance(&tests).into_iter();
    for measure in found.iter_mut().flat_map(|pair| pair.measures.values_mut()) {
        measure.is_beyond_chance = measure.p_value.is_some() && beyond.next() == Some(true);
        measure.p_value = measure.p_value.map(round);
    }
    found
}

fn difference(
    axis: &AxisFile,
    base: &str,
    labels: BTreeMap<String, String>,
    reference: &[CaseSummary],
    cases: &[CaseSummary],
) -> PairedDifference {
    let (first, second) = (same_runs::first_equals(reference), same_runs::first_equals(cases));
    // Two equal runs against two equal runs are one observation.
    let mut seen: Vec<(usize, usize)> = Vec::new();
    let mut pairs: Vec<(Value, Value)> = Vec::new();
    for (place, (before, after)) in reference.iter().zip(cases).enumerate() {
        let runs = (first[place], second[place]);
        let files = (serde_json::to_value(before), serde_json::to_value(after));
        if let (false, (Ok(before), Ok(after))) = (seen.contains(&runs), files) {
            seen.push(runs);
            pairs.push((before, after));
        }
    }
    let measure = |path: &&str| {
        let figure = |file: &Value| path.split('.').try_fold(file, |at, name| at.get(name))?.as_f64();
        let differences: Option<Vec<f64>> =
            pairs.iter().map(|(before, after)| Some(figure(after)? - figure(before)?)).collect();
        let differences = differences.filter(|differences| !differences.is_empty())?;
        let Interval { mean, half_width } = interval(&differences);
        let p_value = p_value(&differences);
        Some((path.to_string(), Difference { mean, half_width, p_value, is_beyond_chance: false }))
    };
    PairedDifference {
        axis: axis.name.clone(),
        baseline: base.to_string(),
        labels,
        pairs: pairs.len() as u64,
        measures: COMPARED.iter().filter_map(measure).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Measures;

    fn axis(name: &str, labels: &[&str]) -> AxisFile {
        AxisFile { name: name.to_string(), labels: labels.iter().map(ToString::to_string).collect() }
    }

    fn case(qdisc: &str, seed: &str, throughput_mbps: f64) -> CaseSummary {
        let labels = [("path.qdisc", qdisc), (SEED, seed)];
        let labels = labels.map(|(axis, label)| (axis.to_string(), label.to_string())).into();
        let measures = Measures { throughput_mbps, ..Measures::default() };
        CaseSummary { labels, measures, ..CaseSummary::default() }
    }

    #[test]
    fn means_and_differences_of_distinct_runs() {
        let axes = [axis("path.qdisc", &["taildrop", "codel"]), axis(SEED, &["1", "2", "3", "4"])];
        let rates = [("taildrop", [1.0, 2.0, 3.0, 4.0]), ("codel", [0.5, 1.5, 2.5, 2.5])];
        let cases: Vec<CaseSummary> = rates
            .iter()
            .flat_map(|(qdisc, rates)| {
                rates.iter().zip(["1", "2", "3", "4"]).map(|(rate, seed)| case(qdisc, seed, *rate))
            })
            .collect();
        let points = of_points(&axes, &cases);
        assert_eq!(points[0].figures["throughput_mbps"], Interval { mean: 2.5, half_width: Some(2.05426) });
        assert_eq!((points[1].seeds, points[1].distinct_runs), (4, 3), "two seeds gave the same run");
        assert_eq!(points[1].figures["throughput_mbps"].mean, 1.5);
        assert!(points[0].labels.contains_key("path.qdisc") && !points[0].labels.contains_key(SEED));
        let paired = paired(&axes, &cases);
        let [of_codel] = paired.as_slice() else { panic!("{paired:?}") };
        assert_eq!((of_codel.baseline.as_str(), of_codel.pairs), ("taildrop", 4));
        let rate = &of_codel.measures["throughput_mbps"];
        // -0.5, -0.5, -0.5, -1.5.
        assert_eq!((rate.mean, rate.is_beyond_chance), (-0.75, false));
        assert!(rate.half_width.is_some_and(|width| (width - 0.7956).abs() < 1e-3), "{rate:?}");
    }

    #[test]
    fn one_seed_has_no_interval_and_traces_are_not_compared() {
        let axes = [axis("path.qdisc", &["taildrop", "codel"]), axis(SEED, &["1"])];
        let cases = [case("taildrop", "1", 1.0), case("codel", "1", 2.0)];
        assert!(of_points(&axes, &cases).is_empty() && paired(&axes, &cases).is_empty());
        assert!(compared_axis(&[axis("path.trace", &["a", "b"]), axis(SEED, &["1", "2"])]).is_none());
        let axes = [axis("flow.transport", &["a", "b"]), axis("path.qdisc", &["c", "d"]), axis(SEED, &["1"])];
        assert_eq!(compared_axis(&axes).map(|axis| axis.name.as_str()), Some(FIRST));
    }
}
