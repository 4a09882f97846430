//! Properties of every discipline, over random sequences of operations.

use crate::drive::Subject;
use crate::models::{Fate, MS, Ns};
use proptest::prelude::*;
use qdelay_core::qdisc::{COMPONENTS, Qdisc};
use qdelay_core::{Ecn, Packet};
use std::collections::BTreeMap;

/// Operations of a host on a discipline.
#[derive(Clone, Debug)]
enum Operation {
    Enqueue { bytes: u32, ecn: Ecn, flow: u32, dscp: u8, class: u16 },
    Dequeue,
    Wait(Ns),
    Poll,
}

/// Times at which a host calls `poll`.
#[derive(Clone, Copy, PartialEq)]
enum Polling {
    /// At `next_deadline` only.
    Deadlines,
    /// At `next_deadline` and at every whole millisecond and after every operation.
    DeadlinesAndOften,
    /// At every whole millisecond, without asking for `next_deadline`.
    EveryMillisecond,
}

/// One discipline, with the properties that the test has to know.
#[derive(Clone, Debug)]
struct Setup {
    text: String,
    limit: u64,
    limit_bytes: u64,
    ecn: bool,
    bode: Option<(Ns, u64, u64)>,
    order: Order,
    /// True if a timer may drop (a rehash that fills a queue beyond its depth).
    poll_drops: bool,
}

/// Packets among which a discipline keeps the order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    /// All packets: the head is the oldest.
    All,
    /// The packets of each flow.
    Flow,
    /// The packets of each flow that agree in codepoint and class.
    Treatment,
    /// No known order: the discipline may also drop all its packets when it is asked for one.
    Unknown,
}

impl Setup {
    fn new(text: String, order: Order) -> Setup {
        Setup { text, limit: u64::MAX, limit_bytes: 0, ecn: false, bode: None, order, poll_drops: false }
    }
}

/// Observation of one packet in a run.
#[derive(Debug, PartialEq)]
enum Seen {
    Fate(Ns, Fate),
    Returned(Ns, Option<u64>),
}

fn operation(whole: bool) -> impl Strategy<Value = Operation> {
    let ecn =
        prop_oneof![3 => Just(Ecn::NotEct), 2 => Just(Ecn::Ect0), 1 => Just(Ecn::Ect1), 1 => Just(Ecn::Ce)];
    let bytes = prop_oneof![2 => Just(1500u32), 1 => 40..=1500u32];
    let wait = if whole {
        prop_oneof![4 => Just(MS), 2 => Just(2 * MS), 1 => Just(20 * MS), 1 => (1..400u64).prop_map(|n| n * MS)]
            .boxed()
    } else {
        prop_oneof![2 => 1..2_000_000u64, 1 => Just(5 * MS), 1 => Just(15 * MS), 1 => 1..400 * MS].boxed()
    };
    prop_oneof![
        8 => (bytes, ecn, 0..5u32, prop::sample::select(&[0u8, 8, 44, 46][..]), 0..3u16)
            .prop_map(|(bytes, ecn, flow, dscp, class)| Operation::Enqueue { bytes, ecn, flow, dscp, class }),
        5 => Just(Operation::Dequeue),
        3 => wait.prop_map(Operation::Wait),
        1 => Just(Operation::Poll),
    ]
}

fn setup() -> impl Strategy<Value = Setup> {
    prop_oneof![10 => one_queue(), 2 => fq_codel(), 2 => drr(), 2 => sfq(), 2 => red(), 2 => priority(), 4 => declared()]
}

/// Every component of the registry, with no knowledge but its declaration: with its defaults, and any limit.
fn declared() -> impl Strategy<Value = Setup> {
    (prop::sample::select(COMPONENTS), prop::option::of(1..200u64)).prop_map(|(component, limit)| {
        let has_limit = component.parameters.iter().any(|parameter| parameter.name == "limit");
        let limit = limit.filter(|_| has_limit).map_or(String::new(), |limit| format!(":limit={limit}"));
        let text = format!("{}{limit}", component.name);
        Setup { ecn: true, poll_drops: true, ..Setup::new(text, Order::Unknown) }
    })
}

