//! PDU sets: closed forms, and every figure counted again from the records of packets, over links and cells.

use crate::cell::{cell_of, discipline, scenario as cell_scenario};
use crate::common::{All, link, ms, play, scenario};
use qdelay_core::{Span, Time};
use qdelay_sim::results::PduSetFigures;
use qdelay_sim::{Direction, Fate, FlowSets, Outcome, PacketRecord, Scenario, run, run_recorded};
use std::collections::BTreeMap;

fn micros(n: u64) -> Span {
    Span::from_micros(n)
}

/// The flow with this index has sets.
fn with_sets(mut scenario: Scenario, flow: usize, sets: FlowSets) -> Scenario {
    scenario.flows[flow].sets = Some(Box::new(sets));
    scenario
}

fn sets(psdb: Span, psihi: bool, within: &[Span]) -> FlowSets {
    FlowSets { psdb: Some(psdb), pser: Some(0.01), psihi, within: within.to_vec() }
}

fn figures(outcome: &Outcome, flow: usize) -> PduSetFigures {
    outcome.flows[flow].pdu_sets.clone().expect("a flow with sets")
}

/// Frames of 12 Mbit/s at 60/s have 25,000 bytes with headers, in bursts: over 20 Mbit/s the last bit leaves 10 ms after the first
/// packet came. Any number of milliseconds is counted.
#[test]
fn a_frame_takes_what_its_bytes_take() {
    let frames = "frames:12mbit:fps=60:noise=0:key_size=1";
    for (rate, whole) in [(20, 10_000), (40, 5_000)] {
        let within = [micros(whole - 10), micros(whole + 10), ms(12)];
        let plain = scenario("taildrop", link(&format!("line:{rate}mbit")), &[frames]);
        let outcome = play(&with_sets(plain, 0, sets(micros(whole + 10), true, &within)));
        let of = figures(&outcome, 0);
        // Nine seconds of ten, and the frame at their end, whose interval is cut to nanoseconds: the last second is undecided.
        assert_eq!((of.sets, of.error_rate, of.air_error_rate), (541, 0.0, 0.0), "{of:?}");
        assert_eq!(of.within.values().copied().collect::<Vec<f64>>().len(), 3);
        let share = |span: Span| of.within[&span.to_string()];
        assert_eq!((share(within[0]), share(within[1]), share(within[2])), (0.0, 1.0, 1.0), "{of:?}");
        assert_eq!((of.within_psdb, of.useless_mbps, of.pser), (Some(1.0), Some(0.0), Some(0.01)));
        assert!((of.delay_ms.mean - whole as f64 / 1000.0).abs() < 0.01, "{of:?}");
        assert_eq!(of.by_importance, BTreeMap::from([("1".to_string(), 1.0), ("8".to_string(), 1.0)]));
    }
}

/// A frame whose packets outnumber the queue never gets through whole, and what does is useless.
#[test]
fn a_queue_shorter_than_a_frame_lets_none_through() {
    let frames = "frames:12mbit:fps=60:noise=0:key_size=1";
    let plain = scenario("taildrop:limit=10", link("line:20mbit"), &[frames]);
    let of = figures(&play(&with_sets(plain.clone(), 0, sets(ms(10), true, &[]))), 0);
    assert_eq!((of.error_rate, of.within_psdb, of.delay_ms.count), (1.0, Some(0.0), 0), "{of:?}");
    // One in transmission and ten in the queue, of about 21 packets of equal size.
    assert!(of.useless_mbps.is_some_and(|mbps| (4.0..7.0).contains(&mbps)), "{of:?}");
    // With the discipline that discards sets nothing is sent in vain but what was on the link.
    let whole =
        Scenario { bottleneck: scenario("pdu_sets:limit=10", link("line:20mbit"), &[]).bottleneck, ..plain };
    let of = figures(&play(&with_sets(whole, 0, sets(ms(10), true, &[]))), 0);
    assert!(of.useless_mbps.is_some_and(|mbps| mbps < 0.6), "{of:?}");
}

/// Sets as seen from the packets alone: the packets that `frames` sends at one instant are a frame.
struct Counted {
    sets: u64,
    good: u64,
    incomplete: u64,
    useless_bytes: u64,
    within: Vec<u64>,
    max_ms: f64,
}

