//! Distributions, and what happens over time.

use super::data::{Group, over_time, pooled, spans};
use super::looks::{self, LINE};
use super::spec::{Drawing, Kind, Line, Quantity, Source};
use qdelay_report::chart::{
    AREA, Anchor, Below, Curve, Ink, Placed, Scale, Stroke, TEXT, WORDS, draw_axes, palette,
};

use std::collections::BTreeMap;

/// The size of a picture of curves, points.
const SIZE: (f64, f64) = (390.0, 230.0);
/// The size of a picture among others, and of one alone: letters of small pictures stay large enough on a narrow screen.
const TIME: [(f64, f64); 2] = [(327.0, 153.0), (431.0, 167.0)];
/// The least beginning of a logarithmic axis, ms.
const LEAST_MS: f64 = 0.01;
/// Distance of a bound's name from another line above; points.
const NEAR: f64 = 11.0;

/// The title of an axis of delays.
pub fn delay_title(drawing: &Drawing) -> &str {
    if drawing.title_x.is_empty() { "Delay (ms)" } else { &drawing.title_x }
}

/// Percent of the packets over delay: a line for each scheme.
pub fn distributions(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let source = drawing.source.unwrap_or(Source::Queue);
    let curves: Vec<(&Group, Vec<(f64, f64)>)> = groups
        .iter()
        .map(|group| (group, pooled(&group.distributions(source, &drawing.group))))
        .filter(|(_, curve)| !curve.is_empty())
        .collect();
    let last = curves.iter().filter_map(|(_, curve)| curve.last()).map(|(ms, _)| *ms).fold(0.0, f64::max);
    let first = curves.iter().filter_map(|(_, curve)| curve.first()).map(|(ms, _)| *ms);
    if curves.is_empty() {
        return None;
    }
    let is_log = drawing.log.unwrap_or(true);
    let least = first.fold(f64::INFINITY, f64::min).max(LEAST_MS);
    let low = drawing.low.unwrap_or(if is_log { least * 0.8 } else { 0.0 });
    let last = drawing.bounds.values().copied().fold(last, f64::max);
    let high = drawing.high.unwrap_or(last * 1.05).max(low * 1.1 + 1e-3);
    let title = delay_title(drawing);
    let line = |(group, curve): (&Group, Vec<(f64, f64)>)| {
        // From nobody at the left edge to all at the right one.
        let begin = [(low, share_at(&curve, low))];
        let shown = curve.iter().copied().filter(|(ms, _)| *ms > low && *ms <= high);
        let rise = curve.first().filter(|(ms, _)| *ms > low).map(|(ms, _)| (*ms, 0.0));
        let points = begin.into_iter().chain(rise).chain(shown).chain([(high, share_at(&curve, high))]);
        (looks::curve(group.scheme), points.collect())
    };
    let label = format!("{title} of packets, distribution");
    let scales = [(Scale::new(low, high, is_log), title), (Scale::new(0.0, 100.0, false), "Packets (%)")];
    Some(draw_curves(&label, scales, curves.into_iter().map(line), false, &drawing.bounds))
}

/// Lines of which none hides another, and bounds upright beside their names.
pub fn draw_curves(
    label: &str,
    [(x, x_title), y]: [(Scale, &str); 2],
    curves: impl Iterator<Item = (Stroke, Vec<(f64, f64)>)>,
    is_stepped: bool,
    bounds: &BTreeMap<String, f64>,
) -> String {
    let mut sheet = looks::sheet(SIZE, label);
    let Placed { x, y, .. } = draw_axes(&mut sheet, Below::Scale(x, x_title), y);
    for (name, at) in bounds {
        sheet.line((x.at(*at), y.from), (x.at(*at), y.to), looks::bound());
        sheet.label((x.at(*at) - 3.5, y.to + TEXT), Anchor::End, (TEXT, WORDS), name);
    }
    let place = |(stroke, points): (Stroke, Vec<(f64, f64)>)| Curve {
        stroke,
        points: points.into_iter().map(|(right, up)| (x.at(right), y.at(up))).collect(),
    };
    sheet.curves(&curves.map(place).collect::<Vec<_>>(), is_stepped);
    looks::markup(&sheet, SIZE.0)
}

/// The height of a line at its right edge.
fn share_at(curve: &[(f64, f64)], ms: f64) -> f64 {
    let next = curve.partition_point(|(known, _)| *known <= ms);
    match (next.checked_sub(1).and_then(|before| curve.get(before)), curve.get(next)) {
        (Some((low_ms, low)), Some((high_ms, high))) => {
            low + (high - low) * (ms - low_ms) / (high_ms - low_ms)
        }
        (Some((_, share)), None) => *share,
        (None, _) => 0.0,
    }
}

