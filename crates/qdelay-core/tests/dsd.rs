//! ABE's duplicate scheduling: every call compared with its slow model, and the paper's promises compared
//! with a plain queue that has the same arrivals and the same opportunities. A failure names its seed, which
//! `QDELAY_SEED` replays.

use crate::colours::cases::{Case, Pair, Wish, case};
use crate::colours::links::{
    Link, Plain, Traffic, WHOLE, arrivals, check_promises, flat, opportunities, run,
};
use crate::drive::{Call, Subject, compare, packet, within, workload};
use crate::models::dsd::FcfsGreen;
use crate::models::{Fate, MS, Ns, Pkt, Room};
use qdelay_core::{Packet, Random};
use qdelay_testing::{for_each_seed, least};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const SEQUENCES: u64 = 3_000;
pub const GREEN: u8 = 46;

#[test]
fn every_call_matches_the_model_under_any_service() {
    let mut seen = BTreeMap::new();
    let mut evicted = 0;
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, "dsd", "differential");
        let Case { text, model, .. } = case(&mut random, Wish::default());
        let unit = if random.below(2) == 0 { MS } else { 1 };
        let mut pair = Pair::new(format!("seed {seed}: {text}"), &text, model, seed);
        for (id, (now, call)) in workload(&mut random, unit).into_iter().enumerate() {
            match call {
                Call::Arrive { bytes, capable, flow, dscp, class } => {
                    let before = pair.fates.len();
                    pair.enqueue(now, Pkt { id: id as u64, arrival: now, bytes, capable, flow, dscp, class });
                    let told = pair.fates[before..].iter();
                    evicted += told
                        .filter(|(_, fate)| matches!(fate, Fate::Drop("tail_limit", other) if *other != id as u64))
                        .count();
                }
                Call::Serve => {
                    pair.dequeue(now);
                }
            }
        }
        for (_, fate) in pair.fates {
            let (Fate::Drop(reason, _) | Fate::Mark(reason, _)) = fate;
            *seen.entry((fate.is_mark(), reason)).or_insert(0_u64) += 1;
        }
    });
    assert!(evicted > least(100), "green made room for blue {evicted} times");
    let drops = ["tail_limit", "sojourn_bound", "would_be_late", "green_loss", "red", "red_forced"];
    let marks = ["red", "green_loss"];
    for of in drops.map(|reason| (false, reason)).into_iter().chain(marks.map(|reason| (true, reason))) {
        assert!(seen.get(&of).is_some_and(|count| *count > least(1_000)), "{of:?}: {seen:?}");
    }
}

#[test]
fn fcfs_green_matches_its_model() {
    let mut late = 0;
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, "fcfs_green", "differential");
        let rate = within(&mut random, 200, 20_000) * 1_000;
        let d = within(&mut random, 100, 60_000) * 1_000;
        let (packets, overhead) = (within(&mut random, 5, 200), within(&mut random, 0, 40));
        let text =
            format!("fcfs_green:rate={rate}bit:bound={}us:limit={packets}:overhead={overhead}b", d / 1_000);
        let room = Room { packets: packets as usize, bytes: 0 };
        let mut model = FcfsGreen { room, rate, overhead, d, queue: VecDeque::new(), busy_until: 0 };
        let calls = workload(&mut random, 1);
        late += compare(&format!("seed {seed}: {text}"), &mut Subject::new(&text, seed), &mut model, &calls);
    });
    assert!(late > least(10_000), "{late}");
}

