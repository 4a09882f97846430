//! `[matrix]`: keys with several values, and variants that set several keys at once.

use super::changes::{Change, Point, Target};
use super::matrix_keys::{ElementNames, Leaf, leaves};
use qdelay_config::value::wrong_type;
use qdelay_config::{Entry, Fault, Node, fault};
use std::collections::{BTreeMap, BTreeSet};

/// Most points of one axis.
const POINTS_MAX: usize = 10_000;
/// Longest label, in bytes.
const LABEL_MAX: usize = 200;

/// An axis: its points, and the settings that each point changes.
#[derive(Clone, Debug)]
pub(crate) struct Dimension {
    /// Name: `path.qdisc`, `flow.video.transport`, `variant`.
    pub name: String,
    /// Label of each point, all different.
    pub labels: Vec<String>,
    /// Changes made by each point.
    pub points: Vec<Vec<Point>>,
}

/// Reads the entries of `[matrix]`; `names` are the elements that they may name.
///
/// # Errors
/// The first mistake in the file: an unknown key or element, an invalid value, a label or value given twice.
pub(crate) fn read(entries: &[Entry], names: &ElementNames) -> Result<Vec<Dimension>, Fault> {
    let mut found: Vec<(usize, u32, Dimension)> = Vec::new();
    let (variants, axes): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|entry| entry.key == "variant");
    let leaves = leaves(&axes, "matrix", names);
    // The first fault in the file is reported, whether in an axis or in a variant.
    let mut faults: Vec<(usize, Fault)> = Vec::new();
    for leaf in leaves {
        match leaf {
            Err(fault) => faults.push(fault),
            Ok(leaf) => match axis(&leaf) {
                Ok(dimension) => found.push((leaf.entry.at, leaf.entry.line, dimension)),
                Err(fault) => faults.push((leaf.entry.at, fault)),
            },
        }
    }
    for entry in variants {
        match self::variants(entry, names) {
            Ok(dimension) => found.push((entry.at, entry.line, dimension)),
            Err(fault) => faults.push((entry.at, fault)),
        }
    }
    if let Some((_, fault)) = faults.into_iter().min_by_key(|(at, _)| *at) {
        return Err(fault);
    }
    found.sort_by_key(|(at, ..)| *at);
    refuse_shared(&found)?;
    Ok(found.into_iter().map(|(_, _, dimension)| dimension).collect())
}

/// Refuses two axes that set the same key.
fn refuse_shared(found: &[(usize, u32, Dimension)]) -> Result<(), Fault> {
    let mut seen: BTreeMap<Target, &str> = BTreeMap::new();
    for (_, line, dimension) in found {
        let targets: BTreeSet<Target> = dimension.points.iter().flatten().map(Point::target).collect();
        for target in targets {
            if let Some(other) = seen.insert(target, &dimension.name) {
                let message = format!("sets a key that {other} sets too; expected each key in one axis");
                return Err(Fault::new(*line, format!("matrix.{}", dimension.name), message));
            }
        }
    }
    Ok(())
}

fn axis(leaf: &Leaf<'_>) -> Result<Dimension, Fault> {
    let path = format!("matrix.{}", leaf.name);
    let values = match leaf.entry.value.list() {
        Some(values) if !values.is_empty() => values,
        _ => return Err(wrong_type(&path, &leaf.entry.value, "an array of one or more values")),
    };
    if values.len() > POINTS_MAX {
        let message = format!("{} values are too many; expected at most {POINTS_MAX}", values.len());
        return Err(Fault::new(leaf.entry.line, path, message));
    }
    let mut dimension = Dimension { name: leaf.name.clone(), labels: Vec::new(), points: Vec::new() };
    let (mut labels, mut meanings) = (BTreeSet::new(), BTreeSet::new());
    for node in values {
        let (label, change) = point(leaf, &path, node)?;
        let setting = change.setting();
        if !meanings.insert(setting.meaning()) {
            let message = format!("'{}' is given twice; expected each value once", setting.text());
            return Err(Fault::new(node.line, path, message));
        }
        add_label(&mut labels, &mut dimension.labels, label, &path, node.line)?;
        dimension.points.push(vec![Point { element: leaf.element, change }]);
    }
    Ok(dimension)
}

