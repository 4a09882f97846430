//! Adaptive streaming in the simulator: closed forms on a line, the same figures each time, every transport, losses on both ways.

use crate::common::{link, ms, play, scenario};
use qdelay_core::Span;
use qdelay_path::{ImpairmentSpec, LossModel};
use qdelay_sim::results::StreamFigures;
use qdelay_sim::{Impairments, Scenario};

/// A session of `seconds` over 40 ms.
fn session(rate: &str, transport: &str, seconds: u64) -> Scenario {
    let duration = Span::from_secs(seconds);
    Scenario { duration, ..scenario("taildrop:limit=100", link(rate), &[transport]) }
}

fn stream(scenario: &Scenario) -> StreamFigures {
    play(scenario).flows[0].stream.expect("a stream has figures")
}

/// Bits of IP packets for a bit of the application in full segments.
const OVERHEAD: f64 = 1500.0 / 1448.0;

/// One bit rate of 4 Mbit/s on a line of 2 Mbit/s: each chunk takes its bytes over the rate and a round trip for the request, and the
/// viewer waits for whatever is longer than it lasts.
#[test]
fn downloads_take_their_bytes_over_the_rate() {
    let text = "dash:bb:ladder=4mbit:length=40s:chunk=4s:variation=0";
    let figures = stream(&session("line:2mbit", text, 200));
    assert_eq!((figures.chunks, figures.switches, figures.bitrate_mbps), (10.0, 0.0, 4.0));
    // Without waits for requests: the line is never idle otherwise.
    let least = 10.0 * 4.0 * 4.0 * OVERHEAD / 2.0;
    // The last chunk is played when all are there.
    let waited = figures.startup_ms / 1e3 + figures.stalled_s + 9.0 * 4.0;
    assert!((least..least + 10.0 * 0.06 + 0.1).contains(&waited), "{least} {waited}");
    assert_eq!((figures.stalls, figures.played_s), (9.0, 40.0));
}

/// The near end opens, so that the first request is half a round trip later; then as long as its bytes take, at most six round trips more
/// of slow start.
#[test]
fn playback_begins_with_the_first_chunk() {
    let figures = stream(&session("line:10mbit", "dash:bb:variation=0", 20));
    let bytes = 300e3 * (193.0 / 48.0) * OVERHEAD / 10e6 * 1e3;
    let startup = figures.startup_ms;
    assert!((bytes + 60.0..bytes + 60.0 + 6.0 * 40.0).contains(&startup), "{bytes} {startup}");
}

/// On a constant line every rule comes to the highest bit rate that it sustains, and nothing stalls.
#[test]
fn the_highest_sustainable_rate_without_a_stall() {
    for rule in ["bb", "bola", "bola:variant=basic", "festive", "robustmpc"] {
        let text = format!("dash:abr=[{rule}]:ladder=500kbit+1mbit+2mbit");
        let figures = stream(&session("line:3mbit", &text, 200));
        assert_eq!((figures.stalls, figures.chunks), (0.0, 48.0), "{rule}: {figures:?}");
        assert!(figures.bitrate_mbps > 1.5, "{rule}: {figures:?}");
        assert!(figures.switches <= 3.0, "{rule}: {figures:?}");
    }
}

/// Rules that look at throughput stay at the rung below it where the next one is above. BBA-0 and BOLA-BASIC go by the buffer, and
/// alternate between the two.
#[test]
fn a_rate_between_two_rungs() {
    for rule in ["bola", "festive", "robustmpc"] {
        let text = format!("dash:abr={rule}:variation=0");
        let figures = stream(&session("line:2.4mbit", &text, 200));
        println!("{rule}: {figures:?}");
        assert_eq!(figures.stalls, 0.0, "{rule}: {figures:?}");
        assert!((1.5..2.4).contains(&figures.bitrate_mbps), "{rule}: {figures:?}");
    }
}

#[test]
fn every_control_carries_it() {
    for over in ["cubic", "bbr", "reno", "[cubic:profile=ns3]", "vivace", "copa"] {
        let figures = stream(&session("line:10mbit", &format!("dash:over={over}"), 200));
        assert_eq!((figures.chunks, figures.stalls), (48.0, 0.0), "{over}: {figures:?}");
        assert!(figures.bitrate_mbps > 3.0, "{over}: {figures:?}");
    }
}

