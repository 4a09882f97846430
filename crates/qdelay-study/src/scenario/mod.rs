//! Scenario files: TOML text to a [`Study`], the cases it spans.
//!
//! | file | what |
//! | --- | --- |
//! | `declare` | every key, once |
//! | `values`, `component` | types of the values of keys; components |
//! | `named`, `hops` | tables of which there are several; `[path]` and its hops |
//! | `matrix`, `changes` | axes and variants; what their points set |
//! | `expectations` | `[[expect]]` |
//! | `case` | the tables of a case, contradictions, and the simulator's scenario |
//! | `cell`, `cell_case`, `cell_slices` | `[cell]` and the tables below it; the simulator's cell; its slices |
//! | `crossed` | a study out of typed values, without a file |
//! | `origin` | what the command line said, in the scenario that a folder keeps |
//! | `schema` | JSON Schema of the whole |
//!
//! All values are read and checked once; a case only combines them.

mod case;
mod cell;
mod cell_case;
mod cell_classes;
mod cell_filters;
mod cell_slices;
mod cell_tables;
mod cell_uplink;
mod changes;
mod component;
mod crossed;
pub mod declare;
mod expectations;
mod filter;
mod hops;
mod matrix;
mod named;
pub mod origin;
pub mod schema;
mod sources;
mod values;

pub use case::{Case, random_start};
pub(crate) use component::build_link;
pub use crossed::{Back, Crossed, START_WITHIN};
pub use values::{Starts, parse_seeds};

use crate::InputError;
use crate::expect::Expect;
use crate::traces::Library;
use case::Tables;
use changes::Change;
use declare::{
    BearerChange, CellChange, CellUplinkChange, Flow, FlowChange, HopChange, PathChange, Run, RunChange,
    Settings, SliceChange, TOP, UeChange,
};
use matrix::{Dimension, Known};
use named::{Named, Names};
use origin::Origin;
use qdelay_config::value::wrong_type;
use qdelay_config::{Content, Entry, Fault, Node, Setting, document, fault};
use qdelay_core::Span;
use qdelay_core::component::Registry;
use qdelay_trace::shipped;
use sources::Sources;
use std::collections::BTreeMap;

/// Most combinations that are all checked, for one `[[flow]]`; of more, each value once.
const COMBINATIONS_MAX: u64 = 100_000;
/// Longest part of an id that is made of labels.
const SLUG_MAX: usize = 60;

/// Changes of a scenario by the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// In place of `run.seeds`; see [`parse_seeds`].
    pub seeds: Option<Vec<u64>>,
    /// In place of `run.duration`.
    pub duration: Option<Span>,
    /// In place of `run.starts`.
    pub starts: Option<Starts>,
    /// Whether `run.connections` is on, whatever the scenario says.
    pub connections: bool,
}

impl Overrides {
    /// These changes, and where there are none those of `other`.
    fn or(self, other: &Overrides) -> Overrides {
        Overrides {
            seeds: self.seeds.or_else(|| other.seeds.clone()),
            duration: self.duration.or(other.duration),
            starts: self.starts.or(other.starts),
            connections: self.connections || other.connections,
        }
    }
}

