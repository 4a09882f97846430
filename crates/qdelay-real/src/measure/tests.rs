//! Measures of the emulator compared with the simulator's.

use super::*;
use crate::path;
use qdelay_core::Random;
use qdelay_emu::device::Port;
use qdelay_emu::emulator::Emulator;
use qdelay_emu::pool::Pool;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_traffic::udp::UdpSource;

/// Scenario of datagrams only: their senders are the simulator's own, so that the same packets are sent at the same times.
const FLOWS: &str = "
[path]
rtt = \"20ms\"
jitter = \"2ms\"
[[flow]]
name = \"game\"
transport = \"gaming:20ms\"
dscp = \"ef\"
QFI1
[[flow]]
name = \"bulk\"
transport = \"udp:12mbit\"
access_rate = \"20mbit\"
start = \"100ms\"
stop = \"4s\"
QFI2
[run]
duration = \"5s\"
warmup = \"1s\"
probe = true
";
const CELL: &str = "
[cell]
technology = \"lte\"
prbs = 25
channel = \"mcs:15\"
pacer = \"e5g-bdp\"
upf_qdisc = \"sfq\"
upf_pacer = \"usp\"
rlc = \"um\"
bler = 0.1
feedback_delay = \"1ms\"
n3 = \"100mbit\"
[[cell.ue]]
[[cell.ue.bearer]]
[[cell.ue.bearer.qos_flow]]
qfi = 1
priority = 1
[[cell.ue.bearer.qos_flow]]
qfi = 2
priority = 2
";
const SLICES: &str = "
[cell]
technology = \"lte\"
prbs = 25
channel = \"mcs:15\"
partition = \"PARTITION\"
[[cell.slice]]
name = \"a\"
share = \"30%\"
[[cell.slice]]
name = \"b\"
share = \"70%\"
[[cell.ue]]
[[cell.ue.bearer]]
slice = \"a\"
[[cell.ue.bearer]]
slice = \"b\"
";

fn scenario(text: &str) -> Scenario {
    let study = Study::parse("some", text, &Overrides::default()).unwrap();
    study.case(0, &Library::new()).unwrap().scenario
}

/// The next packet of any flow: time, flow, size in bytes.
fn next(sources: &mut [(UdpSource, Time)]) -> Option<(Time, usize, u32)> {
    let due = |(source, stop): &(UdpSource, Time)| {
        let next = source.next_deadline();
        if next < *stop { next } else { Time::NEVER }
    };
    let index = (0..sources.len()).min_by_key(|&index| due(&sources[index]))?;
    let time = due(&sources[index]);
    let bytes = if time == Time::NEVER { None } else { sources[index].0.poll(time) };
    bytes.map(|bytes| (time, index, bytes))
}

fn is_upload(scenario: &Scenario, index: usize) -> bool {
    scenario.flows.get(index).is_some_and(|flow| flow.is_upload)
}

fn datagram(scenario: &Scenario, index: usize, bytes: u32) -> Vec<u8> {
    let dscp = scenario.flows.get(index).map_or(0, |flow| flow.dscp);
    let mut packet = vec![0; bytes as usize];
    packet[..2].copy_from_slice(&[0x45, dscp << 2]);
    packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    packet[9] = 17;
    let mut ends = [ports::sender(index), ports::receiver(index)];
    if is_upload(scenario, index) {
        ends.reverse();
    }
    packet[20..22].copy_from_slice(&ends[0].to_be_bytes());
    packet[22..24].copy_from_slice(&ends[1].to_be_bytes());
    packet
}

/// Carries packets as [`crate::carrier`] does, with a host that only reads packets, and continues after the end of the run.
fn carried(scenario: &Scenario) -> Outcome {
    let topology = path::plan(scenario).topology().unwrap();
    let gauge = MeasuringTap::new(scenario, &topology, Arc::new(AtomicU32::new(NO_FLOW)));
    carried_by(scenario, gauge, None)
}

