//! Criteria for a match: the game's mean delay is within the thesis' range (for scenario 2, its ratio to that of USP@5G-BDP
//! within a quarter), the MAC's packets are used, no delay is below half of the MAC's period, and the rank among the scenario's
//! cases is that of the simulator.

use super::cases::{Criterion, Row};
use super::figures::CaseFigures;
use super::store::Attempt;
use qdelay_study::results::SCHEMA_VERSION;
use qdelay_study::results::{Audit, round};
use qdelay_terminal::error::Failure;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Relative tolerance of ratios.
const NEAR: f64 = 0.25;
/// Half of the MAC's period: the lower bound of a mean delay.
const LEAST_MS: f64 = 5.0;
/// Cases whose simulated delays differ by less than this share are not ranked.
const TIE: f64 = 0.1;

/// Verdict on a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseVerdict {
    /// Within the bounds, and ranked as in the simulator.
    Match,
    /// Outside the thesis' bounds.
    Miss,
    /// Within the bounds, but ranked otherwise than in the simulator.
    Order,
    /// The last run cannot be trusted.
    NotJudged,
}

/// Case and its results.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedCase {
    /// Name of the case.
    pub case: String,
    /// Number of real runs.
    pub runs: usize,
    /// Last real run.
    pub real: Option<CaseFigures>,
    /// Simulated run.
    pub simulated: CaseFigures,
    /// Bounds of the delay or of its ratio: from and to.
    pub asked: Option<[f64; 2]>,
    /// Delay of the real run, or its ratio.
    pub measured: Option<f64>,
    /// Delay of the simulated run, or its ratio.
    pub simulated_measured: f64,
    /// `asked` refers to the ratio to the last case of the scenario.
    pub is_ratio: bool,
    /// Minimum utilization.
    pub asked_utilization: Option<f64>,
    /// Audit of the last run.
    pub audit: Option<Audit>,
    /// Verdict on the case.
    pub verdict: CaseVerdict,
    /// Reasons against a match.
    pub reasons: Vec<String>,
}

/// Report on all cases.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// `cell`.
    pub against: &'static str,
    /// Duration of each case.
    pub seconds: u64,
    /// Number of cases run at once.
    pub jobs: usize,
    /// Folder of the runs.
    pub folder: PathBuf,
    /// Number of cases that match.
    pub matches: usize,
    /// Cases with verdicts.
    pub cases: Vec<JudgedCase>,
}

impl CaseReport {
    /// Judges every case by its last run.
    pub fn new(
        seconds: u64,
        jobs: usize,
        folder: &Path,
        rows: &[Row],
        runs: &[Vec<Attempt>],
        simulated: &[CaseFigures],
    ) -> CaseReport {
        let real: Vec<Option<CaseFigures>> =
            runs.iter().map(|runs| runs.last().map(|last| last.figures)).collect();
        let judged = |(place, row): (usize, &Row)| {
            let runs = runs.get(place).map_or(&[][..], Vec::as_slice);
            let simulated_own = simulated.get(place).copied().unwrap_or_default();
            let last = |of: &dyn Fn(usize) -> Option<f64>| {
                (0..rows.len()).rev().find(|&other| rows[other].scenario == row.scenario).and_then(of)
            };
            let base = last(&|other| real.get(other).copied().flatten().map(|figures| figures.game_mean_ms));
            let simulated_base = last(&|other| simulated.get(other).map(|figures| figures.game_mean_ms));
            let own = real.get(place).copied().flatten();
            let mut judged = JudgedCase {
                case: row.name.clone(),
                runs: runs.len(),
                real: own,
                simulated: simulated_own,
                asked: None,
                measured: own.map(|own| own.game_mean_ms),
                simulated_measured: simulated_own.game_mean_ms,
                is_ratio: matches!(row.asked, Criterion::Times(_)),
                asked_utilization: row.used,
                audit: runs.last().map(|last| last.audit.clone()),
                verdict: CaseVerdict::NotJudged,
                reasons: Vec::new(),
            };
            match row.asked {
                Criterion::Place => {}
                Criterion::Within(from, to) => judged.asked = Some([from, to]),
                Criterion::Times(times) => {
                    judged.asked = Some([times * (1.0 - NEAR), times * (1.0 + NEAR)].map(round));
                    let ratio = |own: f64, base: Option<f64>| {
                        round(base.filter(|base| *base > 0.0).map_or(f64::NAN, |base| own / base))
                    };
                    judged.measured = own.map(|own| ratio(own.game_mean_ms, base));
                    judged.simulated_measured = ratio(simulated_own.game_mean_ms, simulated_base);
                }
            }
            let others = (0..rows.len()).filter(|&other| rows[other].scenario == row.scenario);
            let others = others.filter_map(|other| {
                let simulated = simulated.get(other)?.game_mean_ms;
                Some((&rows[other].name, simulated, real.get(other).copied().flatten()?.game_mean_ms))
            });
            judged.judge(&others.collect::<Vec<_>>());
            judged
        };
        let cases: Vec<JudgedCase> = rows.iter().enumerate().map(judged).collect();
        let matches = cases.iter().filter(|case| case.verdict == CaseVerdict::Match).count();
        let folder = folder.to_path_buf();
        CaseReport { schema_version: SCHEMA_VERSION, against: "cell", seconds, jobs, folder, matches, cases }
    }

