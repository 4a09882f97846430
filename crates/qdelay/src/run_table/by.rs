//! The table of `--by`: a row for each flow, UE, slice, class or group of each case.

use super::figures::{Figure, MOS_NOTE, Point, ROWS, hundredths, notes, table, tenths};
use crate::cli::By;
use qdelay_study::results::{CaseSummary, DelaySummary, FlowFigures, GroupFigures, Summary, TrafficFigures};
use qdelay_terminal::text_table::milliseconds;

/// Largest number of rows of a table; the report has all of them.
const ROWS_MAX: usize = 240;

const AGAIN: &str = "again: retransmissions, of the segments that TCP sent";
const IN_ORDER: &str =
    "in order: from the first time that data was sent until it, and all before it, was at the receiver";
const IN_BUDGET: &str =
    "in budget: of the packets handed up, within the packet delay budget of their 5QI or QCI";
const DONE: &str = "done: finite downloads that were complete, and how long they took from their start";

/// Figures of a part of a case's traffic.
struct Row {
    rate_mbps: f64,
    delay: Option<DelaySummary>,
    loss: f64,
    /// Share of retransmissions among the segments of TCP; `None` for other transports.
    again: Option<f64>,
    /// Delay until data is in order at the receiver of TCP; `None` for other transports.
    in_order: Option<DelaySummary>,
    budget_ms: Option<f64>,
    within_budget: Option<f64>,
    mos: Option<f64>,
    completion: Option<DelaySummary>,
    not_completed: Option<u64>,
}

impl By {
    /// Heading of the column with names.
    const fn heading(self) -> &'static str {
        match self {
            By::Group => "flows",
            By::Flow => "flow",
            By::Ue => "UE",
            By::Slice => "slice",
            By::Class => "5QI",
        }
    }

    /// Name of the part that a flow belongs to.
    fn name_of(self, flow: &FlowFigures) -> Option<&String> {
        match self {
            By::Group => Some(&flow.group),
            By::Flow => Some(&flow.name),
            By::Ue => flow.ue.as_ref(),
            By::Slice => flow.slice.as_ref(),
            By::Class => flow.class.as_ref(),
        }
    }

    fn row(self, case: &CaseSummary, name: &str) -> Option<Row> {
        let cell = || case.cell.as_ref();
        match self {
            By::Group => case.groups.get(name).map(of_group),
            By::Flow => {
                let flow = case.flows.iter().find(|flow| flow.name == name)?;
                // A group with one flow and that flow have the same figures, so only the group's are stored.
                let group = case.groups.get(&flow.group);
                let alone = group.filter(|group| group.flows == 1).map(of_group);
                Some(alone.unwrap_or_else(|| of_flow(flow, group.is_some_and(is_tcp))))
            }
            By::Ue => cell()?.by_ue.get(name).map(of_traffic),
            By::Slice => cell()?.by_slice.get(name).map(of_traffic),
            By::Class => cell()?.by_class.get(name).map(of_traffic),
        }
    }
}

/// Delay until data is in order, which only TCP has.
fn is_tcp(group: &GroupFigures) -> bool {
    group.in_order_ms.is_some()
}

/// Share of retransmissions among sent segments; `None` if nothing was sent.
fn again(retransmits: u64, sent: u64) -> Option<f64> {
    (sent > 0).then(|| retransmits as f64 / sent as f64)
}

fn of_group(group: &GroupFigures) -> Row {
    Row {
        rate_mbps: group.throughput_mbps,
        delay: Some(group.queue_delay_ms),
        loss: group.loss_ratio,
        again: again(group.retransmits, group.packets_sent).filter(|_| is_tcp(group)),
        in_order: group.in_order_ms,
        budget_ms: group.budget_ms,
        within_budget: group.within_budget,
        mos: group.voice.map(|voice| voice.mos),
        completion: group.completion_ms,
        not_completed: group.not_completed,
    }
}

fn of_flow(flow: &FlowFigures, is_tcp: bool) -> Row {
    let completion = flow.completion_s.map(|seconds| {
        let ms = 1000.0 * seconds;
        DelaySummary { count: 1, mean: ms, p50: ms, p95: ms, p99: ms, p999: ms, max: ms }
    });
    Row {
        rate_mbps: flow.throughput_mbps.unwrap_or(flow.goodput_mbps),
        delay: flow.queue_delay_ms,
        loss: flow.loss_ratio,
        again: again(flow.retransmits, flow.packets_sent).filter(|_| is_tcp),
        in_order: None,
        budget_ms: flow.budget_ms,
        within_budget: flow.within_budget,
        mos: flow.voice.map(|voice| voice.mos),
        completion,
        not_completed: flow.bytes.map(|_| u64::from(completion.is_none())),
    }
}

fn of_traffic(traffic: &TrafficFigures) -> Row {
    Row {
        rate_mbps: traffic.throughput_mbps,
        delay: Some(traffic.queue_delay_ms),
        loss: traffic.loss_ratio,
        again: None,
        in_order: None,
        budget_ms: traffic.budget_ms,
        within_budget: traffic.within_budget,
        mos: traffic.voice.map(|voice| voice.mos),
        completion: traffic.completion_ms,
        not_completed: traffic.not_completed,
    }
}

