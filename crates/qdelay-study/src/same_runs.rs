//! Cases that differ only in their seed and have equal figures: repetitions of one run.
//!
//! A scenario without random draws, such as a single Cubic flow on a plain link, gives the same packets with every seed. Five
//! such cases are one observation; an interval over them would say nothing.

use crate::results::{CaseSummary, text};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Name of the axis of seeds.
pub const SEED: &str = "seed";

/// For each case, the index of the first case with equal figures and equal labels except `seed`; its own index if it is the
/// first.
pub fn first_equals<'a>(cases: impl IntoIterator<Item = &'a CaseSummary>) -> Vec<usize> {
    let cases: Vec<&CaseSummary> = cases.into_iter().collect();
    let mut candidates: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut firsts = Vec::with_capacity(cases.len());
    for (place, case) in cases.iter().enumerate() {
        let known = candidates.entry(fingerprint(case)).or_default();
        let first = known.iter().copied().find(|&first| is_same(cases[first], case));
        if first.is_none() {
            known.push(place);
        }
        firsts.push(first.unwrap_or(place));
    }
    firsts
}

/// The first case of each group of equal runs.
pub fn distinct(cases: &[CaseSummary]) -> Vec<&CaseSummary> {
    let firsts = first_equals(cases);
    cases.iter().enumerate().filter(|(place, _)| firsts[*place] == *place).map(|(_, case)| case).collect()
}

/// Ids of the cases with equal runs, in groups of two or more.
pub fn groups(cases: &[CaseSummary]) -> Vec<Vec<String>> {
    let mut groups: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (case, first) in cases.iter().zip(first_equals(cases)) {
        groups.entry(first).or_default().push(case.id.clone());
    }
    groups.into_values().filter(|ids| ids.len() > 1).collect()
}

/// Hash of a few figures that nearly always differ between distinct runs; [`is_same`] then compares all figures.
fn fingerprint(case: &CaseSummary) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (axis, label) in case.labels.iter().filter(|(axis, _)| *axis != SEED) {
        (axis, label).hash(&mut hasher);
    }
    let figures = [case.throughput_mbps, case.queue_delay_ms.mean, case.one_way_delay_ms.mean, case.jain];
    figures.map(f64::to_bits).hash(&mut hasher);
    (case.packets_forwarded, case.drops, case.marks).hash(&mut hasher);
    hasher.finish()
}

fn is_same(one: &CaseSummary, other: &CaseSummary) -> bool {
    // NaN differs from itself but is null in files; the texts decide such cases.
    has_same_figures(one, other) || without_seed(one) == without_seed(other)
}

/// True if everything but id and seed is equal. A comparison of the JSON texts would take longer than many runs.
fn has_same_figures(one: &CaseSummary, other: &CaseSummary) -> bool {
    // Destructuring makes the compiler ask for a decision about every new field.
    let CaseSummary {
        schema_version,
        id: _,
        labels,
        measures,
        trustworthy,
        changes,
        delay_cdf,
        group_delay_cdf,
        codepoint_delay_cdf,
        group_stage_cdf,
        group_round_trip_cdf,
        group_arrival_cdf,
        part_delay_cdf,
        series,
    } = one;
    let other_labels = other.labels.iter().filter(|(axis, _)| *axis != SEED);
    *schema_version == other.schema_version
        && labels.iter().filter(|(axis, _)| *axis != SEED).eq(other_labels)
        && *measures == other.measures
        && *trustworthy == other.trustworthy
        && *changes == other.changes
        && *delay_cdf == other.delay_cdf
        && *group_delay_cdf == other.group_delay_cdf
        && *codepoint_delay_cdf == other.codepoint_delay_cdf
        && *group_stage_cdf == other.group_stage_cdf
        && *group_round_trip_cdf == other.group_round_trip_cdf
        && *group_arrival_cdf == other.group_arrival_cdf
        && *part_delay_cdf == other.part_delay_cdf
        && *series == other.series
}

/// JSON of the case, without its id and seed.
fn without_seed(case: &CaseSummary) -> String {
    let mut case = case.clone();
    case.id = String::new();
    case.labels.remove(SEED);
    text(&case)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Measures;

    fn case(id: &str, qdisc: &str, seed: &str, drops: u64) -> CaseSummary {
        let labels = [("path.qdisc", qdisc), (SEED, seed)];
        let labels = labels.map(|(axis, label)| (axis.to_string(), label.to_string())).into();
        let measures = Measures { drops, ..Measures::default() };
        CaseSummary { id: id.to_string(), labels, measures, ..CaseSummary::default() }
    }

    #[test]
    fn cases_that_differ_in_their_seed_alone_are_one_run() {
        let mut cases = vec![
            case("0", "bode", "1", 5),
            case("1", "bode", "2", 5),
            case("2", "bode", "3", 6),
            case("3", "codel", "1", 5),
            case("4", "bode", "4", 5),
        ];
        assert_eq!(first_equals(&cases), [0, 0, 2, 3, 0]);
        assert_eq!(groups(&cases), [["0", "1", "4"]]);
        // A single differing figure makes the runs distinct.
        cases[1].jitter_ms = 0.001;
        assert_eq!(first_equals(&cases), [0, 1, 2, 3, 0]);
    }
}
