//! Logs of mm-link: figures computed by hand, and by a slow model of mm-throughput-graph's steps.

use qdelay::import::mahimahi_log::{LogFigures, read};
use qdelay_core::Random;
use qdelay_testing::for_each_seed;
use std::collections::BTreeMap;

const HEAD: &str =
    "# mahimahi mm-link (downlink) [x.trace] > x.log\n# init timestamp: 90\n# base timestamp: 100\n";

fn figures(events: &str) -> Result<LogFigures, String> {
    let log = format!("{HEAD}{events}");
    read("x.log", log.as_bytes(), 100).map_err(|error| error.to_string())
}

#[test]
fn by_hand() {
    let ours = figures("100 # 1504\n100 + 1504\n150 + 1504\n200 # 1504\n200 - 1504 100\n300 d 2 3008\n600 # 1504\n600 - 752 450\n")
        .unwrap();
    assert_eq!(ours.duration_s, 0.5);
    assert_eq!((ours.capacity_mbps, ours.ingress_mbps), (0.072192, 0.048128));
    assert_eq!((ours.throughput_mbps, ours.utilization), (0.036096, Some(0.5)));
    assert_eq!((ours.arrived, ours.departed, ours.drops), (2, 2, 2));
    assert_eq!((ours.delay_ms.mean, ours.delay_ms.p50, ours.delay_p95_ms), (275.0, 100.0, 450.0));
    // From 0 to 50 ms: 100 at 0, then 499 to 451, then 450.
    assert_eq!(ours.signal_delay_p95_ms, 497.0);
    assert_eq!(ours.bins.len(), 4);
    assert_eq!((ours.bins[1].start_s, ours.bins[1].delay_max_ms), (0.1, Some(100.0)));
    assert_eq!((ours.bins[0].delay_mean_ms, ours.bins[3].delay_mean_ms), (None, Some(450.0)));
}

/// Logs of a fork have letters that mahimahi does not know.
#[test]
fn events_with_other_letters_are_counted_and_left_out() {
    let known = "134 # 1504\n134 + 1500 0\n136 # 1504\n136 - 1500 2 0\n";
    let fork = "134 # 1504\n134 + 1500 0\n134 s 249\n136 # 1504\n136 - 1500 2 0\n999 s\n136 Q x y z\n";
    let (ours, mut theirs) = (figures(known).unwrap(), figures(fork).unwrap());
    assert_eq!(theirs.other_events, BTreeMap::from([('Q', 1), ('s', 2)]));
    theirs.other_events.clear();
    assert_eq!((theirs.delay_ms.mean, &theirs), (2.0, &ours));
}

/// A merged log of Pantheon has thousandths of a ms.
#[test]
fn thousandths_of_a_millisecond_are_read() {
    let log = "# base timestamp: 0.000\n0.500 + 1500 1\n5.250 - 1500 4.750 1\n6.000 # 1504\n";
    let ours = read("x.log", log.as_bytes(), 1).unwrap();
    assert_eq!((ours.duration_s, ours.delay_ms.mean, ours.delay_p95_ms), (0.0055, 4.75, 4.75));
    assert_eq!((ours.signal_delay_p95_ms, ours.bins[1].delay_max_ms), (4.75, Some(4.75)));
    assert_eq!(ours.bins.iter().map(|bin| bin.start_s).collect::<Vec<_>>(), [0.0, 0.005, 0.006]);
    for bad in ["1. + 1500\n", ".5 + 1500\n", "1.5x + 1500\n", "1e3 + 1500\n", "-1.5 + 1500\n"] {
        assert!(figures(bad).unwrap_err().contains("no event"), "{bad}");
    }
}

#[test]
fn errors_name_the_line() {
    for (events, wanted) in [
        ("", "x.log: no event"),
        ("100 + 1504\n", "no packet has left"),
        ("100 + 1504\nhello\n", "x.log:5: 'hello': no event; expected MS + BYTES"),
        ("100 - 1504\n", "x.log:4: '100 - 1504': a departure without a delay"),
        ("100 - 1504 1\n", "arrived before the base timestamp"),
        ("99 + 1504\n", "is before the base timestamp"),
        ("100 ? 1504\n", "unknown kind of event"),
        ("100 + 99999999999\n", "no event"),
        ("# base timestamp: 7\n", "a second base timestamp"),
        ("101 - 1504 1\n", "all events fall into one ms"),
    ] {
        let error = figures(events).unwrap_err();
        assert!(error.contains(wanted), "{events}: {error}");
    }
    let error = read("y", &b"100 + 1504\n"[..], 1).unwrap_err().to_string();
    assert!(error.contains("y:1: '100 + 1504': an event before '# base timestamp:'"), "{error}");
    let error = read("y", &[0xff, 0xfe, b'\n'][..], 1).unwrap_err().to_string();
    assert!(error.contains("is not text"), "{error}");
}

/// Model of the program, with times and delays in microseconds: a value for each ms, from the last to the first, then the value at 0.95 of all.
fn signal_delay(departures: &[(u64, u64)]) -> u64 {
    let mut delays: BTreeMap<u64, u64> = BTreeMap::new();
    for (time, delay) in departures {
        let least = delays.entry((time - delay) / 1000).or_insert(u64::MAX);
        *least = (*least).min(*delay);
    }
    let (first, last) = (*delays.keys().next().unwrap(), *delays.keys().last().unwrap());
    for time in (first..last).rev() {
        if !delays.contains_key(&time) {
            delays.insert(time, delays[&(time + 1)] + 1000);
        }
    }
    let mut sorted: Vec<u64> = delays.into_values().collect();
    sorted.sort_unstable();
    sorted[(0.95 * sorted.len() as f64) as usize]
}

#[test]
fn the_signal_delay_is_that_of_the_steps() {
    for_each_seed(200, |seed| {
        let mut random = Random::derive(seed, "log", "events");
        let mut departures = Vec::new();
        let mut time = 0;
        for _ in 0..1 + random.below(40) {
            time += random.below(60);
            departures.push((time + 1, random.below(time + 2).min(300)));
        }
        departures.push((time + 2, 0));
        // In whole ms, and with thousandths.
        for has_thousandths in [false, true] {
            let part = |random: &mut Random| if has_thousandths { random.below(1000) } else { 0 };
            let micros: Vec<(u64, u64)> = departures
                .iter()
                .map(|(time, delay)| {
                    (time * 1000 + 1000 * u64::from(has_thousandths), delay * 1000 + part(&mut random))
                })
                .collect();
            let ms = |micros: u64| format!("{}.{:03}", micros / 1000, micros % 1000);
            let event =
                |(time, delay): &(u64, u64)| format!("{} - 1000 {}\n", ms(time + 100_000), ms(*delay));
            let events: String = micros.iter().map(event).collect();
            let Ok(ours) = figures(&format!("100 # 1504\n{events}")) else { panic!("{events}") };
            assert_eq!(ours.signal_delay_p95_ms, signal_delay(&micros) as f64 / 1000.0, "{events}");
        }
    });
}
