//! Criteria for a match. Bounds against the simulated run that begins when the real run did: throughput within 10%,
//! mean and 99th percentile of the queue delay within 30%. QUIC is the same program on both sides, so its bounds are tighter: throughput
//! within 10%, mean within 20%; the percentile is only shown. Three counts are reported:
//!
//! 1. strictly by these bounds;
//! 2. with 5 ms allowed where the simulator's own value is below 10 ms, since 30% is then less than the two milliseconds of a trace's
//!    resolution: the required share refers to this one;
//! 3. with the nearer end of the range of the simulated runs around that start.

use super::super::verdict::{self, Measure};
use super::cells::{Against, LinkCell};
use super::figures::LinkFigures;
use super::phases::Simulated;
use super::store::Attempt;
use crate::validate::attempts::Attempt as _;
use qdelay_study::results::Audit;
use qdelay_terminal::error::Failure;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Required share of matching cells.
pub const MARK: f64 = 0.9;
/// Relative tolerances of throughput, mean delay and 99th percentile.
type Bounds = [f64; 3];
const OF_TCP: Bounds = [0.1, 0.3, 0.3];
const OF_QUIC: Bounds = [0.1, 0.2, f64::INFINITY];
/// Absolute tolerance where the other value is below [`TINY_MS`]; for mahimahi's table it applies always.
const ALLOWED_MS: f64 = 5.0;
const TINY_MS: f64 = 10.0;

/// Distance of a real run from the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Nearness {
    /// Within the bounds.
    Strict,
    /// With 5 ms allowed where the simulator's value is tiny.
    Allowed,
    /// Within the bounds of the range of the runs that start slightly earlier or later.
    Phases,
    /// Outside all of these bounds.
    Miss,
}

/// Cell and its results.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedCell {
    /// Name of the cell.
    pub cell: String,
    /// Number of real runs.
    pub runs: usize,
    /// Reason why the cell was not judged.
    pub not_judged: Option<String>,
    /// Last real run.
    pub real: Option<LinkFigures>,
    /// Audit of the last real run.
    pub audit: Option<Audit>,
    /// Arrival of the real run's first whole segment at the bottleneck.
    pub begun_ms: Option<f64>,
    /// Simulated run from that time.
    pub simulated: Option<LinkFigures>,
    /// Arrival of the simulated run's first whole segment.
    pub simulated_begun_ms: Option<f64>,
    /// Minimum of each result over the simulated runs around that start.
    pub simulated_low: Option<LinkFigures>,
    /// Maximum of each result over these simulated runs.
    pub simulated_high: Option<LinkFigures>,
    /// Distance of the real run from the simulated one.
    pub nearness: Option<Nearness>,
    /// Results outside the strict bounds: throughput, mean, p99.
    pub outside: [bool; 3],
    /// Comparison of the real run with mahimahi's results, if requested.
    pub mahimahi: Option<verdict::ReferenceCell>,
}

/// Judges a cell by its last run.
pub fn judge(
    against: Against,
    cell: &LinkCell,
    runs: &[Attempt],
    simulated: Option<Simulated>,
) -> JudgedCell {
    let bounds = if against == Against::Quic { OF_QUIC } else { OF_TCP };
    let last = runs.last();
    let not_judged = match (&cell.run, last) {
        (Err(why), _) => Some(why.clone()),
        (Ok(_), None) => Some("it was not run".to_string()),
        (Ok(_), Some(last)) => (!last.is_trustworthy()).then(|| last.reasons()),
    };
    let mut judged = JudgedCell {
        cell: cell.name.clone(),
        runs: runs.len(),
        not_judged,
        real: last.map(|last| last.figures),
        audit: last.map(|last| last.audit.clone()),
        begun_ms: last.and_then(|last| last.begun_ms),
        simulated: None,
        simulated_begun_ms: None,
        simulated_low: None,
        simulated_high: None,
        nearness: None,
        outside: [false; 3],
        mahimahi: None,
    };
    let (Some(real), Some(simulated)) = (judged.real, simulated) else {
        return judged;
    };
    judged.simulated = simulated.figures.first().copied();
    judged.simulated_begun_ms = simulated.begun_ms;
    judged.simulated_low = end(&simulated.figures, f64::min);
    judged.simulated_high = end(&simulated.figures, f64::max);
    if let Some(centre) = simulated.figures.first() {
        judged.outside =
            measures(&real, &[*centre], bounds, 0.0).each_ref().map(|measure| !measure.matches());
    }
    // Results of a run that cannot be trusted are shown, but do not count.
    if judged.not_judged.is_some() {
        return judged;
    }
    judged.nearness = Some(nearness(&real, &simulated.figures, bounds));
    judged.mahimahi = cell.reference.map(|reference| {
        let measures = measures(&real, &[reference], bounds, f64::INFINITY);
        verdict::ReferenceCell::judge("mahimahi", cell.name.clone(), measures.into())
    });
    judged
}

