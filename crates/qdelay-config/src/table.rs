//! Keys, tables of them, and the macro that declares a table.

use crate::document::{Entry, Node};
use crate::fault::{self, Fault};
use crate::setting::AnySetting;
use crate::value::Accept;
use qdelay_core::component::{Component, Parameter, Unit};
use serde_json::{Map, Value as Json};

/// The declaration of a key, except its name and type.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    unit: Option<Unit>,
    default: &'static str,
    min: &'static str,
    max: &'static str,
    about: &'static str,
    is_fixed: bool,
    is_required: bool,
    also: &'static [&'static str],
}

/// A key with this default, written as in a file (empty: none), that does what `about` says in one sentence.
pub const fn key(default: &'static str, about: &'static str) -> Declared {
    Declared { unit: None, default, min: "", max: "", about, is_fixed: false, is_required: false, also: &[] }
}

impl Declared {
    /// Least and largest value, written as in a file; empty for none.
    #[must_use]
    pub const fn within(self, min: &'static str, max: &'static str) -> Self {
        Self { min, max, ..self }
    }
    /// The counted or measured quantity, if the type does not determine it.
    #[must_use]
    pub const fn unit(self, unit: Unit) -> Self {
        Self { unit: Some(unit), ..self }
    }
    /// A number of these.
    #[must_use]
    pub const fn count(self, of: &'static str) -> Self {
        self.unit(Unit::Count(of))
    }
    /// A size in bytes.
    #[must_use]
    pub const fn bytes(self) -> Self {
        self.unit(Unit::Bytes)
    }
    /// It cannot be changed: by an axis of a study, or while a gateway runs.
    #[must_use]
    pub const fn fixed(self) -> Self {
        Self { is_fixed: true, ..self }
    }
    /// It has to be given where its table is.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
    /// Names of this key in other programs: they are not accepted, but the error suggests this key.
    #[must_use]
    pub const fn also(self, names: &'static [&'static str]) -> Self {
        Self { also: names, ..self }
    }
    /// The same key in a table whose values take precedence over those of the table above.
    #[must_use]
    pub const fn inherited(self) -> Self {
        Self { default: "", ..self }
    }
    /// The same key with another sentence.
    #[must_use]
    pub const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name, unit, default and range.
    pub parameter: Parameter,
    /// As errors call it: `path.rtt`.
    pub path: &'static str,
    /// See [`Declared::fixed`].
    pub is_fixed: bool,
    /// See [`Declared::required`].
    pub is_required: bool,
    /// See [`Declared::also`].
    pub also: &'static [&'static str],
    describe: fn(&Parameter) -> String,
    schema: fn(&Parameter) -> Json,
    components: fn() -> Vec<&'static Component>,
}

impl Key {
    /// A key with values of the type `T`.
    pub const fn of<T: Accept>(name: &'static str, path: &'static str, declared: Declared) -> Key {
        let Declared { unit, default, min, max, about, is_fixed, is_required, also } = declared;
        let unit = match unit {
            Some(unit) => unit,
            None => T::UNIT,
        };
        Key {
            parameter: Parameter { name, unit, default, min, max, about, source: "" },
            path,
            is_fixed,
            is_required,
            also,
            describe: T::describe,
            schema: T::schema,
            components: T::components,
        }
    }
    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.parameter.name
    }
    /// A description of its value: `duration`, `qdisc`, `true|false`.
    pub fn describe(&self) -> String {
        (self.describe)(&self.parameter)
    }
    /// The components that its value is one of; none where it is something else.
    pub fn components(&self) -> Vec<&'static Component> {
        (self.components)()
    }
    /// JSON Schema of its value, with description and default.
    pub fn schema(&self) -> Json {
        let mut schema = (self.schema)(&self.parameter);
        crate::value::describe_schema(&mut schema, &self.parameter);
        schema
    }
}

/// A table of keys.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// As in its header.
    pub name: &'static str,
    /// Its purpose.
    pub about: &'static str,
    /// Its keys, in the order they are listed.
    pub keys: &'static [Key],
}

impl Table {
    /// The key of this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.parameter.name == name)
    }
    /// The names of all keys.
    pub fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(Key::name).collect()
    }
    /// The names of those that can be changed.
    pub fn varying(&self) -> Vec<&'static str> {
        self.keys.iter().filter(|key| !key.is_fixed).map(Key::name).collect()
    }
    /// `wrong`, in `line`, which stands where one of `known` is expected: the names of keys, and what else there may be.
    pub fn unknown(&self, line: u32, path: &str, wrong: &str, known: &[&str]) -> Fault {
        let meant = self.keys.iter().find(|key| key.also.contains(&wrong) && known.contains(&key.name()));
        match meant {
            Some(key) => {
                let message = format!(
                    "unknown key; expected one of {}; here it is called '{}'",
                    known.join(", "),
                    key.name()
                );
                Fault::new(line, path, message)
            }
            None => fault::unknown(line, path, wrong, known),
        }
    }
    /// The table of the documentation.
    pub fn markdown(&self) -> String {
        let mut text = String::from(
            "| key | value | default | range | what it does |\n| --- | --- | --- | --- | --- |\n",
        );
        for key in self.keys {
            let parameter = &key.parameter;
            let value = key.describe().replace('|', "\\|");
            let default = match (parameter.default, parameter.unit) {
                ("", _) => String::new(),
                (default, Unit::Switch) => format!("`{}`", default == "on"),
                (default, _) => format!("`{default}`"),
            };
            let ranged = !(parameter.min.is_empty() && parameter.max.is_empty());
            let range = if ranged { parameter.range() } else { String::new() };
            text +=
                &format!("| `{}` | {value} | {default} | {range} | {} |\n", parameter.name, parameter.about);
        }
        text
    }
}

