//! The cases of a figure: those selected, without their seeds, by the axes on which they differ.

use super::{Request, connections};
use crate::load::Folder;
use crate::model::{SEED_AXIS, Study};
use qdelay_study::InputError;
use qdelay_study::intervals::Unit;
use qdelay_study::results::{AxisFile, CaseSummary};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The axis of entries of `[[flow]]`, as on the page.
const FLOWS_AXIS: &str = "flows";
/// The axes that get the colours before others.
const COLOURED_FIRST: [&str; 3] = ["path.qdisc", "variant", "flow.transport"];

/// The selected cases.
pub(super) struct Chosen<'a> {
    /// With those of the flows, where several were asked for.
    pub(super) axes: Vec<AxisFile>,
    pub(super) entries: Vec<Entry<'a>>,
    /// The axis that colours and marks are of; none where nothing varies.
    colour: Option<usize>,
    /// The other axes on which entries differ.
    others: Vec<usize>,
    /// The axes that are averaged over beside the seed's.
    over: Vec<usize>,
    /// The labels of each axis as a figure shows them.
    shown: Vec<Vec<String>>,
    /// The labels of entries on the other axes, each once.
    other_labels: Vec<String>,
}

/// Cases that differ in their seed alone, and on axes that are averaged over; and of which flows.
pub(super) struct Entry<'a> {
    /// The index of its label on each axis.
    pub(super) at: Vec<usize>,
    /// One for each seed, without those that are equal to others.
    pub(super) runs: Vec<Run<'a>>,
    /// An entry of `[[flow]]`, or a flow where the measure is one of connections; none for all flows.
    pub(super) group: Option<&'a str>,
}

/// The cases of a seed: one, or one for each place on the axes that are averaged over.
pub(super) struct Run<'a> {
    pub(super) cases: Vec<&'a CaseSummary>,
    /// The same without their curves, as their files have them.
    files: Vec<Value>,
}

impl Run<'_> {
    /// The mean of a figure by its dotted path; none where a case lacks it.
    pub(super) fn figure(&self, path: &str) -> Option<f64> {
        let of = |file: &Value| {
            let value = path.split('.').try_fold(file, |value, name| value.get(name))?;
            value.as_f64().filter(|figure| figure.is_finite())
        };
        let figures = self.files.iter().map(of).collect::<Option<Vec<f64>>>()?;
        Some(figures.iter().sum::<f64>() / figures.len() as f64)
    }

    /// The paths of all figures but those of single flows and nodes, which have names of their own.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.files.iter().take(1).for_each(|file| collect(file, "", &mut found));
        found
    }
}

fn collect(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) if path != "schema_version" => found.push(path.to_string()),
        Value::Object(fields) => {
            for (name, value) in
                fields.iter().filter(|(name, _)| *name != "nodes" && !name.ends_with("_by_reason"))
            {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(value, &path, found);
            }
        }
        _ => {}
    }
}

