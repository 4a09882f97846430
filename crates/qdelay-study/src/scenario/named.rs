//! Tables that may occur several times, each with a name from the file or a numbered default name.

use super::declare::Settings;
use qdelay_config::value::wrong_type;
use qdelay_config::{Entry, Fault, Node};
use std::collections::BTreeSet;

/// A table with its name.
#[derive(Clone, Debug)]
pub(crate) struct Named<T> {
    pub name: String,
    /// Line of the header.
    pub line: u32,
    pub keys: T,
}

/// Names that are already used.
pub(super) struct Names {
    seen: BTreeSet<String>,
    /// A reserved name, and the text that explains it in an error.
    reserved: Option<(&'static str, &'static str)>,
}

impl Names {
    pub fn new() -> Names {
        Names { seen: BTreeSet::new(), reserved: None }
    }

    /// Names for tables with a reserved name.
    pub fn without(name: &'static str, means: &'static str) -> Names {
        Names { reserved: Some((name, means)), ..Names::new() }
    }

    /// The table `keys`, which begins in `line`, with its given name or else `default`.
    ///
    /// # Errors
    /// The name is given twice, equals the name of a key, or is reserved.
    pub fn assign<T: Settings>(&mut self, keys: T, line: u32, default: &str) -> Result<Named<T>, Fault> {
        let given =
            keys.each().into_iter().find(|setting| setting.key().name() == "name" && setting.has_value());
        let (name, at) = match given {
            Some(given) => (given.text().to_string(), given.line()),
            None => (default.to_string(), line),
        };
        let fail = |message: String| Err(Fault::new(at, format!("{}.name", T::TABLE.name), message));
        if let Some((_, means)) = self.reserved.filter(|(reserved, _)| *reserved == name) {
            return fail(format!("'{name}' {means}; expected another name"));
        }
        if T::TABLE.key(&name).is_some() {
            return fail(format!("'{name}' is the name of a key; expected another name"));
        }
        if !self.seen.insert(name.clone()) {
            return fail(format!("'{name}' is given twice; expected each name once"));
        }
        Ok(Named { name, line, keys })
    }
}

/// The headers expected in a file, for errors.
fn expected<T: Settings>() -> String {
    format!("tables, each under [[{}]]", T::TABLE.name)
}

/// The entries of one table of the kind `T`.
///
/// # Errors
/// The value is not a table.
pub(super) fn entries<T: Settings>(node: &Node) -> Result<&[Entry], Fault> {
    node.table().ok_or_else(|| wrong_type(T::TABLE.name, node, &expected::<T>()))
}

/// Splits entries into the keys of the table `T`, and the entries of the tables below it.
///
/// # Errors
/// The first unknown key or invalid value.
pub(super) fn split<'a, T: Settings, const N: usize>(
    entries: &'a [Entry],
    below: [&str; N],
) -> Result<(T, [Option<&'a Entry>; N]), Fault> {
    let own = || entries.iter().filter(|entry| !below.contains(&entry.key.as_str()));
    if let Some(wrong) = own().find(|entry| T::TABLE.key(&entry.key).is_none()) {
        let known: Vec<&str> = T::TABLE.names().into_iter().chain(below).collect();
        let path = format!("{}.{}", T::TABLE.name, wrong.key);
        return Err(T::TABLE.unknown(wrong.line, &path, &wrong.key, &known));
    }
    Ok((T::read(own())?, below.map(|name| entries.iter().find(|entry| entry.key == name))))
}

/// The tables of kind `T` in `entry`; at least one.
///
/// # Errors
/// There is no such table, or its header is missing.
pub(super) fn tables<T: Settings>(entry: &Entry) -> Result<&[Node], Fault> {
    if entry.value.table().is_some() {
        let message = format!("header is missing; expected [[{}]] before its keys and tables", T::TABLE.name);
        return Err(Fault::new(entry.line, T::TABLE.name, message));
    }
    let list = entry.value.list().filter(|list| !list.is_empty());
    list.ok_or_else(|| wrong_type(T::TABLE.name, &entry.value, &expected::<T>()))
}
