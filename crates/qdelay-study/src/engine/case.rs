//! Execution of one case, and the files in its folder.

use super::folder::Folder;
use super::{EngineError, Options, Recorded, Runner, digests, series};
use crate::files;
use crate::results::{CaseSummary, RunFile, SCHEMA_VERSION, text};
use crate::scenario::{Case, Study};
use std::collections::BTreeMap;
use std::path::Path;

/// Runs `case` and writes its folder; returns the figures without the curves.
pub fn run(
    case: &Case,
    study: &Study,
    folder: &Folder,
    options: &Options,
    runner: &dyn Runner,
) -> Result<CaseSummary, EngineError> {
    // A failed case removes its partial files, which would occupy a full disk.
    let partial = folder.begin_case(&case.id)?;
    let summary = write_case(case, study, options, runner, partial.path())?;
    digests::write(partial.path())?;
    folder.finish_case(&case.id, partial)?;
    Ok(summary)
}

/// Contents of `run.json`: the settings of the case and how it was run.
pub fn run_file(
    case: &Case,
    study: &Study,
    labels: BTreeMap<String, String>,
    runner: &dyn Runner,
) -> RunFile {
    RunFile {
        schema_version: SCHEMA_VERSION,
        qdelay: env!("CARGO_PKG_VERSION").to_string(),
        scenario: study.name.clone(),
        id: case.id.clone(),
        labels,
        settings: case.settings.clone(),
        traces: case.traces.clone(),
        clock: runner.clock().map(str::to_string),
        audit: None,
        laboratory: None,
        drops_by_reason: BTreeMap::new(),
    }
}

fn write_case(
    case: &Case,
    study: &Study,
    options: &Options,
    runner: &dyn Runner,
    partial: &Path,
) -> Result<CaseSummary, EngineError> {
    let labels = case.labels(study);
    let packets = (options.packets || case.packets).then(|| partial.join("packets.parquet"));
    let Recorded { summary, audit, laboratory } = runner.record(case, labels.clone(), packets.as_deref())?;
    let run = RunFile { audit, laboratory, ..run_file(case, study, labels, runner) };
    files::create_with(&partial.join("run.json"), &text(&run))?;
    files::create_with(&partial.join("summary.json"), &text(&summary))?;
    if options.series
        && let Some(series) = &summary.series
    {
        series::write(&partial.join("series.parquet"), series)?;
    }
    Ok(summary.without_curves())
}
