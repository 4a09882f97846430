//! Renders a snapshot as text: pure functions without I/O.

use super::history::{History, Point};
use super::text::{Line, Style, chart, sparkline};
use qdelay_emu::snapshot::{Amount, DirectionSettings, DirectionSnapshot, Snapshot, Sojourn, StallFigures};
use std::collections::VecDeque;

/// The minimum width of a curve.
const CURVE_COLUMNS: usize = 8;
/// Minimum columns for the settings, before drop reasons are shown.
const SETTING_COLUMNS: usize = 16;
/// Columns of the values in front of a curve.
const FIGURE_COLUMNS: usize = 38;

/// How many rows [`panel`] takes of a terminal of `rows`: most of them stay with the command.
pub fn panel_rows(rows: u16) -> u16 {
    match rows {
        24.. => 8,
        12.. => 4,
        6.. => 2,
        _ => 0,
    }
}

/// The foot of a terminal, with `rows` rows according to [`panel_rows`].
pub fn panel(snapshot: &Snapshot, history: &History, width: usize, rows: u16) -> Vec<Line> {
    let mut lines = Vec::new();
    if rows == 0 {
        return lines;
    }
    let directions = [("down", &snapshot.down, &history.down), ("up", &snapshot.up, &history.up)];
    if rows >= 4 {
        lines.push(title(snapshot, "qdelay", width));
    }
    for (name, direction, points) in directions {
        if rows >= 8 {
            lines.push(heading(name, direction, width));
            lines.push(rate_line(direction, points, width));
            lines.push(sojourn_line(direction, points, width));
        } else {
            lines.push(short_line(name, direction, points, width));
        }
    }
    if rows >= 4 {
        lines.push(host_line(snapshot));
    }
    lines
}

/// A whole terminal of `rows` rows.
pub fn screen(snapshot: &Snapshot, history: &History, source: &str, width: usize, rows: usize) -> Vec<Line> {
    let mut lines = vec![title(snapshot, &format!("qdelay live {source}"), width)];
    let directions = [("down", &snapshot.down, &history.down), ("up", &snapshot.up, &history.up)];
    // Title, host, reasons, keys; and of each direction: heading, two lines of values, drops, a blank line.
    let classes: usize = directions.iter().map(|(_, direction, _)| class_rows(direction)).sum();
    let fixed = 4 + 2 * 5;
    let chart_rows = (rows.saturating_sub(fixed + classes) / 4).min(6);
    let has_classes = rows >= fixed + classes;
    for (name, direction, points) in directions {
        lines.push(heading(name, direction, width));
        if chart_rows < 2 {
            lines.push(rate_line(direction, points, width));
            lines.push(sojourn_line(direction, points, width));
        } else {
            let capacity = |point: &Point| (Some(point.rate), point.capacity);
            lines.push(rate_figures(direction));
            lines.extend(curve(
                points.iter().map(capacity),
                width,
                chart_rows,
                top_rate(points, width),
                Style::Rate,
                "Mbit/s",
            ));
            lines.push(sojourn_figures(direction));
            let sojourn = |point: &Point| (point.sojourn, None);
            lines.extend(curve(
                points.iter().map(sojourn),
                width,
                chart_rows,
                top_sojourn(points, width),
                Style::Delay,
                "ms",
            ));
        }
        if has_classes {
            lines.extend(classes_table(direction));
        }
        lines.push(Line::default());
    }
    lines.push(host_line(snapshot));
    lines.extend(reasons_line(snapshot));
    lines.truncate(rows.saturating_sub(1));
    while lines.len() + 1 < rows {
        lines.push(Line::default());
    }
    let mut keys = Line::default();
    keys.push(Style::Dim, " q quit");
    lines.push(keys);
    lines
}

/// Text without curves, to be printed once.
pub fn report(snapshot: &Snapshot, width: usize) -> Vec<Line> {
    let mut lines = vec![title(snapshot, "qdelay live", width)];
    for (name, direction) in [("down", &snapshot.down), ("up", &snapshot.up)] {
        lines.push(heading(name, direction, width));
        lines.push(rate_figures(direction));
        let mut waits = sojourn_figures(direction);
        waits.push(Style::Plain, format!("  {} packets wait", direction.backlog.packets));
        lines.push(waits);
        lines.extend(classes_table(direction));
    }
    lines.push(host_line(snapshot));
    lines.extend(reasons_line(snapshot));
    lines
}

