//! Tables: of measures by scheme, and of claims.

use super::data::{Group, mean};
use super::spec::{Drawing, Scheme};
use super::{strip, words};
use crate::paired::{Judgement, PairedCell, PairedTable};
use crate::{Row, Verdict};
use qdelay_report::chart::escape;
use std::fmt::Write;

/// A row for each panel and measure, a column for each scheme: ours, and the paper's below.
pub fn schemes(panels: &[(Drawing, Vec<Group<'_>>)]) -> Option<String> {
    let mut columns: Vec<&Scheme> = Vec::new();
    for group in panels.iter().flat_map(|(_, groups)| groups) {
        if !columns.iter().any(|known| known.name == group.scheme.name) {
            columns.push(group.scheme);
        }
    }
    if columns.is_empty() {
        return None;
    }
    let cell = |panel: &Drawing, groups: &[Group], place: usize, scheme: &Scheme| {
        let group = groups.iter().find(|group| group.scheme.name == scheme.name);
        let ours = group.and_then(|group| mean(&group.figures(&panel.measures[place])));
        let ours = ours.map_or("\u{2013}".to_string(), words::figure_text);
        let paper = panel.paper.get(&scheme.name).and_then(|values| values.get(place));
        let paper = paper.map(|value| format!("<small>{}</small>", words::figure_text(*value)));
        format!("<td class=\"figure\">{ours}{}</td>", paper.unwrap_or_default())
    };
    let rows = panels.iter().flat_map(|(panel, groups)| {
        let columns = &columns;
        panel.measures.iter().enumerate().map(move |(place, measure)| {
            let title = if panel.title.is_empty() { measure.with_unit() } else { panel.title.clone() };
            (title, columns.iter().map(|scheme| cell(panel, groups, place, scheme)).collect())
        })
    });
    Some(grid("", "", columns.iter().map(|scheme| scheme.name.as_str()), rows))
}

/// A table of titled rows, whose cells are markup.
fn grid<'a>(
    class: &str,
    corner: &str,
    columns: impl Iterator<Item = &'a str>,
    rows: impl Iterator<Item = (String, String)>,
) -> String {
    let columns: String = columns.map(|name| format!("<th class=\"figure\">{}</th>", escape(name))).collect();
    let rows: String = rows
        .map(|(title, cells)| format!("<tr><th scope=\"row\">{}</th>{cells}</tr>", escape(&title)))
        .collect();
    format!(
        "<div class=\"scroll\"><table class=\"plain figures{class}\"><thead><tr><th>{}</th>{columns}</tr></thead>\
         <tbody>{rows}</tbody></table></div>",
        escape(corner)
    )
}

/// A row for each scheme, a column for each choice: its effect on the flow that makes it, and below on the flow that it harms most.
pub fn changes(table: &PairedTable) -> String {
    let cell = |cell: &Option<PairedCell>| {
        cell.as_ref().map_or("<td class=\"figure\">\u{2013}</td>".to_string(), change)
    };
    let rows = table.rows.iter().map(|row| (row.name.clone(), row.cells.iter().map(cell).collect()));
    grid(" changes", &table.rows_are, table.columns.iter().map(String::as_str), rows)
}

fn change(cell: &PairedCell) -> String {
    let class = match cell.judgement() {
        Judgement::PaysAndHarms => " bad",
        Judgement::Costs => " good",
        Judgement::Pays | Judgement::Harms => " so-so",
        Judgement::Nothing => "",
    };
    format!(
        "<td class=\"figure{class}\">{}<small>{}</small></td>",
        escape(&cell.own.text()),
        escape(&cell.harm_text())
    )
}

/// Claims: the verdict, where the paper says it, its figure and ours, as a picture and as numbers.
pub fn claims(rows: &[&Row]) -> String {
    let mut text = String::from(
        "<table class=\"plain claims\"><thead><tr><th>Verdict</th><th>Figure</th><th>Section</th><th>Claim</th><th></th>\
         <th class=\"figure\">Paper</th><th class=\"figure\">Ours</th><th class=\"figure\">Accepted</th></tr></thead><tbody>",
    );
    for row in rows {
        let unit = if row.unit == "ratio" { "" } else { &row.unit };
        let unit = if unit.is_empty() { String::new() } else { format!(" <i>{}</i>", escape(unit)) };
        let number = |value: Option<f64>| {
            value.map(|value| format!("{}{unit}", words::figure_text(value))).unwrap_or_default()
        };
        let cause = row
            .cause
            .as_ref()
            .map(|cause| format!("<details><summary>why</summary><p>{}</p></details>", escape(cause)));
        let figure = row.figure.as_deref().map(escape).unwrap_or_default();
        let _ = write!(
            text,
            "<tr><td class=\"verdict\">{}{}</td><td class=\"of-figure\">{figure}</td><td class=\"of-section\">{}</td>\
             <td class=\"claim\" title=\"{}\">{}{}</td><td class=\"of-strip\">{}</td><td class=\"figure\" data-label=\"paper\">{}</td>\
             <td class=\"figure\" data-label=\"ours\"><b>{}</b></td><td class=\"figure\" data-label=\"accepted\">{}</td></tr>",
            pill(row.verdict),
            aside(row) + &row.margin.map(margin).unwrap_or_default(),
            escape(&row.section),
            escape(&row.bound),
            escape(&row.claim),
            cause.unwrap_or_default(),
            strip::draw(row),
            number(row.paper),
            number(row.value),
            escape(&words::bounds_text(row))
        );
    }
    text.push_str("</tbody></table>");
    text
}

/// Factor by which a better row differs, or the figure under its explaining setting.
fn aside(row: &Row) -> String {
    match (row.factor, row.with_setting, &row.setting) {
        (Some(factor), ..) => format!("<small>{} times the paper's</small>", words::figure_text(factor)),
        (_, Some(with), Some(setting)) => {
            format!(
                "<small title=\"{}\">{} with its setting</small>",
                escape(setting),
                words::figure_text(with)
            )
        }
        _ => String::new(),
    }
}

/// Distance to the nearer bound.
fn margin(share: f64) -> String {
    let percent = words::figure_text((share * 100.0).abs().min(1000.0));
    let more = if share.abs() > 10.0 { "more than " } else { "" };
    format!("<small>{more}{percent}% {} bounds</small>", if share < 0.0 { "out of" } else { "within" })
}

/// The verdict as a word in its colour.
pub fn pill(verdict: Verdict) -> String {
    let (kind, sign) = match verdict {
        Verdict::Match => ("good", "\u{2713} "),
        Verdict::Explained => ("so-so", "\u{2248} "),
        Verdict::Miss => ("bad", "\u{2717} "),
        Verdict::Better | Verdict::Fitted | Verdict::Skipped => ("so-so", ""),
    };
    format!("<span class=\"pill {kind}\">{sign}{}</span>", verdict.name())
}
