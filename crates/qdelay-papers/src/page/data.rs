//! The cases of a drawing, by scheme, and their values.

use super::spec::{Drawing, Figures, Line, Measure, Quantity, Scheme, Shade, Source};
use qdelay_report::load::{self, Folder, LoadedCase};
use qdelay_study::InputError;
use qdelay_study::expect::measured;
use qdelay_study::files;
use qdelay_study::results::{Cdf, Series, StreamSeries, VideoSeries};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of a packet of a capacity file.
const PACKET_BYTES: f64 = 1500.0;
/// Points of a distribution's line.
const CURVE_POINTS: usize = 400;

/// The results that figures are drawn from.
pub struct Data<'a> {
    figures: &'a Figures,
    folders: BTreeMap<String, (Folder, Vec<Value>)>,
}

/// The cases of a scheme.
pub struct Group<'a> {
    pub scheme: &'a Scheme,
    /// With the same as values, which measures are looked up in.
    pub cases: Vec<(&'a LoadedCase, &'a Value)>,
    /// The reference of each case, whose figures divide its own; empty for no division.
    references: Vec<Option<&'a Value>>,
}

impl<'a> Data<'a> {
    /// Reads the folders below `root` of the scenarios that figures need, where they are there.
    pub fn load(root: &Path, figures: &'a Figures) -> Result<Data<'a>, InputError> {
        let mut folders = BTreeMap::new();
        for name in figures.figures.iter().flat_map(Drawing::scenarios) {
            let path = files::find_below(root, &name)?;
            if folders.contains_key(&name) || !files::is_file(&path.join("summary.json")) {
                continue;
            }
            let folder = load::folders(&[path])?.remove(0);
            let values = folder.summary.cases.iter();
            // Values that were read from a file can be written to one.
            let values = values.map(|case| serde_json::to_value(case).unwrap_or_default()).collect();
            folders.insert(name, (folder, values));
        }
        Ok(Data { figures, folders })
    }

    /// Whether everything that `drawing` needs was run.
    pub fn has(&self, drawing: &Drawing) -> bool {
        drawing.scenarios().iter().all(|name| self.folders.contains_key(name))
    }

    /// The schemes of a drawing that have cases, in the order of the file.
    pub fn groups(&self, drawing: &Drawing) -> Vec<Group<'_>> {
        let Some((folder, values)) = self.folders.get(&drawing.scenario) else { return Vec::new() };
        let wanted = |scheme: &&Scheme| drawing.schemes.is_empty() || drawing.schemes.contains(&scheme.name);
        let meant = |case: &LoadedCase, scheme: &Scheme| {
            let labels = &case.summary.labels;
            labels.get(&self.figures.axis) == Some(&scheme.name)
                && drawing.select.iter().all(|(axis, label)| is_one_of(labels.get(axis), label))
        };
        let reference = |case: &LoadedCase| {
            let mut labels = case.summary.labels.clone();
            labels.extend(drawing.normalise.clone());
            folder
                .cases
                .iter()
                .zip(values)
                .find(|(other, _)| other.summary.labels == labels)
                .map(|(_, value)| value)
        };
        let group = |scheme: &'a Scheme| {
            let cases: Vec<(&LoadedCase, &Value)> =
                folder.cases.iter().zip(values).filter(|(case, _)| meant(case, scheme)).collect();
            let is_over = !drawing.normalise.is_empty();
            let references = cases.iter().filter(|_| is_over).map(|(case, _)| reference(case)).collect();
            Group { scheme, cases, references }
        };
        let groups = self.figures.schemes.iter().filter(wanted).map(group);
        groups.filter(|group| !group.cases.is_empty()).collect()
    }
}

/// Several labels are separated by `|`.
fn is_one_of(label: Option<&String>, wanted: &str) -> bool {
    label.is_some_and(|label| wanted.split('|').any(|wanted| wanted.trim() == label))
}

impl Group<'_> {
    /// A measure of each case that has it.
    pub fn figures(&self, measure: &Measure) -> Vec<f64> {
        let look = |value: &Value| measured(value, &measure.path);
        let is_meant = |case: &LoadedCase| {
            measure.select.iter().all(|(axis, label)| is_one_of(case.summary.labels.get(axis), label))
        };
        let figure = |(at, (case, value)): (usize, &(&LoadedCase, &Value))| {
            let own = look(value).filter(|_| is_meant(case))?;
            let figure = match self.references.get(at) {
                None => own,
                Some(reference) => own / look((*reference)?)?,
            };
            Some(figure * measure.factor + measure.offset)
        };
        self.cases.iter().enumerate().filter_map(figure).filter(|figure| figure.is_finite()).collect()
    }

    /// The distributions of each case.
    pub fn distributions(&self, source: Source, group: &str) -> Vec<&Cdf> {
        self.cases
            .iter()
            .filter_map(|(case, _)| distribution(case, source, group))
            .filter(|cdf| !cdf.ms.is_empty())
            .collect()
    }

    /// The first case that has series.
    pub fn series(&self) -> Option<(&LoadedCase, &Series)> {
        self.cases.iter().find_map(|(case, _)| Some((*case, case.summary.series.as_ref()?)))
    }
}

