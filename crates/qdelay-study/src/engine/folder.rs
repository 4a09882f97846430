//! The folder of a study: the study that it belongs to, the cases that it has already, and the lock against other writers.

use super::{EngineError, Options, digests, extend};
use crate::InputError;
use crate::cost::Stopwatch;
use crate::files::{self, Partial, cannot_write, write_file};
use crate::results::{AxisFile, CaseSummary, RunFile, SCHEMA_VERSION, StudyFile, Summary, text};
use crate::scenario::{Case, Study};
use crate::traces::{Library, digest_of};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The digests of cases, as `study.json` names them.
const DIGESTS: &str = "sha256";

/// A result folder, held against others until it is dropped.
pub struct Folder {
    root: PathBuf,
    /// Of a version that wrote no digests: a case without them is looked at as well as can be.
    is_without_digests: bool,
    /// `study.json`, locked.
    lock: File,
    /// Since it was opened; and when, in seconds, cases are flushed to the disk again.
    watch: Stopwatch,
    flush_due: Mutex<f64>,
}

/// Cases are flushed no more often than that, in seconds, and for no more than a tenth of the time.
const FLUSH_EVERY: f64 = 1.0;

impl Folder {
    /// Makes the folder, or takes one that is of the same study. No file in it is changed before the lock is held: `study.json`
    /// is created once and afterwards only written in place, so that all
    /// processes lock the same file.
    pub fn open(
        study: &Study,
        library: &Library,
        options: &Options,
        clock: Option<&str>,
    ) -> Result<Folder, EngineError> {
        let root = options.out.clone();
        let ours = study_file(study, library, options, clock);
        let path = root.join("study.json");
        let is_there = path.symlink_metadata().is_ok();
        if !is_there {
            prepare(&root)?;
        }
        let mut options_of_file = files::options();
        options_of_file.read(true).write(true).create(!is_there).truncate(false);
        let mut file = files::open(&path, &options_of_file).map_err(|error| cannot_write(&path, &error))?;
        hold(&file, &root)?;
        let mut theirs = String::new();
        file.read_to_string(&mut theirs).map_err(|error| {
            let message = format!("cannot be read: {error}; expected a result folder, or a new name");
            InputError::new(path.display(), message)
        })?;
        let (mut is_without_digests, mut has_fewer_seeds) = (false, false);
        if theirs.is_empty() {
            // The folder is new, or its run was killed before `study.json` had been written.
            prepare(&root)?;
        } else if options.fresh {
            clear(&root)?;
        } else {
            let theirs = same_study(&root, &theirs, &ours)?;
            is_without_digests = theirs.digests.is_none();
            has_fewer_seeds = theirs.axes != ours.axes;
        }
        if theirs.is_empty() || options.fresh {
            write_file(&root.join("scenario.toml"), &study.source)?;
            write_in_place(&mut file, &text(&ours)).map_err(|error| cannot_write(&path, &error))?;
        }
        let cases = files::make_below(&root, "cases")?;
        // Partial files of killed runs.
        [&root, &cases].into_iter().for_each(|folder| files::remove_left(folder, None));
        let (watch, flush_due) = (Stopwatch::start(), Mutex::new(FLUSH_EVERY));
        let mut folder = Folder { root, is_without_digests, lock: file, watch, flush_due };
        if has_fewer_seeds {
            folder.extend(study, library, &path, &ours)?;
        }
        Ok(folder)
    }

    /// The folder has results for some of the study's seeds.
    fn extend(
        &mut self,
        study: &Study,
        library: &Library,
        path: &Path,
        ours: &StudyFile,
    ) -> Result<(), EngineError> {
        // Of fewer seeds.
        for name in ["summary.json", "report.html"] {
            let path = self.root.join(name);
            files::remove(&path).map_err(|error| cannot_write(&path, &error))?;
        }
        extend::extend(self, study, library)?;
        write_in_place(&mut self.lock, &text(ours)).map_err(|error| cannot_write(path, &error))?;
        Ok(())
    }

    /// The folder of the cases' folders.
    pub fn cases(&self) -> PathBuf {
        self.root.join("cases")
    }

    /// The path of the case's folder.
    pub fn case(&self, id: &str) -> PathBuf {
        self.cases().join(id)
    }

