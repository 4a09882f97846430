//! Stored real runs: a file for each cell or case, with all of its runs.

use qdelay_study::InputError;
use qdelay_study::files::{self, cannot_write, write_file};
use qdelay_study::results::text;
use qdelay_terminal::error::Failure;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

const SCHEMA_VERSION: u32 = 1;

/// Identification of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name of the file's cell or case.
    pub name: String,
    /// File name without the extension; different for runs of another duration.
    pub file: String,
    /// Settings that must equal those of an earlier run for that run to count.
    pub settings: String,
}

/// File contents for writing.
#[derive(Serialize)]
struct Written<'a, A> {
    schema_version: u32,
    qdelay: &'static str,
    /// Kind of entry, and its name.
    #[serde(flatten)]
    of: BTreeMap<&'static str, &'a str>,
    settings: &'a str,
    runs: &'a [A],
}

/// File contents for reading.
#[derive(Deserialize)]
struct Read<A> {
    qdelay: String,
    settings: String,
    runs: Vec<A>,
}

/// Folder of runs of the type `A`.
pub struct Store<A> {
    folder: PathBuf,
    /// `cell` or `case`.
    what: &'static str,
    runs: PhantomData<A>,
}

impl<A: Serialize + DeserializeOwned> Store<A> {
    /// Creates or opens the folder; deletes its contents if `fresh`. Each file describes a `what`, in the subfolder `whats`.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn open(folder: PathBuf, what: &'static str, fresh: bool) -> Result<Store<A>, Failure> {
        let store = Store { folder, what, runs: PhantomData };
        if fresh {
            files::remove(&store.files()).map_err(|error| cannot_write(&store.files(), &error))?;
        }
        files::make_below(&store.folder, &format!("{what}s"))?;
        Ok(store)
    }

    /// Path of the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stored runs with the same settings and program version.
    pub fn read(&self, entry: &Entry) -> Vec<A> {
        let file = files::read_text(&self.path(entry)).ok();
        let file: Option<Read<A>> = file.and_then(|text| serde_json::from_str(&text).ok());
        let is_same =
            |file: &Read<A>| file.settings == entry.settings && file.qdelay == env!("CARGO_PKG_VERSION");
        file.filter(is_same).map(|file| file.runs).unwrap_or_default()
    }

    /// Writes all runs.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, entry: &Entry, runs: &[A]) -> Result<(), InputError> {
        let file = Written {
            schema_version: SCHEMA_VERSION,
            qdelay: env!("CARGO_PKG_VERSION"),
            of: BTreeMap::from([(self.what, entry.name.as_str())]),
            settings: &entry.settings,
            runs,
        };
        write_file(&self.path(entry), &text(&file))
    }

    fn files(&self) -> PathBuf {
        self.folder.join(format!("{}s", self.what))
    }

    fn path(&self, entry: &Entry) -> PathBuf {
        self.files().join(format!("{}.json", entry.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_written_is_read_again_under_the_same_settings() {
        let folder = std::env::temp_dir().join(format!("qdelay-store-{}", std::process::id()));
        let entry = |settings: &str| Entry {
            name: "a, b".to_string(),
            file: "a-b".to_string(),
            settings: settings.to_string(),
        };
        let store: Store<u32> = Store::open(folder.clone(), "cell", true).unwrap();
        assert!(store.read(&entry("x")).is_empty());
        store.write(&entry("x"), &[1, 2]).unwrap();
        assert_eq!((store.read(&entry("x")), store.read(&entry("y"))), (vec![1, 2], vec![]));
        let file = fs::read_to_string(folder.join("cells/a-b.json")).unwrap();
        let file: serde_json::Value = serde_json::from_str(&file).unwrap();
        assert_eq!((&file["cell"], &file["runs"][1]), (&"a, b".into(), &2.into()));
        let again: Store<u32> = Store::open(folder.clone(), "cell", false).unwrap();
        assert_eq!((again.read(&entry("x")), again.folder()), (vec![1, 2], folder.as_path()));
        let fresh: Store<u32> = Store::open(folder.clone(), "cell", true).unwrap();
        assert!(fresh.read(&entry("x")).is_empty());
        // Symbolic links in the folder are not followed.
        let file = folder.join("cells/a-b.json");
        fresh.write(&entry("x"), &[7]).unwrap();
        fs::rename(&file, folder.join("mine")).unwrap();
        std::os::unix::fs::symlink(folder.join("mine"), &file).unwrap();
        assert!(fresh.read(&entry("x")).is_empty());
        fresh.write(&entry("x"), &[8]).unwrap();
        assert!(fs::read_to_string(folder.join("mine")).unwrap().contains('7'));
        assert_eq!(fresh.read(&entry("x")), [8]);
        fs::rename(folder.join("cells"), folder.join("others")).unwrap();
        std::os::unix::fs::symlink("others", folder.join("cells")).unwrap();
        assert!(Store::<u32>::open(folder.clone(), "cell", false).is_err());
        Store::<u32>::open(folder.clone(), "cell", true).unwrap();
        assert!(folder.join("others/a-b.json").exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
