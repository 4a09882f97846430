//! The pacers against the thesis's algorithms, polled: at every poll of a bearer under random load and a random channel the
//! same packets go. What a pacer says beforehand about the time at which a packet may go holds as well.

use crate::models::pacers::{Bdp, Drql, DynRlc, EnhancedBdp, Length, Polled, Slot, Tti, Usp};
use crate::pacing::{MS, Pattern, Rlc, US, at, build, build_in};
use proptest::prelude::*;
use qdelay_core::pacer::{AnyPacer, COMPONENTS, Eligible, Pacer, Served, Signal, TddSlot};
use qdelay_core::{Random, Span};
use qdelay_testing::{for_each_seed, least};
use std::collections::VecDeque;

const SEQUENCES: u64 = 300;
const TTIS: u64 = 400;

fn within(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// Packets at the upper queue: none, a few, or as many as go.
struct Source {
    sizes: Vec<u64>,
    queue: VecDeque<u64>,
    load: u64,
}

impl Source {
    fn new(random: &mut Random) -> Source {
        let sizes = match random.below(3) {
            0 => vec![1500],
            1 => vec![200, 1500],
            _ => vec![1, 40, 200, 576, 1499, 1500, 9000],
        };
        Source { sizes, queue: VecDeque::new(), load: 0 }
    }
    /// Before each TTI and each poll: the load changes now and then, packets come by it.
    fn arrive(&mut self, random: &mut Random, is_tti: bool) {
        if is_tti && random.below(20) == 0 {
            self.load = [0, 1, 5, 100][random.below(4) as usize];
        }
        if random.below(100) < self.load && self.queue.len() < 200 {
            for _ in 0..within(random, 1, 3) {
                self.queue.push_back(self.sizes[random.below(self.sizes.len() as u64) as usize]);
            }
        }
    }
}

/// What the pacer said of the head: the answer holds until something happens.
struct Promise {
    until: u64,
}

/// One poll: whoever may go, goes; pacer and model agree about each.
fn poll(
    name: &str,
    now: u64,
    source: &mut Source,
    pacer: &mut AnyPacer,
    promise: &mut Option<Promise>,
    mut may_go: impl FnMut(u64) -> bool,
    mut went: impl FnMut(u64),
) -> u64 {
    let mut count = 0;
    while let Some(&size) = source.queue.front() {
        let answer = pacer.next_eligible(at(now), size);
        assert_eq!(answer == Eligible::Now, may_go(size), "{name} at {now}: {size} bytes, {answer:?}");
        match answer {
            Eligible::Now => {
                if let Some(promise) = promise {
                    assert!(promise.until <= now, "{name} at {now}: promised for {} only", promise.until);
                }
                *promise = None;
                pacer.forwarded(at(now), size);
                went(size);
                source.queue.pop_front();
                count += 1;
            }
            Eligible::At(time) => {
                assert!(at(now) < time, "{name} at {now}: {time:?}");
                if let Some(promise) = promise {
                    // Asked again before it is time, the answer is the same; later it may be another.
                    assert!(promise.until <= now || promise.until == time.as_nanos(), "{name} at {now}");
                }
                *promise = Some(Promise { until: time.as_nanos() });
                break;
            }
            Eligible::OnSignal => {
                *promise = Some(Promise { until: u64::MAX });
                break;
            }
        }
    }
    count
}

/// Every TTI carries data downwards, or a pattern of slots says which do.
fn pattern(random: &mut Random) -> Option<Pattern> {
    let slots =
        [vec![], vec![], vec![10, 10, 10, 7, 0], vec![5, 0], vec![9, 4, 0, 0, 9], vec![3, 0, 0, 0, 0]];
    Some(slots[random.below(6) as usize].clone()).filter(|slots| !slots.is_empty()).map(Pattern)
}

/// A random bearer above a random channel. `case` is given whether the carrier has time division duplex.
fn judge(name: &str, case: impl Fn(&mut Random, u64, bool) -> (String, Box<dyn Polled>)) {
    let (mut all, mut held) = (0, 0);
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, name, "pacers");
        let tti = [125 * US, MS, 10 * MS][random.below(3) as usize];
        let pattern = pattern(&mut random);
        let (text, mut model) = case(&mut random, tti, pattern.is_some());
        let label = format!("seed {seed}, {text}, TTI {tti}, {pattern:?}");
        let mut pacer = build_in(&text, tti, pattern.is_some());
        let (mut source, mut rlc) = (Source::new(&mut random), Rlc::default());
        let (mut promise, mut capacity) = (None, 2289);
        let polls = within(&mut random, 3, 40);
        for number in 1..=TTIS {
            let now = number * tti;
            source.arrive(&mut random, true);
            if random.below(10) == 0 {
                capacity = [0, 1, 100, 549, 2289, 9000, 30_000][random.below(7) as usize];
            }
            let tdd = pattern.as_ref().map(|pattern| pattern.slot(number, tti));
            let capacity = pattern.as_ref().map_or(capacity, |pattern| pattern.capacity(number, capacity));
            let slot = tdd.map(|slot| Slot {
                carries: u64::from(slot.carries),
                next_carries: u64::from(slot.next_carries),
                next: slot.next.as_nanos(),
            });
            if rlc.packets.is_empty() {
                model.end_of_tti(now, Tti { slot, ..Tti::default() });
            } else {
                let served = Served { tdd, ..rlc.serve(now, capacity) };
                pacer.on_signal(at(now), Signal::Served(served));
                model.end_of_tti(
                    now,
                    Tti {
                        capacity,
                        sent: served.sent_bytes,
                        remaining: served.remaining_bytes,
                        sojourns: served.left_sojourn.as_nanos(),
                        left: u64::from(served.left_packets),
                        busy: true,
                        slot,
                    },
                );
                promise = None;
            }
            for step in 0..polls {
                let now = now + step * tti / polls;
                source.arrive(&mut random, false);
                let rlc_now = std::cell::RefCell::new(&mut rlc);
                let model_now = std::cell::RefCell::new(&mut model);
                all += poll(
                    &label,
                    now,
                    &mut source,
                    &mut pacer,
                    &mut promise,
                    |size| {
                        let rlc = rlc_now.borrow();
                        let in_rlc = (rlc.bytes(), rlc.packets.len() as u64);
                        model_now.borrow_mut().may_go(now, size, in_rlc)
                    },
                    |size| {
                        rlc_now.borrow_mut().push(now, size);
                        model_now.borrow_mut().went(size);
                    },
                );
                held += u64::from(!source.queue.is_empty());
            }
        }
    });
    println!("{name}: {all} packets went, {held} polls held one back");
    assert!(all > least(10_000) && held > least(10_000), "{name}: {all} went, {held} held back");
}

