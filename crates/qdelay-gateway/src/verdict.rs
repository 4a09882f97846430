//! Results of a gateway at its end.

use qdelay_emu::accuracy::advice;
use qdelay_emu::audit::{AuditFacts, SuperPackets};
use qdelay_emu::snapshot::Snapshot;
use qdelay_terminal::text_table::milliseconds;
use qdelay_terminal::text_table::{self, Column};
use qdelay_terminal::verdict;

/// Totals of both directions over the whole run, and the verdict, as text.
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
    let reloads = format!("; {} reloads", whole.reloads);
    let lines = verdict::lines(facts, &reloads, &advice(facts));
    format!("\n{}\n{lines}{}", text_table::table(&columns, rows), super_packets(facts))
}

/// Line about super-packets that were split; empty without any.
fn super_packets(facts: &AuditFacts) -> String {
    match facts.super_packets {
        SuperPackets { read: 0, .. } => String::new(),
        SuperPackets { read, split, .. } => {
            format!("offload of senders: {split} packets came in {read} super-packets, as bursts\n")
        }
    }
}
