//! Properties of every pacer under random calls: each packet is sent in the end, an idle bearer sends within a TTI, and limits stay within
//! their bounds.

use crate::pacing::{MS, US, at, build};
use proptest::prelude::*;
use qdelay_core::Span;
use qdelay_core::pacer::{AnyPacer, COMPONENTS, Eligible, Pacer, Served, Signal, TddSlot};

/// Calls that a host may make to a pacer.
#[derive(Clone, Debug)]
enum HostCall {
    /// Asks for a packet of this size, and forwards it if it may be sent.
    Packet(u64),
    /// Forwards a packet without asking for its size: a discipline dropped the head.
    Sent(u64),
    Served(Served),
    Dequeued(u64),
    Refused,
    Other(u64),
    Wait(u64),
}

fn host_call() -> impl Strategy<Value = HostCall> {
    let bytes = prop_oneof![4 => 40..=1500u64, 2 => 0..100_000u64, 1 => Just(u64::MAX / 4)];
    let slot = (prop_oneof![Just(0), 1..100_000u32], 1..100_000u32, 1..10 * MS).prop_map(
        |(carries, next_carries, next)| TddSlot { carries, next_carries, next: Span::from_nanos(next) },
    );
    let tdd = prop_oneof![3 => Just(None), 1 => slot.prop_map(Some)];
    let served = (
        bytes.clone(),
        bytes.clone(),
        prop_oneof![1 => Just(0), 2 => bytes.clone()],
        0..50u64,
        0..20u32,
        tdd,
    )
        .prop_map(
            |(capacity_bytes, sent_bytes, remaining_bytes, remaining_packets, left_packets, tdd)| Served {
                tdd,
                capacity_bytes,
                sent_bytes,
                remaining_bytes,
                remaining_packets,
                left_packets,
                left_sojourn: Span::from_nanos(remaining_bytes),
            },
        );
    prop_oneof![
        6 => bytes.clone().prop_map(HostCall::Packet),
        1 => (40..=1500u64).prop_map(HostCall::Sent),
        4 => served.prop_map(HostCall::Served),
        2 => bytes.clone().prop_map(HostCall::Dequeued),
        1 => Just(HostCall::Refused),
        1 => bytes.prop_map(HostCall::Other),
        4 => prop_oneof![Just(0), 1..2 * MS, Just(MS), 1..200 * MS].prop_map(HostCall::Wait),
    ]
}

/// Replays the calls, and checks that each promised time is in the future. Returns the time at the end.
fn replay(pacer: &mut AnyPacer, history: &[HostCall]) -> u64 {
    let mut now = 0;
    for call in history {
        match call {
            HostCall::Packet(size) => match pacer.next_eligible(at(now), *size) {
                Eligible::Now => pacer.forwarded(at(now), *size),
                Eligible::At(time) => assert!(time > at(now), "asked at {now} to be asked at {time:?}"),
                Eligible::OnSignal => {}
            },
            HostCall::Sent(size) => pacer.forwarded(at(now), *size),
            HostCall::Served(served) => pacer.on_signal(at(now), Signal::Served(*served)),
            HostCall::Dequeued(bytes) => pacer.on_signal(at(now), Signal::Dequeued { bytes: *bytes }),
            HostCall::Refused => pacer.on_signal(at(now), Signal::Refused),
            HostCall::Other(bytes) => {
                pacer.on_signal(at(now), Signal::Remaining { bytes: *bytes });
                pacer.on_signal(at(now), Signal::Capacity { bytes: *bytes });
            }
            HostCall::Wait(span) => now += span,
        }
    }
    now
}

/// Time at which a packet of `size` is sent that waits from `now` on, with no further signal.
fn goes_at(pacer: &mut AnyPacer, mut now: u64, size: u64) -> Option<u64> {
    for _ in 0..2000 {
        match pacer.next_eligible(at(now), size) {
            Eligible::Now => return Some(now),
            Eligible::At(time) => now = time.as_nanos(),
            Eligible::OnSignal => return None,
        }
    }
    None
}

/// Every pacer but `credit`, which waits for its signals.
fn laws() -> impl Strategy<Value = String> {
    let names: Vec<&str> = COMPONENTS.iter().map(|c| c.name).filter(|name| *name != "credit").collect();
    (proptest::sample::select(names), 0..2usize).prop_map(|(name, variant)| {
        let variants = match name {
            "drql" | "usp" => ["", ":mtu=9000b:fit=whole"],
            "5g-bdp" => ["", ":full=mtu:capacity=used:fit=whole:offset=0.01"],
            "e5g-bdp" => ["", ":mtu=9000b:alpha=0.25:idle=0b:fill=0.95"],
            "dynrlc" => ["", ":alpha=1:max=1"],
            _ => ["", ""],
        };
        format!("{name}{}", variants[variant])
    })
}

/// Check that a quantity which a pacer bounds is within its bounds, after these calls.
type IsWithin = fn(&AnyPacer, &[HostCall]) -> bool;

