//! What holds for every discipline, over random sequences of operations.

mod drive;
mod models;

use drive::Subject;
use models::{Fate, MS, Ns};
use proptest::prelude::*;
use qdelay_core::qdisc::Qdisc;
use qdelay_core::{Ecn, Packet};

/// What a host can do to a discipline.
#[derive(Clone, Debug)]
enum Operation {
    Enqueue { bytes: u32, ecn: Ecn, flow: u32 },
    Dequeue,
    Wait(Ns),
    Poll,
}

/// When a host calls `poll`.
#[derive(Clone, Copy, PartialEq)]
enum Polling {
    /// At `next_deadline`, nothing else.
    Deadlines,
    /// At `next_deadline` and at every whole millisecond and after every operation.
    DeadlinesAndOften,
    /// At every whole millisecond, with no look at `next_deadline`.
    EveryMillisecond,
}

/// One discipline with what is to be known about it.
#[derive(Clone, Debug)]
struct Setup {
    text: String,
    limit: u64,
    limit_bytes: u64,
    ecn: bool,
    bode: Option<(Ns, u64, u64)>,
}

/// What a run shows, packet by packet.
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
        8 => (bytes, ecn, 0..3u32).prop_map(|(bytes, ecn, flow)| Operation::Enqueue { bytes, ecn, flow }),
        5 => Just(Operation::Dequeue),
        3 => wait.prop_map(Operation::Wait),
        1 => Just(Operation::Poll),
    ]
}

fn setup() -> impl Strategy<Value = Setup> {
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
        Setup { text, limit, limit_bytes, ecn, bode }
    })
}

fn operations(whole: bool) -> impl Strategy<Value = Vec<Operation>> {
    prop::collection::vec(operation(whole), 0..500)
}

/// Everything a run must respect whatever is done to it; checked after every operation.
struct Books {
    /// By handle; the clock and the order of arrival are in the packet.
    sent: Vec<Packet>,
    gone: Vec<bool>,
    /// Handle of the last packet returned, by flow.
    last: [Option<u64>; 3],
}

fn run(setup: &Setup, operations: &[Operation], polling: Polling) -> Vec<Seen> {
    let mut subject = Subject::new(&setup.text, 7);
    let mut books = Books { sent: Vec::new(), gone: Vec::new(), last: [None; 3] };
    let mut seen = Vec::new();
    let mut now: Ns = 0;
    for operation in operations {
        match *operation {
            Operation::Wait(span) => advance(&mut subject, &mut now, span, polling),
            Operation::Poll if polling == Polling::DeadlinesAndOften => subject.poll(now),
            Operation::Poll => {}
            Operation::Enqueue { bytes, ecn, flow } => {
                let handle = books.sent.len() as u64;
                let packet = Packet { handle, bytes, ecn, flow, ..drive::packet(handle, bytes, false, flow) };
                books.sent.push(Packet { arrival: qdelay_core::Time::from_nanos(now), ..packet });
                books.gone.push(false);
                subject.enqueue(now, packet);
                books.hear(setup, &mut subject, now, &mut seen);
            }
            Operation::Dequeue => {
                let (head, before) = (subject.qdisc.head().copied(), subject.qdisc.backlog());
                let returned = subject.dequeue(now);
                let first = subject.ear.0.first().map(id);
                books.hear(setup, &mut subject, now, &mut seen);
                books.returned(setup, &subject, now, returned);
                seen.push(Seen::Returned(now, returned.map(|p| p.handle)));
                assert_eq!(head.is_some(), before.packets > 0);
                assert_eq!(returned.is_some(), before.packets > 0, "a queue that holds packets gives one");
                if let Some(head) = head {
                    let considered =
                        returned.map(|p| p.handle) == Some(head.handle) || first == Some(head.handle);
                    assert!(considered, "head {} was not considered first", head.handle);
                }
            }
        }
        if polling == Polling::DeadlinesAndOften {
            subject.poll(now);
        }
        assert!(subject.ear.0.is_empty(), "a poll dropped something");
        books.balance(setup, &subject);
    }
    seen
}

fn advance(subject: &mut Subject, now: &mut Ns, span: Ns, polling: Polling) {
    let until = *now + span;
    let mut next = *now / MS * MS + MS;
    while polling != Polling::Deadlines && next <= until {
        if polling == Polling::DeadlinesAndOften {
            subject.poll_until(next);
        }
        subject.poll(next);
        next += MS;
    }
    if polling != Polling::EveryMillisecond {
        subject.poll_until(until);
    }
    *now = until;
}

fn id(fate: &Fate) -> u64 {
    match *fate {
        Fate::Tail(i) | Fate::Head(i) | Fate::Sojourn(i) | Fate::Codel(i) | Fate::Pie(i) => i,
        Fate::MarkCodel(i) | Fate::MarkThreshold(i) | Fate::MarkPie(i) => i,
    }
}

impl Books {
    fn hear(&mut self, setup: &Setup, subject: &mut Subject, now: Ns, seen: &mut Vec<Seen>) {
        for fate in subject.ear.0.drain(..) {
            let index = id(&fate) as usize;
            assert!(!self.gone[index], "{fate:?}: packet {index} had gone already");
            match fate {
                Fate::MarkCodel(_) | Fate::MarkThreshold(_) | Fate::MarkPie(_) => {
                    assert!(setup.ecn, "{fate:?} without ECN");
                    assert!(self.sent[index].ecn.is_capable(), "{fate:?} on a packet that is not capable");
                }
                _ => self.gone[index] = true,
            }
            if let (Fate::Sojourn(_), Some((target, ..))) = (fate, setup.bode) {
                assert!(now - self.sent[index].arrival.as_nanos() > target, "dropped within the bound");
            }
            seen.push(Seen::Fate(now, fate));
        }
    }

    fn returned(&mut self, setup: &Setup, subject: &Subject, now: Ns, returned: Option<Packet>) {
        let Some(packet) = returned else { return };
        let index = packet.handle as usize;
        assert!(!self.gone[index], "packet {index} left twice");
        self.gone[index] = true;
        let sent = &self.sent[index];
        assert!(packet == Packet { ecn: packet.ecn, ..*sent }, "the packet itself is unchanged");
        let last = &mut self.last[packet.flow as usize];
        assert!(last.is_none_or(|l| l < packet.handle), "flow {} is out of order", packet.flow);
        *last = Some(packet.handle);
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

    /// In = out + dropped + backlog, in packets and bytes; limits; the head is the oldest that is left.
    fn balance(&self, setup: &Setup, subject: &Subject) {
        let left: Vec<&Packet> = self.sent.iter().filter(|p| !self.gone[p.handle as usize]).collect();
        let backlog = subject.qdisc.backlog();
        assert_eq!(backlog.packets, left.len() as u64);
        assert_eq!(backlog.bytes, left.iter().map(|p| u64::from(p.bytes)).sum::<u64>());
        assert!(
            backlog.packets <= setup.limit && (setup.limit_bytes == 0 || backlog.bytes <= setup.limit_bytes)
        );
        assert_eq!(subject.qdisc.head().map(|p| p.handle), left.first().map(|p| p.handle));
    }
}

/// `usual`, unless PROPTEST_CASES asks for another number.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(512), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_books_balance(setup in setup(), operations in operations(false)) {
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
