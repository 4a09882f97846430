//! Labels of an axis whose runs have equal results. Example: with a single flow, `fq_codel` behaves as `codel`. Plots then show
//! one curve for two labels, and tables repeat a row; a note names these labels once.

use crate::results::{AxisFile, CaseSummary};
use crate::same_runs::SEED;
use qdelay_core::qdisc;
use std::collections::BTreeMap;
use std::fmt;

/// Labels of one axis that give equal results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coinciding {
    /// The axis.
    pub axis: String,
    /// The labels, in the order of the axis.
    pub labels: Vec<String>,
    /// Number of points of the other axes (seeds included) where the results are equal, and number of points that have cases of
    /// all these labels.
    pub points: (usize, usize),
    /// True if each case has a single flow.
    pub has_one_flow: bool,
}

/// The groups of labels with equal results on each axis except `seed`; groups that are equal at all points come first.
pub fn coinciding(axes: &[AxisFile], cases: &[&CaseSummary]) -> Vec<Coinciding> {
    let several = |axis: &&AxisFile| axis.name != SEED && axis.labels.len() > 1;
    let mut found: Vec<Coinciding> =
        axes.iter().filter(several).flat_map(|axis| coinciding_on(axis, cases)).collect();
    found.sort_by_key(|one| one.points.0 < one.points.1);
    found
}

/// Names and labels of the axes other than the examined one.
type Point<'a> = Vec<(&'a str, &'a str)>;

fn coinciding_on(axis: &AxisFile, cases: &[&CaseSummary]) -> Vec<Coinciding> {
    // The cases at each point of the other axes, in the order of this axis's labels.
    let mut points: BTreeMap<Point, Vec<(usize, &CaseSummary)>> = BTreeMap::new();
    for case in cases {
        let label = case.labels.get(&axis.name);
        let Some(at) = axis.labels.iter().position(|known| Some(known) == label) else { continue };
        let others = case.labels.iter().filter(|(name, _)| **name != axis.name);
        let point = others.map(|(name, label)| (name.as_str(), label.as_str())).collect();
        points.entry(point).or_default().push((at, case));
    }
    let mut counts: BTreeMap<Vec<usize>, (usize, bool)> = BTreeMap::new();
    for cases in points.values_mut() {
        cases.sort_by_key(|(at, _)| *at);
        for group in alike(cases) {
            let has_one_flow = group.iter().all(|(_, case)| case.measures.flows.len() == 1);
            let (count, is_one) =
                counts.entry(group.iter().map(|(at, _)| *at).collect()).or_insert((0, true));
            *count += 1;
            *is_one &= has_one_flow;
        }
    }
    let all = |labels: &[usize]| {
        let has = |cases: &&Vec<(usize, &CaseSummary)>| {
            labels.iter().all(|label| cases.iter().any(|(at, _)| at == label))
        };
        points.values().filter(has).count()
    };
    counts
        .into_iter()
        .map(|(labels, (count, has_one_flow))| Coinciding {
            axis: axis.name.clone(),
            points: (count, all(&labels)),
            labels: labels.into_iter().map(|at| axis.labels[at].clone()).collect(),
            has_one_flow,
        })
        .collect()
}

/// Groups of two or more cases with equal results.
fn alike<'a>(cases: &[(usize, &'a CaseSummary)]) -> Vec<Vec<(usize, &'a CaseSummary)>> {
    let mut groups: Vec<Vec<(usize, &CaseSummary)>> = Vec::new();
    for &(at, case) in cases {
        match groups.iter_mut().find(|group| is_alike(group[0].1, case)) {
            Some(group) => group.push((at, case)),
            None => groups.push(vec![(at, case)]),
        }
    }
    // Cases from several folders may share a label.
    groups.iter_mut().for_each(|group| group.dedup_by_key(|(at, _)| *at));
    groups.retain(|group| group.len() > 1);
    groups
}

/// True if all figures are equal, whatever the names of the transports.
fn is_alike(one: &CaseSummary, other: &CaseSummary) -> bool {
    let few = |case: &CaseSummary| {
        (case.throughput_mbps, case.queue_delay_ms.mean, case.packets_forwarded, case.drops, case.marks)
    };
    if few(one) != few(other) || one.packets_forwarded == 0 {
        return false;
    }
    let unnamed = |case: &CaseSummary| {
        let mut measures = case.measures.clone();
        measures.flows.iter_mut().for_each(|flow| flow.transport.clear());
        measures
    };
    one.series == other.series && one.delay_cdf == other.delay_cdf && unnamed(one) == unnamed(other)
}

impl fmt::Display for Coinciding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = match self.labels.as_slice() {
            [first @ .., last] => format!("{} and {last}", first.join(", ")),
            [] => String::new(),
        };
        write!(f, "{names} have equal results: every figure is equal")?;
        match self.points {
            (points, all) if points < all => write!(f, " in {points} of {all} cases of each")?,
            _ => {}
        }
        f.write_str(", and their curves coincide.")
    }
}

