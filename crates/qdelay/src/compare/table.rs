//! What people read: a table for each link, a row for each case.

use crate::cli::Compare;
use crate::run_table::same_seeds;
use qdelay_record::DelaySummary;
use qdelay_study::compare::pool::{CaseResult, first_equals};
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::milliseconds;
use qdelay_terminal::text_table::{self, Column};
use std::fmt::Write;

/// The sentence that says what was run, and the tables.
pub fn cases(options: &Compare, results: &[CaseResult]) -> String {
    let mut text = sentence(options, results.len());
    for of_one_link in results.chunk_by(|a, b| a.axes.trace == b.axes.trace) {
        let Some(first) = of_one_link.first() else { continue };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}\n{}\n", one_line(&first.axes.trace), table(options, of_one_link));
    }
    text + &same_runs(results) + NOTE
}

/// Which seeds gave the same run.
fn same_runs(results: &[CaseResult]) -> String {
    let firsts = first_equals(results);
    let mut groups: Vec<Vec<String>> = Vec::new();
    for (place, first) in firsts.iter().enumerate().filter(|(place, first)| place == *first) {
        let seeds = (place..firsts.len()).filter(|other| firsts[*other] == *first);
        groups.push(seeds.map(|other| results[other].axes.seed.to_string()).collect());
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

fn table(options: &Compare, results: &[CaseResult]) -> String {
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

fn row(result: &CaseResult, seeds: bool) -> Vec<String> {
    let outcome = &result.outcome;
    let mut row = vec![one_line(&result.axes.qdisc), one_line(&result.axes.transport)];
    if seeds {
        row.push(result.axes.seed.to_string());
    }
    let DelaySummary { mean, p50, p95, p99, max, .. } = outcome.queue_delay_ms;
    row.push(format!("{:.2}", outcome.throughput_mbps));
    row.push(format!("{:.1}", outcome.utilization * 100.0));
    row.extend([mean, p50, p95, p99, max].map(milliseconds));
    row.extend([outcome.drops_total(), outcome.marks_total()].map(|count| count.to_string()));
    if let Some(probe) = outcome.probe_ms {
        row.extend([probe.mean, probe.p95].map(milliseconds));
    }
    row
}
