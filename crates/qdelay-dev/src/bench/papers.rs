//! `qdelay-dev bench papers`: CPU time of runs of two papers, compared with ns-3.
//!
//! One case of each shipped scenario, run several times. The result is the median of the thread's CPU time from the study
//! already read to the outcome, which includes building, running and auditing the case. The times of ns-3 3.48, optimized, were measured
//! on one core of the machine that the targets were set on.

use crate::bench::options::BenchPapers;
use qdelay_core::Span;
use qdelay_core::component::Registry;
use qdelay_study::InputError;
use qdelay_study::cost;
use qdelay_study::engine::Simulator;
use qdelay_study::results::{SCHEMA_VERSION, pretty, round};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::shipped;
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::text_table::{self, Column};
use serde::Serialize;

/// Run of a paper.
struct Job {
    name: &'static str,
    scenario: &'static str,
    /// Labels of the case on some of the axes; the first label on all others.
    labels: &'static [(&'static str, &'static str)],
    seconds: u64,
    /// Target in CPU seconds: the run must stay below.
    target_s: f64,
    /// CPU seconds of ns-3.
    ns3_s: f64,
}

const JOBS: &[Job] = &[
    Job {
        name: "ABE, Fig. 4: 20 flows, DSD",
        scenario: "abe/fig4",
        labels: &[("variant", "DSD")],
        seconds: 300,
        target_s: 0.2,
        ns3_s: 4.0,
    },
    Job {
        name: "Rate-delay, experiment 1: audio, marked",
        scenario: "rd/exp1",
        labels: &[("flow.real-time.transport", "audio"), ("variant", "marked")],
        seconds: 14,
        target_s: 0.05,
        ns3_s: 0.71,
    },
    Job {
        name: "Rate-delay, experiment 3: 20 UEs, 10 marked",
        scenario: "rd/exp3-audio",
        labels: &[("variant", "10 marked")],
        seconds: 14,
        target_s: 0.2,
        ns3_s: 3.1,
    },
];

#[derive(Serialize)]
struct Report {
    schema_version: u32,
    runs: u32,
    papers: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    name: &'static str,
    scenario: &'static str,
    simulated_s: u64,
    packets_forwarded: u64,
    cpu_s: f64,
    cpu_min_s: f64,
    cpu_max_s: f64,
    target_s: f64,
    ns3_s: f64,
    pass: bool,
}

/// Runs the command.
///
/// # Errors
/// A run whose audit failed, a report that cannot be written, or a target that is missed.
pub fn run(options: &BenchPapers, registry: &Registry) -> Result<(), Failure> {
    let library = Library::new();
    let papers: Vec<Line> =
        JOBS.iter().map(|job| line(job, options.runs, &library, registry)).collect::<Result<_, _>>()?;
    let report = Report { schema_version: SCHEMA_VERSION, runs: options.runs, papers };
    output::print(&if options.json { pretty(&report) } else { text(&report) })?;
    let missed = report.papers.iter().filter(|line| !line.pass).count();
    match missed {
        0 => Ok(()),
        _ => Err(Failure::Check(format!("bench papers: {missed} targets are missed"))),
    }
}

fn line(job: &Job, runs: u32, library: &Library, registry: &Registry) -> Result<Line, Failure> {
    let text = shipped::find(job.scenario)
        .ok_or_else(|| InputError::new(job.scenario, "no such scenario; expected a shipped one"))?;
    let overrides = Overrides {
        seeds: Some(vec![1]),
        duration: Some(Span::from_secs(job.seconds)),
        ..Overrides::default()
    };
    let study = Study::parse_with(job.scenario, text, &overrides, registry)?;
    let index = study.index_of(job.labels).ok_or_else(|| {
        InputError::new(job.scenario, format!("no case with {:?}; expected one", job.labels))
    })?;
    let mut times = Vec::new();
    let mut packets_forwarded = 0;
    // At least one run: a median of no run would pass.
    for _ in 0..runs.max(1) {
        let before = cost::thread_cpu_seconds();
        let ran = Simulator.run(&study.case(index, library)?, None)?;
        times.push(cost::thread_cpu_seconds() - before);
        packets_forwarded = ran.outcome.packets_forwarded;
    }
    times.sort_by(f64::total_cmp);
    let at = |place: usize| times.get(place).copied().map_or(f64::NAN, round);
    let cpu_s = at(times.len() / 2);
    Ok(Line {
        name: job.name,
        scenario: job.scenario,
        simulated_s: job.seconds,
        packets_forwarded,
        cpu_s,
        cpu_min_s: at(0),
        cpu_max_s: at(times.len() - 1),
        target_s: job.target_s,
        ns3_s: job.ns3_s,
        pass: cpu_s < job.target_s,
    })
}

/// Table of CPU times with target and ns-3's time for each run.
fn text(report: &Report) -> String {
    let columns = [
        Column::left("run"),
        Column::right("simulated s"),
        Column::right("packets"),
        Column::right("CPU s"),
        Column::right("least"),
        Column::right("most"),
        Column::right("below"),
        Column::right("ns-3"),
        Column::left(""),
    ];
    let rows = report.papers.iter().map(|line| {
        let seconds = |seconds: f64| format!("{seconds:.3}");
        vec![
            line.name.to_string(),
            line.simulated_s.to_string(),
            line.packets_forwarded.to_string(),
            seconds(line.cpu_s),
            seconds(line.cpu_min_s),
            seconds(line.cpu_max_s),
            line.target_s.to_string(),
            line.ns3_s.to_string(),
            if line.pass { "pass" } else { "miss" }.to_string(),
        ]
    });
    let table = text_table::table(&columns, rows.collect());
    format!("Runs of papers, in CPU time: the median of {} runs.\n\n{table}\n", report.runs)
}
