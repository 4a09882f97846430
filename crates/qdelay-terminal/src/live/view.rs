//! Layouts of a snapshot as text: pure functions without I/O.

mod lines;

use super::history::{History, Point};
use super::text::{Line, Style};
use lines::{
    class_rows, classes_table, curve, delay, heading, host_line, rate, rate_figures, rate_line, reasons_line,
    short_line, sojourn_figures, sojourn_line, title, top_rate, top_sojourn,
};
use qdelay_emu::snapshot::{DirectionSnapshot, Snapshot};

/// Number of rows that [`panel`] takes of a terminal of `rows` rows: most of them stay with the command.
pub fn panel_rows(rows: u16) -> u16 {
    match rows {
        24.. => 8,
        12.. => 4,
        6.. => 2,
        _ => 0,
    }
}

/// Panel at the foot of a terminal, with `rows` rows according to [`panel_rows`].
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

/// View over a whole terminal of `rows` rows.
pub fn screen(snapshot: &Snapshot, history: &History, source: &str, width: usize, rows: usize) -> Vec<Line> {
    let mut lines = vec![title(snapshot, &format!("qdelay live {source}"), width)];
    let directions = [("down", &snapshot.down, &history.down), ("up", &snapshot.up, &history.up)];
    // Fixed rows: title, host, reasons, keys; and for each direction: heading, two lines of values, drops, a blank line.
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

/// Text without curves, for printing one snapshot.
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

/// Snapshot in one line, for output other than a terminal.
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
#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_emu::snapshot::{Amount, ClassSnapshot, DirectionSettings, Lateness, Sojourn, Totals};

    fn amount(packets: u64) -> Amount {
        Amount { packets, bytes: packets * 1500 }
    }

    /// Snapshot of a link, and a second of curves with a point each tenth of a second.
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
    fn panel_fits_each_height() {
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
    fn screen_fills_the_terminal() {
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
    fn text_without_a_terminal_has_the_totals() {
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

    /// Lines and rows of every terminal size fit the terminal.
    #[test]
    fn views_fit_every_terminal_size() {
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
