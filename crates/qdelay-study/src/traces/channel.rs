//! Channels that are in files: CQIs of drive tests, capacities, and the traces of links.

use super::{CHUNK_BYTES, Digesting, FNV_BASIS, Format, Trace, fill, read_with_digest, unreadable};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Parameter, Unit};
use qdelay_ran::radio::{Capacity, Channel, CqiTrace, Opportunities, Rates};
use qdelay_ran::tables::CqiToMcs;
use qdelay_trace::capacity::Tie;
use qdelay_trace::{Gap, TraceError, capacity, cqi};
use std::io::Read;

const fn parameter(name: &'static str, unit: Unit, default: &'static str, about: &'static str) -> Parameter {
    Parameter { name, unit, default, min: "", max: "", about, source: "" }
}

const FILE: Parameter = parameter("file", Unit::Text, "", "Where it is, looked for as traces are; required.");
const FROM: Parameter = parameter("from", Unit::Span, "0s", "Where in it to begin.");
const FOR: Parameter = parameter("for", Unit::Span, "", "How much of it; to its end where it is not given.");
const REPEAT: Parameter = parameter(
    "repeat",
    Unit::Switch,
    "on",
    "Whether it starts over at its end; else nothing is received after it.",
);

static CQI_TRACE: Component = Component {
    kind: Kind::Channel,
    name: "cqi-trace",
    about: "the channel quality indicator of a drive test, as G-NetTrack writes it",
    source: "the 4G and 5G datasets of UCC (Raca et al., MMSys 2018 and 2020)",
    parameters: &[
        FILE,
        FROM,
        FOR,
        REPEAT,
        parameter(
            "outage",
            Unit::Span,
            "",
            "Nothing is received from this long after the last CQI on until the next; the channel stays as it was where it is not given.",
        ),
        parameter(
            "mapping",
            Unit::Choice(&["usual", "oai", "thesis", "efficiency"]),
            "usual",
            "Which MCS a CQI stands for; usual: oai on LTE, efficiency on NR.",
        ),
    ],
    positional: Some("file"),
};
static CAPACITY: Component = Component {
    kind: Kind::Channel,
    name: "capacity",
    about: "packets of 1500 bytes in each tick of 10 ms, a value for every second",
    source: "the emulator of the 5G QoS thesis",
    parameters: &[
        FILE,
        FROM,
        FOR,
        REPEAT,
        parameter(
            "spread",
            Unit::Switch,
            "off",
            "Whether the bytes of a tick are spread over its TTIs; else the TTI in which it begins has them all.",
        ),
        parameter(
            "cqi",
            Unit::Choice(&["none", "lowest", "highest"]),
            "none",
            "In place of packets, the CQIs that the values were made from, with the lowest or the highest of those that make the same value, and the MCS that the emulator gave each.",
        ),
    ],
    positional: Some("file"),
};
static TRACE: Component = Component {
    kind: Kind::Channel,
    name: "trace",
    about: "the trace of a link: each TTI carries what the link would have",
    source: "",
    parameters: &[parameter("name", Unit::Text, "", "The name of the trace; required."), REPEAT],
    positional: Some("name"),
};

/// The channels that are in files.
pub static CHANNELS: &[&Component] = &[&CQI_TRACE, &CAPACITY, &TRACE];

/// The file that a channel of [`CHANNELS`] is in.
///
/// # Errors
/// None is named.
pub fn file(arguments: &Arguments) -> Result<&str, String> {
    let (key, example) = if arguments.component().name == TRACE.name {
        ("name", "trace:synth-lte-driving")
    } else {
        ("file", "capacity:packets.txt")
    };
    arguments.text(key).ok_or_else(|| format!("no {key}; expected one, such as {example}"))
}

/// Reads the channel that `arguments` describe from its file; its digest too.
///
/// # Errors
/// What is wrong with the file, and what was expected.
pub fn read(arguments: &Arguments, input: &mut dyn Read) -> Result<(Channel, u64), String> {
    let repeat = arguments.switch("repeat") != Some(false);
    let name = arguments.component().name;
    if name == TRACE.name {
        let (trace, digest) = read_with_digest(input, &Format::Detect)?;
        return Ok((of_trace(trace, repeat), digest));
    }
    let (from, length) = (arguments.span("from").unwrap_or(Span::ZERO), arguments.span("for"));
    let fail = |error: TraceError| error.to_string();
    if name == CAPACITY.name {
        let mut parser = capacity::Parser::new();
        let digest = feed(input, |chunk| parser.feed(chunk))?;
        let whole = parser.finish().map_err(fail)?;
        let trace =
            whole.window(from, length.unwrap_or(whole.period().saturating_sub(from))).map_err(window)?;
        let tie = match arguments.text("cqi") {
            Some("lowest") => Some(Tie::Lowest),
            Some("highest") => Some(Tie::Highest),
            _ => None,
        };
        if let Some(tie) = tie {
            let (trace, mapping) = (trace.cqis(tie).map_err(fail)?, Some(CqiToMcs::ThesisEmulator));
            return Ok((Channel::CqiTrace(CqiTrace { trace, repeat, mapping }), digest));
        }
        let spread = arguments.switch("spread") == Some(true);
        return Ok((Channel::Capacity(Capacity { trace, spread, repeat }), digest));
    }
    let mut parser = cqi::Parser::with_gap(arguments.span("outage").map_or(Gap::Hold, Gap::OutageAfter));
    let digest = feed(input, |chunk| parser.feed(chunk))?;
    let whole = parser.finish().map_err(fail)?;
    let trace = whole.window(from, length.unwrap_or(whole.period().saturating_sub(from))).map_err(window)?;
    let mapping = match arguments.text("mapping") {
        Some("oai") => Some(CqiToMcs::Oai),
        Some("thesis") => Some(CqiToMcs::ThesisEmulator),
        Some("efficiency") => Some(CqiToMcs::Efficiency),
        _ => None,
    };
    Ok((Channel::CqiTrace(CqiTrace { trace, repeat, mapping }), digest))
}

/// The channel that the trace of a link makes.
pub fn of_trace(trace: Trace, repeat: bool) -> Channel {
    match trace {
        Trace::Schedule(trace) => Channel::Opportunities(Opportunities { trace, repeat }),
        Trace::Rates(trace) => Channel::Rates(Rates { trace, repeat }),
    }
}

/// A window has no line in the file.
fn window(error: TraceError) -> String {
    format!("from and for: {}", error.problem)
}

fn feed(input: &mut dyn Read, mut take: impl FnMut(&[u8]) -> Result<(), TraceError>) -> Result<u64, String> {
    let mut input = Digesting { input, digest: FNV_BASIS };
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let filled = fill(&mut input, &mut chunk).map_err(|error| unreadable(&error))?;
        if filled == 0 {
            return Ok(input.digest);
        }
        take(&chunk[..filled]).map_err(|error| error.to_string())?;
    }
}
