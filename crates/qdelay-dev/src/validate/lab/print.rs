//! Table of cells, and JSON.

use super::judge::{Compared, JudgedCell, LabReport};
use qdelay_study::results::pretty;
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::{Column, table};

/// Report as JSON.
pub fn json(report: &LabReport) -> String {
    pretty(report)
}

/// Report as text: first the kernel's agreement with itself, then ours with the kernel.
pub fn text(report: &LabReport) -> String {
    let mut columns = vec![Column::left("cell")];
    for measure in report.cells.first().into_iter().flat_map(|cell| &cell.measures) {
        columns.push(Column::right(measure.measure));
        columns.push(Column::right("simulated"));
    }
    columns.push(Column::left("verdict"));
    let all = report.cells.len();
    let outside = report.cells.iter().filter(|cell| !cell.matches || !cell.trustworthy);
    let names: Vec<String> = outside.map(|cell| format!("  {}: {}\n", cell.cell, why(cell))).collect();
    format!(
        "Linux {} in virtual time, cells drawn by seed {}, three seeds each; the simulator beside it.\n\
         Bounds: the largest of 3% of goodput, 10% or 0.5 ms of delays, and the spread of the kernel's own runs.\n\n\
         The kernel agrees with itself, without that spread, in {} of {all} cells.\n\n{}\n\
         {} of {all} cells match\n{}runs: {}\n",
        report.kernel,
        report.draw,
        report.kernel_agrees,
        table(&columns, report.cells.iter().map(row).collect()),
        report.matches,
        names.concat(),
        one_line(&report.folder.display().to_string())
    )
}

fn row(cell: &JudgedCell) -> Vec<String> {
    let mut row = vec![cell.cell.clone()];
    for measure in &cell.measures {
        row.push(range(&measure.kernel));
        row.push(range(&measure.simulated) + if measure.matches() { "" } else { " !" });
    }
    let verdict = match (cell.trustworthy, cell.matches, cell.kernel_agrees) {
        (false, ..) => "not trusted",
        (_, true, true) => "match",
        (_, true, false) => "match, kernel varies",
        (_, false, _) => "miss",
    };
    row.push(verdict.to_string());
    row
}

fn why(cell: &JudgedCell) -> String {
    let far = |measure: &&Compared| !measure.matches();
    let part = |measure: &Compared| {
        format!("{} {:+.2}, bound {:.2}", measure.measure, measure.difference, measure.bound)
    };
    let parts: Vec<String> = cell.measures.iter().filter(far).map(part).collect();
    if parts.is_empty() { "a run cannot be trusted".to_string() } else { parts.join("; ") }
}

/// Minimum and maximum of three values.
fn range(figures: &[f64]) -> String {
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let digits = |x: f64| if x >= 99.95 { format!("{x:.0}") } else { format!("{x:.1}") };
    if digits(least) == digits(most) { digits(least) } else { format!("{}..{}", digits(least), digits(most)) }
}
