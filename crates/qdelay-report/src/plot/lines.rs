//! Figures of lines: distributions, and what happens over time.

use super::Drawn;
use super::chosen::Chosen;
use super::key::{Key, Sign};
use super::layout::{Begun, Below, LINE, Look, RADIUS, begin, keys};
use super::measure::{Distribution, OverTime, Spread, distributions, over_time};
use super::sheet::{AREA, NEUTRAL, Sheet, Stroke, WHITE};
use crate::chart::Scale;
use qdelay_study::InputError;

/// Where packets without delay are on a logarithmic axis, ms.
const LEAST_MS: f64 = 0.01;
/// How much of what is below the band of an interval covers.
const BAND: f64 = 0.22;
/// The axis of a distribution ends where the last line reaches this percentage: the slowest packet of a run says little.
const END_PERCENT: f64 = 99.9;
/// A logarithmic one begins where the first line reaches this one: there is much room for few packets.
const BEGIN_PERCENT: f64 = 1.0;
/// Marks on each line.
const MARKS: usize = 4;

/// Points of a line, with gaps.
type Gaps = Vec<Option<(f64, f64)>>;

fn line_keys(chosen: &Chosen, has_dashes: bool) -> Vec<Key> {
    keys(
        chosen,
        |look, has_dash| {
            let dash = if has_dash && has_dashes { look.dash.clone() } else { Vec::new() };
            Sign::Line(Stroke { colour: look.colour, width: LINE, dash }, Some((look.mark, look.colour)))
        },
        |dash, _| Sign::Line(Stroke { colour: NEUTRAL, width: LINE, dash }, None),
    )
}

/// Between two lines, left out where either has a gap.
fn band(sheet: &mut Sheet, low: &[(f64, f64)], high: &[(f64, f64)], look: &Look) {
    let points: Vec<(f64, f64)> = low.iter().copied().chain(high.iter().rev().copied()).collect();
    sheet.polygon(&points, Some((look.colour, BAND)), None);
}

pub(super) fn cdf(chosen: &Chosen, measure: &str, drawing: &super::Request) -> Result<Drawn, InputError> {
    let (found, title) = distributions(measure, chosen)?;
    let there = || found.iter().flatten();
    let end = there().filter_map(|cdf| cdf.at(END_PERCENT)).map(Spread::high).fold(0.0, f64::max);
    let begin_ms =
        there().filter_map(|cdf| cdf.at(BEGIN_PERCENT)).map(|at| at.mean).fold(f64::INFINITY, f64::min);
    let x = if drawing.log {
        let low = begin_ms.max(LEAST_MS);
        Scale::around([low, end.max(low * 1.5)], true, 0.01)
    } else {
        Scale::new(0.0, if end > 0.0 { end * 1.02 } else { 1.0 }, false)
    };
    let y = Scale::new(0.0, 100.0, false);
    let Begun { mut sheet, x, y, .. } = begin(
        chosen,
        (drawing.size.points(), drawing.title()),
        &format!("Distribution: {title}"),
        &line_keys(chosen, true),
        &Below::Scale(x, title),
        (y, "Packets (%)"),
    )?;
    let mut curves: Vec<(Look, Vec<(f64, f64)>)> = Vec::new();
    for (entry, cdf) in chosen.entries.iter().zip(&found) {
        let Some(cdf) = cdf else { continue };
        let look = Look::of(chosen, entry);
        // To the edge of the figure and not beyond it.
        let within = |value: f64| if drawing.log { value.max(x.low) } else { value };
        let shown: Vec<(f64, Spread)> = cdf.percent.iter().copied().zip(cdf.ms.iter().copied()).collect();
        let last = shown.partition_point(|(_, ms)| ms.mean <= x.high);
        let shown = &shown[..last];
        let points = |of: fn(Spread) -> f64| -> Vec<(f64, f64)> {
            shown.iter().map(|(percent, ms)| (x.at(within(of(*ms))), y.at(*percent))).collect()
        };
        if cdf.ms.iter().any(|ms| ms.half.is_some()) {
            band(&mut sheet, &points(Spread::low), &points(Spread::high), &look);
        }
        curves.push((look, points(|ms| ms.mean)));
    }
    let count = curves.len();
    for (look, points) in &curves {
        let points: Vec<_> = points.iter().copied().map(Some).collect();
        sheet.polyline(&points, false, look.line());
    }
    for (number, (look, points)) in curves.iter().enumerate() {
        // Each line has its marks at other heights, so that they stay apart where lines meet.
        for step in 0..MARKS {
            let percent = 100.0 * (step as f64 + (number as f64 + 0.5) / count as f64) / MARKS as f64;
            let height = y.at(percent);
            let at = points.partition_point(|(_, up)| *up > height);
            let (Some(low), Some(high)) = (at.checked_sub(1).and_then(|at| points.get(at)), points.get(at))
            else {
                continue;
            };
            let share = if low.1 > high.1 { (low.1 - height) / (low.1 - high.1) } else { 0.0 };
            let place = (low.0 + (high.0 - low.0) * share, height);
            sheet.mark(look.mark, place, RADIUS, look.colour, Stroke::of(WHITE, 0.6));
        }
    }
    Ok(Drawn { sheet, left_out: left_out(&found) })
}

fn left_out<T>(found: &[Option<T>]) -> usize {
    found.iter().filter(|found| found.is_none()).count()
}