#[test]
fn drql_is_algorithm_1() {
    judge("drql", |random, tti, _| {
        let interval = within(random, 1, 12) * tti;
        let max = within(random, 1500, 60_000);
        let increase = [1.0, 1.2, 1.5][random.below(3) as usize];
        let begun = random.below(2) == 1;
        let fit = if begun { "begun" } else { "whole" };
        let text =
            format!("drql:interval={}ns:max={max}b:increase={increase}:fit={fit}:silence=100s", interval);
        let model = Drql {
            interval,
            increase,
            max: max as f64,
            mtu: 1500.0,
            begun,
            round_trip: 0,
            limit: max as f64,
            min_val: f64::INFINITY,
            last_time: 0,
            limit_reached: false,
        };
        (text, Box::new(model))
    });
}

#[test]
fn dynrlc_is_as_described() {
    judge("dynrlc", |random, tti, _| {
        let interval = within(random, 1, 12) * tti;
        let target = within(random, 1, 6) * tti;
        let (min, range) = (within(random, 1, 3), within(random, 0, 20));
        let start = min + random.below(range + 1);
        let alpha = [0.05, 0.1, 0.5, 1.0][random.below(4) as usize];
        let step = ["factor", "distance", "packets"][random.below(3) as usize];
        let text = format!(
            "dynrlc:interval={interval}ns:target={target}ns:alpha={alpha}:min={min}:max={}:start={start}:step={step}:silence=100s",
            min + range
        );
        let model = DynRlc {
            interval,
            target,
            alpha,
            bounds: (min as f64, (min + range) as f64),
            step,
            limit: start as f64,
            last_time: 0,
            sojourns: Vec::new(),
        };
        (text, Box::new(model))
    });
}

