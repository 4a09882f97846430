//! Runs whose outcome a formula gives.

use crate::common::{flow, link, ms, play, probe, rate, scenario, trace};
use qdelay_core::Span;
use qdelay_sim::{Scenario, Uplink};

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value / expected - 1.0).abs() <= tolerance
}

// ---- Datagrams ----

/// Nobody else there: transmission and propagation, to the nanosecond.
#[test]
fn an_unloaded_link_adds_transmission_only() {
    let s = scenario("taildrop:limit=100", link("line:10mbit"), &["udp:1mbit:size=1250b"]);
    let outcome = play(&s);
    assert_eq!((outcome.queue_delay_ms.mean, outcome.queue_delay_ms.max), (1.0, 1.0));
    assert_eq!((outcome.sojourn_ms.mean, outcome.sojourn_ms.max), (0.0, 0.0));
    assert_eq!(outcome.queue_delay_ms.count, 1000);
    // 980 or so have arrived, 20 ms after they left.
    assert_eq!(outcome.flows[0].delivered_bytes % 1222, 0);
    assert_eq!(outcome.flows[0].packets_sent, 1000);
    assert!((997..=999).contains(&(outcome.flows[0].delivered_bytes / 1222)));

    let s = Scenario { probe: probe(125), ..scenario("taildrop:limit=100", link("line:10mbit"), &[]) };
    let outcome = play(&s);
    let delays = outcome.probe_ms.unwrap();
    assert!(near(delays.mean, 0.1, 1e-9) && near(delays.max, 0.1, 1e-9), "{delays:?}");
    assert_eq!(outcome.probe_lost.unwrap(), 0);
    assert_eq!(outcome.queue_delay_ms.count, 0, "a probe's packets are never in it");
}

/// Framing takes time, and no part in the throughput.
#[test]
fn overhead_takes_its_time() {
    let s = scenario("taildrop:limit=10", link("line:10mbit:overhead=250"), &["udp:20mbit:size=1000b"]);
    let outcome = play(&s);
    assert!(near(outcome.throughput_mbps, 8.0, 0.001), "{}", outcome.throughput_mbps);
    assert!(outcome.utilization > 0.9999);
    let s = scenario("taildrop:limit=10", link("line:10mbit:overhead=250"), &["udp:1mbit:size=1000b"]);
    assert_eq!(play(&s).queue_delay_ms.max, 1.0);
}

#[test]
fn a_constant_rate_below_the_capacity_sees_no_queue() {
    for (size, percent) in [(1250, 50), (1250, 99), (1250, 100), (125, 90)] {
        let text = format!("udp:{}kbit:size={size}b", 100 * percent);
        let outcome = play(&scenario("taildrop:limit=1", link("line:10mbit"), &[&text]));
        assert_eq!(outcome.sojourn_ms.max, 0.0, "{text}");
        assert!(near(outcome.queue_delay_ms.max, f64::from(size) * 8.0 / 10_000.0, 1e-6), "{text}");
        assert_eq!(outcome.drops, 0, "{text}");
        let used = f64::from(percent) / 100.0;
        assert!((outcome.utilization - used).abs() < 0.001, "{text}: {}", outcome.utilization);
        assert!(near(outcome.throughput_mbps, 10.0 * used, 0.001), "{text}: {}", outcome.throughput_mbps);
    }
}

/// D/D/1 above its capacity: packet n waits n (s - a), with s the service time and a the gap of arrivals.
#[test]
fn an_overloaded_queue_grows_linearly() {
    // s = 1 ms, a = 0.8 ms: 10,000 packets leave in ten seconds, the last of them after 0.2 ms * 9999 in the queue.
    let s = scenario("taildrop:limit=1000000", link("line:10mbit"), &["udp:12500kbit:size=1250b"]);
    let outcome = play(&s);
    assert_eq!(outcome.drops, 0);
    assert!((outcome.packets_forwarded as i64 - 10_000).abs() <= 1, "{}", outcome.packets_forwarded);
    let (delays, waits) = (outcome.queue_delay_ms, outcome.sojourn_ms);
    assert!((waits.max - 0.2 * 9999.0).abs() < 0.41, "{waits:?}");
    assert!((waits.mean - 0.1 * 9999.0).abs() < 0.41, "{waits:?}");
    assert!((delays.max - waits.max - 1.0).abs() < 0.21, "{delays:?} {waits:?}");
    assert!(near(waits.p50, 0.5 * waits.max, 0.002) && near(waits.p99, 0.99 * waits.max, 0.002), "{waits:?}");
}

