//! The component of an adaptive call.

use super::{AudioConfig, Utility};
use crate::parameter::parameter;
use crate::tfrc::{ACK_EVERY, MIN_RTO, equation};
use alloc::string::ToString;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Parameter, Unit};

static COMPONENT: Component = Component {
    kind: Kind::Transport,
    name: "audio",
    about: "A call that adapts its rate by TFRC, and chooses between its two codepoints by their rate and delay",
    source: "ABE (Hurley et al. 2001), Fig. 1",
    parameters: &[
        Parameter {
            default: "64kbit",
            min: "1kbit",
            max: "10mbit",
            ..parameter(
                "max",
                Unit::Rate,
                "Most that the codec can use, without headers and error correction",
                "G.711",
            )
        },
        Parameter {
            default: "16kbit",
            min: "100bit",
            max: "10mbit",
            ..parameter(
                "min",
                Unit::Rate,
                "Least that it can work with",
                "R_0 of the paper, which gives no figure",
            )
        },
        Parameter {
            default: "20ms",
            min: "1ms",
            max: "200ms",
            ..parameter("interval", Unit::Span, "Speech in a packet", "RFC 3551 section 4.2")
        },
        Parameter {
            default: "2",
            min: "0",
            max: "20",
            ..parameter(
                "fec",
                Unit::Number,
                "Bytes of forward error correction, over the codec's and the share of packets lost",
                "ours",
            )
        },
        Parameter {
            default: "400ms",
            min: "1ms",
            max: "10s",
            ..parameter(
                "patience",
                Unit::Span,
                "Mean one-way delay from which on it is worth nothing",
                "ITU-T G.114",
            )
        },
        Parameter {
            default: "0.1",
            min: "0",
            max: "10",
            ..parameter("weight", Unit::Number, "How much more the most is worth than the least", "ours")
        },
        Parameter {
            default: "0.05",
            min: "0",
            max: "0.5",
            ..parameter("probe", Unit::Number, "Share of packets with the other codepoint", "ours")
        },
        Parameter {
            default: "5s",
            min: "100ms",
            max: "10min",
            ..parameter("epoch", Unit::Span, "How often it decides", "ours")
        },
        Parameter {
            default: "10s",
            min: "100ms",
            max: "10min",
            ..parameter(
                "pause",
                Unit::Span,
                "How long it is off at first; twice as long each time in vain, up to 16 times",
                "ours",
            )
        },
        Parameter {
            default: "1000b",
            min: "100",
            max: "9000",
            ..parameter(
                "size",
                Unit::Bytes,
                "IP packet size of the TCP that it is as fair as",
                "RFC 4828; ABE, simulation results",
            )
        },
        ACK_EVERY,
        MIN_RTO,
    ],
    positional: Some("max"),
};
pub(crate) const COMPONENTS: &[&Component] = &[&COMPONENT];

pub(crate) fn build(arguments: &Arguments) -> Result<AudioConfig, ComponentError> {
    let default = AudioConfig::default();
    let span = |key, default| arguments.span(key).unwrap_or(default);
    let number = |key, default| arguments.number(key).unwrap_or(default);
    let utility = Utility {
        least: arguments.rate("min").unwrap_or(default.utility.least),
        most: arguments.rate("max").unwrap_or(default.utility.most),
        patience: span("patience", default.utility.patience),
        weight: number("weight", default.utility.weight),
    };
    if utility.least > utility.most {
        let message = "min is above max; expected at most that".to_string();
        return Err(arguments.fail(message));
    }
    Ok(AudioConfig {
        interval: span("interval", default.interval),
        utility,
        correction: number("fec", default.correction),
        probe: number("probe", default.probe),
        epoch: span("epoch", default.epoch),
        pause: span("pause", default.pause),
        equation: equation(arguments),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Rate;

    #[test]
    fn texts() {
        let audio = |text| build(&Arguments::parse(COMPONENTS, text).unwrap());
        assert_eq!(audio("audio"), Ok(AudioConfig::default()));
        let utility = audio("audio:32kbit:min=32kbit:epoch=1s").unwrap().utility;
        assert_eq!((utility.least, utility.most), (Rate::from_bps(32_000), Rate::from_bps(32_000)));
        assert!(audio("audio:min=65kbit").unwrap_err().message.contains("expected at most"));
        for text in ["audio:probe=0.6", "audio:epoch=1ms"] {
            assert!(Arguments::parse(COMPONENTS, text).is_err(), "{text}");
        }
    }
}
