//! `qdelay import irtt`.

use super::clocks::{self, Clocks, Estimate, Times};
use super::irtt::{self, Clock, Losses, OneWay, Results};
use super::offset::{self, Offset};
use super::replay::Arrived;
use super::trace_files::{self, Load, Packets, Written};
use super::{NANOS_PER_MS, open, summary};
use crate::cli::ImportIrtt;
use qdelay_core::Span;
use qdelay_record::DelaySummary;
use qdelay_study::results::{SCHEMA_VERSION, pretty, round};
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output;
use qdelay_terminal::text_table::{self, Column};
use serde::Serialize;
use serde_json::json;
use std::fmt::Write;

/// Names of the directions, in files too.
const NAMES: [&str; 3] = ["rtt", "send", "receive"];
/// Bin width of traces where the file has no interval.
const BIN: Span = Span::from_millis(100);

/// Figures of a file, as in the JSON.
#[derive(Debug, Serialize)]
struct Figures {
    version: String,
    losses: Losses,
    /// Round trip, request, reply; those without a delay are left out.
    delays: Vec<Delays>,
    /// Clock of the one-way delays; null without them.
    clock: Option<Clock>,
    /// Offset of the server's clock, subtracted from the one-way delays; null without them.
    clock_offset_ms: Option<f64>,
    likely_offset_ms: Option<f64>,
    clock_estimate: Option<Estimate>,
}

#[derive(Debug, Serialize)]
struct Delays {
    delay: &'static str,
    min_ms: Option<f64>,
    delay_ms: Option<DelaySummary>,
}

/// Runs the command.
///
/// # Errors
/// A file that is no result of irtt, one-way traffic with `--offset auto`, or files that cannot be written.
pub fn run(options: &ImportIrtt) -> Result<(), Failure> {
    let offset = offset::parse(&options.offset)?;
    trace_files::refuse_existing(&options.files, &NAMES, Load::Probes)?;
    let place = options.file.display().to_string();
    let results = irtt::read(&place, &mut open(&options.file)?)?;
    let (figures, packets) = figures(&results, offset)?;
    let bin = match (options.trace_bin, results.interval()) {
        (Some(bin), _) => bin,
        (None, Some(interval)) => Span::from_nanos(interval),
        (None, None) => BIN,
    };
    let delay = options.trace_delay.into();
    let traces = trace_files::write(&options.files, packets, Load::Probes, bin, delay)?;
    if options.json {
        let all = json!({ "schema_version": SCHEMA_VERSION, "irtt": figures, "traces": traces });
        return output::print(&pretty(&all));
    }
    output::print(&text(&place, &figures, &traces))
}

/// Figures, and packets for traces.
fn figures(results: &Results, offset: Offset) -> Result<(Figures, Vec<Packets>), Failure> {
    let one_way = match (results.one_way(), offset) {
        // Monotonic clocks have any origin: their difference is a delay only by an estimate.
        (Some((Clock::Monotonic, _)), Offset::Given(0)) => None,
        (found, _) => found,
    };
    let mut packets = vec![Packets { name: NAMES[0], arrived: trips(results) }];
    let mut found = Figures {
        version: results.version().to_string(),
        losses: results.losses(),
        delays: Vec::new(),
        clock: None,
        clock_offset_ms: None,
        likely_offset_ms: None,
        clock_estimate: None,
    };
    match one_way {
        Some((clock, replies)) => {
            let clocks = match offset {
                Offset::Given(nanos) => Clocks::constant(nanos),
                Offset::Estimated => {
                    let times = |of: fn(&OneWay) -> Times| replies.iter().map(of).collect::<Vec<_>>();
                    let estimate = clocks::estimate(&times(|reply| reply.up), &times(|reply| reply.down));
                    let estimate = estimate.map_err(|error| Failure::input("--offset", error.message()))?;
                    found.clock_estimate = Some(estimate);
                    estimate.clocks
                }
            };
            found.clock = Some(clock);
            found.clock_offset_ms = Some(clocks.offset() as f64 / NANOS_PER_MS);
            let [up, down] = directions(&replies, &clocks);
            let least = [&up, &down].map(|packets| packets.iter().map(|packet| packet.delay).min());
            if let [Some(up), Some(down)] = least {
                let nanos = (i128::from(up) - i128::from(down)) / 2 + i128::from(clocks.offset());
                found.likely_offset_ms = Some(nanos as f64 / NANOS_PER_MS);
            }
            packets.push(Packets { name: NAMES[1], arrived: up });
            packets.push(Packets { name: NAMES[2], arrived: down });
        }
        None if offset == Offset::Given(0) => {}
        None => {
            let message =
                "the file has no times of the server; expected those of 'irtt client --tstamp=both'";
            return Err(Failure::input("--offset", message));
        }
    }
    found.delays = packets.iter().map(delays).collect();
    Ok((found, packets))
}

