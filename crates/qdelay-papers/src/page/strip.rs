//! A claim as a small picture: what is accepted as a band, the paper's figure as a diamond, ours as a dot.

use super::looks;
use super::words::{bounds_text, figure_text};
use crate::{Row, Verdict};
use qdelay_report::chart::{ACCEPTED, BAD, GOOD, Mark, NEUTRAL, SURFACE, Scale, Stroke, WORDS, svg};

/// Pixels.
const WIDTH: f64 = 132.0;
const HEIGHT: f64 = 20.0;
/// Free at both ends: a band that ends nowhere reaches the edge.
const ROOM: f64 = 12.0;
/// A wider range than that is on a logarithmic scale.
const WIDE: f64 = 6.0;

/// The picture; nothing where there is no figure to draw.
pub fn draw(row: &Row) -> String {
    let figures = [row.low, row.high, row.paper, row.value];
    let there = || figures.into_iter().flatten().filter(|figure| figure.is_finite());
    if row.value.is_none() && row.paper.is_none() {
        return String::new();
    }
    let (least, most) =
        there().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| (low.min(at), high.max(at)));
    let is_log = least > 0.0 && most / least > WIDE;
    // A single figure is in the middle.
    let share = if most > least { 0.0 } else { 0.5 };
    let x = Scale::around(there(), is_log, share).between(ROOM, WIDTH - ROOM);
    let label = format!(
        "accepted {}; the paper {}; ours {}",
        bounds_text(row),
        row.paper.map_or("no figure".to_string(), figure_text),
        row.value.map_or("no figure".to_string(), figure_text)
    );
    let mut sheet = looks::sheet((WIDTH, HEIGHT), &label);
    let middle = HEIGHT / 2.0;
    if row.low.is_some() || row.high.is_some() {
        // A single accepted figure is seen too.
        let (from, to) =
            (row.low.map_or(0.0, |low| x.at(low) - 1.0), row.high.map_or(WIDTH, |high| x.at(high) + 1.0));
        let edge = Stroke::solid(GOOD.tint(0.5), 0.7);
        sheet.rectangle((from, 3.0), (to.max(from), HEIGHT - 3.0), Some((ACCEPTED, 1.0)), Some(edge));
        sheet.add_hint(&label);
    }
    sheet.line((0.0, middle), (WIDTH, middle), Stroke::solid(NEUTRAL, 1.0));
    if let Some(paper) = row.paper {
        sheet.mark(Mark::Diamond, (x.at(paper), middle), 5.0, SURFACE, Stroke::solid(WORDS, 1.6));
    }
    if let Some(value) = row.value {
        let ink = match row.verdict {
            Verdict::Match => GOOD,
            Verdict::Miss => BAD,
            Verdict::Better | Verdict::Fitted | Verdict::Explained | Verdict::Skipped => WORDS,
        };
        looks::filled(&mut sheet, Mark::Circle, (x.at(value), middle), (3.6, ink), "");
    }
    svg(&sheet, " class=\"strip\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: &str = "<path fill=\"var(--surface)\" stroke=\"var(--text)\"";

    fn row(low: Option<f64>, high: Option<f64>, paper: Option<f64>, value: Option<f64>) -> Row {
        Row {
            figure: None,
            section: String::new(),
            claim: String::new(),
            unit: String::new(),
            paper,
            value,
            low,
            high,
            bound: String::new(),
            verdict: Verdict::Miss,
            margin: None,
            source: crate::claims::ClaimSource::Paper,
            factor: None,
            cause: None,
            setting: None,
            with_setting: None,
            scenario: None,
        }
    }

    #[test]
    fn a_bound_on_one_side_reaches_the_edge() {
        let text = draw(&row(Some(2.0), None, Some(2.0), Some(3.0)));
        assert!(text.contains("d=\"M11 3H132V17H11Z\""), "{text}");
        assert!(text.contains(PAPER), "{text}");
        assert!(text.contains("aria-label=\"accepted \u{2265}\u{a0}2; the paper 2; ours 3\""), "{text}");
        let text = draw(&row(None, Some(3.0), None, Some(2.0)));
        assert!(text.contains("d=\"M0 3H121V17H0Z\""), "{text}");
        assert!(!text.contains(PAPER) && text.contains("<path fill=\"var(--bad)\""), "{text}");
    }

    #[test]
    fn one_figure_alone_is_drawn_and_none_is_not() {
        let text = draw(&row(Some(0.0), Some(0.0), None, Some(0.0)));
        assert!(text.contains("<path fill=\"var(--bad)\"") && !text.contains("NaN"), "{text}");
        assert_eq!(draw(&row(Some(1.0), Some(2.0), None, None)), "");
    }
}