/// An axis of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// `path.qdisc`, `flow.transport`, `flow.video.dscp`, `variant`, `seed`.
    pub name: String,
    /// Its points, all different.
    pub labels: Vec<String>,
}

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
    place: String,
    /// The contents of the file.
    tables: Tables,
    /// The axes but the seed's.
    dimensions: Vec<Dimension>,
    seeds: Vec<u64>,
    starts: Starts,
    /// Substitutes: shipped traces by the name of the trace that they replace.
    fallback: BTreeMap<String, String>,
    /// The files of components, each with its digest.
    component_files: BTreeMap<String, String>,
    /// The parts of components of Python, as `study.json` has them.
    components: BTreeMap<String, BTreeMap<String, String>>,
    /// Whether parts that cannot be compared count as the same.
    is_unverified: bool,
    /// What the command line or the file said in place of the scenario's own.
    origin: Origin,
    cases: u64,
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
        read(name, text, overrides, registry).map_err(|fault| fault.of(name))
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

    /// The index of the first case with these labels, each behind its axis; `None` where an axis has no such label, or there is
    /// no such axis.
    pub fn index_of(&self, labels: &[(&str, &str)]) -> Option<u64> {
        let is_axis = |(name, _): &(&str, &str)| self.axes.iter().any(|axis| axis.name == *name);
        if !labels.iter().all(is_axis) {
            return None;
        }
        self.axes.iter().try_fold(0, |index, axis| {
            let wanted = labels.iter().find(|(name, _)| *name == axis.name);
            let is_wanted = |label: &String| wanted.is_none_or(|(_, wanted)| label == wanted);
            Some(index * axis.labels.len() as u64 + axis.labels.iter().position(is_wanted)? as u64)
        })
    }

    /// The case of this index; the seed changes fastest.
    ///
    /// # Errors
    /// No such case, a trace that cannot be found or read, or settings that contradict each other.
    pub fn case(&self, index: u64, library: &Library) -> Result<Case, InputError> {
        if index >= self.cases {
            let message = format!("no case {index}; expected 0 to {}", self.cases - 1);
            return Err(InputError::new(&self.place, message));
        }
        self.build(index, library).map_err(|fault| fault.of(&self.place))
    }

    /// The id of the case of this index, which must be below [`Study::case_count`]. No trace is needed for it.
    pub fn case_id(&self, index: u64) -> String {
        self.id(index, &self.labels(index))
    }

    /// Checks all cases: traces are found and read, links and disciplines are built. All combinations of the relevant settings
    /// are tried if there are at most 100,000 of them, otherwise each value once.
    ///
    /// # Errors
    /// As [`Study::case`].
    pub fn check(&self, library: &Library) -> Result<(), InputError> {
        let matters = |change: &Change| match change {
            Change::Path(change) => {
                use PathChange::{limit, link, once, qdisc, trace, trace_format, uplink};
                matches!(
                    change,
                    link(_) | trace(_) | trace_format(_) | once(_) | qdisc(_) | limit(_) | uplink(_)
                )
            }
            Change::Hop(change) => {
                use HopChange::{limit, link, once, qdisc, trace, trace_format};
                matches!(change, link(_) | trace(_) | trace_format(_) | once(_) | qdisc(_) | limit(_))
            }
            Change::Flow(change) => matches!(change, FlowChange::ue(_) | FlowChange::qfi(_)),
            Change::Run(_) => false,
            Change::Cell(_)
            | Change::CellUplink(_)
            | Change::Ue(_)
            | Change::Bearer(_)
            | Change::Slice(_) => true,
        };
        self.combinations(matters, |digits| {
            let tables = self.at(digits);
            tables.check()?;
            tables.scenario(0, &mut self.sources(library, 0, tables.duration())).map(drop)
        })
        .map_err(|fault| fault.of(&self.place))
    }

    /// Settings that have less effect than they seem to, in any of the cases, each with its line and key.
    pub fn warnings(&self) -> Vec<InputError> {
        let matters = |change: &Change| matches!(change, Change::Cell(_) | Change::Bearer(_));
        let mut warnings = Vec::new();
        let collected = self.combinations(matters, |digits| {
            let tables = self.at(digits);
            for fault in tables.cell_warnings() {
                let error = fault.of(&self.place);
                if !warnings.contains(&error) {
                    warnings.push(error);
                }
            }
            Ok::<(), Fault>(())
        });
        debug_assert!(collected.is_ok());
        warnings
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

    fn sources<'a>(&'a self, library: &'a Library, seed: u64, duration: Span) -> Sources<'a> {
        Sources {
            library,
            fallback: &self.fallback,
            used: BTreeMap::new(),
            random: self.has_random_starts().then_some((seed, duration)),
            places: BTreeMap::new(),
        }
    }

    /// The case of this index with the seed `seed` in place of its own.
    ///
    /// # Errors
    /// As [`Study::case`].
    pub fn case_with_seed(&self, index: u64, seed: u64, library: &Library) -> Result<Case, InputError> {
        if index >= self.cases {
            return self.case(index, library);
        }
        self.build_with(index, Some(seed), library).map_err(|fault| fault.of(&self.place))
    }

    fn build(&self, index: u64, library: &Library) -> Result<Case, Fault> {
        self.build_with(index, None, library)
    }

    fn build_with(&self, index: u64, seed: Option<u64>, library: &Library) -> Result<Case, Fault> {
        let digits = self.digits(index);
        let (seed_digit, digits) = digits.split_last().map_or((0, &[][..]), |(last, rest)| (*last, rest));
        let seed = seed.unwrap_or(self.seeds[seed_digit]);
        let tables = self.at(digits);
        tables.check()?;
        let mut sources = self.sources(library, seed, tables.duration());
        let scenario = tables.scenario(seed, &mut sources)?;
        let labels = self.labels(index);
        Ok(Case {
            index,
            id: self.id(index, &labels),
            labels,
            resolved: tables.resolved(seed, sources.random.map(|_| &sources.places)),
            traces: sources.used,
            scenario,
            packets: tables.packets(),
        })
    }

    /// The tables at `digits`, the point on each axis but the seed's.
    fn at(&self, digits: &[usize]) -> Tables {
        let points = self.dimensions.iter().zip(digits).flat_map(|(axis, digit)| &axis.points[*digit]);
        self.tables.with(points)
    }

    /// The point on each axis, the seed's last.
    fn digits(&self, index: u64) -> Vec<usize> {
        let mut rest = index;
        let mut digits: Vec<usize> = Vec::new();
        for axis in self.axes.iter().rev() {
            let count = axis.labels.len() as u64;
            // Below the number of labels, which is a usize.
            digits.push((rest % count) as usize);
            rest /= count;
        }
        digits.reverse();
        digits
    }

    /// The label on each axis.
    fn labels(&self, index: u64) -> Vec<String> {
        self.axes.iter().zip(self.digits(index)).map(|(axis, digit)| axis.labels[digit].clone()).collect()
    }

    fn id(&self, index: u64, labels: &[String]) -> String {
        let width = (self.cases - 1).to_string().len();
        let varied = self.axes.iter().zip(labels).filter(|(axis, _)| axis.labels.len() > 1);
        let words: Vec<&str> = varied.map(|(_, label)| label.as_str()).collect();
        let slug = slug(&words.join("-"));
        let joint = if slug.is_empty() { "" } else { "-" };
        format!("{index:0width$}{joint}{slug}")
    }

    /// Calls `each` with combinations of points of the axes that set what `matters`, the others at their first point.
    fn combinations(
        &self,
        matters: impl Fn(&Change) -> bool,
        mut each: impl FnMut(&[usize]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let sets = |axis: &Dimension| axis.points.iter().flatten().any(|point| matters(&point.change));
        let varied: Vec<usize> =
            (0..self.dimensions.len()).filter(|at| sets(&self.dimensions[*at])).collect();
        let points = |at: usize| self.dimensions[at].points.len();
        let mut digits = vec![0; self.dimensions.len()];
        let count = varied.iter().fold(1_u64, |product, at| product.saturating_mul(points(*at) as u64));
        // With many flows a combination takes longer.
        if count > COMBINATIONS_MAX / self.tables.flows.len().clamp(1, 1000) as u64 {
            each(&digits)?;
            for at in varied {
                for digit in 1..points(at) {
                    digits[at] = digit;
                    each(&digits)?;
                }
                digits[at] = 0;
            }
            return Ok(());
        }
        for index in 0..count {
            let mut rest = index;
            for at in varied.iter().rev() {
                digits[*at] = (rest % points(*at) as u64) as usize;
                rest /= points(*at) as u64;
            }
            each(&digits)?;
        }
        Ok(())
    }
}

/// Lowercase letters and digits, everything else as single dashes.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == SLUG_MAX {
            break;
        }
    }
    slug.trim_end_matches('-').to_string()
}

