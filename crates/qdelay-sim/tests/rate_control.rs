//! TFRC and adaptive calls in the simulator; second codepoints, and receivers that throw away what is late.

use crate::common::{All, flow, link, ms, play, rate, scenario};
use qdelay_core::{Span, dscp};
use qdelay_sim::{Direction, Fate, FlowSpec, Outcome, PacketRecord, Scenario, SecondCodepoint, run_recorded};

/// Green and blue.
const EF: u8 = 46;
const BE: u8 = 0;
/// TCP as in ns-2's and ns-3's runs of the ABE paper: packets of 1000 bytes, one at first, all acknowledged.
const RENO: &str = "reno:profile=ns3:iw=1:ack_every=1:mss=948";
const DSD: &str = "dsd:rate=5mbit:bound=40ms:limit=60:mtu=1000b:green=ef";

fn recorded(scenario: &Scenario) -> (Outcome, Vec<PacketRecord>) {
    let mut all = All::default();
    let outcome = run_recorded(scenario, &mut all).unwrap();
    (outcome, all.0)
}

/// A flow of ABE's topology: access of 10 Mbit/s with jitter, a round trip of 100 or 160 ms; starts within a second.
fn abe(index: u64, text: &str, extra_ms: u64, codepoint: u8) -> FlowSpec {
    FlowSpec {
        start: ms(53 * index % 1000),
        access: rate(10.0),
        access_jitter: Span::from_micros(1600),
        extra_rtt: ms(extra_ms),
        dscp: codepoint,
        ..flow(text)
    }
}

/// 5 Mbit/s, in front of which these flows meet.
fn bottleneck(qdisc: &str, flows: Vec<FlowSpec>, seconds: u64) -> Scenario {
    Scenario {
        flows,
        base_rtt: ms(100),
        duration: Span::from_secs(seconds),
        warmup: Span::from_secs(seconds / 10),
        ..scenario(qdisc, link("line:5mbit"), &[])
    }
}

/// Packets a second of a flow in the mean of these flows.
fn packets_per_second(outcome: &Outcome, flows: core::ops::Range<usize>, payload: f64) -> f64 {
    let count = flows.len() as f64;
    outcome.flows[flows].iter().map(|flow| flow.goodput_mbps).sum::<f64>() * 1e6 / 8.0 / payload / count
}

/// TFRC beside Reno, as many of each, behind 60 packets: neither has more than twice what the other has.
#[test]
fn tfrc_is_friendly_to_reno() {
    for (pairs, limit) in [(1, 60), (5, 60), (10, 60), (1, 20)] {
        let flows = (0..2 * pairs).map(|i| abe(i, if i < pairs { "tfrc" } else { RENO }, 0, BE)).collect();
        let outcome = play(&bottleneck(&format!("taildrop:limit={limit}"), flows, 200));
        let n = pairs as usize;
        let tfrc = packets_per_second(&outcome, 0..n, 960.0);
        let reno = packets_per_second(&outcome, n..2 * n, 948.0);
        println!(
            "{pairs} + {pairs}, {limit} packets: TFRC {tfrc:.1}/s, Reno {reno:.1}/s, use {:.3}",
            outcome.utilization
        );
        assert!((0.5..=2.0).contains(&(tfrc / reno)), "{pairs} {limit}: {tfrc} {reno}");
        assert!(outcome.utilization > 0.85, "{}", outcome.utilization);
    }
}