impl<'a> Chosen<'a> {
    /// The cases of `study` with the selected labels, averaged over axes, and the named entries of `[[flow]]`, as requested.
    pub(super) fn select(study: &'a Study, request: &'a Request) -> Result<Chosen<'a>, InputError> {
        let (select, flows) = (&request.select, &request.flows);
        let accepted = accepted(study, select)?;
        let meant = |at: &[usize]| at.iter().zip(&accepted).all(|(at, of)| of.is_empty() || of.contains(at));
        let kept: Vec<usize> = (0..study.cases.len()).filter(|&case| meant(&study.cases[case].at)).collect();
        if kept.is_empty() {
            return Err(InputError::new(
                "--select",
                format!("no case is at {}; expected labels that some case has together", select.join(" ")),
            ));
        }
        let groups = match request.is_of_connections() {
            true => connections::flows(study, flows)?.into_iter().map(Some).collect(),
            false => groups(study, flows)?,
        };
        let over = averaged(study, &request.over)?;
        let mut axes = study.axes.clone();
        if groups.len() > 1 {
            axes.push(AxisFile {
                name: FLOWS_AXIS.to_string(),
                labels: groups.iter().flatten().map(|name| name.to_string()).collect(),
            });
        }
        let mut entries: Vec<Entry> = Vec::new();
        let names: Vec<&str> = over.iter().map(|&axis| study.axes[axis].name.as_str()).collect();
        let unit = Unit::for_axes(&study.axes, &names);
        for (at, seeds) in by_entry(study, &kept, &over)? {
            let seeds = if unit == Unit::Place { by_place(study, &seeds, &over) } else { seeds };
            for (number, group) in groups.iter().enumerate() {
                let mut at = at.clone();
                at.extend((groups.len() > 1).then_some(number));
                entries.push(Entry { at, runs: runs(study, &seeds), group: *group });
            }
        }
        // In the order of the axes, whatever that of the cases.
        entries.sort_by(|one, other| one.at.cmp(&other.at));
        let varying: Vec<usize> = (0..axes.len())
            .filter(|&axis| entries.windows(2).any(|pair| pair[0].at[axis] != pair[1].at[axis]))
            .collect();
        let named = |name: &&str| varying.iter().copied().find(|&axis| axes[axis].name == **name);
        let colour = COLOURED_FIRST.iter().find_map(named).or_else(|| varying.first().copied());
        let others = varying.into_iter().filter(|axis| Some(*axis) != colour).collect();
        let shown = axes.iter().map(|axis| shown(&axis.labels)).collect();
        let mut chosen = Chosen { axes, entries, colour, others, over, shown, other_labels: Vec::new() };
        // Once: a sweep has thousands of entries.
        chosen.other_labels = distinct(chosen.entries.iter().map(|entry| chosen.other_label(entry)));
        Ok(chosen)
    }

    /// The place of an entry's label among all labels of the axis of colours, so that a label looks alike in all figures of a folder;
    /// among those that are shown, where there are more than there are looks.
    pub(super) fn colour(&self, entry: &Entry, looks: usize) -> usize {
        let Some(axis) = self.colour else { return 0 };
        if self.axes[axis].labels.len() <= looks {
            return entry.at[axis];
        }
        let shown: BTreeSet<usize> = self.entries.iter().map(|entry| entry.at[axis]).collect();
        shown.iter().position(|at| *at == entry.at[axis]).unwrap_or_default()
    }

    /// The label of that.
    pub(super) fn colour_label(&self, entry: &Entry) -> String {
        self.colour.map_or(String::new(), |axis| self.shown[axis][entry.at[axis]].clone())
    }

    /// The labels on the other axes on which entries differ.
    pub(super) fn other_label(&self, entry: &Entry) -> String {
        let labels: Vec<&str> =
            self.others.iter().map(|&axis| self.shown[axis][entry.at[axis]].as_str()).collect();
        labels.join(" \u{b7} ")
    }

    /// The place of that among those of all entries.
    pub(super) fn other(&self, entry: &Entry) -> usize {
        let label = self.other_label(entry);
        self.other_labels.iter().position(|known| *known == label).unwrap_or_default()
    }

    pub(super) fn other_labels(&self) -> &[String] {
        &self.other_labels
    }

    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// The labels of an entry on all axes that nothing is averaged over, for the data beside the figure.
    pub(super) fn labels(&self, entry: &Entry) -> Vec<&str> {
        self.told().map(|axis| self.axes[axis].labels[entry.at[axis]].as_str()).collect()
    }

    /// The names of the axes of [`labels`](Self::labels).
    pub(super) fn axis_names(&self) -> Vec<&str> {
        self.told().map(|axis| self.axes[axis].name.as_str()).collect()
    }

    fn told(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.axes.len()).filter(|axis| self.axes[*axis].name != SEED_AXIS && !self.over.contains(axis))
    }

    /// The names of the figures that cases have.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> =
            self.entries.iter().flat_map(|entry| entry.runs.first()).flat_map(Run::paths).collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

pub(super) fn distinct(labels: impl Iterator<Item = String>) -> Vec<String> {
    let mut found = Vec::new();
    labels.for_each(|label| {
        if !found.contains(&label) {
            found.push(label);
        }
    });
    found
}

/// The axes of these names, to be averaged over.
fn averaged(study: &Study, names: &[String]) -> Result<Vec<usize>, InputError> {
    let wrong = |message: String| InputError::new("--over", message);
    let axis = |name: &String| {
        let known = || study.axes.iter().map(|axis| axis.name.as_str()).filter(|name| *name != SEED_AXIS);
        match study.axes.iter().position(|axis| axis.name == *name) {
            Some(_) if name == SEED_AXIS => Err(wrong("means are over the seeds anyway".to_string())),
            Some(axis) => Ok(axis),
            None => {
                let known = known().collect::<Vec<_>>().join(", ");
                Err(wrong(format!("no axis '{name}'; expected one of {known}")))
            }
        }
    };
    names.iter().map(axis).collect()
}

/// For each seed, by its index, its cases: one for each place that is averaged over.
type Seeds = BTreeMap<usize, Vec<usize>>;

