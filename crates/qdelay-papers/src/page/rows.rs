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

/// The paper's figures of a scheme.
fn paper<'a>(drawing: &'a Drawing, group: &Group) -> &'a [f64] {
    drawing.paper.get(&group.scheme.name).map_or(&[], Vec::as_slice)
}

fn scale(figures: impl IntoIterator<Item = f64>, is_log: bool, room: f64) -> Scale {
    if is_log { Scale::around(figures, true, room) } else { Scale::from_zero(figures) }
}

fn range(figures: &[f64]) -> (f64, f64) {
    figures.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (at.min(low), at.max(high)))
}

/// A picture with an axis below, and a name at each row; `draw` gets the scale and the middle of a row.
fn draw_rows<T>(
    found: &[(&Group, T)],
    (x, title): (Scale, &str),
    draw: impl Fn(&mut Sheet, Scale, f64, &Group, &T),
) -> Option<String> {
    if found.is_empty() {
        return None;
    }
    let bottom = TOP + found.len() as f64 * ROW;
    let mut sheet = looks::sheet((WIDTH, bottom + BOTTOM), title);
    let widths = found.iter().map(|(group, _)| sheet.text_width(&group.scheme.name, TEXT));
    let left = widths.fold(0.0, f64::max) + 12.0;
    let frame = Frame { left, top: TOP, right: WIDTH - RIGHT, bottom };
    let x = draw_x_axis(&mut sheet, x, frame, title);
    if x.low < 0.0 && !x.is_log {
        sheet.line((x.at(0.0), TOP), (x.at(0.0), bottom), Stroke::solid(WORDS, 0.6));
    }
    for (row, (group, own)) in found.iter().enumerate() {
        let middle = TOP + (row as f64 + 0.5) * ROW;
        let ink = group.scheme.ink();
        sheet.coloured_text((left - 6.0, middle + BASE), Anchor::End, (TEXT, ink), &group.scheme.name);
        draw(&mut sheet, x, middle, group, own);
    }
    Some(looks::markup(&sheet, WIDTH))
}

/// The mean of a measure, the least and largest of its cases, and the paper's.
pub fn bars(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let measure = drawing.measures.first()?;
    let figures =
        |group| Some((group, Group::figures(group, measure))).filter(|(_, cases)| !cases.is_empty());
    let found: Vec<(&Group, Vec<f64>)> = groups.iter().filter_map(figures).collect();
    let all = found.iter().flat_map(|(group, cases)| cases.iter().chain(paper(drawing, group)).copied());
    let x = scale(all, measure.log, 0.08);
    draw_rows(&found, (x, &measure.with_unit()), |sheet, x, y, group, cases| {
        let Some(middle) = mean(cases) else { return };
        let fill = group.scheme.ink().tint(0.78);
        sheet.rectangle((x.from, y - THICK), (x.at(middle), y + THICK), Some((fill, 1.0)), None);
        let (low, high) = range(cases);
        sheet.line((x.at(low), y), (x.at(high), y), Stroke::solid(WORDS, 1.0));
        let mut left = x.at(high) + 5.5;
        if let Some(paper) = paper(drawing, group).first() {
            looks::of_paper(sheet, (x.at(*paper), y), &group.scheme.name, *paper);
            let width = sheet.text_width(&figure_text(middle), TEXT);
            if x.at(*paper) + 5.0 > left && x.at(*paper) - 5.0 < left + width {
                left = x.at(*paper) + 7.0;
            }
        }
        looks::value(sheet, (left, y + BASE), middle);
    })
}

/// Quartiles, median and range of a delay.
pub fn boxes(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let source = drawing.source.unwrap_or(Source::Queue);
    let five = |group| {
        let curve = pooled(&Group::distributions(group, source, &drawing.group));
        let at = |percent| delay_at(&curve, percent);
        (!curve.is_empty()).then(|| (group, [curve[0].0, at(25.0), at(50.0), at(75.0), at(100.0)]))
    };
    let found: Vec<(&Group, [f64; 5])> = groups.iter().filter_map(five).collect();
    let all = found.iter().flat_map(|(group, five)| five.iter().chain(paper(drawing, group)).copied());
    let x = scale(all, drawing.log.unwrap_or(false), 0.05);
    draw_rows(&found, (x, delay_title(drawing)), |sheet, x, y, group, five| {
        draw_quartiles(sheet, five.map(|ms| x.at(ms)), y, THICK, group.scheme.ink());
        if let Some(paper) = paper(drawing, group).first() {
            looks::of_paper(sheet, (x.at(*paper), y), &group.scheme.name, *paper);
        }
        looks::value(sheet, (x.at(five[4]) + 5.0, y + BASE), five[2]);
    })
}

/// Each measure as a mark: the first filled, the others hollow, and a line between.
pub fn dots(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let first = drawing.measures.first()?;
    let figures = |group| {
        let figure = |measure: &Measure| mean(&Group::figures(group, measure));
        drawing.measures.iter().map(figure).collect::<Option<Vec<f64>>>().map(|figures| (group, figures))
    };
    let found: Vec<(&Group, Vec<f64>)> = groups.iter().filter_map(figures).collect();
    let all =
        || found.iter().flat_map(|(group, figures)| figures.iter().chain(paper(drawing, group)).copied());
    let x = if first.log || all().all(|figure| figure >= 0.0) {
        scale(all(), first.log, 0.1)
    } else {
        // With the zero among them.
        Scale::around(all().chain([0.0]), false, 0.05)
    };
    let title = if drawing.title_x.is_empty() { first.with_unit() } else { drawing.title_x.clone() };
    draw_rows(&found, (x, &title), |sheet, x, y, group, figures| {
        let (ink, name) = (group.scheme.ink(), &group.scheme.name);
        let (low, high) = range(figures);
        sheet.line((x.at(low), y), (x.at(high), y), Stroke::solid(ink, 0.9));
        let marks = |figures: &[f64]| -> Vec<(usize, f64, String)> {
            let told = figures.iter().zip(&drawing.measures).enumerate().rev();
            told.map(|(at, (figure, measure))| {
                (at, *figure, format!("{}: {} {}", measure.title, figure_text(*figure), measure.unit))
            })
            .collect()
        };
        for (at, figure, text) in marks(figures) {
            let draw = if at == 0 { looks::filled } else { looks::hollow };
            draw(sheet, Mark::at_place(at), (x.at(figure), y), (3.9, ink), &format!("{name}, {text}"));
        }
        // Above ours, so that both are seen where they are equal.
        for (at, figure, text) in marks(paper(drawing, group)) {
            let place = (x.at(figure), y - ABOVE);
            let hint = format!("{name}, the paper, {text}");
            looks::hollow(sheet, Mark::at_place(at), place, (2.5, WORDS), &hint);
        }
        looks::value(sheet, (x.at(high) + 7.0, y + BASE), high);
    })
}