impl Coinciding {
    /// The likely reason: one flow, and a discipline that tells flows apart.
    fn hint(&self) -> Option<&'static str> {
        let can_be = self.has_one_flow
            && self.axis.ends_with("qdisc")
            && self.labels.iter().any(|label| classifies(label));
        can_be.then_some(
            "With one flow, the sharing between flows has no effect; with several flows the results may differ.",
        )
    }
}

/// Whether a label names a discipline that classifies packets by flow: `fq_codel:target=5ms`, or as prose has it, "FQ-CoDel".
/// Any other label gives no reason.
fn classifies(label: &str) -> bool {
    let end = label.find([':', ' ', ',']).unwrap_or(label.len());
    let name = label[..end].to_lowercase().replace('-', "_");
    qdisc::COMPONENTS.iter().any(|component| component.name == name && component.classifies.is_some())
}

/// One sentence for each of the first `most` groups, and the number of the remaining groups; `between` separates a sentence and
/// its reason.
pub fn lines(found: &[Coinciding], most: usize, between: &str) -> Vec<String> {
    let text = |one: &Coinciding| match one.hint() {
        Some(hint) => format!("{one}{between}{hint}"),
        None => one.to_string(),
    };
    let mut lines: Vec<String> = found.iter().take(most).map(text).collect();
    if found.len() > most {
        lines.push(format!("{} more groups of labels coincide.", found.len() - most));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{FlowFigures, Measures};

    fn case(qdisc: &str, seed: &str, drops: u64, flows: usize) -> CaseSummary {
        let labels = [("path.qdisc", qdisc), (SEED, seed)];
        let labels = labels.map(|(axis, label)| (axis.to_string(), label.to_string())).into();
        let flows = vec![FlowFigures { transport: qdisc.to_string(), ..FlowFigures::default() }; flows];
        let measures = Measures { drops, flows, packets_forwarded: 9, ..Measures::default() };
        CaseSummary { id: format!("{qdisc},{seed}"), labels, measures, ..CaseSummary::default() }
    }

    fn axes(seeds: &[&str]) -> [AxisFile; 2] {
        let texts = |labels: &[&str]| labels.iter().map(|label| label.to_string()).collect();
        [
            AxisFile { name: "path.qdisc".to_string(), labels: texts(&["bode", "codel", "fq_codel"]) },
            AxisFile { name: SEED.to_string(), labels: texts(seeds) },
        ]
    }

    #[test]
    fn equal_runs_of_two_labels_are_named_once() {
        let cases = [case("bode", "1", 5, 1), case("codel", "1", 7, 1), case("fq_codel", "1", 7, 1)];
        let found = coinciding(&axes(&["1"]), &cases.each_ref());
        assert_eq!(
            lines(&found, 3, " "),
            [
                "codel and fq_codel have equal results: every figure is equal, and their curves coincide. With one flow, the sharing between flows \
              has no effect; with several flows the results may differ."
            ]
        );
        let apart = [case("bode", "1", 5, 2), case("codel", "1", 7, 2), case("fq_codel", "1", 8, 2)];
        assert_eq!(coinciding(&axes(&["1"]), &apart.each_ref()), []);
    }

    /// Example: taildrop and headdrop with BBR, whose queue is never full.
    #[test]
    fn flows_are_no_reason_without_a_queue_for_each() {
        let cases = [case("bode", "1", 0, 1), case("codel", "1", 0, 1), case("fq_codel", "1", 3, 1)];
        let found = coinciding(&axes(&["1"]), &cases.each_ref());
        assert_eq!(
            lines(&found, 3, " "),
            ["bode and codel have equal results: every figure is equal, and their curves coincide."]
        );
    }

    #[test]
    fn labels_name_disciplines_that_tell_flows_apart() {
        let all = ["fq_codel", "fq_codel:target=5ms", "FQ-CoDel", "drr:quantum=1500", "sfq, 20 ms"];
        assert_eq!(all.map(classifies), [true; 5]);
        let none = ["taildrop", "headdrop:limit=10", "BoDe 20 ms", "mine", "", "no pacer"];
        assert_eq!(none.map(classifies), [false; 6]);
    }

    #[test]
    fn labels_with_equal_runs_at_some_points_are_counted() {
        let cases = [
            case("bode", "1", 7, 2),
            case("codel", "1", 7, 2),
            case("fq_codel", "1", 7, 2),
            case("bode", "2", 1, 2),
            case("codel", "2", 2, 2),
            case("fq_codel", "2", 2, 2),
        ];
        let found = coinciding(&axes(&["1", "2"]), &cases.each_ref());
        let text = lines(&found, 1, " ");
        assert_eq!(
            text[0],
            "bode, codel and fq_codel have equal results: every figure is equal in 1 of 2 cases of each, and their curves coincide."
        );
        assert_eq!(text[1], "1 more groups of labels coincide.");
    }
}
