//! Traces made of packets: by a slow model of the definitions, and of a link whose rate and delay are known.

use qdelay::import::replay::{Arrived, Choices, DelayPart, NoTraces, Unsaturated, traces};
use qdelay_core::{Random, Span};
use qdelay_testing::for_each_seed;

const MS: i64 = 1_000_000;
const BEGIN: i64 = 1_764_000_000_000_000_000;

fn choices(bin_ms: u64, window_ms: u64) -> Choices {
    Choices {
        bin: Span::from_millis(bin_ms),
        window: Span::from_millis(window_ms),
        delay: DelayPart::Base,
        unsaturated: Unsaturated::Measured,
        lead: Span::ZERO,
    }
}

/// Base delay at a time, by looking at all packets.
fn base(packets: &[Arrived], time: i64, window: i64) -> Option<i64> {
    packets.iter().filter(|packet| (packet.sent - time).abs() <= window / 2).map(|packet| packet.delay).min()
}

/// Bits per second, base delay and saturation of each bin, by the definitions.
fn model(packets: &[Arrived], bin: i64, window: i64) -> Vec<(u64, Option<i64>, bool)> {
    let begin = packets.iter().map(|packet| packet.sent).min().unwrap();
    let queued: Vec<(i64, i64, u64)> = packets
        .iter()
        .map(|packet| {
            let queueing = packet.delay - base(packets, packet.sent, window).unwrap();
            (packet.sent, packet.sent + queueing, u64::from(packet.bytes))
        })
        .collect();
    let end = queued.iter().map(|(_, left, _)| *left).max().unwrap();
    let of_bin = |number: i64| {
        let (from, to) = (begin + number * bin, begin + (number + 1) * bin);
        let leaving: Vec<_> = queued.iter().filter(|(_, left, _)| (from..to).contains(left)).collect();
        let bps = leaving.iter().map(|(.., bytes)| bytes * 8).sum::<u64>() * 1_000_000_000 / bin as u64;
        let is_saturated = match leaving.iter().map(|(sent, left, _)| left - sent).min() {
            None => queued.iter().any(|(sent, left, _)| *sent < from && *left >= to),
            Some(least) => least > (12_000_000_000_000 / bps.max(1) as i64).clamp(MS, 10 * MS),
        };
        (bps, base(packets, from + bin / 2, window), is_saturated)
    };
    (0..(end - begin) / bin).map(of_bin).collect()
}

#[test]
fn traces_are_those_of_the_definitions() {
    for_each_seed(200, |seed| {
        let mut random = Random::derive(seed, "replay", "packets");
        let mut packets: Vec<Arrived> = (0..20 + random.below(80))
            .map(|_| {
                let delay = 1 << random.below(30);
                Arrived {
                    sent: BEGIN + random.below(3_000 * MS as u64) as i64,
                    delay: 20 * MS + random.below(delay) as i64,
                    bytes: 40 + random.below(1460) as u32,
                }
            })
            .collect();
        let choices = choices(10 + random.below(190), 100 + random.below(2_000));
        let [bin, window] = [choices.bin, choices.window].map(|span| span.as_nanos() as i64);
        let expected = model(&packets, bin, window);
        packets.reverse();
        let ours = traces(&[packets.clone()], &choices).unwrap().remove(0).unwrap();
        let rates: Vec<u64> = ours.rates.steps().iter().map(|step| step.rate.as_bps()).collect();
        assert_eq!(rates, expected.iter().map(|(bps, ..)| *bps).collect::<Vec<_>>(), "seed {seed}");
        let mut last = expected.iter().find_map(|(_, base, _)| *base).unwrap();
        for (step, (_, base, _)) in ours.delays.steps().iter().zip(&expected) {
            last = base.unwrap_or(last);
            assert_eq!(step.value.as_nanos() as i64, last, "seed {seed}");
        }
        let idle = expected.iter().filter(|(.., is_saturated)| !is_saturated).count() as u64;
        assert_eq!(ours.not_saturated, idle, "seed {seed}");
        // Held: never less than measured, and never more than the largest saturated rate or the measured one.
        let held = Choices { unsaturated: Unsaturated::Hold, ..choices };
        let held = traces(&[packets], &held).unwrap().remove(0).unwrap();
        let most =
            expected.iter().filter(|(.., saturated)| *saturated).map(|(bps, ..)| *bps).max().unwrap_or(0);
        for (step, (bps, _, is_saturated)) in held.rates.steps().iter().zip(&expected) {
            let held = step.rate.as_bps();
            assert!(held >= *bps && held <= most.max(*bps) && (held == *bps || !is_saturated), "seed {seed}");
        }
    });
}