/// One line, for output other than a terminal.
pub fn plain(snapshot: &Snapshot) -> String {
    let direction = |name: &str, direction: &DirectionSnapshot| {
        let capacity = direction
            .capacity_mbps
            .map(|capacity| format!(" of {}", rate(capacity).trim_start()))
            .unwrap_or_default();
        let sojourn = direction.sojourn_interval.map(|sojourn| {
            format!(", {} {} {} ms", delay(sojourn.p50_ms), delay(sojourn.p99_ms), delay(sojourn.max_ms))
        });
        format!(
            "{name} {}{capacity} Mbit/s{}, queue {}, drops {}, marks {}",
            rate(direction.rate_mbps).trim_start(),
            sojourn.unwrap_or_default(),
            direction.backlog.packets,
            direction.total.dropped.packets,
            direction.total.marked.packets,
        )
    };
    format!(
        "{:.1} s: {}; {}; late p99 {:.0} us; {}",
        snapshot.time_s,
        direction("down", &snapshot.down),
        direction("up", &snapshot.up),
        snapshot.lateness.p99_ms * 1e3,
        if snapshot.trustworthy { "trustworthy" } else { "not trustworthy" },
    )
}

fn title(snapshot: &Snapshot, name: &str, width: usize) -> Line {
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

/// The settings, and drops and marks.
fn heading(name: &str, direction: &DirectionSnapshot, width: usize) -> Line {
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

fn setting(setting: &DirectionSettings) -> String {
    let mut text = format!("{} {}", setting.link, setting.qdisc);
    if setting.delay_ms > 0.0 {
        text += &format!(" +{} ms", setting.delay_ms);
    }
    if setting.jitter_ms > 0.0 {
        text += &format!(" ~{} ms", setting.jitter_ms);
    }
    if setting.loss > 0.0 {
        text += &format!(" loss {}", setting.loss);
    }
    text
}

fn rate_figures(direction: &DirectionSnapshot) -> Line {
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

fn sojourn_figures(direction: &DirectionSnapshot) -> Line {
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

fn rate_line(direction: &DirectionSnapshot, points: &VecDeque<Point>, width: usize) -> Line {
    let top = top_rate(points, width);
    let bars = |columns| sparkline(points.iter().map(|point| Some(point.rate)), columns, top);
    let legend = if top > 0.0 { format!("top {top:.1}") } else { String::new() };
    with_curve(rate_figures(direction), bars, Style::Rate, &legend, width)
}

fn sojourn_line(direction: &DirectionSnapshot, points: &VecDeque<Point>, width: usize) -> Line {
    let top = top_sojourn(points, width);
    let bars = |columns| sparkline(points.iter().map(|point| point.sojourn), columns, top);
    let queue = format!("{} wait", direction.backlog.packets);
    with_curve(sojourn_figures(direction), bars, Style::Delay, &queue, width)
}

/// Values, a curve, and a label behind it.
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

/// A direction in one line.
fn short_line(name: &str, direction: &DirectionSnapshot, points: &VecDeque<Point>, width: usize) -> Line {
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
    let columns = width.saturating_sub(line.width().max(50) + 1);
    if columns >= CURVE_COLUMNS {
        let pad = 51_usize.saturating_sub(line.width()).max(1);
        line.push(Style::Plain, " ".repeat(pad));
        let rates = points.iter().map(|point| Some(point.rate));
        line.push(Style::Rate, sparkline(rates, columns, top_rate(points, columns)));
    }
    line
}

fn host_line(snapshot: &Snapshot) -> Line {
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

fn reasons_line(snapshot: &Snapshot) -> Option<Line> {
    let mut line = Line::default();
    line.push(Style::Bad, snapshot.reasons.join("; "));
    (!snapshot.reasons.is_empty()).then_some(line)
}

fn class_rows(direction: &DirectionSnapshot) -> usize {
    // A single class needs no table.
    if direction.classes.len() < 2 { 0 } else { direction.classes.len() + 1 }
}

fn classes_table(direction: &DirectionSnapshot) -> Vec<Line> {
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

/// A chart with its maximum on the left.
fn curve(
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

/// The highest visible value, so that a curve fills its height.
fn top_rate(points: &VecDeque<Point>, width: usize) -> f64 {
    let seen = points.iter().rev().take(width);
    seen.map(|point| point.rate.max(point.capacity.unwrap_or(0.0))).fold(0.0, f64::max)
}

fn top_sojourn(points: &VecDeque<Point>, width: usize) -> f64 {
    points.iter().rev().take(width).filter_map(|point| point.sojourn).fold(0.0, f64::max)
}

fn rate(mbps: f64) -> String {
    format!("{mbps:>6.2}")
}

fn delay(ms: f64) -> String {
    if ms < 100.0 { format!("{ms:.1}") } else { format!("{ms:.0}") }
}

fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, minutes, seconds) => format!("{minutes:02}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_emu::snapshot::{ClassSnapshot, Lateness, Totals};

    fn amount(packets: u64) -> Amount {
        Amount { packets, bytes: packets * 1500 }
    }

    /// A link with a snapshot each tenth of a second, and a second of its curves.
    fn example() -> (Snapshot, History) {
        let by =
            |reason: &str, packets: u64| std::iter::once((reason.to_string(), amount(packets))).collect();
        let total = Totals {
            delivered: amount(4290),
            dropped: amount(24),
            marked: amount(3),
            drops_by_reason: by("sojourn_bound", 24),
            marks_by_reason: by("codel", 3),
            ..Totals::default()
        };
        let class = |dscp: u8, name: &str| ClassSnapshot {
            dscp,
            name: Some(name.to_string()),
            total: total.clone(),
            backlog: amount(6),
            ..ClassSnapshot::default()
        };
        let setting = |link: &str, qdisc: &str, delay_ms| DirectionSettings {
            link: link.to_string(),
            qdisc: qdisc.to_string(),
            delay_ms,
            ..DirectionSettings::default()
        };
        let sojourn = Sojourn { p50_ms: 3.1, p99_ms: 18.0, max_ms: 20.0 };
        let mut snapshot = Snapshot {
            time_s: 3725.5,
            interval_s: 0.1,
            down: DirectionSnapshot {
                setting: setting("synth-lte-driving", "bode:target=20ms", 5.0),
                rate_mbps: 9.31,
                capacity_mbps: Some(12.4),
                backlog: amount(12),
                sojourn_interval: Some(sojourn),
                sojourn_total: Some(sojourn),
                classes: vec![class(0, "be"), class(46, "ef")],
                total,
                ..DirectionSnapshot::default()
            },
            up: DirectionSnapshot {
                setting: setting("infinite", "taildrop", 5.0),
                rate_mbps: 0.19,
                ..DirectionSnapshot::default()
            },
            lateness: Lateness {
                p50_ms: 0.032,
                p99_ms: 0.101,
                max_ms: 0.745,
                released: 6592,
                late: 2,
                ..Lateness::default()
            },
            cpu_share: 0.07,
            trustworthy: true,
            ..Snapshot::default()
        };
        let mut history = History::default();
        let end = (snapshot.down.rate_mbps, snapshot.down.capacity_mbps);
        for step in 1..=10 {
            snapshot.down.rate_mbps = f64::from(step);
            snapshot.down.capacity_mbps = Some(12.0 - f64::from(step % 3));
            history.push(&snapshot);
        }
        (snapshot.down.rate_mbps, snapshot.down.capacity_mbps) = end;
        (snapshot, history)
    }

    fn text(lines: &[Line], width: usize) -> Vec<String> {
        lines.iter().map(|line| line.render(width, false).trim_end().to_string()).collect()
    }

    #[test]
    fn the_foot_of_a_terminal() {
        let (snapshot, history) = example();
        let panel = |width, rows| text(&panel(&snapshot, &history, width, panel_rows(rows)), width);
        assert_eq!(
            panel(80, 24),
            [
                "── qdelay 1:02:05 ─────────────────────────────────────────────── trustworthy ──",
                "down synth-lte-driving bode:target=20m…  drops: sojourn_bound 24  marks: codel 3",
                "  rate    9.31 of  12.40 Mbit/s 75%                        ▁▁▂▃▃▄▅▅▆▇   top 12.0",
                "  waits  p50 3.1 p99 18.0 max 20.0 ms                      ██████████    12 wait",
                "up   infinite taildrop +5 ms",
                "  rate    0.19 Mbit/s, no limit                            ██████████    top 0.2",
                "  waits  -                                                                0 wait",
                "late 32 us p99 101 max 745  too late 2/6592  lost outside 0  CPU 7%",
            ]
        );
        assert_eq!(
            panel(40, 24),
            [
                "── qdelay 1:02:05 ─────── trustworthy ──",
                "down synth-lte-drivi…  drops 24  marks 3",
                "  rate    9.31 of  12.40 Mbit/s 75%",
                "  waits  p50 3.1 p99 18.0 max 20.0 ms",
                "up   infinite taildrop +5 ms",
                "  rate    0.19 Mbit/s, no limit",
                "  waits  -",
                "late 32 us p99 101 max 745  too late 2/…",
            ]
        );
        assert_eq!(
            panel(80, 12),
            [
                "── qdelay 1:02:05 ─────────────────────────────────────────────── trustworthy ──",
                "down   9.31/12.40 Mbit/s  p99 18.0 ms  12 pkt  drops 24               ▁▁▂▃▃▄▅▅▆▇",
                "up     0.19 Mbit/s  p99 - ms  0 pkt                                   ██████████",
                "late 32 us p99 101 max 745  too late 2/6592  lost outside 0  CPU 7%",
            ]
        );
        assert_eq!(
            panel(40, 6),
            ["down   9.31/12.40 Mbit/s  p99 18.0 ms  …", "up     0.19 Mbit/s  p99 - ms  0 pkt",]
        );
        assert!(panel(80, 5).is_empty());
    }

    #[test]
    fn a_whole_screen() {
        let (mut snapshot, history) = example();
        snapshot.trustworthy = false;
        snapshot.reasons = vec!["3 packets were refused by a device".to_string()];
        assert_eq!(
            text(&screen(&snapshot, &history, "/run/q.sock", 60, 36), 60),
            [
                "── qdelay live /run/q.sock 1:02:05 ────── not trustworthy ──",
                "down synth-lte-dri…  drops: sojourn_bound 24  marks: codel 3",
                "  rate    9.31 of  12.40 Mbit/s 75%",
                "      12.0                                       ╌╌╌╌╌╌╌╌╌▃",
                "    Mbit/s                                             ▃▅██",
                "                                                    ▃▅█████",
                "                                                 ▃▅████████",
                "  waits  p50 3.1 p99 18.0 max 20.0 ms",
                "      18.0                                       ██████████",
                "        ms                                       ██████████",
                "                                                 ██████████",
                "                                                 ██████████",
                "  class       packets       kB  queue    drops    marks",
                "  be             4290     6435      6       24        3",
                "  ef             4290     6435      6       24        3",
                "",
                "up   infinite taildrop +5 ms",
                "  rate    0.19 Mbit/s, no limit",
                "       0.2                                       ██████████",
                "    Mbit/s                                       ██████████",
                "                                                 ██████████",
                "                                                 ██████████",
                "  waits  -",
                "",
                "        ms",
                "",
                "",
                "",
                "late 32 us p99 101 max 745  too late 2/6592  lost outside 0…",
                "3 packets were refused by a device",
                "",
                "",
                "",
                "",
                "",
                " q quit",
            ]
        );
    }

    #[test]
    fn text_without_a_terminal() {
        let (snapshot, _) = example();
        assert_eq!(
            plain(&snapshot),
            "3725.5 s: down 9.31 of 12.40 Mbit/s, 3.1 18.0 20.0 ms, queue 12, drops 24, marks 3; up 0.19 Mbit/s, queue 0, \
             drops 0, marks 0; late p99 101 us; trustworthy"
        );
        assert_eq!(
            text(&report(&snapshot, 80), 80),
            [
                "── qdelay live 1:02:05 ────────────────────────────────────────── trustworthy ──",
                "down synth-lte-driving bode:target=20m…  drops: sojourn_bound 24  marks: codel 3",
                "  rate    9.31 of  12.40 Mbit/s 75%",
                "  waits  p50 3.1 p99 18.0 max 20.0 ms  12 packets wait",
                "  class       packets       kB  queue    drops    marks",
                "  be             4290     6435      6       24        3",
                "  ef             4290     6435      6       24        3",
                "up   infinite taildrop +5 ms",
                "  rate    0.19 Mbit/s, no limit",
                "  waits  -  0 packets wait",
                "late 32 us p99 101 max 745  too late 2/6592  lost outside 0  CPU 7%",
            ]
        );
    }

    /// For every terminal size, no line is too wide, and there are no more rows than the terminal has.
    #[test]
    fn nothing_sticks_out() {
        let (snapshot, history) = example();
        for (snapshot, history) in [(snapshot, history), (Snapshot::default(), History::default())] {
            for width in 0..130 {
                for rows in 0..50 {
                    let lines = screen(&snapshot, &history, "/run/q.sock", width, rows);
                    assert_eq!(lines.len(), rows.max(1), "{width} {rows}");
                    let foot = panel(&snapshot, &history, width, panel_rows(rows as u16));
                    assert_eq!(foot.len(), usize::from(panel_rows(rows as u16)));
                    for line in lines.iter().chain(&foot) {
                        assert!(line.render(width, false).chars().count() <= width);
                    }
                }
            }
        }
    }
}
