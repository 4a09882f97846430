//! Paths of scenarios with cells, in the emulator: measurements of packets that wait in several queues.

use crate::common::{cells, packet, script, us};
use qdelay_core::{Span, Time};
use qdelay_emu::clock::FakeClock;
use qdelay_emu::device::Port;
use qdelay_emu::device::fake::FakeDevice;
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::{Emulator, EventKind, EventLog};
use qdelay_emu::metrics::Metrics;
use qdelay_emu::plan_kind::PlanKind;
use qdelay_emu::pool::Pool;
use qdelay_path::stack::Place;
use qdelay_path::{BuildProblem, Count, NodeId};
use qdelay_ran::rlc::RlcSetting;
use qdelay_record::{Direction, Fate, PacketRecord, Recorder};

/// Recorder that keeps every packet.
#[derive(Default)]
struct Records(Vec<PacketRecord>);

impl Recorder for Records {
    fn packet(&mut self, record: &PacketRecord) {
        self.0.push(*record);
    }
}

fn plans() -> [PlanKind; 3] {
    let bdp = "5g-bdp:offset=0.33:full=mtu:fit=whole";
    [
        cells::like_the_emulator(bdp, "codel", None).into(),
        cells::like_the_emulator("drql", "taildrop", Some("usp:interval=10ms:looks=10")).into(),
        cells::like_the_testbed("e5g-bdp", RlcSetting::lte_am()).into(),
    ]
}

/// Records, measurements, metrics and events count the same packets independently.
#[test]
fn records_measurements_metrics_and_events_agree() {
    for (number, plan) in plans().into_iter().enumerate() {
        let clock = FakeClock::new();
        let device = |port: Port| FakeDevice::new(&clock, script(number as u64, port.name(), 900));
        let taps = (EventLog::default(), Metrics::new(&plan).unwrap());
        let limits = plan.lateness_limits();
        let emulator = Emulator::tapped(plan, Pool::new(1500, 4096), Records::default(), taps).unwrap();
        let devices = [device(Port::Inside), device(Port::Outside)];
        let mut driver = Driver::new(clock.clone(), devices, emulator, limits);
        while clock.peek() < us(1_000_000) {
            while driver.turn([true; 2]).unwrap().is_busy() {}
            clock.set(clock.peek() + Span::from_micros(700));
        }
        let (mut emulator, _, _) = driver.finish();
        emulator.audit().unwrap();
        for port in Port::ALL {
            check(&mut emulator, port, number);
        }
    }
}

fn check(emulator: &mut Emulator<Records, (EventLog, Metrics)>, port: Port, number: usize) {
    let direction = if port == Port::Outside { Direction::Data } else { Direction::Acknowledgement };
    let records: Vec<PacketRecord> =
        emulator.recorder().0.iter().filter(|record| record.direction == direction).copied().collect();
    for record in &records {
        let steps = [record.arrival, record.dequeued, record.departed];
        let mut last = record.created;
        for time in steps.into_iter().flatten().chain([record.ended]) {
            assert!(time >= last, "{number}: {record:?}");
            last = time;
        }
        assert!(record.fate != Fate::Delivered || !steps.contains(&None), "{number}: {record:?}");
    }
    let measures = emulator.measures(port).clone();
    let count =
        |is: &dyn Fn(&PacketRecord) -> bool| records.iter().filter(|record| is(record)).count() as u64;
    let delivered = count(&|record| record.fate == Fate::Delivered);
    assert!(delivered > 100, "{number}");
    assert_eq!(measures.delivered.packets, delivered);

    // Waiting times and delays from the events, which include packets that have not ended.
    let nodes = emulator.nodes().clone();
    let events = emulator.tap().0.events.clone();
    let at = |kind: fn(&EventKind) -> bool, is_place: fn(Place) -> bool| {
        let is_meant = |node: NodeId| nodes.role(node).source == port && is_place(nodes.role(node).place);
        events.iter().filter(|event| kind(&event.kind) && is_meant(event.node)).count() as u64
    };
    let enqueued = at(|kind| *kind == EventKind::Enqueued, Place::is_first);
    assert_eq!(measures.arrived.packets, enqueued);
    assert_eq!(measures.sojourn.count(), at(|kind| *kind == EventKind::Dequeued, Place::is_last));
    assert_eq!(measures.departed.packets, at(|kind| *kind == EventKind::Departed, Place::is_link));
    let longest = records.iter().filter_map(|record| Some(record.departed?.since(record.arrival?))).max();
    assert!(measures.queue_delay.summary().max >= longest.unwrap().as_millis_f64() * 0.999);

    let metrics = emulator.tap().1.port(port);
    let of = |of: fn(&qdelay_emu::metrics::ClassCounts) -> Count| {
        metrics.classes().map(|(_, counts)| of(counts)).sum()
    };
    let [offered, sent, out, dropped, backlog]: [Count; 5] = [
        of(|counts| counts.offered),
        of(|counts| counts.sent),
        of(|counts| counts.delivered),
        of(|counts| counts.dropped.total()),
        of(|counts| counts.backlog()),
    ];
    assert_eq!((offered, sent, out), (measures.arrived, measures.departed, measures.delivered));
    assert_eq!(dropped.packets, count(&|record| record.fate != Fate::Delivered));
    let path = emulator.path();
    let queued: Count = nodes.queues(path, port).map(|queue| path.inside(queue)).sum();
    assert_eq!(backlog, queued, "{number} {port:?}");
    let usage = emulator.link_usage(port, us(1_000_000));
    assert!(usage.sent_bytes > 0 && usage.sent_bytes <= usage.offered_bytes, "{usage:?}");
}

/// The lateness limit follows a cell's TTI, and the transmission time of a packet on the cell's uplink.
#[test]
fn lateness_limits_follow_tti_and_uplink() {
    let limits = |plan: &PlanKind| plan.lateness_limits().map(Span::as_micros);
    let [emulator, _, testbed] = plans();
    assert_eq!(limits(&emulator), [1000, 60], "10 ms; 1500 bytes at 20 Mbit/s");
    assert_eq!(limits(&testbed), [100, 60]);
}

/// The running plan does not change.
#[test]
fn a_cell_is_not_replaced() {
    let [plan, ..] = plans();
    let mut emulator = Emulator::new(plan, Pool::new(1500, 64), ()).unwrap();
    let error = emulator.replace(Time::ZERO, crate::common::plan("taildrop", "line:1mbit", 1)).unwrap_err();
    assert_eq!((error.node.as_str(), error.problem), ("cell", BuildProblem::Fixed));
    let make = crate::common::Make { version: 4, flow: 1, dscp: 46, ecn: 0, bytes: 100, number: 1 };
    let slot = emulator.take_slot().unwrap();
    let bytes = packet(make);
    emulator.buffer(slot)[..100].copy_from_slice(&bytes);
    emulator.arrive(us(1), Port::Outside, slot, 100).unwrap();
    emulator.advance(us(100_000));
    assert_eq!(emulator.next_release().map(|release| release.port), Some(Port::Inside));
}
