//! Loss, reordering and duplication: compared with a chain of states that is followed step by step, with what such a chain does in
//! the long run, and with what the sources and the numbers of packets say.

use crate::common::{Event, Log, drain, ms, packet, queue};
use proptest::prelude::*;
use qdelay_core::{DropReason, Packet, Random, Span, Time};
use qdelay_path::*;

/// The handles of copies are those of their packets and this.
const COPY: u64 = 1 << 40;

/// Makes copies.
#[derive(Default)]
struct Copying(Log);

impl Observer for Copying {
    fn dropped(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.0.dropped(now, node, packet, reason);
    }
    fn corrupted(&mut self, _: Time, _: NodeId, packet: &Packet) -> bool {
        packet.handle.is_multiple_of(2)
    }
    fn duplicated(&mut self, _: Time, _: NodeId, packet: &Packet) -> Option<u64> {
        Some(packet.handle | COPY)
    }
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        Observer::delivered(&mut self.0, now, node, packet);
    }
}

fn impaired(spec: ImpairmentSpec, seed: u64) -> Path {
    PathBuilder::new()
        .node("impairment", NodeSpec::Impairment(spec))
        .node("delay", NodeSpec::delay(Span::from_millis(3)))
        .node("exit", NodeSpec::Exit)
        .chain(&["impairment", "delay", "exit"])
        .build(seed)
        .unwrap()
}

/// Sends `count` packets, one every 100 us; what became of them.
fn send(spec: ImpairmentSpec, seed: u64, count: u64) -> (Path, Log) {
    let mut path = impaired(spec, seed);
    let (entry, mut seen) = (path.node("impairment").unwrap(), Copying::default());
    for handle in 0..count {
        let now = Time::from_nanos(100_000 * handle);
        path.ingress(now, entry, packet(handle, 1000), &mut seen).unwrap();
    }
    while path.next_deadline() < Time::NEVER {
        path.poll(path.next_deadline(), &mut seen).unwrap();
    }
    path.audit().unwrap();
    (path, seen.0)
}

/// Of each packet, whether it was lost.
fn losses(model: LossModel, seed: u64, count: u64) -> Vec<bool> {
    let (_, log) = send(ImpairmentSpec { loss: model, ..ImpairmentSpec::default() }, seed, count);
    let mut lost = vec![false; count as usize];
    for event in &log.events {
        if let Event::Dropped { handle, reason, .. } = event {
            assert_eq!(*reason, DropReason::LOSS);
            lost[*handle as usize] = true;
        }
    }
    lost
}

/// Elliott's channel, followed packet by packet. The draws are the input, two for each packet.
fn channel(p: f64, r: f64, h: f64, k: f64, seed: u64, count: u64) -> Vec<bool> {
    let mut draws = Random::derive(seed, "impairment", "loss");
    let mut state = "good";
    let mut lost = Vec::new();
    for _ in 0..count {
        let (first, second) = (draws.unit(), draws.unit());
        // 1-h and 1-k are the probabilities of errors, and h and k of none.
        lost.push(if state == "good" { first < 1.0 - k } else { first < 1.0 - h });
        state = match state {
            "good" if second < p => "bad",
            "bad" if second < r => "good",
            other => other,
        };
    }
    lost
}

/// In the long run, of a chain with these probabilities: the share of lost packets, and the mean length of bursts of losses. The
/// distribution over the states, each with and without a loss in the last packet, is stepped until nothing changes.
fn in_the_long_run(p: f64, r: f64, bad: f64, good: f64) -> (f64, f64) {
    // By state (good, bad), and by whether the packet before was lost.
    let mut share = [[0.25; 2]; 2];
    let mut begun = 0.0;
    for _ in 0..20_000 {
        let mut next = [[0.0; 2]; 2];
        begun = 0.0;
        for (state, (loss, change)) in [(good, p), (bad, r)].into_iter().enumerate() {
            for before in [0, 1] {
                let here = share[state][before];
                for (lost, chance) in [(0, 1.0 - loss), (1, loss)] {
                    next[state][lost] += here * chance * (1.0 - change);
                    next[1 - state][lost] += here * chance * change;
                    // A burst begins with a loss behind a packet that was not lost.
                    if lost == 1 && before == 0 {
                        begun += here * chance;
                    }
                }
            }
        }
        share = next;
    }
    let lost = share[0][1] + share[1][1];
    (lost, lost / begun)
}

