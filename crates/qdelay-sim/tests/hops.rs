//! Hops in front of the bottleneck: what is told of them against what flows and the path's own counts say.

use crate::common::{flow, link, ms, play, probe, scenario};
use qdelay_core::Span;
use qdelay_core::component::Arguments;
use qdelay_sim::{FlowSpec, HopSpec, Scenario, run};

fn hop(name: &str, qdisc: &str, line: &str, delay: Span) -> HopSpec {
    let qdisc = Arguments::parse(qdelay_core::qdisc::COMPONENTS, qdisc).unwrap();
    HopSpec { name: name.to_string(), qdisc, link: link(line), delay, curve: None }
}

/// Two hops and a bottleneck; 20 ms behind it, and 7 ms behind the first hop.
fn series(slow: &str, flows: &[&str]) -> Scenario {
    let plain = scenario("taildrop:limit=100", link("line:24mbit"), &[]);
    Scenario {
        hops: vec![
            hop("slow", slow, "line:6mbit", ms(7)),
            hop("fast", "taildrop:limit=100", "line:12mbit", Span::ZERO),
        ],
        flows: flows.iter().map(|text| FlowSpec { stop: Some(ms(9_000)), ..flow(text) }).collect(),
        groups: vec!["all".to_string()],
        ..plain
    }
}

/// All that was sent has arrived, so that the parts of the delay add up to the whole, packet by packet.
#[test]
fn delays_of_hops_add_up() {
    let outcome = play(&series("taildrop:limit=1000", &["udp:3mbit:size=1500b", "udp:2mbit:size=700b"]));
    let [slow, fast] = ["slow", "fast"].map(|name| &outcome.hops[name]);
    let sent: u64 = outcome.flows.iter().map(|flow| flow.packets_sent).sum();
    assert!(sent > 4000);
    for (hop, place) in [(slow, 1), (fast, 2)] {
        assert_eq!(hop.place, place);
        assert_eq!((hop.arrived, hop.delivered, hop.queue_delay_ms.count), (sent, sent, sent));
        assert!(hop.drops == 0 && hop.marks == 0);
        assert!((hop.throughput_mbps - outcome.throughput_mbps).abs() < 1e-9);
    }
    let parts = [slow, fast].map(|hop| hop.queue_delay_ms.mean);
    let whole = outcome.one_way_delay_ms.mean;
    let sum = parts.iter().sum::<f64>() + outcome.queue_delay_ms.mean + 20.0 + 7.0;
    assert!((whole - sum).abs() < 1e-9, "{whole} is not {sum}");
    assert!((slow.capacity_mbps.unwrap() - 6.0).abs() < 1e-9);
    assert!((slow.utilization - slow.throughput_mbps / 6.0).abs() < 1e-6, "a line without overhead");
    assert!((fast.utilization - slow.utilization / 2.0).abs() < 1e-6);
}

#[test]
fn a_hop_that_is_faster_adds_only_serialisation() {
    let outcome = play(&series("taildrop:limit=50", &["udp:9mbit:size=1500b"]));
    let fast = outcome.hops["fast"].queue_delay_ms;
    // 1500 bytes at 12 Mbit/s take 1 ms.
    assert!((fast.mean - 1.0).abs() < 1e-9 && (fast.max - 1.0).abs() < 1e-9, "{fast:?}");
    assert!((outcome.queue_delay_ms.max - 0.5).abs() < 1e-9);
    let slow = &outcome.hops["slow"];
    // 50 wait and one is on the link: 2 ms each.
    assert!((slow.queue_delay_ms.max - 102.0).abs() < 2.0);
    assert_eq!(slow.arrived, slow.delivered + slow.drops);
    assert_eq!(slow.drops, outcome.flows[0].packets_lost);
    assert_eq!((slow.drops_by_reason["tail_limit"], outcome.drops), (slow.drops, 0));
}

#[test]
fn reliable_flows_lose_where_it_is_narrow() {
    let outcome = play(&series("codel:ecn=on", &["cubic", "reno:ecn=on"]));
    let [slow, fast] = ["slow", "fast"].map(|name| &outcome.hops[name]);
    assert!(slow.drops > 5 && slow.marks > 5, "{slow:?}");
    assert_eq!((fast.drops, outcome.drops), (0, 0));
    let lost: u64 = outcome.flows.iter().map(|flow| flow.packets_lost).sum();
    assert_eq!(lost, slow.drops);
    for (name, hop) in &outcome.hops {
        let node = |what: &str| outcome.nodes[&format!("{what}/{name}")];
        let (queue, link) = (node("hop"), node("hop-link"));
        assert_eq!((hop.arrived, hop.delivered), (queue.received_packets, link.forwarded_packets));
        assert_eq!((hop.drops, hop.marks), (queue.dropped, queue.marked));
    }
    assert!(slow.utilization > 0.7, "{}", slow.utilization);
    assert!(slow.queue_delay_ms.mean < 30.0);
}

/// Rates and delays begin after the warm-up, counts do not.
#[test]
fn the_warm_up_is_left_out_of_delays() {
    let all = series("taildrop", &["udp:3mbit:size=1500b"]);
    let late = Scenario { warmup: ms(5_000), ..all.clone() };
    let (all, late) = (play(&all), play(&late));
    assert_eq!(late.hops["slow"].arrived, all.hops["slow"].arrived);
    let (before, after) = (all.hops["slow"].queue_delay_ms.count, late.hops["slow"].queue_delay_ms.count);
    // 4 of 9 seconds.
    assert!((after as f64 - before as f64 * 4.0 / 9.0).abs() < 2.0, "{after} of {before}");
    assert!((late.hops["slow"].throughput_mbps - 3.0 * 4.0 / 5.0).abs() < 0.01);
}

#[test]
fn the_probe_is_told_of_queues_alone() {
    let quiet = Scenario { probe: probe(60), ..series("taildrop", &["udp:1kbit:size=60b"]) };
    let outcome = run(&quiet).unwrap();
    let probed = outcome.probe_ms.unwrap();
    // 60 bytes: 80, 40 and 20 us.
    assert!((probed.p50 - 0.14).abs() < 0.002 && probed.count > 500, "{probed:?}");
    let sent = outcome.probe_sent.unwrap() + outcome.flows[0].packets_sent;
    assert_eq!(outcome.hops["slow"].arrived, sent, "it is counted");
    assert!(outcome.hops["slow"].queue_delay_ms.count < 50, "its delays are not");
}

#[test]
fn without_hops_there_is_nothing_of_them() {
    let plain = Scenario { hops: Vec::new(), ..series("taildrop", &["cubic"]) };
    assert!(play(&plain).hops.is_empty());
}