/// A full queue of n packets: each that gets in waits for n others, and one in five is dropped.
#[test]
fn a_full_queue_holds_its_limit() {
    for limit in [1u64, 2, 10, 100] {
        let s =
            scenario(&format!("taildrop:limit={limit}"), link("line:10mbit"), &["udp:12500kbit:size=1250b"]);
        let outcome = play(&Scenario { warmup: Span::from_secs(5), ..s });
        let waits = outcome.sojourn_ms;
        // The packet on the line is partly through when one gets in.
        assert!(waits.max <= limit as f64 + 1e-9 && waits.max > limit as f64 - 1.0, "{limit}: {waits:?}");
        assert!(waits.mean > limit as f64 - 1.0, "{limit}: {waits:?}");
        let sent = outcome.flows[0].packets_sent;
        let lost = outcome.drops;
        assert!(
            near(lost as f64, (sent as f64 - limit as f64 * 5.0) * 0.2, 0.01),
            "{limit}: {lost} of {sent}"
        );
        assert!(outcome.utilization > 0.9999 && near(outcome.throughput_mbps, 10.0, 0.001));
    }
}

#[test]
fn on_and_off() {
    let s =
        scenario("taildrop:limit=100", link("line:10mbit"), &["udp:8mbit:size=1000b:on=500ms:off=1500ms"]);
    let outcome = play(&Scenario { duration: Span::from_secs(20), ..s });
    assert!(near(outcome.utilization, 0.2, 0.001), "{}", outcome.utilization);
    assert_eq!(outcome.flows[0].packets_sent, 10 * 500);
}

/// Probe packets that are dropped count as lost; here every other one.
#[test]
fn lost_probes_are_counted() {
    let s = Scenario {
        probe: probe(1250),
        duration: Span::from_secs(60),
        ..scenario("taildrop:limit=5", link("line:10mbit"), &["udp:20mbit:size=1250b"])
    };
    let outcome = play(&s);
    let (sent, lost) = (outcome.probe_sent.unwrap(), outcome.probe_lost.unwrap());
    assert!(near(sent as f64, 6000.0, 0.05), "{sent}");
    let arrived = outcome.probe_ms.unwrap().count;
    assert!(
        sent - lost >= arrived && sent - lost <= arrived + 12,
        "{sent} sent, {lost} lost, {arrived} arrived"
    );
    assert!(lost as f64 > 0.3 * sent as f64, "{lost} of {sent}");
}

// ---- Links ----

/// What a link can carry in Mbit/s from `from` on, and packets of 1500 bytes.
fn links() -> Vec<(qdelay_sim::LinkSpec, f64)> {
    let every_ms: Vec<u32> = (1..=10).collect();
    vec![
        (link("line:10mbit"), 10.0),
        (link("htb:10mbit"), 10.0),
        (link("htb:10mbit:overhead=14"), 10.0 * 1500.0 / 1514.0),
        (link("steps:0s@12mbit+1s@4mbit:repeat=2s"), 8.0),
        (link("steps:0s@9mbit+1s@0bit+2s@18mbit:repeat=3s"), 9.0),
        (trace(&every_ms, 4), 12.0),
        (trace(&[3, 3, 3, 10, 11, 20], 4), 3.6),
    ]
}

