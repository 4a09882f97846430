//! `qdelay list`: every component, from the registries that parse the command line.

mod presets;

use crate::cli::List;
use qdelay_core::component::{Component, Kind, Parameter, Registry, suggestion};
use qdelay_core::{pacer, qdisc};
use qdelay_study::links::components as links;
use qdelay_study::presets::Preset;
use qdelay_study::radio;
use qdelay_study::results::{SCHEMA_VERSION, pretty};
use qdelay_study::traces::programs::PROGRAMS;
use qdelay_study::traces::{delay, jitter, loss};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::text_table::{self, Column};
use qdelay_trace::format::FORMATS;
use qdelay_traffic::tcp::KNOBS;
use qdelay_traffic::{biases, streaming, transport};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Transport of the Python environments, which set window and rate. The Python package builds it itself; scenarios cannot name it.
pub static DRIVEN: Component = Component::new(
    Kind::Transport,
    "driven",
    "TCP whose window and rate qdelay.QueueEnv sets during the run",
)
.with(&KNOBS);

/// Width of a line of the index, in characters.
const LINE: usize = 100;

/// Runs the command.
///
/// # Errors
/// An unknown kind or name.
pub fn run(options: &List, registry: &Registry) -> Result<(), Failure> {
    if options.header {
        return output::print(qdelay_native::HEADER);
    }
    let what = options.what.as_deref();
    let (chosen, presets) = (choose(what, registry)?, presets::chosen(what));
    output::print(&match (options.json, what) {
        (true, _) => json(&chosen, presets::described(&presets)?),
        (false, Some(_)) if chosen.is_empty() => presets::text(&presets)?,
        (false, Some(_)) => text(&chosen) + &presets::text(&presets)?,
        (false, None) => index(&chosen, &presets),
    })
}

/// Index of all components: a heading for each kind, a line for each component, and the command that prints the parameters.
fn index(components: &[&Component], presets: &[&Preset]) -> String {
    let lines = components.iter().map(|component| (component.kind.name(), component.name, component.about));
    let lines = lines.chain(presets.iter().map(|preset| (presets::KIND, preset.name, preset.about)));
    let width = lines.clone().map(|(_, name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut last = None;
    for (kind, name, about) in lines {
        if last != Some(kind) {
            last = Some(kind);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}{kind}", if text.is_empty() { "" } else { "\n" });
        }
        text += &cut(&format!("  {name:width$}  {}", sentence(about)), LINE);
        text.push('\n');
    }
    text + "\nParameters, units, ranges, defaults and sources: qdelay list NAME, or qdelay list KIND, such as qdelay list bode.\n"
}

/// Shortens the text to at most `width` characters.
fn cut(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some(_) => text.chars().take(width - 1).chain(['…']).collect(),
        None => text.to_string(),
    }
}

/// Built-in components, in the order of their registries.
pub fn built_in() -> Vec<&'static Component> {
    qdisc::COMPONENTS
        .iter()
        .chain(pacer::COMPONENTS)
        .chain(transport::COMPONENTS)
        .chain(streaming::abr::COMPONENTS)
        .copied()
        .chain(links())
        .chain(delay::components())
        .chain(loss::components())
        .chain(jitter::components())
        .chain(FORMATS.iter().map(|format| format.component))
        .chain(PROGRAMS.iter().map(|program| program.component))
        .chain(radio::components())
        .collect()
}

/// Every component as JSON.
pub fn all_json(registry: &Registry) -> String {
    json(&built_in().into_iter().chain(registry.components()).collect::<Vec<_>>(), Vec::new())
}

fn choose(what: Option<&str>, registry: &Registry) -> Result<Vec<&'static Component>, Failure> {
    let name = what.unwrap_or_default();
    // The kind of component in a shared object is known only after opening the file.
    let opened = registry
        .with_file(qdisc::COMPONENTS, name)
        .or_else(|message| registry.with_file(transport::COMPONENTS, name).map_err(|_| message));
    let registry = &opened.map_err(|message| {
        Failure::input(what.map_or_else(String::new, |what| format!("'{what}'")), message)
    })?;
    let all: Vec<_> = built_in().into_iter().chain(registry.components()).collect();
    let Some(what) = what else { return Ok(all) };
    if what == DRIVEN.name {
        return Ok(vec![&DRIVEN]);
    }
    let chosen: Vec<_> = all.iter().copied().filter(|c| c.kind.name() == what || c.name == what).collect();
    if chosen.is_empty() && presets::chosen(Some(what)).is_empty() {
        let names: Vec<&str> = all.iter().map(|component| component.name).chain(presets::names()).collect();
        let kinds = all.iter().map(|component| component.kind.name());
        let mut kinds: Vec<&str> = kinds.chain([presets::KIND]).collect();
        let mut known = BTreeSet::new();
        kinds.retain(|kind| known.insert(*kind));
        let near = suggestion(what, kinds.iter().chain(&names).copied());
        let message = format!("unknown; expected {}, or one of {}{near}", kinds.join(", "), names.join(", "));
        return Err(Failure::input(format!("'{what}'"), message));
    }
    Ok(chosen)
}

