//! Everything that a run sums up, counted again from the list of its packets.

use crate::common::{All, flow, link, ms, probe, scenario};
use qdelay_core::{Span, Time};
use qdelay_sim::{
    Direction, Fate, FlowSpec, Outcome, PacketRecord, Scenario, SecondCodepoint, run, run_recorded,
};
use std::collections::BTreeMap;

const WARMUP_S: u64 = 2;
/// About 300 ms, and such that nothing happens just when a bin ends.
const BIN: Span = Span::from_nanos(299_999_983);

/// Two groups, one of two flows and one of datagrams; losses, a probe, a flow that comes late and one that goes early.
fn mixed(qdisc: &str) -> Scenario {
    let plain = scenario(qdisc, link("line:6mbit"), &[]);
    let second = FlowSpec { group: 0, start: ms(500), stop: Some(ms(7_000)), ..flow("bbr") };
    let video = FlowSpec { group: 1, dscp: 34, ..flow("udp:2mbit") };
    Scenario {
        flows: vec![flow("cubic"), second, video],
        groups: vec!["files".to_string(), "video".to_string()],
        probe: probe(64),
        warmup: Span::from_secs(WARMUP_S),
        series: Some(BIN),
        ..plain
    }
}

fn recorded(scenario: &Scenario) -> (Outcome, Vec<PacketRecord>) {
    let mut all = All::default();
    let outcome = run_recorded(scenario, &mut all).unwrap();
    (outcome, all.0)
}

fn millis(from: Time, to: Time) -> f64 {
    to.since(from).as_nanos() as f64 / 1e6
}

fn close(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-9 + 1e-9 * theirs.abs(), "{ours} is not {theirs}");
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

const QDISCS: [&str; 4] = ["taildrop:limit=60", "bode:target=20ms", "codel", "pie"];

#[test]
fn watching_changes_nothing() {
    for qdisc in QDISCS {
        let watched = mixed(qdisc);
        let (outcome, records) = recorded(&watched);
        assert_eq!(run(&watched).unwrap(), outcome);
        let bare = Scenario { groups: Vec::new(), series: None, ..watched };
        let mut unwatched = run(&bare).unwrap();
        assert_eq!((&unwatched.series, &unwatched.delays), (&None, &None));
        let (bare, seen) = (&mut unwatched.measures, &outcome.measures);
        for (flow, seen) in bare.flows.iter_mut().zip(&seen.flows) {
            flow.group.clone_from(&seen.group);
            flow.packets_lost = seen.packets_lost;
            flow.srtt_mean_ms = seen.srtt_mean_ms;
            flow.loss_ratio = seen.loss_ratio;
            (flow.throughput_mbps, flow.jitter_ms) = (seen.throughput_mbps, seen.jitter_ms);
            (flow.queue_delay_ms, flow.one_way_delay_ms) = (seen.queue_delay_ms, seen.one_way_delay_ms);
        }
        bare.groups.clone_from(&seen.groups);
        bare.codepoints.clone_from(&seen.codepoints);
        bare.capacity_mbps = seen.capacity_mbps;
        (bare.backlog_max_packets, bare.backlog_max_bytes) =
            (seen.backlog_max_packets, seen.backlog_max_bytes);
        (bare.one_way_delay_ms, bare.jitter_ms) = (seen.one_way_delay_ms, seen.jitter_ms);
        unwatched.series.clone_from(&outcome.series);
        unwatched.delays.clone_from(&outcome.delays);
        assert_eq!(unwatched, outcome);
        assert!(records.len() > 5_000);
    }
}

