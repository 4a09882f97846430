//! Keys and their declarations.

use crate::value::Accept;
use qdelay_core::component::{Component, Parameter, Unit};
use serde_json::Value as Json;

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

/// Declares a key with a default, written as in a file (empty for none), and a description of one sentence.
pub const fn key(default: &'static str, about: &'static str) -> Declared {
    Declared { unit: None, default, min: "", max: "", about, is_fixed: false, is_required: false, also: &[] }
}

impl Declared {
    /// Sets the smallest and largest accepted value, written as in a file; empty for no bound.
    #[must_use]
    pub const fn within(self, min: &'static str, max: &'static str) -> Self {
        Self { min, max, ..self }
    }
    /// Sets the unit or the counted quantity, if the type does not determine it.
    #[must_use]
    pub const fn unit(self, unit: Unit) -> Self {
        Self { unit: Some(unit), ..self }
    }
    /// Declares a whole number of the items that `of` names in the plural.
    #[must_use]
    pub const fn count(self, of: &'static str) -> Self {
        self.unit(Unit::Count(of))
    }
    /// Declares a size in bytes.
    #[must_use]
    pub const fn bytes(self) -> Self {
        self.unit(Unit::Bytes)
    }
    /// Marks the key as fixed: no axis of a study varies it, and a running gateway does not change it.
    #[must_use]
    pub const fn fixed(self) -> Self {
        Self { is_fixed: true, ..self }
    }
    /// Marks the key as required wherever its table occurs.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
    /// Adds names of this key in other programs; a file that uses one gets an error that suggests this key.
    #[must_use]
    pub const fn also(self, names: &'static [&'static str]) -> Self {
        Self { also: names, ..self }
    }
    /// Declares the key again in an inner table, whose value overrides that of the outer table.
    #[must_use]
    pub const fn inherited(self) -> Self {
        Self { default: "", ..self }
    }
    /// Replaces the description.
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
    /// Dotted path in errors, such as `path.rtt`.
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
    pub const fn declared<T: Accept>(name: &'static str, path: &'static str, declared: Declared) -> Key {
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
    /// Name of the key.
    pub const fn name(&self) -> &'static str {
        self.parameter.name
    }
    /// Kind of value in the documentation: `duration`, `qdisc`, `true|false`.
    pub fn describe(&self) -> String {
        (self.describe)(&self.parameter)
    }
    /// Components that the value may name; empty for other values.
    pub fn components(&self) -> Vec<&'static Component> {
        (self.components)()
    }
    /// JSON Schema of the value, with description and default.
    pub fn schema(&self) -> Json {
        let mut schema = (self.schema)(&self.parameter);
        crate::value::describe_schema(&mut schema, &self.parameter);
        schema
    }
}
