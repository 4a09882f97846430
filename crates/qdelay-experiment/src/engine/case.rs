//! One case: run, and written to its folder.

use super::folder::Folder;
use super::{EngineError, Options, figures, series};
use crate::InputError;
use crate::results::{CaseSummary, RunFile, SCHEMA_VERSION, text};
use crate::scenario::{Case, Study};
use qdelay_record::PacketFile;
use qdelay_sim::{Outcome, RunError};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Runs `case` and leaves its folder; returns its figures without the curves.
pub fn run(
    case: &Case,
    study: &Study,
    folder: &Folder,
    options: &Options,
) -> Result<CaseSummary, EngineError> {
    let partial = folder.begin_case(&case.id)?;
    write_case(case, study, folder, options, &partial).inspect_err(|_| folder.abandon_case(&case.id))
}

fn write_case(
    case: &Case,
    study: &Study,
    folder: &Folder,
    options: &Options,
    partial: &Path,
) -> Result<CaseSummary, EngineError> {
    let outcome = if options.packets || case.packets {
        with_packets(case, &partial.join("packets.parquet"))?
    } else {
        qdelay_sim::run(&case.scenario).map_err(|error| failure(case, &error))?
    };
    let labels: BTreeMap<String, String> =
        study.axes.iter().map(|axis| axis.name.clone()).zip(case.labels.iter().cloned()).collect();
    let run = RunFile {
        schema_version: SCHEMA_VERSION,
        qdelay: env!("CARGO_PKG_VERSION").to_string(),
        scenario: study.name.clone(),
        id: case.id.clone(),
        labels: labels.clone(),
        resolved: case.resolved.clone(),
        traces: case.traces.clone(),
    };
    let summary = figures::summary(case, labels, &outcome);
    write(&partial.join("run.json"), &text(&run))?;
    write(&partial.join("summary.json"), &text(&summary))?;
    if options.series
        && let Some(series) = &summary.series
    {
        series::write(&partial.join("series.parquet"), series)?;
    }
    folder.finish_case(&case.id, partial)?;
    Ok(summary.without_curves())
}

fn write(path: &Path, text: &str) -> Result<(), InputError> {
    fs::write(path, text).map_err(|error| super::files::cannot_write(path, &error))
}

fn with_packets(case: &Case, path: &Path) -> Result<Outcome, EngineError> {
    let cannot_write = |error| super::files::cannot_write(path, &error);
    let mut file = PacketFile::create(path).map_err(cannot_write)?;
    let outcome =
        qdelay_sim::run_recorded(&case.scenario, &mut file).map_err(|error| failure(case, &error))?;
    file.close().map_err(cannot_write)?;
    Ok(outcome)
}

/// What cannot be built is the user's doing; what fails on the way is ours.
fn failure(case: &Case, error: &RunError) -> EngineError {
    let place = format!("case {}", case.id);
    match error {
        RunError::Component(_) | RunError::Build(_) => InputError::new(place, error).into(),
        _ => EngineError::Audit(format!("{place}: {error}; expected every packet to be accounted for")),
    }
}
