//! The settings of a table at one point on the axes.

use super::declare::Table;
use super::fault::Fault;
use super::layer::place;
use super::setting::Setting;
use qdelay_core::Span;
use serde_json::Map;

/// The settings of one table at one point.
pub(super) struct Settings<'a> {
    pub table: &'static Table,
    pub all: Vec<&'a Setting>,
}

impl<'a> Settings<'a> {
    pub fn new(table: &'static Table, base: &'a [Setting]) -> Settings<'a> {
        Settings { table, all: base.iter().collect() }
    }
    /// The setting of `name`, which the table declares.
    pub fn get(&self, name: &str) -> &'a Setting {
        self.all[place(self.table, name)]
    }
    /// A duration that has a default.
    pub fn span(&self, name: &str) -> Span {
        self.get(name).span().unwrap_or(Span::ZERO)
    }
    pub fn json(&self) -> Map<String, serde_json::Value> {
        let pairs = self.table.keys.iter().zip(&self.all);
        pairs.map(|(key, setting)| (key.parameter.name.to_string(), setting.json())).collect()
    }
    /// What is wrong with the setting of `name`.
    pub fn fault(&self, name: &str, message: impl std::fmt::Display) -> Fault {
        Fault::new(self.get(name).line, format!("{}.{name}", self.table.name), message)
    }
}
