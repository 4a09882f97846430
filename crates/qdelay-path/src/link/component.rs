//! How users name links: the constant-rate ones, and rates in steps. Traces are files, which whoever opens them makes
//! into a [`TraceLink`](super::TraceLink).

use super::{AnyLink, Line, RateLink, Shaper, Uplink};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Parameter, Unit};
use qdelay_core::units::{parse_rate, parse_span};
use qdelay_core::{Span, Time};
use qdelay_trace::{RateStep, RateSteps};

const RATE: Parameter = Parameter {
    name: "rate",
    unit: Unit::Rate,
    default: "",
    min: "1bit",
    max: "",
    about: "Bits per second on the link; required.",
    source: "",
};
const OVERHEAD: Parameter = Parameter {
    name: "overhead",
    unit: Unit::Bytes,
    default: "0",
    min: "0",
    max: "65535b",
    about: "Bytes the link adds to each IP packet, such as 14 for Ethernet.",
    source: "",
};
const BURST: Parameter = Parameter {
    name: "burst",
    unit: Unit::Bytes,
    default: "1540b",
    min: "0",
    max: "",
    about: "What may leave at once after a pause: the cap of the token bucket.",
    source: "the kernel experiments this is compared with",
};
const MODEL: Parameter = Parameter {
    name: "model",
    unit: Unit::Choice(&["htb", "line"]),
    default: "htb",
    min: "",
    max: "",
    about: "htb: a packet leaves at the start of its slot; line: with its last bit.",
    source: "",
};
const PROFILE: Parameter = Parameter {
    name: "profile",
    unit: Unit::Text,
    default: "",
    min: "",
    max: "",
    about: "Rates and since when they hold, as in 0s@6mbit+10s@600kbit; required.",
    source: "",
};
const REPEAT: Parameter = Parameter {
    name: "repeat",
    unit: Unit::Span,
    default: "",
    min: "1us",
    max: "",
    about: "Start over after this long; the last rate holds for ever where it is not given.",
    source: "",
};
const REQUEST: Parameter = Parameter {
    name: "sr",
    unit: Unit::Span,
    default: "10ms",
    min: "125us",
    max: "1s",
    about: "Time between occasions of scheduling requests; the first is at 0.",
    source: "TS 36.213 table 10.1.5-1",
};
const GRANT: Parameter = Parameter {
    name: "grant",
    unit: Unit::Span,
    default: "8ms",
    min: "0s",
    max: "100ms",
    about: "From a scheduling request or buffer status report to the first transmission it causes.",
    source: "TS 36.213 section 8.0",
};
const SLOT: Parameter = Parameter {
    name: "slot",
    unit: Unit::Span,
    default: "1ms",
    min: "62500ns",
    max: "1s",
    about: "Time between slots; the first is at 0.",
    source: "TS 36.211 section 4.1",
};
const SLOT_BYTES: Parameter = Parameter {
    name: "bytes",
    unit: Unit::Bytes,
    default: "1000b",
    min: "1b",
    max: "1000000b",
    about: "What a slot carries.",
    source: "",
};

static CONSTANT: Component = Component {
    kind: Kind::Link,
    name: "rate",
    about: "A constant rate; what a link that begins with a number means.",
    source: "",
    parameters: &[RATE, OVERHEAD, MODEL, BURST],
    positional: Some("rate"),
};
static HTB: Component = Component {
    kind: Kind::Link,
    name: "htb",
    about: "A constant rate as a Linux shaper gives it: packets leave at the start of their slots.",
    source: "Linux net/sched/sch_htb.c",
    parameters: &[RATE, OVERHEAD, BURST],
    positional: Some("rate"),
};
static LINE: Component = Component {
    kind: Kind::Link,
    name: "line",
    about: "A constant rate as a serial line gives it: packets leave with their last bit.",
    source: "",
    parameters: &[RATE, OVERHEAD],
    positional: Some("rate"),
};
static STEPS: Component = Component {
    kind: Kind::Link,
    name: "steps",
    about: "A line whose rate changes in steps; zero is an outage.",
    source: "",
    parameters: &[PROFILE, OVERHEAD, REPEAT],
    positional: Some("profile"),
};
static UPLINK: Component = Component {
    kind: Kind::Link,
    name: "uplink",
    about: "The uplink of a UE: a packet that finds it idle waits for a scheduling request and a grant.",
    source: "TS 36.321 sections 5.4.3 to 5.4.5",
    parameters: &[REQUEST, GRANT, SLOT, SLOT_BYTES, OVERHEAD],
    positional: None,
};

/// The links that users can name.
pub static LINKS: &[&Component] = &[&CONSTANT, &HTB, &LINE, &STEPS, &UPLINK];

/// Whether `text` is meant as a rate, right or wrong: `infinite`, or a number with nothing but a unit behind it, up to the first
/// colon (`10mbit:overhead=14`, `10mbt`, `10`). What else begins with a digit is a name, such as that of a file: `12.trace`, `2018-lte`.
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

