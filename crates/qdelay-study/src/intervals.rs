//! Statistics over several seeds: the mean of each figure with its 95% confidence interval, and paired differences between cases.
//!
//! The cases of a point differ only in their seed. Their figures are treated as independent draws, so equal runs count once
//! ([`same_runs`]). Differences are paired by seed: two cases with the same seed begin at the same places of their traces
//! (`run.starts`) and draw from random streams of the same names, so effects of the place cancel out in the difference.

use crate::confidence::{beyond_chance, half_width, p_value};
use crate::results::{AxisFile, CaseSummary, Difference, Interval, PairedDifference, PointFile, round};
use crate::same_runs::{self, SEED};
use serde_json::Value;
use std::collections::BTreeMap;

/// Figures that differences are computed for, as dotted paths into a case of `summary.json`.
pub const COMPARED: &[&str] =
    &["throughput_mbps", "queue_delay_ms.mean", "queue_delay_ms.p95", "queue_delay_ms.p99"];
/// Axes that are never compared along: other traces and links are other conditions.
const CONDITIONS: &[&str] = &[SEED, "path.trace", "path.link"];
/// The preferred axis to compare along; without several labels on it, the first axis that has several.
const FIRST: &str = "path.qdisc";

/// The sampling unit of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Seeds: for each seed, a figure is averaged over the places on the other axes. The interval holds for these places only.
    #[default]
    Seed,
    /// Places on the averaged axes: at each place, a figure is averaged over its seeds. The interval holds for the population
    /// that the places were drawn from.
    Place,
}

impl Unit {
    /// The unit of means over the axes `over`: places if every one of these axes has synthetic links that differ only in their
    /// seed, because such links are draws from one population; otherwise seeds, because chosen links and traces are not drawn
    /// from a population.
    pub fn for_axes(axes: &[AxisFile], over: &[&str]) -> Unit {
        let is_drawn = |name: &&str| axes.iter().any(|axis| axis.name == **name && is_drawn(&axis.labels));
        if !over.is_empty() && over.iter().all(is_drawn) { Unit::Place } else { Unit::Seed }
    }
}

/// True if the labels are synthetic links that differ only in their seed.
fn is_drawn(labels: &[String]) -> bool {
    let population = |label: &String| {
        let keys: Vec<&str> = label.split(':').collect();
        let is_seed = |key: &&str| key.starts_with("seed=");
        let is_drawn = keys[0] == "synth" && keys.iter().any(is_seed);
        is_drawn
            .then(|| keys.iter().filter(|key| !is_seed(key)).map(|key| key.to_string()).collect::<Vec<_>>())
    };
    let first = labels.first().and_then(population);
    labels.len() > 1 && first.is_some() && labels.iter().all(|label| population(label) == first)
}

/// The cases with the same labels, except on `seed` and on the axes that are averaged over.
struct Point<'a> {
    /// Labels on the remaining axes.
    labels: BTreeMap<String, String>,
    /// For each place on the averaged axes, the cases at this place, one for each seed. A single place if nothing is averaged
    /// over.
    places: Vec<&'a [CaseSummary]>,
}

