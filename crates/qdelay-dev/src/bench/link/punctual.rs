//! `qdelay-dev bench link --punctual`: lateness of packets on a link that is always busy.
//!
//! The link, 100 Mbit/s by default, is used in both directions. Two loads keep the link busy, one TCP connection and UDP
//! packets of 1500 bytes at 1.1 times the link's rate. Each load runs in three modes: with real-time priority and spinning for the last 50
//! us
//! before each release, as `qdelay link --realtime` and `qdelay run --clock real` do; without spinning; and without
//! priority. Acknowledgements are releases too; UDP has none. The bounds [`P99`] and [`P999`] apply to the first mode.

use super::load::{Ends, Load};
use super::slice::{self, ByLink, with_carrier};
use crate::bench::options::BenchLink;
use qdelay_core::{Rate, Span};
use qdelay_emu::device::tun::Tun;
use qdelay_emu::wait::{Permission, WaitOptions};
use qdelay_path::stack::Plan;
use qdelay_path::{AnyLink, LinkModel};
use qdelay_study::results::{SCHEMA_VERSION, pretty, round};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::text_table::{self, Column};
use serde::Serialize;
use std::fmt::Write;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::Sender;

/// Default link.
pub const LINK: &str = "line:100mbit";
/// Bound of the 99th percentile of lateness, in microseconds.
const P99: f64 = 100.0;
/// Bound of the 99.9th percentile of lateness, in microseconds.
const P999: f64 = 1000.0;
/// Offered UDP rate as a multiple of the link's rate.
const OVERLOAD: f64 = 1.1;
const PACKET_BYTES: usize = 1500;

const WAYS: [(&str, WaitOptions); 3] = [
    ("real-time, spinning", WaitOptions { realtime: true, spin: None }),
    ("real-time", WaitOptions { realtime: true, spin: Some(Span::ZERO) }),
    ("as it comes", WaitOptions { realtime: false, spin: None }),
];

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    link: &'a str,
    qdisc: &'a str,
    slice_s: f64,
    marks_us: Marks,
    /// All loads in the first mode meet the bounds.
    reached: bool,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct Marks {
    p99: f64,
    p999: f64,
}

#[derive(Serialize)]
struct Run {
    load: &'static str,
    way: &'static str,
    /// Real-time priority was granted; null if not requested.
    realtime: Option<bool>,
    spin_us: f64,
    gbps: f64,
    releases: u64,
    lateness_us: Lateness,
    trustworthy: bool,
    reasons: Vec<String>,
    cpu_percent: f64,
    steal_seconds: Option<f64>,
}

#[derive(Serialize)]
struct Lateness {
    p50: f64,
    p99: f64,
    p999: f64,
    max: f64,
}

impl Run {
    fn reaches(&self) -> bool {
        self.lateness_us.p99 < P99 && self.lateness_us.p999 < P999
    }
}

/// Runs all loads in all modes, prints the results, and checks the bounds.
///
/// # Errors
/// A socket or device that fails, a link without a rate, or a bound that is missed.
pub fn run(
    options: &BenchLink,
    link: &str,
    devices: &mut [Tun; 2],
    plan: &Plan,
    ends: &Ends,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Check(format!("bench link: {error}"));
    let loads = [
        ("tcp", Load::Tcp),
        ("udp", Load::Udp { bytes: PACKET_BYTES, rate: Some(packets_per_second(&plan.down.link)?) }),
    ];
    let slice_s = options.seconds / (loads.len() * WAYS.len()) as f64;
    let mut runs = Vec::new();
    for (name, load) in loads {
        for (way, wait) in WAYS {
            let carry = |stop: OwnedFd, ready: &Sender<()>| {
                slice::link(&mut *devices, plan.clone(), wait, stop, ready)
            };
            let (carried, traffic) =
                with_carrier("link", carry, || ends.send(load, slice_s)).map_err(failed)?;
            runs.push(told(name, way, &carried, traffic.bytes_per_second));
        }
    }
    let reached = runs.iter().filter(|run| run.way == WAYS[0].0).all(Run::reaches);
    let report = Report {
        schema_version: SCHEMA_VERSION,
        link,
        qdisc: &options.qdisc,
        slice_s: round(slice_s),
        marks_us: Marks { p99: P99, p999: P999 },
        reached,
        runs,
    };
    output::print(&if options.json { pretty(&report) } else { text(&report) })?;
    match reached {
        true => Ok(()),
        false => Err(Failure::Check(format!(
            "bench link: packets leave late; expected less than {P99} us (p99) and {P999} us (p99.9) with real-time \
             priority and spinning"
        ))),
    }
}