/// Carries packets for a measurement whose end is set when it is reached, as is the end of its rates.
fn carried_open(scenario: &Scenario, bins: usize, rates_end: Option<Time>) -> Outcome {
    let topology = path::plan(scenario).topology().unwrap();
    let measuring = Measurement::open_ended(scenario, &topology, bins);
    let current = Arc::new(AtomicU32::new(NO_FLOW));
    let gauge = MeasuringTap::with_measurement(scenario, &topology, measuring, FlowKey::Ports, current);
    let end = Time::ZERO + scenario.duration;
    carried_by(scenario, gauge, Some((rates_end, end)))
}

/// Carries packets for `gauge`; `open` are the end of its rates and its end, if it does not know them.
fn carried_by(scenario: &Scenario, gauge: MeasuringTap<'_>, open: Option<(Option<Time>, Time)>) -> Outcome {
    let plan = path::plan(scenario);
    let mut emulator = Emulator::tapped(plan, Pool::new(1500, 65_536), (), gauge).unwrap();
    let start = |flow: &qdelay_sim::FlowSpec| Time::ZERO + flow.start;
    let mut sources: Vec<(UdpSource, Time)> = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let TransportConfig::Udp(config) = &flow.transport else { panic!("datagrams") };
        let random = Random::derive(scenario.seed, &format!("flow-{index}"), "source");
        let stop = flow.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop);
        sources.push((UdpSource::new(config.clone(), start(flow), random), stop));
    }
    if let Some(probe) = scenario.probe {
        let random = Random::derive(scenario.seed, "probe", "gaps");
        let source = UdpSource::probe(probe.bytes, probe.gap_min, probe.gap_max, Time::ZERO, random);
        sources.push((source, Time::NEVER));
    }
    // The host continues after the end of the run, as a real one does.
    let over = Time::ZERO + scenario.duration + Span::from_millis(500);
    let drain = |emulator: &mut Emulator<(), MeasuringTap<'_>>| {
        while let Some(release) = emulator.next_release() {
            emulator.settle(release.slot);
        }
    };
    let (mut rates_end, mut end) = open.map_or((None, None), |(rates_end, end)| (rates_end, Some(end)));
    while let Some((time, index, bytes)) = next(&mut sources).filter(|(time, ..)| *time < over) {
        if let Some(at) = rates_end.take_if(|at| time >= *at) {
            emulator.advance(at);
            emulator.tap().end_rates_at(at);
        }
        if let Some(at) = end.take_if(|at| time >= *at) {
            emulator.advance(at);
            emulator.tap().end_at(at);
            emulator.advance(at);
        }
        let slot = emulator.take_slot().unwrap();
        let packet = datagram(scenario, index, bytes);
        emulator.buffer(slot)[..packet.len()].copy_from_slice(&packet);
        let from = if is_upload(scenario, index) { Port::Inside } else { Port::Outside };
        emulator.arrive(time, from, slot, packet.len()).unwrap();
        drain(&mut emulator);
    }
    assert!(rates_end.is_none() && end.is_none(), "packets arrive after the end");
    emulator.advance(over);
    drain(&mut emulator);
    emulator.audit().unwrap();
    let (_, gauge) = emulator.into_parts();
    gauge.finish(&ProgramReports::default())
}

/// Compares outcomes without a call's results, which are unknown, in cells and links whose hashes of flows may differ.
fn check(text: &str) {
    let real = compare(text);
    assert!(real.packets_forwarded > 1000 && real.drops > 10, "{:?}", real.drops_by_reason);
}

/// Outcome that the simulator and the emulator agree on.
fn compare(text: &str) -> Outcome {
    let scenario = scenario(text);
    assert_eq!(scenario.jitter, Span::from_millis(2).into());
    let (real, simulated) = (carried(&scenario), qdelay_sim::run(&scenario).unwrap());
    for (real, simulated) in real.nodes.iter().zip(&simulated.nodes) {
        assert_eq!(real, simulated);
    }
    assert_eq!(real, simulated);
    real
}

#[test]
fn cell_measures_equal_the_simulators() {
    let flows = FLOWS.replace("QFI1", "qfi = 1").replace("QFI2", "qfi = 2");
    check(&(CELL.to_string() + &flows));
}

#[test]
fn slice_measures_equal_the_simulators() {
    let flows = FLOWS.replace("QFI1", "qfi = 1").replace("QFI2", "qfi = 2");
    for partition in ["fp", "eqp:limit=100"] {
        check(&(SLICES.replace("PARTITION", partition) + &flows));
    }
}

