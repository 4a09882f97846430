//! A scenario file, read to a [`Study`].

use super::case::Tables;
use super::combinations::check_combinations;
use super::declare::{Flow, Run, Settings, TOP};
use super::matrix::Dimension;
use super::matrix_keys::ElementNames;
use super::named::{Named, Names};
use super::origin::{self, Origin};
use super::study::Study;
use super::study_name::study_name;
use super::values::Starts;
use super::{Axis, Overrides, cell_tables, expectations, hops, matrix, named, table};
use crate::InputError;
use qdelay_config::value::wrong_type;
use qdelay_config::{Entry, Fault, document, fault};
use qdelay_core::component::Registry;
use qdelay_trace::shipped;
use std::collections::BTreeMap;

impl Study {
    /// Parses a scenario. `name` is the file as given by the user, or the name of a shipped scenario.
    ///
    /// # Errors
    /// The first mistake, with its line and the expected input.
    pub fn parse(name: &str, text: &str, overrides: &Overrides) -> Result<Study, InputError> {
        Study::parse_with(name, text, overrides, &Registry::new())
    }

    /// Parses a scenario as [`Study::parse`] does; the scenario may also name components of `registry`.
    ///
    /// # Errors
    /// Errors of [`Study::parse`].
    pub fn parse_with(
        name: &str,
        text: &str,
        overrides: &Overrides,
        registry: &Registry,
    ) -> Result<Study, InputError> {
        study(name, text, overrides, registry).map_err(|fault| fault.in_file(name))
    }
}

fn study(name: &str, text: &str, overrides: &Overrides, registry: &Registry) -> Result<Study, Fault> {
    let entries = document::parse_with(text, registry)?;
    let known: Vec<&str> = TOP.iter().map(|(name, _)| *name).collect();
    let mut study = Study {
        name: study_name(name),
        title: String::new(),
        about: String::new(),
        source: origin::body(text).to_string(),
        axes: Vec::new(),
        expects: Vec::new(),
        place: name.to_string(),
        tables: Tables::defaults(),
        dimensions: Vec::new(),
        seeds: Vec::new(),
        starts: Starts::Auto,
        fallback: BTreeMap::new(),
        component_files: BTreeMap::new(),
        components: BTreeMap::new(),
        is_unverified: false,
        origin: Origin::default(),
        cases: 0,
    };
    for entry in &entries {
        match entry.key.as_str() {
            "title" => study.title = title(entry)?,
            "about" => study.about = about(entry)?,
            "path" => {
                study.tables.path_line = entry.line;
                (study.tables.path, study.tables.hops) = hops::read(table(entry)?)?;
            }
            "cell" => study.tables.cell = Some(cell_tables::Cell::read(table(entry)?, entry.line)?),
            "flow" => study.tables.flows = flows(entry)?,
            "run" => study.tables.run = Run::read(table(entry)?)?,
            "fallback" => study.fallback = fallback(table(entry)?)?,
            "origin" => {
                let is_last = entries.last().is_some_and(|last| last.key == "origin");
                study.origin = Origin::read(entry, is_last)?;
                if let Some(name) = &study.origin.name {
                    study.name.clone_from(name);
                }
            }
            // Read below, because their errors list names from the other tables.
            "matrix" | "expect" => {}
            other => return Err(fault::unknown(entry.line, other, other, &known)),
        }
    }
    if study.tables.flows.is_empty() {
        let message =
            "no flow is given; expected at least one [[flow]], such as [[flow]] with transport = \"cubic\"";
        return Err(Fault { line: 0, message: message.to_string() });
    }
    let section = |key: &str| entries.iter().find(|entry| entry.key == key);
    if let Some(entry) = section("matrix") {
        study.dimensions = matrix::read(table(entry)?, &element_names(&study.tables))?;
    }
    let overrides = overrides.clone().or(&study.origin.overrides);
    study.origin.overrides = overrides.clone();
    axes(&mut study, &overrides)?;
    check_combinations(&study)?;
    if let Some(entry) = section("expect") {
        let names: Vec<&str> = study.tables.flows.iter().map(|flow| flow.name.as_str()).collect();
        let hops: Vec<&str> = study.tables.hops.iter().map(|hop| hop.name.as_str()).collect();
        study.expects = expectations::read(entry, &study.axes, &names, &hops)?;
    }
    study.component_files = registry.opened().into_iter().collect();
    Ok(study)
}

