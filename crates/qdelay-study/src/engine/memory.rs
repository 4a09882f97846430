//! Runs that keep their results in memory.

use super::{EngineError, Progress, Recorded, Runner, Simulator, case, current, pool, summary_of};
use crate::cost::{Stopwatch, thread_cpu_seconds};
use crate::figures;
use crate::results::{CaseSummary, RunFile, Summary};
use crate::scenario::{Case, Study};
use crate::traces::Library;
use qdelay_sim::{Outcome, Scenario};
use std::thread;

/// A finished case and its cost.
#[derive(Clone, Debug)]
pub struct Done {
    /// Figures of the case, without curves.
    pub summary: CaseSummary,
    /// User and system time of the thread, in seconds.
    pub cpu_seconds: f64,
    /// Elapsed time, in seconds.
    pub wall_seconds: f64,
}

/// Results that a folder would hold.
#[derive(Clone, Debug)]
pub struct Kept {
    /// All cases, without their curves.
    pub summary: Summary,
    /// `run.json` and `summary.json` (with curves) of each case, in the order of the axes.
    pub cases: Vec<(RunFile, CaseSummary)>,
}

/// A scenario that belongs to no study.
#[derive(Clone, Debug)]
pub struct Named {
    /// Name of the scenario in errors.
    pub name: String,
    /// The scenario.
    pub scenario: Scenario,
}

/// Runs every case of `study`, `jobs` at a time (default: one per core), without writing files. Returns the cases in the order of
/// the axes.
///
/// # Errors
/// A case cannot be built or fails its audit; the error is that of the first such case.
pub fn in_memory(
    study: &Study,
    library: &Library,
    jobs: Option<usize>,
    progress: &dyn Progress,
) -> Result<Vec<Done>, EngineError> {
    each(&study.name, study.case_count(), jobs, progress, |index| {
        let case = study.case(index, library)?;
        let (cpu, watch) = (thread_cpu_seconds(), Stopwatch::start());
        let place = format!("case {}", case.id);
        let outcome = current::within(&case.id, || Simulator::outcome(&place, &case.scenario, None))?;
        let (cpu_seconds, wall_seconds) = (thread_cpu_seconds() - cpu, watch.seconds());
        let summary = figures::summary(&case.id, case.labels(study), &outcome).without_curves();
        Ok(Done { summary, cpu_seconds, wall_seconds })
    })
}

/// Runs the cases of `study` that `is_wanted` accepts on `runner`, `jobs` at a time, without writing files. Returns their
/// figures, without curves, in the order of the axes.
///
/// # Errors
/// Errors of [`in_memory`], and those of the runner.
pub fn some_in_memory(
    runner: &dyn Runner,
    study: &Study,
    library: &Library,
    jobs: usize,
    is_wanted: impl Fn(&Case) -> bool,
    progress: &dyn Progress,
) -> Result<Vec<CaseSummary>, EngineError> {
    study.check(library)?;
    let mut wanted = Vec::new();
    for index in 0..study.case_count() {
        if is_wanted(&study.case(index, library)?) {
            wanted.push(index);
        }
    }
    each(&study.name, wanted.len() as u64, Some(jobs), progress, |place| {
        let case = study.case(wanted[place as usize], library)?;
        let recorded = current::within(&case.id, || runner.record(&case, case.labels(study), None))?;
        Ok(recorded.summary.without_curves())
    })
}

/// Runs every case as [`in_memory`] does, on another runner; returns everything that a folder would hold.
///
/// # Errors
/// Errors of [`in_memory`], and those of the runner.
pub fn in_memory_by(
    runner: &dyn Runner,
    study: &Study,
    library: &Library,
    jobs: Option<usize>,
    progress: &dyn Progress,
) -> Result<Kept, EngineError> {
    let cases = each(&study.name, study.case_count(), jobs, progress, |index| {
        let case = study.case(index, library)?;
        let labels = case.labels(study);
        let recorded = current::within(&case.id, || runner.record(&case, labels.clone(), None))?;
        let Recorded { summary, audit, laboratory } = recorded;
        Ok((RunFile { audit, laboratory, ..case::run_file(&case, study, labels, runner) }, summary))
    })?;
    let summaries = cases.iter().map(|(_, summary)| summary.clone().without_curves()).collect();
    Ok(Kept { summary: summary_of(study, &library.used(), summaries, runner.clock()), cases })
}

/// Runs `scenarios` and returns their outcomes in order. `what` is the name shown by `progress`; `jobs` as for [`in_memory`].
///
/// # Errors
/// Errors of [`in_memory`].
pub fn outcomes(
    what: &str,
    scenarios: &[Named],
    jobs: Option<usize>,
    progress: &dyn Progress,
) -> Result<Vec<Outcome>, EngineError> {
    each(what, scenarios.len() as u64, jobs, progress, |index| {
        let Named { name, scenario } = &scenarios[index as usize];
        Simulator::outcome(name, scenario, None)
    })
}

fn each<T: Send>(
    what: &str,
    count: u64,
    jobs: Option<usize>,
    progress: &dyn Progress,
    work: impl Fn(u64) -> Result<T, EngineError> + Sync,
) -> Result<Vec<T>, EngineError> {
    let jobs = jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    progress.begins(what, count, 0);
    let mut done = pool::on_threads(0..count, jobs.min(count as usize), |index| {
        let result = work(index)?;
        progress.case_done();
        Ok(result)
    })?;
    done.sort_unstable_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