/// The stroke of a line over time that is one of `among`, and whether each value lasts until the next. A line of a group of its own has a
/// colour of its own, others the scheme's.
pub fn look(line: &Line, among: usize, scheme: Ink) -> (Stroke, bool) {
    let ink = if line.group.is_empty() { scheme } else { palette(line.colour) };
    let thin = Stroke::solid(ink, LINE * 0.7);
    let faint = Stroke::solid(ink.tint(0.45), LINE * 0.5);
    match line.series {
        Quantity::CapacityBytes | Quantity::CapacityPackets if among > 1 => (looks::capacity(), true),
        Quantity::CapacityBytes | Quantity::CapacityPackets | Quantity::Mcs => (thin, true),
        Quantity::RlcBytesMax | Quantity::RlcPacketsMax => (faint, false),
        Quantity::TargetRate => (faint, true),
        Quantity::Height | Quantity::BitRate | Quantity::Capacity => (thin, true),
        _ => (thin, false),
    }
}

/// Panels of one quantity have one scale, so that they can be compared: the largest of theirs where none is given.
pub fn same_scales(panels: &mut [(Drawing, Vec<Group<'_>>)]) {
    let largest = |(panel, groups): &(Drawing, Vec<Group<'_>>)| {
        let (case, series) = groups.first()?.series()?;
        let first = (panel.from.unwrap_or(0.0) / series.bin_s).ceil() as usize;
        let lines = panel.lines.iter().map(|line| over_time(line, case, series, &panel.group));
        let values = lines.flat_map(|values| values.into_iter().skip(first).flatten());
        let high = Scale::from_zero(values).high;
        Some((panel.title_y.clone(), panel.bounds.values().map(|at| at * 1.1).fold(high, f64::max)))
    };
    let is_meant = |panel: &Drawing| panel.kind == Some(Kind::Time) && !panel.each;
    let all: Vec<(String, f64)> =
        panels.iter().filter(|(panel, _)| is_meant(panel)).filter_map(largest).collect();
    for (panel, _) in panels.iter_mut().filter(|(panel, _)| is_meant(panel)) {
        let alike = all.iter().filter(|(title, _)| *title == panel.title_y);
        panel.high = panel.high.or(alike.map(|(_, high)| *high).reduce(f64::max));
    }
}

/// Lines over time of one scheme's first case.
pub fn time(drawing: &Drawing, group: &Group<'_>) -> Option<String> {
    let (case, series) = group.series()?;
    let lines: Vec<(&Line, Vec<Option<f64>>)> = drawing
        .lines
        .iter()
        .map(|line| (line, over_time(line, case, series, &drawing.group)))
        .filter(|(_, values)| values.iter().any(Option::is_some))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let from_s = drawing.from.unwrap_or(0.0);
    let first = (from_s / series.bin_s).ceil() as usize;
    let mut y =
        Scale::from_zero(lines.iter().flat_map(|(_, values)| values.iter().skip(first).flatten().copied()));
    y.high = drawing.high.unwrap_or(drawing.bounds.values().map(|at| at * 1.1).fold(y.high, f64::max));
    let length_s = series.throughput_mbps.len() as f64 * series.bin_s;
    let to_s = length_s.max(from_s + series.bin_s);
    let x = Scale::new(from_s, to_s, false);
    // Only panels have titles of their own.
    let is_alone = !drawing.each && drawing.title.is_empty();
    let size = TIME[usize::from(is_alone)];
    let label = format!("{} over time, {}", drawing.title_y, group.scheme.name);
    let mut sheet = looks::sheet(size, &label);
    let Placed { x, y, .. } = draw_axes(&mut sheet, Below::Scale(x, "Time (s)"), (y, &drawing.title_y));
    for (begin, end) in drawing.shade.map(|shade| spans(shade, series)).unwrap_or_default() {
        let (begin, end) = (begin.max(from_s), end.min(to_s));
        if begin < end {
            looks::span(&mut sheet, (x.at(begin), x.at(end).max(x.at(begin) + 0.6)), (y.to, y.from));
        }
    }
    for (line, values) in &lines {
        if line.series == Quantity::Capacity {
            sheet.area(values, series.bin_s, (&x, &y), AREA);
            continue;
        }
        // A state at the end of a bin stands at its end.
        let offset = if line.series == Quantity::Buffer { 1.0 } else { 0.0 };
        let at = |(bin, value): (usize, &Option<f64>)| {
            value.map(|value| (x.at((bin as f64 + offset) * series.bin_s), y.at(value)))
        };
        let mut points: Vec<_> = values.iter().enumerate().skip(first).map(at).collect();
        let (stroke, stepped) = look(line, lines.len(), group.scheme.ink());
        if let Some(Some((_, last))) = points.last().copied().filter(|_| stepped) {
            points.push(Some((x.to, last)));
        }
        sheet.polyline(&points, stepped, stroke);
    }
    for (name, at) in &drawing.bounds {
        sheet.line((x.from, y.at(*at)), (x.to, y.at(*at)), looks::bound());
        // Above its line, and below it where another line is near above.
        let is_near = |other: &f64| other > at && y.at(*at) - y.at(*other) < NEAR;
        let below = if drawing.bounds.values().any(is_near) { TEXT } else { -3.0 };
        sheet.label((x.to - 2.0, y.at(*at) + below), Anchor::End, (TEXT, WORDS), name);
    }
    Some(looks::markup(&sheet, size.0))
}
