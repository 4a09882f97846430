//! The parameters of `dsd` and how they are read.

use super::super::colour::{BOUND, GREEN, Green, OVERHEAD, RATE, WINDOW};
use super::super::limits::{self, LIMIT, LIMIT_BYTES, MTU};
use super::super::{COMPONENTS, Limit, Red};
use super::Dsd;
use crate::aqm::{self, GreenBiasParameters, GreenLossParameters};
use crate::component::{Arguments, Component, ComponentError, Kind, Parameter, Unit, Value};
use crate::{Rate, Span};
use alloc::format;
use alloc::string::{String, ToString};

const NUMBER: Parameter =
    Parameter { name: "", unit: Unit::Number, default: "", min: "0.000001", max: "1", about: "", source: "" };

/// Declaration of `dsd` and its parameters.
pub static COMPONENT: Component = Component {
    kind: Kind::Qdisc,
    name: "dsd",
    about: "duplicate scheduling with deadlines: green packets wait at most bound, blue ones no longer than in one queue",
    source: "ABE paper (Hurley, Le Boudec, Thiran, Kara 2001)",
    parameters: &[
        RATE,
        OVERHEAD,
        BOUND,
        GREEN,
        Parameter {
            name: "test",
            unit: Unit::Choice(&["residual", "printed", "exact", "off"]),
            default: "residual",
            min: "",
            max: "",
            about: "acceptance of green: as printed, with what is left of the packet being sent, or exactly for g = 1",
            source: "ABE paper, green acceptance test; without the residual some of the accepted go stale",
        },
        Parameter {
            name: "control",
            unit: Unit::Choice(&["bias", "loss"]),
            default: "bias",
            min: "",
            max: "",
            about: "what keeps green from gaining throughput: a loop that moves g, or refusals of green with g = 1, at round trips not below base_rtt",
            source: "ABE paper for bias; loss is ours",
        },
        Parameter {
            name: "g",
            min: "0",
            about: "probability that green goes first where both can wait; by the control unless given",
            source: "ABE paper, table 1",
            ..NUMBER
        },
        Parameter {
            name: "period",
            unit: Unit::Span,
            default: "500ms",
            min: "1ms",
            max: "1000s",
            about: "time between two moves of the control loop (T)",
            source: "ABE paper, simulation results",
        },
        Parameter {
            name: "alpha",
            default: "1.1",
            max: "2",
            about: "share of the way to go at once; g stays within 0 and 1 whatever it is",
            source: "ABE paper, simulation results",
            ..NUMBER
        },
        Parameter {
            name: "k",
            default: "2",
            max: "1000",
            about: "how sharply g answers (K)",
            source: "not published",
            ..NUMBER
        },
        Parameter {
            name: "gamma",
            default: "1.1",
            max: "1000",
            about: "advantage in throughput of blue to aim at",
            source: "not published; slightly above 1",
            ..NUMBER
        },
        Parameter {
            name: "base_rtt",
            unit: Unit::Span,
            default: "",
            min: "1us",
            max: "100s",
            about: "round trip without this queue that the control assumes, best the shortest there is; 20ms with bias, 2ms with loss where it is not given",
            source: "ABE paper, simulation results, for bias; for loss that at which no lie about throughput paid from 2 to 200 ms (docs/lying.md)",
        },
        Parameter {
            name: "weight",
            default: "0.1",
            about: "weight of the last period in the control loop's estimates",
            source: "not published",
            ..NUMBER
        },
        Parameter {
            name: "virtual",
            unit: Unit::Text,
            default: "taildrop",
            min: "",
            max: "",
            about: "what refuses duplicates: taildrop, or red with its keys in [ ], such as [red:min=10:max=30:ecn=on]",
            source: "ABE paper: drop-tail in its simulations, RED possible",
        },
        WINDOW,
        Parameter {
            about: "size of a full packet (IP bytes): bound is held against limit by it, and control=loss counts in it",
            source: "",
            ..MTU
        },
        Parameter {
            about: "most packets queued, and most duplicates that wait (Buff)",
            source: "Linux pfifo (1000); 60 in the ABE paper's simulations",
            ..LIMIT
        },
        LIMIT_BYTES,
    ],
    positional: None,
};

/// The test that green packets must pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GreenTest {
    /// No test.
    Off,
    /// As printed in the paper.
    Printed,
    /// With the remainder of the packet being sent.
    #[default]
    Residual,
    /// Exactly, for a green bias of 1.
    Exact,
}

/// The control that keeps green from gaining throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DsdControl {
    /// No control: a fixed green bias, 0 to 1.
    Fixed(f64),
    /// The control loop of the green bias.
    Bias(GreenBiasParameters),
    /// Refusals of green packets; the green bias is 1.
    Loss(GreenLossParameters),
}

/// The parameters of DSD except the marking of green packets and the law in front of the virtual queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DsdParameters {
    /// The link's rate, more than zero, if it has a constant one.
    pub rate: Option<Rate>,
    /// Bytes that the link adds to each packet.
    pub overhead_bytes: u64,
    /// Longest time that a green packet waits (d).
    pub bound: Span,
    /// The acceptance test.
    pub test: GreenTest,
    /// The control that keeps green from gaining throughput.
    pub control: DsdControl,
    /// Time constant of the estimated rate, more than zero.
    pub window: Span,
    /// Size of the virtual queue, and of the real ones together (Buff).
    pub limit: Limit,
}

impl Dsd {
    /// The queues that `arguments` describe.
    ///
    /// # Errors
    /// An invalid marking of green or virtual queue; a `bound` longer than the buffer lasts at `rate`; keys of the control
    /// loop beside `g`; `window` beside `rate`.
    pub fn build(arguments: &Arguments) -> Result<Dsd, ComponentError> {
        build(arguments).map_err(|message| arguments.fail(message))
    }
}

