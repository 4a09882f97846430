//! Estimated clocks: random traffic by clocks of known offset and drift, and the lines of Moon, Skelly and Towsley by trying all edges.

use crate::imports::files::{Kind, capture, reversed, udp};
use qdelay::import::captures::{Way, compare, compare_estimated, side};
use qdelay::import::clocks::{NoEstimate, Times, estimate};
use qdelay_core::Random;
use qdelay_testing::for_each_seed;

const BEGIN: i64 = 1_764_000_000_000_000_000;
const MS: i64 = 1_000_000;

/// Traffic of both ways: true times of sending and arrival, and the same by clocks that differ.
struct Model {
    offset: i64,
    drift_ppm: f64,
    least: [i64; 2],
    /// True times of sending and arrival, forth and back.
    truth: [Vec<(i64, i64)>; 2],
}

impl Model {
    /// `count` packets each way in `seconds`; queueing that is often nothing.
    fn new(random: &mut Random, count: u64, seconds: i64, drift_ppm: f64) -> Model {
        let least = [1, 1].map(|_: i64| random.below(40 * MS as u64) as i64);
        let offset = random.below(20_000 * MS as u64) as i64 - 10_000 * MS;
        let mut way = |least: i64| -> Vec<(i64, i64)> {
            let mut packet = || {
                let sent = random.below(seconds as u64 * 1000 * MS as u64) as i64;
                let queue = random.below(30 * MS as u64) as i64 * i64::from(random.below(3) > 0);
                (sent, sent + least + queue)
            };
            let mut packets: Vec<_> = (0..count).map(|_| packet()).collect();
            packets.sort_unstable();
            packets
        };
        let truth = [way(least[0]), way(least[1])];
        Model { offset, drift_ppm, least, truth }
    }
    /// Time of the second clock.
    fn second(&self, truth: i64) -> i64 {
        BEGIN + truth + self.offset + (truth as f64 * self.drift_ppm / 1e6) as i64
    }
    /// Times of each packet by the first clock, which is right, and by the second.
    fn times(&self) -> [Vec<Times>; 2] {
        let forth = self.truth[0].iter().map(|(sent, came)| (BEGIN + sent, self.second(*came))).collect();
        let back = self.truth[1].iter().map(|(sent, came)| (BEGIN + came, self.second(*sent))).collect();
        [forth, back]
    }
}

/// The offset is wrong by half the difference of the smallest delays, and by nothing else.
#[test]
fn known_offsets_and_drifts_are_found() {
    for_each_seed(200, |seed| {
        let mut random = Random::derive(seed, "clocks", "packets");
        let drift_ppm = match seed % 3 {
            0 => 0.0,
            _ => (random.below(2001) as f64 - 1000.0) / 5.0,
        };
        let model = Model::new(&mut random, 500, 600, drift_ppm);
        let [forth, back] = model.times();
        let found = estimate(&forth, &back).unwrap();
        // Growth over the ten minutes: a tenth of a ppm is 0.06 ms.
        assert!((found.drift_ppm - drift_ppm).abs() < 0.2, "seed {seed}: {found:?}, {drift_ppm} ppm");
        let bias = (model.least[0] - model.least[1]) / 2;
        for truth in [0, 300_000 * MS, 599_000 * MS] {
            let first = found.clocks.to_first(model.second(truth));
            let error = first - (BEGIN + truth) + bias;
            assert!(error.abs() < MS / 10, "seed {seed}: {error} ns at {truth}: {found:?}");
        }
        let half_round_trip = (model.least[0] + model.least[1]) as f64 / 2e6;
        assert!((found.within_ms - half_round_trip).abs() < 0.2, "seed {seed}: {found:?}");
        assert!(found.within_ms * 1e6 >= bias.abs() as f64);
    });
}

/// Sum over both ways of the mean distance to the best lines of one slope, by the definition.
fn distance(forth: &[(f64, f64)], back: &[(f64, f64)], slope: f64) -> f64 {
    let way = |points: &[(f64, f64)], sign: f64| {
        let heights = || points.iter().map(|(time, difference)| sign * (difference - slope * time));
        let least = heights().fold(f64::INFINITY, f64::min);
        heights().map(|height| height - least).sum::<f64>() / points.len() as f64
    };
    way(forth, 1.0) + way(back, -1.0)
}

