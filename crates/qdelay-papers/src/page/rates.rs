//! The data that flows received until a time, and the distribution of packets over delays.

use super::curves::{delay_title, draw_curves};
use super::data::{Group, over_time, percent_within};
use super::looks::{self, LINE};
use super::spec::{Drawing, Line, Source};
use qdelay_report::chart::{Scale, Stroke, palette};
use qdelay_study::results::Cdf;
use std::collections::BTreeMap;

/// Width of a bar of a density, ms.
const STEP_MS: f64 = 1.0;
/// The most bars.
const STEPS: usize = 1000;

/// The mean rate from the start of the run to each time, over all cases: a line for each scheme and group.
pub fn rates(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let mut curves = Vec::new();
    for group in groups {
        for line in &drawing.lines {
            let (bin_s, rates) = cumulative(drawing, line, group);
            if !rates.is_empty() {
                curves.push((group, line, bin_s, rates));
            }
        }
    }
    let end_s = curves.iter().map(|(_, _, bin_s, rates)| bin_s * rates.len() as f64).fold(0.0, f64::max);
    if end_s <= 0.0 {
        return None;
    }
    let from_s = drawing.from.unwrap_or(0.0);
    let shown = curves.iter().flat_map(|(_, _, bin_s, rates)| {
        let after = move |(bin, rate): (usize, &f64)| ((bin + 1) as f64 * bin_s > from_s).then_some(*rate);
        rates.iter().enumerate().filter_map(after)
    });
    let mut y = Scale::from_zero(shown);
    y.low = drawing.low.unwrap_or(y.low);
    y.high = drawing.high.unwrap_or(y.high);
    let x = Scale::new(from_s, end_s.max(from_s + 1.0), false);
    let label = format!("{} over time", drawing.title_y);
    let lines = curves.iter().map(|(group, line, bin_s, rates)| {
        let ends = rates.iter().enumerate().map(|(bin, rate)| ((bin + 1) as f64 * bin_s, *rate));
        let stroke = Stroke::dashed(palette(line.colour), LINE, group.scheme.mark.dash());
        (stroke, ends.filter(|(end_s, _)| *end_s > from_s).collect())
    });
    let scales = [(x, "Time (s)"), (y, drawing.title_y.as_str())];
    Some(draw_curves(&label, scales, lines, false, &BTreeMap::new()))
}

/// Width of a bin, and the mean of all cases' rates from the start to the end of each.
fn cumulative(drawing: &Drawing, line: &Line, group: &Group<'_>) -> (f64, Vec<f64>) {
    let mut bin_s = 0.0;
    let mut sums: Vec<f64> = Vec::new();
    let mut count = 0.0;
    for (case, _) in &group.cases {
        let Some(series) = &case.summary.series else { continue };
        let rates = over_time(line, case, series, &drawing.group);
        if rates.iter().all(Option::is_none) {
            continue;
        }
        if sums.is_empty() {
            (bin_s, sums) = (series.bin_s, vec![0.0; rates.len()]);
        }
        sums.iter_mut().zip(&rates).for_each(|(sum, rate)| *sum += rate.unwrap_or(0.0));
        count += 1.0;
    }
    (bin_s, means_until(&sums, line.factor / count))
}

/// The mean of all figures up to each one, times `factor`.
fn means_until(figures: &[f64], factor: f64) -> Vec<f64> {
    let mut sum = 0.0;
    let mean = |(at, figure): (usize, &f64)| {
        sum += figure;
        sum * factor / (at + 1) as f64
    };
    figures.iter().enumerate().map(mean).collect()
}

/// Percent of a group's packets in each millisecond of delay: a line for each scheme.
pub fn density(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let source = drawing.source.unwrap_or(Source::Queue);
    let all = groups.iter().map(|group| (group, group.distributions(source, &drawing.group)));
    let curves: Vec<_> = all.filter(|(_, cdfs)| !cdfs.is_empty()).collect();
    let longest = curves.iter().flat_map(|(_, cdfs)| cdfs).filter_map(|cdf| cdf.ms.last()).copied();
    let high = drawing.high.unwrap_or(longest.fold(0.0, f64::max) + STEP_MS);
    let low = drawing.low.unwrap_or(0.0);
    if curves.is_empty() || high <= low {
        return None;
    }
    let steps = (((high - low) / STEP_MS).ceil() as usize).clamp(1, STEPS);
    let width = (high - low) / steps as f64;
    let shares: Vec<(&Group, Vec<f64>)> = curves
        .iter()
        .map(|(group, cdfs)| {
            (*group, (0..steps).map(|step| bar(cdfs, low + step as f64 * width, width)).collect())
        })
        .collect();
    let y = Scale::from_zero(shares.iter().flat_map(|(_, bars)| bars.iter().copied()));
    let x = Scale::new(low, high, false);
    let title = delay_title(drawing);
    let label = format!("{title} of packets, density");
    let lines = shares.iter().map(|(group, bars)| {
        let steps = bars.iter().enumerate().map(|(step, share)| (low + step as f64 * width, *share));
        let points = [(low, 0.0)].into_iter().chain(steps).chain([(high, 0.0)]);
        (looks::curve(group.scheme), points.collect())
    });
    let scales = [(x, title), (y, "Packets (% per ms)")];
    Some(draw_curves(&label, scales, lines, true, &BTreeMap::new()))
}

/// Percent per millisecond of the packets whose delay is above `from` and at most `width` more; each case counts the same.
fn bar(cdfs: &[&Cdf], from: f64, width: f64) -> f64 {
    // Packets without delay are in the first bar.
    let within = |cdf: &Cdf, ms: f64| if ms <= 0.0 { 0.0 } else { percent_within(cdf, ms) };
    let shares = cdfs.iter().map(|cdf| within(cdf, from + width) - within(cdf, from));
    shares.sum::<f64>() / cdfs.len() as f64 / width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_until_each_time() {
        assert_eq!(means_until(&[3.0, 1.0, 2.0], 10.0), [30.0, 20.0, 20.0]);
        assert!(means_until(&[], 1.0).is_empty());
    }

    #[test]
    fn bars_hold_every_packet_once() {
        let cdf = |ms: &[f64]| {
            let percent = (0..ms.len()).map(|at| 100.0 * at as f64 / (ms.len() - 1) as f64).collect();
            Cdf { percent, ms: ms.to_vec() }
        };
        let (one, other) = (cdf(&[0.0, 1.0, 4.0]), cdf(&[2.0, 2.0, 2.0]));
        // One half of the first within 1 ms; its other half over the next three.
        assert_eq!(bar(&[&one], 0.0, 1.0), 50.0);
        assert!((bar(&[&one], 1.0, 0.5) - 50.0 / 3.0).abs() < 1e-9);
        let all: f64 = (0..5).map(|step| bar(&[&one, &other], f64::from(step), 1.0)).sum();
        assert!((all - 100.0).abs() < 1e-9, "{all}");
    }
}