fn buckets() -> impl Strategy<Value = u64> {
    prop_oneof![2 => 1..8u64, 1 => Just(1024u64)]
}

fn fq_codel() -> impl Strategy<Value = Setup> {
    let codel = (1..20u64, 0..100u64, any::<bool>(), any::<bool>());
    (buckets(), 256..3000u64, 1..200u64, 1..100u64, codel).prop_map(
        |(flows, quantum, limit, batch, (target, more, linux, ecn))| {
            let (variant, switch) = (if linux { "linux" } else { "rfc" }, if ecn { "on" } else { "off" });
            let interval = target + more;
            let text = format!(
                "fq_codel:flows={flows}:quantum={quantum}b:limit={limit}:drop_batch={batch}:target={target}ms\
                 :interval={interval}ms:variant={variant}:ecn={switch}"
            );
            Setup { limit, ecn, ..Setup::new(text, Order::Flow) }
        },
    )
}

fn drr() -> impl Strategy<Value = Setup> {
    let by = prop::sample::select(&["flow", "dscp", "class"][..]);
    let limit_bytes = prop_oneof![2 => Just(0u64), 1 => 1500..30_000u64];
    (by, buckets(), 40..3000u64, 1..200u64, limit_bytes).prop_map(
        |(by, flows, quantum, limit, limit_bytes)| {
            let text = format!("drr:by={by}:quantum={quantum}b:limit={limit}:limit_bytes={limit_bytes}b");
            let (text, order) = if by == "flow" {
                (format!("{text}:flows={flows}"), Order::Flow)
            } else {
                (text, Order::Treatment)
            };
            Setup { limit, limit_bytes, ..Setup::new(text, order) }
        },
    )
}

fn sfq() -> impl Strategy<Value = Setup> {
    let perturb = prop_oneof![1 => Just(0u64), 2 => 1..200u64];
    (buckets(), 256..3000u64, 1..200u64, 1..100u64, perturb, any::<bool>()).prop_map(
        |(flows, quantum, limit, depth, perturb, headdrop)| {
            let headdrop = if headdrop { "on" } else { "off" };
            let text = format!(
                "sfq:flows={flows}:quantum={quantum}b:limit={limit}:depth={depth}:perturb={perturb}ms\
                 :headdrop={headdrop}"
            );
            Setup { limit, poll_drops: perturb > 0, ..Setup::new(text, Order::Flow) }
        },
    )
}

fn red() -> impl Strategy<Value = Setup> {
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (1..100u64, 1..100u64, 1..1000u64, 1..1000u64, 1..200u64, switches).prop_map(
        |(min, more, probability, weight, limit, (ecn, gentle, wait, bytes))| {
            let (mode, unit) = if bytes { ("bytes", 150) } else { ("packets", 1) };
            let on = |on: bool| if on { "on" } else { "off" };
            let text = format!(
                "red:mode={mode}:min={}:max={}:probability={}:weight={}:limit={limit}:ecn={}:gentle={}:wait={}",
                min * unit,
                (min + more) * unit,
                probability as f64 / 1e3,
                weight as f64 / 1e3,
                on(ecn),
                on(gentle),
                on(wait)
            );
            Setup { limit, ecn, ..Setup::new(text, Order::All) }
        },
    )
}

/// Three classes with disciplines of the other kinds, the last two of them in a nested priority or not.
fn priority() -> impl Strategy<Value = Setup> {
    let child = || {
        prop_oneof![
            1 => Just(Setup { limit: 1000, ..Setup::new("taildrop".to_string(), Order::All) }),
            3 => one_queue(),
            3 => prop_oneof![fq_codel(), drr(), sfq(), red()],
        ]
    };
    let codepoints = prop::sample::select(&[["ef", "va/8"], ["va/cs1", "46"], ["44-45", "46-63"]][..]);
    (codepoints, 0..3usize, [child(), child(), child()], any::<bool>()).prop_map(
        |([one, other], rest, children, nested)| {
            let [a, b, c] = [&children[0].text, &children[1].text, &children[2].text];
            let inner = format!("priority:{other}@[{b}]+rest@[{c}]");
            let text = match rest {
                0 if nested => format!("priority:rest@[{inner}]+{one}@[{a}]"),
                _ if nested => format!("priority:{one}@[{a}]+rest@[{inner}]"),
                0 => format!("priority:rest@[{a}]+{one}@[{b}]+{other}@[{c}]"),
                1 => format!("priority:{one}@[{a}]+rest@[{b}]+{other}@[{c}]"),
                _ => format!("priority:{one}@[{a}]+{other}@[{b}]+rest@[{c}]"),
            };
            let ecn = children.iter().any(|child| child.ecn);
            let poll_drops = children.iter().any(|child| child.poll_drops);
            let limit = children.iter().map(|child| child.limit).sum();
            Setup { limit, ecn, poll_drops, ..Setup::new(text, Order::Treatment) }
        },
    )
}

