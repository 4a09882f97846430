//! The value of a key, with the line where it stands.

use crate::document::{Content, Node};
use crate::fault::Fault;
use crate::key::Key;
use crate::value::Accept;
use std::fmt::Display;
use std::sync::Arc;

/// The value of a key. Clones share the value.
#[derive(Debug)]
pub struct Setting<T> {
    key: &'static Key,
    line: u32,
    is_given: bool,
    /// Text as typed on the command line, and the value.
    read: Arc<(String, T)>,
}

impl<T> Clone for Setting<T> {
    fn clone(&self) -> Self {
        Self { read: Arc::clone(&self.read), ..*self }
    }
}

impl<T: Accept> Setting<T> {
    /// The setting with the default of `key`.
    ///
    /// # Panics
    /// `key` does not accept its own default, or has no default although `T` has no value for a missing key.
    pub fn default_of(key: &'static Key) -> Self {
        let unset = || T::unset().map(|value| (String::new(), value));
        let read = if key.parameter.default.is_empty() {
            unset()
        } else {
            let node = Node::new(0, Content::Text(key.parameter.default.to_string()));
            T::read(&key.parameter, key.path, &node).ok()
        };
        let read = read.unwrap_or_else(|| panic!("{} has no sound default", key.path));
        Self { key, line: 0, is_given: false, read: Arc::new(read) }
    }

    /// Reads the value `node`; errors call the key `path`.
    ///
    /// # Errors
    /// The value is invalid for the type.
    pub fn read(key: &'static Key, path: &str, node: &Node) -> Result<Self, Fault> {
        Ok(Self {
            key,
            line: node.line,
            is_given: true,
            read: Arc::new(T::read(&key.parameter, path, node)?),
        })
    }

    /// Replaces the value by one that a program sets; `text` is the same value as typed on the command line.
    pub fn set(&mut self, text: impl Display, value: T) {
        *self = Self { key: self.key, line: 0, is_given: true, read: Arc::new((text.to_string(), value)) };
    }

    /// Default of the key, as written in a file; empty for no default.
    pub fn default_text(&self) -> &'static str {
        self.key.parameter.default
    }
    /// The value.
    pub fn value(&self) -> &T {
        &self.read.1
    }
    /// A copy of the value.
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        self.read.1
    }
    /// Text as typed on the command line; empty without a value and a default.
    pub fn text(&self) -> &str {
        &self.read.0
    }
    /// Line in the file; 0 for a default and for a value from the command line.
    pub fn line(&self) -> u32 {
        self.line
    }
    /// True if the file or the command line sets the key, false for a default.
    pub fn is_given(&self) -> bool {
        self.is_given
    }
    /// Creates a fault of this key at the line of the value.
    pub fn fault(&self, message: impl Display) -> Fault {
        Fault::new(self.line, self.key.path, message)
    }
    /// The value at the topmost level, which no other level overrides.
    pub fn effective(&self) -> Effective<'_, T> {
        Effective { setting: self, value: &self.read.1 }
    }
}

impl<T: Accept> Setting<Option<T>> {
    /// True if the key has a value.
    pub fn is_set(&self) -> bool {
        self.read.1.is_some()
    }
    /// The value of this setting; without one, the value inherited from the level `above`.
    pub fn or_inherit<'a>(&'a self, above: Effective<'a, T>) -> Effective<'a, T> {
        match self.value() {
            Some(value) => Effective { setting: self, value },
            None => above,
        }
    }
    /// This setting if it has a value, otherwise the setting of the level `above`.
    pub fn or<'a>(&'a self, above: &'a Self) -> &'a Self {
        if self.is_set() { self } else { above }
    }
}

/// The effective value of a key that may be set at several levels, and the setting that it comes from.
#[derive(Debug)]
pub struct Effective<'a, T> {
    setting: &'a dyn AnySetting,
    value: &'a T,
}

impl<T> Clone for Effective<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Effective<'_, T> {}

impl<'a, T> Effective<'a, T> {
    /// The value.
    pub fn value(&self) -> &'a T {
        self.value
    }
    /// A copy of the value.
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        *self.value
    }
    /// Text as typed on the command line.
    pub fn text(&self) -> &'a str {
        self.setting.text()
    }
    /// True if the file sets the key at the level that the value comes from.
    pub fn is_given(&self) -> bool {
        self.setting.is_given()
    }
    /// Creates a fault at the line of the setting that the value comes from.
    pub fn fault(&self, message: impl Display) -> Fault {
        Fault::new(self.setting.line(), self.setting.key().path, message)
    }
}

/// A setting of any type.
pub trait AnySetting: std::fmt::Debug {
    /// The key that the setting belongs to.
    fn key(&self) -> &'static Key;
    /// See [`Setting::line`].
    fn line(&self) -> u32;
    /// See [`Setting::is_given`].
    fn is_given(&self) -> bool;
    /// See [`Setting::text`].
    fn text(&self) -> &str;
    /// True if there is a value; false only for a key without a default that is not set.
    fn has_value(&self) -> bool;
    /// The value in result files: numbers and booleans as such, everything else as text, null without a value.
    fn json(&self) -> serde_json::Value;
    /// A canonical text, equal for values with the same meaning.
    fn meaning(&self) -> String;
}

impl<T: Accept> AnySetting for Setting<T> {
    fn key(&self) -> &'static Key {
        self.key
    }
    fn line(&self) -> u32 {
        self.line
    }
    fn is_given(&self) -> bool {
        self.is_given
    }
    fn text(&self) -> &str {
        &self.read.0
    }
    fn has_value(&self) -> bool {
        self.read.1.is_some()
    }
    fn json(&self) -> serde_json::Value {
        self.read.1.json(&self.read.0)
    }
    fn meaning(&self) -> String {
        self.read.1.meaning(&self.read.0)
    }
}
