use qdelay_core::component::Arguments;
use qdelay_core::{Rate, Span, Random};
use qdelay_path::Line;
use qdelay_sim::*;
use qdelay_traffic::transport;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let q = a.get(1).map_or("codel:limit=1000", |s| s.as_str());
    let tr = a.get(2).map_or("cubic", |s| s.as_str());
    let secs: u64 = a.get(3).map_or(60, |s| s.parse().unwrap());
    let seed: u64 = a.get(4).map_or(1, |s| s.parse().unwrap());
    let n = 20;
    let t = Arguments::parse(transport::COMPONENTS, tr).unwrap();
    let specs = (0..n).map(|i| FlowSpec {
        name: tr.into(), transport: transport::TransportConfig::build(&t).unwrap(),
        start: Span::from_nanos(Random::derive(seed, &format!("flow-{i}"), "start").below(std::env::var("SPREAD").map_or(1_000_000_000, |s| s.parse().unwrap()))),
        access: Some(Rate::from_mbps(1000.0)), extra_rtt: Span::from_micros(i * 20000 / (n - 1)) }).collect();
    let s = Scenario {
        qdisc: Arguments::parse(qdelay_core::qdisc::COMPONENTS, q).unwrap(),
        link: LinkSpec(Line::new(Rate::from_mbps(100.0), std::env::var("OH").map_or(0, |s| s.parse().unwrap())).into()),
        uplink: None, base_rtt: Span::from_millis(10), flows: specs,
        probe: None, duration: Span::from_secs(secs), warmup: Span::ZERO, seed, min_packet_bytes: 0,
    };
    let o = run(&s).unwrap();
    let good: f64 = o.flows.iter().map(|f| f.goodput_mbps).sum();
    println!("{q} {tr} good={good:.2} fwd={} sojourn mean={:.2} p50={:.2} p95={:.2} p99={:.2} drops={} jain={:.3} retx={} to={}", o.packets_forwarded, o.sojourn_ms.mean, o.sojourn_ms.p50, o.sojourn_ms.p95, o.sojourn_ms.p99, o.drops_total(), o.jain, o.flows.iter().map(|f| f.retransmits).sum::<u64>(), o.flows.iter().map(|f| f.timeouts).sum::<u64>());
}
