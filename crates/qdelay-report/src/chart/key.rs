//! Keys: the sign of each entry beside its label, above the axes of a picture or as a list of a page.

use super::{Hatch, Ink, Mark, Medium, RADIUS, ROW, Sheet, Stroke, TEXT, escape, svg};
use std::fmt::Write;

/// Height of a sign in a list, points, and pixels for each point there.
const SWATCH: f64 = 9.0;
const SWATCH_SCALE: f64 = 1.4;

/// The sign before a label.
#[derive(Clone, Debug)]
pub enum Sign {
    /// A line, with a mark on it.
    Line(Stroke, Option<(Mark, Ink)>),
    /// A mark with its edge and its filling.
    Mark(Mark, Ink, Ink),
    /// A bar with its hatch.
    Box(Hatch, Ink),
    /// A filled area.
    Area(Ink),
    /// Range, quartiles and median, to the right.
    Quartiles(Ink),
}

/// An entry of a key.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Key {
    pub sign: Sign,
    pub label: String,
}

impl Key {
    /// An entry of a key.
    pub fn new(sign: Sign, label: impl Into<String>) -> Key {
        Key { sign, label: label.into() }
    }
}

impl Sign {
    pub(super) fn width(&self) -> f64 {
        match self {
            Sign::Line(..) => 20.0,
            Sign::Mark(..) => 6.0,
            Sign::Box(..) | Sign::Area(_) => 10.0,
            Sign::Quartiles(_) => 22.0,
        }
    }

    pub(super) fn draw(&self, sheet: &mut Sheet, left: f64, middle: f64) {
        match self {
            Sign::Line(stroke, mark) => {
                sheet.line((left, middle), (left + 20.0, middle), stroke.clone());
                if let Some((mark, inside)) = mark {
                    sheet.mark(*mark, (left + 10.0, middle), RADIUS, *inside, Stroke::solid(stroke.ink, 0.7));
                }
            }
            Sign::Mark(mark, edge, inside) => {
                sheet.mark(*mark, (left + 3.0, middle), RADIUS * 1.15, *inside, Stroke::solid(*edge, 0.9));
            }
            Sign::Box(hatch, ink) => {
                sheet.bar([left, middle - 3.0, left + 10.0, middle + 3.0], *hatch, *ink);
            }
            Sign::Area(ink) => {
                sheet.rectangle((left, middle - 3.0), (left + 10.0, middle + 3.0), Some((*ink, 1.0)), None);
            }
            Sign::Quartiles(ink) => {
                let five = [left, left + 5.0, left + 9.0, left + 15.0, left + 22.0];
                draw_quartiles(sheet, five, middle, 3.5, *ink);
            }
        }
    }
}

/// Range, quartiles and median around a height: positions of the least, the three quartiles and the largest.
pub fn draw_quartiles(
    sheet: &mut Sheet,
    [low, first, median, third, high]: [f64; 5],
    middle: f64,
    half: f64,
    ink: Ink,
) {
    let stem = Stroke::solid(ink, 0.9);
    sheet.line((low, middle), (high, middle), stem.clone());
    for end in [low, high] {
        sheet.line((end, middle - half * 0.55), (end, middle + half * 0.55), stem.clone());
    }
    sheet.rectangle((first, middle - half), (third, middle + half), Some((ink.tint(0.25), 1.0)), Some(stem));
    sheet.line((median, middle - half), (median, middle + half), Stroke::solid(ink, 1.8));
}

/// Numbers of the entries of a row, with their distances from its beginning, and the width of the row.
pub(crate) type KeyRow = (Vec<(usize, f64)>, f64);

/// The entries in rows of at most the sheet's width.
pub(crate) fn key_rows(sheet: &Sheet, keys: &[Key], room: f64) -> Vec<KeyRow> {
    let mut rows: Vec<KeyRow> = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        let width = key.sign.width() + 3.0 + sheet.text_width(&key.label, TEXT).min(room - 30.0);
        match rows.last_mut() {
            Some((row, end)) if *end + 9.0 + width <= room => {
                row.push((at, *end + 9.0));
                *end += 9.0 + width;
            }
            _ => rows.push((vec![(at, 0.0)], width)),
        }
    }
    rows
}

/// Draws rows of a key below `top`, from `left`; labels have at most so much room.
pub(crate) fn draw_key(sheet: &mut Sheet, rows: &[KeyRow], keys: &[Key], (left, top): (f64, f64), room: f64) {
    for (number, (row, _)) in rows.iter().enumerate() {
        let base = top + (number + 1) as f64 * ROW - 2.0;
        for (at, begin) in row {
            let key = &keys[*at];
            let label = sheet.cut_text(&key.label, TEXT, room - 30.0);
            key.sign.draw(sheet, left + begin, base - 2.9);
            sheet.text((left + begin + key.sign.width() + 3.0, base), super::Anchor::Start, TEXT, &label);
        }
    }
}

/// A key as a list of a page, each label once; nothing without entries.
pub fn key_list(entries: &[Key]) -> String {
    let mut items = String::new();
    for (at, Key { sign, label }) in entries.iter().enumerate() {
        if entries[..at].iter().any(|known| known.label == *label) {
            continue;
        }
        let size = (sign.width() + 2.0, SWATCH);
        let mut sheet = Sheet::new(size, "", Medium::Page);
        sign.draw(&mut sheet, 1.0, SWATCH / 2.0);
        let [width, height] = [size.0, size.1].map(|length| length * SWATCH_SCALE);
        let attributes =
            format!(" class=\"swatch\" aria-hidden=\"true\" width=\"{width:.1}\" height=\"{height:.1}\"");
        let _ = write!(items, "<li>{}{}</li>", svg(&sheet, &attributes), escape(label));
    }
    if items.is_empty() { items } else { format!("<ul class=\"key\" aria-label=\"Key\">{items}</ul>") }
}
