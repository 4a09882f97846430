//! Measures by name: figures of cases, distributions, and what is there over time.

use super::chosen::{Chosen, Entry};
use super::{Kind, connections};
use qdelay_study::InputError;
use qdelay_study::confidence;
use qdelay_study::results::{CaseSummary, Cdf, FlowSeries, Series};
use std::borrow::Cow;

/// Short names of figures, their paths in a case, and what an axis says.
const FIGURES: [(&str, &str, &str); 12] = [
    ("mean", "queue_delay_ms.mean", "Mean queue delay (ms)"),
    ("p50", "queue_delay_ms.p50", "Median queue delay (ms)"),
    ("p95", "queue_delay_ms.p95", "Queue delay, 95th percentile (ms)"),
    ("p99", "queue_delay_ms.p99", "Queue delay, 99th percentile (ms)"),
    ("p999", "queue_delay_ms.p999", "Queue delay, 99.9th percentile (ms)"),
    ("max", "queue_delay_ms.max", "Largest queue delay (ms)"),
    ("throughput", "throughput_mbps", "Throughput (Mbit/s)"),
    ("utilization", "utilization", "Share of the link that was used"),
    ("jitter", "jitter_ms", "Jitter (ms)"),
    ("drops", "drops", "Dropped packets"),
    ("marks", "marks", "Marked packets"),
    ("jain", "jain", "Jain's index"),
];
/// Paths like one that is not there: so many are named.
const NEAR: usize = 12;
/// Endings of names, and the units they mean.
const UNITS: [(&str, &str); 6] = [
    ("_mbps", "Mbit/s"),
    ("_ms", "ms"),
    ("_s", "s"),
    ("_bytes", "bytes"),
    ("_packets", "packets"),
    ("_percent", "%"),
];

/// The dotted path of a figure's short name into a case; any other name is a path itself.
pub fn figure_path(name: &str) -> &str {
    FIGURES.iter().find(|(short, ..)| *short == name).map_or(name, |(_, path, _)| path)
}

/// Title of the axis of a measure in a figure of this kind.
pub fn title_of(kind: Kind, measure: &str) -> String {
    let named = |all: &[(&str, &str)]| {
        all.iter().find(|(name, _)| *name == measure).map_or(measure, |(_, title)| title).to_string()
    };
    match kind {
        Kind::Cdf | Kind::Box => named(&DISTRIBUTIONS),
        Kind::Time => connections::title(measure).map_or_else(|| named(&OVER_TIME), str::to_string),
        Kind::Plane | Kind::Bars => Figure::named(measure).title,
    }
}

/// The mean over the runs of an entry, and half of its 95% interval where there are several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) half: Option<f64>,
}

impl Spread {
    pub(super) fn over_runs(values: &[f64]) -> Option<Spread> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        mean.is_finite().then(|| Spread { mean, half: confidence::half_width(values) })
    }

    pub(super) fn low(self) -> f64 {
        self.mean - self.half.unwrap_or_default()
    }

    pub(super) fn high(self) -> f64 {
        self.mean + self.half.unwrap_or_default()
    }
}

/// A figure of cases.
pub(super) struct Figure {
    path: String,
    /// Title of its axis.
    pub(super) title: String,
}

impl Figure {
    /// The figure of a short name or a path.
    pub(super) fn named(name: &str) -> Figure {
        match FIGURES.iter().find(|(short, ..)| *short == name) {
            Some((_, path, title)) => Figure { path: path.to_string(), title: title.to_string() },
            None => Figure { path: name.to_string(), title: title(name) },
        }
    }

    /// The mean over the runs of an entry; none where one lacks it.
    fn spread(&self, entry: &Entry) -> Option<Spread> {
        let path =
            entry.group.map_or_else(|| self.path.clone(), |group| format!("groups.{group}.{}", self.path));
        let values: Vec<f64> = entry.runs.iter().map(|run| run.figure(&path)).collect::<Option<_>>()?;
        Spread::over_runs(&values)
    }

