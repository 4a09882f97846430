//! Table of paired differences.

use super::figures::{axes, header};
use qdelay_study::intervals::{self, COMPARED, Comparison, Unit};
use qdelay_study::results::{AxisFile, CaseSummary, Difference, PairedDifference};
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::{self, Column};

/// Measure whose differences have a column.
struct Measure {
    /// Path of the measure in the figures of a case, or of an entry of `[[flow]]`.
    path: &'static str,
    heading: &'static str,
    /// Factor from the measure to the unit of the heading.
    factor: f64,
    /// See [`Column::gives_way`].
    gives_way: u8,
}

impl Measure {
    const fn new(path: &'static str, heading: &'static str) -> Measure {
        Measure { path, heading, factor: 1.0, gives_way: 0 }
    }

    const fn percent(self) -> Measure {
        Measure { factor: 100.0, ..self }
    }

    const fn gives_way(self, rank: u8) -> Measure {
        Measure { gives_way: rank, ..self }
    }
}

/// Measures of all packets, or of those of an entry.
const OF_PACKETS: [Measure; COMPARED.len()] = [
    Measure::new(COMPARED[0], "rate\nMbit/s"),
    Measure::new(COMPARED[1], "mean\nms").gives_way(1),
    Measure::new(COMPARED[2], "p95\nms").gives_way(2),
    Measure::new(COMPARED[3], "p99\nms"),
];
/// Measures of a single entry; columns that no case has a figure for are left out.
const OF_FLOWS: [Measure; 11] = [
    Measure::new("loss_ratio", "lost\n%").percent().gives_way(3),
    Measure::new("completion_ms.mean", "took\nms"),
    Measure::new("voice.mos", "MOS"),
    Measure::new("video.delay_p95_ms", "frame\np95 ms"),
    Measure::new("video.complete", "whole\n%").percent(),
    Measure::new("video.late", "late\n%").percent(),
    Measure::new("video.frozen", "frozen\n%").percent().gives_way(4),
    Measure::new("video.mos", "video\nMOS").gives_way(5),
    Measure::new("stream.bitrate_mbps", "video\nMbit/s").gives_way(6),
    Measure::new("stream.qoe_per_chunk", "QoE"),
    Measure::new("web.load_ms", "load\nms"),
];
/// Largest number of rows of the table; summary.json has all of them.
const ROWS: usize = 60;

/// Table of the differences of all packets in a summary, with its note; empty without differences.
pub fn text(all: &[AxisFile], differences: &[PairedDifference], population: Option<&str>) -> String {
    let measures = OF_PACKETS.iter().map(|measure| (measure.path.to_string(), measure)).collect();
    table(all, differences, "", population, measures)
}

/// Table of the differences of the `[[flow]]` entry with this name, along the same axis from the same baseline.
pub fn of_flows(
    all: &[AxisFile],
    cases: &[CaseSummary],
    differences: &[PairedDifference],
    name: &str,
    population: Option<&str>,
) -> String {
    let Some(PairedDifference { axis, baseline, .. }) = differences.first() else { return String::new() };
    let within = |measure: &Measure| format!("groups.{name}.{}", measure.path);
    let measures: Vec<(String, &Measure)> =
        OF_PACKETS.iter().chain(&OF_FLOWS).map(|measure| (within(measure), measure)).collect();
    let figures: Vec<&str> = measures.iter().map(|(path, _)| path.as_str()).collect();
    let found = intervals::compared(
        all,
        cases,
        &Comparison { axis, baseline, over: &[], unit: Unit::Seed, figures: &figures },
    );
    table(all, &found, &format!(", of {}", one_line(name)), population, measures)
}

/// Table of these measures, each with its path in the differences.
fn table(
    all: &[AxisFile],
    differences: &[PairedDifference],
    of: &str,
    population: Option<&str>,
    mut measures: Vec<(String, &Measure)>,
) -> String {
    let Some(first) = differences.first() else { return String::new() };
    measures.retain(|(path, _)| differences.iter().any(|difference| difference.measures.contains_key(path)));
    let axes = axes(all);
    let named = axes.iter().map(|axis| Column::named(header(axis)));
    let measured =
        measures.iter().map(|(_, measure)| Column::right(measure.heading).gives_way(measure.gives_way));
    let columns: Vec<Column> = named.chain(measured).collect();
    let row = |difference: &PairedDifference| {
        let labels =
            axes.iter().map(|axis| one_line(difference.labels.get(*axis).map_or("", String::as_str)));
        let cells = measures.iter().map(|(path, measure)| {
            difference.measures.get(path).map_or(String::new(), |found| cell(found, measure.factor))
        });
        labels.chain(cells).collect()
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

/// Number with two decimals and at least three digits.
fn cell(difference: &Difference, factor: f64) -> String {
    let star = if difference.significant { "*" } else { " " };
    // Negative zero is printed as zero.
    let mean = (difference.mean * factor * 100.0).round() / 100.0 + 0.0;
    match difference.half_width {
        Some(half_width) => format!("{mean:+.2} ±{:.2}{star}", half_width * factor),
        None => format!("{mean:+.2} "),
    }
}
