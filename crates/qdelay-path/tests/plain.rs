//! A queue that nobody observes, in front of a line: whether its packets wait in a discipline or in the line's schedule, everything that
//! can be asked of the path is the same at any time.

use proptest::prelude::*;
use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{DropReason, Packet, Rate, Span, Time};
use qdelay_path::{AnyLink, Line, NodeId, NodeSpec, Observer, Path, PathBuilder};

/// What a host does.
#[derive(Clone, Debug)]
enum Step {
    /// A packet of this size comes to one of the two queues.
    Arrive {
        at: usize,
        bytes: u32,
    },
    Wait {
        nanos: u64,
    },
    ReplaceQueue,
    ReplaceLine,
}

/// What is told of the path, but for dequeues.
#[derive(Default, PartialEq, Debug)]
struct Events(Vec<(Time, NodeId, u64, &'static str)>);

impl Observer for Events {
    fn enqueued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.0.push((now, node, packet.handle, "enqueued"));
    }
    fn departed(&mut self, now: Time, node: NodeId, queue: NodeId, packet: &Packet) {
        self.0.push((now, queue, packet.handle, "taken from"));
        self.0.push((now, node, packet.handle, "departed"));
    }
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, _reason: DropReason) {
        self.0.push((now, node, packet.handle, "dropped"));
    }
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.0.push((now, node, packet.handle, "delivered"));
    }
}

/// Two queues with lines of their own that meet at a third.
fn path(bps: [u64; 3], limit: &str, is_unobserved: bool) -> (Path, [NodeId; 2], [NodeId; 2]) {
    let queue = |text: &str| NodeSpec::Queue(AnyQdisc::parse(text).unwrap());
    let line = |bps| NodeSpec::link(Line::new(Rate::from_bps(bps), 14));
    let mut builder = PathBuilder::new();
    let queues = ["one", "other"].map(|name| builder.add(name, queue(limit)));
    let lines =
        [("one-line", bps[0]), ("other-line", bps[1])].map(|(name, bps)| builder.add(name, line(bps)));
    if is_unobserved {
        queues.into_iter().for_each(|id| builder.unobserved(id));
    }
    let builder = builder
        .node("bottleneck", queue("codel"))
        .node("link", line(bps[2]))
        .node("delay", NodeSpec::delay(Span::from_micros(3)))
        .node("exit", NodeSpec::Exit)
        .chain(&["one", "one-line", "bottleneck", "link", "delay", "exit"])
        .chain(&["other", "other-line", "bottleneck"]);
    (builder.build(1).unwrap(), queues, lines)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..2_usize, 1..3000_u32).prop_map(|(at, bytes)| Step::Arrive { at, bytes }),
        // Times that meet the ends of transmissions: at 8 Mbit/s a byte takes a microsecond.
        6 => (0..4000_u64).prop_map(|micros| Step::Wait { nanos: micros * 1000 }),
        2 => (0..3_000_000_u64).prop_map(|nanos| Step::Wait { nanos }),
    ]
}

fn run(bps: [u64; 3], limit: &str, steps: &[Step], is_unobserved: bool) -> (Events, Vec<String>) {
    let (mut path, queues, lines) = path(bps, limit, is_unobserved);
    let (mut events, mut states) = (Events::default(), Vec::new());
    let mut now = Time::ZERO;
    for (number, step) in (0..).zip(steps) {
        match step {
            Step::Arrive { at, bytes } => {
                let packet = Packet { handle: number, bytes: *bytes, ..Packet::default() };
                path.ingress(now, queues[*at], packet, &mut events).unwrap();
            }
            Step::Wait { nanos } => {
                now += Span::from_nanos(*nanos);
                path.poll(now, &mut events).unwrap();
            }
            Step::ReplaceQueue => {
                let other = AnyQdisc::parse("headdrop:limit=5").unwrap();
                path.replace_queue(now, queues[0], other, &mut events).unwrap();
            }
            Step::ReplaceLine => {
                let line: AnyLink = Line::new(Rate::from_bps(4_000_000), 0).into();
                path.replace_link(now, lines[1], line, &mut events).unwrap();
            }
        }
        let state =
            |id: NodeId| (path.counters(id).unwrap().clone(), path.inside(id), path.link_usage(id, now));
        states.push(format!("{:?}", path.nodes().map(state).collect::<Vec<_>>()));
        path.audit().unwrap();
    }
    (events, states)
}

proptest! {
    #[test]
    fn nothing_but_dequeues_differs(
        steps in prop::collection::vec(step(), 1..200),
        bps in prop::array::uniform3(prop_oneof![
            Just(8_000_000_u64), Just(100_000_000), Just(7_654_321), Just(0), Just(Rate::INFINITE.as_bps()),
        ]),
        limit in prop_oneof![
            Just("taildrop:limit=1000000"), Just("taildrop:limit=3"), Just("taildrop:limit_bytes=4000b"),
        ],
    ) {
        prop_assert_eq!(run(bps, limit, &steps, true), run(bps, limit, &steps, false));
    }

    /// Whole nanoseconds to a byte, so that no part of a nanosecond is dropped.
    #[test]
    fn a_replacement_finds_every_packet_where_it_would_be(
        mut steps in prop::collection::vec(step(), 20..100),
        places in prop::array::uniform2(0..20_usize),
    ) {
        steps.insert(places[0], Step::ReplaceQueue);
        steps.insert(places[1], Step::ReplaceLine);
        let bps = [8_000_000, 4_000_000, 8_000_000];
        let limit = "taildrop:limit=4";
        prop_assert_eq!(run(bps, limit, &steps, true), run(bps, limit, &steps, false));
    }
}