    /// A place for the case's files until they are whole.
    pub fn begin_case(&self, id: &str) -> Result<Partial, InputError> {
        let path = self.case(id);
        Partial::folder(&path).map_err(|error| cannot_write(&path, &error))
    }

    /// The case's files are whole: they take their place in one step. They are flushed with those of other cases, because flushing takes as long as
    /// a short run; what a power cut leaves of them until then has not its digests.
    pub fn finish_case(&self, id: &str, partial: Partial) -> Result<(), InputError> {
        let path = self.case(id);
        // The existing folder does not match its digests: otherwise the case would not have been run again.
        let finish = || {
            files::remove(&path)?;
            partial.settle()?;
            self.flush_if_due()
        };
        finish().map_err(|error| cannot_write(&path, &error))
    }

    /// Flushes the cases so far, if that is due and nobody else is doing it.
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

    /// The cases that exist and are complete, without their curves.
    pub fn finished(
        &self,
        study: &Study,
        library: &Library,
        options: &Options,
    ) -> Result<BTreeMap<u64, CaseSummary>, EngineError> {
        let cases = self.cases();
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
                && let Some(summary) = self.read_case(&case, options)
            {
                finished.insert(index, summary);
            }
        }
        Ok(finished)
    }

    /// The case's figures; `None` where any of its files is missing or not as it was written.
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
            digests::are_right(&folder, &[&["run.json", "summary.json"], &tables[..]].concat())
                .unwrap_or_else(|| {
                    self.is_without_digests && tables.iter().all(|name| is_whole_parquet(&folder.join(name)))
                });
        (summary.id == case.id && run.id == case.id && is_as_written).then(|| summary.without_curves())
    }

    /// Everything is done, and on the disk: the cases, then the summary.
    pub fn finish(&self, summary: &Summary) -> Result<(), InputError> {
        let fail = |error| cannot_write(&self.root, &error);
        files::flush_all(&self.root).map_err(fail)?;
        write_file(&self.root.join("summary.json"), &text(summary))?;
        files::sync_folder(&self.root).map_err(fail)
    }
}

/// A folder is written to by one run at a time.
fn hold(file: &File, root: &Path) -> Result<(), InputError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let message = "another run is writing to it; expected that one to end first, or another folder";
            Err(InputError::new(root.display(), message))
        }
        // A file system without locks: then two runs at once are the user's to avoid.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

/// Whether the file begins and ends as one that was closed does.
fn is_whole_parquet(path: &Path) -> bool {
    const MAGIC: [u8; 4] = *b"PAR1";
    let ends = || -> io::Result<[[u8; 4]; 2]> {
        let mut file = files::open(path, files::options().read(true))?;
        let mut ends = [[0; 4]; 2];
        file.read_exact(&mut ends[0])?;
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut ends[1])?;
        Ok(ends)
    };
    ends().is_ok_and(|ends| ends == [MAGIC; 2])
}

/// Overwrites the contents of the file and flushes them to the disk.
fn write_in_place(file: &mut File, text: &str) -> io::Result<()> {
    if file.metadata()?.nlink() > 1 {
        return Err(io::Error::other("has another name, which would be written to as well"));
    }
    file.set_len(0)?;
    file.rewind()?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // No partial contents remain: an empty file is written anew.
        let _ = file.set_len(0);
    }
    written
}

/// Takes away what runs leave, and nothing else, but for `study.json`, which is held: whoever is killed here may do it
/// again.
fn clear(root: &Path) -> Result<(), InputError> {
    for name in ["cases", "summary.json", "report.html", "scenario.toml"] {
        let path = root.join(name);
        files::remove(&path).map_err(|error| cannot_write(&path, &error))?;
    }
    Ok(())
}

/// A new folder, or an empty one: nothing is written over.
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
        // Files of a run that was killed before `study.json` had been written.
        .find(|name| name != "study.json" && name != "scenario.toml" && !name.ends_with(".partial"));
    if let Some(name) = foreign {
        let message =
            format!("holds '{name}' and no results; expected an empty folder, or a new name for one");
        return Err(InputError::new(root.display(), message));
    }
    Ok(())
}

