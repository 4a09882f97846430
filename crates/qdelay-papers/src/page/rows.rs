//! A row for each scheme: bars, boxes, or several measures as dots.

use super::curves::delay_title;
use super::data::{Group, delay_at, mean, pooled};
use super::looks;
use super::spec::{Drawing, Measure, Source};
use super::words::figure_text;
use qdelay_report::chart::{
    Anchor, Frame, Mark, Scale, Sheet, Stroke, TEXT, WORDS, draw_quartiles, draw_x_axis,
};

/// Points.
const WIDTH: f64 = 390.0;
const ROW: f64 = 19.0;
/// Room to the right of the axis, above the rows and below them.
const RIGHT: f64 = 44.0;
const TOP: f64 = 5.0;
const BOTTOM: f64 = 26.0;
/// Half of the height of a bar.
const THICK: f64 = 5.0;
/// Distance of the paper's marks above ours.
const ABOVE: f64 = 6.3;
/// From the middle of a row to the base line of its text.
const BASE: f64 = TEXT * 0.35;

/// The heights of rows.
struct Rows {
    count: usize,
}

impl Rows {
    fn height(&self) -> f64 {
        TOP + self.count as f64 * ROW + BOTTOM
    }
    fn bottom(&self) -> f64 {
        self.height() - BOTTOM
    }
    fn middle(&self, row: usize) -> f64 {
        TOP + (row as f64 + 0.5) * ROW
    }
}

/// A picture with the axis below and a name at each row.
fn with_names(groups: &[&Group], x: Scale, title: &str) -> (Sheet, Scale, Rows) {
    let rows = Rows { count: groups.len() };
    let mut sheet = looks::sheet((WIDTH, rows.height()), title);
    let widths = groups.iter().map(|group| sheet.text_width(&group.scheme.name, TEXT));
    let left = widths.fold(0.0, f64::max) + 12.0;
    let frame = Frame { left, top: TOP, right: WIDTH - RIGHT, bottom: rows.bottom() };
    let x = draw_x_axis(&mut sheet, x, frame, title);
    for (row, group) in groups.iter().enumerate() {
        let at = (left - 6.0, rows.middle(row) + BASE);
        sheet.coloured_text(at, Anchor::End, (TEXT, group.scheme.ink()), &group.scheme.name);
    }
    (sheet, x, rows)
}

/// The mean of a measure, the least and largest of its cases, and the paper's.
pub fn bars(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let measure = drawing.measures.first()?;
    let of = |group| Some((group, mean(&Group::figures(group, measure))?, group.figures(measure)));
    let found: Vec<(&Group, f64, Vec<f64>)> = groups.iter().filter_map(of).collect();
    let paper = |group: &Group| drawing.paper.get(&group.scheme.name).and_then(|at| at.first()).copied();
    let all = || found.iter().flat_map(|(group, _, cases)| cases.iter().copied().chain(paper(group)));
    let x = if measure.log { Scale::around(all(), true, 0.08) } else { Scale::from_zero(all()) };
    if found.is_empty() {
        return None;
    }
    let names: Vec<&Group> = found.iter().map(|found| found.0).collect();
    let (mut sheet, x, rows) = with_names(&names, x, &measure.with_unit());
    for (row, (group, middle, cases)) in found.iter().enumerate() {
        let (y, name) = (rows.middle(row), &group.scheme.name);
        let fill = group.scheme.ink().tint(0.78);
        sheet.rectangle((x.from, y - THICK), (x.at(*middle), y + THICK), Some((fill, 1.0)), None);
        let (low, high) =
            cases.iter().fold((*middle, *middle), |(low, high), case| (low.min(*case), high.max(*case)));
        sheet.line((x.at(low), y), (x.at(high), y), Stroke::solid(WORDS, 1.0));
        let mut left = x.at(high) + 5.5;
        if let Some(paper) = paper(group) {
            looks::of_paper(&mut sheet, (x.at(paper), y), name, paper);
            let width = sheet.text_width(&figure_text(*middle), TEXT);
            if x.at(paper) + 5.0 > left && x.at(paper) - 5.0 < left + width {
                left = x.at(paper) + 7.0;
            }
        }
        looks::value(&mut sheet, (left, y + BASE), *middle);
    }
    Some(looks::markup(&sheet, WIDTH))
}

