//! A call as a component: datagrams ([`crate::udp`]) with a listener ([`crate::voice`]).
//!
//! Source: RFC 3551 section 4.5.14; ITU-T G.107.

use crate::playout::PlayoutSetting;
use crate::udp::{ECHO, Gaps, PHASE, UdpConfig};
use crate::voice::{Call, Codec};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};

/// The parameter `interval`, shared by `voip` and `audio`.
pub(crate) const INTERVAL: Typed<Span> = Typed::new("interval", "20ms", "Duration of speech per packet")
    .within("1ms", "200ms")
    .source("RFC 3551 section 4.2");
const TALK: Typed<Option<Span>> = Typed::new(
    "talk",
    "",
    "Mean length of talk spurts; needs pause. Default without both: packets are sent in silence too",
)
.within("1ms", "")
.source("1004ms in ITU-T P.59");
const PAUSE: Typed<Option<Span>> = Typed::new("pause", "", "Mean length of pauses between talk spurts")
    .within("1ms", "")
    .source("1587ms in ITU-T P.59");
const CONCEALMENT: Typed<bool> =
    Typed::new("concealment", "on", "Whether the listener's decoder conceals lost packets")
        .source("G.711 Appendix I");
const PLAYOUT: Typed<str> =
    Typed::new("playout", "adaptive", "Rule by which the playout buffer sets its delay")
        .unit(Unit::Choice(&["fixed", "adaptive"]))
        .source("Ramjee et al. 1994, algorithm 1");
const BUFFER: Typed<Span> = Typed::new("buffer", "60ms", "Wait of the first packet in the playout buffer")
    .within("", "10s")
    .source("three packets");

static COMPONENT: Component = Component::new(
    Kind::Transport,
    "voip",
    "A call with G.711: RTP datagrams at a constant interval, rated by playout and E-model",
)
.source("RFC 3551 section 4.5.14; ITU-T G.107")
.with(&[
    INTERVAL.parameter(),
    PHASE.parameter(),
    TALK.parameter(),
    PAUSE.parameter(),
    CONCEALMENT.parameter(),
    PLAYOUT.parameter(),
    BUFFER.parameter(),
    ECHO.parameter(),
])
.positional("interval");
pub(crate) const COMPONENTS: &[&Component] = &[&COMPONENT];

pub(crate) fn build(arguments: &Arguments) -> Result<UdpConfig, ComponentError> {
    let interval = arguments.get(&INTERVAL);
    let gaps = match (arguments.get(&TALK), arguments.get(&PAUSE)) {
        (None, None) => Gaps::constant(interval),
        (Some(talk), Some(pause)) => Gaps::Spurts { gap: interval, talk, pause },
        _ => {
            let message =
                "only one of talk and pause is given; expected both, or neither for packets in silence too";
            return Err(arguments.fail(message));
        }
    };
    let codec = if arguments.get(&CONCEALMENT) { Codec::G711Concealed } else { Codec::G711 };
    let buffer = arguments.get(&BUFFER);
    let playout = match arguments.get(&PLAYOUT) {
        "fixed" => PlayoutSetting::fixed(buffer),
        _ => PlayoutSetting::adaptive(buffer),
    };
    let call = Some(Call { codec, interval, playout });
    Ok(UdpConfig { call, ..UdpConfig::new(codec.packet_bytes(interval), gaps) }.with_common(arguments))
}
