//! Comparison with a real kernel in virtual time, without noise: one bottleneck, a probe beside one or four flows; at 10 Mbit/s, and at
//! other
//! rates, for which no parameter was tuned.

use super::reference::{KERNEL, KERNEL_FQ, KERNEL_RATES, Table};
use super::verdict::{Measure, ReferenceCell};
use super::{Row, each, parse_qdisc, parse_transport};
use qdelay_core::{Rate, Span};
use qdelay_path::{Impairments, Shaper};
use qdelay_sim::{Bottleneck, FlowSpec, Outcome, ProbeSpec, Scenario};
use qdelay_study::engine::Named;
use qdelay_study::scenario::{START_WITHIN, random_start};
use qdelay_terminal::error::Failure;

/// Delay that the hosts' processing adds to a round trip (forwarding 5 us and 7 us, receiver 9 us, sender 13 us).
const HOST_DELAY: Span = Span::from_micros(34);
/// Ethernet header in bytes, which the shaper counts.
const FRAME_OVERHEAD: u32 = 14;
/// Burst limit of the token bucket in the experiments.
const BURST_BYTES: u64 = 1540;
/// Size of the probe's IP packet: a frame of 64 bytes without its header.
const PROBE_BYTES: u32 = 50;
/// Size of a full frame in bytes.
const FRAME_BYTES: f64 = 1514.0;
/// Seeds of our runs; the reference has one to three runs per cell.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Set of measurements of the kernel.
pub struct Experiment {
    reference: &'static str,
    table: &'static str,
    /// Socket buffers, as a key of the transport; empty for autotuned ones.
    buffers: &'static str,
    /// Goodput of one run, Mbit/s, over the time of the measurement.
    goodput: fn(&Outcome) -> f64,
    /// Two measured delays: name, column and our value.
    delays: [Delay; 2],
}

/// Measure: name, column, and our value.
type Delay = (&'static str, &'static str, fn(&Outcome) -> f64);

/// Absolute tolerance of a delay, in transmission times of a full frame: the resolution of the measurement. A percentile of
/// waiting behind whole packets moves by one of them; a mean by half of one, which is an arrival's wait for the frame in
/// transmission, whose phase neither side controls. At most a millisecond.
fn resolution_ms(measure: &str, rate_mbps: f64) -> f64 {
    let frame_ms = FRAME_BYTES * 8.0 / (rate_mbps * 1000.0);
    (if measure == PROBE_P95.0 { frame_ms } else { frame_ms / 2.0 }).min(1.0)
}

const PROBE_MEAN: Delay = ("probe mean ms", "probe_qdelay_mean_ms", |o| o.probe_ms.unwrap_or_default().mean);
const PROBE_P95: Delay = ("probe p95 ms", "probe_qdelay_p95_ms", |o| o.probe_ms.unwrap_or_default().p95);
/// Delay without the base round trip, which the caller subtracts.
const SRTT_MEAN: Delay = ("round trip less base ms", "tcp_srtt_minus_base_mean_ms", |o| {
    o.flows.iter().map(|flow| flow.srtt_mean_ms).sum::<f64>() / o.flows.len() as f64
});

/// 10 Mbit/s: goodput of seconds 10 to 40, socket buffers of 64 MB.
pub const AT_10_MBIT: Experiment = Experiment {
    reference: "kernel",
    table: KERNEL,
    buffers: ":rcvbuf=64000000b:sndbuf=64000000b",
    goodput: |outcome| outcome.flows.iter().map(|flow| flow.goodput_mbps).sum(),
    delays: [PROBE_MEAN, PROBE_P95],
};

/// fq_codel at 10 Mbit/s, where the probe has a queue of its own.
pub const FQ: Experiment =
    Experiment { reference: "fq", table: KERNEL_FQ, delays: [SRTT_MEAN, PROBE_MEAN], ..AT_10_MBIT };

/// 2 to 50 Mbit/s: goodput of the whole run, autotuned buffers.
pub const AT_OTHER_RATES: Experiment = Experiment {
    reference: "rates",
    table: KERNEL_RATES,
    buffers: "",
    goodput: |outcome| {
        let bytes: u64 = outcome.flows.iter().map(|flow| flow.delivered_bytes).sum();
        bytes as f64 * 8.0 / DURATION_S as f64 / 1e6
    },
    delays: [PROBE_MEAN, PROBE_P95],
};

const DURATION_S: u64 = 40;

