//! TFRC as a component, and the parameters shared with other sources that it paces.

use super::{Equation, RateConfig, ReceiverConfig, TfrcConfig};
use crate::parameter::parameter;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Parameter, Unit};

pub(crate) const ACK_EVERY: Parameter = Parameter {
    default: "1",
    min: "1",
    max: "2",
    ..parameter(
        "b",
        Unit::Number,
        "Packets that the TCP of the equation acknowledges at a time",
        "RFC 5348 section 3.1",
    )
};
pub(crate) const MIN_RTO: Parameter = Parameter {
    default: "0",
    max: "60s",
    ..parameter(
        "min_rto",
        Unit::Span,
        "Least retransmission timeout of the TCP of the equation; else four round trips",
        "RFC 5348 section 3.1, which mentions 1s",
    )
};

static COMPONENT: Component = Component {
    kind: Kind::Transport,
    name: "tfrc",
    about: "Datagrams at the rate that TCP would have in the long run (TCP-friendly rate control)",
    source: "RFC 5348",
    parameters: &[
        Parameter {
            default: "1000b",
            min: "41",
            max: "65535",
            ..parameter(
                "size",
                Unit::Bytes,
                "IP packet size, of which 40 are headers",
                "ABE, simulation results",
            )
        },
        Parameter {
            default: "1gbit",
            min: "1bit",
            max: "100gbit",
            ..parameter(
                "max_rate",
                Unit::Rate,
                "Rate of IP packets that the application has at most",
                "none in RFC 5348",
            )
        },
        ACK_EVERY,
        MIN_RTO,
        Parameter {
            default: "3",
            min: "1",
            max: "16",
            ..parameter(
                "reorder",
                Unit::Count("segments"),
                "Packets that have to overtake one until it is taken for lost",
                "RFC 5348 section 5.1, NDUPACK",
            )
        },
        Parameter {
            default: "on",
            ..parameter(
                "discounting",
                Unit::Switch,
                "Whether old loss intervals count less after a long time without a loss",
                "RFC 5348 section 5.5",
            )
        },
        Parameter {
            default: "off",
            ..parameter(
                "damping",
                Unit::Switch,
                "Whether packets are spaced wider while the round trip is above its average",
                "RFC 5348 section 4.5",
            )
        },
        Parameter {
            default: "off",
            ..parameter("ecn", Unit::Switch, "Whether packets are ECN-capable", "RFC 5348 section 5.1")
        },
    ],
    positional: Some("size"),
};
pub(crate) const COMPONENTS: &[&Component] = &[&COMPONENT];

/// The equation that `size`, [`ACK_EVERY`] and [`MIN_RTO`] describe.
pub(crate) fn equation(arguments: &Arguments) -> Equation {
    Equation {
        segment_bytes: arguments.whole("size").unwrap_or(1000) as f64,
        ack_every: arguments.number("b").unwrap_or(1.0),
        min_rto_s: arguments.span("min_rto").unwrap_or(Span::ZERO).as_secs_f64(),
    }
}

pub(crate) fn build(arguments: &Arguments) -> Result<TfrcConfig, ComponentError> {
    let is_on = |key| arguments.switch(key) == Some(true);
    let standard = TfrcConfig::standard(arguments.whole("size").unwrap_or(1000) as u32);
    let equation = equation(arguments);
    Ok(TfrcConfig {
        max_rate: arguments.rate("max_rate").unwrap_or(standard.max_rate),
        rate: RateConfig { equation, damping: is_on("damping"), ..standard.rate },
        receiver: ReceiverConfig {
            equation,
            reorder: arguments.whole("reorder").unwrap_or(3) as u32,
            discounting: arguments.switch("discounting") != Some(false),
            ..standard.receiver
        },
        ecn: is_on("ecn"),
        ..standard
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Rate;

    #[test]
    fn texts() {
        let tfrc = |text| build(&Arguments::parse(COMPONENTS, text).unwrap()).unwrap();
        assert_eq!(tfrc("tfrc"), TfrcConfig::standard(1000));
        assert_eq!(tfrc("tfrc:1460b"), TfrcConfig::standard(1460));
        let other = tfrc("tfrc:b=2:min_rto=1s:reorder=1:discounting=off:damping=on:ecn=on:max_rate=1mbit");
        assert_eq!(other.rate.equation, other.receiver.equation);
        assert_eq!((other.rate.equation.ack_every, other.rate.equation.min_rto_s), (2.0, 1.0));
        assert_eq!((other.receiver.reorder, other.receiver.discounting), (1, false));
        assert_eq!((other.rate.damping, other.ecn, other.max_rate), (true, true, Rate::from_bps(1_000_000)));
        for text in ["tfrc:b=3", "tfrc:40b", "tfrc:reorder=0"] {
            assert!(Arguments::parse(COMPONENTS, text).is_err(), "{text}");
        }
    }
}