/// Names of the elements that axes may name.
fn element_names(tables: &Tables) -> ElementNames {
    let of_tables = ElementNames {
        hops: tables.hops.iter().map(|hop| hop.name.clone()).collect(),
        flows: tables.flows.iter().map(|flow| flow.name.clone()).collect(),
        ..ElementNames::default()
    };
    let Some(cell) = &tables.cell else { return of_tables };
    ElementNames {
        ues: cell.ues.iter().map(|ue| ue.name.clone()).collect(),
        bearers: cell.bearer_names.clone(),
        scells: cell.scells.iter().map(|scell| scell.name.clone()).collect(),
        slices: cell.slices.iter().map(|slice| slice.name.clone()).collect(),
        has_cell: true,
        has_cell_uplink: cell.uplink.is_some(),
        ..of_tables
    }
}

fn title(entry: &Entry) -> Result<String, Fault> {
    match entry.value.text() {
        Some(text) if !text.chars().any(char::is_control) => Ok(text.to_string()),
        _ => Err(wrong_type("title", &entry.value, "one line of text in quotes")),
    }
}

fn about(entry: &Entry) -> Result<String, Fault> {
    let text = entry.value.text().ok_or_else(|| wrong_type("about", &entry.value, "text in quotes"))?;
    Ok(text.trim().to_string())
}

fn flows(entry: &Entry) -> Result<Vec<Named<Flow>>, Fault> {
    const EXPECTED: &str = "tables, each under [[flow]]";
    let list = entry.value.list().ok_or_else(|| wrong_type("flow", &entry.value, EXPECTED))?;
    let mut names = Names::new();
    let flows = list.iter().zip(1..).map(|(node, number)| {
        let keys = Flow::read(named::entries::<Flow>(node)?)?;
        let flow = names.assign(keys, node.line, &format!("flow-{number}"))?;
        // A mistake that concerns the whole flow is reported at its name, if it has one.
        let line = if flow.keys.name.is_set() { flow.keys.name.line() } else { node.line };
        Ok(Named { line, ..flow })
    });
    flows.collect()
}

fn fallback(entries: &[Entry]) -> Result<BTreeMap<String, String>, Fault> {
    let shipped: Vec<&str> = shipped::SHIPPED.iter().map(|(name, _)| *name).collect();
    let mut fallback = BTreeMap::new();
    for entry in entries {
        let path = format!("fallback.'{}'", entry.key);
        let name = entry
            .value
            .text()
            .ok_or_else(|| wrong_type(&path, &entry.value, "the name of a shipped trace in quotes"))?;
        if crate::traces::find_shipped(name).is_none() {
            let hint = fault::suggestion(name, shipped.iter().copied());
            let message =
                format!("unknown shipped trace '{name}'; expected one of {}{hint}", shipped.join(", "));
            return Err(Fault::new(entry.value.line, path, message));
        }
        fallback.insert(entry.key.clone(), name.to_string());
    }
    Ok(fallback)
}

/// Applies the overrides, and makes the axes and the number of cases.
pub(super) fn axes(study: &mut Study, overrides: &Overrides) -> Result<(), Fault> {
    overrides.apply(study)?;
    let axis =
        |dimension: &Dimension| Axis { name: dimension.name.clone(), labels: dimension.labels.clone() };
    study.axes = study.dimensions.iter().map(axis).collect();
    let labels = study.seeds.iter().map(u64::to_string).collect();
    study.axes.push(Axis { name: "seed".to_string(), labels });
    let count =
        study.axes.iter().try_fold(1_u64, |product, axis| product.checked_mul(axis.labels.len() as u64));
    study.cases = count.ok_or_else(|| {
        Fault::new(0, "matrix", "more than 2^64 cases; expected fewer axes or values".to_string())
    })?;
    Ok(())
}