#[test]
fn a_bulk_flow_fills_every_link() {
    for (link, mbps) in links() {
        for transport in ["udp:30mbit:size=1500b", "cubic", "reno", "bbr", "cubic:profile=ns3"] {
            let s = scenario("taildrop:limit=400", link.clone(), &[transport]);
            let s = Scenario { duration: Span::from_secs(42), warmup: Span::from_secs(12), ..s };
            let outcome = play(&s);
            let least = match transport {
                "bbr" => 0.80,
                text if text.starts_with("udp") => 0.9999,
                _ => 0.99,
            };
            assert!(outcome.utilization >= least, "{transport} {link:?}: {}", outcome.utilization);
            let expected = mbps * outcome.utilization;
            assert!(
                near(outcome.throughput_mbps, expected, 0.002),
                "{transport} {link:?}: {} of {expected}",
                outcome.throughput_mbps
            );
            let goodput = outcome.flows[0].goodput_mbps;
            assert!(goodput < outcome.throughput_mbps, "{transport} {link:?}");
            // Retransmissions apart, 1448 of 1500 bytes are of the application.
            let efficiency = if transport.starts_with("udp") { 1472.0 / 1500.0 } else { 1448.0 / 1500.0 };
            // An outage of a second is a timeout to ns-3, whose retransmissions are in vain.
            let worth = if transport.ends_with("ns3") { 0.85 } else { 0.95 };
            assert!(
                goodput > worth * efficiency * outcome.throughput_mbps,
                "{transport} {link:?}: {goodput}"
            );
        }
    }
}

/// An uplink of a hundredth holds up the acknowledgements: no more than one for its every 52 bytes.
#[test]
fn a_slow_uplink_limits_the_acknowledgements() {
    let s = scenario("taildrop:limit=100", link("line:50mbit"), &["reno"]);
    let uplink = Some(Uplink::tail_drop(qdelay_path::Line::new(qdelay_core::Rate::from_mbps(0.2), 0), 20));
    let outcome = play(&Scenario { uplink, duration: Span::from_secs(30), ..s });
    let node = outcome.nodes["uplink-link"];
    assert!(node.forwarded_bytes as f64 * 8.0 <= 0.2e6 * 30.0 + 8.0 * 80.0);
    assert!(outcome.flows[0].goodput_mbps > 1.0);
}

// ---- Connections ----

/// A connection that sends one byte measures two round trips: propagation and the SYN's 60 bytes; propagation, the 52 bytes of
/// the handshake's last step and the 53 behind it.
#[test]
fn round_trips() {
    for extra in [0u64, 30] {
        let mut s = scenario("taildrop:limit=100", link("line:10mbit"), &["reno:bytes=1"]);
        s.flows[0].extra_rtt = ms(extra);
        let outcome = play(&s);
        let srtt = outcome.flows[0].final_srtt_ms;
        let expected = 40.0 + extra as f64 + (0.048 * 7.0 + 0.084) / 8.0;
        assert!((srtt - expected).abs() < 1e-4, "{srtt} not {expected}");
        let completion = outcome.flows[0].completion_s.unwrap() * 1000.0;
        let expected = 40.0 + extra as f64 + 20.0 + 0.048 + 0.084;
        assert!((completion - expected).abs() < 1e-6, "{completion} not {expected}");
    }
}

/// An access link is a line of its own in front of the bottleneck, there and back.
#[test]
fn access_links() {
    let mut s = scenario("taildrop:limit=100", link("line:100mbit"), &["cubic"]);
    s.flows[0].access = rate(5.0);
    let outcome = play(&Scenario { warmup: Span::from_secs(3), ..s });
    assert!(near(outcome.throughput_mbps, 5.0, 0.01), "{}", outcome.throughput_mbps);
    assert!(outcome.queue_delay_ms.max < 0.13, "no queue behind it: {:?}", outcome.queue_delay_ms);
}

const TRANSPORTS: [&str; 9] = [
    "cubic",
    "reno",
    "bbr",
    "cubic:profile=ns3",
    "reno:profile=ns3",
    "bbr:profile=ns3",
    "cubic:loss=dupack",
    "reno:ecn=on",
    "cubic:pacing=always",
];
const QDISCS: [&str; 9] = [
    "taildrop:limit=1",
    "taildrop:limit=2",
    "taildrop:limit=20",
    "taildrop:limit=1000",
    "headdrop:limit=20",
    "codel",
    "codel:ecn=on",
    "pie",
    "bode",
];

