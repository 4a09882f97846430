//! The components of applications over connections, `dash` and `web`: accepted texts, and refusals with their messages.

use qdelay_core::component::{Arguments, ComponentError};
use qdelay_traffic::transport::{COMPONENTS, TransportConfig};

fn built(text: &str) -> Result<TransportConfig, ComponentError> {
    Arguments::parse(COMPONENTS, text).and_then(|arguments| TransportConfig::build(&arguments))
}

fn assert_refused(cases: &[(&str, &str)]) {
    for (text, message) in cases {
        let error = built(text).unwrap_err().to_string();
        assert!(error.contains(message) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn dash_builds_from_its_texts() {
    let TransportConfig::Stream(stream) = built("dash").unwrap() else { panic!("not a stream") };
    assert_eq!((stream.player.video.chunks(), stream.player.video.rungs()), (48, 6));
    for text in ["dash:bb", "dash:abr=[bb:reservoir=8s]:over=[bbr:ecn=on]", "dash:ladder=1mbit:buffer=5s"] {
        assert!(built(text).is_ok(), "{text}");
    }
}

#[test]
fn dash_refuses_mistakes_on_one_line() {
    assert_refused(&[
        ("dash:ladder=1mbit+500kbit", "'500kbit' is not above the one before; expected bit rates that rise"),
        ("dash:ladder=1mbit+1mbit", "rise"),
        ("dash:ladder=0+1mbit", "expected more than 0"),
        ("dash:ladder=1mbit+infinite", "at most 1gbit"),
        ("dash:ladder=1mbit++2mbit", "'': expected a number"),
        ("dash:length=3s", "chunk is longer than the video"),
        ("dash:buffer=3s", "buffer holds no chunk"),
        ("dash:startup=58s", "startup and another chunk are more than buffer holds"),
        ("dash:abr=cubic", "unknown adaptation 'cubic'; known: bb, bola, festive, robustmpc"),
        ("dash:abr=[bb:cushion=0]", "out of range"),
        (
            "dash:abr=[robustmpc:horizon=7]:ladder=1mbit+2mbit+3mbit+4mbit+5mbit+6mbit+7mbit+8mbit",
            "too many sequences",
        ),
        ("dash:over=udp", "not a connection"),
        ("dash:over=[cubic:bytes=1mb]", "remove bytes"),
        ("dash:over=dash", "cannot carry another"),
        ("dash:over=nothing", "unknown transport 'nothing'"),
    ]);
}

#[test]
fn web_has_six_connections_or_one_multiplexed() {
    let TransportConfig::Web(web) = built("web:bbr").unwrap() else { panic!("not a browser") };
    assert_eq!((web.connections, web.page.objects().len()), (6, 71));
    let TransportConfig::Web(web) = built("web:multiplex=on").unwrap() else { panic!("not a browser") };
    assert_eq!(web.connections, 1);
}

#[test]
fn web_refuses_mistakes_on_one_line() {
    assert_refused(&[
        ("web:bytes=10kb", "document is larger than the page"),
        ("web:multiplex=on:connections=2", "one connection"),
        ("web:over=voip", "not a connection"),
        ("web:over=web", "cannot carry another"),
        ("web:over=dash", "not a connection"),
        ("web:objects=0", "out of range"),
    ]);
}
