//! `qdelay-dev bench proxy`: CPU time and delays of a proxy, compared with one that only copies.
//!
//! [`CONNECTIONS`] connections send [`RATE`] in all, to a sink behind the proxy; sender, proxy and sink are threads of this process. The
//! proxies alternate, because the speed of a shared machine varies: the ratio is the median over pairs of neighbouring runs. CPU time is that of
//! the proxy's thread, what the kernel does in its system calls included. The delay is from the write of a piece's first byte to its read; what the
//! proxy adds is its median less that of the copying proxy and the delay of the path.

mod bare;
mod load;

use crate::bench::options::BenchProxy;
use bare::Bare;
use load::{Received, Sink, send, timed};
use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{Rate, Span};
use qdelay_emu::clock::RealClock;
use qdelay_path::Line;
use qdelay_path::stack::{Direction, Plan};
use qdelay_proxy::engine::Settings;
use qdelay_proxy::mapping::{Listen, Mapping, Target, Transport};
use qdelay_proxy::serve::Proxy;
use qdelay_study::results::{SCHEMA_VERSION, pretty, round};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::text_table::{self, Column};
use qdelay_traffic::control::Cubic;
use qdelay_traffic::tcp::Profile;
use serde::Serialize;
use std::fmt::Display;
use std::net::SocketAddr;
use std::thread;

const PLACE: &str = "bench proxy";
const CONNECTIONS: usize = 100;
/// Load of all connections together, bits per second.
const RATE: u64 = 1_000_000_000;
/// Bytes that a connection sends at a time.
const PIECE: usize = (RATE / 8 / CONNECTIONS as u64 / load::PIECES_PER_SECOND) as usize;
/// Rate of the path in each direction: it does not limit the load.
const LINK: Rate = Rate::from_bps(2_000_000_000);
/// Delay of the path in each direction.
const DELAY: Span = Span::from_millis(20);
/// Queue that drops nothing of a burst after a pause of this machine.
const QDISC: &str = "taildrop:limit=100000";
/// Largest ratio of CPU times.
const CPU_MARK: f64 = 1.5;
/// Largest median of the added delay, ms.
const DELAY_MARK_MS: f64 = 1.0;

#[derive(Serialize)]
struct Report {
    schema_version: u32,
    connections: usize,
    rate_mbps: f64,
    seconds: f64,
    delay_ms: f64,
    cpu_mark: f64,
    delay_mark_ms: f64,
    cpu_ratio: f64,
    added_ms_p50: f64,
    pass: bool,
    runs: Vec<Pair>,
}

/// A pair of neighbouring runs: the copying proxy, ours.
#[derive(Serialize)]
struct Pair {
    bare_cpu_s: f64,
    proxy_cpu_s: f64,
    bare_delay_ms_p50: f64,
    proxy_delay_ms_p50: f64,
    proxy_delay_ms_p99: f64,
    late_ms_p50: f64,
    late_ms_p99: f64,
}

/// Figures of a proxy under the load.
struct Run {
    cpu: Span,
    received: Received,
    /// Lateness of releases, p50 and p99 in ms; 0 for the copying proxy.
    late_ms: [f64; 2],
}

