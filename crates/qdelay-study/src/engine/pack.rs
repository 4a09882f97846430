//! Archives that reproduce a result folder byte for byte: scenario, shared objects, traces, Python components, and the digests of
//! the results.

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

/// File with the pickled Python classes and functions, written and read by the Python package.
pub const COMPONENTS: &str = "components.pickle";
/// File with the digests of the results, in the format of `sha256sum --check`.
const RESULTS: &str = "results.sha256";

/// Contents of an archive.
#[derive(Debug)]
pub struct PackOptions<'a> {
    /// Components that the scenario may name.
    pub registry: &'a Registry,
    /// Library that finds the traces.
    pub library: &'a Library,
    /// Additional files by name: [`COMPONENTS`] and the files that it needs.
    pub extra: BTreeMap<String, Vec<u8>>,
}

/// Packs the result folder `root` into the file `out`; returns the names of the packed files.
///
/// # Errors
/// The folder is incomplete, or an input is no longer available; the message names it and says what to do.
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
    // The check builds the cases, which makes the library read every trace.
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

/// Refuses results that no run can reproduce.
fn check(root: &Path, file: &StudyFile, has_components: bool) -> Result<(), InputError> {
    let refuse = |message: String| Err(InputError::new(root.display(), message));
    if let Some(clock) = file.overrides.get("clock") {
        return refuse(format!(
            "holds results under the {clock} clock, which cannot be reproduced; expected results of the simulator"
        ));
    }
    if let Some(what) = incomparable(&file.components) {
        return refuse(format!("{what}; expected components whose code and values are all known"));
    }
    match file.components.iter().next() {
        Some((name, parts)) if program(parts).is_some() => refuse(format!(
            "holds results of '{name}', a component of the program '{}'; expected components that are built in, in a shared object, or in Python",
            program(parts).unwrap_or_default()
        )),
        Some((name, _)) if !has_components => refuse(format!(
            "holds results of '{name}', a Python component; expected qdelay.pack in a Python program that registers it"
        )),
        _ => Ok(()),
    }
}

/// Checks that a file name is allowed in an archive.
fn packable(root: &Path, name: &str) -> Result<String, InputError> {
    match is_packable(name) {
        true => Ok(name.to_string()),
        false => Err(InputError::new(
            root.display(),
            format!(
                "was made with the file '{name}', whose name leads out of the scenario's folder; expected a file below it"
            ),
        )),
    }
}

fn shared_object(root: &Path, name: &str, digest: &str) -> Result<Vec<u8>, InputError> {
    let places = [root.join(name), PathBuf::from(name)];
    let found = places.iter().find(|path| digests::sha256_of_file(path).is_ok_and(|found| found == digest));
    let bytes = found.and_then(|path| files::read(path).ok());
    bytes.ok_or_else(|| {
        let message = format!(
            "was made with '{name}' (SHA-256 {digest}), which is neither there nor in the current folder; expected that file in one of them"
        );
        InputError::new(root.display(), message)
    })
}

/// The digests of the summary and of all cases.
fn results(root: &Path, study: &Study) -> Result<String, InputError> {
    let ids = (0..study.case_count()).map(|index| format!("cases/{}/SHA256SUMS", study.case_id(index)));
    let mut lines = String::new();
    for name in std::iter::once("summary.json".to_string()).chain(ids) {
        files::find_below(root, name.rsplit_once('/').map_or("", |(folder, _)| folder))?;
        let digest = digests::sha256_of_file(&root.join(&name)).map_err(|_| {
            InputError::new(root.display(), format!("has no {name}; expected a run that has ended"))
        })?;
        lines += &format!("{digest}  {name}\n");
    }
    Ok(lines)
}

/// An unpacked archive; its temporary folder is removed when it is dropped.
#[derive(Debug)]
pub struct Unpacked {
    folder: Scratch,
    /// Study that the archive contains.
    pub study: StudyFile,
}

impl Unpacked {
    /// Unpacks `path`; `None` if the file is not an archive.
    ///
    /// # Errors
    /// The archive was not made by [`pack`].
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

    /// Path of the scenario, in a folder with all files that it names.
    pub fn scenario(&self) -> PathBuf {
        self.folder.path().join("scenario.toml")
    }

    /// Names of the result files in `out` that differ from the packed ones; `None` if `out` belongs to another study.
    pub fn differing(&self, out: &Path) -> Option<Vec<String>> {
        let text = |folder: &Path, name: &str| files::read_text(&folder.join(name)).ok();
        let ours = text(out, "study.json")?;
        if text(self.folder.path(), "study.json")? != ours {
            return None;
        }
        let digests = text(self.folder.path(), RESULTS)?;
        let named = digests.lines().filter_map(|line| line.split_once("  "));
        let differs = |(digest, name): &(&str, &str)| {
            digests::sha256_of_file(&out.join(name)).ok().as_deref() != Some(*digest)
        };
        Some(named.filter(differs).map(|(_, name)| name.to_string()).collect())
    }
}