/// Quartiles, median and range of a delay.
pub fn boxes(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let source = drawing.source.unwrap_or(Source::Queue);
    let of = |group| {
        let curve = pooled(&Group::distributions(group, source, &drawing.group));
        let at = |percent| delay_at(&curve, percent);
        (!curve.is_empty()).then(|| (group, [curve[0].0, at(25.0), at(50.0), at(75.0), at(100.0)]))
    };
    let found: Vec<(&Group, [f64; 5])> = groups.iter().filter_map(of).collect();
    let paper = |group: &Group| drawing.paper.get(&group.scheme.name).and_then(|at| at.first()).copied();
    let all = || found.iter().flat_map(|(group, box_)| box_.iter().copied().chain(paper(group)));
    let is_log = drawing.log.unwrap_or(false);
    let x = if is_log { Scale::around(all(), true, 0.05) } else { Scale::from_zero(all()) };
    if found.is_empty() {
        return None;
    }
    let names: Vec<&Group> = found.iter().map(|found| found.0).collect();
    let (mut sheet, x, rows) = with_names(&names, x, delay_title(drawing));
    for (row, (group, five)) in found.iter().enumerate() {
        let (y, [_, _, middle, _, high]) = (rows.middle(row), *five);
        draw_quartiles(&mut sheet, five.map(|ms| x.at(ms)), y, THICK, group.scheme.ink());
        if let Some(paper) = paper(group) {
            looks::of_paper(&mut sheet, (x.at(paper), y), &group.scheme.name, paper);
        }
        looks::value(&mut sheet, (x.at(high) + 5.0, y + BASE), middle);
    }
    Some(looks::markup(&sheet, WIDTH))
}

/// Each measure as a mark: the first filled, the others hollow, and a line between.
pub fn dots(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let of = |group| {
        let figure = |measure: &Measure| mean(&Group::figures(group, measure));
        drawing.measures.iter().map(figure).collect::<Option<Vec<f64>>>().map(|figures| (group, figures))
    };
    let found: Vec<(&Group, Vec<f64>)> = groups.iter().filter_map(of).collect();
    let first = drawing.measures.first()?;
    let paper = |group: &Group| drawing.paper.get(&group.scheme.name).cloned().unwrap_or_default();
    let all: Vec<f64> =
        found.iter().flat_map(|(group, figures)| figures.iter().copied().chain(paper(group))).collect();
    if found.is_empty() {
        return None;
    }
    let has_negative = all.iter().any(|figure| *figure < 0.0);
    let x = match (first.log, has_negative) {
        (true, _) => Scale::around(all.iter().copied(), true, 0.1),
        (false, false) => Scale::from_zero(all.iter().copied()),
        // With the zero among them.
        (false, true) => Scale::around(all.iter().copied().chain([0.0]), false, 0.05),
    };
    let names: Vec<&Group> = found.iter().map(|found| found.0).collect();
    let title = if drawing.title_x.is_empty() { first.with_unit() } else { drawing.title_x.clone() };
    let (mut sheet, x, rows) = with_names(&names, x, &title);
    if has_negative && !first.log {
        sheet.line((x.at(0.0), TOP), (x.at(0.0), rows.bottom()), Stroke::solid(WORDS, 0.6));
    }
    for (row, (group, figures)) in found.iter().enumerate() {
        let (y, ink) = (rows.middle(row), group.scheme.ink());
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        let range = figures.iter().fold(nothing, |(low, high), at| (at.min(low), at.max(high)));
        sheet.line((x.at(range.0), y), (x.at(range.1), y), Stroke::solid(ink, 0.9));
        for (at, (figure, measure)) in figures.iter().zip(&drawing.measures).enumerate().rev() {
            let mark = if at == 0 { looks::filled } else { looks::hollow };
            let hint = format!(
                "{}, {}: {} {}",
                group.scheme.name,
                measure.title,
                figure_text(*figure),
                measure.unit
            );
            mark(&mut sheet, Mark::at_place(at), (x.at(*figure), y), (3.9, ink), &hint);
        }
        // Above ours, so that both are seen where they are equal.
        for (at, (value, measure)) in paper(group).iter().zip(&drawing.measures).enumerate().rev() {
            let hint = format!(
                "{}, the paper, {}: {} {}",
                group.scheme.name,
                measure.title,
                figure_text(*value),
                measure.unit
            );
            looks::hollow(&mut sheet, Mark::at_place(at), (x.at(*value), y - ABOVE), (2.5, WORDS), &hint);
        }
        looks::value(&mut sheet, (x.at(range.1) + 7.0, y + BASE), range.1);
    }
    Some(looks::markup(&sheet, WIDTH))
}
