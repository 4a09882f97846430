//! Links as users name them: those of a path, and synthetic traces.

use qdelay_core::component::{Arguments, Component, ComponentError};
use qdelay_path::{AnyLink, LINKS, TraceLink};
use qdelay_trace::synth;

/// Every link that has a name.
pub fn components() -> Vec<&'static Component> {
    LINKS.iter().copied().chain([&synth::COMPONENT]).collect()
}

/// Reads a link: one of [`LINKS`], a plain rate such as `10mbit`, or a synthetic trace.
///
/// # Errors
/// What the link's declaration does not accept.
pub fn parse(text: &str) -> Result<AnyLink, ComponentError> {
    let name = text.split(':').next().unwrap_or("");
    if name == synth::COMPONENT.name {
        let arguments = Arguments::parse(&[&synth::COMPONENT], text)?;
        let schedule = synth::Synth::from_arguments(&arguments)
            .schedule()
            .map_err(|error| ComponentError { typed: text.to_string(), message: error.to_string() })?;
        return Ok(TraceLink::new(&schedule, TraceLink::OVERHEAD_BYTES, true).into());
    }
    if name.starts_with(|c: char| c.is_ascii_digit() || c == '.') || name == "infinite" {
        return AnyLink::build(&qdelay_path::parse_link(text)?);
    }
    AnyLink::build(&Arguments::parse(&components(), text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_synthetic_traces() {
        assert!(matches!(parse("10mbit:overhead=14"), Ok(AnyLink::Shaper(_))));
        assert!(matches!(parse("synth:subway:duration=2s:seed=3"), Ok(AnyLink::Trace(_))));
        assert!(
            parse("wire").unwrap_err().to_string().contains("known: rate, htb, line, steps, uplink, synth")
        );
        assert!(parse("synth:tube").unwrap_err().to_string().contains("expected one of"));
    }
}
