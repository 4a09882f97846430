//! Identity of the study in a folder: the contents of `study.json`, and the differences between two of them.

use super::Options;
use crate::InputError;
use crate::results::{AxisFile, SCHEMA_VERSION, StudyFile};
use crate::scenario::Study;
use crate::scenario::overrides::{OVERRIDES, Override, SEEDS};
use crate::traces::{Library, digest_of};
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the digest algorithm in `study.json`.
const DIGESTS: &str = "sha256";

/// Why the folder of `qdelay link --out` is none of a study.
pub const OF_LINK: &str = "holds records of a link, whose traffic no run repeats";

/// Contents of `study.json` for `study`.
pub fn study_file(study: &Study, library: &Library, options: &Options, clock: Option<&str>) -> StudyFile {
    let records = [(options.packets, "packets"), (options.series, "series")];
    let records = records.into_iter().filter(|(is_written, _)| *is_written).map(|(_, name)| name.to_string());
    StudyFile {
        schema_version: SCHEMA_VERSION,
        qdelay: env!("CARGO_PKG_VERSION").to_string(),
        commit: options.commit.clone(),
        scenario: study.name.clone(),
        source: digest_of(study.source.as_bytes()),
        overrides: overrides(study, clock),
        records: records.collect(),
        traces: library.used(),
        component_files: study.component_files().clone(),
        components: study.components().clone(),
        axes: axes(study),
        cases: study.case_count(),
        digests: DIGESTS.to_string(),
    }
}

/// Changes by the command line. Seeds are an axis, so only their number is listed.
fn overrides(study: &Study, clock: Option<&str>) -> BTreeMap<String, String> {
    let changed = |declared: &Override| {
        let text = (declared.identity)(study.overrides())?;
        Some((declared.key.to_string(), text))
    };
    let clock = clock.map(|clock| ("clock".to_string(), clock.to_string()));
    OVERRIDES.iter().filter_map(changed).chain(clock).collect()
}

/// The first seed of `theirs` that `ours` lacks.
fn not_ours<'a>(theirs: &'a [AxisFile], ours: &[AxisFile]) -> Option<&'a str> {
    let ours = ours.last().map_or(&[][..], |axis| &axis.labels);
    let theirs = theirs.last().map_or(&[][..], |axis| &axis.labels);
    theirs.iter().find(|label| !ours.contains(label)).map(String::as_str)
}

/// The axes in the form of result files.
pub fn axes(study: &Study) -> Vec<AxisFile> {
    let axis =
        |axis: &crate::scenario::Axis| AxisFile { name: axis.name.clone(), labels: axis.labels.clone() };
    study.axes.iter().map(axis).collect()
}

/// Reads the text of a `study.json`, and refuses a study other than ours. The folder may have fewer seeds; the error names the
/// first other difference.
pub fn same_study(root: &Path, text: &str, ours: &StudyFile, study: &Study) -> Result<StudyFile, InputError> {
    let refuse = |what: String| {
        let message = format!("{what}; expected a folder of the same study, a new name for one, or --fresh");
        Err(InputError::new(root.display(), message))
    };
    let Ok(theirs) = serde_json::from_str::<StudyFile>(text) else {
        return refuse("has an invalid study.json".to_string());
    };
    refuse_link(root, &theirs)?;
    if let Some(what) = difference(&theirs, ours, "this") {
        return refuse(what);
    }
    if !study.is_unverified()
        && let Some(what) = incomparable(&ours.components)
    {
        let message = format!(
            "{what}; expected a new name for a folder, --fresh, or unverified=True if you know that it is the same"
        );
        return Err(InputError::new(root.display(), message));
    }
    if let Some(seed) = not_ours(&theirs.axes, &ours.axes) {
        let message = format!(
            "holds results for seed {seed}, which is not among those of this run; expected all of its seeds and more of them, a new \
             name for a folder, or --fresh"
        );
        return Err(InputError::new(root.display(), message));
    }
    // The seeds are compared above; the folder may have fewer.
    let mut expected = StudyFile { commit: theirs.commit.clone(), cases: theirs.cases, ..ours.clone() };
    if let (Some(seeds), Some(of_folder)) = (expected.axes.last_mut(), theirs.axes.last()) {
        seeds.labels.clone_from(&of_folder.labels);
    }
    match theirs.overrides.get("seeds") {
        Some(seeds) => expected.overrides.insert("seeds".to_string(), seeds.clone()),
        None => expected.overrides.remove("seeds"),
    };
    if theirs != expected {
        return refuse("holds results of another study".to_string());
    }
    Ok(theirs)
}

/// Refuses the folder of a link: `--fresh` would delete what cannot be measured again.
///
/// # Errors
/// It is one.
pub fn refuse_link(root: &Path, theirs: &StudyFile) -> Result<(), InputError> {
    match theirs.is_of_link() {
        true => Err(InputError::new(root.display(), format!("{OF_LINK}; expected a new name for a folder"))),
        false => Ok(()),
    }
}

