//! How a component (a discipline, a transport, a link) declares its parameters, once.
//!
//! The grammar of the command line is `name[:key=value[:key=value...]]`; a component may name one *positional*
//! parameter, which then may stand without its key, as in `10mbit:overhead=14`. A value may hold whole components: what
//! stands in square brackets is not cut, as in `priority:ef@[bode:target=50ms]+rest@taildrop`. The same declarations
//! make `qdelay list`, the documentation and the errors.

use crate::units::{self, Rate, Span};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::fmt;

/// What a component is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Owns packets and decides which leave, and when they are dropped or marked.
    Qdisc,
    /// Decides when packets may go from one queue to the next.
    Pacer,
    /// Carries packets at a rate.
    Link,
    /// How the file of a trace is written.
    Format,
    /// Says how good a radio channel is.
    Channel,
    /// Shares resource blocks among the UEs of a cell.
    Scheduler,
    /// Divides a cell among slices.
    Partition,
    /// Cuts packets into what a radio carries and puts them together again.
    Rlc,
    /// Congestion control with the transport around it.
    Transport,
    /// Makes data to send.
    Application,
}

impl Kind {
    /// As it is printed: `qdisc`, `pacer`...
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Qdisc => "qdisc",
            Kind::Pacer => "pacer",
            Kind::Link => "link",
            Kind::Format => "format",
            Kind::Channel => "channel",
            Kind::Scheduler => "scheduler",
            Kind::Partition => "partition",
            Kind::Rlc => "rlc",
            Kind::Transport => "transport",
            Kind::Application => "application",
        }
    }
}

/// What a parameter's value is, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A duration: `20ms`.
    Span,
    /// A rate: `10mbit`.
    Rate,
    /// A size in bytes: `1504b`.
    Bytes,
    /// A whole number of `what` ("packets", "segments"): `1000`.
    Count(&'static str),
    /// A fraction or factor: `0.125`.
    Number,
    /// `on` or `off`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text; `:` and `,` only within square brackets.
    Text,
}

impl Unit {
    /// As it is printed in a list: `duration`, `packets`, `rfc|mahimahi`.
    pub fn describe(self) -> String {
        match self {
            Unit::Span => "duration".to_string(),
            Unit::Rate => "rate".to_string(),
            Unit::Bytes => "bytes".to_string(),
            Unit::Count(what) => what.to_string(),
            Unit::Number => "number".to_string(),
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
    /// What its value is.
    pub unit: Unit,
    /// Used where the key is not given, written as a user would. Empty: the component decides, or the key is required
    /// (`about` says which).
    pub default: &'static str,
    /// Smallest accepted value, written as a user would; empty for units without an order.
    pub min: &'static str,
    /// Largest accepted value; empty for none.
    pub max: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// Where the default comes from: a section of an RFC or paper.
    pub source: &'static str,
}

/// A component as everybody sees it.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// What it is for.
    pub kind: Kind,
    /// Its name.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub about: &'static str,
    /// The paper section, RFC or program it follows.
    pub source: &'static str,
    /// Its parameters, in the order they are listed.
    pub parameters: &'static [Parameter],
    /// The parameter that may stand without its key, right after (or, for links, in place of) the name.
    pub positional: Option<&'static str>,
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
    /// Not given, and without a default.
    Unset,
}

/// A component with a value for each of its parameters.
#[derive(Clone, Debug)]
pub struct Arguments {
    component: &'static Component,
    values: Vec<Value>,
    given: Vec<bool>,
    typed: String,
}

/// Why a component's text was not understood: one line that names what was wrong and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentError {
    /// The whole text it stood in.
    pub typed: String,
    /// What is wrong and what was expected.
    pub message: String,
}

impl fmt::Display for ComponentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}': {}", self.typed, self.message)
    }
}
impl core::error::Error for ComponentError {}

