//! `qdelay-dev bench link`: throughput of real packets through a link, compared with a bare copy loop over the same two devices.
//!
//! Two TUN devices join two namespaces. Loop and link alternate on the devices in short slices, because the speed of a shared machine
//! varies; the result of each slice of the link is divided by that of the neighbouring slice of the loop, and
//! the ratio is the median. Three loads: one TCP connection, UDP packets of 1500 bytes, UDP packets of 64 bytes, each at full speed of the
//! sender. The required ratio is [`MARK`].
//!
//! If the kernel supports offload, loop and link also alternate on two devices with offload, whose super-packets the loop copies
//! whole and the link splits and joins. TCP must then reach [`OFFLOAD_MARK`] of the loop without offload; the ratio to the
//! loop with offload is reported only.
//!
//! A second part sends UDP packets of 1500 bytes at [`RATES`]: packets sent and not received must equal the drops reported by path and
//! audit.
//!
//! `--punctual` measures the lateness of packets instead: see `punctual`.

mod load;
mod punctual;
mod slice;

use crate::bench::options::BenchLink;
use load::{Ends, Load};
use qdelay_core::component::Registry;
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_emu::device::Device;
use qdelay_emu::device::tun::{OffloadMode, Tun};
use qdelay_emu::link_setup::{self, Addresses, LinkSetup, Outside};
use qdelay_emu::netns::{Namespace, user};
use qdelay_path::stack::{Direction, Plan};
use qdelay_study::links;
use qdelay_study::lists::component;
use qdelay_study::results::{SCHEMA_VERSION, pretty, round};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::text_table::{self, Column};
use serde::Serialize;
use slice::{Carrier, Slice};
use std::fmt::Write;

/// Required ratio to the bare loop, for throughput and for packets per CPU-second.
const MARK: f64 = 0.95;
/// Required ratio of TCP throughput with offload to the loop without offload.
const OFFLOAD_MARK: f64 = 2.5;
/// Default link, too fast to delay packets.
const LINK: &str = "line:100gbit";
/// Number of slices of loop and link for each load.
const ROUNDS: usize = 15;
const TCP: &str = "tcp";
const LOADS: [(&str, Load); 3] = [
    (TCP, Load::Tcp),
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
    /// Results with offload; `None` where the kernel's devices do not support it.
    offload_mark: Option<f64>,
    reached: bool,
    loads: Vec<Compared>,
    losses: Vec<Losses>,
    unreported: i64,
}

/// Results of loop and link under one load.
#[derive(Serialize)]
struct Compared {
    load: &'static str,
    bare: Speed,
    through_link: Speed,
    /// Ratio of the link to the loop.
    ratio: Ratio,
    offload: Option<Offloaded>,
}

/// Results on devices with offload.
#[derive(Serialize)]
struct Offloaded {
    bare: Speed,
    through_link: Speed,
    ratio: Ratio,
    /// Ratio of the link's throughput to that of the loop without offload.
    speedup: f64,
}

/// Medians over the slices.
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

/// Fate of the packets at one offered load.
#[derive(Serialize)]
struct Losses {
    offload: bool,
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
    let mut plain = Pair::new(OffloadMode::Off)?;
    if options.punctual {
        let ends = Ends { inside: &plain.inside, outside: &plain.outside, addresses: plain.addresses };
        return punctual::run(options, link, &mut plain.devices, &plan, &ends);
    }
    let offloading = Pair::new(OffloadMode::Auto)?;
    let mut pairs = vec![plain];
    pairs.extend(offloading.devices[0].offload().is_some().then_some(offloading));
    let slices = pairs.len() * (LOADS.len() * ROUNDS * 2 + RATES.len());
    let slice_s = options.seconds / slices as f64;
    let slice = |pair: &mut Pair, carrier, load| {
        let ends = Ends { inside: &pair.inside, outside: &pair.outside, addresses: pair.addresses };
        slice::run(carrier, &mut pair.devices, &plan, &ends, load, slice_s).map_err(failed)
    };

