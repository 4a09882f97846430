//! Applications over QUIC: a player of adaptive video, and a browser with one connection.

use crate::common::scenario;
use qdelay_core::Span;

fn seconds(text: &str, seconds: u64) -> qdelay_sim::Scenario {
    scenario(text, 10.0, 100, Span::from_millis(40), Span::from_secs(seconds))
}

#[test]
fn a_video_is_played_to_its_end_without_stalls() {
    for text in [
        "dash:bb:over=quic",
        "dash:robustmpc:over=[quic:bbr]:length=60s",
        "dash:robustmpc:over=[quic:streams=3]:length=60s",
    ] {
        let scenario = seconds(text, 200);
        let outcome = qdelay_sim::run(&scenario).unwrap();
        let stream = outcome.flows[0].stream.unwrap();
        let chunks = if text.contains("60s") { 15.0 } else { 48.0 };
        assert_eq!((stream.chunks, stream.stalls), (chunks, 0.0), "{text}: {stream:?}");
        assert!(stream.bitrate_mbps > 2.0, "{text}: {stream:?}");
        assert_eq!(qdelay_sim::run(&scenario).unwrap(), outcome, "{text}");
    }
}

/// The pause of 20 s leaves the connection idle; without an idle timeout it stays open.
#[test]
fn a_page_is_loaded_again_after_a_pause() {
    let outcome = qdelay_sim::run(&seconds("web:quic:multiplex=on:pause=20s", 200)).unwrap();
    let web = outcome.flows[0].web.unwrap();
    assert!(web.pages > 3.0, "{web:?}");
}