/// Share of losses, and mean length of a burst.
fn measured(lost: &[bool]) -> (f64, f64) {
    let count = lost.iter().filter(|lost| **lost).count() as f64;
    let begun =
        lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64 + f64::from(u8::from(lost[0]));
    (count / lost.len() as f64, count / begun)
}

#[test]
fn a_chain_of_states_loses_what_the_model_loses() {
    for (p, r, h, k) in [
        (0.01, 0.25, 0.0, 1.0),
        (0.3, 0.2, 0.5, 0.99),
        (1.0, 1.0, 0.0, 1.0),
        (0.0, 0.5, 0.0, 0.9),
        (0.5, 0.0, 0.1, 1.0),
    ] {
        for seed in 1..4 {
            let model = LossModel::GilbertElliott { p, r, bad: 1.0 - h, good: 1.0 - k };
            assert_eq!(losses(model.clone(), seed, 3000), channel(p, r, h, k, seed, 3000), "{model:?}");
        }
    }
}

#[test]
fn losses_and_bursts_are_as_frequent_and_long_as_the_chain_has_them() {
    // Gilbert's closed form, as a check of the check.
    let (share, burst) = in_the_long_run(0.02, 0.25, 1.0, 0.0);
    assert!((share - 0.02 / 0.27).abs() < 1e-9 && (burst - 4.0).abs() < 1e-9, "{share} {burst}");
    for (p, r, bad, good) in [(0.02, 0.25, 1.0, 0.0), (0.05, 0.1, 0.6, 0.01), (0.3, 0.3, 0.9, 0.2)] {
        let expected = in_the_long_run(p, r, bad, good);
        let found = measured(&losses(LossModel::GilbertElliott { p, r, bad, good }, 7, 400_000));
        let is_near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.03;
        assert!(is_near(found.0, expected.0) && is_near(found.1, expected.1), "{found:?} {expected:?}");
    }
    let found = measured(&losses(LossModel::Random(0.1), 7, 400_000));
    // Bursts of independent losses are as long as chance has them.
    assert!((found.0 - 0.1).abs() < 0.002 && (found.1 - 1.0 / 0.9).abs() < 0.01, "{found:?}");
}

/// Steps at random times, followed by a walk over their durations. A packet that enters at the start of a step has that step's probability.
fn stepwise(steps: &[(u64, f64)], round_us: Option<u64>, place_us: u64, seed: u64, count: u64) -> Vec<bool> {
    let mut draws = Random::derive(seed, "impairment", "loss");
    let mut lost = Vec::new();
    for packet in 0..count {
        let mut at = place_us + 100 * packet;
        while let Some(round) = round_us
            && at >= round
        {
            at -= round;
        }
        let mut holds = 0.0;
        for (start, probability) in steps {
            if *start <= at {
                holds = *probability;
            }
        }
        lost.push(draws.unit() < holds);
    }
    lost
}