#[test]
fn bdp_is_algorithm_2() {
    judge("5g-bdp", |random, tti, _| {
        let offset = [0.01, 0.33, 0.5, 1.0][random.below(4) as usize];
        let (begun, full_mtu) = (random.below(2) == 1, random.below(4) == 0);
        let (fit, full) = (if begun { "begun" } else { "whole" }, if full_mtu { "mtu" } else { "none" });
        let used = random.below(2) == 1;
        let capacity = if used { "used" } else { "offered" };
        let text = format!("5g-bdp:offset={offset}:fit={fit}:full={full}:capacity={capacity}:silence=100s");
        let model = Bdp {
            length: Length::of(tti),
            offset,
            mtu: 1500,
            full_mtu,
            used,
            begun,
            capacity: 0,
            bytes_to_send: 1500,
            bytes_tx: 0,
            last_time: 0,
            refused: 0,
            due: 0,
        };
        (text, Box::new(model))
    });
}

#[test]
fn enhanced_bdp_is_algorithms_3_to_5() {
    judge("e5g-bdp", |random, tti, has_tdd| {
        let alpha = [0.25, 0.7, 1.0][random.below(3) as usize];
        let reduce_const = [0.0, 0.65, 1.0][random.below(3) as usize];
        let idle = [0, 100, 400][random.below(3) as usize];
        let fill = [None, Some(0.9), Some(0.25)][random.below(3) as usize];
        let filled = fill.map_or_else(String::new, |fill| format!(":fill={fill}"));
        // With time division duplex the period follows the slots where none is given.
        let period = if has_tdd { String::new() } else { format!(":period={tti}ns") };
        let text =
            format!("e5g-bdp:alpha={alpha}:reduce={reduce_const}:idle={idle}b:silence=100s{period}{filled}");
        let model = EnhancedBdp {
            length: Length::of(tti),
            fill,
            capacities: Vec::new(),
            part: (1, 1),
            alpha,
            reduce_const,
            idle: idle.max(76) as f64,
            mtu: 1500,
            bandwidth: 0.0,
            max_bytes: u64::MAX,
            srs_bytes: 0,
            last_acc_bytes: 0,
            last_tti: 0,
            refused: 0,
            due: 0,
        };
        (text, Box::new(model))
    });
}

/// The gate below the SDAP lets packets through, or holds one back, at random times.
#[test]
fn usp_is_algorithms_6_and_7() {
    let (mut all, mut held) = (0, 0);
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, "usp", "pacers");
        let tti = [125 * US, MS, 10 * MS][random.below(3) as usize];
        let interval = within(&mut random, 1, 5) * tti;
        let looks = within(&mut random, 1, 10);
        let max = within(&mut random, 1500, 40_000);
        let begun = random.below(2) == 1;
        let fit = if begun { "begun" } else { "whole" };
        let text = format!("usp:interval={interval}ns:looks={looks}:max={max}b:fit={fit}:silence=100s");
        let label = format!("seed {seed}, {text}, TTI {tti}");
        let mut pacer = build(&text, tti);
        let mut model = Usp {
            t: interval,
            looks,
            range: (1500, max),
            begun,
            optimal_occ: max,
            saturation_detected: false,
            dequeued_bytes: 0,
            dequeued_bytes_last: 0,
            last_time: 0,
        };
        let mut source = Source::new(&mut random);
        let mut sdap: VecDeque<u64> = VecDeque::new();
        let mut promise = None;
        let rate = within(&mut random, 1, 30);
        let mut now = tti;
        for step in 0..20 * TTIS {
            now += within(&mut random, 1, tti / 10);
            source.arrive(&mut random, step % 20 == 0);
            if random.below(100) < rate {
                for _ in 0..within(&mut random, 1, 4) {
                    if let Some(bytes) = sdap.pop_front() {
                        pacer.on_signal(at(now), Signal::Dequeued { bytes });
                        model.dequeued(now, bytes);
                        promise = None;
                    }
                }
                if random.below(2) == 0 && !sdap.is_empty() {
                    pacer.on_signal(at(now), Signal::Refused);
                    model.saturation_detected = true;
                    promise = None;
                }
            }
            let sdap_now = std::cell::RefCell::new(&mut sdap);
            all += poll(
                &label,
                now,
                &mut source,
                &mut pacer,
                &mut promise,
                |size| model.may_go(now, size, sdap_now.borrow().iter().sum()),
                |size| sdap_now.borrow_mut().push_back(size),
            );
            held += u64::from(!source.queue.is_empty());
        }
    });
    assert!(all > least(10_000) && held > least(10_000), "{all} went, {held} held back");
}

