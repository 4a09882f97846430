//! Output of `qdelay compare --json`, described in `docs/json.md`. Fields may be added; existing fields keep name and meaning.

use qdelay_study::engine::{self, Done};
use qdelay_study::intervals;
use qdelay_study::results::{CaseSummary, PairedDifference, PointFile, SCHEMA_VERSION, pretty, round};
use qdelay_study::same_runs::first_equals;
use qdelay_study::scenario::Study;
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    cases: Vec<Case<'a>>,
    /// Number of distinct runs among the seeds.
    distinct_runs: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    population: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    points: Vec<PointFile>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<PairedDifference>,
}

#[derive(Serialize)]
struct Case<'a> {
    axes: Axes<'a>,
    #[serde(flatten)]
    figures: &'a CaseSummary,
    cpu_seconds: f64,
    wall_seconds: f64,
    /// First seed with an identical run; null where no earlier seed has one.
    same_run_as_seed: Option<u64>,
}

/// The user's text.
#[derive(Clone, Copy, Serialize)]
pub struct Axes<'a> {
    pub trace: &'a str,
    pub qdisc: &'a str,
    pub transport: &'a str,
    pub seed: u64,
}

impl<'a> Axes<'a> {
    /// Results of each case of a study with the axes link, discipline, transport and seed, in the order of the axes.
    pub fn from_study(study: &'a Study) -> Vec<Axes<'a>> {
        let [links, qdiscs, transports, _] = study.axes.as_slice() else {
            unreachable!("a comparison has four axes");
        };
        let mut all = Vec::new();
        for trace in &links.labels {
            for qdisc in &qdiscs.labels {
                for transport in &transports.labels {
                    let seeds = study.seeds().iter();
                    all.extend(seeds.map(|&seed| Axes { trace, qdisc, transport, seed }));
                }
            }
        }
        all
    }
}

/// All cases in one document.
pub fn cases(study: &Study, cases: &[Done]) -> String {
    let axes = Axes::from_study(study);
    let firsts = first_equals(cases.iter().map(|case| &case.summary));
    let case = |(place, done): (usize, &'_ Done)| Case {
        axes: axes[place],
        figures: &cases[place].summary,
        cpu_seconds: round(done.cpu_seconds),
        wall_seconds: round(done.wall_seconds),
        same_run_as_seed: (place != firsts[place]).then(|| axes[firsts[place]].seed),
    };
    let (files, summaries) =
        (engine::axes(study), cases.iter().map(|case| case.summary.clone()).collect::<Vec<CaseSummary>>());
    pretty(&Report {
        schema_version: SCHEMA_VERSION,
        cases: cases.iter().enumerate().map(case).collect(),
        distinct_runs: firsts.iter().enumerate().filter(|(place, first)| place == *first).count(),
        population: study.population(),
        points: intervals::point_means(&files, &summaries),
        differences: intervals::paired(&files, &summaries),
    })
}