/// Disciplines that are one queue.
fn one_queue() -> impl Strategy<Value = Setup> {
    let limits = (
        prop_oneof![1 => 1..10u64, 1 => 10..100u64, 2 => Just(1000u64)],
        prop_oneof![3 => Just(0u64), 1 => 1500..30_000u64],
    );
    let kind = prop_oneof![
        Just(("taildrop".to_string(), None)),
        Just(("headdrop".to_string(), None)),
        (1..60u64, 0..5u64, prop_oneof![2 => Just(0u64), 1 => 1..4000u64]).prop_map(
            |(target, keep, bytes)| { (format!("bode:target={target}ms"), Some((target * MS, keep, bytes))) }
        ),
        (1..20u64, 0..100u64).prop_map(|(t, i)| (format!("codel:target={t}ms:interval={}ms", t + i), None)),
        (1..20u64, 0..100u64)
            .prop_map(|(t, i)| (format!("codel:target={t}ms:variant=linux:interval={}ms", t + i), None)),
        (1..20u64, 0..100u64)
            .prop_map(|(t, i)| (format!("codel:variant=thesis:target={t}ms:interval={}ms", t + i), None)),
        (1..20u64, 0..100u64)
            .prop_map(|(t, i)| (format!("codel:variant=mahimahi:target={t}ms:interval={}ms", t + i), None)),
        (1..30u64, 1..40u64, 0..200u64).prop_map(|(t, u, b)| {
            (format!("pie:target={t}ms:tupdate={u}ms:max_burst={b}ms:alpha=1:beta=2"), None)
        }),
        (1..30u64, 1..40u64, 0..200u64).prop_map(|(t, u, b)| {
            (format!("pie:target={t}ms:variant=linux:tupdate={u}ms:max_burst={b}ms:alpha=1:beta=2"), None)
        }),
        (1..30u64, 1..40u64).prop_map(|(t, u)| {
            (format!("pie:target={t}ms:estimator=rate:tupdate={u}ms:derandomize=off:alpha=1:beta=2"), None)
        }),
        (2..30u64, 1..200u64)
            .prop_map(|(t, b)| (format!("pie:variant=mahimahi:target={t}ms:max_burst={b}ms"), None)),
    ];
    (kind, limits, any::<bool>()).prop_map(|((mut text, mut bode), (limit, limit_bytes), ecn)| {
        if let Some((_, keep, bytes)) = &mut bode {
            // A discipline that could drop nothing is refused.
            *keep = (*keep).min(limit - 1);
            if limit_bytes > 0 {
                *bytes = (*bytes).min(limit_bytes - 1);
            }
            text += &format!(":min_keep={keep}:min_keep_bytes={bytes}");
        }
        text += &format!(":limit={limit}");
        if limit_bytes > 0 {
            text += &format!(":limit_bytes={limit_bytes}b");
        }
        let ecn = ecn && (text.starts_with("codel:t") || text.starts_with("pie:t"));
        if ecn {
            text += ":ecn=on";
        }
        Setup { limit, limit_bytes, ecn, bode, ..Setup::new(text, Order::All) }
    })
}

fn operations(whole: bool) -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec(operation(whole), 0..500)
}

