//! The scenarios that are built in. They stand in the folder `scenarios` of this crate.

use crate::scenario::fault::near;

macro_rules! scenarios {
    ($($name:literal),* $(,)?) => {
        /// Name and TOML text of each, in the order they are listed.
        pub static SCENARIOS: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../scenarios/", $name, ".toml")))),*];
    };
}

// A file `scenarios/a/b.toml` is the line "a/b" here; a test finds those that are missing.
scenarios! {
    "5g/bulk-delay",
    "5g/bulk-delay-nr",
    "5g/bulk-delay-region",
    "5g/emulator-1",
    "5g/emulator-1-bytes",
    "5g/emulator-1-intervals",
    "5g/emulator-1-two",
    "5g/emulator-2",
    "5g/feedback",
    "5g/strict-priority",
    "5g/testbed-calls",
    "5g/testbed-drives",
    "5g/testbed-mcs28",
    "abe/cell",
    "abe/cellular",
    "abe/control",
    "abe/fig1",
    "abe/fig4",
    "abe/fig6",
    "abe/fig7",
    "abe/fig8",
    "abe/fig9-caption",
    "abe/fig9-text",
    "abe/hops",
    "bode/bound",
    "bode/buffer",
    "bode/buffer-cellular",
    "bode/fig7",
    "bode/fig7-wide",
    "bode/fig10",
    "bode/fig10-tuning",
    "bode/fig11",
    "demo/cell",
    "demo/first",
    "demo/mixed-classes",
    "demo/rate-step",
    "demo/seeds",
    "eqp/fig12",
    "eqp/fig12-aligned",
    "eqp/fig14",
    "eqp/fig14-aligned",
    "eqp/fig15",
    "eqp/fig17",
    "eqp/scheduler",
    "rd/exp1",
    "rd/exp2",
    "rd/exp2-published",
    "rd/exp2-tables",
    "rd/exp3-audio",
    "rd/exp3-video",
    "rd/honest",
    "lying/bearers",
    "lying/link",
    "lying/loads",
    "lying/rtt",
    "lying/rtt-trace",
    "lying/trace",
    "lying/unresponsive",
}

/// The text of the scenario called `name`, with or without the ending `.toml`.
pub fn find(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    SCENARIOS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The name that is meant where no scenario is called `name`: one that differs little, or ends like it.
pub fn suggest(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let names = || SCENARIOS.iter().map(|(known, _)| *known);
    let last = |known: &'static str| known.rsplit('/').next().unwrap_or(known);
    near(name, names()).or_else(|| names().find(|known| last(known) == name)).or_else(|| {
        near(name, names().map(last)).and_then(|close| names().find(|known| last(known) == close))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_near_misses() {
        assert!(find("demo/first").is_some() && find("demo/first.toml").is_some());
        assert!(find("first").is_none() && find("").is_none());
        assert_eq!(suggest("demo/frist"), Some("demo/first"));
        assert_eq!(suggest("first"), Some("demo/first"));
        assert_eq!(suggest("seed"), Some("demo/seeds"));
        assert_eq!(suggest("nothing-like-it"), None);
    }
}
