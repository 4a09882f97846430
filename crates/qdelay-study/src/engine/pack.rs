//! An archive of what a results folder was made of, which runs again to the same bytes: scenario, shared objects, traces, components of
//! Python; and the digests of the results.

use super::archive::{is_archive, is_packable, unpack, write};
use super::identity::incomparable;
use super::merge::{open, study_of};
use super::missing::program;
use super::{Progress, digests};
use crate::InputError;
use crate::files::{self, Scratch};
use crate::results::StudyFile;
use crate::scenario::Study;
use crate::traces::Library;
use qdelay_core::component::Registry;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The classes and functions of Python, as its package writes and reads them.
pub const COMPONENTS: &str = "components.pickle";
/// The digests of the results, as `sha256sum --check` reads them in their folder.
const RESULTS: &str = "results.sha256";

/// What an archive is made of.
#[derive(Debug)]
pub struct PackOptions<'a> {
    /// The components that the scenario may name.
    pub registry: &'a Registry,
    /// Finds the traces.
    pub library: &'a Library,
    /// Further files, by name: [`COMPONENTS`] and what belongs to it.
    pub extra: BTreeMap<String, Vec<u8>>,
}

/// Packs the results folder `root` into the file `out`; returns the names of its files.
///
/// # Errors
/// The folder is not complete, or something that it was made of cannot be had again: which, and what to do.
pub fn pack(
    root: &Path,
    out: &Path,
    options: PackOptions<'_>,
    progress: &dyn Progress,
) -> Result<Vec<String>, InputError> {
    let PackOptions { registry, library, extra } = options;
    let source = open(root, progress)?;
    let study = study_of(&source, registry)?;
    let file = &source.file;
    check(root, file, extra.contains_key(COMPONENTS))?;
    let mut contents = extra;
    contents.insert("scenario.toml".to_string(), study.kept_source(&file.records).into_bytes());
    contents.insert("study.json".to_string(), source.text.clone().into_bytes());
    contents.insert(RESULTS.to_string(), results(root, &study)?.into_bytes());
    for (name, digest) in &file.component_files {
        contents.insert(packable(root, name)?, shared_object(root, name, digest)?);
    }
    study.check(library)?;
    if let Some((name, _)) = file.traces.iter().find(|(name, used)| library.used().get(*name) != Some(*used))
    {
        let message = format!(
            "holds results on another trace '{name}'; expected that trace, with --traces for its folder"
        );
        return Err(InputError::new(root.display(), message));
    }
    for (name, path) in library.files() {
        let bytes = fs::read(&path).map_err(|error| {
            InputError::new(path.display(), format!("cannot be read: {error}; expected the trace '{name}'"))
        })?;
        contents.insert(packable(root, &name)?, bytes);
    }
    write(out, &contents)?;
    Ok(contents.into_keys().collect())
}

/// Refuses what no run gives again.
fn check(root: &Path, file: &StudyFile, has_components: bool) -> Result<(), InputError> {
    let refuse = |message: String| Err(InputError::new(root.display(), message));
    if let Some(clock) = file.overrides.get("clock") {
        return refuse(format!(
            "holds results under the {clock} clock, which no run gives again; expected those of the simulator"
        ));
    }
    if let Some(what) = incomparable(&file.components) {
        return refuse(format!("{what}; expected components whose code and values are all known"));
    }
    match file.components.iter().next() {
        Some((name, parts)) if program(parts).is_some() => refuse(format!(
            "holds results of '{name}', a component of the program '{}'; expected components that are built in, in a shared object or of Python",
            program(parts).unwrap_or_default()
        )),
        Some((name, _)) if !has_components => refuse(format!(
            "holds results of '{name}', a component of Python; expected qdelay.pack in a program of Python that has it registered"
        )),
        _ => Ok(()),
    }
}

/// The name of a file in the archive.
fn packable(root: &Path, name: &str) -> Result<String, InputError> {
    match is_packable(name) {
        true => Ok(name.to_string()),
        false => Err(InputError::new(
            root.display(),
            format!(
                "was made with the file '{name}', whose name leads elsewhere; expected one below the scenario's folder"
            ),
        )),
    }
}

fn shared_object(root: &Path, name: &str, digest: &str) -> Result<Vec<u8>, InputError> {
    let places = [root.join(name), PathBuf::from(name)];
    let found = places.iter().find(|path| digests::of(path).is_ok_and(|found| found == digest));
    let bytes = found.and_then(|path| files::read(path).ok());
    bytes.ok_or_else(|| {
        let message = format!(
            "was made with '{name}' (SHA-256 {digest}), which is neither there nor in the current folder; expected that file in one of them"
        );
        InputError::new(root.display(), message)
    })
}

/// The digests of the summary and of every case.
fn results(root: &Path, study: &Study) -> Result<String, InputError> {
    let ids = (0..study.case_count()).map(|index| format!("cases/{}/SHA256SUMS", study.case_id(index)));
    let mut lines = String::new();
    for name in std::iter::once("summary.json".to_string()).chain(ids) {
        files::find_below(root, name.rsplit_once('/').map_or("", |(folder, _)| folder))?;
        let digest = digests::of(&root.join(&name)).map_err(|_| {
            InputError::new(root.display(), format!("has no {name}; expected a run that has ended"))
        })?;
        lines += &format!("{digest}  {name}\n");
    }
    Ok(lines)
}

/// An archive that was unpacked, until it is dropped.
#[derive(Debug)]
pub struct Unpacked {
    folder: Scratch,
    /// The study that it was made of.
    pub study: StudyFile,
}

impl Unpacked {
    /// Unpacks `path`; `None` where it is no archive.
    ///
    /// # Errors
    /// It is not one of [`pack`].
    pub fn open(path: &Path) -> Result<Option<Unpacked>, InputError> {
        if !is_archive(path) {
            return Ok(None);
        }
        let folder = Scratch::new("qdelay-unpacked").map_err(|error| files::cannot_write(path, &error))?;
        unpack(path, folder.path())?;
        let study = files::read_text(&folder.path().join("study.json")).ok();
        let study = study.and_then(|text| serde_json::from_str::<StudyFile>(&text).ok());
        match study {
            Some(study) if folder.path().join("scenario.toml").is_file() => {
                Ok(Some(Unpacked { folder, study }))
            }
            _ => Err(InputError::new(
                path.display(),
                "has no study.json and scenario.toml; expected an archive of 'qdelay pack'",
            )),
        }
    }

    /// Its scenario, beside all files that it names.
    pub fn scenario(&self) -> PathBuf {
        self.folder.path().join("scenario.toml")
    }

    /// The files of the results in `out` that are others than those that were packed; `None` where `out` is of another study.
    pub fn differing(&self, out: &Path) -> Option<Vec<String>> {
        let text = |folder: &Path, name: &str| files::read_text(&folder.join(name)).ok();
        let ours = text(out, "study.json")?;
        if text(self.folder.path(), "study.json")? != ours {
            return None;
        }
        let digests = text(self.folder.path(), RESULTS)?;
        let named = digests.lines().filter_map(|line| line.split_once("  "));
        let differs =
            |(digest, name): &(&str, &str)| digests::of(&out.join(name)).ok().as_deref() != Some(*digest);
        Some(named.filter(differs).map(|(_, name)| name.to_string()).collect())
    }
}
