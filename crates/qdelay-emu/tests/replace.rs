//! Replacing a link under traffic: the emulator makes the same decisions as the bare path in virtual time, whatever the clock
//! does; only parts that differ are replaced; and no packet is lost.

use crate::common::watched::{Journal, Read, Watched};
use crate::common::{direction, number, plan, script, us};
use qdelay_core::{Packet, Random, Span, Time};
use qdelay_emu::clock::FakeClock;
use qdelay_emu::device::Port;
use qdelay_emu::device::fake::FakeDevice;
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::{Emulator, EventKind, EventLog, Replaced};
use qdelay_emu::frame;
use qdelay_emu::pool::Pool;
use qdelay_path::stack::Plan;

const END_MS: u64 = 1500;

/// An input of the emulator: a packet that was read, or another plan.
enum Entry {
    Packet(Time, Port, Vec<u8>),
    Plan(Time, Box<Plan>),
}

impl From<Read> for Entry {
    fn from((time, port, bytes): Read) -> Entry {
        Entry::Packet(time, port, bytes)
    }
}

/// A plan with a random value in each part.
fn random_plan(random: &mut Random) -> Plan {
    let mut pick = |choices: &[&str]| choices[random.below(choices.len() as u64) as usize].to_string();
    let qdiscs =
        ["taildrop:limit=30", "bode", "codel:ecn=on", "pie:target=5ms", "fq_codel", "sfq", "red", "drr"];
    let links =
        ["line:7mbit", "htb:9mbit:overhead=14", "trace:3", "steps:0s@9mbit+100ms@0+130ms@2mbit:repeat=200ms"];
    let mut half = || {
        let mut half = direction(&pick(&qdiscs), &pick(&links), pick(&["0", "5", "40"]).parse().unwrap());
        half.jitter = Span::from_millis(pick(&["0", "0", "9"]).parse().unwrap()).into();
        half.impairment.loss = pick(&["0", "0", "0.05"]).parse::<f64>().unwrap().into();
        half.impairment.is_cut = pick(&["", "", "", "cut"]) == "cut";
        half.is_held = pick(&["", "", "", "held"]) == "held";
        half
    };
    Plan { down: half(), up: half(), seed: 7 }
}

/// Sends packets through, and replaces the plan now and then, while the clock moves in steps of up to `step`.
fn run(seed: u64, step: Span) -> (Driver<FakeClock, Watched<Entry>, (), EventLog>, Journal<Entry>) {
    let clock = FakeClock::new();
    let journal = Journal::default();
    let device = |port: Port| Watched {
        device: FakeDevice::new(&clock, script(seed, port.name(), END_MS - 300)),
        clock: clock.clone(),
        port,
        journal: journal.clone(),
    };
    let first = plan("taildrop", "line:5mbit", 5);
    let emulator = Emulator::tapped(first, Pool::new(1500, 65_536), (), EventLog::default()).unwrap();
    let mut driver = Driver::new(clock.clone(), Port::ALL.map(device), emulator, [Span::from_millis(1); 2]);
    let mut random = Random::derive(seed, "clock", "steps");
    while clock.peek() < us(END_MS * 1000) {
        let turn = driver.turn([true; 2]).unwrap();
        assert_eq!(driver.emulator().audit(), Ok(()));
        if turn.is_busy() {
            continue;
        }
        if random.below(20) == 0 {
            let plan = random_plan(&mut random);
            journal.borrow_mut().push(Entry::Plan(clock.peek(), Box::new(plan.clone())));
            driver.replace(plan).unwrap();
            assert_eq!(driver.emulator().audit(), Ok(()));
        }
        clock.set(clock.peek() + Span::from_nanos(1 + random.below(step.as_nanos())));
    }
    // The last link may be slow, so the run continues until it is empty.
    let last = plan("taildrop", "line:1gbit", 0);
    journal.borrow_mut().push(Entry::Plan(clock.peek(), Box::new(last.clone())));
    driver.replace(last).unwrap();
    clock.set(clock.peek() + Span::from_secs(600));
    driver.turn([true; 2]).unwrap();
    (driver, journal)
}