/// Five blue Reno and five green TFRC flows of each round trip, in one queue and behind DSD.
#[test]
fn green_pays_and_blue_does_not() {
    let flows = || {
        let kind = |i: u64| if i < 5 { (RENO, BE) } else { ("tfrc", EF) };
        let of = |i: u64| abe(i, kind(i % 10).0, if i < 10 { 0 } else { 60 }, kind(i % 10).1);
        (0..20).map(of).collect::<Vec<_>>()
    };
    let mut rates = Vec::new();
    for qdisc in ["taildrop:limit=60", DSD] {
        let (outcome, packets) = recorded(&bottleneck(qdisc, flows(), 300));
        let data = || packets.iter().filter(|packet| packet.direction == Direction::Data);
        let loss = |codepoint| {
            let of = || data().filter(|packet| packet.dscp == codepoint);
            let lost = of().filter(|packet| matches!(packet.fate, Fate::Dropped(_))).count();
            lost as f64 / of().count() as f64
        };
        let rate = |flows: core::ops::Range<usize>, payload| packets_per_second(&outcome, flows, payload);
        let each = [rate(0..5, 948.0), rate(5..10, 960.0), rate(10..15, 948.0), rate(15..20, 960.0)];
        println!(
            "{qdisc}: blue1 {:.1} green1 {:.1} blue2 {:.1} green2 {:.1} packets/s; loss blue {:.2}% green {:.2}%; queue mean {:.1} ms",
            each[0],
            each[1],
            each[2],
            each[3],
            100.0 * loss(BE),
            100.0 * loss(EF),
            outcome.queue_delay_ms.mean,
        );
        rates.push(each);
    }
    let blue = |rates: &[f64; 4]| rates[0] + rates[2];
    assert!(blue(&rates[1]) > blue(&rates[0]), "{rates:?}");
}

/// A report is 40 bytes, and one in a round trip or a little more; data and reports are all that there is.
#[test]
fn packets_of_tfrc() {
    let mut spec = flow("tfrc:500b");
    spec.dscp = EF;
    let (outcome, packets) = recorded(&bottleneck("taildrop:limit=20", vec![spec], 60));
    let (data, reports): (Vec<&PacketRecord>, Vec<&PacketRecord>) =
        packets.iter().partition(|packet| packet.direction == Direction::Data);
    assert!(data.iter().all(|packet| packet.bytes == 500 && packet.dscp == EF));
    assert!(reports.iter().all(|packet| packet.bytes == 40 && packet.dscp == EF));
    assert!((300..900).contains(&reports.len()), "{}", reports.len());
    let arrived = data.iter().filter(|packet| packet.fate == Fate::Delivered).count() as u64;
    assert_eq!(outcome.flows[0].delivered_bytes, 460 * arrived);
    assert!(outcome.flows[0].packets_sent >= data.len() as u64);
    assert!(outcome.flows[0].final_srtt_ms > 100.0 && outcome.flows[0].timeouts == 0);
}

/// A flow that stops: nothing of it afterwards but a last report.
#[test]
fn stopping() {
    for text in ["tfrc", "audio"] {
        let spec = FlowSpec { start: ms(500), stop: Some(ms(4000)), ..flow(text) };
        let (_, packets) = recorded(&bottleneck("taildrop:limit=60", vec![spec], 10));
        let last = |direction| {
            let of = packets.iter().filter(|packet| packet.direction == direction);
            of.map(|packet| packet.created.as_secs_f64()).fold(0.0, f64::max)
        };
        assert!((3.8..4.0).contains(&last(Direction::Data)), "{text}");
        assert!(last(Direction::Acknowledgement) < 4.6, "{text}");
        assert!(packets.iter().all(|packet| packet.created.as_secs_f64() >= 0.5));
    }
}

/// ECN-capable packets are marked instead of dropped, and marks slow TFRC down as losses do.
#[test]
fn marks() {
    let ecn = play(&bottleneck("codel:ecn=on", vec![flow("tfrc:ecn=on")], 60));
    let plain = play(&bottleneck("codel:ecn=on", vec![flow("tfrc")], 60));
    assert!(ecn.marks > 0 && ecn.drops < plain.drops);
    assert_eq!(plain.marks, 0);
    let ratio = ecn.throughput_mbps / plain.throughput_mbps;
    assert!((0.7..1.5).contains(&ratio), "{ratio}");
}

/// A share of the data of every transport has the other codepoint, and nothing that comes back.
#[test]
fn second_codepoints() {
    for text in ["reno", "tfrc", "udp:1mbit", "voip:echo=on"] {
        let other = Some(SecondCodepoint { dscp: EF, share: 0.2 });
        let spec = FlowSpec { dscp: 8, other, ..flow(text) };
        let (_, packets) = recorded(&bottleneck("taildrop:limit=60", vec![spec], 60));
        let mut data = (0, 0);
        for packet in &packets {
            match packet.direction {
                Direction::Data => {
                    assert!(packet.dscp == 8 || packet.dscp == EF);
                    data = (data.0 + 1, data.1 + u64::from(packet.dscp == EF));
                }
                Direction::Acknowledgement => assert_eq!(packet.dscp, 8, "{text}"),
            }
        }
        let share = data.1 as f64 / data.0 as f64;
        assert!((share - 0.2).abs() < 0.03, "{text}: {share} of {}", data.0);
    }
    assert_eq!(dscp::name(EF), Some("ef"));
}

