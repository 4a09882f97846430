//! The value of a key, with its line.

use crate::document::{Content, Node};
use crate::fault::Fault;
use crate::table::Key;
use crate::value::Accept;
use std::fmt::Display;
use std::sync::Arc;

/// The value of a key. A clone shares it.
#[derive(Debug)]
pub struct Setting<T> {
    key: &'static Key,
    line: u32,
    is_given: bool,
    /// The text as on the command line, and the value.
    read: Arc<(String, T)>,
}

impl<T> Clone for Setting<T> {
    fn clone(&self) -> Self {
        Self { read: Arc::clone(&self.read), ..*self }
    }
}

impl<T: Accept> Setting<T> {
    /// The default of `key`.
    ///
    /// # Panics
    /// `key` has a default that it does not accept itself, or none although a value of `T` cannot be left out.
    pub fn default_of(key: &'static Key) -> Self {
        let unset = || T::unset().map(|value| (String::new(), value));
        let read = if key.parameter.default.is_empty() {
            unset()
        } else {
            let node = Node::new(0, Content::Text(key.parameter.default.to_string()));
            T::read(key, key.path, &node).ok()
        };
        let read = read.unwrap_or_else(|| panic!("{} has no sound default", key.path));
        Self { key, line: 0, is_given: false, read: Arc::new(read) }
    }

    /// Reads `node`, which errors call `path`.
    ///
    /// # Errors
    /// The value is invalid for its type.
    pub fn read(key: &'static Key, path: &str, node: &Node) -> Result<Self, Fault> {
        Ok(Self { key, line: node.line, is_given: true, read: Arc::new(T::read(key, path, node)?) })
    }

    /// Replaces the value by one that a program gives, as `text` on a command line would.
    pub fn set(&mut self, text: impl Display, value: T) {
        *self = Self { key: self.key, line: 0, is_given: true, read: Arc::new((text.to_string(), value)) };
    }

    /// The default of its key as it is written; empty where it has none.
    pub fn default_text(&self) -> &'static str {
        self.key.parameter.default
    }
    /// The value.
    pub fn value(&self) -> &T {
        &self.read.1
    }
    /// A value that is small.
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        self.read.1
    }
    /// As on the command line; empty where there is neither a value nor a default.
    pub fn text(&self) -> &str {
        &self.read.0
    }
    /// Its line; 0 for a default and for a value from the command line.
    pub fn line(&self) -> u32 {
        self.line
    }
    /// Whether the file has it.
    pub fn is_given(&self) -> bool {
        self.is_given
    }
    /// Something wrong with it.
    pub fn fault(&self, message: impl Display) -> Fault {
        Fault::new(self.line, self.key.path, message)
    }
    /// What is said on this level, above which there is none that may differ.
    pub fn said(&self) -> Said<'_, T> {
        Said { setting: self, value: &self.read.1 }
    }
}

impl<T: Accept> Setting<Option<T>> {
    /// Whether there is a value.
    pub fn is_set(&self) -> bool {
        self.read.1.is_some()
    }
    /// This setting if it has a value, otherwise the setting of the level above.
    pub fn over<'a>(&'a self, above: Said<'a, T>) -> Said<'a, T> {
        match self.value() {
            Some(value) => Said { setting: self, value },
            None => above,
        }
    }
    /// This one where it has a value, else that of the level above it.
    pub fn or<'a>(&'a self, above: &'a Self) -> &'a Self {
        if self.is_set() { self } else { above }
    }
}

/// What holds where a key may stand on several levels, and on which level that is said.
#[derive(Debug)]
pub struct Said<'a, T> {
    setting: &'a dyn AnySetting,
    value: &'a T,
}

impl<T> Clone for Said<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Said<'_, T> {}

impl<'a, T> Said<'a, T> {
    /// The value.
    pub fn value(&self) -> &'a T {
        self.value
    }
    /// A value that is small.
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        *self.value
    }
    /// As on the command line.
    pub fn text(&self) -> &'a str {
        self.setting.text()
    }
    /// Whether the file says it.
    pub fn is_given(&self) -> bool {
        self.setting.is_given()
    }
    /// Something wrong with it, where it is said.
    pub fn fault(&self, message: impl Display) -> Fault {
        Fault::new(self.setting.line(), self.setting.key().path, message)
    }
}

/// A setting of any type.
pub trait AnySetting: std::fmt::Debug {
    /// Its key.
    fn key(&self) -> &'static Key;
    /// See [`Setting::line`].
    fn line(&self) -> u32;
    /// See [`Setting::is_given`].
    fn is_given(&self) -> bool;
    /// See [`Setting::text`].
    fn text(&self) -> &str;
    /// Whether there is a value: always, but for keys without a default.
    fn has_value(&self) -> bool;
    /// Its form in result files: numbers and switches as such, all else as text, null where there is none.
    fn json(&self) -> serde_json::Value;
    /// Equal for values of a key that mean the same.
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