/// The bare path in virtual time: stops at every deadline, so that every event happens exactly on time.
fn reference(journal: &[Entry], end: Time) -> EventLog {
    let mut now_runs = plan("taildrop", "line:5mbit", 5);
    let (mut path, _) = now_runs.clone().build().unwrap();
    let (mut log, mut sequence) = (EventLog::default(), 0);
    for entry in journal {
        let (Entry::Packet(time, ..) | Entry::Plan(time, _)) = entry;
        while path.next_deadline() <= *time {
            path.poll(path.next_deadline(), &mut log).unwrap();
        }
        match entry {
            Entry::Packet(time, port, bytes) => {
                let read = frame::parse(bytes).unwrap();
                let packet = Packet { ..read.packet(sequence << 32) };
                sequence += 1;
                let entry = path.node(["up", "down"][*port as usize]).unwrap();
                path.ingress(*time, entry, packet, &mut log).unwrap();
            }
            Entry::Plan(time, plan) => {
                for (name, new, old) in [("down", &plan.down, &now_runs.down), ("up", &plan.up, &now_runs.up)]
                {
                    let node = |what: &str| path.node(&format!("{name}{what}")).unwrap();
                    let [queue, link, impairment, delay] = ["", "-link", "-impairment", "-delay"].map(node);
                    if new.impairment != old.impairment {
                        let spec = new.impairment.clone();
                        path.replace_impairment(*time, impairment, spec, &mut log).unwrap();
                    }
                    if new.delay_spec() != old.delay_spec() {
                        path.replace_delay(*time, delay, new.delay_spec(), &mut log).unwrap();
                    }
                    if format!("{:?}", new.link) != format!("{:?}", old.link) {
                        path.replace_link(*time, link, new.link.clone(), &mut log).unwrap();
                    }
                    if format!("{:?}", new.qdisc) != format!("{:?}", old.qdisc) {
                        path.replace_queue(*time, queue, new.qdisc.clone(), &mut log).unwrap();
                    }
                    if new.is_held != old.is_held {
                        path.hold_queue(*time, queue, new.is_held, &mut log).unwrap();
                    }
                }
                now_runs = (**plan).clone();
            }
        }
    }
    while path.next_deadline() <= end {
        path.poll(path.next_deadline(), &mut log).unwrap();
    }
    path.audit().unwrap();
    log
}

#[test]
fn replacements_make_the_same_decisions_as_the_bare_path() {
    let (mut plans, mut dropped) = (0, 0);
    for (seed, step) in [50_000, 1_000_000, 9_000_000, 60_000_000].into_iter().enumerate() {
        let (mut driver, journal) = run(seed as u64, Span::from_nanos(step));
        let journal = journal.take();
        plans += journal.iter().filter(|entry| matches!(entry, Entry::Plan(..))).count();
        let end = driver.emulator().path().now();
        let expected = reference(&journal, end);
        let log = std::mem::take(&mut driver.emulator().tap().events);
        if let Some(at) = log.iter().zip(&expected.events).position(|(one, other)| one != other) {
            panic!("seed {seed}: event {at} is {:?}, not {:?}", log[at], expected.events[at]);
        }
        assert_eq!(log.len(), expected.events.len());
        // Every packet that arrived has either been dropped for a reason, or written.
        let packets = journal.len() - journal.iter().filter(|entry| matches!(entry, Entry::Plan(..))).count();
        let drops = log.iter().filter(|event| matches!(event.kind, EventKind::Dropped(_))).count();
        let written: usize = driver.devices().iter().map(|device| device.device.written.len()).sum();
        assert_eq!((packets, driver.emulator().inside()), (drops + written, 0));
        assert_eq!(driver.emulator().pool().in_use(), 0);
        dropped += drops;
    }
    assert!(plans > 100 && dropped > 100, "{plans} plans, {dropped} drops");
}

