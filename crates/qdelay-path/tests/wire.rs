//! A wire, and the plain queue, line and delay that it stands for: packets are delivered and dropped at the same times.

use proptest::prelude::*;
use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::{DropReason, Packet, Rate, Span, Time};
use qdelay_path::{Line, NodeId, NodeSpec, Observer, Path, PathBuilder, WireSpec};

/// What a host does.
#[derive(Clone, Debug)]
enum Step {
    /// A packet of this size comes to one of the two wires.
    Arrive {
        at: usize,
        bytes: u32,
    },
    Wait {
        nanos: u64,
    },
}

/// What becomes of packets. Nodes are not the same on both paths.
#[derive(Default, PartialEq, Debug)]
struct Ends(Vec<(Time, u64, &'static str)>);

impl Observer for Ends {
    fn dropped(&mut self, now: Time, _: NodeId, packet: &Packet, _reason: DropReason) {
        self.0.push((now, packet.handle, "dropped"));
    }
    fn delivered(&mut self, now: Time, _: NodeId, packet: &Packet) {
        self.0.push((now, packet.handle, "delivered"));
    }
}

#[derive(Clone, Copy, Debug)]
struct Setting {
    bps: [u64; 2],
    delay: Span,
    limit: u64,
}

/// Two wires, or what they stand for, which meet at a queue and a line.
fn path(setting: Setting, are_wires: bool) -> (Path, [NodeId; 2]) {
    let line = |bps| NodeSpec::link(Line::new(Rate::from_bps(bps), 0));
    let queue = |text: &str| NodeSpec::Queue(AnyQdisc::parse(text).unwrap());
    let Setting { bps, delay, limit } = setting;
    let mut builder = PathBuilder::new();
    let names = ["one", "other"];
    let entries = names.map(|name| {
        let bps = bps[usize::from(name == "other")];
        match are_wires {
            true => builder.add(name, NodeSpec::Wire(WireSpec { rate: Rate::from_bps(bps), delay, limit })),
            false => builder.add(name, queue(&format!("taildrop:limit={limit}"))),
        }
    });
    for (name, bps) in names.into_iter().zip(bps).filter(|_| !are_wires) {
        builder.add(&format!("{name}-line"), line(bps));
        builder.add(&format!("{name}-delay"), NodeSpec::delay(delay));
    }
    let mut builder = builder
        .node("bottleneck", queue("codel"))
        .node("link", line(8_000_000))
        .node("exit", NodeSpec::Exit)
        .chain(&["bottleneck", "link", "exit"]);
    for name in names {
        let [line, delay] = ["line", "delay"].map(|part| format!("{name}-{part}"));
        builder = match are_wires {
            true => builder.chain(&[name, "bottleneck"]),
            false => builder.chain(&[name, &line, &delay, "bottleneck"]),
        };
    }
    (builder.build(1).unwrap(), entries)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..2_usize, 1..3000_u32).prop_map(|(at, bytes)| Step::Arrive { at, bytes }),
        // Times that meet the ends of transmissions: at 8 Mbit/s a byte takes a microsecond.
        6 => (0..4000_u64).prop_map(|micros| Step::Wait { nanos: micros * 1000 }),
        2 => (0..3_000_000_u64).prop_map(|nanos| Step::Wait { nanos }),
    ]
}

/// What becomes of packets, and how many have come and not gone after each step.
fn run(setting: Setting, steps: &[Step], are_wires: bool) -> (Ends, Vec<u64>) {
    let (mut path, entries) = path(setting, are_wires);
    let (mut ends, mut inside) = (Ends::default(), Vec::new());
    let mut now = Time::ZERO;
    for (number, step) in (0..).zip(steps) {
        match step {
            Step::Arrive { at, bytes } => {
                let packet = Packet { handle: number, bytes: *bytes, ..Packet::default() };
                path.ingress(now, entries[*at], packet, &mut ends).unwrap();
            }
            Step::Wait { nanos } => {
                now += Span::from_nanos(*nanos);
                path.poll(now, &mut ends).unwrap();
            }
        }
        inside.push(path.nodes().map(|id| path.inside(id).packets).sum());
        path.audit().unwrap();
    }
    (ends, inside)
}

fn rates() -> impl Strategy<Value = [u64; 2]> {
    prop::array::uniform2(prop_oneof![
        Just(8_000_000_u64),
        Just(100_000_000),
        Just(7_654_321),
        Just(0),
        Just(Rate::INFINITE.as_bps()),
    ])
}

proptest! {
    /// Without a delay the limits are the same too.
    #[test]
    fn a_queue_and_a_line(
        steps in prop::collection::vec(step(), 1..200),
        bps in rates(),
        limit in prop_oneof![Just(1_000_000_u64), Just(3), Just(1)],
    ) {
        let setting = Setting { bps, delay: Span::ZERO, limit };
        prop_assert_eq!(run(setting, &steps, true), run(setting, &steps, false));
    }

    #[test]
    fn a_queue_a_line_and_a_delay(
        steps in prop::collection::vec(step(), 1..200),
        bps in rates(),
        micros in prop_oneof![Just(1_u64), Just(1000), 0..20_000_u64],
    ) {
        let setting = Setting { bps, delay: Span::from_micros(micros), limit: 1_000_000 };
        prop_assert_eq!(run(setting, &steps, true), run(setting, &steps, false));
    }
}

/// The first packet and as many behind it as the limit says, on their way or not.
#[test]
fn the_limit_counts_what_is_on_its_way() {
    let setting = Setting { bps: [8_000_000; 2], delay: Span::from_millis(10), limit: 2 };
    let (mut path, entries) = path(setting, true);
    let mut ends = Ends::default();
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    for number in 0..5 {
        let packet = Packet { handle: number, bytes: 1000, ..Packet::default() };
        path.ingress(at(2 * number), entries[0], packet, &mut ends).unwrap();
    }
    assert_eq!(ends.0, [(at(6), 3, "dropped"), (at(8), 4, "dropped")]);
    path.poll(at(20), &mut ends).unwrap();
    let delivered = [(at(12), 0, "delivered"), (at(14), 1, "delivered"), (at(16), 2, "delivered")];
    assert_eq!(ends.0[2..], delivered);
}