    /// The spread of all entries; where none has the figure, an error with the known names.
    pub(super) fn all(&self, name: &str, chosen: &Chosen) -> Result<Vec<Option<Spread>>, InputError> {
        let found: Vec<Option<Spread>> = chosen.entries.iter().map(|entry| self.spread(entry)).collect();
        if found.iter().any(Option::is_some) {
            return Ok(found);
        }
        let short: Vec<&str> = FIGURES.iter().map(|(short, ..)| *short).collect();
        let prefix =
            chosen.entries.iter().find_map(|entry| entry.group).map(|group| format!("groups.{group}."));
        let paths = chosen.paths();
        let paths: Vec<&str> = match &prefix {
            Some(prefix) => paths.iter().filter_map(|path| path.strip_prefix(prefix.as_str())).collect(),
            None => paths.iter().map(String::as_str).collect(),
        };
        let message = format!(
            "'{name}' is no figure of these cases; expected one of {}, or of the paths {}",
            short.join(", "),
            near(name, &paths)
        );
        Err(InputError::new("--measure", message))
    }
}

/// The paths that end as the name does; without any those that have its last word, or all.
fn near(name: &str, paths: &[&str]) -> String {
    let word = name.rsplit('.').next().unwrap_or(name);
    let of = |is_near: &dyn Fn(&str) -> bool| -> Vec<&str> {
        paths.iter().copied().filter(|path| is_near(path)).collect()
    };
    let ending = format!(".{word}");
    let mut found = of(&|path| path.ends_with(&ending));
    if found.is_empty() {
        found = of(&|path| path.contains(word));
    }
    if found.is_empty() {
        return paths.join(", ");
    }
    let more = found.len().saturating_sub(NEAR);
    found.truncate(NEAR);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    found.join(", ") + &more
}

/// Title of the axis of a path: `groups.web.completion_s` is "Web, completion (s)".
fn title(path: &str) -> String {
    let mut unit = "";
    let mut words: Vec<String> = Vec::new();
    for part in path.split('.').filter(|part| *part != "groups") {
        let ending = UNITS.iter().find(|(ending, _)| part.ends_with(ending));
        let stem = ending.map_or(part, |(ending, of)| {
            unit = of;
            part.trim_end_matches(ending)
        });
        words.push(match stem {
            "p50" => "median".to_string(),
            "p95" => "95th percentile".to_string(),
            "p99" => "99th percentile".to_string(),
            "p999" => "99.9th percentile".to_string(),
            "mos" => "MOS".to_string(),
            other => other.replace('_', " "),
        });
    }
    let text = words.join(", ");
    let mut letters = text.chars();
    let text: String =
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default();
    if unit.is_empty() { text } else { format!("{text} ({unit})") }
}

/// Delays that have distributions, and what an axis says.
const DISTRIBUTIONS: [(&str, &str); 5] = [
    ("queue", "Queue delay (ms)"),
    ("sdap", "Delay at the SDAP (ms)"),
    ("rlc", "Delay at the RLC (ms)"),
    ("round_trip", "Round trip (ms)"),
    ("arrival", "Delay of data with its retransmissions (ms)"),
];

/// A distribution over an entry's runs: the mean delay at each percentile.
pub(super) struct Distribution {
    pub(super) percent: Vec<f64>,
    pub(super) ms: Vec<Spread>,
}

impl Distribution {
    /// The delay at a percentile, between those that there are.
    pub(super) fn at(&self, percent: f64) -> Option<Spread> {
        let next = self.percent.partition_point(|known| *known < percent);
        let high = *self.ms.get(next)?;
        let Some(before) = next.checked_sub(1).filter(|_| self.percent[next] > percent) else {
            return Some(high);
        };
        let low = self.ms[before];
        let share = (percent - self.percent[before]) / (self.percent[next] - self.percent[before]);
        let between = |low: f64, high: f64| low + (high - low) * share;
        let half = low.half.zip(high.half).map(|(low, high)| between(low, high));
        Some(Spread { mean: between(low.mean, high.mean), half })
    }
}

