//! Presets of links for `qdelay list`: values, and published figures beside those of the values.

use qdelay_study::presets::fit::{self, Fitted};
use qdelay_study::presets::{PRESETS, Preset};
use qdelay_study::results::round;
use qdelay_terminal::error::Failure;
use qdelay_terminal::text_table::{self, Column};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Name of the kind.
pub const KIND: &str = "preset";

/// Presets that `what` names: all of them by their kind or without a word.
pub fn chosen(what: Option<&str>) -> Vec<&'static Preset> {
    let is_chosen = |preset: &&Preset| what.is_none_or(|what| what == KIND || what == preset.name);
    PRESETS.iter().filter(is_chosen).collect()
}

/// Names of the presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|preset| preset.name)
}

/// The presets: nothing for none, a line for each of several, or values, figures and sources of one.
///
/// # Errors
/// A preset that cannot be built: a fault of its table.
pub fn text(presets: &[&'static Preset]) -> Result<String, Failure> {
    match presets {
        [] => return Ok(String::new()),
        [preset] => return one(preset),
        _ => {}
    }
    let mut text = String::from(
        "Presets for 'qdelay link --preset NAME', 'qdelay proxy --preset NAME' and 'qdelay set SOCKET preset=NAME'.\n\n",
    );
    let rows = presets.iter().map(|preset| vec![preset.name.to_string(), preset.about.to_string()]).collect();
    text += &text_table::table(&[Column::left("preset"), Column::wrapped("network")], rows);
    text += "\n\nLinks, delays, queues, published figures and sources: qdelay list NAME, such as qdelay list subway.\n";
    Ok(text)
}

fn one(preset: &'static Preset) -> Result<String, Failure> {
    let Preset { name, about, values, assumed, .. } = preset;
    let mut text = format!(
        "{KIND} {name}: {about}\n\n  qdelay link --preset {name} -- COMMAND\n\nThe same as options:\n\n"
    );
    for (option, value) in *values {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  --{option} {value}");
    }
    text += "\nPublished figures, and those of the preset:\n\n";
    let fitted = fitted(preset)?;
    let sources = sources(&fitted);
    let (left, right) = (Column::left, Column::right);
    let columns =
        [left("of"), left("quantity"), right("published"), right("preset"), right("error"), right("source")];
    text += &text_table::table(&columns, fitted.iter().map(|fitted| row(fitted, &sources)).collect());
    text += "\n\n";
    for (number, source) in (1..).zip(&sources) {
        let _ = writeln!(text, "  {number}  {source}");
    }
    text += "\nAssumed:\n\n";
    for what in *assumed {
        let _ = writeln!(text, "  {what}");
    }
    Ok(text)
}

/// Sources of the figures, each once.
fn sources(fitted: &[Fitted]) -> Vec<&'static str> {
    let mut sources: Vec<&'static str> = Vec::new();
    for Fitted { figure, .. } in fitted {
        if !sources.contains(&figure.source.name) {
            sources.push(figure.source.name);
        }
    }
    sources
}

fn fitted(preset: &'static Preset) -> Result<Vec<Fitted>, Failure> {
    fit::of(preset).map_err(|error| Failure::input(format!("preset '{}'", preset.name), error))
}

/// Row of the table: published value, that of the preset, and the number of the source.
fn row(fitted: &Fitted, sources: &[&str]) -> Vec<String> {
    let figure = fitted.figure;
    let error = fitted.error().map_or_else(|| "-".to_string(), |error| format!("{:+.0}%", 100.0 * error));
    let source = sources.iter().position(|name| *name == figure.source.name).unwrap_or(0) + 1;
    let [published, found] = [figure.published, fitted.found].map(fit::number);
    vec![figure.of.name().to_string(), figure.quantity.name(), published, found, error, source.to_string()]
}

/// A preset as JSON.
#[derive(Serialize)]
pub struct Described {
    name: &'static str,
    about: &'static str,
    values: BTreeMap<&'static str, &'static str>,
    figures: Vec<DescribedFigure>,
    assumed: &'static [&'static str],
}

#[derive(Serialize)]
struct DescribedFigure {
    of: &'static str,
    quantity: String,
    published: f64,
    preset: f64,
    error: Option<f64>,
    source: &'static str,
}

/// The presets as JSON.
///
/// # Errors
/// A preset that cannot be built: a fault of its table.
pub fn described(presets: &[&'static Preset]) -> Result<Vec<Described>, Failure> {
    let figure = |fitted: &Fitted| DescribedFigure {
        of: fitted.figure.of.name(),
        quantity: fitted.figure.quantity.name(),
        published: fitted.figure.published,
        preset: round(fitted.found),
        error: fitted.error().map(round),
        source: fitted.figure.source.name,
    };
    let described = |preset: &&'static Preset| {
        Ok(Described {
            name: preset.name,
            about: preset.about,
            values: preset.values.iter().copied().collect(),
            figures: fitted(preset)?.iter().map(figure).collect(),
            assumed: preset.assumed,
        })
    };
    presets.iter().map(described).collect()
}
