//! Where things stand in a figure: title, key, axes. Sizes are for print at the size asked for.

use super::chosen::{Chosen, Entry};
use super::key::{Key, Sign};
use super::sheet::{Anchor, BLACK, GRID, Hatch, NEUTRAL, Rgb, Sheet, Stroke, WHITE, rgb, tint};
use crate::chart::{self, Mark, Scale, tick_text};
use qdelay_study::InputError;

/// Sizes of text, points.
pub(super) const TEXT: f64 = 8.0;
const TITLE: f64 = 9.0;
/// Lines of data, axes and the grid, points.
pub(super) const LINE: f64 = 1.1;
const AXIS: f64 = 0.6;
const GRID_LINE: f64 = 0.35;
/// A mark, points.
pub(super) const RADIUS: f64 = 2.3;
/// Around everything, and the height of a line of text; points.
const MARGIN: f64 = 2.0;
const ROW: f64 = 10.5;
/// From an axis to its labels.
const TICK: f64 = 2.5;
/// Least distance of ticks, points.
const APART: (f64, f64) = (30.0, 15.0);
/// More ticks than that say no more, however large a figure is.
const MOST_TICKS: usize = 8;
/// Least size of the area between the axes, points.
const LEAST: (f64, f64) = (80.0, 45.0);
/// Colours, and shapes or dashes or hatches, that are told apart.
pub(super) const COLOURS: usize = 8;
const SHAPES: usize = Mark::ALL.len();
/// More lines than that nobody tells apart.
const ENTRIES: usize = COLOURS * SHAPES;

/// How an entry looks: in grey its mark, hatch and dash tell it apart.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) colour: Rgb,
    pub(super) mark: Mark,
    pub(super) hatch: Hatch,
    /// Strokes and gaps in points.
    pub(super) dash: Vec<f64>,
    /// What a mark is filled with.
    pub(super) inside: Rgb,
}

impl Look {
    pub(super) fn of(chosen: &Chosen, entry: &Entry) -> Look {
        let place = chosen.colour(entry, SHAPES);
        // One axis alone has the dashes too.
        let second = if chosen.has_others() { chosen.other(entry) } else { place };
        let colour = rgb(chart::print_colour(place));
        let inside = if chosen.has_others() { inside(second, colour) } else { colour };
        Look { colour, mark: mark(place), hatch: Hatch::of(place), dash: dash(second), inside }
    }

    pub(super) fn line(&self) -> Stroke {
        Stroke { colour: self.colour, width: LINE, dash: self.dash.clone() }
    }
}

/// Marks that are told apart at this size and on lines, the flat one last.
fn mark(place: usize) -> Mark {
    let all = [Mark::Circle, Mark::Square, Mark::Triangle, Mark::Diamond, Mark::Wedge, Mark::Bar];
    all[place % all.len()]
}

/// The filling of marks of the second axis: full, none, half.
fn inside(place: usize, colour: Rgb) -> Rgb {
    match place % 3 {
        0 => colour,
        1 => WHITE,
        _ => tint(colour, 0.4),
    }
}

/// Those of the page at the scale of print.
fn dash(place: usize) -> Vec<f64> {
    Mark::of(place).dash().iter().map(|part| part * 0.5).collect()
}

/// The key of the labels of colours, then of the others.
pub(super) fn keys(
    chosen: &Chosen,
    first: impl Fn(&Look, bool) -> Sign,
    second: impl Fn(Vec<f64>, Rgb) -> Sign,
) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for entry in &chosen.entries {
        let label = chosen.colour_label(entry);
        if !label.is_empty() && !keys.iter().any(|key| key.label == label) {
            keys.push(Key { sign: first(&Look::of(chosen, entry), !chosen.has_others()), label });
        }
    }
    if chosen.has_others() {
        let labels = chosen.other_labels().into_iter().enumerate();
        keys.extend(labels.map(|(at, label)| Key { sign: second(dash(at), inside(at, NEUTRAL)), label }));
    }
    keys
}

/// A filled rectangle with its hatch.
pub(super) fn bar(sheet: &mut Sheet, [left, top, right, bottom]: [f64; 4], hatch: Hatch, colour: Rgb) {
    let fill = match hatch {
        Hatch::Solid => colour,
        Hatch::Empty => WHITE,
        _ => tint(colour, 0.22),
    };
    sheet.rectangle((left, top), (right, bottom), Some((fill, 1.0)), None);
    sheet.hatch(hatch, [left, top, right, bottom], 3.2, &Stroke::of(colour, 0.7));
    sheet.rectangle((left, top), (right, bottom), None, Some(Stroke::of(colour, 0.8)));
}

