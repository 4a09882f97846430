//! Title, key, axes with their grid, ticks and titles: sizes are for print at the size asked for.

use super::key::{Key, draw_key, key_rows};
use super::{Anchor, GRID, Medium, ROW, Scale, Sheet, Stroke, TEXT, WORDS, tick_text};

const TITLE: f64 = 9.0;
/// Width of axes and of the grid, points.
const AXIS: f64 = 0.6;
const GRID_LINE: f64 = 0.35;
/// Width of the grid on a screen, where its colour is lighter.
const GRID_ON_SCREEN: f64 = 0.6;
/// Margin of a picture, points.
const MARGIN: f64 = 2.0;
/// Distance from an axis to its labels, points.
const TICK: f64 = 2.5;
/// Least distance of ticks, points.
const APART: (f64, f64) = (30.0, 15.0);
/// Most ticks, however large a picture is.
const MOST_TICKS: usize = 8;

/// The area between the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each is called as it is")]
pub struct Frame {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

/// The labels below the axes.
#[derive(Clone, Copy)]
pub enum Below<'a> {
    /// Ticks of a scale, and its title.
    Scale(Scale, &'a str),
    /// Names below as many equal parts.
    Names(&'a [String]),
}

/// Both scales between the ends of the axes, and the area between them.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the line above says it")]
pub struct Placed {
    pub x: Scale,
    pub y: Scale,
    pub frame: Frame,
}

/// Axes that are measured and not yet drawn.
pub(crate) struct Panel<'a> {
    pub(crate) frame: Frame,
    below: Below<'a>,
    y: Scale,
    ticks: Vec<f64>,
    labels: Vec<String>,
    title: Vec<String>,
    /// The lowest point of the panel, below its title.
    end: f64,
}

/// The labels of ticks; those of a linear scale have equally many decimals.
fn tick_labels(scale: &Scale, ticks: &[f64]) -> Vec<String> {
    let labels: Vec<String> = ticks.iter().map(|tick| tick_text(*tick)).collect();
    if scale.is_log || labels.iter().any(|label| label.contains('e')) {
        return labels;
    }
    let decimals = |label: &String| label.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let most = labels.iter().map(decimals).max().unwrap_or(0);
    if most == 0 { labels } else { ticks.iter().map(|tick| format!("{tick:.most$}")).collect() }
}

/// Measures axes between the heights `top` and `end`.
pub(crate) fn measure_panel<'a>(
    sheet: &Sheet,
    (top, end): (f64, f64),
    below: Below<'a>,
    (y, y_title): (Scale, &str),
) -> Panel<'a> {
    let names_lines = match below {
        Below::Scale(..) => 1,
        Below::Names(names) => names.iter().map(|name| name_lines(name).len()).max().unwrap_or(1),
    };
    let title_rows = usize::from(!x_title(&below).is_empty());
    let bottom = end - MARGIN - TICK - (names_lines + title_rows) as f64 * ROW;
    let most = (((bottom - top) / APART.1).max(1.0) as usize).min(MOST_TICKS);
    let ticks = y.ticks(most);
    let labels = tick_labels(&y, &ticks);
    let widest = labels.iter().map(|label| sheet.text_width(label, TEXT)).fold(0.0, f64::max);
    let title = lines(sheet, y_title, TEXT, bottom - top + 0.5 * (top - MARGIN));
    let left = MARGIN + title.len() as f64 * ROW + 1.0 + widest + TICK + 1.0;
    let frame = Frame { left, top, right: sheet.width - MARGIN - 6.0, bottom };
    Panel { frame, below, y, ticks, labels, title, end }
}

fn x_title<'a>(below: &Below<'a>) -> &'a str {
    match below {
        Below::Scale(_, title) => title,
        Below::Names(_) => "",
    }
}