/// The distribution of a delay for each entry, and what its axis says.
pub(super) fn distributions(
    name: &str,
    chosen: &Chosen,
) -> Result<(Vec<Option<Distribution>>, &'static str), InputError> {
    let names = DISTRIBUTIONS.map(|(name, _)| name);
    let wrong = |message: String| InputError::new("--measure", message);
    let Some((_, title)) = DISTRIBUTIONS.iter().find(|(known, _)| *known == name) else {
        return Err(wrong(format!("'{name}' has no distribution; expected one of {}", names.join(", "))));
    };
    let of = |name: &str| -> Vec<Option<Distribution>> {
        chosen.entries.iter().map(|entry| distribution(entry, name)).collect()
    };
    let found = of(name);
    if found.iter().any(Option::is_some) {
        return Ok((found, title));
    }
    let there: Vec<&str> = names.into_iter().filter(|name| of(name).iter().any(Option::is_some)).collect();
    let there = if there.is_empty() {
        "these cases have none".to_string()
    } else {
        format!("expected one of {}", there.join(", "))
    };
    Err(wrong(format!("no distribution of '{name}' in these cases; {there}")))
}

fn distribution(entry: &Entry, name: &str) -> Option<Distribution> {
    let cdfs: Vec<Cow<Cdf>> =
        entry.runs.iter().map(|run| averaged(&run.cases, entry.group, name)).collect::<Option<_>>()?;
    let first = cdfs.first().filter(|cdf| !cdf.ms.is_empty())?;
    // Runs of few packets have fewer percentiles.
    let alike: Vec<&Cow<Cdf>> = cdfs.iter().filter(|cdf| cdf.percent == first.percent).collect();
    let spread = |at: usize| Spread::over_runs(&alike.iter().map(|cdf| cdf.ms[at]).collect::<Vec<f64>>());
    let ms = (0..first.ms.len()).map(spread).collect::<Option<Vec<Spread>>>()?;
    Some(Distribution { percent: first.percent.clone(), ms })
}

/// The mean delay of several cases at each percentile that all of them have.
fn averaged<'a>(cases: &[&'a CaseSummary], group: Option<&str>, name: &str) -> Option<Cow<'a, Cdf>> {
    let cdfs: Vec<&Cdf> = cases.iter().map(|case| cdf(case, group, name)).collect::<Option<_>>()?;
    if let [only] = cdfs.as_slice() {
        return Some(Cow::Borrowed(*only));
    }
    let at =
        |cdf: &Cdf, percent: f64| cdf.percent.iter().position(|known| *known == percent).map(|at| cdf.ms[at]);
    let mut mean = Cdf { percent: Vec::new(), ms: Vec::new() };
    for percent in &cdfs.first()?.percent {
        if let Some(all) = cdfs.iter().map(|cdf| at(cdf, *percent)).collect::<Option<Vec<f64>>>() {
            mean.percent.push(*percent);
            mean.ms.push(all.iter().sum::<f64>() / all.len() as f64);
        }
    }
    Some(Cow::Owned(mean))
}

fn cdf<'a>(case: &'a CaseSummary, group: Option<&str>, name: &str) -> Option<&'a Cdf> {
    // All flows together have only that of the queue, unless they are of one group.
    let only = || case.groups.keys().next().filter(|_| case.groups.len() == 1).map(String::as_str);
    if name == "queue" {
        return match group {
            Some(group) => case.group_delay_cdf.as_ref()?.get(group),
            None => case.delay_cdf.as_ref(),
        };
    }
    let group = group.or_else(only)?;
    match name {
        "arrival" => case.group_arrival_cdf.as_ref()?.get(group),
        "round_trip" => case.group_round_trip_cdf.as_ref()?.get(group),
        stage => case.group_stage_cdf.as_ref()?.get(group)?.get(stage),
    }
}

