//! `qdelay import`: measurements of other programs.

use super::captures::{self, Comparison, Evidence, FlowFigures, Side, Way};
use super::irtt_command;
use super::mahimahi_log::{self, Bin, LogFigures};
use super::offset::{self, Offset};
use super::open;
use super::replay::Arrived;
use super::trace_files::{self, Load, Packets};
use crate::cli::{ImportCaptures, ImportCommand, ImportMahimahi};
use qdelay_report as report;
use qdelay_study::engine;
use qdelay_study::results::{SCHEMA_VERSION, Series, pretty, round};
use qdelay_study::tables::csv_field;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output;
use qdelay_terminal::text_table::{self, Column, milliseconds};
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// Largest number of flows in the table; the JSON has all of them.
const ROWS: usize = 40;
/// Largest number of steps of a plot.
const BINS_MAX: usize = 1_000_000;
/// Runs the command.
///
/// # Errors
/// A file that cannot be read or written.
pub fn run(command: &ImportCommand) -> Result<(), Failure> {
    match command {
        ImportCommand::Mahimahi(options) => logs(options),
        ImportCommand::Captures(options) => compare(options),
        ImportCommand::Irtt(options) => irtt_command::run(options),
    }
}

fn is_for_data(csv: Option<&Path>, json: bool) -> bool {
    json || csv == Some(Path::new("-"))
}

/// Reads all logs before writing anything, so that a damaged log leaves no partial output.
fn logs(options: &ImportMahimahi) -> Result<(), Failure> {
    let bin_ms = options.bin.as_nanos() / 1_000_000;
    if bin_ms == 0 || !options.bin.as_nanos().is_multiple_of(1_000_000) {
        return Err(Failure::input("--bin", format!("{}; expected whole milliseconds", options.bin)));
    }
    if options.svg.is_some() && options.logs.len() > 1 {
        return Err(Failure::input("--svg", "plots one log; expected a single log"));
    }
    let mut all: Vec<(String, LogFigures)> = Vec::new();
    for path in &options.logs {
        let name = path.display().to_string();
        let figures = mahimahi_log::read(&name, open(path)?, bin_ms)?;
        all.push((name, figures));
    }
    let picture = match (&options.svg, all.first()) {
        (Some(path), Some((log, figures))) => {
            Some((path, report::series_svg(log, &series(figures, bin_ms)?)))
        }
        _ => None,
    };
    if options.json {
        let entry = |(log, figures): &(String, LogFigures)| json!({ "log": log, "figures": figures });
        let logs: Vec<_> = all.iter().map(entry).collect();
        output::print(&pretty(&json!({ "schema_version": SCHEMA_VERSION, "logs": logs })))?;
    } else if !is_for_data(options.csv.as_deref(), options.json) {
        output::print(&log_table(&all))?;
    }
    if let Some((path, picture)) = picture {
        engine::write_file(path, &picture)?;
        said(options.csv.as_deref(), options.json, path)?;
    }
    let Some(path) = &options.csv else { return Ok(()) };
    output::write_file(path, true, |out| {
        out.write_str("log,start_s,capacity_mbps,ingress_mbps,throughput_mbps,delay_mean_ms,delay_max_ms\n")?;
        for (log, figures) in &all {
            for bin in &figures.bins {
                let rates = [bin.start_s, bin.capacity_mbps, bin.ingress_mbps, bin.throughput_mbps];
                let cells = rates.map(Some).into_iter().chain([bin.delay_mean_ms, bin.delay_max_ms]);
                let cells = cells.map(|cell| cell.map_or(String::new(), |cell| round(cell).to_string()));
                writeln!(out, "{},{}", csv_field(log), cells.collect::<Vec<_>>().join(","))?;
            }
        }
        Ok(())
    })?;
    said(options.csv.as_deref(), options.json, path)
}

