//! Delays as users name them: a constant, steps, or a file with a delay over time.

pub use super::extent::Extent;
use super::netem;
use super::programs::FileDelays;
use super::steps::{self, EVERY, FILE, REPEAT, SCALE};
use super::window::{self, FOR, FROM};
use super::{Digesting, FNV_BASIS, Format};
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_core::units::parse_span;
use qdelay_core::{Span, component};
use qdelay_path::{CURVES, Curve, REORDER};
use std::io::Read;

const FORMAT: Typed<Option<&str>> = window::FORMAT
    .about("a table's column, as in [csv:rtt:time=t:unit=us] (unit: ms, s, us, ns), or a program's output, as in irtt or [flent:series=[Ping (ms) ICMP]]; default: lines of text");
const OF: Typed<Option<&str>> = Typed::new(
    "of",
    "",
    "what the file has: one_way or round_trip delays; default: what the key is. A round trip has twice a one-way delay",
)
.unit(Unit::Choice(&["one_way", "round_trip"]));

static TRACE: Component = Component::new(
    Kind::Delay,
    "trace",
    "a delay over time from a file: in each line the ms of a slot, or seconds and ms; or a column of a table",
)
.source("LeoReplayer (SIGCOMM 2025) for slots")
.with(&[
    FILE.parameter(),
    EVERY.source("LeoReplayer").parameter(),
    FROM.parameter(),
    FOR.parameter(),
    REPEAT.parameter(),
    SCALE.parameter(),
    OF.parameter(),
    REORDER.parameter(),
    FORMAT.parameter(),
])
.positional("file");

/// Every delay over time.
pub fn components() -> Vec<&'static Component> {
    CURVES.iter().copied().chain([&TRACE]).collect()
}

/// A delay as written; a file is opened by a [`Library`](super::Library).
#[derive(Clone, Debug)]
pub enum Delay {
    /// The same for each packet.
    Constant(Span),
    /// Over time.
    Moving(Arguments),
}

/// A delay that can be used: its smallest value, and the curve if it moves.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltDelay {
    /// Smallest value.
    pub least: Span,
    /// The delay over time; `None` for a constant.
    pub curve: Option<Curve>,
}

impl Delay {
    /// Reads a delay: a time such as `20ms`, or one of [`components`].
    ///
    /// # Errors
    /// Neither; what was expected.
    pub fn parse(text: &str) -> Result<Delay, String> {
        if Delay::is_constant(text) {
            let span = parse_span(text).map(Delay::Constant);
            return span.map_err(|error| netem::delay_hint(text).unwrap_or(error.to_string()));
        }
        let components = components();
        let name = text.split(':').next().unwrap_or_default();
        if components.iter().all(|component| component.name != name) {
            let known = component::unknown(&components, name);
            return Err(format!("{known}; or a time such as 20ms"));
        }
        let arguments = Arguments::parse(&components, text).map_err(|error| error.message)?;
        check(&arguments)?;
        Ok(Delay::Moving(arguments))
    }

    /// Whether `text` is meant as a time: it begins like a number.
    pub(crate) fn is_constant(text: &str) -> bool {
        text.starts_with(|first: char| first.is_ascii_digit() || ['.', '-', '+'].contains(&first))
    }

    /// The constant delay; `None` if it moves.
    pub fn constant(&self) -> Option<Span> {
        match self {
            Delay::Constant(span) => Some(*span),
            Delay::Moving(_) => None,
        }
    }

    /// The delay as users write it.
    pub fn text(&self) -> String {
        match self {
            Delay::Constant(span) => span.to_string(),
            Delay::Moving(arguments) => arguments.typed().to_string(),
        }
    }
}

/// Checks what can be checked without the file.
pub(crate) fn check(arguments: &Arguments) -> Result<(), String> {
    match file(arguments)? {
        Some(_) => Contents::of_file(arguments).map(|_| ()),
        None => Curve::build(arguments).map(|_| ()).map_err(|error| error.message),
    }
}