/// Rows of the reference that are seeds of one cell.
fn cells(table: &Table) -> Vec<(String, Vec<usize>)> {
    let mut cells: Vec<(String, Vec<usize>)> = Vec::new();
    for row in 0..table.len() {
        let text = |column| table.text(row, column);
        let qdisc = match text("qdisc_args") {
            "default" => text("qdisc").to_string(),
            arguments => format!("{} {arguments}", text("qdisc")),
        };
        let name = format!(
            "{} Mbit/s, {} ms, {} x {}, {qdisc}",
            text("rate_mbps"),
            text("rtt_ms"),
            text("flows"),
            text("cc")
        );
        match cells.iter_mut().find(|cell| cell.0 == name) {
            Some(cell) => cell.1.push(row),
            None => cells.push((name, vec![row])),
        }
    }
    cells
}

/// Cases of every cell, [`SEEDS`] each.
///
/// # Errors
/// A variant that the disciplines do not have.
pub fn rows(experiment: &Experiment, variant: &str) -> Result<Vec<Row>, Failure> {
    let table = Table::parse(experiment.table);
    let (reference, goodput_of) = (experiment.reference, experiment.goodput);
    let mut rows = Vec::new();
    for (name, references) in cells(&table) {
        let row = references[0];
        let cases = SEEDS
            .iter()
            .map(|&seed| case(&table, row, seed, variant, experiment.buffers))
            .collect::<Result<_, _>>()?;
        let figures = |column: &'static str| -> Vec<f64> {
            references.iter().map(|&row| table.number(row, column)).collect()
        };
        let (goodput, drops) = (figures("link_goodput_mbps"), figures("drops"));
        let delays = experiment.delays.map(|(name, column, ours)| (name, figures(column), ours));
        let base_ms = table.number(row, "rtt_ms") + HOST_DELAY.as_millis_f64();
        let rate_mbps = table.number(row, "rate_mbps");
        let judge = move |outcomes: &[&Outcome]| {
            let mut measures = vec![
                Measure::new("goodput Mbit/s", &goodput, &each(outcomes, goodput_of), 0.03, 0.0),
                Measure::new("drops", &drops, &each(outcomes, |o| o.drops as f64), 0.3, 20.0),
            ];
            for (place, (name, theirs, ours)) in delays.iter().enumerate() {
                let base = if *name == SRTT_MEAN.0 { base_ms } else { 0.0 };
                let resolution = resolution_ms(name, rate_mbps);
                let delay = Measure::new(name, theirs, &each(outcomes, |o| ours(o) - base), 0.2, resolution);
                measures.insert(1 + place, delay);
            }
            vec![ReferenceCell::judge(reference, name, measures)]
        };
        rows.push(Row { cases, judge: Box::new(judge) });
    }
    Ok(rows)
}

fn case(table: &Table, row: usize, seed: u64, variant: &str, buffers: &str) -> Result<Named, Failure> {
    let qdisc = match (table.text(row, "qdisc"), table.text(row, "qdisc_args")) {
        ("pfifo", _) => "taildrop:limit=1000".to_string(),
        ("codel", "default") => format!("codel:limit=1000:variant={variant}"),
        ("codel", _) => format!("codel:limit=1000:target=10ms:interval=50ms:variant={variant}"),
        ("fq_codel", _) => format!("fq_codel:variant={variant}"),
        (name, _) => format!("{name}:limit=1000:variant={variant}"),
    };
    let name = table.text(row, "cc");
    let transport = parse_transport(&format!("{name}{buffers}"))?;
    let flows = table.number(row, "flows") as usize;
    let within = if flows > 1 { START_WITHIN } else { Span::ZERO };
    let rate = Rate::from_mbps(table.number(row, "rate_mbps"));
    let scenario = Scenario {
        bottleneck: Bottleneck::link(parse_qdisc(&qdisc)?, Shaper::new(rate, FRAME_OVERHEAD, BURST_BYTES)),
        uplink: None,
        hops: Vec::new(),
        base_rtt: Span::from_millis(table.number(row, "rtt_ms") as u64) + HOST_DELAY,
        rtt_curve: None,
        jitter: qdelay_sim::Jitter::NONE,
        uplink_jitter: qdelay_sim::Jitter::NONE,
        impairments: Impairments::default(),
        flows: (0..flows)
            .map(|index| FlowSpec {
                start: random_start(seed, index, within),
                ..FlowSpec::new(name, transport.clone())
            })
            .collect(),
        probe: Some(ProbeSpec { bytes: PROBE_BYTES, ..ProbeSpec::default() }),
        duration: Span::from_secs(DURATION_S),
        warmup: Span::from_secs(10),
        seed,
        min_packet_bytes: 0,
        groups: Vec::new(),
        // The probe's time series is needed for the round trips over time.
        series: Some(Span::from_millis(100)),
        connections: false,
    };
    Ok(Named { name: format!("kernel, {qdisc}, {name}, seed {seed}"), scenario })
}
