//! Several result folders on one set of axes.

use super::load::{Folder, LoadedCase};
use qdelay_study::results::{AxisFile, CaseSummary};
use qdelay_study::same_runs;
use serde_json::Value;
use std::collections::BTreeMap;

/// Name of the axis that several folders make.
pub(super) const FOLDER_AXIS: &str = "folder";
/// Name of the axis that is averaged over.
pub(super) use qdelay_study::same_runs::SEED as SEED_AXIS;
/// The label for an axis that a folder does not have.
pub(super) const NOT_THERE: &str = "—";

/// Folders whose cases all have a point on every axis.
pub(super) struct Study {
    pub folders: Vec<Folder>,
    /// The axes of all folders; `folder` is first where there are several, `seed` last.
    pub axes: Vec<AxisFile>,
    pub cases: Vec<Placed>,
}

/// A case and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub folder: usize,
    /// The number of the case in its folder.
    pub case: usize,
    /// Index of its label on each axis.
    pub at: Vec<usize>,
    /// The first of [`Study::cases`] of another seed that is the same run.
    pub same: Option<usize>,
    /// Every key of the configuration, flat: `path.rtt` to `10ms`, `flow.video.transport` to `cubic`.
    pub settings: BTreeMap<String, String>,
}

impl Study {
    pub(super) fn from_folders(folders: Vec<Folder>) -> Study {
        let mut names: Vec<String> = Vec::new();
        if folders.len() > 1 {
            names.push(FOLDER_AXIS.to_string());
        }
        for axis in folders.iter().flat_map(|folder| &folder.summary.axes) {
            if !names.contains(&axis.name) && axis.name != SEED_AXIS {
                names.push(axis.name.clone());
            }
        }
        if folders.iter().any(|folder| folder.summary.axes.iter().any(|axis| axis.name == SEED_AXIS)) {
            names.push(SEED_AXIS.to_string());
        }
        let mut axes: Vec<AxisFile> =
            names.into_iter().map(|name| AxisFile { labels: known_labels(&folders, &name), name }).collect();
        let several = folders.len() > 1;
        let mut cases = Vec::new();
        for (folder_index, folder) in folders.iter().enumerate() {
            let before = cases.len();
            let firsts = same_runs::first_equals(&folder.summary.cases);
            for (case_index, case) in folder.cases.iter().enumerate() {
                let mut settings = flat(&case.run.settings);
                settings.extend(clock_settings(folder));
                let mut at = Vec::with_capacity(axes.len());
                for (axis_index, axis) in axes.iter_mut().enumerate() {
                    let label = if several && axis_index == 0 {
                        folder.name.clone()
                    } else {
                        label_of(case, &settings, &axis.name)
                    };
                    at.push(index_of(&mut axis.labels, label));
                }
                let first = firsts.get(case_index).filter(|first| **first != case_index);
                let same = first.map(|first| before + first);
                cases.push(Placed { folder: folder_index, case: case_index, at, same, settings });
            }
        }
        Study { folders, axes, cases }
    }

    /// Whether all folders are records of links, whose flows are the two directions.
    pub(super) fn is_of_links(&self) -> bool {
        self.folders.iter().all(|folder| folder.summary.is_of_link())
    }

    /// The figures of a case.
    pub(super) fn figures(&self, placed: &Placed) -> &CaseSummary {
        &self.folders[placed.folder].cases[placed.case].summary
    }

    /// The colour axis: the discipline if it varies, otherwise another axis that varies.
    pub(super) fn colour_axis(&self) -> Option<usize> {
        let varies = |axis: &AxisFile| axis.labels.len() > 1;
        let named = |name: &str| self.axes.iter().position(|axis| axis.name == name && varies(axis));
        ["path.qdisc", "variant", "flow.transport"]
            .iter()
            .find_map(|name| named(name))
            .or_else(|| self.axes.iter().position(|axis| axis.name != SEED_AXIS && varies(axis)))
    }
}

/// The labels that the folders declare for an axis, in order of their first appearance.
fn known_labels(folders: &[Folder], name: &str) -> Vec<String> {
    let mut labels = Vec::new();
    for folder in folders {
        if folders.len() > 1 && name == FOLDER_AXIS {
            index_of(&mut labels, folder.name.clone());
        } else if let Some(axis) = folder.summary.axes.iter().find(|axis| axis.name == name) {
            axis.labels.iter().for_each(|label| {
                index_of(&mut labels, label.clone());
            });
        }
    }
    labels
}

/// A folder without the axis has the value that it ran with as its only point.
fn label_of(case: &LoadedCase, settings: &BTreeMap<String, String>, axis: &str) -> String {
    let settled = || settings.get(axis).cloned();
    let seed = || settings.get("run.seed").filter(|_| axis == SEED_AXIS).cloned();
    case.summary
        .labels
        .get(axis)
        .cloned()
        .or_else(settled)
        .or_else(seed)
        .unwrap_or_else(|| NOT_THERE.to_string())
}

fn index_of(labels: &mut Vec<String>, label: String) -> usize {
    labels.iter().position(|known| *known == label).unwrap_or_else(|| {
        labels.push(label);
        labels.len() - 1
    })
}

/// A note for a folder that was run under a real clock, with the number of trustworthy cases.
fn clock_settings(folder: &Folder) -> Vec<(String, String)> {
    let Some(clock) = &folder.summary.clock else { return Vec::new() };
    let trusted = folder.cases.iter().filter(|case| case.summary.trustworthy == Some(true)).count();
    let verdict = format!("{trusted} of {} cases", folder.cases.len());
    let mut settings =
        vec![("run.clock".to_string(), clock.clone()), ("run.trustworthy".to_string(), verdict)];
    let changed: Vec<&str> = folder
        .cases
        .iter()
        .filter(|case| case.summary.changes > 0)
        .map(|case| case.summary.id.as_str())
        .collect();
    if !changed.is_empty() {
        settings.push(("run.changed_by_hand".to_string(), changed.join(", ")));
    }
    let audit = folder.cases.first().and_then(|case| case.run.audit.as_ref());
    if let Some((grade, bound)) = audit.and_then(|audit| audit.grade.as_ref().zip(audit.delays_hold_to_ms)) {
        settings.push(("run.verdict".to_string(), format!("{grade}, delays hold to {bound:.2} ms")));
    }
    settings
}

/// Nested keys with dots between; the entries of a list by their `name`, or their number.
pub(super) fn flat(value: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    flatten("", value, &mut found);
    found
}

fn flatten(key: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    let under = |name: &str| if key.is_empty() { name.to_string() } else { format!("{key}.{name}") };
    match value {
        Value::Object(entries) => {
            entries.iter().for_each(|(name, entry)| flatten(&under(name), entry, found))
        }
        Value::Array(entries) => entries.iter().enumerate().for_each(|(index, entry)| {
            let name = entry
                .get("name")
                .and_then(Value::as_str)
                .map_or_else(|| (index + 1).to_string(), str::to_string);
            flatten(&under(&name), entry, found);
        }),
        Value::String(text) => drop(found.insert(key.to_string(), text.clone())),
        Value::Null => drop(found.insert(key.to_string(), "unset".to_string())),
        other => drop(found.insert(key.to_string(), other.to_string())),
    }
}
