//! Audit of a run with a real clock, as result files have it.

use qdelay_emu::audit::AuditFacts;
use qdelay_emu::snapshot::StallFigures;
use qdelay_study::results::{Audit, Entity, Stall, Stalls, round};

/// Converts the facts of a run; `realtime` is true if real-time priority was granted.
pub fn of_facts(facts: &AuditFacts, realtime: bool) -> Audit {
    Audit {
        trustworthy: facts.verdict.trustworthy,
        reasons: facts.verdict.reasons.clone(),
        lateness_ms: facts.lateness.rounded(),
        late_limits_ms: facts.limits.map(|limit| round(limit.as_millis_f64())),
        releases_late: facts.late,
        stalls: stalls(StallFigures::from(&facts.stalls)),
        lost_outside: facts.lost,
        malformed: facts.malformed,
        cpu_seconds: round(facts.cpu.as_secs_f64()),
        steal_seconds: facts.steal.map(|steal| round(steal.as_secs_f64())),
        realtime,
        ..Audit::default()
    }
}

/// Converts stall figures. The devices of namespaces have no time stamps, so none can be implausible.
fn stalls(figures: StallFigures) -> Stalls {
    let StallFigures {
        count,
        total_ms,
        longest_gap_ms,
        packets_read,
        packets_unseen,
        packets_held,
        dropped,
        longest,
        ..
    } = figures;
    let longest = longest
        .iter()
        .map(|interval| Stall { begin_s: interval.begin_s, length_ms: interval.length_ms })
        .collect();
    Stalls { count, total_ms, longest_gap_ms, packets_read, packets_unseen, packets_held, dropped, longest }
}
