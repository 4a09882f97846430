//! Replacing nodes in the middle of traffic: nothing is lost, nothing is dropped for it, nothing overtakes, and the packet on
//! the link ends when it would have.

use crate::common::{Event, Log, drain, ms, packet, queue};
use proptest::prelude::*;
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{DropReason, Packet, Span, Time};
use qdelay_path::link::EXAMPLES;
use qdelay_path::*;
use qdelay_trace::ScheduleBuilder;
use std::collections::BTreeMap;

fn us(n: u64) -> Time {
    Time::from_nanos(n * 1000)
}

/// A link by its text; `trace:MS,MS...` is a trace that repeats, `once:` one that does not. No overhead.
fn link(text: &str) -> AnyLink {
    match text.split_once(':') {
        Some((kind @ ("trace" | "once"), times)) => {
            let mut builder = ScheduleBuilder::default();
            for time in times.split(',') {
                builder.push(time.parse().unwrap(), 1).unwrap();
            }
            TraceLink::new(&builder.finish().unwrap(), 0, kind == "trace").into()
        }
        _ => AnyLink::build(&parse_link(text).unwrap()).unwrap(),
    }
}

/// A link that has run for rounds begins as one that has not.
#[test]
fn a_trace_begins_anew() {
    let trace = || link("trace:3,10").opportunities().cloned().unwrap();
    let (mut ran, mut fresh) = (trace(), trace());
    for _ in 0..5 {
        ran.burn();
    }
    assert_eq!(ran.next(), ms(30));
    ran.begin_at(ms(7));
    fresh.begin_at(ms(7));
    assert_eq!((ran.next(), &ran), (ms(10), &fresh));
}

fn discipline(text: &str) -> AnyQdisc {
    AnyQdisc::parse(text).unwrap()
}

/// queue -> (gate ->) link -> delay -> exit.
fn path(qdisc: &str, text: &str, delay: Span, gate: Option<AnyPacer>) -> Path {
    let builder = PathBuilder::new()
        .node("queue", queue(qdisc))
        .node("link", NodeSpec::Link(link(text)))
        .node("impairment", NodeSpec::Impairment(ImpairmentSpec::default()))
        .node("delay", NodeSpec::delay(delay))
        .node("exit", NodeSpec::Exit)
        .chain(&["link", "impairment", "delay", "exit"]);
    let builder = match gate {
        Some(gate) => builder.node("gate", NodeSpec::Gate(gate)).chain(&["queue", "gate", "link"]),
        None => builder.chain(&["queue", "link"]),
    };
    builder.build(1).unwrap()
}

/// A path with nodes found, and what happened on it.
struct Bench {
    path: Path,
    log: Log,
    handle: u64,
}

impl Bench {
    fn new(qdisc: &str, text: &str) -> Bench {
        Bench { path: path(qdisc, text, Span::ZERO, None), log: Log::default(), handle: 0 }
    }
    fn node(&self, name: &str) -> NodeId {
        self.path.node(name).unwrap()
    }
    fn send(&mut self, now: Time, count: u64, bytes: u32) {
        for _ in 0..count {
            let entry = self.node("queue");
            self.path.ingress(now, entry, packet(self.handle, bytes), &mut self.log).unwrap();
            self.handle += 1;
        }
    }
    fn link(&mut self, now: Time, text: &str) {
        let node = self.node("link");
        self.path.replace_link(now, node, link(text), &mut self.log).unwrap();
        self.path.audit().unwrap();
    }
    fn qdisc(&mut self, now: Time, text: &str) {
        let node = self.node("queue");
        self.path.replace_queue(now, node, discipline(text), &mut self.log).unwrap();
        self.path.audit().unwrap();
    }
    fn delay(&mut self, now: Time, spec: DelaySpec) {
        let node = self.node("delay");
        self.path.replace_delay(now, node, spec, &mut self.log).unwrap();
        self.path.audit().unwrap();
    }
    fn impairment(&mut self, now: Time, spec: ImpairmentSpec) {
        let node = self.node("impairment");
        self.path.replace_impairment(now, node, spec, &mut self.log).unwrap();
        self.path.audit().unwrap();
    }
    fn hold(&mut self, now: Time, is_held: bool) {
        let node = self.node("queue");
        self.path.hold_queue(now, node, is_held, &mut self.log).unwrap();
        self.path.audit().unwrap();
    }
    /// Microseconds at which packets were delivered up to `end`.
    fn delivered(&mut self, end: Time) -> Vec<u64> {
        drain(&mut self.path, end, &mut self.log);
        self.log.delivered().iter().map(|(nanos, _)| nanos / 1000).collect()
    }
}

