//! The folder of a study: whose it is, what is in it already, and that nobody else writes to it.

use super::files::{cannot_write, write_file};
use super::{EngineError, Options};
use crate::InputError;
use crate::results::{AxisFile, CaseSummary, SCHEMA_VERSION, StudyFile, Summary, text};
use crate::scenario::{Case, Study};
use crate::traces::{Library, digest_of};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A result folder, held against others until it is dropped.
pub struct Folder {
    root: PathBuf,
    /// `study.json`, locked.
    _lock: File,
}

impl Folder {
    /// Makes the folder, or takes one that is of the same study.
    pub fn open(study: &Study, library: &Library, options: &Options) -> Result<Folder, EngineError> {
        let root = options.out.clone();
        let ours = study_file(study, library, options);
        let path = root.join("study.json");
        if options.fresh && path.is_file() {
            clear(&root)?;
        }
        match fs::read_to_string(&path) {
            Ok(text) => refuse_other(&root, &text, &ours)?,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                begin(&root, study, &ours)?
            }
            Err(error) => {
                let message = format!("cannot be read: {error}; expected a result folder, or a new name");
                return Err(InputError::new(path.display(), message).into());
            }
        }
        let lock = File::open(&path).map_err(|error| cannot_write(&path, &error))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let message =
                    "another run is writing to it; expected that one to end first, or another folder";
                return Err(InputError::new(root.display(), message).into());
            }
            // A file system without locks: then two runs at once are the user's to avoid.
            Err(TryLockError::Error(_)) | Ok(()) => {}
        }
        let cases = root.join("cases");
        fs::create_dir_all(&cases).map_err(|error| cannot_write(&cases, &error))?;
        let folder = Folder { root, _lock: lock };
        folder.remove_partial()?;
        Ok(folder)
    }

    /// Where the case's folder is to stand.
    pub fn case(&self, id: &str) -> PathBuf {
        self.root.join("cases").join(id)
    }

    /// A place for the case's files until they are whole.
    pub fn begin_case(&self, id: &str) -> Result<PathBuf, InputError> {
        let path = self.root.join("cases").join(format!(".{id}.partial"));
        fs::create_dir_all(&path).map_err(|error| cannot_write(&path, &error))?;
        Ok(path)
    }

    /// The case's files are whole: they take their place in one step.
    pub fn finish_case(&self, id: &str, partial: &Path) -> Result<(), InputError> {
        let path = self.case(id);
        if path.exists() {
            // Unreadable: otherwise the case would not have been run again.
            fs::remove_dir_all(&path).map_err(|error| cannot_write(&path, &error))?;
        }
        fs::rename(partial, &path).map_err(|error| cannot_write(&path, &error))
    }

    /// The cases that are there and whole, without their curves.
    pub fn finished(
        &self,
        study: &Study,
        library: &Library,
    ) -> Result<BTreeMap<u64, CaseSummary>, EngineError> {
        let cases = self.root.join("cases");
        let names = fs::read_dir(&cases).map_err(|error| cannot_write(&cases, &error))?;
        let mut finished = BTreeMap::new();
        for name in names.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
            let Some(index) = name.split('-').next().and_then(|digits| digits.parse::<u64>().ok()) else {
                continue;
            };
            if index >= study.case_count() {
                continue;
            }
            let case: Case = study.case(index, library)?;
            if case.id == name
                && let Some(summary) = self.read_case(&name)
            {
                finished.insert(index, summary);
            }
        }
        Ok(finished)
    }

    fn read_case(&self, id: &str) -> Option<CaseSummary> {
        let text = fs::read_to_string(self.case(id).join("summary.json")).ok()?;
        let summary: CaseSummary = serde_json::from_str(&text).ok()?;
        (summary.id == id).then(|| summary.without_curves())
    }

    /// Everything is done.
    pub fn finish(&self, summary: &Summary) -> Result<(), InputError> {
        write_file(&self.root.join("summary.json"), &text(summary))
    }

    /// What a run that was killed has left half-done.
    fn remove_partial(&self) -> Result<(), InputError> {
        for folder in [&self.root, &self.root.join("cases")] {
            let Ok(entries) = fs::read_dir(folder) else { continue };
            for entry in entries.flatten() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if !(name.starts_with('.') && name.ends_with(".partial")) {
                    continue;
                }
                let path = entry.path();
                let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                removed.map_err(|error| cannot_write(&path, &error))?;
            }
        }
        Ok(())
    }
}

