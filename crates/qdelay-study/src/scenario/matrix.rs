//! `[matrix]`: keys with several values, and variants that set several keys at once.

use super::changes::{Change, Kind, Point, Target};
use qdelay_config::value::wrong_type;
use qdelay_config::{Entry, Fault, Key, Node, fault};
use std::collections::{BTreeMap, BTreeSet};

/// Most points of one axis.
const POINTS_MAX: usize = 10_000;
/// Longest label, in bytes.
const LABEL_MAX: usize = 200;

/// Elements with names given by the user.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The entries of `[[path.hop]]`.
    pub hops: Vec<String>,
    /// The entries of `[[flow]]`.
    pub flows: Vec<String>,
    /// Those of `[[cell.ue]]`, the names of bearers, and those of `[[cell.slice]]`; `None` without a cell.
    pub cell: Option<[Vec<String>; 3]>,
    /// Whether the cell has an uplink of its own.
    pub has_cell_uplink: bool,
}

impl Known {
    /// The table, the names and the word for `ue`, `bearer` or `slice`.
    fn of_cell(&self, kind: &str) -> (Kind, &[String], &'static str) {
        let names = |place: usize| self.cell.as_ref().map_or(&[][..], |names| names[place].as_slice());
        match kind {
            "ue" => (Kind::Ue, names(0), "UE"),
            "slice" => (Kind::Slice, names(2), "slice"),
            _ => (Kind::Bearer, names(1), "bearer"),
        }
    }
}

/// An axis: its points, and the settings of each point.
#[derive(Clone, Debug)]
pub(crate) struct Dimension {
    /// `path.qdisc`, `flow.video.transport`, `variant`.
    pub name: String,
    /// One for each point, all different.
    pub labels: Vec<String>,
    /// The settings of each point.
    pub points: Vec<Vec<Point>>,
}

/// A key that is set somewhere in the matrix.
struct Leaf<'a> {
    kind: Kind,
    which: Option<usize>,
    key: &'static Key,
    name: String,
    entry: &'a Entry,
}

/// Reads the entries of `[matrix]`; `known` are the names that they may mean.
///
/// # Errors
/// The first in the file: an unknown key or flow, a value that its key does not accept, a label or value twice.
pub(crate) fn read(entries: &[Entry], known: &Known) -> Result<Vec<Dimension>, Fault> {
    let mut found: Vec<(usize, u32, Dimension)> = Vec::new();
    let (variants, axes): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|entry| entry.key == "variant");
    let mut leaves = leaves(&axes, "matrix", known);
    leaves.sort_by_key(|leaf| leaf.as_ref().map_or_else(|(at, _)| *at, |leaf| leaf.entry.at));
    // A fault in a variant that stands before the fault of an axis comes first.
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
        match self::variants(entry, known) {
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

/// Two axes must not set the same key.
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

/// The keys below `entries`, each with the place for faults.
fn leaves<'a>(entries: &[&'a Entry], place: &str, known: &Known) -> Vec<Result<Leaf<'a>, (usize, Fault)>> {
    let mut all = Vec::new();
    for entry in entries {
        descend(entry, &[], place, known, &mut all);
    }
    all
}