/// `text` cut at every `separator` that stands outside of square brackets, which may be nested. The brackets stay.
///
/// # Errors
/// A bracket without its partner.
pub fn split_outside_brackets(text: &str, separator: char) -> Result<Vec<&str>, String> {
    let mut depth = 0_usize;
    let (mut start, mut opened) = (0, 0);
    let mut parts = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '[' => {
                if depth == 0 {
                    opened = at;
                }
                depth += 1;
            }
            ']' if depth == 0 => return Err(format!("']' without its '[', after '{}'", &text[..at])),
            ']' => depth -= 1,
            _ if c == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(format!("'[' without its ']', before '{}'", &text[opened + 1..]));
    }
    parts.push(&text[start..]);
    Ok(parts)
}

/// Where the first `wanted` is that stands outside of square brackets.
pub fn find_outside_brackets(text: &str, wanted: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            _ if c == wanted && depth == 0 => return Some(at),
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

impl Arguments {
    /// Reads `name[:key=value...]` against the components of `registry`.
    ///
    /// # Errors
    /// An unknown name or key, a key given twice, a value that is not of the parameter's unit or out of its range, a
    /// square bracket without its partner.
    pub fn parse(registry: &[&'static Component], text: &str) -> Result<Arguments, ComponentError> {
        let fail = |message: String| ComponentError { typed: text.to_string(), message };
        let mut parts = split_outside_brackets(text, ':').map_err(fail)?.into_iter();
        let name = parts.next().unwrap_or("");
        let Some(component) = registry.iter().find(|c| c.name == name) else {
            let known: Vec<&str> = registry.iter().map(|c| c.name).collect();
            let kind = registry.first().map_or("component", |c| c.kind.name());
            let hint = registry.iter().find_map(|component| comma_hint(component, name)).unwrap_or("");
            return Err(fail(format!("unknown {kind} '{name}'; known: {}{hint}", known.join(", "))));
        };
        Arguments::from_parts(component, text, parts).map_err(fail)
    }

    /// Reads `key=value` parts against one component that is already known; `typed` is the text they came from.
    ///
    /// # Errors
    /// As [`Arguments::parse`], as the message alone.
    pub fn from_parts<'a>(
        component: &'static Component,
        typed: &str,
        parts: impl Iterator<Item = &'a str>,
    ) -> Result<Arguments, String> {
        let mut arguments = Arguments::defaults(component);
        arguments.typed = typed.to_string();
        for part in parts {
            let pair = find_outside_brackets(part, '=').map(|at| (&part[..at], &part[at + 1..]));
            let (key, value) = match (pair, component.positional) {
                (Some(pair), _) => pair,
                (None, Some(key)) => (key, part),
                (None, None) => return Err(format!("'{part}' is not of the form key=value")),
            };
            let Some(index) = component.parameters.iter().position(|p| p.name == key) else {
                let known: Vec<&str> = component.parameters.iter().map(|p| p.name).collect();
                let hint = comma_hint(component, part).unwrap_or("");
                return Err(match known.is_empty() {
                    true => format!("{} has no keys, and so no '{key}'", component.name),
                    false => {
                        format!("{} has no key '{key}'; known: {}{hint}", component.name, known.join(", "))
                    }
                });
            };
            if core::mem::replace(&mut arguments.given[index], true) {
                return Err(format!("key '{key}' is given twice"));
            }
            arguments.values[index] = component.parameters[index].read(value).map_err(|message| {
                format!("{key}={value}: {message}{}", comma_hint(component, value).unwrap_or(""))
            })?;
        }
        Ok(arguments)
    }

    /// The component with every default.
    pub fn defaults(component: &'static Component) -> Arguments {
        let values =
            component
                .parameters
                .iter()
                .map(|p| {
                    if p.default.is_empty() {
                        Value::Unset
                    } else {
                        p.read(p.default).unwrap_or(Value::Unset)
                    }
                })
                .collect();
        let given = vec![false; component.parameters.len()];
        Arguments { component, values, given, typed: component.name.to_string() }
    }

    /// Which component this is.
    pub fn component(&self) -> &'static Component {
        self.component
    }
    /// What the user wrote, to the letter.
    pub fn typed(&self) -> &str {
        &self.typed
    }
    /// The value of `key`, whether given or default.
    pub fn value(&self, key: &str) -> &Value {
        let index = self.component.parameters.iter().position(|p| p.name == key);
        debug_assert!(index.is_some(), "{} declares no '{key}'", self.component.name);
        index.map_or(&Value::Unset, |i| &self.values[i])
    }
    /// Whether the user gave `key`.
    pub fn is_given(&self, key: &str) -> bool {
        self.component.parameters.iter().zip(&self.given).any(|(p, given)| p.name == key && *given)
    }
    /// Sets `key` where the user did not: for defaults that come from elsewhere, such as the bottleneck's limit.
    pub fn default_to(&mut self, key: &str, value: Value) {
        if let Some(index) = self.component.parameters.iter().position(|p| p.name == key)
            && !self.given[index]
        {
            self.values[index] = value;
        }
    }
    /// The duration of `key`; `None` where it is unset.
    pub fn span(&self, key: &str) -> Option<Span> {
        if let Value::Span(x) = self.value(key) { Some(*x) } else { None }
    }
    /// The rate of `key`; `None` where it is unset.
    pub fn rate(&self, key: &str) -> Option<Rate> {
        if let Value::Rate(x) = self.value(key) { Some(*x) } else { None }
    }
    /// The whole number (bytes or a count) of `key`; `None` where it is unset.
    pub fn whole(&self, key: &str) -> Option<u64> {
        if let Value::Whole(x) = self.value(key) { Some(*x) } else { None }
    }
    /// The number of `key`; `None` where it is unset.
    pub fn number(&self, key: &str) -> Option<f64> {
        if let Value::Number(x) = self.value(key) { Some(*x) } else { None }
    }
    /// The switch of `key`; `None` where it is unset.
    pub fn switch(&self, key: &str) -> Option<bool> {
        if let Value::Switch(x) = self.value(key) { Some(*x) } else { None }
    }
    /// The word or text of `key`; `None` where it is unset.
    pub fn text(&self, key: &str) -> Option<&str> {
        if let Value::Text(x) = self.value(key) { Some(x) } else { None }
    }
}