/// Rates and delays of a log's bins, as a series from 0 on.
fn series(figures: &LogFigures, bin_ms: u64) -> Result<Series, Failure> {
    let bin_s = bin_ms as f64 / 1e3;
    let place = |bin: &Bin| (bin.start_s / bin_s).round() as usize;
    let count = figures.bins.last().map_or(0, |bin| place(bin).saturating_add(1));
    if count > BINS_MAX {
        return Err(Failure::input("--bin", format!("the log has {count} of them; expected a longer time")));
    }
    let mut series = Series {
        bin_s,
        capacity_mbps: vec![Some(0.0); count],
        throughput_mbps: vec![0.0; count],
        delay_mean_ms: vec![None; count],
        delay_max_ms: vec![None; count],
        ..Series::default()
    };
    for bin in &figures.bins {
        let place = place(bin);
        series.capacity_mbps[place] = Some(bin.capacity_mbps);
        series.throughput_mbps[place] = bin.throughput_mbps;
        series.delay_mean_ms[place] = bin.delay_mean_ms;
        series.delay_max_ms[place] = bin.delay_max_ms;
    }
    Ok(series)
}

fn said(csv: Option<&Path>, json: bool, path: &Path) -> Result<(), Failure> {
    if is_for_data(csv, json) {
        return Ok(());
    }
    output::print(&format!("written: {}\n", one_line(&path.display().to_string())))
}

/// Table with a row for each log; columns that matter less are dropped first on a narrow terminal.
fn log_table(all: &[(String, LogFigures)]) -> String {
    let columns = [
        Column::left("log"),
        Column::right("time\ns").gives_way(3),
        Column::right("capacity\nMbit/s"),
        Column::right("rate\nMbit/s"),
        Column::right("used\n%"),
        Column::right("mean\nms").gives_way(1),
        Column::right("p95\nms"),
        Column::right("max\nms").gives_way(2),
        Column::right("signal\np95, ms"),
        Column::right("drops").gives_way(4),
    ];
    let row = |(log, figures): &(String, LogFigures)| {
        vec![
            one_line(log),
            format!("{:.1}", figures.duration_s),
            format!("{:.2}", figures.capacity_mbps),
            format!("{:.2}", figures.throughput_mbps),
            figures.utilization.map_or(String::new(), |used| format!("{:.1}", 100.0 * used)),
            milliseconds(figures.delay_ms.mean),
            whole_or_exact(figures.delay_p95_ms),
            whole_or_exact(figures.delay_ms.max),
            whole_or_exact(figures.signal_delay_p95_ms),
            figures.drops.to_string(),
        ]
    };
    let table = text_table::table(&columns, all.iter().map(row).collect());
    let others: String = all.iter().map(|(log, figures)| other_events(log, figures)).collect();
    format!(
        "{table}\nDelays: queueing delay of each packet; signal: smallest delay of anything sent at that time.\n{others}"
    )
}

/// Whole milliseconds, as mahimahi has them, or a fraction, as some logs do.
fn whole_or_exact(ms: f64) -> String {
    if ms.fract() == 0.0 { format!("{ms:.0}") } else { milliseconds(ms) }
}

/// Line about events that are in no figure.
fn other_events(log: &str, figures: &LogFigures) -> String {
    let count: u64 = figures.other_events.values().sum();
    let letters: Vec<String> = figures.other_events.keys().map(|letter| format!("'{letter}'")).collect();
    match count {
        0 => String::new(),
        1 => format!("{}: 1 event of another kind left out: {}\n", one_line(log), letters.concat()),
        _ => format!("{}: {count} events of other kinds left out: {}\n", one_line(log), letters.join(", ")),
    }
}

