//! What came of a link with a command behind it: figures, verdict and exit status.

use crate::cli::Link;
use qdelay_core::{Span, Time};
use qdelay_emu::audit::AuditFacts;
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Emulator, Measures, Tap};
use qdelay_emu::snapshot::StallFigures;
use qdelay_live::verdict;
use qdelay_record::Recorder;
use qdelay_study::engine::write_file;
use qdelay_study::results::{Delay, SCHEMA_VERSION, pretty, round};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::output::eprintln_line;
use qdelay_terminal::text_table::milliseconds;
use qdelay_terminal::text_table::{self, Column};
use serde::Serialize;
use std::collections::BTreeMap;

/// What came of it.
pub struct Outcome {
    pub status: u8,
    pub facts: AuditFacts,
    /// How long the command ran.
    pub duration: Span,
    pub drained: Drained,
    /// Records that could not be written to their end: which file, why, and what is in it.
    pub broken: Vec<String>,
    pub directions: [Figures; 2],
}

/// What was still under way when the command had ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drained {
    /// How long the link went on for it.
    pub time: Span,
    /// Packets that were on the path even then, and are lost.
    pub cut: u64,
}

/// One direction in figures.
#[derive(Serialize)]
pub struct Figures {
    pub packets_arrived: u64,
    packets_delivered: u64,
    throughput_mbps: f64,
    utilization: Option<f64>,
    queue_delay_ms: Delay,
    sojourn_ms: Delay,
    drops: u64,
    drops_by_reason: BTreeMap<&'static str, u64>,
    marks: u64,
    malformed: u64,
}

/// How a direction's link was used, up to a time.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    throughput_mbps: f64,
    utilization: Option<f64>,
}

impl Used {
    pub fn by<R: Recorder, T: Tap>(emulator: &Emulator<R, T>, port: Port, end: Time) -> Used {
        let usage = emulator.link_usage(port, end);
        let seconds = end.since(Time::ZERO).as_secs_f64();
        let sent = emulator.measures(port).departed.bytes as f64 * 8.0;
        // A link without a bound offers as much as a number holds.
        let bounded = usage.offered_bytes > 0 && usage.offered_bytes < u64::MAX / 16;
        Used {
            throughput_mbps: if seconds > 0.0 { round(sent / seconds / 1e6) } else { 0.0 },
            utilization: bounded
                .then(|| round((usage.sent_bytes as f64 / usage.offered_bytes as f64).min(1.0))),
        }
    }
}

impl Figures {
    pub fn of<R: Recorder, T: Tap>(emulator: &Emulator<R, T>, port: Port, used: Used) -> Figures {
        let Measures { arrived, delivered, malformed, sojourn, queue_delay, .. } = emulator.measures(port);
        let drops = emulator.drops_by_reason(port);
        let drops: BTreeMap<&str, u64> =
            drops.iter().map(|(reason, count)| (reason.name(), count.packets)).collect();
        Figures {
            packets_arrived: arrived.packets,
            packets_delivered: delivered.packets,
            throughput_mbps: used.throughput_mbps,
            utilization: used.utilization,
            queue_delay_ms: Delay::from(&queue_delay.summary()),
            sojourn_ms: Delay::from(&sojourn.summary()),
            drops: drops.values().sum(),
            drops_by_reason: drops,
            marks: emulator.marks(port).packets,
            malformed: *malformed,
        }
    }
}

/// Prints, writes and returns what there is to say; the command's status is ours.
pub fn end(options: &Link, outcome: &Outcome) -> Result<(), Failure> {
    if !options.quiet {
        // Standard output is the command's.
        output::tell(&text(outcome));
    }
    if let Some(path) = &options.json {
        write_file(path, &json(options, outcome))?;
    }
    // Whoever asked for records has to hear that they are not there, whatever else went well.
    if !outcome.broken.is_empty() {
        let message = outcome.broken.join("; ");
        if outcome.status == 0 {
            return Err(Failure::Check(message));
        }
        eprintln_line(&message);
    }
    if options.strict && !outcome.facts.verdict.trustworthy && outcome.status == 0 {
        let reasons = outcome.facts.verdict.reasons.join("; ");
        return Err(Failure::Check(format!("the run is not to be trusted: {reasons}")));
    }
    match outcome.status {
        0 => Ok(()),
        status => Err(Failure::Status(status)),
    }
}

fn text(outcome: &Outcome) -> String {
    let columns = [
        Column::left("link"),
        Column::right("rate\nMbit/s"),
        Column::right("used\n%"),
        Column::right("mean\nms"),
        Column::right("p50\nms"),
        Column::right("p95\nms"),
        Column::right("p99\nms"),
        Column::right("max\nms"),
        Column::right("packets"),
        Column::right("drops"),
        Column::right("marks"),
    ];
    let row = |(name, figures): (&str, &Figures)| {
        let delay = &figures.queue_delay_ms;
        let mut row = vec![name.to_string(), format!("{:.2}", figures.throughput_mbps)];
        row.push(figures.utilization.map_or("-".to_string(), |used| format!("{:.1}", used * 100.0)));
        row.extend([delay.mean, delay.p50, delay.p95, delay.p99, delay.max].map(milliseconds));
        row.extend([figures.packets_delivered, figures.drops, figures.marks].map(|count| count.to_string()));
        row
    };
    let rows = ["down", "up"].into_iter().zip(&outcome.directions).map(row).collect();
    let Drained { time, cut } = outcome.drained;
    let cut = match cut {
        0 => String::new(),
        cut => format!(
            "{cut} packets were still under way {time} after the command had ended, and are lost (--drain)\n"
        ),
    };
    format!("\n{}\n{}{cut}", text_table::table(&columns, rows), verdict::lines(&outcome.facts, ""))
}

fn json(options: &Link, outcome: &Outcome) -> String {
    let facts = &outcome.facts;
    let [down, up] = &outcome.directions;
    pretty(&serde_json::json!({
        "schema_version": SCHEMA_VERSION,
        "links": {
            "down": { "link": options.down, "qdisc": options.qdisc },
            "up": { "link": options.up, "qdisc": options.up_qdisc },
        },
        "delay_ms": options.delay.as_millis_f64(),
        "duration_s": round(outcome.duration.as_secs_f64()),
        "drain": { "seconds": round(outcome.drained.time.as_secs_f64()), "packets_cut": outcome.drained.cut },
        "down": down,
        "up": up,
        "audit": {
            "trustworthy": facts.verdict.trustworthy,
            "reasons": facts.verdict.reasons,
            "lateness_ms": Delay::from(&facts.lateness),
            "late_limits_ms": facts.limits.map(|limit| limit.as_millis_f64()),
            "releases_late": facts.late,
            "stalls": StallFigures::from(&facts.stalls),
            "lost_outside": facts.lost,
            "malformed": facts.malformed,
            "cpu_seconds": round(facts.cpu.as_secs_f64()),
            "steal_seconds": facts.steal.map(|steal| round(steal.as_secs_f64())),
        },
        "status": outcome.status,
    }))
}