/// Where a comma is followed by a key of `component`: commas separate the components of a list.
fn comma_hint(component: &Component, text: &str) -> Option<&'static str> {
    let is_parameter = |part: &str| {
        part.split_once('=').is_some_and(|(key, _)| component.parameters.iter().any(|p| p.name == key))
    };
    text.split(',').skip(1).any(is_parameter).then_some("; parameters are separated by ':', not by ','")
}

impl Parameter {
    /// Reads a value and checks its range; the error says what was expected.
    ///
    /// # Errors
    /// Not of this parameter's unit, or out of its range.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let value = self.unit.read(text)?;
        let too_small =
            !self.min.is_empty() && self.unit.read(self.min).is_ok_and(|min| value.is_below(&min));
        let too_large =
            !self.max.is_empty() && self.unit.read(self.max).is_ok_and(|max| max.is_below(&value));
        if too_small || too_large {
            return Err(format!("out of range; expected {}", self.range()));
        }
        Ok(value)
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

#[cfg(test)]
mod tests {
    use super::*;

    static TARGET: Parameter = Parameter {
        name: "target",
        unit: Unit::Span,
        default: "5ms",
        min: "1us",
        max: "10s",
        about: "",
        source: "",
    };
    static LIMIT: Parameter = Parameter {
        name: "limit",
        unit: Unit::Count("packets"),
        default: "1000",
        min: "1",
        max: "",
        ..TARGET
    };
    static SAMPLE: Component = Component {
        kind: Kind::Qdisc,
        name: "sample",
        about: "",
        source: "",
        parameters: &[TARGET, LIMIT],
        positional: None,
    };

    static NESTING: Component = Component {
        name: "nesting",
        parameters: &[Parameter { name: "inner", unit: Unit::Text, default: "", min: "", ..TARGET }, LIMIT],
        positional: Some("inner"),
        ..SAMPLE
    };

