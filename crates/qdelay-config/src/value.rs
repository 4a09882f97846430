//! Types of values: how they are read, described and written to results.

use crate::document::{Content, Node};
use crate::fault::Fault;
use qdelay_core::component::{Component, Parameter, Unit, Value};
use qdelay_core::{Rate, Span};
use serde_json::{Value as Json, json};
use std::fmt::Debug;

const PERCENT: &str = r"^[0-9.]+%$";
const SPAN: &str = r"^(0|[0-9.]+(ns|us|ms|s|min|NS|US|MS|S|MIN))$";
const RATE: &str = r"^(0|infinite|[0-9.]+([kmgKMG]?[bB][iI][tT]))$";
const BYTES: &str = r"^[0-9.]+([kmKM]?[bB])?$";
const SWITCH: &[&str] = &["on", "off"];

/// A type that the value of a key may have.
pub trait Accept: Clone + Debug + Send + Sync + 'static {
    /// Unit of the value, unless the declaration of the key sets one.
    const UNIT: Unit = Unit::Text;

    /// Reads `node` as a value of `parameter`, which errors call `path`. Returns the text as typed on the command line, and the value.
    ///
    /// # Errors
    /// The type or unit is wrong, or the value is out of range.
    fn read(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault>;
    /// The value of a key that has no default and is not set; `None` if such a key must be set.
    fn unset() -> Option<Self> {
        None
    }
    /// False for the value of [`Accept::unset`].
    fn is_some(&self) -> bool {
        true
    }
    /// The value in result files.
    fn json(&self, text: &str) -> Json {
        json!(text)
    }
    /// A canonical text, equal for values with the same meaning.
    fn meaning(&self, text: &str) -> String {
        text.to_string()
    }
    /// Components that the value may name; empty for other values.
    fn components() -> Vec<&'static Component> {
        Vec::new()
    }
    /// Kind of value in the documentation.
    fn describe(parameter: &Parameter) -> String;
    /// JSON Schema of the written value.
    fn schema(parameter: &Parameter) -> Json;
}

/// An optional value.
impl<T: Accept> Accept for Option<T> {
    const UNIT: Unit = T::UNIT;

    fn read(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        T::read(parameter, path, node).map(|(text, value)| (text, Some(value)))
    }
    fn unset() -> Option<Self> {
        Some(None)
    }
    fn is_some(&self) -> bool {
        self.is_some()
    }
    fn json(&self, text: &str) -> Json {
        self.as_ref().map_or(Json::Null, |value| value.json(text))
    }
    fn meaning(&self, text: &str) -> String {
        self.as_ref().map_or(String::new(), |value| value.meaning(text))
    }
    fn components() -> Vec<&'static Component> {
        T::components()
    }
    fn describe(parameter: &Parameter) -> String {
        T::describe(parameter)
    }
    fn schema(parameter: &Parameter) -> Json {
        T::schema(parameter)
    }
}

/// A value, or the word `none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrNone<T> {
    /// The word `none`.
    None,
    /// A value.
    Some(T),
}

impl<T> OrNone<T> {
    /// The value; `None` for the word `none`.
    pub fn as_option(&self) -> Option<&T> {
        match self {
            OrNone::None => None,
            OrNone::Some(value) => Some(value),
        }
    }
}

impl<T: Accept> Accept for OrNone<T> {
    const UNIT: Unit = T::UNIT;

    fn read(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        match node.text() {
            Some("none") => Ok(("none".to_string(), OrNone::None)),
            _ => T::read(parameter, path, node).map(|(text, value)| (text, OrNone::Some(value))),
        }
    }
    fn components() -> Vec<&'static Component> {
        T::components()
    }
    fn describe(parameter: &Parameter) -> String {
        format!("{} or none", T::describe(parameter))
    }
    fn schema(parameter: &Parameter) -> Json {
        json!({ "anyOf": [{ "const": "none" }, T::schema(parameter)] })
    }
}

