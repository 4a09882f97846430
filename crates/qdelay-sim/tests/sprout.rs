//! Sprout in the simulator: the same measures as others have, losses and outages, and the figures of its authors' program.

use crate::common::{link, play, scenario};
use qdelay_core::Span;
use qdelay_path::TraceLink;
use qdelay_sim::{LinkSpec, Scenario};
use qdelay_testing::{Need, skip};
use std::path::PathBuf;

const UNLIMITED: &str = "taildrop:limit=10000";

/// A minute over 40 ms.
fn minute(link: LinkSpec, transport: &str) -> Scenario {
    Scenario { duration: Span::from_secs(60), ..scenario(UNLIMITED, link, &[transport]) }
}

#[test]
fn a_line_is_filled_without_much_delay() {
    for rate in [2.0, 5.0, 10.0] {
        let outcome = play(&minute(link(&format!("{rate}mbit")), "sprout"));
        let (used, p95) = (outcome.utilization, outcome.queue_delay_ms.p95);
        let flow = &outcome.flows[0];
        println!("{rate} Mbit/s: {used:.3}, p95 {p95:.1} ms, goodput {:.2}", flow.goodput_mbps);
        assert!(used > 0.5 && p95 < 100.0, "{rate}: {used} {p95}");
        // 1458 of 1500 bytes, and smaller packets.
        assert!((0.9..0.972).contains(&(flow.goodput_mbps / (used * rate))), "{}", flow.goodput_mbps);
    }
}

/// A queue of 5 packets and every tenth packet lost: the flow goes on, and every packet is somewhere.
#[test]
fn losses_do_not_stop_it() {
    for qdisc in ["taildrop:limit=5", "codel", "pie"] {
        for transport in ["sprout", "sprout:variant=ewma"] {
            let outcome = play(&scenario(qdisc, link("line:5mbit"), &[transport]));
            assert!(outcome.utilization > 0.2, "{qdisc} {transport}: {}", outcome.utilization);
        }
    }
}

// ---- The authors' program ----

/// Bounds that were fixed before the first comparison.
const THROUGHPUT: f64 = 0.15;
const P95: f64 = 0.3;
const P95_MS: f64 = 5.0;

/// Trace, throughput in Mbit/s and 95th percentile of the queue delay in ms.
fn reference() -> Vec<(&'static str, f64, f64)> {
    let text = include_str!("../../qdelay-validate/tests/reference/sprout.tsv");
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        (fields[0], fields[1].parse().unwrap(), fields[2].parse().unwrap())
    })
    .collect()
}

/// Cells beyond the bounds, with their causes in `docs/validation.md`. The test fails if there is a new one, and if one disappears.
const MISSES: &[(&str, &str)] =
    &[("mahimahi/ATT-LTE-driving.up", "throughput"), ("mahimahi/ATT-LTE-driving-2016.down", "throughput")];

#[test]
fn throughput_and_delay_are_those_of_the_program() {
    let Some(folder) = std::env::var_os("QDELAY_TRACES").map(PathBuf::from) else {
        skip(Need::Traces, "QDELAY_TRACES names no folder")
    };
    let mut misses = Vec::new();
    for (name, throughput, p95) in reference() {
        let Ok(text) = std::fs::read(folder.join(name)) else {
            skip(Need::Traces, format_args!("there is no {name}"))
        };
        let schedule = qdelay_trace::mahimahi::parse(&text).unwrap();
        let outcome = play(&minute(LinkSpec(TraceLink::new(&schedule, 0, true).into()), "sprout"));
        let (ours, delay) = (outcome.throughput_mbps, outcome.queue_delay_ms.p95);
        println!("{name}: {ours:.2} for {throughput:.2} Mbit/s, p95 {delay:.0} for {p95:.0} ms");
        if (ours / throughput - 1.0).abs() > THROUGHPUT {
            misses.push((name, "throughput"));
        }
        if (delay - p95).abs() > (P95 * p95).max(P95_MS) {
            misses.push((name, "p95"));
        }
    }
    assert_eq!(misses, MISSES);
}