/// Measures over time, and the titles of their axes.
const OVER_TIME: [(&str, &str); 11] = [
    ("delay", "Mean queue delay (ms)"),
    ("max", "Largest queue delay (ms)"),
    ("throughput", "Throughput (Mbit/s)"),
    ("backlog", "Packets in the queue"),
    ("display", "Delay of frames to display (ms)"),
    ("height", "Height of the picture (pixels)"),
    ("target", "Target rate of the call (Mbit/s)"),
    ("frozen", "Share of time frozen (%)"),
    ("bitrate", "Bit rate on the screen (Mbit/s)"),
    ("buffer", "Video in the buffer (s)"),
    ("stalled", "Share of time stalled (%)"),
];
/// Measures of users of calls and of video streams.
const OF_USERS: [&str; 7] = ["display", "height", "target", "frozen", "bitrate", "buffer", "stalled"];

/// A line over time: the mean over an entry's runs in each bin.
pub(super) struct OverTime {
    pub(super) bin_s: f64,
    pub(super) values: Vec<Option<Spread>>,
    /// The rate that the link offered in the first run, Mbit/s.
    pub(super) offered: Vec<Option<f64>>,
    /// Whether a value is the state at the end of its bin; others are of all of it, and stand where it begins.
    is_state: bool,
}

impl OverTime {
    /// Time of a bin's value, seconds.
    pub(super) fn time_s(&self, bin: usize) -> f64 {
        (bin + usize::from(self.is_state)) as f64 * self.bin_s
    }
}

/// A line for each entry, and what its axis says.
pub(super) fn over_time(
    name: &str,
    chosen: &Chosen,
) -> Result<(Vec<Option<OverTime>>, &'static str), InputError> {
    let wrong = |message: String| InputError::new("--measure", message);
    let known = OVER_TIME.iter().find(|(known, _)| *known == name).map(|(_, title)| *title);
    let Some(title) = known.or_else(|| connections::title(name)) else {
        let names: Vec<&str> = OVER_TIME.iter().map(|(name, _)| *name).chain(connections::names()).collect();
        return Err(wrong(format!("'{name}' is not there over time; expected one of {}", names.join(", "))));
    };
    let found: Vec<Option<OverTime>> = chosen.entries.iter().map(|entry| line(entry, name)).collect();
    if found.iter().all(Option::is_none) {
        let message = match name {
            "backlog" if chosen.entries.iter().any(|entry| entry.group.is_some()) => {
                "a queue's packets are not counted by flows; expected delay, max or throughput with --flows"
                    .to_string()
            }
            _ if OF_USERS.contains(&name) => format!(
                "no flow that was asked for has '{name}' over time; expected a call with video (display, height, target, frozen) or a \
                 video stream (bitrate, buffer, stalled), and results with [run] series"
            ),
            _ if connections::title(name).is_some() => {
                format!("no connection that was asked for has '{name}'; docs/connections.md says which transports have it")
            }
            _ => "these cases have no series; expected results with [run] series, which is the default, or of compare() in Python with series=True"
                .to_string(),
        };
        return Err(wrong(message));
    }
    Ok((found, title))
}

fn line(entry: &Entry, name: &str) -> Option<OverTime> {
    let runs: Vec<Vec<&Series>> = entry
        .runs
        .iter()
        .filter_map(|run| run.cases.iter().map(|case| case.series.as_ref()).collect())
        .collect();
    let first = *runs.first()?.first()?;
    let alike = runs.iter().filter(|series| series.iter().all(|series| series.bin_s == first.bin_s));
    let lines: Vec<Vec<Option<f64>>> =
        alike.map(|series| of_several(series, entry.group, name)).collect::<Option<_>>()?;
    let bins = lines.iter().map(Vec::len).min().unwrap_or_default();
    // Rates of several links have no common line.
    let is_of_one = entry.runs.iter().all(|run| run.cases.len() == 1);
    let spread = |bin: usize| {
        let values: Vec<f64> = lines.iter().filter_map(|line| line[bin]).collect();
        Spread::over_runs(&values)
    };
    Some(OverTime {
        bin_s: first.bin_s,
        values: (0..bins).map(spread).collect(),
        offered: if is_of_one { first.capacity_mbps.clone() } else { Vec::new() },
        is_state: connections::is_state(name),
    })
}

