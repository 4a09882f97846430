//! Final lines of the results of a real link: lateness, verdict, and accuracy of delays.

use qdelay_emu::audit::AuditFacts;
use qdelay_emu::stall::Stalls;

/// Name of the rule behind `--strict`, which is stricter than any grade: one packet in a thousand later than a tenth of the link's clock
/// breaks it.
const STRICT: &str = "strict rule (--strict, for laboratories)";

/// The lines, each with its line end; `more` is appended to the first. The last line has `advice` for a more accurate run, if any
/// ([`qdelay_emu::accuracy::advice`]).
pub fn lines(facts: &AuditFacts, more: &str, advice: &[String]) -> String {
    let verdict = &facts.verdict;
    let judged = match verdict.trustworthy {
        true => format!("{STRICT} met: on time, and every packet is accounted for"),
        false => format!("{STRICT} not met: {}", verdict.reasons.join("; ")),
    };
    let Stalls { read, longest_gap, .. } = facts.stalls;
    let unread = match facts.stalls.unknown() {
        0 => String::new(),
        unknown => format!(", {unknown} of {read} packets perhaps read or written late"),
    };
    let accuracy = facts.accuracy().describe(facts);
    // The advice has a line of its own, or none.
    let advice = match advice.join("; ") {
        advice if advice.is_empty() => advice,
        advice => format!("more accurate with: {advice}\n"),
    };
    let cpu = match facts.cpu.is_zero() {
        // Systems other than Linux.
        true => String::new(),
        false => {
            format!("; CPU {:.0}%", 100.0 * facts.cpu.as_secs_f64() / facts.duration.as_secs_f64().max(1e-9))
        }
    };
    format!(
        "{:.1} s; releases late by {:.0} us (p50), {:.0} us (p99), {:.0} us (max); longest stall {:.0} us{unread}{cpu}{more}\n{accuracy}\n{judged}\n{advice}",
        facts.duration.as_secs_f64(),
        facts.lateness.p50 * 1e3,
        facts.lateness.p99 * 1e3,
        facts.lateness.max * 1e3,
        longest_gap.as_millis_f64() * 1e3,
    )
}