fn descend<'a>(
    entry: &'a Entry,
    above: &[&'a str],
    place: &str,
    known: &Known,
    all: &mut Vec<Result<Leaf<'a>, (usize, Fault)>>,
) {
    let names: Vec<&str> = above.iter().copied().chain(entry.key.split('.')).collect();
    let name = names.join(".");
    let path = format!("{place}.{name}");
    let fail = |fault| Err((entry.at, fault));
    let key_of = |kind: Kind, key: &str, which: Option<usize>| match kind.table().key(key) {
        Some(key) if !key.is_fixed => Ok(Leaf { kind, which, key, name: name.clone(), entry }),
        Some(_) if key == "seeds" => {
            fail(Fault::new(entry.line, &path, "seeds are an axis by themselves; expected them in [run]"))
        }
        Some(_) => {
            let message = format!("cannot be varied; expected one of {}", kind.table().varying().join(", "));
            fail(Fault::new(entry.line, &path, message))
        }
        None => fail(kind.table().unknown(entry.line, &path, key, &kind.table().varying())),
    };
    let has = |kind: Kind, key: &str| kind.table().key(key).is_some();
    match names.as_slice() {
        ["path"] | ["run"] | ["flow"] => {}
        ["cell", ..] if known.cell.is_none() => {
            let message = "there is no cell; expected a table [cell]";
            return all.push(fail(Fault::new(entry.line, &path, message)));
        }
        ["cell", "uplink", ..] if !known.has_cell_uplink => {
            let message = "the cell has no uplink of its own; expected a table [cell.uplink]";
            return all.push(fail(Fault::new(entry.line, &path, message)));
        }
        ["cell", "uplink", key] => return all.push(key_of(Kind::CellUplink, key, None)),
        ["cell"] | ["cell", "uplink"] | ["cell", "ue"] | ["cell", "bearer"] | ["cell", "slice"] => {}
        ["cell", key] => return all.push(key_of(Kind::Cell, key, None)),
        ["cell", "ue", key] if has(Kind::Ue, key) => {
            return all.push(key_of(Kind::Ue, key, None));
        }
        ["cell", "bearer", key] if has(Kind::Bearer, key) => {
            return all.push(key_of(Kind::Bearer, key, None));
        }
        ["cell", "slice", key] if has(Kind::Slice, key) => {
            return all.push(key_of(Kind::Slice, key, None));
        }
        ["cell", kind @ ("ue" | "bearer" | "slice"), name] => {
            let (kind, names, what) = known.of_cell(kind);
            if !names.iter().any(|known| known == name) {
                let known = [kind.table().varying(), names.iter().map(String::as_str).collect()].concat();
                let near = fault::near(name, known.iter().copied());
                let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
                let message = format!(
                    "neither a key nor the name of a {what}; expected one of {}{hint}",
                    listed(&known)
                );
                return all.push(fail(Fault::new(entry.line, &path, message)));
            }
        }
        ["cell", kind @ ("ue" | "bearer" | "slice"), name, key] => {
            let (kind, names, _) = known.of_cell(kind);
            let position = names.iter().position(|known| known == name).unwrap_or(0);
            return all.push(key_of(kind, key, Some(position)));
        }
        ["path", "hop", ..] if known.hops.is_empty() => {
            let message = "there is no hop; expected a table [[path.hop]]";
            return all.push(fail(Fault::new(entry.line, &path, message)));
        }
        ["path", "hop"] => {}
        ["path", "hop", key] if has(Kind::Hop, key) => {
            return all.push(key_of(Kind::Hop, key, None));
        }
        ["path", "hop", name, rest @ ..] if rest.len() < 2 => {
            let position = known.hops.iter().position(|hop| hop == name);
            match (position, rest) {
                (Some(position), [key]) => {
                    return all.push(key_of(Kind::Hop, key, Some(position)));
                }
                (Some(_), _) => {}
                (None, _) => {
                    let known =
                        [Kind::Hop.table().varying(), known.hops.iter().map(String::as_str).collect()]
                            .concat();
                    let near = fault::near(name, known.iter().copied());
                    let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
                    let message = format!(
                        "neither a key nor the name of a hop; expected one of {}{hint}",
                        listed(&known)
                    );
                    return all.push(fail(Fault::new(entry.line, &path, message)));
                }
            }
        }
        ["path", key] => return all.push(key_of(Kind::Path, key, None)),
        ["run", key] => return all.push(key_of(Kind::Run, key, None)),
        ["flow", key] if has(Kind::Flow, key) => {
            return all.push(key_of(Kind::Flow, key, None));
        }
        ["flow", flow] if known.flows.iter().any(|name| name == flow) => {}
        ["flow", flow] => {
            let known =
                [Kind::Flow.table().varying(), known.flows.iter().map(String::as_str).collect()].concat();
            let near = fault::near(flow, known.iter().copied());
            let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            let message = format!(
                "neither a key of a flow nor a flow's name; expected one of {}{hint}",
                listed(&known)
            );
            return all.push(fail(Fault::new(entry.line, &path, message)));
        }
        ["flow", flow, key] => {
            let position = known.flows.iter().position(|name| name == flow).unwrap_or(0);
            return all.push(key_of(Kind::Flow, key, Some(position)));
        }
        _ => {
            let known = if known.cell.is_some() {
                &["path", "cell", "flow", "run", "variant"][..]
            } else {
                &["path", "flow", "run", "variant"][..]
            };
            return all.push(fail(fault::unknown(entry.line, &path, names.first().unwrap_or(&""), known)));
        }
    }
    match entry.value.table() {
        Some(entries) => {
            for entry in entries {
                descend(entry, &names, place, known, all);
            }
        }
        None => all.push(fail(wrong_type(&path, &entry.value, "a table of keys"))),
    }
}

/// The words, or the first of very many.
pub(crate) fn listed(words: &[&str]) -> String {
    const MOST: usize = 30;
    if words.len() <= MOST {
        return words.join(", ");
    }
    format!("{} and {} more", words[..MOST].join(", "), words.len() - MOST)
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
        dimension.points.push(vec![Point { which: leaf.which, change }]);
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

/// A value of an axis: plain, or `{ label = "...", value = ... }`.
fn point(leaf: &Leaf<'_>, path: &str, node: &Node) -> Result<(String, Change), Fault> {
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

fn variants(entry: &Entry, known: &Known) -> Result<Dimension, Fault> {
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
        let Some(label) = labels.first() else {
            return Err(Fault::new(
                node.line,
                PATH,
                "no label; expected one, such as label = \"two queues\"",
            ));
        };
        let text = self::label("matrix.variant.label", &label.value)?;
        add_label(&mut seen, &mut dimension.labels, text, PATH, label.line)?;
        dimension.points.push(variant(&keys, known)?);
    }
    Ok(dimension)
}

fn variant(keys: &[&Entry], known: &Known) -> Result<Vec<Point>, Fault> {
    let mut leaves = leaves(keys, "matrix.variant", known);
    leaves.sort_by_key(|leaf| leaf.as_ref().map_or_else(|(at, _)| *at, |leaf| leaf.entry.at));
    let mut points: Vec<Point> = Vec::new();
    for leaf in leaves {
        let leaf = leaf.map_err(|(_, fault)| fault)?;
        let path = format!("matrix.variant.{}", leaf.name);
        if points.iter().any(|point| point.target() == (leaf.kind, leaf.which, leaf.key.name())) {
            return Err(Fault::new(leaf.entry.line, path, "is given twice; expected it once"));
        }
        let change = leaf.kind.read(leaf.key, &path, &leaf.entry.value)?;
        points.push(Point { which: leaf.which, change });
    }
    Ok(points)
}
