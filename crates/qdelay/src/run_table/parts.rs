//! Tables of codepoints at the bottleneck, and of the hops before it.

use super::{Point, ROWS, axes, header, labels, milliseconds};
use qdelay_study::results::{CaseSummary, Delay, Hop, Summary};
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::{self, Column};

/// What a table says of a codepoint or a hop.
struct Part<'a> {
    name: &'a str,
    throughput_mbps: f64,
    delay: Delay,
    loss: f64,
}

/// Those that there is anything for.
pub fn tables(summary: &Summary, points: &[Point<'_>]) -> Vec<String> {
    let tables = [table("codepoint", codepoints, summary, points), table("hop", hops, summary, points)];
    tables.into_iter().flatten().collect()
}

fn codepoints(case: &CaseSummary) -> Vec<Part<'_>> {
    let codepoints = case.codepoints.iter().map(|(name, of)| Part {
        name,
        throughput_mbps: of.throughput_mbps,
        delay: of.queue_delay_ms,
        loss: of.loss,
    });
    codepoints.collect()
}

/// In the order of the way.
fn hops(case: &CaseSummary) -> Vec<Part<'_>> {
    let mut hops: Vec<(&String, &Hop)> = case.hops.iter().collect();
    hops.sort_by_key(|(_, hop)| hop.place);
    let hops = hops.into_iter().map(|(name, of)| Part {
        name,
        throughput_mbps: of.throughput_mbps,
        delay: of.queue_delay_ms,
        loss: of.drops as f64 / of.arrived.max(1) as f64,
    });
    hops.collect()
}

/// A row for each part of each point, the mean over its cases; `None` where no case has any.
fn table(
    what: &'static str,
    parts: fn(&CaseSummary) -> Vec<Part<'_>>,
    summary: &Summary,
    points: &[Point<'_>],
) -> Option<String> {
    let axes = axes(summary);
    let mut columns: Vec<Column> = axes.iter().map(|axis| Column::named(header(axis))).collect();
    columns.push(Column::left(what));
    columns.extend(["rate\nMbit/s", "mean\nms", "p99\nms", "max\nms", "lost\n%"].map(Column::right));
    let mut rows = Vec::new();
    for point in points.iter().take(ROWS) {
        let named = point.cases.first().map_or_else(Vec::new, |case| parts(case));
        for name in named.iter().map(|part| part.name) {
            let mean = |figure: fn(&Part<'_>) -> f64| {
                point.mean(|case| parts(case).iter().find(|part| part.name == name).map_or(0.0, figure))
            };
            let mut row = labels(point, &axes);
            row.push(one_line(name));
            row.push(format!("{:.2}", mean(|part| part.throughput_mbps)));
            row.push(milliseconds(mean(|part| part.delay.mean)));
            row.push(milliseconds(mean(|part| part.delay.p99)));
            row.push(milliseconds(mean(|part| part.delay.max)));
            row.push(format!("{:.2}", mean(|part| part.loss * 100.0)));
            rows.push(row);
        }
    }
    (!rows.is_empty()).then(|| text_table::table(&columns, rows))
}
