//! Updates of an online game, as datagrams ([`crate::udp`]) at normally distributed intervals.
//!
//! Source: Irazabal 2021 (5G QoS thesis), section 3.6.

use crate::parameter::parameter;
use crate::udp::{ECHO, Gaps, PHASE, UdpConfig};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Parameter, Unit};

static COMPONENT: Component = Component {
    kind: Kind::Transport,
    name: "gaming",
    about: "Updates of an online game: small datagrams at normally distributed intervals",
    source: "Irazabal 2021 (5G QoS thesis), section 3.6",
    parameters: &[
        Parameter {
            default: "40ms",
            min: "1us",
            ..parameter(
                "interval",
                Unit::Span,
                "Mean time between datagrams",
                "20, 40, 60 and 70 ms in the thesis",
            )
        },
        Parameter {
            default: "5ms",
            ..parameter(
                "deviation",
                Unit::Span,
                "Standard deviation of it; times that are not above zero are drawn again",
                "5 ms in the thesis",
            )
        },
        Parameter {
            default: "200b",
            min: "28",
            max: "65535",
            ..parameter("size", Unit::Bytes, "IP packet size", "")
        },
        PHASE,
        ECHO,
    ],
    positional: Some("interval"),
};
pub(crate) const COMPONENTS: &[&Component] = &[&COMPONENT];

pub(crate) fn build(arguments: &Arguments) -> Result<UdpConfig, ComponentError> {
    let mean = arguments.span("interval").unwrap_or(Span::from_millis(40));
    let deviation = arguments.span("deviation").unwrap_or(Span::from_millis(5));
    let bytes = arguments.whole("size").unwrap_or(200) as u32;
    Ok(UdpConfig::new(bytes, Gaps::Normal { mean, deviation }).with_common(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games() {
        let ms = Span::from_millis;
        let game = build(&Arguments::parse(COMPONENTS, "gaming:70ms").unwrap()).unwrap();
        assert_eq!((game.bytes, game.gaps), (200, Gaps::Normal { mean: ms(70), deviation: ms(5) }));
        assert_eq!(game.call, None);
        assert!(Arguments::parse(COMPONENTS, "gaming:0ms").is_err());
    }
}