/// `behind`: from being handed up to the receiver.
fn count(records: &[PacketRecord], flow: u32, scenario: &Scenario, behind: Span) -> Counted {
    let mut by_time: BTreeMap<Time, Vec<&PacketRecord>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.flow == flow && record.direction == Direction::Data) {
        by_time.entry(record.created).or_default().push(record);
    }
    let of = scenario.flows[flow as usize].sets.as_ref().unwrap();
    let mut counted = Counted {
        sets: 0,
        good: 0,
        incomplete: 0,
        useless_bytes: 0,
        within: vec![0; of.within.len()],
        max_ms: 0.0,
    };
    let (from, until) =
        (Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration.saturating_sub(Span::from_secs(1)));
    for (begun, packets) in by_time {
        if begun < from || begun >= until {
            continue;
        }
        counted.sets += 1;
        let delivered: Vec<&&PacketRecord> =
            packets.iter().filter(|record| matches!(record.fate, Fate::Delivered)).collect();
        let last = delivered.iter().map(|record| record.ended).max();
        let delay = last
            .filter(|_| delivered.len() == packets.len())
            .map(|last| last.since(begun).saturating_sub(behind));
        counted.incomplete += u64::from(delay.is_none());
        let is_good = delay.is_some_and(|delay| delay <= of.psdb.unwrap());
        counted.good += u64::from(is_good);
        for (number, within) in counted.within.iter_mut().zip(&of.within) {
            *number += u64::from(delay.is_some_and(|delay| delay <= *within));
        }
        if !is_good {
            counted.useless_bytes += delivered.iter().map(|record| u64::from(record.bytes)).sum::<u64>();
        }
        counted.max_ms = counted.max_ms.max(delay.map_or(0.0, Span::as_millis_f64));
    }
    counted
}

fn check(what: &str, scenario: &Scenario, behind: Span) -> PduSetFigures {
    let mut all = All::default();
    let outcome = run_recorded(scenario, &mut all).unwrap();
    let of = figures(&outcome, 0);
    let counted = count(&all.0, 0, scenario, behind);
    println!("{what}: {of:?}");
    let share = |number: u64| number as f64 / counted.sets.max(1) as f64;
    assert_eq!(of.sets, counted.sets, "{what}");
    assert_eq!(of.within_psdb, Some(share(counted.good)), "{what}");
    assert_eq!(of.error_rate, share(counted.incomplete), "{what}");
    let within: Vec<f64> = scenario.flows[0]
        .sets
        .as_ref()
        .unwrap()
        .within
        .iter()
        .map(|span| of.within[&span.to_string()])
        .collect();
    assert_eq!(within, counted.within.iter().map(|number| share(*number)).collect::<Vec<f64>>(), "{what}");
    let seconds = scenario.duration.saturating_sub(scenario.warmup).as_secs_f64();
    let mbps = 8.0 * counted.useless_bytes as f64 / seconds / 1e6;
    assert!(of.useless_mbps.is_some_and(|ours| (ours - mbps).abs() < 1e-9), "{what} {mbps}");
    assert!((of.delay_ms.max - counted.max_ms).abs() <= 0.01 * counted.max_ms, "{what} {}", counted.max_ms);
    // A group has what its flows have.
    if let Some(group) = scenario.groups.first().and_then(|name| outcome.groups.get(name)) {
        assert_eq!(group.pdu_sets.as_ref(), Some(&of), "{what}");
    }
    of
}

#[test]
fn figures_are_those_of_the_packets_on_a_link() {
    for qdisc in ["taildrop:limit=30", "pdu_sets:limit=30", "pdu_sets:late=off:low=8:congestion=2ms", "codel"]
    {
        for seed in 1..4 {
            let flows = ["frames:12mbit:fps=60:key_every=500ms", "cubic"];
            let plain = Scenario { seed, warmup: ms(1500), ..scenario(qdisc, link("line:15mbit"), &flows) };
            let within = [ms(5), ms(10), ms(17), ms(30)];
            let of = check(qdisc, &with_sets(plain, 0, sets(ms(12), true, &within)), ms(20));
            assert!(of.sets > 400 && of.by_importance.len() == 2);
        }
    }
}

#[test]
fn figures_are_those_of_the_packets_of_a_cell() {
    for (law, sdap) in [("vanilla", "taildrop"), ("e5g-bdp", "taildrop"), ("e5g-bdp", "pdu_sets:limit=200")] {
        let mut plain = cell_scenario(law, &["frames:6mbit:fps=30", "cubic"]);
        cell_of(&mut plain).ues[0].bearers[0].qos_flows[0].sdap = discipline(sdap);
        plain.flows[1].qfi = 2;
        plain.warmup = ms(1500);
        let of = check(law, &with_sets(plain, 0, sets(ms(20), true, &[ms(8), ms(15), ms(40)])), ms(10));
        assert!(of.sets > 200, "{of:?}");
    }
}

/// A flow without sets has none, and one with sets goes as without.
#[test]
fn watching_sets_changes_nothing() {
    let plain = scenario("codel", link("line:15mbit"), &["frames:12mbit:fps=60", "webrtc"]);
    let without = run(&plain).unwrap();
    assert!(without.flows.iter().all(|flow| flow.pdu_sets.is_none()));
    let mut with = run(&with_sets(plain, 0, sets(ms(10), false, &[ms(1)]))).unwrap();
    assert!(with.measures.flows[0].pdu_sets.take().is_some_and(|of| of.useless_mbps.is_none()));
    with.measures.groups.values_mut().for_each(|group| group.pdu_sets = None);
    assert_eq!(with, without);
}
