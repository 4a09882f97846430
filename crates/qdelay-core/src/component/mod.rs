//! Declarations of components (disciplines, transports, links) and of their parameters.
//!
//! The grammar of the command line is `name[:key=value[:key=value...]]`; one parameter of a component may be
//! *positional*: its value may be written without the key, as in `10mbit:overhead=14`. A value may contain components in square
//! brackets, which are not split at `:`, as in `priority:ef@[bode:target=50ms]+rest@taildrop`. `qdelay list`, the documentation
//! and the error messages are made from the declarations.
//!
//! [`Component::new`] declares a component. Each parameter is a [`Typed`] constant, which is also the key to its value:
//!
//! ```
//! use qdelay_core::Span;
//! use qdelay_core::component::{Arguments, Component, Kind, Typed};
//!
//! const TARGET: Typed<Span> = Typed::new("target", "20ms", "longest wait").within("1us", "10s");
//! static BOUND: Component = Component::new(Kind::Qdisc, "bound", "drops what waits too long").with(&[TARGET.parameter()]);
//!
//! let arguments = Arguments::parse(&[&BOUND], "bound:target=5ms").unwrap();
//! assert_eq!(arguments.get(&TARGET), Span::from_millis(5));
//! assert_eq!(Arguments::defaults(&BOUND).get(&TARGET), Span::from_millis(20));
//! let error = Arguments::parse(&[&BOUND], "bound:target=5").unwrap_err();
//! assert!(error.to_string().contains("such as 20ms"));
//! ```
//!
//! A program adds components of its own to the built-in ones by a [`Registry`].

mod arguments;
mod near;
mod registry;
mod typed;

pub use arguments::{
    Arguments, ComponentError, find_outside_brackets, split_outside_brackets, unknown, without_brackets,
};
pub use near::{near, suggestion};
pub use registry::{Custom, Opener, Registry};
pub use typed::{Typeable, Typed};

use crate::units::{self, Rate, Span};
use alloc::format;
use alloc::string::{String, ToString};

/// The kind of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A queue discipline: stores packets, and decides which packet leaves next and which are dropped or marked.
    Qdisc,
    /// A pacer: decides when packets may go from one queue to the next.
    Pacer,
    /// A link: sends packets at a rate.
    Link,
    /// A delay that changes over time.
    Delay,
    /// A model of random loss.
    Loss,
    /// A random part of a delay.
    Jitter,
    /// A file format of traces.
    Format,
    /// A radio channel.
    Channel,
    /// A MAC scheduler: shares resource blocks among the UEs of a cell.
    Scheduler,
    /// A partition: divides the resource blocks of a cell among slices.
    Partition,
    /// An RLC mode: segments and reassembles packets.
    Rlc,
    /// An F1-U interface: carries packets between the central and the distributed unit of a base station.
    F1,
    /// A PDCP entity: numbers packets, and delivers them in order.
    Pdcp,
    /// A property of the air interface of a cell or a UE.
    Air,
    /// A transport with its congestion control, or a source of datagrams.
    Transport,
    /// An application: generates data to send.
    Application,
    /// An adaptation: chooses the bit rate of a video's next chunk.
    Adaptation,
}

impl Kind {
    /// The printed name: `qdisc`, `pacer`...
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Qdisc => "qdisc",
            Kind::Pacer => "pacer",
            Kind::Link => "link",
            Kind::Delay => "delay",
            Kind::Loss => "loss",
            Kind::Jitter => "jitter",
            Kind::Format => "format",
            Kind::Channel => "channel",
            Kind::Scheduler => "scheduler",
            Kind::Partition => "partition",
            Kind::Rlc => "rlc",
            Kind::F1 => "f1",
            Kind::Pdcp => "pdcp",
            Kind::Air => "air",
            Kind::Transport => "transport",
            Kind::Application => "application",
            Kind::Adaptation => "adaptation",
        }
    }
}