/// Nothing is drawn without a second codepoint, and a share of nothing changes nothing else.
#[test]
fn a_share_of_nothing() {
    for text in ["reno", "tfrc", "udp:6mbit"] {
        let run = |other| {
            let spec = FlowSpec { other, ..flow(text) };
            recorded(&bottleneck("taildrop:limit=60", vec![spec], 20)).1
        };
        assert!(run(None) == run(Some(SecondCodepoint { dscp: EF, share: 0.0 })), "{text}");
    }
}

/// A receiver that throws away what is older than half of the queue: it says how many, and nothing of them is delivered.
#[test]
fn late_packets_are_thrown_away() {
    // 1250 bytes each 0.8 ms into a queue of 1 ms each that holds 100: most wait for nearly 100 ms.
    let spec = FlowSpec { discard_delay: Some(ms(20 + 50)), ..flow("udp:12500kbit:size=1250b") };
    let s = Scenario { flows: vec![spec], ..scenario("taildrop:limit=100", link("line:10mbit"), &[]) };
    let (outcome, packets) = recorded(&s);
    let old = |packet: &&PacketRecord| packet.ended.since(packet.created) > ms(70);
    let late = packets.iter().filter(|packet| packet.fate == Fate::Delivered).filter(old).count() as u64;
    let all = packets.iter().filter(|packet| packet.fate == Fate::Delivered).count() as u64;
    assert!(late > 9000 && all - late > 40, "{late} of {all}");
    assert_eq!(outcome.flows[0].discarded_late, Some(late));
    assert_eq!(outcome.flows[0].delivered_bytes, (all - late) * 1222);

    // A source that is told of losses sends less for it: what is thrown away is lost to TFRC and to TCP.
    for text in ["tfrc", RENO] {
        let run = |discard_delay| {
            let flows = vec![FlowSpec { discard_delay, ..flow(text) }, flow(RENO)];
            play(&bottleneck("taildrop:limit=60", flows, 100))
        };
        let (with, without) = (run(Some(ms(110))), run(None));
        assert!(with.flows[0].discarded_late > Some(0), "{text}");
        assert_eq!(without.flows[0].discarded_late, None);
        assert!(with.flows[0].goodput_mbps < 0.8 * without.flows[0].goodput_mbps, "{text}");
    }
}

/// A call of at least 64 kbit/s among more and more green flows behind DSD: green while the load is low, blue when it is moderate,
/// and off when it is high. Among blue flows alone green has the rate for as long as blue has, and there is no blue region.
#[test]
fn a_call_chooses_by_what_it_gets() {
    let shares = |qdisc, background: u64| {
        let mut sum = [0.0; 3];
        for seed in 1..=3 {
            let mut flows: Vec<FlowSpec> = (0..background).map(|i| abe(i, "tfrc", 0, EF)).collect();
            let other = Some(SecondCodepoint { dscp: BE, share: 0.0 });
            flows.push(FlowSpec { other, ..abe(0, "audio:128kbit:min=64kbit", 0, EF) });
            let outcome = play(&Scenario { seed, ..bottleneck(qdisc, flows, 300) });
            let call = &outcome.flows[background as usize];
            let audio = call.audio.unwrap();
            let all = [audio.green_share, audio.blue_share, audio.off_share];
            assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!(audio.codec_mbps <= 0.128 && audio.codec_mbps < call.goodput_mbps + 0.01);
            for (sum, share) in sum.iter_mut().zip(all) {
                *sum += share / 3.0;
            }
        }
        println!("{qdisc}, {background} others: green {:.2} blue {:.2} off {:.2}", sum[0], sum[1], sum[2]);
        sum
    };
    let dsd = "dsd:rate=5mbit:bound=10ms:limit=60:mtu=1000b:green=ef";
    assert!(shares(dsd, 20)[0] > 0.95);
    assert!(shares(dsd, 60)[1] > 0.6);
    assert!(shares(dsd, 160)[2] > 0.6);
    assert!(shares("taildrop:limit=60", 160)[2] > 0.6);
}
