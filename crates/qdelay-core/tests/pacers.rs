//! The pacers compared with the thesis's algorithms, polled: at every poll of a bearer under random load and
//! a random channel the same packets are sent. A promised time of sending is kept as well.

use crate::models::pacers::{Bdp, Drql, DynRlc, EnhancedBdp, Length, Polled, Slot, Tti, Usp};
use crate::pacing::{MS, Pattern, Rlc, US, at, build, build_in};
use qdelay_core::Random;
use qdelay_core::pacer::{AnyPacer, COMPONENTS, Eligible, Pacer, Served, Signal};
use qdelay_testing::{for_each_seed, least};
use std::collections::VecDeque;

const SEQUENCES: u64 = 300;
const TTIS: u64 = 400;

fn within(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// Packets at the upper queue: none, a few, or as many as are sent.
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
    /// Adds arrivals before each TTI and each poll; the load changes now and then.
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

/// The pacer's last answer for the head: the answer holds until an event.
struct Promise {
    until: u64,
}

/// One poll: sends packets while pacer and model allow it, and compares both for each.
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
                    // Asked again before the promised time, the answer is the same; later it may be another.
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

/// A TDD pattern, or `None` for a carrier on which every TTI carries downlink data.
fn pattern(random: &mut Random) -> Option<Pattern> {
    let slots =
        [vec![], vec![], vec![10, 10, 10, 7, 0], vec![5, 0], vec![9, 4, 0, 0, 9], vec![3, 0, 0, 0, 0]];
    Some(slots[random.below(6) as usize].clone()).filter(|slots| !slots.is_empty()).map(Pattern)
}

/// Runs a random bearer above a random channel. The third argument of `case` is true for a carrier with time
/// division duplex.
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
            length: Length::new(tti),
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
        // With time division duplex and no `period` the period follows the slots.
        let period = if has_tdd { String::new() } else { format!(":period={tti}ns") };
        let text =
            format!("e5g-bdp:alpha={alpha}:reduce={reduce_const}:idle={idle}b:silence=100s{period}{filled}");
        let model = EnhancedBdp {
            length: Length::new(tti),
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

/// USP above a gate that lets packets through, or holds one back, at random times.
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

/// `credit` as a window of bytes, of which each packet sent takes its size until it is reported; counted
/// packet by packet.
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
