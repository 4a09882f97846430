//! The look of entries, and figures with everything but their data.

use super::Wanted;
use super::chosen::{Chosen, Entry};
use crate::chart::{
    Below, Frame, Hatch, Ink, Key, LINE, Mark, Medium, NEUTRAL, Placed, SURFACE, Scale, Sheet, Sign, Stroke,
    measure_head, measure_panel, name_room, paint_head, paint_panel, palette,
};
use qdelay_study::InputError;

/// Least size of the area between the axes, points.
const LEAST: (f64, f64) = (80.0, 45.0);
/// Least room of a name below the axis, points.
const LEAST_NAME: f64 = 12.0;
/// Colours, and shapes or dashes or hatches, that are told apart.
const COLOURS: usize = 8;
const SHAPES: usize = Mark::ALL.len();
/// The most lines or marks of a figure that are told apart.
const ENTRIES: usize = COLOURS * SHAPES;

/// The look of an entry: in grey its mark, hatch and dash tell it apart.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) ink: Ink,
    pub(super) mark: Mark,
    pub(super) hatch: Hatch,
    /// Strokes and gaps in points.
    pub(super) dash: Vec<f64>,
    /// The filling of a mark.
    pub(super) inside: Ink,
}

impl Look {
    pub(super) fn for_entry(chosen: &Chosen, entry: &Entry) -> Look {
        let place = chosen.colour(entry, SHAPES);
        // One axis alone has the dashes too.
        let second = if chosen.has_others() { chosen.other(entry) } else { place };
        let ink = palette(place);
        let inside = if chosen.has_others() { inside(second, ink) } else { ink };
        Look {
            ink,
            mark: mark(place),
            hatch: Hatch::at_place(place),
            dash: Mark::at_place(second).dash(),
            inside,
        }
    }

    pub(super) fn line(&self) -> Stroke {
        Stroke::dashed(self.ink, LINE, self.dash.clone())
    }
}

/// Marks that are told apart at this size and on lines, the flat one last.
fn mark(place: usize) -> Mark {
    let all = [Mark::Circle, Mark::Square, Mark::Triangle, Mark::Diamond, Mark::Wedge, Mark::Bar];
    all[place % all.len()]
}

/// The filling of marks of the second axis: full, none, half.
fn inside(place: usize, ink: Ink) -> Ink {
    match place % 3 {
        0 => ink,
        1 => SURFACE,
        _ => ink.tint(0.4),
    }
}

/// The key of the labels of colours, then of the others.
pub(super) fn keys(
    chosen: &Chosen,
    first: impl Fn(&Look, bool) -> Sign,
    second: impl Fn(Vec<f64>, Ink) -> Sign,
) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for entry in &chosen.entries {
        let label = chosen.colour_label(entry);
        if !label.is_empty() && !keys.iter().any(|key| key.label == label) {
            keys.push(Key::new(first(&Look::for_entry(chosen, entry), !chosen.has_others()), label));
        }
    }
    if chosen.has_others() {
        let labels = chosen.other_labels().iter().enumerate();
        keys.extend(
            labels.map(|(at, label)| Key::new(second(Mark::at_place(at).dash(), inside(at, NEUTRAL)), label)),
        );
    }
    keys
}

/// A sheet as requested with title, key and axes; an error for entries, axes or names without room in print.
pub(super) fn begin(
    chosen: &Chosen,
    (request, medium): Wanted,
    label: &str,
    keys: &[Key],
    below: Below,
    y: (Scale, &str),
) -> Result<(Sheet, Placed), InputError> {
    let mut sheet = Sheet::new(request.size.points(), label, medium);
    let head = measure_head(&sheet, request.title(), keys);
    if medium != Medium::Print {
        // A long key makes the picture higher.
        sheet.height += head.bottom;
    }
    let panel = measure_panel(&sheet, (head.bottom, sheet.height), below, y);
    if medium == Medium::Print {
        check_room(chosen, &sheet, &panel.frame, below)?;
    }
    paint_head(&mut sheet, &head, keys, panel.frame);
    let placed = paint_panel(&mut sheet, &panel);
    Ok((sheet, placed))
}

fn check_room(chosen: &Chosen, sheet: &Sheet, frame: &Frame, below: Below) -> Result<(), InputError> {
    if chosen.entries.len() > ENTRIES {
        let message = format!(
            "{} lines or marks in one figure; expected at most {ENTRIES}: select fewer labels, or average over an axis",
            chosen.entries.len()
        );
        return Err(InputError::new("--select", message));
    }
    let (width, height) = (frame.right - frame.left, frame.bottom - frame.top);
    if width < LEAST.0 || height < LEAST.1 {
        let message = format!(
            "{:.1} x {:.1} in leaves {:.0} x {:.0} pt between the axes; expected a size that leaves {} x {}, or fewer labels",
            sheet.width / 72.0,
            sheet.height / 72.0,
            width.max(0.0),
            height.max(0.0),
            LEAST.0,
            LEAST.1
        );
        return Err(InputError::new("--size", message));
    }
    match below {
        Below::Names(names) if name_room(*frame, names) < LEAST_NAME => {
            let message = format!(
                "{} names below the figure have no room; expected a wider size, fewer labels, or a mean over an axis",
                names.len()
            );
            Err(InputError::new("--size", message))
        }
        _ => Ok(()),
    }
}
