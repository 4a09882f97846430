//! The component `tfrc`, and parameters shared with other sources that TFRC paces.

use super::intervals::LossCount;
use super::{Equation, RateConfig, ReceiverConfig, TfrcConfig};
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use qdelay_core::{Rate, Span};

pub(crate) const ACK_EVERY: Typed<f64> =
    Typed::new("b", "1", "Packets per acknowledgement in TCP's equation")
        .within("1", "2")
        .source("RFC 5348 section 3.1");
pub(crate) const MIN_RTO: Typed<Span> = Typed::new(
    "min_rto",
    "0",
    "Minimum retransmission timeout in TCP's equation; above it the timeout is four round trips",
)
.within("", "60s")
.source("RFC 5348 section 3.1, which mentions 1s");
const SIZE: Typed<u64> = Typed::new("size", "1000b", "IP packet size, 40 bytes of headers included")
    .unit(Unit::Bytes)
    .within("41", "65535")
    .source("ABE, simulation results");
const MAX_RATE: Typed<Rate> = Typed::new("max_rate", "1gbit", "Highest rate of the application, in IP bytes")
    .within("1bit", "100gbit")
    .source("none in RFC 5348");
const REORDER: Typed<u64> =
    Typed::new("reorder", "3", "Packets with higher numbers that declare a missing packet lost")
        .unit(Unit::Count("segments"))
        .within("1", "16")
        .source("RFC 5348 section 5.1, NDUPACK");
const DISCOUNTING: Typed<bool> = Typed::new(
    "discounting",
    "on",
    "Discounting: old loss intervals have less weight after a long time without a loss",
)
.source("RFC 5348 section 5.5");
const LOSS: Typed<str> = Typed::new(
    "loss",
    "events",
    "Loss rate in the equation: of loss events (events), of packets in intervals of at most two round trips (short, RFC 4828), or of packets, as RTCP reports it (packets, RFC 3550 section 6.4.1)",
)
.unit(Unit::Choice(&["events", "short", "packets"]))
.source("RFC 5348 section 5");
const DAMPING: Typed<bool> = Typed::new(
    "damping",
    "off",
    "Damping: packets are spaced wider while the round trip is above its average",
)
.source("RFC 5348 section 4.5");
const ECN: Typed<bool> =
    Typed::new("ecn", "off", "Whether packets are ECN-capable").source("RFC 5348 section 5.1");

static COMPONENT: Component = Component::new(
    Kind::Transport,
    "tfrc",
    "Datagrams at the long-term rate of a TCP connection (TCP-friendly rate control)",
)
.source("RFC 5348")
.with(&[
    SIZE.parameter(),
    MAX_RATE.parameter(),
    ACK_EVERY.parameter(),
    MIN_RTO.parameter(),
    REORDER.parameter(),
    DISCOUNTING.parameter(),
    LOSS.parameter(),
    DAMPING.parameter(),
    ECN.parameter(),
])
.positional("size");
pub(crate) const COMPONENTS: &[&Component] = &[&COMPONENT];

/// The equation for packets of `bytes` bytes with the values of [`ACK_EVERY`] and [`MIN_RTO`].
pub(crate) fn equation(arguments: &Arguments, bytes: u32) -> Equation {
    Equation {
        segment_bytes: f64::from(bytes),
        ack_every: arguments.get(&ACK_EVERY),
        min_rto_s: arguments.get(&MIN_RTO).as_secs_f64(),
    }
}

pub(crate) fn build(arguments: &Arguments) -> Result<TfrcConfig, ComponentError> {
    Ok(config(arguments, arguments.get(&SIZE) as u32))
}

/// Settings that `arguments` describe, with packets of `bytes` bytes.
fn config(arguments: &Arguments, bytes: u32) -> TfrcConfig {
    let equation = equation(arguments, bytes);
    TfrcConfig {
        bytes,
        max_rate: arguments.get(&MAX_RATE),
        rate: RateConfig {
            equation,
            damping: arguments.get(&DAMPING),
            initial_window: RateConfig::standard_window(bytes),
        },
        receiver: ReceiverConfig {
            equation,
            reorder: arguments.get(&REORDER) as u32,
            discounting: arguments.get(&DISCOUNTING),
            count: match arguments.get(&LOSS) {
                "short" => LossCount::Short,
                "packets" => LossCount::Packet,
                _ => LossCount::Event,
            },
        },
        ecn: arguments.get(&ECN),
    }
}

impl TfrcConfig {
    /// Defaults of the component `tfrc` with IP packets of `bytes` bytes: RFC 5348's recommendations, with history discounting and without
    /// damping.
    pub fn standard(bytes: u32) -> TfrcConfig {
        config(&Arguments::defaults(&COMPONENT), bytes)
    }
}

impl Equation {
    /// The equation with RFC 5348's recommended parameters for packets of `segment_bytes` bytes.
    pub fn recommended(segment_bytes: u32) -> Equation {
        equation(&Arguments::defaults(&COMPONENT), segment_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_set_their_parameters() {
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