/// Invariants of a run under any operations; checked after every operation.
#[derive(Default)]
struct Books {
    /// Packets by handle, with their time and order of arrival.
    sent: Vec<Packet>,
    gone: Vec<bool>,
    /// Handle of the last packet returned, by the key within which order is kept.
    last: BTreeMap<(u32, u8, u16), u64>,
    /// True for packets that were marked here.
    marked: Vec<bool>,
}

fn run(setup: &Setup, operations: &[Operation], polling: Polling) -> Vec<Seen> {
    let mut subject = Subject::new(&setup.text, 7);
    let mut books = Books::default();
    let mut seen = Vec::new();
    let mut now: Ns = 0;
    for operation in operations {
        match *operation {
            Operation::Wait(span) => {
                advance(&mut subject, &mut now, span, polling, &mut |subject, at| {
                    books.timer(setup, subject, at, &mut seen);
                });
            }
            Operation::Poll if polling == Polling::DeadlinesAndOften => {
                subject.poll(now);
                assert!(subject.ear.0.is_empty(), "a spurious poll dropped something");
            }
            Operation::Poll => {}
            Operation::Enqueue { bytes, ecn, flow, dscp, class } => {
                let handle = books.sent.len() as u64;
                let packet = Packet { ecn, dscp, class, ..crate::drive::packet(handle, bytes, false, flow) };
                books.sent.push(Packet { arrival: qdelay_core::Time::from_nanos(now), ..packet });
                books.gone.push(false);
                books.marked.push(false);
                subject.enqueue(now, packet);
                books.hear(setup, &mut subject, now, &mut seen);
            }
            Operation::Dequeue => {
                let (head, before) = (subject.qdisc.head().copied(), subject.qdisc.backlog());
                let returned = subject.dequeue(now);
                let first = subject.ear.0.first().map(|fate| fate.id());
                books.hear(setup, &mut subject, now, &mut seen);
                books.returned(setup, &subject, now, returned);
                seen.push(Seen::Returned(now, returned.map(|p| p.handle)));
                assert_eq!(head.is_some(), before.packets > 0);
                let is_known = setup.order != Order::Unknown;
                // The thesis's program loses the last packets of a queue too, and then returns none.
                let is_lost = setup.text.contains("variant=thesis") && subject.qdisc.backlog().packets == 0;
                let gives = returned.is_some() || (is_lost && first.is_some());
                assert!(!is_known || gives == (before.packets > 0), "a queue that holds packets gives one");
                if let Some(head) = head.filter(|_| is_known) {
                    let considered =
                        returned.map(|p| p.handle) == Some(head.handle) || first == Some(head.handle);
                    assert!(considered, "head {} was not considered first", head.handle);
                }
            }
        }
        if polling == Polling::DeadlinesAndOften {
            subject.poll(now);
        }
        assert!(subject.ear.0.is_empty(), "a spurious poll dropped something");
        books.balance(setup, &subject);
    }
    seen
}

/// Advances the clock by `span`; `heard` is called after every poll.
fn advance(
    subject: &mut Subject,
    now: &mut Ns,
    span: Ns,
    polling: Polling,
    heard: &mut dyn FnMut(&mut Subject, Ns),
) {
    let until = *now + span;
    let mut next = *now / MS * MS + MS;
    while polling != Polling::Deadlines && next <= until {
        if polling == Polling::DeadlinesAndOften {
            poll_until(subject, next, heard);
        }
        subject.poll(next);
        heard(subject, next);
        next += MS;
    }
    if polling != Polling::EveryMillisecond {
        poll_until(subject, until, heard);
    }
    *now = until;
}

fn poll_until(subject: &mut Subject, until: Ns, heard: &mut dyn FnMut(&mut Subject, Ns)) {
    while subject.qdisc.next_deadline().as_nanos() <= until {
        let at = subject.qdisc.next_deadline().as_nanos();
        subject.poll_until(at);
        heard(subject, at);
    }
}

