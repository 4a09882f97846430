//! Links as users name them: rates, links by name, and synthetic traces.

use qdelay_core::component::{Arguments, Component, ComponentError};
use qdelay_path::{AnyLink, LINKS, TraceLink};
use qdelay_trace::{Schedule, TraceError, synth};
use std::fmt::Display;

/// Makes a trace from arguments; the trace repeats without end.
type Maker = fn(&Arguments) -> Result<Schedule, TraceError>;

/// Registry of synthetic traces.
static MADE: &[(&Component, Maker)] =
    &[(&synth::COMPONENT, |arguments| synth::Synth::from_arguments(arguments).schedule())];

/// Every link that has a name.
pub fn components() -> Vec<&'static Component> {
    LINKS.iter().copied().chain(MADE.iter().map(|(component, _)| *component)).collect()
}

/// True if `text`, which may name a link or a trace, is meant as a link: a rate, even an invalid one, or the name of a link.
pub fn is_link(text: &str) -> bool {
    let name = text.split(':').next().unwrap_or("");
    qdelay_path::is_rate(text) || components().iter().any(|component| component.name == name)
}

/// The error for `text` as a link; if a trace is accepted as well, with the notation for a file of that name.
pub fn or_file(text: &str, error: &dyn Display) -> String {
    match qdelay_path::is_rate(text) && !text.contains(':') {
        true => format!("{error}; a file with a trace is given as ./{text}"),
        false => error.to_string(),
    }
}

/// Hint after the error of an unknown trace, where a link is accepted as well.
pub const OR_LINK: &str = "; or a link in its place, such as the rate 10mbit or steps:0s@6mbit+10s@1mbit";

/// Builds a link from its text: one of [`LINKS`], a plain rate such as `10mbit`, or a synthetic trace.
///
/// # Errors
/// The text does not match the declaration of the link.
pub fn parse(text: &str) -> Result<AnyLink, ComponentError> {
    if qdelay_path::is_rate(text) {
        return AnyLink::build(&qdelay_path::parse_link(text)?);
    }
    let arguments = Arguments::parse(&components(), text)?;
    let name = arguments.component().name;
    let Some((_, make)) = MADE.iter().find(|(component, _)| component.name == name) else {
        return AnyLink::build(&arguments);
    };
    let schedule = make(&arguments).map_err(|error| ComponentError::new(text, error.to_string()))?;
    Ok(TraceLink::new(&schedule, TraceLink::OVERHEAD_BYTES, true).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_path::LinkModel;

    #[test]
    fn rates_and_link_names_are_told_from_trace_names() {
        for link in [
            "10mbit",
            "10mbit:overhead=4",
            ".5mbit",
            "1.mbit",
            "10mbt",
            "10",
            "-5mbit",
            "3g",
            "infinite",
            "line:1mbit",
        ] {
            assert!(is_link(link), "{link}");
        }
        for trace in [
            "12.trace",
            "12.trace.up",
            "2018-lte",
            "4g-2",
            "./3g",
            "../1.up",
            "10mbit/s",
            "lines",
            ".",
            "",
            "x:1",
        ] {
            assert!(!is_link(trace), "{trace}");
        }
        assert!(or_file("3g", &"bad").ends_with("./3g") && !or_file("3g:x=1", &"bad").contains("./"));
    }

    #[test]
    fn links_and_synthetic_traces_are_built_from_text() {
        assert!(matches!(parse("10mbit:overhead=14"), Ok(AnyLink::Shaped(_))));
        assert!(parse("synth:subway:duration=2s:seed=3").unwrap().opportunities().is_some());
        assert!(parse("wire").unwrap_err().to_string().contains("known: rate, htb"));
        assert!(parse("synth:tube").unwrap_err().to_string().contains("expected one of"));
    }
}