fn study_file(study: &Study, library: &Library, options: &Options, clock: Option<&str>) -> StudyFile {
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
        overrides: overrides(options, clock),
        records,
        traces: library.used(),
        component_files: study.component_files().clone(),
        axes: axes(study),
        cases: study.case_count(),
        digests: Some(DIGESTS.to_string()),
    }
}

/// The changes of the command line, except seeds, which are an axis.
fn overrides(options: &Options, clock: Option<&str>) -> BTreeMap<String, String> {
    let duration = options.overrides.duration.map(|duration| ("duration".to_string(), duration.to_string()));
    let seeds =
        options.overrides.seeds.as_ref().map(|seeds| ("seeds".to_string(), format!("{} given", seeds.len())));
    let clock = clock.map(|clock| ("clock".to_string(), clock.to_string()));
    let starts = options.overrides.starts.map(|starts| ("starts".to_string(), starts.word().to_string()));
    duration.into_iter().chain(seeds).chain(clock).chain(starts).collect()
}

/// A point of the last axis, the seed, of `theirs` that `ours` has not.
fn not_ours<'a>(theirs: &'a [AxisFile], ours: &[AxisFile]) -> Option<&'a str> {
    let ours = ours.last().map_or(&[][..], |axis| &axis.labels);
    let theirs = theirs.last().map_or(&[][..], |axis| &axis.labels);
    theirs.iter().find(|label| !ours.contains(label)).map(String::as_str)
}

/// The axes as files have them.
pub fn axes(study: &Study) -> Vec<AxisFile> {
    let axis =
        |axis: &crate::scenario::Axis| AxisFile { name: axis.name.clone(), labels: axis.labels.clone() };
    study.axes.iter().map(axis).collect()
}

/// What `text` of `study.json` says, if it is of the same study as ours. Results of something else are not mixed with
/// ours; what differs is said.
fn same_study(root: &Path, text: &str, ours: &StudyFile) -> Result<StudyFile, InputError> {
    let refuse = |what: String| {
        let message = format!("{what}; expected a folder of the same study, a new name for one, or --fresh");
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
    if theirs.overrides.get("clock") != ours.overrides.get("clock") {
        let clock = |file: &StudyFile| file.overrides.get("clock").map_or("simulated", |c| c).to_string();
        return refuse(format!(
            "holds results under the {} clock, and this is {}",
            clock(&theirs),
            clock(ours)
        ));
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
    if let Some(seed) = not_ours(&theirs.axes, &ours.axes) {
        let message = format!(
            "holds results for seed {seed}, which is not among those of this run; expected all of its seeds and more of them, a new \
             name for a folder, or --fresh"
        );
        return Err(InputError::new(root.display(), message));
    }
    if theirs.overrides.get("starts") != ours.overrides.get("starts") {
        let starts =
            |file: &StudyFile| file.overrides.get("starts").map_or("the scenario's", |s| s).to_string();
        return refuse(format!(
            "holds results with {} starts, and this is with {}",
            starts(&theirs),
            starts(ours)
        ));
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
    if let Some(name) = differing(&theirs.component_files, &ours.component_files) {
        return refuse(format!("holds results of another file '{name}' (its SHA-256 differs)"));
    }
    // A folder without digests may be of the same study.
    let digests = theirs.digests.as_ref().and(ours.digests.as_ref());
    // Seeds are an axis, of which ours may have more points; the order of cases depends on it.
    let mut expected = StudyFile { digests: digests.cloned(), cases: theirs.cases, ..ours.clone() };
    if let (Some(seeds), Some(of_folder)) = (expected.axes.last_mut(), theirs.axes.last()) {
        seeds.labels.clone_from(&of_folder.labels);
    }
    match theirs.overrides.get("seeds") {
        Some(seeds) => expected.overrides.insert("seeds".to_string(), seeds.clone()),
        None => expected.overrides.remove("seeds"),
    };
    if theirs != expected {
        return refuse("holds results of another study".to_string());
    }
    Ok(theirs)
}

fn differing<T: PartialEq>(one: &BTreeMap<String, T>, other: &BTreeMap<String, T>) -> Option<String> {
    let names = one.keys().chain(other.keys());
    names.into_iter().find(|name| one.get(*name) != other.get(*name)).cloned()
}