/// The optimum of the linear program touches two points of one way: the slope of some pair is the best of all slopes.
#[test]
fn the_slope_is_the_best_of_all_pairs() {
    let (mut tried, mut compared) = (0, 0);
    for_each_seed(100, |seed| {
        tried += 1;
        let mut random = Random::derive(seed, "clocks", "pairs");
        // A drift that is always found, and queues that seldom empty.
        let count = 3 + random.below(30);
        let model = Model::new(&mut random, count, 3_000, 150.0);
        let [forth, back] = model.times();
        let Ok(found) = estimate(&forth, &back) else { return };
        if found.drift_ppm == 0.0 {
            return;
        }
        let point =
            |(first, second): &Times| ((second - BEGIN) as f64, (second - first - model.offset) as f64);
        let ways = [&forth, &back].map(|way| way.iter().map(point).collect::<Vec<_>>());
        let mut best = f64::INFINITY;
        for way in &ways {
            for (number, one) in way.iter().enumerate() {
                for other in way[..number].iter().filter(|other| other.0 != one.0) {
                    best = best.min(distance(&ways[0], &ways[1], (other.1 - one.1) / (other.0 - one.0)));
                }
            }
        }
        let ours = distance(&ways[0], &ways[1], found.drift_ppm / 1e6);
        assert!((ours - best).abs() < 1.0 + best * 1e-9, "seed {seed}: {ours} ns, best {best} ns");
        compared += 1;
    });
    assert!(2 * compared > tried, "{compared} of {tried} seeds have a drift");
}

/// A queue that grows during the whole measurement tilts one way alone.
#[test]
fn a_growing_queue_is_no_drift() {
    for_each_seed(50, |seed| {
        let mut random = Random::derive(seed, "clocks", "queue");
        let mut model = Model::new(&mut random, 500, 600, 0.0);
        model.truth[0].iter_mut().for_each(|(sent, came)| *came += *sent / 10_000);
        let [forth, back] = model.times();
        let found = estimate(&forth, &back).unwrap();
        assert_eq!((found.drift_ppm, found.is_unclear), (0.0, true), "seed {seed}: {found:?}");
        assert!((found.envelopes_ppm[0] - 100.0).abs() < 1.0 && found.envelopes_ppm[1].abs() < 1.0);
    });
}

#[test]
fn traffic_of_one_way_and_clocks_that_were_set_are_refused() {
    let forth: Vec<Times> = (0..20).map(|number| (BEGIN + number * MS, BEGIN + number * MS)).collect();
    assert_eq!(estimate(&forth, &[]), Err(NoEstimate::OneWay));
    assert_eq!(estimate(&[], &forth), Err(NoEstimate::OneWay));
    // The second clock is set back by 50 ms before its answers.
    let back: Vec<Times> = forth.iter().map(|(first, second)| (*first, second + 50 * MS)).collect();
    assert_eq!(estimate(&forth, &back), Err(NoEstimate::NegativeRoundTrip(-50.0)));
    assert!(NoEstimate::OneWay.message().contains("--offset 3.2ms"));
}

/// Captures of clocks that differ by seconds and drift: as by clocks that agree, but for half the difference of the smallest delays.
#[test]
fn captures_by_estimated_clocks() {
    for_each_seed(20, |seed| {
        let mut random = Random::derive(seed, "clocks", "captures");
        let mut model = Model::new(&mut random, 200, 600, -80.0);
        model.truth[1]
            .iter_mut()
            .for_each(|(sent, came)| *came = *sent + (*came - *sent) - model.least[1] + model.least[0]);
        let [forth, back] = model.times();
        let mut files = [Vec::new(), Vec::new()];
        for (way, times) in [&forth, &back].into_iter().enumerate() {
            for (number, (first, second)) in times.iter().enumerate() {
                let packet = udp(number as u16, number as u32 + 1000 * way as u32, 0);
                let packet = if way == 1 { reversed(packet) } else { packet };
                files[0].push((*first as u64, packet.clone()));
                files[1].push((*second as u64, packet));
            }
        }
        files.iter_mut().for_each(|file| file.sort());
        let [first, second] =
            files.map(|file| side("x", capture(Kind::NanosSwapped, &file).as_slice()).unwrap());
        let found = compare_estimated(&first, &second).unwrap();
        let ways: Vec<_> = found.ways.iter().map(|way| (way.way, way.sent, way.lost)).collect();
        assert_eq!(ways, [(Way::Forth, 200, 0), (Way::Back, 200, 0)], "seed {seed}");
        for (way, truth) in found.ways.iter().zip(&model.truth) {
            let mean = truth.iter().map(|(sent, came)| (came - sent) as f64).sum::<f64>() / 200.0 / 1e6;
            let ours = way.delay_ms.unwrap().mean;
            assert!((ours - mean).abs() < 0.3, "seed {seed}: {ours} for {mean} ms");
        }
        // Delays of clocks taken as equal are seconds, or below 0.
        let wrong = compare(&first, &second, 0);
        assert!((wrong.clock_offset_ms, wrong.clock_estimate) == (0.0, None));
    });
}
