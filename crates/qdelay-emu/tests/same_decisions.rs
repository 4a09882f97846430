//! Same arrivals, same decisions: whatever the real clock does, an emulator's events equal those of the bare path in virtual
//! time. For every discipline and every link, packets with bytes go through the driver between two devices while the clock moves
//! in steps far longer than the intervals between events; the logs of all events are compared, and the written packets with the
//! packets read.

use crate::common::watched::{Journal, Read, Watched};
use crate::common::{cells, number, plan, script, us};
use qdelay_core::component::Component;
use qdelay_core::qdisc::COMPONENTS;
use qdelay_core::{Packet, Random, Span, Time};
use qdelay_emu::clock::FakeClock;
use qdelay_emu::device::Port;
use qdelay_emu::device::fake::FakeDevice;
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::{Emulator, EventKind, EventLog, LoggedEvent};
use qdelay_emu::frame;
use qdelay_emu::plan_kind::PlanKind;
use qdelay_emu::pool::Pool;
use qdelay_path::stack::Plan;
use qdelay_path::stack::{Dumbbell, FlowKey};
use qdelay_ran::rlc::RlcSetting;
use std::collections::BTreeMap;

/// Movement of the clock.
#[derive(Clone, Copy, Debug)]
enum Steps {
    /// Moves to each event, so that no turn is late.
    Exact,
    /// Moves by this many us, whatever is due.
    Coarse(u64),
    /// Moves by up to 3 ms, now and then by 100 ms, and every reading of the clock takes time.
    Random,
}

const END_MS: u64 = 1_500;

fn run(plan: PlanKind, steps: Steps, seed: u64) -> (Driver<FakeClock, Watched, (), EventLog>, Journal) {
    let (clock, journal) = (FakeClock::new(), Journal::default());
    if let Steps::Random = steps {
        clock.set_tick(Span::from_nanos(713));
    }
    let device = |port: Port| Watched {
        device: FakeDevice::new(&clock, script(seed, port.name(), END_MS / 2)),
        clock: clock.clone(),
        port,
        journal: journal.clone(),
    };
    let emulator = Emulator::tapped(plan, Pool::new(1500, 4096), (), EventLog::default()).unwrap();
    let devices = [device(Port::Inside), device(Port::Outside)];
    let mut driver = Driver::new(clock.clone(), devices, emulator, [Span::from_micros(100); 2]);
    let mut random = Random::derive(seed, "clock", "steps");
    loop {
        let turn = driver.turn([true; 2]).unwrap();
        assert_eq!(driver.emulator().audit(), Ok(()));
        if turn.is_busy() {
            continue;
        }
        let now = clock.peek();
        if now >= us(END_MS * 1000) {
            break;
        }
        let next = match steps {
            Steps::Exact => {
                driver.devices().iter().map(|device| device.device.next()).min().unwrap().min(turn.deadline)
            }
            Steps::Coarse(micros) => now + Span::from_micros(micros),
            Steps::Random if random.below(100) == 0 => now + Span::from_millis(100),
            Steps::Random => now + Span::from_nanos(1 + random.below(3_000_000)),
        };
        clock.set(next.min(us(END_MS * 1000)));
    }
    (driver, journal)
}

/// The bare path in virtual time: stops at every deadline, and each packet arrives exactly when it was read.
fn reference(plan: &PlanKind, journal: &[Read], end: Time) -> EventLog {
    // The simulator's own path, where every flow has an entry of its own.
    let (mut path, doors) = match plan {
        PlanKind::Link(link) => {
            let (path, _) = Plan::clone(link).build().unwrap();
            let doors = ["up", "down"].map(|name| vec![path.node(name).unwrap()]);
            (path, doors)
        }
        PlanKind::Dumbbell(plan) => {
            let dumbbell = Dumbbell {
                hops: &plan.hops,
                bottleneck: &plan.bottleneck,
                uplink: plan.uplink.as_ref(),
                base_rtt: plan.base_rtt,
                rtt_curve: plan.rtt_curve.as_ref(),
                jitter: &plan.jitter,
                uplink_jitter: &plan.uplink_jitter,
                impairments: &plan.impairments,
                flows: &plan.ways,
                key: FlowKey::Flow,
                is_changeable: false,
                seed: plan.seed,
            };
            let topology = dumbbell.build().unwrap();
            (topology.path, [topology.ack_entry, topology.data_entry])
        }
    };
    let mut log = EventLog::default();
    for (sequence, (time, port, bytes)) in journal.iter().enumerate() {
        while path.next_deadline() <= *time {
            path.poll(path.next_deadline(), &mut log).unwrap();
        }
        let dscp = (if bytes[0] >> 4 == 4 { bytes[1] } else { bytes[0] << 4 | bytes[1] >> 4 }) >> 2;
        let class = cells::class(dscp);
        let packet = Packet {
            handle: (sequence as u64) << 32,
            bytes: bytes.len() as u32,
            // The flow number has to be the same for all packets of a flow; the value does not matter.
            flow: match plan {
                PlanKind::Link(_) => frame::parse(bytes).unwrap().flow,
                PlanKind::Dumbbell(_) => class as u32,
            },
            dscp,
            ecn: frame::parse(bytes).unwrap().ecn,
            ..Packet::default()
        };
        let doors = &doors[*port as usize];
        let door = doors[class.min(doors.len() - 1)];
        path.ingress(*time, door, packet, &mut log).unwrap();
    }
    while path.next_deadline() <= end {
        path.poll(path.next_deadline(), &mut log).unwrap();
    }
    path.audit().unwrap();
    log
}

