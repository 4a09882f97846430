//! Gates beside their laws: looking every so often, so many packets at a time, what a packet counts as, in which order.

use crate::common::{Event, Log, drain, ms, packet, queue};
use proptest::prelude::*;
use qdelay_core::pacer::Credit;
use qdelay_core::{Rate, Span, Time};
use qdelay_path::*;
use std::collections::{BTreeMap, VecDeque};

fn us(n: u64) -> Time {
    Time::from_nanos(n * 1000)
}

/// upper queue -> gate -> lower queue -> line of one byte a microsecond -> out, with feedback from the lower queue.
fn gated(window: u64, delay_us: u64) -> PathBuilder {
    PathBuilder::new()
        .node("upper", queue("taildrop:limit=1000"))
        .node("gate", NodeSpec::gate(Credit::new(window)))
        .node("lower", queue("taildrop:limit=1000"))
        .node("line", NodeSpec::link(Line::new(Rate::from_bps(8_000_000), 0)))
        .node("out", NodeSpec::Exit)
        .chain(&["upper", "gate", "lower", "line", "out"])
        .feedback("lower", "gate", Span::from_micros(delay_us))
}

/// The same, microsecond by microsecond: looks at everything at every one of them, until nothing moves any more.
struct Slow {
    window: u64,
    delay: u64,
    /// Asks at multiples of this.
    polling: u64,
    /// So many packets in so many microseconds.
    packets: u64,
    period: u64,
    /// Every packet counts as so many bytes.
    counted: Option<u64>,
}

impl Slow {
    /// (time, handle) at which packets left, in microseconds.
    fn run(&self, arrivals: &[(u64, u32)], end: u64) -> Vec<(u64, u64)> {
        let (mut upper, mut lower) = (VecDeque::new(), VecDeque::new());
        let (mut on_line, mut out): (Option<(u64, u64)>, _) = (None, Vec::new());
        let (mut credit_out, mut signals) = (0_u64, Vec::<(u64, u64)>::new());
        let mut passed_at = Vec::new();
        let size = |bytes: u32| self.counted.unwrap_or(u64::from(bytes));
        let mut next = 0;
        for now in 0..=end {
            loop {
                let mut moved = false;
                if let Some((finish, handle)) = on_line
                    && finish == now
                {
                    out.push((now, handle));
                    on_line = None;
                    moved = true;
                }
                while next < arrivals.len() && arrivals[next].0 == now {
                    upper.push_back((next as u64, arrivals[next].1));
                    next += 1;
                    moved = true;
                }
                let here =
                    signals.iter().filter(|signal| signal.0 == now).map(|signal| signal.1).sum::<u64>();
                if here > 0 {
                    credit_out = credit_out.saturating_sub(here);
                    signals.retain(|signal| signal.0 != now);
                    moved = true;
                }
                let in_period =
                    || passed_at.iter().filter(|&&at| at / self.period == now / self.period).count();
                if let Some(&(handle, bytes)) = upper.front()
                    && now % self.polling == 0
                    && (in_period() as u64) < self.packets
                    && (credit_out == 0 || credit_out + size(bytes) <= self.window)
                {
                    upper.pop_front();
                    credit_out += size(bytes);
                    lower.push_back((handle, bytes));
                    passed_at.push(now);
                    moved = true;
                }
                if on_line.is_none()
                    && let Some((handle, bytes)) = lower.pop_front()
                {
                    on_line = Some((now + u64::from(bytes), handle));
                    signals.push((now + self.delay, size(bytes)));
                    moved = true;
                }
                if !moved {
                    break;
                }
            }
        }
        out
    }
}

