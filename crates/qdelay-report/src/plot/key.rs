//! What a key shows before each text.

use super::layout::{RADIUS, bar};
use super::sheet::{Hatch, Rgb, Sheet, Stroke};
use crate::chart::Mark;

/// The sign before the text of a key.
#[derive(Clone, Debug)]
pub(super) enum Sign {
    /// A line, with a mark on it.
    Line(Stroke, Option<(Mark, Rgb)>),
    Mark(Mark, Rgb, Rgb),
    Box(Hatch, Rgb),
    Area(Rgb),
}

#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) sign: Sign,
    pub(super) label: String,
}

impl Sign {
    pub(super) fn width(&self) -> f64 {
        match self {
            Sign::Line(..) => 20.0,
            Sign::Mark(..) => 6.0,
            Sign::Box(..) | Sign::Area(_) => 10.0,
        }
    }

    pub(super) fn draw(&self, sheet: &mut Sheet, left: f64, middle: f64) {
        match self {
            Sign::Line(stroke, mark) => {
                sheet.line((left, middle), (left + 20.0, middle), stroke.clone());
                if let Some((mark, inside)) = mark {
                    sheet.mark(*mark, (left + 10.0, middle), RADIUS, *inside, Stroke::of(stroke.colour, 0.7));
                }
            }
            Sign::Mark(mark, colour, inside) => {
                sheet.mark(*mark, (left + 3.0, middle), RADIUS * 1.15, *inside, Stroke::of(*colour, 0.9));
            }
            Sign::Box(hatch, colour) => {
                bar(sheet, [left, middle - 3.0, left + 10.0, middle + 3.0], *hatch, *colour);
            }
            Sign::Area(colour) => {
                sheet.rectangle(
                    (left, middle - 3.0),
                    (left + 10.0, middle + 3.0),
                    Some((*colour, 1.0)),
                    None,
                );
            }
        }
    }
}
