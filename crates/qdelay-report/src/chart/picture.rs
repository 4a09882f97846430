//! One picture: lines, marks and text at pixels, and axes and keys made of them.

use super::scale::tick_text;
use super::sign::{Key, Mark, dashes};
use super::{Scale, cut, escape, print_styles, text_width, together};
use std::fmt::Write;

/// Sizes of text, as `assets/chart.css` has them.
const TICK: f64 = 11.5;
const KEY: f64 = 12.5;
const HEADING: f64 = 17.0;
/// Margins of a picture for print.
const ROOM: f64 = 16.0;
/// Pixels between ticks, at the least about.
const APART: (f64, f64) = (56.0, 28.0);

/// A picture and how large it is, in pixels of its own.
pub struct Picture {
    text: String,
    label: String,
    width: f64,
    height: f64,
}

/// Where the axes are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Position of the vertical axis; wide labels of ticks move it to the right.
    pub left: f64,
    /// The upper end of both scales.
    pub top: f64,
    /// The end of the horizontal axis.
    pub right: f64,
    /// Position of the horizontal axis.
    pub bottom: f64,
}

impl Frame {
    /// As large as a picture of this size can have it below `top`.
    pub fn of(width: f64, top: f64, height: f64) -> Frame {
        Frame { left: 58.0, top: top + 10.0, right: width - 18.0, bottom: height - 42.0 }
    }

    /// With room for the labels of this scale to the left.
    #[must_use]
    pub fn beside(self, y: &Scale) -> Frame {
        let ticks = y.ticks(self.most_rows());
        let widest = ticks.iter().map(|tick| text_width(&tick_text(*tick), TICK)).fold(0.0, f64::max);
        Frame { left: self.left.max(widest + 28.0), ..self }
    }

    fn most_rows(&self) -> usize {
        ((self.bottom - self.top) / APART.1) as usize
    }
}

/// A line among others.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its points in pixels, from left to right.
    pub points: Vec<(f64, f64)>,
    /// Its classes.
    pub class: String,
    /// Its dash pattern.
    pub mark: Mark,
}

impl Picture {
    /// An empty picture with `label` as its description for screen readers.
    pub fn new(width: f64, height: f64, label: &str) -> Picture {
        Picture { text: String::new(), label: escape(label), width, height }
    }

