//! `qdelay bench link`: how fast real packets go through a link, beside a bare copy loop over the same two devices.
//!
//! Two TUN devices join two namespaces of their own. Loop and link take turns on them in short slices, because a machine
//! that others share is faster now and slower then; each slice of the link is divided by that of the loop beside it, and
//! the ratio is the median. Three loads: one TCP connection, UDP packets of 1500 bytes and of 64 bytes, each as fast as the
//! sender can. The mark is [`MARK`] of what the loop does in the same time.
//!
//! Then UDP packets of 1500 bytes at [`RATES`]: what the sender sent and the receiver did not get has to be what path and
//! audit say was dropped.
//!
//! `--punctual` measures how late packets leave instead: see `punctual`.

mod load;
mod punctual;
mod slice;

use crate::cli::BenchLink;
use load::{Ends, Load};
use qdelay_core::Span;
use qdelay_core::component::Registry;
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_emu::link_setup::{self, LinkSetup, Outside};
use qdelay_emu::netns::user;
use qdelay_emu::plan::{Direction, Plan};
use qdelay_study::links;
use qdelay_study::lists::component;
use qdelay_study::results::{SCHEMA_VERSION, pretty, round};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::text_table::{self, Column};
use serde::Serialize;
use slice::{Carrier, Slice};
use std::fmt::Write;

/// The part of the bare loop's throughput, and of its packets per CPU-second, that the link has to reach.
const MARK: f64 = 0.85;
/// The link where none is given: it holds nothing up.
const LINK: &str = "line:100gbit";
/// Slices of loop and link for each load.
const ROUNDS: usize = 15;
const LOADS: [(&str, Load); 3] = [
    ("tcp", Load::Tcp),
    ("udp-1500", Load::Udp { bytes: 1500, rate: None }),
    ("udp-64", Load::Udp { bytes: 64, rate: None }),
];
/// Packets per second at which losses are counted.
const RATES: [f64; 4] = [10e3, 40e3, 100e3, 200e3];

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    link: &'a str,
    qdisc: &'a str,
    slice_s: f64,
    rounds: usize,
    mark: f64,
    reached: bool,
    loads: Vec<Compared>,
    losses: Vec<Losses>,
    unreported: i64,
}

/// The loop and the link under one load.
#[derive(Serialize)]
struct Compared {
    load: &'static str,
    bare: Speed,
    through_link: Speed,
    /// The link's by the loop's.
    ratio: Ratio,
}

/// Medians.
#[derive(Serialize)]
struct Speed {
    gbps: f64,
    kpps: f64,
    packets_per_cpu_second: f64,
}

#[derive(Serialize)]
struct Ratio {
    throughput: f64,
    packets_per_cpu_second: f64,
}

/// The fate of the packets at one offered load.
#[derive(Serialize)]
struct Losses {
    offered_kpps: f64,
    sent: u64,
    received: u64,
    path_drops: u64,
    lost_outside: u64,
    receiver_full: u64,
    unreported: i64,
}

/// Runs the command.
///
/// # Errors
/// Bad input, no permission to create namespaces, an unaccounted packet, or a link below the required rate.
pub fn run(options: &BenchLink, registry: &Registry) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Check(format!("bench link: {error}"));
    let link = options.link.as_deref().unwrap_or(if options.punctual { punctual::LINK } else { LINK });
    let plan =
        Plan { down: direction(options, link, registry)?, up: direction(options, link, registry)?, seed: 1 };
    if !user::is_administrator() {
        return Err(Failure::input(
            "bench link",
            "makes network namespaces and devices; expected to be run by root",
        ));
    }
    let setup =
        link_setup::Options { outside: Outside::Private, resolver: false, ..link_setup::Options::default() };
    let setup = LinkSetup::new(&setup).map_err(|error| Failure::input("bench link", error))?;
    let LinkSetup { inside, outside, addresses, namespace, outside_namespace, .. } = setup;
    let Some(outer) = &outside_namespace else {
        return Err(Failure::input("bench link", "there is no namespace to send from; expected two"));
    };
    let ends = Ends { inside: &namespace, outside: outer, addresses };
    let mut devices = [inside, outside];
    if options.punctual {
        return punctual::run(options, link, &mut devices, &plan, &ends);
    }
    let slice_s = options.seconds / (LOADS.len() * ROUNDS * 2 + RATES.len()) as f64;
    let mut slice =
        |carrier, load| slice::run(carrier, &mut devices, &plan, &ends, load, slice_s).map_err(failed);

    let mut loads = Vec::new();
    let mut unreported = 0;
    for (name, load) in LOADS {
        let mut pairs = Vec::new();
        for round in 0..ROUNDS {
            // The order alternates, so that neither is always the second.
            let pair = if round % 2 == 0 {
                [slice(Carrier::Bare, load)?, slice(Carrier::Link, load)?]
            } else {
                let later = slice(Carrier::Link, load)?;
                [slice(Carrier::Bare, load)?, later]
            };
            unreported +=
                pair.iter().map(|slice| slice.unreported().abs()).sum::<i64>() * i64::from(load != Load::Tcp);
            pairs.push(pair);
        }
        loads.push(compared(name, &pairs));
    }
    let mut losses = Vec::new();
    for rate in RATES {
        let slice = slice(Carrier::Link, Load::Udp { bytes: 1500, rate: Some(rate) })?;
        unreported += slice.unreported().abs();
        losses.push(lost(rate, &slice));
    }
    let is_reached = |compared: &Compared| {
        compared.ratio.throughput >= MARK && compared.ratio.packets_per_cpu_second >= MARK
    };
    let reached = loads.iter().all(is_reached);
    let report = Report {
        schema_version: SCHEMA_VERSION,
        link,
        qdisc: &options.qdisc,
        slice_s: round(slice_s),
        rounds: ROUNDS,
        mark: MARK,
        reached,
        loads,
        losses,
        unreported,
    };
    output::print(&if options.json { pretty(&report) } else { text(&report) })?;
    if unreported != 0 {
        return Err(Failure::Check(format!(
            "bench link: {unreported} packets are not accounted for; expected every one to be"
        )));
    }
    match reached {
        true => Ok(()),
        false => Err(Failure::Check(format!(
            "bench link: below the mark; expected at least {:.0}% of the bare copy loop",
            MARK * 100.0
        ))),
    }
}