/// A queue that is never empty, before a link whose rate changes every 100 ms, and a delay that changes every 5 s.
#[test]
fn the_rate_and_the_delay_of_a_link_come_back() {
    for_each_seed(20, |seed| {
        let mut random = Random::derive(seed, "replay", "link");
        let rates: Vec<u64> = (0..300).map(|_| 2_000_000 + random.below(20_000_000)).collect();
        let delays: Vec<i64> = (0..6).map(|_| (10 + random.below(40) as i64) * MS).collect();
        // The queue: 30 packets of 1500 bytes, filled as it empties; a burst that meets it empty begins.
        let (mut left, mut packets) = (BEGIN, Vec::new());
        let mut departures = Vec::new();
        loop {
            let mut bits = 12_000_u64;
            loop {
                let bin = ((left - BEGIN) / (100 * MS)) as usize;
                let Some(rate) = rates.get(bin) else { break };
                let end = BEGIN + (bin as i64 + 1) * 100 * MS;
                let carried = ((end - left) as u64 * rate / 1_000_000_000).min(bits);
                left = if carried == bits { left + (bits * 1_000_000_000 / rate) as i64 } else { end };
                bits -= carried;
                if bits == 0 {
                    break;
                }
            }
            if bits > 0 {
                break;
            }
            departures.push(left);
        }
        for (number, left) in departures.iter().enumerate() {
            // A pause in each second lets the queue empty, so that the base delay shows.
            let queued = if number % 700 == 0 { 0 } else { number.min(30) };
            let sent = if queued == 0 { *left - MS / 10 } else { departures[number - queued] };
            let delay = delays[((left - BEGIN) / (5_000 * MS)) as usize];
            packets.push(Arrived { sent, delay: left - sent + delay, bytes: 1500 });
        }
        let ours = traces(&[packets, Vec::new()], &choices(100, 2_000)).unwrap();
        assert!(ours[1].is_none());
        let ours = ours[0].as_ref().unwrap();
        let mean = rates.iter().sum::<u64>() as f64 / rates.len() as f64 / 1e6;
        let found = ours.rates.mean_mbps();
        assert!((found / mean - 1.0).abs() < 0.02, "seed {seed}: {found} for {mean} Mbit/s");
        assert!(ours.not_saturated < 60, "seed {seed}: {}", ours.not_saturated);
    });
}

/// Probes 10 ms apart, up to 4 ms early or late: each in a bin of its own.
#[test]
fn probes_stand_in_the_middle_of_their_bins() {
    for_each_seed(50, |seed| {
        let mut random = Random::derive(seed, "replay", "probes");
        let delays: Vec<i64> = (0..100).map(|_| 20 * MS + random.below(30 * MS as u64) as i64).collect();
        let packet = |(number, delay): (i64, &i64)| {
            let early = if number % 99 == 0 { 4 } else { random.below(9) as i64 };
            Arrived { sent: BEGIN + number * 10 * MS + (early - 4) * MS, delay: *delay, bytes: 0 }
        };
        let packets: Vec<Arrived> = (0..).zip(&delays).map(packet).collect();
        let lead = Span::from_millis(5);
        let choices = Choices { delay: DelayPart::All, lead, ..choices(10, 1_000) };
        let ours = traces(&[packets], &choices).unwrap().remove(0).unwrap();
        let found: Vec<i64> = ours.delays.steps().iter().map(|step| step.value.as_nanos() as i64).collect();
        assert_eq!(found[..100], delays, "seed {seed}");
    });
}

#[test]
fn what_makes_no_trace_is_refused() {
    let packet = |ms: i64, delay_ms: i64| Arrived { sent: BEGIN + ms * MS, delay: delay_ms * MS, bytes: 100 };
    let of = |packets: Vec<Arrived>, bin_ms| {
        traces(&[Vec::new(), packets], &choices(bin_ms, 1_000)).err().unwrap()
    };
    assert_eq!(of(vec![packet(0, 5), packet(900, -3)], 100), (1, NoTraces::NegativeDelay(-3 * MS)));
    assert_eq!(of(vec![packet(0, 5), packet(199, 5)], 100), (0, NoTraces::Bins(1)));
    assert_eq!(of(Vec::new(), 100), (0, NoTraces::Bins(0)));
    assert_eq!(of(vec![packet(0, 5), packet(2_000_000, 5)], 1), (0, NoTraces::Bins(2_000_000)));
    let far = of(vec![packet(0, 5), packet(1_000, 61_000)], 100);
    assert!(matches!(far, (1, NoTraces::Value(_))), "{far:?}");
}
