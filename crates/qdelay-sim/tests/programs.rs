//! Transports of papers beside the programs of their authors, whose figures are in `crates/qdelay-dev/tests/reference/*.tsv`. One table:
//! `QDELAY_TRACES=DIR cargo test -p qdelay-sim --test main programs:: -- --nocapture`.

use crate::common::{link, ms, play, scenario};
use qdelay_core::Span;
use qdelay_path::TraceLink;
use qdelay_sim::{LinkSpec, Scenario, Uplink};
use qdelay_testing::{Need, skip};
use std::path::{Path, PathBuf};

/// Bounds that were fixed before the first comparison.
const THROUGHPUT: f64 = 0.15;
const P95: f64 = 0.3;
const P95_MS: f64 = 5.0;

/// What ours is compared with.
#[derive(Clone, Copy, PartialEq)]
enum Against {
    /// The nearer end of the band of the program's runs.
    Band,
    /// Its mean or median.
    Middle,
}

/// A program of authors, with the figures measured with it.
struct Program {
    transport: &'static str,
    figures: &'static str,
    against: Against,
    /// Where a cell has none of its own.
    qdisc: &'static str,
    seconds: u64,
    /// Ours is the median of so many seeds.
    seeds: u64,
    /// What a rate is, before the number.
    model: &'static str,
    /// Cells beyond the bounds, with their causes in `docs/validation.md`. The test fails if there is a new one, and if one disappears.
    misses: &'static [(&'static str, &'static str)],
}

const SPROUT: Program = Program {
    transport: "sprout",
    figures: include_str!("../../qdelay-dev/tests/reference/sprout.tsv"),
    against: Against::Middle,
    qdisc: "taildrop:limit=10000",
    seconds: 60,
    seeds: 1,
    model: "",
    misses: &[
        ("mahimahi/ATT-LTE-driving.up, 40 ms, sprout", "throughput"),
        ("mahimahi/ATT-LTE-driving-2016.down, 40 ms, sprout", "throughput"),
    ],
};

const SPROUT_PATHS: Program = Program {
    figures: include_str!("../../qdelay-dev/tests/reference/sprout_paths.tsv"),
    seconds: 30,
    misses: &[
        ("2mbit, 40 ms, sprout", "throughput"),
        ("2mbit, 40 ms, sprout", "p95"),
        ("5mbit, 40 ms, sprout", "throughput"),
        ("mahimahi/Verizon-LTE-short.up, 100 ms, sprout", "throughput"),
        ("mahimahi/TMobile-LTE-short.up, 40 ms, sprout, codel", "throughput"),
        ("synth-lte-driving, 40 ms, sprout", "throughput"),
    ],
    ..SPROUT
};

const VIVACE: Program = Program {
    transport: "vivace",
    figures: include_str!("../../qdelay-dev/tests/reference/vivace.tsv"),
    against: Against::Middle,
    qdisc: "taildrop:limit=1000",
    seconds: 25,
    seeds: 3,
    model: "",
    misses: &[
        ("24mbit, 40 ms, vivace", "p95"),
        ("mahimahi/ATT-LTE-driving.down, 40 ms, vivace", "throughput"),
        ("mahimahi/ATT-LTE-driving.down, 40 ms, vivace", "p95"),
        ("mahimahi/Verizon-LTE-short.down, 40 ms, vivace", "throughput"),
        ("mahimahi/Verizon-LTE-short.down, 40 ms, vivace", "p95"),
        ("mahimahi/TMobile-LTE-short.down, 100 ms, vivace", "throughput"),
        ("mahimahi/TMobile-LTE-short.down, 100 ms, vivace", "p95"),
        ("nyc-2019/trace-3205967-timessquare, 20 ms, vivace", "throughput"),
        ("nyc-2019/trace-3205967-timessquare, 20 ms, vivace", "p95"),
        ("nyc-2019/trace-3114405-bus, 40 ms, vivace, codel", "throughput"),
        ("nyc-2019/trace-3114405-bus, 40 ms, vivace, codel", "p95"),
        ("synth-lte-stationary, 40 ms, vivace, bode:target=20ms", "throughput"),
        ("synth-lte-stationary, 40 ms, vivace, bode:target=20ms", "p95"),
    ],
};

const C2TCP: Program = Program {
    transport: "c2tcp:setpoint=100ms:interval=100ms",
    figures: include_str!("../../qdelay-dev/tests/reference/c2tcp.tsv"),
    against: Against::Middle,
    qdisc: "taildrop:limit=100000",
    seconds: 0,
    seeds: 1,
    model: "",
    misses: &[
        ("mahimahi/ATT-LTE-driving-2016.down, 40 ms, c2tcp:setpoint=100ms:interval=100ms", "throughput"),
        ("mahimahi/ATT-LTE-driving-2016.down, 40 ms, c2tcp:setpoint=100ms:interval=100ms", "p95"),
        ("mahimahi/Verizon-EVDO-driving.up, 40 ms, c2tcp:setpoint=100ms:interval=100ms", "p95"),
    ],
};

