//! A study: a scenario that was read, with its axes.

use super::case::Tables;
use super::changes::Change;
use super::declare::RunChange;
use super::matrix::Dimension;
use super::origin::Origin;
use super::values::Starts;
use super::{Axis, Overrides};
use crate::expect::Expect;
use std::collections::BTreeMap;

/// A parsed scenario, whose cases are all combinations of the points of its axes.
#[derive(Clone, Debug)]
pub struct Study {
    /// Name of the scenario: its file without folder and ending, or the name of a shipped scenario.
    pub name: String,
    /// Description in one line; may be empty.
    pub title: String,
    /// Purpose; may be empty.
    pub about: String,
    /// TOML text, without the `[origin]` that a result folder appends.
    pub source: String,
    /// Axes, outermost first; the last one is `seed`.
    pub axes: Vec<Axis>,
    /// The expectations.
    pub expects: Vec<Expect>,
    /// Name of the file in errors.
    pub(super) place: String,
    /// Contents of the file.
    pub(super) tables: Tables,
    /// Axes except `seed`.
    pub(super) dimensions: Vec<Dimension>,
    pub(super) seeds: Vec<u64>,
    pub(super) starts: Starts,
    /// Shipped traces by the name of the trace that they may replace.
    pub(super) fallback: BTreeMap<String, String>,
    /// SHA-256 of each file with components, by its name.
    pub(super) component_files: BTreeMap<String, String>,
    /// Parts of Python components, as in `study.json`.
    pub(super) components: BTreeMap<String, BTreeMap<String, String>>,
    /// True if parts that cannot be compared count as equal.
    pub(super) is_unverified: bool,
    /// Values by the command line, or by `[origin]`, that replace the scenario's own.
    pub(super) origin: Origin,
    pub(super) cases: u64,
}

impl Study {
    /// Number of cases: the product of the lengths of all axes.
    pub fn case_count(&self) -> u64 {
        self.cases
    }

    /// True if the matrix varies `run.duration`, so that the command line cannot replace it.
    pub fn varies_duration(&self) -> bool {
        let mut points = self.dimensions.iter().flat_map(|axis| axis.points.iter().flatten());
        points.any(|point| matches!(point.change, Change::Run(RunChange::duration(_))))
    }

    /// SHA-256 of each file with components that the scenario names.
    pub fn component_files(&self) -> &BTreeMap<String, String> {
        &self.component_files
    }

    /// Values that replace the scenario's own: those given to [`Study::parse`], completed by `[origin]`.
    pub fn overrides(&self) -> &Overrides {
        &self.origin.overrides
    }

    /// Additional files of each case, from `[origin]`: `packets`, `series`.
    pub fn records(&self) -> &[String] {
        &self.origin.records
    }

    /// The scenario as kept in a result folder: with its name, its overrides and `records` as `[origin]`. A run of this text
    /// repeats the study.
    pub fn kept_source(&self, records: &[String]) -> String {
        let origin =
            Origin { name: Some(self.name.clone()), records: records.to_vec(), ..self.origin.clone() };
        origin.behind(&self.source)
    }

    /// Adds Python components, each with its parts as in `study.json`. With `is_unverified` a folder is continued although some
    /// part cannot be compared.
    #[must_use]
    pub fn with_components(
        self,
        components: BTreeMap<String, BTreeMap<String, String>>,
        is_unverified: bool,
    ) -> Study {
        Study { components, is_unverified, ..self }
    }

    /// Python components that the scenario names, each with its parts.
    pub fn components(&self) -> &BTreeMap<String, BTreeMap<String, String>> {
        &self.components
    }

    /// True if component parts that cannot be compared count as equal.
    pub fn is_unverified(&self) -> bool {
        self.is_unverified
    }

    /// Whether the series of cases have the state of each connection.
    pub fn has_connections(&self) -> bool {
        self.tables.run.connections.get()
    }

    /// The seeds: points of the axis `seed`.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// True if each seed draws its own places on traces and its own start times of flows.
    pub fn has_random_starts(&self) -> bool {
        self.starts.are_random(self.seeds.len())
    }

    /// With several seeds: the population that means and intervals hold for.
    pub fn population(&self) -> Option<String> {
        let what = match self.has_random_starts() {
            true => "places on the traces and start times of flows, drawn by seed",
            false => "random draws by seed; all runs begin at the start of the traces",
        };
        (self.seeds.len() > 1).then(|| what.to_string())
    }
}
