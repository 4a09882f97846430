//! The component of an adaptive call.

use super::{AudioConfig, Utility};
use crate::tfrc::{ACK_EVERY, MIN_RTO, equation};
use crate::voip::INTERVAL;
use alloc::string::ToString;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use qdelay_core::{Rate, Span};

const MOST: Typed<Rate> =
    Typed::new("max", "64kbit", "Most that the codec can use, without headers and error correction")
        .within("1kbit", "10mbit")
        .source("G.711");
const LEAST: Typed<Rate> = Typed::new("min", "16kbit", "Least that it can work with")
    .within("100bit", "10mbit")
    .source("R_0 of the paper, which gives no figure");
const CORRECTION: Typed<f64> = Typed::new(
    "fec",
    "2",
    "Bytes of forward error correction, over the codec's and the share of packets lost",
)
.within("0", "20")
.source("ours");
const PATIENCE: Typed<Span> =
    Typed::new("patience", "400ms", "Mean one-way delay from which on it is worth nothing")
        .within("1ms", "10s")
        .source("ITU-T G.114");
const WEIGHT: Typed<f64> = Typed::new("weight", "0.1", "How much more the most is worth than the least")
    .within("0", "10")
    .source("ours");
const PROBE: Typed<f64> = Typed::new("probe", "0.05", "Share of packets with the other codepoint")
    .within("0", "0.5")
    .source("ours");
const EPOCH: Typed<Span> =
    Typed::new("epoch", "5s", "How often it decides").within("100ms", "10min").source("ours");
const PAUSE: Typed<Span> = Typed::new(
    "pause",
    "10s",
    "How long it is off at first; twice as long each time in vain, up to 16 times",
)
.within("100ms", "10min")
.source("ours");
const SIZE: Typed<u64> = Typed::new("size", "1000b", "IP packet size of the TCP that it is as fair as")
    .unit(Unit::Bytes)
    .within("100", "9000")
    .source("RFC 4828; ABE, simulation results");

static COMPONENT: Component = Component::new(
    Kind::Transport,
    "audio",
    "A call that adapts its rate by TFRC, and chooses between its two codepoints by their rate and delay",
)
.source("ABE (Hurley et al. 2001), Fig. 1")
.with(&[
    MOST.parameter(),
    LEAST.parameter(),
    INTERVAL.parameter(),
    CORRECTION.parameter(),
    PATIENCE.parameter(),
    WEIGHT.parameter(),
    PROBE.parameter(),
    EPOCH.parameter(),
    PAUSE.parameter(),
    SIZE.parameter(),
    ACK_EVERY.parameter(),
    MIN_RTO.parameter(),
])
.positional("max");
pub(crate) const COMPONENTS: &[&Component] = &[&COMPONENT];

pub(crate) fn build(arguments: &Arguments) -> Result<AudioConfig, ComponentError> {
    let config = config(arguments);
    if config.utility.least > config.utility.most {
        let message = "min is above max; expected at most that".to_string();
        return Err(arguments.fail(message));
    }
    Ok(config)
}

fn config(arguments: &Arguments) -> AudioConfig {
    AudioConfig {
        interval: arguments.get(&INTERVAL),
        utility: Utility {
            least: arguments.get(&LEAST),
            most: arguments.get(&MOST),
            patience: arguments.get(&PATIENCE),
            weight: arguments.get(&WEIGHT),
        },
        correction: arguments.get(&CORRECTION),
        probe: arguments.get(&PROBE),
        epoch: arguments.get(&EPOCH),
        pause: arguments.get(&PAUSE),
        equation: equation(arguments, arguments.get(&SIZE) as u32),
    }
}

impl Default for AudioConfig {
    /// 16 to 64 kbit/s each 20 ms, beside TCP with packets of 1000 bytes: the defaults of the component `audio`.
    fn default() -> Self {
        config(&Arguments::defaults(&COMPONENT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