#[test]
fn totals_and_groups() {
    for qdisc in QDISCS {
        let scenario = mixed(qdisc);
        let (outcome, records) = recorded(&scenario);
        let from = Time::ZERO + scenario.warmup;
        let measured = (scenario.duration.as_nanos() - scenario.warmup.as_nanos()) as f64 / 1e9;
        let probe_flow = scenario.flows.len() as u32;
        let left: Vec<_> = records.iter().filter_map(|r| r.departed.map(|departed| (departed, r))).collect();
        let warm: Vec<_> = left.iter().filter(|(departed, _)| *departed >= from).collect();
        // Of packets that were still behind the link at the end there is no record: what left within the last 20 ms.
        let unseen = outcome.packets_forwarded - left.len() as u64;
        assert!(unseen < 30, "{unseen}");
        for (group, name) in scenario.groups.iter().enumerate() {
            let is_member = |flow: u32| scenario.flows.get(flow as usize).is_some_and(|f| f.group == group);
            let ours = &outcome.groups[name];
            let bytes: u64 =
                warm.iter().filter(|(_, r)| is_member(r.flow)).map(|(_, r)| u64::from(r.bytes)).sum();
            let mbps = bytes as f64 * 8.0 / measured / 1e6;
            assert!((ours.throughput_mbps - mbps).abs() < 0.06, "{} {mbps}", ours.throughput_mbps);
            let one_way: Vec<f64> =
                delivered(&records, from).filter(|r| is_member(r.flow)).map(one_way).collect();
            assert_eq!(ours.one_way_delay_ms.count, one_way.len() as u64);
            close(ours.one_way_delay_ms.mean, mean(&one_way));
            close(ours.one_way_delay_ms.max, largest(&one_way));
            let lost = records.iter().filter(|r| is_member(r.flow) && is_lost_data(r)).count();
            assert_eq!(ours.packets_lost, lost as u64);
            let changes = changes(&records, from, is_member);
            close(ours.jitter_ms, mean(&changes));
        }
        let all: Vec<f64> = delivered(&records, from).filter(|r| r.flow != probe_flow).map(one_way).collect();
        close(outcome.one_way_delay_ms.mean, mean(&all));
        for (index, flow) in outcome.flows.iter().enumerate() {
            let lost = records.iter().filter(|r| r.flow == index as u32 && is_lost_data(r)).count();
            assert_eq!(flow.packets_lost, lost as u64);
        }
    }
}

fn delivered(records: &[PacketRecord], from: Time) -> impl Iterator<Item = &PacketRecord> {
    records
        .iter()
        .filter(move |r| r.fate == Fate::Delivered && r.direction == Direction::Data && r.ended >= from)
}

fn one_way(record: &PacketRecord) -> f64 {
    millis(record.created, record.ended)
}

fn is_lost_data(record: &PacketRecord) -> bool {
    record.direction == Direction::Data && record.fate != Fate::Delivered
}

/// Differences of consecutive delays of each flow; the first of the measured ones is compared with what came before it.
fn changes(records: &[PacketRecord], from: Time, is_member: impl Fn(u32) -> bool) -> Vec<f64> {
    let mut last: BTreeMap<u32, f64> = BTreeMap::new();
    let mut changes = Vec::new();
    for record in delivered(records, Time::ZERO).filter(|r| is_member(r.flow)) {
        let delay = one_way(record);
        if let Some(before) = last.insert(record.flow, delay)
            && record.ended >= from
        {
            changes.push((delay - before).abs());
        }
    }
    changes
}

#[test]
fn bins_of_time() {
    for qdisc in QDISCS {
        let scenario = mixed(qdisc);
        let (outcome, records) = recorded(&scenario);
        let series = outcome.series.as_ref().unwrap();
        let bins = series.throughput_mbps.len();
        // 10 s in bins of about 300 ms: the last is cut short.
        assert_eq!(bins, 34);
        // Its rates are over what there is of it.
        for mbps in [series.capacity_mbps[33].unwrap(), series.throughput_mbps[33]] {
            assert!((mbps - 6.0).abs() < 0.2, "{qdisc}: {mbps}");
        }
        let lists = [series.capacity_mbps.len(), series.delay_mean_ms.len(), series.backlog_packets.len()];
        assert_eq!(lists, [bins; 3]);
        assert_eq!(series.drops.iter().sum::<u64>(), outcome.drops);
        for bin in 0..bins - 1 {
            let start = Time::ZERO + BIN * bin as u64;
            let end = start + BIN;
            let within = |time: Time| start <= time && time < end;
            let left: Vec<_> = records.iter().filter(|r| r.departed.is_some_and(within)).collect();
            let bytes: u64 = left.iter().map(|r| u64::from(r.bytes)).sum();
            if bin < bins - 2 {
                close(series.throughput_mbps[bin], bytes as f64 * 8.0 / BIN.as_secs_f64() / 1e6);
                let delays: Vec<f64> =
                    left.iter().map(|r| millis(r.arrival.unwrap(), r.departed.unwrap())).collect();
                close(series.delay_mean_ms[bin].unwrap(), mean(&delays));
                close(series.delay_max_ms[bin].unwrap(), largest(&delays));
            }
            assert!((series.capacity_mbps[bin].unwrap() - 6.0).abs() < 1e-4);
            let queued = records.iter().filter(|r| is_queued(r, end)).count() as u64;
            if bin < bins - 2 {
                assert_eq!(series.backlog_packets[bin], queued, "{qdisc} bin {bin}");
            }
        }
    }
}