#[test]
fn hop_measures_equal_the_simulators() {
    let flows =
        FLOWS.replace("QFI1", "access_rate = \"30mbit\"\naccess_jitter = \"1600us\"").replace("QFI2", "");
    let hops = "[[path.hop]]\nname = \"b\"\nlink = \"11mbit\"\nlimit = 40\ndelay = \"4ms\"\n\
                [[path.hop]]\nname = \"a\"\nlink = \"30mbit\"\nqdisc = \"codel\"\n[[flow]]";
    let flows = flows.replacen("[[flow]]", hops, 1);
    check(&flows.replace("[path]", "[path]\nlink = \"10mbit\"\nlimit = 50"));
}

#[test]
fn link_measures_equal_the_simulators() {
    let flows = FLOWS.replace("QFI1", "").replace("QFI2", "");
    let text = flows.replace("[path]", "[path]\nlink = \"10mbit\"\nlimit = 50");
    check(&text);
    // All flows share one direction, with a discipline that uses random numbers; the way back has no queue.
    let text = text.replace("access_rate = \"20mbit\"", "");
    check(&text.replace("limit = 50", "qdisc = \"red:limit=50\"\nuplink = \"none\""));
}

#[test]
fn upload_measures_equal_the_simulators() {
    let flows = FLOWS
        .replace("QFI1", "")
        .replace("access_rate = \"20mbit\"", "")
        .replace("QFI2", "direction = \"up\"");
    let uplink = "[path]\nlink = \"1mbit\"\nlimit = 50\nuplink = \"5mbit\"";
    for uplink_qdisc in ["", "\nuplink_limit = 30", "\nuplink_qdisc = \"codel:limit=100\""] {
        let outcome = compare(&flows.replace("[path]", &format!("{uplink}{uplink_qdisc}")));
        let uplink = outcome.uplink.as_ref().expect("an uplink with an upload");
        assert!(uplink.drops > 10 && outcome.groups["bulk"].throughput_mbps > 3.0, "{uplink:?}");
    }
}

/// A reply is matched by its number, whatever is lost; the round trip lasts from entry into the path to exit.
#[test]
fn pings_match_replies_by_number() {
    let mut pings = Pings::new();
    let flows = FLOWS.replace("QFI1", "").replace("QFI2", "");
    let scenario = scenario(&flows.replace("[path]", "[path]\nlink = \"1mbit\""));
    let node = path::plan(&scenario).topology().unwrap().queue;
    let event = |ms: u64, entered: u64, kind| Event {
        time: Time::ZERO + Span::from_millis(ms),
        node,
        kind,
        packet: Packet::default(),
        entered: Time::ZERO + Span::from_millis(entered),
        reached_bottleneck: Time::NEVER,
    };
    let warmup = Span::from_millis(50);
    for (number, sent) in [(7, 10), (8, 30), (9, 60)] {
        pings.record(&event(sent + 1, sent, EventKind::Enqueued), number, false, warmup);
        // The datagram enters a second queue.
        pings.record(&event(sent + 5, sent, EventKind::Enqueued), number, false, warmup);
        pings.record(&event(sent + 9, sent, EventKind::Delivered), number, false, warmup);
    }
    // Reply 7 returns within the warm-up, 8 never, 9 after 25 ms, and once more as a copy; 10 was not sent.
    for (number, back) in [(7, 45), (9, 85), (9, 95), (10, 99)] {
        pings.record(&event(back, back - 8, EventKind::Delivered), number, true, warmup);
    }
    let found = pings.round_trips.summary();
    assert_eq!((found.count, found.max), (1, 25.0));
}

const UPLOADS: &str = "[path]\nlink = \"90kbit\"\nlimit = 10\nuplink = \"5mbit\"";

fn uploads(duration: &str, bin: &str) -> Scenario {
    let flows = FLOWS
        .replace("QFI1", "")
        .replace("access_rate = \"20mbit\"", "")
        .replace("QFI2", "direction = \"up\"")
        .replace("duration = \"5s\"", &format!("duration = \"{duration}\"\nseries = \"{bin}\""));
    scenario(&flows.replace("[path]", UPLOADS))
}