/// Judges a real run; the first of `simulated` started when the real one did.
fn nearness(real: &LinkFigures, simulated: &[LinkFigures], bounds: Bounds) -> Nearness {
    let matches = |references: &[LinkFigures], tiny_ms: f64| {
        measures(real, references, bounds, tiny_ms).iter().all(Measure::matches)
    };
    let centre = simulated.get(..1).unwrap_or(&[]);
    if matches(centre, 0.0) {
        Nearness::Strict
    } else if matches(centre, TINY_MS) {
        Nearness::Allowed
    } else if matches(simulated, TINY_MS) {
        Nearness::Phases
    } else {
        Nearness::Miss
    }
}

/// Compares `real` with `references`; delays get 5 ms of tolerance if the smallest reference is below `tiny_ms`.
fn measures(real: &LinkFigures, references: &[LinkFigures], bounds: Bounds, tiny_ms: f64) -> [Measure; 3] {
    let names = ["throughput Mbit/s", "delay mean ms", "delay p99 ms"];
    std::array::from_fn(|index| {
        let references: Vec<f64> = references.iter().map(|figures| figures.all()[index]).collect();
        let least = references.iter().copied().fold(f64::INFINITY, f64::min);
        let absolute = if index > 0 && least < tiny_ms { ALLOWED_MS } else { 0.0 };
        Measure::new(names[index], &references, &[real.all()[index]], bounds[index], absolute)
    })
}

fn end(all: &[LinkFigures], of: fn(f64, f64) -> f64) -> Option<LinkFigures> {
    all.iter().copied().reduce(|a, b| LinkFigures {
        throughput_mbps: of(a.throughput_mbps, b.throughput_mbps),
        delay_mean_ms: of(a.delay_mean_ms, b.delay_mean_ms),
        delay_p99_ms: of(a.delay_p99_ms, b.delay_p99_ms),
    })
}

/// Report on all cells, with counts of matches.
#[derive(Clone, Debug, Serialize)]
pub struct LinkReport {
    /// [`qdelay_study::results::SCHEMA_VERSION`].
    pub schema_version: u32,
    /// `simulator`, `quic` or `mahimahi`.
    pub against: &'static str,
    /// Duration of each cell.
    pub seconds: u64,
    /// Folder of the runs.
    pub folder: PathBuf,
    /// Counts of matching cells.
    pub counts: Counts,
    /// Required share of matching judged cells.
    pub mark: f64,
    /// The required share is reached.
    pub reached: bool,
    /// Cells with verdicts.
    pub cells: Vec<JudgedCell>,
}

/// Counts of matching cells, each including the previous one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Number of all cells.
    pub cells: usize,
    /// Cells with a run that can be trusted.
    pub judged: usize,
    /// Within the bounds.
    pub strict: usize,
    /// With 5 ms allowed where the simulator's value is tiny.
    pub allowed: usize,
    /// Within the range of runs with other starts.
    pub phases: usize,
    /// Matches of mahimahi's results.
    pub mahimahi_match: usize,
    /// Cells outside the bounds, for a known reason.
    pub mahimahi_explained: usize,
    /// Cells outside the bounds, without a known reason.
    pub mahimahi_miss: usize,
}

impl LinkReport {
    /// Computes the counts.
    pub fn new(against: Against, seconds: u64, folder: &Path, cells: Vec<JudgedCell>) -> LinkReport {
        let near = |nearness: Nearness| {
            cells.iter().filter(|cell| cell.nearness.is_some_and(|found| found <= nearness)).count()
        };
        let of_mahimahi = |verdict: verdict::ReferenceVerdict| {
            cells.iter().filter(|cell| cell.mahimahi.as_ref().is_some_and(|c| c.verdict == verdict)).count()
        };
        let counts = Counts {
            cells: cells.len(),
            judged: near(Nearness::Miss),
            strict: near(Nearness::Strict),
            allowed: near(Nearness::Allowed),
            phases: near(Nearness::Phases),
            mahimahi_match: of_mahimahi(verdict::ReferenceVerdict::Match),
            mahimahi_explained: of_mahimahi(verdict::ReferenceVerdict::Explained),
            mahimahi_miss: of_mahimahi(verdict::ReferenceVerdict::Miss),
        };
        let reached = counts.judged > 0
            && match against {
                Against::Simulator | Against::Quic => counts.allowed as f64 >= MARK * counts.judged as f64,
                Against::Mahimahi => counts.mahimahi_miss == 0,
            };
        LinkReport {
            schema_version: qdelay_study::results::SCHEMA_VERSION,
            against: match against {
                Against::Simulator => "simulator",
                Against::Quic => "quic",
                Against::Mahimahi => "mahimahi",
            },
            seconds,
            folder: folder.to_path_buf(),
            counts,
            mark: MARK,
            reached,
            cells,
        }
    }