/// Implements [`Accept`] for the types that a [`Value`] of a parameter holds, with their form in result files.
macro_rules! plain {
    ($($type:ty: $unit:expr, $value:pat => $read:expr, $json:expr;)*) => {$(
        impl Accept for $type {
            const UNIT: Unit = $unit;

            fn read(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
                match plain(parameter, path, node)? {
                    (text, $value) => Ok((text, $read)),
                    (text, other) => unreachable!("{path}: '{text}' is {other:?}"),
                }
            }
            fn json(&self, text: &str) -> Json {
                let json: fn(&Self, &str) -> Json = $json;
                json(self, text)
            }
            fn meaning(&self, _: &str) -> String {
                format!("{self:?}")
            }
            fn describe(parameter: &Parameter) -> String {
                match parameter.unit {
                    Unit::Switch => "true|false".to_string(),
                    unit => unit.describe(),
                }
            }
            fn schema(parameter: &Parameter) -> Json {
                plain_schema(parameter)
            }
        }
    )*};
}

/// Placeholder unit: the declaration of a whole number sets the unit and a range that fits the type.
const WHOLE: Unit = Unit::Count("");

plain! {
    Span: Unit::Span, Value::Span(span) => span, |_, text| json!(text);
    Rate: Unit::Rate, Value::Rate(rate) => rate, |_, text| json!(text);
    f64: Unit::Number, Value::Number(number) => number, |number, _| json!(number);
    bool: Unit::Switch, Value::Switch(on) => on, |on, _| json!(on);
    u64: WHOLE, Value::Whole(number) => number, |number, _| json!(number);
    u32: WHOLE, Value::Whole(number) => number.try_into().expect("a range of 32 bits"), |number, _| json!(number);
    u16: WHOLE, Value::Whole(number) => number.try_into().expect("a range of 16 bits"), |number, _| json!(number);
    u8: WHOLE, Value::Whole(number) => number.try_into().expect("a range of 8 bits"), |number, _| json!(number);
    String: Unit::Text, Value::Text(text) => text, |_, text| json!(text);
}

/// Declares an enum that files write as words.
///
/// ```
/// qdelay_config::words! {
///     /// A technology.
///     pub enum Technology {
///         /// LTE.
///         Lte = "lte",
///         /// NR.
///         Nr = "nr",
///     }
/// }
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($(#[$about:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$about])* $word,)* }

        impl $name {
            /// All values with their words.
            pub const ALL: &[(&'static str, $name)] = &[$(($text, $name::$word),)*];

            /// The value with this word.
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.iter().find(|(text, _)| *text == word).map(|(_, named)| *named)
            }

            /// The word of this value.
            pub const fn word(self) -> &'static str {
                match self { $($name::$word => $text,)* }
            }
        }

        impl $crate::Accept for $name {
            const UNIT: ::qdelay_core::component::Unit = ::qdelay_core::component::Unit::Choice(&[$($text),*]);

            fn read(
                parameter: &::qdelay_core::component::Parameter,
                path: &str,
                node: &$crate::Node,
            ) -> Result<(String, Self), $crate::Fault> {
                let (text, _) = $crate::value::plain(parameter, path, node)?;
                let word = $name::named(&text).expect("one of the words");
                Ok((text, word))
            }
            fn describe(parameter: &::qdelay_core::component::Parameter) -> String {
                parameter.unit.describe()
            }
            fn schema(parameter: &::qdelay_core::component::Parameter) -> ::serde_json::Value {
                $crate::value::plain_schema(parameter)
            }
        }
    };
}

/// Reads `node` as a value with the unit of `parameter`; returns its text and the value.
///
/// # Errors
/// The type is wrong, or [`Parameter::read`] refuses the text.
pub fn plain(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Value), Fault> {
    let text =
        scalar(parameter.unit, node).ok_or_else(|| wrong_type(path, node, &wanted(parameter.unit, node)))?;
    let value = parameter.read(&text).map_err(|message| {
        let message =
            if parameter.unit == Unit::Switch { "expected true or false".to_string() } else { message };
        Fault::new(node.line, path, format!("'{text}': {message}"))
    })?;
    Ok((text, value))
}

/// Text of `node` as typed on the command line; `None` if its type does not suit `unit`.
fn scalar(unit: Unit, node: &Node) -> Option<String> {
    match (unit, &node.content) {
        (_, Content::Text(text)) => Some(text.clone()),
        (Unit::Count(_) | Unit::Number | Unit::Bytes, Content::Whole(text)) => Some(text.clone()),
        // Zero is the same in every unit.
        (Unit::Span | Unit::Rate, Content::Whole(text)) if text == "0" => Some(text.clone()),
        (Unit::Number, Content::Float(text)) => Some(text.clone()),
        (Unit::Switch, Content::Switch(on)) => Some(if *on { "on" } else { "off" }.to_string()),
        _ => None,
    }
}

