//! `qdelay-dev validate lab --decisions`: the decisions of queue disciplines, packet by packet, on recorded arrivals.
//!
//! Whole runs diverge after the first different packet, because the sender reacts to it. Therefore packets are recorded in the laboratory;
//! our
//! discipline receives the recorded arrivals and is dequeued each time the recorded queue released a packet. Only columns of the recording
//! are compared.
//!
//! | file | contents |
//! | --- | --- |
//! | `recording` | reads `packets.parquet` |
//! | `play` | our discipline on recorded arrivals |
//! | `compare` | agreement of its decisions with the recording |
//! | `follow` | agreement decision by decision |
//! | `kernel` | the kernel's disciplines beside ours |
//! | `bode` | BoDe in the emulator beside the simulator |
//! | `print` | the tables and JSON |

mod bode;
mod compare;
mod follow;
mod kernel;
mod play;
mod print;
mod recording;

use super::COMMAND;
use super::aligned::Aligned;
use crate::validate::attempts::is_meant;
use crate::validate::options::Validate;
use bode::BodeCell;
use kernel::KernelCell;
use qdelay_core::component::Registry;
use qdelay_lab::image::Image;
use qdelay_lab::{Lab, Wanted};
use qdelay_study::engine::{self, Options};
use qdelay_study::results::Summary;
use qdelay_study::scenario::{Case, Overrides, Starts, Study};
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::progress::Bar;
use recording::Recording;
use serde::Serialize;
use std::path::{Path, PathBuf};

const SCHEMA_VERSION: u32 = 1;
/// Seed of recordings.
const SEEDS: &[u64] = &[1];

/// All cells.
#[derive(Clone, Debug, Serialize)]
struct DecisionsReport {
    schema_version: u32,
    against: &'static str,
    kernel: String,
    folder: PathBuf,
    disciplines: Vec<KernelCell>,
    bode: Vec<BodeCell>,
}

/// Folder, image and options of the runs.
pub struct Where<'a> {
    image: &'a Image,
    options: &'a Validate,
    out: &'a Path,
    jobs: usize,
}

impl Where<'_> {
    fn is_meant(&self, name: &str) -> bool {
        is_meant(&self.options.only, name)
    }

    fn engine(&self, name: &str, packets: bool) -> Options {
        Options {
            out: self.out.join(format!("decisions-{name}")),
            jobs: self.jobs,
            fresh: self.options.fresh,
            packets,
            series: false,
            commit: None,
        }
    }
}

/// Runs in the laboratory.
struct Runs {
    study: Study,
    library: Library,
    name: String,
    cases: Vec<Case>,
    summary: Summary,
    folder: PathBuf,
}

impl Runs {
    /// Runs with recorded packets, for decisions.
    fn recorded(place: &Where<'_>, name: &str, text: &str, wanted: Wanted) -> Result<Runs, Failure> {
        Runs::run(place, (name, text), wanted, (SEEDS, true))
    }

    /// Runs these seeds; records packets if asked.
    fn run(
        place: &Where<'_>,
        (name, text): (&str, &str),
        wanted: Wanted,
        (seeds, packets): (&[u64], bool),
    ) -> Result<Runs, Failure> {
        let overrides =
            Overrides { seeds: Some(seeds.to_vec()), starts: Some(Starts::Fixed), ..Overrides::default() };
        let library = Library::new();
        let study = Study::parse_with(&format!("decisions-{name}"), text, &overrides, &Registry::new())?;
        let lab = Lab::new(place.image.clone(), wanted, &study, &overrides, &library);
        let lab = lab.map_err(|error| Failure::input(COMMAND, error))?;
        let options = place.engine(name, packets);
        let summary = engine::run_by(&lab, &study, &library, &options, &lab)?;
        let cases = (0..study.case_count()).map(|index| study.case(index, &library));
        let cases = cases.collect::<Result<Vec<Case>, _>>()?;
        drop(lab);
        Ok(Runs { study, library, name: name.to_string(), cases, summary, folder: options.out })
    }

    /// Runs the same cases in the simulator, with the flow starts of the laboratory.
    fn simulate(&self, place: &Where<'_>) -> Result<Summary, Failure> {
        let aligned = Aligned::new(&self.folder, &self.summary)?;
        let name = format!("{}-simulated", self.name);
        let options = Options { fresh: true, ..place.engine(&name, false) };
        Ok(engine::run_by(&aligned, &self.study, &self.library, &options, &Bar::default())?)
    }

    fn recording(&self, case: &Case) -> Result<Recording, Failure> {
        let path = self.folder.join("cases").join(&case.id).join("packets.parquet");
        Recording::read(&path).map_err(Failure::Check)
    }
}

/// Runs the command.
///
/// # Errors
/// A failing machine, an unreadable recording, or decisions of BoDe that differ from the emulator's.
pub fn run(options: &Validate, image: &Image, out: &Path, jobs: usize) -> Result<(), Failure> {
    let place = Where { image, options, out, jobs };
    let report = DecisionsReport {
        schema_version: SCHEMA_VERSION,
        against: "lab decisions",
        kernel: image.about.kernel.clone(),
        folder: out.to_path_buf(),
        disciplines: kernel::compare(&place)?,
        bode: bode::compare(&place)?,
    };
    if report.disciplines.is_empty() && report.bode.is_empty() {
        return Err(Failure::input("--only", "no cell has all of these words; expected words of the names"));
    }
    output::print(&if options.json { print::json(&report) } else { print::text(&report) })?;
    let differs: Vec<&str> =
        report.bode.iter().filter(|cell| cell.equal < cell.judged).map(|cell| cell.cell.as_str()).collect();
    if differs.is_empty() {
        return Ok(());
    }
    Err(Failure::Check(format!(
        "BoDe decides otherwise in the simulator than in the emulator on {}; expected the same of every packet",
        differs.join("; ")
    )))
}