#[test]
fn a_line_ends_the_packet_it_has_begun() {
    // 1500 bytes take 12 ms at 1 Mbit/s and 1.2 ms at 10.
    for text in ["line:10mbit", "steps:0s@10mbit+1s@20mbit"] {
        let mut bench = Bench::new("taildrop", "line:1mbit");
        bench.send(us(0), 3, 1500);
        bench.link(us(5_000), text);
        assert_eq!(bench.delivered(ms(100)), [12_000, 13_200, 14_400], "{text}");
    }
    let mut bench = Bench::new("taildrop", "line:1mbit");
    bench.send(us(0), 3, 1500);
    bench.link(us(5_000), "htb:10mbit:burst=1500b");
    // A full bucket takes one at once and is not in debt; the next one leaves it in debt for 1.2 ms.
    assert_eq!(bench.delivered(ms(100)), [12_000, 12_000, 12_000]);
    let mut bench = Bench::new("taildrop", "line:1mbit");
    bench.send(us(0), 3, 1500);
    bench.link(us(5_000), "trace:1,3");
    // Opportunities at 6, 8, 9, 11, 12, 14, 15 ms: the schedule has begun with the replacement. Events at the time of the
    // change come too early for it.
    assert_eq!(bench.delivered(ms(100)), [12_000, 14_000, 15_000]);
}

#[test]
fn a_trace_ends_the_packet_it_has_begun() {
    let mut bench = Bench::new("taildrop", "trace:2,4,6,8,10");
    bench.send(us(100), 2, 4000);
    // Three opportunities to the packet; the first has passed, and a part of the third is left over and lost.
    bench.link(us(3_000), "line:32mbit");
    assert_eq!(bench.delivered(ms(100)), [6_000, 7_000]);
    let mut bench = Bench::new("taildrop", "once:2,4,6,7,8,30");
    bench.send(us(100), 2, 1504);
    // Between two packets the new one starts at once.
    bench.link(us(3_000), "line:12032kbit");
    assert_eq!(bench.delivered(ms(100)), [2_000, 4_000]);
}

#[test]
fn a_bucket_in_debt_is_busy() {
    let mut bench = Bench::new("taildrop", "htb:1mbit:burst=0");
    bench.send(us(0), 2, 1500);
    bench.link(us(5_000), "htb:10mbit:burst=0");
    bench.link(us(6_000), "htb:5mbit:burst=0");
    bench.send(us(7_000), 1, 1500);
    assert_eq!(bench.delivered(ms(100)), [0, 12_000, 14_400], "also where it is replaced twice");
    // One that has nothing to send keeps its debt, too.
    let mut bench = Bench::new("taildrop", "htb:1mbit:burst=0");
    bench.send(us(0), 1, 1500);
    bench.link(us(5_000), "line:12mbit");
    bench.send(us(6_000), 1, 1500);
    assert_eq!(bench.delivered(ms(100)), [0, 13_000]);
}

#[test]
fn what_would_never_end_leaves_at_once() {
    for text in ["steps:0s@1mbit+5ms@0", "once:1"] {
        let mut bench = Bench::new("taildrop", text);
        bench.send(us(0), 2, 3000);
        assert_eq!(bench.delivered(ms(60_000)), [0; 0], "{text}");
        bench.link(ms(70_000), "line:24mbit");
        assert_eq!(bench.delivered(ms(80_000)), [70_000_000, 70_001_000], "{text}");
    }
    // A trace that ends while it is on the way out.
    let mut bench = Bench::new("taildrop", "once:1,5");
    bench.send(us(0), 2, 4000);
    bench.link(us(3_000), "line:32mbit");
    assert_eq!(bench.delivered(ms(80_000)), [5_000, 6_000]);
}

