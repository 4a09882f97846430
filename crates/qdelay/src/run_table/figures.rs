//! Tables of figures: a row for each point of a study, or for each part of a point. Figures are means over the cases of the point.

use qdelay_study::intervals;
use qdelay_study::results::{
    AxisFile, BearerFigures, CaseSummary, DelaySummary, GroupFigures, HopFigures, Interval, PduSetFigures,
    QuantumFigures, ResponsivenessFigures, SliceFigures, StreamFigures, Summary, VideoFigures, WebFigures,
};
use qdelay_study::same_runs;
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::{self, Column, milliseconds};
use std::collections::BTreeSet;

const CELL_NOTE: &str = "\
mean delay by stage in ms: n3, upf, sdap, rlc waiting; air from first byte taken to first part received; reasm. until whole;
reord. in the UE's PDCP. in TTI: share of packets whose last byte was taken within a TTI of their arrival at the node; R: rating of calls.
";

const UPLINK_NOTE: &str = "\
uplink: mean delay by stage in ms: request and grant waits, queue of the UE, air, reasm.; total from arrival there until handed up.
";

const COMPLETION_NOTE: &str = "\
finite downloads, in the whole run: number complete, and the time that they took from their start.
";

/// Note on the columns of [`of_stream`].
pub const STREAM_NOTE: &str = "\
video: mean bit rate, time until the first picture, stalls, and the quality of experience for each chunk.
";

/// Note on the columns of [`of_web`].
pub const WEB_NOTE: &str = "\
pages: complete page loads, and the time that they took.
";

/// Note on the columns of [`of_sets`].
pub const SETS_NOTE: &str = "\
sets: frames as PDU sets; whole within the budget (PSDB) since their first packet came to the bottleneck; not handed up whole;
     of whole ones the delay; with psihi, what was handed up of sets that were late or not whole.
";

const RESPONSIVENESS_NOTE: &str = "\
round trips a minute under load: of separate datagrams (foreign), within the loading connections (loaded), and the mean.
";

const SLICE_NOTE: &str = "\
used, idle (unused) and lent: shares of the resource blocks that the slice was granted; quantum: resource blocks lent or,
below zero, borrowed, summed over the TTIs.
";

const RATIOS_NOTE: &str = "borrowed: beyond its minimum; idle dedicated: while another slice below its maximum had data; of those granted";

/// Note on the opinion score of calls.
pub(super) const MOS_NOTE: &str = "MOS: how a call sounds by ITU-T G.107, from 1 (bad) to 4.4; packets that came too late to be played count as lost";
const FRAME_NOTE: &str = "frame: from capture until whole at the receiver, of frames that became whole";
const LATE_NOTE: &str = "late, frozen: frames decoded after their playout deadline, and never decoded, of those captured;\n\
     the deadline counts from the capture, so that half the round trip is in it, and is the transport's playout";
const VIDEO_MOS_NOTE: &str = "video MOS: how the pictures look by ITU-T P.1203.1, from 1 (bad) to 5";

/// Largest number of rows of a table; the report has all of them.
pub const ROWS: usize = 60;

/// Cases of one point of all axes but the seed.
pub type Point<'a> = &'a [CaseSummary];

/// Function that returns the figure of a case, or of its part with this name.
type Of<T> = dyn Fn(&CaseSummary, &str) -> Option<T>;
/// Names of the parts of a point that have rows.
type Names<'a> = dyn Fn(Point<'_>) -> Vec<String> + 'a;
/// Columns for a part of a case's traffic: rate in Mbit/s, delay, and share of lost packets.
type Part = (f64, DelaySummary, f64);

/// Column of a table, with the function that returns the figure of a case or of its part with this name.
pub struct Figure {
    heading: &'static str,
    text: fn(f64) -> String,
    of: Box<Of<f64>>,
    /// Shows the interval of a mean over several seeds.
    has_interval: bool,
    /// See [`Column::gives_way`].
    gives_way: u8,
    /// Note on the figure, printed below the table.
    note: Option<&'static str>,
}

impl Figure {
    pub(super) fn new(
        heading: &'static str,
        text: fn(f64) -> String,
        of: impl Fn(&CaseSummary, &str) -> Option<f64> + 'static,
    ) -> Figure {
        Figure { heading, text, of: Box::new(of), has_interval: false, gives_way: 0, note: None }
    }

    /// Figure of a case, or of its part with this name.
    pub(super) fn value(&self, case: &CaseSummary, name: &str) -> Option<f64> {
        (self.of)(case, name)
    }

