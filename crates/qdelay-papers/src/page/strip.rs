//! A claim as a small picture: what is accepted as a band, the paper's figure as a diamond, ours as a dot.

use super::table::{accepted, figure_text};
use crate::{Row, Verdict};
use qdelay_report::chart::{Mark, Scale, escape};
use std::fmt::Write;

/// Pixels.
const WIDTH: f64 = 132.0;
const HEIGHT: f64 = 20.0;
/// Free at both ends: a band that ends nowhere reaches the edge.
const ROOM: f64 = 12.0;
/// A wider range than that is on a logarithmic scale.
const WIDE: f64 = 6.0;

/// The picture; nothing where there is no figure to draw.
pub fn draw(row: &Row) -> String {
    let figures = [row.low, row.high, row.paper, row.ours];
    let there = || figures.into_iter().flatten().filter(|figure| figure.is_finite());
    if row.ours.is_none() && row.paper.is_none() {
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
        accepted(row),
        row.paper.map_or("no figure".to_string(), figure_text),
        row.ours.map_or("no figure".to_string(), figure_text)
    );
    let label = escape(&label);
    let mut text = format!(
        "<svg class=\"strip\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"{label}\"><title>{label}</title>"
    );
    let middle = HEIGHT / 2.0;
    if row.low.is_some() || row.high.is_some() {
        // A single accepted figure is seen too.
        let (from, to) =
            (row.low.map_or(0.0, |low| x.at(low) - 1.0), row.high.map_or(WIDTH, |high| x.at(high) + 1.0));
        let _ = write!(
            text,
            "<rect class=\"accepted\" x=\"{from:.1}\" y=\"3\" width=\"{:.1}\" height=\"{:.1}\"/>",
            (to - from).max(0.0),
            HEIGHT - 6.0
        );
    }
    let _ = write!(text, "<path class=\"axis\" d=\"M0 {middle}H{WIDTH}\"/>");
    if let Some(paper) = row.paper {
        let _ =
            write!(text, "<path class=\"paper\" d=\"{}\"/>", Mark::Diamond.path((x.at(paper), middle), 5.0));
    }
    if let Some(ours) = row.ours {
        let kind = match row.verdict {
            Verdict::Match => "good",
            Verdict::Miss => "bad",
            Verdict::Better | Verdict::Fitted | Verdict::Explained | Verdict::Skipped => "so-so",
        };
        let _ = write!(
            text,
            "<path class=\"mark ours {kind}\" d=\"{}\"/>",
            Mark::Circle.path((x.at(ours), middle), 3.6)
        );
    }
    text.push_str("</svg>");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(low: Option<f64>, high: Option<f64>, paper: Option<f64>, ours: Option<f64>) -> Row {
        Row {
            figure: None,
            section: String::new(),
            claim: String::new(),
            unit: String::new(),
            paper,
            ours,
            low,
            high,
            bound: String::new(),
            verdict: Verdict::Miss,
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
        assert!(text.contains("x=\"11.0\" y=\"3\" width=\"121.0\""), "{text}");
        assert!(text.contains("aria-label=\"accepted \u{2265}\u{a0}2; the paper 2; ours 3\""), "{text}");
        let text = draw(&row(None, Some(3.0), None, Some(2.0)));
        assert!(text.contains("x=\"0.0\" y=\"3\" width=\"121.0\""), "{text}");
        assert!(!text.contains("class=\"paper\"") && text.contains("class=\"mark ours bad\""), "{text}");
    }

    #[test]
    fn one_figure_alone_is_drawn_and_none_is_not() {
        let text = draw(&row(Some(0.0), Some(0.0), None, Some(0.0)));
        assert!(text.contains("class=\"mark ours bad\"") && !text.contains("NaN"), "{text}");
        assert_eq!(draw(&row(Some(1.0), Some(2.0), None, None)), "");
    }
}
