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
    let mut text = String::from("<div class=\"scroll\"><table class=\"plain figures\"><thead><tr><th></th>");
    for scheme in &columns {
        let _ = write!(text, "<th class=\"figure\">{}</th>", escape(&scheme.name));
    }
    text.push_str("</tr></thead><tbody>");
    for (panel, groups) in panels {
        for (place, measure) in panel.measures.iter().enumerate() {
            let title = if panel.title.is_empty() { measure.with_unit() } else { panel.title.clone() };
            let _ = write!(text, "<tr><th scope=\"row\">{}</th>", escape(&title));
            for scheme in &columns {
                let group = groups.iter().find(|group| group.scheme.name == scheme.name);
                let ours = group.and_then(|group| mean(&group.figures(measure)));
                let paper = panel.paper.get(&scheme.name).and_then(|values| values.get(place));
                let paper = paper
                    .map(|value| format!("<small>{}</small>", words::figure_text(*value)))
                    .unwrap_or_default();
                let ours = ours.map_or("\u{2013}".to_string(), words::figure_text);
                let _ = write!(text, "<td class=\"figure\">{ours}{paper}</td>");
            }
            text.push_str("</tr>");
        }
    }
    text.push_str("</tbody></table></div>");
    Some(text)
}

/// A row for each scheme, a column for each choice: its effect on the flow that makes it, and below on the flow that it harms most.
pub fn changes(table: &PairedTable) -> String {
    let mut text = format!(
        "<div class=\"scroll\"><table class=\"plain figures changes\"><thead><tr><th>{}</th>",
        escape(&table.rows_are)
    );
    for column in &table.columns {
        let _ = write!(text, "<th class=\"figure\">{}</th>", escape(column));
    }
    text.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        let _ = write!(text, "<tr><th scope=\"row\">{}</th>", escape(&row.name));
        for cell in &row.cells {
            text.push_str(&cell.as_ref().map_or("<td class=\"figure\">\u{2013}</td>".to_string(), change));
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table></div>");
    text
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
            aside(row),
            escape(&row.section),
            escape(&row.bound),
            escape(&row.claim),
            cause.unwrap_or_default(),
            strip::draw(row),
            number(row.paper),
            number(row.ours),
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
