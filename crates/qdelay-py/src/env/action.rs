//! Actions: parameters that change during a run.

use super::driven::Driven;
use qdelay_core::component::{Arguments, Parameter, Unit, Value};
use qdelay_core::qdisc::{self, AnyQdisc, Qdisc};
use qdelay_core::{Rate, Span};
use qdelay_sim::{Bottleneck, Scenario, Simulation};

/// Parameter that an action changes, between two values.
pub struct Action {
    pub name: String,
    of: Part,
    unit: Unit,
    low: f64,
    high: f64,
}

/// Owner of the parameter.
enum Part {
    Qdisc(&'static str),
    Window,
    Rate,
}

/// Discipline and flows that a run's actions change.
pub struct Acts {
    qdisc: Option<Arguments>,
    is_changed: bool,
}

impl Acts {
    pub fn new(scenario: &Scenario) -> Acts {
        Acts { qdisc: qdisc_of(scenario).cloned(), is_changed: false }
    }

    /// Gives the discipline its new parameters.
    pub fn apply(&mut self, simulation: &mut Simulation<'_>) -> Result<(), String> {
        let Some(arguments) = self.qdisc.as_ref().filter(|_| self.is_changed) else { return Ok(()) };
        self.is_changed = false;
        let adjusted = simulation.adjust_qdisc(arguments).map_err(|error| error.to_string())?;
        match adjusted {
            Ok(true) => Ok(()),
            Ok(false) => Err(cannot(arguments)),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Action {
    /// The action `name`, `qdisc.PARAMETER`, `control.window` or `control.rate`, between `low` and `high` in the user's notation.
    pub fn new(name: &str, low: &str, high: &str, scenario: &Scenario) -> Result<Action, String> {
        let Some(qdisc) = qdisc_of(scenario) else {
            return Err("the bottleneck is a cell; expected a link".to_string());
        };
        let window = Parameter { min: "2", ..plain("window", Unit::Count("segments")) };
        let (of, parameter) = match name.split_once('.') {
            Some(("qdisc", key)) => {
                let parameter = parameter_of(qdisc, key)?;
                (Part::Qdisc(parameter.name), *parameter)
            }
            Some(("control", "window")) => (Part::Window, window),
            Some(("control", "rate")) => (Part::Rate, plain("rate", Unit::Rate)),
            _ => return Err("expected qdisc.PARAMETER, control.window or control.rate".to_string()),
        };
        if !matches!(of, Part::Qdisc(_))
            && !scenario.flows.iter().any(|flow| flow.typed.starts_with("driven"))
        {
            return Err("no flow takes it; expected transport=\"driven\"".to_string());
        }
        let read = |text: &str| {
            let value = parameter.read(text).map_err(|message| format!("{text}: {message}"))?;
            number(&value).ok_or_else(|| {
                format!("is of the unit {}; expected a parameter with numbers", parameter.unit.describe())
            })
        };
        let (low, high) = (read(low)?, read(high)?);
        if low >= high {
            return Err(format!("the smallest value {low} is not below the largest {high}"));
        }
        Ok(Action { name: name.to_string(), of, unit: parameter.unit, low, high })
    }

    /// True where the action sets the congestion window of flows.
    pub fn is_window(&self) -> bool {
        matches!(self.of, Part::Window)
    }

    /// Value for a `share` of 0 to 1: logarithmic if the minimum is above 0, otherwise linear.
    pub fn number(&self, share: f64) -> f64 {
        let number = match self.low > 0.0 {
            true => self.low * (self.high / self.low).powf(share),
            false => self.low + (self.high - self.low) * share,
        };
        let is_whole = matches!(self.unit, Unit::Bytes | Unit::Count(_));
        let number = number.clamp(self.low, self.high);
        if is_whole { number.round() } else { number }
    }

    /// Sets the value for this share.
    pub fn take(&self, share: f64, acts: &mut Acts, driven: &Driven) -> Result<(), String> {
        let number = self.number(share);
        match self.of {
            Part::Window => driven.set_window(number as u32),
            Part::Rate => driven.set_rate(Rate::from_bps(number as u64)),
            Part::Qdisc(key) => {
                if let Some(arguments) = &mut acts.qdisc {
                    arguments.set(key, self.value(number)).map_err(|error| error.message)?;
                    acts.is_changed = true;
                }
            }
        }
        Ok(())
    }

    fn value(&self, number: f64) -> Value {
        match self.unit {
            Unit::Span => Value::Span(Span::from_secs_f64(number)),
            Unit::Rate => Value::Rate(Rate::from_bps(number as u64)),
            Unit::Bytes | Unit::Count(_) => Value::Whole(number as u64),
            _ => Value::Number(number),
        }
    }
}

/// Discipline of the bottleneck; an error if the bottleneck is a cell.
fn qdisc_of(scenario: &Scenario) -> Option<&Arguments> {
    match &scenario.bottleneck {
        Bottleneck::Link { qdisc, .. } => Some(qdisc),
        Bottleneck::Cell(_) => None,
    }
}

/// Parameter `key` of the discipline, if it can change during a run.
fn parameter_of(arguments: &Arguments, key: &str) -> Result<&'static Parameter, String> {
    let component = arguments.component();
    let parameter = component.parameters.iter().find(|parameter| parameter.name == key).ok_or_else(|| {
        let known: Vec<&str> = component.parameters.iter().map(|parameter| parameter.name).collect();
        format!("{} has no parameter '{key}'; expected one of {}", component.name, known.join(", "))
    })?;
    if !adjusts(arguments) {
        return Err(cannot(arguments));
    }
    Ok(parameter)
}

/// Message about a discipline whose parameters cannot change.
fn cannot(arguments: &Arguments) -> String {
    let able = qdisc::COMPONENTS.iter().filter(|known| adjusts(&Arguments::defaults(known)));
    let able: Vec<&str> = able.map(|known| known.name).collect();
    let name = arguments.component().name;
    format!("{name} takes no new parameters during a run; expected one of {}", able.join(", "))
}

fn adjusts(arguments: &Arguments) -> bool {
    AnyQdisc::build(arguments).is_ok_and(|mut qdisc| qdisc.adjust(arguments) == Ok(true))
}

fn plain(name: &'static str, unit: Unit) -> Parameter {
    Parameter { name, unit, default: "", min: "", max: "", about: "", source: "" }
}

/// Value in seconds, bit/s, bytes, or without a unit.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Span(span) => Some(span.as_secs_f64()),
        Value::Rate(rate) => Some(rate.as_bps() as f64),
        Value::Whole(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        Value::Switch(_) | Value::Text(_) | Value::Unset => None,
    }
}
