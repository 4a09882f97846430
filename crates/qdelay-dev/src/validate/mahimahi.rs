//! Comparison with mahimahi: two cellular traces, five disciplines, kernel Cubic and BBR.

use super::reference::{MAHIMAHI, Table};
use super::verdict::{Measure, ReferenceCell};
use super::{Row, each, parse_qdisc, parse_transport};
use qdelay_core::Span;
use qdelay_path::{Impairments, TraceLink};
use qdelay_sim::{Bottleneck, FlowSpec, Outcome, Scenario, Uplink};
use qdelay_study::engine::Named;
use qdelay_terminal::error::Failure;
use std::path::Path;

/// Start times of our runs. The phase of the flow relative to the trace decides which backlog a long outage meets, and whether BBR takes
/// the outage for
/// a policer. Our value is the mean of nine starts within the first second; the reference is one run of unknown phase.
const SEEDS: [u64; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const START_STEP: Span = Span::from_micros(111_317);
const DURATION_S: u64 = 60;

/// Delays of the machine beyond the nominal path.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Base round trip; nominally 10 ms.
    pub base_rtt: Span,
    /// Largest scheduling delay of a packet; nominally none.
    pub jitter: Span,
}

impl Host {
    /// The nominal path unless other values are given.
    pub fn new(base_rtt: Option<Span>, jitter: Option<Span>) -> Host {
        Host { base_rtt: base_rtt.unwrap_or(Span::from_millis(10)), jitter: jitter.unwrap_or(Span::ZERO) }
    }
}

/// Cases of every cell, [`SEEDS`] each, with traces found below `folder`.
///
/// # Errors
/// A trace that cannot be used.
pub fn rows(folder: Option<&Path>, host: Host) -> Result<Vec<Row>, Failure> {
    let table = Table::parse(MAHIMAHI);
    let mut rows = Vec::new();
    for row in 0..table.len() {
        let text = |column| table.text(row, column);
        let trace = text("trace");
        let short = trace.rsplit('/').next().unwrap_or(trace);
        let name = format!("{short}, {}, {}", text("transport"), text("qdisc"));
        let Some(path) = folder.map(|folder| folder.join(trace)).filter(|path| path.is_file()) else {
            let why =
                "the trace is not available; expected it below --traces DIR or QDELAY_TRACES".to_string();
            let judge = move |_: &[&Outcome]| vec![ReferenceCell::skipped(name, why)];
            rows.push(Row { cases: Vec::new(), judge: Box::new(judge) });
            continue;
        };
        let bytes = std::fs::read(&path).map_err(|error| Failure::input(path.display(), error))?;
        let schedule =
            qdelay_trace::mahimahi::parse(&bytes).map_err(|error| Failure::input(path.display(), error))?;
        let link = TraceLink::new(&schedule, TraceLink::OVERHEAD_BYTES, true);
        let cases = SEEDS
            .iter()
            .map(|&seed| case(&link, text("qdisc"), text("transport"), seed, host))
            .collect::<Result<_, _>>()?;
        let figures =
            ["throughput_mbps", "delay_mean_ms", "delay_p99_ms"].map(|column| table.number(row, column));
        let judge = move |outcomes: &[&Outcome]| {
            let delay = |outcome: &Outcome| outcome.queue_delay_ms;
            let measures = vec![
                Measure::new("throughput Mbit/s", &figures[..1], &each(outcomes, with_header), 0.1, 0.0),
                Measure::new("delay mean ms", &figures[1..2], &each(outcomes, |o| delay(o).mean), 0.3, 5.0),
                Measure::new("delay p99 ms", &figures[2..], &each(outcomes, |o| delay(o).p99), 0.3, 5.0),
            ];
            vec![ReferenceCell::judge("mahimahi", name, measures)]
        };
        rows.push(Row { cases, judge: Box::new(judge) });
    }
    Ok(rows)
}

/// Throughput with the TUN header of each packet, as mahimahi counts.
fn with_header(outcome: &Outcome) -> f64 {
    let header_bits = outcome.packets_forwarded as f64 * f64::from(TraceLink::OVERHEAD_BYTES) * 8.0;
    outcome.throughput_mbps + header_bits / DURATION_S as f64 / 1e6
}

/// Uplink of mahimahi's runs, 48 Mbit/s: a trace too, with four opportunities each millisecond.
pub fn uplink() -> Result<TraceLink, Failure> {
    let schedule =
        qdelay_trace::mahimahi::parse(b"1\n1\n1\n1\n").map_err(|error| Failure::input("uplink", error))?;
    Ok(TraceLink::new(&schedule, TraceLink::OVERHEAD_BYTES, true))
}

/// Discipline of the table, with its parameters.
pub fn discipline(name: &str) -> &str {
    match name {
        "codel" => "codel:variant=mahimahi:target=10ms:interval=50ms",
        "pie" => "pie:variant=mahimahi:target=20ms:max_burst=3ms",
        "bode" => "bode:target=20ms:min_keep=2",
        other => other,
    }
}

/// Transport of the table. The reference's Cubic was paced: on its machine sockets are created with BBR, the default, and
/// iperf3 selects Cubic after connecting, which leaves the pacing on. The same kernel through `qdelay link`, with sockets
/// created that way, matches the reference; without pacing it matches our plain Cubic.
pub fn transport(name: &str) -> &str {
    if name == "cubic" { "cubic:pacing=always" } else { name }
}

fn case(link: &TraceLink, qdisc: &str, transport: &str, seed: u64, host: Host) -> Result<Named, Failure> {
    let typed = discipline(qdisc);
    let scenario = Scenario {
        bottleneck: Bottleneck::link(parse_qdisc(typed)?, link.clone()),
        uplink: Some(Uplink::tail_drop(uplink()?, 1000)),
        hops: Vec::new(),
        base_rtt: host.base_rtt,
        rtt_curve: None,
        jitter: host.jitter.into(),
        uplink_jitter: qdelay_sim::Jitter::NONE,
        impairments: Impairments::default(),
        flows: vec![FlowSpec {
            start: START_STEP * (seed - 1),
            ..FlowSpec::new(transport, parse_transport(self::transport(transport))?)
        }],
        probe: None,
        duration: Span::from_secs(DURATION_S),
        warmup: Span::ZERO,
        seed,
        min_packet_bytes: 200,
        groups: Vec::new(),
        series: None,
        connections: false,
    };
    Ok(Named { name: format!("mahimahi, {typed}, {transport}, seed {seed}"), scenario })
}