/// Lost requests are repeated, lost data is the transport's matter; the same scenario has the same outcome.
#[test]
fn losses_on_both_ways_only_delay_it() {
    let lossy = ImpairmentSpec {
        loss: LossModel::Random(0.05),
        reorder: LossModel::Random(0.02),
        reorder_delay: ms(15),
        duplicate: LossModel::Random(0.02),
        ..ImpairmentSpec::default()
    };
    for over in ["cubic", "bbr"] {
        let scenario = Scenario {
            impairments: Impairments { down: lossy.clone(), up: lossy.clone() },
            ..session("line:10mbit", &format!("dash:robustmpc:over={over}:length=80s"), 200)
        };
        let outcome = play(&scenario);
        assert_eq!(outcome.flows[0].stream.map(|stream| stream.chunks), Some(20.0), "{over}");
        assert_eq!(play(&scenario), outcome, "{over}");
    }
}

/// The connection is idle while the buffer is full, and goes on: of 193 s at 300 kbit/s on a line of 10 Mbit/s everything arrives.
#[test]
fn an_idle_connection_goes_on() {
    let scenario = session("line:10mbit", "dash:bb:ladder=300kbit:buffer=9s:variation=0", 200);
    let outcome = play(&scenario);
    let figures = outcome.flows[0].stream.unwrap();
    assert_eq!((figures.chunks, figures.stalls, figures.switches), (48.0, 0.0, 0.0));
    let bytes = 300e3 * 193.0 / 8.0;
    assert!((outcome.flows[0].delivered_bytes as f64 - bytes).abs() < 100.0);
}

// ---- Web pages ----

/// A page of one object on a line: the connection, the request, the server, and its bytes over the rate.
#[test]
fn a_page_of_one_object_is_a_download() {
    let text = "web:objects=1:bytes=500kb:document=500kb:think=30ms:pause=60min";
    let outcome = play(&session("line:10mbit", text, 60));
    let web = outcome.flows[0].web.unwrap();
    let bytes = 500e3 * 8.0 * OVERHEAD / 10e6 * 1e3;
    // Half a round trip until it is heard of, one for the request and the first bytes, at most four of slow start.
    let least = bytes + 20.0 + 40.0 + 30.0;
    assert!((least..least + 160.0).contains(&web.load_ms), "{least} {web:?}");
    assert_eq!((web.pages, web.not_loaded, outcome.flows[0].delivered_bytes), (1.0, 0.0, 500_000));
}

/// A chain of objects takes a round trip and a thought for each.
#[test]
fn pages_load_over_six_connections_or_one() {
    for text in ["web", "web:multiplex=on", "web:connections=1", "web:bbr"] {
        let outcome = play(&session("line:10mbit", text, 120));
        let web = outcome.flows[0].web.unwrap();
        // All bytes over the rate is the least that a load takes.
        let least = 2652e3 * 8.0 * OVERHEAD / 10e6 * 1e3;
        println!("{text}: {web:?}");
        assert!(web.load_p50_ms > least && web.load_p50_ms < 3.0 * least + 71.0 * 60.0, "{text}: {web:?}");
        assert!(web.pages > 8.0, "{text}: {web:?}");
    }
}

#[test]
fn pages_survive_losses() {
    let lossy = ImpairmentSpec {
        loss: LossModel::Random(0.05),
        reorder: LossModel::Random(0.02),
        reorder_delay: ms(15),
        duplicate: LossModel::Random(0.02),
        ..ImpairmentSpec::default()
    };
    for text in ["web", "web:multiplex=on"] {
        let scenario = Scenario {
            impairments: Impairments { down: lossy.clone(), up: lossy.clone() },
            ..session("line:10mbit", text, 120)
        };
        let outcome = play(&scenario);
        assert!(outcome.flows[0].web.is_some_and(|web| web.pages > 1.0), "{text}");
        assert_eq!(play(&scenario), outcome, "{text}");
    }
}