#[test]
fn profiles_begin_with_the_replacement() {
    let mut bench = Bench::new("taildrop", "line:12mbit");
    bench.link(ms(1000), "steps:0s@12mbit+10ms@0+20ms@1200kbit:repeat=30ms");
    bench.send(ms(1000), 12, 1500);
    let expected: Vec<u64> = (1..=10).map(|n| 1_000_000 + n * 1000).chain([1_030_000, 1_031_000]).collect();
    assert_eq!(bench.delivered(ms(2000)), expected);
    let usage = bench.path.link_usage(bench.node("link"), ms(1045)).unwrap();
    // A second of 12 Mbit/s, and of the profile 10 ms and another 10 ms of that and 10 ms of 1.2 Mbit/s.
    assert_eq!((usage.sent_bytes, usage.offered_bytes), (12 * 1500, 1_500_000 + 15_000 + 1_500 + 15_000));
}

#[test]
fn usage_goes_on_and_an_endless_link_counts_what_it_sent() {
    let mut bench = Bench::new("taildrop", "line:8mbit:overhead=100");
    bench.send(us(0), 2, 900);
    bench.link(ms(10), "line:infinite");
    bench.send(ms(20), 3, 500);
    let node = bench.node("link");
    assert_eq!(bench.path.link_usage(node, ms(25)).unwrap().offered_bytes, u64::MAX);
    bench.link(ms(30), "trace:1,2,3");
    let usage = bench.path.link_usage(node, ms(32)).unwrap();
    assert_eq!((usage.sent_bytes, usage.offered_bytes), (2000 + 1500, 10_000 + 1500 + 2 * 1504));
    assert_eq!(
        bench.path.link_usage(node, ms(1)).map(|usage| usage.sent_bytes),
        Some(3500),
        "no time of its own"
    );
}

#[test]
fn the_old_discipline_is_served_first_and_by_its_own_rules() {
    let mut bench = Bench::new("bode:target=20ms:min_keep=0", "line:1mbit");
    bench.send(us(0), 4, 1500);
    bench.qdisc(us(1000), "taildrop:limit=2");
    assert_eq!(bench.path.inside(bench.node("queue")).packets, 3);
    assert_eq!(bench.path.qdisc(bench.node("queue")).unwrap().backlog().packets, 0);
    bench.send(us(2000), 4, 1500);
    bench.qdisc(us(3000), "pie");
    bench.send(us(4000), 1, 1500);
    // The third has been there for 24 ms when its turn comes, which is too long for BoDe, but for the last one. Two of the next
    // four found no room.
    assert_eq!(bench.delivered(ms(100)), [12_000, 24_000, 36_000, 48_000, 60_000, 72_000]);
    let drops = |reason| bench.path.counters(bench.node("queue")).unwrap().dropped(reason).packets;
    assert_eq!((drops(qdelay_core::aqm::Bode::SOJOURN_BOUND), drops(DropReason::TAIL_LIMIT)), (1, 2));
    let order: Vec<u64> = bench.log.delivered().iter().map(|(_, handle)| *handle).collect();
    assert_eq!(order, [0, 1, 3, 4, 5, 8]);
}

/// A discipline without timers gives way to one that has some, and the other way round: both run while both are there.
#[test]
fn timers_come_and_go() {
    let mut bench = Bench::new("taildrop", "line:1mbit");
    bench.send(us(0), 20, 6000);
    bench.qdisc(us(500), "pie:target=1ms");
    bench.send(us(1000), 20, 6000);
    bench.qdisc(us(2000), "taildrop");
    // The line has its next event after 48 ms; PIE looks at its queue every 15 ms.
    assert!(bench.path.next_deadline() < us(18_000), "{:?}", bench.path.next_deadline());
    let sent = bench.delivered(ms(5000)).len() as u64;
    let dropped = bench.path.counters(bench.node("queue")).unwrap().dropped_total().packets;
    assert_eq!(sent + dropped, 40);
    assert_eq!(bench.path.next_deadline(), Time::NEVER, "the timer has gone with its discipline");
}

#[test]
fn packets_on_their_way_keep_their_times() {
    let mut bench = Bench::new("taildrop", "line:infinite");
    bench.delay(us(0), DelaySpec::constant(Span::from_millis(10)));
    bench.send(us(0), 1, 100);
    bench.send(us(1000), 1, 100);
    bench.delay(us(2000), DelaySpec::constant(Span::from_millis(1)));
    bench.send(us(2000), 1, 100);
    bench.send(us(10_500), 1, 100);
    bench.delay(us(10_600), DelaySpec::default());
    bench.send(us(10_700), 1, 100);
    bench.send(us(12_000), 1, 100);
    assert_eq!(bench.delivered(ms(100)), [10_000, 11_000, 11_000, 11_500, 11_500, 12_000]);
}

