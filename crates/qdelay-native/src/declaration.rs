//! Declarations out of descriptions: checked, and made a [`Component`] that lives as long as the program.

use qdelay_core::component::{self, Component, Kind, Parameter, find_outside_brackets};
use qdelay_core::qdisc::{LIMIT, LIMIT_BYTES};
use qdelay_traffic::tcp::KNOBS;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The declaration of a law.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Declared {
    /// Subject of its decisions: a queue, or a connection.
    pub role: Role,
    /// Lower-case letters, digits and `_`: also the reason of its drops and marks.
    pub name: String,
    /// Meaning, in one sentence.
    pub meaning: String,
    /// Paper, RFC or program; may be empty.
    pub source: String,
    /// Property by which a law distinguishes packets; empty for none.
    pub classifies: String,
    /// Parameters, without those of the queue (`limit`, `limit_bytes`) or of TCP.
    pub parameters: Vec<DeclaredParameter>,
}

/// The declaration of a parameter. Its values are texts in the user's notation.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeclaredParameter {
    /// The key.
    pub name: String,
    /// Notation of values.
    pub unit: Unit,
    /// The value without one of the user's; empty: it may stay unset.
    pub default: String,
    /// Smallest value; empty for no limit.
    pub min: String,
    /// Largest value; empty for no limit.
    pub max: String,
    /// Meaning, in a few words.
    pub meaning: String,
    /// Source of the default; may be empty.
    pub source: String,
}

/// Subject of the decisions of a component of a shared object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The packets of a queue.
    #[default]
    Queue,
    /// The window of a connection.
    Control,
}

impl Role {
    fn kind(self) -> Kind {
        match self {
            Role::Queue => Kind::Qdisc,
            Role::Control => Kind::Transport,
        }
    }
    /// The host's parameters, and whose they are.
    fn given(self) -> (Vec<Parameter>, &'static str) {
        match self {
            Role::Queue => {
                (vec![LIMIT.parameter(), LIMIT_BYTES.parameter()], "the queue's, which every law has")
            }
            Role::Control => (KNOBS.to_vec(), "TCP's, which every congestion control has"),
        }
    }
}

/// The unit of a parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// `20ms`.
    Duration,
    /// `10mbit`.
    Rate,
    /// `1500b`.
    Bytes,
    /// `100`, of these.
    Count(String),
    /// `0.125`.
    #[default]
    Number,
    /// `12.5%`.
    Percent,
    /// `on` or `off`.
    Switch,
    /// One of these words.
    Choice(Vec<String>),
}

/// Most parameters of a law.
pub const PARAMETERS_MAX: u64 = 64;

/// A component, and the name of its law.
#[derive(Clone, Copy, Debug)]
pub struct StaticComponent {
    pub component: &'static Component,
    pub law: &'static str,
}

/// `declared` as a component that users call `name`. The same declaration under the same name is the same component.
///
/// # Errors
/// The message says what is wrong with the declaration, and what was expected.
pub fn leak(declared: &Declared, name: &str) -> Result<StaticComponent, String> {
    static KNOWN: Mutex<BTreeMap<(String, Declared), StaticComponent>> = Mutex::new(BTreeMap::new());
    // A registry lends components for the life of the program; leaking each once bounds the memory of a program that reads many scenarios.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (name.to_string(), declared.clone());
    if let Some(leaked) = known.get(&key) {
        return Ok(*leaked);
    }
    check(declared)?;
    let own = declared.parameters.iter().map(parameter);
    let (given, _) = declared.role.given();
    let parameters: Vec<Parameter> = match declared.role {
        Role::Queue => own.chain(given).collect(),
        Role::Control => given.into_iter().chain(own).collect(),
    };
    let component = Component {
        kind: declared.role.kind(),
        name: text(name),
        about: text(&declared.meaning),
        source: text(&declared.source),
        parameters: Vec::leak(parameters),
        positional: None,
        classifies: (!declared.classifies.is_empty()).then(|| text(&declared.classifies)),
    };
    component.check()?;
    let leaked = StaticComponent { component: Box::leak(Box::new(component)), law: text(&declared.name) };
    known.insert(key, leaked);
    Ok(leaked)
}

fn text(text: &str) -> &'static str {
    if text.is_empty() { "" } else { String::leak(text.to_string()) }
}

