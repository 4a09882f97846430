//! What people read: a table for each link, a row for each case.

use super::json::Axes;
use crate::cli::Compare;
use crate::run_table::same_seeds;
use qdelay_study::engine::Done;
use qdelay_study::results::{CaseSummary, Delay};
use qdelay_study::same_runs::first_equals;
use qdelay_study::scenario::Study;
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::milliseconds;
use qdelay_terminal::text_table::{self, Column};
use std::fmt::Write;

/// The sentence that says what was run, and the tables.
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

/// A case: what was typed, and its figures.
type Row<'a> = (Axes<'a>, &'a CaseSummary);

/// Which seeds gave the same run.
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
    let seeds = options.seed.0.len() > 1;
    let mut columns = vec![Column::left("qdisc"), Column::left("transport")];
    if seeds {
        columns.push(Column::right("seed"));
    }
    let numbers =
        ["rate\nMbit/s", "used\n%", "mean\nms", "p50\nms", "p95\nms", "p99\nms", "max\nms", "drops", "marks"];
    columns.extend(numbers.map(Column::right));
    if options.probe {
        columns.extend(["probe\nmean ms", "probe\np95 ms"].map(Column::right));
    }
    let rows = results.iter().map(|result| row(result, seeds)).collect();
    text_table::table(&columns, rows)
}

fn row((axes, summary): &Row<'_>, seeds: bool) -> Vec<String> {
    let mut row = vec![one_line(axes.qdisc), one_line(axes.transport)];
    if seeds {
        row.push(axes.seed.to_string());
    }
    let Delay { mean, p50, p95, p99, max, .. } = summary.queue_delay_ms;
    row.push(format!("{:.2}", summary.throughput_mbps));
    row.push(format!("{:.1}", summary.utilization * 100.0));
    row.extend([mean, p50, p95, p99, max].map(milliseconds));
    row.extend([summary.drops, summary.marks].map(|count| count.to_string()));
    if let Some(probe) = summary.probe_ms {
        row.extend([probe.mean, probe.p95].map(milliseconds));
    }
    row
}