fn text(components: &[&Component]) -> String {
    let mut text = String::from(
        "Written as name[:key=value[:key=value...]], such as bode:target=20ms. A value in brackets stands without its key.\n\
         Durations have a unit of ns, us, ms, s or min; rates of bit, kbit, mbit or gbit; sizes of b, kb or mb.\n",
    );
    for component in components {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}\n", describe(component));
    }
    text
}

fn describe(component: &Component) -> String {
    let positional = component.positional.map(|key| format!("[:{key}]")).unwrap_or_default();
    let mut text =
        format!("{} {}{positional}: {}\n", component.kind.name(), component.name, sentence(component.about));
    if !component.source.is_empty() {
        let _ = writeln!(text, "source: {}", component.source);
    }
    // Only long choices of words need wrapping.
    let long = component.parameters.iter().any(|parameter| parameter.unit.describe().len() > 24);
    let value = if long { Column::wrapped } else { Column::left };
    let (left, wrapped) = (Column::left, Column::wrapped);
    let columns =
        [left("key"), value("value"), left("default"), left("range"), wrapped("meaning"), wrapped("source")];
    text += &text_table::table(&columns, component.parameters.iter().map(row).collect());
    let biases = biases(component);
    if !biases.is_empty() {
        let rows = biases.iter().map(|bias| vec![(*bias).to_string()]).collect();
        text = text.trim_end().to_string() + "\n\n" + &text_table::table(&[wrapped("known to be off")], rows);
    }
    text
}

/// Known deviations of the component's figures.
fn biases(component: &Component) -> &'static [&'static str] {
    if component.kind == Kind::Transport { biases::known_biases(component.name) } else { &[] }
}

fn row(parameter: &Parameter) -> Vec<String> {
    let default = if parameter.default.is_empty() { "-" } else { parameter.default };
    let cells = [parameter.name, &parameter.unit.describe().replace('|', " | "), default, &parameter.range()];
    let words = [sentence(parameter.about), parameter.source.to_string()];
    cells.iter().map(|cell| cell.to_string()).chain(words).collect()
}

/// Text without the full stop that only some declarations have.
fn sentence(text: &str) -> String {
    text.trim_end_matches('.').to_string()
}

#[derive(Serialize)]
struct Report {
    schema_version: u32,
    components: Vec<Described>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    presets: Vec<presets::Described>,
}

#[derive(Serialize)]
struct Described {
    kind: &'static str,
    name: &'static str,
    about: &'static str,
    source: &'static str,
    positional: Option<&'static str>,
    parameters: Vec<DescribedParameter>,
    known_to_be_off: &'static [&'static str],
}

#[derive(Serialize)]
struct DescribedParameter {
    name: &'static str,
    unit: String,
    default: Option<&'static str>,
    min: Option<&'static str>,
    max: Option<&'static str>,
    about: &'static str,
    source: &'static str,
}

fn json(components: &[&Component], presets: Vec<presets::Described>) -> String {
    let components = components.iter().map(|component| Described {
        kind: component.kind.name(),
        name: component.name,
        about: component.about,
        source: component.source,
        positional: component.positional,
        parameters: component.parameters.iter().map(described).collect(),
        known_to_be_off: biases(component),
    });
    pretty(&Report { schema_version: SCHEMA_VERSION, components: components.collect(), presets })
}

fn described(parameter: &Parameter) -> DescribedParameter {
    let given = |text: &'static str| Some(text).filter(|text| !text.is_empty());
    DescribedParameter {
        name: parameter.name,
        unit: parameter.unit.describe(),
        default: given(parameter.default),
        min: given(parameter.min),
        max: given(parameter.max),
        about: parameter.about,
        source: parameter.source,
    }
}