    /// Returns this column with the interval of a mean over several seeds.
    pub(super) fn with_interval(self) -> Figure {
        Figure { has_interval: true, ..self }
    }

    /// Returns this column with a rank for removal where the terminal is too narrow.
    pub(super) fn gives_way(self, rank: u8) -> Figure {
        Figure { gives_way: rank, ..self }
    }

    /// Returns this column with a note below the table.
    pub(super) fn explained(self, note: &'static str) -> Figure {
        Figure { note: Some(note), ..self }
    }

    /// Column of the text table.
    pub fn column(&self) -> Column {
        Column::right(self.heading).gives_way(self.gives_way)
    }

    /// Mean and interval over the distinct runs of `cases` that have the figure; empty if none has it.
    pub fn mean(&self, cases: &[&CaseSummary], name: &str) -> String {
        let figures: Vec<f64> = cases.iter().filter_map(|case| (self.of)(case, name)).collect();
        if figures.is_empty() {
            return String::new();
        }
        let Interval { mean, half_width } = intervals::interval(&figures);
        match half_width.filter(|_| self.has_interval) {
            Some(half_width) => format!("{} ±{}", (self.text)(mean), (self.text)(half_width)),
            None => (self.text)(mean),
        }
    }
}

/// Notes below a table: a line for each column that has one.
pub(super) fn notes(figures: &[Figure]) -> String {
    let lines: Vec<&str> = figures.iter().filter_map(|figure| figure.note).collect();
    if lines.is_empty() { String::new() } else { format!("{}.\n", lines.join(";\n")) }
}

fn count(value: f64) -> String {
    format!("{value:.0}")
}

pub(super) fn tenths(value: f64) -> String {
    format!("{value:.1}")
}

pub(super) fn hundredths(value: f64) -> String {
    format!("{value:.2}")
}

/// Negative zero is printed as zero.
fn share(percent: f64) -> String {
    tenths((10.0 * percent).round() / 10.0 + 0.0)
}

/// Columns for each case.
pub fn of_case() -> Vec<Figure> {
    let figure = |heading, text, of: fn(&CaseSummary) -> f64| {
        Figure::new(heading, text, move |case, _| Some(of(case)))
    };
    vec![
        figure("rate\nMbit/s", hundredths, |case| case.throughput_mbps).with_interval(),
        figure("used\n%", tenths, |case| case.utilization * 100.0).gives_way(1),
        figure("mean\nms", milliseconds, |case| case.queue_delay_ms.mean).with_interval(),
        figure("p50\nms", milliseconds, |case| case.queue_delay_ms.p50).gives_way(5),
        figure("p95\nms", milliseconds, |case| case.queue_delay_ms.p95).with_interval().gives_way(2),
        figure("p99\nms", milliseconds, |case| case.queue_delay_ms.p99).with_interval(),
        figure("max\nms", milliseconds, |case| case.queue_delay_ms.max).gives_way(4),
        figure("drops", count, |case| case.drops as f64).gives_way(3),
        figure("marks", count, |case| case.marks as f64).gives_way(6),
    ]
}

/// Column of the probe's delay.
pub fn of_probe(of: fn(DelaySummary) -> f64) -> Figure {
    Figure::new("", milliseconds, move |case, _| case.probe_ms.map(of))
}

/// Figures of a part of a case's traffic; empty if the case does not have the part.
fn of_part(got: fn(&CaseSummary, &str) -> Option<Part>) -> Vec<Figure> {
    let figure = |heading, text, of: fn(Part) -> f64| {
        Figure::new(heading, text, move |case, name| Some(got(case, name).map_or(0.0, of)))
    };
    vec![
        figure("rate\nMbit/s", hundredths, |(rate, _, _)| rate).with_interval(),
        figure("mean\nms", milliseconds, |(_, delay, _)| delay.mean).with_interval().gives_way(1),
        figure("p99\nms", milliseconds, |(_, delay, _)| delay.p99).with_interval(),
        figure("max\nms", milliseconds, |(_, delay, _)| delay.max).gives_way(2),
        figure("lost\n%", hundredths, |(_, _, lost)| lost * 100.0),
    ]
}