/// Contents of a file of delays.
enum Contents {
    /// Lines of text.
    Lines,
    /// A column of a table, by the keys of its format.
    Table(Arguments),
    /// An output of a program.
    Output(Format),
}

impl Contents {
    /// The contents that the key `format` names.
    fn of_file(arguments: &Arguments) -> Result<Contents, String> {
        let table = arguments.get(&FORMAT).map(steps::table_format::<Span>).transpose()?.flatten();
        Ok(match (table, window::named_format(arguments, &FORMAT)) {
            (Some(columns), _) => Contents::Table(columns),
            (None, format) => format?.map_or(Contents::Lines, Contents::Output),
        })
    }
}

/// The file that a delay is read from; `None` for one without.
pub(super) fn file(arguments: &Arguments) -> Result<Option<&str>, String> {
    steps::file(arguments, &TRACE, "trace:delay.txt")
}

/// Reads the delay of a file, for a key that is the delay of `of`; returns the digest of the file too.
pub(super) fn read(arguments: &Arguments, of: Extent, input: &mut dyn Read) -> Result<(Curve, u64), String> {
    let (whole, digest, extent) = match Contents::of_file(arguments)? {
        Contents::Lines => {
            let (steps, digest) = steps::lines(arguments, input)?;
            (steps, digest, None)
        }
        Contents::Table(columns) => {
            let (steps, digest) = steps::table(&columns, input)?;
            (steps, digest, None)
        }
        Contents::Output(format) => {
            let mut input = Digesting { input, digest: FNV_BASIS };
            let FileDelays { steps, extent, .. } = format.delays(&mut input)?;
            (steps, input.digest, extent)
        }
    };
    let given = arguments.get(&OF).map(|of| if of == "one_way" { Extent::OneWay } else { Extent::RoundTrip });
    let factor = match (given.or(extent), of) {
        (Some(Extent::OneWay), Extent::RoundTrip) => 2.0,
        (Some(Extent::RoundTrip), Extent::OneWay) => 0.5,
        _ => 1.0,
    };
    let delays = steps::part(arguments, factor, &whole)?;
    Ok((Curve::new(delays, arguments.get(&REPEAT), arguments.get(&REORDER)), digest))
}

impl BuiltDelay {
    /// The part that does not move: all of a constant, nothing of a curve.
    pub fn constant(&self) -> Span {
        if self.curve.is_some() { Span::ZERO } else { self.least }
    }
    /// The delay as a round trip, which is never nothing: every exchange takes time.
    ///
    /// # Errors
    /// A round trip of less than 1 us at some time.
    pub fn round_trip(self) -> Result<BuiltDelay, String> {
        match self.least < Span::from_micros(1) {
            true => Err(format!(
                "a round trip of {} at some time; expected at least 1us at all times",
                self.least
            )),
            false => Ok(self),
        }
    }
}

impl From<Curve> for BuiltDelay {
    fn from(curve: Curve) -> BuiltDelay {
        BuiltDelay { least: curve.steps().least(), curve: Some(curve) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_steps_and_files_are_told_apart() {
        assert_eq!(Delay::parse("20ms").unwrap().constant(), Some(Span::from_millis(20)));
        for text in ["steps:0s@20ms+5s@60ms", "trace:delay.txt:every=1ms:of=one_way"] {
            assert_eq!(Delay::parse(text).unwrap().text(), text);
        }
        let error = |text: &str| Delay::parse(text).unwrap_err();
        assert!(error("20").contains("unit"), "{}", error("20"));
        assert!(error("slow").contains("known: steps, trace") && error("slow").contains("20ms"));
        assert!(error("trace").contains("trace:delay.txt"));
        assert!(error("steps:0s").contains("5s@60ms"));
        assert!(error("trace:a:every=0").contains("every"));
    }
}