fn read(name: &str, text: &str, overrides: &Overrides, registry: &Registry) -> Result<Study, Fault> {
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
            // The errors of these two name the keys that are allowed below them.
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
        study.dimensions = matrix::read(table(entry)?, &known_names(&study.tables))?;
    }
    let overrides = overrides.clone().or(&study.origin.overrides);
    study.origin.overrides = overrides.clone();
    override_connections(&mut study, &overrides);
    override_duration(&mut study, &overrides)?;
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

/// The elements that axes may name.
fn known_names(tables: &Tables) -> Known {
    let of_cell = |cell: &cell_tables::Cell| {
        let (ues, slices) = (cell.ues.iter(), cell.slices.iter());
        let ues = ues.map(|ue| ue.name.clone()).collect();
        [ues, cell.bearer_names.clone(), slices.map(|slice| slice.name.clone()).collect()]
    };
    Known {
        hops: tables.hops.iter().map(|hop| hop.name.clone()).collect(),
        flows: tables.flows.iter().map(|flow| flow.name.clone()).collect(),
        cell: tables.cell.as_ref().map(of_cell),
        has_cell_uplink: tables.cell.as_ref().is_some_and(|cell| cell.uplink.is_some()),
    }
}

/// `dir/my.toml` is the scenario `my`; a shipped one keeps its name. What it is called leads to a folder below another one.
fn study_name(name: &str) -> String {
    let last = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or_default().to_string();
    let name = match name.strip_suffix(".toml") {
        Some(stem) => last(stem),
        None => return name_below(name),
    };
    name_below(&name)
}

