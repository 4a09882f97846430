//! Figures of a cell compared with the kernel's, and their bounds.

use super::cells::Cell;
use qdelay_study::results::{CaseSummary, round};
use qdelay_terminal::error::Failure;
use serde::Serialize;
use std::path::{Path, PathBuf};

const SCHEMA_VERSION: u32 = 1;
/// Required share of matching cells.
const ASKED: f64 = 0.95;

/// Figure of a run with its bounds; the largest applies: a share of the kernel's mean, an absolute value, and the kernel's own spread.
pub struct Figure {
    pub name: &'static str,
    pub of: fn(&CaseSummary) -> f64,
    pub relative: f64,
    pub absolute: f64,
    /// Settled cells are judged by this figure.
    pub is_settled_by: bool,
}

pub const FIGURES: [Figure; 3] = [
    Figure { name: "goodput Mbit/s", of: goodput, relative: 0.03, absolute: 0.0, is_settled_by: true },
    Figure {
        name: "mean ms",
        of: |case| case.queue_delay_ms.mean,
        relative: 0.1,
        absolute: 0.5,
        is_settled_by: false,
    },
    Figure {
        name: "p95 ms",
        of: |case| case.queue_delay_ms.p95,
        relative: 0.1,
        absolute: 0.5,
        is_settled_by: true,
    },
];

fn goodput(case: &CaseSummary) -> f64 {
    case.flows.iter().map(|flow| flow.goodput_mbps).sum()
}

/// Runs of a cell, one for each seed.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    pub kernel: Vec<CaseSummary>,
    pub simulated: Vec<CaseSummary>,
}

/// Figure of a cell.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Name of the figure.
    pub measure: &'static str,
    /// Kernel's values by seed.
    pub kernel: Vec<f64>,
    /// Simulator's values by seed.
    pub simulated: Vec<f64>,
    /// Mean of ours minus mean of the kernel's.
    pub difference: f64,
    /// Largest difference that matches.
    pub bound: f64,
    /// The kernel's own runs agree within the bound without its spread.
    pub kernel_agrees: bool,
}

impl Compared {
    fn new(figure: &Figure, runs: &Runs) -> Compared {
        let all =
            |cases: &[CaseSummary]| cases.iter().map(|case| round((figure.of)(case))).collect::<Vec<f64>>();
        let (kernel, simulated) = (all(&runs.kernel), all(&runs.simulated));
        let mean = |figures: &[f64]| figures.iter().sum::<f64>() / figures.len().max(1) as f64;
        let (least, most) = (
            kernel.iter().copied().fold(f64::INFINITY, f64::min),
            kernel.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        );
        let own = mean(&kernel);
        let fixed = (figure.relative * own).max(figure.absolute);
        Compared {
            measure: figure.name,
            difference: round(mean(&simulated) - own),
            bound: round(fixed.max(most - least)),
            kernel_agrees: most - own <= fixed && own - least <= fixed,
            kernel,
            simulated,
        }
    }

    /// The difference is within its bound.
    pub fn matches(&self) -> bool {
        self.difference.abs() <= self.bound
    }
}

/// Judged cell.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedCell {
    /// Name of the cell.
    pub cell: String,
    /// Figures of the cell.
    pub measures: Vec<Compared>,
    /// All figures are within their bounds.
    pub matches: bool,
    /// The kernel's runs agree with each other.
    pub kernel_agrees: bool,
    /// All of the kernel's runs can be trusted.
    pub trustworthy: bool,
}

/// Report on all cells.
#[derive(Clone, Debug, Serialize)]
pub struct LabReport {
    pub schema_version: u32,
    pub against: &'static str,
    /// Version of the kernel.
    pub kernel: String,
    /// Seed of the draw.
    pub draw: u64,
    /// Folder of the runs.
    pub folder: PathBuf,
    /// Number of cells whose figures all match.
    pub matches: usize,
    /// Number of cells in which the kernel's runs agree with each other.
    pub kernel_agrees: usize,
    pub cells: Vec<JudgedCell>,
}

impl LabReport {
    pub fn new(kernel: &str, draw: u64, folder: &Path, cells: &[Cell], runs: &[Runs]) -> LabReport {
        let judged = |(cell, runs): (&Cell, &Runs)| {
            let measures: Vec<Compared> = FIGURES.iter().map(|figure| Compared::new(figure, runs)).collect();
            JudgedCell {
                cell: cell.name(),
                matches: measures.iter().all(Compared::matches),
                kernel_agrees: measures.iter().all(|measure| measure.kernel_agrees),
                trustworthy: runs.kernel.iter().all(|case| case.trustworthy != Some(false)),
                measures,
            }
        };
        let cells: Vec<JudgedCell> = cells.iter().zip(runs).map(judged).collect();
        let count = |is: fn(&JudgedCell) -> bool| cells.iter().filter(|cell| is(cell)).count();
        LabReport {
            schema_version: SCHEMA_VERSION,
            against: "lab",
            kernel: kernel.to_string(),
            draw,
            folder: folder.to_path_buf(),
            matches: count(|cell| cell.matches && cell.trustworthy),
            kernel_agrees: count(|cell| cell.kernel_agrees),
            cells,
        }
    }

    /// Checks that enough cells match.
    ///
    /// # Errors
    /// The number of cells that match.
    pub fn check(&self) -> Result<(), Failure> {
        if self.matches as f64 >= ASKED * self.cells.len() as f64 {
            return Ok(());
        }
        Err(Failure::Check(format!(
            "{} of {} cells match the kernel; expected {:.0}%",
            self.matches,
            self.cells.len(),
            ASKED * 100.0
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(kernel: [f64; 3], simulated: f64) -> Compared {
        let case = |mean: f64| {
            let mut case = CaseSummary::default();
            case.queue_delay_ms.mean = mean;
            case
        };
        let runs = Runs { kernel: kernel.map(case).to_vec(), simulated: vec![case(simulated)] };
        Compared::new(&FIGURES[1], &runs)
    }

    #[test]
    fn the_largest_of_three_bounds_counts() {
        assert_eq!(compared([10.0; 3], 11.0).bound, 1.0);
        assert_eq!(compared([1.0; 3], 1.0).bound, 0.5);
        let wide = compared([9.0, 10.0, 11.0], 12.1);
        assert_eq!((wide.bound, wide.matches(), wide.kernel_agrees), (2.0, false, true));
        let own = compared([8.0, 10.0, 12.0], 13.9);
        assert_eq!((own.bound, own.matches(), own.kernel_agrees), (4.0, true, false));
    }
}
