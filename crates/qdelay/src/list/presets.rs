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

/// The presets with values, figures and sources.
///
/// # Errors
/// A preset that cannot be built: a fault of its table.
pub fn text(presets: &[&'static Preset]) -> Result<String, Failure> {
    let mut text = String::new();
    for preset in presets {
        let Preset { name, about, values, assumed, .. } = preset;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{KIND} {name}: {about}\n\n  qdelay link --preset {name} -- COMMAND\n\nits values:");
        for (option, value) in *values {
            let _ = writeln!(text, "  --{option} {value}");
        }
        text.push('\n');
        let (left, right, wrapped) = (Column::left, Column::right, Column::wrapped);
        let columns = [
            left("of"),
            left("quantity"),
            right("published"),
            right("preset"),
            right("error"),
            wrapped("source"),
        ];
        text += &text_table::table(&columns, fitted(preset)?.iter().map(row).collect());
        let assumed = assumed.iter().map(|what| vec![(*what).to_string()]).collect();
        let _ = write!(text, "\n{}", text_table::table(&[wrapped("assumed")], assumed));
    }
    Ok(text)
}

fn fitted(preset: &'static Preset) -> Result<Vec<Fitted>, Failure> {
    fit::of(preset).map_err(|error| Failure::input(format!("preset '{}'", preset.name), error))
}

/// Row of a table in text: published value and that of the preset.
pub fn row(fitted: &Fitted) -> Vec<String> {
    let figure = fitted.figure;
    let error = fitted.error().map_or_else(|| "-".to_string(), |error| format!("{:+.0}%", 100.0 * error));
    vec![
        figure.of.name().to_string(),
        figure.quantity.name(),
        number(figure.published),
        number(fitted.found),
        error,
        figure.source.name.to_string(),
    ]
}

/// Three digits, at most two of them behind the point, or three below 1.
fn number(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ if value >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
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
