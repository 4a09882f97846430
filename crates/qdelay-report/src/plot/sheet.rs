//! What is drawn, in points (1/72 inch) from the upper left corner: every format is written from the same list.

use super::font::Font;
use crate::chart::Mark;

/// A circle's quarter as a cubic curve: how far its handles are, over the radius.
const QUARTER: f64 = 0.552_285;

/// Red, green and blue.
pub(super) type Rgb = [u8; 3];

pub(super) const BLACK: Rgb = [0x1b, 0x1d, 0x20];
pub(super) const WHITE: Rgb = [0xff; 3];
pub(super) const GRID: Rgb = [0xdc; 3];
/// What a link offered.
pub(super) const AREA: Rgb = [0xdd; 3];
/// Of keys that stand for no colour.
pub(super) const NEUTRAL: Rgb = [0x44; 3];

/// A part of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    Move(f64, f64),
    Line(f64, f64),
    Curve([f64; 6]),
    Close,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stroke {
    pub(super) colour: Rgb,
    pub(super) width: f64,
    pub(super) dash: Vec<f64>,
}

impl Stroke {
    pub(super) fn of(colour: Rgb, width: f64) -> Stroke {
        Stroke { colour, width, dash: Vec::new() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Path {
        parts: Vec<Part>,
        /// With how much of what is below is covered, 0 to 1.
        fill: Option<(Rgb, f64)>,
        stroke: Option<Stroke>,
    },
    Text {
        at: (f64, f64),
        anchor: Anchor,
        /// From below to above.
        is_upright: bool,
        size: f64,
        colour: Rgb,
        text: String,
    },
}

/// A figure.
pub(super) struct Sheet {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) items: Vec<Item>,
    pub(super) font: Font,
    /// What it is, for those who do not see it.
    pub(super) label: String,
}

impl Sheet {
    pub(super) fn new((width, height): (f64, f64), label: &str) -> Sheet {
        Sheet { width, height, items: Vec::new(), font: Font::new(), label: plain(label) }
    }

    pub(super) fn path(&mut self, parts: Vec<Part>, fill: Option<(Rgb, f64)>, stroke: Option<Stroke>) {
        if parts.len() > 1 {
            self.items.push(Item::Path { parts, fill, stroke });
        }
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        self.path(vec![Part::Move(from.0, from.1), Part::Line(to.0, to.1)], None, Some(stroke));
    }

    /// A line through points, with gaps where there is none; `stepped`: each lasts until the next.
    pub(super) fn polyline(&mut self, points: &[Option<(f64, f64)>], stepped: bool, stroke: Stroke) {
        let mut parts = Vec::new();
        let mut last: Option<(f64, f64)> = None;
        for point in points {
            match (*point, last) {
                (None, _) => {}
                (Some((x, y)), None) => parts.push(Part::Move(x, y)),
                // Nobody sees less than that, and files of thousands of bins stay small.
                (Some((x, y)), Some(before)) if (x - before.0).abs() + (y - before.1).abs() < 0.05 => {
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

    pub(super) fn polygon(
        &mut self,
        points: &[(f64, f64)],
        fill: Option<(Rgb, f64)>,
        stroke: Option<Stroke>,
    ) {
        let Some(((x, y), rest)) = points.split_first() else { return };
        let mut parts = vec![Part::Move(*x, *y)];
        parts.extend(rest.iter().map(|(x, y)| Part::Line(*x, *y)));
        parts.push(Part::Close);
        self.path(parts, fill, stroke);
    }

    pub(super) fn rectangle(
        &mut self,
        (left, top): (f64, f64),
        (right, bottom): (f64, f64),
        fill: Option<(Rgb, f64)>,
        stroke: Option<Stroke>,
    ) {
        self.polygon(&[(left, top), (right, top), (right, bottom), (left, bottom)], fill, stroke);
    }

    pub(super) fn mark(&mut self, mark: Mark, (x, y): (f64, f64), radius: f64, fill: Rgb, stroke: Stroke) {
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

    pub(super) fn text(&mut self, at: (f64, f64), anchor: Anchor, size: f64, text: &str) {
        self.place_text(at, anchor, size, text, false);
    }

    pub(super) fn upright(&mut self, at: (f64, f64), size: f64, text: &str) {
        self.place_text(at, Anchor::Middle, size, text, true);
    }

    fn place_text(&mut self, at: (f64, f64), anchor: Anchor, size: f64, text: &str, is_upright: bool) {
        let text = plain(text);
        if !text.is_empty() {
            self.items.push(Item::Text { at, anchor, is_upright, size, colour: BLACK, text });
        }
    }

    /// How far before its place a text begins.
    pub(super) fn before(&self, anchor: Anchor, text: &str, size: f64) -> f64 {
        match anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => self.font.width(text, size) / 2.0,
            Anchor::End => self.font.width(text, size),
        }
    }

    /// Diagonals and lines within a rectangle.
    pub(super) fn hatch(
        &mut self,
        hatch: Hatch,
        [left, top, right, bottom]: [f64; 4],
        apart: f64,
        stroke: &Stroke,
    ) {
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

/// How an area is filled, so that it is told apart without its colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Hatch {
    Solid,
    Rising,
    Empty,
    Crossed,
    Level,
    Falling,
}

impl Hatch {
    pub(super) fn of(place: usize) -> Hatch {
        let all = [Hatch::Solid, Hatch::Rising, Hatch::Empty, Hatch::Crossed, Hatch::Level, Hatch::Falling];
        all[place % all.len()]
    }
}

/// A colour as it stands in the style sheet, `#rrggbb`.
pub(super) fn rgb(text: &str) -> Rgb {
    let part = |at: usize| text.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    [part(1), part(3), part(5)].map(Option::unwrap_or_default)
}

/// So much of a colour, and the rest white.
pub(super) fn tint(colour: Rgb, share: f64) -> Rgb {
    colour.map(|part| (255.0 - (255.0 - f64::from(part)) * share).round() as u8)
}

/// Control characters become spaces.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// A coordinate with at most two decimals.
pub(super) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.to_string() }
}
