//! Merges the folders of the shards of a study into one, byte for byte as a single run would write it.
//!
//! Each case is checked against its digests while it is copied. The new folder appears in one step.

use super::folder::cases_in;
use super::identity::{OF_LINK, difference, incomparable, study_file};
use super::lock::{Hold, hold, shards};
use super::missing::missing_component;
use super::{EngineError, Options, Progress, Shard, digests, pool, summary_of};
use crate::InputError;
use crate::files::{self, Partial, cannot_write, write_file};
use crate::results::{CaseSummary, StudyFile, Summary, other_schema, text};
use crate::scenario::overrides::{OVERRIDES, SEEDS};
use crate::scenario::{Overrides, Study, origin};
use crate::traces::{Library, digest_of};
use qdelay_core::component::Registry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Most shards or cases that an error lists.
const NAMED: usize = 8;

/// A merged folder that is complete, but still has a temporary name.
#[derive(Debug)]
pub struct Merged {
    /// Summary of the study.
    pub summary: Summary,
    /// The folder with a temporary name; removed if it is dropped.
    partial: Partial,
    out: PathBuf,
}

impl Merged {
    /// Temporary path; its last part is the final name of the folder.
    pub fn path(&self) -> PathBuf {
        inside(&self.partial, &self.out)
    }

    /// Renames the folder to its final path, and flushes it to the disk.
    ///
    /// # Errors
    /// The path exists by now, or the disk fails.
    pub fn finish(self) -> Result<Summary, InputError> {
        refuse_existing(&self.out)?;
        let place = || {
            files::flush_all(self.partial.path())?;
            fs::rename(self.path(), &self.out)?;
            files::sync_folder(parent(&self.out))
        };
        place().map_err(|error| cannot_write(&self.out, &error))?;
        Ok(self.summary)
    }
}

/// A result folder to merge or pack.
pub(super) struct Source {
    root: PathBuf,
    /// `study.json`, with a shared lock against runs of the whole study.
    _lock: File,
    /// Text of `study.json`.
    pub(super) text: String,
    pub(super) file: StudyFile,
}

/// Options of a merge.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// Components that the scenario may name.
    pub registry: Registry,
    /// Number of cases copied in parallel, at least 1.
    pub jobs: usize,
    /// True if component parts that cannot be compared count as equal.
    pub is_unverified: bool,
}

/// Merges `folders`, each with results for cases of the same study, into the new folder `out`.
///
/// # Errors
/// `out` exists; a folder is not a result folder, or belongs to another study or version; a case is missing or damaged, is a
/// symbolic link, or occurs twice with different contents.
pub fn merge(
    folders: &[PathBuf],
    out: &Path,
    options: &MergeOptions,
    progress: &dyn Progress,
) -> Result<Merged, EngineError> {
    refuse_existing(out)?;
    let sources = folders.iter().map(|root| open(root, progress)).collect::<Result<Vec<Source>, _>>()?;
    let Some(first) = sources.first() else {
        return Err(InputError::new("merge", "no folder is given; expected the folders of all shards").into());
    };
    let study = study_of(first, &options.registry)?;
    sources[1..].iter().try_for_each(|source| same_as(source, first, options.is_unverified))?;
    let mut places: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    for Source { root, .. } in &sources {
        let cases = files::find_below(root, "cases")?;
        if files::is_folder(&cases) {
            for (index, id) in cases_in(&cases, &study)? {
                // A symbolic link in place of a case would lead out of the folder.
                places.entry(index).or_default().push(files::find_below(&cases, &id)?);
            }
        }
    }
    let count = study.case_count();
    if (places.len() as u64) < count {
        let missing: Vec<u64> =
            (0..count).filter(|index| !places.contains_key(index)).take(MISSING_LISTED).collect();
        return Err(incomplete(&sources, &study, &missing, count - places.len() as u64, "missing").into());
    }
    progress.begins(&study.name, count, 0);
    // Partial folders are left from killed merges.
    files::remove_left(parent(out), out.file_name());
    let partial = Partial::folder(out).map_err(|error| cannot_write(out, &error))?;
    let whole = inside(&partial, out);
    let cases = files::make_below(&whole, "cases")?;
    let take = |index: u64| {
        let taken = places.get(&index).map_or(Ok(None), |found| copy_case(found, &cases));
        progress.case_done();
        taken.map_err(EngineError::from)
    };
    let mut taken = pool::on_threads(0..count, options.jobs, take)?;
    taken.sort_unstable_by_key(|(index, _)| *index);
    let damaged: Vec<u64> =
        taken.iter().filter(|(_, case)| case.is_none()).map(|(index, _)| *index).collect();
    if !damaged.is_empty() {
        let number = damaged.len() as u64;
        return Err(incomplete(&sources, &study, &damaged, number, "damaged").into());
    }
    let cases = taken.into_iter().filter_map(|(_, case)| case).collect();
    let clock = first.file.overrides.get("clock").map(String::as_str);
    let study = study.with_components(first.file.components.clone(), options.is_unverified);
    let summary = summary_of(&study, &first.file.traces, cases, clock);
    write_file(&whole.join("scenario.toml"), &study.kept_source(&first.file.records))?;
    write_file(&whole.join("study.json"), &first.text)?;
    write_file(&whole.join("summary.json"), &text(&summary))?;
    Ok(Merged { summary, partial, out: out.to_path_buf() })
}

