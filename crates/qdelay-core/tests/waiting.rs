//! Reports of TTIs in which a bearer waited, passed late: a pacer reaches the same state as if each came at
//! its time, with the question for the head after it, and none of these answers would have let the head be
//! sent.

use crate::pacing::{MS, at, build};
use proptest::prelude::*;
use qdelay_core::Span;
use qdelay_core::pacer::{AnyPacer, Eligible, Pacer, Served, Signal, Waited};

#[derive(Clone, Debug)]
enum Step {
    /// Packets that are sent as long as they may be; the first that may not is held.
    Packets(u64, usize),
    /// A TTI in which the bearer was served: capacity, bytes left, packets that left.
    Served(u64, u64, u32),
    /// TTIs in which the bearer waited, with so many bytes left.
    Waits(u64, u64),
    /// Part of a TTI.
    Within(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let left = prop_oneof![1 => Just(0), 3 => 1..3000_u64, 2 => 3000..60_000_u64];
    let step = prop_oneof![
        3 => (40..=1500_u64, 1..8_usize).prop_map(|(size, count)| Step::Packets(size, count)),
        3 => (prop_oneof![1 => Just(0), 3 => 1..9000_u64], left.clone(), 0..5_u32)
            .prop_map(|(capacity, left, packets)| Step::Served(capacity, left, packets)),
        4 => (prop_oneof![1..4_u64, 1..60_u64, 900..1100_u64], left).prop_map(|(count, left)| Step::Waits(count, left)),
        1 => (0..MS).prop_map(Step::Within),
    ];
    proptest::collection::vec(step, 1..40)
}

fn laws() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "vanilla",
        "dynrlc",
        "dynrlc:alpha=1:max=1",
        "drql",
        "drql:mtu=9000b:fit=begun:interval=7ms",
        "5g-bdp",
        "5g-bdp:full=mtu:fit=whole",
        "e5g-bdp",
        "e5g-bdp:period=2500us:alpha=0.25:idle=0b",
        "e5g-bdp:most=2000b",
        "e5g-bdp:fill=0.9",
        "e5g-bdp:silence=1ms",
        "usp",
        "credit",
    ])
}

/// A host of a pacer: the held head, and the time.
struct Host {
    law: AnyPacer,
    held: Option<u64>,
}

impl Host {
    fn ask(&mut self, now: u64) -> Eligible {
        self.held.map_or(Eligible::OnSignal, |bytes| self.law.next_eligible(at(now), bytes))
    }
    fn offer(&mut self, now: u64, size: u64, count: usize) {
        for _ in 0..count {
            let bytes = self.held.unwrap_or(size);
            if self.law.next_eligible(at(now), bytes) != Eligible::Now {
                self.held = Some(bytes);
                return;
            }
            self.held = None;
            self.law.forwarded(at(now), bytes);
        }
    }
    fn report(&mut self, now: u64, served: Served) {
        self.law.on_signal(at(now), Signal::Served(served));
        self.go(now);
    }
    fn go(&mut self, now: u64) {
        while self.ask(now) == Eligible::Now {
            let bytes = self.held.take().unwrap_or(0);
            self.law.forwarded(at(now), bytes);
        }
    }
    /// Passes the reports late, if they may be; returns true if so.
    fn wait(&mut self, waited: &Waited) -> bool {
        let may = self.law.may_wait(waited, self.held);
        if may {
            self.law.waited(waited, self.held);
        }
        may
    }
}

proptest! {
    #[test]
    fn late_reports_leave_the_same_state(steps in steps(), law in laws()) {
        let mut late = Host { law: build(law, MS), held: None };
        let mut eager = Host { law: build(law, MS), held: None };
        let mut now = 0;
        for step in steps {
            match step {
                Step::Packets(size, count) => for host in [&mut late, &mut eager] { host.offer(now, size, count); }
                Step::Served(capacity_bytes, remaining_bytes, left_packets) => {
                    now = (now / MS + 1) * MS;
                    let left_sojourn = Span::from_millis(u64::from(left_packets) * (remaining_bytes % 20));
                    let remaining_packets = remaining_bytes.div_ceil(1500);
                    let served = Served { capacity_bytes, remaining_bytes, remaining_packets, left_packets, left_sojourn, sent_bytes: capacity_bytes / 2, tdd: None };
                    for host in [&mut late, &mut eager] { host.report(now, served); }
                }
                Step::Waits(count, remaining_bytes) => {
                    now = (now / MS + 1) * MS;
                    let (tti, remaining_packets) = (Span::from_millis(1), remaining_bytes.div_ceil(1500));
                    let waited = Waited { first: at(now), tti, count, remaining_bytes, remaining_packets };
                    let may = late.wait(&waited);
                    for number in 0..count {
                        let time = now + number * MS;
                        if may {
                            let before = eager.held;
                            eager.report(time, waited.report());
                            prop_assert_eq!(before, eager.held, "a head went at {} of {:?}", time, waited);
                        } else {
                            for host in [&mut late, &mut eager] { host.report(time, waited.report()); }
                        }
                    }
                    now += (count - 1) * MS;
                }
                Step::Within(span) => {
                    now += span;
                    for host in [&mut late, &mut eager] { host.go(now); }
                }
            }
            prop_assert_eq!(late.held, eager.held);
            prop_assert_eq!(format!("{:?}", late.law), format!("{:?}", eager.law), "after {}", now);
        }
    }
}