/// Definition 1 of the paper with a rate, on a line, to the nanosecond, for packets of any sizes. Packets
/// that `control=loss` refuses count as not arrived.
#[test]
fn on_a_line_blue_fares_no_worse_than_in_one_queue() {
    let (mut earlier, mut greens, mut refusals) = (0_u64, 0_u64, 0_u64);
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, "dsd", "line");
        let rate = WHOLE[random.below(5) as usize];
        let Case { text, model, room, d } =
            case(&mut random, Wish { rate: Some(rate), plain: true, by_service: false });
        let what = format!("seed {seed}: {text}");
        let gap = (800_000_000.0 / rate as f64 * 8_000.0 * (0.5 + random.unit())) as Ns;
        let traffic =
            Traffic { gap, equal: random.below(3) == 0, grid: [1, 100_000][random.below(2) as usize] };
        let arrivals = arrivals(&mut random, traffic);
        let link = Link::Line(rate);
        let mut pair = Pair::new(what.clone(), &text, model, seed);
        let left = run(&mut pair, &arrivals, &link);
        check_promises(&pair, &arrivals, &left, d);
        let refused: BTreeSet<u64> = (pair.fates.iter())
            .filter(|(_, fate)| matches!(fate, Fate::Drop("green_loss", _)))
            .map(|(_, fate)| fate.id())
            .collect();
        refusals += refused.len() as u64;
        let others: Vec<Pkt> = arrivals.iter().filter(|p| !refused.contains(&p.id)).copied().collect();
        let (flat_left, flat_dropped) = flat(room, &others, &link);
        for packet in &arrivals {
            if (pair.model.is_green)(packet) {
                greens += u64::from(left.contains_key(&packet.id));
                continue;
            }
            let is_dropped = pair.fates.iter().any(|(_, fate)| fate.id() == packet.id);
            assert_eq!(is_dropped, flat_dropped.contains(&packet.id), "{what}: blue {}", packet.id);
            if !is_dropped {
                let (ours, theirs) = (left[&packet.id], flat_left[&packet.id]);
                assert!(ours <= theirs, "{what}: blue {}: {ours:?}, in one queue {theirs:?}", packet.id);
                earlier += u64::from(ours < theirs);
            }
        }
    });
    assert!(
        earlier > least(10_000) && greens > least(50_000) && refusals > least(1_000),
        "{earlier} {greens} {refusals}"
    );
}

/// No blue packet misses its deadline with RED in front of the duplicates either; [`Pair::dequeue`] checks it.
#[test]
fn on_a_line_with_red_deadlines_are_kept() {
    let mut red = 0;
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, "dsd", "red");
        let rate = WHOLE[random.below(5) as usize];
        let Case { text, mut model, d, .. } = case(&mut random, Wish { rate: Some(rate), ..Wish::default() });
        model.overhead = 0;
        let text: Vec<&str> = text.split(':').filter(|part| !part.starts_with("overhead")).collect();
        let text = text.join(":");
        let gap = (800_000_000.0 / rate as f64 * 8_000.0 * (0.5 + random.unit())) as Ns;
        let arrivals = arrivals(&mut random, Traffic { gap, equal: false, grid: 1 });
        let mut pair = Pair::new(format!("seed {seed}: {text}"), &text, model, seed);
        let left = run(&mut pair, &arrivals, &Link::Line(rate));
        check_promises(&pair, &arrivals, &left, d);
        red += pair
            .fates
            .iter()
            .filter(|(_, fate)| matches!(fate, Fate::Drop("red", _) | Fate::Drop("red_forced", _)))
            .count();
    });
    assert!(red > least(10_000), "{red}");
}

/// With g = 1 no packet becomes stale with the tests `residual` and `exact`; with the test as printed, some
/// do.
#[test]
fn with_a_bias_of_one_accepted_packets_are_in_time() {
    let (mut stale, mut late) = (BTreeMap::new(), BTreeMap::new());
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, "dsd", "stale");
        let rate = WHOLE[random.below(5) as usize];
        let gap = (800_000_000.0 / rate as f64 * 8_000.0 * (0.5 + random.unit())) as Ns;
        let traffic = Traffic { gap, equal: random.below(2) == 0, grid: 1 };
        let arrivals = arrivals(&mut random, traffic);
        for test in ["printed", "residual", "exact"] {
            let mut line =
                Plain(Subject::new(&format!("dsd:rate={rate}bit:bound=20ms:limit=60:g=1:test={test}"), seed));
            run(&mut line, &arrivals, &Link::Line(rate));
            let fates = line.0.ear.0;
            let count = fates.iter().filter(|fate| matches!(fate, Fate::Drop("sojourn_bound", _))).count();
            *stale.entry(test).or_insert(0) += count;
            *late.entry(test).or_insert(0) +=
                fates.iter().filter(|fate| matches!(fate, Fate::Drop("would_be_late", _))).count();
        }
    });
    assert_eq!((stale["residual"], stale["exact"]), (0, 0), "{stale:?}");
    assert!(stale["printed"] > least(1_000), "{stale:?}");
    println!("{stale:?} {late:?}");
    assert!(
        late["exact"] < late["residual"],
        "{late:?}: some that make it are refused unless the test is exact"
    );
}

