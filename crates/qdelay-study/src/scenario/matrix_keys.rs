//! Keys below `[matrix]`: the table that each key belongs to, and the element of that table which the file names.

use super::changes::Kind;
use qdelay_config::value::wrong_type;
use qdelay_config::{Entry, Fault, Key, RenamedKey, fault};

/// Names that the file gives to its hops, flows, UEs, bearers, secondary cells and slices; axes may name these elements.
#[derive(Clone, Debug, Default)]
pub(crate) struct ElementNames {
    /// The entries of `[[path.hop]]`.
    pub hops: Vec<String>,
    /// The entries of `[[flow]]`.
    pub flows: Vec<String>,
    /// The entries of `[[cell.ue]]`.
    pub ues: Vec<String>,
    /// The bearers of all UEs, each name once.
    pub bearers: Vec<String>,
    /// The entries of `[[cell.scell]]`.
    pub scells: Vec<String>,
    /// The entries of `[[cell.slice]]`.
    pub slices: Vec<String>,
    /// True if the file has a table `[cell]`.
    pub has_cell: bool,
    /// True if the file has a table `[cell.uplink]`.
    pub has_cell_uplink: bool,
}

/// A table below `[matrix]`.
struct Section {
    /// Parts of the header, without `matrix`.
    header: &'static [&'static str],
    /// The table with its keys.
    kind: Kind,
    /// Noun and names of the elements that the table has; `None` for a table that occurs once.
    elements: Option<(&'static str, ElementList)>,
    /// Condition on the file, and the error where it is not met.
    needs: Option<Need>,
}

/// A condition on the file, and the error where it is not met.
type Need = (fn(&ElementNames) -> bool, &'static str);

/// Names of the elements of one table.
type ElementList = fn(&ElementNames) -> &[String];

/// Every table below `[matrix]`; an outer table stands before the tables inside it, so that its missing header is reported first.
static SECTIONS: [Section; 10] = [
    Section::single(&["path"], Kind::Path),
    Section::several(&["path", "hop"], Kind::Hop, "hop", |names| &names.hops)
        .needing(|names| !names.hops.is_empty(), "there is no hop; expected a table [[path.hop]]"),
    Section::single(&["run"], Kind::Run),
    Section::several(&["flow"], Kind::Flow, "flow", |names| &names.flows),
    Section::single(&["cell"], Kind::Cell)
        .needing(|names| names.has_cell, "there is no cell; expected a table [cell]"),
    Section::single(&["cell", "uplink"], Kind::CellUplink).needing(
        |names| names.has_cell_uplink,
        "the cell has no uplink of its own; expected a table [cell.uplink]",
    ),
    Section::several(&["cell", "ue"], Kind::Ue, "UE", |names| &names.ues),
    Section::several(&["cell", "bearer"], Kind::Bearer, "bearer", |names| &names.bearers),
    Section::several(&["cell", "scell"], Kind::Scell, "secondary cell", |names| &names.scells),
    Section::several(&["cell", "slice"], Kind::Slice, "slice", |names| &names.slices),
];

impl Section {
    const fn single(header: &'static [&'static str], kind: Kind) -> Section {
        Section { header, kind, elements: None, needs: None }
    }

    const fn several(
        header: &'static [&'static str],
        kind: Kind,
        noun: &'static str,
        names: ElementList,
    ) -> Section {
        Section { elements: Some((noun, names)), ..Section::single(header, kind) }
    }

    const fn needing(self, is_met: fn(&ElementNames) -> bool, error: &'static str) -> Section {
        Section { needs: Some((is_met, error)), ..self }
    }

    /// The sections that the dotted key `parts` lies in, outermost first.
    fn around<'a>(parts: &'a [&str]) -> impl Iterator<Item = &'static Section> + 'a {
        SECTIONS.iter().filter(|section| parts.starts_with(section.header))
    }
}

/// A key that the matrix sets.
pub(super) struct Leaf<'a> {
    pub kind: Kind,
    /// Index of the element that the file names; `None` for all elements.
    pub element: Option<usize>,
    pub key: &'static Key,
    /// The dotted key, such as `flow.video.transport`.
    pub name: String,
    pub entry: &'a Entry,
}

