//! Lines of a view: the title, values and curves of a direction, classes, and the state of the host.

use crate::live::history::Point;
use crate::live::text::{Line, Style, chart, sparkline};
use qdelay_emu::snapshot::{Amount, DirectionSettings, DirectionSnapshot, Snapshot, Sojourn, StallFigures};
use std::collections::VecDeque;

/// Minimum width of a curve in columns.
const CURVE_COLUMNS: usize = 8;
/// Minimum width of the settings in columns, for which drop reasons give way.
const SETTING_COLUMNS: usize = 16;
/// Width of the values in front of a curve in columns.
const FIGURE_COLUMNS: usize = 38;

/// Title with the name of the view, the time of the run, the number of reloads and the verdict.
pub(super) fn title(snapshot: &Snapshot, name: &str, width: usize) -> Line {
    let mut left = Line::default();
    left.push(Style::Dim, "── ")
        .push(Style::Bold, name)
        .push(Style::Dim, format!(" {} ", clock(snapshot.time_s)));
    if snapshot.reloads > 0 {
        left.push(Style::Dim, format!("── {} replaced ", snapshot.reloads));
    }
    let mut right = Line::default();
    match snapshot.trustworthy {
        true => right.push(Style::Good, " trustworthy "),
        false => right.push(Style::Bad, " not trustworthy "),
    };
    right.push(Style::Dim, "──");
    let rule = width.saturating_sub(left.width() + right.width());
    if left.width() + right.width() <= width {
        left.push(Style::Dim, "─".repeat(rule));
        left.append(right);
    } else {
        left.right(right, width, 9);
    }
    left
}

/// Settings of a direction, with its drops and marks by reason; narrow lines show their totals only.
pub(super) fn heading(name: &str, direction: &DirectionSnapshot, width: usize) -> Line {
    let mut line = Line::default();
    line.push(Style::Bold, format!("{name:<5}")).push(Style::Plain, setting(&direction.setting));
    let mut right = Line::default();
    let reasons = |by: &std::collections::BTreeMap<String, Amount>| {
        by.iter().map(|(reason, amount)| format!(" {reason} {}", amount.packets)).collect::<String>()
    };
    let total = &direction.total;
    if total.dropped.packets > 0 {
        right.push(Style::Dim, "drops:").push(Style::Bad, reasons(&total.drops_by_reason));
    }
    if total.marked.packets > 0 {
        right.push(Style::Dim, if right.width() > 0 { "  marks:" } else { "marks:" });
        right.push(Style::Plain, reasons(&total.marks_by_reason));
    }
    // Reasons give way to totals if the settings would lose too much width.
    if right.width() + 2 + SETTING_COLUMNS > width {
        right = Line::default();
        for (name, amount, style) in
            [("drops ", total.dropped, Style::Bad), ("marks ", total.marked, Style::Plain)]
        {
            if amount.packets > 0 {
                right.push(Style::Dim, if right.width() > 0 { "  " } else { "" });
                right.push(Style::Dim, name).push(style, amount.packets.to_string());
            }
        }
    }
    line.right(right, width, SETTING_COLUMNS);
    line
}

/// Settings of a direction in the order of command-line options: link, discipline, `+` delay, `~` jitter, loss and other impairments; and whether it is cut.
fn setting(setting: &DirectionSettings) -> String {
    let mut text = format!("{} {}", setting.link, setting.qdisc);
    if let Some(delay) = &setting.delay_over_time {
        text += &format!(" +{delay}");
    } else if setting.delay_ms > 0.0 {
        text += &format!(" +{} ms", setting.delay_ms);
    }
    if let Some(model) = &setting.jitter_model {
        text += &format!(" ~{model}");
    } else if setting.jitter_ms > 0.0 {
        text += &format!(" ~{} ms", setting.jitter_ms);
    }
    if let Some(model) = &setting.loss_model {
        text += &format!(" loss {model}");
    } else if setting.loss > 0.0 {
        text += &format!(" loss {}", setting.loss);
    }
    let others =
        [("reorder", &setting.reorder), ("duplicate", &setting.duplicate), ("corrupt", &setting.corrupt)];
    for (name, value) in others {
        if let Some(value) = value {
            text += &format!(" {name} {value}");
        }
    }
    match setting.cut.as_deref() {
        Some("hold") => text += " PAUSED",
        Some(_) => text += " CUT",
        None => {}
    }
    text
}

