//! The kernel's figures: stored ones, or those of machines of the laboratory.

use super::cells::Cell;
use super::figures::Figures;
use super::guest::{self, Measured};
use crate::validate::options::Validate;
use crate::validate::reference::{NETEM, Table};
use crate::validate::store::{Entry, Store};
use qdelay_lab::archive::{self, Writer};
use qdelay_lab::image::{self, Image};
use qdelay_lab::machine;
use qdelay_lab::program::Program;
use qdelay_study::engine::{EngineError, Progress, on_threads};
use qdelay_study::files::write_file;
use qdelay_terminal::error::Failure;
use qdelay_terminal::progress::Bar;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::thread;

/// Machines, with the seeds from 1 on: those of the stored figures, and the default.
const MACHINES: u64 = 8;
/// Arguments of this program in the machine.
const GUEST: &str = "validate netem --in-machine";
/// Longest time of a machine, in seconds of the host.
const LIMIT_S: f64 = 7200.0;
/// Folders of iproute2's tables of distributions, and the tables of the cells.
const TABLES: [&str; 3] = ["/usr/lib/x86_64-linux-gnu/tc", "/usr/lib/aarch64-linux-gnu/tc", "/usr/lib/tc"];
const DISTRIBUTIONS: [&str; 3] = ["normal", "pareto", "paretonormal"];
/// File of the figures, in the folder of the runs.
const FILE: &str = "netem.tsv";
/// Comment of that file, behind its versions.
const TABLE_ABOUT: &str = "\
# sch_netem in deterministic virtual time (docs/lab.md): numbered frames of 100 bytes over a pair of interfaces (veth), netem with a limit
# of 100,000 packets at the first. 400,000 frames a cell, each sent when the one before has arrived or is lost; with 'reorder' 200,000, one
# each ms; with other delays 40,000, one each 10 ms. Delays count from the frame's send call to the time stamp of its arrival, less the given
# delay. Lengths of runs are in packets, their quantiles those of grouped data. One row a cell and figure, one column a machine's seed.
";

/// Figures of the kernel.
pub struct Kernel {
    /// Source of the figures.
    pub about: String,
    /// Figures by cell and seed.
    cells: BTreeMap<String, Vec<Figures>>,
}

impl Kernel {
    /// Figures of a cell by seed; none of an unknown cell.
    pub fn figures(&self, cell: &Cell) -> &[Figures] {
        self.cells.get(cell.netem).map_or(&[], Vec::as_slice)
    }

    /// Figures of the table that is part of the program: a row for each cell and figure, a column for each seed.
    pub fn stored(cells: &[Cell]) -> Kernel {
        let table = Table::parse(NETEM);
        let of = |cell: &Cell| {
            let rows: Vec<usize> = (cell.group.measures().iter())
                .filter_map(|measure| {
                    (0..table.len()).find(|row| {
                        table.text(*row, "cell") == cell.netem && table.text(*row, "measure") == *measure
                    })
                })
                .collect();
            let seed = |seed: u64| rows.iter().map(|row| table.number(*row, &seed.to_string())).collect();
            (cell.netem.to_string(), (1..=MACHINES).map(seed).collect())
        };
        let first = NETEM.lines().next().unwrap_or_default().trim_start_matches("# ");
        Kernel { about: first.to_string(), cells: cells.iter().map(of).collect() }
    }

    /// Figures of the laboratory's machines, one for each seed. Machines that ran before are not run again.
    ///
    /// # Errors
    /// No laboratory, no tables, or a machine that fails.
    pub fn measured(options: &Validate, cells: &[Cell]) -> Result<Kernel, Failure> {
        let failed = |error: String| Failure::input("validate netem", error);
        let image = image::cache().and_then(|cache| image::find(&cache, options.image.as_deref()));
        let image = image.map_err(failed)?;
        if !image.is_whole() {
            return Err(failed(format!(
                "{}: the image is damaged; 'qdelay lab build' builds it again",
                image.folder.display()
            )));
        }
        let job = job(options).map_err(failed)?;
        let out = options.out.clone().unwrap_or_else(|| PathBuf::from("qdelay-results/validate-netem"));
        let store: Store<Measured> = Store::open(out, "seed", options.fresh)?;
        let settings = format!("{} {} {cells:?}", image.about.kernel, image.about.digest);
        let jobs = options.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
        let seeds = 1..=options.machines.unwrap_or(MACHINES);
        let bar = Bar::default();
        bar.begins("validate netem", *seeds.end(), 0);
        bar.show();
        let mut runs = on_threads(seeds, jobs, |seed| run(&image, &job, &store, &settings, seed, &bar))?;
        runs.sort_by_key(|(seed, _)| *seed);
        let runs: Vec<Measured> = runs.into_iter().map(|(_, measured)| measured).collect();
        let about = runs.first().map(|run| format!("Linux {}, {}", run.kernel, run.tc)).unwrap_or_default();
        let figures = |cell: &Cell| {
            let of = |run: &Measured| run.cells.get(cell.netem).cloned().unwrap_or_default();
            (cell.netem.to_string(), runs.iter().map(of).collect())
        };
        let kernel = Kernel { about, cells: cells.iter().map(figures).collect() };
        write_file(&store.folder().join(FILE), &kernel.table(cells))?;
        Ok(kernel)
    }

