//! Random graphs and random traffic: nothing is lost, nothing overtakes, and polling more or less often changes nothing.

use crate::common::{Event, Log, drain, ms, packet, queue};
use proptest::prelude::*;
use qdelay_core::pacer::{Credit, PacerSetting};
use qdelay_core::{Packet, Rate, Span, Time};
use qdelay_path::link::EXAMPLES;
use qdelay_path::*;
use qdelay_ran::radio::{Bler, Channel, Mcs};
use qdelay_ran::rlc::RlcSetting;
use qdelay_ran::tables::Carrier;
use qdelay_ran::{HarqSetting, UeSetting};
use qdelay_trace::ScheduleBuilder;
use std::collections::BTreeMap;

/// A stage of a way; `Queued` is a queue and what takes from it.
#[derive(Clone, Debug)]
enum Stage {
    Delay { us: u64, jitter_us: u64, loss: f64 },
    Queued { discipline: &'static str, taker: Taker },
}

#[derive(Clone, Debug)]
enum Taker {
    Line(u64),
    Shaper(u64),
    Trace(Vec<u32>),
    Steps(u64, u64),
    PassThrough,
    /// Window in bytes and the delay of the report, which comes from the end of the way.
    Credit(u64, u64),
    /// The same, asked every so many microseconds, and so many packets in a millisecond.
    Polled(u64, u64, u32),
    Uplink(u64),
    /// One of the registry.
    Link(&'static str),
    Cell(Radio),
}

/// A cell of one bearer, and a pacer with its own queue before it that hears of it so many microseconds later.
#[derive(Clone, Debug)]
struct Radio {
    rlc: RlcSetting,
    pacer: &'static str,
    delay_us: u64,
    mcs: u8,
    tti_ms: u64,
    bler: f64,
    retransmissions: u8,
}

fn radio() -> impl Strategy<Value = Radio> {
    let rlc = prop::sample::select(vec![RlcSetting::lte_um(), RlcSetting::nr_um(), RlcSetting::lte_am()]);
    let pacer = prop::sample::select(vec!["vanilla", "dynrlc", "drql", "5g-bdp", "e5g-bdp", "credit:3000b"]);
    let loss = prop_oneof![Just((0.0, 3)), Just((0.1, 3)), Just((0.5, 0))];
    (rlc, pacer, 0_u64..2500, 4_u8..28, 1_u64..5, loss).prop_map(
        |(rlc, pacer, delay_us, mcs, tti_ms, loss)| {
            let (bler, retransmissions) = loss;
            Radio { rlc, pacer, delay_us, mcs, tti_ms, bler, retransmissions }
        },
    )
}

fn cell(radio: &Radio) -> NodeSpec {
    let bler = Bler::new(radio.bler, Bler::SLOPE).unwrap();
    let retransmissions = radio.retransmissions;
    let setting = CellSetting::new(Carrier::lte(25).unwrap())
        .tti(Span::from_millis(radio.tti_ms))
        .harq(HarqSetting { bler, retransmissions, ..HarqSetting::default() })
        .ue(UeSetting::new(Channel::Mcs(Mcs(radio.mcs))).bearer(radio.rlc, 1));
    NodeSpec::cell(setting)
}

fn stage() -> impl Strategy<Value = Stage> {
    let discipline = prop::sample::select(vec![
        "taildrop:limit=5",
        "taildrop:limit_bytes=6000b",
        "headdrop:limit=4",
        "codel:target=1ms:interval=10ms",
        "pie:target=2ms",
        "bode:target=5ms",
    ]);
    let taker = prop_oneof![
        (1_u64..50).prop_map(Taker::Line),
        (1_u64..50).prop_map(Taker::Shaper),
        prop::collection::vec(0_u32..5, 1..12).prop_map(Taker::Trace),
        (1_u64..20, 0_u64..20).prop_map(|(a, b)| Taker::Steps(a, b)),
        Just(Taker::PassThrough),
        (500_u64..8000, 0_u64..3000).prop_map(|(window, us)| Taker::Credit(window, us)),
        (500_u64..8000, 1_u64..3000, 1_u32..9).prop_map(|(window, us, n)| Taker::Polled(window, us, n)),
        (100_u64..3000).prop_map(Taker::Uplink),
        prop::sample::select(EXAMPLES).prop_map(Taker::Link),
        radio().prop_map(Taker::Cell),
    ];
    prop_oneof![
        (0_u64..3000, prop_oneof![Just(0), 0_u64..2000], prop_oneof![Just(0.0), Just(0.1)])
            .prop_map(|(us, jitter_us, loss)| Stage::Delay { us, jitter_us, loss }),
        (discipline, taker).prop_map(|(discipline, taker)| Stage::Queued { discipline, taker }),
    ]
}

/// Several ways from one classifier to one exit, each a chain of stages; ways may end in a shared last queue.
fn build(ways: &[Vec<Stage>], shared: bool, declared_backwards: bool) -> Result<Path, BuildError> {
    let mut rules = Rules::by(Key::Flow);
    let mut nodes: Vec<(String, NodeSpec)> = Vec::new();
    let (mut edges, mut feedback, mut clocks) = (Vec::new(), Vec::new(), Vec::new());
    let end = if shared { "last" } else { "exit" };
    for (way, stages) in ways.iter().enumerate() {
        let mut names = Vec::new();
        for (index, stage) in stages.iter().enumerate() {
            let name = |what: &str| format!("{what} {way}.{index}");
            match stage {
                Stage::Delay { us, jitter_us, loss } => {
                    let span = Span::from_micros(*us);
                    let spec = DelaySpec::constant(span).with_jitter(Span::from_micros(*jitter_us));
                    let loss = ImpairmentSpec { loss: LossModel::Random(*loss), ..ImpairmentSpec::default() };
                    nodes.push((name("loss"), NodeSpec::Impairment(loss)));
                    nodes.push((name("delay"), NodeSpec::Delay(spec)));
                    names.extend([name("delay"), name("loss")]);
                }
                Stage::Queued { discipline, taker } => {
                    nodes.push((name("queue"), queue(discipline)));
                    names.push(name("queue"));
                    if let Taker::Cell(radio) = taker {
                        let setting = PacerSetting::default();
                        let pacer = AnyPacer::parse(radio.pacer, &setting).unwrap();
                        nodes.push((name("pacer"), NodeSpec::Gate(pacer)));
                        nodes.push((name("rlc"), queue("taildrop:limit=50")));
                        names.extend([name("pacer"), name("rlc")]);
                        feedback.push((name("rlc"), name("pacer"), Span::from_micros(radio.delay_us)));
                    }
                    nodes.push((name("taker"), take(taker)));
                    names.push(name("taker"));
                    if let Taker::Polled(_, us, packets) = taker {
                        clocks.push((name("taker"), Span::from_micros(*us), *packets));
                    }
                    if let Taker::Credit(_, us) | Taker::Polled(_, us, _) = taker {
                        // Whatever comes next reports, or its credit would be lost with the packets it drops.
                        let next = match stages.get(index + 1) {
                            None => end.to_string(),
                            Some(Stage::Delay { .. }) => format!("delay {way}.{}", index + 1),
                            Some(Stage::Queued { .. }) => format!("queue {way}.{}", index + 1),
                        };
                        feedback.push((next, name("taker"), Span::from_micros(*us)));
                    }
                }
            }
        }
        names.push(end.to_string());
        rules = rules.route(way as u32..=way as u32, &names[0], Some(way as u16));
        edges.extend(names.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())));
    }
    nodes.push(("entry".to_string(), NodeSpec::Classifier(rules)));
    nodes.push(("exit".to_string(), NodeSpec::Exit));
    if shared {
        nodes.push(("last".to_string(), queue("taildrop:limit=20")));
        nodes.push(("last link".to_string(), NodeSpec::link(Line::new(Rate::from_bps(20_000_000), 0))));
        edges.extend(
            [("last", "last link"), ("last link", "exit")].map(|e| (e.0.to_string(), e.1.to_string())),
        );
    }
    if declared_backwards {
        nodes.reverse();
    }
    let mut builder = PathBuilder::new();
    for (name, spec) in nodes {
        builder = builder.node(&name, spec);
    }
    for (from, to) in edges {
        builder = builder.connect(&from, &to);
    }
    for (from, to, delay) in feedback {
        builder = builder.feedback(&from, &to, delay);
    }
    for (gate, period, packets) in clocks {
        builder = builder.polling(&gate, period).opportunities(&gate, packets, Span::from_millis(1));
    }
    builder.build(42)
}