/// Rate and capacity of a direction in Mbit/s, with the utilization in percent.
pub(super) fn rate_figures(direction: &DirectionSnapshot) -> Line {
    let mut line = Line::default();
    line.push(Style::Dim, "  rate  ").push(Style::Rate, rate(direction.rate_mbps));
    match direction.capacity_mbps {
        Some(capacity) => {
            line.push(Style::Dim, " of ").push(Style::Plain, rate(capacity)).push(Style::Dim, " Mbit/s ");
            if capacity > 0.0 {
                line.push(
                    Style::Plain,
                    format!("{:.0}%", (direction.rate_mbps / capacity * 100.0).min(100.0)),
                );
            }
        }
        None => drop(line.push(Style::Dim, " Mbit/s, no limit")),
    }
    line
}

/// Percentiles of the sojourn time in the interval, in ms.
pub(super) fn sojourn_figures(direction: &DirectionSnapshot) -> Line {
    let mut line = Line::default();
    line.push(Style::Dim, "  waits  ");
    match direction.sojourn_interval {
        Some(Sojourn { p50_ms, p99_ms, max_ms }) => {
            line.push(Style::Dim, "p50 ").push(Style::Plain, delay(p50_ms));
            line.push(Style::Dim, " p99 ").push(Style::Delay, delay(p99_ms));
            line.push(Style::Dim, " max ").push(Style::Plain, delay(max_ms)).push(Style::Dim, " ms");
        }
        None => drop(line.push(Style::Dim, "-")),
    }
    line
}

/// Rate of a direction, with its curve.
pub(super) fn rate_line(direction: &DirectionSnapshot, points: &VecDeque<Point>, width: usize) -> Line {
    let top = top_rate(points, width);
    let bars = |columns| sparkline(points.iter().map(|point| Some(point.rate)), columns, top);
    let legend = if top > 0.0 { format!("top {top:.1}") } else { String::new() };
    with_curve(rate_figures(direction), bars, Style::Rate, &legend, width)
}

/// Sojourn time of a direction, with its curve and the backlog in packets.
pub(super) fn sojourn_line(direction: &DirectionSnapshot, points: &VecDeque<Point>, width: usize) -> Line {
    let top = top_sojourn(points, width);
    let bars = |columns| sparkline(points.iter().map(|point| point.sojourn), columns, top);
    let queue = format!("{} wait", direction.backlog.packets);
    with_curve(sojourn_figures(direction), bars, Style::Delay, &queue, width)
}

/// Appends a curve and a label to values, if the width permits.
fn with_curve(
    mut line: Line,
    bars: impl Fn(usize) -> String,
    style: Style,
    word: &str,
    width: usize,
) -> Line {
    let pad = FIGURE_COLUMNS.saturating_sub(line.width());
    let columns = width.saturating_sub(FIGURE_COLUMNS + 11);
    if columns >= CURVE_COLUMNS {
        line.push(Style::Plain, " ".repeat(pad)).push(style, bars(columns));
        line.push(Style::Dim, format!(" {word:>10}"));
    }
    line
}

/// All values of a direction in one line.
pub(super) fn short_line(
    name: &str,
    direction: &DirectionSnapshot,
    points: &VecDeque<Point>,
    width: usize,
) -> Line {
    let mut line = Line::default();
    line.push(Style::Bold, format!("{name:<5}")).push(Style::Rate, rate(direction.rate_mbps));
    if let Some(capacity) = direction.capacity_mbps {
        line.push(Style::Dim, "/").push(Style::Plain, rate(capacity).trim_start());
    }
    line.push(Style::Dim, " Mbit/s  p99 ");
    let sojourn = direction
        .sojourn_interval
        .map_or("-".to_string(), |sojourn| delay(sojourn.p99_ms).trim_start().to_string());
    line.push(Style::Delay, sojourn).push(Style::Dim, " ms  ");
    line.push(Style::Plain, direction.backlog.packets.to_string()).push(Style::Dim, " pkt");
    if direction.total.dropped.packets > 0 {
        line.push(Style::Dim, "  drops ").push(Style::Bad, direction.total.dropped.packets.to_string());
    }
    // Curves of both directions begin at column 51 if their values permit, so that they are aligned.
    let columns = width.saturating_sub(line.width().max(50) + 1);
    if columns >= CURVE_COLUMNS {
        let pad = 51_usize.saturating_sub(line.width()).max(1);
        line.push(Style::Plain, " ".repeat(pad));
        let rates = points.iter().map(|point| Some(point.rate));
        line.push(Style::Rate, sparkline(rates, columns, top_rate(points, columns)));
    }
    line
}