#[test]
fn most_that_was_queued() {
    for qdisc in QDISCS {
        let (outcome, records) = recorded(&mixed(qdisc));
        let mut events: Vec<(Time, i64, i64)> = Vec::new();
        for record in &records {
            let Some(arrival) = record.arrival else { continue };
            let bytes = i64::from(record.bytes);
            let gone = record.dequeued.unwrap_or(record.ended);
            if gone > arrival {
                events.extend([(arrival, 1, bytes), (gone, -1, -bytes)]);
            }
        }
        // What leaves at a time leaves before what comes then; where it was the other way round there was one more.
        events.sort();
        let (mut now, mut most) = ((0, 0), (0, 0));
        for (_, packets, bytes) in events {
            now = (now.0 + packets, now.1 + bytes);
            most = (most.0.max(now.0), most.1.max(now.1));
        }
        let ours = (outcome.backlog_max_packets, outcome.backlog_max_bytes);
        assert!((0..=1).contains(&(ours.0 as i64 - most.0)), "{qdisc} {ours:?} {most:?}");
        assert!((0..=1_500).contains(&(ours.1 as i64 - most.1)), "{qdisc} {ours:?} {most:?}");
        if qdisc == "taildrop:limit=60" {
            assert_eq!(ours.0, 60);
        }
    }
}

/// Flows end a second before the run does, so that nothing is inside then and each packet has its record.
fn coloured(qdisc: &str) -> Scenario {
    let mut scenario = Scenario { probe: None, ..mixed(qdisc) };
    for flow in &mut scenario.flows {
        flow.stop = Some(flow.stop.unwrap_or(ms(9_000)).min(ms(9_000)));
    }
    scenario.flows[2].other = Some(SecondCodepoint { dscp: 46, share: 0.3 });
    scenario
}

#[test]
fn by_codepoint() {
    for qdisc in ["taildrop:limit=60", "codel", "pie", "dsd:limit=60:bound=10ms:green=af41/ef"] {
        let scenario = coloured(qdisc);
        let (outcome, records) = recorded(&scenario);
        let from = Time::ZERO + scenario.warmup;
        let measured = (scenario.duration.as_nanos() - scenario.warmup.as_nanos()) as f64 / 1e9;
        assert_eq!(outcome.codepoints.len(), 3, "those of the flows");
        for (name, dscp) in [("be", 0), ("af41", 34), ("ef", 46)] {
            let ours = outcome.codepoints[name];
            let is_meant =
                |r: &&PacketRecord| r.direction == Direction::Data && r.dscp == dscp && r.arrival.is_some();
            let all: Vec<&PacketRecord> = records.iter().filter(is_meant).collect();
            let left: Vec<(Time, &PacketRecord)> =
                all.iter().filter_map(|r| r.departed.map(|departed| (departed, *r))).collect();
            let dropped = all.iter().filter(|r| r.departed.is_none()).count() as u64;
            assert_eq!(
                (ours.arrived, ours.delivered, ours.dropped),
                (all.len() as u64, left.len() as u64, dropped)
            );
            let warm: Vec<(Time, &PacketRecord)> =
                left.into_iter().filter(|(departed, _)| *departed >= from).collect();
            let bytes: u64 = warm.iter().map(|(_, r)| u64::from(r.bytes)).sum();
            close(ours.throughput_mbps, bytes as f64 * 8.0 / measured / 1e6);
            let delays: Vec<f64> =
                warm.iter().map(|(departed, r)| millis(r.arrival.unwrap(), *departed)).collect();
            let summary = ours.queue_delay_ms;
            assert_eq!(summary.count, delays.len() as u64);
            if !delays.is_empty() {
                close(summary.mean, mean(&delays));
                close(summary.max, largest(&delays));
            }
        }
        let sum = |of: fn(&qdelay_sim::results::CodepointFigures) -> u64| {
            outcome.codepoints.values().map(of).sum::<u64>()
        };
        assert_eq!(sum(|of| of.delivered), outcome.packets_forwarded);
        assert_eq!(sum(|of| of.dropped), outcome.drops);
        assert!(outcome.drops > 20);
    }
}

