//! Figures of each flow, completion times and responsiveness, each counted again from packets or computed by hand.

use crate::common::{All, flow, link, ms, play, scenario};
use qdelay_core::{Span, Time};
use qdelay_record::DelaySummary;
use qdelay_sim::{Direction, Fate, FlowSpec, Outcome, PacketRecord, Scenario, run_recorded};

fn close(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 + 1e-9 * theirs.abs(), "{ours} is not {theirs}");
}

/// Percentiles have three digits, and a microsecond.
fn near(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 2e-3 * theirs + 2e-3, "{ours} is not {theirs}");
}

fn millis(from: Time, to: Time) -> f64 {
    to.since(from).as_nanos() as f64 / 1e6
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn recorded(scenario: &Scenario) -> (Outcome, Vec<PacketRecord>) {
    let mut all = All::default();
    let outcome = run_recorded(scenario, &mut all).unwrap();
    (outcome, all.0)
}

/// The nearest rank.
fn agrees(ours: DelaySummary, mut delays: Vec<f64>) {
    assert!(!delays.is_empty());
    delays.sort_by(f64::total_cmp);
    assert_eq!(ours.count, delays.len() as u64);
    close(ours.mean, mean(&delays));
    close(ours.max, delays[delays.len() - 1]);
    for (ours, percent) in [(ours.p50, 50.0), (ours.p95, 95.0), (ours.p99, 99.0)] {
        let rank = (percent / 100.0 * delays.len() as f64).ceil() as usize;
        near(ours, delays[rank - 1]);
    }
}

/// Two connections and two flows of datagrams, which end a second before the run, so that each packet has its record.
fn several() -> Scenario {
    let plain = scenario("taildrop:limit=40", link("line:6mbit"), &[]);
    let of = |group: usize, text: &str| FlowSpec { group, stop: Some(ms(9_000)), ..flow(text) };
    Scenario {
        flows: vec![
            of(0, "cubic"),
            FlowSpec { start: ms(700), ..of(0, "bbr") },
            of(1, "udp:1mbit"),
            of(1, "udp:300kbit:size=300b"),
        ],
        groups: vec!["files".to_string(), "video".to_string()],
        warmup: Span::from_secs(2),
        series: Some(ms(100)),
        ..plain
    }
}

#[test]
fn figures_of_flows_are_those_of_their_packets() {
    let scenario = several();
    let (outcome, records) = recorded(&scenario);
    let from = Time::ZERO + scenario.warmup;
    let of_flow =
        |flow: usize| records.iter().filter(move |r| r.flow == flow as u32 && r.direction == Direction::Data);
    for (index, ours) in outcome.flows.iter().enumerate() {
        let left: Vec<(Time, &PacketRecord)> = of_flow(index)
            .filter_map(|r| Some((r.departed?, r)))
            .filter(|(departed, _)| *departed >= from)
            .collect();
        let bytes: u64 = left.iter().map(|(_, r)| u64::from(r.bytes)).sum();
        close(ours.throughput_mbps.unwrap(), bytes as f64 * 8.0 / 8.0 / 1e6);
        let queued = left.iter().map(|(departed, r)| millis(r.arrival.unwrap(), *departed));
        agrees(ours.queue_delay_ms.unwrap(), queued.collect());
        let delivered = || of_flow(index).filter(|r| r.fate == Fate::Delivered);
        let one_way: Vec<f64> =
            delivered().filter(|r| r.ended >= from).map(|r| millis(r.created, r.ended)).collect();
        agrees(ours.one_way_delay_ms.unwrap(), one_way.clone());
        let all: Vec<&PacketRecord> = delivered().collect();
        let changes: Vec<f64> = all
            .windows(2)
            .filter(|pair| pair[1].ended >= from)
            .map(|pair| {
                (millis(pair[1].created, pair[1].ended) - millis(pair[0].created, pair[0].ended)).abs()
            })
            .collect();
        close(ours.jitter_ms.unwrap(), mean(&changes));
        let lost = of_flow(index).filter(|r| r.fate != Fate::Delivered).count() as f64;
        close(ours.loss_ratio, lost / ours.packets_sent as f64);
    }
    assert!(outcome.flows.iter().any(|flow| flow.loss_ratio > 0.0), "some were lost");
    // Groups are their flows together.
    for (group, name) in scenario.groups.iter().enumerate() {
        let members = 2 * group..2 * group + 2;
        let queued = members.clone().flat_map(of_flow).filter_map(|r| Some((r.arrival?, r.departed?)));
        let queued = queued
            .filter(|(_, departed)| *departed >= from)
            .map(|(arrival, departed)| millis(arrival, departed));
        agrees(outcome.groups[name].queue_delay_ms, queued.collect());
        let sum: f64 = outcome.flows[members].iter().filter_map(|flow| flow.throughput_mbps).sum();
        close(outcome.groups[name].throughput_mbps, sum);
    }
    let delays = outcome.delays.as_ref().unwrap();
    assert_eq!(delays.flows.len(), 4);
    assert_eq!(delays.flows[0].queue.count(), outcome.flows[0].queue_delay_ms.unwrap().count);
}

#[test]
fn one_flow_is_its_group_and_very_many_have_groups_only() {
    let one =
        Scenario { groups: vec!["all".to_string()], ..scenario("codel", link("line:6mbit"), &["cubic"]) };
    let outcome = play(&one);
    assert_eq!((outcome.flows[0].queue_delay_ms, outcome.flows[0].jitter_ms), (None, None));
    assert!(outcome.groups["all"].queue_delay_ms.count > 1_000);
    assert!(outcome.delays.as_ref().unwrap().flows.is_empty());
    for (count, has_own) in [(256, true), (257, false)] {
        let texts = vec!["udp:20kbit:size=250b"; count];
        let groups = vec!["all".to_string(), "none".to_string()];
        let many = Scenario {
            groups,
            duration: Span::from_secs(3),
            ..scenario("taildrop", link("line:20mbit"), &texts)
        };
        let (outcome, records) = recorded(&many);
        assert_eq!(outcome.flows.iter().all(|flow| flow.queue_delay_ms.is_some()), has_own, "{count}");
        assert_eq!(outcome.delays.as_ref().unwrap().flows.len(), if has_own { 256 } else { 0 });
        let queued: Vec<f64> = records.iter().filter_map(|r| Some(millis(r.arrival?, r.departed?))).collect();
        let ours = outcome.groups["all"].queue_delay_ms;
        // Those on their way at the end have no record yet.
        assert!(ours.count >= queued.len() as u64 && ours.count < queued.len() as u64 + 256, "{count}");
        near(ours.mean, mean(&queued));
        assert_eq!(outcome.groups["none"].queue_delay_ms.count, 0);
    }
}

/// Ten segments are the first window: a round trip for the handshake, then half of one and ten times a millisecond on the link.
#[test]
fn completion_is_from_the_start_to_the_last_byte_in_order() {
    let plain = scenario("taildrop:limit=1000", link("line:12mbit"), &[]);
    let download =
        |bytes: u64, start: u64| FlowSpec { start: ms(start), ..flow(&format!("cubic:bytes={bytes}")) };
    let scenario = Scenario {
        flows: vec![
            download(10 * 1_400, 0),
            download(10 * 1_400, 3_000),
            // Longer than the run.
            download(100_000_000, 5_000),
            FlowSpec { group: 1, start: ms(5_000), ..flow("cubic") },
        ],
        groups: vec!["pages".to_string(), "bulk".to_string()],
        // Downloads of the warm-up count too.
        warmup: Span::from_secs(1),
        ..plain
    };
    let outcome = play(&scenario);
    let took: Vec<f64> =
        outcome.flows.iter().filter_map(|flow| flow.completion_s).map(|s| 1000.0 * s).collect();
    assert_eq!(took.len(), 2);
    for ms in &took {
        assert!((69.0..71.0).contains(ms), "{ms}: 40 + 20 + 10");
    }
    let pages = &outcome.groups["pages"];
    let completion = pages.completion_ms.unwrap();
    assert_eq!((completion.count, pages.not_completed), (2, Some(1)));
    assert!(
        (completion.mean - mean(&took)).abs() < 1e-6 && (completion.max - took[0].max(took[1])).abs() < 1e-6
    );
    near(completion.p50, took[0].min(took[1]));
    near(completion.p95, completion.max);
    let bulk = &outcome.groups["bulk"];
    assert_eq!((bulk.completion_ms, bulk.not_completed, outcome.flows[3].bytes), (None, None, None));
}

/// The datagrams of the only flow that has any come back in the order in which they were sent.
#[test]
fn responsiveness_is_sixty_seconds_over_a_round_trip() {
    let plain = scenario(
        "taildrop:limit=10000",
        link("line:10mbit"),
        &["cubic", "cubic", "udp:13440bit:size=84b:echo=on"],
    );
    let names = ["load", "ping"].map(str::to_string).to_vec();
    let mut scenario = Scenario { groups: names, warmup: Span::from_secs(2), series: Some(ms(50)), ..plain };
    scenario.flows[2].group = 1;
    let (outcome, records) = recorded(&scenario);
    let from = Time::ZERO + scenario.warmup;
    let of = |direction: Direction| {
        records.iter().filter(move |r| r.flow == 2 && r.direction == direction && r.fate == Fate::Delivered)
    };
    let lost = records.iter().filter(|r| r.flow == 2 && r.fate != Fate::Delivered).count();
    assert_eq!(lost, 0, "so that the n-th answer is that of the n-th datagram");
    let pairs = of(Direction::Data).zip(of(Direction::Acknowledgement));
    let mut round_trips: Vec<f64> = pairs
        .filter(|(_, back)| back.ended >= from)
        .map(|(there, back)| millis(there.created, back.ended))
        .collect();
    round_trips.sort_by(f64::total_cmp);
    let rpm = outcome.responsiveness.unwrap();
    assert_eq!((rpm.probes, rpm.loads), (round_trips.len() as u64, 2));
    let kept = (0.95 * round_trips.len() as f64) as usize;
    let foreign = mean(&round_trips[..kept]);
    near(rpm.foreign_ms, foreign);
    assert!((rpm.foreign_rpm.unwrap() / (60_000.0 / foreign) - 1.0).abs() < 2e-3);
    let loaded = (outcome.flows[0].srtt_mean_ms + outcome.flows[1].srtt_mean_ms) / 2.0;
    close(rpm.loaded_ms, loaded);
    close(rpm.rpm.unwrap(), (rpm.foreign_rpm.unwrap() + 60_000.0 / loaded) / 2.0);
    // One queue for all: both wait for the same, which grows.
    assert!((0.5..1.5).contains(&(rpm.loaded_ms / rpm.foreign_ms)), "{rpm:?}");
    let quiet = Scenario { series: None, ..scenario.clone() };
    let rpm = play(&quiet).responsiveness.unwrap();
    assert_eq!(
        (rpm.rpm, rpm.loaded_rpm, rpm.foreign_rpm.is_some()),
        (None, None, true),
        "nobody has asked the load"
    );
    scenario.flows.truncate(2);
    assert_eq!(play(&scenario).responsiveness, None, "no datagrams come back");
    let mut idle = quiet;
    idle.flows.drain(..2);
    assert_eq!(play(&idle).responsiveness, None, "no load");
}
