//! The result folder of a study: identity of the study, finished cases, and the lock against other writers.

use super::identity::{refuse_link, same_study, study_file};
use super::lock::{Hold, SHARDS, hold, hold_shard};
use super::{EngineError, Options, Progress, Shard, digests, extend};
use crate::InputError;
use crate::cost::Stopwatch;
use crate::files::{self, Partial, cannot_write, write_file};
use crate::results::{CaseSummary, RunFile, StudyFile, Summary, text};
use crate::scenario::{Case, Study};
use crate::traces::Library;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A result folder, locked until it is dropped.
pub struct Folder {
    root: PathBuf,
    /// `study.json`, with the lock.
    lock: File,
    /// The shard of this run, and its file, with the lock.
    shard: Option<(Shard, File)>,
    /// Time since the folder was opened, and the time in seconds when cases are next flushed to the disk.
    watch: Stopwatch,
    flush_due: Mutex<f64>,
}

/// Shortest interval between flushes of cases, in seconds; flushes also take at most a tenth of the time.
const FLUSH_EVERY: f64 = 1.0;

/// The error of a folder that another process has locked.
const BUSY: &str = "another run is writing to it; expected that one to end first, or another folder";

impl Folder {
    /// Creates the folder, or opens one of the same study. No file in it changes before the lock is held: `study.json` is created
    /// once and then only rewritten in place, so that all processes lock the same file. Runs of several shards share a folder.
    pub fn open(
        study: &Study,
        library: &Library,
        options: &Options,
        clock: Option<&str>,
        shard: Option<Shard>,
        progress: &dyn Progress,
    ) -> Result<Folder, EngineError> {
        let ours = study_file(study, library, options, clock);
        match shard {
            None => Folder::open_whole(study, library, options, &ours, progress),
            Some(shard) => Folder::open_shard(study, options, &ours, shard, progress),
        }
    }

    fn open_whole(
        study: &Study,
        library: &Library,
        options: &Options,
        ours: &StudyFile,
        progress: &dyn Progress,
    ) -> Result<Folder, EngineError> {
        let root = options.out.clone();
        let path = root.join("study.json");
        let is_there = path.symlink_metadata().is_ok();
        if !is_there {
            prepare(&root)?;
        }
        let mut options_of_file = files::options();
        options_of_file.read(true).write(true).create(!is_there).truncate(false);
        let mut file = files::open(&path, &options_of_file).map_err(|error| cannot_write(&path, &error))?;
        let is_held = hold(&file, Hold::Alone, &root, BUSY, progress)?;
        let theirs = read_study(&mut file, &path)?;
        let mut has_fewer_seeds = false;
        if theirs.is_empty() {
            // The folder is new, or its run was killed before it wrote `study.json`.
            prepare(&root)?;
        } else if options.fresh {
            if let Ok(theirs) = serde_json::from_str::<StudyFile>(&theirs) {
                refuse_link(&root, &theirs)?;
            }
            clear(&root)?;
        } else {
            let theirs = same_study(&root, &theirs, ours, study)?;
            has_fewer_seeds = theirs.axes != ours.axes;
        }
        if theirs.is_empty() || options.fresh {
            write_file(&root.join("scenario.toml"), &study.kept_source(&ours.records))?;
            write_in_place(&mut file, &text(ours)).map_err(|error| cannot_write(&path, &error))?;
        }
        let cases = files::make_below(&root, "cases")?;
        if is_held {
            // Partial files are left from killed runs.
            [&root, &cases].into_iter().for_each(|folder| files::remove_left(folder, None));
        }
        // This run completes whatever shards have left.
        let shards = root.join(SHARDS);
        files::remove(&shards).map_err(|error| cannot_write(&shards, &error))?;
        let mut folder = Folder::held(root, file, None);
        folder.complete(study, ours)?;
        if has_fewer_seeds {
            folder.extend(study, library, &path, ours)?;
        }
        Ok(folder)
    }

    fn open_shard(
        study: &Study,
        options: &Options,
        ours: &StudyFile,
        shard: Shard,
        progress: &dyn Progress,
    ) -> Result<Folder, EngineError> {
        let root = options.out.clone();
        if options.fresh {
            let message = "would delete the results of other shards too; expected a new folder, or this folder deleted first";
            return Err(InputError::new("--fresh", message).into());
        }
        let path = root.join("study.json");
        if path.symlink_metadata().is_err() {
            make_study(&root, &path, &text(ours))?;
        }
        let mut file = files::open(&path, files::options().read(true).write(true))
            .map_err(|error| cannot_write(&path, &error))?;
        let has_locks = hold(&file, Hold::Together, &root, BUSY, progress)?;
        let theirs = read_study(&mut file, &path)?;
        if theirs.is_empty() {
            let message =
                "is empty, as a killed run leaves it; expected the whole run again, or a new folder";
            return Err(InputError::new(path.display(), message).into());
        }
        let theirs = same_study(&root, &theirs, ours, study)?;
        if theirs.axes != ours.axes {
            let message = "holds results for fewer seeds, and a shard does not renumber cases; expected a new folder, or a run \
                           without --shard";
            return Err(InputError::new(root.display(), message).into());
        }
        let (of_shard, is_held) = hold_shard(&root, shard, if has_locks { progress } else { &() })?;
        let cases = files::make_below(&root, "cases")?;
        if is_held {
            // Partial files of other shards may belong to runs on other machines, whose locks are not visible here.
            files::remove_left_for(&cases, |name| {
                let index = std::str::from_utf8(name).ok().and_then(index_of);
                index.is_some_and(|index| shard.has(index))
            });
        }
        let folder = Folder::held(root, file, Some((shard, of_shard)));
        folder.complete(study, ours)?;
        Ok(folder)
    }