impl Books {
    fn hear(&mut self, setup: &Setup, subject: &mut Subject, now: Ns, seen: &mut Vec<Seen>) {
        for fate in subject.ear.0.drain(..) {
            let index = fate.id() as usize;
            assert!(!self.gone[index], "{fate:?}: packet {index} had gone already");
            if fate.is_mark() {
                assert!(setup.ecn, "{fate:?} without ECN");
                assert!(self.sent[index].ecn.is_capable(), "{fate:?} on a packet that is not capable");
                self.marked[index] = true;
            } else {
                self.gone[index] = true;
            }
            if let (Fate::Drop("sojourn_bound", _), Some((target, ..))) = (fate, setup.bode) {
                assert!(now - self.sent[index].arrival.as_nanos() > target, "dropped within the bound");
            }
            seen.push(Seen::Fate(now, fate));
        }
    }

    /// Checks the state after a poll that may have been due.
    fn timer(&mut self, setup: &Setup, subject: &mut Subject, now: Ns, seen: &mut Vec<Seen>) {
        assert!(setup.poll_drops || subject.ear.0.is_empty(), "a poll dropped something");
        assert!(subject.ear.0.iter().all(|fate| matches!(fate, Fate::Drop("tail_limit", _))));
        self.hear(setup, subject, now, seen);
        self.balance(setup, subject);
    }

    fn returned(&mut self, setup: &Setup, subject: &Subject, now: Ns, returned: Option<Packet>) {
        let Some(packet) = returned else { return };
        let index = packet.handle as usize;
        assert!(!self.gone[index], "packet {index} left twice");
        self.gone[index] = true;
        let sent = &self.sent[index];
        let ecn = if self.marked[index] { Ecn::Ce } else { sent.ecn };
        assert!(packet == Packet { ecn, ..*sent }, "the packet itself is unchanged but for its mark");
        let ordered = match setup.order {
            Order::All => (0, 0, 0),
            Order::Flow => (packet.flow, 0, 0),
            Order::Treatment => (packet.flow, packet.dscp, packet.class),
            Order::Unknown => return,
        };
        let last = self.last.insert(ordered, packet.handle);
        assert!(last.is_none_or(|l| l < packet.handle), "flow {} is out of order", packet.flow);
        if let Some((target, keep, keep_bytes)) = setup.bode {
            let left = subject.qdisc.backlog();
            let spared =
                left.packets <= keep || left.bytes == 0 || (keep_bytes > 0 && left.bytes <= keep_bytes);
            assert!(
                now - sent.arrival.as_nanos() <= target || spared,
                "served past the bound, {left:?} left"
            );
        }
    }

    /// Arrivals = departures + drops + backlog, in packets and bytes; limits hold; the head is still queued,
    /// and is the oldest where there is one queue.
    fn balance(&self, setup: &Setup, subject: &Subject) {
        let left: Vec<&Packet> = self.sent.iter().filter(|p| !self.gone[p.handle as usize]).collect();
        let backlog = subject.qdisc.backlog();
        assert_eq!(backlog.packets, left.len() as u64);
        assert_eq!(backlog.bytes, left.iter().map(|p| u64::from(p.bytes)).sum::<u64>());
        assert!(
            backlog.packets <= setup.limit && (setup.limit_bytes == 0 || backlog.bytes <= setup.limit_bytes)
        );
        let head = subject.qdisc.head().map(|p| p.handle);
        assert_eq!(head.is_some(), !left.is_empty());
        if setup.order == Order::All {
            assert_eq!(head, left.first().map(|p| p.handle));
        }
        assert!(head.is_none_or(|head| !self.gone[head as usize]), "the head has gone");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: qdelay_testing::effort::cases(512), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_is_accounted_for_once(setup in setup(), operations in operations(false)) {
        run(&setup, &operations, Polling::Deadlines);
    }

    #[test]
    fn a_spurious_poll_changes_nothing(setup in setup(), operations in operations(false)) {
        let plain = run(&setup, &operations, Polling::Deadlines);
        prop_assert_eq!(plain, run(&setup, &operations, Polling::DeadlinesAndOften));
    }

    #[test]
    fn the_next_deadline_is_never_late(setup in setup(), operations in operations(true)) {
        let plain = run(&setup, &operations, Polling::Deadlines);
        prop_assert_eq!(plain, run(&setup, &operations, Polling::EveryMillisecond));
    }
}