/// `name`, or its last part where it leads elsewhere than below the folder of results.
fn name_below(name: &str) -> String {
    let name = match name.split(['/', '\\']).any(|part| ["", ".", ".."].contains(&part)) {
        true => name.rsplit(['/', '\\']).next().unwrap_or_default(),
        false => name,
    };
    match name {
        "" | "." | ".." => "scenario".to_string(),
        _ => name.to_string(),
    }
}

fn table(entry: &Entry) -> Result<&[Entry], Fault> {
    let expected = format!("a table, as in [{}]", entry.key);
    entry.value.table().ok_or_else(|| wrong_type(&entry.key, &entry.value, &expected))
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
        let flow = names.take(keys, node.line, &format!("flow-{number}"))?;
        // Mistakes of a whole flow are reported at its name, if it has one.
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
            let near = fault::near(name, shipped.iter().copied());
            let hint = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            let message =
                format!("'{name}' is no shipped trace; expected one of {}{hint}", shipped.join(", "));
            return Err(Fault::new(entry.value.line, path, message));
        }
        fallback.insert(entry.key.clone(), name.to_string());
    }
    Ok(fallback)
}

fn override_connections(study: &mut Study, overrides: &Overrides) {
    if overrides.connections {
        study.tables.run.connections.set("on", true);
    }
}

fn override_duration(study: &mut Study, overrides: &Overrides) -> Result<(), Fault> {
    let Some(duration) = overrides.duration else { return Ok(()) };
    if study.varies_duration() {
        let message = "the matrix varies it; expected no duration on the command line";
        return Err(Fault::new(0, "run.duration", message));
    }
    let setting = &mut study.tables.run.duration;
    let node = Node::new(0, Content::Text(origin::duration_text(duration)));
    let key = Run::TABLE.key("duration").expect("a key");
    *setting = Setting::read(key, key.path, &node)?;
    Ok(())
}

fn axes(study: &mut Study, overrides: &Overrides) -> Result<(), Fault> {
    study.seeds = match &overrides.seeds {
        Some(seeds) => {
            values::check_seeds(seeds).map_err(|message| Fault::new(0, "run.seeds", message))?;
            seeds.clone()
        }
        None => study.tables.run.seeds.value().0.clone(),
    };
    study.starts = overrides.starts.unwrap_or(study.tables.run.starts.get());
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

/// Settings that contradict each other, in any combination that can.
fn check_combinations(study: &Study) -> Result<(), Fault> {
    let matters = |change: &Change| match change {
        Change::Path(change) => {
            use PathChange::{link, once, trace, trace_format};
            matches!(change, link(_) | trace(_) | once(_) | trace_format(_))
        }
        Change::Hop(change) => {
            use HopChange::{link, once, trace, trace_format};
            matches!(change, link(_) | trace(_) | once(_) | trace_format(_))
        }
        Change::Run(change) => {
            matches!(change, RunChange::duration(_) | RunChange::warmup(_) | RunChange::series(_))
        }
        Change::Flow(change) => {
            use FlowChange::{
                access, access_jitter, count, other_dscp, other_share, qfi, spread, start, stop, ue,
            };
            let is_time = matches!(change, count(_) | start(_) | stop(_) | spread(_));
            let is_mark = matches!(change, access(_) | access_jitter(_) | other_dscp(_) | other_share(_));
            is_time || is_mark || matches!(change, ue(_) | qfi(_))
        }
        // The number of UEs determines the flows; other contradictions are found when traces are read.
        Change::Ue(change) => matches!(change, UeChange::count(_) | UeChange::slice(_)),
        Change::Cell(change) => matches!(change, CellChange::partition(_)),
        Change::CellUplink(change) => {
            use CellUplinkChange::{configured_bytes, configured_period, sr_period};
            matches!(change, sr_period(_) | configured_period(_) | configured_bytes(_))
        }
        Change::Bearer(change) => matches!(change, BearerChange::slice(_)),
        Change::Slice(change) => matches!(change, SliceChange::share(_)),
    };
    study.combinations(matters, |digits| study.at(digits).check())?;
    cell_filters::check(study)
}

#[cfg(test)]
mod tests {
    use super::study_name;

    #[test]
    fn what_a_study_is_called_is_below_where_its_results_go() {
        let names = [
            ("demo/first", "demo/first"),
            ("my.toml", "my"),
            ("../dir/my.toml", "my"),
            ("/dev/fd/63", "63"),
            ("../my", "my"),
            ("./my", "my"),
            ("...toml", "scenario"),
            ("dir/.toml", "scenario"),
            ("", "scenario"),
        ];
        for (given, called) in names {
            assert_eq!(study_name(given), called, "{given}");
        }
    }
}