    /// Table of the figures, as it is part of the program.
    fn table(&self, cells: &[Cell]) -> String {
        let mut text = format!("# {}\n{TABLE_ABOUT}cell\tmeasure", self.about);
        for seed in 1..=self.cells.values().map(Vec::len).max().unwrap_or(0) {
            let _ = write!(text, "\t{seed}");
        }
        for cell in cells {
            for (place, measure) in cell.group.measures().iter().enumerate() {
                let _ = write!(text, "\n{}\t{measure}", cell.netem);
                for figures in self.figures(cell) {
                    let _ = write!(text, "\t{}", figures.get(place).copied().unwrap_or(f64::NAN));
                }
            }
        }
        text + "\n"
    }
}

/// Archive of the job: this program, netem's tables, and the words that select cells.
fn job(options: &Validate) -> Result<Vec<u8>, String> {
    let mut archive = Writer::default();
    Program::running(GUEST)?.add_to(&mut archive);
    archive.folder(guest::TABLES.trim_start_matches('/'));
    for name in DISTRIBUTIONS {
        let file = TABLES
            .iter()
            .find_map(|folder| std::fs::read(Path::new(folder).join(format!("{name}.dist"))).ok());
        let file = file.ok_or_else(|| {
            format!("no {name}.dist in {}; expected the tables of the package iproute2", TABLES.join(", "))
        })?;
        archive.file(&format!("{}/{name}.dist", guest::TABLES.trim_start_matches('/')), &file);
    }
    let only = qdelay_study::results::text(&options.only);
    archive.file(guest::JOB.trim_start_matches('/'), only.as_bytes());
    Ok(archive.finish())
}

/// Runs the machine of a seed, unless it ran before.
fn run(
    image: &Image,
    job: &[u8],
    store: &Store<Measured>,
    settings: &str,
    seed: u64,
    bar: &Bar,
) -> Result<Measured, EngineError> {
    let entry =
        Entry { name: seed.to_string(), file: format!("seed-{seed}"), settings: settings.to_string() };
    if let Some(measured) = store.read(&entry).pop() {
        return Ok(measured);
    }
    let fault = |error: String| EngineError::Audit(format!("seed {seed}: {error}"));
    let hear = |message: &str| bar.set_message(&format!("seed {seed}, {message}"));
    let result = machine::run(image, job, seed as u32, LIMIT_S, &hear).map_err(fault)?;
    let measured = read(&result).map_err(fault)?;
    store.write(&entry, std::slice::from_ref(&measured))?;
    bar.case_done();
    Ok(measured)
}

/// Reads the report of a machine.
fn read(result: &[u8]) -> Result<Measured, String> {
    let entries = archive::read(result)?;
    let report = entries.iter().find(|(name, _)| *name == guest::REPORT).map(|(_, contents)| *contents);
    let report = report.ok_or("the machine left no report")?;
    let report: Result<Measured, String> =
        serde_json::from_slice(report).map_err(|error| format!("the report cannot be read: {error}"))?;
    report
}

#[cfg(test)]
mod tests {
    use super::super::cells::CELLS;
    use super::*;

    #[test]
    fn every_figure_is_stored() {
        let kernel = Kernel::stored(CELLS);
        for cell in CELLS {
            let runs = kernel.figures(cell);
            assert_eq!(runs.len() as u64, MACHINES);
            for figures in runs {
                assert_eq!(figures.len(), cell.group.measures().len(), "{}", cell.netem);
                assert!(figures.iter().all(|figure| figure.is_finite()), "{}: {figures:?}", cell.netem);
            }
        }
        let rows: usize = CELLS.iter().map(|cell| cell.group.measures().len()).sum();
        assert_eq!(Table::parse(NETEM).len(), rows);
        for (stored, written) in NETEM.lines().zip(kernel.table(CELLS).lines()) {
            assert_eq!(stored, written);
        }
    }
}
