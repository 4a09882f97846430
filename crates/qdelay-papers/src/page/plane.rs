//! A point for each scheme, the mean over its cases; a small point for each case; and the value of the paper.

use super::data::{Group, mean};
use super::spec::{Drawing, Measure};
use super::table::figure_text;
use qdelay_report::chart::{self, Frame, Picture, Rectangle, Scale, beside, text_width};

const SIZE: (f64, f64) = (600.0, 380.0);
/// The size of the font of names.
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
    let mut picture = Picture::new(SIZE.0, SIZE.1, &format!("{} and {} of each scheme", x.title, y.title));
    let scales =
        [Scale::around(all().map(|at| at.0), x.log, 0.12), Scale::around(all().map(|at| at.1), y.log, 0.1)];
    let frame = Frame::of(SIZE.0, 0.0, SIZE.1);
    let (x, y) = picture.axes(frame, (scales[0], &x.with_unit()), (scales[1], &y.with_unit()));
    let place = |(a, b): (f64, f64)| (x.at(a), y.at(b));
    let corner = if better.0 == "start" { x.from + 8.0 } else { x.to - 8.0 };
    picture.text((corner, frame.bottom - 9.0), better.0, "soft", better.1);
    let middles: Vec<(f64, f64)> = points.iter().map(|point| place(point.at)).collect();
    let piles = chart::piles(&middles);
    let taken = [corner - 64.0, frame.bottom - 20.0, corner + 64.0, frame.bottom - 4.0];
    names(&mut picture, &points, place, [x.from, 2.0, SIZE.0 - 4.0, frame.bottom], taken);
    for point in &points {
        let class = format!("dot {}", point.group.scheme.class());
        for case in &point.cases {
            picture.mark(point.group.scheme.mark, place(*case), 2.6, &class, "");
        }
    }
    for point in &points {
        let (scheme, class) = (point.group.scheme, point.group.scheme.class());
        if let Some(paper) = point.paper {
            picture.line(place(paper), place(point.at), &format!("tie {class}"));
            let hint =
                format!("{}, the paper: {} at {}", scheme.name, figure_text(paper.1), figure_text(paper.0));
            picture.mark(scheme.mark, place(paper), 5.4, &format!("hollow {class}"), &hint);
        }
    }
    for (pile, (depth, &at)) in
        piles.iter().flat_map(|pile| pile.iter().enumerate().rev().map(move |one| (pile, one)))
    {
        let (scheme, (a, b)) = (points[at].group.scheme, points[at].at);
        let hint = format!("{}: {} at {}", scheme.name, figure_text(b), figure_text(a));
        let radius = 6.0 + chart::ring(depth, pile.len());
        picture.mark(scheme.mark, middles[at], radius, &format!("mark {}", scheme.class()), &hint);
    }
    Some(picture.of_page())
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
fn names(
    picture: &mut Picture,
    points: &[Point],
    place: impl Fn((f64, f64)) -> (f64, f64),
    inside: Rectangle,
    better: Rectangle,
) {
    let marks = points.iter().flat_map(|point| [Some(point.at), point.paper]).flatten().map(&place);
    let mut taken: Vec<Rectangle> = marks.map(|(x, y)| [x - 7.0, y - 7.0, x + 7.0, y + 7.0]).collect();
    taken.push(better);
    for Point { group, at, .. } in points {
        let size = (text_width(&group.scheme.name, TEXT), TEXT + 2.0);
        let (left, top) = beside(place(*at), 11.0, size, inside, &taken);
        taken.push([left - 2.0, top, left + size.0 + 2.0, top + size.1]);
        let class = format!("name {}", group.scheme.class());
        picture.text((left, top + TEXT - 1.0), "start", &class, &group.scheme.name);
    }
}
