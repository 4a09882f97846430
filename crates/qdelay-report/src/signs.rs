//! Marks and dashes of pictures for print, by the number of a shape: as the page has them.

use plotters::coord::Shift;
use plotters::prelude::*;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub(super) type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Of marks, in pixels.
const RADIUS: f64 = 5.0;

/// A mark around `at`, by so many pixels larger than usual.
pub(super) fn draw_mark(area: &Area, at: (i32, i32), shape: usize, colour: RGBColor, larger: f64) -> Drawn {
    match corners(shape) {
        None => area.draw(&Circle::new(at, (RADIUS + larger).round() as i32, colour.filled()))?,
        Some(corners) => {
            let scaled = |length: i32| (f64::from(length) * (1.0 + larger / RADIUS)).round() as i32;
            let corners: Vec<(i32, i32)> =
                corners.iter().map(|&(x, y)| (at.0 + scaled(x), at.1 + scaled(y))).collect();
            area.draw(&Polygon::new(corners, colour.filled()))?;
        }
    }
    Ok(())
}

/// Pixels around the middle of a mark; none is a circle. As the page's, whose cross and ring are a bar and a wedge here.
fn corners(shape: usize) -> Option<&'static [(i32, i32)]> {
    match shape % 6 {
        0 => None,
        1 => Some(&[(-5, -5), (5, -5), (5, 5), (-5, 5)]),
        2 => Some(&[(0, -6), (6, 5), (-6, 5)]),
        3 => Some(&[(0, -7), (6, 0), (0, 7), (-6, 0)]),
        4 => Some(&[(-7, -2), (7, -2), (7, 2), (-7, 2)]),
        _ => Some(&[(-6, -5), (6, -5), (0, 6)]),
    }
}

/// Strokes and gaps of the lines of a shape, in pixels; none is a line without gaps.
pub(super) fn pattern(shape: usize) -> &'static [f64] {
    match shape % 6 {
        0 => &[],
        1 => &[7.0, 4.0],
        2 => &[2.0, 3.0],
        3 => &[9.0, 3.0, 2.0, 3.0],
        4 => &[4.0, 2.0],
        _ => &[12.0, 3.0],
    }
}

/// `line`, in pixels, cut into the strokes of a pattern.
pub(super) fn dashes(line: &[(f64, f64)], pattern: &[f64]) -> Vec<Vec<(f64, f64)>> {
    if pattern.is_empty() {
        return vec![line.to_vec()];
    }
    let (mut cut, mut part, mut left) = (Vec::new(), 0, pattern[0]);
    let mut dash = line.first().copied().into_iter().collect::<Vec<_>>();
    for ends in line.windows(2) {
        let [(mut x, mut y), end] = [ends[0], ends[1]];
        let mut rest = distance(end.0 - x, end.1 - y);
        while rest > left {
            let share = left / rest;
            (x, y) = (x + (end.0 - x) * share, y + (end.1 - y) * share);
            rest -= left;
            dash.push((x, y));
            let done = std::mem::replace(&mut dash, vec![(x, y)]);
            // A pattern that begins with a gap has a stroke of no length before it.
            if part % 2 == 0 && pattern[part] > 0.0 {
                cut.push(done);
            }
            part = (part + 1) % pattern.len();
            left = pattern[part];
        }
        left -= rest;
        dash.push(end);
    }
    if part % 2 == 0 && dash.len() > 1 {
        cut.push(dash);
    }
    cut
}

/// Multiplication, addition and square root are the same on every machine.
fn distance(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}
