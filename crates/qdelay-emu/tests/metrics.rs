//! Metrics and snapshots compared with counts from the log of all events: for every discipline, random traffic of several
//! classes, with loss, sampled at random times.

use crate::common::{Make, packet, plan, script, us};
use qdelay_core::qdisc::COMPONENTS;
use qdelay_core::{Ecn, Packet, Random, Span, Time};
use qdelay_emu::alarm::Alarm;
use qdelay_emu::clock::FakeClock;
use qdelay_emu::control::{Controlled, LoopAction, Sampler, control};
use qdelay_emu::device::Port;
use qdelay_emu::device::fake::FakeDevice;
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::{Emulator, Event, EventKind, EventLog, LoggedEvent, Tap};
use qdelay_emu::metrics::{Metrics, SOJOURN_BOUNDS_NANOS};
use qdelay_emu::pool::Pool;
use qdelay_emu::snapshot::{Amount, DirectionSnapshot, LinkSettings, Sample, Snapshot};
use qdelay_path::stack::Plan;
use qdelay_path::{LossModel, NodeId};
use qdelay_testing::allocations;
use std::collections::BTreeMap;
use std::sync::Arc;

type Link = Driver<FakeClock, FakeDevice, (), (EventLog, Metrics)>;

const END_MS: u64 = 1_200;

fn link(plan: Plan, seed: u64) -> Link {
    let clock = FakeClock::new();
    let device = |port: Port| FakeDevice::new(&clock, script(seed, port.name(), END_MS / 2));
    let devices = [device(Port::Inside), device(Port::Outside)];
    let taps = (EventLog::default(), Metrics::new(&plan).unwrap());
    let emulator = Emulator::tapped(plan, Pool::new(1500, 4096), (), taps).unwrap();
    Driver::new(clock, devices, emulator, [Span::from_micros(100); 2])
}

fn turn_until(driver: &mut Link, end: Time) {
    loop {
        let turn = driver.turn([true; 2]).unwrap();
        let now = driver.clock().peek();
        if turn.is_busy() {
            continue;
        }
        if now >= end {
            return;
        }
        driver.clock().set((now + Span::from_micros(300)).min(end));
    }
}

/// Counts from the log for one direction and one class; `None` for all classes.
#[derive(Default)]
struct Oracle {
    offered: (u64, u64),
    sent: (u64, u64),
    delivered: (u64, u64),
    drops: BTreeMap<String, (u64, u64)>,
    marks: BTreeMap<String, (u64, u64)>,
    sojourns: Vec<u64>,
    backlog: (i64, i64),
}

impl Oracle {
    fn of(events: &[LoggedEvent], names: &[String], direction: &str, class: Option<u8>) -> Oracle {
        let mut oracle = Oracle::default();
        for event in events {
            let name = &names[event.node.index()];
            let exit = if direction == "down" { "inside" } else { "outside" };
            let is_here = name == exit || name == direction || name.starts_with(&format!("{direction}-"));
            if !is_here || class.is_some_and(|class| class != event.dscp) {
                continue;
            }
            let add = |sum: &mut (u64, u64)| {
                sum.0 += 1;
                sum.1 += u64::from(event.bytes);
            };
            let mut queued = 0;
            match event.kind {
                EventKind::Enqueued => {
                    add(&mut oracle.offered);
                    queued = 1;
                }
                EventKind::Dequeued => {
                    oracle.sojourns.push(event.time.as_nanos() - event.arrival.as_nanos());
                    queued = -1;
                }
                EventKind::Departed => add(&mut oracle.sent),
                EventKind::Corrupted | EventKind::Split(_) => {}
                EventKind::Delivered => add(&mut oracle.delivered),
                EventKind::Dropped(reason) => {
                    add(oracle.drops.entry(reason.name().to_string()).or_default());
                    queued = if name == direction { -1 } else { 0 };
                }
                EventKind::Marked(reason) => add(oracle.marks.entry(reason.name().to_string()).or_default()),
            }
            oracle.backlog.0 += queued;
            oracle.backlog.1 += queued * i64::from(event.bytes);
        }
        oracle
    }
}

fn amount((packets, bytes): (u64, u64)) -> Amount {
    Amount { packets, bytes }
}

fn named(by: &BTreeMap<String, (u64, u64)>) -> BTreeMap<String, Amount> {
    by.iter().map(|(reason, sum)| (reason.clone(), amount(*sum))).collect()
}

fn near(got: f64, nanos: u64) -> bool {
    let wanted = nanos as f64 / 1e6;
    (got - wanted).abs() <= wanted * 0.01 + 0.001
}

