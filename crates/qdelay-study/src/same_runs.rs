//! Cases that differ in their seed and in no figure: one run, repeated.
//!
//! A scenario that draws nothing at random, such as a single Cubic flow, comes out alike with every seed, to the last packet. Five
//! such cases are one observation, and no interval over them says how sure a figure is.

use crate::results::{CaseSummary, text};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The axis on which these cases differ.
pub const SEED: &str = "seed";

/// For each case the place of the first one with the same labels but for the seed, and the same figures: its own where none
/// before it has them.
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

/// The cases that gave a run of their own: of equal ones the first.
pub fn distinct(cases: &[CaseSummary]) -> Vec<&CaseSummary> {
    let firsts = first_equals(cases);
    cases.iter().enumerate().filter(|(place, _)| firsts[*place] == *place).map(|(_, case)| case).collect()
}

/// The cases that gave the same run as others, by their ids: each group has two or more.
pub fn groups(cases: &[CaseSummary]) -> Vec<Vec<String>> {
    let mut groups: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (case, first) in cases.iter().zip(first_equals(cases)) {
        groups.entry(first).or_default().push(case.id.clone());
    }
    groups.into_values().filter(|ids| ids.len() > 1).collect()
}

/// A few figures that nearly always differ between different runs; [`is_same`] compares all figures.
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
    // Figures that are not numbers are null in files, and equal there alone.
    has_same_figures(one, other) || without_seed(one) == without_seed(other)
}

/// Whether all is equal but the id and the seed. Texts of all cases would take longer to write than many cases take to run.
fn has_same_figures(one: &CaseSummary, other: &CaseSummary) -> bool {
    let CaseSummary {
        schema_version,
        id: _,
        labels,
        measures,
        trustworthy,
        delay_cdf,
        group_delay_cdf,
        codepoint_delay_cdf,
        group_stage_cdf,
        group_round_trip_cdf,
        part_delay_cdf,
        series,
    } = one;
    let other_labels = other.labels.iter().filter(|(axis, _)| *axis != SEED);
    *schema_version == other.schema_version
        && labels.iter().filter(|(axis, _)| *axis != SEED).eq(other_labels)
        && *measures == other.measures
        && *trustworthy == other.trustworthy
        && *delay_cdf == other.delay_cdf
        && *group_delay_cdf == other.group_delay_cdf
        && *codepoint_delay_cdf == other.codepoint_delay_cdf
        && *group_stage_cdf == other.group_stage_cdf
        && *group_round_trip_cdf == other.group_round_trip_cdf
        && *part_delay_cdf == other.part_delay_cdf
        && *series == other.series
}

/// What the case's file has, but for its id and seed.
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
        // One figure among hundreds is enough.
        cases[1].jitter_ms = 0.001;
        assert_eq!(first_equals(&cases), [0, 1, 2, 3, 0]);
    }
}