/// Replacing a first-in first-out queue by another neither loses nor reorders packets.
#[test]
fn a_reload_under_full_load_loses_nothing() {
    let make = |number: u32| {
        let make = crate::common::Make {
            version: 4,
            flow: (number % 5) as u8,
            dscp: 0,
            ecn: 0,
            bytes: 1500,
            number,
        };
        crate::common::packet(make)
    };
    let clock = FakeClock::new();
    let script = (0..2000_u32).map(|number| (us(u64::from(number) * 1000), make(number)));
    let devices = [FakeDevice::new(&clock, []), FakeDevice::new(&clock, script)];
    let emulator =
        Emulator::new(plan("taildrop:limit=3000", "line:11mbit", 20), Pool::new(1500, 4096), ()).unwrap();
    let mut driver = Driver::new(clock.clone(), devices, emulator, [Span::from_secs(1); 2]);
    for ms in 0..20_000_u64 {
        clock.set(us(ms * 1000));
        driver.turn([true; 2]).unwrap();
        if ms % 37 == 5 {
            let links =
                ["line:11mbit", "htb:12mbit", "trace:3", "steps:0s@20mbit+3ms@0+9ms@9mbit:repeat=15ms"];
            let link = links[(ms / 37 % 4) as usize];
            let delay = ms % 30;
            driver.replace(plan(&format!("taildrop:limit={}", 3000 + ms), link, delay)).unwrap();
        }
    }
    let written: Vec<u32> = driver.devices()[0].written.iter().map(|(_, bytes)| number(bytes)).collect();
    assert_eq!(written, (0..2000).collect::<Vec<u32>>());
    assert_eq!(driver.emulator().audit(), Ok(()));
}

#[test]
fn only_differing_parts_are_replaced() {
    let first = plan("bode", "line:10mbit", 5);
    let mut emulator = Emulator::new(first.clone(), Pool::new(1500, 256), ()).unwrap();
    let none = emulator.replace(us(5), first.clone()).unwrap();
    assert_eq!((none, none.is_any()), (Replaced::default(), false));
    let mut other = first.clone();
    other.down.qdisc = direction("bode:target=21ms", "line:1mbit", 5).qdisc;
    let (down, up) = ([false, true], [true, false]);
    let queue = emulator.replace(us(6), other.clone()).unwrap();
    assert_eq!(queue, Replaced { queue: down, ..Replaced::default() });
    assert!(queue.is_any());
    other.up.link = direction("bode", "line:10mbit:overhead=1", 5).link;
    other.up.jitter = Span::from_millis(1).into();
    let done = emulator.replace(us(7), other.clone()).unwrap();
    assert_eq!(done, Replaced { link: up, delay: up, ..Replaced::default() });
    assert_eq!(format!("{:?}", emulator.plan().as_link().unwrap()), format!("{other:?}"));
    other.seed += 1;
    let done = emulator.replace(us(8), other.clone()).unwrap();
    assert_eq!(
        done,
        Replaced { queue: [true; 2], impairment: [true; 2], delay: [true; 2], ..Replaced::default() }
    );
    for (loss, node) in [(1.5, "up-impairment"), (f64::NAN, "up-impairment")] {
        let mut wrong = first.clone();
        wrong.up.impairment.loss = loss.into();
        assert_eq!(emulator.replace(us(9), wrong).unwrap_err().node, node);
    }
    assert_eq!(
        format!("{:?}", emulator.plan().as_link().unwrap()),
        format!("{other:?}"),
        "nothing has changed"
    );
    assert_eq!(
        emulator.replace(us(0), other).unwrap(),
        Replaced::default(),
        "a time before the last is the last"
    );
    assert_eq!(emulator.audit(), Ok(()));
}

/// The limits of the running plan apply to lateness.
#[test]
fn limits_follow_the_plan() {
    let clock = FakeClock::new();
    let devices = [FakeDevice::new(&clock, []), FakeDevice::new(&clock, [])];
    let slow = plan("bode", "line:1mbit", 5);
    let emulator = Emulator::new(slow.clone(), Pool::new(1500, 256), ()).unwrap();
    let mut driver = Driver::new(clock, devices, emulator, slow.lateness_limits());
    assert_eq!(driver.audit().limits, [Span::from_millis(1); 2]);
    driver.replace(plan("bode", "line:12mbit", 5)).unwrap();
    assert_eq!(driver.audit().limits, [Span::from_micros(100); 2]);
}