const COPA: Program = Program {
    transport: "copa",
    figures: include_str!("../../qdelay-dev/tests/reference/copa.tsv"),
    against: Against::Band,
    qdisc: "taildrop:limit=1000",
    seconds: 25,
    seeds: 1,
    model: "line:",
    misses: &[
        ("12mbit, 40 ms, copa", "p95"),
        ("12mbit, 40 ms, copa:competitive=off", "p95"),
        ("6mbit, 20 ms, copa", "p95"),
        ("24mbit, 100 ms, copa", "p95"),
        ("nyc-2019/trace-3205967-timessquare, 100 ms, copa:competitive=off", "p95"),
        ("nyc-2019/trace-3114405-bus, 10 ms, copa", "throughput"),
        ("nyc-2019/trace-3114405-bus, 10 ms, copa", "p95"),
        ("3mbit, 100 ms, copa:competitive=off", "p95"),
    ],
};

const VERUS: Program = Program {
    transport: "verus",
    figures: include_str!("../../qdelay-dev/tests/reference/verus.tsv"),
    against: Against::Band,
    qdisc: "taildrop:limit=1000",
    seconds: 30,
    seeds: 1,
    model: "",
    misses: &[
        ("12mbit, 100 ms, verus", "throughput"),
        ("mahimahi/Verizon-LTE-short.down, 40 ms, verus", "throughput"),
        ("mahimahi/Verizon-LTE-short.down, 40 ms, verus", "p95"),
        ("mahimahi/Verizon-LTE-short.down, 100 ms, verus", "throughput"),
        ("nyc-2019/trace-3114405-bus, 40 ms, verus", "throughput"),
        ("nyc-2019/trace-3114405-bus, 40 ms, verus", "p95"),
    ],
};

/// Of Copa with the paper's rule for the velocity.
const COPA_TO_THE_LETTER: &[(&str, &str)] = &[
    ("12mbit, 40 ms, copa:velocity_reset=off", "p95"),
    ("12mbit, 40 ms, copa:velocity_reset=off:competitive=off", "p95"),
    ("6mbit, 20 ms, copa:velocity_reset=off", "p95"),
    ("nyc-2019/trace-3205967-timessquare, 100 ms, copa:velocity_reset=off:competitive=off", "p95"),
    ("nyc-2019/trace-3114405-bus, 10 ms, copa:velocity_reset=off", "p95"),
    ("3mbit, 100 ms, copa:velocity_reset=off:competitive=off", "p95"),
];

/// A cell of a program, with the lowest and the highest figure of its runs where these count.
struct Cell {
    name: String,
    link: String,
    uplink: Option<String>,
    rtt_ms: u64,
    qdisc: String,
    transport: String,
    seconds: u64,
    throughput: (f64, f64),
    p95: (f64, f64),
}

/// What the figure is beyond the band: its distance from the nearer end, and that end.
pub fn beyond(figure: f64, (low, high): (f64, f64)) -> (f64, f64) {
    let nearer = figure.clamp(low, high);
    ((figure - nearer).abs(), nearer)
}

pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// A rate, a shipped trace or one of the folder, which ends after its last opportunity unless it `goes_round`; `None` where it is not there.
pub fn link_of(name: &str, model: &str, traces: &Path, goes_round: bool) -> Option<LinkSpec> {
    if name.ends_with("mbit") {
        return Some(link(&format!("{model}{name}")));
    }
    let shipped = qdelay_trace::shipped::find(&format!("{name}.down")).map(<[u8]>::to_vec);
    let text = shipped.or_else(|| std::fs::read(traces.join(name)).ok())?;
    let schedule = qdelay_trace::mahimahi::parse(&text).unwrap();
    Some(LinkSpec(TraceLink::new(&schedule, 0, goes_round).into()))
}