/// Columns of PDU sets.
pub fn of_sets() -> Vec<Figure> {
    let figure = |heading, text, of: fn(&PduSetFigures) -> Option<f64>| {
        Figure::new(heading, text, move |case: &CaseSummary, group: &str| {
            of(case.groups.get(group)?.pdu_sets.as_ref()?)
        })
    };
    vec![
        figure("budget\nms", tenths, |sets| sets.psdb_ms),
        figure("in budget\n%", hundredths, |sets| Some(100.0 * sets.within_psdb?)).with_interval(),
        figure("not whole\n%", hundredths, |sets| Some(100.0 * sets.error_rate)).with_interval(),
        figure("set p50\nms", tenths, |sets| Some(sets.delay_ms.p50)),
        figure("set p99\nms", tenths, |sets| Some(sets.delay_ms.p99)).with_interval(),
        figure("useless\nMbit/s", hundredths, |sets| sets.useless_mbps).gives_way(1),
    ]
}

/// Columns of video players.
pub fn of_stream() -> Vec<Figure> {
    let figure = |heading, text, of: fn(&StreamFigures) -> f64| {
        Figure::new(heading, text, move |case: &CaseSummary, group: &str| {
            case.groups.get(group)?.stream.as_ref().map(of)
        })
    };
    vec![
        figure("video\nMbit/s", hundredths, |stream| stream.bitrate_mbps),
        figure("start\nms", milliseconds, |stream| stream.startup_ms),
        figure("stalls", tenths, |stream| stream.stalls),
        figure("stalled\ns", tenths, |stream| stream.stalled_s),
        figure("switches", tenths, |stream| stream.switches).gives_way(1),
        figure("QoE", hundredths, |stream| stream.qoe_per_chunk).with_interval(),
    ]
}

/// Columns of browsers.
pub fn of_web() -> Vec<Figure> {
    let figure = |heading, text, of: fn(&WebFigures) -> f64| {
        Figure::new(heading, text, move |case: &CaseSummary, group: &str| {
            case.groups.get(group)?.web.as_ref().map(of)
        })
    };
    vec![
        figure("pages", tenths, |web| web.pages),
        figure("load\nms", milliseconds, |web| web.load_ms).with_interval(),
        figure("p50\nms", milliseconds, |web| web.load_p50_ms).gives_way(1),
        figure("p95\nms", milliseconds, |web| web.load_p95_ms),
        figure("max\nms", milliseconds, |web| web.load_max_ms),
    ]
}

/// Columns for each group with finite downloads: number of complete downloads, and the time that they took.
fn of_completion() -> Vec<Figure> {
    let completion = |case: &CaseSummary, group: &str| case.groups.get(group)?.completion_ms;
    let took = |heading, of: fn(DelaySummary) -> f64| {
        let figure = move |case: &CaseSummary, group: &str| {
            completion(case, group).filter(|took| took.count > 0).map(of)
        };
        Figure::new(heading, milliseconds, figure)
    };
    vec![
        Figure::new("done", count, move |case, group| completion(case, group).map(|took| took.count as f64)),
        Figure::new("not\ndone", count, |case, group| Some(case.groups.get(group)?.not_completed? as f64)),
        took("mean\nms", |took| took.mean).with_interval(),
        took("p50\nms", |took| took.p50).gives_way(1),
        took("p95\nms", |took| took.p95),
        took("p99\nms", |took| took.p99),
        took("max\nms", |took| took.max).gives_way(2),
    ]
}

/// Columns for each case with echoed datagrams beside a load: round trips a minute.
fn of_responsiveness() -> Vec<Figure> {
    let figure = |heading, text, of: fn(ResponsivenessFigures) -> Option<f64>| {
        Figure::new(heading, text, move |case, _| case.responsiveness.and_then(of))
    };
    vec![
        figure("RPM", count, |rpm| rpm.rpm).with_interval(),
        figure("foreign\nRPM", count, |rpm| rpm.foreign_rpm).with_interval(),
        figure("loaded\nRPM", count, |rpm| rpm.loaded_rpm).with_interval(),
        figure("foreign\nms", milliseconds, |rpm| rpm.foreign_rpm.map(|_| rpm.foreign_ms)),
        figure("loaded\nms", milliseconds, |rpm| rpm.loaded_rpm.map(|_| rpm.loaded_ms)),
    ]
}

