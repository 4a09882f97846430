//! The component `audio`, an adaptive call.

use super::{AudioConfig, Utility};
use crate::tfrc::{ACK_EVERY, MIN_RTO, equation};
use crate::voip::INTERVAL;
use alloc::string::ToString;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use qdelay_core::{Rate, Span};

const MOST: Typed<Rate> =
    Typed::new("max", "64kbit", "Highest useful rate of the codec, without headers and error correction")
        .within("1kbit", "10mbit")
        .source("G.711");
const LEAST: Typed<Rate> = Typed::new("min", "16kbit", "Lowest usable rate of the codec")
    .within("100bit", "10mbit")
    .source("R_0 of the paper, which gives no figure");
const CORRECTION: Typed<f64> = Typed::new(
    "fec",
    "2",
    "Forward error correction per byte of the codec, as a multiple of the share of packets lost",
)
.within("0", "20")
.source("ours");
const PATIENCE: Typed<Span> =
    Typed::new("patience", "400ms", "Mean one-way delay at which the utility becomes zero")
        .within("1ms", "10s")
        .source("ITU-T G.114");
const WEIGHT: Typed<f64> =
    Typed::new("weight", "0.1", "Additional utility of the highest rate over the lowest, as a share")
        .within("0", "10")
        .source("ours");
const PROBE: Typed<f64> = Typed::new("probe", "0.05", "Share of packets with the other codepoint")
    .within("0", "0.5")
    .source("ours");
const EPOCH: Typed<Span> =
    Typed::new("epoch", "5s", "Interval between decisions").within("100ms", "10min").source("ours");
const PAUSE: Typed<Span> =
    Typed::new("pause", "10s", "First pause after hanging up; each failed call doubles it, up to 16 times")
        .within("100ms", "10min")
        .source("ours");
const SIZE: Typed<u64> =
    Typed::new("size", "1000b", "IP packet size of the TCP whose rate the call is fair to")
        .unit(Unit::Bytes)
        .within("100", "9000")
        .source("RFC 4828; ABE, simulation results");

static COMPONENT: Component = Component::new(
    Kind::Transport,
    "audio",
    "A call that adapts its rate by TFRC, and chooses one of two codepoints by their rate and delay",
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
        let message = "min is above max; expected at most max".to_string();
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
    /// Defaults of the component `audio`: 16 to 64 kbit/s, a frame each 20 ms, fair to TCP with packets of 1000 bytes.
    fn default() -> Self {
        config(&Arguments::defaults(&COMPONENT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_set_parameters_and_contradictions_are_refused() {
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
