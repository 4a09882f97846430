//! What people read after a run: a row for each case, seeds averaged, groups, expectations, and where the report is.

mod parts;

use qdelay_study::results::{CaseSummary, ExpectResult, Quantum, Slice, Summary};
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::{self, Column, milliseconds};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// More rows than this are for the report.
const ROWS: usize = 60;
/// Groups of seeds with the same run that are named, and seeds of one group.
const GROUPS: usize = 4;
const SEEDS: usize = 8;
/// Cases that are not to be trusted and are named.
const DOUBTFUL: usize = 5;

/// The table and what follows it.
pub fn text(summary: &Summary, out: &Path, report: Option<&Path>) -> String {
    let points = points(summary);
    let mut text = sentence(summary, points.len());
    // Writing to a string cannot fail.
    let _ = write!(text, "\n{}\n", table(summary, &points));
    if points.len() > ROWS {
        let place = if report.is_some() { "the report" } else { "summary.json" };
        let _ = writeln!(text, "... and {} more in {place}", points.len() - ROWS);
    }
    text.push_str(&same_runs(summary));
    let groups: BTreeSet<&String> = summary.cases.iter().flat_map(|case| case.groups.keys()).collect();
    if groups.len() > 1 {
        let _ = write!(text, "\n{}\n", group_table(summary, &points, &groups));
    }
    if summary.cases.iter().any(|case| case.cell.is_some()) {
        let _ = write!(text, "\n{}\n{CELL_NOTE}", cell_table(summary, &points, &groups));
    }
    if summary.cases.iter().filter_map(|case| case.cell.as_ref()).any(|cell| !cell.slices.is_empty()) {
        let _ = write!(text, "\n{}\n{SLICE_NOTE}", slice_table(summary, &points));
    }
    for table in parts::tables(summary, &points) {
        let _ = write!(text, "\n{table}\n");
    }
    for expect in &summary.expects {
        let _ = writeln!(text, "{}", expectation(expect));
    }
    text.push_str(&verdicts(summary));
    let _ = writeln!(text, "\nresults: {}", one_line(&out.display().to_string()));
    if let Some(report) = report {
        let _ = writeln!(text, "report: {}", one_line(&report.display().to_string()));
    }
    text
}

/// Of seeds that gave the same run: that their mean is one of fewer. Empty where each gave its own.
fn same_runs(summary: &Summary) -> String {
    let seed_of = |id: &String| {
        summary.cases.iter().find(|case| case.id == *id).and_then(|case| case.labels.get("seed")).cloned()
    };
    let groups: Vec<Vec<String>> =
        summary.same_runs.iter().map(|ids| ids.iter().filter_map(seed_of).collect()).collect();
    let repeated: usize = groups.iter().map(|seeds| seeds.len().saturating_sub(1)).sum();
    same_seeds(summary.cases.len(), repeated, groups, "`jitter` in [path], or more flows")
}

/// What is said of seeds that gave the same run: `groups` of them, which together are `repeated` cases of `cases` too many; `remedy` is
/// what would draw from the seed. Empty where there are none.
pub fn same_seeds(cases: usize, repeated: usize, mut groups: Vec<Vec<String>>, remedy: &str) -> String {
    if repeated == 0 {
        return String::new();
    }
    let distinct = cases - repeated;
    let runs = if distinct == 1 { "run" } else { "runs" };
    groups.sort();
    groups.dedup();
    let more = if groups.len() > GROUPS { "; ..." } else { "" };
    let named: Vec<String> = groups.iter().take(GROUPS).map(|seeds| of_seeds(seeds)).collect();
    format!(
        "\n{cases} cases, {distinct} distinct {runs}: the same came of seeds {}{more}.\n\
         A mean or an interval over equal runs says no more than one of them. What draws from the seed: {remedy}.\n",
        named.join("; ")
    )
}

/// Seeds as people write them; of many the first and the last.
fn of_seeds(seeds: &[String]) -> String {
    match seeds {
        [first, .., last] if seeds.len() > SEEDS => format!("{first}, ..., {last} ({})", seeds.len()),
        _ => seeds.join(", "),
    }
}