/// Arguments for the pacer called `name`, and the check of the bounds that they set.
fn bounds(name: &str) -> (&'static str, IsWithin) {
    match name {
        "vanilla" => ("", |_, _| true),
        "drql" => (
            ":max=20000b",
            |pacer, _| matches!(pacer, AnyPacer::Drql(pacer) if (1500..=20_000).contains(&pacer.law().limit_bytes())),
        ),
        "dynrlc" => (
            ":min=2:max=9",
            |pacer, _| matches!(pacer, AnyPacer::DynRlc(pacer) if (2.0..=9.0).contains(&pacer.law().limit_packets())),
        ),
        "usp" => (
            ":max=20000b",
            |pacer, _| matches!(pacer, AnyPacer::Usp(law) if (1500..=20_000).contains(&law.occupancy_bytes(at(0)))),
        ),
        "5g-bdp" => ("", |pacer, calls| {
            let capacity = |call: &HostCall| match call {
                HostCall::Served(served) => {
                    served.tdd.map_or(served.capacity_bytes, |slot| slot.in_next(served.capacity_bytes))
                }
                _ => 0,
            };
            let most = calls.iter().map(capacity).max().unwrap_or(0).max(1500);
            matches!(pacer, AnyPacer::Bdp(pacer) if pacer.law().budget_bytes() <= most)
        }),
        "e5g-bdp" => ("", |pacer, _| {
            let AnyPacer::EnhancedBdp(pacer) = pacer else { return false };
            pacer.law().bandwidth_bytes() >= 0.0 && pacer.law().bandwidth_bytes().is_finite()
        }),
        "credit" => (":5000b", |pacer, calls| {
            let (mut largest, mut unasked) = (0, 0_u64);
            for call in calls {
                match call {
                    HostCall::Packet(bytes) => largest = largest.max(*bytes),
                    HostCall::Sent(bytes) => unasked += bytes,
                    _ => {}
                }
            }
            matches!(pacer, AnyPacer::Credit(law) if law.out_bytes() <= largest.max(5000) + unasked)
        }),
        // There are no desired-buffer reports here: `pacers_f1.rs` has them.
        "ddds" => ("", |_, _| true),
        _ => panic!("{name}: no bounds are declared here; add an arm with its bounded quantity"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: qdelay_testing::effort::cases(3000), failure_persistence: None, ..ProptestConfig::default() })]

    /// After any history a waiting packet is sent within the silence, without any further signal.
    #[test]
    fn every_packet_is_sent_without_further_signals(
        text in laws(),
        history in proptest::collection::vec(host_call(), 0..80),
        size in prop_oneof![40..=1500u64, Just(65_535)],
    ) {
        let mut pacer = build(&text, MS);
        let now = replay(&mut pacer, &history);
        let silence = if text.starts_with("usp") { 200 * MS } else { 20 * MS };
        let limit = silence + 2 * MS;
        let went = goes_at(&mut pacer, now, size);
        prop_assert!(went.is_some_and(|time| time <= now + limit), "{text} at {now}: {went:?}");
    }

    /// After a report of an empty buffer and an idle time, a packet is sent within one TTI.
    #[test]
    fn an_idle_bearer_sends_a_packet_within_a_tti(
        text in laws(),
        history in proptest::collection::vec(host_call(), 0..80),
        size in 40..=1500u64,
        idle in prop_oneof![2 * MS..10 * MS, 2 * MS..10_000 * MS],
        capacity in prop_oneof![Just(0), 0..30_000u64],
    ) {
        prop_assume!(!text.contains("usp"));
        let mut pacer = build(&text, MS);
        let now = replay(&mut pacer, &history);
        let served = Served { capacity_bytes: capacity, sent_bytes: 1, ..Served::default() };
        pacer.on_signal(at(now), Signal::Served(served));
        let now = now + idle;
        let went = goes_at(&mut pacer, now, size);
        prop_assert!(went.is_some_and(|time| time <= now + MS), "{text} at {now}: {went:?}");
    }

    /// A host that polls sends the packet at the first poll after that TTI.
    #[test]
    fn a_polled_idle_bearer_sends_at_the_first_poll_after_a_tti(
        text in laws(),
        history in proptest::collection::vec(host_call(), 0..80),
        size in 40..=1500u64,
        idle in prop_oneof![2 * MS..10 * MS, 2 * MS..10_000 * MS],
        polling in prop_oneof![Just(MS), Just(MS / 2), 1..3 * MS, (1..20u64).prop_map(|n| n * MS), (1..20u64).prop_map(|n| MS / n)],
        phase in prop_oneof![Just(0), 0..MS],
        tti in proptest::sample::select(vec![125 * US, MS, 10 * MS]),
    ) {
        prop_assume!(!text.contains("usp"));
        let mut pacer = build(&text, tti);
        let now = replay(&mut pacer, &history);
        let served = Served { capacity_bytes: 2289, sent_bytes: 1, ..Served::default() };
        pacer.on_signal(at(now), Signal::Served(served));
        let came = now + tti + idle;
        let first = came.saturating_sub(phase).div_ceil(polling) * polling + phase;
        let period = tti.max(MS);
        let mut poll = first;
        while pacer.next_eligible(at(poll), size) != Eligible::Now {
            poll += polling;
            prop_assert!(poll < first + period + polling, "{text}, {polling} ns: came at {came}, waits at {poll}");
        }
    }

    /// Limits stay within their bounds after any calls, and the window is kept.
    #[test]
    fn limits_stay_within_their_bounds(history in proptest::collection::vec(host_call(), 0..200)) {
        for name in COMPONENTS.iter().map(|component| component.name) {
            let (arguments, is_within) = bounds(name);
            let mut pacer = build(&format!("{name}{arguments}"), MS);
            for end in 0..history.len() {
                replay(&mut pacer, &history[end..=end]);
                prop_assert!(is_within(&pacer, &history[..=end]), "{pacer:?}");
            }
        }
    }
}
