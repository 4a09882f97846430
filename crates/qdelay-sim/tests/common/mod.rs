//! Scenarios in a few words.

use qdelay_core::component::Arguments;
use qdelay_core::{Rate, Span};
use qdelay_path::{AnyLink, TraceLink, parse_link};
use qdelay_sim::{Bottleneck, FlowSpec, LinkSpec, Outcome, PacketRecord, ProbeSpec, Recorder, Scenario, run};
use qdelay_traffic::transport::{self, TransportConfig};

/// Keeps every packet. The only recorder of this program, because each is a whole simulator to be built.
#[derive(Default)]
pub struct All(pub Vec<PacketRecord>);

impl Recorder for All {
    fn packet(&mut self, record: &PacketRecord) {
        self.0.push(*record);
    }
}

pub fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

pub fn link(text: &str) -> LinkSpec {
    LinkSpec(AnyLink::build(&parse_link(text).unwrap()).unwrap())
}

/// Opportunities at these milliseconds, round and round; `overhead` bytes are added to each packet.
pub fn trace(times: &[u32], overhead: u32) -> LinkSpec {
    let text: String = times.iter().map(|ms| format!("{ms}\n")).collect();
    let schedule = qdelay_trace::mahimahi::parse(text.as_bytes()).unwrap();
    LinkSpec(TraceLink::new(&schedule, overhead, true).into())
}

pub fn flow(text: &str) -> FlowSpec {
    let arguments = Arguments::parse(transport::COMPONENTS, text).unwrap();
    FlowSpec::new(text, TransportConfig::build(&arguments).unwrap())
}

/// Ten seconds over 40 ms, without a warm-up.
pub fn scenario(qdisc: &str, link: LinkSpec, flows: &[&str]) -> Scenario {
    let qdisc = Arguments::parse(qdelay_core::qdisc::COMPONENTS, qdisc).unwrap();
    Scenario {
        flows: flows.iter().map(|text| flow(text)).collect(),
        ..Scenario::new(Bottleneck::Link { qdisc, link }, ms(40), Span::from_secs(10))
    }
}

pub fn probe(bytes: u32) -> Option<ProbeSpec> {
    Some(ProbeSpec { bytes, ..ProbeSpec::default() })
}

pub fn rate(mbps: f64) -> Option<Rate> {
    Some(Rate::from_mbps(mbps))
}

/// Runs it, and checks what holds for every run.
pub fn play(scenario: &Scenario) -> Outcome {
    let outcome = run(scenario).unwrap();
    assert!((0.0..=1.0).contains(&outcome.utilization), "{}", outcome.utilization);
    for (name, node) in &outcome.nodes {
        let gone = node.forwarded_packets + node.dropped;
        let came = node.received_packets + node.copies.unwrap_or(0);
        assert_eq!(came, gone + node.inside, "{name} {node:?}");
    }
    let named = |name: &str| outcome.nodes[name];
    assert_eq!(named("bottleneck").dropped, outcome.drops);
    assert_eq!(named("bottleneck").marked, outcome.marks);
    assert_eq!(named("link").forwarded_packets, outcome.packets_forwarded);
    for delays in [outcome.queue_delay_ms, outcome.sojourn_ms] {
        assert!(delays.p50 <= delays.p95 && delays.p95 <= delays.p99 && delays.p99 <= delays.p999);
        assert!(delays.mean <= delays.max);
    }
    outcome
}