impl Program {
    /// The rows. `link` is a rate or a trace; without `rtt_ms` the round trip is 40 ms. Data of a cell with an `uplink` end with their traces.
    fn cells(&self) -> Vec<Cell> {
        let mut lines = self.figures.lines().filter(|line| !line.starts_with('#'));
        let header: Vec<&str> = lines.next().unwrap().split('\t').collect();
        let row_of = |line: &str| {
            let row: Vec<String> = line.split('\t').map(str::to_string).collect();
            let column = |names: &[&str]| {
                header.iter().position(|name| names.contains(name)).map(|index| row[index].clone())
            };
            let number = |name: &str| column(&[name]).map(|text| text.parse::<f64>().unwrap());
            let band = |names: [&str; 2], low: &str, high: &str| {
                let figure = names.iter().find_map(|name| number(name)).unwrap();
                let is_band = self.against == Against::Band;
                let end = |name| number(name).filter(|_| is_band).unwrap_or(figure);
                (end(low), end(high))
            };
            let competitive = column(&["competitive"]).filter(|value| value == "off");
            let utility = column(&["utility"]).filter(|value| value == "loss");
            let option = competitive.map(|_| ":competitive=off").or(utility.map(|_| ":utility=loss"));
            let (link, qdisc) = (column(&["link", "trace"]).unwrap(), column(&["qdisc"]));
            let rtt_ms = number("rtt_ms").map_or(40, |ms| ms as u64);
            let transport = format!("{}{}", self.transport, option.unwrap_or_default());
            let other = qdisc.iter().filter(|qdisc| !qdisc.starts_with("taildrop"));
            let behind: String = other.map(|qdisc| format!(", {qdisc}")).collect();
            Cell {
                name: format!("{link}, {rtt_ms} ms, {transport}{behind}"),
                link,
                uplink: column(&["uplink"]),
                rtt_ms,
                qdisc: qdisc.unwrap_or_else(|| self.qdisc.into()),
                transport,
                seconds: number("duration_s").map_or(self.seconds, |seconds| seconds as u64),
                throughput: band(["throughput_mbps", "throughput"], "throughput_low", "throughput_high"),
                p95: band(["p95_ms", "delay_p95_ms"], "p95_low", "p95_high"),
            }
        };
        lines.map(row_of).collect()
    }

    /// Our throughput, and the 95th percentile of the queue delay; `None` where a trace is not there.
    fn play(&self, cell: &Cell, traces: &Path) -> Option<(f64, f64)> {
        let down = link_of(&cell.link, self.model, traces, cell.uplink.is_none())?;
        let uplink = match cell.uplink.as_deref() {
            None | Some("none") => None,
            Some(name) => Some(Uplink::tail_drop(link_of(name, self.model, traces, false)?.0, 100_000)),
        };
        let plain = Scenario {
            uplink,
            duration: Span::from_secs(cell.seconds),
            base_rtt: ms(cell.rtt_ms),
            ..scenario(&cell.qdisc, down, &[&cell.transport])
        };
        let of_seed = |seed| {
            let outcome = play(&Scenario { seed, ..plain.clone() });
            (outcome.throughput_mbps, outcome.queue_delay_ms.p95)
        };
        let (throughputs, p95s) = (1..=self.seeds).map(of_seed).unzip();
        Some((median(throughputs), median(p95s)))
    }

    /// Prints the table, and asks for the misses that are known and no other, of the cells whose traces are there.
    fn compare(&self) {
        let Some(traces) = std::env::var_os("QDELAY_TRACES").map(PathBuf::from) else {
            skip(Need::Traces, "QDELAY_TRACES names no folder")
        };
        let (mut misses, mut absent) = (Vec::new(), Vec::new());
        for cell in self.cells() {
            let Some((throughput, p95)) = self.play(&cell, &traces) else {
                println!("{}: its traces are not in the folder", cell.name);
                absent.push(cell.name);
                continue;
            };
            println!(
                "{}: {throughput:.3} for {:.3} to {:.3} Mbit/s, p95 {p95:.1} for {:.1} to {:.1} ms",
                cell.name, cell.throughput.0, cell.throughput.1, cell.p95.0, cell.p95.1
            );
            let (distance, nearer) = beyond(throughput, cell.throughput);
            if distance > THROUGHPUT * nearer {
                misses.push((cell.name.clone(), "throughput"));
            }
            let (distance, nearer) = beyond(p95, cell.p95);
            if distance > (P95 * nearer).max(P95_MS) {
                misses.push((cell.name, "p95"));
            }
        }
        let misses: Vec<(&str, &str)> =
            misses.iter().map(|(name, measure)| (name.as_str(), *measure)).collect();
        let is_here = |(name, _): &&(&str, &str)| !absent.iter().any(|cell| cell == name);
        let known: Vec<(&str, &str)> = self.misses.iter().filter(is_here).copied().collect();
        assert_eq!(misses, known);
    }
}

#[test]
fn sprout() {
    SPROUT.compare();
}

#[test]
fn verus() {
    VERUS.compare();
}

#[test]
fn sprout_on_other_paths() {
    SPROUT_PATHS.compare();
}

#[test]
fn vivace() {
    VIVACE.compare();
}

#[test]
fn c2tcp() {
    C2TCP.compare();
}

#[test]
fn copa() {
    COPA.compare();
}

/// The paper's rule for the velocity (`velocity_reset=off`) lets the window overshoot as the program's does: its delay at 24 Mbit/s and 100 ms,
/// which ours misses otherwise, is then within the bounds.
#[test]
fn copa_to_the_letter() {
    Program { transport: "copa:velocity_reset=off", misses: COPA_TO_THE_LETTER, ..COPA }.compare();
}
