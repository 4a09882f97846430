//! A point for each scheme: the mean over its cases, small ones for each of these, and what the paper has.

use super::chart::{Margins, Picture, Scale, class, escape, number_text, text_width};
use super::data::{Group, mean};
use super::spec::{Drawing, Measure};

const SIZE: (f64, f64) = (600.0, 380.0);
const MARGINS: Margins = Margins { left: 58.0, right: 18.0, top: 12.0, bottom: 42.0 };
/// Of the font of names.
const TEXT: f64 = 12.0;

struct Point<'a> {
    group: &'a Group<'a>,
    at: (f64, f64),
    cases: Vec<(f64, f64)>,
    paper: Option<(f64, f64)>,
}

pub fn draw(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let (x, y) = (drawing.x.as_ref()?, drawing.y.as_ref()?);
    let better = if x.less { ("start", "\u{2199} better") } else { ("end", "better \u{2198}") };
    let points: Vec<Point> = groups.iter().filter_map(|group| point(drawing, group, x, y)).collect();
    if points.is_empty() {
        return None;
    }
    let all = || points.iter().flat_map(|point| point.cases.iter().copied().chain(point.paper));
    let xs: Vec<f64> = all().map(|at| at.0).collect();
    let ys: Vec<f64> = all().map(|at| at.1).collect();
    let mut picture = Picture::new(SIZE.0, SIZE.1, &format!("{} and {} of each scheme", x.title, y.title));
    let titles = [x, y].map(with_unit);
    let scales = [Scale::around(&xs, x.log, 0.12), Scale::around(&ys, y.log, 0.1)];
    let (x, y) = picture.axes(&MARGINS, (scales[0], &titles[0]), (scales[1], &titles[1]));
    let place = |(a, b): (f64, f64)| (x.at(a), y.at(b));
    let corner = if better.0 == "start" { x.from + 8.0 } else { x.to - 8.0 };
    picture.text((corner, SIZE.1 - MARGINS.bottom - 9.0), better.0, "soft", better.1);
    let arrow = [corner - 64.0, SIZE.1 - MARGINS.bottom - 20.0, corner + 64.0, SIZE.1 - MARGINS.bottom - 4.0];
    names(&mut picture, &points, place, arrow);
    for point in &points {
        let class = class(point.group.scheme);
        for case in &point.cases {
            picture.mark(point.group.scheme.mark, place(*case), 2.6, &format!("dot {class}"), "");
        }
    }
    for point in &points {
        let (scheme, class) = (point.group.scheme, class(point.group.scheme));
        if let Some(paper) = point.paper {
            picture.line(place(paper), place(point.at), &format!("tie {class}"));
            let hint = format!("{}, the paper: {} at {}", scheme.name, number_text(paper.1), tidy(paper.0));
            picture.mark(scheme.mark, place(paper), 5.4, &format!("hollow {class}"), &hint);
        }
    }
    for point in &points {
        let (scheme, class) = (point.group.scheme, class(point.group.scheme));
        let hint = format!("{}: {} at {}", scheme.name, number_text(point.at.1), tidy(point.at.0));
        picture.mark(scheme.mark, place(point.at), 6.0, &format!("mark {class}"), &hint);
    }
    Some(picture.finish())
}

/// A utilization of 0.9995 is not 1.
fn tidy(value: f64) -> String {
    if value.abs() > 0.9 && value.abs() < 1.0 { format!("{value:.4}") } else { number_text(value) }
}

pub fn with_unit(measure: &Measure) -> String {
    if measure.unit.is_empty() {
        measure.title.clone()
    } else {
        format!("{} ({})", measure.title, measure.unit)
    }
}

fn point<'a>(drawing: &Drawing, group: &'a Group<'a>, x: &Measure, y: &Measure) -> Option<Point<'a>> {
    let (xs, ys) = (group.figures(x), group.figures(y));
    let paper = drawing.paper.get(&group.scheme.name).and_then(|at| Some((*at.first()?, *at.get(1)?)));
    let at = (mean(&xs)?, mean(&ys)?);
    // Cases that lack one of them cannot be told where they are.
    let cases = if xs.len() == ys.len() { xs.into_iter().zip(ys).collect() } else { vec![at] };
    Some(Point { group, at, cases, paper })
}

/// The name of each point beside it, where it meets no mark and no other name.
fn names(picture: &mut Picture, points: &[Point], place: impl Fn((f64, f64)) -> (f64, f64), arrow: [f64; 4]) {
    let marks: Vec<(f64, f64)> =
        points.iter().flat_map(|point| [Some(point.at), point.paper]).flatten().map(&place).collect();
    let mut taken: Vec<[f64; 4]> = marks.iter().map(|(x, y)| [x - 7.0, y - 7.0, x + 7.0, y + 7.0]).collect();
    taken.push(arrow);
    for point in points {
        let (x, y) = place(point.at);
        let width = text_width(&point.group.scheme.name, TEXT);
        let candidates = [
            (x + 11.0, y + 4.0),
            (x - 11.0 - width, y + 4.0),
            (x - width / 2.0, y - 12.0),
            (x - width / 2.0, y + 21.0),
            (x + 9.0, y - 9.0),
            (x + 9.0, y + 17.0),
            (x - 9.0 - width, y - 9.0),
            (x - 9.0 - width, y + 17.0),
            (x - width / 2.0, y - 26.0),
            (x - width / 2.0, y + 35.0),
        ];
        let bounds = |(left, base): (f64, f64)| [left - 2.0, base - 11.0, left + width + 2.0, base + 3.0];
        let outside = |at: &[f64; 4]| {
            at[0] < MARGINS.left || at[2] > SIZE.0 - 4.0 || at[1] < 2.0 || at[3] > SIZE.1 - MARGINS.bottom
        };
        let cost = |at: &[f64; 4]| {
            let meets = taken.iter().filter(|other| overlap(at, other)).count();
            meets + if outside(at) { 100 } else { 0 }
        };
        let best = candidates
            .into_iter()
            .map(|at| (cost(&bounds(at)), at))
            .reduce(|a, b| if b.0 < a.0 { b } else { a });
        let Some((_, at)) = best else { continue };
        taken.push(bounds(at));
        picture.raw(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" class=\"name {}\">{}</text>",
            at.0,
            at.1,
            class(point.group.scheme),
            escape(&point.group.scheme.name)
        ));
    }
}

fn overlap(a: &[f64; 4], b: &[f64; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}
