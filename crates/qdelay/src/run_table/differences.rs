//! The table of paired differences.

use super::figures::{axes, header};
use qdelay_study::intervals::{self, Comparison};
use qdelay_study::results::{AxisFile, CaseSummary, Difference, PairedDifference};
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::{self, Column};

/// What is compared, of all packets or of those of an entry of `[[flow]]`: the path in their figures, the heading, the factor to its
/// unit, and where the column gives way on a narrow terminal.
const OF_PACKETS: [(&str, &str, f64, u8); 4] = [
    ("throughput_mbps", "rate\nMbit/s", 1.0, 0),
    ("queue_delay_ms.mean", "mean\nms", 1.0, 1),
    ("queue_delay_ms.p95", "p95\nms", 1.0, 2),
    ("queue_delay_ms.p99", "p99\nms", 1.0, 0),
];
/// The same of what an entry alone has; columns that no case has a figure for are left out.
const OF_FLOWS: [(&str, &str, f64, u8); 11] = [
    ("loss_ratio", "lost\n%", 100.0, 3),
    ("completion_ms.mean", "took\nms", 1.0, 0),
    ("voice.mos", "MOS", 1.0, 0),
    ("video.delay_p95_ms", "frame\np95 ms", 1.0, 0),
    ("video.complete", "whole\n%", 100.0, 0),
    ("video.late", "late\n%", 100.0, 0),
    ("video.frozen", "frozen\n%", 100.0, 4),
    ("video.mos", "video\nMOS", 1.0, 5),
    ("stream.bitrate_mbps", "video\nMbit/s", 1.0, 6),
    ("stream.qoe_per_chunk", "QoE", 1.0, 0),
    ("web.load_ms", "load\nms", 1.0, 0),
];
/// More rows than this are for summary.json.
const ROWS: usize = 60;

/// The table of the differences that a summary has, which are of all packets, and what it says; empty without differences.
pub fn text(all: &[AxisFile], differences: &[PairedDifference], population: Option<&str>) -> String {
    table(all, differences, "", population, OF_PACKETS.iter().map(|figure| (String::new(), figure)))
}

/// The same table of the entry of `[[flow]]` with this name, along the same axis from the same baseline.
pub fn of_flows(
    all: &[AxisFile],
    cases: &[CaseSummary],
    differences: &[PairedDifference],
    name: &str,
    population: Option<&str>,
) -> String {
    let Some(PairedDifference { axis, baseline, .. }) = differences.first() else { return String::new() };
    let within = format!("groups.{name}.");
    let figures = || OF_PACKETS.iter().chain(&OF_FLOWS).map(|figure| (within.clone(), figure));
    let paths: Vec<String> = figures().map(|(within, (path, ..))| format!("{within}{path}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let found = intervals::compared(all, cases, &Comparison { axis, baseline, over: &[], figures: &paths });
    table(all, &found, &format!(", of {}", one_line(name)), population, figures())
}

fn table<'a>(
    all: &[AxisFile],
    differences: &[PairedDifference],
    of: &str,
    population: Option<&str>,
    figures: impl Iterator<Item = (String, &'a (&'a str, &'static str, f64, u8))>,
) -> String {
    let Some(first) = differences.first() else { return String::new() };
    let figures: Vec<_> = figures
        .map(|(within, (path, heading, factor, rank))| (format!("{within}{path}"), *heading, *factor, *rank))
        .filter(|(path, ..)| differences.iter().any(|difference| difference.measures.contains_key(path)))
        .collect();
    let axes = axes(all);
    let named = axes.iter().map(|axis| Column::named(header(axis)));
    let measured = figures.iter().map(|(_, heading, _, rank)| Column::right(heading).gives_way(*rank));
    let columns: Vec<Column> = named.chain(measured).collect();
    let row = |difference: &PairedDifference| {
        let labels =
            axes.iter().map(|axis| one_line(difference.labels.get(*axis).map_or("", String::as_str)));
        let measures = figures.iter().map(|(path, _, factor, _)| {
            difference.measures.get(path).map_or(String::new(), |measure| cell(measure, *factor))
        });
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
        "\nDifferences from {} {}{of}, seed by seed, {pairs} pairs{over}:\n{}{more}\n\
         ±: half the 95% interval; *: beyond chance at 5% over the whole table (Student's t, Holm's correction).\n",
        header(&first.axis),
        one_line(&first.baseline),
        text_table::table(&columns, rows)
    )
}

/// With two decimals, three digits at least.
fn cell(difference: &Difference, factor: f64) -> String {
    let star = if difference.is_beyond_chance { "*" } else { " " };
    // No zero below zero.
    let mean = (difference.mean * factor * 100.0).round() / 100.0 + 0.0;
    match difference.half_width {
        Some(half_width) => format!("{mean:+.2} ±{:.2}{star}", half_width * factor),
        None => format!("{mean:+.2} "),
    }
}
