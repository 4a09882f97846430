//! The playout buffer against a model that stores every packet and computes the outcomes afterwards.

use proptest::prelude::*;
use qdelay_core::{Random, Span, Time};
use qdelay_traffic::playout::{Heard, Playout, PlayoutLaw, PlayoutSetting};

const INTERVAL: Span = Span::from_millis(20);

/// Send and arrival time of a packet, ns.
#[derive(Clone, Copy, Debug)]
struct Trip {
    number: u64,
    sent: u64,
    arrived: u64,
}

/// Model by the paper with a list of all packets. Times in ns; no packet is more than a window behind the newest.
fn model(trips: &[Trip], setting: PlayoutSetting, count_from: u64, until: u64) -> (Vec<bool>, u64, f64, u64) {
    let mut played = vec![false; until as usize];
    let (mut late, mut sum) = (0, 0.0);
    let mut averages: Option<(f64, f64)> = None;
    // Spurts so far: number and send time of the first packet, playout delay.
    let mut spurts: Vec<(u64, u64, u64)> = Vec::new();
    for (index, trip) in trips.iter().enumerate() {
        let delay = trip.arrived - trip.sent;
        let buffer = setting.buffer.as_nanos();
        let wait = match setting.law {
            PlayoutLaw::Fixed => delay + buffer,
            PlayoutLaw::Adaptive { memory } => {
                let (d, v) = match averages {
                    None => (delay as f64, buffer as f64 / 4.0),
                    Some((d, v)) => {
                        let d = memory * d + (1.0 - memory) * delay as f64;
                        (d, memory * v + (1.0 - memory) * (d - delay as f64).abs())
                    }
                };
                averages = Some((d, v));
                (d + 4.0 * v).ceil() as u64
            }
        };
        let newest = trips[..index].iter().max_by_key(|trip| trip.number);
        let begins = match (newest, spurts.last()) {
            (Some(newest), Some(spurt)) if trip.number >= spurt.0 => {
                let packets = trip.number.saturating_sub(newest.number) as f64;
                let pause = trip.number > newest.number
                    && (trip.sent - newest.sent) as f64 > (packets + 0.5) * INTERVAL.as_nanos() as f64;
                pause || trip.sent.saturating_sub(spurt.1) >= setting.spurt.as_nanos()
            }
            (None, _) => true,
            _ => false,
        };
        if begins {
            spurts.push((trip.number, trip.sent, wait));
        }
        let mut own = spurts[spurts.len().saturating_sub(2)..].iter().rev();
        let spurt =
            own.find(|spurt| spurt.0 <= trip.number).unwrap_or(&spurts[spurts.len().saturating_sub(2)]);
        if delay <= spurt.2 {
            played[trip.number as usize] = true;
            if trip.number >= count_from {
                sum += spurt.2 as f64;
            }
        } else {
            late += u64::from(trip.number >= count_from);
        }
    }
    let counted: Vec<bool> = played[count_from as usize..].to_vec();
    let mean = sum / counted.iter().filter(|played| **played).count().max(1) as f64;
    let bursts =
        counted.iter().enumerate().filter(|(i, played)| !**played && (*i == 0 || counted[i - 1])).count();
    (counted, late, mean, bursts as u64)
}

fn check(trips: &[Trip], setting: PlayoutSetting, count_from: u64, until: u64) -> Heard {
    let mut playout = Playout::new(setting, INTERVAL);
    let mut restarted = false;
    for trip in trips {
        // Counting restarts before the first packet that counts arrives.
        if !restarted && trip.number >= count_from {
            playout.restart(count_from);
            restarted = true;
        }
        playout.arrived(trip.number, Time::from_nanos(trip.sent), Time::from_nanos(trip.arrived));
    }
    if !restarted {
        playout.restart(count_from);
    }
    let heard = playout.heard(until);
    let (counted, late, mean, bursts) = model(trips, setting, count_from, until);
    let played = counted.iter().filter(|played| **played).count() as u64;
    assert_eq!((heard.sent, heard.played, heard.late), (until - count_from, played, late));
    let loss = 1.0 - played as f64 / (counted.len().max(1)) as f64;
    if !counted.is_empty() {
        assert!((heard.loss - loss).abs() < 1e-12);
    }
    if played > 0 {
        assert!((heard.delay.as_nanos() as f64 - mean).abs() <= 1.0 + mean * 1e-9, "{heard:?} {mean}");
    }
    let burst_ratio = match bursts {
        0 => 1.0,
        bursts => (counted.len() as f64 - played as f64) / bursts as f64 * (1.0 - loss),
    };
    assert!((heard.burst_ratio - burst_ratio.max(1.0)).abs() < 1e-9, "{heard:?} {burst_ratio}");
    heard
}

fn setting(law: PlayoutLaw) -> PlayoutSetting {
    PlayoutSetting { law, ..PlayoutSetting::fixed(Span::from_millis(40)) }
}

const LAWS: [PlayoutLaw; 2] = [PlayoutLaw::Fixed, PlayoutLaw::Adaptive { memory: 0.9 }];

