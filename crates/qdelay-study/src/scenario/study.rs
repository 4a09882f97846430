//! A study: a scenario that was read, with its axes.

use super::case::Tables;
use super::changes::Change;
use super::declare::RunChange;
use super::matrix::Dimension;
use super::origin::Origin;
use super::values::Starts;
use super::{Axis, Overrides, read};
use crate::InputError;
use crate::expect::Expect;
use qdelay_core::component::Registry;
use std::collections::BTreeMap;

/// A scenario that was read: the cases are every combination of the points of its axes.
#[derive(Clone, Debug)]
pub struct Study {
    /// The scenario's name: that of its file without folder and ending, or of a shipped one.
    pub name: String,
    /// A description in one line; may be empty.
    pub title: String,
    /// Its purpose; may be empty.
    pub about: String,
    /// The TOML text, without what a folder's copy says of the command line.
    pub source: String,
    /// Outermost first; the last one is `seed`.
    pub axes: Vec<Axis>,
    /// The expectations.
    pub expects: Vec<Expect>,
    /// The name of the file in errors.
    pub(super) place: String,
    /// The contents of the file.
    pub(super) tables: Tables,
    /// The axes but the seed's.
    pub(super) dimensions: Vec<Dimension>,
    pub(super) seeds: Vec<u64>,
    pub(super) starts: Starts,
    /// Substitutes: shipped traces by the name of the trace that they replace.
    pub(super) fallback: BTreeMap<String, String>,
    /// The files of components, each with its digest.
    pub(super) component_files: BTreeMap<String, String>,
    /// The parts of components of Python, as `study.json` has them.
    pub(super) components: BTreeMap<String, BTreeMap<String, String>>,
    /// Whether parts that cannot be compared count as the same.
    pub(super) is_unverified: bool,
    /// What the command line or the file said in place of the scenario's own.
    pub(super) origin: Origin,
    pub(super) cases: u64,
}

impl Study {
    /// Reads a scenario; `name` is its file as the user gave it, or the name of a shipped one.
    ///
    /// # Errors
    /// The first mistake, with its line and what was expected.
    pub fn parse(name: &str, text: &str, overrides: &Overrides) -> Result<Study, InputError> {
        Study::parse_with(name, text, overrides, &Registry::new())
    }

    /// As [`Study::parse`], where the scenario may name components of `registry` too.
    ///
    /// # Errors
    /// As [`Study::parse`].
    pub fn parse_with(
        name: &str,
        text: &str,
        overrides: &Overrides,
        registry: &Registry,
    ) -> Result<Study, InputError> {
        read::study(name, text, overrides, registry).map_err(|fault| fault.of(name))
    }

    /// How many cases there are: the product of all axes.
    pub fn case_count(&self) -> u64 {
        self.cases
    }

    /// Whether its matrix varies `run.duration`, so that no other one can take its place.
    pub fn varies_duration(&self) -> bool {
        let mut points = self.dimensions.iter().flat_map(|axis| axis.points.iter().flatten());
        points.any(|point| matches!(point.change, Change::Run(RunChange::duration(_))))
    }

    /// The files of the components that it names, by these names, each with its SHA-256.
    pub fn component_files(&self) -> &BTreeMap<String, String> {
        &self.component_files
    }

    /// The changes with which it was read: those that were given, and those that the file says of the run that it is of.
    pub fn overrides(&self) -> &Overrides {
        &self.origin.overrides
    }

    /// What the file says is written beside the summaries, in the run that it is of: `packets`, `series`.
    pub fn records(&self) -> &[String] {
        &self.origin.records
    }

    /// The scenario with its name, the changes with which it was read, and `records`: run by itself it is this study.
    pub fn kept_source(&self, records: &[String]) -> String {
        let origin =
            Origin { name: Some(self.name.clone()), records: records.to_vec(), ..self.origin.clone() };
        origin.behind(&self.source)
    }

    /// The same study with components of Python, each with its parts as `study.json` has them. `is_unverified`: whether a folder is
    /// continued although it has a part that cannot be compared.
    #[must_use]
    pub fn with_components(
        self,
        components: BTreeMap<String, BTreeMap<String, String>>,
        is_unverified: bool,
    ) -> Study {
        Study { components, is_unverified, ..self }
    }

    /// The components of Python that it names, each with its parts.
    pub fn components(&self) -> &BTreeMap<String, BTreeMap<String, String>> {
        &self.components
    }

    /// Whether parts of components that cannot be compared count as the same.
    pub fn is_unverified(&self) -> bool {
        self.is_unverified
    }

    /// Whether the series of cases have the state of each connection.
    pub fn has_connections(&self) -> bool {
        self.tables.run.connections.get()
    }

    /// The points of the axis `seed`.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// Whether each seed begins at places of its own, and its flows at times of their own.
    pub fn has_random_starts(&self) -> bool {
        self.starts.are_random(self.seeds.len())
    }

    /// With several seeds: of what their intervals hold the mean.
    pub fn population(&self) -> Option<String> {
        let what = match self.has_random_starts() {
            true => "places on the traces and start times of flows, drawn by seed",
            false => "random draws by seed; all runs begin at the start of the traces",
        };
        (self.seeds.len() > 1).then(|| what.to_string())
    }
}