/// The cases of each entry.
fn by_entry(
    study: &Study,
    kept: &[usize],
    over: &[usize],
) -> Result<BTreeMap<Vec<usize>, Seeds>, InputError> {
    let seed = study.axes.iter().position(|axis| axis.name == SEED_AXIS);
    let mut entries: BTreeMap<Vec<usize>, Seeds> = BTreeMap::new();
    for &case in kept {
        let mut at = study.cases[case].at.clone();
        let own = seed.map_or(0, |seed| at[seed]);
        seed.iter().chain(over).for_each(|&axis| at[axis] = 0);
        entries.entry(at).or_default().entry(own).or_default().push(case);
    }
    // A mean over other places for each would be a comparison of places.
    let place = |case: &usize| over.iter().map(|&axis| study.cases[*case].at[axis]).collect::<Vec<_>>();
    let all: BTreeSet<Vec<usize>> = kept.iter().map(place).collect();
    let least = entries.values().flat_map(|seeds| seeds.values().map(Vec::len)).min().unwrap_or_default();
    if least < all.len() {
        let message = format!(
            "of {} places that are averaged over some points have {least}; expected cases at all of them for each: select those that have",
            all.len()
        );
        return Err(InputError::new("--over", message));
    }
    Ok(entries)
}

/// The same cases by the place that is averaged over: its cases are of all seeds.
fn by_place(study: &Study, seeds: &Seeds, over: &[usize]) -> Seeds {
    let mut places: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for &case in seeds.values().flatten() {
        let place = over.iter().map(|&axis| study.cases[case].at[axis]).collect();
        places.entry(place).or_default().push(case);
    }
    places.into_values().enumerate().collect()
}

/// The runs of an entry: of equal ones the first.
fn runs<'a>(study: &'a Study, seeds: &Seeds) -> Vec<Run<'a>> {
    let mut seen = BTreeSet::new();
    let first = |case: &usize| study.cases[*case].same.unwrap_or(*case);
    let is_first = |cases: &&Vec<usize>| seen.insert(cases.iter().map(first).collect::<Vec<_>>());
    // Values that were read from a file can be written to one.
    let file = |case: &usize| {
        let placed = &study.cases[*case];
        let folder: &Folder = &study.folders[placed.folder];
        serde_json::to_value(&folder.summary.cases[placed.case]).unwrap_or_default()
    };
    let run = |cases: &Vec<usize>| Run {
        cases: cases.iter().map(|case| study.figures(&study.cases[*case])).collect(),
        files: cases.iter().map(file).collect(),
    };
    seeds.values().filter(is_first).map(run).collect()
}

/// Labels as a figure shows them: of files the names without their folders, where these tell them apart.
pub fn shown(labels: &[String]) -> Vec<String> {
    let name = |label: &String| label.rsplit('/').next().unwrap_or_default().to_string();
    let names: BTreeSet<String> = labels.iter().map(name).collect();
    // The part behind the colon of a component's label, such as ./my.so:target=5ms, may have a slash too.
    let is_path = |label: &String| label.contains('/') && !label.contains([':', ' ', '=']);
    if names.len() == labels.len() {
        labels.iter().map(|label| if is_path(label) { name(label) } else { label.clone() }).collect()
    } else {
        labels.to_vec()
    }
}

/// The accepted labels of each axis, by index; none for any.
fn accepted(study: &Study, select: &[String]) -> Result<Vec<Vec<usize>>, InputError> {
    let mut accepted = vec![Vec::new(); study.axes.len()];
    for text in select {
        let wrong = |message: String| InputError::new("--select", format!("'{text}': {message}"));
        let names = || study.axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>().join(", ");
        let Some((name, labels)) = text.split_once('=') else {
            return Err(wrong(
                "no '='; expected AXIS=LABEL,LABEL, such as path.qdisc=codel,bode".to_string(),
            ));
        };
        let Some(axis) = study.axes.iter().position(|axis| axis.name == name) else {
            return Err(wrong(format!("no axis '{name}'; expected one of {}", names())));
        };
        let known = &study.axes[axis].labels;
        // A label may have a comma in it.
        let wanted = if known.iter().any(|label| label == labels) {
            vec![labels]
        } else {
            labels.split(',').collect()
        };
        for label in wanted {
            match known.iter().position(|known| known == label) {
                Some(at) => accepted[axis].push(at),
                None => {
                    return Err(wrong(format!(
                        "no label '{label}' on it; expected one of {}",
                        known.join(", ")
                    )));
                }
            }
        }
    }
    Ok(accepted)
}

/// The entries of `[[flow]]` that are meant; none for all flows together.
fn groups<'a>(study: &Study, flows: &'a [String]) -> Result<Vec<Option<&'a str>>, InputError> {
    if flows.is_empty() {
        return Ok(vec![None]);
    }
    let known: BTreeSet<&str> = study
        .cases
        .iter()
        .flat_map(|placed| study.figures(placed).groups.keys())
        .map(String::as_str)
        .collect();
    match flows.iter().find(|name| !known.contains(name.as_str())) {
        None => Ok(flows.iter().map(|name| Some(name.as_str())).collect()),
        Some(name) => {
            let known: Vec<&str> = known.into_iter().collect();
            Err(InputError::new(
                "--flows",
                format!("no flows '{name}'; expected one of {}", known.join(", ")),
            ))
        }
    }
}