/// State of the host: lateness, late and unread packets, losses outside the path, processor share. A share above one packet in a
/// thousand is red, as in the verdict.
pub(super) fn host_line(snapshot: &Snapshot) -> Line {
    let mut line = Line::default();
    let lateness = &snapshot.lateness;
    line.push(Style::Dim, "late ").push(Style::Plain, format!("{:.0} us", lateness.p50_ms * 1e3));
    line.push(Style::Dim, " p99 ").push(Style::Plain, format!("{:.0}", lateness.p99_ms * 1e3));
    line.push(Style::Dim, " max ").push(Style::Plain, format!("{:.0}", lateness.max_ms * 1e3));
    let style = if lateness.late * 1000 > lateness.released { Style::Bad } else { Style::Plain };
    line.push(Style::Dim, "  too late ").push(style, format!("{}/{}", lateness.late, lateness.released));
    let StallFigures { packets_read, packets_unseen, .. } = snapshot.stalls;
    if packets_unseen > 0 {
        let style = if packets_unseen * 1000 > packets_read { Style::Bad } else { Style::Plain };
        line.push(Style::Dim, "  unread ").push(style, format!("{packets_unseen}/{packets_read}"));
    }
    let lost = snapshot.lost_outside_total();
    line.push(Style::Dim, "  lost outside ");
    line.push(if lost > 0 { Style::Bad } else { Style::Plain }, lost.to_string());
    line.push(Style::Dim, "  CPU ").push(Style::Plain, format!("{:.0}%", snapshot.cpu_share * 100.0));
    line
}

/// Reasons against trusting the run; `None` if there are none.
pub(super) fn reasons_line(snapshot: &Snapshot) -> Option<Line> {
    let mut line = Line::default();
    line.push(Style::Bad, snapshot.reasons.join("; "));
    (!snapshot.reasons.is_empty()).then_some(line)
}

/// Number of rows of [`classes_table`].
pub(super) fn class_rows(direction: &DirectionSnapshot) -> usize {
    // A single class equals the direction's totals, so it has no table.
    if direction.classes.len() < 2 { 0 } else { direction.classes.len() + 1 }
}

/// Table with a row of totals for each class.
pub(super) fn classes_table(direction: &DirectionSnapshot) -> Vec<Line> {
    if class_rows(direction) == 0 {
        return Vec::new();
    }
    let mut head = Line::default();
    head.push(Style::Dim, "  class       packets       kB  queue    drops    marks");
    let row = |class: &qdelay_emu::snapshot::ClassSnapshot| {
        let mut line = Line::default();
        let name = class.name.clone().unwrap_or_else(|| class.dscp.to_string());
        let total = &class.total;
        line.push(
            Style::Plain,
            format!(
                "  {name:<8} {:>10} {:>8} {:>6} {:>8} {:>8}",
                total.delivered.packets,
                total.delivered.bytes / 1000,
                class.backlog.packets,
                total.dropped.packets,
                total.marked.packets,
            ),
        );
        line
    };
    std::iter::once(head).chain(direction.classes.iter().map(row)).collect()
}

/// Chart over several rows, with its maximum and unit on the left.
pub(super) fn curve(
    values: impl ExactSizeIterator<Item = (Option<f64>, Option<f64>)>,
    width: usize,
    rows: usize,
    top: f64,
    style: Style,
    unit: &str,
) -> Vec<Line> {
    let bars = chart(values, width.saturating_sub(12), rows, top);
    let scale = |row: usize| match row {
        0 if top > 0.0 => format!("{top:>10.1} "),
        1 => format!("{unit:>10} "),
        _ => " ".repeat(11),
    };
    let line = |(row, bars): (usize, String)| {
        let mut line = Line::default();
        line.push(Style::Dim, scale(row)).push(style, bars);
        line
    };
    bars.into_iter().enumerate().map(line).collect()
}

/// Maximum of the visible rates and capacities, so that the curve fills its height.
pub(super) fn top_rate(points: &VecDeque<Point>, width: usize) -> f64 {
    let visible = points.iter().rev().take(width);
    visible.map(|point| point.rate.max(point.capacity.unwrap_or(0.0))).fold(0.0, f64::max)
}

/// Maximum of the visible sojourn times in ms.
pub(super) fn top_sojourn(points: &VecDeque<Point>, width: usize) -> f64 {
    points.iter().rev().take(width).filter_map(|point| point.sojourn).fold(0.0, f64::max)
}

/// A rate in Mbit/s, right-aligned.
pub(super) fn rate(mbps: f64) -> String {
    format!("{mbps:>6.2}")
}

/// A delay in ms: one decimal below 100 ms, none above.
pub(super) fn delay(ms: f64) -> String {
    if ms < 100.0 { format!("{ms:.1}") } else { format!("{ms:.0}") }
}

/// A time in seconds as `MM:SS` or `H:MM:SS`.
fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, minutes, seconds) => format!("{minutes:02}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
