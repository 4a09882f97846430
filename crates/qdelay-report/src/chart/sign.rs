//! Marks and dashes, and the legends that explain them.

use super::{escape, text_width};
use serde::Deserialize;
use std::fmt::Write;

/// The shape of a mark; each shape also has a dash pattern for lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "each is called as it looks")]
pub enum Mark {
    #[default]
    Circle,
    Square,
    Triangle,
    Diamond,
    Bar,
    Wedge,
}

impl Mark {
    /// All of them, in the order in which they are taken.
    pub const ALL: [Mark; 6] =
        [Mark::Circle, Mark::Square, Mark::Triangle, Mark::Diamond, Mark::Bar, Mark::Wedge];

    /// The shape at this index.
    pub fn of(place: usize) -> Mark {
        Mark::ALL[place % Mark::ALL.len()]
    }

    /// Strokes and gaps of its lines, in pixels; none is a line without gaps.
    pub fn dash(self) -> &'static [f64] {
        match self {
            Mark::Circle => &[],
            Mark::Square => &[7.0, 4.0],
            Mark::Triangle => &[2.0, 3.0],
            Mark::Diamond => &[9.0, 3.0, 2.0, 3.0],
            Mark::Bar => &[4.0, 2.0],
            Mark::Wedge => &[12.0, 3.0],
        }
    }

    /// Its corners for a radius of 1 around (0, 0); none of the circle.
    pub fn corners(self) -> &'static [(f64, f64)] {
        match self {
            Mark::Circle => &[],
            Mark::Square => &[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
            Mark::Triangle => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Mark::Diamond => &[(0.0, -1.3), (1.2, 0.0), (0.0, 1.3), (-1.2, 0.0)],
            Mark::Bar => &[(-1.3, -0.5), (1.3, -0.5), (1.3, 0.5), (-1.3, 0.5)],
            Mark::Wedge => &[(-1.1, -0.8), (1.1, -0.8), (0.0, 1.2)],
        }
    }

    /// Its outline around (x, y).
    pub fn path(self, (x, y): (f64, f64), radius: f64) -> String {
        if self == Mark::Circle {
            let (left, width) = (x - radius, 2.0 * radius);
            return format!(
                "M{left:.1} {y:.1}a{radius} {radius} 0 1 0 {width} 0a{radius} {radius} 0 1 0 {:.1} 0Z",
                -width
            );
        }
        let points =
            self.corners().iter().map(|(dx, dy)| format!("{:.1} {:.1}", x + dx * radius, y + dy * radius));
        format!("M{}Z", points.collect::<Vec<_>>().join("L"))
    }
}

/// The symbol before the text of a legend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sign {
    /// A mark.
    Mark(Mark),
    /// A line with these strokes and gaps.
    Line(&'static [f64]),
    /// A filled area.
    Area,
    /// Range, quartiles and median.
    Quartiles,
}

/// An entry of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The symbol in the picture.
    pub sign: Sign,
    /// The classes of that.
    pub class: String,
    /// Its meaning.
    pub label: String,
}

impl Key {
    /// An entry of a key.
    pub fn new(sign: Sign, class: impl Into<String>, label: impl Into<String>) -> Key {
        Key { sign, class: class.into(), label: label.into() }
    }

    /// How wide its sign is; all are 12 pixels high.
    pub(super) fn width(&self) -> f64 {
        match self.sign {
            Sign::Mark(_) | Sign::Area => 16.0,
            Sign::Line(_) => 26.0,
            Sign::Quartiles => 32.0,
        }
    }

    /// The sign as markup, to the right of x = 0 and around y = 6.
    pub(super) fn markup(&self) -> String {
        let class = &self.class;
        match self.sign {
            Sign::Mark(mark) => format!("<path class=\"{class}\" d=\"{}\"/>", mark.path((8.0, 6.0), 4.2)),
            Sign::Line(dash) => format!("<path class=\"{class}\"{} d=\"M1 6H25\"/>", dashes(dash)),
            Sign::Area => format!("<rect class=\"{class}\" x=\"2\" y=\"1\" width=\"12\" height=\"10\"/>"),
            Sign::Quartiles => format!(
                "<path class=\"stem {class}\" d=\"M1 6H31\"/><rect class=\"box {class}\" x=\"8\" y=\"1.5\" width=\"15\" \
                 height=\"9\"/><path class=\"median {class}\" d=\"M14 1.5V10.5\"/>"
            ),
        }
    }

    /// How much room it takes with its label, in this size of text.
    pub(super) fn room(&self, size: f64) -> f64 {
        self.width() + 6.0 + text_width(&self.label, size)
    }
}

/// A key as a list of a page, each label once; nothing without entries.
pub fn key(entries: &[Key]) -> String {
    let mut items = String::new();
    for (at, entry) in entries.iter().enumerate() {
        if entries[..at].iter().any(|known| known.label == entry.label) {
            continue;
        }
        let width = entry.width();
        let _ = write!(
            items,
            "<li><svg class=\"swatch\" width=\"{width}\" height=\"12\" viewBox=\"0 0 {width} 12\" aria-hidden=\"true\">{}</svg>{}</li>",
            entry.markup(),
            escape(&entry.label)
        );
    }
    if items.is_empty() { items } else { format!("<ul class=\"key\" aria-label=\"Key\">{items}</ul>") }
}

/// The attribute of a line with these strokes and gaps.
pub(super) fn dashes(lengths: &[f64]) -> String {
    if lengths.is_empty() {
        return String::new();
    }
    let lengths: Vec<String> = lengths.iter().map(f64::to_string).collect();
    format!(" stroke-dasharray=\"{}\"", lengths.join(" "))
}