/// Takes away what runs leave, and nothing else; `study.json` last, so that whoever is killed here may do it again.
fn clear(root: &Path) -> Result<(), InputError> {
    for name in ["cases", "summary.json", "report.html", "scenario.toml", "study.json"] {
        let path = root.join(name);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(cannot_write(&path, &error)),
            _ => {}
        }
    }
    Ok(())
}

/// A new folder, or an empty one: nothing is written over.
fn begin(root: &Path, study: &Study, ours: &StudyFile) -> Result<(), InputError> {
    let fail = |error| cannot_write(root, &error);
    if root.is_file() {
        return Err(InputError::new(root.display(), "is a file; expected a folder, or a new name for one"));
    }
    fs::create_dir_all(root).map_err(fail)?;
    let foreign = fs::read_dir(root)
        .map_err(fail)?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        // What a run leaves that was killed before `study.json` stood.
        .find(|name| name != "scenario.toml" && !name.ends_with(".partial"));
    if let Some(name) = foreign {
        let message =
            format!("holds '{name}' and no results; expected an empty folder, or a new name for one");
        return Err(InputError::new(root.display(), message));
    }
    write_file(&root.join("scenario.toml"), &study.source)?;
    write_file(&root.join("study.json"), &text(ours))
}

fn study_file(study: &Study, library: &Library, options: &Options) -> StudyFile {
    let mut records = Vec::new();
    if options.packets {
        records.push("packets".to_string());
    }
    if options.series {
        records.push("series".to_string());
    }
    StudyFile {
        schema_version: SCHEMA_VERSION,
        qdelay: env!("CARGO_PKG_VERSION").to_string(),
        scenario: study.name.clone(),
        source: digest_of(study.source.as_bytes()),
        overrides: overrides(options),
        records,
        traces: library.used(),
        axes: axes(study),
        cases: study.case_count(),
    }
}

/// What the command line changed; seeds are an axis, and stand there.
fn overrides(options: &Options) -> BTreeMap<String, String> {
    let duration = options.overrides.duration.map(|duration| ("duration".to_string(), duration.to_string()));
    let seeds =
        options.overrides.seeds.as_ref().map(|seeds| ("seeds".to_string(), format!("{} given", seeds.len())));
    duration.into_iter().chain(seeds).collect()
}

/// The axes as files have them.
pub fn axes(study: &Study) -> Vec<AxisFile> {
    let axis =
        |axis: &crate::scenario::Axis| AxisFile { name: axis.name.clone(), labels: axis.labels.clone() };
    study.axes.iter().map(axis).collect()
}

/// Results of something else are not mixed with ours; what differs is said.
fn refuse_other(root: &Path, text: &str, ours: &StudyFile) -> Result<(), InputError> {
    let refuse = |what: String| {
        let message = format!("{what}; expected a folder of the same study, or a new name for one");
        Err(InputError::new(root.display(), message))
    };
    let Ok(theirs) = serde_json::from_str::<StudyFile>(text) else {
        return refuse("its study.json cannot be understood".to_string());
    };
    if theirs.scenario != ours.scenario {
        return refuse(format!("holds results of the scenario '{}'", theirs.scenario));
    }
    if theirs.qdelay != ours.qdelay {
        return refuse(format!("holds results of version {}, and this is {}", theirs.qdelay, ours.qdelay));
    }
    if theirs.source != ours.source {
        return refuse(format!("holds results of '{}' before it was changed", theirs.scenario));
    }
    if theirs.overrides.get("duration") != ours.overrides.get("duration") {
        let duration = |file: &StudyFile| {
            file.overrides.get("duration").map_or("the scenario's duration", |d| d).to_string()
        };
        return refuse(format!(
            "holds results for {}, and this is for {}",
            duration(&theirs),
            duration(ours)
        ));
    }
    if theirs.axes.last() != ours.axes.last() {
        return refuse("holds results for other seeds".to_string());
    }
    if theirs.records != ours.records {
        return refuse(format!(
            "holds results with records of [{}], and this is with [{}]",
            theirs.records.join(", "),
            ours.records.join(", ")
        ));
    }
    if let Some(name) = differing(&theirs.traces, &ours.traces) {
        return refuse(format!("holds results on another trace '{name}'"));
    }
    if theirs != *ours {
        return refuse("holds results of another study".to_string());
    }
    Ok(())
}

fn differing<T: PartialEq>(one: &BTreeMap<String, T>, other: &BTreeMap<String, T>) -> Option<String> {
    let names = one.keys().chain(other.keys());
    names.into_iter().find(|name| one.get(*name) != other.get(*name)).cloned()
}