/// A struct that [`table!`](crate::table!) has made: a [`Setting`](crate::Setting) for each key of its table.
pub trait Settings: Clone + Sized {
    /// A value for one of the keys.
    type Change: Clone + std::fmt::Debug;
    /// Its table.
    const TABLE: &'static Table;

    /// Every default.
    fn defaults() -> Self;
    /// Reads a value of `key`, which is of the table, and which errors call `path`.
    ///
    /// # Errors
    /// The value is invalid for its type.
    fn read_change(key: &'static Key, path: &str, node: &Node) -> Result<Self::Change, Fault>;
    /// Replaces the value of a key.
    fn set(&mut self, change: &Self::Change);
    /// The value for a key.
    fn setting(change: &Self::Change) -> &dyn AnySetting;
    /// All settings, in the order of the table.
    fn each(&self) -> Vec<&dyn AnySetting>;

    /// Reads `entries`, which stand under a header of the table.
    ///
    /// # Errors
    /// An unknown key, or a value that its key does not accept: the first in the file.
    fn read<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Result<Self, Fault> {
        let mut settings = Self::defaults();
        for entry in entries {
            let path = format!("{}.{}", Self::TABLE.name, entry.key);
            let key = Self::TABLE
                .key(&entry.key)
                .ok_or_else(|| Self::TABLE.unknown(entry.line, &path, &entry.key, &Self::TABLE.names()))?;
            settings.set(&Self::read_change(key, &path, &entry.value)?);
        }
        Ok(settings)
    }

    /// Every key with its value, in the form of result files.
    fn json(&self) -> Map<String, Json> {
        self.each().iter().map(|setting| (setting.key().name().to_string(), setting.json())).collect()
    }
}

/// The name of a key: that of its field, unless another is given.
#[doc(hidden)]
#[macro_export]
macro_rules! name_of {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident as $called:literal) => {
        $called
    };
}

/// Declares a table: a struct with a [`Setting`](crate::Setting) for each key, and an enum with a value for one of them. A key
/// whose name cannot be that of a field has it behind `as`.
///
/// ```
/// use qdelay_config::{Settings, document, key, table};
/// use qdelay_core::Span;
///
/// table! {
///     /// `[run]`.
///     pub struct Run, RunChange = "run", "for how long" {
///         duration: Span = key("60s", "Simulated time.").within("1ms", "1440min");
///         stop: Option<Span> = key("", "When to stop.");
///     }
/// }
/// let entries = document::parse("duration = \"5s\"").unwrap();
/// let run = Run::read(&entries).unwrap();
/// assert_eq!((run.duration.get(), run.duration.line(), run.stop.get()), (Span::from_secs(5), 1, None));
/// let wrong = document::parse("duration = \"5h\"").unwrap();
/// assert!(Run::read(&wrong).unwrap_err().message.starts_with("run.duration: '5h': "));
/// ```
#[macro_export]
macro_rules! table {
    ($(#[$doc:meta])* $vis:vis struct $table:ident, $change:ident = $name:literal, $about:literal {
        $($field:ident $(as $called:literal)?: $type:ty = $declared:expr;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "each key is declared with a sentence")]
        $vis struct $table {
            $($vis $field: $crate::Setting<$type>,)*
        }

        #[doc = concat!("A value for one key of `", $name, "`.")]
        #[derive(Clone, Debug)]
        #[allow(non_camel_case_types, missing_docs, reason = "the names are those of keys")]
        $vis enum $change {
            $($field($crate::Setting<$type>),)*
        }

        impl $crate::Settings for $table {
            type Change = $change;
            const TABLE: &'static $crate::Table = &$crate::Table {
                name: $name,
                about: $about,
                keys: &[$($crate::Key::of::<$type>(
                    $crate::name_of!($field $(as $called)?),
                    concat!($name, ".", $crate::name_of!($field $(as $called)?)),
                    $declared,
                ),)*],
            };
            fn defaults() -> Self {
                let mut keys = <Self as $crate::Settings>::TABLE.keys.iter();
                Self { $($field: $crate::Setting::default_of(keys.next().expect(stringify!($field))),)* }
            }
            fn read_change(
                key: &'static $crate::Key,
                path: &str,
                node: &$crate::Node,
            ) -> Result<Self::Change, $crate::Fault> {
                match key.name() {
                    $($crate::name_of!($field $(as $called)?) => Ok($change::$field($crate::Setting::read(key, path, node)?)),)*
                    other => unreachable!("{} has no key {other}", $name),
                }
            }
            fn set(&mut self, change: &Self::Change) {
                match change {
                    $($change::$field(setting) => self.$field = setting.clone(),)*
                }
            }
            fn setting(change: &Self::Change) -> &dyn $crate::AnySetting {
                match change {
                    $($change::$field(setting) => setting,)*
                }
            }
            fn each(&self) -> Vec<&dyn $crate::AnySetting> {
                vec![$(&self.$field as &dyn $crate::AnySetting,)*]
            }
        }
    };
}
