//! What a gateway says when it ends.

use crate::run_table::milliseconds;
use crate::text_table::{self, Column};
use qdelay_emu::audit::AuditFacts;
use qdelay_emu::snapshot::Snapshot;
use std::fmt::Write;

/// Figures of both directions over the whole run, and whether to believe them.
pub fn text(whole: &Snapshot, facts: &AuditFacts) -> String {
    let columns = [
        Column::left("link"),
        Column::right("rate\nMbit/s"),
        Column::right("p50\nms"),
        Column::right("p99\nms"),
        Column::right("max\nms"),
        Column::right("packets"),
        Column::right("drops"),
        Column::right("marks"),
    ];
    let row = |(name, direction): (&str, &qdelay_emu::snapshot::DirectionSnapshot)| {
        let mut row = vec![name.to_string(), format!("{:.2}", direction.rate_mbps)];
        let sojourn = direction.sojourn_total.unwrap_or_default();
        row.extend([sojourn.p50_ms, sojourn.p99_ms, sojourn.max_ms].map(milliseconds));
        let total = &direction.total;
        row.extend([total.delivered, total.dropped, total.marked].map(|amount| amount.packets.to_string()));
        row
    };
    let rows = [("down", &whole.down), ("up", &whole.up)].into_iter().map(row).collect();
    let mut text = format!("\n{}\n", text_table::table(&columns, rows));
    let _ = writeln!(
        text,
        "{:.1} s; releases late by {:.0} us (p50), {:.0} us (p99), {:.0} us (max); CPU {:.0}%; {} reloads",
        facts.duration.as_secs_f64(),
        facts.lateness.p50 * 1e3,
        facts.lateness.p99 * 1e3,
        facts.lateness.max * 1e3,
        100.0 * facts.cpu.as_secs_f64() / facts.duration.as_secs_f64().max(1e-9),
        whole.reloads,
    );
    let verdict = &facts.verdict;
    let _ = match verdict.trustworthy {
        true => writeln!(text, "trustworthy: on time, and every packet is accounted for"),
        false => writeln!(text, "not trustworthy: {}", verdict.reasons.join("; ")),
    };
    text
}