#[test]
fn marks_by_codepoint_are_all_marks() {
    let mut scenario = coloured("codel:ecn=on");
    scenario.flows[0] = FlowSpec { dscp: 46, ..flow("cubic:ecn=on") };
    let outcome = run(&scenario).unwrap();
    let marked = ["be", "af41", "ef"].map(|name| outcome.codepoints[name].marked);
    assert!(outcome.marks > 10);
    assert_eq!(marked, [0, 0, outcome.marks], "only that flow is capable");
}

#[test]
fn one_codepoint_is_not_told_apart() {
    let mut scenario = mixed("codel");
    scenario.flows[2].dscp = 0;
    assert!(run(&scenario).unwrap().codepoints.is_empty());
}

#[test]
fn the_green_bias_over_time() {
    let series = |qdisc: &str| run(&coloured(qdisc)).unwrap().series.unwrap();
    let given = series("dsd:limit=60:green=af41:g=0.3");
    assert_eq!(given.green_bias, vec![0.3; given.drops.len()]);
    let moved = series("dsd:limit=60:green=af41:period=400ms").green_bias;
    assert_eq!((moved.len(), moved[0]), (given.drops.len(), 1.0), "the first move is after the first bin");
    assert!(moved.iter().all(|g| (0.0..=1.0).contains(g)) && moved.iter().any(|g| *g < 1.0), "{moved:?}");
    assert!(series("codel").green_bias.is_empty());
}

/// Whether the packet stood in the bottleneck's queue at `time`.
fn is_queued(record: &PacketRecord, time: Time) -> bool {
    let gone = match record.fate {
        Fate::Dropped(_) if record.departed.is_none() => record.dequeued.unwrap_or(record.ended),
        _ => record.dequeued.unwrap_or(Time::NEVER),
    };
    record.direction == Direction::Data && record.arrival.is_some_and(|arrival| arrival < time && time < gone)
}

/// A segment with data has the number of its first byte, an acknowledgement that up to which it acknowledges, a datagram which one it is.
#[test]
fn packets_have_their_transports_numbers() {
    let (outcome, records) = recorded(&mixed("codel"));
    let of = |flow: u32, direction: Direction| {
        let is_meant = move |record: &&PacketRecord| record.flow == flow && record.direction == direction;
        records.iter().filter(is_meant)
    };
    // Bytes behind the 52 of headers; SYN and FIN have none.
    let mut ranges: Vec<(u64, u64)> = of(0, Direction::Data)
        .filter(|record| record.bytes > 60)
        .map(|record| (record.sequence.unwrap(), u64::from(record.bytes - 52)))
        .collect();
    ranges.sort_unstable();
    ranges.dedup();
    assert_eq!(ranges[0].0, 1);
    assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 == pair[1].0), "no byte is missing");
    let numbers: Vec<u64> =
        of(0, Direction::Acknowledgement).map(|record| record.sequence.unwrap()).collect();
    assert!(numbers.is_sorted());
    let acknowledged = numbers.last().unwrap() - 1;
    let delivered = outcome.flows[0].delivered_bytes;
    assert!(acknowledged <= delivered && delivered - acknowledged < 200_000, "{acknowledged} {delivered}");
    let mut datagrams: Vec<u64> = of(2, Direction::Data).map(|record| record.sequence.unwrap()).collect();
    datagrams.sort_unstable();
    assert_eq!(datagrams, (0..datagrams.len() as u64).collect::<Vec<_>>());
}