/// Columns of a cell. For each group: the stages of the delay. For the case: the backlog of its bearers, and the unused capacity.
fn of_cell(stages: &[&'static str]) -> Vec<Figure> {
    let bearers = |heading, of: fn(&BearerFigures) -> f64| {
        let sum = move |case: &CaseSummary| Some(case.cell.as_ref()?.bearers.values().map(of).sum::<f64>());
        Figure::new(heading, tenths, move |case, _| Some(sum(case).unwrap_or(0.0) / 1000.0))
    };
    let stage = |stage: &&'static str| {
        let name = *stage;
        let heading = match name {
            "reassembly" => "reasm.",
            "reordering" => "reord.",
            _ => name,
        };
        let mean = move |group: &GroupFigures| group.stages.as_ref()?.get(name).map(|delay| delay.mean);
        Figure::new(heading, milliseconds, move |case, group| {
            Some(case.groups.get(group).and_then(mean).unwrap_or(0.0))
        })
    };
    let others = [
        Figure::new("in TTI\n%", tenths, |case, group| {
            Some(100.0 * case.groups.get(group).and_then(|group| group.within_tti).unwrap_or(0.0))
        }),
        Figure::new("R", count, |case, group| Some(case.groups.get(group)?.voice?.r)),
        bearers("RLC kB\nmean", |bearer| bearer.bytes.mean),
        bearers("RLC kB\np95", |bearer| bearer.bytes.p95),
        Figure::new("RBs un-\nused %", tenths, |case, _| {
            Some(case.cell.as_ref().map_or(0.0, |cell| 100.0 * cell.rbs_unused_share))
        }),
    ];
    stages.iter().map(stage).chain(others).collect()
}

/// Columns of a cell's own uplink. For each group: the stages of the uplink delay. For the case: the unused capacity.
fn of_uplink() -> Vec<Figure> {
    let stage = |heading, name: &'static str| {
        Figure::new(heading, milliseconds, move |case, group| {
            Some(case.groups.get(group)?.uplink.as_ref()?.stages.get(name)?.mean)
        })
    };
    vec![
        stage("up\nrequest", "request"),
        stage("\ngrant", "grant"),
        stage("\nqueue", "queue"),
        stage("\nair", "air"),
        stage("\nreasm.", "reassembly"),
        Figure::new("up total\nms", milliseconds, |case, group| {
            Some(case.groups.get(group)?.uplink.as_ref()?.total_ms.mean)
        }),
        Figure::new("p99\nms", milliseconds, |case, group| {
            Some(case.groups.get(group)?.uplink.as_ref()?.total_ms.p99)
        }),
        Figure::new("RBs up un-\nused %", tenths, |case, _| {
            Some(100.0 * case.uplink.as_ref()?.cell.as_ref()?.rbs_unused_share)
        }),
    ]
}

/// Columns of each slice: resource blocks granted, lent and borrowed; with policy ratios those beyond its minimum, and its dedicated ones
/// that were idle beside a slice with data.
fn of_slice(summary: &Summary) -> Vec<Figure> {
    let slice = |case: &CaseSummary, name: &str| case.cell.as_ref()?.slices.get(name).cloned();
    let figure = |heading, text, of: fn(&SliceFigures) -> f64| {
        Figure::new(heading, text, move |case, name| slice(case, name).as_ref().map(of))
    };
    let of_granted = |heading, rbs: fn(&SliceFigures) -> f64| {
        let percent = move |slice: SliceFigures| 100.0 * rbs(&slice) / slice.rbs_granted.max(1) as f64;
        Figure::new(heading, share, move |case, name| slice(case, name).map(percent))
    };
    let quantum = |heading, of: fn(QuantumFigures) -> f64| {
        Figure::new(heading, count, move |case, name| slice(case, name)?.quantum_rbs.map(of))
    };
    let slices =
        summary.cases.iter().filter_map(|case| case.cell.as_ref()).flat_map(|cell| cell.slices.values());
    let (mut has_quantum, mut has_ratios) = (false, false);
    for slice in slices {
        has_quantum |= slice.quantum_rbs.is_some();
        has_ratios |= slice.rbs_borrowed.is_some();
    }
    let of_ratios = |heading, rbs: fn(&SliceFigures) -> Option<u64>| {
        let percent =
            move |slice: SliceFigures| Some(100.0 * rbs(&slice)? as f64 / slice.rbs_granted.max(1) as f64);
        Figure::new(heading, share, move |case, name| slice(case, name).and_then(percent))
    };
    let mut columns = vec![
        figure("share\n%", tenths, |slice| 100.0 * slice.share),
        figure("rate\nMbit/s", hundredths, |slice| slice.throughput_mbps),
        of_granted("used\n%", |slice| slice.rbs_used as f64),
        of_granted("idle\n%", |slice| (slice.rbs_wasted + slice.rbs_unfit) as f64),
        of_granted("lent\n%", |slice| slice.rbs_lent as f64),
    ];
    if has_ratios {
        columns.extend([
            of_ratios("bor-\nrowed %", |slice| slice.rbs_borrowed).explained(RATIOS_NOTE),
            of_ratios("idle ded-\nicated %", |slice| slice.rbs_idle_dedicated),
        ]);
    }
    // Without policy ratios the table has the columns of a quantum, with or without one.
    if has_quantum || !has_ratios {
        columns.extend([
            quantum("quantum\nleast", |quantum| quantum.min),
            quantum("\nmedian", |quantum| quantum.p50),
            quantum("\nmost", |quantum| quantum.max),
        ]);
    }
    columns
}