fn direction(options: &BenchLink, link: &str, registry: &Registry) -> Result<Direction, Failure> {
    let link = links::parse(link).map_err(|error| Failure::input("--link", error))?;
    let qdisc = component("--qdisc", &options.qdisc, qdisc::COMPONENTS, registry)?;
    let qdisc = AnyQdisc::build(&qdisc).map_err(|error| Failure::input("--qdisc", error))?;
    Ok(Direction { qdisc, link, delay: Span::ZERO, jitter: Span::ZERO, loss: 0.0 })
}

fn compared(load: &'static str, pairs: &[[Slice; 2]]) -> Compared {
    let all = |figure: fn(&Slice) -> f64, index: usize| median(pairs.iter().map(|pair| figure(&pair[index])));
    let ratio = |figure: fn(&Slice) -> f64| {
        round(median(pairs.iter().map(|pair| figure(&pair[1]) / figure(&pair[0]))))
    };
    let speed = |index| Speed {
        gbps: round(all(gbps, index)),
        kpps: round(all(kpps, index)),
        packets_per_cpu_second: all(packets_per_cpu_second, index).round(),
    };
    let ratio = Ratio { throughput: ratio(gbps), packets_per_cpu_second: ratio(packets_per_cpu_second) };
    Compared { load, bare: speed(0), through_link: speed(1), ratio }
}

fn gbps(slice: &Slice) -> f64 {
    slice.traffic.bytes_per_second * 8.0 / 1e9
}
fn kpps(slice: &Slice) -> f64 {
    slice.traffic.packets_per_second.unwrap_or(slice.carried.packets as f64 / slice.carried.seconds) / 1e3
}
fn packets_per_cpu_second(slice: &Slice) -> f64 {
    slice.carried.packets as f64 / slice.carried.cpu_seconds
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn lost(rate: f64, slice: &Slice) -> Losses {
    Losses {
        offered_kpps: rate / 1e3,
        sent: slice.traffic.sent,
        received: slice.traffic.received,
        path_drops: slice.carried.path_drops,
        lost_outside: slice.carried.lost_outside,
        receiver_full: slice.traffic.unread,
        unreported: slice.unreported(),
    }
}

fn text(report: &Report) -> String {
    let columns = [
        Column::left("load"),
        Column::left("carried by"),
        Column::right("Gbit/s"),
        Column::right("kpps"),
        Column::right("packets per\nCPU-second"),
    ];
    let speed = |load: &str, carrier: &str, speed: &Speed| {
        let Speed { gbps, kpps, packets_per_cpu_second } = speed;
        let figures = [format!("{gbps:.3}"), format!("{kpps:.1}"), format!("{packets_per_cpu_second:.0}")];
        [load.to_string(), carrier.to_string()].into_iter().chain(figures).collect()
    };
    let rows = report.loads.iter().flat_map(|compared| {
        let Ratio { throughput, packets_per_cpu_second } = compared.ratio;
        let ratio = [String::new(), "ratio".into(), format!("{throughput:.3}"), String::new()];
        [
            speed(compared.load, "copy loop", &compared.bare),
            speed("", "link", &compared.through_link),
            ratio.into_iter().chain([format!("{packets_per_cpu_second:.3}")]).collect(),
        ]
    });
    let mut text = format!(
        "Two TUN devices, {} on {}; medians of {} slices of {:.2} s each.\n\n{}\n",
        report.qdisc,
        report.link,
        report.rounds,
        report.slice_s,
        text_table::table(&columns, rows.collect())
    );
    let columns =
        ["offered\nkpps", "sent", "received", "path\ndrops", "lost\noutside", "receiver\nfull", "unreported"];
    let row = |losses: &Losses| {
        let Losses { offered_kpps, sent, received, path_drops, lost_outside, receiver_full, unreported } =
            losses;
        let counts = [sent, received, path_drops, lost_outside, receiver_full].map(u64::to_string);
        std::iter::once(format!("{offered_kpps:.0}")).chain(counts).chain([unreported.to_string()]).collect()
    };
    let _ = writeln!(
        text,
        "\n{}\n\nmark: at least {:.0}% of the copy loop in every ratio: {}; packets not accounted for: {}",
        text_table::table(&columns.map(Column::right), report.losses.iter().map(row).collect()),
        report.mark * 100.0,
        if report.reached { "reached" } else { "missed" },
        report.unreported,
    );
    text
}