    fn parse(text: &str) -> Result<Arguments, ComponentError> {
        Arguments::parse(&[&SAMPLE], text)
    }

    #[test]
    fn defaults_and_values() {
        let a = parse("sample:target=20ms").unwrap();
        assert_eq!(a.span("target"), Some(Span::from_millis(20)));
        assert_eq!(a.whole("limit"), Some(1000));
        assert!(a.is_given("target") && !a.is_given("limit"));
        assert_eq!(a.typed(), "sample:target=20ms");
    }

    #[test]
    fn every_error_names_what_was_expected() {
        let message = |text| parse(text).unwrap_err().to_string();
        assert!(message("red").contains("unknown qdisc 'red'; known: sample"));
        assert!(message("sample:tarjet=5ms").contains("known: target, limit"));
        assert!(message("sample:target=5").contains("such as 20ms"));
        assert!(message("sample:target=11s").contains("1us to 10s"));
        assert!(message("sample:limit=0").contains("at least 1"));
        assert!(message("sample:limit=-1").contains("whole number of packets"));
        assert!(message("sample:target=5ms:target=6ms").contains("twice"));
        assert!(message("sample:5ms").contains("key=value"));
        assert!(message("sample:[target=5ms").contains("'[' without its ']'"));
        assert!(message("sample:target=5ms]").contains("']' without its '['"));
    }

    #[test]
    fn a_comma_before_a_key_is_answered() {
        let message = |text| parse(text).unwrap_err().to_string();
        let hint = "parameters are separated by ':', not by ','";
        assert!(message("sample:target=5ms,limit=7").contains(hint));
        assert!(message("sample,limit=7").contains(hint));
        assert!(!message("sample:target=5ms,other").contains(hint));
        assert!(!message("sample,other=7").contains(hint));
    }

    #[test]
    fn what_stands_in_brackets_is_not_cut() {
        let split = |text| split_outside_brackets(text, ':');
        assert_eq!(split("a:b=[c:d=[e:f]:g]:h"), Ok(vec!["a", "b=[c:d=[e:f]:g]", "h"]));
        assert_eq!(split(""), Ok(vec![""]));
        assert_eq!(split("[]::"), Ok(vec!["[]", "", ""]));
        assert_eq!(split_outside_brackets("ä→[→]→ö", '→'), Ok(vec!["ä", "[→]", "ö"]));
        assert_eq!(split("a[b[c]").unwrap_err(), "'[' without its ']', before 'b[c]'");
        assert_eq!(split("a[b]]:c").unwrap_err(), "']' without its '[', after 'a[b]'");
        assert_eq!(split("][").unwrap_err(), "']' without its '[', after ''");
    }

    #[test]
    fn an_equals_sign_in_brackets_makes_no_key() {
        assert_eq!(find_outside_brackets("a@[b=c]", '='), None);
        assert_eq!(find_outside_brackets("key=a@[b=c]", '='), Some(3));
        assert_eq!(find_outside_brackets("[a=[b]=]=", '='), Some(8));
        assert_eq!(find_outside_brackets("]=", '='), Some(1), "brackets are checked elsewhere");
    }

    #[test]
    fn a_value_may_hold_a_whole_component() {
        let parse = |text| Arguments::parse(&[&NESTING], text);
        let arguments = parse("nesting:ef@[sample:target=5ms:limit=2]+rest@sample:limit=7").unwrap();
        assert_eq!(arguments.text("inner"), Some("ef@[sample:target=5ms:limit=2]+rest@sample"));
        assert_eq!(arguments.whole("limit"), Some(7));
        let arguments = parse("nesting:inner=[a=b:[c=d]]").unwrap();
        assert_eq!(arguments.text("inner"), Some("[a=b:[c=d]]"));
        let twice = parse("nesting:[a=b]:inner=c").unwrap_err().to_string();
        assert!(twice.contains("key 'inner' is given twice"));
    }
}
