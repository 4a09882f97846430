//! The list of everything that is drawn, in points (1/72 inch) from the upper left corner: every format is written from it.

use super::font::Font;
use super::ink::{Ink, SURFACE, WORDS};
use super::{Hatch, Mark, Scale, together};
use qdelay_study::InputError;

/// A circle's quarter as a cubic curve: how far its handles are, over the radius.
const QUARTER: f64 = 0.552_285;
/// Fonts of readers are wider than the one that texts are measured in: by the widest of the usual ones, DejaVu Sans.
const WIDEST: f64 = 1.13;
/// A move of a line below this is invisible, and files of thousands of bins stay small; points.
const INVISIBLE: f64 = 0.05;

/// Size of text, points.
pub const TEXT: f64 = 8.0;
/// Width of a line of data, points.
pub const LINE: f64 = 1.1;
/// Radius of a mark, points.
pub const RADIUS: f64 = 2.3;
/// Height of a line of text, points.
pub const ROW: f64 = 10.5;

/// The letters and colours of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A figure of exact size: letters are outlines, or the font is embedded.
    Print,
    /// A file for the screen: text in the reader's font, colours of print.
    File,
    /// A part of a page: text in its font, colours by its variables.
    Page,
}

/// A part of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    Move(f64, f64),
    Line(f64, f64),
    Curve([f64; 6]),
    Close,
}

/// A line: its colour, its width in points, and strokes and gaps.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Stroke {
    pub ink: Ink,
    pub width: f64,
    pub dash: Vec<f64>,
}

impl Stroke {
    /// A line without gaps.
    pub fn solid(ink: Ink, width: f64) -> Stroke {
        Stroke { ink, width, dash: Vec::new() }
    }

    /// A line with strokes and gaps.
    pub fn dashed(ink: Ink, width: f64, dash: Vec<f64>) -> Stroke {
        Stroke { ink, width, dash }
    }
}

/// The end of a text that stands at its place.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each is called as it is")]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A line among others.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The points from left to right.
    pub points: Vec<(f64, f64)>,
    /// Colour, width and dashes.
    pub stroke: Stroke,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Path {
        parts: Vec<Part>,
        /// The colour, and the share of what lies below that it covers, 0 to 1.
        fill: Option<(Ink, f64)>,
        stroke: Option<Stroke>,
        /// Text beside the pointer, on pages.
        hint: String,
    },
    Text {
        at: (f64, f64),
        anchor: Anchor,
        /// From below to above.
        is_upright: bool,
        size: f64,
        ink: Ink,
        text: String,
    },
}

/// A picture.
pub struct Sheet {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(super) items: Vec<Item>,
    pub(super) font: Font,
    /// A description for screen readers.
    pub(super) label: String,
    pub(crate) medium: Medium,
}

impl Sheet {
    /// An empty picture of this size with a description for screen readers.
    pub fn new((width, height): (f64, f64), label: &str, medium: Medium) -> Sheet {
        Sheet { width, height, items: Vec::new(), font: Font::new(), label: plain(label), medium }
    }

    fn path(&mut self, parts: Vec<Part>, fill: Option<(Ink, f64)>, stroke: Option<Stroke>) {
        if parts.len() > 1 {
            self.items.push(Item::Path { parts, fill, stroke, hint: String::new() });
        }
    }

    /// Adds a hint to the path that was drawn last; print has none.
    pub fn add_hint(&mut self, text: &str) {
        if self.medium == Medium::Print {
            return;
        }
        if let Some(Item::Path { hint, .. }) = self.items.last_mut() {
            *hint = plain(text);
        }
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        self.path(vec![Part::Move(from.0, from.1), Part::Line(to.0, to.1)], None, Some(stroke));
    }

    /// A line through points, with gaps where there is none; `stepped`: each lasts until the next.
    pub fn polyline(&mut self, points: &[Option<(f64, f64)>], stepped: bool, stroke: Stroke) {
        let mut parts = Vec::new();
        let mut last: Option<(f64, f64)> = None;
        for point in points {
            match (*point, last) {
                (None, _) => {}
                (Some((x, y)), None) => parts.push(Part::Move(x, y)),
                (Some((x, y)), Some(before)) if (x - before.0).abs() + (y - before.1).abs() < INVISIBLE => {
                    continue;
                }
                (Some((x, y)), Some(before)) => {
                    if stepped {
                        parts.push(Part::Line(x, before.1));
                    }
                    parts.push(Part::Line(x, y));
                }
            }
            last = *point;
        }
        self.path(parts, None, Some(stroke));
    }