/// The mean of several lines in each bin, of those that have something in it.
fn of_several(series: &[&Series], group: Option<&str>, name: &str) -> Option<Vec<Option<f64>>> {
    let mut lines: Vec<Vec<Option<f64>>> =
        series.iter().map(|series| values(series, group, name)).collect::<Option<_>>()?;
    if lines.len() == 1 {
        return lines.pop();
    }
    let bins = lines.iter().map(Vec::len).min().unwrap_or_default();
    let mean = |bin: usize| {
        let values: Vec<f64> = lines.iter().filter_map(|line| line[bin]).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    Some((0..bins).map(mean).collect())
}

fn values(series: &Series, group: Option<&str>, name: &str) -> Option<Vec<Option<f64>>> {
    if connections::title(name).is_some() {
        let values = connections::values(series.flows.get(group?)?.connection.as_ref()?, name);
        return values.iter().any(Option::is_some).then_some(values);
    }
    if OF_USERS.contains(&name) {
        // Flows of an entry of several are named with numbers behind the entry's name.
        let is_of = |flow: &str, group: &str| {
            let rest = flow.strip_prefix(group);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let mut flows = series.flows.iter().filter(|(flow, _)| group.is_none_or(|group| is_of(flow, group)));
        return flows.find_map(|(_, flow)| of_user(flow, name, series.bin_s));
    }
    let all = |values: &[f64]| values.iter().copied().map(Some).collect();
    if let Some(group) = group {
        let group = series.groups.get(group)?;
        return match name {
            "delay" => Some(group.delay_mean_ms.clone()),
            "max" => Some(group.delay_max_ms.clone()),
            "throughput" => Some(all(&group.throughput_mbps)),
            _ => None,
        };
    }
    match name {
        "delay" => Some(series.delay_mean_ms.clone()),
        "max" => Some(series.delay_max_ms.clone()),
        "throughput" => Some(all(&series.throughput_mbps)),
        _ => Some(series.backlog_packets.iter().map(|packets| Some(*packets as f64)).collect()),
    }
}

/// A measure of the user of a flow over time.
fn of_user(flow: &FlowSeries, name: &str, bin_s: f64) -> Option<Vec<Option<f64>>> {
    let (call, stream) = (flow.video.as_ref(), flow.stream.as_ref());
    let share = |milliseconds: &[f64]| milliseconds.iter().map(|ms| Some(ms / bin_s / 10.0)).collect();
    match name {
        "display" => Some(call?.display_mean_ms.clone()),
        "height" => Some(call?.height.iter().map(|height| height.map(f64::from)).collect()),
        "target" => Some(call?.target_mbps.clone()),
        "frozen" => Some(share(&call?.frozen_ms)),
        "bitrate" => Some(stream?.shown_mbps.clone()),
        "buffer" => Some(stream?.buffer_s.clone()),
        _ => Some(share(&stream?.stalled_ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_say_what_a_path_is() {
        assert_eq!(title("groups.web.completion_s.p95"), "Web, completion, 95th percentile (s)");
        assert_eq!(title("one_way_delay_ms.mean"), "One way delay, mean (ms)");
        assert_eq!(title("power"), "Power");
        assert_eq!(title("groups.call.voice.mos"), "Call, voice, MOS");
    }

    #[test]
    fn percentiles_between_those_of_a_list() {
        let spread = |mean| Spread { mean, half: Some(mean / 10.0) };
        let some = Distribution {
            percent: vec![0.0, 50.0, 100.0],
            ms: vec![spread(0.0), spread(10.0), spread(30.0)],
        };
        assert_eq!(some.at(50.0), Some(spread(10.0)));
        assert_eq!(some.at(75.0), Some(spread(20.0)));
        assert_eq!((some.at(0.0), some.at(101.0)), (Some(spread(0.0)), None));
    }
}
