//! The notation of links: a plain rate, and the links of the registry. Traces are files; the code that opens a file makes a
//! [`TraceLink`](super::TraceLink).

use super::parameters::{BURST, OVERHEAD, RATE, fail};
use super::{AnyLink, LINKS, Line, Shaper};
use alloc::format;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use qdelay_core::units::parse_rate;

const MODEL: Typed<str> =
    Typed::new("model", "htb", "htb: a packet leaves at the start of its slot; line: with its last bit.")
        .unit(Unit::Choice(&["htb", "line"]));

pub(super) static CONSTANT: Component =
    Component::new(Kind::Link, "rate", "A constant rate; what a link that begins with a number means.")
        .with(&[RATE.parameter(), OVERHEAD.parameter(), MODEL.parameter(), BURST.parameter()])
        .positional("rate");

pub(super) const EXAMPLE: &str = "10mbit";

/// Whether `text` is meant as a rate, valid or not: `infinite`, or a number with nothing but a unit behind it, up to the first
/// colon (`10mbit:overhead=14`, `10mbt`, `10`). What else begins with a digit is a name, such as that of a file: `12.trace`,
/// `2018-lte`.
pub fn is_rate(text: &str) -> bool {
    let name = text.split(':').next().unwrap_or("");
    if parse_rate(name).is_ok() {
        return true;
    }
    let number_and_unit = name.strip_prefix(['+', '-']).unwrap_or(name);
    let unit = number_and_unit.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = number_and_unit.strip_suffix(unit).unwrap_or("");
    let is_number = number.ends_with(|c: char| c.is_ascii_digit());
    is_number && unit.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Reads a link as users write it: `10mbit:overhead=14`, `htb:10mbit:burst=3kb`, `steps:0s@6mbit+10s@0:repeat=20s`,
/// `uplink:sr=20ms`. A text that [`is_rate`] is the constant rate `rate`. Build it with [`AnyLink::build`].
///
/// # Errors
/// An unknown name or key, or a value that is not of its unit or range.
pub fn parse_link(text: &str) -> Result<Arguments, ComponentError> {
    if is_rate(text) {
        return Arguments::from_parts(&CONSTANT, text, text.split(':'))
            .map_err(|message| ComponentError::new(text, message));
    }
    Arguments::parse(LINKS, text)
}

/// The link of [`CONSTANT`], which is one of two.
pub(super) fn constant(arguments: &Arguments) -> Result<AnyLink, ComponentError> {
    let name = arguments.component().name;
    if name != CONSTANT.name {
        return Err(fail(arguments, format!("'{name}' is not a link")));
    }
    if arguments.get(&MODEL) != "line" {
        return Shaper::build(arguments).map(AnyLink::from);
    }
    let line = Line::build(arguments)?;
    match arguments.is_given(&BURST) {
        true => Err(fail(arguments, "a line has no burst; expected no burst, or model=htb")),
        false => Ok(line.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RateLink, Uplink};
    use super::*;
    use alloc::string::ToString;
    use qdelay_core::{Rate, Span, Time};
    use qdelay_trace::{RateStep, RateSteps};

    fn link(text: &str) -> Result<AnyLink, ComponentError> {
        AnyLink::build(&parse_link(text)?)
    }

    #[test]
    fn what_users_write() {
        let ten = Rate::from_bps(10_000_000);
        for text in ["10mbit:overhead=14", "htb:10mbit:overhead=14b", "rate:rate=10mbit:overhead=14"] {
            assert_eq!(link(text), Ok(Shaper::new(ten, 14, 1540).into()), "{text}");
        }
        for text in ["10mbit:model=line", "line:10mbit", "line:rate=10mbit"] {
            assert_eq!(link(text), Ok(Line::new(ten, 0).into()), "{text}");
        }
        assert_eq!(link("infinite:burst=3kb"), Ok(Shaper::new(Rate::INFINITE, 0, 3000).into()));
        let steps = [(0, 6_000_000), (10, 600_000)].map(|(second, bps)| RateStep {
            start: Time::ZERO + Span::from_secs(second),
            rate: Rate::from_bps(bps),
        });
        let rates = RateSteps::new(steps.to_vec(), Span::from_secs(20)).unwrap();
        let expected = RateLink::new(&rates, 4, true);
        assert_eq!(link("steps:0s@6mbit+10s@600kbit:repeat=20s:overhead=4"), Ok(expected.into()));
        let [request, grant, slot] = [10, 8, 1].map(Span::from_millis);
        let expected = Uplink::new(request, grant, slot, 500, 2).unwrap();
        assert_eq!(link("uplink:overhead=2:bytes=500"), Ok(expected.into()));
        assert_eq!(parse_link("10mbit:overhead=14").unwrap().typed(), "10mbit:overhead=14");
    }

    #[test]
    fn every_error_names_what_was_expected() {
        let message = |text| link(text).unwrap_err().to_string();
        assert!(message("wire:10mbit").contains("known: rate, htb"));
        assert!(message("uplink:sr=0s").contains("125us"), "{}", message("uplink:sr=0s"));
        assert!(message("uplink:bytes=0").contains("1b"));
        assert!(message("uplink:10mbit").contains("uplink"));
        assert!(message("htb").contains("such as 10mbit"));
        assert!(message("10").contains("such as 10mbit"));
        assert!(message("0").contains("at least 1bit"));
        assert!(message("10mbit:model=serial").contains("htb, line"));
        assert!(message("10mbit:model=line:burst=1540b").contains("no burst"));
        assert!(message("10mbit:overhead=70000").contains("0 to 65535b"));
        assert!(message("steps").contains("0s@6mbit"));
        assert!(message("steps:6mbit").contains("10s@600kbit"));
        assert!(message("steps:0s@6").contains("such as 10mbit"));
        assert!(message("steps:1s@6mbit").contains("time 0"));
        assert!(message("steps:0s@6mbit+2s@1mbit:repeat=1s").contains("begins before the trace ends"));
    }
}