const CELL_NOTE: &str = "\
mean delay by stage in ms: n3, upf, sdap, rlc waiting; air from first byte taken to first part received; reasm. until whole.
in TTI: share of packets whose last byte was taken within a TTI of their arrival at the node; R: rating of calls.
";

const SLICE_NOTE: &str = "\
used, idle (by nobody) and lent: of the resource blocks that the slice was granted; quantum: what it had lent, or, below zero,
borrowed, in resource blocks over the TTIs.
";

/// Of each case and slice: what it got, and how far it lent and borrowed.
fn slice_table(summary: &Summary, points: &[Point<'_>]) -> String {
    let axes = axes(summary);
    let mut columns: Vec<Column> = axes.iter().map(|axis| Column::named(header(axis))).collect();
    columns.push(Column::left("slice"));
    let numbers = ["share\n%", "rate\nMbit/s", "used\n%", "idle\n%", "lent\n%"];
    let quantum = ["quantum\nleast", "\nmedian", "\nmost"];
    columns.extend(numbers.into_iter().chain(quantum).map(Column::right));
    let mut rows = Vec::new();
    for point in points.iter().take(ROWS) {
        let cells = || point.cases.iter().filter_map(|case| case.cell.as_ref());
        let names: BTreeSet<&String> = cells().flat_map(|cell| cell.slices.keys()).collect();
        for name in names {
            let slices: Vec<&Slice> = cells().filter_map(|cell| cell.slices.get(name)).collect();
            let mean = |figure: fn(&Slice) -> f64| {
                slices.iter().map(|slice| figure(slice)).sum::<f64>() / slices.len().max(1) as f64
            };
            let of_granted = |rbs: fn(&Slice) -> f64| {
                let part =
                    slices.iter().map(|slice| rbs(slice) / slice.rbs_granted.max(1) as f64).sum::<f64>();
                // No zero below zero.
                format!("{:.1}", (1000.0 * part / slices.len().max(1) as f64).round() / 10.0 + 0.0)
            };
            let quantum = |figure: fn(&Quantum) -> f64| {
                let quanta: Vec<f64> =
                    slices.iter().filter_map(|slice| slice.quantum_rbs.as_ref()).map(figure).collect();
                match quanta.len() {
                    0 => String::new(),
                    count => format!("{:.0}", quanta.iter().sum::<f64>() / count as f64),
                }
            };
            let mut row = labels(point, &axes);
            row.push(one_line(name));
            row.push(format!("{:.1}", 100.0 * mean(|slice| slice.share)));
            row.push(format!("{:.2}", mean(|slice| slice.throughput_mbps)));
            row.push(of_granted(|slice| slice.rbs_used as f64));
            row.push(of_granted(|slice| (slice.rbs_wasted + slice.rbs_unfit) as f64));
            row.push(of_granted(|slice| slice.rbs_lent as f64));
            row.extend([
                quantum(|quantum| quantum.min),
                quantum(|quantum| quantum.p50),
                quantum(|quantum| quantum.max),
            ]);
            rows.push(row);
        }
    }
    text_table::table(&columns, rows)
}

/// The names of stages, in the order of the way, that any case has.
fn stages(summary: &Summary) -> Vec<&'static str> {
    let has = |name: &&str| {
        summary.cases.iter().filter_map(|case| case.cell.as_ref()).any(|cell| cell.stages.contains_key(*name))
    };
    qdelay_sim::Stage::ALL.map(qdelay_sim::Stage::name).into_iter().filter(has).collect()
}

