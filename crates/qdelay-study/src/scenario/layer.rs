//! The settings of one table: what the file gives over the defaults.

use super::declare::{Key, Table};
use super::document::Entry;
use super::fault::{self, Fault};
use super::setting::Setting;

/// A setting for each key of a table, in the table's order.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    /// The table.
    pub table: &'static Table,
    /// By the place of the key.
    pub settings: Vec<Setting>,
}

impl Layer {
    /// Every default.
    pub fn defaults(table: &'static Table) -> Layer {
        Layer { table, settings: table.keys.iter().map(Setting::default_of).collect() }
    }

    /// Reads `entries`, which stand under a header of the table.
    ///
    /// # Errors
    /// An unknown key, or a value that its key does not accept: the first in the file.
    pub fn read(table: &'static Table, entries: &[Entry]) -> Result<Layer, Fault> {
        let mut layer = Layer::defaults(table);
        for entry in entries {
            let path = format!("{}.{}", table.name, entry.key);
            let (index, key) = find(table, &entry.key)
                .ok_or_else(|| fault::unknown(entry.line, &path, &entry.key, &table.names()))?;
            layer.settings[index] = Setting::read(key, &path, &entry.value)?;
        }
        Ok(layer)
    }

    /// The setting of `name`, which the table declares.
    pub fn get(&self, name: &str) -> &Setting {
        &self.settings[place(self.table, name)]
    }
}

/// The place of `name` in `table`, and its key.
pub(crate) fn find(table: &'static Table, name: &str) -> Option<(usize, &'static Key)> {
    table.position(name).map(|index| (index, &table.keys[index]))
}

/// The place of `name`, which `table` declares.
pub(crate) fn place(table: &'static Table, name: &str) -> usize {
    let index = table.position(name);
    debug_assert!(index.is_some(), "{} declares no '{name}'", table.name);
    index.unwrap_or(0)
}
