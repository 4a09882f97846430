//! The results of a paper's claims as one page: our version of its figures, each with the claims about it.
//!
//! | module | what |
//! | --- | --- |
//! | `spec` | `figures/NAME.toml`: which figures, of which cases and measures |
//! | `data` | the cases of a figure by scheme |
//! | `plane`, `curves`, `rates`, `rows`, `trend` | kinds of figures, drawn with `qdelay_report::chart` |
//! | `looks` | marks, lines and colours that they share |
//! | `spans` | spans of time from the milliseconds in bins |
//! | `words` | figures and bounds as text |
//! | `table` | tables, of figures and of claims |
//! | `strip` | the paper's figure, ours and what is accepted of a claim, as a small picture |
//! | `html` | all of it as HTML, without a program |

mod curves;
mod data;
mod html;
mod looks;
mod plane;
mod rates;
mod rows;
mod spans;
mod spec;
mod strip;
mod table;
mod trend;
mod words;

use crate::Reproduction;
use crate::claims::Paper;
use qdelay_study::InputError;
use qdelay_study::{files, results};
use std::path::Path;

/// Figures of each paper that has any.
static FIGURES: &[(&str, &str)] = &[
    ("5g", include_str!("../../figures/5g.toml")),
    ("abe", include_str!("../../figures/abe.toml")),
    ("bode", include_str!("../../figures/bode.toml")),
    ("eqp", include_str!("../../figures/eqp.toml")),
    ("lying", include_str!("../../figures/lying.toml")),
    ("rd", include_str!("../../figures/rd.toml")),
];

/// The file with the verdicts in a folder of `qdelay reproduce`.
pub const REPRODUCTION: &str = "reproduction.json";

/// Whether `folder` is one that a paper's claims were judged in: it has a page of its own.
pub fn is_of_paper(folder: &Path) -> bool {
    folder.join(REPRODUCTION).is_file()
}

/// The page of the paper whose claims were judged in `root`: our version of its figures, each with its claims.
///
/// # Errors
/// No `reproduction.json`, or results that are not complete.
pub fn from_folder(root: &Path) -> Result<String, InputError> {
    let file = root.join(REPRODUCTION);
    let broken = |error: &dyn std::fmt::Display| {
        InputError::new(file.display(), format!("{error}; expected what 'qdelay reproduce --out' wrote"))
    };
    let text = files::read_text(&file).map_err(|error| broken(&error))?;
    let version = results::schema_version_of(&text).map_err(|error| broken(&error))?;
    if let Some(message) = results::other_schema(version) {
        return Err(InputError::new(file.display(), message));
    }
    let reproduction: Reproduction = serde_json::from_str(&text).map_err(|error| broken(&error))?;
    let figures = figures(&reproduction.paper)?;
    let data = data::Data::load(root, &figures)?;
    let about: Option<Paper> = crate::find(&reproduction.paper).ok();
    Ok(html::page(root, &reproduction, about.as_ref(), &figures, &data))
}

fn figures(paper: &str) -> Result<spec::Figures, InputError> {
    let Some((_, text)) = FIGURES.iter().find(|(name, _)| *name == paper) else {
        return Ok(spec::Figures { axis: String::new(), schemes: Vec::new(), figures: Vec::new() });
    };
    spec::Figures::parse(text).map_err(|message| InputError::new(format!("figures/{paper}.toml"), message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_study::shipped;
    use spec::Kind;

    #[test]
    fn figures_name_what_there_is() {
        for (paper, _) in FIGURES {
            let figures = figures(paper).unwrap();
            let known = |name: &String| figures.schemes.iter().any(|scheme| scheme.name == *name);
            for figure in &figures.figures {
                for panel in figure.complete() {
                    let text = shipped::find(&panel.scenario).expect(&panel.scenario);
                    let of_measures = panel.measures.iter().flat_map(|measure| measure.select.values());
                    let labels = panel.select.values().chain(of_measures);
                    let mut labels = labels.flat_map(|labels| labels.split('|'));
                    assert!(labels.all(|label| text.contains(label)), "{}: {:?}", figure.title, panel.select);
                    assert!(
                        panel.schemes.iter().all(known) && panel.paper.keys().all(known),
                        "{}",
                        figure.title
                    );
                    assert!(panel.group.is_empty() || text.contains(&format!("name = \"{}\"", panel.group)));
                    for (axis, label) in &panel.normalise {
                        assert!(
                            text.contains(axis) && text.contains(label),
                            "{}: {axis} = {label}",
                            figure.title
                        );
                    }
                    let of_lines = panel.lines.iter().filter(|line| !line.group.is_empty());
                    for group in of_lines.map(|line| &line.group) {
                        assert!(text.contains(&format!("name = \"{group}\"")), "{}: {group}", figure.title);
                    }
                    let is_drawable = match panel.kind.unwrap() {
                        Kind::Plane => panel.x.is_some() && panel.y.is_some(),
                        Kind::Cdf | Kind::Boxes | Kind::Density => !panel.group.is_empty(),
                        Kind::Rates => panel.lines.iter().all(|line| !line.group.is_empty()),
                        Kind::Bars | Kind::Dots | Kind::Table => !panel.measures.is_empty(),
                        Kind::Trend => {
                            let has_number = |name: &String| trend::number(name).is_some();
                            !panel.measures.is_empty() && panel.schemes.iter().all(has_number)
                        }
                        Kind::Time => !panel.lines.is_empty() && !panel.title_y.is_empty(),
                    };
                    assert!(is_drawable, "{}", figure.title);
                }
            }
        }
    }
}