/// The area between the axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
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

/// What stands below a figure.
pub(super) enum Below<'a> {
    Scale(Scale, &'a str),
    /// Names below as many equal parts.
    Names(&'a [String]),
}

/// A figure with everything but its data.
pub(super) struct Begun {
    pub(super) sheet: Sheet,
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) frame: Frame,
}

/// Title, key and axes.
pub(super) fn begin(
    chosen: &Chosen,
    (size, title): ((f64, f64), &str),
    label: &str,
    keys: &[Key],
    below: &Below,
    (y, y_title): (Scale, &str),
) -> Result<Begun, InputError> {
    if chosen.entries.len() > ENTRIES {
        let message = format!(
            "{} lines or marks in one figure; expected at most {ENTRIES}: select fewer labels, or average over an axis",
            chosen.entries.len()
        );
        return Err(InputError::new("--select", message));
    }
    let mut sheet = Sheet::new(size, label);
    let mut top = MARGIN;
    if !title.is_empty() {
        for line in lines(&sheet, title, TITLE, size.0 - 2.0 * MARGIN) {
            top += TITLE * 1.25;
            sheet.text((size.0 / 2.0, top - 2.5), Anchor::Middle, TITLE, &line);
        }
    }
    let key_top = top;
    let rows = key_rows(&sheet, keys);
    top += rows.len() as f64 * ROW + 4.0;
    let names_lines = match below {
        Below::Scale(..) => 1,
        Below::Names(names) => names.iter().map(|name| name_lines(name).len()).max().unwrap_or(1),
    };
    let x_title = match below {
        Below::Scale(_, title) => *title,
        Below::Names(_) => "",
    };
    let title_rows = usize::from(!x_title.is_empty());
    let bottom = size.1 - MARGIN - TICK - (names_lines + title_rows) as f64 * ROW;
    let rows_at_most = (((bottom - top) / APART.1).max(1.0) as usize).min(MOST_TICKS);
    let y_ticks = y.ticks(rows_at_most);
    let y_labels = tick_labels(&y, &y_ticks);
    let widest = y_labels.iter().map(|label| sheet.font.width(label, TEXT)).fold(0.0, f64::max);
    let y_lines = lines(&sheet, y_title, TEXT, bottom - top + 0.5 * (top - MARGIN));
    let left = MARGIN + y_lines.len() as f64 * ROW + 1.0 + widest + TICK + 1.0;
    let right = size.0 - MARGIN - 6.0;
    if right - left < LEAST.0 || bottom - top < LEAST.1 {
        let message = format!(
            "{:.1} x {:.1} in leaves {:.0} x {:.0} pt between the axes; expected a size that leaves {} x {}, or fewer labels",
            size.0 / 72.0,
            size.1 / 72.0,
            (right - left).max(0.0),
            (bottom - top).max(0.0),
            LEAST.0,
            LEAST.1
        );
        return Err(InputError::new("--size", message));
    }
    let frame = Frame { left, top, right, bottom };
    draw_key(&mut sheet, &rows, keys, key_top, frame);
    let y = y.between(bottom, top);
    for tick in &y_ticks {
        sheet.line((left, y.at(*tick)), (right, y.at(*tick)), Stroke::of(GRID, GRID_LINE));
    }
    let x = match below {
        Below::Scale(x, _) => x_axis(&mut sheet, x.between(left, right), frame),
        Below::Names(names) => name_axis(&mut sheet, names, frame)?,
    };
    for (tick, label) in y_ticks.iter().zip(&y_labels) {
        sheet.line((left - TICK, y.at(*tick)), (left, y.at(*tick)), Stroke::of(BLACK, AXIS));
        sheet.text((left - TICK - 1.5, y.at(*tick) + TEXT * 0.35), Anchor::End, TEXT, label);
    }
    for small in small_ticks(&y, &y_ticks) {
        sheet.line((left - TICK * 0.5, y.at(small)), (left, y.at(small)), Stroke::of(BLACK, AXIS * 0.7));
    }
    for (at, line) in y_lines.iter().enumerate() {
        let middle = (top + bottom) / 2.0;
        let half = sheet.font.width(line, TEXT) / 2.0;
        // A title that is longer than its axis begins at the lower end of the figure's part.
        let middle = middle.max(MARGIN + half).min(size.1 - MARGIN - half);
        sheet.upright((MARGIN + TEXT + at as f64 * ROW - 1.0, middle), TEXT, line);
    }
    sheet.text(((left + right) / 2.0, size.1 - MARGIN - 2.0), Anchor::Middle, TEXT, x_title);
    sheet.line((left, top), (left, bottom), Stroke::of(BLACK, AXIS));
    sheet.line((left, bottom), (right, bottom), Stroke::of(BLACK, AXIS));
    Ok(Begun { sheet, x, y, frame })
}