/// The draws begin again: what follows a replacement is what followed the beginning.
#[test]
fn random_streams_are_derived_anew() {
    let jitter = DelaySpec::constant(Span::from_millis(5)).with_jitter(Span::from_millis(5));
    let loss =
        |probability| ImpairmentSpec { loss: LossModel::Random(probability), ..ImpairmentSpec::default() };
    let mut bench = Bench::new("taildrop", "line:infinite");
    let mut round = |start: Time, seed: Option<u64>| {
        let before = bench.log.events.len();
        if let Some(seed) = seed {
            bench.path.set_seed(seed);
        }
        bench.delay(start, jitter.clone());
        // The same model would go on where it is.
        bench.impairment(start, loss(0.0));
        bench.impairment(start, loss(0.3));
        for n in 0..50 {
            bench.send(start + Span::from_millis(20 * n), 1, 100);
        }
        bench.delivered(start + Span::from_secs(2));
        let times = bench.log.events[before..].iter().filter_map(|event| match event {
            Event::Delivered { now, .. } => Some(now.since(start)),
            _ => None,
        });
        times.collect::<Vec<_>>()
    };
    let first = round(ms(0), None);
    assert_eq!(round(ms(10_000), None), first);
    assert_ne!(round(ms(20_000), Some(2)), first);
    assert_eq!(round(ms(30_000), Some(1)), first);
}

/// A packet in transmission goes on; those in the queue wait, and leave as soon as they may, at the rate of the link.
#[test]
fn a_held_queue_gives_nothing() {
    let mut bench = Bench::new("taildrop", "line:1mbit");
    bench.send(us(0), 3, 1500);
    bench.hold(us(5_000), true);
    bench.send(us(20_000), 1, 1500);
    assert_eq!(bench.delivered(us(49_999)), [12_000]);
    bench.hold(us(50_000), false);
    assert_eq!(bench.delivered(ms(200)), [12_000, 62_000, 74_000, 86_000]);
    // The opportunities of a trace pass unused; the schedule goes on.
    let mut bench = Bench::new("codel", "trace:10");
    bench.hold(us(0), true);
    bench.send(us(1_000), 2, 1500);
    bench.hold(us(35_000), false);
    assert_eq!(bench.delivered(ms(200)), [40_000, 50_000]);
    // Held twice is held once.
    bench.hold(ms(300), true);
    bench.hold(ms(301), true);
    bench.send(ms(302), 1, 1500);
    bench.qdisc(ms(303), "bode");
    bench.link(ms(304), "line:infinite");
    bench.send(ms(305), 1, 1500);
    bench.hold(ms(306), false);
    assert_eq!(bench.delivered(ms(900)), [40_000, 50_000, 306_000, 306_000]);
}

/// While the path is cut every packet behind the link is dropped; nothing is drawn, so that what follows is what would have followed.
#[test]
fn a_cut_drops_everything_and_draws_nothing() {
    let spec = |is_cut| ImpairmentSpec { loss: LossModel::Random(0.3), is_cut, ..ImpairmentSpec::default() };
    let run = |cut: bool| {
        let mut bench = Bench::new("taildrop", "line:infinite");
        bench.impairment(us(0), spec(false));
        bench.send(ms(1), 50, 100);
        if cut {
            bench.impairment(ms(2), spec(true));
            bench.send(ms(3), 20, 100);
            bench.impairment(ms(4), spec(false));
        }
        bench.send(ms(5), 50, 100);
        bench.delivered(ms(9));
        let dropped = |reason: DropReason| {
            bench
                .log
                .events
                .iter()
                .filter(|event| matches!(event, Event::Dropped { reason: why, .. } if *why == reason))
                .count()
        };
        (dropped(CUT), dropped(DropReason::LOSS))
    };
    let (with, without) = (run(true), run(false));
    assert_eq!((with.0, without.0), (20, 0));
    assert_eq!(with.1, without.1);
    assert!(with.1 > 10);
}

