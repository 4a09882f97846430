//! Distributions, and what happens over time.

use super::chart::{Margins, Picture, Scale, class};
use super::data::{Group, over_time, pooled};
use super::spec::{Drawing, Quantity, Source};

const CDF: (f64, f64) = (560.0, 330.0);
/// Of a picture among six, and of one among few.
const TIME: [(f64, f64); 2] = [(470.0, 220.0), (620.0, 240.0)];
const MARGINS: Margins = Margins { left: 58.0, right: 16.0, top: 10.0, bottom: 42.0 };
/// Where a logarithmic axis begins at the earliest, ms.
const LEAST_MS: f64 = 0.01;

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
    let high = drawing.high.unwrap_or(last * 1.05).max(low * 1.1 + 1e-3);
    let x = Scale { low, high, is_log, from: 0.0, to: 1.0 };
    let y = Scale { low: 0.0, high: 100.0, is_log: false, from: 0.0, to: 1.0 };
    let title = if drawing.title_x.is_empty() { "Delay (ms)" } else { &drawing.title_x };
    let mut picture = Picture::new(CDF.0, CDF.1, &format!("{} of packets, distribution", title));
    let (x, y) = picture.axes(&MARGINS, (x, title), (y, "Packets (%)"));
    for (group, curve) in &curves {
        // From nobody at the left edge to all at the right one.
        let begin = [(x.low, share_at(curve, x.low))];
        let shown = curve.iter().copied().filter(|(ms, _)| *ms > x.low && *ms <= x.high);
        let rise = curve.first().filter(|(ms, _)| *ms > x.low).map(|(ms, _)| (*ms, 0.0));
        let end = Some((x.high, share_at(curve, x.high)));
        let points = begin.into_iter().chain(rise).chain(shown).chain(end);
        let class = format!("curve {}", class(group.scheme));
        picture.curve(
            points.map(|(ms, share)| Some((x.at(ms), y.at(share)))),
            &class,
            group.scheme.mark.dash(),
            false,
        );
    }
    Some(picture.finish())
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

/// Lines over time of one scheme's first case.
pub fn time(drawing: &Drawing, group: &Group<'_>) -> Option<String> {
    let (case, series) = group.series()?;
    let lines: Vec<(Quantity, Vec<Option<f64>>)> = drawing
        .lines
        .iter()
        .map(|line| (line.series, over_time(line, case, series, &drawing.group)))
        .filter(|(_, values)| values.iter().any(Option::is_some))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let from_s = drawing.from.unwrap_or(0.0);
    let first = (from_s / series.bin_s).ceil() as usize;
    let all = lines.iter().flat_map(|(_, values)| values.iter().skip(first).flatten().copied());
    let mut y = Scale::from_zero(all);
    y.high = drawing.high.unwrap_or(y.high);
    let length_s = series.throughput_mbps.len() as f64 * series.bin_s;
    let x =
        Scale { low: from_s, high: length_s.max(from_s + series.bin_s), is_log: false, from: 0.0, to: 1.0 };
    let (width, height) = TIME[usize::from(!drawing.each)];
    let mut picture =
        Picture::new(width, height, &format!("{} over time, {}", drawing.title_y, group.scheme.name));
    let (x, y) = picture.axes(&MARGINS, (x, "Time (s)"), (y, &drawing.title_y));
    let scheme = class(group.scheme);
    for (quantity, values) in &lines {
        let at = |(bin, value): (usize, &Option<f64>)| {
            value.map(|value| (x.at(bin as f64 * series.bin_s), y.at(value)))
        };
        let points = values.iter().enumerate().skip(first).map(at);
        match quantity {
            Quantity::CapacityBytes | Quantity::CapacityPackets if lines.len() > 1 => {
                picture.curve(points, "capacity", "none", true);
            }
            Quantity::RlcBytesMax | Quantity::RlcPacketsMax => {
                picture.curve(points, &format!("thin faint {scheme}"), "none", false);
            }
            Quantity::Mcs | Quantity::CapacityBytes | Quantity::CapacityPackets => {
                picture.curve(points, &format!("thin {scheme}"), "none", true);
            }
            _ => picture.curve(points, &format!("thin {scheme}"), "none", false),
        }
    }
    Some(picture.finish())
}