fn distribution<'a>(case: &'a LoadedCase, source: Source, group: &str) -> Option<&'a Cdf> {
    let summary = &case.summary;
    let stage = |name| summary.group_stage_cdf.as_ref()?.get(group)?.get(name);
    match source {
        Source::Queue => summary.group_delay_cdf.as_ref()?.get(group),
        Source::Sdap => stage("sdap"),
        Source::Rlc => stage("rlc"),
        Source::Arrival => summary.group_arrival_cdf.as_ref()?.get(group),
        Source::RoundTrip => summary.group_round_trip_cdf.as_ref()?.get(group),
    }
}

pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Percent of packets within each of many delays, over all cases: each counts the same.
pub fn pooled(cdfs: &[&Cdf]) -> Vec<(f64, f64)> {
    let mut all: Vec<f64> = cdfs.iter().flat_map(|cdf| cdf.ms.iter().copied()).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let every = all.len().div_ceil(CURVE_POINTS).max(1);
    let last = all.len().saturating_sub(1);
    let kept = all.iter().enumerate().filter(|(at, _)| at % every == 0 || *at == last);
    let over_all = |percent: fn(&Cdf, f64) -> f64, ms| {
        cdfs.iter().map(|cdf| percent(cdf, ms)).sum::<f64>() / cdfs.len() as f64
    };
    let mut curve = Vec::new();
    for (_, ms) in kept {
        let (below, within) = (over_all(percent_below, *ms), over_all(percent_within, *ms));
        // Where many packets take equally long, it is a step.
        if within > below {
            curve.push((*ms, below));
        }
        curve.push((*ms, within));
    }
    curve
}

/// Percent of the packets with less than this delay.
fn percent_below(cdf: &Cdf, ms: f64) -> f64 {
    let first = cdf.ms.partition_point(|known| *known < ms);
    match cdf.ms.get(first) {
        Some(known) if *known == ms => cdf.percent[first],
        _ => percent_within(cdf, ms),
    }
}

/// Percent of the packets with at most this delay; percentiles between those of the list are interpolated.
pub fn percent_within(cdf: &Cdf, ms: f64) -> f64 {
    let next = cdf.ms.partition_point(|known| *known <= ms);
    if next == 0 {
        return 0.0;
    }
    if next == cdf.ms.len() {
        return 100.0;
    }
    let (low, high) = (cdf.ms[next - 1], cdf.ms[next]);
    cdf.percent[next - 1] + (cdf.percent[next] - cdf.percent[next - 1]) * (ms - low) / (high - low)
}

/// The delay that so many percent do not exceed, of a pooled distribution.
pub fn delay_at(curve: &[(f64, f64)], percent: f64) -> f64 {
    let next = curve.partition_point(|(_, share)| *share < percent).min(curve.len().saturating_sub(1));
    let Some(&(high_ms, high)) = curve.get(next) else { return f64::NAN };
    match next.checked_sub(1).and_then(|before| curve.get(before)) {
        Some(&(low_ms, low)) if high > low => {
            low_ms + (high_ms - low_ms) * ((percent - low) / (high - low)).min(1.0)
        }
        _ => high_ms,
    }
}