#[test]
fn steps_lose_what_a_walk_over_them_loses() {
    let mut checked = 0;
    for seed in 0..60 {
        let random = &mut Random::derive(seed, "losses", "steps");
        let mut steps = vec![(0, 0.0)];
        for _ in 0..random.below(12) {
            let (start, _) = *steps.last().unwrap();
            // Whole multiples of the packets' interval, too, so that packets enter at the start of steps.
            let length =
                if random.below(2) == 0 { 100 * (1 + random.below(300)) } else { 1 + random.below(30_000) };
            let probability = [0.0, 1.0, random.unit(), random.unit() / 10.0][random.below(4) as usize];
            steps.push((start + length, probability));
        }
        steps[0].1 = random.unit() * random.below(2) as f64;
        let round = steps.last().unwrap().0 + 1 + random.below(10_000);
        let (repeats, place) = (random.below(2) == 0, random.below(round));
        let of_round = steps.iter().map(|(start, probability)| qdelay_trace::LossStep {
            start: Time::from_nanos(1000 * start),
            value: qdelay_trace::LossRate(*probability),
        });
        let of_round = qdelay_trace::LossSteps::new(of_round.collect(), Span::from_micros(round)).unwrap();
        let model = OverTime::new(of_round, repeats).starting_from(Span::from_micros(place));
        let found = losses(LossModel::over_time(model), seed, 3000);
        assert_eq!(
            found,
            stepwise(&steps, repeats.then_some(round), place, seed, 3000),
            "seed {seed}: {steps:?}"
        );
        checked += found.iter().filter(|lost| **lost).count();
    }
    assert!(checked > 20_000, "{checked}");
}

/// The draws of a constant are those of a plain percentage.
#[test]
fn steps_of_one_probability_are_a_percentage() {
    let model = |text: &str| LossModel::build(&LossModel::parse(text).unwrap()).unwrap();
    for percent in ["0.1%", "7%", "33.3%", "100%"] {
        let plain = losses(model(percent), 9, 5000);
        for text in [format!("steps:0s@{percent}"), format!("steps:0s@{percent}+7ms@{percent}:repeat=11ms")] {
            assert_eq!(losses(model(&text), 9, 5000), plain, "{text}");
        }
    }
    assert!(!model("steps:0s@0%+1s@0%").is_lossy() && model("steps:0s@0%+1s@0.1%").is_lossy());
}

/// The share of losses is the probability with every correlation, and the mean length of a burst follows from both; a slow model walks
/// the two states with the same draws.
#[test]
fn correlated_losses_keep_their_share() {
    for (text, probability, rho) in [("5%:correlation=25%", 0.05, 0.25), ("20%:correlation=80%", 0.2, 0.8)] {
        let model = LossModel::build(&LossModel::parse(text).unwrap()).unwrap();
        let found = losses(model.clone(), 3, 400_000);
        let (share, burst) = measured(&found);
        // The error of a share of dependent draws: (1 + rho) / (1 - rho) times the variance of independent ones.
        let error: f64 = probability * (1.0 - probability) / 400_000.0 * (1.0 + rho) / (1.0 - rho);
        assert!((share - probability).abs() < 5.0 * error.sqrt(), "{text}: {share}");
        let expected = 1.0 / ((1.0 - rho) * (1.0 - probability));
        assert!((burst / expected - 1.0).abs() < 0.02, "{text}: {burst} for {expected}");
        let mut draws = Random::derive(3, "impairment", "loss");
        let mut before: Option<bool> = None;
        for lost in &found[..3000] {
            let chance = match before {
                None => probability,
                Some(before) => rho * f64::from(u8::from(before)) + (1.0 - rho) * probability,
            };
            let expected = draws.unit() < chance;
            assert_eq!(*lost, expected);
            before = Some(expected);
        }
    }
}

/// In netem a correlation moves the draws towards their mean, so that fewer are below a small probability.
#[test]
fn correlated_losses_of_netem_are_fewer() {
    let model = |text: &str| LossModel::build(&LossModel::parse(text).unwrap()).unwrap();
    let found = losses(model("random:5%:correlation=50%:variant=netem"), 3, 200_000);
    let mut draws = Random::derive(3, "impairment", "loss");
    let mut fresh = || (draws.bits() >> 32) as f64 / 2.0_f64.powi(32);
    // netem begins with a number that no packet is compared with.
    let mut mixed = fresh();
    let expected: Vec<bool> = (0..200_000)
        .map(|_| {
            mixed = 0.5 * fresh() + 0.5 * mixed;
            mixed < 0.05
        })
        .collect();
    assert!(found == expected);
    let (share, _) = measured(&found);
    assert!(share < 0.02, "{share}");
}

