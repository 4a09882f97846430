//! Digests of the emulator's decisions: the log of all events under a clock that moves in steps, for every discipline, kinds of
//! links, and cells. The digests are in `fingerprints/events.tsv`; `make fingerprints` regenerates them.

use crate::common::{cells, plan, script, us};
use qdelay_core::qdisc::COMPONENTS;
use qdelay_core::{Span, Time};
use qdelay_emu::clock::FakeClock;
use qdelay_emu::device::Port;
use qdelay_emu::device::fake::FakeDevice;
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::{Emulator, EventKind, EventLog, LoggedEvent};
use qdelay_emu::plan_kind::PlanKind;
use qdelay_emu::pool::Pool;
use qdelay_path::Path;
use qdelay_ran::rlc::RlcSetting;
use qdelay_testing::fingerprints::Fingerprints;

/// Duration of a run; packets arrive during its first half.
const END_MS: u64 = 800;
const STEP: Span = Span::from_micros(2_300);

/// Runs `plan`; returns all events, and the emulator with its path.
fn log(plan: PlanKind) -> (Vec<LoggedEvent>, Emulator<(), EventLog>) {
    let clock = FakeClock::new();
    let device = |port: Port| FakeDevice::new(&clock, script(1, port.name(), END_MS / 2));
    let emulator = Emulator::tapped(plan, Pool::new(1500, 4096), (), EventLog::default()).unwrap();
    let devices = [device(Port::Inside), device(Port::Outside)];
    let mut driver = Driver::new(clock.clone(), devices, emulator, [Span::from_micros(100); 2]);
    while clock.peek() < us(END_MS * 1000) {
        while driver.turn([true; 2]).unwrap().is_busy() {}
        clock.set(clock.peek() + STEP);
    }
    let mut emulator = driver.finish().0;
    emulator.audit().unwrap();
    (std::mem::take(&mut emulator.tap().events), emulator)
}

/// The kind of the event as a word, and the reason of a drop or mark.
fn words(kind: EventKind) -> (&'static str, String) {
    match kind {
        EventKind::Enqueued => ("enqueued", String::new()),
        EventKind::Dequeued => ("dequeued", String::new()),
        EventKind::Departed => ("departed", String::new()),
        EventKind::Dropped(reason) => ("dropped", reason.name().to_string()),
        EventKind::Marked(reason) => ("marked", reason.name().to_string()),
        EventKind::Split(split) => {
            ("split", format!("{} {}", split.air.as_nanos(), split.reassembly.as_nanos()))
        }
        EventKind::Corrupted => ("corrupted", String::new()),
        EventKind::Delivered => ("delivered", String::new()),
    }
}

/// Digest of the events, and the number of events of each kind.
fn figures(events: &[LoggedEvent], path: &Path) -> Vec<(String, String)> {
    let ns = |time: Time| time.as_nanos();
    let mut figures = Vec::new();
    for kind in ["delivered", "dropped", "marked"] {
        let count = events.iter().filter(|event| words(event.kind).0 == kind).count();
        figures.push((kind.to_string(), count.to_string()));
    }
    for (number, event) in events.iter().enumerate() {
        let LoggedEvent { time, node, kind, sequence, bytes, flow, dscp, ecn, arrival } = *event;
        let (what, why) = words(kind);
        let node = path.name(node);
        let (time, arrival) = (ns(time), ns(arrival));
        figures.push((
            format!("{what}[{number}]"),
            format!("{time} {node} {sequence} {bytes} {flow} {dscp} {ecn:?} {arrival} {why}"),
        ));
    }
    figures
}

#[test]
fn of_event_logs() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fingerprints/events.tsv");
    let mut prints = Fingerprints::new(file.into(), "make fingerprints", &["delivered", "dropped", "marked"]);
    for (name, plan) in plans() {
        let (events, emulator) = log(plan);
        prints.case(&name, &figures(&events, emulator.path()));
    }
    prints.check(std::path::Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/figures")));
}

fn plans() -> Vec<(String, PlanKind)> {
    let mut plans = Vec::new();
    for component in COMPONENTS {
        let is_marking = component.parameters.iter().any(|parameter| parameter.name == "ecn");
        let name = component.name;
        let texts = [name.to_string()].into_iter().chain(is_marking.then(|| format!("{name}:ecn=on")));
        for qdisc in texts {
            for link in [
                "trace:3",
                "line:7mbit",
                "htb:7mbit:burst=6kb:overhead=14",
                "steps:0s@9mbit+100ms@0+230ms@2mbit+400ms@30mbit:repeat=600ms",
            ] {
                plans.push((format!("{qdisc} {link}"), plan(&qdisc, link, 5).into()));
            }
        }
    }
    let mut rough = plan("fq_codel", "line:7mbit", 20);
    rough.down.jitter = Span::from_millis(8).into();
    rough.up.impairment.loss = qdelay_path::LossModel::Random(0.1);
    plans.push(("fq_codel line:7mbit with jitter and loss".to_string(), rough.into()));
    for law in ["vanilla", "dynrlc", "drql", "5g-bdp", "e5g-bdp"] {
        for (mode, rlc) in [("um", RlcSetting::lte_um()), ("am", RlcSetting::lte_am())] {
            plans.push((format!("cell {law} {mode}"), cells::like_the_testbed(law, rlc).into()));
        }
        let slow = cells::like_the_emulator(law, "codel", Some("usp:interval=10ms:looks=10"));
        plans.push((format!("cell {law} in packets"), slow.into()));
    }
    plans
}
