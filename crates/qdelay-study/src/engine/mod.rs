//! Runs a study into a folder ([`run`]) or in memory ([`in_memory`], [`some_in_memory`]); runs scenarios without a study
//! ([`outcomes`]).
//!
//! ```text
//! OUT/scenario.toml             the scenario as it was run
//! OUT/study.json                identity of the study; locked while a run writes to the folder
//! OUT/shards/3-of-8             empty file of a shard that was started; locked while the shard runs
//! OUT/cases/ID/run.json         settings of the case
//! OUT/cases/ID/summary.json     figures and curves
//! OUT/cases/ID/packets.parquet  a row for each packet, on request
//! OUT/cases/ID/series.parquet   a row for each bin and group, on request
//! OUT/cases/ID/SHA256SUMS       digest of each of these files
//! OUT/summary.json              figures of all cases, and expectations; written when all cases are done
//! ```
//!
//! The folder of a case appears in one step when it is complete. A killed run loses only the cases that were running: the next
//! run checks the digests of the existing cases and continues. Files contain no time of day and no cost, and cases are ordered by
//! the axes, so a resumed study writes the same bytes as an uninterrupted one, on any number of threads.

mod archive;
mod case;
mod current;
pub mod digests;
mod extend;
mod folder;
mod identity;
mod lock;
mod memory;
mod merge;
mod missing;
mod pack;
mod pool;
mod runner;
pub mod series;
mod shard;
mod shared;

pub use crate::figures::PERCENTS;
pub use crate::files::{self, cannot_write, write_file};
pub use current::current_case;
pub use digests::sha256_of_file;
pub use identity::axes;
pub use memory::{Done, Kept, Named, in_memory, in_memory_by, outcomes, some_in_memory};
pub use merge::{MergeOptions, Merged, merge};
pub use missing::{PROGRAM, missing_component};
pub use pack::{COMPONENTS, PackOptions, Unpacked, pack};
pub use pool::on_threads;
pub use runner::{CaseOutcome, Recorded, Runner, Simulator, failure, recorded};
pub use shard::Shard;
pub use shared::SharedSimulator;

use crate::InputError;
use crate::expect;
use crate::intervals;
use crate::results::{CaseSummary, SCHEMA_VERSION, Summary, TraceFile};
use crate::same_runs;
use crate::scenario::Study;
use crate::traces::Library;
use folder::Folder;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Most cases that are checked before the first one runs on another clock than the simulator's.
const CHECKED: u64 = 10_000;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of the results.
    pub out: PathBuf,
    /// Number of cases run in parallel, at least 1.
    pub jobs: usize,
    /// True to delete existing results first, even those of another study.
    pub fresh: bool,
    /// True to write `packets.parquet` for every case, instead of only for those whose scenario sets `packets`.
    pub packets: bool,
    /// True to write `series.parquet` for every case.
    pub series: bool,
    /// Commit that the program was built from, if known. A folder written by one commit is not continued by another.
    pub commit: Option<String>,
}

/// Reason why a study has no summary.
#[derive(Debug)]
pub enum EngineError {
    /// An input is invalid, or an output cannot be written.
    Input(InputError),
    /// A run failed its audit, which is an error of the program.
    Audit(String),
    /// A [`Runner`] stopped a case early, with this reason.
    Stopped(String),
}

impl From<InputError> for EngineError {
    fn from(error: InputError) -> Self {
        EngineError::Input(error)
    }
}

impl std::fmt::Display for EngineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EngineError::Input(error) => error.fmt(f),
            EngineError::Audit(message) | EngineError::Stopped(message) => f.write_str(message),
        }
    }
}
impl std::error::Error for EngineError {}

/// Receives the progress of a study; called from several threads.
pub trait Progress: Sync {
    /// The study starts: number of its cases, and of those that exist already.
    fn begins(&self, study: &str, cases: u64, there: u64);
    /// One more case is done.
    fn case_done(&self);
    /// A warning for the user, in one line.
    fn warns(&self, _line: &str) {}
}

impl Progress for () {
    fn begins(&self, _: &str, _: u64, _: u64) {}
    fn case_done(&self) {}
}