/// The paper's claim about its test holds where all packets are equal, and all times multiples of one
/// transmission: exactly the packets that will be in time are accepted.
#[test]
fn in_packet_time_the_test_with_the_residual_is_exact() {
    let mut accepted = 0;
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, "dsd", "grid");
        let d = within(&mut random, 1, 20);
        let limit = within(&mut random, d.max(5), 60);
        let gap = (1e6 * (0.5 + random.unit())) as Ns;
        let arrivals = arrivals(&mut random, Traffic { gap, equal: true, grid: MS });
        let outcome = |test| {
            let text = format!("dsd:rate=8mbit:bound={d}ms:limit={limit}:g=1:test={test}");
            let mut line = Plain(Subject::new(&text, seed));
            (run(&mut line, &arrivals, &Link::Line(8_000_000)), line.0.ear.0)
        };
        let (residual, exact) = (outcome("residual"), outcome("exact"));
        assert_eq!(residual, exact, "seed {seed}");
        accepted += arrivals.iter().filter(|p| p.dscp == GREEN && exact.0.contains_key(&p.id)).count();
    });
    assert!(accepted > least(10_000), "{accepted}");
}

/// Without a rate, for packets of one size, and opportunities for whole packets at random times.
#[test]
fn by_service_blue_fares_no_worse_on_the_same_opportunities() {
    let (mut earlier, mut greens, mut drops) = (0_u64, 0_u64, 0_u64);
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, "dsd", "opportunities");
        let Case { text, model, room, d } =
            case(&mut random, Wish { by_service: true, plain: true, rate: None });
        let what = format!("seed {seed}: {text}");
        let gap = within(&mut random, 1, 4) * MS;
        let arrivals = arrivals(&mut random, Traffic { gap, equal: true, grid: 1 });
        let until = arrivals.last().map_or(0, |packet| packet.arrival);
        let slow = (gap as f64 * (1.0 + 3.0 * random.unit())) as Ns;
        let link = Link::Opportunities(opportunities(&mut random, until, slow, true));
        let (flat_left, flat_dropped) = flat(room, &arrivals, &link);
        let mut pair = Pair::new(what.clone(), &text, model, seed);
        let left = run(&mut pair, &arrivals, &link);
        check_promises(&pair, &arrivals, &left, d);
        drops += flat_dropped.len() as u64;
        for packet in &arrivals {
            if (pair.model.is_green)(packet) {
                greens += u64::from(left.contains_key(&packet.id));
            } else if let Some(theirs) = flat_left.get(&packet.id) {
                let ours = left.get(&packet.id);
                assert!(
                    ours.is_some_and(|ours| ours <= theirs),
                    "{what}: blue {}: {ours:?} {theirs:?}",
                    packet.id
                );
                earlier += u64::from(ours != Some(theirs));
            }
        }
    });
    assert!(
        earlier > least(10_000) && greens > least(50_000) && drops > least(10_000),
        "{earlier} {greens} {drops}"
    );
}

/// Without a rate and without losses, for packets of any sizes, over opportunities of any bytes.
#[test]
fn by_service_sizes_do_not_matter() {
    let (mut earlier, mut greens, mut lost) = (0_u64, 0_u64, 0_u64);
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, "dsd", "bytes");
        let d = within(&mut random, 500, 60_000) * 1_000;
        let g = within(&mut random, 0, 10) as f64 / 10.0;
        let test = ["off", "printed", "residual", "exact"][random.below(4) as usize];
        let text = format!("dsd:bound={}us:g={g}:limit=100000:test={test}", d / 1_000);
        let gap = within(&mut random, 1, 4) * MS;
        let arrivals = arrivals(&mut random, Traffic { gap, equal: false, grid: 1 });
        let until = arrivals.last().map_or(0, |packet| packet.arrival);
        let slow = (gap as f64 * (1.0 + 2.0 * random.unit())) as Ns;
        let link = Link::Opportunities(opportunities(&mut random, until, slow, false));
        let room = Room { packets: 100_000, bytes: 0 };
        let (flat_left, _) = flat(room, &arrivals, &link);
        let mut line = Plain(Subject::new(&text, seed));
        let left = run(&mut line, &arrivals, &link);
        lost += line.0.ear.0.len() as u64;
        for packet in &arrivals {
            if packet.dscp == GREEN {
                greens += u64::from(left.contains_key(&packet.id));
                continue;
            }
            let (ours, theirs) = (left.get(&packet.id), flat_left.get(&packet.id));
            let ends = (ours.map_or(Ns::MAX, |left| left.1), theirs.map_or(Ns::MAX, |left| left.1));
            assert!(ends.0 <= ends.1, "seed {seed}: {text}: blue {}: {ours:?} {theirs:?}", packet.id);
            earlier += u64::from(ends.0 < ends.1);
        }
    });
    assert!(
        earlier > least(10_000) && greens > least(50_000) && lost > least(50_000),
        "{earlier} {greens} {lost}"
    );
}

