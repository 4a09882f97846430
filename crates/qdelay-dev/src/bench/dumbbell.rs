//! `qdelay-dev bench dumbbell`: packets forwarded per second of CPU time by the simulator.
//!
//! Bulk flows with base round trips of 10 to 30 ms in equal steps, an access link of 1 Gbit/s for each, a bottleneck of
//! 100 Mbit/s and 1000 packets; acknowledgements return without a queue. The audit runs as in every run. Packets counted
//! are those that left the bottleneck; CPU time covers the whole process since its start.

use crate::bench::options::Dumbbell;
use qdelay_core::component::Registry;
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_core::{Rate, Span};
use qdelay_record::PacketFile;
use qdelay_sim::{Bottleneck, FlowSpec, Impairments, Outcome, Scenario};
use qdelay_study::cost::{self, Stopwatch};
use qdelay_study::engine::Simulator;
use qdelay_study::files::{Partial, cannot_write};
use qdelay_study::links;
use qdelay_study::lists::component;
use qdelay_study::results::{DelaySummary, Entity, SCHEMA_VERSION, pretty, round};
use qdelay_study::scenario::{START_WITHIN, random_start};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_traffic::transport::{self, TransportConfig};
use serde::Serialize;

/// Place named in errors of a run.
const PLACE: &str = "bench dumbbell";
const BOTTLENECK: &str = "line:100mbit";
const ACCESS: Rate = Rate::from_bps(1_000_000_000);
const BASE_RTT_MIN: Span = Span::from_millis(10);
const BASE_RTT_MAX: Span = Span::from_millis(30);

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    packets_per_cpu_second: f64,
    max_rss_mb: Option<f64>,
    packets_forwarded: u64,
    cpu_seconds: f64,
    wall_seconds: f64,
    duration_s: f64,
    qdisc: &'a str,
    transport: &'a str,
    flows: usize,
    seed: u64,
    throughput_mbps: f64,
    goodput_mbps: f64,
    queue_delay_ms: DelaySummary,
    drops: u64,
    marks: u64,
    jain: f64,
}

/// Runs the command.
///
/// # Errors
/// Bad input, or a run whose audit failed.
pub fn run(options: &Dumbbell, registry: &Registry) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    let outcome = outcome(options, registry)?;
    let cpu_seconds = cost::process_cpu_seconds();
    let report = Report {
        schema_version: SCHEMA_VERSION,
        packets_per_cpu_second: (outcome.packets_forwarded as f64 / cpu_seconds).round(),
        max_rss_mb: cost::max_rss_mb().map(round),
        packets_forwarded: outcome.packets_forwarded,
        cpu_seconds: round(cpu_seconds),
        wall_seconds: round(watch.seconds()),
        duration_s: options.duration.as_secs_f64(),
        qdisc: &options.qdisc,
        transport: &options.transport,
        flows: options.flows,
        seed: options.seed,
        throughput_mbps: round(outcome.throughput_mbps),
        goodput_mbps: round(outcome.flows.iter().map(|flow| flow.goodput_mbps).sum()),
        queue_delay_ms: outcome.queue_delay_ms.rounded(),
        drops: outcome.drops,
        marks: outcome.marks,
        jain: round(outcome.jain),
    };
    output::print(&if options.json { pretty(&report) } else { text(&report, &outcome) })
}

fn outcome(options: &Dumbbell, registry: &Registry) -> Result<Outcome, Failure> {
    let scenario = scenario(options, registry)?;
    let Some(path) = &options.packets else { return Ok(Simulator::outcome(PLACE, &scenario, None)?) };
    let cannot_write = |error| cannot_write(path, &error);
    let partial = Partial::file(path).map_err(cannot_write)?;
    let file = partial.handle().try_clone();
    let mut file = file.and_then(PacketFile::new).map_err(cannot_write)?;
    let outcome = Simulator::outcome(PLACE, &scenario, Some(&mut file))?;
    file.close().and_then(|()| partial.finish()).map_err(cannot_write)?;
    Ok(outcome)
}

/// Scenario of the bench. Buffers and access links are wide, so that only the bottleneck drops packets.
fn scenario(options: &Dumbbell, registry: &Registry) -> Result<Scenario, Failure> {
    let qdisc = component("--qdisc", &options.qdisc, qdisc::COMPONENTS, registry)?;
    AnyQdisc::build(&qdisc).map_err(|error| Failure::input("--qdisc", error))?;
    let transport = component("--transport", &options.transport, transport::COMPONENTS, registry)?;
    let transport =
        TransportConfig::build(&transport).map_err(|error| Failure::input("--transport", error))?;
    let link = links::parse(BOTTLENECK).map_err(|error| Failure::input(PLACE, error))?;
    let within = if options.flows > 1 { START_WITHIN } else { Span::ZERO };
    let flow = |index| FlowSpec {
        start: random_start(options.seed, index, within),
        access: Some(ACCESS),
        extra_rtt: extra_rtt(index, options.flows),
        ..FlowSpec::new(&options.transport, transport.clone())
    };
    Ok(Scenario {
        bottleneck: Bottleneck::link(qdisc, link),
        uplink: None,
        hops: Vec::new(),
        base_rtt: BASE_RTT_MIN,
        rtt_curve: None,
        jitter: qdelay_sim::Jitter::NONE,
        uplink_jitter: qdelay_sim::Jitter::NONE,
        impairments: Impairments::default(),
        flows: (0..options.flows).map(flow).collect(),
        probe: None,
        duration: options.duration,
        warmup: Span::ZERO,
        seed: options.seed,
        min_packet_bytes: 0,
        groups: Vec::new(),
        series: None,
        connections: false,
    })
}

/// Zero for the first flow, the whole range for the last, in equal steps between.
fn extra_rtt(index: usize, flows: usize) -> Span {
    let steps = flows.saturating_sub(1).max(1) as u64;
    BASE_RTT_MAX.saturating_sub(BASE_RTT_MIN) * index as u64 / steps
}

/// Table of the run: packets per CPU-second, the CPU time behind them, and memory.
fn text(report: &Report, outcome: &Outcome) -> String {
    let delay = outcome.queue_delay_ms;
    let memory = report.max_rss_mb.map_or("unknown".to_string(), |mb| format!("{mb:.1} MB"));
    format!(
        "{} flows of {} for {} s through 100 Mbit/s with {}, base round trips 10 to 30 ms.\n\n\
         packets per CPU-second  {:.0}\n\
         packets forwarded       {}\n\
         CPU time                {:.3} s\n\
         most memory             {memory}\n\
         goodput                 {:.2} Mbit/s, Jain's index {:.3}\n\
         queue delay             mean {:.1}, p95 {:.1}, p99 {:.1} ms\n\
         drops, marks            {}, {}\n",
        report.flows,
        report.transport,
        report.duration_s,
        report.qdisc,
        report.packets_per_cpu_second,
        report.packets_forwarded,
        report.cpu_seconds,
        report.goodput_mbps,
        report.jain,
        delay.mean,
        delay.p95,
        delay.p99,
        report.drops,
        report.marks,
    )
}
