//! The table of paired differences.

use super::figures::{axes, header};
use qdelay_study::intervals::COMPARED;
use qdelay_study::results::{AxisFile, Difference, PairedDifference};
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::{self, Column};

/// Columns for each of [`COMPARED`].
const HEADINGS: [&str; 4] = ["rate\nMbit/s", "mean\nms", "p95\nms", "p99\nms"];
/// More rows than this are for summary.json.
const ROWS: usize = 60;

/// The table and what it says; empty without differences.
pub fn text(all: &[AxisFile], differences: &[PairedDifference], population: Option<&str>) -> String {
    let Some(first) = differences.first() else { return String::new() };
    let axes = axes(all);
    let named = axes.iter().map(|axis| Column::named(header(axis)));
    // Where the terminal is narrow the p95 gives way, then the mean.
    let [rate, mean, p95, p99] = HEADINGS.map(Column::right);
    let columns: Vec<Column> = named.chain([rate, mean.gives_way(1), p95.gives_way(2), p99]).collect();
    let row = |difference: &PairedDifference| {
        let labels =
            axes.iter().map(|axis| one_line(difference.labels.get(*axis).map_or("", String::as_str)));
        let measures =
            COMPARED.iter().map(|measure| difference.measures.get(*measure).map_or(String::new(), cell));
        labels.chain(measures).collect()
    };
    let rows: Vec<Vec<String>> = differences.iter().take(ROWS).map(row).collect();
    let more = match differences.len() - rows.len() {
        0 => String::new(),
        more => format!("\n... and {more} more in the JSON"),
    };
    let pairs = differences.iter().map(|difference| difference.pairs).min().unwrap_or(0);
    let over = population.map_or(String::new(), |population| format!(" ({population})"));
    format!(
        "\nDifferences from {} {}, seed by seed, {pairs} pairs{over}:\n{}{more}\n\
         ±: half the 95% interval; *: beyond chance at 5% over the whole table (Student's t, Holm's correction).\n",
        header(&first.axis),
        one_line(&first.baseline),
        text_table::table(&columns, rows)
    )
}

/// With two decimals, three digits at least.
fn cell(difference: &Difference) -> String {
    let star = if difference.is_beyond_chance { "*" } else { " " };
    // No zero below zero.
    let mean = (difference.mean * 100.0).round() / 100.0 + 0.0;
    match difference.half_width {
        Some(half_width) => format!("{mean:+.2} ±{half_width:.2}{star}"),
        None => format!("{mean:+.2} "),
    }
}
