//! Runs a study, into a folder ([`run`]) or in memory ([`in_memory`], [`some_in_memory`]); and scenarios that are of no study ([`outcomes`]).
//!
//! ```text
//! OUT/scenario.toml             the scenario as it was run
//! OUT/study.json                of which study the folder is; locked while somebody writes to it
//! OUT/shards/3-of-8             of a shard that was begun there, empty; locked while it is run
//! OUT/cases/ID/run.json         what was run
//! OUT/cases/ID/summary.json     what came out
//! OUT/cases/ID/packets.parquet  a row a packet, on request
//! OUT/cases/ID/series.parquet   a row for each bin of time and group, on request
//! OUT/cases/ID/SHA256SUMS       the digest of each of these files
//! OUT/summary.json              all cases and what was expected of them; there once everything is done
//! ```
//!
//! A case's folder appears in one step when it is whole. Whoever is killed loses what was being run and nothing else: the
//! next run finds the cases that are there, as their digests say they were written, and goes on. Files hold no times of day and
//! no cost, and cases stand in the order
//! of the axes: a study that was killed and resumed, on any number of threads, leaves the same bytes as one that was not.

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
pub use digests::of as sha256_of_file;
pub use identity::axes;
pub use memory::{Done, Kept, Named, in_memory, in_memory_by, outcomes, some_in_memory};
pub use merge::{MergeOptions, Merged, merge};
pub use missing::{PROGRAM, missing_component};
pub use pack::{COMPONENTS, PackOptions, Unpacked, pack};
pub use pool::on_threads;
pub use runner::{Ran, Recorded, Runner, Simulator, failure, recorded};
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

/// Cases that are looked at before the first is run by another clock than the simulator's.
const CHECKED: u64 = 10_000;

/// How a study is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of the results.
    pub out: PathBuf,
    /// Cases to run at once, at least 1.
    pub jobs: usize,
    /// Delete existing results first, also those of another study.
    pub fresh: bool,
    /// Write `packets.parquet` for every case, not only for those whose scenario asks for it.
    pub packets: bool,
    /// Whether every case leaves a `series.parquet`.
    pub series: bool,
    /// The commit that the program was built from, where it is known: its folders are not continued by another one.
    pub commit: Option<String>,
}

/// Why a study has no summary.
#[derive(Debug)]
pub enum EngineError {
    /// An input cannot be used, or an output cannot be written.
    Input(InputError),
    /// A run failed its audit: a fault of the program.
    Audit(String),
    /// A [`Runner`] ended a case early, for this reason.
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

/// Hears how far a study is. Called from several threads.
pub trait Progress: Sync {
    /// The number of cases of the study, and of those that exist already.
    fn begins(&self, study: &str, cases: u64, there: u64);
    /// One more is done.
    fn case_done(&self);
    /// Something that a user should know, in one line, and that is no error.
    fn warns(&self, _line: &str) {}
}

impl Progress for () {
    fn begins(&self, _: &str, _: u64, _: u64) {}
    fn case_done(&self) {}
}

/// Runs the missing cases of `study` on the simulator, and writes the summary.
///
/// # Errors
/// A case that cannot be built, a folder that cannot be written to or holds something else, a failed audit.
pub fn run(
    study: &Study,
    library: &Library,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Summary, EngineError> {
    run_by(&Simulator, study, library, options, progress)
}

/// As [`run`], with another runner.
///
/// # Errors
/// As for [`run`], and those of the runner.
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

/// Adds to the error of a full disk that the cases in the folder stay.
fn with_what_stays(error: EngineError) -> EngineError {
    match error {
        EngineError::Input(mut error) if error.message.ends_with(files::ROOM) => {
            error.message += "; what is done stays, and the same command goes on from there";
            EngineError::Input(error)
        }
        other => other,
    }
}

/// Runs the missing cases of one shard of `study`, into a folder of its own or one that other shards are in, at the same time too.
/// [`merge`] makes one folder of several; [`run_by`] in a folder with all cases writes its summary.
///
/// # Errors
/// As [`run_by`]; more shards than cases, or the shard is being run.
pub fn run_shard_by(
    runner: &dyn Runner,
    study: &Study,
    library: &Library,
    options: &Options,
    shard: Shard,
    progress: &dyn Progress,
) -> Result<Vec<CaseSummary>, EngineError> {
    if shard.of() > study.case_count() {
        let cases = study.case_count();
        let message =
            format!("{shard} of {cases} cases leaves shards without any; expected at most {cases} shards");
        return Err(InputError::new("--shard", message).into());
    }
    let run = || {
        let (folder, cases) = cases_of(runner, study, library, options, Some(shard), progress)?;
        folder.flush()?;
        Ok(cases)
    };
    run().map_err(with_what_stays)
}

/// Runs the missing cases of `study`, or of a shard of it. Returns all of them, in the order of the axes.
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
        // Studies with more cases are not checked in advance: to check a thousand million cases takes a day.
        let looked_at = study.case_count().min(CHECKED);
        (0..looked_at).try_for_each(|index| runner.check(&study.case(index, library)?))?;
    }
    let folder = Folder::open(study, library, options, runner.clock(), shard, progress)?;
    let mut there = folder.finished(study, library, options)?;
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
        // A list of what is missing would be as long as the matrix.
        let missing = shard.cases(study.case_count()).filter(|index| !there.contains_key(index));
        let threads =
            options.jobs.min(usize::try_from(count.saturating_sub(there.len() as u64)).unwrap_or(usize::MAX));
        pool::on_threads(missing, threads, run_one)?
    };
    there.extend(done);
    Ok((folder, there.into_values().collect()))
}

/// The summary of all cases of a study, on these traces.
fn summary_of(
    study: &Study,
    traces: &BTreeMap<String, TraceFile>,
    cases: Vec<CaseSummary>,
    clock: Option<&str>,
) -> Summary {
    let axes = axes(study);
    let mut expects = expect::evaluate(&study.expects, &axes, &cases);
    if traces.values().any(|used| used.stands_in_for.is_some()) {
        // An expectation for one trace does not apply to another.
        expects.iter_mut().for_each(|expect| expect.verdict = "skipped".to_string());
    }
    let unverified =
        if study.is_unverified() { identity::unverified(study.components()) } else { Vec::new() };
    let same_runs = same_runs::groups(&cases);
    let (points, differences) = (intervals::of_points(&axes, &cases), intervals::paired(&axes, &cases));
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
        population: study.population(),
        points,
        differences,
    }
}
