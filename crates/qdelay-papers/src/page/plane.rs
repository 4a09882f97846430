//! A point for each scheme, the mean over its cases; a small point for each case; and the value of the paper.

use super::data::{Group, mean};
use super::looks::{self, MARK, RING};
use super::spec::{Drawing, Measure};
use super::words::figure_text;
use qdelay_report::chart::{
    Anchor, Below, Mark, NEUTRAL, Placed, Rectangle, SURFACE, Scale, Sheet, Stroke, TEXT, draw_axes,
    place_beside, ring,
};

/// Points.
const SIZE: (f64, f64) = (417.0, 264.0);
/// Radius of the mark of a case, and half of the room that a mark takes from names; points.
const CASE: f64 = 2.0;
const EDGE: f64 = 5.0;

struct Point<'a> {
    group: &'a Group<'a>,
    at: (f64, f64),
    cases: Vec<(f64, f64)>,
    paper: Option<(f64, f64)>,
}

pub fn draw(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let (x, y) = (drawing.x.as_ref()?, drawing.y.as_ref()?);
    let (anchor, better) =
        if x.less { (Anchor::Start, "\u{2199} better") } else { (Anchor::End, "better \u{2198}") };
    let points: Vec<Point> = groups.iter().filter_map(|group| point(drawing, group, x, y)).collect();
    if points.is_empty() {
        return None;
    }
    let all = || points.iter().flat_map(|point| point.cases.iter().copied().chain(point.paper));
    let mut sheet = looks::sheet(SIZE, &format!("{} and {} of each scheme", x.title, y.title));
    let (x_title, y_title) = (x.with_unit(), y.with_unit());
    let below = Below::Scale(Scale::around(all().map(|at| at.0), x.log, 0.12), &x_title);
    let y = Scale::around(all().map(|at| at.1), y.log, 0.1);
    let Placed { x, y, frame } = draw_axes(&mut sheet, below, (y, &y_title));
    let place = |(a, b): (f64, f64)| (x.at(a), y.at(b));
    let corner = if anchor == Anchor::Start { x.from + 6.0 } else { x.to - 6.0 };
    sheet.coloured_text((corner, frame.bottom - 6.0), anchor, (TEXT, NEUTRAL), better);
    let middles: Vec<(f64, f64)> = points.iter().map(|point| place(point.at)).collect();
    let piles = looks::piles(&middles);
    let taken = [corner - 44.0, frame.bottom - 14.0, corner + 44.0, frame.bottom - 3.0];
    for point in &points {
        let faint = point.group.scheme.ink().tint(0.6);
        for case in &point.cases {
            sheet.mark(point.group.scheme.mark, place(*case), CASE, faint, Stroke::solid(SURFACE, 0.3));
        }
    }
    for point in &points {
        let (scheme, ink) = (point.group.scheme, point.group.scheme.ink());
        if let Some(paper) = point.paper {
            let tie = Stroke::dashed(ink.tint(0.7), 0.7, Mark::Triangle.dash());
            sheet.line(place(paper), place(point.at), tie);
            let hint =
                format!("{}, the paper: {} at {}", scheme.name, figure_text(paper.1), figure_text(paper.0));
            looks::hollow(&mut sheet, scheme.mark, place(paper), (MARK * 0.9, ink), &hint);
        }
    }
    for (pile, (depth, &at)) in
        piles.iter().flat_map(|pile| pile.iter().enumerate().rev().map(move |one| (pile, one)))
    {
        let (scheme, (a, b)) = (points[at].group.scheme, points[at].at);
        let hint = format!("{}: {} at {}", scheme.name, figure_text(b), figure_text(a));
        let radius = MARK + ring(depth, pile.len(), RING);
        looks::filled(&mut sheet, scheme.mark, middles[at], (radius, scheme.ink()), &hint);
    }
    name_points(&mut sheet, &points, place, [x.from, 2.0, SIZE.0 - 3.0, frame.bottom], taken);
    Some(looks::markup(&sheet, SIZE.0))
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
fn name_points(
    sheet: &mut Sheet,
    points: &[Point],
    place: impl Fn((f64, f64)) -> (f64, f64),
    inside: Rectangle,
    better: Rectangle,
) {
    let marks = points.iter().flat_map(|point| [Some(point.at), point.paper]).flatten().map(&place);
    let mut taken: Vec<Rectangle> = marks.map(|(x, y)| [x - EDGE, y - EDGE, x + EDGE, y + EDGE]).collect();
    taken.push(better);
    for Point { group, at, .. } in points {
        let name = &group.scheme.name;
        let size = (sheet.text_width(name, TEXT), TEXT + 1.5);
        let (left, top) = place_beside(place(*at), MARK + 3.5, size, inside, &taken);
        taken.push([left - 1.5, top, left + size.0 + 1.5, top + size.1]);
        sheet.label((left, top + TEXT - 0.5), Anchor::Start, (TEXT, group.scheme.ink()), name);
    }
}