    let mut loads = Vec::new();
    let mut unreported = 0;
    for (name, load) in LOADS {
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            let mut taken = Vec::new();
            for pair in &mut pairs {
                // The order alternates, so that neither program always runs second.
                let both = if round % 2 == 0 {
                    [slice(pair, Carrier::Bare, load)?, slice(pair, Carrier::Link, load)?]
                } else {
                    let later = slice(pair, Carrier::Link, load)?;
                    [slice(pair, Carrier::Bare, load)?, later]
                };
                unreported += both.iter().map(|slice| slice.unreported().abs()).sum::<i64>()
                    * i64::from(load != Load::Tcp);
                taken.extend(both);
            }
            rounds.push(taken);
        }
        loads.push(compared(name, &rounds));
    }
    let mut losses = Vec::new();
    for pair in &mut pairs {
        for rate in RATES {
            let slice = slice(pair, Carrier::Link, Load::Udp { bytes: 1500, rate: Some(rate) })?;
            unreported += slice.unreported().abs();
            losses.push(lost(rate, pair.devices[0].offload().is_some(), &slice));
        }
    }
    let is_reached = |compared: &Compared| {
        compared.ratio.throughput >= MARK
            && compared.ratio.packets_per_cpu_second >= MARK
            && (compared.load != TCP
                || compared.offload.as_ref().is_none_or(|offload| offload.speedup >= OFFLOAD_MARK))
    };
    let reached = loads.iter().all(is_reached);
    let report = Report {
        schema_version: SCHEMA_VERSION,
        link,
        qdisc: &options.qdisc,
        slice_s: round(slice_s),
        rounds: ROUNDS,
        mark: MARK,
        offload_mark: (pairs.len() > 1).then_some(OFFLOAD_MARK),
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
            "bench link: below the mark; expected at least {:.0}% of the bare copy loop, and with offload {OFFLOAD_MARK} times \
             its TCP",
            MARK * 100.0
        ))),
    }
}

/// Two devices and the namespaces joined by them.
struct Pair {
    devices: [Tun; 2],
    inside: Namespace,
    outside: Namespace,
    addresses: Addresses,
}

impl Pair {
    fn new(offload: OffloadMode) -> Result<Pair, Failure> {
        let setup = link_setup::Options {
            outside: Outside::Private,
            resolver: false,
            names: false,
            offload,
            ..link_setup::Options::default()
        };
        let setup = LinkSetup::new(&setup).map_err(|error| Failure::input("bench link", error))?;
        let LinkSetup { inside, outside, addresses, namespace, outside_namespace, .. } = setup;
        let outer = outside_namespace.ok_or_else(|| {
            Failure::input("bench link", "there is no namespace to send from; expected two")
        })?;
        Ok(Pair { devices: [inside, outside], inside: namespace, outside: outer, addresses })
    }
}

fn direction(options: &BenchLink, link: &str, registry: &Registry) -> Result<Direction, Failure> {
    let link = links::parse(link).map_err(|error| Failure::input("--link", error))?;
    let qdisc = component("--qdisc", &options.qdisc, qdisc::COMPONENTS, registry)?;
    let qdisc = AnyQdisc::build(&qdisc).map_err(|error| Failure::input("--qdisc", error))?;
    Ok(Direction::new(qdisc, link))
}

