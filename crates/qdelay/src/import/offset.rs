//! `--offset`: reading it, and the lines about clocks that differ.

use super::clocks::Estimate;
use qdelay_core::units::parse_span;
use qdelay_terminal::error::Failure;

/// Delay above which the clocks must differ: two minutes, the longest life of a TCP segment (RFC 9293, section 3.4.2).
const LIFE_MAX_MS: f64 = 120_000.0;

/// Clock offset as the user gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// Nanoseconds by which the second clock is ahead.
    Given(i64),
    /// `auto`: estimated from the smallest delays of both directions.
    Estimated,
}

/// Reads `--offset`: `auto`, or a time with a sign.
///
/// # Errors
/// Neither.
pub fn parse(text: &str) -> Result<Offset, Failure> {
    if text == "auto" {
        return Ok(Offset::Estimated);
    }
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1, size),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let wrong = |what: String| Failure::input("--offset", format!("'{text}': {what}"));
    let span = parse_span(size).map_err(|error| wrong(format!("{error}; or auto, which estimates it")))?;
    let nanos = i64::try_from(span.as_nanos());
    let nanos = nanos.map_err(|_| wrong("more than 292 years; expected a shorter time".to_string()))?;
    Ok(Offset::Given(sign * nanos))
}

/// Assumption and figures of estimated clocks.
pub fn estimate_text(estimate: &Estimate) -> String {
    let Estimate { within_ms, drift_ppm, drift_ms, envelopes_ppm: [forth, back], is_unclear, .. } = estimate;
    let drift = if *drift_ppm != 0.0 {
        format!(
            "clock drift removed: {drift_ppm:.3} ppm, {drift_ms:.3} ms from the first to the last packet (lines below the delays of each \
             way alone: forth {forth:.3}, back {back:.3} ppm)\n"
        )
    } else if *is_unclear {
        format!(
            "no clock drift removed: the smallest delays change by {forth:.3} ppm forth and {back:.3} ppm back, not as those of a clock; a \
             queue that never emptied, another route, or a clock that was set\n"
        )
    } else {
        "no clock drift found\n".to_string()
    };
    format!(
        "estimated so that the smallest delays of both ways are equal; wrong by half their true difference, at most {within_ms:.3} ms\n{drift}"
    )
}

/// Line about clocks that differ, as their smallest delays in milliseconds show; empty if none does.
pub fn hint(least: &[f64], likely_offset_ms: Option<f64>) -> String {
    let is_longer = |least: &f64| *least > LIFE_MAX_MS;
    let reason = match (least.iter().any(|least| *least < 0.0), least.iter().any(is_longer)) {
        (true, _) => "delays below 0",
        (false, true) => "delays of more than 120 s, longer than the life of a TCP segment",
        (false, false) => return String::new(),
    };
    let difference = match likely_offset_ms {
        Some(ms) => format!(
            "the clocks differ by about {ms} ms (half the difference of the smallest delays); --offset auto corrects for this and for drift, \
             --offset {ms}ms for this alone"
        ),
        None => "the clocks differ; --offset corrects for the difference".to_string(),
    };
    format!("{reason}: {difference}\n")
}
