//! The real runs in their folder: a file for each case, with every run of it.

use super::cases::Row;
use super::judge::Figures;
use crate::error::Failure;
use qdelay_experiment::engine::{Ran, cannot_write, write_file};
use qdelay_experiment::results::{Audit, text};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};

const SCHEMA_VERSION: u32 = 1;

/// A run in real time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// What was measured.
    pub figures: Figures,
    /// Whether to believe it.
    pub audit: Audit,
}

impl Attempt {
    /// What came of a run.
    pub fn new(ran: &Ran) -> Attempt {
        Attempt { figures: Figures::of(&ran.outcome), audit: ran.audit.clone().unwrap_or_default() }
    }
}

#[derive(Serialize, Deserialize)]
struct CaseFile {
    schema_version: u32,
    qdelay: String,
    case: String,
    settings: String,
    runs: Vec<Attempt>,
}

/// A folder of cases.
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Makes the folder, or takes the one that is there; deletes what it has if `fresh`.
    ///
    /// # Errors
    /// It cannot be written to.
    pub fn open(folder: PathBuf, fresh: bool) -> Result<Store, Failure> {
        let cases = folder.join("cases");
        if fresh {
            match fs::remove_dir_all(&cases) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(cannot_write(&cases, &error).into());
                }
                _ => {}
            }
        }
        fs::create_dir_all(&cases).map_err(|error| cannot_write(&cases, &error))?;
        Ok(Store { folder })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The runs that are there under the same settings and by the same version.
    pub fn read(&self, row: &Row) -> Vec<Attempt> {
        let file = fs::read_to_string(self.path(row)).ok();
        let file: Option<CaseFile> = file.and_then(|text| serde_json::from_str(&text).ok());
        let is_same =
            |file: &CaseFile| file.settings == row.settings && file.qdelay == env!("CARGO_PKG_VERSION");
        file.filter(is_same).map(|file| file.runs).unwrap_or_default()
    }

    /// Writes all runs of a case.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, row: &Row, runs: &[Attempt]) -> Result<(), Failure> {
        let file = CaseFile {
            schema_version: SCHEMA_VERSION,
            qdelay: env!("CARGO_PKG_VERSION").to_string(),
            case: row.name.clone(),
            settings: row.settings.clone(),
            runs: runs.to_vec(),
        };
        Ok(write_file(&self.path(row), &text(&file))?)
    }

    /// Runs of another length stand in a file of their own.
    fn path(&self, row: &Row) -> PathBuf {
        let name = row.name.replace(", ", "-").replace(' ', "-");
        self.folder.join("cases").join(format!("{name}-{}.json", row.case.scenario.duration))
    }
}
