//! Arguments: the parsed text of a component, with a value for each of its parameters.

use super::near::suggestion;
use super::{Component, Parameter, Registry, Typeable, Typed, Value};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::fmt;

/// A component with a value for each of its parameters.
#[derive(Clone, Debug)]
pub struct Arguments {
    component: &'static Component,
    values: Vec<Value>,
    given: Vec<bool>,
    typed: String,
    /// Components from outside that a value may name.
    registry: Registry,
}

/// A mistake in the text of a component: one line that names the mistake and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ComponentError {
    /// The whole text of the component.
    pub typed: String,
    /// A message about the text.
    pub message: String,
}

impl ComponentError {
    /// The error `message` about the text `typed`.
    pub fn new(typed: impl Into<String>, message: impl Into<String>) -> ComponentError {
        ComponentError { typed: typed.into(), message: message.into() }
    }
}

impl fmt::Display for ComponentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}': {}", self.typed, self.message)
    }
}
impl core::error::Error for ComponentError {}

/// Splits `text` at each `separator` outside of square brackets. Brackets may be nested and are kept.
///
/// # Errors
/// A bracket without its counterpart.
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

/// `text` without the square brackets around all of it, if it has them.
pub fn without_brackets(text: &str) -> &str {
    text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text)
}

/// The position of the first `wanted` outside of square brackets.
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
    /// Parses `name[:key=value...]`, with a name of the components in `registry`.
    ///
    /// # Errors
    /// An unknown name or key, a key given twice, a value that is not of the parameter's unit or out of its range, a square
    /// bracket without its counterpart.
    pub fn parse(registry: &[&'static Component], text: &str) -> Result<Arguments, ComponentError> {
        let fail = |message: String| ComponentError { typed: text.to_string(), message };
        let mut parts = split_outside_brackets(text, ':').map_err(fail)?.into_iter();
        let name = parts.next().unwrap_or("");
        let Some(component) = registry.iter().find(|c| c.name == name) else {
            let hint = registry.iter().find_map(|component| comma_hint(component, name)).unwrap_or("");
            return Err(fail(unknown(registry, name) + hint));
        };
        Arguments::from_parts(component, text, parts).map_err(fail)
    }

    /// Parses the parts `key=value` of a component; `typed` is the whole text.
    ///
    /// # Errors
    /// Errors of [`Arguments::parse`]; the error is only the message.
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
                let near = suggestion(key, known.iter().copied());
                let hint = comma_hint(component, part).unwrap_or(&near);
                return Err(match known.is_empty() {
                    true => format!("{} has no keys, and so no '{key}'", component.name),
                    false => {
                        format!("{} has no key '{key}'; known: {}{hint}", component.name, known.join(", "))
                    }
                });
            };
            if core::mem::replace(&mut arguments.given[index], true) {
                let hint = match pair {
                    Some(_) => "",
                    None => "; a value with a colon stands in brackets, as in [a: b]",
                };
                return Err(format!("key '{key}' is given twice{hint}"));
            }
            arguments.values[index] = component.parameters[index].read(value).map_err(|message| {
                format!("{key}={value}: {message}{}", comma_hint(component, value).unwrap_or(""))
            })?;
        }
        Ok(arguments)
    }

    /// The component with the defaults of all parameters.
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
        Arguments {
            component,
            values,
            given,
            typed: component.name.to_string(),
            registry: Registry::default(),
        }
    }

    /// The same arguments, with a registry that has the function to build the component, and the components that values may name.
    pub fn within(self, registry: &Registry) -> Arguments {
        Arguments { registry: registry.clone(), ..self }
    }
    /// The components from outside that a value of these arguments may name.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
    /// The function of type `M` that builds this component; `None` if the component is built in.
    pub fn maker<M: 'static>(&self) -> Option<&M> {
        self.registry.maker(self.component)
    }
    /// An error about the whole component.
    pub fn fail(&self, message: impl Into<String>) -> ComponentError {
        ComponentError { typed: self.typed.clone(), message: message.into() }
    }
    /// The value of `key`: the user's, or the default.
    ///
    /// # Panics
    /// The component does not declare `key`.
    pub fn get<T: Typeable + ?Sized>(&self, key: &Typed<T>) -> T::Value<'_> {
        let value = self.position(key.name()).and_then(|index| T::from_value(&self.values[index]));
        value.unwrap_or_else(|| {
            panic!("{} does not declare '{}' with this type", self.component.name, key.name())
        })
    }

    /// Every parameter of the component with its value, in declaration order; for components whose parameters
    /// are not known when the program is built.
    pub fn values(&self) -> impl Iterator<Item = (&'static Parameter, &Value)> {
        self.component.parameters.iter().zip(&self.values)
    }

    /// The component.
    pub fn component(&self) -> &'static Component {
        self.component
    }
    /// The text as the user wrote it.
    pub fn typed(&self) -> &str {
        &self.typed
    }
    fn position(&self, name: &str) -> Option<usize> {
        self.component.parameters.iter().position(|parameter| parameter.name == name)
    }
    /// Returns true if the component declares `key`.
    pub fn declares<T: ?Sized>(&self, key: &Typed<T>) -> bool {
        self.position(key.name()).is_some()
    }
    /// Returns true if the user gave `key`.
    pub fn is_given<T: ?Sized>(&self, key: &Typed<T>) -> bool {
        self.position(key.name()).is_some_and(|index| self.given[index])
    }
    /// The name of the first of `keys` that the user gave.
    pub fn first_given(&self, keys: &[&str]) -> Option<&'static str> {
        let given = |key: &&str| self.position(key).filter(|index| self.given[*index]);
        keys.iter().find_map(given).map(|index| self.component.parameters[index].name)
    }
    /// Sets the parameter `name` as if the user had given `value`.
    ///
    /// # Errors
    /// The component has no such parameter, or `value` is not of its unit or out of its range.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), ComponentError> {
        let Some(index) = self.position(name) else {
            let known: Vec<&str> = self.component.parameters.iter().map(|p| p.name).collect();
            let message = format!("{} has no key '{name}'; known: {}", self.component.name, known.join(", "));
            return Err(self.fail(message));
        };
        let parameter = &self.component.parameters[index];
        let fits = match parameter.unit.has(&value) {
            true => parameter.check(&value),
            false => Err(format!("expected a value of the unit {}", parameter.unit.describe())),
        };
        fits.map_err(|message| self.fail(format!("{name}: {message}")))?;
        self.values[index] = value;
        self.given[index] = true;
        Ok(())
    }
    /// Sets `key` if the component declares it with values of this type and the user did not give it; used
    /// for defaults that come from elsewhere, such as the bottleneck's limit.
    pub fn default_to<T: Typeable + ?Sized>(&mut self, key: &Typed<T>, value: T::Value<'_>) {
        let value = T::into(value);
        if let Some(index) = self.position(key.name())
            && !self.given[index]
            && self.component.parameters[index].unit.has(&value)
        {
            self.values[index] = value;
        }
    }
}