    /// Checks that all cases match.
    ///
    /// # Errors
    /// The number of cases that do not match.
    pub fn check(&self) -> Result<(), Failure> {
        let of = |verdict: CaseVerdict| self.cases.iter().filter(|case| case.verdict == verdict).count();
        let [misses, order, open] = [CaseVerdict::Miss, CaseVerdict::Order, CaseVerdict::NotJudged].map(of);
        if misses + order + open == 0 {
            return Ok(());
        }
        Err(Failure::Check(format!(
            "{misses} of {} cases miss their bounds, {order} are out of order and {open} could not be judged; expected \
             none of either",
            self.cases.len()
        )))
    }
}

impl JudgedCase {
    /// Judges a case; `others` are the cases of the scenario: name, simulated and real mean delay.
    fn judge(&mut self, others: &[(&String, f64, f64)]) {
        let Some(own) = self.real else { return self.reasons.push("it was not run".to_string()) };
        if let Some(audit) = self.audit.as_ref().filter(|audit| !audit.trustworthy) {
            self.reasons.clone_from(&audit.reasons);
            return;
        }
        let is_within = match (self.asked, self.measured) {
            (Some([from, to]), Some(measured)) => (from..=to).contains(&measured),
            _ => true,
        };
        if !is_within {
            self.reasons.push("the delay is outside its bounds".to_string());
        }
        if own.game_mean_ms < LEAST_MS {
            self.reasons.push(format!("the delay is below {LEAST_MS} ms, half of the MAC's period"));
        }
        if self.asked_utilization.is_some_and(|asked| own.utilization < asked) {
            self.reasons.push("fewer of the MAC's packets were used than required".to_string());
        }
        self.verdict = if self.reasons.is_empty() { CaseVerdict::Match } else { CaseVerdict::Miss };
        for (other, simulated, real) in others {
            let own_simulated = self.simulated.game_mean_ms;
            let is_tie = (simulated - own_simulated).abs() <= TIE * simulated.max(own_simulated);
            if !is_tie && (own_simulated < *simulated) != (own.game_mean_ms < *real) {
                self.reasons.push(format!("its order with respect to {other} is reversed in the simulator"));
                if self.verdict == CaseVerdict::Match {
                    self.verdict = CaseVerdict::Order;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::rows;
    use super::*;
    use qdelay_study::traces::Library;

    fn attempt(game_mean_ms: f64, utilization: f64, trustworthy: bool) -> Attempt {
        let reasons = if trustworthy { Vec::new() } else { vec!["late".to_string()] };
        let audit = Audit { trustworthy, reasons, ..Audit::default() };
        Attempt { figures: CaseFigures { game_mean_ms, utilization }, audit }
    }

    /// Verdicts of the second scenario's last three cases, and of the first one's 5G-BDP.
    fn verdicts(drql: Attempt, usp: Attempt, bdp: Attempt) -> [CaseVerdict; 3] {
        let only = ["usp@drql", "usp@5g", "scenario 1,5g"].map(String::from);
        let rows = rows(&Library::new(), 7, &only).unwrap();
        let simulated = [8.7, 13.0, 10.0].map(|game_mean_ms| CaseFigures { game_mean_ms, utilization: 1.0 });
        let runs = [vec![bdp], vec![drql], vec![usp]];
        let report = CaseReport::new(5, 1, Path::new("x"), &rows, &runs, &simulated);
        let all: Vec<CaseVerdict> = report.cases.iter().map(|case| case.verdict).collect();
        assert_eq!(report.check().is_ok(), all.iter().all(|verdict| *verdict == CaseVerdict::Match));
        [all[0], all[1], all[2]]
    }

    #[test]
    fn bounds_ratios_and_trust() {
        use CaseVerdict::{Match, Miss, NotJudged};
        let good = |ms| attempt(ms, 1.0, true);
        assert_eq!(verdicts(good(13.0), good(10.0), good(9.0)), [Match; 3]);
        assert_eq!(verdicts(good(16.3), good(10.0), good(9.6)), [Miss, Miss, Match]);
        assert_eq!(verdicts(good(13.0), good(10.0), attempt(9.0, 0.998, true))[0], Miss);
        assert_eq!(verdicts(good(5.2), good(4.0), good(9.0)), [Match, Match, Miss], "below half a period");
        let untrusted = attempt(9.0, 1.0, false);
        assert_eq!(verdicts(good(13.0), good(10.0), untrusted), [NotJudged, Match, Match]);
    }

    #[test]
    fn order_where_the_simulator_has_one() {
        use CaseVerdict::{Match, Order};
        let good = |ms| attempt(ms, 1.0, true);
        // The value 0.98 is just within a quarter of 1.3, but the simulator ranks it higher.
        assert_eq!(verdicts(good(9.8), good(10.0), good(9.0)), [Match, Order, Order]);
    }
}
