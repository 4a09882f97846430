//! Sentences on cases whose figures say less than they seem to, for tables and reports.

use crate::results::CaseSummary;
use crate::same_runs::SEED;
use std::collections::BTreeMap;

/// Share of the resource blocks from which on it is said that a pacer left them unused.
const HELD_BACK: f64 = 0.05;
/// Largest number of named points.
const NAMED: usize = 3;

/// A sentence for each caution that applies to `cases`.
pub fn lines(cases: &[&CaseSummary]) -> Vec<String> {
    held_back(cases).into_iter().chain(ideal_pdcp(cases)).collect()
}

/// Resource blocks unused while a pacer held back data that could have filled them.
fn held_back(cases: &[&CaseSummary]) -> Option<String> {
    let mut points: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for case in cases {
        let Some(share) = case.cell.as_ref().and_then(|cell| cell.rbs_held_back_share) else { continue };
        let labels = case.labels.iter().filter(|(axis, _)| *axis != SEED).map(|(_, label)| label.as_str());
        points.entry(labels.collect::<Vec<_>>().join(", ")).or_default().push(share);
    }
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
    let all = points.len();
    let mut above: Vec<(String, f64)> = points
        .into_iter()
        .map(|(name, shares)| (name, mean(&shares)))
        .filter(|(_, share)| *share > HELD_BACK)
        .collect();
    if above.is_empty() {
        return None;
    }
    above.sort_by(|one, other| other.1.total_cmp(&one.1));
    let named = above.iter().take(NAMED).map(|(name, share)| match name.as_str() {
        "" => format!("{:.0}%", 100.0 * share),
        name => format!("{name} ({:.0}%)", 100.0 * share),
    });
    let named: Vec<String> = named.collect();
    let more = if above.len() > NAMED { ", ..." } else { "" };
    Some(format!(
        "Held back: a pacer or the limit of an RLC queue left more than {:.0}% of the resource blocks unused that data above it could have \
         filled, in {} of {all} points: {}{more}.",
        100.0 * HELD_BACK,
        above.len(),
        named.join(", ")
    ))
}

/// Bearers with the PDCP that no stack has.
fn ideal_pdcp(cases: &[&CaseSummary]) -> Option<String> {
    let cells = || cases.iter().filter_map(|case| case.cell.as_ref());
    let ideal: u64 = cells().filter_map(|cell| cell.ideal_pdcp_bearers).sum();
    let all: u64 = cells().map(|cell| cell.bearers.len() as u64).sum();
    (ideal > 0).then(|| {
        let part = if ideal < all { "Some bearers have" } else { "All bearers have" };
        format!(
            "{part} `pdcp = \"ideal\"`, which no stack has: a lost packet delays none behind it, and no number wraps. Networks have \
             `pdcp = \"standard\"`."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{BearerFigures, CellFigures};

    fn case(pacer: &str, seed: &str, share: Option<f64>, ideal_pdcp_bearers: Option<u64>) -> CaseSummary {
        let labels =
            [("pacer", pacer), (SEED, seed)].map(|(axis, label)| (axis.to_string(), label.to_string()));
        let bearers = [("phone/default".to_string(), BearerFigures::default())].into();
        let mut case = CaseSummary { labels: labels.into(), ..CaseSummary::default() };
        case.measures.cell = Some(CellFigures {
            rbs_held_back_share: share,
            ideal_pdcp_bearers,
            bearers,
            ..CellFigures::default()
        });
        case
    }

    #[test]
    fn points_above_five_percent_are_named_by_their_mean() {
        let cases = [
            case("drql", "1", Some(0.3), None),
            case("drql", "2", Some(0.1), None),
            case("credit", "1", Some(0.09), None),
            case("credit", "2", Some(0.0), None),
            case("eqp", "1", None, None),
        ];
        let lines = lines(&cases.iter().collect::<Vec<_>>());
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].ends_with("in 1 of 2 points: drql (20%)."), "{lines:?}");
    }

    #[test]
    fn the_ideal_pdcp_is_named_once() {
        let cases = [case("drql", "1", Some(0.0), Some(1)), case("drql", "2", Some(0.0), Some(1))];
        let lines = lines(&cases.iter().collect::<Vec<_>>());
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("All bearers have `pdcp = \"ideal\"`"), "{lines:?}");
    }
}