pub(super) fn time(chosen: &Chosen, measure: &str, drawing: &super::Request) -> Result<Drawn, InputError> {
    let (found, title) = over_time(measure, chosen)?;
    let there = || found.iter().flatten();
    let end_s = there().map(|line| line.values.len() as f64 * line.bin_s).fold(0.0, f64::max);
    let offered: Option<&OverTime> = offered(&found).filter(|_| measure == "throughput");
    let values = || there().flat_map(|line| line.values.iter().flatten().map(|value| value.high()));
    let all: Vec<f64> =
        values().chain(offered.iter().flat_map(|line| line.offered.iter().flatten().copied())).collect();
    let least = || {
        there()
            .flat_map(|line| line.values.iter().flatten().map(|value| value.mean))
            .filter(|value| *value > 0.0)
    };
    let y = if drawing.log {
        let low = least().fold(f64::INFINITY, f64::min);
        Scale::around(all.iter().copied().chain([low]), true, 0.02)
    } else {
        Scale::from_zero(all)
    };
    let x = Scale::new(0.0, end_s.max(1e-3), false);
    // Dashes are hard to see on lines that jump: marks alone tell them apart, and dashes the second axis.
    let mut legend = line_keys(chosen, false);
    if offered.is_some() {
        legend.push(Key { sign: Sign::Area(AREA), label: "offered by the link".to_string() });
    }
    let Begun { mut sheet, x, y, frame } = begin(
        chosen,
        (drawing.size.points(), drawing.title()),
        &format!("Over time: {title}"),
        &legend,
        &Below::Scale(x, "Time (s)"),
        (y, title),
    )?;
    if let Some(line) = offered {
        area(&mut sheet, line, (&x, &y), frame.bottom);
    }
    let is_stepped = matches!(measure, "throughput" | "target" | "height" | "bitrate");
    let mut lines: Vec<(Look, Gaps)> = Vec::new();
    for (entry, line) in chosen.entries.iter().zip(&found) {
        let Some(line) = line else { continue };
        let look = Look::of(chosen, entry);
        let start = |bin: usize| x.at(line.time_s(bin));
        let numbered: Vec<(usize, Spread)> =
            line.values.iter().enumerate().filter_map(|(bin, value)| Some((bin, (*value)?))).collect();
        for run in numbered.chunk_by(|(bin, _), (next, _)| bin + 1 == *next) {
            if run.iter().any(|(_, value)| value.half.is_some()) {
                let edge = |of: fn(Spread) -> f64| -> Vec<(f64, f64)> {
                    run.iter().map(|(bin, value)| (start(*bin), y.at(of(*value)))).collect()
                };
                band(&mut sheet, &edge(Spread::low), &edge(Spread::high), &look);
            }
        }
        let mut points: Vec<Option<(f64, f64)>> = line
            .values
            .iter()
            .enumerate()
            .map(|(bin, value)| value.map(|value| (start(bin), y.at(value.mean))))
            .collect();
        if let Some(Some((_, up))) = points.last().copied().filter(|_| is_stepped) {
            points.push(Some((start(line.values.len()), up)));
        }
        lines.push((look, points));
    }
    let count = lines.len();
    for (look, points) in &lines {
        let dash = if chosen.has_others() { look.dash.clone() } else { Vec::new() };
        sheet.polyline(points, is_stepped, Stroke { colour: look.colour, width: LINE * 0.8, dash });
    }
    for (number, (look, points)) in lines.iter().enumerate() {
        let every = points.len() as f64 / (MARKS + 1) as f64;
        for step in 0..=MARKS {
            let bin = every * (step as f64 + (number as f64 + 0.5) / count as f64);
            let Some(Some(place)) = points.get(bin as usize) else { continue };
            sheet.mark(look.mark, *place, RADIUS, look.colour, Stroke::of(WHITE, 0.6));
        }
    }
    Ok(Drawn { sheet, left_out: left_out(&found) })
}

/// What the link offered, where that is the same for all lines.
fn offered(found: &[Option<OverTime>]) -> Option<&OverTime> {
    let mut lines = found.iter().flatten();
    let first = lines.next().filter(|line| line.offered.iter().any(Option::is_some))?;
    lines.all(|line| line.offered == first.offered && line.bin_s == first.bin_s).then_some(first)
}

fn area(sheet: &mut Sheet, line: &OverTime, (x, y): (&Scale, &Scale), bottom: f64) {
    let numbered: Vec<(usize, f64)> =
        line.offered.iter().enumerate().filter_map(|(bin, rate)| Some((bin, (*rate)?))).collect();
    for run in numbered.chunk_by(|(bin, _), (next, _)| bin + 1 == *next) {
        let mut points = Vec::new();
        for (bin, rate) in run {
            points.push((x.at(*bin as f64 * line.bin_s), y.at(*rate)));
            points.push((x.at((bin + 1) as f64 * line.bin_s), y.at(*rate)));
        }
        let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else { continue };
        points.extend([(last.0, bottom), (first.0, bottom)]);
        sheet.polygon(&points, Some((AREA, 1.0)), None);
    }
}

/// The percentiles of a box.
pub(super) fn box_percentiles(cdf: &Distribution) -> Option<[Spread; 5]> {
    let at = |percent| cdf.at(percent);
    Some([at(5.0)?, at(25.0)?, at(50.0)?, at(75.0)?, at(95.0)?])
}
