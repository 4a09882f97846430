//! Closed forms of the paper over a minimal link, and slow models: of an interval that keeps every segment, and of the rate control that computes
//! each decision from all that was decided before.

use super::super::minimal::{Link, MinimalTcp};


use super::*;
extern crate std;


use qdelay_core::Time;

fn loss_config() -> VivaceConfig {
    VivaceConfig { latency_weight: 0.0, ..VivaceConfig::default() }
}

const MSS: f64 = 1448.0;
const FRAME: f64 = 1500.0;

/// Runs a flow over a link of `mbps` (IP) and returns goodput as a share of it, after `warm_s`, and the mean and largest queue in milliseconds.
fn run(config: VivaceConfig, mbps: u64, rtt_ms: u64, buffer: u64, loss: f64, seconds: u64) -> (f64, f64, f64) {
    let mut link = Link::new(Rate::from_bps(mbps * 1_000_000), Span::from_millis(rtt_ms));
    link.buffer = buffer;
    let mut dice = Random::derive(3, "link", "loss");
    let mut tcp = MinimalTcp::new(Vivace::new(config), link, move |_, _| dice.unit() < loss);
    let warm = seconds / 2;
    tcp.run_until(Time::ZERO + Span::from_secs(warm));
    let before = tcp.connection.delivered;
    let (mut sum, mut most, mut count) = (0.0, 0.0_f64, 0.0);
    for step in 0..(seconds - warm) * 100 {
        let now = Time::ZERO + Span::from_secs(warm) + Span::from_millis(10 * (step + 1));
        tcp.run_until(now);
        let queue = tcp.link.free.since(now).as_secs_f64() * 1e3;
        (sum, most, count) = (sum + queue, most.max(queue), count + 1.0);
    }
    let delivered = (tcp.connection.delivered - before) as f64 * FRAME * 8.0 / 1e6;
    (delivered / (seconds - warm) as f64 / mbps as f64, sum / count, most)
}

/// One flow for latency: the rate is stable where the faster probe does not make a queue that grows, so at 1/(1+ε) and one step below.
#[test]
fn one_flow_fills_the_link_with_a_short_queue() {
    for (mbps, rtt_ms) in [(1, 20), (5, 40), (10, 20), (20, 100), (50, 10), (100, 40), (100, 2)] {
        let (goodput, mean, most) = run(VivaceConfig::default(), mbps, rtt_ms, 1000, 0.0, 120);
        std::eprintln!("{mbps} {rtt_ms}: {goodput:.3} {mean:.2} {most:.2}");
    }
    for loss in [0.0, 0.01, 0.03, 0.05, 0.07, 0.1] {
        let (goodput, mean, most) = run(loss_config(), 10, 20, 30, loss, 120);
        std::eprintln!("loss {loss}: {goodput:.3} {mean:.2} {most:.2}");
    }
}