/// Of each case and group: where the delay arose; and of the case how full its bearers were, and what was not used.
fn cell_table(summary: &Summary, points: &[Point<'_>], groups: &BTreeSet<&String>) -> String {
    let (axes, stages) = (axes(summary), stages(summary));
    let mut columns: Vec<Column> = axes.iter().map(|axis| Column::named(header(axis))).collect();
    columns.push(Column::left("flows"));
    columns
        .extend(stages.iter().map(|name| Column::right(if *name == "reassembly" { "reasm." } else { name })));
    columns.extend(["in TTI\n%", "R", "RLC kB\nmean", "RLC kB\np95", "RBs un-\nused %"].map(Column::right));
    let mut rows = Vec::new();
    for point in points.iter().take(ROWS) {
        for name in groups {
            let group = |case: &CaseSummary| case.groups.get(*name).cloned().unwrap_or_default();
            let mut row = labels(point, &axes);
            row.push(one_line(name));
            for stage in &stages {
                let mean = |case: &CaseSummary| {
                    group(case)
                        .stages
                        .and_then(|stages| stages.get(*stage).map(|delay| delay.mean))
                        .unwrap_or(0.0)
                };
                row.push(milliseconds(point.mean(mean)));
            }
            row.push(format!("{:.1}", 100.0 * point.mean(|case| group(case).within_tti.unwrap_or(0.0))));
            let is_call = point.cases.iter().any(|case| group(case).voice.is_some());
            let rating = point.mean(|case| group(case).voice.map_or(0.0, |voice| voice.r));
            row.push(if is_call { format!("{rating:.0}") } else { String::new() });
            let bearers = |figure: fn(&qdelay_study::results::Bearer) -> f64| {
                let of = |case: &CaseSummary| {
                    case.cell.as_ref().map_or(0.0, |cell| cell.bearers.values().map(figure).sum())
                };
                format!("{:.1}", point.mean(of) / 1000.0)
            };
            row.push(bearers(|bearer| bearer.bytes.mean));
            row.push(bearers(|bearer| bearer.bytes.p95));
            let unused = |case: &CaseSummary| case.cell.as_ref().map_or(0.0, |cell| cell.rbs_unused_share);
            row.push(format!("{:.1}", 100.0 * point.mean(unused)));
            rows.push(row);
        }
    }
    text_table::table(&columns, rows)
}

/// Under a real clock: how many cases can be trusted, and which cannot.
fn verdicts(summary: &Summary) -> String {
    let doubtful = || summary.cases.iter().filter(|case| case.trustworthy == Some(false));
    let judged = summary.cases.iter().filter(|case| case.trustworthy.is_some()).count();
    if judged == 0 {
        return String::new();
    }
    let mut text = format!("real time: {} of {judged} cases are trustworthy\n", judged - doubtful().count());
    let named: Vec<String> = doubtful().take(DOUBTFUL).map(|case| one_line(&case.id)).collect();
    if !named.is_empty() {
        let more = if doubtful().count() > DOUBTFUL { "..." } else { "" };
        let _ = writeln!(text, "not: {}{more} (cases/ID/run.json says why)", named.join(", "));
    }
    text
}

/// The cases of one point of all axes but the seed.
struct Point<'a> {
    cases: Vec<&'a CaseSummary>,
}

impl Point<'_> {
    fn mean(&self, figure: impl Fn(&CaseSummary) -> f64) -> f64 {
        self.cases.iter().map(|case| figure(case)).sum::<f64>() / self.cases.len().max(1) as f64
    }
}

/// The seed is the last axis, so the cases of a point stand together.
fn points(summary: &Summary) -> Vec<Point<'_>> {
    let seeds = summary.axes.last().map_or(1, |axis| axis.labels.len().max(1));
    summary.cases.chunks(seeds).map(|cases| Point { cases: cases.iter().collect() }).collect()
}

fn sentence(summary: &Summary, points: usize) -> String {
    let seeds = summary.axes.last().map_or(1, |axis| axis.labels.len().max(1));
    let title = if summary.title.is_empty() { &summary.scenario } else { &summary.title };
    let cases = summary.cases.len();
    let counted = if cases == 1 { "one case".to_string() } else { format!("{cases} cases") };
    let averaged =
        if seeds > 1 && points > 0 { format!(", rows are means of {seeds} seeds") } else { String::new() };
    format!("{}: {counted}{averaged}.\n", one_line(title))
}

