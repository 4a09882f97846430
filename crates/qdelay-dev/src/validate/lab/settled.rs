//! `--settled`: fast cells in which the kernel's runs agree, with bounds that exclude its spread.
//!
//! Cells of at least 50 Mbit/s are taken in the order of the draw, with eight seeds each. A cell counts if the 95% half-width of the
//! kernel's mean is below half of the tolerance, for goodput and for the 95th percentile; any other cell is listed and replaced by the next
//! of the draw. This way the kernel's spread cannot make a cell match, and a cell with an uncertain mean decides nothing.

use super::cells::{self, Cell, SETTLED};
use super::judge::{FIGURES, Figure, Runs};
use super::{COMMAND, case_runs, lab_options, no_cell, run_aligned, run_kernel};
use crate::validate::options::Validate;
use qdelay_lab::image::Image;
use qdelay_study::confidence::half_width;
use qdelay_study::results::{pretty, round};
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output;
use qdelay_terminal::text_table::{Column, table};
use serde::Serialize;
use std::path::{Path, PathBuf};

const SCHEMA_VERSION: u32 = 1;
/// Number of counted cells, unless `--cells` is given.
const CELLS: usize = 60;
/// Seeds of each cell.
pub const SEEDS: [u64; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
/// Required share of matching counted cells: 57 of 60.
const ASKED: f64 = 0.95;
/// Largest half-width of the kernel's mean, in tolerances.
const WIDEST_HALF: f64 = 0.5;
/// Number of drawn cells per counted cell after which the draw ends.
const MOST_DRAWN: usize = 4;

/// Figure of a cell.
#[derive(Clone, Debug, Serialize)]
struct SettledFigure {
    measure: &'static str,
    /// Kernel's values by seed.
    kernel: Vec<f64>,
    /// Simulator's values by seed.
    simulated: Vec<f64>,
    /// Mean of the simulator's minus mean of the kernel's.
    difference: f64,
    /// Largest difference that matches.
    tolerance: f64,
    /// Half-width of the 95% interval of the kernel's mean.
    half_width: f64,
}

impl SettledFigure {
    fn new(figure: &Figure, runs: &Runs) -> SettledFigure {
        let values = |cases: &[_]| cases.iter().map(|case| round((figure.of)(case))).collect::<Vec<f64>>();
        let (kernel, simulated) = (values(&runs.kernel), values(&runs.simulated));
        let mean = |figures: &[f64]| figures.iter().sum::<f64>() / figures.len().max(1) as f64;
        SettledFigure {
            measure: figure.name,
            difference: round(mean(&simulated) - mean(&kernel)),
            tolerance: round((figure.relative * mean(&kernel)).max(figure.absolute)),
            half_width: round(half_width(&kernel).unwrap_or(f64::INFINITY)),
            kernel,
            simulated,
        }
    }

    fn is_settled(&self) -> bool {
        self.half_width < WIDEST_HALF * self.tolerance
    }

    fn matches(&self) -> bool {
        self.difference.abs() <= self.tolerance
    }
}

/// Verdict on a drawn cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum SettledVerdict {
    Match,
    Miss,
    /// The kernel's mean is too uncertain: another cell replaces this one.
    Replaced,
    /// A run of the kernel cannot be trusted: another cell replaces this one.
    Untrusted,
}

/// Drawn and judged cell.
#[derive(Clone, Debug, Serialize)]
struct SettledCell {
    cell: String,
    verdict: SettledVerdict,
    measures: Vec<SettledFigure>,
}

impl SettledCell {
    fn judge(cell: &Cell, runs: &Runs) -> SettledCell {
        let judged = FIGURES.iter().filter(|figure| figure.is_settled_by);
        let measures: Vec<SettledFigure> = judged.map(|figure| SettledFigure::new(figure, runs)).collect();
        let verdict = if runs.kernel.iter().any(|case| case.trustworthy == Some(false)) {
            SettledVerdict::Untrusted
        } else if !measures.iter().all(SettledFigure::is_settled) {
            SettledVerdict::Replaced
        } else if measures.iter().all(SettledFigure::matches) {
            SettledVerdict::Match
        } else {
            SettledVerdict::Miss
        };
        SettledCell { cell: cell.name(), verdict, measures }
    }

    fn counts(&self) -> bool {
        matches!(self.verdict, SettledVerdict::Match | SettledVerdict::Miss)
    }
}

/// Report on all drawn cells.
#[derive(Clone, Debug, Serialize)]
struct SettledReport {
    schema_version: u32,
    against: &'static str,
    kernel: String,
    /// Seed of the draw.
    draw: u64,
    folder: PathBuf,
    /// Numbers of counted cells, and of matching ones among them.
    counted: usize,
    matches: usize,
    cells: Vec<SettledCell>,
}

/// Runs the command.
///
/// # Errors
/// A failing machine, a draw in which too few cells count, or too few that match.
pub fn run(options: &Validate, image: &Image, out: &Path, jobs: usize) -> Result<(), Failure> {
    let draw = options.draw.unwrap_or(super::DRAW);
    let wanted = options.cells.unwrap_or(CELLS);
    let mut report = SettledReport {
        schema_version: SCHEMA_VERSION,
        against: "lab-settled",
        kernel: image.about.kernel.clone(),
        draw,
        folder: out.to_path_buf(),
        counted: 0,
        matches: 0,
        cells: Vec::new(),
    };
    let drawn = cells::draw(&SETTLED, draw, wanted * MOST_DRAWN, &options.only);
    if drawn.is_empty() {
        return Err(no_cell());
    }
    for cell in drawn {
        if report.counted == wanted {
            break;
        }
        let runs = cell_runs(&cell, options, image, &folder(out, draw, &cell), jobs)?;
        report.cells.push(SettledCell::judge(&cell, &runs));
        report.counted = report.cells.iter().filter(|cell| cell.counts()).count();
        let matching = report.cells.iter().filter(|cell| cell.verdict == SettledVerdict::Match);
        report.matches = matching.count();
    }
    output::print(&if options.json { pretty(&report) } else { text(&report) })?;
    // With `--only` fewer cells are asked for than count in a whole draw.
    check(&report, if options.only.is_empty() { wanted } else { 1 })
}