/// The message about `name`, which no component of `registry` has.
pub fn unknown(registry: &[&'static Component], name: &str) -> String {
    let known: Vec<&str> = registry.iter().map(|component| component.name).collect();
    let kind = registry.first().map_or("component", |component| component.kind.name());
    let near = suggestion(name, known.iter().copied());
    format!("unknown {kind} '{name}'; known: {}{near}", known.join(", "))
}

/// A hint if a comma is followed by a key of `component`: parameters are separated by colons, components of a
/// list by commas.
fn comma_hint(component: &Component, text: &str) -> Option<&'static str> {
    let is_parameter = |part: &str| {
        part.split_once('=').is_some_and(|(key, _)| component.parameters.iter().any(|p| p.name == key))
    };
    text.split(',').skip(1).any(is_parameter).then_some("; parameters are separated by ':', not by ','")
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Unit};
    use super::*;
    use crate::units::Span;

    const TARGET: Typed<Span> = Typed::new("target", "5ms", "").within("1us", "10s");
    const LIMIT: Typed<u64> = Typed::new("limit", "1000", "").unit(Unit::Count("packets")).within("1", "");
    const INNER: Typed<Option<&str>> = Typed::new("inner", "", "");
    static SAMPLE: Component =
        Component::new(Kind::Qdisc, "sample", "").with(&[TARGET.parameter(), LIMIT.parameter()]);
    static NESTING: Component = Component::new(Kind::Qdisc, "nesting", "")
        .with(&[INNER.parameter(), LIMIT.parameter()])
        .positional("inner");

    fn parse(text: &str) -> Result<Arguments, ComponentError> {
        Arguments::parse(&[&SAMPLE], text)
    }

    #[test]
    fn given_values_replace_defaults() {
        let a = parse("sample:target=20ms").unwrap();
        assert_eq!(a.get(&TARGET), Span::from_millis(20));
        assert_eq!(a.get(&LIMIT), 1000);
        assert!(a.is_given(&TARGET) && !a.is_given(&LIMIT));
        assert_eq!(a.typed(), "sample:target=20ms");
    }

    #[test]
    fn defaults_from_elsewhere_apply_to_values_of_the_same_type() {
        const RATE: Typed<Option<crate::Rate>> = Typed::new("limit", "", "");
        const SIZE: Typed<u32> = Typed::new("size", "7", "").within("1", "9");
        static OTHER: Component =
            Component::new(Kind::Qdisc, "other", "").with(&[RATE.parameter(), SIZE.parameter()]);
        let mut arguments = parse("sample").unwrap();
        arguments.default_to(&LIMIT, 5);
        assert_eq!(arguments.get(&LIMIT), 5);
        let mut given = parse("sample:limit=7").unwrap();
        given.default_to(&LIMIT, 5);
        assert_eq!((given.get(&LIMIT), given.first_given(&["target", "limit"])), (7, Some("limit")));
        // A component from outside may use the name for another kind of value.
        let mut other = Arguments::defaults(&OTHER);
        other.default_to(&LIMIT, 5);
        assert_eq!((other.get(&RATE), other.get(&SIZE)), (None, 7));
        assert!(!other.declares(&TARGET) && other.declares(&SIZE));
    }

    #[test]
    fn values_are_set_within_their_range() {
        let mut a = parse("sample").unwrap();
        a.set("target", Value::Span(Span::from_millis(7))).unwrap();
        assert_eq!((a.get(&TARGET), a.is_given(&TARGET)), (Span::from_millis(7), true));
        let mut message = |name, value| a.set(name, value).unwrap_err().message;
        assert!(message("target", Value::Span(Span::from_secs(11))).contains("expected 1us to 10s"));
        assert!(message("target", Value::Whole(5)).contains("of the unit duration"));
        assert!(message("tarjet", Value::Whole(5)).contains("known: target, limit"));
        assert_eq!(a.get(&TARGET), Span::from_millis(7));
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
    fn text_in_brackets_is_not_split() {
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
    fn brackets_around_a_value_are_dropped() {
        assert_eq!(
            [without_brackets("[a: b]"), without_brackets("a[b]"), without_brackets("[")],
            ["a: b", "a[b]", "["]
        );
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
        assert_eq!(arguments.get(&INNER), Some("ef@[sample:target=5ms:limit=2]+rest@sample"));
        assert_eq!(arguments.get(&LIMIT), 7);
        let arguments = parse("nesting:inner=[a=b:[c=d]]").unwrap();
        assert_eq!(arguments.get(&INNER), Some("[a=b:[c=d]]"));
        let twice = parse("nesting:[a=b]:inner=c").unwrap_err().to_string();
        assert!(twice.contains("key 'inner' is given twice"));
    }
}
