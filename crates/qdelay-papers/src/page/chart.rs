//! Pictures as SVG text: scales, axes, marks. Colours are the page's, so that a picture is light or dark as the page is.

use super::spec::{Mark, Scheme};
use std::fmt::Write;

/// A picture and how large it is, in pixels of its own.
pub struct Picture {
    text: String,
    pub width: f64,
    pub height: f64,
}

/// From figures to pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub low: f64,
    pub high: f64,
    pub is_log: bool,
    /// Pixels of `low` and `high`.
    pub from: f64,
    pub to: f64,
}

/// Room around the plot area.
pub struct Margins {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Scale {
    /// A scale around `values`; on a logarithmic one those above 0. What has no extent gets one.
    pub fn around(values: &[f64], is_log: bool, share: f64) -> Scale {
        let there = values.iter().copied().filter(|value| value.is_finite() && (!is_log || *value > 0.0));
        let (low, high) = there
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let scale = |low, high| Scale { low, high, is_log, from: 0.0, to: 1.0 };
        if low > high {
            return if is_log { scale(0.1, 10.0) } else { scale(0.0, 1.0) };
        }
        if is_log {
            let room = (high / low).powf(share).max(1.15);
            return scale(low / room, high * room);
        }
        let extent = if high > low { high - low } else { high.abs().max(1e-3) };
        scale(low - extent * share, high + extent * share)
    }

    /// From 0 to a little above the largest.
    pub fn from_zero(values: impl Iterator<Item = f64>) -> Scale {
        let high = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let high = if high > 0.0 { high * 1.06 } else { 1.0 };
        Scale { low: 0.0, high, is_log: false, from: 0.0, to: 1.0 }
    }

    /// The same between these pixels.
    pub fn between(self, from: f64, to: f64) -> Scale {
        Scale { from, to, ..self }
    }

    /// The pixel of `value`, at the ends for what is beyond them.
    pub fn at(&self, value: f64) -> f64 {
        let share = if self.is_log {
            (value.max(1e-12) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Round figures on it, at most about `most`.
    pub fn ticks(&self, most: usize) -> Vec<f64> {
        if self.is_log { self.log_ticks(most) } else { self.linear_ticks(most) }
    }

    fn linear_ticks(&self, most: usize) -> Vec<f64> {
        let rough = (self.high - self.low) / most.max(1) as f64;
        let power = 10_f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 2.5, 5.0, 10.0].map(|unit| unit * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last.min(first + 100)).map(|number| number as f64 * step).collect()
    }

    fn log_ticks(&self, most: usize) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let candidates: [&[f64]; 4] =
            [&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0], &[1.0, 2.0, 3.0, 5.0, 7.0], &[1.0, 2.0, 5.0], &[1.0]];
        let on = |steps: &[f64]| -> Vec<f64> {
            let all =
                (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
            all.filter(|value| *value >= self.low * 0.9999 && *value <= self.high * 1.0001).collect()
        };
        let fitting = candidates.iter().map(|steps| on(steps)).find(|ticks| ticks.len() <= most);
        fitting.unwrap_or_else(|| on(&[1.0]))
    }
}

/// As people write it: no zeros that say nothing, thousands apart.
pub fn number_text(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if size < 10_000.0 {
        return text.to_string();
    }
    let (sign, figures) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let from_end = |at: usize| figures.len() - at;
    let spaced = figures.char_indices().map(|(at, figure)| {
        let gap = if at > 0 && from_end(at) % 3 == 0 { "\u{202f}" } else { "" };
        format!("{gap}{figure}")
    });
    format!("{sign}{}", spaced.collect::<String>())
}

/// A tick's label: as exact as it has to be.
pub fn tick_text(value: f64) -> String {
    if value.abs() >= 10_000.0 {
        return number_text(value);
    }
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() || text == "-0" { "0".to_string() } else { text.to_string() }
}

/// Text for markup.
pub fn escape(text: &str) -> String {
    let clean = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    clean
        .collect::<String>()
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// How wide text is about, in pixels: there is no font at hand, so a wide one is assumed.
pub fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.64
}

/// The class that colours what belongs to a scheme.
pub fn class(scheme: &Scheme) -> String {
    format!("s{}", scheme.colour % 8)
}

impl Mark {
    /// The dash of its lines, for `stroke-dasharray`.
    pub fn dash(self) -> &'static str {
        match self {
            Mark::Circle => "none",
            Mark::Square => "6 3",
            Mark::Triangle => "2 2.5",
            Mark::Diamond => "8 3 2 3",
        }
    }