fn check(seen: &DirectionSnapshot, all: &Oracle, new: &Oracle, what: &str) {
    for (totals, oracle) in [(&seen.total, all), (&seen.interval, new)] {
        assert_eq!(totals.offered, amount(oracle.offered), "{what}");
        assert_eq!(totals.sent, amount(oracle.sent), "{what}");
        assert_eq!(totals.delivered, amount(oracle.delivered), "{what}");
        assert_eq!(totals.drops_by_reason, named(&oracle.drops), "{what}");
        assert_eq!(totals.marks_by_reason, named(&oracle.marks), "{what}");
        assert_eq!(totals.dropped.packets, oracle.drops.values().map(|sum| sum.0).sum::<u64>(), "{what}");
    }
    assert_eq!((seen.backlog.packets as i64, seen.backlog.bytes as i64), all.backlog, "{what}");
    for (sojourn, oracle) in [(seen.sojourn_total, all), (seen.sojourn_interval, new)] {
        let mut exact = oracle.sojourns.clone();
        exact.sort_unstable();
        let Some(sojourn) = sojourn else {
            assert!(exact.is_empty(), "{what}");
            continue;
        };
        let rank = |percent: usize| exact[(exact.len() * percent).div_ceil(100).max(1) - 1];
        for (got, wanted) in
            [(sojourn.p50_ms, rank(50)), (sojourn.p99_ms, rank(99)), (sojourn.max_ms, rank(100))]
        {
            assert!(near(got, wanted), "{what}: {got} ms, {wanted} ns");
        }
    }
}

#[test]
fn snapshots_count_what_the_log_counts() {
    for (case, component) in COMPONENTS.iter().enumerate() {
        for text in ["line:12mbit", "trace:3"] {
            let what = format!("{} {text}", component.name);
            let mut plan = plan(component.name, text, 5);
            (plan.down.impairment.loss, plan.up.impairment.loss) =
                (LossModel::Random(0.03), LossModel::Random(0.2));
            let mut driver = link(plan, case as u64);
            let mut random = Random::derive(case as u64, "looks", "times");
            let (mut now, mut before, mut seen) = (0, None::<Sample>, 0);
            let mut sums = [(0.0, 0.0); 2];
            while now < END_MS * 1000 {
                now += 1 + random.below(200_000);
                turn_until(&mut driver, us(now));
                let sample = driver.sample(Arc::new(LinkSettings::default()), 0);
                let snapshot = Snapshot::between(before.as_ref(), &sample);
                let emulator = driver.emulator();
                let names: Vec<_> =
                    emulator.path().nodes().map(|node| emulator.path().name(node).to_string()).collect();
                let queues = emulator.nodes().queue.map(|queue: NodeId| emulator.path().inside(queue));
                let events = &emulator.tap().0.events;
                for (port, name, direction) in
                    [(Port::Outside, "down", &snapshot.down), (Port::Inside, "up", &snapshot.up)]
                {
                    let of = |events: &[LoggedEvent], class| Oracle::of(events, &names, name, class);
                    check(
                        direction,
                        &of(events, None),
                        &of(&events[seen..], None),
                        &format!("{what} {name}"),
                    );
                    let queue = queues[port.index()];
                    assert_eq!(direction.backlog, amount((queue.packets, queue.bytes)), "{what} {name}");
                    let classes: Vec<u8> = direction.classes.iter().map(|class| class.dscp).collect();
                    let mut wanted: Vec<u8> = events.iter().map(|event| event.dscp).collect();
                    wanted.sort_unstable();
                    wanted.dedup();
                    wanted.retain(|class| of(events, Some(*class)).offered.0 > 0);
                    assert_eq!(classes, wanted, "{what} {name}");
                    for class in &direction.classes {
                        let (all, new) =
                            (of(events, Some(class.dscp)), of(&events[seen..], Some(class.dscp)));
                        assert_eq!(class.total.offered, amount(all.offered));
                        assert_eq!(class.interval.delivered, amount(new.delivered));
                        assert_eq!(class.total.drops_by_reason, named(&all.drops));
                        assert_eq!(class.backlog.packets as i64, all.backlog.0);
                        let counts =
                            sample.ports[port.index()].classes.iter().find(|(dscp, _)| *dscp == class.dscp);
                        check_buckets(
                            &counts.unwrap().1.sojourn.counts,
                            counts.unwrap().1.sojourn.sum_nanos,
                            &all,
                        );
                    }
                    let sum = &mut sums[port.index()];
                    sum.0 += direction.rate_mbps * snapshot.interval_s * 1e6 / 8.0;
                    sum.1 += direction.capacity_mbps.unwrap() * snapshot.interval_s * 1e6 / 8.0;
                    let usage = sample.ports[port.index()].usage;
                    assert!((sum.0 - direction.total.sent.bytes as f64).abs() < 2.0, "{what}: {sum:?}");
                    assert!((sum.1 - usage.offered_bytes as f64).abs() < 2.0, "{what}: {sum:?} {usage:?}");
                }
                seen = events.len();
                before = Some(sample);
            }
        }
    }
}