/// Compares two captures, or the two interfaces of one. Captures without a common packet are refused, because every packet would count as
/// lost.
fn compare(options: &ImportCaptures) -> Result<(), Failure> {
    let offset = offset::parse(&options.offset)?;
    let load = Load::Traffic(options.trace_rate);
    trace_files::refuse_existing(&options.files, &[Way::Forth, Way::Back].map(word), load)?;
    let read = |path: &Path| -> Result<Side, Failure> {
        let side = captures::side(&path.display().to_string(), open(path)?)?;
        match side.counts.packets {
            0 => Err(Failure::input(path.display(), "no IP packets; expected a capture with some")),
            _ => Ok(side),
        }
    };
    let (names, [first, second]) = match &options.second {
        Some(second) => {
            let names = [&options.first, second].map(|path| path.display().to_string());
            (names, [read(&options.first)?, read(second)?])
        }
        None => {
            let name = options.first.display().to_string();
            let sides = captures::both_sides(&name, open(&options.first)?)?;
            ([format!("{name}, first interface"), format!("{name}, second")], sides)
        }
    };
    let has_one_clock = first.has_one_clock && second.has_one_clock;
    let comparison = match offset {
        Offset::Given(nanos) => captures::compare(&first, &second, nanos),
        // Half the difference of the smallest delays would be that of the path.
        Offset::Estimated if has_one_clock => captures::compare(&first, &second, 0),
        Offset::Estimated => match captures::compare_estimated(&first, &second) {
            Ok(comparison) => comparison,
            // Captures without a common packet have an error of their own.
            Err(error) => match captures::compare(&first, &second, 0) {
                comparison if comparison.ways.iter().all(|way| way.delay_ms.is_none()) => comparison,
                _ => return Err(Failure::input("--offset", error.message())),
            },
        },
    };
    if comparison.ways.iter().all(|way| way.delay_ms.is_none()) {
        let message = "no packet is in both captures; expected those of both ends of a link, without address translation in between, \
            with at least 96 bytes of each packet";
        return Err(Failure::input(names.join(", "), message));
    }
    let delay = options.trace_delay.into();
    let traces = trace_files::write(&options.files, arrived(&comparison), load, options.trace_bin, delay)?;
    if options.json {
        output::print(&pretty(&json!({
            "schema_version": SCHEMA_VERSION, "first": first.counts, "second": second.counts, "captures": comparison,
            "traces": traces,
        })))?;
    } else if !is_for_data(options.csv.as_deref(), options.json) {
        let sides = names.iter().zip([&first, &second]);
        let text: String = sides.map(|(name, side)| side_text(name, side)).collect();
        let clocks = clocks_text(&comparison, has_one_clock);
        let files = trace_files::text(&traces);
        output::print(&format!("{text}{}{clocks}{files}", captures_text(&comparison)))?;
    }
    let Some(path) = &options.csv else { return Ok(()) };
    output::write_file(path, true, |out| {
        out.write_str("sent_s,way,flow,bytes,delay_ms\n")?;
        for packet in &comparison.packets {
            let delay = packet.delay.map_or(String::new(), |nanos| (nanos as f64 / 1e6).to_string());
            let (seconds, nanos) =
                (packet.sent.div_euclid(1_000_000_000), packet.sent.rem_euclid(1_000_000_000));
            let (way, ends) = (word(packet.way), packet.ends);
            writeln!(out, "{seconds}.{nanos:09},{way},{ends},{},{delay}", packet.bytes)?;
        }
        Ok(())
    })?;
    said(options.csv.as_deref(), options.json, path)
}

/// Packets that arrived, of each direction, by the first clock.
fn arrived(comparison: &Comparison) -> Vec<Packets> {
    let of_way = |way: Way| {
        let packets = comparison.packets.iter().filter(|packet| packet.way == way);
        let arrived = packets.filter_map(|packet| {
            let sent = match way {
                Way::Forth => packet.sent,
                Way::Back => comparison.clocks.to_first(packet.sent),
            };
            Some(Arrived { sent, delay: packet.delay?, bytes: packet.bytes })
        });
        Packets { name: word(way), arrived: arrived.collect() }
    };
    vec![of_way(Way::Forth), of_way(Way::Back)]
}

fn word(way: Way) -> &'static str {
    match way {
        Way::Forth => "forth",
        Way::Back => "back",
    }
}

/// Notes on the packets of a capture that cannot be used, or only in part.
fn side_text(name: &str, side: &Side) -> String {
    let counts = side.counts;
    let notes = [
        (counts.not_ip, "not IP"),
        (counts.commented, "marked as dropped"),
        (counts.without_time, "without a time"),
        (counts.offloaded, "of more than 9216 bytes (offload: the other end has no such packets)"),
        (u64::from(counts.is_cut), "cut short at the end of the file"),
    ];
    let notes: String = notes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    let cut = match side.shortened {
        Some((kept, length)) => format!(
            ", {} cut short ({kept} of {length} bytes): matched by the bytes that both captures have",
            counts.shortened
        ),
        None => String::new(),
    };
    format!("{}: {} IP packets{notes}{cut}\n", one_line(name), counts.packets)
}

