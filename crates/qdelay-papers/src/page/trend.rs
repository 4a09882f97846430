//! Measures over the number that the names of schemes begin with ("4 others"): a line for each measure through its means, a faint point for each
//! run, and lines at bounds.

use super::data::{Group, mean};
use super::looks::{self, LINE};
use super::spec::{Drawing, Measure};
use super::words::figure_text;
use qdelay_report::chart::{
    Anchor, Below, Curve, Mark, Placed, SURFACE, Scale, Stroke, TEXT, WORDS, draw_axes, palette,
};

/// Points.
const SIZE: (f64, f64) = (431.0, 240.0);
/// Radius of the marks of a run and of a mean, points.
const RUN: f64 = 1.6;
const MEAN: f64 = 2.8;

/// A measure: for each number the figures of its runs.
struct Line<'a> {
    measure: &'a Measure,
    points: Vec<(f64, Vec<f64>)>,
}

pub fn draw(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let line = |measure| {
        let point = |group: &Group| Some((number(&group.scheme.name)?, group.figures(measure)));
        let points: Vec<_> = groups.iter().filter_map(point).filter(|(_, runs)| !runs.is_empty()).collect();
        Line { measure, points }
    };
    let lines: Vec<Line> = drawing.measures.iter().map(line).filter(|line| !line.points.is_empty()).collect();
    let all = || lines.iter().flat_map(|line| &line.points);
    let y_measure = &lines.first()?.measure;
    let (low, high) =
        all().fold((f64::INFINITY, 0.0_f64), |(low, high), (at, _)| (low.min(*at), high.max(*at)));
    let figures = all().flat_map(|(_, runs)| runs.iter().copied()).chain(drawing.bounds.values().copied());
    let mut y = if y_measure.log { Scale::around(figures, true, 0.06) } else { Scale::from_zero(figures) };
    y.low = drawing.low.unwrap_or(y.low);
    y.high = drawing.high.unwrap_or(y.high);
    let is_log = drawing.log.unwrap_or(true) && low > 0.0;
    let x = Scale::new(low, high.max(low + 1.0), is_log);
    let mut sheet = looks::sheet(SIZE, &format!("{} over {}", drawing.title_y, drawing.title_x));
    let below = Below::Scale(x, &drawing.title_x);
    let Placed { x, y, .. } = draw_axes(&mut sheet, below, (y, &drawing.title_y));
    for (name, at) in &drawing.bounds {
        sheet.line((x.from, y.at(*at)), (x.to, y.at(*at)), looks::bound());
        sheet.label((x.to - 2.0, y.at(*at) - 3.0), Anchor::End, (TEXT, WORDS), name);
    }
    for Line { measure, points } in &lines {
        let faint = palette(measure.colour).tint(0.5);
        for (at, runs) in points {
            for run in runs {
                sheet.mark(Mark::Circle, (x.at(*at), y.at(*run)), RUN, faint, Stroke::solid(SURFACE, 0.3));
            }
        }
    }
    let curve = |Line { measure, points }: &Line| Curve {
        stroke: Stroke::solid(palette(measure.colour), LINE),
        points: points.iter().filter_map(|(at, runs)| Some((x.at(*at), y.at(mean(runs)?)))).collect(),
    };
    sheet.curves(&lines.iter().map(curve).collect::<Vec<_>>(), false);
    for Line { measure, points } in &lines {
        for (at, runs) in points {
            let Some(figure) = mean(runs) else { continue };
            let hint = format!("{}: {} at {}", measure.title, figure_text(figure), figure_text(*at));
            looks::filled(
                &mut sheet,
                Mark::Circle,
                (x.at(*at), y.at(figure)),
                (MEAN, palette(measure.colour)),
                &hint,
            );
        }
    }
    Some(looks::markup(&sheet, SIZE.0))
}

/// The number that a name begins with.
pub fn number(name: &str) -> Option<f64> {
    name.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_begins_with_its_number() {
        assert_eq!(["4 others", "0.5 of each", "DSD"].map(number), [Some(4.0), Some(0.5), None]);
    }
}