    /// Its outline around (x, y).
    pub fn path(self, x: f64, y: f64, radius: f64) -> String {
        let corners = |corners: &[(f64, f64)]| {
            let points =
                corners.iter().map(|(dx, dy)| format!("{:.1} {:.1}", x + dx * radius, y + dy * radius));
            format!("M{}Z", points.collect::<Vec<_>>().join("L"))
        };
        match self {
            Mark::Circle => {
                let (left, width) = (x - radius, 2.0 * radius);
                format!(
                    "M{left:.1} {y:.1}a{radius} {radius} 0 1 0 {width} 0a{radius} {radius} 0 1 0 {:.1} 0Z",
                    -width
                )
            }
            Mark::Square => corners(&[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)]),
            Mark::Triangle => corners(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]),
            Mark::Diamond => corners(&[(0.0, -1.3), (1.2, 0.0), (0.0, 1.3), (-1.2, 0.0)]),
        }
    }
}

impl Picture {
    /// An empty one that says `label` to those who do not see it.
    pub fn new(width: f64, height: f64, label: &str) -> Picture {
        let text = format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\" style=\"max-width:{}px\">",
            escape(label),
            width * 1.35
        );
        Picture { text, width, height }
    }

    /// Its text.
    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>");
        self.text
    }

    /// Markup of the caller's, which is responsible for it.
    pub fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let _ = write!(
            self.text,
            "<path class=\"{class}\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    /// Text at a place; `anchor` is start, middle or end.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: &str, class: &str, text: &str) {
        let _ = write!(
            self.text,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{}</text>",
            escape(text)
        );
    }

    /// A rectangle between two corners.
    pub fn rectangle(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let (left, top) = (from.0.min(to.0), from.1.min(to.1));
        let (width, height) = ((to.0 - from.0).abs(), (to.1 - from.1).abs());
        let _ = write!(
            self.text,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" class=\"{class}\"/>"
        );
    }

    /// A mark with a hint for those who point at it.
    pub fn mark(&mut self, mark: Mark, at: (f64, f64), radius: f64, class: &str, hint: &str) {
        let hint = if hint.is_empty() { String::new() } else { format!("<title>{}</title>", escape(hint)) };
        let _ = write!(
            self.text,
            "<path class=\"{class}\" d=\"{}\">{hint}</path>",
            mark.path(at.0, at.1, radius)
        );
    }

    /// A line through points; gaps where there is none. `stepped`: each lasts until the next.
    pub fn curve(
        &mut self,
        points: impl Iterator<Item = Option<(f64, f64)>>,
        class: &str,
        dash: &str,
        stepped: bool,
    ) {
        let (mut path, mut last, mut is_open) = (String::new(), (f64::NAN, f64::NAN), false);
        for point in points {
            let Some((x, y)) = point else {
                is_open = false;
                continue;
            };
            // What is no tenth of a pixel away is the same.
            if is_open && (x - last.0).abs() < 0.1 && (y - last.1).abs() < 0.1 {
                continue;
            }
            let _ = match (is_open, stepped) {
                (false, _) => write!(path, "M{x:.1} {y:.1}"),
                (true, true) => write!(path, "H{x:.1}V{y:.1}"),
                (true, false) => write!(path, "L{x:.1} {y:.1}"),
            };
            (last, is_open) = ((x, y), true);
        }
        if !path.is_empty() {
            let dash = if dash == "none" { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
            let _ = write!(self.text, "<path class=\"{class}\"{dash} d=\"{path}\"/>");
        }
    }

    /// Grid, ticks and titles of both axes; the scales between the pixels of the plot area.
    pub fn axes(
        &mut self,
        margins: &Margins,
        (x, x_title): (Scale, &str),
        (y, y_title): (Scale, &str),
    ) -> (Scale, Scale) {
        let (top, bottom) = (margins.top, self.height - margins.bottom);
        let y = y.between(bottom, top);
        let ticks = y.ticks(((bottom - top) / 34.0) as usize);
        let widest = ticks.iter().map(|tick| text_width(&tick_text(*tick), 11.5)).fold(0.0, f64::max);
        let (left, right) = (margins.left.max(widest + 28.0), self.width - margins.right);
        let x = x.between(left, right);
        for tick in ticks {
            self.line((left, y.at(tick)), (right, y.at(tick)), "grid");
            self.text((left - 6.0, y.at(tick) + 4.0), "end", "tick", &tick_text(tick));
        }
        self.x_axis(x, top, bottom, x_title);
        let middle = (top + bottom) / 2.0;
        let _ = write!(
            self.text,
            "<text transform=\"translate(12 {middle:.1}) rotate(-90)\" text-anchor=\"middle\" class=\"title\">{}</text>",
            escape(y_title)
        );
        (x, y)
    }

    /// Grid, ticks and title of the horizontal axis alone.
    pub fn x_axis(&mut self, x: Scale, top: f64, bottom: f64, title: &str) {
        let mut free = f64::NEG_INFINITY;
        for tick in x.ticks(((x.to - x.from) / 56.0) as usize) {
            let at = x.at(tick);
            self.line((at, top), (at, bottom), "grid");
            let text = tick_text(tick);
            let half = text_width(&text, 11.5) / 2.0;
            if at - half > free + 4.0 {
                self.text((at, bottom + 15.0), "middle", "tick", &text);
                free = at + half;
            }
        }
        self.line((x.from, bottom), (x.to, bottom), "axis");
        self.text(((x.from + x.to) / 2.0, bottom + 32.0), "middle", "title", title);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_on_the_scale() {
        let scale = |low, high, is_log| Scale { low, high, is_log, from: 0.0, to: 100.0 };
        assert_eq!(scale(0.0, 10.0, false).ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(scale(0.5, 2000.0, true).ticks(5), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(scale(1.0, 10.0, true).ticks(5), [1.0, 2.0, 5.0, 10.0]);
        for (low, high, is_log) in [(0.98, 1.0, false), (1e-3, 1e5, true), (-5.0, 3.0, false)] {
            let scale = scale(low, high, is_log);
            for most in 2..12 {
                let ticks = scale.ticks(most);
                assert!(ticks.iter().all(|tick| *tick >= low * 0.999 - 1e-9 || *tick >= low));
                assert!(
                    ticks.windows(2).all(|pair| pair[0] < pair[1] && scale.at(pair[0]) < scale.at(pair[1]))
                );
            }
        }
    }

    #[test]
    fn what_has_no_extent_gets_one() {
        for values in [&[][..], &[3.0], &[0.0, 0.0], &[f64::NAN]] {
            for is_log in [false, true] {
                let scale = Scale::around(values, is_log, 0.1).between(0.0, 10.0);
                assert!(scale.low < scale.high && scale.at(3.0).is_finite() && !scale.ticks(5).is_empty());
            }
        }
    }

    #[test]
    fn numbers_as_people_write_them() {
        for (value, text) in
            [(0.99948, "0.999"), (16.58, "16.6"), (2366.08, "2366"), (12_345.0, "12\u{202f}345"), (0.0, "0")]
        {
            assert_eq!(number_text(value), text);
        }
        assert_eq!([tick_text(0.05), tick_text(100.0), tick_text(-0.00001)], ["0.05", "100", "0"]);
    }
}