fn captures_text(comparison: &Comparison) -> String {
    let columns = [
        Column::left("way"),
        Column::left("flow"),
        Column::right("packets"),
        Column::right("lost\n%"),
        Column::right("re-\nordered").gives_way(3),
        Column::right("least\nms").gives_way(1),
        Column::right("mean\nms"),
        Column::right("p50\nms").gives_way(5),
        Column::right("p95\nms").gives_way(4),
        Column::right("p99\nms"),
        Column::right("max\nms").gives_way(2),
    ];
    let delay = |ms: Option<f64>| ms.map_or(String::new(), |ms| format!("{ms:.2}"));
    let row = |flow: &FlowFigures| {
        let of = |figure: fn(&qdelay_record::DelaySummary) -> f64| delay(flow.delay_ms.as_ref().map(figure));
        vec![
            word(flow.way).to_string(),
            if flow.flow.is_empty() { "all".to_string() } else { one_line(&flow.flow) },
            flow.sent.to_string(),
            format!("{:.2}", 100.0 * flow.loss),
            flow.reordered.to_string(),
            delay(flow.delay_min_ms),
            of(|delay| delay.mean),
            of(|delay| delay.p50),
            of(|delay| delay.p95),
            of(|delay| delay.p99),
            of(|delay| delay.max),
        ]
    };
    let is_one = |way: &FlowFigures| comparison.flows.iter().filter(|flow| flow.way == way.way).count() == 1;
    let ways = comparison.ways.iter().filter(|way| !is_one(way));
    let rows: Vec<_> = ways.chain(comparison.flows.iter().take(ROWS)).map(row).collect();
    let mut text = format!("\n{}\n", text_table::table(&columns, rows));
    // Writing to a string cannot fail.
    if comparison.flows.len() > ROWS {
        let _ = writeln!(text, "... and {} more flows in the JSON", comparison.flows.len() - ROWS);
    }
    let sum = |of: fn(&FlowFigures) -> u64| comparison.ways.iter().map(of).sum::<u64>();
    for (count, what) in [
        (sum(|way| way.at_the_edges), "at the edges of the captures, not in the figures"),
        (sum(|way| way.copies), "arrived more often than they were sent"),
        (sum(|way| way.alike), "indistinguishable copies, not in the delays"),
    ] {
        if count > 0 {
            let _ = writeln!(text, "{count} packets {what}");
        }
    }
    let _ = writeln!(text, "clock offset subtracted from the delays: {} ms", comparison.clock_offset_ms);
    if let Some(estimate) = &comparison.clock_estimate {
        text += &offset::estimate_text(estimate);
    }
    for (way, [begin, end]) in comparison.ways.iter().zip(&comparison.least_delays_ms) {
        let _ = writeln!(
            text,
            "smallest delay {}: {begin:.3} ms in the first tenth, {end:.3} ms in the last",
            word(way.way)
        );
    }
    text
}

/// Note on clocks that differ; empty if both ends have the same clock.
fn clocks_text(comparison: &Comparison, is_one_clock: bool) -> String {
    let mut text = String::new();
    if is_one_clock {
        return text;
    }
    let least: Vec<f64> = comparison.ways.iter().filter_map(|way| way.delay_min_ms).collect();
    text += &offset::hint(&least, comparison.likely_offset_ms);
    let by_sign = |flow: &&FlowFigures| flow.way_by == Evidence::Sign && flow.delay_ms.is_some();
    let count = comparison.flows.iter().filter(by_sign).count();
    if count > 0 {
        let _ = writeln!(
            text,
            "flows without traffic back: {count}; their direction follows the sign of their delays, correct if the clocks differ by less than a delay"
        );
    }
    text
}