/// Most missing cases that are assigned to shards for the error.
const MISSING_LISTED: usize = 1_000_000;

fn refuse_existing(out: &Path) -> Result<(), InputError> {
    if out.symlink_metadata().is_ok() {
        return Err(InputError::new(out.display(), "exists already; expected a new name for a folder"));
    }
    match out.file_name() {
        Some(_) if parent(out).is_dir() => Ok(()),
        Some(_) => Err(InputError::new(
            parent(out).display(),
            "is not a folder; expected the folder that will contain the merged one",
        )),
        None => Err(InputError::new(out.display(), "is not the name of a folder; expected a new one")),
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Folder with the final name inside the temporary one, because report pages contain the name.
fn inside(partial: &Partial, out: &Path) -> PathBuf {
    partial.path().join(out.file_name().unwrap_or_default())
}

/// Opens a result folder with a shared lock against runs of the whole study.
pub(super) fn open(root: &Path, progress: &dyn Progress) -> Result<Source, InputError> {
    let refuse = |what: &str| {
        let message = format!("{what}; expected a folder of 'qdelay run'");
        Err(InputError::new(root.display(), message))
    };
    if !root.is_dir() {
        return refuse(if root.exists() { "is no folder" } else { "does not exist" });
    }
    let path = root.join("study.json");
    if path.symlink_metadata().is_err() {
        return refuse("has no study.json");
    }
    // The lock is taken before the file is read, so that no run changes the file in between.
    let lock = match files::open(&path, files::options().read(true)) {
        Ok(lock) => lock,
        Err(error) => return refuse(&format!("study.json cannot be read: {error}")),
    };
    let busy = "a run of the whole study is writing to it; expected that one to end first";
    hold(&lock, Hold::Together, root, busy, progress)?;
    let text = match files::read_text(&path) {
        Ok(text) => text,
        Err(error) => return refuse(&format!("study.json cannot be read: {error}")),
    };
    let Ok(file) = serde_json::from_str::<StudyFile>(&text) else {
        return refuse("has an invalid study.json");
    };
    if file.is_of_link() {
        return refuse(OF_LINK);
    }
    Ok(Source { root: root.to_path_buf(), _lock: lock, text, file })
}

/// The study of a folder, parsed again from its scenario.
pub(super) fn study_of(source: &Source, registry: &Registry) -> Result<Study, InputError> {
    let Source { root, file, .. } = source;
    let place = root.join("scenario.toml");
    let refuse = |message: String| Err(InputError::new(root.display(), message));
    if let Some(message) = other_schema(file.schema_version) {
        return refuse(message);
    }
    let version = env!("CARGO_PKG_VERSION");
    if file.qdelay != version {
        return refuse(format!(
            "holds results of version {}, and this is {version}; expected the version of its runs",
            file.qdelay
        ));
    }
    let source = match files::read_text(&place) {
        Ok(source) => source,
        Err(error) => {
            let message = format!("cannot be read: {error}; expected the scenario, as runs copy it");
            return Err(InputError::new(place.display(), message));
        }
    };
    let mut overrides = Overrides::default();
    for declared in OVERRIDES.iter().filter(|declared| declared.key != SEEDS) {
        if let Some(text) = file.overrides.get(declared.key) {
            // A text that this program did not write makes another study, which the comparison below refuses.
            let _ = (declared.set)(&mut overrides, text);
        }
    }
    let seeds = file.overrides.contains_key(SEEDS).then(|| file.axes.last()).flatten();
    overrides.seeds = seeds.map(|axis| axis.labels.iter().filter_map(|label| label.parse().ok()).collect());
    let changed = || refuse("scenario.toml was changed; expected the copy that the run wrote".to_string());
    if digest_of(origin::body(&source).as_bytes()) != file.source {
        return changed();
    }
    let mut study = Study::parse_with(&place.to_string_lossy(), &source, &overrides, registry)
        .map_err(|error| missing_component(&place, error))?;
    study.name.clone_from(&file.scenario);
    if study.kept_source(&file.records) != source {
        return changed();
    }
    // These options give what this program would write; `study.json` adds what a scenario does not show.
    let options = Options {
        out: PathBuf::new(),
        jobs: 1,
        fresh: false,
        packets: false,
        series: false,
        commit: file.commit.clone(),
    };
    let ours = study_file(&study, &Library::new(), &options, file.overrides.get("clock").map(String::as_str));
    if let Some(name) =
        file.component_files.iter().find(|known| ours.component_files.get(known.0) != Some(known.1))
    {
        let message = format!(
            "holds results of another file '{}' (its SHA-256 differs); expected the file of its runs",
            name.0
        );
        return Err(InputError::new(root.display(), message));
    }
    let known = StudyFile {
        records: file.records.clone(),
        traces: file.traces.clone(),
        components: file.components.clone(),
        ..ours
    };
    match known == *file {
        true => Ok(study),
        false => refuse(
            "study.json and scenario.toml do not belong together; expected both as a run wrote them"
                .to_string(),
        ),
    }
}

fn same_as(source: &Source, first: &Source, is_unverified: bool) -> Result<(), InputError> {
    let name = first.root.display().to_string();
    if !is_unverified && let Some(what) = incomparable(&source.file.components) {
        let message =
            format!("{what}; expected unverified=True if you know that it is the same in all folders");
        return Err(InputError::new(source.root.display(), message));
    }
    let seeds = |file: &StudyFile| file.axes.last().map_or(String::new(), |axis| axis.labels.join(","));
    // `difference` leaves out the axes, because a folder may be extended to more seeds; shards must have the same seeds.
    let what = difference(&source.file, &first.file, &name).or_else(|| {
        if source.file.axes != first.file.axes {
            return Some(format!(
                "holds results for the seeds {}, and {name} for {}",
                seeds(&source.file),
                seeds(&first.file)
            ));
        }
        (source.file != first.file).then(|| format!("holds results of another study than {name}"))
    });
    match what {
        None => Ok(()),
        Some(what) => {
            let message = format!("{what}; expected folders of one study");
            Err(InputError::new(source.root.display(), message))
        }
    }
}

/// Copies a case from the first of `places` where it matches its digests; `None` if there is none. All valid copies must be
/// equal.
fn copy_case(places: &[PathBuf], cases: &Path) -> Result<Option<CaseSummary>, InputError> {
    let mut taken: Option<(&Path, String, CaseSummary)> = None;
    for place in places {
        let Some(sums) = digests::text_of(place) else { continue };
        match &taken {
            Some((_, other, _)) if *other == sums => {}
            // A damaged copy is ignored; a valid copy with other bytes is an error.
            Some((other, ..)) => {
                if digests::are_right(place, &FILES) {
                    let message = format!(
                        "differs from {}; expected the same bytes of both, or only one of them",
                        other.display()
                    );
                    return Err(InputError::new(place.display(), message));
                }
            }
            None => {
                let Some(id) = place.file_name() else { continue };
                let copy = cases.join(id);
                fs::create_dir(&copy).map_err(|error| cannot_write(&copy, &error))?;
                match digests::copy(place, &copy, &sums, &FILES)?.then(|| summary_in(&copy)).flatten() {
                    Some(summary) => taken = Some((place.as_path(), sums, summary)),
                    None => files::remove(&copy).map_err(|error| cannot_write(&copy, &error))?,
                }
            }
        }
    }
    Ok(taken.map(|(_, _, summary)| summary))
}

/// Files that every case has.
const FILES: [&str; 2] = ["run.json", "summary.json"];

fn summary_in(case: &Path) -> Option<CaseSummary> {
    let text = files::read_text(&case.join("summary.json")).ok()?;
    let summary: CaseSummary = serde_json::from_str(&text).ok()?;
    (case.file_name()?.to_str()? == summary.id).then(|| summary.without_curves())
}

/// The error for `number` cases that are missing or damaged: the shards that they belong to, and the folders where these were
/// run.
fn incomplete(sources: &[Source], study: &Study, cases: &[u64], number: u64, what: &str) -> InputError {
    let begun: Vec<(Shard, &Path)> = sources
        .iter()
        .flat_map(|source| shards(&source.root).into_iter().map(|shard| (shard, source.root.as_path())))
        .collect();
    let numbers: BTreeSet<u64> = begun.iter().map(|(shard, _)| shard.total()).collect();
    let named = |words: Vec<String>| {
        let more = words.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        words.into_iter().take(NAMED).collect::<Vec<String>>().join(", ") + &rest
    };
    // The shard of a case is known only if all folders have the same number of shards.
    let of = match (numbers.first(), numbers.len()) {
        (Some(of), 1) => {
            let lacking: BTreeSet<Shard> =
                cases.iter().filter_map(|case| Shard::containing(*case, *of)).collect();
            let words = lacking.iter().map(|shard| {
                let place = begun.iter().find(|(other, _)| other == shard);
                let place = place.map_or("not among these folders".to_string(), |(_, root)| {
                    format!("in {}", root.display())
                });
                format!("{shard} ({place})")
            });
            format!(
                "shards {}; expected each to be run to its end, by the same command again",
                named(words.collect())
            )
        }
        _ => {
            let words = cases.iter().map(|case| study.case_id(*case)).collect();
            format!("{}; expected all of them, by repeating the commands of these folders", named(words))
        }
    };
    let place = if sources.len() == 1 { sources[0].root.display().to_string() } else { "merge".to_string() };
    InputError::new(place, format!("{number} of {} cases are {what}: {of}", study.case_count()))
}