impl Point<'_> {
    fn seeds(&self) -> usize {
        self.places.first().map_or(0, |cases| cases.len())
    }

    /// For each seed, the first seed with equal runs at all places.
    fn firsts(&self) -> Vec<usize> {
        let of_places: Vec<Vec<usize>> =
            self.places.iter().map(|cases| same_runs::first_equals(*cases)).collect();
        let is_same = |one: usize, other: usize| of_places.iter().all(|firsts| firsts[one] == firsts[other]);
        (0..self.seeds()).map(|seed| (0..seed).find(|first| is_same(*first, seed)).unwrap_or(seed)).collect()
    }

    /// The cases of a seed at all places, as JSON.
    fn files(&self, seed: usize) -> Vec<Value> {
        self.places.iter().filter_map(|cases| file(&cases[seed])).collect()
    }

    /// The draws of the sampling unit: for each draw, the cases that its figures are averaged over.
    fn draws(&self, unit: Unit) -> Vec<Vec<Value>> {
        match unit {
            Unit::Seed => {
                let firsts = self.firsts();
                let distinct = (0..self.seeds()).filter(|seed| firsts[*seed] == *seed);
                distinct.map(|seed| self.files(seed)).collect()
            }
            Unit::Place => {
                let of_place = |cases: &&[CaseSummary]| {
                    same_runs::distinct(cases).into_iter().filter_map(file).collect()
                };
                self.places.iter().map(of_place).collect()
            }
        }
    }

    fn file(&self, unit: Unit) -> PointFile {
        let draws = self.draws(unit);
        let mut figures: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for draw in &draws {
            let mut of_draw: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for file in draw {
                collect(file, String::new(), &mut of_draw);
            }
            for (path, of_cases) in of_draw {
                if of_cases.len() == draw.len() {
                    figures.entry(path).or_default().push(mean(&of_cases));
                }
            }
        }
        // A figure that some cases lack, such as the delay of a flow that delivered nothing, has no mean over all cases.
        figures.retain(|_, figures| figures.len() == draws.len());
        PointFile {
            labels: self.labels.clone(),
            seeds: self.seeds() as u64,
            distinct_runs: match unit {
                Unit::Seed => draws.len() as u64,
                Unit::Place => draws.iter().map(Vec::len).sum::<usize>() as u64,
            },
            figures: figures.into_iter().map(|(path, figures)| (path, interval(&figures))).collect(),
        }
    }
}

/// A case as JSON.
fn file(case: &CaseSummary) -> Option<Value> {
    serde_json::to_value(case).ok()
}

/// The points, where the axes `over` are averaged over. The seed is the last axis, so that the cases of a place are adjacent.
fn points<'a>(axes: &[AxisFile], cases: &'a [CaseSummary], over: &[&str], unit: Unit) -> Vec<Point<'a>> {
    let seeds = axes.last().map_or(1, |axis| axis.labels.len().max(1));
    if seeds < 2 && unit == Unit::Seed {
        return Vec::new();
    }
    let mut known: BTreeMap<BTreeMap<String, String>, usize> = BTreeMap::new();
    let mut points: Vec<Point> = Vec::new();
    for of_place in cases.chunks(seeds) {
        let mut labels = labels(of_place);
        labels.retain(|axis, _| !over.contains(&axis.as_str()));
        let at = *known.entry(labels.clone()).or_insert_with(|| {
            points.push(Point { labels, places: Vec::new() });
            points.len() - 1
        });
        points[at].places.push(of_place);
    }
    points
}

/// Mean of every figure over the seeds of each point, with its interval; empty with a single seed.
pub fn point_means(axes: &[AxisFile], cases: &[CaseSummary]) -> Vec<PointFile> {
    averaged(axes, cases, &[], Unit::Seed)
}

/// Mean of every figure over seeds, as [`point_means`], and over the places on the axes `over`, each place with the same weight;
/// the interval is over `unit`.
pub fn averaged(axes: &[AxisFile], cases: &[CaseSummary], over: &[&str], unit: Unit) -> Vec<PointFile> {
    points(axes, cases, over, unit).iter().map(|point| point.file(unit)).collect()
}

/// The labels of a point, without the seed.
fn labels(cases: &[CaseSummary]) -> BTreeMap<String, String> {
    let mut labels = cases.first().map_or_else(BTreeMap::new, |case| case.labels.clone());
    labels.remove(SEED);
    labels
}

/// Mean and interval of the figures of distinct runs.
pub fn interval(figures: &[f64]) -> Interval {
    Interval { mean: round(mean(figures)), half_width: half_width(figures).map(round) }
}

fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / figures.len().max(1) as f64
}

/// Collects every number of a case by its dotted path.
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