    fn held(root: PathBuf, lock: File, shard: Option<(Shard, File)>) -> Folder {
        let (watch, flush_due) = (Stopwatch::start(), Mutex::new(FLUSH_EVERY));
        Folder { root, lock, shard, watch, flush_due }
    }

    /// Writes `scenario.toml` if it is missing.
    fn complete(&self, study: &Study, ours: &StudyFile) -> Result<(), InputError> {
        let path = self.root.join("scenario.toml");
        if files::is_file(&path) { Ok(()) } else { write_file(&path, &study.kept_source(&ours.records)) }
    }

    /// Extends a folder that has results for some of the study's seeds.
    fn extend(
        &mut self,
        study: &Study,
        library: &Library,
        path: &Path,
        ours: &StudyFile,
    ) -> Result<(), EngineError> {
        // These files hold the results of fewer seeds.
        for name in ["summary.json", "report.html"] {
            let path = self.root.join(name);
            files::remove(&path).map_err(|error| cannot_write(&path, &error))?;
        }
        // New names are taken only when all old ones are free: an id may have belonged to another case.
        for (id, partial) in extend::renumbered(&self.cases(), study, library)? {
            self.finish_case(&id, partial)?;
        }
        write_file(&self.root.join("scenario.toml"), &study.kept_source(&ours.records))?;
        write_in_place(&mut self.lock, &text(ours)).map_err(|error| cannot_write(path, &error))?;
        Ok(())
    }

    /// Path of the folder with one folder for each case.
    pub fn cases(&self) -> PathBuf {
        self.root.join("cases")
    }

    /// Path of the folder of a case.
    pub fn case(&self, id: &str) -> PathBuf {
        self.cases().join(id)
    }

    /// Begins the folder of a case, under a temporary name.
    pub fn begin_case(&self, id: &str) -> Result<Partial, InputError> {
        let path = self.case(id);
        Partial::folder(&path).map_err(|error| cannot_write(&path, &error))
    }

    /// Renames the complete folder of a case to its name. The data is flushed together with that of other cases, because a flush
    /// takes as long as a short run. Until then a power cut may damage files, which their digests reveal.
    pub fn finish_case(&self, id: &str, partial: Partial) -> Result<(), InputError> {
        let path = self.case(id);
        // An existing folder does not match its digests; a valid case would not have been run again.
        let finish = || {
            files::remove(&path)?;
            partial.settle()?;
            self.flush_if_due()
        };
        finish().map_err(|error| cannot_write(&path, &error))
    }

    /// Flushes the finished cases if a flush is due and no other thread is flushing.
    fn flush_if_due(&self) -> io::Result<()> {
        let Ok(mut due) = self.flush_due.try_lock() else { return Ok(()) };
        let begin = self.watch.seconds();
        if begin >= *due {
            files::flush_all(&self.root)?;
            let end = self.watch.seconds();
            *due = end + FLUSH_EVERY.max(10.0 * (end - begin));
        }
        Ok(())
    }

    /// Complete cases in the folder, without curves; with a shard, only its own. Cases whose path was changed by hand are not among them.
    pub fn finished(
        &self,
        study: &Study,
        library: &Library,
        options: &Options,
        progress: &dyn Progress,
    ) -> Result<BTreeMap<u64, CaseSummary>, EngineError> {
        let mut finished = BTreeMap::new();
        for (index, id) in cases_in(&self.cases(), study)? {
            if self.shard.as_ref().is_some_and(|(shard, _)| !shard.has(index)) {
                continue;
            }
            let case: Case = study.case(index, library)?;
            if case.id == id
                && let Some(summary) = self.read_case(&case, options)
            {
                if summary.changes == 0 {
                    finished.insert(index, summary);
                } else {
                    progress.warns(&format!("case {id} was changed by hand while it ran; it is run again"));
                }
            }
        }
        Ok(finished)
    }