/// The host that has the bytes of a packet corrupts it; without, it is dropped with a reason of its own.
#[test]
fn corrupted_packets_are_changed_or_dropped() {
    let spec = ImpairmentSpec { corrupt: LossModel::Random(0.5), ..ImpairmentSpec::default() };
    let (_, log) = send(spec, 3, 2000);
    let mut dropped = 0;
    for event in &log.events {
        if let Event::Dropped { handle, reason, .. } = event {
            assert_eq!((*reason, handle % 2), (CORRUPTED, 1));
            dropped += 1;
        }
    }
    assert!(dropped > 400 && log.delivered().len() == 2000 - dropped, "{dropped}");
    assert!(log.delivered().iter().all(|(time, handle)| time - handle * 100_000 == 3_000_000), "no delay");
}

/// With packets every 100 us, one that stays a millisecond is overtaken by nine, and the tenth is behind it.
#[test]
fn late_packets_are_overtaken() {
    let spec = ImpairmentSpec {
        reorder: LossModel::Random(0.02),
        reorder_delay: Span::from_millis(1),
        ..ImpairmentSpec::default()
    };
    let (_, log) = send(spec, 3, 20_000);
    let delivered = log.delivered();
    assert_eq!(delivered.len(), 20_000);
    let mut late = 0;
    for (time, handle) in &delivered {
        let stayed = time - handle * 100_000 - 3_000_000;
        assert!(stayed == 0 || stayed == 1_000_000, "{stayed}");
        late += u64::from(stayed > 0);
    }
    assert!(late.abs_diff(400) < 60, "{late}");
    let overtaken = delivered.windows(2).filter(|pair| pair[1].1 < pair[0].1).count() as u64;
    assert!(overtaken > late * 3 / 4 && overtaken <= late, "{overtaken} of {late}");
}

#[test]
fn a_copy_follows_its_packet_and_is_counted() {
    let spec = ImpairmentSpec { duplicate: LossModel::Random(0.05), ..ImpairmentSpec::default() };
    let (path, log) = send(spec, 3, 20_000);
    let delivered = log.delivered();
    let copies = delivered.len() as u64 - 20_000;
    assert!(copies.abs_diff(1000) < 100, "{copies}");
    for pair in delivered.windows(2).filter(|pair| pair[1].1 >= COPY) {
        assert_eq!((pair[1].0, pair[1].1), (pair[0].0, pair[0].1 | COPY));
    }
    let counters = path.counters(path.node("impairment").unwrap()).unwrap();
    assert_eq!(counters.copies, Count { packets: copies, bytes: 1000 * copies });
    assert_eq!(counters.forwarded.packets, counters.received.packets + copies);
}

/// A host that makes no copies gets none, and nothing is made up.
#[test]
fn without_a_handle_there_is_no_copy() {
    let mut path =
        impaired(ImpairmentSpec { duplicate: LossModel::Random(1.0), ..ImpairmentSpec::default() }, 1);
    let (entry, mut log) = (path.node("impairment").unwrap(), Log::default());
    for handle in 0..10 {
        path.ingress(ms(handle), entry, packet(handle, 100), &mut log).unwrap();
    }
    drain(&mut path, Time::NEVER, &mut log);
    path.audit().unwrap();
    assert_eq!(log.delivered().len(), 10);
}