/// Runs the command.
///
/// # Errors
/// Sockets that cannot be opened, lost bytes, or a mark that is not reached.
pub fn run(options: &BenchProxy) -> Result<(), Failure> {
    let mut runs = Vec::new();
    for _ in 0..options.runs {
        let (bare, ours) = (bare(options.seconds)?, ours(options.seconds)?);
        runs.push(Pair {
            bare_cpu_s: round(bare.cpu.as_secs_f64()),
            proxy_cpu_s: round(ours.cpu.as_secs_f64()),
            bare_delay_ms_p50: bare.received.delay_ms.p50,
            proxy_delay_ms_p50: ours.received.delay_ms.p50,
            proxy_delay_ms_p99: ours.received.delay_ms.p99,
            late_ms_p50: ours.late_ms[0],
            late_ms_p99: ours.late_ms[1],
        });
    }
    let cpu_ratio = round(median(runs.iter().map(|pair| pair.proxy_cpu_s / pair.bare_cpu_s)));
    let added = |pair: &Pair| pair.proxy_delay_ms_p50 - pair.bare_delay_ms_p50 - DELAY.as_millis_f64();
    let added_ms_p50 = round(median(runs.iter().map(added)));
    let report = Report {
        schema_version: SCHEMA_VERSION,
        connections: CONNECTIONS,
        rate_mbps: RATE as f64 / 1e6,
        seconds: options.seconds,
        delay_ms: DELAY.as_millis_f64(),
        cpu_mark: CPU_MARK,
        delay_mark_ms: DELAY_MARK_MS,
        cpu_ratio,
        added_ms_p50,
        pass: cpu_ratio <= CPU_MARK && added_ms_p50 <= DELAY_MARK_MS,
        runs,
    };
    output::print(&if options.json { pretty(&report) } else { text(&report) })?;
    match report.pass {
        true => Ok(()),
        false => Err(Failure::Check(format!(
            "{cpu_ratio:.2} times the CPU time of a copying proxy, {added_ms_p50:.2} ms added; expected at most {CPU_MARK} and {DELAY_MARK_MS} ms"
        ))),
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn fault(error: impl Display) -> Failure {
    Failure::input(PLACE, error)
}

/// A run of the copying proxy.
fn bare(seconds: f64) -> Result<Run, Failure> {
    let sink = Sink::new(RealClock::start()).map_err(fault)?;
    let (mut bare, stop) = Bare::new(sink.address().map_err(fault)?).map_err(fault)?;
    let address = bare.address().map_err(fault)?;
    let thread = timed(move || bare.run());
    let received = carry(seconds, address, sink);
    stop();
    let (done, cpu) = thread.join().map_err(|_| fault("the copying proxy has failed"))?;
    done.map_err(fault)?;
    Ok(Run { cpu, received: received?, late_ms: [0.0; 2] })
}

/// A run of our proxy.
fn ours(seconds: f64) -> Result<Run, Failure> {
    let sink = Sink::new(RealClock::start()).map_err(fault)?;
    let target = sink.address().map_err(fault)?;
    let listen = Listen { transport: Transport::Tcp, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
    let target = Target { name: target.to_string(), addresses: vec![target] };
    let settings = Settings {
        profile: Profile::linux(),
        controller: Cubic::default().into(),
        window: 1 << 20,
        connections: CONNECTIONS,
        datagram_bytes: 0,
    };
    let report = Box::new(output::eprintln_line);
    let (mut proxy, control) =
        Proxy::new(plan()?, settings, vec![Mapping { listen, target }], None, report).map_err(fault)?;
    let address = proxy.addresses().map_err(fault)?;
    let thread = timed(move || {
        proxy.run().map_err(fault)?;
        proxy.outcome().map_err(fault)
    });
    let received = match address.first() {
        Some(address) => carry(seconds, *address, sink),
        None => Err(fault("the proxy has no address")),
    };
    control.stop().map_err(fault)?;
    let (outcome, cpu) = thread.join().map_err(|_| fault("the proxy has failed"))?;
    let lateness = outcome?.facts.lateness;
    Ok(Run { cpu, received: received?, late_ms: [lateness.p50, lateness.p99] })
}

/// The path of both directions.
fn plan() -> Result<Plan, Failure> {
    let qdisc = AnyQdisc::parse(QDISC).map_err(fault)?;
    let direction = Direction { delay: DELAY, ..Direction::new(qdisc, Line::new(LINK, 0)) };
    Ok(Plan { down: direction.clone(), up: direction, seed: 1 })
}

/// Sends the load to `address` and reads it from the sink.
fn carry(seconds: f64, address: SocketAddr, sink: Sink) -> Result<Received, Failure> {
    let clock = sink.clock();
    let sink = thread::spawn(move || sink.run(CONNECTIONS, PIECE));
    let pieces = (seconds * load::PIECES_PER_SECOND as f64) as u64;
    send(address, clock, CONNECTIONS, PIECE, pieces).map_err(fault)?;
    let received = sink.join().map_err(|_| fault("the sink has failed"))?.map_err(fault)?;
    let expected = pieces * (PIECE * CONNECTIONS) as u64;
    match received.bytes == expected {
        true => Ok(received),
        false => Err(Failure::Check(format!("{} bytes of {expected} arrived", received.bytes))),
    }
}

/// Table of the pairs, and both figures.
fn text(report: &Report) -> String {
    let columns = [
        Column::left("pair"),
        Column::right("copying\nCPU s"),
        Column::right("proxy\nCPU s"),
        Column::right("ratio"),
        Column::right("copying\np50 ms"),
        Column::right("proxy\np50 ms"),
        Column::right("p99\nms"),
        Column::right("late\np50 ms"),
        Column::right("p99\nms"),
    ];
    let row = |(number, pair): (usize, &Pair)| {
        let mut row = vec![(number + 1).to_string()];
        row.extend([pair.bare_cpu_s, pair.proxy_cpu_s].map(|seconds| format!("{seconds:.3}")));
        row.push(format!("{:.2}", pair.proxy_cpu_s / pair.bare_cpu_s));
        row.extend([pair.bare_delay_ms_p50, pair.proxy_delay_ms_p50].map(|ms| format!("{ms:.2}")));
        row.extend(
            [pair.proxy_delay_ms_p99, pair.late_ms_p50, pair.late_ms_p99].map(|ms| format!("{ms:.2}")),
        );
        row
    };
    let table = text_table::table(&columns, report.runs.iter().enumerate().map(row).collect());
    format!(
        "{} connections with {} Mbit/s in all for {} s, through a path of {} ms.\n\n{table}\n\nCPU time  {:.2} times that of a copying proxy (median of pairs; at most {})\nadded     {:.2} ms to the delay of the path (median of p50; at most {} ms)\n",
        report.connections,
        report.rate_mbps,
        report.seconds,
        report.delay_ms,
        report.cpu_ratio,
        report.cpu_mark,
        report.added_ms_p50,
        report.delay_mark_ms,
    )
}