/// A run whose end is set when it is reached measures as one that knows it.
#[test]
fn an_open_end_changes_nothing() {
    let cell = FLOWS.replace("QFI1", "qfi = 1").replace("QFI2", "qfi = 2");
    for scenario in [uploads("5s", "10ms"), scenario(&(CELL.to_string() + &cell))] {
        assert_eq!(carried_open(&scenario, 100_000, None), carried(&scenario));
    }
}

/// Rates are those of a run that ends with them; counts and delays are those of the whole run.
#[test]
fn rates_end_before_the_run() {
    let (short, long) = (uploads("3s", "10ms"), uploads("3500ms", "10ms"));
    let found = carried_open(&long, 100_000, Some(Time::ZERO + short.duration));
    let (rates, whole) = (carried(&short), carried(&long));
    assert!(
        rates.throughput_mbps != whole.throughput_mbps && rates.packets_forwarded < whole.packets_forwarded
    );
    assert_eq!(
        (found.throughput_mbps, found.utilization, found.capacity_mbps),
        (rates.throughput_mbps, rates.utilization, rates.capacity_mbps)
    );
    assert_eq!(
        (found.packets_forwarded, found.queue_delay_ms, &found.drops_by_reason, &found.nodes),
        (whole.packets_forwarded, whole.queue_delay_ms, &whole.drops_by_reason, &whole.nodes)
    );
    assert!(found.series == whole.series, "the series goes on");
    for (name, group) in &found.groups {
        let (rates, whole) = (&rates.groups[name], &whole.groups[name]);
        assert_eq!((group.throughput_mbps, group.goodput_mbps), (rates.throughput_mbps, rates.goodput_mbps));
        assert_eq!(
            (group.packets_sent, group.packets_lost, group.queue_delay_ms, group.one_way_delay_ms),
            (whole.packets_sent, whole.packets_lost, whole.queue_delay_ms, whole.one_way_delay_ms)
        );
    }
    let uplink = |outcome: &Outcome| outcome.uplink.clone().unwrap();
    assert_eq!(uplink(&found).throughput_mbps, uplink(&rates).throughput_mbps);
    assert_eq!(uplink(&found).capacity_mbps, uplink(&rates).capacity_mbps);
    assert_eq!(uplink(&found).arrived, uplink(&whole).arrived);
}

/// A series that has reached its limit has the bins of a series with wider ones.
#[test]
fn bins_at_the_limit_are_those_of_twice_the_width() {
    let close = |one: &[Option<f64>], other: &[Option<f64>]| {
        assert_eq!(one.len(), other.len());
        for (one, other) in one.iter().zip(other) {
            assert!(
                one.zip(*other)
                    .map_or(one == other, |(one, other)| (one - other).abs() <= 1e-9 * other.abs()),
                "{one:?} {other:?}"
            );
        }
    };
    let some = |all: &[f64]| all.iter().copied().map(Some).collect::<Vec<_>>();
    // 505 bins of 10 ms become 253 of 20 ms, 127 of 40 ms, and the last one is shorter.
    for (limit, bin) in [(300, "20ms"), (152, "40ms")] {
        let found = carried_open(&uploads("5050ms", "10ms"), limit, None).series.unwrap();
        let wide = carried(&uploads("5050ms", bin)).series.unwrap();
        assert_eq!(found.bin_s, wide.bin_s);
        assert_eq!(found.backlog_packets, wide.backlog_packets);
        assert_eq!((&found.drops, &found.marks), (&wide.drops, &wide.marks));
        assert!(found.drops.iter().sum::<u64>() > 10 && found.delay_mean_ms.contains(&None));
        close(&some(&found.throughput_mbps), &some(&wide.throughput_mbps));
        close(&found.capacity_mbps, &wide.capacity_mbps);
        close(&found.delay_mean_ms, &wide.delay_mean_ms);
        close(&found.delay_max_ms, &wide.delay_max_ms);
        for (name, group) in &found.groups {
            let wide = &wide.groups[name];
            close(&some(&group.throughput_mbps), &some(&wide.throughput_mbps));
            close(&group.delay_mean_ms, &wide.delay_mean_ms);
            close(&group.delay_max_ms, &wide.delay_max_ms);
        }
    }
}