/// One impairment does not change the draws of another.
#[test]
fn each_has_draws_of_its_own() {
    let loss = LossModel::Random(0.1);
    let alone = losses(loss.clone(), 5, 2000);
    let all = ImpairmentSpec {
        loss,
        corrupt: LossModel::Random(0.2),
        reorder: LossModel::Random(0.2),
        reorder_delay: Span::from_millis(1),
        duplicate: LossModel::Random(0.3),
        is_cut: false,
    };
    let (_, log) = send(all, 5, 2000);
    let lost = log.events.iter().filter_map(|event| match event {
        Event::Dropped { handle, reason: DropReason::LOSS, .. } => Some(*handle as usize),
        _ => None,
    });
    let alone = alone.iter().enumerate().filter(|(_, lost)| **lost).map(|(handle, _)| handle);
    assert!(lost.eq(alone));
}

#[test]
fn probabilities_are_checked() {
    for spec in [
        ImpairmentSpec { reorder: LossModel::Random(1.5), ..ImpairmentSpec::default() },
        ImpairmentSpec { duplicate: LossModel::Random(f64::NAN), ..ImpairmentSpec::default() },
        ImpairmentSpec { loss: LossModel::Random(-0.1), ..ImpairmentSpec::default() },
    ] {
        let path = PathBuilder::<qdelay_core::qdisc::AnyQdisc>::new()
            .node("impairment", NodeSpec::Impairment(spec))
            .node("exit", NodeSpec::Exit)
            .chain(&["impairment", "exit"])
            .build(1);
        assert!(matches!(path.unwrap_err().problem, BuildProblem::Loss));
    }
}

proptest! {
    /// Behind a queue and a link, with any settings: every packet and every copy has one end, polled often or seldom.
    #[test]
    fn nothing_is_lost_or_made_up(
        (loss, reorder, duplicate, corrupt) in (0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64, 0.0..1.0_f64),
        by_us in 0_u64..5000,
        gaps in prop::collection::vec(0_u64..3000, 1..100),
        step_us in 50_u64..5000,
        seed in 0_u64..100,
    ) {
        let loss = LossModel::GilbertElliott { p: loss, r: 0.5, bad: 0.8, good: 0.1 };
        let spec = ImpairmentSpec {
            loss,
            corrupt: LossModel::Random(corrupt),
            reorder: LossModel::Correlated { probability: reorder, correlation: 0.5, variant: Variant::Netem },
            reorder_delay: Span::from_micros(by_us),
            duplicate: LossModel::Random(duplicate),
            is_cut: false,
        };
        let run = |step_us: Option<u64>| {
            let mut path = PathBuilder::new()
                .node("queue", queue("taildrop:limit=5"))
                .node("link", NodeSpec::Link(AnyLink::build(&parse_link("5mbit").unwrap()).unwrap()))
                .node("first", NodeSpec::Impairment(spec.clone()))
                .node("second", NodeSpec::Impairment(spec.clone()))
                .node("exit", NodeSpec::Exit)
                .chain(&["queue", "link", "first", "second", "exit"])
                .build(seed)
                .unwrap();
            let (entry, mut seen) = (path.node("queue").unwrap(), Copying::default());
            let mut now = Time::ZERO;
            for (handle, gap) in (0_u64..).zip(&gaps) {
                let then = now + Span::from_micros(*gap);
                while let Some(step) = step_us && now + Span::from_micros(step) < then {
                    now += Span::from_micros(step);
                    path.poll(now, &mut seen).unwrap();
                }
                now = then;
                path.ingress(now, entry, packet(handle, 700), &mut seen).unwrap();
                path.audit().unwrap();
            }
            while path.next_deadline() < Time::NEVER {
                path.poll(path.next_deadline(), &mut seen).unwrap();
            }
            path.audit().unwrap();
            let copies: u64 = path.nodes().map(|node| path.counters(node).unwrap().copies.packets).sum();
            prop_assert_eq!(seen.0.events.len() as u64, gaps.len() as u64 + copies);
            Ok(seen.0)
        };
        prop_assert_eq!(run(None)?, run(Some(step_us))?);
    }
}