    /// For a page, which has the [styles](super::STYLES).
    pub fn of_page(self) -> String {
        let Picture { text, label, width, height } = self;
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\" style=\"max-width:{}px\">{text}</svg>",
            width * 1.35
        )
    }

    /// A file of its own, for print.
    pub fn of_print(self) -> String {
        let Picture { text, label, width, height } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" role=\"img\" aria-label=\"{label}\">\n<style>\n{}</style>\n\
             <rect class=\"sheet\" width=\"{width}\" height=\"{height}\"/>\n{text}</svg>\n",
            print_styles()
        )
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        self.polyline(&[Some(from), Some(to)], class, &[], false);
    }

    /// Text at a place, on its base line; `anchor` is start, middle or end.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: &str, class: &str, text: &str) {
        let _ = writeln!(
            self.text,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{}</text>",
            escape(text)
        );
    }

    /// A rectangle between two corners.
    pub fn rectangle(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let (left, top) = (from.0.min(to.0), from.1.min(to.1));
        let (width, height) = ((to.0 - from.0).abs(), (to.1 - from.1).abs());
        let _ = writeln!(
            self.text,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" class=\"{class}\"/>"
        );
    }

    /// A mark with a tooltip.
    pub fn mark(&mut self, mark: Mark, at: (f64, f64), radius: f64, class: &str, hint: &str) {
        let hint = if hint.is_empty() { String::new() } else { format!("<title>{}</title>", escape(hint)) };
        let _ = writeln!(self.text, "<path class=\"{class}\" d=\"{}\">{hint}</path>", mark.path(at, radius));
    }

    /// A line through points; gaps where there is none. `stepped`: each lasts until the next.
    pub fn polyline(&mut self, points: &[Option<(f64, f64)>], class: &str, dash: &[f64], stepped: bool) {
        let (mut path, mut last, mut is_open) = (String::new(), (f64::NAN, f64::NAN), false);
        for point in points {
            let Some((x, y)) = *point else {
                is_open = false;
                continue;
            };
            // Points closer than a tenth of a pixel are merged.
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
            let _ = writeln!(self.text, "<path class=\"{class}\"{} d=\"{path}\"/>", dashes(dash));
        }
    }

    /// The area below a line of steps, down to `base`.
    pub fn area(&mut self, points: &[(f64, f64)], base: f64, class: &str) {
        let Some(((x, y), rest)) = points.split_first() else { return };
        let steps: String = rest.iter().map(|(x, y)| format!("H{x:.1}V{y:.1}")).collect();
        let _ =
            writeln!(self.text, "<path class=\"{class}\" d=\"M{x:.1} {base:.1}V{y:.1}{steps}V{base:.1}Z\"/>");
    }

    /// Lines of which none hides another: those along one way take turns.
    pub fn curves(&mut self, curves: &[Curve], stepped: bool) {
        let lines: Vec<&[(f64, f64)]> = curves.iter().map(|curve| curve.points.as_slice()).collect();
        for (curve, turn) in curves.iter().zip(together::alike(&lines)) {
            let points: Vec<Option<(f64, f64)>> = curve.points.iter().copied().map(Some).collect();
            self.polyline(&points, &curve.class, &together::shared(curve.mark.dash(), turn), stepped);
        }
    }

    /// Grid, ticks and titles of both axes; the scales between the pixels of the frame.
    pub fn axes(
        &mut self,
        frame: Frame,
        (x, x_title): (Scale, &str),
        (y, y_title): (Scale, &str),
    ) -> (Scale, Scale) {
        let frame = frame.beside(&y);
        let Frame { left, top, right, bottom } = frame;
        let (x, y) = (x.between(left, right), y.between(bottom, top));
        for tick in y.ticks(frame.most_rows()) {
            self.line((left, y.at(tick)), (right, y.at(tick)), "grid");
            self.text((left - 6.0, y.at(tick) + 4.0), "end", "tick", &tick_text(tick));
        }
        self.x_axis(x, top, bottom, x_title);
        let _ = writeln!(
            self.text,
            "<text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\" class=\"title\">{}</text>",
            (top + bottom) / 2.0,
            escape(y_title)
        );
        (x, y)
    }

    /// Grid, ticks and title of the horizontal axis alone.
    pub fn x_axis(&mut self, x: Scale, top: f64, bottom: f64, title: &str) {
        let mut free = f64::NEG_INFINITY;
        for tick in x.ticks(((x.to - x.from) / APART.0) as usize) {
            let text = tick_text(tick);
            let half = text_width(&text, TICK) / 2.0;
            self.line((x.at(tick), top), (x.at(tick), bottom), "grid");
            // Whole within the picture.
            let at = x.at(tick).min(self.width - half - 1.0);
            if at - half > free + 4.0 {
                self.text((at, bottom + 15.0), "middle", "tick", &text);
                free = at + half;
            }
        }
        self.line((x.from, bottom), (x.to, bottom), "axis");
        if !title.is_empty() {
            self.text(((x.from + x.to) / 2.0, bottom + 32.0), "middle", "title", title);
        }
    }

    /// A heading in as many lines as it takes, and below it a key in rows; where both end.
    pub fn head(&mut self, heading: &str, key: &[Key]) -> f64 {
        let most = self.width - 2.0 * ROOM;
        let mut line = String::new();
        let mut bottom = ROOM;
        for word in heading.split_whitespace() {
            let longer = format!("{line} {word}");
            if !line.is_empty() && text_width(&longer, HEADING) > most {
                bottom += 22.0;
                self.text((ROOM, bottom - 4.0), "start", "heading", &line);
                line = word.to_string();
            } else {
                line = longer.trim_start().to_string();
            }
        }
        if !line.is_empty() {
            bottom += 22.0;
            self.text((ROOM, bottom - 4.0), "start", "heading", &cut(&line, HEADING, most));
        }
        let mut left = ROOM;
        for (at, entry) in key.iter().enumerate() {
            let entry = Key { label: cut(&entry.label, KEY, most - 40.0), ..entry.clone() };
            if at == 0 || left + entry.room(KEY) > ROOM + most {
                (left, bottom) = (ROOM, bottom + 19.0);
            }
            let _ = writeln!(
                self.text,
                "<g transform=\"translate({left:.1} {:.1})\">{}</g>",
                bottom - 12.0,
                entry.markup()
            );
            self.text((left + entry.width() + 6.0, bottom - 1.7), "start", "key", &entry.label);
            left += entry.room(KEY) + 18.0;
        }
        bottom
    }
}
