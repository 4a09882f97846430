//! Table of cases, and JSON.

use super::judge::{CaseReport, CaseVerdict, JudgedCase};
use qdelay_study::results::pretty;
use qdelay_terminal::error::one_line;
use qdelay_terminal::text_table::{Column, table};
use std::fmt::Write;

/// Report as JSON.
pub fn json(report: &CaseReport) -> String {
    pretty(report)
}

/// Report as text.
pub fn text(report: &CaseReport) -> String {
    let columns = [
        Column::left("case"),
        Column::right("game ms"),
        Column::right("simulated"),
        Column::right("used"),
        Column::right("simulated"),
        Column::right("ratio"),
        Column::right("simulated"),
        Column::left("asked"),
        Column::right("runs"),
        Column::left("trusted"),
        Column::left("verdict"),
    ];
    let mut text = format!(
        "Kernel TCP and a game through a cell in real time, {} s each, {} at once; beside the simulator and the 5G QoS thesis.\n\
         The game's mean delay at the node; packets sent as a share of the MAC's opportunities; ratio to USP@5G-BDP.\n\n{}\n",
        report.seconds,
        report.jobs,
        table(&columns, report.cases.iter().map(row).collect())
    );
    for case in report.cases.iter().filter(|case| !case.reasons.is_empty()) {
        let _ = writeln!(text, "{}: {}", case.case, one_line(&case.reasons.join("; ")));
    }
    let _ = writeln!(
        text,
        "\n{} of {} cases match\nruns: {}",
        report.matches,
        report.cases.len(),
        one_line(&report.folder.display().to_string())
    );
    text
}

/// Row of a case: delay or ratio with bounds, utilization, rank and verdict.
fn row(case: &JudgedCase) -> Vec<String> {
    let or_dash = |value: Option<f64>, digits: usize| {
        value.filter(|value| value.is_finite()).map_or("-".to_string(), |value| format!("{value:.digits$}"))
    };
    let ratio = |value: Option<f64>| or_dash(value.filter(|_| case.is_ratio), 2);
    let mut asked = match case.asked {
        Some([from, to]) if case.is_ratio => format!("{from:.2} to {to:.2} times"),
        Some([from, to]) => format!("{from} to {to} ms"),
        None => "its place".to_string(),
    };
    if let Some(used) = case.asked_utilization {
        asked += &format!(", {used} used");
    }
    let trusted = case.audit.as_ref().map_or("-", |audit| if audit.trustworthy { "yes" } else { "no" });
    let verdict = match case.verdict {
        CaseVerdict::Match => "match",
        CaseVerdict::Miss => "miss",
        CaseVerdict::Order => "out of order",
        CaseVerdict::NotJudged => "not judged",
    };
    vec![
        case.case.clone(),
        or_dash(case.real.map(|real| real.game_mean_ms), 2),
        or_dash(Some(case.simulated.game_mean_ms), 2),
        or_dash(case.real.map(|real| real.utilization), 4),
        or_dash(Some(case.simulated.utilization), 4),
        ratio(case.measured),
        ratio(Some(case.simulated_measured)),
        asked,
        case.runs.to_string(),
        trusted.to_string(),
        verdict.to_string(),
    ]
}