/// Without a rate, with losses, packets of any sizes and a limit in bytes: some packets that one queue
/// refuses are accepted, which delays those behind by at most three packets: the accepted one, and parts of
/// the packet being sent and of one that begins in it.
#[test]
fn by_service_blue_is_later_by_three_packets_at_most_and_rarely() {
    let (mut compared, mut later, mut dropped, mut gained) = (0_u64, 0_u64, 0_u64, 0_u64);
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, "dsd", "grace");
        let d = within(&mut random, 500, 30_000) * 1_000;
        let limit = within(&mut random, 3_000, 40_000);
        let g = within(&mut random, 0, 10) as f64 / 10.0;
        let text = format!("dsd:bound={}us:g={g}:limit=100000:limit_bytes={limit}b", d / 1_000);
        let gap = within(&mut random, 1, 4) * MS;
        let arrivals = arrivals(&mut random, Traffic { gap, equal: false, grid: 1 });
        let until = arrivals.last().map_or(0, |packet| packet.arrival);
        let slow = (gap as f64 * (1.0 + 2.0 * random.unit())) as Ns;
        let opportunities = opportunities(&mut random, until, slow, false);
        let (room, link) =
            (Room { packets: 100_000, bytes: limit }, Link::Opportunities(opportunities.clone()));
        let (flat_left, _) = flat(room, &arrivals, &link);
        let mut line = Plain(Subject::new(&text, seed));
        let left = run(&mut line, &arrivals, &link);
        // Bytes offered before a time, and up to and including it.
        let offered = |end: Ns| {
            let upto = |is_in: &dyn Fn(Ns) -> bool| -> u64 {
                opportunities.iter().take_while(|(at, _)| is_in(*at)).map(|(_, bytes)| bytes).sum()
            };
            (upto(&|at| at < end), upto(&|at| at <= end))
        };
        for packet in arrivals.iter().filter(|packet| packet.dscp != GREEN) {
            let Some(theirs) = flat_left.get(&packet.id) else {
                gained += u64::from(left.contains_key(&packet.id));
                continue;
            };
            compared += 1;
            let Some(ours) = left.get(&packet.id) else {
                dropped += 1;
                continue;
            };
            later += u64::from(ours.1 > theirs.1);
            assert!(
                offered(ours.1).0 <= offered(theirs.1).1 + 3 * 1500,
                "seed {seed}: {text}: blue {}: {ours:?} {theirs:?}",
                packet.id
            );
        }
    });
    println!(
        "of {compared} blue packets that one queue sends, {later} later, {dropped} dropped; {gained} others sent"
    );
    assert!(
        compared > least(100_000) && later * 100 < compared && dropped < gained,
        "{compared} {later} {dropped} {gained}"
    );
}

/// Reason for more than a threshold: at a queue that is longer than the bound, a threshold serves almost no
/// green packet.
#[test]
fn a_threshold_alone_starves_green() {
    let mut random = Random::derive(1, "dsd", "foil");
    let mut arrivals = Vec::new();
    let mut now = 0;
    for id in 0..40_000 {
        now += (0.8e6 * random.exponential()) as Ns;
        let dscp = if random.below(2) == 0 { GREEN } else { 0 };
        arrivals.push(Pkt { id, arrival: now, bytes: 1000, capable: false, flow: 0, dscp, class: 0 });
    }
    let greens = |text: &str| {
        let mut line = Plain(Subject::new(text, 1));
        let left = run(&mut line, &arrivals, &Link::Line(8_000_000));
        let greens: Vec<&Pkt> = arrivals.iter().filter(|p| p.dscp == GREEN).collect();
        greens.iter().filter(|p| left.contains_key(&p.id)).count() as f64 / greens.len() as f64
    };
    let (one, two) = (
        greens("fcfs_green:rate=8mbit:bound=20ms:limit=60"),
        greens("dsd:rate=8mbit:bound=20ms:limit=60:g=1"),
    );
    println!("green served: {one:.3} with a threshold, {two:.3} with duplicates");
    assert!(two > one + 0.05, "{one} {two}");
}