proptest! {
    #[test]
    fn a_polled_gate_is_one_that_looks_at_every_multiple(
        window in 500_u64..9000,
        delay in prop_oneof![Just(0_u64), 1_u64..3000],
        polling in prop_oneof![Just(1_u64), Just(250), Just(1000), 1_u64..5000],
        (packets, period) in prop_oneof![Just((u64::MAX, 1_u64)), (1_u64..12, 100_u64..4000)],
        in_packets: bool,
        arrivals in prop::collection::vec((prop_oneof![Just(0), Just(1000), 0_u64..2500], 40_u32..1501), 1..40),
        declared_backwards: bool,
    ) {
        let mut now = 0;
        let arrivals: Vec<(u64, u32)> =
            arrivals.into_iter().map(|(gap, bytes)| { now += gap; (now, bytes) }).collect();
        let mut builder = if declared_backwards {
            // The order of declaration decides who runs first at a time, but not what has happened when all are done.
            PathBuilder::new()
                .node("out", NodeSpec::Exit)
                .node("line", NodeSpec::link(Line::new(Rate::from_bps(8_000_000), 0)))
                .node("lower", queue("taildrop:limit=1000"))
                .node("gate", NodeSpec::gate(Credit::new(window)))
                .node("upper", queue("taildrop:limit=1000"))
                .chain(&["upper", "gate", "lower", "line", "out"])
                .feedback("lower", "gate", Span::from_micros(delay))
        } else {
            gated(window, delay)
        };
        if polling > 1 {
            builder = builder.polling("gate", Span::from_micros(polling));
        }
        if packets < u64::MAX {
            builder = builder.opportunities("gate", packets as u32, Span::from_micros(period));
        }
        if in_packets {
            builder = builder.size_unit("gate", SizeUnit::Packets);
        }
        let counted = in_packets.then_some(1500);
        let slow = Slow { window, delay, polling, packets, period, counted };
        let end = 400_000;
        let expected = slow.run(&arrivals, end);

        let mut path = builder.build(1).unwrap();
        let (entry, mut log) = (path.node("upper").unwrap(), Log::default());
        for (handle, &(time, bytes)) in arrivals.iter().enumerate() {
            path.ingress(us(time), entry, packet(handle as u64, bytes), &mut log).unwrap();
        }
        drain(&mut path, us(end), &mut log);
        let got: Vec<(u64, u64)> = log.delivered().iter().map(|(time, handle)| (time / 1000, *handle)).collect();
        prop_assert_eq!(got, expected);
    }
}

/// A gate with a clock but nothing to let through makes no events, and one that is refused looks again only when there is
/// something new.
#[test]
fn a_clock_alone_makes_no_events() {
    let mut path = gated(1000, 0).polling("gate", Span::from_micros(100)).build(1).unwrap();
    let (entry, mut log) = (path.node("upper").unwrap(), Log::default());
    path.ingress(us(1_000_010), entry, packet(0, 1000), &mut log).unwrap();
    assert_eq!(path.next_deadline(), us(1_000_100));
    drain(&mut path, Time::NEVER, &mut log);
    assert_eq!(path.next_deadline(), Time::NEVER);
    // Two more, while the window is on the line: the second has to wait for the first to be taken.
    let mut path = gated(1000, 5000).polling("gate", Span::from_micros(100)).build(1).unwrap();
    for handle in 0..2 {
        path.ingress(us(10), entry, packet(handle, 1000), &mut log).unwrap();
    }
    let mut polls = 0;
    while path.next_deadline() < Time::NEVER {
        path.poll(path.next_deadline(), &mut log).unwrap();
        polls += 1;
    }
    assert!(polls < 12, "{polls} polls in 5 ms that a clock of 100 us ticks 50 times in");
    assert_eq!(log.delivered().last().unwrap().0, 6_100_000);
}

/// A link that takes through a gate with a clock is woken when the clock opens.
#[test]
fn a_link_pulls_through_a_clock() {
    let mut path = PathBuilder::new()
        .node("queue", queue("taildrop"))
        .node("gate", NodeSpec::Gate(AnyPacer::PASS_THROUGH))
        .node("line", NodeSpec::link(Line::new(Rate::from_bps(8_000_000), 0)))
        .node("out", NodeSpec::Exit)
        .chain(&["queue", "gate", "line", "out"])
        .opportunities("gate", 2, Span::from_millis(1))
        .polling("gate", Span::from_micros(250))
        .build(1)
        .unwrap();
    let (entry, mut log) = (path.node("queue").unwrap(), Log::default());
    for handle in 0..5 {
        path.ingress(us(100), entry, packet(handle, 100), &mut log).unwrap();
    }
    drain(&mut path, ms(100), &mut log);
    // Taken at 250, at 500 (the clock does not open in between), then two in each millisecond.
    let left: Vec<u64> = log.delivered().iter().map(|(time, _)| time / 1000).collect();
    assert_eq!(left, [350, 600, 1100, 1350, 2100]);
}

