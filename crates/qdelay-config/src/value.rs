//! Types of values, and how they are written.

use crate::document::{Content, Node};
use crate::fault::Fault;
use crate::table::Key;
use qdelay_core::component::{Component, Parameter, Unit, Value};
use qdelay_core::{Rate, Span};
use serde_json::{Value as Json, json};
use std::fmt::Debug;

const PERCENT: &str = r"^[0-9.]+%$";
const SPAN: &str = r"^(0|[0-9.]+(ns|us|ms|s|min|NS|US|MS|S|MIN))$";
const RATE: &str = r"^(0|infinite|[0-9.]+([kmgKMG]?[bB][iI][tT]))$";
const BYTES: &str = r"^[0-9.]+([kmKM]?[bB])?$";
const SWITCH: &[&str] = &["on", "off"];

/// A type that the value of a key can have.
pub trait Accept: Clone + Debug + Send + Sync + 'static {
    /// Its unit, if the declaration of the key has none.
    const UNIT: Unit = Unit::Text;

    /// Reads `node` as a value of `key`, which errors call `path`. Returns its text, as one would write it on the command line, and the value.
    ///
    /// # Errors
    /// Of another type, not of the unit, or out of range.
    fn read(key: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault>;
    /// The value where the key has no default and is not given; `None`: there has to be a default.
    fn unset() -> Option<Self> {
        None
    }
    /// Whether it is not the value of [`Accept::unset`].
    fn is_some(&self) -> bool {
        true
    }
    /// Its form in result files.
    fn json(&self, text: &str) -> Json {
        json!(text)
    }
    /// Equal for values that mean the same.
    fn meaning(&self, text: &str) -> String {
        text.to_string()
    }
    /// The components that it chooses from; none where it is something else.
    fn components() -> Vec<&'static Component> {
        Vec::new()
    }
    /// A description of the value.
    fn describe(parameter: &Parameter) -> String;
    /// JSON Schema of how it is written.
    fn schema(parameter: &Parameter) -> Json;
}

/// A value that may be missing.
impl<T: Accept> Accept for Option<T> {
    const UNIT: Unit = T::UNIT;

    fn read(key: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        T::read(key, path, node).map(|(text, value)| (text, Some(value)))
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
    /// `none`.
    None,
    /// Anything else.
    Some(T),
}

impl<T> OrNone<T> {
    /// The value that is there.
    pub fn as_option(&self) -> Option<&T> {
        match self {
            OrNone::None => None,
            OrNone::Some(value) => Some(value),
        }
    }
}

impl<T: Accept> Accept for OrNone<T> {
    const UNIT: Unit = T::UNIT;

    fn read(key: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        match node.text() {
            Some("none") => Ok(("none".to_string(), OrNone::None)),
            _ => T::read(key, path, node).map(|(text, value)| (text, OrNone::Some(value))),
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

/// Types that a [`Value`] of a parameter holds, and how they stand in files of results.
macro_rules! plain {
    ($($type:ty: $unit:expr, $value:pat => $read:expr, $json:expr;)*) => {$(
        impl Accept for $type {
            const UNIT: Unit = $unit;

            fn read(key: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
                match plain(&key.parameter, path, node)? {
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

/// Of whole numbers the declaration says the unit, and a range that the type holds.
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

/// Declares an enum whose values are written as words.
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
            /// All, by their words.
            pub const ALL: &[(&'static str, $name)] = &[$(($text, $name::$word),)*];

            /// The value of this word.
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
                key: &$crate::Key,
                path: &str,
                node: &$crate::Node,
            ) -> Result<(String, Self), $crate::Fault> {
                let (text, _) = $crate::value::plain(&key.parameter, path, node)?;
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

/// `node` as text of `parameter`'s unit, and its value.
///
/// # Errors
/// Of another type, or refused by [`Parameter::read`].
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

/// `node` written as the command line would; `None` where its type is of no use for `unit`.
fn scalar(unit: Unit, node: &Node) -> Option<String> {
    match (unit, &node.content) {
        (_, Content::Text(text)) => Some(text.clone()),
        (Unit::Count(_) | Unit::Number | Unit::Bytes, Content::Whole(text)) => Some(text.clone()),
        // Zero needs no unit.
        (Unit::Span | Unit::Rate, Content::Whole(text)) if text == "0" => Some(text.clone()),
        (Unit::Number, Content::Float(text)) => Some(text.clone()),
        (Unit::Switch, Content::Switch(on)) => Some(if *on { "on" } else { "off" }.to_string()),
        _ => None,
    }
}

fn wanted(unit: Unit, found: &Node) -> String {
    match (unit, &found.content) {
        // The probable meaning of the text.
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

/// `node` is of a type that nothing can be made of here.
pub fn wrong_type(path: &str, node: &Node, expected: &str) -> Fault {
    Fault::new(node.line, path, format!("found {}; expected {expected}", node.describe()))
}

/// `node` as one line of text that is not empty.
///
/// # Errors
/// It is anything else.
pub fn line_of_text(path: &str, node: &Node, expected: &str) -> Result<String, Fault> {
    match node.text() {
        Some(text) if !text.is_empty() && !text.chars().any(char::is_control) => Ok(text.to_string()),
        _ => Err(wrong_type(path, node, expected)),
    }
}

/// The accepted values of a parameter, by its unit.
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

/// The declared range, where it is numbers.
fn limits(schema: &mut Json, parameter: &Parameter) {
    for (limit, name) in [(parameter.min, "minimum"), (parameter.max, "maximum")] {
        if let Ok(limit) = limit.parse::<u64>() {
            schema[name] = json!(limit);
        } else if let Ok(limit) = limit.parse::<f64>() {
            schema[name] = json!(limit);
        }
    }
}

/// Adds description and default to the schema of a parameter.
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

/// JSON Schema of a span of time.
pub fn span_schema() -> Json {
    json!({ "type": "string", "pattern": SPAN })
}
