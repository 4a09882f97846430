//! The result of a link as a JUnit report with one test case, for the pages of CI systems.

use crate::cli::Link;
use qdelay_emu::figures::DirectionFigures;
use qdelay_real::link::Outcome;
use std::fmt::Write;

/// The report.
pub fn report(options: &Link, outcome: &Outcome) -> String {
    let command: Vec<String> =
        options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let name = escaped(&if command.is_empty() { "shell".to_string() } else { command.join(" ") });
    let failure = failure(options, outcome);
    let (failures, seconds) = (u8::from(failure.is_some()), outcome.duration.as_secs_f64());
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"1\" failures=\"{failures}\">\n  <testsuite name=\"qdelay link\" \
         tests=\"1\" failures=\"{failures}\" errors=\"0\" skipped=\"0\" time=\"{seconds:.3}\">\n    <properties>\n"
    );
    let accuracy = outcome.facts.accuracy();
    let mut property = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "      <property name=\"{name}\" value=\"{}\"/>", escaped(&value));
    };
    if let Some(required) = options.require {
        property("required", required.to_string());
    }
    property("verdict", accuracy.grade.name().to_string());
    property("delays_hold_to_ms", format!("{:.3}", accuracy.bound.as_millis_f64()));
    for (direction, figures) in ["down", "up"].iter().zip(&outcome.directions) {
        let DirectionFigures { throughput_mbps, packets_delivered, drops, queue_delay_ms, .. } = figures;
        property(&format!("{direction}.throughput_mbps"), throughput_mbps.to_string());
        property(&format!("{direction}.packets_delivered"), packets_delivered.to_string());
        property(&format!("{direction}.drops"), drops.to_string());
        property(&format!("{direction}.queue_delay_ms.p50"), queue_delay_ms.p50.to_string());
        property(&format!("{direction}.queue_delay_ms.p99"), queue_delay_ms.p99.to_string());
    }
    let _ = write!(
        text,
        "    </properties>\n    <testcase classname=\"qdelay.link\" name=\"{name}\" time=\"{seconds:.3}\""
    );
    let _ = match failure {
        Some(message) => {
            writeln!(text, ">\n      <failure message=\"{}\"/>\n    </testcase>", escaped(&message))
        }
        None => writeln!(text, "/>"),
    };
    text + "  </testsuite>\n</testsuites>\n"
}

/// The reason why the test case has failed.
fn failure(options: &Link, outcome: &Outcome) -> Option<String> {
    let unmet = super::unmet(options, outcome);
    if outcome.status != 0 {
        let mut reason = format!("the command ended with status {}", outcome.status);
        if let Some(unmet) = unmet {
            // The command may have failed for that reason.
            let _ = write!(reason, "; {unmet}");
        }
        return Some(reason);
    }
    if let Some(broken) = outcome.broken.first() {
        return Some(broken.clone());
    }
    if unmet.is_some() {
        return unmet;
    }
    let verdict = &outcome.facts.verdict;
    (options.strict && !verdict.trustworthy).then(|| verdict.reasons.join("; "))
}

/// Text for an attribute; characters that XML does not have are left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\t' | '\n' | '\r' => escaped.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_escaped() {
        assert_eq!(escaped("a<b & \"c\"\n\u{1b}[1m>"), "a&lt;b &amp; &quot;c&quot; [1m&gt;");
    }
}