fn trips(results: &Results) -> Vec<Arrived> {
    let trips = results.round_trips().into_iter();
    trips.map(|(sent, delay)| Arrived { sent, delay, bytes: 0 }).collect()
}

/// Requests and replies by the client's clock.
fn directions(replies: &[OneWay], clocks: &Clocks) -> [Vec<Arrived>; 2] {
    let between = |from: i64, to: i64| Arrived { sent: from, delay: to.saturating_sub(from), bytes: 0 };
    let up = |reply: &OneWay| between(reply.up.0, clocks.to_first(reply.up.1));
    let down = |reply: &OneWay| between(clocks.to_first(reply.down.1), reply.down.0);
    [replies.iter().map(up).collect(), replies.iter().map(down).collect()]
}

fn delays(packets: &Packets) -> Delays {
    let mut nanos: Vec<i64> = packets.arrived.iter().map(|packet| packet.delay).collect();
    let delay_ms = summary(&mut nanos);
    let min_ms = nanos.first().map(|nanos| round(*nanos as f64 / NANOS_PER_MS));
    Delays { delay: packets.name, min_ms, delay_ms }
}

fn text(place: &str, figures: &Figures, traces: &[Written]) -> String {
    let losses = &figures.losses;
    let percent =
        |percent: Option<f64>| percent.map_or("not stated".to_string(), |percent| format!("{percent:.2}%"));
    let mut text = format!(
        "{}: irtt {}, {} packets sent, {} received, {} duplicates, {} late\nloss: {} (up {}, down {})\n",
        one_line(place),
        one_line(&figures.version),
        losses.sent,
        losses.received,
        losses.duplicates,
        losses.late,
        percent(losses.loss_percent),
        percent(losses.up_percent),
        percent(losses.down_percent),
    );
    // Writing to a string cannot fail.
    if losses.lost_up + losses.lost_down + losses.lost_unknown > 0 {
        let _ = writeln!(
            text,
            "lost by the replies' windows: {} up, {} down, {} in an unknown direction",
            losses.lost_up, losses.lost_down, losses.lost_unknown
        );
    }
    let numbers = ["packets", "least\nms", "mean\nms", "p50\nms", "p95\nms", "p99\nms", "max\nms"];
    let columns: Vec<Column> =
        [Column::left("delay")].into_iter().chain(numbers.map(Column::right)).collect();
    let row = |delays: &Delays| {
        let summary = delays.delay_ms.as_ref()?;
        let figures = [summary.mean, summary.p50, summary.p95, summary.p99, summary.max];
        let mut row = vec![delays.delay.to_string(), summary.count.to_string()];
        row.extend([delays.min_ms?].into_iter().chain(figures).map(|ms| format!("{ms:.2}")));
        Some(row)
    };
    let rows = figures.delays.iter().filter_map(row).collect();
    let _ = writeln!(text, "\n{}", text_table::table(&columns, rows));
    match (figures.clock, figures.clock_offset_ms) {
        (Some(clock), Some(ms)) => {
            let clock = if clock == Clock::Wall { "wall" } else { "monotonic" };
            let _ = writeln!(
                text,
                "send and receive: differences of the {clock} clocks of client and server; clock offset subtracted: {ms} ms"
            );
        }
        _ => {
            text += "no one-way delays: the file has no wall clock of the server; --offset auto may use its monotonic one\n"
        }
    }
    match &figures.clock_estimate {
        Some(estimate) => text += &offset::estimate_text(estimate),
        None => {
            let one_way = figures.delays.iter().skip(1).filter_map(|delays| delays.min_ms);
            text += &offset::hint(&one_way.collect::<Vec<_>>(), figures.likely_offset_ms);
        }
    }
    text + &trace_files::text(traces)
}