/// Names of the stages that any case has, in the order of the path.
fn stages(summary: &Summary) -> Vec<&'static str> {
    let has = |name: &&str| {
        summary.cases.iter().filter_map(|case| case.cell.as_ref()).any(|cell| cell.stages.contains_key(*name))
    };
    qdelay_sim::DelayStage::ALL.map(qdelay_sim::DelayStage::name).into_iter().filter(has).collect()
}

/// Axes on which cases differ, without the seed.
pub fn axes(all: &[AxisFile]) -> Vec<&str> {
    let told = |axis: &&AxisFile| axis.name != "seed" && axis.labels.len() > 1;
    all.iter().filter(told).map(|axis| axis.name.as_str()).collect()
}

/// Name of an axis as a heading.
pub fn header(name: &str) -> String {
    name.trim_start_matches("path.").trim_start_matches("flow.").trim_start_matches("cell.").to_string()
}

/// Table with a row for each point; empty without points.
pub fn cases(summary: &Summary, points: &[Point<'_>]) -> String {
    table(summary, points, None, &|_| vec![String::new()], &of_case()).unwrap_or_default()
}

/// Tables of the parts that the cases have (groups, flows, cells, slices...), with their notes.
pub fn parts(summary: &Summary, points: &[Point<'_>]) -> Vec<(String, String)> {
    let groups: BTreeSet<&String> = summary.cases.iter().flat_map(|case| case.groups.keys()).collect();
    let groups_if = |is_shown: bool| {
        let names: Vec<String> = groups.iter().filter(|_| is_shown).map(|name| name.to_string()).collect();
        // Folders that are shown together may have different groups.
        move |point: Point<'_>| {
            let has = |name: &&String| point.iter().any(|case| case.groups.contains_key(*name));
            names.iter().filter(has).cloned().collect()
        }
    };
    let has_cell = summary.cases.iter().any(|case| case.cell.is_some());
    let slices = |point: Point<'_>| {
        let cells = point.iter().filter_map(|case| case.cell.as_ref());
        let names: BTreeSet<&String> = cells.flat_map(|cell| cell.slices.keys()).collect();
        names.into_iter().cloned().collect()
    };
    let codepoints =
        |point: Point<'_>| point.iter().take(1).flat_map(|case| case.codepoints.keys()).cloned().collect();
    // Stages and hops stand in the order of the path.
    let hops = |point: Point<'_>| {
        let mut hops: Vec<(&String, &HopFigures)> =
            point.iter().take(1).flat_map(|case| &case.hops).collect();
        hops.sort_by_key(|(_, hop)| hop.place);
        hops.into_iter().map(|(name, _)| name.clone()).collect()
    };
    let mut of_groups = of_part(|case, name| {
        let group = case.groups.get(name)?;
        Some((group.throughput_mbps, group.queue_delay_ms, group.loss_ratio))
    });
    if summary.cases.iter().flat_map(|case| case.groups.values()).any(|group| group.voice.is_some()) {
        // A call has a constant bit rate, so its table shows the opinion score.
        of_groups.push(
            Figure::new("MOS", hundredths, |case, name| Some(case.groups.get(name)?.voice?.mos))
                .with_interval()
                .explained(MOS_NOTE),
        );
    }
    let has_video =
        summary.cases.iter().flat_map(|case| case.groups.values()).any(|group| group.video.is_some());
    if has_video {
        let video = |heading, text, figure: fn(&VideoFigures) -> f64| {
            Figure::new(heading, text, move |case, name| Some(figure(case.groups.get(name)?.video.as_ref()?)))
                .with_interval()
        };
        of_groups.extend([
            video("frame\np95 ms", tenths, |video| video.delay_p95_ms).explained(FRAME_NOTE),
            video("whole\n%", tenths, |video| 100.0 * video.complete),
            video("late\n%", tenths, |video| 100.0 * video.late).explained(LATE_NOTE),
            video("frozen\n%", tenths, |video| 100.0 * video.frozen).gives_way(3),
            video("video\nMOS", hundredths, |video| video.mos).gives_way(4).explained(VIDEO_MOS_NOTE),
        ]);
    }
    let finite: Vec<String> = groups
        .iter()
        .filter(|name| {
            summary
                .cases
                .iter()
                .any(|case| case.groups.get(**name).is_some_and(|group| group.completion_ms.is_some()))
        })
        .map(|name| name.to_string())
        .collect();
    let has_rpm = |point: Point<'_>| match point.iter().any(|case| case.responsiveness.is_some()) {
        true => vec![String::new()],
        false => Vec::new(),
    };
    let of_codepoints = of_part(|case, name| {
        let codepoint = case.codepoints.get(name)?;
        Some((codepoint.throughput_mbps, codepoint.queue_delay_ms, codepoint.loss))
    });
    let of_hops = of_part(|case, name| {
        let hop = case.hops.get(name)?;
        Some((hop.throughput_mbps, hop.queue_delay_ms, hop.drops as f64 / hop.arrived.max(1) as f64))
    });
    let having = |has: fn(&GroupFigures) -> bool| {
        let is_one =
            |name: &&&String| summary.cases.iter().any(|case| case.groups.get(**name).is_some_and(has));
        groups.iter().filter(is_one).map(|name| name.to_string()).collect::<Vec<String>>()
    };
    let (streams, browsers) = (having(|group| group.stream.is_some()), having(|group| group.web.is_some()));
    let with_sets = having(|group| group.pdu_sets.is_some());
    let has_uplink = having(|group| group.uplink.is_some());
    let tables: [(Option<&str>, &Names<'_>, Vec<Figure>, &str); 11] = [
        (Some("flows"), &groups_if(groups.len() > 1 || has_video), of_groups, ""),
        (Some("flows"), &|_| finite.clone(), of_completion(), COMPLETION_NOTE),
        (Some("flows"), &|_| streams.clone(), of_stream(), STREAM_NOTE),
        (Some("flows"), &|_| browsers.clone(), of_web(), WEB_NOTE),
        (Some("sets"), &|_| with_sets.clone(), of_sets(), SETS_NOTE),
        (None, &has_rpm, of_responsiveness(), RESPONSIVENESS_NOTE),
        (Some("flows"), &groups_if(has_cell), of_cell(&stages(summary)), CELL_NOTE),
        (Some("flows"), &|_| has_uplink.clone(), of_uplink(), UPLINK_NOTE),
        (Some("slice"), &slices, of_slice(summary), SLICE_NOTE),
        (Some("codepoint"), &codepoints, of_codepoints, ""),
        (Some("hop"), &hops, of_hops, ""),
    ];
    let made = tables.iter().map(|(what, names, figures, note)| {
        table(summary, points, *what, names, figures)
            .map(|table| (table, format!("{}{note}", notes(figures))))
    });
    made.flatten().collect()
}

/// Table with a row for each point, or for each part of the point in `names`, under this heading; `None` without rows.
pub(super) fn table(
    summary: &Summary,
    points: &[Point<'_>],
    heading: Option<&'static str>,
    names: &Names<'_>,
    figures: &[Figure],
) -> Option<String> {
    let axes = axes(&summary.axes);
    let named = axes.iter().map(|axis| Column::named(header(axis)));
    let columns: Vec<Column> =
        named.chain(heading.map(Column::left)).chain(figures.iter().map(Figure::column)).collect();
    let mut rows = Vec::new();
    for point in points.iter().take(ROWS) {
        let distinct = same_runs::distinct(point);
        for name in names(point) {
            let label = |axis: &&str| {
                one_line(point.first().and_then(|case| case.labels.get(*axis)).map_or("", String::as_str))
            };
            let mut row: Vec<String> = axes.iter().map(label).collect();
            row.extend(heading.map(|_| one_line(&name)));
            row.extend(figures.iter().map(|figure| figure.mean(&distinct, &name)));
            rows.push(row);
        }
    }
    (!rows.is_empty()).then(|| text_table::table(&columns, rows))
}
