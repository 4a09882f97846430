//! Cases: variants of the shipped scenarios, with the thesis' results for each.

use crate::validate::attempts::is_meant;
use qdelay_core::Span;
use qdelay_study::scenario::{Case, Overrides, Study};
use qdelay_study::shipped;
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;

/// The criterion for the game's mean delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Criterion {
    /// Rank among the other cases only.
    Place,
    /// Milliseconds, from and to.
    Within(f64, f64),
    /// Multiple of the delay of the scenario's last case, within a quarter.
    Times(f64),
}

/// Case of the comparison.
#[derive(Clone, Debug)]
pub struct Row {
    /// `SCENARIO, VARIANT`.
    pub name: String,
    /// Scenario, 1 or 2: cases of one scenario are compared with each other.
    pub scenario: u32,
    /// Case to run.
    pub case: Case,
    /// Settings that must equal those of an earlier run for that run to count.
    pub settings: String,
    /// Criterion for the delay.
    pub asked: Criterion,
    /// Minimum used share of the MAC's packets.
    pub used: Option<f64>,
}

/// Warm-up of both scenarios.
const WARMUP_SECONDS: u64 = 5;

/// Settings of every case whose scenario has these axes: the pedestrian's channel, the published program's 31 packets in
/// the RLC's queue, one game.
const COMMON: [(&str, &str); 3] =
    [("cell.ue.channel", "pedestrian"), ("cell.rlc_limit", "31"), ("flow.game.count", "1")];

/// Scenario, variant, criterion (sections 3.6.2; Figs. 3.8 and 3.14), and minimum utilization.
const CRITERIA: [(u32, &str, Criterion, Option<f64>); 14] = [
    (1, "Vanilla", Criterion::Within(75.0, 85.0), None),
    (1, "BBR", Criterion::Place, None),
    (1, "CoDel", Criterion::Within(25.0, 30.0), None),
    (1, "DynRLC", Criterion::Within(15.0, 17.0), None),
    (1, "DRQL", Criterion::Within(15.0, 17.0), None),
    (1, "5G-BDP", Criterion::Within(8.4, 9.5), Some(0.999)),
    (2, "Vanilla", Criterion::Times(7.3), None),
    (2, "BBR", Criterion::Times(3.1), None),
    (2, "CoDel@DynRLC", Criterion::Times(1.9), None),
    (2, "CoDel@5G-BDP", Criterion::Times(1.5), None),
    (2, "CoDel@DRQL", Criterion::Times(2.1), None),
    (2, "USP@DynRLC", Criterion::Times(1.4), None),
    (2, "USP@DRQL", Criterion::Times(1.3), None),
    (2, "USP@5G-BDP", Criterion::Place, None),
];

/// All cases whose names contain all words of one of `only`; all cases if it is empty.
///
/// # Errors
/// A duration within the warm-up, a scenario without such a case, or no case with these words.
pub fn rows(library: &Library, seconds: u64, only: &[String]) -> Result<Vec<Row>, Failure> {
    if seconds <= WARMUP_SECONDS {
        let message =
            format!("{seconds} is no more than the warm-up; expected at least {}", WARMUP_SECONDS + 1);
        return Err(Failure::input("--seconds", message));
    }
    let mut rows = Vec::new();
    for scenario in [1, 2] {
        let name = format!("5g/emulator-{scenario}");
        let overrides = Overrides {
            seeds: Some(vec![1]),
            duration: Some(Span::from_secs(seconds)),
            ..Overrides::default()
        };
        let text = shipped::find(&name).ok_or_else(|| missing(&name, "it"))?;
        let study = Study::parse(&name, text, &overrides)?;
        for (_, variant, asked, used) in CRITERIA.into_iter().filter(|(of, ..)| *of == scenario) {
            let is_axis = |name: &str| study.axes.iter().any(|axis| axis.name == name);
            let common = COMMON.into_iter().filter(|(name, _)| is_axis(name));
            let labels: Vec<_> = common.chain([("variant", variant)]).collect();
            let index = study.index_of(&labels).ok_or_else(|| missing(&name, variant))?;
            let case = study.case(index, library)?;
            let traces = case.traces.values().map(|used| used.digest.clone()).collect::<Vec<_>>().join(" ");
            let settings = format!("{} {seconds} s {traces} {}", case.id, case.settings);
            let name = format!("scenario {scenario}, {variant}");
            rows.push(Row { name, scenario, case, settings, asked, used });
        }
    }
    rows.retain(|row| is_meant(only, &row.name));
    if rows.is_empty() {
        let message = "no case has these words in its name; expected words such as in --only 1,codel";
        return Err(Failure::input("--only", message));
    }
    Ok(rows)
}

fn missing(scenario: &str, what: &str) -> Failure {
    Failure::Check(format!("{scenario}: {what} is not among the shipped cases; expected it to be"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_found() {
        let all = rows(&Library::new(), 7, &[]).unwrap();
        assert_eq!(all.len(), 14);
        for row in &all {
            let variant = row.name.split_once(", ").map_or("", |(_, variant)| variant).to_lowercase();
            assert!(row.case.id.contains(&variant.replace('@', "-")), "{} is {}", row.name, row.case.id);
            assert_eq!(row.case.scenario.flows.len(), 2);
            assert_eq!(row.case.settings["cell"]["rlc_limit"], 31);
        }
        assert_eq!(rows(&Library::new(), 7, &["scenario 1,codel".to_string()]).unwrap().len(), 1);
        assert!(rows(&Library::new(), 7, &["sfq".to_string()]).is_err());
    }
}