/// The first difference between two studies, except in their axes, as a sentence about the folder of `theirs`; `ours` is called
/// `name`.
pub fn difference(theirs: &StudyFile, ours: &StudyFile, name: &str) -> Option<String> {
    // Differences that explain later ones come first: another version may change everything.
    if theirs.schema_version != ours.schema_version {
        return Some(format!(
            "holds results of schema_version {}, whose fields have other names, and {name} is {}",
            theirs.schema_version, ours.schema_version
        ));
    }
    if theirs.scenario != ours.scenario {
        return Some(format!("holds results of the scenario '{}'", theirs.scenario));
    }
    if theirs.qdelay != ours.qdelay {
        return Some(format!("holds results of version {}, and {name} is {}", theirs.qdelay, ours.qdelay));
    }
    if let (Some(theirs), Some(ours)) = (&theirs.commit, &ours.commit)
        && theirs != ours
    {
        return Some(format!("holds results of commit {theirs}, and {name} is {ours}"));
    }
    if theirs.source != ours.source {
        return Some(match name {
            "this" => format!("holds results of '{}' before it was changed", theirs.scenario),
            _ => format!("holds results of another text of the scenario '{}' than {name}", theirs.scenario),
        });
    }
    let differs = |key: &str, default: &str| {
        let of = |file: &StudyFile| file.overrides.get(key).map_or(default, |value| value).to_string();
        Some((of(theirs), of(ours))).filter(|(theirs, ours)| theirs != ours)
    };
    if let Some((theirs, ours)) = differs("clock", "simulated") {
        return Some(format!("holds results under the {theirs} clock, and {name} is {ours}"));
    }
    // The axes show other seeds.
    for key in OVERRIDES.iter().map(|declared| declared.key).filter(|key| *key != SEEDS) {
        if let Some((theirs, ours)) = differs(key, "that of the scenario") {
            let name = if name == "this" { "this run" } else { name };
            return Some(format!("holds results with {key} = {theirs}, but {name} has {ours}"));
        }
    }
    if theirs.records != ours.records {
        return Some(format!(
            "holds results with records of [{}], and {name} is with [{}]",
            theirs.records.join(", "),
            ours.records.join(", ")
        ));
    }
    if let Some(trace) = differing(&theirs.traces, &ours.traces) {
        return Some(format!("holds results on another trace '{trace}'"));
    }
    if let Some(file) = differing(&theirs.component_files, &ours.component_files) {
        return Some(format!("holds results of another file '{file}' (its SHA-256 differs)"));
    }
    other_component(&theirs.components, &ours.components, name)
}

/// Parts of components, by component.
type Components = BTreeMap<String, BTreeMap<String, String>>;

/// Prefix of the digest of a part that cannot be compared.
const UNKNOWN: &str = "unknown: ";

/// The first difference between Python components, as a sentence about the folder of `theirs`.
fn other_component(theirs: &Components, ours: &Components, name: &str) -> Option<String> {
    let component = differing(theirs, ours)?;
    let (Some(before), Some(after)) = (theirs.get(&component), ours.get(&component)) else {
        return Some(format!("holds results of another component '{component}' than {name}"));
    };
    let part = differing(before, after)?;
    let is_digest = |text: &&String| text.len() == 64;
    match (before.get(&part), after.get(&part)) {
        // These parts have versions in place of digests.
        (Some(before), Some(after)) if !is_digest(&before) && !is_digest(&after) => {
            Some(format!("holds results of '{component}' with {part} {before}, and {name} is with {after}"))
        }
        _ if name == "this" => Some(format!("holds results of '{component}' before '{part}' was changed")),
        _ => Some(format!("holds results of '{component}' with another '{part}' than {name}")),
    }
}

/// The message about a component part that cannot be compared, because its code or value is unknown; `None` if there is none.
pub fn incomparable(components: &Components) -> Option<String> {
    components.iter().find_map(|(component, parts)| {
        let (part, why) =
            parts.iter().find_map(|(part, digest)| Some((part, digest.strip_prefix(UNKNOWN)?)))?;
        Some(format!("holds results of '{component}', of which '{part}' may have changed ({why})"))
    })
}

/// A sentence for each component with a part that cannot be compared, about the first such part.
pub fn unverified(components: &Components) -> Vec<String> {
    let sentence = |(component, parts): (&String, &BTreeMap<String, String>)| {
        let mut unknown =
            parts.iter().filter_map(|(part, digest)| Some((part, digest.strip_prefix(UNKNOWN)?)));
        let (part, why) = unknown.next()?;
        Some(format!("The figures of '{component}' are not verified: '{part}' cannot be compared ({why})."))
    };
    components.iter().filter_map(sentence).collect()
}

fn differing<T: PartialEq>(one: &BTreeMap<String, T>, other: &BTreeMap<String, T>) -> Option<String> {
    let names = one.keys().chain(other.keys());
    names.into_iter().find(|name| one.get(*name) != other.get(*name)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence_for_each_component_with_an_unknown_part() {
        let component = |name: &str, parts: &[(&str, &str)]| {
            let parts = parts.iter().map(|(part, digest)| (part.to_string(), digest.to_string()));
            (name.to_string(), parts.collect())
        };
        let components: Components = [
            component("steady", &[("Steady", "0123")]),
            component("reads", &[("Reads", "4567"), ("Reads.__init__", "unknown: it reads io.open")]),
        ]
        .into();
        assert_eq!(
            unverified(&components),
            [
                "The figures of 'reads' are not verified: 'Reads.__init__' cannot be compared (it reads io.open)."
            ]
        );
    }
}