fn parameter(declared: &DeclaredParameter) -> Parameter {
    let words = |all: &[String]| -> &'static [&'static str] {
        Vec::leak(all.iter().map(|word| text(word)).collect())
    };
    Parameter {
        name: text(&declared.name),
        unit: match &declared.unit {
            Unit::Duration => component::Unit::Span,
            Unit::Rate => component::Unit::Rate,
            Unit::Bytes => component::Unit::Bytes,
            Unit::Count(what) => component::Unit::Count(text(what)),
            Unit::Number => component::Unit::Number,
            Unit::Percent => component::Unit::Percent,
            Unit::Switch => component::Unit::Switch,
            Unit::Choice(all) => component::Unit::Choice(words(all)),
        },
        default: text(&declared.default),
        min: text(&declared.min),
        max: text(&declared.max),
        about: text(&declared.meaning),
        source: text(&declared.source),
    }
}

fn check(declared: &Declared) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if declared.name.is_empty() || !declared.name.chars().all(is_plain) {
        let name = &declared.name;
        return Err(format!("its name is '{}'; expected lower-case letters, digits and _", one_line(name)));
    }
    if declared.meaning.is_empty() {
        return Err("its meaning is empty; expected a sentence".to_string());
    }
    if declared.parameters.len() as u64 > PARAMETERS_MAX {
        return Err(format!(
            "it has {} parameters; expected at most {PARAMETERS_MAX}",
            declared.parameters.len()
        ));
    }
    // The host adds its own parameters, which a declared one of the same name would hide.
    let (given, whose) = declared.role.given();
    for (index, parameter) in declared.parameters.iter().enumerate() {
        let name = &parameter.name;
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_key) {
            let message = "expected letters, digits and _";
            return Err(format!("its parameter {} is called '{}'; {message}", index + 1, one_line(name)));
        }
        if given.iter().any(|of_host| of_host.name == name) {
            return Err(format!("its parameter '{name}' is {whose}; expected another name"));
        }
        if declared.parameters[..index].iter().any(|other| other.name == *name) {
            return Err(format!("its parameter '{name}' is declared twice; expected once"));
        }
        if let Unit::Choice(words) = &parameter.unit {
            let is_word = |word: &String| {
                !word.is_empty()
                    && !word.contains(char::is_whitespace)
                    && find_outside_brackets(word, ':').is_none()
            };
            if words.is_empty() || !words.iter().all(is_word) {
                return Err(format!(
                    "its parameter '{name}' is a choice without words; expected some, with | between them"
                ));
            }
        }
    }
    Ok(())
}

/// Without line breaks and other control characters, and not too long: it is part of an error.
pub fn one_line(text: &str) -> String {
    text.chars().take(200).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(parameter: DeclaredParameter) -> Declared {
        let meaning = "does something".to_string();
        Declared { name: "own".to_string(), meaning, parameters: vec![parameter], ..Declared::default() }
    }
    fn refused(name: &str, unit: Unit, default: &str) -> String {
        let (name, default) = (name.to_string(), default.to_string());
        let parameter = DeclaredParameter { name, unit, default, ..DeclaredParameter::default() };
        leak(&declared(parameter), "./own.so").unwrap_err()
    }

    #[test]
    fn mistakes_are_told() {
        assert_eq!(
            refused("x", Unit::Number, "nan"),
            "its parameter 'x' is declared with nan: expected a number"
        );
        assert!(refused("x", Unit::Number, "inf").contains("expected a number"));
        assert!(refused("x", Unit::Duration, "5").contains("such as 20ms"));
        assert!(refused("limit", Unit::Number, "5").contains("is the queue's"));
        assert!(refused("a b", Unit::Number, "5").contains("its parameter 1 is called 'a b'"));
        assert!(refused("x", Unit::Choice(Vec::new()), "").contains("without words"));
        let mut twice = declared(DeclaredParameter { name: "x".to_string(), ..DeclaredParameter::default() });
        twice.parameters.push(twice.parameters[0].clone());
        assert!(leak(&twice, "./own.so").unwrap_err().contains("declared twice"));
        twice.name = "Own\n".to_string();
        assert_eq!(
            leak(&twice, "o").unwrap_err(),
            "its name is 'Own '; expected lower-case letters, digits and _"
        );
    }

    #[test]
    fn the_same_is_leaked_once() {
        let one = declared(DeclaredParameter { name: "x".to_string(), ..DeclaredParameter::default() });
        let [first, second] = [(); 2].map(|()| leak(&one, "./own.so").unwrap().component);
        assert!(std::ptr::eq(first, second));
        assert!(!std::ptr::eq(first, leak(&one, "../own.so").unwrap().component));
        let names: Vec<&str> = first.parameters.iter().map(|parameter| parameter.name).collect();
        assert_eq!(names, ["x", "limit", "limit_bytes"]);
    }
}