/// The axis to compare along, not one of `over`; `None` if no such axis has several labels.
pub fn compared_axis<'a>(axes: &'a [AxisFile], over: &[&str]) -> Option<&'a AxisFile> {
    let is_left = |name: &str| !CONDITIONS.contains(&name) && !over.contains(&name);
    let several = |axis: &&AxisFile| axis.labels.len() > 1 && is_left(&axis.name);
    axes.iter().filter(several).find(|axis| axis.name == FIRST).or_else(|| axes.iter().find(several))
}

/// Differences of each point from the point with the first label of the compared axis, paired by seed, with Holm's correction
/// over all of them. Empty with a single seed or without an axis to compare along.
pub fn paired(axes: &[AxisFile], cases: &[CaseSummary]) -> Vec<PairedDifference> {
    compared_axis(axes, &[]).map_or(Vec::new(), |axis| paired_along(axis, axes, cases))
}

/// Differences as [`paired`], along the given axis, one of `axes`. `cases` has a case for every point of the axes, in their
/// order.
pub fn paired_along(axis: &AxisFile, axes: &[AxisFile], cases: &[CaseSummary]) -> Vec<PairedDifference> {
    let Some(baseline) = axis.labels.first() else { return Vec::new() };
    let comparison =
        Comparison { axis: &axis.name, baseline, over: &[], unit: Unit::Seed, figures: COMPARED };
    compared(axes, cases, &comparison)
}

/// A comparison of the points of a study along one axis.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// Name of the axis, one of the study's.
    pub axis: &'a str,
    /// Label of the baseline on that axis.
    pub baseline: &'a str,
    /// Axes that are averaged over, as in [`averaged`].
    pub over: &'a [&'a str],
    /// Sampling unit of the pairs.
    pub unit: Unit,
    /// Figures to compare, as dotted paths into a case.
    pub figures: &'a [&'a str],
}

/// Differences of each point from the baseline, paired by the sampling unit, with Holm's correction over all of them. Empty with
/// a single seed if seeds are the unit. A figure that some case of a pair lacks is left out.
pub fn compared(
    axes: &[AxisFile],
    cases: &[CaseSummary],
    comparison: &Comparison<'_>,
) -> Vec<PairedDifference> {
    let points = points(axes, cases, comparison.over, comparison.unit);
    let places: BTreeMap<_, _> = points.iter().map(|point| (&point.labels, point)).collect();
    let mut found: Vec<PairedDifference> = Vec::new();
    for point in &points {
        let mut theirs = point.labels.clone();
        let own = theirs.insert(comparison.axis.to_string(), comparison.baseline.to_string());
        if own.as_deref() == Some(comparison.baseline) {
            continue;
        }
        if let Some(reference) = places.get(&theirs) {
            found.push(difference(comparison, reference, point));
        }
    }
    // Holm's correction needs the probabilities of all comparisons.
    let tests: Vec<f64> =
        found.iter().flat_map(|pair| pair.measures.values()).filter_map(|measure| measure.p_value).collect();
    let mut beyond = beyond_chance(&tests).into_iter();
    for measure in found.iter_mut().flat_map(|pair| pair.measures.values_mut()) {
        measure.significant = measure.p_value.is_some() && beyond.next() == Some(true);
        measure.p_value = measure.p_value.map(round_probability);
    }
    found
}

/// Rounds a probability to six decimals, and a smaller one to three significant digits, so that none is printed as 0.
fn round_probability(value: f64) -> f64 {
    match value {
        _ if value >= 1e-6 || value <= 0.0 => round(value),
        _ => format!("{value:.2e}").parse().unwrap_or(value),
    }
}

/// The seeds whose pair of runs does not equal the pair of an earlier seed: equal pairs are one observation.
fn distinct_pairs(first: Vec<usize>, second: Vec<usize>) -> Vec<usize> {
    let mut seen: Vec<(usize, usize)> = Vec::new();
    let mut seeds = Vec::new();
    for (seed, runs) in first.into_iter().zip(second).enumerate() {
        if !seen.contains(&runs) {
            seen.push(runs);
            seeds.push(seed);
        }
    }
    seeds
}