    /// Figures of a case; `None` if a file is missing or does not match its digest.
    fn read_case(&self, case: &Case, options: &Options) -> Option<CaseSummary> {
        let folder = self.case(&case.id);
        if !files::is_folder(&folder) {
            return None;
        }
        let read = |name: &str| files::read_text(&folder.join(name)).ok();
        let summary: CaseSummary = serde_json::from_str(&read("summary.json")?).ok()?;
        let run: RunFile = serde_json::from_str(&read("run.json")?).ok()?;
        let packets = (options.packets || case.packets).then_some("packets.parquet");
        let series = (options.series && summary.series.is_some()).then_some("series.parquet");
        let tables: Vec<&str> = packets.into_iter().chain(series).collect();
        let is_as_written =
            digests::are_right(&folder, &[&["run.json", "summary.json"], &tables[..]].concat());
        (summary.id == case.id && run.id == case.id && is_as_written).then(|| summary.without_curves())
    }

    /// Flushes all cases, then writes and flushes the summary.
    pub fn finish(&self, summary: &Summary) -> Result<(), InputError> {
        self.flush()?;
        write_file(&self.root.join("summary.json"), &text(summary))?;
        files::sync_folder(&self.root).map_err(|error| cannot_write(&self.root, &error))
    }

    /// Flushes all cases to the disk.
    pub fn flush(&self) -> Result<(), InputError> {
        files::flush_all(&self.root).map_err(|error| cannot_write(&self.root, &error))
    }
}

/// The folders in `cases` that belong to cases of `study`, by index.
pub fn cases_in(cases: &Path, study: &Study) -> Result<BTreeMap<u64, String>, InputError> {
    let entries = fs::read_dir(cases).map_err(|error| cannot_write(cases, &error))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let indexed = names.filter_map(|name| Some((index_of(&name)?, name)));
    Ok(indexed
        .filter(|(index, name)| *index < study.case_count() && study.case_id(*index) == *name)
        .collect())
}

/// The index at the beginning of an id.
fn index_of(id: &str) -> Option<u64> {
    id.split('-').next().and_then(|digits| digits.parse().ok())
}

/// The text of `study.json`.
fn read_study(file: &mut File, path: &Path) -> Result<String, InputError> {
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| {
        let message = format!("cannot be read: {error}; expected a result folder, or a new name");
        InputError::new(path.display(), message)
    })?;
    Ok(text)
}

/// Creates a folder with its `study.json`, complete in one step: of several processes that start at once, one creates it.
fn make_study(root: &Path, path: &Path, text: &str) -> Result<(), InputError> {
    if let Err(error) = prepare(root) {
        // Another process may have created the folder meanwhile.
        return if path.symlink_metadata().is_ok() { Ok(()) } else { Err(error) };
    }
    let make = || {
        let partial = Partial::file(path)?;
        partial.handle().write_all(text.as_bytes())?;
        partial.finish_new()
    };
    let mut made = make();
    for _ in 0..STARTS {
        // Converting the lock to a shared one releases it for a moment, in which another process may remove the file as left
        // behind.
        if !made.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            break;
        }
        made = make();
    }
    match made {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(cannot_write(path, &error)),
        _ => Ok(()),
    }
}

/// Further attempts to create `study.json` while other processes do the same.
const STARTS: usize = 16;

/// Overwrites the contents of the file and flushes them to the disk.
fn write_in_place(file: &mut File, text: &str) -> io::Result<()> {
    if file.metadata()?.nlink() > 1 {
        return Err(io::Error::other("has another hard link, which would change too"));
    }
    file.set_len(0)?;
    file.rewind()?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // An empty file marks the interruption; the next run writes it anew.
        let _ = file.set_len(0);
    }
    written
}

/// Removes the files that runs write, except the locked `study.json`, and nothing else. Safe to repeat after a kill.
fn clear(root: &Path) -> Result<(), InputError> {
    for name in ["cases", SHARDS, "summary.json", "report.html", "scenario.toml"] {
        let path = root.join(name);
        files::remove(&path).map_err(|error| cannot_write(&path, &error))?;
    }
    Ok(())
}

/// Creates the folder, or accepts an empty one, so that nothing is overwritten.
fn prepare(root: &Path) -> Result<(), InputError> {
    let fail = |error| cannot_write(root, &error);
    if root.is_file() {
        return Err(InputError::new(root.display(), "is a file; expected a folder, or a new name for one"));
    }
    fs::create_dir_all(root).map_err(fail)?;
    let foreign = fs::read_dir(root)
        .map_err(fail)?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        // These names are left by a run that was killed before it wrote `study.json`.
        .find(|name| name != "study.json" && name != "scenario.toml" && !name.ends_with(".partial"));
    if let Some(name) = foreign {
        let message =
            format!("holds '{name}' and no results; expected an empty folder, or a new name for one");
        return Err(InputError::new(root.display(), message));
    }
    Ok(())
}