/// Draws measured axes.
pub(crate) fn paint_panel(sheet: &mut Sheet, panel: &Panel) -> Placed {
    let Panel { frame, below, ticks, labels, .. } = panel;
    let Frame { left, top, right, bottom } = *frame;
    let y = panel.y.between(bottom, top);
    let grid = grid(sheet);
    for tick in ticks {
        sheet.line((left, y.at(*tick)), (right, y.at(*tick)), grid.clone());
    }
    let x = match below {
        Below::Scale(x, _) => draw_ticks(sheet, x.between(left, right), *frame),
        Below::Names(names) => draw_names(sheet, names, *frame),
    };
    for (tick, label) in ticks.iter().zip(labels) {
        sheet.line((left - TICK, y.at(*tick)), (left, y.at(*tick)), Stroke::solid(WORDS, AXIS));
        sheet.text((left - TICK - 1.5, y.at(*tick) + TEXT * 0.35), Anchor::End, TEXT, label);
    }
    for small in small_ticks(&y, ticks) {
        sheet.line((left - TICK * 0.5, y.at(small)), (left, y.at(small)), Stroke::solid(WORDS, AXIS * 0.7));
    }
    for (at, line) in panel.title.iter().enumerate() {
        let middle = (top + bottom) / 2.0;
        let half = sheet.text_width(line, TEXT) / 2.0;
        // A title that is longer than its axis begins at the lower end of the figure's part.
        let middle = middle.max(MARGIN + half).min(sheet.height - MARGIN - half);
        sheet.upright((MARGIN + TEXT + at as f64 * ROW - 1.0, middle), TEXT, line);
    }
    sheet.text(((left + right) / 2.0, panel.end - MARGIN - 2.0), Anchor::Middle, TEXT, x_title(below));
    sheet.line((left, top), (left, bottom), Stroke::solid(WORDS, AXIS));
    sheet.line((left, bottom), (right, bottom), Stroke::solid(WORDS, AXIS));
    Placed { x, y, frame: *frame }
}

fn grid(sheet: &Sheet) -> Stroke {
    Stroke::solid(GRID, if sheet.medium == Medium::Print { GRID_LINE } else { GRID_ON_SCREEN })
}

/// Axes of a whole sheet without title and key.
pub fn draw_axes(sheet: &mut Sheet, below: Below, y: (Scale, &str)) -> Placed {
    let panel = measure_panel(sheet, (MARGIN + TEXT * 0.5, sheet.height), below, y);
    paint_panel(sheet, &panel)
}

/// Grid, ticks and title of the horizontal axis alone.
pub fn draw_x_axis(sheet: &mut Sheet, x: Scale, frame: Frame, title: &str) -> Scale {
    let Frame { left, right, bottom, .. } = frame;
    let x = draw_ticks(sheet, x.between(left, right), frame);
    sheet.text(((left + right) / 2.0, bottom + TICK + ROW + TEXT), Anchor::Middle, TEXT, title);
    sheet.line((left, bottom), (right, bottom), Stroke::solid(WORDS, AXIS));
    x
}

/// Grid, ticks and their labels of the horizontal axis.
fn draw_ticks(sheet: &mut Sheet, x: Scale, frame: Frame) -> Scale {
    let Frame { left, top, right, bottom } = frame;
    let mut most = (((right - left) / APART.0) as usize).min(MOST_TICKS);
    let mut ticks = x.ticks(most);
    // Fewer where labels would touch.
    while most > 2 && touch(sheet, &x, &ticks) {
        most -= 1;
        ticks = x.ticks(most);
    }
    let grid = grid(sheet);
    for tick in &ticks {
        let at = x.at(*tick);
        sheet.line((at, top), (at, bottom), grid.clone());
    }
    for (tick, text) in ticks.iter().zip(&tick_labels(&x, &ticks)) {
        let at = x.at(*tick);
        sheet.line((at, bottom), (at, bottom + TICK), Stroke::solid(WORDS, AXIS));
        let half = sheet.text_width(text, TEXT) / 2.0;
        let middle = at.min(sheet.width - 0.5 - half);
        sheet.text((middle, bottom + TICK + TEXT), Anchor::Middle, TEXT, text);
    }
    for small in small_ticks(&x, &ticks) {
        sheet.line(
            (x.at(small), bottom),
            (x.at(small), bottom + TICK * 0.5),
            Stroke::solid(WORDS, AXIS * 0.7),
        );
    }
    x
}