/// The values of a line over time, one for each bin.
pub fn over_time(line: &Line, case: &LoadedCase, series: &Series, group: &str) -> Vec<Option<f64>> {
    let tti_s = case.summary.cell.as_ref().map_or(f64::NAN, |cell| cell.tti_ms / 1e3);
    let of_tti =
        |mbps: &Option<f64>| mbps.map(|mbps| mbps * 1e6 / 8.0 * tti_s).filter(|bytes| bytes.is_finite());
    let some = |values: &[f64]| values.iter().map(|value| Some(*value)).collect::<Vec<_>>();
    let counts = |values: &[u64]| values.iter().map(|value| Some(*value as f64)).collect::<Vec<_>>();
    let none = || vec![None; series.throughput_mbps.len()];
    let cell = series.cell.as_ref();
    let flows = series.groups.get(if line.group.is_empty() { group } else { &line.group });
    match line.series {
        Quantity::CapacityBytes => series.capacity_mbps.iter().map(of_tti).collect(),
        Quantity::CapacityPackets => {
            series.capacity_mbps.iter().map(|mbps| of_tti(mbps).map(|bytes| bytes / PACKET_BYTES)).collect()
        }
        Quantity::RlcBytes => cell.map_or_else(none, |cell| thousands(some(&cell.rlc_bytes_mean))),
        Quantity::RlcBytesMax => cell.map_or_else(none, |cell| thousands(counts(&cell.rlc_bytes_max))),
        Quantity::RlcPackets => cell.map_or_else(none, |cell| some(&cell.rlc_packets_mean)),
        Quantity::RlcPacketsMax => cell.map_or_else(none, |cell| counts(&cell.rlc_packets_max)),
        Quantity::Mcs => cell.map_or_else(none, |cell| cell.mcs.clone()),
        Quantity::Delay => flows.map_or_else(none, |flows| flows.delay_mean_ms.clone()),
        Quantity::GreenBias if series.green_bias.is_empty() => none(),
        Quantity::GreenBias => some(&series.green_bias),
        Quantity::Throughput => flows.map_or_else(none, |flows| some(&flows.throughput_mbps)),
        Quantity::Capacity => series.capacity_mbps.clone(),
        Quantity::TargetRate => call(series).map_or_else(none, |call| call.target_mbps.clone()),
        Quantity::DisplayDelay => call(series).map_or_else(none, |call| call.display_mean_ms.clone()),
        Quantity::Height => {
            let height = |height: &Option<u32>| height.map(f64::from);
            call(series).map_or_else(none, |call| call.height.iter().map(height).collect())
        }
        Quantity::BitRate => stream(series).map_or_else(none, |stream| stream.shown_mbps.clone()),
        Quantity::Buffer => stream(series).map_or_else(none, |stream| stream.buffer_s.clone()),
    }
}

fn call(series: &Series) -> Option<&VideoSeries> {
    series.flows.values().find_map(|flow| flow.video.as_ref())
}

fn stream(series: &Series) -> Option<&StreamSeries> {
    series.flows.values().find_map(|flow| flow.stream.as_ref())
}

/// The spans of time to be shaded, in seconds.
pub fn spans(shade: Shade, series: &Series) -> Vec<(f64, f64)> {
    let milliseconds: Vec<f64> = match shade {
        Shade::Freezes => call(series).map(|call| call.frozen_ms.clone()).unwrap_or_default(),
        Shade::Stalls => {
            let of = |stream: &StreamSeries| {
                stream.startup_ms.iter().zip(&stream.stalled_ms).map(|(one, other)| one + other).collect()
            };
            stream(series).map(of).unwrap_or_default()
        }
    };
    super::spans::spans(&milliseconds, series.bin_s)
}

fn thousands(values: Vec<Option<f64>>) -> Vec<Option<f64>> {
    values.into_iter().map(|value| value.map(|value| value / 1e3)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cdf(ms: &[f64]) -> Cdf {
        let percent = (0..ms.len()).map(|at| 100.0 * at as f64 / (ms.len() - 1) as f64).collect();
        Cdf { percent, ms: ms.to_vec() }
    }

    #[test]
    fn a_share_between_percentiles() {
        let one = cdf(&[1.0, 2.0, 4.0]);
        for (ms, percent) in
            [(0.5, 0.0), (1.0, 0.0), (1.5, 25.0), (2.0, 50.0), (3.0, 75.0), (4.0, 100.0), (9.0, 100.0)]
        {
            assert_eq!(percent_within(&one, ms), percent, "{ms}");
        }
        // All packets alike.
        assert_eq!(
            (percent_within(&cdf(&[3.0, 3.0, 3.0]), 2.9), percent_within(&cdf(&[3.0, 3.0]), 3.0)),
            (0.0, 100.0)
        );
    }

    #[test]
    fn cases_are_pooled_and_not_averaged_by_percentile() {
        // Half of the packets take 1 ms, half of them 9 ms, in cases of their own: nobody takes 5 ms.
        let both = [&cdf(&[1.0, 1.0]), &cdf(&[9.0, 9.0])];
        let curve = pooled(&both);
        assert_eq!(curve, [(1.0, 0.0), (1.0, 50.0), (9.0, 50.0), (9.0, 100.0)]);
        assert_eq!((delay_at(&curve, 50.0), delay_at(&curve, 100.0)), (1.0, 9.0));
        assert_eq!(pooled(&[&cdf(&[1.0, 2.0, 2.0, 4.0, 4.0])])[..3], [(1.0, 0.0), (2.0, 25.0), (2.0, 50.0)]);
        assert!(pooled(&[]).is_empty() && delay_at(&[], 50.0).is_nan());
    }

    #[test]
    fn several_labels_of_an_axis() {
        let label = "train, lowest".to_string();
        assert!(is_one_of(Some(&label), "train, lowest|train, highest"));
        assert!(
            is_one_of(Some(&label), "train, lowest")
                && !is_one_of(Some(&label), "train")
                && !is_one_of(None, "x")
        );
    }
}
