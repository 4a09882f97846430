//! Calls with video in the simulator, against closed forms, and over paths that lose, copy and reorder.

use crate::common::{link, ms, play, scenario};
use qdelay_core::Span;
use qdelay_path::ImpairmentSpec;
use qdelay_sim::results::VideoFigures;
use qdelay_sim::{Impairments, LinkSpec, Outcome, Scenario};

const UNLIMITED: &str = "taildrop:limit=10000";

/// A minute over 40 ms, rated after 10 s.
fn minute(qdisc: &str, link: LinkSpec, flows: &[&str]) -> Scenario {
    Scenario { duration: Span::from_secs(60), warmup: Span::from_secs(10), ..scenario(qdisc, link, flows) }
}

fn video(outcome: &Outcome) -> VideoFigures {
    outcome.flows[0].video.unwrap()
}

/// The rate that a call finds is near the link's, its queue is short, and its frames are in time.
#[test]
fn a_call_finds_the_rate_of_its_link() {
    for transport in ["webrtc:10mbit:size=1080p", "scream:10mbit:size=1080p"] {
        for rate in [0.5, 1.0, 2.0, 5.0] {
            let outcome = play(&minute(UNLIMITED, link(&format!("line:{rate}mbit")), &[transport]));
            let (call, p95) = (video(&outcome), outcome.queue_delay_ms.p95);
            println!("{transport} {rate}: {:.3} {p95:.1} {call:?}", outcome.utilization);
            assert!((0.7..1.0).contains(&outcome.utilization), "{rate}: {}", outcome.utilization);
            assert!(p95 < 160.0, "{rate}: {p95}");
            assert!(call.complete > 0.999 && call.late < 0.05 && call.freezes == 0.0, "{rate}: {call:?}");
        }
    }
}

/// A call that the link does not limit has its highest rate, and nothing waits.
#[test]
fn a_call_on_a_fast_link() {
    let call = video(&play(&minute(UNLIMITED, link("line:50mbit"), &["webrtc:2mbit"])));
    // The first packets of a frame wait for nothing; the pacer spreads the last ones over 1 / 2.5 of the interval.
    assert!((call.target_mbps - 2.0).abs() < 0.01, "{call:?}");
    assert!(call.delay_p50_ms < 20.0 + 33.4 / 2.5 + 1.0 && call.within_50ms > 0.99, "{call:?}");
    assert_eq!((call.frames, call.complete, call.frozen, call.height), (1470.0, 1.0, 0.0, 720.0));
}

/// Frames of 12 Mbit/s at 60/s are 25 kB with their headers, a burst that takes 10 ms over 20 Mbit/s, behind 20 ms of the way.
#[test]
fn bursts_take_their_time_on_the_link() {
    for (rate, expected, within_50) in [(20.0, 30.0, 1.0), (100.0, 22.0, 1.0)] {
        let text = format!("line:{rate}mbit");
        let call = video(&play(&minute(UNLIMITED, link(&text), &["frames:12mbit:fps=60:noise=0"])));
        println!("{rate}: {call:?}");
        assert!((call.delay_p50_ms - expected).abs() < 0.3, "{rate}: {call:?}");
        assert!(call.within_20ms == 0.0 && call.within_50ms == within_50, "{call:?}");
    }
}

/// Without retransmissions each lost packet breaks off decoding until a key frame that is asked for.
#[test]
fn calls_go_on_over_losses_copies_and_reordering() {
    let spec = |loss: f64, duplicate: f64, reorder: f64| ImpairmentSpec {
        loss: loss.into(),
        reorder: reorder.into(),
        reorder_delay: ms(8),
        duplicate: duplicate.into(),
        ..ImpairmentSpec::default()
    };
    for transport in ["webrtc", "scream", "webrtc:nack=off", "frames:2mbit"] {
        for down in [spec(0.02, 0.0, 0.0), spec(0.0, 0.05, 0.0), spec(0.0, 0.0, 0.05), spec(0.01, 0.02, 0.02)]
        {
            let plain = minute(UNLIMITED, link("line:5mbit"), &[transport]);
            let lossy =
                Scenario { impairments: Impairments { down: down.clone(), up: down.clone() }, ..plain };
            let outcome = play(&lossy);
            let call = video(&outcome);
            println!("{transport} {down:?}: {call:?}");
            assert!(outcome.flows[0].goodput_mbps > 0.1, "{transport} {down:?}");
            assert_eq!(outcome, play(&lossy), "twice the same");
            let asks = !transport.contains("off") && !transport.starts_with("frames");
            assert!(!asks || call.complete > 0.995, "{transport} {down:?}: {call:?}");
        }
    }
}

/// Capacity from 3 to 0.6 Mbit/s and back, with a queue of a second at that rate: frames are late while the queue drains, and the call goes on.
#[test]
fn a_step_freezes_the_picture_for_a_while() {
    let outcome =
        play(&minute("taildrop:limit=60", link("steps:0s@3mbit+20s@600kbit+40s@3mbit"), &["webrtc"]));
    let call = video(&outcome);
    println!("{call:?}");
    assert!(call.freezes >= 1.0 && call.freeze_share < 0.2 && call.late > 0.0, "{call:?}");
    assert!(call.height < 720.0 && call.mos > 2.0 && call.mos < 4.5, "{call:?}");
}