    /// Lines of which none hides another: those along one way take turns. In print their marks tell them apart.
    pub fn curves(&mut self, curves: &[Curve], stepped: bool) {
        let lines: Vec<&[(f64, f64)]> = curves.iter().map(|curve| curve.points.as_slice()).collect();
        for (Curve { points, stroke }, turn) in curves.iter().zip(together::turns(&lines)) {
            let points: Vec<Option<(f64, f64)>> = points.iter().copied().map(Some).collect();
            let turn = if self.medium == Medium::Print { (0, 1) } else { turn };
            let dash = together::shared_dash(&stroke.dash, turn);
            self.polyline(&points, stepped, Stroke { dash, ..stroke.clone() });
        }
    }

    /// The area below the values of bins, each from the start of its bin to its end.
    pub fn area(&mut self, values: &[Option<f64>], bin_s: f64, (x, y): (&Scale, &Scale), ink: Ink) {
        let numbered: Vec<(usize, f64)> =
            values.iter().enumerate().filter_map(|(bin, value)| Some((bin, (*value)?))).collect();
        for run in numbered.chunk_by(|(bin, _), (next, _)| bin + 1 == *next) {
            let ends = run.iter().flat_map(|(bin, value)| [(*bin, *value), (bin + 1, *value)]);
            let mut points: Vec<(f64, f64)> =
                ends.map(|(bin, value)| (x.at(bin as f64 * bin_s), y.at(value))).collect();
            let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else {
                continue;
            };
            points.extend([(last.0, y.from), (first.0, y.from)]);
            self.polygon(&points, Some((ink, 1.0)), None);
        }
    }

    /// A closed line through points.
    pub fn polygon(&mut self, points: &[(f64, f64)], fill: Option<(Ink, f64)>, stroke: Option<Stroke>) {
        let Some(((x, y), rest)) = points.split_first() else { return };
        let mut parts = vec![Part::Move(*x, *y)];
        parts.extend(rest.iter().map(|(x, y)| Part::Line(*x, *y)));
        parts.push(Part::Close);
        self.path(parts, fill, stroke);
    }

    /// A rectangle between two corners.
    pub fn rectangle(
        &mut self,
        (left, top): (f64, f64),
        (right, bottom): (f64, f64),
        fill: Option<(Ink, f64)>,
        stroke: Option<Stroke>,
    ) {
        self.polygon(&[(left, top), (right, top), (right, bottom), (left, bottom)], fill, stroke);
    }

    /// A mark around a place.
    pub fn mark(&mut self, mark: Mark, (x, y): (f64, f64), radius: f64, fill: Ink, stroke: Stroke) {
        let fill = Some((fill, 1.0));
        if mark == Mark::Circle {
            let (r, k) = (radius, radius * QUARTER);
            let parts = vec![
                Part::Move(x - r, y),
                Part::Curve([x - r, y - k, x - k, y - r, x, y - r]),
                Part::Curve([x + k, y - r, x + r, y - k, x + r, y]),
                Part::Curve([x + r, y + k, x + k, y + r, x, y + r]),
                Part::Curve([x - k, y + r, x - r, y + k, x - r, y]),
                Part::Close,
            ];
            return self.path(parts, fill, Some(stroke));
        }
        let corners: Vec<(f64, f64)> =
            mark.corners().iter().map(|(dx, dy)| (x + dx * radius, y + dy * radius)).collect();
        self.polygon(&corners, fill, Some(stroke));
    }

    /// Text on its base line.
    pub fn text(&mut self, at: (f64, f64), anchor: Anchor, size: f64, text: &str) {
        self.place_text(at, anchor, (size, WORDS), text, false);
    }

    /// Text over data: a part of the surface below it keeps it readable.
    pub fn label(&mut self, at: (f64, f64), anchor: Anchor, (size, ink): (f64, Ink), text: &str) {
        let left = at.0 - self.offset(anchor, text, size);
        let right = left + self.text_width(text, size);
        let (top, bottom) = (at.1 - size * 0.85, at.1 + size * 0.25);
        self.rectangle((left - 1.0, top), (right + 1.0, bottom), Some((SURFACE, 0.7)), None);
        self.place_text(at, anchor, (size, ink), text, false);
    }

    /// Text from below to above, around its middle.
    pub fn upright(&mut self, at: (f64, f64), size: f64, text: &str) {
        self.place_text(at, Anchor::Middle, (size, WORDS), text, true);
    }

