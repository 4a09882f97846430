//! A call as a component: datagrams ([`crate::udp`]) with a listener ([`crate::voice`]).
//!
//! Source: RFC 3551 section 4.5.14; ITU-T G.107.

use crate::parameter::parameter;
use crate::playout::PlayoutSetting;
use crate::udp::{ECHO, Gaps, PHASE, UdpConfig};
use crate::voice::{Call, Codec};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Parameter, Unit};

static COMPONENT: Component = Component {
    kind: Kind::Transport,
    name: "voip",
    about: "A call with G.711: RTP datagrams at a constant interval, and what the listener hears",
    source: "RFC 3551 section 4.5.14; ITU-T G.107",
    parameters: &[
        Parameter {
            default: "20ms",
            min: "1ms",
            max: "200ms",
            ..parameter("interval", Unit::Span, "Speech in a packet", "RFC 3551 section 4.2")
        },
        PHASE,
        Parameter {
            min: "1ms",
            ..parameter(
                "talk",
                Unit::Span,
                "Mean length of talk spurts, with pause; without both, packets are sent in silence too",
                "1004ms in ITU-T P.59",
            )
        },
        Parameter {
            min: "1ms",
            ..parameter(
                "pause",
                Unit::Span,
                "Mean length of pauses between talk spurts",
                "1587ms in ITU-T P.59",
            )
        },
        Parameter {
            default: "on",
            ..parameter(
                "concealment",
                Unit::Switch,
                "Whether the listener's decoder conceals lost packets",
                "G.711 Appendix I",
            )
        },
        Parameter {
            default: "adaptive",
            ..parameter(
                "playout",
                Unit::Choice(&["fixed", "adaptive"]),
                "How the listener's playout buffer finds its delay",
                "Ramjee et al. 1994, algorithm 1",
            )
        },
        Parameter {
            default: "60ms",
            max: "10s",
            ..parameter("buffer", Unit::Span, "How long the first packet waits to be played", "three packets")
        },
        ECHO,
    ],
    positional: Some("interval"),
};
pub(crate) const COMPONENTS: &[&Component] = &[&COMPONENT];

pub(crate) fn build(arguments: &Arguments) -> Result<UdpConfig, ComponentError> {
    let interval = arguments.span("interval").unwrap_or(Span::from_millis(20));
    let gaps = match (arguments.span("talk"), arguments.span("pause")) {
        (None, None) => Gaps::constant(interval),
        (Some(talk), Some(pause)) => Gaps::Spurts { gap: interval, talk, pause },
        _ => {
            let message =
                "one of talk and pause is given; expected both, or neither for packets in silence too";
            return Err(arguments.fail(message));
        }
    };
    let codec =
        if arguments.switch("concealment") == Some(false) { Codec::G711 } else { Codec::G711Concealed };
    let buffer = arguments.span("buffer").unwrap_or(Span::from_millis(60));
    let playout = match arguments.text("playout") {
        Some("fixed") => PlayoutSetting::fixed(buffer),
        _ => PlayoutSetting::adaptive(buffer),
    };
    let call = Some(Call { codec, interval, playout });
    Ok(UdpConfig { call, ..UdpConfig::new(codec.packet_bytes(interval), gaps) }.with_common(arguments))
}
