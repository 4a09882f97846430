//! The printed tables: one for each link, with a row for each case.

use super::json::Axes;
use crate::cli::Compare;
use crate::run_table::figures::{self, Figure};
use crate::run_table::same_seeds;
use qdelay_study::engine::Done;
use qdelay_study::results::CaseSummary;
use qdelay_study::same_runs::first_equals;
use qdelay_study::scenario::Study;
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::milliseconds;
use qdelay_terminal::text_table::{self, Column};
use std::fmt::Write;

/// A sentence about the runs, and the tables.
pub fn cases(options: &Compare, study: &Study, cases: &[Done]) -> String {
    let axes = Axes::of(study);
    let results: Vec<Row<'_>> = axes.iter().copied().zip(cases.iter().map(|case| &case.summary)).collect();
    let mut text = sentence(options, results.len());
    for of_one_link in results.chunk_by(|(a, _), (b, _)| a.trace == b.trace) {
        let (first, _) = of_one_link[0];
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}\n{}\n", one_line(first.trace), table(options, of_one_link));
    }
    text + &same_runs(&results) + NOTE
}

/// A case: the user's texts and its figures.
type Row<'a> = (Axes<'a>, &'a CaseSummary);

/// The seeds that gave the same run.
fn same_runs(results: &[Row<'_>]) -> String {
    let firsts = first_equals(results.iter().map(|(_, summary)| *summary));
    let mut groups: Vec<Vec<String>> = Vec::new();
    for (place, first) in firsts.iter().enumerate().filter(|(place, first)| place == *first) {
        let seeds = (place..firsts.len()).filter(|other| firsts[*other] == *first);
        groups.push(seeds.map(|other| results[other].0.seed.to_string()).collect());
    }
    let repeated = results.len() - groups.len();
    groups.retain(|seeds| seeds.len() > 1);
    same_seeds(results.len(), repeated, groups, "--jitter 1ms, or more --flows")
}

const NOTE: &str = "
rate: IP bytes that left the bottleneck; used: of what the link offered; mean to max: delay in the bottleneck's queue,
departure less arrival; drops and marks: packets, by that queue, in the whole run.
";

fn sentence(options: &Compare, cases: usize) -> String {
    let flows = if options.flows == 1 { "one flow".to_string() } else { format!("{} flows", options.flows) };
    let warmup = if options.warmup.is_zero() {
        String::new()
    } else {
        format!(" (rates and delays from {} on)", options.warmup)
    };
    let uplink = match options.uplink.as_str() {
        "none" => "no uplink".to_string(),
        link => format!("acknowledgements over {link} and {} packets", options.uplink_limit),
    };
    let seeds = &options.seed.0;
    let seed = match seeds.as_slice() {
        [only] => format!("seed {only}"),
        _ => format!("{} seeds", seeds.len()),
    };
    let cases = if cases == 1 { "one case".to_string() } else { format!("{cases} cases") };
    let filter = match options.min_packet_bytes {
        0 => String::new(),
        bytes => format!(", delays of packets of at least {bytes} bytes"),
    };
    let limit =
        options.limit.map_or(String::new(), |limit| format!("at most {limit} packets at the bottleneck, "));
    format!(
        "Ran {cases} of {flows} for {}{warmup}: base round trip {}, {limit}{seed},\n{uplink}{filter}.\n",
        options.duration, options.rtt
    )
}

fn table(options: &Compare, results: &[Row<'_>]) -> String {
    let figures = figures::of_case();
    let seeds = options.seed.0.len() > 1;
    let named = [Column::left("qdisc"), Column::left("transport")];
    let seed = seeds.then(|| Column::right("seed"));
    let probe = ["probe\nmean ms", "probe\np95 ms"].into_iter().filter(|_| options.probe).map(Column::right);
    let columns: Vec<Column> =
        named.into_iter().chain(seed).chain(figures.iter().map(Figure::column)).chain(probe).collect();
    let row = |(axes, summary): &Row<'_>| {
        let mut row = vec![one_line(axes.qdisc), one_line(axes.transport)];
        row.extend(seeds.then(|| axes.seed.to_string()));
        row.extend(figures.iter().map(|figure| figure.mean(std::slice::from_ref(*summary), "")));
        row.extend(summary.probe_ms.iter().flat_map(|probe| [probe.mean, probe.p95].map(milliseconds)));
        row
    };
    text_table::table(&columns, results.iter().map(row).collect())
}
