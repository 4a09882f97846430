//! Comparison with ns-3: 20 flows through a dumbbell, with the `ns3` profile.

use super::reference::{NS3, Table};
use super::verdict::{Measure, ReferenceCell};
use super::{Row, each, parse_qdisc, parse_transport};
use qdelay_core::{Random, Rate, Span};
use qdelay_path::{Impairments, Line};
use qdelay_sim::{Bottleneck, FlowSpec, Outcome, Scenario};
use qdelay_study::engine::Named;
use qdelay_terminal::error::Failure;

const SEEDS: [u64; 3] = [1, 2, 3];
const FLOWS: u64 = 20;
/// Size of ns-3's point-to-point header in bytes.
const PPP_BYTES: u32 = 2;

/// Cases of every cell, [`SEEDS`] each.
///
/// # Errors
/// None in practice: the table is part of the program.
pub fn rows() -> Result<Vec<Row>, Failure> {
    let table = Table::parse(NS3);
    let mut rows = Vec::new();
    for row in 0..table.len() {
        let (qdisc, transport) = (table.text(row, "qdisc"), table.text(row, "transport"));
        let cases = SEEDS.iter().map(|&seed| case(qdisc, transport, seed)).collect::<Result<_, _>>()?;
        let figures =
            ["sojourn_mean_ms", "sojourn_p95_ms", "drops", "jain"].map(|column| table.number(row, column));
        let name = format!("{transport}, {qdisc}");
        let judge = move |outcomes: &[&Outcome]| {
            let measures = vec![
                Measure::new(
                    "sojourn mean ms",
                    &figures[..1],
                    &each(outcomes, |o| o.sojourn_ms.mean),
                    0.2,
                    0.0,
                ),
                Measure::new(
                    "sojourn p95 ms",
                    &figures[1..2],
                    &each(outcomes, |o| o.sojourn_ms.p95),
                    0.2,
                    0.0,
                ),
                Measure::new("drops", &figures[2..3], &each(outcomes, |o| o.drops as f64), 0.3, 0.0),
                Measure::new("Jain", &figures[3..], &each(outcomes, |o| o.jain), 0.0, 0.05),
            ];
            vec![ReferenceCell::judge("ns3", name, measures)]
        };
        rows.push(Row { cases, judge: Box::new(judge) });
    }
    Ok(rows)
}

/// Flows start at random within the first second; their base round trips are 10 to 30 ms in equal steps.
fn case(qdisc: &str, transport: &str, seed: u64) -> Result<Named, Failure> {
    let typed = format!("{transport}:profile=ns3");
    let config = parse_transport(&typed)?;
    let flows = (0..FLOWS).map(|index| FlowSpec {
        start: Span::from_nanos(Random::derive(seed, &format!("flow-{index}"), "start").below(1_000_000_000)),
        access: Some(Rate::from_mbps(1000.0)),
        extra_rtt: Span::from_micros(index * 20_000 / (FLOWS - 1)),
        ..FlowSpec::new(&typed, config.clone())
    });
    let discipline = parse_qdisc(&match qdisc {
        // Defaults apply. ns-3's quantum is the device's MTU, 1500, and counts packets without the frame's header; ours
        // is Linux's 1514 with the header. Full packets take the same turns, and no others cross this queue.
        "fq_codel" => "fq_codel".to_string(),
        other => format!("{other}:limit=1000"),
    })?;
    let scenario = Scenario {
        bottleneck: Bottleneck::link(discipline, Line::new(Rate::from_mbps(100.0), PPP_BYTES)),
        uplink: None,
        hops: Vec::new(),
        base_rtt: Span::from_millis(10),
        rtt_curve: None,
        jitter: qdelay_sim::Jitter::NONE,
        uplink_jitter: qdelay_sim::Jitter::NONE,
        impairments: Impairments::default(),
        flows: flows.collect(),
        probe: None,
        duration: Span::from_secs(60),
        warmup: Span::ZERO,
        seed,
        min_packet_bytes: 0,
        groups: Vec::new(),
        series: None,
        connections: false,
    };
    Ok(Named { name: format!("ns-3, {qdisc}, {typed}, seed {seed}"), scenario })
}