/// A table, the index of one of its elements or `None` for all, and a key.
type KeyPlace = (Kind, Option<usize>, &'static Key);

/// A leaf, or a fault with its position in the file in bytes.
pub(super) type FoundLeaf<'a> = Result<Leaf<'a>, (usize, Fault)>;

/// Collects the keys below `entries`, in the order of the file. `place` is the table in errors.
pub(super) fn leaves<'a>(entries: &[&'a Entry], place: &str, names: &ElementNames) -> Vec<FoundLeaf<'a>> {
    let mut all = Vec::new();
    for entry in entries {
        descend(entry, &[], place, names, &mut all);
    }
    all.sort_by_key(|leaf| leaf.as_ref().map_or_else(|(position, _)| *position, |leaf| leaf.entry.at));
    all
}

/// Collects the keys below `entry`, which stands in the tables `above`.
fn descend<'a>(
    entry: &'a Entry,
    above: &[&'a str],
    place: &str,
    names: &ElementNames,
    all: &mut Vec<FoundLeaf<'a>>,
) {
    let parts: Vec<&str> = above.iter().copied().chain(entry.key.split('.')).collect();
    let name = parts.join(".");
    let path = format!("{place}.{name}");
    match (resolve(&parts, entry.line, &path, names), entry.value.table()) {
        (Err(fault), _) => all.push(Err((entry.at, fault))),
        (Ok(Some((kind, element, key))), _) => all.push(Ok(Leaf { kind, element, key, name, entry })),
        (Ok(None), Some(entries)) => {
            entries.iter().for_each(|entry| descend(entry, &parts, place, names, all));
        }
        (Ok(None), None) => {
            all.push(Err((entry.at, wrong_type(&path, &entry.value, "a table of keys"))));
        }
    }
}

/// The table, element and key that the dotted key `parts` names; `None` if it names a table.
fn resolve(parts: &[&str], line: u32, path: &str, names: &ElementNames) -> Result<Option<KeyPlace>, Fault> {
    let unknown = || {
        let tables = ["path", "cell", "flow", "run", "variant"];
        let known: Vec<&str> =
            tables.into_iter().filter(|table| names.has_cell || *table != "cell").collect();
        fault::unknown(line, path, parts.first().unwrap_or(&""), &known)
    };
    // A missing table is reported before the keys inside it are looked up.
    let unmet = Section::around(parts).find_map(|section| section.needs.filter(|(is_met, _)| !is_met(names)));
    if let Some((_, error)) = unmet {
        return Err(Fault::new(line, path, error));
    }
    let Some(section) = Section::around(parts).last() else { return Err(unknown()) };
    let kind = section.kind;
    let found = |element, key| Ok(Some((kind, element, varying_key(kind, key, line, path)?)));
    match (&parts[section.header.len()..], section.elements) {
        ([], _) => Ok(None),
        ([key], None) => found(None, key),
        ([key], Some(_)) if kind.table().key(key).is_some() => found(None, key),
        ([name, rest @ ..], Some((noun, elements))) if rest.len() < 2 => {
            let elements = elements(names);
            let Some(element) = elements.iter().position(|element| element == name) else {
                if let Some(renamed) = RenamedKey::find(name, &kind.table().varying()) {
                    return Err(Fault::new(line, path, renamed.message()));
                }
                let known = [kind.table().varying(), elements.iter().map(String::as_str).collect()].concat();
                let message = format!(
                    "neither a key nor the name of a {noun}; expected one of {}{}",
                    listed(&known),
                    fault::suggestion(name, known.iter().copied())
                );
                return Err(Fault::new(line, path, message));
            };
            rest.first().map_or(Ok(None), |key| found(Some(element), key))
        }
        _ => Err(unknown()),
    }
}

/// The key `name` of a table; refuses a key that no axis may vary.
fn varying_key(kind: Kind, name: &str, line: u32, path: &str) -> Result<&'static Key, Fault> {
    let varying = kind.table().varying();
    match kind.table().key(name) {
        Some(key) if !key.is_fixed => Ok(key),
        Some(_) if name == "seeds" => {
            Err(Fault::new(line, path, "seeds are always an axis; expected them in [run]"))
        }
        Some(_) => {
            let message = format!("cannot be varied; expected one of {}", varying.join(", "));
            Err(Fault::new(line, path, message))
        }
        None => Err(kind.table().unknown(line, path, name, &varying)),
    }
}

/// The words of a list in an error; of a long list, the first 30 and the number of the others.
pub(crate) fn listed(words: &[&str]) -> String {
    const WORDS_MAX: usize = 30;
    if words.len() <= WORDS_MAX {
        return words.join(", ");
    }
    format!("{} and {} more", words[..WORDS_MAX].join(", "), words.len() - WORDS_MAX)
}