fn check(report: &SettledReport, wanted: usize) -> Result<(), Failure> {
    if report.counted < wanted {
        let drawn = report.cells.len();
        return Err(Failure::Check(format!(
            "{} of {drawn} drawn cells count; expected {wanted}",
            report.counted
        )));
    }
    if report.matches as f64 >= ASKED * report.counted as f64 {
        return Ok(());
    }
    Err(Failure::Check(format!(
        "{} of {} cells match the kernel; expected {:.0}%",
        report.matches,
        report.counted,
        ASKED * 100.0
    )))
}

fn folder(out: &Path, draw: u64, cell: &Cell) -> PathBuf {
    let name: String = cell.name().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    out.join(format!("settled-{draw}")).join(name.replace("--", "-"))
}

/// Runs of a cell by the kernel, and by the simulator with the kernel's flow starts. Each cell has its own folders, so that the draw
/// continues after an interrupt.
fn cell_runs(
    cell: &Cell,
    options: &Validate,
    image: &Image,
    folder: &Path,
    jobs: usize,
) -> Result<Runs, Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::input(COMMAND, format!("{}: {error}", folder.display())))?;
    let text = cells::scenario([cell].into_iter(), cell.is_mixed());
    let lab = lab_options(folder.join("lab"), jobs, options.fresh);
    let (study, measured) = run_kernel("validate-lab-settled", &text, &SEEDS, image, &lab)?;
    let simulated = run_aligned(&study, &measured, &lab.out, folder.join("simulated"), jobs)?;
    Ok(Runs { kernel: case_runs(&measured, cell), simulated: case_runs(&simulated, cell) })
}

fn text(report: &SettledReport) -> String {
    let mut columns = vec![Column::left("cell")];
    for measure in report.cells.first().into_iter().flat_map(|cell| &cell.measures) {
        columns.push(Column::right(measure.measure));
        columns.push(Column::right("+-"));
        columns.push(Column::right("simulated"));
        columns.push(Column::right("difference"));
    }
    columns.push(Column::left("verdict"));
    let replaced = report.cells.len() - report.counted;
    format!(
        "Linux {} in virtual time, cells of 50 Mbit/s and more drawn by seed {}, eight seeds each; the simulator beside it.\n\
         Bounds: 3% of goodput, and the larger of 10% and 0.5 ms of the 95th percentile of the queue delay.\n\
         A cell counts where the 95% half-width of the kernel's mean is below half the bound; {replaced} of {} drawn cells were replaced.\n\n{}\n\
         {} of {} cells match\nruns: {}\n",
        report.kernel,
        report.draw,
        report.cells.len(),
        table(&columns, report.cells.iter().map(row).collect()),
        report.matches,
        report.counted,
        one_line(&report.folder.display().to_string())
    )
}

fn row(cell: &SettledCell) -> Vec<String> {
    let mean = |figures: &[f64]| figures.iter().sum::<f64>() / figures.len().max(1) as f64;
    let mut row = vec![cell.cell.clone()];
    for measure in &cell.measures {
        row.push(format!("{:.2}", mean(&measure.kernel)));
        row.push(format!("{:.2}", measure.half_width));
        row.push(format!("{:.2}", mean(&measure.simulated)));
        let mark = if measure.matches() { "" } else { " !" };
        row.push(format!("{:+.1}%{mark}", 100.0 * measure.difference / mean(&measure.kernel)));
    }
    row.push(format!("{:?}", cell.verdict).to_lowercase());
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_study::results::CaseSummary;

    fn runs(kernel: [f64; 8], simulated: f64) -> Runs {
        let case = |p95: f64| {
            let mut case = CaseSummary::default();
            case.queue_delay_ms.p95 = p95;
            case
        };
        Runs { kernel: kernel.map(case).to_vec(), simulated: vec![case(simulated)] }
    }

    fn verdict(kernel: [f64; 8], simulated: f64) -> (bool, bool) {
        let p95 = FIGURES.iter().find(|figure| figure.name == "p95 ms").unwrap();
        let figure = SettledFigure::new(p95, &runs(kernel, simulated));
        (figure.is_settled(), figure.matches())
    }

    #[test]
    fn a_cell_counts_only_where_the_kernels_mean_is_known() {
        assert_eq!(verdict([20.0; 8], 21.9), (true, true));
        assert_eq!(verdict([20.0; 8], 22.1), (true, false));
        // Half of .5 ms is the bound: the half-width of these is .22, of the next .45.
        assert_eq!(verdict([2.0, 2.5, 2.0, 2.5, 2.0, 2.5, 2.0, 2.5], 2.7), (true, true));
        assert_eq!(verdict([2.0, 3.0, 2.0, 3.0, 2.0, 3.0, 2.0, 3.0], 2.5), (false, true));
    }
}