/// A window of bytes, of which each that went through takes as long as it is not reported: counted packet by packet.
#[test]
fn credit_is_a_window_and_vanilla_has_none() {
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, "credit", "pacers");
        let window = within(&mut random, 1, 20_000);
        let (mut credit, mut vanilla) = (build(&format!("credit:{window}b"), MS), build("vanilla", MS));
        let mut out: VecDeque<u64> = VecDeque::new();
        for now in 0..TTIS {
            let size = within(&mut random, 1, 9000);
            assert_eq!(vanilla.next_eligible(at(now), size), Eligible::Now);
            vanilla.forwarded(at(now), size);
            let may_go = out.is_empty() || out.iter().sum::<u64>() + size <= window;
            let expected = if may_go { Eligible::Now } else { Eligible::OnSignal };
            assert_eq!(credit.next_eligible(at(now), size), expected, "seed {seed} at {now}");
            if may_go {
                credit.forwarded(at(now), size);
                out.push_back(size);
            }
            if random.below(2) == 0
                && let Some(bytes) = out.pop_front()
            {
                credit.on_signal(at(now), Signal::Dequeued { bytes });
            }
        }
    });
}

#[test]
fn every_pacer_has_a_model() {
    // The window of `ddds` is judged by a count of TTIs, in `qdelay-path/tests/f1.rs`.
    let judged = ["vanilla", "dynrlc", "drql", "5g-bdp", "e5g-bdp", "usp", "credit", "ddds"];
    crate::models::assert_all_have_models(COMPONENTS, &judged, "pacer");
}

/// Anything that a host may tell a pacer.
#[derive(Clone, Debug)]
enum Told {
    /// Asked, and forwarded if it may go.
    Packet(u64),
    /// Forwarded without being asked for its size: a discipline dropped the head.
    Sent(u64),
    Served(Served),
    Dequeued(u64),
    Refused,
    Other(u64),
    Wait(u64),
}

fn told() -> impl Strategy<Value = Told> {
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
        6 => bytes.clone().prop_map(Told::Packet),
        1 => (40..=1500u64).prop_map(Told::Sent),
        4 => served.prop_map(Told::Served),
        2 => bytes.clone().prop_map(Told::Dequeued),
        1 => Just(Told::Refused),
        1 => bytes.prop_map(Told::Other),
        4 => prop_oneof![Just(0), 1..2 * MS, Just(MS), 1..200 * MS].prop_map(Told::Wait),
    ]
}

/// Does what a host does, and checks that a later answer keeps what an earlier one promised.
fn tell(pacer: &mut AnyPacer, history: &[Told]) -> u64 {
    let mut now = 0;
    for told in history {
        match told {
            Told::Packet(size) => match pacer.next_eligible(at(now), *size) {
                Eligible::Now => pacer.forwarded(at(now), *size),
                Eligible::At(time) => assert!(time > at(now), "asked at {now} to be asked at {time:?}"),
                Eligible::OnSignal => {}
            },
            Told::Sent(size) => pacer.forwarded(at(now), *size),
            Told::Served(served) => pacer.on_signal(at(now), Signal::Served(*served)),
            Told::Dequeued(bytes) => pacer.on_signal(at(now), Signal::Dequeued { bytes: *bytes }),
            Told::Refused => pacer.on_signal(at(now), Signal::Refused),
            Told::Other(bytes) => {
                pacer.on_signal(at(now), Signal::Remaining { bytes: *bytes });
                pacer.on_signal(at(now), Signal::Capacity { bytes: *bytes });
            }
            Told::Wait(span) => now += span,
        }
    }
    now
}

/// When a packet of `size` goes that waits from `now` on, with no further signal.
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

/// Every pacer but the window, which waits for its signals.
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

/// Whether what a pacer limits itself to is within its bounds, after what it was told.
type IsWithin = fn(&AnyPacer, &[Told]) -> bool;