/// Every download comes to its end, and none before the last byte can have crossed the link.
#[test]
fn downloads_end_and_none_too_early() {
    for transport in TRANSPORTS {
        for qdisc in QDISCS {
            for bytes in [1u64, 20_000, 700_000] {
                let text = format!("{transport}:bytes={bytes}");
                let s = scenario(qdisc, link("line:8mbit"), &[&text]);
                let outcome = play(&Scenario { duration: Span::from_secs(400), ..s });
                let flow = &outcome.flows[0];
                let done = flow.completion_s.unwrap_or_else(|| panic!("{text} {qdisc}: {flow:?}"));
                assert_eq!(flow.delivered_bytes, bytes);
                let wire = bytes + 52 * bytes.div_ceil(1448) + 60;
                let ideal = 0.060 + wire as f64 / 1e6;
                assert!(done >= ideal - 1e-9, "{text} {qdisc}: {done}, less than {ideal}");
                let kind = qdisc.split(':').next().unwrap_or("");
                if kind == "taildrop" && !qdisc.ends_with("=1") && !qdisc.ends_with("=2") {
                    assert!(done < 6.0 * ideal + 3.0, "{text} {qdisc}: {done} for {ideal}: {flow:?}");
                }
            }
        }
    }
}

#[test]
fn downloads_end_on_every_link() {
    for (link, mbps) in links() {
        for transport in ["cubic", "bbr", "reno:profile=ns3"] {
            let text = format!("{transport}:bytes=1000000");
            let s = scenario("taildrop:limit=100", link.clone(), &[&text]);
            let outcome = play(&Scenario { duration: Span::from_secs(120), ..s });
            let done = outcome.flows[0].completion_s.unwrap_or_else(|| panic!("{text} {link:?}"));
            assert!(done < 4.0 * 8.0 / mbps + 8.0, "{text} {link:?}: {done}");
        }
    }
}

#[test]
fn an_unfinished_download_has_no_completion_time() {
    let s = scenario("taildrop:limit=100", link("line:1mbit"), &["cubic:bytes=100000000"]);
    let outcome = play(&s);
    assert_eq!(outcome.flows[0].completion_s, None);
    assert!(outcome.flows[0].delivered_bytes > 1_000_000);
}

/// A start that is late is late by that much, and completion counts from it.
#[test]
fn a_late_start() {
    let mut s = scenario("taildrop:limit=100", link("line:10mbit"), &["reno:bytes=100000"]);
    let early = play(&s);
    s.flows[0].start = ms(2345);
    let late = play(&s);
    let times = (early.flows[0].completion_s.unwrap(), late.flows[0].completion_s.unwrap());
    // Timers round to jiffies: nearly the same.
    assert!((times.0 - times.1).abs() < 0.01, "{times:?}");
    assert_eq!(early.packets_forwarded, late.packets_forwarded);
}

/// Equal flows get equal shares in the long run, and together what one would get.
#[test]
fn equal_flows_share() {
    for transport in ["reno", "cubic", "bbr"] {
        let flows = [transport; 4];
        let s = scenario("taildrop:limit=120", link("line:20mbit"), &flows);
        let outcome = play(&Scenario { duration: Span::from_secs(150), warmup: Span::from_secs(30), ..s });
        assert!(outcome.jain > 0.85, "{transport}: {}", outcome.jain);
        assert!(outcome.utilization > 0.97, "{transport}: {}", outcome.utilization);
        let sum: f64 = outcome.flows.iter().map(|f| f.goodput_mbps).sum();
        assert!(near(sum, 20.0 * 1448.0 / 1500.0, 0.03), "{transport}: {sum}");
    }
}

/// Counts of a run agree with one another.
#[test]
fn counts_balance() {
    let s = scenario(
        "taildrop:limit=30",
        link("line:10mbit"),
        &["cubic", "udp:3mbit:size=700b", "bbr:bytes=500000"],
    );
    let outcome = play(&Scenario { probe: probe(64), ..s });
    let node = |name: &str| outcome.nodes[name];
    let (queue, line) = (node("bottleneck"), node("link"));
    assert_eq!(queue.forwarded_packets, line.received_packets);
    // Two SYNs, and acknowledgements without data: the handshake's, nothing else goes this way.
    let sent: u64 = outcome.flows.iter().map(|f| f.packets_sent).sum();
    let extra = queue.received_packets - sent - outcome.probe_sent.unwrap();
    assert_eq!(extra, 4, "two SYNs and two thirds of handshakes");
    assert_eq!(queue.marked, 0);
    assert_eq!(outcome.drops_by_reason.keys().collect::<Vec<_>>(), ["tail_limit"]);
    let _ = flow("cubic");
}
