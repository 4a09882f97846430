//! The parameters of `dsd`, and the reading of its arguments.

use super::super::colour::{BOUND, GREEN, Green, OVERHEAD, RATE, WINDOW};
use super::super::limits::{self, LIMIT, LIMIT_BYTES, MTU};
use super::super::{COMPONENTS, Limit, Red, red};
use super::Dsd;
use crate::aqm::{self, GreenBiasParameters, GreenLossParameters};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Rate, Span};
use alloc::format;
use alloc::string::{String, ToString};

const TEST: Typed<str> = Typed::new(
    "test",
    "residual",
    "acceptance test of green: with the remainder of the packet being sent (residual), as printed in the paper, exact for g = 1, or none (off)",
)
.unit(Unit::Choice(&["residual", "printed", "exact", "off"]))
.source("ABE paper, green acceptance test; without the residual some accepted packets become stale");
const CONTROL: Typed<str> = Typed::new("control", "bias", "control that keeps green from gaining throughput: a loop that moves g (bias), or refusals of green with g = 1 at round trips of base_rtt and more (loss)").unit(Unit::Choice(&["bias", "loss"])).source("ABE paper for bias; loss is ours");
const G: Typed<Option<f64>> =
    Typed::new("g", "", "probability that green goes first where both can wait; default: set by the control")
        .within("0", "1")
        .source("ABE paper, table 1");
const PERIOD: Typed<Span> = Typed::new("period", "500ms", "time between two moves of the control loop (T)")
    .within("1ms", "1000s")
    .source("ABE paper, simulation results");
const ALPHA: Typed<f64> = Typed::new(
    "alpha",
    "1.1",
    "share of the distance to the goal that an update covers; g always stays within 0 and 1",
)
.within("0.000001", "2")
.source("ABE paper, simulation results");
const K: Typed<f64> =
    Typed::new("k", "2", "slope of the response of g (K)").within("0.000001", "1000").source("not published");
const GAMMA: Typed<f64> = Typed::new("gamma", "1.1", "intended advantage of blue in throughput, as a factor")
    .within("0.000001", "1000")
    .source("not published; slightly above 1");
const BASE_RTT: Typed<Option<Span>> = Typed::new("base_rtt", "", "round trip without this queue that the control assumes; best the shortest of all flows; default: 20ms with bias, 2ms with loss").within("1us", "100s").source("ABE paper, simulation results, for bias; for loss that at which no lie about throughput paid from 2 to 200 ms (docs/lying.md)");
const WEIGHT: Typed<f64> =
    Typed::new("weight", "0.1", "weight of the last period in the control loop's estimates")
        .within("0.000001", "1")
        .source("not published");
const VIRTUAL: Typed<str> = Typed::new(
    "virtual",
    "taildrop",
    "law of the virtual queue: taildrop, or red with its keys in [ ], such as [red:min=10:max=30:ecn=on]",
)
.source("ABE paper: drop-tail in its simulations, RED possible");

/// Declaration of `dsd` and its parameters.
pub static COMPONENT: Component = Component::new(Kind::Qdisc, "dsd", "duplicate scheduling with deadlines: green packets wait at most bound, blue ones no longer than in one queue").source("ABE paper (Hurley, Le Boudec, Thiran, Kara 2001)").classifies("colour").with(&[RATE.parameter(), OVERHEAD.parameter(), BOUND.parameter(), GREEN.parameter(), TEST.parameter(), CONTROL.parameter(), G.parameter(), PERIOD.parameter(), ALPHA.parameter(), K.parameter(), GAMMA.parameter(), BASE_RTT.parameter(), WEIGHT.parameter(), VIRTUAL.parameter(), WINDOW.parameter(), MTU.about("size of a full packet (IP bytes), by which bound is compared with limit and control=loss weighs packets").source("").parameter(), LIMIT.about("most packets queued, and most duplicates that wait (Buff)").source("Linux pfifo (1000); 60 in the ABE paper's simulations").parameter(), LIMIT_BYTES.parameter()]);

