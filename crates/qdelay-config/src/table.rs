//! Tables of keys, and the macro that declares a table.

use crate::document::{Entry, Node};
use crate::fault::{self, Fault};
use crate::key::Key;
use crate::setting::AnySetting;
use qdelay_core::component::Unit;
use serde_json::{Map, Value as Json};

/// A table of keys.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Dotted name in the header, such as `cell.ue`.
    pub name: &'static str,
    /// Purpose of the table.
    pub about: &'static str,
    /// Keys in the order of the documentation.
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
    /// The names of the keys that are not fixed.
    pub fn varying(&self) -> Vec<&'static str> {
        self.keys.iter().filter(|key| !key.is_fixed).map(Key::name).collect()
    }
    /// The fault of the unknown key `wrong` in `line`, where one of `known` is expected; a name of another program gets a hint at
    /// the key of this table.
    pub fn unknown(&self, line: u32, path: &str, wrong: &str, known: &[&str]) -> Fault {
        let meant = self.keys.iter().find(|key| key.also.contains(&wrong) && known.contains(&key.name()));
        match meant {
            Some(key) => {
                let message = format!(
                    "unknown key; expected one of {}; use '{}' instead",
                    known.join(", "),
                    key.name()
                );
                Fault::new(line, path, message)
            }
            None => fault::unknown(line, path, wrong, known),
        }
    }
    /// The rows of the documentation, as a Markdown table.
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

/// A struct that [`table!`](crate::table!) declares: a [`Setting`](crate::Setting) for each key of its table.
pub trait Settings: Clone + Sized {
    /// A new value for one of the keys.
    type Change: Clone + std::fmt::Debug;
    /// Declaration of the table.
    const TABLE: &'static Table;

    /// The settings of an empty table.
    fn defaults() -> Self;
    /// Reads a new value of `key`, one of this table; errors call the key `path`.
    ///
    /// # Errors
    /// The value is invalid for the type of the key.
    fn read_change(key: &'static Key, path: &str, node: &Node) -> Result<Self::Change, Fault>;
    /// Replaces the value of a key.
    fn set(&mut self, change: &Self::Change);
    /// The setting that a change contains.
    fn setting(change: &Self::Change) -> &dyn AnySetting;
    /// All settings, in the order of the table.
    fn each(&self) -> Vec<&dyn AnySetting>;

    /// Reads `entries`, the keys below a header of the table.
    ///
    /// # Errors
    /// The first unknown key or invalid value in the file.
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

    /// Every key with its value, as in result files.
    fn json(&self) -> Map<String, Json> {
        self.each().iter().map(|setting| (setting.key().name().to_string(), setting.json())).collect()
    }
}

/// The name of a key: the name of its field, or the name given with `as`.
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

/// Declares a table: a struct with a [`Setting`](crate::Setting) for each key, and an enum with a new value for one of them. A
/// key whose name is a Rust keyword has another field name, with the key's name after `as`.
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
                keys: &[$($crate::Key::declared::<$type>(
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