fn touch(sheet: &Sheet, x: &Scale, ticks: &[f64]) -> bool {
    let labels = tick_labels(x, ticks);
    let half = |at: usize| sheet.text_width(&labels[at], TEXT) / 2.0;
    (1..ticks.len()).any(|at| x.at(ticks[at]) - half(at) < x.at(ticks[at - 1]) + half(at - 1) + 5.0)
}

/// Between the ticks of a logarithmic scale: 2 to 9 of each power of ten.
fn small_ticks(scale: &Scale, ticks: &[f64]) -> Vec<f64> {
    if !scale.is_log || scale.high / scale.low > 1e6 {
        return Vec::new();
    }
    let first = libm::floor(libm::log10(scale.low)) as i32;
    let last = libm::ceil(libm::log10(scale.high)) as i32;
    let all = (first..=last)
        .flat_map(|power| (1..10).map(move |digit| f64::from(digit) * libm::pow(10.0, f64::from(power))));
    let is_tick = |value: f64| ticks.iter().any(|tick| (tick / value - 1.0).abs() < 1e-6);
    all.filter(|value| *value > scale.low && *value < scale.high && !is_tick(*value)).collect()
}

/// Names below equal parts; the scale counts the parts.
fn draw_names(sheet: &mut Sheet, names: &[String], frame: Frame) -> Scale {
    let x = Scale::new(0.0, names.len().max(1) as f64, false).between(frame.left, frame.right);
    let room = name_room(frame, names);
    for (at, name) in names.iter().enumerate() {
        for (row, line) in name_lines(name).iter().enumerate() {
            let line = sheet.cut_text(line, TEXT, room);
            let place = (x.at(at as f64 + 0.5), frame.bottom + TICK + TEXT + row as f64 * ROW);
            sheet.text(place, Anchor::Middle, TEXT, &line);
        }
    }
    x
}

/// Width of the text of each of these names.
pub(crate) fn name_room(frame: Frame, names: &[String]) -> f64 {
    (frame.right - frame.left) / names.len().max(1) as f64 - 2.0
}

/// A name in lines: labels of several axes, and a component and its parameters, one below the other.
fn name_lines(name: &str) -> Vec<String> {
    name.split(" \u{b7} ").flat_map(|label| label.split(':')).map(str::to_string).collect()
}

/// A text in lines of at most so much room.
fn lines(sheet: &Sheet, text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if sheet.text_width(&format!("{line} {word}"), size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// Height of title and key together, and the rows of the key.
pub(crate) struct Head {
    title: Vec<String>,
    rows: Vec<super::key::KeyRow>,
    /// The lower end of the title.
    key_top: f64,
    /// The lower end of the key.
    pub(crate) bottom: f64,
}

/// Measures a title and a key at the upper end of a sheet.
pub(crate) fn measure_head(sheet: &Sheet, title: &str, keys: &[Key]) -> Head {
    let title = lines(sheet, title, TITLE, sheet.width - 2.0 * MARGIN);
    let rows = key_rows(sheet, keys, key_room(sheet));
    let key_top = MARGIN + title.len() as f64 * TITLE * 1.25;
    Head { title, key_top, bottom: key_top + rows.len() as f64 * ROW + 4.0, rows }
}

fn key_room(sheet: &Sheet) -> f64 {
    sheet.width - 2.0 * MARGIN - 4.0
}

/// Draws the title, and the key centred above the axes as far as there is room.
pub(crate) fn paint_head(sheet: &mut Sheet, head: &Head, keys: &[Key], frame: Frame) {
    for (row, line) in head.title.iter().enumerate() {
        let base = MARGIN + (row + 1) as f64 * TITLE * 1.25 - 2.5;
        let line = sheet.cut_text(line, TITLE, sheet.width - 2.0 * MARGIN);
        sheet.text((sheet.width / 2.0, base), Anchor::Middle, TITLE, &line);
    }
    let widest = head.rows.iter().map(|(_, end)| *end).fold(0.0, f64::max);
    let left = ((frame.left + frame.right - widest) / 2.0).min(sheet.width - MARGIN - widest).max(MARGIN);
    let room = key_room(sheet);
    draw_key(sheet, &head.rows, keys, (left, head.key_top), room);
}