fn wanted(unit: Unit, found: &Node) -> String {
    match (unit, &found.content) {
        // Suggests the number with units, which is probably meant.
        (Unit::Span, Content::Whole(number)) => {
            return format!("a duration with its unit in quotes, such as \"{number}ms\" or \"{number}s\"");
        }
        (Unit::Rate, Content::Whole(number)) => {
            return format!("a rate with its unit in quotes, such as \"{number}mbit\"");
        }
        _ => {}
    }
    match unit {
        Unit::Span => "a duration in quotes, such as \"20ms\"".to_string(),
        Unit::Rate => "a rate in quotes, such as \"10mbit\"".to_string(),
        Unit::Bytes => "a size, such as 1500 or \"1500b\"".to_string(),
        Unit::Count(what) => format!("a whole number of {what}"),
        Unit::Number => "a number".to_string(),
        Unit::Percent => "percent in quotes, such as \"1%\"".to_string(),
        Unit::Switch => "true or false".to_string(),
        Unit::Choice(words) => format!("one of {} in quotes", words.join(", ")),
        Unit::Text => "a string in quotes".to_string(),
    }
}

/// The fault of a value that has the wrong type.
pub fn wrong_type(path: &str, node: &Node, expected: &str) -> Fault {
    Fault::new(node.line, path, format!("found {}; expected {expected}", node.describe()))
}

/// Reads `node` as one line of text that is not empty.
///
/// # Errors
/// The value is not a string, is empty, or has control characters.
pub fn line_of_text(path: &str, node: &Node, expected: &str) -> Result<String, Fault> {
    match node.text() {
        Some(text) if !text.is_empty() && !text.chars().any(char::is_control) => Ok(text.to_string()),
        _ => Err(wrong_type(path, node, expected)),
    }
}

/// JSON Schema of the values that a parameter accepts, by its unit.
pub fn plain_schema(parameter: &Parameter) -> Json {
    match parameter.unit {
        Unit::Span => json!({ "anyOf": [{ "type": "string", "pattern": SPAN }, { "const": 0 }] }),
        Unit::Rate => json!({ "anyOf": [{ "type": "string", "pattern": RATE }, { "const": 0 }] }),
        Unit::Bytes => json!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "string", "pattern": BYTES },
        ] }),
        Unit::Count(_) => {
            let mut number = json!({ "type": "integer", "minimum": 0 });
            limits(&mut number, parameter);
            json!({ "anyOf": [number, { "type": "string", "pattern": "^[0-9]+$" }] })
        }
        Unit::Number => {
            let mut number = json!({ "type": "number" });
            limits(&mut number, parameter);
            json!({ "anyOf": [number, { "type": "string", "pattern": "^[-+0-9.eE]+$" }] })
        }
        Unit::Percent => json!({ "type": "string", "pattern": PERCENT }),
        Unit::Switch => json!({ "anyOf": [{ "type": "boolean" }, { "enum": SWITCH }] }),
        Unit::Choice(words) => json!({ "enum": words }),
        Unit::Text => json!({ "type": "string", "minLength": 1 }),
    }
}

/// Adds the declared range to a schema, if its bounds are plain numbers.
fn limits(schema: &mut Json, parameter: &Parameter) {
    for (limit, name) in [(parameter.min, "minimum"), (parameter.max, "maximum")] {
        if let Ok(limit) = limit.parse::<u64>() {
            schema[name] = json!(limit);
        } else if let Ok(limit) = limit.parse::<f64>() {
            schema[name] = json!(limit);
        }
    }
}

/// Adds the description and the default of a parameter to its schema.
pub fn describe_schema(schema: &mut Json, parameter: &Parameter) {
    let mut about = parameter.about.to_string();
    if !(parameter.min.is_empty() && parameter.max.is_empty()) {
        about += &format!(" Range: {}.", parameter.range());
    }
    schema["description"] = json!(about);
    schema["default"] = match (parameter.unit, parameter.default) {
        (_, "") => return,
        (Unit::Switch, default) => json!(default == "on"),
        (Unit::Count(_), default) => default.parse::<u64>().map_or(json!(default), |n| json!(n)),
        (Unit::Number, default) => default.parse::<f64>().map_or(json!(default), |n| json!(n)),
        (_, default) => json!(default),
    };
}

/// JSON Schema of a duration.
pub fn span_schema() -> Json {
    json!({ "type": "string", "pattern": SPAN })
}