/// Figure 2 of the paper: packets of 1 ms, a bound of 3, a buffer of 7. One packet is being sent when the
/// first seven arrive, just before time 0, which is 10 ms here.
fn figure_2(g: u32, test: &str) -> (Vec<&'static str>, Vec<&'static str>) {
    const FIRST: [(&str, u8); 8] =
        [("B1", 0), ("G1", 1), ("B2", 0), ("B3", 0), ("G2", 1), ("B4", 0), ("B5", 0), ("B6", 0)];
    let mut subject = Subject::new(&format!("dsd:rate=8mbit:bound=3ms:limit=7:g={g}:test={test}:green=1"), 1);
    let zero = 10 * MS;
    let mut names = vec!["before"];
    let mut served = Vec::new();
    subject.enqueue(zero - MS, packet(0, 1000, false, 0));
    subject.dequeue(zero - MS);
    let mut come = |subject: &mut Subject, at: Ns, name, dscp| {
        subject.enqueue(at, Packet { dscp, ..packet(names.len() as u64, 1000, false, 0) });
        names.push(name);
    };
    FIRST.into_iter().for_each(|(name, dscp)| come(&mut subject, zero - 1, name, dscp));
    for at in 0..=10 {
        if at == 5 {
            let half = zero + 4 * MS + MS / 2;
            [("B7", 0), ("G3", 1)].into_iter().for_each(|(name, dscp)| come(&mut subject, half, name, dscp));
            let five = zero + 5 * MS;
            [("G4", 1), ("B8", 0), ("B9", 0)]
                .into_iter()
                .for_each(|(name, dscp)| come(&mut subject, five, name, dscp));
        }
        served.extend(subject.dequeue(zero + at * MS).map(|p| p.handle as usize));
    }
    let dropped = subject.ear.0.iter().map(|fate| fate.id() as usize);
    let dropped = dropped.map(|id| names[id]).collect();
    (served.into_iter().map(|id| names[id]).collect(), dropped)
}

#[test]
fn figure_2_with_all_bias_to_green() {
    let served = vec!["B1", "G1", "B2", "B3", "B4", "G3", "B5", "B7", "G4", "B8", "B9"];
    assert_eq!(figure_2(1, "off"), (served.clone(), vec!["B6", "G2"]), "G2 goes stale");
    for test in ["printed", "residual", "exact"] {
        assert_eq!(figure_2(1, test), (served.clone(), vec!["G2", "B6"]), "{test}: G2 is refused");
    }
}

#[test]
fn figure_2_with_all_bias_to_blue() {
    let served = vec!["B1", "B2", "G1", "B3", "B4", "B5", "B7", "G3", "G4", "B8", "B9"];
    assert_eq!(figure_2(0, "off"), (served.clone(), vec!["B6", "G2"]));
    assert_eq!(figure_2(0, "printed"), (served, vec!["G2", "B6"]));
}

/// Limits are in packets and sizes differ: the duplicate of a large packet has room where the real queue is
/// full of small ones, and the newest green packet is displaced.
#[test]
fn green_makes_room_for_blue() {
    let mut subject = Subject::new("dsd:rate=8mbit:bound=3ms:limit=3:g=0:test=off", 1);
    let green = |id| Packet { dscp: GREEN, ..packet(id, 40, false, 0) };
    // Duplicates 0 and 1 are 1 ms each; both originals wait, because no packet is dequeued.
    subject.enqueue(0, packet(0, 1000, false, 0));
    subject.enqueue(0, packet(1, 1000, false, 0));
    subject.enqueue(0, green(2));
    subject.enqueue(1_010_000, packet(3, 1000, false, 0));
    assert_eq!(subject.ear.0, [Fate::Drop("tail_limit", 2)], "its duplicate has room");
    subject.enqueue(3_000_000, packet(4, 1000, false, 0));
    assert_eq!(
        subject.ear.0,
        [Fate::Drop("tail_limit", 2), Fate::Drop("tail_limit", 4)],
        "the link is slower than its rate: blue alone fills the queue"
    );
    assert_eq!(crate::drive::drain(&mut subject, 3_000_000), [0, 1, 3]);
}