/// Columns of the table, without those that no case has a figure for.
fn columns(by: By) -> Vec<Figure> {
    let figure = |heading, text: fn(f64) -> String, of: fn(Row) -> Option<f64>| {
        Figure::new(heading, text, move |case, name| by.row(case, name).and_then(of))
    };
    // Parts without packets have no delay.
    fn delayed(row: Row, of: fn(DelaySummary) -> f64) -> Option<f64> {
        row.delay.filter(|delay| delay.count > 0).map(of)
    }
    fn ordered(row: Row, of: fn(DelaySummary) -> f64) -> Option<f64> {
        row.in_order.filter(|delay| delay.count > 0).map(of)
    }
    fn took(row: Row, of: fn(DelaySummary) -> f64) -> Option<f64> {
        row.completion.filter(|completion| completion.count > 0).map(of)
    }
    vec![
        figure("rate\nMbit/s", hundredths, |row| Some(row.rate_mbps)).with_interval(),
        figure("mean\nms", milliseconds, |row| delayed(row, |delay| delay.mean)).with_interval(),
        figure("p95\nms", milliseconds, |row| delayed(row, |delay| delay.p95)).gives_way(4),
        figure("p99\nms", milliseconds, |row| delayed(row, |delay| delay.p99)),
        figure("max\nms", milliseconds, |row| delayed(row, |delay| delay.max)).gives_way(6),
        figure("lost\n%", hundredths, |row| Some(100.0 * row.loss)).explained("lost: of the packets sent"),
        figure("again\n%", hundredths, |row| Some(100.0 * row.again?)).gives_way(7).explained(AGAIN),
        figure("in order\np95 ms", milliseconds, |row| ordered(row, |delay| delay.p95))
            .gives_way(9)
            .explained(IN_ORDER),
        figure("in order\np99 ms", milliseconds, |row| ordered(row, |delay| delay.p99)).gives_way(8),
        figure("budget\nms", |ms| format!("{ms:.0}"), |row| row.budget_ms).gives_way(3),
        figure("in budget\n%", tenths, |row| Some(100.0 * row.within_budget?)).explained(IN_BUDGET),
        figure("MOS", hundredths, |row| row.mos).explained(MOS_NOTE),
        figure("done\n%", tenths, |row| {
            let done = row.completion.map_or(0, |completion| completion.count);
            let all = done + row.not_completed?;
            (all > 0).then(|| 100.0 * done as f64 / all as f64)
        })
        .explained(DONE),
        figure("took, p50\nms", milliseconds, |row| took(row, |completion| completion.p50)).gives_way(2),
        figure("p95\nms", milliseconds, |row| took(row, |completion| completion.p95)),
        figure("max\nms", milliseconds, |row| took(row, |completion| completion.max)).gives_way(5),
    ]
}

/// Names of a point's rows, each once, in the order of the flows.
fn names(point: Point<'_>, by: By) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let Some(case) = point.first() else { return names };
    for name in case.flows.iter().filter_map(|flow| by.name_of(flow)) {
        if !names.contains(name) && by.row(case, name).is_some() {
            names.push(name.clone());
        }
    }
    names
}

/// Number of points shown: as many as fit with all of their rows, and at least one.
fn fitting(rows: &[usize]) -> usize {
    let mut room = ROWS_MAX;
    let fit = rows.iter().take(ROWS).enumerate().take_while(|(at, rows)| {
        let fits = *at == 0 || **rows <= room;
        room = room.saturating_sub(**rows);
        fits
    });
    fit.count()
}

/// Table with its notes, or the reason why the case has no such table.
pub fn text(summary: &Summary, points: &[Point<'_>], by: By) -> String {
    let shown: Vec<Vec<String>> = points.iter().map(|point| names(point, by)).collect();
    let has_any = |figure: &Figure| {
        points.iter().zip(&shown).any(|(point, names)| {
            names.iter().any(|name| point.iter().any(|case| figure.value(case, name).is_some()))
        })
    };
    let figures: Vec<Figure> = columns(by).into_iter().filter(has_any).collect();
    let rows: Vec<usize> = shown.iter().map(Vec::len).collect();
    let fitting = fitting(&rows);
    let made = table(summary, &points[..fitting], Some(by.heading()), &|point| names(point, by), &figures);
    let Some(table) = made else {
        return format!("\nno table by {}: {}\n", by.heading(), why_not(by));
    };
    let more = match rows[fitting..].iter().sum::<usize>() {
        0 => String::new(),
        left => format!("... and {left} more rows in summary.json\n"),
    };
    format!("\n{table}\n{more}{}", notes(&figures))
}

fn why_not(by: By) -> &'static str {
    match by {
        By::Group | By::Flow => "the cases have no flows",
        By::Ue => "the table needs a cell with 2 to 256 flows",
        By::Slice => "the table needs a cell with slices ([[cell.slice]]) and 2 to 256 flows",
        By::Class => "the table needs a cell whose bearers have a qci or five_qi, and 2 to 256 flows",
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupFigures, ROWS, ROWS_MAX, again, fitting, of_group};
    use qdelay_study::results::DelaySummary;

    #[test]
    fn only_tcp_sends_again() {
        let datagrams = GroupFigures { packets_sent: 8, ..GroupFigures::default() };
        assert_eq!(of_group(&datagrams).again, None);
        let tcp = GroupFigures { retransmits: 2, in_order_ms: Some(DelaySummary::default()), ..datagrams };
        assert_eq!(of_group(&tcp).again, Some(0.25));
        assert_eq!(again(0, 0), None, "nothing sent");
    }

    #[test]
    fn points_are_shown_whole() {
        assert_eq!(fitting(&[20, 20, 20]), 3);
        assert_eq!(fitting(&[ROWS_MAX + 1, 1]), 1, "the first in any case");
        assert_eq!(fitting(&[ROWS_MAX - 1, 1, 1]), 2);
        assert_eq!((fitting(&[1; 200]), fitting(&[])), (ROWS, 0));
    }
}
