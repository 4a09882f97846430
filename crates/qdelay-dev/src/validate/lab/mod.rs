//! `qdelay-dev validate lab`: the simulator compared with a real Linux kernel in deterministic virtual time (`qdelay-lab`), cell by cell.
//!
//! A cell is a rate, a round-trip time, a number of flows, their congestion controls and a queue discipline, drawn by a seed from wide
//! ranges.
//! The kernel runs each cell with three seeds, with its own TCP and its own discipline; the simulator does the same. Runs are kept in a
//! folder, and
//! an interrupted command continues from there.
//!
//! | file | contents |
//! | --- | --- |
//! | `cells` | the cells, drawn by a seed; their scenarios |
//! | `judge` | figures and bounds |
//! | `print` | the table and JSON |
//! | `aligned` | simulator runs with the flow starts of the kernel |
//! | `settled` | `--settled`: fast cells in which the kernel's runs agree, eight seeds each |
//! | `decisions` | `--decisions`: packet by packet, on recorded arrivals |

mod aligned;
mod cells;
mod decisions;
mod judge;
mod print;
mod settled;

use crate::validate::options::Validate;
use aligned::Aligned;
use cells::Cell;
use judge::{LabReport, Runs};
use qdelay_core::component::Registry;
use qdelay_lab::image::Image;
use qdelay_lab::{Lab, Wanted, image};
use qdelay_study::engine::{self, Options};
use qdelay_study::results::{CaseSummary, Summary};
use qdelay_study::scenario::{Overrides, Starts, Study};
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::progress::Bar;
use std::path::{Path, PathBuf};
use std::thread;

const COMMAND: &str = "validate lab";
/// Number of cells of a draw, and default seed.
const CELLS: usize = 60;
const DRAW: u64 = 1;
/// Seeds of every cell.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Runs the command.
///
/// # Errors
/// No laboratory, a failing machine, or too many cells outside their bounds.
pub fn run(options: &Validate) -> Result<(), Failure> {
    let failed = |error| Failure::input(COMMAND, error);
    let cache = image::cache().map_err(failed)?;
    let image = image::find(&cache, options.image.as_deref()).map_err(failed)?;
    let out = options.out.clone().unwrap_or_else(|| PathBuf::from("qdelay-results/validate-lab"));
    let jobs = options.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    if options.decisions {
        return decisions::run(options, &image, &out, jobs);
    }
    if options.settled {
        return settled::run(options, &image, &out, jobs);
    }
    let draw = options.draw.unwrap_or(DRAW);
    let cells = cells::draw(&cells::WIDE, draw, options.cells.unwrap_or(CELLS), &options.only);
    if cells.is_empty() {
        return Err(no_cell());
    }
    let kernel = image.about.kernel.clone();
    let mut runs: Vec<Runs> = cells.iter().map(|_| Runs::default()).collect();
    for (name, is_meant) in [("alike", false), ("mixed", true)] {
        let chosen: Vec<usize> =
            (0..cells.len()).filter(|index| cells[*index].is_mixed() == is_meant).collect();
        if chosen.is_empty() {
            continue;
        }
        let text = cells::scenario(chosen.iter().map(|index| &cells[*index]), is_meant);
        let lab = lab_options(folder(&out, draw, name, "lab"), jobs, options.fresh);
        let (study, measured) = run_kernel(&format!("validate-lab-{name}"), &text, &SEEDS, &image, &lab)?;
        let simulated =
            run_aligned(&study, &measured, &lab.out, folder(&out, draw, name, "simulated"), jobs)?;
        for index in chosen {
            runs[index].kernel = case_runs(&measured, &cells[index]);
            runs[index].simulated = case_runs(&simulated, &cells[index]);
        }
    }
    let report = LabReport::new(&kernel, draw, &out, &cells, &runs);
    output::print(&if options.json { print::json(&report) } else { print::text(&report) })?;
    report.check()
}

fn folder(out: &Path, draw: u64, name: &str, clock: &str) -> PathBuf {
    out.join(format!("draw-{draw}-{name}-{clock}"))
}

/// The error of `--only` whose words no drawn cell has.
fn no_cell() -> Failure {
    Failure::input("--only", "no cell has all of these words; expected words of the names")
}

fn lab_options(out: PathBuf, jobs: usize, fresh: bool) -> Options {
    Options { out, jobs, fresh, packets: false, series: false, commit: None }
}

/// Runs a scenario's cases in the laboratory, over the kernel's own queues, into the folder of `options`.
fn run_kernel(
    title: &str,
    text: &str,
    seeds: &[u64],
    image: &Image,
    options: &Options,
) -> Result<(Study, Summary), Failure> {
    let overrides =
        Overrides { seeds: Some(seeds.to_vec()), starts: Some(Starts::Fixed), ..Overrides::default() };
    let study = Study::parse_with(title, text, &overrides, &Registry::new())?;
    let library = Library::new();
    let lab = Lab::new(image.clone(), Wanted::Linux, &study, &overrides, &library)
        .map_err(|error| Failure::input(COMMAND, error))?;
    let measured = engine::run_by(&lab, &study, &library, options, &lab)?;
    Ok((study, measured))
}

/// Runs the same cases in the simulator into `out`, with the flow starts of the kernel's runs in `measured_in`. Earlier results are never
/// reused, because the runs are fast and the starts may have changed.
fn run_aligned(
    study: &Study,
    measured: &Summary,
    measured_in: &Path,
    out: PathBuf,
    jobs: usize,
) -> Result<Summary, Failure> {
    let aligned = Aligned::new(measured_in, measured)?;
    Ok(engine::run_by(&aligned, study, &Library::new(), &lab_options(out, jobs, true), &Bar::default())?)
}

/// Runs of a cell.
fn case_runs(summary: &Summary, cell: &Cell) -> Vec<CaseSummary> {
    let name = cell.name();
    let is_of = |case: &&CaseSummary| case.labels.get("variant").is_none_or(|label| *label == name);
    summary.cases.iter().filter(is_of).cloned().collect()
}