/// Byte range of the data of a TCP segment, behind 52 bytes of headers; `None` without data, as SYN and FIN.
fn data(record: &PacketRecord) -> Option<(u64, u64)> {
    let first = record.sequence.filter(|_| record.direction == Direction::Data && record.bytes > 60)?;
    Some((first, first + u64::from(record.bytes - 52)))
}

/// First transmission of each segment of a flow, and its arrival: when the last of its bytes had been delivered, by any packet.
fn arrivals(records: &[PacketRecord], flow: u32) -> Vec<(Time, Option<Time>)> {
    let of_flow = || records.iter().filter(|r| r.flow == flow).filter_map(|r| Some((r, data(r)?)));
    let mut sent: Vec<(Time, u64, u64)> =
        of_flow().map(|(r, (first, end))| (r.created, first, end)).collect();
    sent.sort_unstable();
    let mut got: BTreeMap<u64, Time> = BTreeMap::new();
    for (record, (first, end)) in of_flow().filter(|(r, _)| r.fate == Fate::Delivered) {
        (first..end).for_each(|byte| {
            let at = got.entry(byte).or_insert(record.ended);
            *at = record.ended.min(*at);
        });
    }
    let mut next = 1;
    let mut arrivals = Vec::new();
    for (created, first, end) in sent {
        if end > next {
            assert_eq!(first, next, "first transmissions follow each other");
            next = end;
            let bytes: Option<Vec<Time>> = (first..end).map(|byte| got.get(&byte).copied()).collect();
            arrivals.push((created, bytes.and_then(|bytes| bytes.into_iter().max())));
        }
    }
    arrivals
}

/// The delay of data with the time of its retransmissions, byte by byte.
#[test]
fn data_arrives_with_its_retransmissions() {
    for qdisc in QDISCS {
        let scenario = coloured(qdisc);
        let (outcome, records) = recorded(&scenario);
        let all: Vec<(Time, Option<Time>)> = (0..2).flat_map(|flow| arrivals(&records, flow)).collect();
        let ours = outcome.groups["files"].arrival_ms.unwrap();
        let from = Time::ZERO + scenario.warmup;
        let mut delays: Vec<f64> = all
            .iter()
            .filter_map(|&(sent, arrived)| {
                arrived.filter(|&arrived| arrived >= from).map(|at| millis(sent, at))
            })
            .collect();
        delays.sort_by(f64::total_cmp);
        assert_eq!(ours.count, delays.len() as u64, "{qdisc}");
        close(ours.mean, mean(&delays));
        let missing = all.iter().filter(|(_, arrived)| arrived.is_none()).count();
        assert_eq!(ours.not_arrived, missing as u64, "{qdisc}");
        let all = (delays.len() + missing) as f64;
        for (percent, figure) in [(0.5, ours.p50), (0.95, ours.p95), (0.99, ours.p99), (0.999, ours.p999)] {
            let at = delays.get((percent * all).ceil() as usize - 1);
            assert_eq!(figure.is_some(), at.is_some(), "{qdisc} {percent}");
            // Percentiles have three digits.
            let is_close = figure.zip(at).is_none_or(|(figure, at)| (figure - at).abs() <= 0.001 + at * 1e-3);
            assert!(is_close, "{qdisc} {percent}: {figure:?} {at:?}");
        }
        assert!(outcome.groups["video"].arrival_ms.is_none(), "datagrams are not repeated");
        assert!(
            outcome.drops > 20 && ours.mean < outcome.groups["files"].in_order_ms.unwrap().mean,
            "{qdisc}"
        );
    }
}