#[test]
fn what_cannot_be_replaced() {
    let mut bench = Bench::new("taildrop", "line:1mbit");
    bench.send(us(1000), 1, 1500);
    let [queue, wire, impairment, delay, exit] =
        ["queue", "link", "impairment", "delay", "exit"].map(|name| bench.node(name));
    let (path, log) = (&mut bench.path, &mut Log::default());
    let error = path.replace_queue(us(2000), wire, discipline("bode"), log).unwrap_err();
    assert_eq!(error, PathError::NotA { node: wire, expected: "queue" });
    assert_eq!(error.to_string(), "node 1 cannot be replaced by a queue: expected a queue");
    let error = path.replace_link(us(2000), exit, link("1mbit"), log).unwrap_err();
    assert_eq!(error, PathError::NotA { node: exit, expected: "link" });
    let error = path.replace_delay(us(2000), queue, DelaySpec::default(), log).unwrap_err();
    assert_eq!(error, PathError::NotA { node: queue, expected: "delay" });
    let spec = ImpairmentSpec { loss: LossModel::Random(1.5), ..ImpairmentSpec::default() };
    let error = PathError::Loss { node: impairment };
    assert_eq!(path.replace_impairment(us(2000), impairment, spec, log), Err(error));
    assert_eq!(
        path.hold_queue(us(2000), wire, true, log),
        Err(PathError::NotA { node: wire, expected: "queue" })
    );
    let back = PathError::TimeReversed { now: us(1000), told: us(500) };
    assert_eq!(path.replace_queue(us(500), queue, discipline("bode"), log), Err(back));
    assert_eq!(path.replace_link(us(500), wire, link("1mbit"), log), Err(back));
    assert_eq!(path.replace_delay(us(500), delay, DelaySpec::default(), log), Err(back));
    assert_eq!(path.now(), us(1000), "nothing has happened");
}

const DISCIPLINES: [&str; 10] = [
    "taildrop:limit=8",
    "taildrop:limit_bytes=6000b",
    "headdrop:limit=5",
    "codel:target=1ms:interval=10ms",
    "pie:target=2ms",
    "bode:target=5ms",
    "fq_codel:limit=20",
    "sfq",
    "drr",
    "red",
];
/// Those of the above that keep the order of arrival over all flows.
const FIFO: usize = 6;

const ROUNDS: [&str; 8] = [
    "line:3mbit",
    "line:infinite",
    "htb:5mbit",
    "htb:2mbit:burst=9kb:overhead=14",
    "trace:1,1,2,5",
    "once:1,3,4,4,9",
    "steps:0s@9mbit+5ms@0+9ms@2mbit:repeat=12ms",
    "steps:0s@4mbit+10ms@0",
];

/// One of those, or of the registry.
fn round(index: usize) -> &'static str {
    [&ROUNDS, EXAMPLES].concat()[index]
}

#[derive(Clone, Debug)]
enum Step {
    Packet { flow: u32, bytes: u32 },
    Queue(usize),
    Link(usize),
    Delay { us: u64, jitter_us: u64 },
    Loss(f64),
    Hold(bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0_u32..4, 20_u32..4000).prop_map(|(flow, bytes)| Step::Packet { flow, bytes }),
        1 => (0..DISCIPLINES.len()).prop_map(Step::Queue),
        1 => (0..ROUNDS.len() + EXAMPLES.len()).prop_map(Step::Link),
        1 => (0_u64..5000, prop_oneof![Just(0), 0_u64..3000])
            .prop_map(|(us, jitter_us)| Step::Delay { us, jitter_us }),
        1 => prop_oneof![Just(0.0), Just(0.1)].prop_map(Step::Loss),
        1 => any::<bool>().prop_map(Step::Hold),
    ]
}