/// Medians of rounds. Each round has the slices of loop and link, without and with offload.
fn compared(load: &'static str, rounds: &[Vec<Slice>]) -> Compared {
    let all = |figure: fn(&Slice) -> f64, index: usize| {
        median(rounds.iter().filter_map(|slices| slices.get(index)).map(figure))
    };
    let by = |figure: fn(&Slice) -> f64, index: usize, base: usize| {
        let figures = rounds.iter().filter_map(|slices| Some((slices.get(index)?, slices.get(base)?)));
        round(median(figures.map(|(slice, base)| figure(slice) / figure(base))))
    };
    let speed = |index| Speed {
        gbps: round(all(gbps, index)),
        kpps: round(all(kpps, index)),
        packets_per_cpu_second: all(packets_per_cpu_second, index).round(),
    };
    let ratio = |index| Ratio {
        throughput: by(gbps, index, index - 1),
        packets_per_cpu_second: by(packets_per_cpu_second, index, index - 1),
    };
    let offload = rounds.iter().all(|slices| slices.len() > 2).then(|| Offloaded {
        bare: speed(2),
        through_link: speed(3),
        ratio: ratio(3),
        speedup: by(gbps, 3, 0),
    });
    Compared { load, bare: speed(0), through_link: speed(1), ratio: ratio(1), offload }
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

fn lost(rate: f64, offload: bool, slice: &Slice) -> Losses {
    Losses {
        offload,
        offered_kpps: rate / 1e3,
        sent: slice.traffic.sent,
        received: slice.traffic.received,
        path_drops: slice.carried.path_drops,
        lost_outside: slice.carried.lost_outside,
        receiver_full: slice.traffic.unread,
        unreported: slice.unreported(),
    }
}

/// Tables of ratios and losses, each with its requirement, so that a reader sees the margin and not only a verdict.
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
    let ratio = |carrier: &str, throughput: f64, packets: Option<f64>| {
        let packets = packets.map_or(String::new(), |packets| format!("{packets:.3}"));
        vec![String::new(), carrier.to_string(), format!("{throughput:.3}"), String::new(), packets]
    };
    let rows = report.loads.iter().flat_map(|compared| {
        let Compared {
            load,
            bare,
            through_link,
            ratio: Ratio { throughput, packets_per_cpu_second },
            offload,
        } = compared;
        let mut rows: Vec<Vec<String>> = vec![
            speed(load, "copy loop", bare),
            speed("", "link", through_link),
            ratio("ratio", *throughput, Some(*packets_per_cpu_second)),
        ];
        if let Some(Offloaded { bare, through_link, ratio: own, speedup }) = offload {
            rows.push(speed("", "copy loop, offload", bare));
            rows.push(speed("", "link, offload", through_link));
            rows.push(ratio("ratio", own.throughput, Some(own.packets_per_cpu_second)));
            rows.push(ratio("by copy loop without", *speedup, None));
        }
        rows
    });
    let mut text = format!(
        "Two TUN devices, {} on {}; medians of {} slices of {:.2} s each.\n\n{}\n",
        report.qdisc,
        report.link,
        report.rounds,
        report.slice_s,
        text_table::table(&columns, rows.collect())
    );
    let columns = [
        "offload",
        "offered\nkpps",
        "sent",
        "received",
        "path\ndrops",
        "lost\noutside",
        "receiver\nfull",
        "unreported",
    ];
    let row = |losses: &Losses| {
        let Losses {
            offload,
            offered_kpps,
            sent,
            received,
            path_drops,
            lost_outside,
            receiver_full,
            unreported,
        } = losses;
        let counts = [sent, received, path_drops, lost_outside, receiver_full].map(u64::to_string);
        let offload = if *offload { "on" } else { "off" };
        [offload.to_string(), format!("{offered_kpps:.0}")]
            .into_iter()
            .chain(counts)
            .chain([unreported.to_string()])
            .collect()
    };
    let _ = writeln!(
        text,
        "\n{}\n\nmark: without offload at least {:.0}% of the copy loop{}: {}; packets not accounted for: {}",
        text_table::table(&columns.map(Column::right), report.losses.iter().map(row).collect()),
        report.mark * 100.0,
        report.offload_mark.map_or(String::new(), |mark| format!(", with it {mark} times its TCP")),
        if report.reached { "reached" } else { "missed" },
        report.unreported,
    );
    text
}
