//! Looks that all figures of a page share; sizes are points of a picture, which a page shows larger.

use super::spec::Scheme;
use super::words::figure_text;
use qdelay_report::chart::{
    self, Anchor, FROZEN, Ink, Mark, Medium, NEUTRAL, SURFACE, Sheet, Stroke, TEXT, WORDS, svg,
};

/// Width of the lines of schemes.
pub const LINE: f64 = 1.35;
/// Radius of the marks of schemes, and the growth of the second one of a pile.
pub const MARK: f64 = 4.0;
pub const RING: f64 = 2.7;
/// The most pixels of a page for each point.
const PIXELS: f64 = 1.9;
/// The colour of keys that stand for all schemes.
pub const ANY_SCHEME: usize = 7;
/// The colour of the spans of time in which a viewer waits.
const SPAN: f64 = 0.2;

/// An empty picture of this size with a description for screen readers.
pub fn sheet(size: (f64, f64), label: &str) -> Sheet {
    Sheet::new(size, label, Medium::Page)
}

/// The markup of a picture, as wide as its place and at most so wide that letters stay those of the page.
pub fn markup(sheet: &Sheet, width: f64) -> String {
    svg(sheet, &format!(" style=\"max-width:{:.0}px\"", width * PIXELS))
}

/// A filled mark with an edge that keeps it apart from others.
pub fn filled(sheet: &mut Sheet, mark: Mark, at: (f64, f64), (radius, ink): (f64, Ink), hint: &str) {
    sheet.mark(mark, at, radius, ink, Stroke::solid(SURFACE, 1.0));
    sheet.add_hint(hint);
}

/// A mark with its edge alone.
pub fn hollow(sheet: &mut Sheet, mark: Mark, at: (f64, f64), (radius, ink): (f64, Ink), hint: &str) {
    sheet.mark(mark, at, radius, SURFACE, Stroke::solid(ink, 1.2));
    sheet.add_hint(hint);
}

/// The mark of a figure that the paper gives.
pub fn of_paper(sheet: &mut Sheet, at: (f64, f64), name: &str, figure: f64) {
    hollow(sheet, Mark::Diamond, at, (3.4, WORDS), &format!("{name}, the paper: {}", figure_text(figure)));
}

/// A number beside its mark or bar.
pub fn value(sheet: &mut Sheet, at: (f64, f64), figure: f64) {
    sheet.label(at, Anchor::Start, (TEXT, WORDS), &figure_text(figure));
}

/// The line of a scheme.
pub fn curve(scheme: &Scheme) -> Stroke {
    Stroke::dashed(scheme.ink(), LINE, scheme.mark.dash())
}

/// The line at a bound that the paper states.
pub fn bound() -> Stroke {
    Stroke::dashed(WORDS, 0.9, vec![4.2, 2.1])
}

/// The line of a rate that a MAC could take.
pub fn capacity() -> Stroke {
    Stroke::solid(NEUTRAL.tint(0.75), 0.85)
}

/// A shaded span of time, with an edge above that is seen however short it is.
pub fn span(sheet: &mut Sheet, (left, right): (f64, f64), (top, bottom): (f64, f64)) {
    sheet.rectangle((left, top), (right, bottom), Some((FROZEN, SPAN)), None);
    sheet.rectangle((left, top), (right, top + 2.0), Some((FROZEN, 1.0)), None);
}

/// The colour of such spans in a key.
pub fn span_ink() -> Ink {
    FROZEN.tint(SPAN)
}

/// Piles of marks at these places.
pub fn piles(places: &[(f64, f64)]) -> Vec<Vec<usize>> {
    chart::piles(places, RING)
}