/// The pairs of draws of the sampling unit: for each pair, the cases that the figures of either side are averaged over.
fn pairs_of(unit: Unit, reference: &Point, point: &Point) -> Vec<(Vec<Value>, Vec<Value>)> {
    match unit {
        Unit::Seed => {
            let seeds = distinct_pairs(reference.firsts(), point.firsts());
            seeds.into_iter().map(|seed| (reference.files(seed), point.files(seed))).collect()
        }
        Unit::Place => {
            let of_place = |(before, after): (&&[CaseSummary], &&[CaseSummary])| {
                let firsts = |cases: &[CaseSummary]| same_runs::first_equals(cases);
                let seeds = distinct_pairs(firsts(before), firsts(after));
                let files =
                    |cases: &[CaseSummary]| seeds.iter().filter_map(|seed| file(&cases[*seed])).collect();
                (files(before), files(after))
            };
            reference.places.iter().zip(&point.places).map(of_place).collect()
        }
    }
}

fn difference(comparison: &Comparison<'_>, reference: &Point, point: &Point) -> PairedDifference {
    let pairs = pairs_of(comparison.unit, reference, point);
    let measure = |path: &&str| {
        let figure = |file: &Value| path.split('.').try_fold(file, |at, name| at.get(name))?.as_f64();
        let of = |files: &[Value]| Some(mean(&files.iter().map(figure).collect::<Option<Vec<f64>>>()?));
        let differences: Option<Vec<f64>> =
            pairs.iter().map(|(before, after)| Some(of(after)? - of(before)?)).collect();
        let differences = differences.filter(|differences| !differences.is_empty())?;
        let Interval { mean, half_width } = interval(&differences);
        let p_value = p_value(&differences);
        Some((path.to_string(), Difference { mean, half_width, p_value, significant: false }))
    };
    PairedDifference {
        axis: comparison.axis.to_string(),
        baseline: comparison.baseline.to_string(),
        labels: point.labels.clone(),
        pairs: pairs.len() as u64,
        measures: comparison.figures.iter().filter_map(measure).collect(),
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
        let points = point_means(&axes, &cases);
        assert_eq!(points[0].figures["throughput_mbps"], Interval { mean: 2.5, half_width: Some(2.05426) });
        assert_eq!((points[1].seeds, points[1].distinct_runs), (4, 3), "two seeds gave the same run");
        assert_eq!(points[1].figures["throughput_mbps"].mean, 1.5);
        assert!(points[0].labels.contains_key("path.qdisc") && !points[0].labels.contains_key(SEED));
        let paired = paired(&axes, &cases);
        let [of_codel] = paired.as_slice() else { panic!("{paired:?}") };
        assert_eq!((of_codel.baseline.as_str(), of_codel.pairs), ("taildrop", 4));
        let rate = &of_codel.measures["throughput_mbps"];
        // Differences by hand: -0.5, -0.5, -0.5, -1.5.
        assert_eq!((rate.mean, rate.significant), (-0.75, false));
        assert!(rate.half_width.is_some_and(|width| (width - 0.7956).abs() < 1e-3), "{rate:?}");
    }

    #[test]
    fn one_seed_has_no_interval_and_traces_have_no_differences() {
        let axes = [axis("path.qdisc", &["taildrop", "codel"]), axis(SEED, &["1"])];
        let cases = [case("taildrop", "1", 1.0), case("codel", "1", 2.0)];
        assert!(point_means(&axes, &cases).is_empty() && paired(&axes, &cases).is_empty());
        assert!(compared_axis(&[axis("path.trace", &["a", "b"]), axis(SEED, &["1", "2"])], &[]).is_none());
        let axes = [axis("flow.transport", &["a", "b"]), axis("path.qdisc", &["c", "d"]), axis(SEED, &["1"])];
        assert_eq!(compared_axis(&axes, &[]).map(|axis| axis.name.as_str()), Some(FIRST));
    }

    /// Cases on two traces with two disciplines, with the given rates of three seeds on each trace.
    fn on_two_traces(rates: [(&str, [f64; 3], [f64; 3]); 2]) -> ([AxisFile; 3], Vec<CaseSummary>) {
        let seeds = ["1", "2", "3"];
        let axes = [
            axis("path.trace", &["a", "b"]),
            axis("path.qdisc", &rates.map(|(qdisc, ..)| qdisc)),
            axis(SEED, &seeds),
        ];
        let mut cases = Vec::new();
        for trace in ["a", "b"] {
            for (qdisc, on_a, on_b) in rates {
                for (seed, rate) in seeds.into_iter().zip(if trace == "a" { on_a } else { on_b }) {
                    let mut case = case(qdisc, seed, rate);
                    case.labels.insert("path.trace".to_string(), trace.to_string());
                    cases.push(case);
                }
            }
        }
        (axes, cases)
    }

    #[test]
    fn means_over_an_axis_are_made_within_each_seed() {
        let (axes, cases) =
            on_two_traces([("x", [1.0, 2.0, 3.0], [5.0, 6.0, 10.0]), ("y", [2.0; 3], [6.0, 8.0, 10.0])]);
        let points = averaged(&axes, &cases, &["path.trace"], Unit::Seed);
        assert_eq!(points.len(), 2);
        assert_eq!(points[0].labels, [("path.qdisc".to_string(), "x".to_string())].into());
        // By hand: 3, 4 and 6.5 have variance 3.25; the half width is 4.302653 standard errors.
        assert_eq!(points[0].figures["throughput_mbps"], Interval { mean: 4.5, half_width: Some(4.478343) });
        assert_eq!(points[1].figures["throughput_mbps"].mean, 5.0);
        // By hand: 1, 1 and -0.5. Runs that are equal on one trace but not on the other are distinct.
        let request = Comparison {
            axis: "path.qdisc",
            baseline: "x",
            over: &["path.trace"],
            unit: Unit::Seed,
            figures: &["throughput_mbps"],
        };
        let found = compared(&axes, &cases, &request);
        let [of_y] = found.as_slice() else { panic!("{found:?}") };
        let rate = &of_y.measures["throughput_mbps"];
        assert_eq!((of_y.pairs, rate.mean, rate.half_width), (3, 0.5, Some(2.151326)));
        let turned = compared(&axes, &cases, &Comparison { baseline: "y", ..request });
        assert_eq!(
            (turned[0].labels["path.qdisc"].as_str(), turned[0].measures["throughput_mbps"].mean),
            ("x", -0.5)
        );
        // Averaging over no axis gives the figures of the command.
        assert_eq!(point_means(&axes, &cases), averaged(&axes, &cases, &[], Unit::Seed));
        let plain = compared(&axes, &cases, &Comparison { over: &[], figures: COMPARED, ..request });
        assert_eq!((plain.len(), &plain), (2, &paired(&axes, &cases)));
        assert!(compared_axis(&axes, &["path.qdisc"]).is_none());
    }

    #[test]
    fn seeds_that_are_equal_at_all_places_count_once() {
        let (axes, cases) = on_two_traces([
            ("x", [1.0, 1.0, 3.0], [5.0, 5.0, 10.0]),
            ("y", [2.0, 2.0, 2.0], [6.0, 8.0, 6.0]),
        ]);
        let points = averaged(&axes, &cases, &["path.trace"], Unit::Seed);
        assert_eq!((points[0].seeds, points[0].distinct_runs), (3, 2));
        // By hand: 3 and 6.5; the half width is 12.706205 standard errors of 1.75.
        assert_eq!(
            points[0].figures["throughput_mbps"],
            Interval { mean: 4.75, half_width: Some(22.235858) }
        );
        assert_eq!(points[1].distinct_runs, 2, "equal on one trace and not on the other");
    }

    #[test]
    fn a_figure_that_a_place_lacks_has_no_mean() {
        let (axes, mut cases) =
            on_two_traces([("x", [1.0, 2.0, 3.0], [5.0, 6.0, 7.0]), ("y", [2.0; 3], [6.0; 3])]);
        cases[0].measures.groups.insert("call".to_string(), Default::default());
        let has = |point: &PointFile| point.figures.keys().any(|path| path.starts_with("groups.call."));
        assert!(!averaged(&axes, &cases, &["path.trace"], Unit::Seed).iter().any(has));
    }

    /// The effect of a discipline varies between links. Seeds as unit give the confidence for these links; places as unit give
    /// the confidence for all links of the population.
    #[test]
    fn synthetic_links_that_differ_in_seed_are_the_unit() {
        let links = ["synth:subway:seed=1", "synth:subway:seed=2", "synth:seed=3:subway"];
        let axes = [axis("path.link", &links), axis("path.qdisc", &["x", "y"]), axis(SEED, &["1", "2"])];
        assert_eq!(Unit::for_axes(&axes, &["path.link"]), Unit::Place);
        assert_eq!(
            (Unit::for_axes(&axes, &[]), Unit::for_axes(&axes, &["path.qdisc"])),
            (Unit::Seed, Unit::Seed)
        );
        let other = |label: &str| {
            let axes = [axis("path.link", &["synth:subway:seed=1", label])];
            Unit::for_axes(&axes, &["path.link"])
        };
        assert_eq!(other("synth:subway:seed=9"), Unit::Place);
        for label in ["synth:lte-driving:seed=2", "synth:subway", "10mbit", "synth:subway:seed=2:rate=3mbit"]
        {
            assert_eq!(other(label), Unit::Seed, "{label}");
        }
        let mut cases = Vec::new();
        for (link, effect) in links.iter().zip([1.0, 2.0, 6.0]) {
            for qdisc in ["x", "y"] {
                for (seed, noise) in [("1", 0.0), ("2", 0.1)] {
                    let rate = if qdisc == "x" { 5.0 + noise } else { 5.0 + effect + 1.5 * noise };
                    let mut case = case(qdisc, seed, rate);
                    case.labels.insert("path.link".to_string(), link.to_string());
                    cases.push(case);
                }
            }
        }
        let of = |unit| {
            let figures = &["throughput_mbps"];
            let request =
                Comparison { axis: "path.qdisc", baseline: "x", over: &["path.link"], unit, figures };
            let found = compared(&axes, &cases, &request);
            let [only] = found.as_slice() else { panic!("{found:?}") };
            (only.pairs, only.measures["throughput_mbps"])
        };
        let ((seeds, narrow), (places, wide)) = (of(Unit::Seed), of(Unit::Place));
        assert_eq!((seeds, places, narrow.mean, wide.mean), (2, 3, 3.025, 3.025));
        // By hand: 3.0 and 3.05; and 1.025, 2.025 and 6.025 with variance 7, times 4.302653 standard errors.
        assert!(narrow.half_width.is_some_and(|half| (half - 0.317655).abs() < 1e-5), "{narrow:?}");
        assert!(wide.half_width.is_some_and(|half| (half - 6.572_414).abs() < 1e-4), "{wide:?}");
        let means = averaged(&axes, &cases, &["path.link"], Unit::Place);
        assert_eq!((means[1].seeds, means[1].distinct_runs, means.len()), (2, 6, 2));
        assert_eq!(means[1].figures["throughput_mbps"].mean, 8.075);
    }

    #[test]
    fn small_probabilities_are_not_rounded_to_zero() {
        assert_eq!((round_probability(0.012_345_678), round_probability(1e-6)), (0.012_346, 1e-6));
        assert_eq!((round_probability(3.456_7e-9), round_probability(0.0)), (3.46e-9, 0.0));
    }
}