/// Reads a link as users write it: `10mbit:overhead=14`, `htb:10mbit:burst=3kb`, `steps:0s@6mbit+10s@0:repeat=20s`, `uplink:sr=20ms`. A text
/// that [`is_rate`] is the constant rate `rate`. Build it with [`AnyLink::build`].
///
/// # Errors
/// An unknown name or key, or a value that is not of its unit or range.
pub fn parse_link(text: &str) -> Result<Arguments, ComponentError> {
    if is_rate(text) {
        return Arguments::from_parts(&CONSTANT, text, text.split(':'))
            .map_err(|message| ComponentError { typed: text.to_string(), message });
    }
    Arguments::parse(LINKS, text)
}

impl AnyLink {
    /// The link that `arguments` of a component of [`LINKS`] describe.
    ///
    /// # Errors
    /// A required value that is missing, a profile that cannot be read, or a key the chosen model has no use for.
    pub fn build(arguments: &Arguments) -> Result<AnyLink, ComponentError> {
        build(arguments).map_err(|message| ComponentError { typed: arguments.typed().to_string(), message })
    }
}

fn build(arguments: &Arguments) -> Result<AnyLink, String> {
    // The declared range keeps it within 16 bits.
    let overhead = arguments.whole("overhead").unwrap_or(0) as u32;
    let name = arguments.component().name;
    if name == STEPS.name {
        return steps(arguments, overhead);
    }
    if name == UPLINK.name {
        return uplink(arguments, overhead);
    }
    let rate = arguments.rate("rate").ok_or("no rate; expected one such as 10mbit")?;
    let line = name == LINE.name || (name == CONSTANT.name && arguments.text("model") == Some("line"));
    if !line {
        let burst = arguments.whole("burst").unwrap_or(Shaper::BURST_BYTES);
        return Ok(Shaper::new(rate, overhead, burst).into());
    }
    if arguments.is_given("burst") {
        return Err("a line has no burst; expected no burst, or model=htb".to_string());
    }
    Ok(Line::new(rate, overhead).into())
}

fn uplink(arguments: &Arguments, overhead: u32) -> Result<AnyLink, String> {
    // The declared ranges keep them as they have to be; the defaults are there.
    let span = |name: &str| arguments.span(name).unwrap_or_default();
    let bytes = arguments.whole("bytes").and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or_default();
    let uplink = Uplink::new(span("sr"), span("grant"), span("slot"), bytes, overhead);
    Ok(uplink.ok_or("no slots; expected sr, slot and bytes above zero, and grant up to 10000 slots")?.into())
}

fn steps(arguments: &Arguments, overhead: u32) -> Result<AnyLink, String> {
    let profile = arguments.text("profile").ok_or("no profile; expected one such as 0s@6mbit+10s@600kbit")?;
    let mut steps = Vec::new();
    for part in profile.split('+') {
        let (start, rate) = part.split_once('@').ok_or_else(|| {
            format!("'{part}' is not a step; expected a time and a rate, such as 10s@600kbit")
        })?;
        let start = parse_span(start).map_err(|e| format!("in step '{part}': {e}"))?;
        let rate = parse_rate(rate).map_err(|e| format!("in step '{part}': {e}"))?;
        steps.push(RateStep { start: Time::ZERO + start, rate });
    }
    let last = steps.last().map_or(Time::ZERO, |step| step.start);
    let repeat = arguments.span("repeat");
    let period = repeat.unwrap_or(last.since(Time::ZERO) + Span::from_secs(1));
    let rates = RateSteps::new(steps, period).map_err(|e| format!("profile: {e}"))?;
    Ok(RateLink::new(&rates, overhead, repeat.is_some()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Rate;

    fn link(text: &str) -> Result<AnyLink, ComponentError> {
        AnyLink::build(&parse_link(text)?)
    }

    #[test]
    fn what_users_write() {
        let ten = Rate::from_bps(10_000_000);
        for text in ["10mbit:overhead=14", "htb:10mbit:overhead=14b", "rate:rate=10mbit:overhead=14"] {
            let AnyLink::Shaper(shaper) = link(text).unwrap() else { panic!("{text}") };
            assert_eq!((shaper.rate(), shaper.overhead_bytes(), shaper.burst_bytes()), (ten, 14, 1540));
        }
        for text in ["10mbit:model=line", "line:10mbit", "line:rate=10mbit"] {
            let AnyLink::Line(line) = link(text).unwrap() else { panic!("{text}") };
            assert_eq!((line.rate(), line.overhead_bytes()), (ten, 0));
        }
        let AnyLink::Shaper(shaper) = link("infinite:burst=3kb").unwrap() else { panic!() };
        assert_eq!((shaper.rate(), shaper.burst_bytes()), (Rate::INFINITE, 3000));
        assert!(matches!(link("steps:0s@6mbit+10s@600kbit:repeat=20s:overhead=4"), Ok(AnyLink::Rate(_))));
        let AnyLink::Uplink(uplink) = link("uplink:overhead=2:bytes=500").unwrap() else { panic!() };
        assert_eq!((uplink.slot_bytes(), uplink.overhead_bytes()), (500, 2));
        assert_eq!(parse_link("10mbit:overhead=14").unwrap().typed(), "10mbit:overhead=14");
    }

    #[test]
    fn every_error_names_what_was_expected() {
        let message = |text| link(text).unwrap_err().to_string();
        assert!(message("wire:10mbit").contains("known: rate, htb, line, steps, uplink"));
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
