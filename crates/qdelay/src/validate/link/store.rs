//! The real runs in their folder: a file for each cell, with every run of it.

use super::cells::Cell;
use super::judge::Figures;
use crate::error::Failure;
use qdelay_core::Time;
use qdelay_experiment::engine::{Ran, cannot_write, write_file};
use qdelay_experiment::results::{Audit, round, text};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};

const SCHEMA_VERSION: u32 = 1;

/// A run in real time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attempt {
    /// What was measured.
    pub figures: Figures,
    /// When the first whole segment came to the bottleneck, since the trace began.
    pub begun_ms: Option<f64>,
    /// Whether to believe it.
    pub audit: Audit,
}

impl Attempt {
    /// What came of a run.
    pub fn new(ran: &Ran, begun: Option<Time>, header_seconds: Option<u64>) -> Attempt {
        Attempt {
            figures: Figures::of(&ran.outcome, header_seconds),
            begun_ms: begun.map(|time| time.since(Time::ZERO).as_millis_f64()),
            audit: ran.audit.clone().unwrap_or_default(),
        }
        .rounded()
    }

    fn rounded(self) -> Attempt {
        let Figures { throughput_mbps, delay_mean_ms, delay_p99_ms } = self.figures;
        let figures = Figures {
            throughput_mbps: round(throughput_mbps),
            delay_mean_ms: round(delay_mean_ms),
            delay_p99_ms: round(delay_p99_ms),
        };
        Attempt { figures, ..self }
    }

    /// Whether it can be judged.
    pub fn is_trustworthy(&self) -> bool {
        self.audit.trustworthy && self.begun_ms.is_some()
    }

    /// Why it cannot.
    pub fn reasons(&self) -> String {
        let silent = self.begun_ms.is_none().then_some("no data came to the bottleneck");
        let reasons: Vec<&str> = self.audit.reasons.iter().map(String::as_str).chain(silent).collect();
        reasons.join("; ")
    }
}

/// A cell's file.
#[derive(Serialize, Deserialize)]
struct CellFile {
    schema_version: u32,
    qdelay: String,
    cell: String,
    settings: String,
    runs: Vec<Attempt>,
}

/// A folder of cells.
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// Makes the folder, or takes the one that is there; deletes what it has if `fresh`.
    ///
    /// # Errors
    /// It cannot be written to.
    pub fn open(folder: PathBuf, fresh: bool) -> Result<Store, Failure> {
        let cells = folder.join("cells");
        if fresh {
            match fs::remove_dir_all(&cells) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(cannot_write(&cells, &error).into());
                }
                _ => {}
            }
        }
        fs::create_dir_all(&cells).map_err(|error| cannot_write(&cells, &error))?;
        Ok(Store { folder })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The runs that are there under the same settings and by the same version.
    pub fn read(&self, cell: &Cell) -> Vec<Attempt> {
        let Ok(run) = &cell.run else { return Vec::new() };
        let file = fs::read_to_string(self.path(cell)).ok();
        let file: Option<CellFile> = file.and_then(|text| serde_json::from_str(&text).ok());
        let is_same =
            |file: &CellFile| file.settings == run.settings && file.qdelay == env!("CARGO_PKG_VERSION");
        file.filter(is_same).map(|file| file.runs).unwrap_or_default()
    }

    /// Writes all runs of a cell.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, cell: &Cell, runs: &[Attempt]) -> Result<(), Failure> {
        let file = CellFile {
            schema_version: SCHEMA_VERSION,
            qdelay: env!("CARGO_PKG_VERSION").to_string(),
            cell: cell.name.clone(),
            settings: cell.run.as_ref().map_or(String::new(), |run| run.settings.clone()),
            runs: runs.to_vec(),
        };
        Ok(write_file(&self.path(cell), &text(&file))?)
    }

    /// Runs of another length stand in a file of their own.
    fn path(&self, cell: &Cell) -> PathBuf {
        let duration = cell.run.as_ref().map_or(String::new(), |run| run.case.scenario.duration.to_string());
        let name = format!("{}-{duration}.json", cell.name.replace(", ", "-"));
        self.folder.join("cells").join(name)
    }
}