/// The test that green packets must pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GreenTest {
    /// No test.
    Off,
    /// The test as printed in the paper.
    Printed,
    /// The printed test, with the remainder of the packet being sent.
    #[default]
    Residual,
    /// The exact test, for a green bias of 1.
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
    /// The link's rate, more than zero, if constant; otherwise the rate is estimated.
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
    /// Limit of the virtual queue, and of the real queues together (Buff).
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
    let green = Green::parse(arguments.get(&GREEN))?;
    let control =
        [CONTROL.name(), PERIOD.name(), ALPHA.name(), K.name(), GAMMA.name(), BASE_RTT.name(), WEIGHT.name()];
    match parameters.control {
        DsdControl::Fixed(_) => {
            if let Some(key) = arguments.first_given(&control) {
                return Err(format!(
                    "{key} and g exclude each other, because a fixed g needs no control; expected one of them"
                ));
            }
        }
        DsdControl::Loss(_) if arguments.is_given(&K) => {
            return Err(
                "k belongs to control=bias; expected no k with control=loss, or control=bias".to_string()
            );
        }
        DsdControl::Bias(_) | DsdControl::Loss(_) => {}
    }
    if let Some(rate) = parameters.rate {
        check_bound(arguments, rate, &parameters)?;
        if arguments.is_given(&WINDOW) {
            return Err(
                "window is the time constant of an estimated rate; expected rate or window, not both"
                    .to_string(),
            );
        }
    }
    let red = law(arguments.get(&VIRTUAL), &parameters)?;
    Ok(Dsd::with(&parameters, green, red))
}

fn parameters(arguments: &Arguments) -> DsdParameters {
    DsdParameters {
        rate: arguments.get(&RATE),
        overhead_bytes: arguments.get(&OVERHEAD),
        bound: arguments.get(&BOUND),
        test: match arguments.get(&TEST) {
            "off" => GreenTest::Off,
            "printed" => GreenTest::Printed,
            "exact" => GreenTest::Exact,
            _ => GreenTest::Residual,
        },
        control: match arguments.get(&G) {
            Some(g) => DsdControl::Fixed(g),
            None => control(arguments),
        },
        window: arguments.get(&WINDOW),
        limit: limits::limit(arguments),
    }
}

impl Default for GreenBiasParameters {
    fn default() -> GreenBiasParameters {
        bias(&Arguments::defaults(&COMPONENT))
    }
}

fn bias(arguments: &Arguments) -> GreenBiasParameters {
    GreenBiasParameters {
        period: arguments.get(&PERIOD),
        alpha: arguments.get(&ALPHA),
        k: arguments.get(&K),
        gamma: arguments.get(&GAMMA),
        base_rtt: arguments.get(&BASE_RTT).unwrap_or(GreenBiasParameters::BASE_RTT),
        weight: arguments.get(&WEIGHT),
    }
}

fn control(arguments: &Arguments) -> DsdControl {
    let loop_ = bias(arguments);
    if arguments.get(&CONTROL) != "loss" {
        return DsdControl::Bias(loop_);
    }
    let GreenBiasParameters { period, alpha, gamma, weight, .. } = loop_;
    let base_rtt = arguments.get(&BASE_RTT).unwrap_or(GreenLossParameters::BASE_RTT);
    let full_bytes = mtu(arguments).min(u64::from(u32::MAX)) as u32;
    DsdControl::Loss(GreenLossParameters { period, alpha, gamma, base_rtt, weight, full_bytes })
}

fn mtu(arguments: &Arguments) -> u64 {
    arguments.get(&MTU)
}

/// Refuses a bound longer than a full buffer lasts: the test would accept more than the buffer holds.
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

/// The law in front of the virtual queue, and true if it marks packets.
fn law(text: &str, parameters: &DsdParameters) -> Result<Option<(aqm::Red, bool)>, String> {
    let bare = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(text);
    let mut arguments = Arguments::parse(COMPONENTS, bare).map_err(|error| format!("virtual: {error}"))?;
    if let Some(key) = arguments.first_given(&[LIMIT.name(), LIMIT_BYTES.name()]) {
        return Err(format!(
            "virtual: '{bare}': expected {key} on dsd itself, which applies it to both queues"
        ));
    }
    match arguments.component().name {
        "taildrop" => Ok(None),
        "red" => {
            if let Some(rate) = parameters.rate {
                arguments.default_to(&red::RATE, rate);
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
    fn the_default_round_trip_depends_on_the_control() {
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