/// The unit of a parameter, which determines how its values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A duration: `20ms`.
    Span,
    /// A rate: `10mbit`.
    Rate,
    /// A size in bytes: `1504b`.
    Bytes,
    /// A whole number of the named things ("packets", "segments"): `1000`.
    Count(&'static str),
    /// A fraction or factor: `0.125`.
    Number,
    /// A share in percent: `12.5%`, which is 0.125.
    Percent,
    /// `on` or `off`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text; `:` and `,` only within square brackets.
    Text,
}

impl Unit {
    /// The unit as `qdelay list` prints it: `duration`, `packets`, `rfc|mahimahi`.
    pub fn describe(self) -> String {
        match self {
            Unit::Span => "duration".to_string(),
            Unit::Rate => "rate".to_string(),
            Unit::Bytes => "bytes".to_string(),
            Unit::Count(what) => what.to_string(),
            Unit::Number => "number".to_string(),
            Unit::Percent => "percent".to_string(),
            Unit::Switch => "on|off".to_string(),
            Unit::Choice(words) => words.join("|"),
            Unit::Text => "text".to_string(),
        }
    }
}

/// One parameter of a component.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The key.
    pub name: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// Default value in the user's notation. Empty if the component computes the default or the key is
    /// required; `about` says which.
    pub default: &'static str,
    /// Smallest accepted value, in the user's notation; empty for units without an order.
    pub min: &'static str,
    /// Largest accepted value; empty for none.
    pub max: &'static str,
    /// The effect of the parameter, in one sentence.
    pub about: &'static str,
    /// The source of the default: a section of an RFC or paper.
    pub source: &'static str,
}

/// The declaration of a component.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// Kind of the component.
    pub kind: Kind,
    /// Name of the component.
    pub name: &'static str,
    /// A description in one sentence.
    pub about: &'static str,
    /// The paper section, RFC or program that it implements.
    pub source: &'static str,
    /// Parameters of the component, in the order in which they are listed.
    pub parameters: &'static [Parameter],
    /// The positional parameter: its value may be written without the key, directly after the name, or for
    /// links instead of the name.
    pub positional: Option<&'static str>,
    /// Packet field that a discipline reads besides size and ECN field, such as `flow`; `None` where packets
    /// always keep their order of arrival.
    pub classifies: Option<&'static str>,
}

impl Component {
    /// A component without parameters or source; see [`Component::with`] and [`Component::source`].
    pub const fn new(kind: Kind, name: &'static str, about: &'static str) -> Component {
        Component { kind, name, about, source: "", parameters: &[], positional: None, classifies: None }
    }
    /// The same component with these parameters.
    pub const fn with(self, parameters: &'static [Parameter]) -> Component {
        Component { parameters, ..self }
    }
    /// The same component with the paper section, RFC or program that it implements.
    pub const fn source(self, source: &'static str) -> Component {
        Component { source, ..self }
    }
    /// The same component with `name` as its positional parameter.
    pub const fn positional(self, name: &'static str) -> Component {
        Component { positional: Some(name), ..self }
    }
    /// The same discipline with `what` as the packet field by which it tells packets apart.
    pub const fn classifies(self, what: &'static str) -> Component {
        Component { classifies: Some(what), ..self }
    }
    /// Checks the defaults and limits of its parameters.
    ///
    /// # Errors
    /// The first that is not of its parameter's unit, or out of its range.
    pub fn check(&self) -> Result<(), String> {
        for parameter in self.parameters {
            let given = [parameter.default, parameter.min, parameter.max];
            for text in given.into_iter().filter(|text| !text.is_empty()) {
                parameter.read(text).map_err(|message| {
                    format!("its parameter '{}' is declared with {text}: {message}", parameter.name)
                })?;
            }
        }
        Ok(())
    }
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A duration.
    Span(Span),
    /// A rate.
    Rate(Rate),
    /// A whole number: bytes or a count.
    Whole(u64),
    /// A fraction or factor.
    Number(f64),
    /// On or off.
    Switch(bool),
    /// A word of a choice, or any text.
    Text(String),
    /// No value: not given, and without a default.
    Unset,
}