/// Arguments for the pacer called `name` and the bounds that these set.
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
        "5g-bdp" => ("", |pacer, told| {
            let capacity = |told: &Told| match told {
                Told::Served(served) => {
                    served.tdd.map_or(served.capacity_bytes, |slot| slot.in_next(served.capacity_bytes))
                }
                _ => 0,
            };
            let most = told.iter().map(capacity).max().unwrap_or(0).max(1500);
            matches!(pacer, AnyPacer::Bdp(pacer) if pacer.law().budget_bytes() <= most)
        }),
        "e5g-bdp" => ("", |pacer, _| {
            let AnyPacer::EnhancedBdp(pacer) = pacer else { return false };
            pacer.law().bandwidth_bytes() >= 0.0 && pacer.law().bandwidth_bytes().is_finite()
        }),
        "credit" => (":5000b", |pacer, told| {
            let (mut largest, mut unasked) = (0, 0_u64);
            for told in told {
                match told {
                    Told::Packet(bytes) => largest = largest.max(*bytes),
                    Told::Sent(bytes) => unasked += bytes,
                    _ => {}
                }
            }
            matches!(pacer, AnyPacer::Credit(law) if law.out_bytes() <= largest.max(5000) + unasked)
        }),
        // Nobody desires anything here: `pacers_f1.rs` has it with reports.
        "ddds" => ("", |_, _| true),
        _ => panic!("{name}: what does it limit itself to, and within which bounds?"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: qdelay_testing::effort::cases(3000), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever has happened: a packet that waits goes within the silence, though no signal ever comes again.
    #[test]
    fn nobody_waits_for_ever(
        text in laws(),
        history in proptest::collection::vec(told(), 0..80),
        size in prop_oneof![40..=1500u64, Just(65_535)],
    ) {
        let mut pacer = build(&text, MS);
        let now = tell(&mut pacer, &history);
        let silence = if text.starts_with("usp") { 200 * MS } else { 20 * MS };
        let limit = silence + 2 * MS;
        let went = goes_at(&mut pacer, now, size);
        prop_assert!(went.is_some_and(|time| time <= now + limit), "{text} at {now}: {went:?}");
    }

    /// Where the last report said that nothing is left, a packet that comes after an idle time goes within one TTI.
    #[test]
    fn an_idle_bearer_takes_a_packet_within_a_tti(
        text in laws(),
        history in proptest::collection::vec(told(), 0..80),
        size in 40..=1500u64,
        idle in prop_oneof![2 * MS..10 * MS, 2 * MS..10_000 * MS],
        capacity in prop_oneof![Just(0), 0..30_000u64],
    ) {
        prop_assume!(!text.contains("usp"));
        let mut pacer = build(&text, MS);
        let now = tell(&mut pacer, &history);
        let served = Served { capacity_bytes: capacity, sent_bytes: 1, ..Served::default() };
        pacer.on_signal(at(now), Signal::Served(served));
        let now = now + idle;
        let went = goes_at(&mut pacer, now, size);
        prop_assert!(went.is_some_and(|time| time <= now + MS), "{text} at {now}: {went:?}");
    }

    /// The same where the pacer is looked at only now and then: at the first look after that TTI.
    #[test]
    fn an_idle_bearer_that_is_polled_takes_a_packet_at_the_first_look_after_a_tti(
        text in laws(),
        history in proptest::collection::vec(told(), 0..80),
        size in 40..=1500u64,
        idle in prop_oneof![2 * MS..10 * MS, 2 * MS..10_000 * MS],
        polling in prop_oneof![Just(MS), Just(MS / 2), 1..3 * MS, (1..20u64).prop_map(|n| n * MS), (1..20u64).prop_map(|n| MS / n)],
        phase in prop_oneof![Just(0), 0..MS],
        tti in proptest::sample::select(vec![125 * US, MS, 10 * MS]),
    ) {
        prop_assume!(!text.contains("usp"));
        let mut pacer = build(&text, tti);
        let now = tell(&mut pacer, &history);
        let served = Served { capacity_bytes: 2289, sent_bytes: 1, ..Served::default() };
        pacer.on_signal(at(now), Signal::Served(served));
        let came = now + tti + idle;
        let first = came.saturating_sub(phase).div_ceil(polling) * polling + phase;
        let period = tti.max(MS);
        let mut look = first;
        while pacer.next_eligible(at(look), size) != Eligible::Now {
            look += polling;
            prop_assert!(look < first + period + polling, "{text}, {polling} ns: came at {came}, waits at {look}");
        }
    }

    /// Limits stay within their bounds whatever is told, and the window is kept to.
    #[test]
    fn limits_are_clamped(history in proptest::collection::vec(told(), 0..200)) {
        for name in COMPONENTS.iter().map(|component| component.name) {
            let (arguments, is_within) = bounds(name);
            let mut pacer = build(&format!("{name}{arguments}"), MS);
            for end in 0..history.len() {
                tell(&mut pacer, &history[end..=end]);
                prop_assert!(is_within(&pacer, &history[..=end]), "{pacer:?}");
            }
        }
    }
}
