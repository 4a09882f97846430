//! Lines of styled text, truncated to a width.

use std::fmt::Write;

/// Style of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Default style.
    Plain,
    /// Style of labels.
    Dim,
    /// Style of the most important values.
    Bold,
    /// Style of good states.
    Good,
    /// Style of bad states.
    Bad,
    /// Style of rates.
    Rate,
    /// Style of delays.
    Delay,
}

impl Style {
    /// SGR parameters (Select Graphic Rendition, ECMA-48); empty for the terminal's default.
    const fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Dim => "\x1b[2m",
            Style::Bold => "\x1b[1m",
            Style::Good => "\x1b[32m",
            Style::Bad => "\x1b[1;31m",
            Style::Rate => "\x1b[36m",
            Style::Delay => "\x1b[33m",
        }
    }
}

/// A line of pieces from left to right, truncated on the right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pieces: Vec<(Style, String)>,
}

impl Line {
    /// Appends a piece.
    pub fn push(&mut self, style: Style, text: impl Into<String>) -> &mut Line {
        self.pieces.push((style, text.into()));
        self
    }

    /// Appends all pieces of another line.
    pub fn append(&mut self, other: Line) -> &mut Line {
        self.pieces.extend(other.pieces);
        self
    }

    /// Width in columns; each character takes one column.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// Appends `other` right-aligned at column `width`, at least two columns behind this line's end. This line is truncated to make
    /// room, down to `keep` columns; if that is not enough, `other` is omitted.
    pub fn right(&mut self, other: Line, width: usize, keep: usize) -> &mut Line {
        let Some(room) = width.checked_sub(other.width() + 2) else { return self };
        if other.pieces.is_empty() || (room < self.width() && room < keep) {
            return self;
        }
        self.cut(room);
        let gap = width - other.width() - self.width();
        self.push(Style::Plain, " ".repeat(gap));
        self.pieces.extend(other.pieces);
        self
    }

    /// Truncates the line to `width` columns; an ellipsis in the last column marks the truncation.
    pub fn cut(&mut self, width: usize) {
        if self.width() <= width {
            return;
        }
        let mut room = width.saturating_sub(1);
        for (_, text) in &mut self.pieces {
            let kept: String = text.chars().take(room).collect();
            room -= kept.chars().count();
            *text = kept;
        }
        if width > 0 {
            self.push(Style::Dim, "…");
        }
    }

    /// Text of the line for a terminal, at most `width` columns wide; with escape sequences if `has_colour`.
    pub fn render(&self, width: usize, has_colour: bool) -> String {
        let mut line = self.clone();
        line.cut(width);
        let mut text = String::new();
        for (style, piece) in &line.pieces {
            let code = if has_colour && !piece.is_empty() { style.code() } else { "" };
            // Text of users may contain control characters; each is shown as one column.
            let piece: String = piece.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
            let end = if code.is_empty() { "" } else { "\x1b[0m" };
            let _ = write!(text, "{code}{piece}{end}");
        }
        text
    }
}

/// Bars of zero to eight eighths of a character's height.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The last `width` of `values` as bars in one row, scaled to `top`; each value is at least an eighth high. Blanks represent
/// `None`, and the time before the first value.
pub fn sparkline(values: impl ExactSizeIterator<Item = Option<f64>>, width: usize, top: f64) -> String {
    let count = values.len();
    let blanks = " ".repeat(width.saturating_sub(count));
    let bars = values.skip(count.saturating_sub(width)).map(|value| match value {
        None => ' ',
        Some(value) => BARS[eighths(value, top, 8).max(1)],
    });
    blanks.chars().chain(bars).collect()
}

/// Height of `value` in eighths, if `top` is `full` eighths high.
fn eighths(value: f64, top: f64, full: usize) -> usize {
    if top > 0.0 && value > 0.0 { ((value / top * full as f64).round() as usize).min(full) } else { 0 }
}

/// The last `width` of `values` as bars over `rows` rows, returned from the top; each value may have a limit, drawn above bars that do
/// not reach it.
pub fn chart(
    values: impl ExactSizeIterator<Item = (Option<f64>, Option<f64>)>,
    width: usize,
    rows: usize,
    top: f64,
) -> Vec<String> {
    let count = values.len();
    let columns: Vec<_> = values.skip(count.saturating_sub(width)).collect();
    let blanks = " ".repeat(width.saturating_sub(columns.len()));
    let cell = |row: usize, (value, ceiling): (Option<f64>, Option<f64>)| {
        // Height below this row in eighths.
        let below = (rows - 1 - row) * 8;
        let height = value.map_or(0, |value| eighths(value, top, rows * 8).max(1));
        let mark = ceiling.map(|ceiling| eighths(ceiling, top, rows * 8).saturating_sub(1) / 8 * 8);
        match height.saturating_sub(below).min(8) {
            0 if mark == Some(below) => '╌',
            filled => BARS[filled],
        }
    };
    (0..rows)
        .map(|row| blanks.chars().chain(columns.iter().map(|column| cell(row, *column))).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_truncated_and_aligned() {
        let mut line = Line::default();
        line.push(Style::Bold, "left side").push(Style::Plain, " more");
        assert_eq!(line.render(20, false), "left side more");
        assert_eq!(line.render(10, false), "left side…");
        assert_eq!((line.render(1, false), line.render(0, false)), ("…".to_string(), String::new()));
        let mut right = Line::default();
        right.push(Style::Good, "r\n");
        assert_eq!(line.clone().right(right.clone(), 18, 5).render(18, false), "left side more  r?");
        assert_eq!(line.clone().right(right.clone(), 12, 5).render(12, false), "left si…  r?");
        assert_eq!(line.clone().right(right, 8, 5).render(8, false), "left si…");
        assert_eq!(line.render(10, true), "\x1b[1mleft side\x1b[0m\x1b[2m…\x1b[0m");
    }

    #[test]
    fn bars_are_scaled_to_the_top() {
        let values = [Some(0.0), None, Some(4.0), Some(8.0), Some(9.0)];
        assert_eq!(sparkline(values.into_iter(), 7, 8.0), "  ▁ ▄██");
        assert_eq!(sparkline(values.into_iter(), 2, 8.0), "██");
        assert_eq!(sparkline([Some(0.0)].into_iter(), 1, 0.0), "▁");
        let columns =
            [(Some(16.0), Some(16.0)), (Some(6.0), Some(16.0)), (None, Some(4.0)), (Some(12.0), None)];
        assert_eq!(chart(columns.into_iter(), 5, 2, 16.0), [" █╌ ▄", " █▆╌█"]);
    }
}