/// The axes that tell cases apart, the seed left out.
fn axes(summary: &Summary) -> Vec<&str> {
    let told = |axis: &&qdelay_study::results::AxisFile| axis.name != "seed" && axis.labels.len() > 1;
    summary.axes.iter().filter(told).map(|axis| axis.name.as_str()).collect()
}

fn header(name: &str) -> String {
    name.trim_start_matches("path.").trim_start_matches("flow.").trim_start_matches("cell.").to_string()
}

fn labels(point: &Point<'_>, axes: &[&str]) -> Vec<String> {
    let label = |axis: &&str| {
        point.cases.first().and_then(|case| case.labels.get(*axis)).cloned().unwrap_or_default()
    };
    axes.iter().map(|axis| one_line(&label(axis))).collect()
}

fn table(summary: &Summary, points: &[Point<'_>]) -> String {
    let axes = axes(summary);
    let mut columns: Vec<Column> = axes.iter().map(|axis| Column::named(header(axis))).collect();
    let numbers =
        ["rate\nMbit/s", "used\n%", "mean\nms", "p50\nms", "p95\nms", "p99\nms", "max\nms", "drops", "marks"];
    columns.extend(numbers.map(Column::right));
    let row = |point: &Point<'_>| {
        let mut row = labels(point, &axes);
        row.push(format!("{:.2}", point.mean(|case| case.throughput_mbps)));
        row.push(format!("{:.1}", point.mean(|case| case.utilization * 100.0)));
        let delays: [fn(&CaseSummary) -> f64; 5] = [
            |case| case.queue_delay_ms.mean,
            |case| case.queue_delay_ms.p50,
            |case| case.queue_delay_ms.p95,
            |case| case.queue_delay_ms.p99,
            |case| case.queue_delay_ms.max,
        ];
        row.extend(delays.map(|delay| milliseconds(point.mean(delay))));
        row.push(format!("{:.0}", point.mean(|case| case.drops as f64)));
        row.push(format!("{:.0}", point.mean(|case| case.marks as f64)));
        row
    };
    text_table::table(&columns, points.iter().take(ROWS).map(row).collect())
}

fn group_table(summary: &Summary, points: &[Point<'_>], groups: &BTreeSet<&String>) -> String {
    let axes = axes(summary);
    let mut columns: Vec<Column> = axes.iter().map(|axis| Column::named(header(axis))).collect();
    columns.push(Column::left("flows"));
    columns.extend(["rate\nMbit/s", "mean\nms", "p99\nms", "max\nms", "lost\n%"].map(Column::right));
    let mut rows = Vec::new();
    for point in points.iter().take(ROWS) {
        for name in groups {
            let of = |figure: fn(&qdelay_study::results::Group) -> f64| {
                point.mean(|case| case.groups.get(*name).map_or(0.0, figure))
            };
            let mut row = labels(point, &axes);
            row.push(one_line(name));
            row.push(format!("{:.2}", of(|group| group.throughput_mbps)));
            row.push(milliseconds(of(|group| group.queue_delay_ms.mean)));
            row.push(milliseconds(of(|group| group.queue_delay_ms.p99)));
            row.push(milliseconds(of(|group| group.queue_delay_ms.max)));
            row.push(format!("{:.2}", of(|group| group.loss_ratio * 100.0)));
            rows.push(row);
        }
    }
    text_table::table(&columns, rows)
}

fn expectation(expect: &ExpectResult) -> String {
    let bounds = match (expect.low, expect.high) {
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("at least {low}"),
        (None, Some(high)) => format!("at most {high}"),
        (None, None) => "anything".to_string(),
    };
    let ours = expect.ours.map_or("nothing".to_string(), |ours| format!("{ours}"));
    let unit = if expect.unit.is_empty() { String::new() } else { format!(" {}", expect.unit) };
    format!("{:>5}: {}: {ours}{unit}, expected {bounds}", expect.verdict, one_line(&expect.claim))
}