fn link(text: &str) -> NodeSpec {
    NodeSpec::Link(AnyLink::build(&parse_link(text).unwrap()).unwrap())
}

fn take(taker: &Taker) -> NodeSpec {
    let mbps = |n: u64| Rate::from_bps(n * 1_000_000);
    match taker {
        Taker::Line(n) => NodeSpec::link(Line::new(mbps(*n), 14)),
        Taker::Shaper(n) => NodeSpec::link(Shaper::new(mbps(*n), 14, 1540)),
        Taker::Trace(gaps) => {
            let (mut trace, mut at) = (ScheduleBuilder::default(), 1);
            for gap in gaps {
                at += gap;
                trace.push(at, 1).unwrap();
            }
            NodeSpec::link(TraceLink::new(&trace.finish().unwrap(), 4, true))
        }
        Taker::Steps(a, b) => link(&format!("steps:0s@{a}mbit+5ms@{b}mbit:repeat=12ms")),
        Taker::PassThrough => NodeSpec::Gate(AnyPacer::PASS_THROUGH),
        Taker::Credit(window, _) | Taker::Polled(window, ..) => NodeSpec::gate(Credit::new(*window)),
        Taker::Uplink(bytes) => link(&format!("uplink:bytes={bytes}")),
        Taker::Link(text) => link(text),
        Taker::Cell(radio) => cell(radio),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: qdelay_testing::effort::cases(200), ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_nothing_overtakes(
        ways in prop::collection::vec(prop::collection::vec(stage(), 1..5), 1..4),
        traffic in prop::collection::vec((0_u64..1_500_000, 0_u32..4, 20_u32..1501), 1..150),
        shared: bool,
        backwards: bool,
    ) {
        // A gate may come last before the exit or before a delay: both take what is pushed.
        let mut path = build(&ways, shared, backwards).unwrap();
        let entry = path.node("entry").unwrap();
        let mut other = path.clone();
        let (mut log, mut log_other) = (Log::default(), Log::default());
        let mut now = Time::ZERO;
        for (handle, &(gap, flow, bytes)) in traffic.iter().enumerate() {
            now += Span::from_nanos(gap);
            let packet = Packet { flow, ..packet(handle as u64, bytes) };
            // One host stops at each deadline, and twice there; the other never polls between arrivals.
            while path.next_deadline() <= now {
                let due = path.next_deadline();
                path.poll(due, &mut log).unwrap();
                path.poll(due, &mut log).unwrap();
                path.audit().unwrap();
            }
            path.ingress(now, entry, packet, &mut log).unwrap();
            other.ingress(now, entry, packet, &mut log_other).unwrap();
            path.audit().unwrap();
        }
        let end = now + Span::from_secs(120);
        drain(&mut path, end, &mut log);
        other.poll(end, &mut log_other).unwrap();
        prop_assert_eq!(&log, &log_other);

        let mut ended = BTreeMap::new();
        let mut last = BTreeMap::new();
        for event in &log.events {
            match *event {
                Event::Delivered { handle, class, .. } => {
                    prop_assert_eq!(u32::from(class), traffic[handle as usize].1);
                    let before = last.insert(class, handle);
                    prop_assert!(before < Some(handle), "{:?} before {}", before, handle);
                    prop_assert!(ended.insert(handle, *event).is_none());
                }
                Event::Dropped { handle, .. } => prop_assert!(ended.insert(handle, *event).is_none()),
                _ => {}
            }
        }
        // What is still inside after two minutes is held by a discipline or a link without capacity, never by a gate.
        let inside: u64 = path.nodes().map(|node| path.inside(node).packets).sum();
        prop_assert_eq!(ended.len() as u64 + inside, traffic.len() as u64);
        prop_assert_eq!(inside, 0);
        prop_assert!(path.next_deadline() == Time::NEVER || path.next_deadline() > end);
        let _ = ms(0);
    }
}
