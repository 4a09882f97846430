//! Tables of decisions, and JSON.

use super::DecisionsReport;
use super::bode::BodeCell;
use super::follow::Moved;
use super::kernel::{ASKED, KernelCell};
use qdelay_study::results::pretty;
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::{Column, table};
use std::fmt::Write;

/// Report as JSON.
pub fn json(report: &DecisionsReport) -> String {
    pretty(report)
}

/// Report as text.
pub fn text(report: &DecisionsReport) -> String {
    let mut text = format!(
        "Linux {} in virtual time; our disciplines on the recorded arrivals, asked whenever the recorded queue gave a packet.\n",
        report.kernel
    );
    if !report.disciplines.is_empty() {
        text += &disciplines(&report.disciplines);
    }
    if !report.bode.is_empty() {
        text += &bode(&report.bode);
    }
    let _ = writeln!(text, "\nruns: {}", one_line(&report.folder.display().to_string()));
    text
}

/// Table of the kernel's disciplines, with the first different decision of each cell to start a search from.
fn disciplines(cells: &[KernelCell]) -> String {
    let columns = ["packets", "left", "equal", "longest run", "stretches", "kernel drops", "ours", "common"];
    let columns: Vec<Column> = [Column::left("cell")]
        .into_iter()
        .chain(columns.map(Column::right))
        .chain([Column::left("verdict")])
        .collect();
    let row = |cell: &KernelCell| {
        let recorded = &cell.recorded;
        let counts = [recorded.packets, recorded.departures];
        let mut row = vec![cell.cell.clone()];
        row.extend(counts.map(|count| count.to_string()));
        row.push(percent(cell.equal_share));
        row.extend([recorded.longest, recorded.stretches].map(|count| count.to_string()));
        row.extend(recorded.drops.map(|count| count.to_string()));
        row.push(verdict(cell).to_string() + if cell.trustworthy { "" } else { ", not trusted" });
        row
    };
    let mut text = format!(
        "\nAt the recorded times, each from where the last decision led. Bound: {}% of the departures.\n\n{}\n",
        ASKED * 100.0,
        table(&columns, cells.iter().map(row).collect())
    );
    for cell in cells {
        if let Some(first) = &cell.recorded.first {
            let _ = writeln!(text, "  {}: first difference at {first}", cell.cell);
        }
    }
    text + &followed(cells) + &shifted(cells)
}

fn verdict(cell: &KernelCell) -> &'static str {
    match (cell.recorded.is_whole(), cell.matches) {
        (true, _) => "all equal",
        (_, true) => "match",
        (_, false) => "miss",
    }
}

/// Table of agreement decision by decision.
fn followed(cells: &[KernelCell]) -> String {
    let columns =
        ["decisions", "equal", "if asked earlier", "if asked later", "if a packet comes later", "never"];
    let columns: Vec<Column> = [Column::left("cell")].into_iter().chain(columns.map(Column::right)).collect();
    let moved = |moved: Moved| match moved.count {
        0 => "-".to_string(),
        count => format!("{count} by {:.1} us", moved.most_ns as f64 / 1e3),
    };
    let row = |cell: &KernelCell| {
        let of = &cell.followed;
        let mut row = vec![cell.cell.clone(), of.decisions.to_string(), of.equal.to_string()];
        row.extend([of.earlier, of.later, of.arrivals].map(moved));
        row.push(of.apart.to_string());
        row
    };
    format!(
        "\nDecision by decision, each from where the kernel's decisions led; a decision that differs, at the nearest time at which it is the \
         same (the farthest of them).\n\n{}\n",
        table(&columns, cells.iter().map(row).collect())
    )
}

/// Table of the experiments.
fn shifted(cells: &[KernelCell]) -> String {
    let head = |shift: &super::kernel::Shifted| match (shift.arrivals_ns, shift.clock_ns) {
        (0, clock) => format!("clock {clock} ns on"),
        (arrivals, _) => format!("{} us later", arrivals / 1000),
    };
    let heads = cells.first().map(|cell| cell.shifted.iter().map(head).map(Column::named));
    let first = ["as recorded", "later by the smallest sojourn"].map(Column::left);
    let columns = [Column::left("equal departures with arrivals")].into_iter().chain(first);
    let columns = columns.chain(heads.into_iter().flatten());
    let columns: Vec<Column> = columns.chain([Column::left("by the RFC's arithmetic")]).collect();
    let row = |cell: &KernelCell| {
        let least =
            format!("{} by {:.1} us", percent(cell.later.share()), cell.least_sojourn_ns as f64 / 1e3);
        let mut row = vec![cell.cell.clone(), percent(cell.equal_share), least];
        row.extend(cell.shifted.iter().map(|shift| percent(shift.agreement.share())));
        row.push(cell.other_law.as_ref().map_or("-".to_string(), |other| percent(other.share())));
        row
    };
    format!("\nExperiments, which decide nothing.\n\n{}\n", table(&columns, cells.iter().map(row).collect()))
}

/// Tables of BoDe's cells: decisions, which must be equal, and end-to-end figures, which are only close.
fn bode(cells: &[BodeCell]) -> String {
    let mut columns = vec![
        Column::left("BoDe"),
        Column::right("packets"),
        Column::right("drops"),
        Column::right("judged"),
        Column::right("equal"),
    ];
    for figure in cells.iter().take(1).flat_map(|cell| &cell.end_to_end) {
        columns.extend([
            Column::right(figure.measure),
            Column::right("simulated"),
            Column::right("difference"),
        ]);
    }
    columns.push(Column::left("run"));
    let row = |cell: &BodeCell| {
        let mut row = vec![cell.cell.clone()];
        row.extend([cell.packets, cell.drops, cell.judged, cell.equal].map(|count| count.to_string()));
        for figure in &cell.end_to_end {
            row.extend([format!("{:.2}", figure.lab), format!("{:.2}", figure.simulated)]);
            let mark = if figure.is_within { "" } else { " !" };
            row.push(format!("{:+.1}%{mark}", figure.difference * 100.0));
        }
        row.push(if cell.trustworthy { "trusted" } else { "not trusted" }.to_string());
        row
    };
    let mut text = format!(
        "\nBoDe in the emulator with real packets: the simulator's path on its arrivals, fates and times to the nanosecond. From end to end: \
         the laboratory's TCP beside the simulator's; ! is more than 3%.\n\n{}\n",
        table(&columns, cells.iter().map(row).collect())
    );
    for cell in cells {
        if let Some(first) = &cell.first {
            let _ = writeln!(text, "  {}: first difference: {first}", cell.cell);
        }
    }
    text
}

/// Percentage with three decimals; 100% only if all are equal.
fn percent(share: f64) -> String {
    if share == 1.0 { "100%".to_string() } else { format!("{:.3}%", (share * 1e5).floor() / 1e3) }
}