/// A packet's bytes without the fields that an ECN mark changes.
fn unmarked(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes[0] >> 4 == 4 {
        bytes[1] &= !3;
        bytes[10..12].fill(0);
    } else {
        bytes[1] &= !0x30;
    }
    bytes
}

/// Checks that the written packets equal the packets read, except for ECN marks, each at the port and time of the log or later, in
/// order within flows.
fn check_written(driver: &mut Driver<FakeClock, Watched, (), EventLog>, journal: &[Read]) {
    let exits = driver.emulator().nodes().exit;
    let events = driver.emulator().tap().events.clone();
    for port in Port::ALL {
        let delivered: Vec<_> = events
            .iter()
            .filter(|event| event.kind == EventKind::Delivered && event.node == exits[port.index()])
            .collect();
        let written = &driver.devices()[port.index()].device.written;
        assert_eq!(delivered.len(), written.len());
        let mut newest = BTreeMap::new();
        for (event, (time, bytes)) in delivered.iter().zip(written) {
            let (_, from, read) = &journal[event.sequence as usize];
            assert_eq!((*from, unmarked(read)), (port.other(), unmarked(bytes)));
            assert_eq!(frame::parse(bytes).unwrap().ecn, event.ecn, "marked in the bytes, too");
            assert!(*time >= event.time);
            if bytes[0] >> 4 == 4 {
                assert_eq!(crate::common::checksum(&bytes[..20]), 0);
            }
            // The last byte of an address identifies the flow; packets of one flow with several codepoints may be in different queues.
            let flow = (if bytes[0] >> 4 == 4 { bytes[19] } else { 6 + bytes[39] }, event.dscp);
            let before = newest.insert(flow, number(bytes));
            assert!(before.is_none_or(|before| before < number(bytes)), "order within flow {flow:?}");
        }
    }
}

/// `name` with its defaults, with a short queue, and with marking if it supports that.
fn variants(component: &Component) -> Vec<String> {
    let has = |name: &str| component.parameters.iter().any(|parameter| parameter.name == name);
    let mut texts = vec![component.name.to_string()];
    texts.extend(has("limit").then(|| format!("{}:limit=9", component.name)));
    texts.extend(has("limit_bytes").then(|| format!("{}:limit_bytes=9000b", component.name)));
    texts.extend(has("ecn").then(|| format!("{}:ecn=on", component.name)));
    texts
}

/// The log without flow numbers, because behind the entry no node depends on them.
fn without_flows(log: &EventLog) -> Vec<LoggedEvent> {
    log.events.iter().map(|event| LoggedEvent { flow: 0, ..*event }).collect()
}

fn compare(plan: impl Into<PlanKind>, steps: Steps, seed: u64, what: &str) -> EventLog {
    let plan = plan.into();
    let is_link = plan.as_link().is_some();
    let (mut driver, journal) = run(plan.clone(), steps, seed);
    let journal = journal.take();
    let end = driver.emulator().path().now();
    let mut expected = reference(&plan, &journal, end);
    let mut log = std::mem::take(&mut driver.emulator().tap().events);
    if !is_link {
        log = without_flows(&EventLog { events: log });
        expected = EventLog { events: without_flows(&expected) };
    }
    if let Some(at) = log.iter().zip(&expected.events).position(|(one, other)| one != other) {
        panic!("{what}, {steps:?}: event {at} is {:?}, not {:?}", log[at], expected.events[at]);
    }
    assert_eq!(log.len(), expected.events.len(), "{what}, {steps:?}");
    driver.emulator().tap().events = log;
    check_written(&mut driver, &journal);
    let (emulator, _, _) = driver.finish();
    emulator.into_parts().1
}