impl Parameter {
    /// Parses a value and checks its range. The error names the expected values.
    ///
    /// # Errors
    /// The value is not of this parameter's unit, or out of its range.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let value = self.unit.read(text)?;
        self.check(&value)?;
        Ok(value)
    }

    /// Checks the range of a value of this parameter's unit.
    ///
    /// # Errors
    /// The value is out of the range, or no finite number; the message names the range.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let too_small =
            !self.min.is_empty() && self.unit.read(self.min).is_ok_and(|min| value.is_below(&min));
        let too_large = !self.max.is_empty() && self.unit.read(self.max).is_ok_and(|max| max.is_below(value));
        let is_number = !matches!(value, Value::Number(number) if !number.is_finite());
        if too_small || too_large || !is_number {
            return Err(format!("out of range; expected {}", self.range()));
        }
        Ok(())
    }

    /// The accepted range as it is printed: `1ms to 10s`, `at least 1`, `any`.
    pub fn range(&self) -> String {
        match (self.min.is_empty(), self.max.is_empty()) {
            (false, false) => format!("{} to {}", self.min, self.max),
            (false, true) => format!("at least {}", self.min),
            (true, false) => format!("at most {}", self.max),
            (true, true) => "any".to_string(),
        }
    }
}

impl Unit {
    /// Returns true if `value` is of the type that values of this unit have.
    fn has(self, value: &Value) -> bool {
        match value {
            Value::Span(_) => self == Unit::Span,
            Value::Rate(_) => self == Unit::Rate,
            Value::Whole(_) => matches!(self, Unit::Bytes | Unit::Count(_)),
            Value::Number(_) => matches!(self, Unit::Number | Unit::Percent),
            Value::Switch(_) => self == Unit::Switch,
            Value::Text(_) => matches!(self, Unit::Choice(_) | Unit::Text),
            Value::Unset => true,
        }
    }

    fn read(self, text: &str) -> Result<Value, String> {
        match self {
            Unit::Span => units::parse_span(text).map(Value::Span).map_err(|e| e.to_string()),
            Unit::Rate => units::parse_rate(text).map(Value::Rate).map_err(|e| e.to_string()),
            Unit::Bytes => units::parse_bytes(text)
                .or_else(|e| text.parse().map_err(|_| e))
                .map(Value::Whole)
                .map_err(|e| e.to_string()),
            Unit::Count(what) => {
                text.parse().map(Value::Whole).map_err(|_| format!("expected a whole number of {what}"))
            }
            Unit::Number => match text.parse::<f64>() {
                Ok(x) if x.is_finite() => Ok(Value::Number(x)),
                _ => Err("expected a number".to_string()),
            },
            Unit::Percent => units::parse_percent(text).map(Value::Number).map_err(|e| e.to_string()),
            Unit::Switch => match text {
                "on" => Ok(Value::Switch(true)),
                "off" => Ok(Value::Switch(false)),
                _ => Err("expected on or off".to_string()),
            },
            Unit::Choice(words) if words.contains(&text) => Ok(Value::Text(text.to_string())),
            Unit::Choice(words) => Err(format!("expected one of {}", words.join(", "))),
            Unit::Text if text.is_empty() => Err("expected some text".to_string()),
            Unit::Text => Ok(Value::Text(text.to_string())),
        }
    }
}

impl Value {
    fn is_below(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Span(a), Value::Span(b)) => a < b,
            (Value::Rate(a), Value::Rate(b)) => a < b,
            (Value::Whole(a), Value::Whole(b)) => a < b,
            (Value::Number(a), Value::Number(b)) => a < b,
            _ => false,
        }
    }
}
