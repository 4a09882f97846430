//! Settings that remove the cause of a difference: a choice that the paper leaves open or does not report, as one stated setting
//! for a whole experiment.
//!
//! A cause that is only told explains nothing. A row is explained where its own figure, run with the setting, is within its bounds,
//! and where no row of the same section that was within its bounds is lost by that setting.

use super::checks::{By, Check};
use super::labels::{Labels, selection};
use qdelay_study::expect::Selection;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A `[[setting]]` of a paper's file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Name in claims.
    pub name: String,
    /// The section of the paper with the experiment. All claims of the section are run with the setting.
    pub section: String,
    /// The difference, and the evidence for it.
    pub cause: String,
    /// Scenarios in place of others.
    #[serde(default)]
    scenario: BTreeMap<String, String>,
    /// By axis: labels in place of others, wherever a claim names them.
    #[serde(default)]
    replace: BTreeMap<String, BTreeMap<String, String>>,
    /// Axes that the other scenarios do not have, and that claims are not to name there.
    #[serde(default)]
    without: Vec<String>,
    /// By axis: labels that are meant, where a claim does not name the axis.
    #[serde(default, rename = "where")]
    select: BTreeMap<String, Labels>,
}

/// The results of a setting for all rows of its section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettingFile {
    /// Name in rows.
    pub name: String,
    /// The section.
    pub section: String,
    /// The cause that it removes.
    pub cause: String,
    /// Rows of the section that were run.
    pub rows: u64,
    /// The rows of these that are within their bounds, or better, without it.
    pub without: u64,
    /// With it.
    pub with: u64,
    /// The rows that are within their bounds without it only. With one of them the setting explains nothing.
    pub lost: Vec<String>,
}

impl SettingFile {
    /// Effect on its section, in a sentence.
    pub fn text(&self) -> String {
        format!(
            "{}: {} of {} rows of section {} are within their bounds or better with it, {} without, and {} only without.",
            self.name,
            self.with,
            self.rows,
            self.section,
            self.without,
            self.lost.len()
        )
    }
}

impl Setting {
    /// The check as it is run with this setting.
    pub fn apply(&self, check: &Check) -> Check {
        let mut check = check.clone();
        let other = check.scenario().and_then(|scenario| self.scenario.get(scenario));
        if let Some(scenario) = other {
            check.by = By::Scenario(scenario.clone());
            for axis in &self.without {
                check.expect.select.remove(axis);
                check.expect.normalise.remove(axis);
                check.expect.alternatives.remove(axis);
            }
        }
        let replaced = |axis: &str, label: &mut String| {
            if let Some(other) = self.replace.get(axis).and_then(|labels| labels.get(label)) {
                label.clone_from(other);
            }
        };
        let all = |selection: &mut Selection| {
            for (axis, labels) in selection {
                labels.iter_mut().for_each(|label| replaced(axis, label));
            }
        };
        all(&mut check.expect.select);
        all(&mut check.expect.alternatives);
        check.expect.normalise.iter_mut().for_each(|(axis, label)| replaced(axis, label));
        for (axis, labels) in selection(&self.select) {
            check.expect.select.entry(axis).or_insert(labels);
        }
        check
    }
}
