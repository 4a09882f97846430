//! Extension of a result folder to more seeds, without running any case again.
//!
//! The id of a case begins with its index, which changes with the number of seeds. A case whose settings are all unchanged gets
//! its new id. A case with changed settings is deleted: with a single seed runs begin at the start of a trace, with several seeds
//! at random places. A killed extension may lose cases, which the next run repeats.

use super::digests;
use crate::InputError;
use crate::files::{self, Partial, cannot_write};
use crate::results::{CaseSummary, RunFile, text};
use crate::scenario::{Case, Study};
use crate::traces::Library;
use std::fs;
use std::path::Path;

/// Files that a case may have besides its summaries.
const TABLES: [&str; 2] = ["packets.parquet", "series.parquet"];

/// Moves the cases in the folder `cases` to new folders with their ids in `study`; deletes all others. Returns the new folders, which still
/// have temporary names, by id.
pub fn renumbered(
    cases: &Path,
    study: &Study,
    library: &Library,
) -> Result<Vec<(String, Partial)>, InputError> {
    let names = fs::read_dir(cases).map_err(|error| cannot_write(cases, &error))?;
    let mut kept: Vec<(String, Partial)> = Vec::new();
    for name in names.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let old = cases.join(&name);
        if let Some((case, run, summary)) = read(&old, study, library) {
            let path = cases.join(&case.id);
            let partial = Partial::folder(&path).map_err(|error| cannot_write(&path, &error))?;
            move_case(&old, partial.path(), &case, run, summary)?;
            kept.push((case.id, partial));
        }
        files::remove(&old).map_err(|error| cannot_write(&old, &error))?;
    }
    Ok(kept)
}

/// The case of `study` whose unchanged results are in the folder `old`; `None` if there is no such case.
fn read(old: &Path, study: &Study, library: &Library) -> Option<(Case, RunFile, CaseSummary)> {
    if !files::is_folder(old) || !digests::are_right(old, &["run.json", "summary.json"]) {
        return None;
    }
    let run: RunFile = serde_json::from_str(&files::read_text(&old.join("run.json")).ok()?).ok()?;
    let summary: CaseSummary =
        serde_json::from_str(&files::read_text(&old.join("summary.json")).ok()?).ok()?;
    let labels: Vec<(&str, &str)> =
        run.labels.iter().map(|(axis, label)| (axis.as_str(), label.as_str())).collect();
    let case = study.case(study.index_of(&labels)?, library).ok()?;
    let is_same =
        case.settings == run.settings && case.traces == run.traces && labels.len() == study.axes.len();
    is_same.then_some((case, run, summary))
}

fn move_case(
    old: &Path,
    new: &Path,
    case: &Case,
    mut run: RunFile,
    mut summary: CaseSummary,
) -> Result<(), InputError> {
    (run.id, summary.id) = (case.id.clone(), case.id.clone());
    files::create_with(&new.join("run.json"), &text(&run))?;
    files::create_with(&new.join("summary.json"), &text(&summary))?;
    for table in TABLES.iter().filter(|table| files::is_file(&old.join(table))) {
        fs::rename(old.join(table), new.join(table)).map_err(|error| cannot_write(new, &error))?;
    }
    digests::write(new)
}
