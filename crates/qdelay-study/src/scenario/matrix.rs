//! `[matrix]`: keys with several values, and variants that set several keys at once.

use super::declare::{BEARER, CELL, FLOW, HOP, Key, PATH, RUN, SLICE, Table, UE};
use super::document::{Entry, Node};
use super::fault::{self, Fault};
use super::layer::find;
use super::setting::{self, Meaning, Setting};
use std::collections::{BTreeMap, BTreeSet};

/// Most points of one axis.
const POINTS_MAX: usize = 10_000;
/// Longest label, in bytes.
const LABEL_MAX: usize = 200;

/// Which setting a point replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// A key of `[path]`.
    Path(usize),
    /// A key of every hop.
    EveryHop(usize),
    /// A key of one `[[path.hop]]`: the entry and the key.
    Hop(usize, usize),
    /// A key of `[run]`.
    Run(usize),
    /// A key of every flow.
    EveryFlow(usize),
    /// A key of one flow: the entry and the key.
    Flow(usize, usize),
    /// A key of `[cell]`.
    Cell(usize),
    /// A key of every UE.
    EveryUe(usize),
    /// A key of one `[[cell.ue]]`: the entry and the key.
    Ue(usize, usize),
    /// A key of every bearer.
    EveryBearer(usize),
    /// A key of the bearers of one name: the name's place and the key.
    Bearer(usize, usize),
    /// A key of every slice.
    EverySlice(usize),
    /// A key of one `[[cell.slice]]`: the entry and the key.
    Slice(usize, usize),
}

impl Target {
    /// Whether it is of the cell.
    pub fn is_of_cell(self) -> bool {
        matches!(
            self,
            Target::Cell(_)
                | Target::EveryUe(_)
                | Target::Ue(..)
                | Target::EveryBearer(_)
                | Target::Bearer(..)
                | Target::EverySlice(_)
                | Target::Slice(..)
        )
    }
}

/// What has a name of the user's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The entries of `[[path.hop]]`.
    pub hops: Vec<String>,
    /// The entries of `[[flow]]`.
    pub flows: Vec<String>,
    /// Those of `[[cell.ue]]`, the names of bearers, and those of `[[cell.slice]]`; `None` without a cell.
    pub cell: Option<[Vec<String>; 3]>,
}

impl Known {
    /// The table, the names and the word for `ue`, `bearer` or `slice`.
    fn of_cell(&self, kind: &str) -> (&'static Table, &[String], &'static str) {
        let names = |place: usize| self.cell.as_ref().map_or(&[][..], |names| names[place].as_slice());
        match kind {
            "ue" => (&UE, names(0), "UE"),
            "slice" => (&SLICE, names(2), "slice"),
            _ => (&BEARER, names(1), "bearer"),
        }
    }
}

/// An axis: its points, and what each sets.
#[derive(Clone, Debug)]
pub(crate) struct Dimension {
    /// `path.qdisc`, `flow.video.transport`, `variant`.
    pub name: String,
    /// One for each point, all different.
    pub labels: Vec<String>,
    /// What each point sets.
    pub points: Vec<Vec<(Target, Setting)>>,
}

/// A key that is set somewhere in the matrix.
struct Leaf<'a> {
    target: Target,
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

/// A key that two axes set would have two values.
fn refuse_shared(found: &[(usize, u32, Dimension)]) -> Result<(), Fault> {
    let mut seen: BTreeMap<Target, &str> = BTreeMap::new();
    for (_, line, dimension) in found {
        let targets: BTreeSet<Target> =
            dimension.points.iter().flatten().map(|(target, _)| *target).collect();
        for target in targets {
            if let Some(other) = seen.insert(target, &dimension.name) {
                let message = format!("sets a key that {other} sets too; expected each key in one axis");
                return Err(Fault::new(*line, format!("matrix.{}", dimension.name), message));
            }
        }
    }
    Ok(())
}

