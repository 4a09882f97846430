//! Figures and verdict of a link as JSON (`docs/json.md`). Fields may be added; existing fields keep name and meaning.

use super::Outcome;
use qdelay_core::Rate;
use qdelay_emu::accuracy::{advice, late_share};
use qdelay_emu::audit::SuperPackets;
use qdelay_emu::snapshot::{DirectionSettings, LinkSettings, StallFigures};
use qdelay_study::results::{Entity, SCHEMA_VERSION, pretty, round};
use qdelay_terminal::live::control::protocol;
use serde_json::json;

/// The text of `qdelay link --json`, for a link that began with `settings`, where packets arrive at the rate `access`.
pub fn text(settings: &LinkSettings, access: Option<Rate>, outcome: &Outcome) -> String {
    let facts = &outcome.facts;
    let accuracy = facts.accuracy();
    let [down, up] = &outcome.directions;
    let SuperPackets { read, split, written, joined } = facts.super_packets;
    let link = |setting: &DirectionSettings| json!({ "link": setting.link, "qdisc": setting.qdisc });
    pretty(&json!({
        "schema_version": SCHEMA_VERSION,
        "links": {
            "down": link(&settings.down),
            "up": link(&settings.up),
        },
        "delay_ms": settings.down.delay_ms,
        "settings": settings,
        "duration_s": round(outcome.duration.as_secs_f64()),
        "drain": { "seconds": round(outcome.drained.time.as_secs_f64()), "packets_cut": outcome.drained.cut },
        "access_mbps": access.map(|rate| round(rate.as_bps() as f64 / 1e6)),
        "offload": outcome.offload.map(|offload| json!({
            "udp": offload.udp,
            "super_packets_read": read,
            "packets_split": split,
            "super_packets_written": written,
            "packets_joined": joined,
        })),
        "changes": protocol::changes(&outcome.changes),
        "down": down,
        "up": up,
        "audit": {
            "trustworthy": facts.verdict.trustworthy,
            "reasons": facts.verdict.reasons,
            "grade": accuracy.grade.name(),
            "delays_hold_to_ms": accuracy.bound.as_millis_f64(),
            "late_share": round(late_share(facts)),
            "advice": advice(facts),
            "lateness_ms": facts.lateness.rounded(),
            "late_limits_ms": facts.limits.map(|limit| limit.as_millis_f64()),
            "releases_late": facts.late,
            "stalls": StallFigures::from(&facts.stalls),
            "lost_outside": facts.lost,
            "malformed": facts.malformed,
            "cpu_seconds": round(facts.cpu.as_secs_f64()),
            "steal_seconds": facts.steal.map(|steal| round(steal.as_secs_f64())),
        },
        "status": outcome.status,
    }))
}