fn compare_all(link: &str) {
    let (mut drops, mut marks, mut events) = (0, 0, 0);
    for qdisc in COMPONENTS.iter().flat_map(|component| variants(component)) {
        for (seed, steps) in [Steps::Exact, Steps::Coarse(7_300), Steps::Random].into_iter().enumerate() {
            let log = compare(plan(&qdisc, link, 5), steps, seed as u64, &format!("{qdisc} {link}"));
            drops += log.events.iter().filter(|event| matches!(event.kind, EventKind::Dropped(_))).count();
            marks += log.events.iter().filter(|event| matches!(event.kind, EventKind::Marked(_))).count();
            events += log.events.len();
        }
    }
    assert!(drops > 1000 && marks > 20 && events > 100_000, "{drops} drops, {marks} marks, {events} events");
}

#[test]
fn decisions_are_equal_over_a_trace() {
    compare_all("trace:3");
}

#[test]
fn decisions_are_equal_over_a_line() {
    compare_all("line:7mbit");
}

#[test]
fn decisions_are_equal_over_a_shaper() {
    compare_all("htb:7mbit:burst=6kb:overhead=14");
}

#[test]
fn decisions_are_equal_over_steps_with_outages() {
    compare_all("steps:0s@9mbit+100ms@0+230ms@2mbit+400ms@30mbit:repeat=600ms");
}

#[test]
fn decisions_are_equal_with_jitter_and_loss() {
    let mut plan = plan("fq_codel", "line:7mbit", 20);
    plan.down.jitter = Span::from_millis(8).into();
    plan.up.impairment.loss = qdelay_path::LossModel::Random(0.1);
    for (seed, steps) in [Steps::Exact, Steps::Coarse(31_000), Steps::Random].into_iter().enumerate() {
        compare(plan.clone(), steps, seed as u64, "jitter and loss");
    }
}

#[test]
fn decisions_are_equal_without_delay_and_rate_limit() {
    for link in ["line:infinite", "htb:infinite", "line:900mbit"] {
        for steps in [Steps::Exact, Steps::Coarse(1_900), Steps::Random] {
            compare(plan("taildrop", link, 0), steps, 3, link);
        }
    }
}

/// Compares cells: the queue of each packet, reactions of pacers to feedback, and losses on the radio link.
fn compare_cells(plan: &PlanKind, what: &str) -> [usize; 3] {
    let mut sums = [0; 3];
    for (seed, steps) in [Steps::Exact, Steps::Coarse(7_300), Steps::Random].into_iter().enumerate() {
        let log = compare(plan, steps, seed as u64, what);
        let count = |is: fn(&EventKind) -> bool| log.events.iter().filter(|event| is(&event.kind)).count();
        let found = [
            count(|kind| matches!(kind, EventKind::Dropped(_))),
            count(|kind| matches!(kind, EventKind::Split(_))),
            count(|_| true),
        ];
        (0..3).for_each(|place| sums[place] += found[place]);
    }
    sums
}

#[test]
fn decisions_are_equal_in_a_cell_like_the_emulator() {
    let dynrlc = "dynrlc:interval=100ms:target=11ms:alpha=0.1:min=2:max=20:start=10";
    let bdp = "5g-bdp:offset=0.33:full=mtu:fit=whole";
    let mut sums = [0; 3];
    for (law, sdap, usp) in [
        ("vanilla", "taildrop", None),
        (dynrlc, "taildrop", Some("usp:interval=10ms:looks=10")),
        ("drql:interval=100ms:round=mtu", "codel:ecn=on", Some("vanilla")),
        (bdp, "taildrop", Some("usp:interval=10ms:looks=10")),
        (bdp, "codel", None),
    ] {
        let plan = cells::like_the_emulator(law, sdap, usp).into();
        let found = compare_cells(&plan, &format!("{law} {sdap} {usp:?}"));
        (0..3).for_each(|place| sums[place] += found[place]);
    }
    assert!(sums[0] > 1000 && sums[1] > 5000 && sums[2] > 100_000, "{sums:?}");
}

#[test]
fn decisions_are_equal_in_a_cell_like_the_testbed() {
    let mut sums = [0; 3];
    for law in ["vanilla", "dynrlc", "drql", "e5g-bdp"] {
        for rlc in [RlcSetting::lte_um(), RlcSetting::lte_am()] {
            let plan = cells::like_the_testbed(law, rlc).into();
            let found = compare_cells(&plan, &format!("{law} {rlc:?}"));
            (0..3).for_each(|place| sums[place] += found[place]);
        }
    }
    assert!(sums[0] > 1000 && sums[1] > 5000 && sums[2] > 100_000, "{sums:?}");
}