/// Three inputs that always have something: each gets its share of bytes, whatever its packets are, within a packet.
#[test]
fn deficit_round_robin_shares_bytes() {
    for by_link in [false, true] {
        let mut builder = PathBuilder::new();
        for name in ["a", "b", "c"] {
            builder = builder.node(name, queue("taildrop:limit=100000"));
        }
        builder = builder
            .node("line", NodeSpec::link(Line::new(Rate::from_bps(8_000_000), 0)))
            .node("out", NodeSpec::Exit);
        let order = PullOrder::DeficitRoundRobin { quantum_bytes: 700 };
        builder = if by_link {
            ["a", "b", "c"].iter().fold(builder, |builder, name| builder.connect(name, "line"))
        } else {
            let gate = NodeSpec::gate(Credit::new(1));
            let builder = builder.node("gate", gate).chain(&["gate", "lower", "line"]);
            let builder = builder.node("lower", queue("taildrop")).feedback("lower", "gate", Span::ZERO);
            ["a", "b", "c"].iter().fold(builder, |builder, name| builder.connect(name, "gate"))
        };
        let at = if by_link { "line" } else { "gate" };
        let mut path = builder.connect("line", "out").pull_order(at, order).build(1).unwrap();
        let (mut log, sizes) = (Log::default(), [1500, 200, 733]);
        let mut handle = 0;
        for (name, bytes) in ["a", "b", "c"].iter().zip(sizes) {
            let entry = path.node(name).unwrap();
            for _ in 0..6_000_000 / bytes {
                let class = u16::try_from(bytes).unwrap();
                let packet = qdelay_core::Packet { class, ..packet(handle, bytes) };
                path.ingress(Time::ZERO, entry, packet, &mut log).unwrap();
                handle += 1;
            }
        }
        drain(&mut path, ms(10_000), &mut log);
        let mut sent = BTreeMap::from([(1500_u16, 0_i64), (200, 0), (733, 0)]);
        for event in &log.events {
            // Until all of them are there, the first has the line for itself.
            if let Event::Delivered { now, class, .. } = event
                && *now > ms(5)
            {
                *sent.get_mut(class).unwrap() += i64::from(*class);
                let (least, most) = (sent.values().min().unwrap(), sent.values().max().unwrap());
                assert!(most - least <= 700 + 2 * 1500, "{sent:?}");
            }
        }
        assert!(sent.values().all(|bytes| *bytes > 3_300_000), "{sent:?}");
        path.audit().unwrap();
    }
}

/// Turns of a gate whose law holds a packet back: none of another input goes meanwhile, unless it comes first.
#[test]
fn who_is_held_back_keeps_the_place() {
    for (order, expected) in [
        (PullOrder::RoundRobin, [0, 1, 2]),
        (PullOrder::StrictPriority, [0, 2, 1]),
        (PullOrder::DeficitRoundRobin { quantum_bytes: 1000 }, [0, 1, 2]),
    ] {
        let mut path = PathBuilder::new()
            .node("first", queue("taildrop"))
            .node("second", queue("taildrop"))
            .node("gate", NodeSpec::gate(Credit::new(1000)))
            .node("lower", NodeSpec::delay(Span::from_millis(1)))
            .node("out", NodeSpec::Exit)
            .connect("first", "gate")
            .chain(&["second", "gate", "lower", "out"])
            .feedback("lower", "gate", Span::ZERO)
            .pull_order("gate", order)
            .build(1)
            .unwrap();
        let [first, second] = ["first", "second"].map(|name| path.node(name).unwrap());
        let mut log = Log::default();
        path.ingress(us(0), first, packet(0, 1000), &mut log).unwrap();
        path.ingress(us(10), second, packet(1, 1000), &mut log).unwrap();
        path.ingress(us(20), first, packet(2, 1000), &mut log).unwrap();
        drain(&mut path, ms(10), &mut log);
        let expected =
            [(1, expected[0]), (2, expected[1]), (3, expected[2])].map(|(n, h)| (n * 1_000_000, h));
        assert_eq!(log.delivered(), expected, "{order:?}");
    }
}

#[test]
fn what_cannot_be_built() {
    let refused = |builder: PathBuilder, node: &str, words: &str| {
        let error = builder.build(1).unwrap_err();
        assert_eq!(error.node, node, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    let fresh = || gated(1000, 0);
    refused(fresh().polling("upper", Span::from_millis(1)), "upper", "it is a queue; expected a gate");
    refused(fresh().opportunities("line", 1, Span::from_millis(1)), "line", "expected a gate");
    refused(fresh().size_unit("nobody", SizeUnit::Packets), "nobody", "no such node");
    refused(fresh().opportunities("gate", 0, Span::from_millis(1)), "gate", "at least one packet");
    refused(fresh().opportunities("gate", 1, Span::ZERO), "gate", "a period above zero");
    let order = |quantum_bytes| PullOrder::DeficitRoundRobin { quantum_bytes };
    refused(fresh().pull_order("gate", order(0)), "gate", "at least 1 byte");
    refused(fresh().pull_order("out", order(1)), "out", "it is a exit");
    let through = PathBuilder::new()
        .node("queue", queue("taildrop"))
        .node("gate", NodeSpec::Gate(AnyPacer::PASS_THROUGH))
        .node("line", NodeSpec::link(Line::new(Rate::from_bps(1), 0)))
        .node("out", NodeSpec::Exit)
        .chain(&["queue", "gate", "line", "out"]);
    refused(through.pull_order("line", order(1)), "line", "'gate' is a gate");
    assert!(fresh().polling("gate", Span::ZERO).build(1).is_ok(), "zero is at any time");
}