    /// Text of another colour.
    pub fn coloured_text(&mut self, at: (f64, f64), anchor: Anchor, (size, ink): (f64, Ink), text: &str) {
        self.place_text(at, anchor, (size, ink), text, false);
    }

    fn place_text(
        &mut self,
        at: (f64, f64),
        anchor: Anchor,
        (size, ink): (f64, Ink),
        text: &str,
        is_upright: bool,
    ) {
        let text = plain(text);
        if !text.is_empty() {
            self.items.push(Item::Text { at, anchor, is_upright, size, ink, text });
        }
    }

    /// An error for a letter that the font of print lacks.
    pub(crate) fn check_letters(&self) -> Result<(), InputError> {
        self.items.iter().try_for_each(|item| match item {
            Item::Text { text, .. } => self.font.check(text),
            Item::Path { .. } => Ok(()),
        })
    }

    /// Width of a text in points, at most.
    pub fn text_width(&self, text: &str, size: f64) -> f64 {
        let width = self.font.width(text, size);
        if self.medium == Medium::Print { width } else { width * WIDEST }
    }

    /// The beginning of a text that has so much room, with an ellipsis.
    pub fn cut_text(&self, text: &str, size: f64, room: f64) -> String {
        let is_within = |text: &str| self.text_width(text, size) <= room;
        if is_within(text) {
            return text.to_string();
        }
        let mut kept = String::new();
        for letter in text.chars() {
            if !is_within(&format!("{kept}{letter}\u{2026}")) {
                break;
            }
            kept.push(letter);
        }
        format!("{}\u{2026}", kept.trim_end())
    }

    /// Distance from the beginning of a text to its place.
    pub(super) fn offset(&self, anchor: Anchor, text: &str, size: f64) -> f64 {
        match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => self.text_width(text, size) / 2.0,
            Anchor::End => self.text_width(text, size),
        }
    }

    /// A rectangle with its hatch.
    pub fn bar(&mut self, [left, top, right, bottom]: [f64; 4], hatch: Hatch, ink: Ink) {
        let fill = match hatch {
            Hatch::Solid => ink,
            Hatch::Empty => SURFACE,
            _ => ink.tint(0.22),
        };
        self.rectangle((left, top), (right, bottom), Some((fill, 1.0)), None);
        self.hatch(hatch, [left, top, right, bottom], 3.2, &Stroke::solid(ink, 0.7));
        self.rectangle((left, top), (right, bottom), None, Some(Stroke::solid(ink, 0.8)));
    }

    /// Diagonals and lines within a rectangle.
    fn hatch(&mut self, hatch: Hatch, [left, top, right, bottom]: [f64; 4], apart: f64, stroke: &Stroke) {
        let (width, height) = (right - left, bottom - top);
        if width <= 0.0 || height <= 0.0 {
            return;
        }
        let (rising, falling, level) = match hatch {
            Hatch::Solid | Hatch::Empty => (false, false, false),
            Hatch::Rising => (true, false, false),
            Hatch::Falling => (false, true, false),
            Hatch::Crossed => (true, true, false),
            Hatch::Level => (false, false, true),
        };
        let step = if level { apart * 0.75 } else { apart * std::f64::consts::SQRT_2 };
        let count = ((width + height) / step) as usize;
        for number in 1..=count {
            let along = number as f64 * step;
            if level && along < height {
                self.line((left, bottom - along), (right, bottom - along), stroke.clone());
            }
            // x + y = along, from the lower left corner, within the rectangle.
            let (from, to) = ((along - height).max(0.0), along.min(width));
            if from >= to {
                continue;
            }
            if falling {
                self.line(
                    (left + from, bottom - (along - from)),
                    (left + to, bottom - (along - to)),
                    stroke.clone(),
                );
            }
            if rising {
                self.line(
                    (left + from, top + (along - from)),
                    (left + to, top + (along - to)),
                    stroke.clone(),
                );
            }
        }
    }
}

/// Control characters become spaces.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// A coordinate with at most two decimals.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_to_its_room() {
        for medium in [Medium::Print, Medium::File, Medium::Page] {
            let sheet = Sheet::new((100.0, 100.0), "", medium);
            let room = sheet.text_width("abcd\u{2026}", 12.0);
            let cut = ["abcde", "abcdefgh", ""].map(|text| sheet.cut_text(text, 12.0, room));
            assert_eq!(cut, ["abcde", "abcd\u{2026}", ""], "{medium:?}");
            assert!(sheet.text_width(&cut[1], 12.0) <= room);
        }
    }
}
