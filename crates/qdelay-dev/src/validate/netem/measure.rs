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
use qdelay_study::engine::{EngineError, on_threads};
use qdelay_study::files::write_file;
use qdelay_terminal::error::Failure;
use qdelay_terminal::progress::Bar;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::thread;

/// Seeds of the machines.
pub const SEEDS: std::ops::RangeInclusive<u64> = 1..=8;
/// Arguments of this program in the machine.
const GUEST: &str = "validate netem --in-machine";
/// Longest time of a machine, in seconds of the host.
const LIMIT_S: f64 = 7200.0;
/// Folders of iproute2's tables of distributions, and the tables of the cells.
const TABLES: [&str; 3] = ["/usr/lib/x86_64-linux-gnu/tc", "/usr/lib/aarch64-linux-gnu/tc", "/usr/lib/tc"];
const DISTRIBUTIONS: [&str; 3] = ["normal", "pareto", "paretonormal"];
/// File of the figures, in the folder of the runs.
const FILE: &str = "netem.tsv";

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
            (cell.netem.to_string(), SEEDS.map(seed).collect())
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
        let runs = run(&image, &job, &store, &settings, options.jobs)?;
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
        let mut text = format!("# {}\ncell\tmeasure", self.about);
        for seed in SEEDS {
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

/// Runs the machines that did not run yet.
fn run(
    image: &Image,
    job: &[u8],
    store: &Store<Measured>,
    settings: &str,
    jobs: Option<usize>,
) -> Result<Vec<Measured>, Failure> {
    let entry = |seed: u64| Entry {
        name: seed.to_string(),
        file: format!("seed-{seed}"),
        settings: settings.to_string(),
    };
    let bar = Bar::default();
    let one = |seed: u64| -> Result<Measured, EngineError> {
        if let Some(measured) = store.read(&entry(seed)).pop() {
            return Ok(measured);
        }
        let fault = |error: String| EngineError::Audit(format!("seed {seed}: {error}"));
        let hear = |message: &str| bar.set_message(&format!("seed {seed}, {message}"));
        let result = machine::run(image, job, seed as u32, LIMIT_S, &hear).map_err(fault)?;
        let measured = read(&result).map_err(fault)?;
        store.write(&entry(seed), std::slice::from_ref(&measured))?;
        Ok(measured)
    };
    let jobs = jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let mut runs = on_threads(SEEDS, jobs, one)?;
    runs.sort_by_key(|(seed, _)| *seed);
    Ok(runs.into_iter().map(|(_, measured)| measured).collect())
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
