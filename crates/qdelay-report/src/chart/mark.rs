//! Shapes of marks, dashes of lines and hatches of areas: they tell entries apart without their colours.

use serde::Deserialize;

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
    /// All shapes, in the order in which they are taken.
    pub const ALL: [Mark; 6] =
        [Mark::Circle, Mark::Square, Mark::Triangle, Mark::Diamond, Mark::Bar, Mark::Wedge];

    /// The shape at this index.
    pub fn at_place(place: usize) -> Mark {
        Mark::ALL[place % Mark::ALL.len()]
    }

    /// Strokes and gaps of a line in points; none is a line without gaps.
    pub fn dash(self) -> Vec<f64> {
        let dash: &[f64] = match self {
            Mark::Circle => &[],
            Mark::Square => &[3.5, 2.0],
            Mark::Triangle => &[1.0, 1.5],
            Mark::Diamond => &[4.5, 1.5, 1.0, 1.5],
            Mark::Bar => &[2.0, 1.0],
            Mark::Wedge => &[6.0, 1.5],
        };
        dash.to_vec()
    }

    /// Corners for a radius of 1 around (0, 0); none of the circle.
    pub(super) fn corners(self) -> &'static [(f64, f64)] {
        match self {
            Mark::Circle => &[],
            Mark::Square => &[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
            Mark::Triangle => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Mark::Diamond => &[(0.0, -1.3), (1.2, 0.0), (0.0, 1.3), (-1.2, 0.0)],
            Mark::Bar => &[(-1.3, -0.5), (1.3, -0.5), (1.3, 0.5), (-1.3, 0.5)],
            Mark::Wedge => &[(-1.1, -0.8), (1.1, -0.8), (0.0, 1.2)],
        }
    }
}

/// The filling of an area.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each is called as it looks")]
pub enum Hatch {
    Solid,
    Rising,
    Empty,
    Crossed,
    Level,
    Falling,
}

impl Hatch {
    /// The filling at this index.
    pub fn at_place(place: usize) -> Hatch {
        let all = [Hatch::Solid, Hatch::Rising, Hatch::Empty, Hatch::Crossed, Hatch::Level, Hatch::Falling];
        all[place % all.len()]
    }
}