/// Runs the missing cases of `study` on the simulator, and writes the summary.
///
/// # Errors
/// A case cannot be built or fails its audit; the folder cannot be written to or holds other results.
pub fn run(
    study: &Study,
    library: &Library,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Summary, EngineError> {
    run_by(&Simulator, study, library, options, progress)
}

/// Runs a study as [`run`] does, on another runner.
///
/// # Errors
/// Errors of [`run`], and those of the runner.
pub fn run_by(
    runner: &dyn Runner,
    study: &Study,
    library: &Library,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Summary, EngineError> {
    let run = || {
        let (folder, cases) = cases_of(runner, study, library, options, None, progress)?;
        let summary = summary_of(study, &library.used(), cases, runner.clock());
        folder.finish(&summary)?;
        Ok(summary)
    };
    run().map_err(with_what_stays)
}

/// Adds to the error of a full disk that the finished cases stay.
fn with_what_stays(error: EngineError) -> EngineError {
    match error {
        EngineError::Input(mut error) if error.message.ends_with(files::ROOM) => {
            error.message += "; finished cases stay, and the same command goes on from there";
            EngineError::Input(error)
        }
        other => other,
    }
}

/// Runs the missing cases of one shard of `study`, into its own folder or a folder shared with other shards, even at the same
/// time. [`merge`] combines several folders; [`run_by`] writes the summary of a folder that has all cases.
///
/// # Errors
/// Errors of [`run_by`]; there are more shards than cases, or the shard is already running.
pub fn run_shard_by(
    runner: &dyn Runner,
    study: &Study,
    library: &Library,
    options: &Options,
    shard: Shard,
    progress: &dyn Progress,
) -> Result<Vec<CaseSummary>, EngineError> {
    if shard.total() > study.case_count() {
        let cases = study.case_count();
        let message =
            format!("{shard} of {cases} cases leaves shards without a case; expected at most {cases} shards");
        return Err(InputError::new("--shard", message).into());
    }
    let run = || {
        let (folder, cases) = cases_of(runner, study, library, options, Some(shard), progress)?;
        folder.flush()?;
        Ok(cases)
    };
    run().map_err(with_what_stays)
}

/// Runs the missing cases of `study`, or of one shard. Returns all of its cases, in the order of the axes.
fn cases_of(
    runner: &dyn Runner,
    study: &Study,
    library: &Library,
    options: &Options,
    shard: Option<Shard>,
    progress: &dyn Progress,
) -> Result<(Folder, Vec<CaseSummary>), EngineError> {
    study.check(library)?;
    if runner.clock().is_some() {
        // Larger studies are not checked completely in advance: checking 10^9 cases would take a day.
        let looked_at = study.case_count().min(CHECKED);
        (0..looked_at).try_for_each(|index| runner.check(&study.case(index, library)?))?;
    }
    let folder = Folder::open(study, library, options, runner.clock(), shard, progress)?;
    let mut there = folder.finished(study, library, options, progress)?;
    let whole = Shard::WHOLE;
    let (shard, count) = (shard.unwrap_or(whole), shard.unwrap_or(whole).count(study.case_count()));
    progress.begins(&study.name, count, there.len() as u64);
    let run_one = |index: u64| -> Result<CaseSummary, EngineError> {
        let case = study.case(index, library)?;
        if index >= CHECKED {
            runner.check(&case)?;
        }
        let summary = current::within(&case.id, || case::run(&case, study, &folder, options, runner))?;
        progress.case_done();
        Ok(summary)
    };
    let done = {
        // The missing cases are iterated instead of listed: a list would be as long as the matrix.
        let missing = shard.cases(study.case_count()).filter(|index| !there.contains_key(index));
        let threads =
            options.jobs.min(usize::try_from(count.saturating_sub(there.len() as u64)).unwrap_or(usize::MAX));
        pool::on_threads(missing, threads, run_one)?
    };
    there.extend(done);
    Ok((folder, there.into_values().collect()))
}

/// The summary of all cases of a study that ran on `traces`.
fn summary_of(
    study: &Study,
    traces: &BTreeMap<String, TraceFile>,
    cases: Vec<CaseSummary>,
    clock: Option<&str>,
) -> Summary {
    let axes = axes(study);
    let mut expects = expect::evaluate(&study.expects, &axes, &cases);
    let is_changed = cases.iter().any(|case| case.changes > 0);
    if is_changed || traces.values().any(|used| used.substitute_for.is_some()) {
        // An expectation for one trace does not hold for its substitute, nor for a path that was changed by hand.
        expects.iter_mut().for_each(|expect| expect.verdict = "skipped".to_string());
    }
    let unverified =
        if study.is_unverified() { identity::unverified(study.components()) } else { Vec::new() };
    let same_runs = same_runs::groups(&cases);
    let (points, differences) = (intervals::point_means(&axes, &cases), intervals::paired(&axes, &cases));
    Summary {
        schema_version: SCHEMA_VERSION,
        scenario: study.name.clone(),
        title: study.title.clone(),
        about: study.about.clone(),
        axes,
        cases,
        expects,
        unverified,
        same_runs,
        clock: clock.map(str::to_string),
        recorded_by: None,
        population: study.population(),
        points,
        differences,
    }
}