/// UDP load that keeps the link busy.
fn packets_per_second(link: &AnyLink) -> Result<f64, Failure> {
    match link.rate() {
        None | Some(Rate::INFINITE) => {
            Err(Failure::input("--link", format!("has no one rate; expected one such as {LINK}")))
        }
        Some(rate) => Ok(OVERLOAD / rate.time_for(PACKET_BYTES as u64).as_secs_f64()),
    }
}

fn told(load: &'static str, way: &'static str, carried: &ByLink, bytes_per_second: f64) -> Run {
    let facts = &carried.facts;
    let late = facts.lateness;
    let us = |ms: f64| round(ms * 1e3);
    Run {
        load,
        way,
        realtime: (carried.priority != Permission::NotAsked).then(|| carried.priority.is_granted()),
        spin_us: round(carried.spin.as_secs_f64() * 1e6),
        gbps: round(bytes_per_second * 8.0 / 1e9),
        releases: late.count,
        lateness_us: Lateness {
            p50: us(late.p50),
            p99: us(late.p99),
            p999: us(late.p999),
            max: us(late.max),
        },
        trustworthy: facts.verdict.trustworthy,
        reasons: facts.verdict.reasons.clone(),
        cpu_percent: round(100.0 * facts.cpu.as_secs_f64() / facts.duration.as_secs_f64().max(1e-9)),
        steal_seconds: facts.steal.map(|steal| round(steal.as_secs_f64())),
    }
}

/// Table of lateness by load and mode, with the bounds of the first mode.
fn text(report: &Report) -> String {
    let mut columns = vec![Column::left("load"), Column::left("carried")];
    columns.extend(
        ["Mbit/s", "releases", "p50\nus", "p99\nus", "p99.9\nus", "max\nus", "CPU\n%", "steal\ns"]
            .map(Column::right),
    );
    columns.push(Column::left("verdict"));
    let row = |run: &Run| {
        let late = &run.lateness_us;
        let mut row = vec![run.load.to_string(), run.way.to_string(), format!("{:.1}", run.gbps * 1e3)];
        row.push(run.releases.to_string());
        row.extend([late.p50, late.p99, late.p999, late.max].map(|us| format!("{us:.0}")));
        row.push(format!("{:.0}", run.cpu_percent));
        row.push(run.steal_seconds.map_or("-".to_string(), |steal| format!("{steal:.2}")));
        row.push(if run.trustworthy { "trustworthy" } else { "not trustworthy" }.to_string());
        row
    };
    let mut text = format!(
        "Lateness of releases: {} on {}, always busy, {:.1} s each.\nCPU: of the whole process, senders and receivers \
         included.\n\n{}\n",
        report.qdisc,
        report.link,
        report.slice_s,
        text_table::table(&columns, report.runs.iter().map(row).collect())
    );
    for run in report.runs.iter().filter(|run| !run.trustworthy) {
        let _ = writeln!(text, "\n{}, {}: {}", run.load, run.way, run.reasons.join("; "));
    }
    if report.runs.iter().any(|run| run.realtime == Some(false)) {
        let _ = writeln!(
            text,
            "\nreal-time priority was refused: these are not the figures that the marks are for"
        );
    }
    let _ = writeln!(
        text,
        "\nmark: p99 under {P99} us and p99.9 under {P999} us with real-time priority and spinning: {}",
        if report.reached { "reached" } else { "missed" },
    );
    text
}