proptest! {
    /// Delays, losses, pauses and packets that overtake each other.
    #[test]
    fn the_buffer_equals_its_model(
        packets in prop::collection::vec((0u64..120_000_000, 0u8..10, 0u8..30), 1..400),
        law in 0usize..2,
        warm_up in 0u64..20,
    ) {
        let mut sent = 0;
        let mut trips = Vec::new();
        for (number, (delay, lost, pause)) in packets.iter().enumerate() {
            sent += 20_000_000 * if *pause == 0 { 40 } else { 1 };
            if *lost > 0 {
                trips.push(Trip { number: number as u64, sent, arrived: sent + delay });
            }
        }
        let until = packets.len() as u64;
        let warm_up = warm_up.min(until);
        trips.sort_by_key(|trip| trip.arrived);
        // Packets of the warm-up that arrive after the restart are left out.
        let first = trips.iter().position(|trip| trip.number >= warm_up).unwrap_or(trips.len());
        let trips: Vec<Trip> = trips
            .iter()
            .enumerate()
            .filter(|(index, trip)| *index < first || trip.number >= warm_up)
            .map(|(_, trip)| *trip)
            .collect();
        check(&trips, setting(LAWS[law]), warm_up, until);
    }
}

fn steady(delays: impl Iterator<Item = u64>) -> Vec<Trip> {
    let trip = |(number, delay): (usize, u64)| {
        let sent = number as u64 * 20_000_000;
        Trip { number: number as u64, sent, arrived: sent + delay * 1_000_000 }
    };
    delays.enumerate().map(trip).collect()
}

/// The first packet of a spurt sets the playout delay: 10 + 40 ms.
#[test]
fn a_fixed_buffer_equals_a_calculation_by_hand() {
    let delays = [10, 50, 51, 10, 49, 90, 50];
    let heard = check(&steady(delays.into_iter()), setting(PlayoutLaw::Fixed), 0, 9);
    assert_eq!((heard.sent, heard.played, heard.late), (9, 5, 2));
    // Packets 2, 5 and the last two are lost: three bursts.
    assert_eq!((heard.delay, heard.loss), (Span::from_millis(50), 4.0 / 9.0));
    assert_eq!(heard.burst_ratio, 1.0);
}

/// After a second without a pause a new spurt takes the delay of its first packet.
#[test]
fn speech_without_pauses_is_divided_into_spurts() {
    let heard =
        check(&steady((0..100).map(|n| if n < 50 { 10 } else { 60 })), setting(PlayoutLaw::Fixed), 0, 100);
    assert_eq!((heard.played, heard.delay), (100, Span::from_millis(75)));
}

/// With a constant delay the initial deviation decays.
#[test]
fn adaptive_buffers_shrink_at_a_constant_delay() {
    let memory = PlayoutSetting::MEMORY;
    let heard = check(&steady((0..100).map(|_| 30)), setting(PlayoutLaw::Adaptive { memory }), 0, 100);
    // The second spurt begins with packet 50.
    let second = 30.0 + 40.0 * memory.powi(50);
    let mean = Span::from_secs_f64((70.0 + second) / 2.0 / 1e3);
    assert!(heard.delay.as_nanos().abs_diff(mean.as_nanos()) < 1000, "{} {mean}", heard.delay);
}

/// With a constant delay for half an hour no packet is late, although the deviation approaches zero.
#[test]
fn adaptive_buffers_do_not_shrink_below_a_constant_delay() {
    let mut playout = Playout::new(PlayoutSetting::adaptive(Span::from_millis(60)), INTERVAL);
    for number in 0..90_000 {
        let sent = Time::ZERO + INTERVAL * number;
        assert!(playout.arrived(number, sent, sent + Span::from_nanos(12_345_679)));
    }
}

/// No packet, no arrival, and a gap larger than the window.
#[test]
fn statistics_hold_without_packets_arrivals_and_over_large_gaps() {
    let empty = Playout::new(setting(PlayoutLaw::Fixed), INTERVAL);
    assert_eq!((empty.heard(0).loss, empty.heard(0).burst_ratio), (0.0, 1.0));
    let silent = empty.heard(1000);
    assert_eq!((silent.loss, silent.delay, silent.burst_ratio), (1.0, Span::ZERO, 1.0));
    let mut playout = empty.clone();
    for number in [0, 1_000_000_000_000] {
        assert!(playout.arrived(number, Time::ZERO, Time::ZERO));
        assert!(!playout.arrived(number, Time::ZERO, Time::ZERO), "a second time");
    }
    let heard = playout.heard(1_000_000_000_001);
    assert_eq!((heard.played, heard.sent), (2, 1_000_000_000_001));
    assert!(!playout.arrived(5, Time::ZERO, Time::ZERO), "too far behind");
    playout.restart(u64::MAX);
    assert_eq!(playout.heard(u64::MAX).sent, 0);
    assert!(playout.arrived(u64::MAX, Time::ZERO, Time::ZERO));
}

/// With losses of a two-state Markov chain the burst ratio is 1 / (p + q) (G.107 clause 7.5).
#[test]
fn the_burst_ratio_of_a_markov_chain_is_the_closed_form() {
    let (p, q) = (0.02, 0.25);
    let mut random = Random::derive(1, "playout", "losses");
    let mut playout = Playout::new(setting(PlayoutLaw::Fixed), INTERVAL);
    let mut lost = false;
    for number in 0..2_000_000 {
        lost = if lost { random.unit() >= q } else { random.unit() < p };
        if !lost {
            let sent = Time::ZERO + INTERVAL * number;
            assert!(playout.arrived(number, sent, sent + Span::from_millis(9)));
        }
    }
    let heard = playout.heard(2_000_000);
    assert!((heard.burst_ratio * (p + q) - 1.0).abs() < 0.05, "{heard:?}");
    assert!((heard.loss / (p / (p + q)) - 1.0).abs() < 0.05, "{heard:?}");
}