fn x_axis(sheet: &mut Sheet, x: Scale, frame: Frame) -> Scale {
    let Frame { left, top, right, bottom } = frame;
    let mut most = (((right - left) / APART.0) as usize).min(MOST_TICKS);
    let mut ticks = x.ticks(most);
    // Fewer where labels would touch.
    while most > 2 && touch(sheet, &x, &ticks) {
        most -= 1;
        ticks = x.ticks(most);
    }
    for tick in &ticks {
        let at = x.at(*tick);
        sheet.line((at, top), (at, bottom), Stroke::of(GRID, GRID_LINE));
    }
    for (tick, text) in ticks.iter().zip(&tick_labels(&x, &ticks)) {
        let at = x.at(*tick);
        sheet.line((at, bottom), (at, bottom + TICK), Stroke::of(BLACK, AXIS));
        let half = sheet.font.width(text, TEXT) / 2.0;
        let middle = at.min(sheet.width - 0.5 - half);
        sheet.text((middle, bottom + TICK + TEXT), Anchor::Middle, TEXT, text);
    }
    for small in small_ticks(&x, &ticks) {
        sheet.line((x.at(small), bottom), (x.at(small), bottom + TICK * 0.5), Stroke::of(BLACK, AXIS * 0.7));
    }
    x
}

fn touch(sheet: &Sheet, x: &Scale, ticks: &[f64]) -> bool {
    let labels = tick_labels(x, ticks);
    let half = |at: usize| sheet.font.width(&labels[at], TEXT) / 2.0;
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
fn name_axis(sheet: &mut Sheet, names: &[String], frame: Frame) -> Result<Scale, InputError> {
    let x = Scale::new(0.0, names.len().max(1) as f64, false).between(frame.left, frame.right);
    let room = (frame.right - frame.left) / names.len().max(1) as f64 - 2.0;
    for (at, name) in names.iter().enumerate() {
        for (row, line) in name_lines(name).iter().enumerate() {
            if room < 12.0 {
                let message = format!(
                    "{} names below the figure have no room; expected a wider size, fewer labels, or a mean over an axis",
                    names.len()
                );
                return Err(InputError::new("--size", message));
            }
            let line = sheet.font.cut(line, TEXT, room);
            let place = (x.at(at as f64 + 0.5), frame.bottom + TICK + TEXT + row as f64 * ROW);
            sheet.text(place, Anchor::Middle, TEXT, &line);
        }
    }
    Ok(x)
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
            Some(line) if sheet.font.width(&format!("{line} {word}"), size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// Each row of a key: the numbers of its entries and where they begin.
type KeyRow = (Vec<(usize, f64)>, f64);

fn key_rows(sheet: &Sheet, keys: &[Key]) -> Vec<KeyRow> {
    let room = sheet.width - 2.0 * MARGIN - 4.0;
    let mut rows: Vec<KeyRow> = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        let width = key.sign.width() + 3.0 + sheet.font.width(&key.label, TEXT).min(room - 30.0);
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

/// The rows of a key above the axes, centred there as far as there is room.
fn draw_key(sheet: &mut Sheet, rows: &[KeyRow], keys: &[Key], top: f64, frame: Frame) {
    let widest = rows.iter().map(|(_, end)| *end).fold(0.0, f64::max);
    let left = ((frame.left + frame.right - widest) / 2.0).min(sheet.width - MARGIN - widest).max(MARGIN);
    for (number, (row, _)) in rows.iter().enumerate() {
        let base = top + (number + 1) as f64 * ROW - 2.0;
        for (at, begin) in row {
            let key = &keys[*at];
            let label = sheet.font.cut(&key.label, TEXT, sheet.width - 2.0 * MARGIN - 34.0);
            key.sign.draw(sheet, left + begin, base - 2.9);
            sheet.text((left + begin + key.sign.width() + 3.0, base), Anchor::Start, TEXT, &label);
        }
    }
}
