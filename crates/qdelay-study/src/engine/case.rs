//! One case: run, and written to its folder.

use super::folder::Folder;
use super::{EngineError, Options, Ran, Runner, digests, figures, series};
use crate::files::{self, cannot_write};
use crate::results::{CaseSummary, RunFile, SCHEMA_VERSION, text};
use crate::scenario::{Case, Study};
use qdelay_record::PacketFile;
use std::path::Path;

/// Runs `case` and leaves its folder; returns its figures without the curves.
pub fn run(
    case: &Case,
    study: &Study,
    folder: &Folder,
    options: &Options,
    runner: &dyn Runner,
) -> Result<CaseSummary, EngineError> {
    // The partial files of a case that fails are removed: they would occupy a full disk.
    let partial = folder.begin_case(&case.id)?;
    let summary = write_case(case, study, options, runner, partial.path())?;
    digests::write(partial.path())?;
    folder.finish_case(&case.id, partial)?;
    Ok(summary)
}

fn write_case(
    case: &Case,
    study: &Study,
    options: &Options,
    runner: &dyn Runner,
    partial: &Path,
) -> Result<CaseSummary, EngineError> {
    let Ran { outcome, audit } = if options.packets || case.packets {
        with_packets(case, runner, &partial.join("packets.parquet"))?
    } else {
        runner.run(case, None)?
    };
    let labels = case.labels(study);
    let run = RunFile {
        schema_version: SCHEMA_VERSION,
        qdelay: env!("CARGO_PKG_VERSION").to_string(),
        scenario: study.name.clone(),
        id: case.id.clone(),
        labels: labels.clone(),
        resolved: case.resolved.clone(),
        traces: case.traces.clone(),
        clock: runner.clock().map(str::to_string),
        audit,
    };
    let trustworthy = run.audit.as_ref().map(|audit| audit.trustworthy);
    let summary = CaseSummary { trustworthy, ..figures::summary(case, labels, &outcome) };
    files::create_with(&partial.join("run.json"), &text(&run))?;
    files::create_with(&partial.join("summary.json"), &text(&summary))?;
    if options.series
        && let Some(series) = &summary.series
    {
        series::write(&partial.join("series.parquet"), series)?;
    }
    Ok(summary.without_curves())
}

fn with_packets(case: &Case, runner: &dyn Runner, path: &Path) -> Result<Ran, EngineError> {
    let cannot_write = |error| cannot_write(path, &error);
    let mut file = files::create(path).and_then(PacketFile::new).map_err(cannot_write)?;
    let ran = runner.run(case, Some(&mut file))?;
    file.close().map_err(cannot_write)?;
    Ok(ran)
}