fn check_buckets(counts: &[u64], sum_nanos: u128, oracle: &Oracle) {
    assert_eq!(sum_nanos, oracle.sojourns.iter().map(|nanos| u128::from(*nanos)).sum::<u128>());
    let mut cumulative = 0;
    for (bound, count) in SOJOURN_BOUNDS_NANOS.iter().zip(counts) {
        cumulative += count;
        assert_eq!(cumulative, oracle.sojourns.iter().filter(|nanos| *nanos <= bound).count() as u64);
    }
    assert_eq!(counts.iter().sum::<u64>(), oracle.sojourns.len() as u64);
}

/// A link without a rate limit has no capacity, and an interval of zero length has no rate.
#[test]
fn unlimited_links_and_empty_intervals_have_no_rates() {
    let mut driver = link(plan("taildrop", "line:infinite", 0), 1);
    let sample = driver.sample(Arc::default(), 0);
    let snapshot = Snapshot::between(None, &sample);
    assert_eq!((snapshot.down.capacity_mbps, snapshot.down.rate_mbps, snapshot.interval_s), (None, 0.0, 0.0));
    turn_until(&mut driver, us(500_000));
    let later = Snapshot::between(Some(&sample), &driver.sample(Arc::default(), 0));
    assert!(later.down.capacity_mbps.is_none() && later.down.rate_mbps > 0.0);
}

#[test]
fn the_metrics_tap_allocates_nothing() {
    let plan = plan("bode", "line:12mbit", 0);
    let (path, nodes) = plan.clone().build().unwrap();
    let mut metrics = Metrics::new(&plan).unwrap();
    let bytes = packet(Make { version: 4, flow: 1, dscp: 0, ecn: 2, bytes: 1500, number: 1 });
    let before = allocations();
    for number in 0..100_000_u64 {
        let packet = Packet {
            bytes: 1500,
            dscp: (number % 64) as u8,
            ecn: Ecn::Ect0,
            arrival: Time::from_nanos(number * 1000),
            ..Packet::default()
        };
        let time = Time::from_nanos(number * 1000 + number * number % 50_000_000_000);
        for (node, kind) in [
            (nodes.queue[0], EventKind::Enqueued),
            (nodes.queue[0], EventKind::Dequeued),
            (nodes.link[0], EventKind::Departed),
            (nodes.exit[1], EventKind::Delivered),
        ] {
            let (entered, reached_bottleneck) = (packet.arrival, packet.arrival);
            metrics.event(&Event { time, node, kind, packet, entered, reached_bottleneck }, &bytes);
        }
    }
    assert_eq!(allocations(), before);
    assert_eq!(metrics.port(Port::Inside).sojourn().count(), 100_000);
    assert_eq!(path.nodes().count(), 10);
}

/// Another thread sends requests while this one carries packets: samples, a replacement, a stop, and a request after the end.
#[test]
fn requests_of_other_threads_are_answered() {
    let mut driver = link(plan("taildrop", "line:12mbit", 0), 3);
    let (line, mut inbox) = control(LinkSettings::default(), Alarm::new().unwrap());
    let other = line.clone();
    let asking = std::thread::spawn(move || {
        let mut sampler = Sampler::new(other.clone());
        let first = sampler.snapshot().unwrap();
        let mut settings = LinkSettings::default();
        settings.down.link = "1mbit".to_string();
        let replaced = other.replace(plan("codel", "1mbit", 0), settings.clone()).unwrap();
        assert!(replaced.unwrap().is_any());
        let mut wrong = plan("codel", "1mbit", 0);
        wrong.down.impairment.loss = LossModel::Random(2.0);
        assert!(other.replace(wrong, LinkSettings::default()).unwrap().is_err());
        let second = sampler.snapshot().unwrap();
        assert_eq!((first.reloads, second.reloads), (0, 1));
        assert_eq!(second.down.setting, settings.down);
        assert!((second.time_s - first.time_s - second.interval_s).abs() < 2e-6);
        other.stop().unwrap();
        while sampler.snapshot().is_ok() {}
        assert!(other.stop().is_err() && other.replace(plan("codel", "1mbit", 0), settings).is_err());
    });
    let mut now = 0;
    loop {
        now += 100;
        turn_until(&mut driver, us(now));
        if inbox.serve(&mut driver) == LoopAction::Stop {
            break;
        }
    }
    drop(inbox);
    asking.join().unwrap();
    drop(line);
    assert_eq!(driver.emulator().audit(), Ok(()));
}
