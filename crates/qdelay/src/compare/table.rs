//! The printed tables: one for each link, with a row for each case.

use super::json::Axes;
use crate::cli::Compare;
use crate::run_table::differences;
use crate::run_table::figures::{self, Figure};
use crate::run_table::{coinciding, few_seeds, same_seeds};
use qdelay_study::engine::{self, Done};
use qdelay_study::intervals;
use qdelay_study::results::{CaseSummary, GroupFigures};
use qdelay_study::same_runs::first_equals;
use qdelay_study::scenario::Study;
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::{self, Column};
use std::fmt::Write;

/// Tables of a comparison, below a sentence that names the common settings of the runs.
pub fn cases(options: &Compare, study: &Study, cases: &[Done]) -> String {
    let axes = Axes::from_study(study);
    let results: Vec<Row<'_>> = axes.iter().copied().zip(cases.iter().map(|case| &case.summary)).collect();
    let mut text = sentence(options, results.len());
    for of_one_link in results.chunk_by(|(a, _), (b, _)| a.trace == b.trace) {
        let (first, _) = of_one_link[0];
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}\n{}\n", one_line(first.trace), table(options, of_one_link));
        let (is_stream, is_web) =
            (|group: &GroupFigures| group.stream.is_some(), |group: &GroupFigures| group.web.is_some());
        text += &of_applications(options, of_one_link, is_stream, figures::of_stream(), figures::STREAM_NOTE);
        text += &of_applications(options, of_one_link, is_web, figures::of_web(), figures::WEB_NOTE);
    }
    let (axes, summaries) =
        (engine::axes(study), cases.iter().map(|case| case.summary.clone()).collect::<Vec<_>>());
    text += &differences::text(&axes, &intervals::paired(&axes, &summaries), study.population().as_deref());
    text + &same_runs(&results) + &coinciding(&axes, &summaries.iter().collect::<Vec<_>>()) + NOTE
}

/// Texts of the user and figures of one case.
type Row<'a> = (Axes<'a>, &'a CaseSummary);

/// Note about seeds with identical runs.
fn same_runs(results: &[Row<'_>]) -> String {
    let firsts = first_equals(results.iter().map(|(_, summary)| *summary));
    let mut groups: Vec<Vec<String>> = Vec::new();
    for (place, first) in firsts.iter().enumerate().filter(|(place, first)| place == *first) {
        let seeds = (place..firsts.len()).filter(|other| firsts[*other] == *first);
        groups.push(seeds.map(|other| results[other].0.seed.to_string()).collect());
    }
    let repeated = results.len() - groups.len();
    groups.retain(|seeds| seeds.len() > 1);
    same_seeds(results.len(), repeated, groups, "--starts random, --jitter 1ms, or more --flows")
}

const NOTE: &str = "
rate: IP bytes that left the bottleneck; used: of what the link offered; mean to max: delay in the bottleneck's queue,
departure less arrival; drops and marks: packets, by that queue, in the whole run.
";

/// Sentence above the tables, with every setting that differs from the defaults of a plain run, so that a printed table can be repeated.
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
        _ => format!("means of {} seeds, ± half the 95% interval", seeds.len()),
    };
    let cases = if cases == 1 { "one case".to_string() } else { format!("{cases} cases") };
    let filter = match options.min_packet_bytes {
        0 => String::new(),
        bytes => format!(", delays of packets of at least {bytes} bytes"),
    };
    let limit =
        options.limit.map_or(String::new(), |limit| format!("at most {limit} packets at the bottleneck, "));
    format!(
        "Ran {cases} of {flows} for {}{warmup}: base round trip {}, {limit}{seed},\n{uplink}{filter}.\n{}",
        options.duration,
        options.rtt.text(),
        few_seeds(seeds.len())
    )
}

/// Table of the transports that are an application of this kind, with a note on the columns; empty without such transports.
fn of_applications(
    options: &Compare,
    results: &[Row<'_>],
    is_one: fn(&GroupFigures) -> bool,
    figures: Vec<Figure>,
    note: &str,
) -> String {
    let name_in = |summary: &CaseSummary| {
        summary.groups.iter().find(|(_, group)| is_one(group)).map(|(name, _)| name.clone())
    };
    let row = |point: &[Row<'_>]| {
        let (axes, summary) = point[0];
        let name = name_in(summary)?;
        let all: Vec<&CaseSummary> = point.iter().map(|(_, summary)| *summary).collect();
        let mut row = vec![one_line(axes.qdisc), one_line(axes.transport)];
        row.extend(figures.iter().map(|figure| figure.mean(&all, &name)));
        Some(row)
    };
    let rows: Vec<Vec<String>> = results.chunks(options.seed.0.len()).filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let named = [Column::left("qdisc"), Column::left("transport")];
    let columns: Vec<Column> = named.into_iter().chain(figures.iter().map(Figure::column)).collect();
    format!("\n{}\n{note}", text_table::table(&columns, rows))
}

fn table(options: &Compare, results: &[Row<'_>]) -> String {
    let figures = figures::of_case();
    let named = [Column::left("qdisc"), Column::left("transport")];
    let probe = ["probe\nmean ms", "probe\np95 ms"].into_iter().filter(|_| options.probe).map(Column::right);
    let columns: Vec<Column> =
        named.into_iter().chain(figures.iter().map(Figure::column)).chain(probe).collect();
    let row = |point: &[Row<'_>]| {
        let (axes, _) = point[0];
        let firsts = first_equals(point.iter().map(|(_, summary)| *summary));
        let distinct = point.iter().enumerate().filter(|(place, _)| firsts[*place] == *place);
        let distinct: Vec<&CaseSummary> = distinct.map(|(_, (_, summary))| *summary).collect();
        let mut row = vec![one_line(axes.qdisc), one_line(axes.transport)];
        row.extend(figures.iter().map(|figure| figure.mean(&distinct, "")));
        if options.probe {
            row.extend(
                [figures::of_probe(|probe| probe.mean), figures::of_probe(|probe| probe.p95)]
                    .map(|figure| figure.mean(&distinct, "")),
            );
        }
        row
    };
    // The seed is the innermost axis, so the cases of a row are adjacent.
    text_table::table(&columns, results.chunks(options.seed.0.len()).map(row).collect())
}
