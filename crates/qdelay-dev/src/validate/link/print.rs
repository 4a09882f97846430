//! Table of cells, and JSON.

use super::figures::LinkFigures;
use super::judge::{Counts, JudgedCell, LinkReport, MARK, Nearness};
use qdelay_study::results::pretty;
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::{Column, table};
use std::fmt::Write;

/// Ranges of simulated results wider than this share of their middle are shown.
const WIDE: f64 = 0.1;

/// Report as JSON.
pub fn json(report: &LinkReport) -> String {
    pretty(report)
}

/// Report as text.
pub fn text(report: &LinkReport) -> String {
    let beside_mahimahi = report.against == "mahimahi";
    let mut columns = vec![Column::left("cell")];
    columns.extend(["Mbit/s", "mean ms", "p99 ms"].map(Column::right));
    columns.extend([Column::right("runs"), Column::left("simulator")]);
    if beside_mahimahi {
        columns.push(Column::left("mahimahi"));
    }
    let rows = report.cells.iter().map(|cell| row(cell, beside_mahimahi)).collect();
    let of_quic = report.against == "quic";
    let mut text = format!(
        "Real packets of {} through the link, {} s of each trace.\nEach figure: real / simulated from the \
         same beginning (over beginnings up to 3 ms earlier and later, where they differ){}; ! outside 10% or {}.\n\n{}\n",
        if of_quic { "QUIC" } else { "the kernel's TCP" },
        report.seconds,
        if beside_mahimahi { " / mahimahi's" } else { "" },
        if of_quic { "20%" } else { "30%" },
        table(&columns, rows)
    );
    for cell in &report.cells {
        if let Some(why) = &cell.not_judged {
            let _ = writeln!(text, "\n{}: not judged: {}", cell.cell, one_line(why));
        }
        if let Some(cause) = cell.mahimahi.as_ref().and_then(|found| found.cause.as_ref()) {
            let _ = writeln!(text, "\n{}: {cause}", cell.cell);
        }
    }
    text + &counts(report)
}

/// Lines with the counts of matching cells, from the strictest bound to the widest, so that a tolerance cannot hide a change.
fn counts(report: &LinkReport) -> String {
    let Counts { cells, judged, strict, allowed, phases, .. } = report.counts;
    let part =
        |count: usize| format!("{count} of {judged} ({:.0}%)", 100.0 * count as f64 / judged.max(1) as f64);
    let folder = format!("runs: {}\n", one_line(&report.folder.display().to_string()));
    let mut text = format!("\n{judged} of {cells} cells have a run that can be trusted.");
    if judged == 0 {
        return text + "\n" + &folder;
    }
    text += " Of these match the simulator:\n";
    let delays = if report.against == "quic" { "20% (mean)" } else { "30% (mean and p99)" };
    let _ = writeln!(text, "  {} within 10% (throughput) and {delays}", part(strict));
    let _ =
        writeln!(text, "  {} with 5 ms allowed where the simulator's delay is below 10 ms", part(allowed));
    let _ = writeln!(text, "  {} with the range of beginnings up to 3 ms earlier and later", part(phases));
    if report.against == "mahimahi" {
        let Counts { mahimahi_match, mahimahi_explained, mahimahi_miss, .. } = report.counts;
        let _ = writeln!(
            text,
            "of mahimahi's figures (10%, 30% or 5 ms): {mahimahi_match} match, {mahimahi_explained} explained, \
             {mahimahi_miss} miss"
        );
    } else {
        let _ = writeln!(
            text,
            "mark: {:.0}% with the 5 ms: {}",
            MARK * 100.0,
            if report.reached { "reached" } else { "missed" }
        );
    }
    text + &folder
}

fn row(cell: &JudgedCell, beside_mahimahi: bool) -> Vec<String> {
    let mut row = vec![cell.cell.clone()];
    row.extend((0..3).map(|index| figure(cell, index)));
    row.push(cell.runs.to_string());
    row.push(
        match cell.nearness {
            Some(Nearness::Strict) => "match",
            Some(Nearness::Allowed) => "within 5 ms",
            Some(Nearness::Phases) => "in range",
            Some(Nearness::Miss) => "miss",
            None => "not judged",
        }
        .to_string(),
    );
    if beside_mahimahi {
        let verdict = cell.mahimahi.as_ref().map(|found| format!("{:?}", found.verdict).to_lowercase());
        row.push(verdict.unwrap_or_default());
    }
    row
}

fn figure(cell: &JudgedCell, index: usize) -> String {
    let of = |figures: &Option<LinkFigures>| figures.map(|figures| figures.all()[index]);
    let Some(real) = of(&cell.real) else { return "-".to_string() };
    let mut text = digits(real);
    if let (Some(middle), Some(low), Some(high)) =
        (of(&cell.simulated), of(&cell.simulated_low), of(&cell.simulated_high))
    {
        text += &format!(" / {}", digits(middle));
        if high - low > WIDE * middle {
            text += &format!(" ({}..{})", digits(low), digits(high));
        }
    }
    if let Some(measure) = cell.mahimahi.as_ref().and_then(|found| found.measures.get(index)) {
        text += &format!(" / {}", digits(measure.reference_low));
    }
    if cell.outside[index] { text + " !" } else { text }
}

fn digits(x: f64) -> String {
    match x.abs() {
        size if size >= 100.0 => format!("{x:.0}"),
        size if size >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}
