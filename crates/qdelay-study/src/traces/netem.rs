//! The words of `tc qdisc ... netem` where a user writes them: errors that say the same in the grammar of this program.

use qdelay_core::units::parse_span;

/// Whether `text` is a percentage.
fn is_percent(text: &str) -> bool {
    text.strip_suffix('%').is_some_and(|number| number.parse::<f64>().is_ok())
}

/// `:correlation=C`, if netem's text has one.
fn correlation(words: &[&str]) -> Option<String> {
    words.iter().find(|word| is_percent(word)).map(|percent| format!(":correlation={percent}"))
}

/// The error about a loss in netem's words; `None` if there are none.
pub(super) fn loss_hint(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let says = |ours: String| Some(format!("netem's 'loss {text}' is {ours} here"));
    match words[..] {
        ["random", percent, ref rest @ ..] | [percent, ref rest @ ..]
            if is_percent(percent) && rest.iter().all(|word| is_percent(word)) && words.len() > 1 =>
        {
            let correlation = correlation(rest).map(|correlation| correlation + ":variant=netem");
            says(format!("{percent}{}", correlation.unwrap_or_default()))
        }
        ["gemodel", ref rest @ ..] if !rest.is_empty() && rest.iter().all(|word| is_percent(word)) => {
            // netem's default of r is 1 - p.
            let left = |percent: &str| {
                percent.strip_suffix('%').and_then(|p| p.parse::<f64>().ok()).map_or(0.0, |p| 100.0 - p)
            };
            let r = rest.get(1).map_or(format!("{}%", left(rest[0])), |r| r.to_string());
            let more = ["bad", "good"].iter().zip(rest.iter().skip(2));
            let more: String = more.map(|(key, percent)| format!(":{key}={percent}")).collect();
            says(format!("gilbert-elliott:p={}:r={r}{more}", rest[0]))
        }
        ["state", ..] => Some(format!(
            "netem's 'loss {text}' has four states; expected a model with two, gilbert-elliott:p=1%:r=25%, or a probability over time"
        )),
        _ => None,
    }
}

/// The jitter that netem's words behind a delay mean, in the grammar of this program.
fn jitter(words: &[&str]) -> Option<String> {
    let [size, rest @ ..] = words else { return None };
    let named = rest.iter().position(|word| *word == "distribution").and_then(|at| rest.get(at + 1)).copied();
    let shape = match named {
        None | Some("uniform") => format!("uniform:{size}"),
        Some(shape @ ("normal" | "pareto" | "paretonormal")) => format!("{shape}:{size}"),
        Some(file) => format!("table:{file}.dist:deviation={size}"),
    };
    Some(format!("{shape}{}:reorder=on:variant=netem", correlation(rest).unwrap_or_default()))
}

/// The error about a jitter in netem's words; `None` if there are none.
pub(super) fn jitter_hint(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    // One word is in this program's grammar.
    if words.len() < 2 {
        return None;
    }
    Some(format!("netem's '{text}' is {} here", jitter(&words)?))
}

/// The error about a delay in netem's words; `None` if there are none.
pub(super) fn delay_hint(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [delay, size, ..] = words[..] else { return None };
    // A number and its unit are one time that is written with a space.
    if parse_span(delay).is_err() || parse_span(size).is_err() {
        return None;
    }
    Some(format!("netem's 'delay {text}' is delay {delay} and jitter {} here", jitter(&words[1..])?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::jitter::JitterText;
    use crate::traces::loss::LinkLoss;

    #[test]
    fn what_is_suggested_can_be_read() {
        let losses = [
            ("5% 25%", "5%:correlation=25%:variant=netem"),
            ("random 5%", "5%"),
            ("random 5% 25%", "5%:correlation=25%:variant=netem"),
            ("gemodel 1%", "gilbert-elliott:p=1%:r=99%"),
            ("gemodel 1% 10% 70% 0.1%", "gilbert-elliott:p=1%:r=10%:bad=70%:good=0.1%"),
        ];
        for (theirs, ours) in losses {
            assert_eq!(loss_hint(theirs).unwrap(), format!("netem's 'loss {theirs}' is {ours} here"));
            assert!(LinkLoss::parse(ours).is_ok(), "{ours}");
            assert!(LinkLoss::parse(theirs).unwrap_err().contains(ours), "{theirs}");
        }
        let jitters = [
            ("10ms 25%", "uniform:10ms:correlation=25%:reorder=on:variant=netem"),
            ("10ms distribution normal", "normal:10ms:reorder=on:variant=netem"),
            ("10ms 5% distribution pareto", "pareto:10ms:correlation=5%:reorder=on:variant=netem"),
        ];
        for (theirs, ours) in jitters {
            assert_eq!(jitter_hint(theirs).unwrap(), format!("netem's '{theirs}' is {ours} here"));
            assert!(JitterText::parse(ours).is_ok(), "{ours}");
            let delay = delay_hint(&format!("100ms {theirs}")).unwrap();
            assert!(delay.ends_with(&format!("is delay 100ms and jitter {ours} here")), "{delay}");
        }
        assert!(delay_hint("100ms 10ms").unwrap().contains("jitter uniform:10ms:reorder=on:variant=netem"));
        assert!(loss_hint("state 1% 2%").unwrap().contains("gilbert-elliott"));
        assert_eq!(delay_hint("20 ms"), None);
        for text in ["5%", "often", ""] {
            assert_eq!((loss_hint(text), jitter_hint(text), delay_hint(text)), (None, None, None), "{text}");
        }
    }
}