fn add_label(
    seen: &mut BTreeSet<String>,
    labels: &mut Vec<String>,
    label: String,
    path: &str,
    line: u32,
) -> Result<(), Fault> {
    if !seen.insert(label.clone()) {
        return Err(Fault::new(line, path, format!("label '{label}' is given twice; expected each once")));
    }
    labels.push(label);
    Ok(())
}

/// Reads a value of an axis: plain, or `{ label = "...", value = ... }`.
fn point(leaf: &Leaf<'_>, path: &str, node: &Node) -> Result<(String, Change), Fault> {
    // A table with `label` or `value` is a labelled value; any other table is a component.
    let entries = node.table().unwrap_or(&[]);
    if !entries.iter().any(|entry| entry.key == "label" || entry.key == "value") {
        let change = leaf.kind.read(leaf.key, path, node)?;
        return Ok((change.setting().text().to_string(), change));
    }
    if let Some(other) = entries.iter().find(|entry| entry.key != "label" && entry.key != "value") {
        return Err(fault::unknown(
            other.line,
            format!("{path}.{}", other.key),
            &other.key,
            &["label", "value"],
        ));
    }
    let find = |name: &str| entries.iter().find(|entry| entry.key == name);
    let Some(value) = find("value") else {
        return Err(Fault::new(
            node.line,
            path,
            "a label without a value; expected { label = \"...\", value = ... }",
        ));
    };
    let change = leaf.kind.read(leaf.key, path, &value.value)?;
    let label = match find("label") {
        Some(entry) => self::label(&format!("{path}.label"), &entry.value)?,
        None => change.setting().text().to_string(),
    };
    Ok((label, change))
}

/// Reads a label.
fn label(path: &str, node: &Node) -> Result<String, Fault> {
    match node.text() {
        Some(text) if !text.is_empty() && text.len() <= LABEL_MAX && !text.chars().any(char::is_control) => {
            Ok(text.to_string())
        }
        _ => Err(wrong_type(path, node, "one line of text in quotes, at most 200 bytes")),
    }
}

fn variants(entry: &Entry, names: &ElementNames) -> Result<Dimension, Fault> {
    const PATH: &str = "matrix.variant";
    let expected = "tables, each under [[matrix.variant]]";
    let list = entry.value.list().filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| wrong_type(PATH, &entry.value, expected))?;
    if list.len() > POINTS_MAX {
        let message = format!("{} variants are too many; expected at most {POINTS_MAX}", list.len());
        return Err(Fault::new(entry.line, PATH, message));
    }
    let mut dimension = Dimension { name: "variant".to_string(), labels: Vec::new(), points: Vec::new() };
    let mut seen = BTreeSet::new();
    for node in list {
        let entries = node.table().ok_or_else(|| wrong_type(PATH, node, expected))?;
        let (labels, keys): (Vec<&Entry>, Vec<&Entry>) =
            entries.iter().partition(|entry| entry.key == "label");
        // A variant sets several keys, so no single value could serve as its label.
        let Some(label) = labels.first() else {
            return Err(Fault::new(
                node.line,
                PATH,
                "no label; expected one, such as label = \"two queues\"",
            ));
        };
        let text = self::label("matrix.variant.label", &label.value)?;
        add_label(&mut seen, &mut dimension.labels, text, PATH, label.line)?;
        dimension.points.push(variant(&keys, names)?);
    }
    Ok(dimension)
}

fn variant(keys: &[&Entry], names: &ElementNames) -> Result<Vec<Point>, Fault> {
    let leaves = leaves(keys, "matrix.variant", names);
    let mut points: Vec<Point> = Vec::new();
    for leaf in leaves {
        let leaf = leaf.map_err(|(_, fault)| fault)?;
        let path = format!("matrix.variant.{}", leaf.name);
        if points.iter().any(|point| point.target() == (leaf.kind, leaf.element, leaf.key.name())) {
            return Err(Fault::new(leaf.entry.line, path, "is given twice; expected it once"));
        }
        let change = leaf.kind.read(leaf.key, &path, &leaf.entry.value)?;
        points.push(Point { element: leaf.element, change });
    }
    Ok(points)
}
