//! BBR over QUIC: the queue that its paper predicts, and the figures of the same control over TCP. The bounds were written down before
//! the first run.

use crate::common::{flow, scenario};
use qdelay_core::Span;
use qdelay_sim::Outcome;

/// Runs a flow for 30 s over a line; the first 5 s are warm-up.
fn run(text: &str, mbit: f64, packets: u64, rtt_ms: u64) -> Outcome {
    let mut scenario = scenario(text, mbit, packets, Span::from_millis(rtt_ms), Span::from_secs(30));
    scenario.warmup = Span::from_secs(5);
    qdelay_sim::run(&scenario).unwrap()
}

/// BBR's window is two bandwidth-delay products and three bursts. With an unlimited buffer the queue is at most one product, nothing is lost, and
/// the line is full except for the pacing margin and ProbeRTT.
#[test]
fn bbr_keeps_at_most_one_product_in_the_queue() {
    for (mbit, rtt_ms) in [(10.0, 40), (20.0, 100), (40.0, 20)] {
        let outcome = run("quic:bbr", mbit, 5_000, rtt_ms);
        let (share, wait) = (outcome.throughput_mbps / mbit, outcome.queue_delay_ms.mean);
        let case = format!("{mbit} Mbit/s, {rtt_ms} ms: {share}, {wait} ms, {} drops", outcome.drops);
        assert!(share > 0.95 && share < 1.001, "{case}");
        assert!(wait < rtt_ms as f64 && outcome.drops == 0, "{case}");
    }
}

/// Throughput within 3% and mean queue delay within 20% or 2 ms of those over TCP, with buffers of one and ten bandwidth-delay products.
#[test]
fn bbr_over_quic_has_the_throughput_and_delay_of_bbr_over_tcp() {
    for (mbit, rtt_ms, packets) in [(10.0, 40, 34), (10.0, 40, 340), (20.0, 100, 170), (20.0, 100, 1_700)] {
        let (quic, tcp) = (run("quic:bbr", mbit, packets, rtt_ms), run("bbr", mbit, packets, rtt_ms));
        let (wait, of_tcp) = (quic.queue_delay_ms.mean, tcp.queue_delay_ms.mean);
        let case = format!(
            "{mbit} Mbit/s, {rtt_ms} ms, {packets} packets: {} and {} Mbit/s, {wait} and {of_tcp} ms",
            quic.throughput_mbps, tcp.throughput_mbps
        );
        assert!((quic.throughput_mbps / tcp.throughput_mbps - 1.0).abs() < 0.03, "{case}");
        assert!((wait - of_tcp).abs() < (0.2 * of_tcp).max(2.0), "{case}");
    }
}

#[test]
fn two_flows_of_bbr_that_start_together_share_a_line_evenly() {
    let mut scenario = scenario("quic:bbr", 20.0, 200, Span::from_millis(40), Span::from_secs(60));
    scenario.warmup = Span::from_secs(20);
    scenario.flows.push(flow("quic:bbr"));
    let outcome = qdelay_sim::run(&scenario).unwrap();
    assert!(
        outcome.jain > 0.9 && outcome.throughput_mbps > 19.0,
        "{} {}",
        outcome.jain,
        outcome.throughput_mbps
    );
}
