//! The component `sprout`.

use super::Model;
use alloc::sync::Arc;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};

const VARIANT: Typed<str> = Typed::new(
    "variant",
    "sprout",
    "Estimator of the rate: Bayesian inference (sprout) or a moving average (ewma, Sprout-EWMA)",
)
.unit(Unit::Choice(&["sprout", "ewma"]))
.source("NSDI 2013, sections 3 and 5.3");
const SIZE: Typed<u64> = Typed::new(
    "size",
    "1500b",
    "IP packet size, 42 bytes of headers included; rates count packets of this size",
)
.unit(Unit::Bytes)
.within("100", "65535")
.source("NSDI 2013: MTU-sized");
const TARGET: Typed<Span> =
    Typed::new("target", "100ms", "Time within which packets leave the queue, in whole ticks of 20 ms")
        .within("20ms", "160ms")
        .source("NSDI 2013, section 3.5");
const CONFIDENCE: Typed<f64> =
    Typed::new("confidence", "95%", "Probability that packets leave the queue within target")
        .unit(Unit::Percent)
        .within("50%", "99.9%")
        .source("NSDI 2013, section 3.3; section 5.5 has others");
const SIGMA: Typed<f64> =
    Typed::new("sigma", "200", "Noise power of the rate's Brownian motion, packets/s per root second")
        .within("1", "1000")
        .source("NSDI 2013, section 3.1");
const ESCAPE: Typed<f64> = Typed::new("escape", "1", "Rate at which outages end, 1/s")
    .within("0.001", "1000")
    .source("NSDI 2013, section 3.1");
const HEARTBEAT: Typed<Span> =
    Typed::new("heartbeat", "50ms", "Idle time after which an empty packet is sent")
        .within("1ms", "1s")
        .source("the authors' program; the paper names no time");
const GAIN: Typed<f64> = Typed::new("gain", "0.125", "Weight of a tick in the average of Sprout-EWMA")
    .within("0.001", "1")
    .source("not in the paper");

static COMPONENT: Component = Component::new(
    Kind::Transport,
    "sprout",
    "Datagrams within a cautious forecast of the link's deliveries, at most 1000 packets/s (12 Mbit/s)",
)
.source("Winstein, Sivaraman and Balakrishnan, NSDI 2013")
.with(&[
    VARIANT.parameter(),
    SIZE.parameter(),
    TARGET.parameter(),
    CONFIDENCE.parameter(),
    SIGMA.parameter(),
    ESCAPE.parameter(),
    HEARTBEAT.parameter(),
    GAIN.parameter(),
]);
pub(crate) const COMPONENTS: &[&Component] = &[&COMPONENT];

/// Settings of a Sprout flow.
#[derive(Clone, Debug)]
pub struct SproutConfig {
    /// Estimator of the rate.
    pub variant: Variant,
    /// IP packet size of data, bytes.
    pub bytes: u32,
    /// Time within which packets leave the queue.
    pub target: Span,
    /// Probability that packets leave the queue within `target`, 0 to 1.
    pub confidence: f64,
    /// Idle time after which a heartbeat is sent.
    pub heartbeat: Span,
}

/// The receiver's estimator of the rate.
#[derive(Clone, Debug)]
pub enum Variant {
    /// Bayesian inference. The model is shared by all flows of a configuration.
    Sprout(Arc<Model>),
    /// Moving average (Sprout-EWMA).
    Ewma {
        /// Weight of the latest tick, 0 to 1.
        gain: f64,
    },
}

pub(crate) fn build(arguments: &Arguments) -> Result<SproutConfig, ComponentError> {
    let target = arguments.get(&TARGET);
    if !target.as_nanos().is_multiple_of(super::TICK.as_nanos()) {
        return Err(arguments.fail(alloc::format!(
            "target={} ms is not a whole number of ticks; expected 20ms, 40ms, ... 160ms",
            target.as_millis_f64()
        )));
    }
    Ok(config(arguments))
}

fn config(arguments: &Arguments) -> SproutConfig {
    let variant = match arguments.get(&VARIANT) {
        "ewma" => Variant::Ewma { gain: arguments.get(&GAIN) },
        _ => Variant::Sprout(Arc::new(Model::new(arguments.get(&SIGMA), arguments.get(&ESCAPE)))),
    };
    SproutConfig {
        variant,
        bytes: arguments.get(&SIZE) as u32,
        target: arguments.get(&TARGET),
        confidence: arguments.get(&CONFIDENCE),
        heartbeat: arguments.get(&HEARTBEAT),
    }
}

impl SproutConfig {
    /// The paper's settings: the defaults of the component `sprout`.
    pub fn standard() -> SproutConfig {
        config(&Arguments::defaults(&COMPONENT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_set_their_parameters() {
        let sprout = |text| Arguments::parse(COMPONENTS, text).and_then(|arguments| build(&arguments));
        let usual = sprout("sprout").unwrap();
        assert_eq!((usual.bytes, usual.target, usual.confidence), (1500, Span::from_millis(100), 0.95));
        assert!(matches!(usual.variant, Variant::Sprout(_)));
        let other = sprout("sprout:variant=ewma:gain=0.5:size=1000b:target=160ms:confidence=50%").unwrap();
        assert!(matches!(other.variant, Variant::Ewma { gain } if gain == 0.5));
        for wrong in ["sprout:cwnd=3", "sprout:sigma=0", "sprout:confidence=100%", "sprout:variant=bayes"] {
            assert!(sprout(wrong).is_err(), "{wrong}");
        }
        let message = sprout("sprout:target=50ms").unwrap_err().message;
        assert!(message.contains("50 ms") && message.contains("expected 20ms"), "{message}");
    }
}