    /// Checks that enough cells match.
    ///
    /// # Errors
    /// The number of cells that match.
    pub fn check(&self) -> Result<(), Failure> {
        let Counts { judged, allowed, mahimahi_miss, cells, .. } = self.counts;
        match (self.reached, judged, self.against) {
            (true, ..) => Ok(()),
            (false, 0, _) => Err(Failure::Check(format!(
                "none of {cells} cells could be judged; expected runs that can be trusted, on a machine with less to do"
            ))),
            (false, _, "simulator" | "quic") => Err(Failure::Check(format!(
                "{allowed} of {judged} judged cells match; expected at least {:.0}%",
                MARK * 100.0
            ))),
            _ => Err(Failure::Check(format!("cells that miss their bounds: {mahimahi_miss}; expected none"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(throughput_mbps: f64, delay_mean_ms: f64, delay_p99_ms: f64) -> LinkFigures {
        LinkFigures { throughput_mbps, delay_mean_ms, delay_p99_ms }
    }

    #[test]
    fn near_and_less_near() {
        let simulated = [figures(10.0, 8.0, 20.0), figures(10.0, 12.0, 60.0)];
        let near = |real| nearness(&real, &simulated, OF_TCP);
        assert_eq!(near(figures(10.9, 10.0, 25.9)), Nearness::Strict);
        assert_eq!(near(figures(9.1, 12.9, 20.0)), Nearness::Allowed);
        assert_eq!(near(figures(9.1, 12.9, 27.0)), Nearness::Phases);
        assert_eq!(near(figures(11.1, 8.0, 20.0)), Nearness::Miss);
        assert_eq!(near(figures(10.0, 8.0, 79.0)), Nearness::Miss);
        assert_eq!(nearness(&figures(10.0, 14.0, 27.0), &simulated[..1], OF_TCP), Nearness::Miss);
    }

    #[test]
    fn of_quic_the_percentile_does_not_decide() {
        let simulated = [figures(10.0, 80.0, 200.0)];
        let near = |real| nearness(&real, &simulated, OF_QUIC);
        assert_eq!(near(figures(10.9, 95.0, 900.0)), Nearness::Strict);
        assert_eq!(near(figures(10.9, 97.0, 200.0)), Nearness::Miss);
        assert_eq!(near(figures(11.1, 80.0, 200.0)), Nearness::Miss);
    }

    #[test]
    fn mahimahi_allows_five_ms_everywhere() {
        let reference = [figures(10.0, 13.0, 100.0)];
        let outside = |real: LinkFigures| {
            measures(&real, &reference, OF_TCP, f64::INFINITY)
                .iter()
                .filter(|measure| !measure.matches())
                .count()
        };
        assert_eq!(outside(figures(10.0, 17.9, 129.0)), 0);
        assert_eq!(outside(figures(11.1, 18.1, 131.0)), 3);
    }

    #[test]
    fn ninety_in_a_hundred_of_the_judged() {
        let cell = |nearness: Option<Nearness>| JudgedCell {
            cell: String::new(),
            runs: 1,
            not_judged: nearness.is_none().then(|| "late".to_string()),
            real: None,
            audit: None,
            begun_ms: None,
            simulated: None,
            simulated_begun_ms: None,
            simulated_low: None,
            simulated_high: None,
            nearness,
            outside: [false; 3],
            mahimahi: None,
        };
        let report = |near: usize, misses: usize| {
            let cells = std::iter::repeat_n(cell(Some(Nearness::Allowed)), near)
                .chain(std::iter::repeat_n(cell(Some(Nearness::Miss)), misses))
                .chain([cell(None)]);
            LinkReport::new(Against::Simulator, 20, Path::new("x"), cells.collect())
        };
        assert!(report(9, 1).check().is_ok());
        assert!(report(8, 1).check().is_err());
        assert!(report(0, 0).check().is_err(), "nothing was judged");
        let Counts { cells, judged, strict, allowed, phases, .. } = report(9, 1).counts;
        assert_eq!((cells, judged, strict, allowed, phases), (11, 10, 0, 9, 9));
    }
}