/// The keys below `entries`, each with where a fault stands.
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
    let key_of = |table: &'static Table, key: &str, target: &dyn Fn(usize) -> Target| match find(table, key) {
        Some((index, key)) if key.varies => {
            Ok(Leaf { target: target(index), key, name: name.clone(), entry })
        }
        Some(_) if key == "seeds" => {
            fail(Fault::new(entry.line, &path, "seeds are an axis by themselves; expected them in [run]"))
        }
        Some(_) => {
            let message = format!("cannot be varied; expected one of {}", table.varying().join(", "));
            fail(Fault::new(entry.line, &path, message))
        }
        None => fail(fault::unknown(entry.line, &path, key, &table.varying())),
    };
    match names.as_slice() {
        ["path"] | ["run"] | ["flow"] => {}
        ["cell", ..] if known.cell.is_none() => {
            let message = "there is no cell; expected a table [cell]";
            return all.push(fail(Fault::new(entry.line, &path, message)));
        }
        ["cell"] | ["cell", "ue"] | ["cell", "bearer"] | ["cell", "slice"] => {}
        ["cell", key] => return all.push(key_of(&CELL, key, &Target::Cell)),
        ["cell", "ue", key] if UE.position(key).is_some() => {
            return all.push(key_of(&UE, key, &Target::EveryUe));
        }
        ["cell", "bearer", key] if BEARER.position(key).is_some() => {
            return all.push(key_of(&BEARER, key, &Target::EveryBearer));
        }
        ["cell", "slice", key] if SLICE.position(key).is_some() => {
            return all.push(key_of(&SLICE, key, &Target::EverySlice));
        }
        ["cell", kind @ ("ue" | "bearer" | "slice"), name] => {
            let (table, names, what) = known.of_cell(kind);
            if !names.iter().any(|known| known == name) {
                let known = [table.varying(), names.iter().map(String::as_str).collect()].concat();
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
            let (table, names, _) = known.of_cell(kind);
            let position = names.iter().position(|known| known == name).unwrap_or(0);
            return all.push(key_of(table, key, &|index| match *kind {
                "ue" => Target::Ue(position, index),
                "slice" => Target::Slice(position, index),
                _ => Target::Bearer(position, index),
            }));
        }
        ["path", "hop", ..] if known.hops.is_empty() => {
            let message = "there is no hop; expected a table [[path.hop]]";
            return all.push(fail(Fault::new(entry.line, &path, message)));
        }
        ["path", "hop"] => {}
        ["path", "hop", key] if HOP.position(key).is_some() => {
            return all.push(key_of(&HOP, key, &Target::EveryHop));
        }
        ["path", "hop", name, rest @ ..] if rest.len() < 2 => {
            let position = known.hops.iter().position(|hop| hop == name);
            match (position, rest) {
                (Some(position), [key]) => {
                    return all.push(key_of(&HOP, key, &|index| Target::Hop(position, index)));
                }
                (Some(_), _) => {}
                (None, _) => {
                    let known = [HOP.varying(), known.hops.iter().map(String::as_str).collect()].concat();
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
        ["path", key] => return all.push(key_of(&PATH, key, &Target::Path)),
        ["run", key] => return all.push(key_of(&RUN, key, &Target::Run)),
        ["flow", key] if FLOW.position(key).is_some() => {
            return all.push(key_of(&FLOW, key, &Target::EveryFlow));
        }
        ["flow", flow] if known.flows.iter().any(|name| name == flow) => {}
        ["flow", flow] => {
            let known = [FLOW.varying(), known.flows.iter().map(String::as_str).collect()].concat();
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
            return all.push(key_of(&FLOW, key, &|index| Target::Flow(position, index)));
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
        None => all.push(fail(setting::wrong_type(&path, &entry.value, "a table of keys"))),
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
        _ => return Err(setting::wrong_type(&path, &leaf.entry.value, "an array of one or more values")),
    };
    if values.len() > POINTS_MAX {
        let message = format!("{} values are too many; expected at most {POINTS_MAX}", values.len());
        return Err(Fault::new(leaf.entry.line, path, message));
    }
    let mut dimension = Dimension { name: leaf.name.clone(), labels: Vec::new(), points: Vec::new() };
    let (mut labels, mut meanings) = (BTreeSet::new(), BTreeSet::new());
    for node in values {
        let (label, setting) = point(leaf.key, &path, node)?;
        if !meanings.insert(meaning(&setting)) {
            let message = format!("'{}' is given twice; expected each value once", setting.text);
            return Err(Fault::new(node.line, path, message));
        }
        add_label(&mut labels, &mut dimension.labels, label, &path, node.line)?;
        dimension.points.push(vec![(leaf.target, setting)]);
    }
    Ok(dimension)
}

/// Equal for values that mean the same.
fn meaning(setting: &Setting) -> String {
    match &setting.meaning {
        Meaning::Value(value) => format!("{value:?}"),
        Meaning::Dscp(number) => number.to_string(),
        Meaning::Series(width) => format!("{width:?}"),
        Meaning::Limit(limit) => format!("{limit:?}"),
        Meaning::Percent(probability) => probability.to_string(),
        _ => setting.text.clone(),
    }
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
fn point(key: &Key, path: &str, node: &Node) -> Result<(String, Setting), Fault> {
    let entries = node.table().unwrap_or(&[]);
    if !entries.iter().any(|entry| entry.key == "label" || entry.key == "value") {
        let setting = Setting::read(key, path, node)?;
        return Ok((setting.text.clone(), setting));
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
    let setting = Setting::read(key, path, &value.value)?;
    let label = match find("label") {
        Some(entry) => self::label(&format!("{path}.label"), &entry.value)?,
        None => setting.text.clone(),
    };
    Ok((label, setting))
}

/// Reads a label.
fn label(path: &str, node: &Node) -> Result<String, Fault> {
    match node.text() {
        Some(text) if !text.is_empty() && text.len() <= LABEL_MAX && !text.chars().any(char::is_control) => {
            Ok(text.to_string())
        }
        _ => Err(setting::wrong_type(path, node, "one line of text in quotes, at most 200 bytes")),
    }
}

fn variants(entry: &Entry, known: &Known) -> Result<Dimension, Fault> {
    const PATH: &str = "matrix.variant";
    let expected = "tables, each under [[matrix.variant]]";
    let list = entry.value.list().filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| setting::wrong_type(PATH, &entry.value, expected))?;
    if list.len() > POINTS_MAX {
        let message = format!("{} variants are too many; expected at most {POINTS_MAX}", list.len());
        return Err(Fault::new(entry.line, PATH, message));
    }
    let mut dimension = Dimension { name: "variant".to_string(), labels: Vec::new(), points: Vec::new() };
    let mut seen = BTreeSet::new();
    for node in list {
        let entries = node.table().ok_or_else(|| setting::wrong_type(PATH, node, expected))?;
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

fn variant(keys: &[&Entry], known: &Known) -> Result<Vec<(Target, Setting)>, Fault> {
    let mut leaves = leaves(keys, "matrix.variant", known);
    leaves.sort_by_key(|leaf| leaf.as_ref().map_or_else(|(at, _)| *at, |leaf| leaf.entry.at));
    let mut settings: Vec<(Target, Setting)> = Vec::new();
    for leaf in leaves {
        let leaf = leaf.map_err(|(_, fault)| fault)?;
        let path = format!("matrix.variant.{}", leaf.name);
        if settings.iter().any(|(target, _)| *target == leaf.target) {
            return Err(Fault::new(leaf.entry.line, path, "is given twice; expected it once"));
        }
        settings.push((leaf.target, Setting::read(leaf.key, &path, &leaf.entry.value)?));
    }
    Ok(settings)
}
