//! Updates of an online game, as datagrams ([`crate::udp`]) at normally distributed intervals.
//!
//! Source: Irazabal 2021 (5G QoS thesis), section 3.6.

use crate::udp::{ECHO, Gaps, PHASE, UdpConfig};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};

const INTERVAL: Typed<Span> = Typed::new("interval", "40ms", "Mean time between datagrams")
    .within("1us", "")
    .source("20, 40, 60 and 70 ms in the thesis");
const DEVIATION: Typed<Span> = Typed::new(
    "deviation",
    "5ms",
    "Standard deviation of the time between datagrams; a time of zero or less is drawn again",
)
.source("5 ms in the thesis");
const SIZE: Typed<u64> = Typed::new("size", "200b", "IP packet size").unit(Unit::Bytes).within("28", "65535");

static COMPONENT: Component = Component::new(
    Kind::Transport,
    "gaming",
    "Updates of an online game: small datagrams at normally distributed intervals",
)
.source("Irazabal 2021 (5G QoS thesis), section 3.6")
.with(&[INTERVAL.parameter(), DEVIATION.parameter(), SIZE.parameter(), PHASE.parameter(), ECHO.parameter()])
.positional("interval");
pub(crate) const COMPONENTS: &[&Component] = &[&COMPONENT];

pub(crate) fn build(arguments: &Arguments) -> Result<UdpConfig, ComponentError> {
    let (mean, deviation) = (arguments.get(&INTERVAL), arguments.get(&DEVIATION));
    let gaps = Gaps::Normal { mean, deviation };
    Ok(UdpConfig::new(arguments.get(&SIZE) as u32, gaps).with_common(arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaming_builds_normal_gaps_and_refuses_a_mean_of_zero() {
        let ms = Span::from_millis;
        let game = build(&Arguments::parse(COMPONENTS, "gaming:70ms").unwrap()).unwrap();
        assert_eq!((game.bytes, game.gaps), (200, Gaps::Normal { mean: ms(70), deviation: ms(5) }));
        assert_eq!(game.call, None);
        assert!(Arguments::parse(COMPONENTS, "gaming:0ms").is_err());
    }
}
