//! Figures of lines: distributions, and what happens over time.

use super::chosen::Chosen;
use super::layout::{Look, begin, keys};
use super::measure::{Distribution, OverTime, Spread, distributions, over_time};
use super::{Drawn, Wanted};
use crate::chart::{
    AREA, Below, Curve, Key, LINE, Medium, NEUTRAL, Placed, RADIUS, SURFACE, Scale, Sheet, Sign, Stroke,
};
use qdelay_study::InputError;

/// The place of packets without delay on a logarithmic axis, ms.
const LEAST_MS: f64 = 0.01;
/// The share of the lines below that the band of an interval covers.
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
            Sign::Line(Stroke::dashed(look.ink, LINE, dash), Some((look.mark, look.ink)))
        },
        |dash, _| Sign::Line(Stroke::dashed(NEUTRAL, LINE, dash), None),
    )
}

/// Between two lines, left out where either has a gap.
fn band(sheet: &mut Sheet, low: &[(f64, f64)], high: &[(f64, f64)], look: &Look) {
    let points: Vec<(f64, f64)> = low.iter().copied().chain(high.iter().rev().copied()).collect();
    sheet.polygon(&points, Some((look.ink, BAND)), None);
}

pub(super) fn cdf(chosen: &Chosen, measure: &str, (request, medium): Wanted) -> Result<Drawn, InputError> {
    let (found, title) = match distributions(measure, chosen) {
        // Axes alone where no packet has a delay.
        Err(_) if medium == Medium::File => {
            (chosen.entries.iter().map(|_| None).collect(), "Queue delay (ms)")
        }
        found => found?,
    };
    let there = || found.iter().flatten();
    let end = there().filter_map(|cdf| cdf.at(END_PERCENT)).map(Spread::high).fold(0.0, f64::max);
    let begin_ms =
        there().filter_map(|cdf| cdf.at(BEGIN_PERCENT)).map(|at| at.mean).fold(f64::INFINITY, f64::min);
    let x = if request.log {
        let low = begin_ms.max(LEAST_MS);
        Scale::around([low, end.max(low * 1.5)], true, 0.01)
    } else {
        Scale::new(0.0, if end > 0.0 { end * 1.02 } else { 1.0 }, false)
    };
    let y = Scale::new(0.0, 100.0, false);
    let (mut sheet, Placed { x, y, .. }) = begin(
        chosen,
        (request, medium),
        &format!("Distribution: {title}"),
        &line_keys(chosen, true),
        Below::Scale(x, title),
        (y, "Packets (%)"),
    )?;
    let mut curves: Vec<(Look, Vec<(f64, f64)>)> = Vec::new();
    for (entry, cdf) in chosen.entries.iter().zip(&found) {
        let Some(cdf) = cdf else { continue };
        let look = Look::for_entry(chosen, entry);
        // To the edge of the figure and not beyond it.
        let within = |value: f64| if request.log { value.max(x.low) } else { value };
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
    let lines = curves.iter().map(|(look, points)| Curve { points: points.clone(), stroke: look.line() });
    sheet.curves(&lines.collect::<Vec<_>>(), false);
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
            sheet.mark(look.mark, place, RADIUS, look.ink, Stroke::solid(SURFACE, 0.6));
        }
    }
    Ok(Drawn { sheet, left_out: left_out(&found) })
}

fn left_out<T>(found: &[Option<T>]) -> usize {
    found.iter().filter(|found| found.is_none()).count()
}

pub(super) fn time(chosen: &Chosen, measure: &str, (request, medium): Wanted) -> Result<Drawn, InputError> {
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
    let y = if request.log {
        let low = least().fold(f64::INFINITY, f64::min);
        Scale::around(all.iter().copied().chain([low]), true, 0.02)
    } else {
        Scale::from_zero(all)
    };
    let x = Scale::new(0.0, end_s.max(1e-3), false);
    // Dashes are hard to see on lines that jump: marks alone tell them apart, and dashes the second axis.
    let mut legend = line_keys(chosen, false);
    if offered.is_some() {
        legend.push(Key::new(Sign::Area(AREA), "offered by the link"));
    }
    let (mut sheet, Placed { x, y, .. }) = begin(
        chosen,
        (request, medium),
        &format!("Over time: {title}"),
        &legend,
        Below::Scale(x, "Time (s)"),
        (y, title),
    )?;
    if let Some(line) = offered {
        sheet.area(&line.offered, line.bin_s, (&x, &y), AREA);
    }
    let is_stepped = matches!(measure, "throughput" | "target" | "height" | "bitrate");
    let mut lines: Vec<(Look, Gaps)> = Vec::new();
    for (entry, line) in chosen.entries.iter().zip(&found) {
        let Some(line) = line else { continue };
        let look = Look::for_entry(chosen, entry);
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
        sheet.polyline(points, is_stepped, Stroke::dashed(look.ink, LINE * 0.8, dash));
    }
    for (number, (look, points)) in lines.iter().enumerate() {
        let every = points.len() as f64 / (MARKS + 1) as f64;
        for step in 0..=MARKS {
            let bin = every * (step as f64 + (number as f64 + 0.5) / count as f64);
            let Some(Some(place)) = points.get(bin as usize) else { continue };
            sheet.mark(look.mark, *place, RADIUS, look.ink, Stroke::solid(SURFACE, 0.6));
        }
    }
    Ok(Drawn { sheet, left_out: left_out(&found) })
}

/// The rate that the link offered, where it is the same for all lines.
fn offered(found: &[Option<OverTime>]) -> Option<&OverTime> {
    let mut lines = found.iter().flatten();
    let first = lines.next().filter(|line| line.offered.iter().any(Option::is_some))?;
    lines.all(|line| line.offered == first.offered && line.bin_s == first.bin_s).then_some(first)
}

/// The percentiles of a box.
pub(super) fn box_percentiles(cdf: &Distribution) -> Option<[Spread; 5]> {
    let at = |percent| cdf.at(percent);
    Some([at(5.0)?, at(25.0)?, at(50.0)?, at(75.0)?, at(95.0)?])
}