fn build(arguments: &Arguments) -> Result<Dsd, String> {
    let parameters = parameters(arguments);
    let green = Green::parse(arguments.text("green").unwrap_or_default())?;
    let control = ["control", "period", "alpha", "k", "gamma", "base_rtt", "weight"];
    match parameters.control {
        DsdControl::Fixed(_) => {
            if let Some(key) = control.iter().find(|key| arguments.is_given(key)) {
                return Err(format!(
                    "{key} and g exclude each other, for a fixed g leaves nothing to control; expected one of them"
                ));
            }
        }
        DsdControl::Loss(_) if arguments.is_given("k") => {
            return Err("k is of control=bias; expected no k with control=loss, or control=bias".to_string());
        }
        DsdControl::Bias(_) | DsdControl::Loss(_) => {}
    }
    if let Some(rate) = parameters.rate {
        check_bound(arguments, rate, &parameters)?;
        if arguments.is_given("window") {
            return Err(
                "window is of the estimate of a rate that is not known; expected rate or window, not both"
                    .to_string(),
            );
        }
    }
    let red = law(arguments.text("virtual").unwrap_or_default(), &parameters)?;
    Ok(Dsd::with(&parameters, green, red))
}

fn parameters(arguments: &Arguments) -> DsdParameters {
    DsdParameters {
        rate: arguments.rate("rate"),
        overhead_bytes: arguments.whole("overhead").unwrap_or(0),
        bound: arguments.span("bound").unwrap_or(Span::from_millis(20)),
        test: match arguments.text("test") {
            Some("off") => GreenTest::Off,
            Some("printed") => GreenTest::Printed,
            Some("exact") => GreenTest::Exact,
            _ => GreenTest::Residual,
        },
        control: match arguments.number("g") {
            Some(g) => DsdControl::Fixed(g),
            None => control(arguments),
        },
        window: arguments.span("window").unwrap_or(Span::from_millis(100)),
        limit: limits::limit(arguments),
    }
}

fn control(arguments: &Arguments) -> DsdControl {
    let usual = GreenBiasParameters::default();
    let loop_ = GreenBiasParameters {
        period: arguments.span("period").unwrap_or(usual.period),
        alpha: arguments.number("alpha").unwrap_or(usual.alpha),
        k: arguments.number("k").unwrap_or(usual.k),
        gamma: arguments.number("gamma").unwrap_or(usual.gamma),
        base_rtt: arguments.span("base_rtt").unwrap_or(usual.base_rtt),
        weight: arguments.number("weight").unwrap_or(usual.weight),
    };
    if arguments.text("control") != Some("loss") {
        return DsdControl::Bias(loop_);
    }
    let GreenBiasParameters { period, alpha, gamma, weight, .. } = loop_;
    let base_rtt = arguments.span("base_rtt").unwrap_or(GreenLossParameters::BASE_RTT);
    let full_bytes = mtu(arguments).min(u64::from(u32::MAX)) as u32;
    DsdControl::Loss(GreenLossParameters { period, alpha, gamma, base_rtt, weight, full_bytes })
}

fn mtu(arguments: &Arguments) -> u64 {
    arguments.whole("mtu").unwrap_or(1500)
}

/// The test accepts more than the buffer holds if the bound is longer than the buffer lasts.
fn check_bound(arguments: &Arguments, rate: Rate, parameters: &DsdParameters) -> Result<(), String> {
    let bytes = parameters.limit.packets.saturating_mul(mtu(arguments)).min(parameters.limit.bytes);
    let lasts = rate.time_for(bytes);
    if parameters.bound > lasts {
        return Err(format!(
            "bound {} is longer than a full buffer lasts at {rate} ({lasts}); expected less, or a larger limit",
            parameters.bound
        ));
    }
    Ok(())
}

/// The law in front of the virtual queue, and whether it marks packets.
fn law(text: &str, parameters: &DsdParameters) -> Result<Option<(aqm::Red, bool)>, String> {
    let bare = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(text);
    let mut arguments = Arguments::parse(COMPONENTS, bare).map_err(|error| format!("virtual: {error}"))?;
    if let Some(key) = ["limit", "limit_bytes"].into_iter().find(|key| {
        arguments.component().parameters.iter().any(|parameter| parameter.name == *key)
            && arguments.is_given(key)
    }) {
        return Err(format!("virtual: '{bare}': {key} is given to dsd itself, for both"));
    }
    match arguments.component().name {
        "taildrop" => Ok(None),
        "red" => {
            if let Some(rate) = parameters.rate {
                arguments.default_to("rate", Value::Rate(rate));
            }
            let Red { law, ecn } = Red::build(&arguments).map_err(|error| format!("virtual: {error}"))?;
            Ok(Some((law, ecn)))
        }
        name => Err(format!("virtual: expected taildrop or red, not '{name}'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's value for its own control; for ours, a value not above any flow's round trip.
    #[test]
    fn the_round_trip_that_is_assumed() {
        let base_rtt = |text: &str| match parameters(&Arguments::parse(COMPONENTS, text).unwrap()).control {
            DsdControl::Bias(GreenBiasParameters { base_rtt, .. })
            | DsdControl::Loss(GreenLossParameters { base_rtt, .. }) => base_rtt,
            DsdControl::Fixed(g) => panic!("{g}"),
        };
        assert_eq!(base_rtt("dsd"), Span::from_millis(20));
        assert_eq!(base_rtt("dsd:control=loss"), Span::from_millis(2));
        assert_eq!(base_rtt("dsd:control=loss:base_rtt=7ms"), Span::from_millis(7));
    }
}