fn replace(path: &mut Path, now: Time, step: &Step, log: &mut Log) {
    let node = |name| path.node(name).unwrap();
    let [queue, wire, impairment, delay] = ["queue", "link", "impairment", "delay"].map(node);
    match step {
        Step::Queue(index) => path.replace_queue(now, queue, discipline(DISCIPLINES[*index]), log),
        Step::Link(index) => path.replace_link(now, wire, link(round(*index)), log),
        Step::Delay { us, jitter_us } => {
            let spec = DelaySpec::constant(Span::from_micros(*us)).with_jitter(Span::from_micros(*jitter_us));
            path.replace_delay(now, delay, spec, log)
        }
        Step::Loss(loss) => {
            let spec = ImpairmentSpec { loss: LossModel::Random(*loss), ..ImpairmentSpec::default() };
            path.replace_impairment(now, impairment, spec, log)
        }
        // A queue behind which there is a gate cannot be held.
        Step::Hold(is_held) => match path.hold_queue(now, queue, *is_held, log) {
            Err(PathError::NotA { .. }) => Ok(()),
            held => held,
        },
        Step::Packet { .. } => Ok(()),
    }
    .unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: qdelay_testing::effort::cases(400), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_nothing_overtakes(
        steps in prop::collection::vec((prop_oneof![Just(0), 0_u64..2_000_000], step()), 1..200),
        first in (0..DISCIPLINES.len(), 0..ROUNDS.len() + EXAMPLES.len()),
        gate in prop_oneof![Just(None), Just(Some(AnyPacer::PASS_THROUGH))],
    ) {
        let (disciplines, delay) = (DISCIPLINES[first.0], Span::from_micros(700));
        let mut path = path(disciplines, round(first.1), delay, gate);
        let [entry, wire] = ["queue", "link"].map(|name| path.node(name).unwrap());
        let mut other = path.clone();
        let (mut log, mut log_other) = (Log::default(), Log::default());
        let (mut now, mut sent, mut generation, mut is_fifo) = (Time::ZERO, Vec::new(), 0, first.0 < FIFO);
        let mut usage = LinkUsage::default();
        for (gap, step) in &steps {
            now += Span::from_nanos(*gap);
            // One host stops at each deadline, the other never between two steps.
            drain(&mut path, now, &mut log);
            path.poll(now, &mut log).unwrap();
            let before = log.events.len();
            if let Step::Packet { flow, bytes } = step {
                let packet = Packet { flow: *flow, ..packet(sent.len() as u64, *bytes) };
                sent.push((*flow, generation));
                path.ingress(now, entry, packet, &mut log).unwrap();
                other.ingress(now, entry, packet, &mut log_other).unwrap();
            } else {
                if let Step::Queue(index) = step {
                    generation += 1;
                    is_fifo &= *index < FIFO;
                }
                replace(&mut path, now, step, &mut log);
                replace(&mut other, now, step, &mut log_other);
                // A discipline that is asked for a packet may drop by its law, and a delay may lose what enters it; no
                // more than that.
                let for_want_of_room = log.events[before..].iter().any(|event| matches!(event,
                    Event::Dropped { reason, .. } if !["codel", "sojourn_bound", "loss"].contains(&reason.name())));
                prop_assert!(!for_want_of_room, "{:?}", &log.events[before..]);
            }
            path.audit().unwrap();
            let next = path.link_usage(wire, now).unwrap();
            prop_assert!(next.sent_bytes >= usage.sent_bytes);
            usage = next;
        }
        // A link that carries whatever is left.
        for step in [Step::Link(0), Step::Hold(false)] {
            replace(&mut path, now, &step, &mut log);
            replace(&mut other, now, &step, &mut log_other);
        }
        let end = now + Span::from_secs(120);
        drain(&mut path, end, &mut log);
        other.poll(end, &mut log_other).unwrap();
        prop_assert_eq!(&log, &log_other);

        let mut ended = BTreeMap::new();
        let (mut newest, mut oldest) = (BTreeMap::new(), 0);
        for event in &log.events {
            match *event {
                Event::Dequeued { handle, .. } => {
                    // What an older discipline holds leaves first.
                    let generation = sent[handle as usize].1;
                    prop_assert!(generation >= oldest, "{} after {}", generation, oldest);
                    oldest = generation;
                }
                Event::Delivered { handle, .. } => {
                    let flow = if is_fifo { 0 } else { sent[handle as usize].0 };
                    let before = newest.insert(flow, handle);
                    prop_assert!(before < Some(handle), "{:?} before {}", before, handle);
                    prop_assert!(ended.insert(handle, ()).is_none());
                }
                Event::Dropped { handle, .. } => prop_assert!(ended.insert(handle, ()).is_none()),
                _ => {}
            }
        }
        let inside: u64 = path.nodes().map(|node| path.inside(node).packets).sum();
        prop_assert_eq!((ended.len(), inside), (sent.len(), 0));
    }
}
