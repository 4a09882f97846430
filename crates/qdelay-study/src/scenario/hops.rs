//! `[path]` and the tables below it: links in series in front of the bottleneck.

use super::cell::{split, tables};
use super::declare::{HOP, HOPS_MAX, PATH};
use super::document::Entry;
use super::fault::Fault;
use super::layer::Layer;
use super::setting;
use std::collections::BTreeSet;

/// A `[[path.hop]]`.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    pub name: String,
    pub line: u32,
    pub layer: Layer,
}

/// Reads `[path]`.
///
/// # Errors
/// The first thing that is wrong: an unknown key, a value that its key does not accept, a name given twice, too many hops.
pub(crate) fn read(entries: &[Entry]) -> Result<(Layer, Vec<Hop>), Fault> {
    let (layer, [entry]) = split(&PATH, entries, ["hop"])?;
    let mut hops: Vec<Hop> = Vec::new();
    let Some(entry) = entry else { return Ok((layer, hops)) };
    let list = tables(HOP.name, "[[path.hop]]", entry)?;
    if let Some(beyond) = list.get(HOPS_MAX) {
        let message = format!("{} hops are too many; expected at most {HOPS_MAX}", list.len());
        return Err(Fault::new(beyond.line, HOP.name, message));
    }
    let mut names = BTreeSet::new();
    for (index, node) in list.iter().enumerate() {
        let entries = node
            .table()
            .ok_or_else(|| setting::wrong_type(HOP.name, node, "tables, each under [[path.hop]]"))?;
        let layer = Layer::read(&HOP, entries)?;
        let given = layer.get("name");
        let (name, line) = match given.is_set() {
            true => (given.text.clone(), given.line),
            false => (format!("hop-{}", index + 1), node.line),
        };
        if HOP.position(&name).is_some() {
            let message = format!("'{name}' is the name of a key; expected another name");
            return Err(Fault::new(line, "path.hop.name", message));
        }
        if !names.insert(name.clone()) {
            let message = format!("'{name}' is given twice; expected each name once");
            return Err(Fault::new(line, "path.hop.name", message));
        }
        hops.push(Hop { name, line: node.line, layer });
    }
    Ok((layer, hops))
}
