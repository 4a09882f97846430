//! Window, scale, format and replay of a trace: `NAME:from=60s:for=120s:scale=0.5:format=[csv:rate:time=t]`.

use super::Format;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit, without_brackets};
use qdelay_trace::format::Trace;
use std::path::Path;

pub(super) const FROM: Typed<Span> = Typed::new("from", "0s", "Start of the window in the trace.");
pub(super) const FOR: Typed<Option<Span>> =
    Typed::new("for", "", "Length of the window; default: to the end of the trace.");
pub(super) const SCALE: Typed<f64> =
    Typed::new("scale", "1", "Factor on the capacity of the trace.").within("0.001", "1000");

pub(super) const FORMAT: Typed<Option<&str>> = Typed::new(
    "format",
    "",
    "Format of the file with its keys, in brackets, such as [csv:rate:time=t]; default: detected from the first line.",
);

pub(super) const BYTES: Typed<Option<u64>> = Typed::new(
    "bytes",
    "",
    "Bytes of an opportunity, 4 for the header of a TUN device included; default: 1504b, and 1400b with light.",
)
.unit(Unit::Bytes)
.within("1b", "65535b");
pub(super) const LIGHT: Typed<Option<&str>> = Typed::new(
    "light",
    "",
    "File of packet trains, recorded under light load at the same time: the trace is the heavy load of a replay of two.",
)
.source("CellReplay (NSDI 2025)");
pub(super) const SIZES: Typed<Option<&str>> =
    Typed::new("light_sizes", "", "File of delays by packet size, in addition to those of trains.")
        .source("CellReplay (NSDI 2025)");
pub(super) const PAUSE: Typed<Span> = Typed::new(
    "light_pause",
    "0s",
    "Time after the last packet of a train until a packet begins the next train.",
)
.source("CellReplay, --long-to-short-timer");
pub(super) const BEYOND: Typed<str> = Typed::new(
    "light_beyond",
    "recorded",
    "Delay of packets beyond the end of a train. recorded: the base delay, or the length of the train if that is longer; base: the base delay.",
)
.unit(Unit::Choice(&["recorded", "base"]))
.source("CellReplay");

/// Parameters that may follow the name of a trace.
pub static COMPONENT: Component = Component::new(
    Kind::Format,
    "trace",
    "a window of a trace, its capacity scaled, its format, or its replay: NAME:from=60s:for=120s:format=[csv:rate]",
)
.with(&[
    FROM.parameter(),
    FOR.parameter(),
    SCALE.parameter(),
    FORMAT.parameter(),
    BYTES.parameter(),
    LIGHT.parameter(),
    SIZES.parameter(),
    PAUSE.parameter(),
    BEYOND.parameter(),
]);

/// The window of a trace; by default the whole trace.
#[derive(Clone, Debug, Default)]
pub struct Window(Option<Arguments>);

impl Window {
    /// Splits `text` into the file or name, and its window. Text that is the name of an existing file has no window.
    ///
    /// # Errors
    /// An unknown parameter, a value out of range, or an invalid format.
    pub fn split(text: &str) -> Result<(&str, Window), String> {
        let is_key = |part: &str| {
            part.split_once('=').is_some_and(|(key, _)| {
                !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
            })
        };
        let mut ends = text.match_indices(':').map(|(at, _)| at);
        let end = ends.find(|at| is_key(text[at + 1..].split(':').next().unwrap_or_default()));
        match end {
            Some(end) if !Path::new(text).exists() => {
                let arguments =
                    Arguments::parse(&[&COMPONENT], &format!("{}{}", COMPONENT.name, &text[end..]));
                let arguments = arguments.map_err(|error| match text.contains(":format=") {
                    true => format!("{error}; expected the format in brackets, as in {FORMAT_EXAMPLE}"),
                    false => error.to_string(),
                })?;
                named_format(&arguments, &FORMAT)?;
                Ok((&text[..end], Window(Some(arguments))))
            }
            _ => Ok((text, Window::default())),
        }
    }

    /// The format in which to read the file: the one of the name, or else `other`, which an option or a key gives.
    ///
    /// # Errors
    /// Both are given.
    pub fn format_or(&self, other: &Format) -> Result<Format, String> {
        match self.0.as_ref().map(|arguments| named_format(arguments, &FORMAT)).transpose()?.flatten() {
            Some(_) if other.is_given() => Err(format!(
                "the name has a format and {} gives another; expected one of the two",
                other.option()
            )),
            Some(format) => Ok(format),
            None => Ok(other.clone()),
        }
    }

    /// The keys behind the name, if there are any.
    pub(super) fn arguments(&self) -> Option<&Arguments> {
        self.0.as_ref()
    }

    /// Cuts the window out of `trace`.
    ///
    /// # Errors
    /// The window does not lie within the trace, or nothing of the trace is left in it.
    pub fn cut(&self, trace: Trace) -> Result<Trace, String> {
        let Some(arguments) = &self.0 else { return Ok(trace) };
        let from = arguments.get(&FROM);
        let length = |period: Span| arguments.get(&FOR).unwrap_or(period.saturating_sub(from));
        let scale = arguments.get(&SCALE);
        let cut = match trace {
            Trace::Schedule(trace) => trace
                .window(from, length(trace.period()))
                .and_then(|trace| trace.scaled(scale))
                .map(Trace::Schedule),
            Trace::Rates(trace) => trace
                .window(from, length(trace.period()))
                .and_then(|trace| trace.scaled(scale))
                .map(Trace::Rates),
        };
        // The error has no line, because a window does not stand in the file.
        cut.map_err(|error| format!("{}: {}", arguments.typed(), error.problem))
    }
}

/// Example of [`FORMAT`], for messages.
const FORMAT_EXAMPLE: &str = "FILE:format=[csv:column=NAME]";

/// The format that `arguments` give.
pub(super) fn named_format(
    arguments: &Arguments,
    key: &Typed<Option<&'static str>>,
) -> Result<Option<Format>, String> {
    let Some(text) = arguments.get(key) else { return Ok(None) };
    Format::named(without_brackets(text)).map(Some).map_err(|error| format!("format: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_trace::ScheduleBuilder;

    fn trace() -> Trace {
        let mut builder = ScheduleBuilder::default();
        (1..=10).for_each(|ms| builder.push(ms * 100, 2).unwrap());
        Trace::Schedule(builder.finish().unwrap())
    }

    #[test]
    fn windows_follow_the_name() {
        for (text, name) in [
            ("a.trace", "a.trace"),
            ("a:b", "a:b"),
            ("a:from=1s", "a"),
            ("dir:x/a:scale=2:for=1s", "dir:x/a"),
            ("synth-subway:for=10s", "synth-subway"),
            ("a.csv:format=[csv:rate:time=t]", "a.csv"),
            ("a.csv:format=mbps:from=1s", "a.csv"),
            ("a.csv:from=1s:format=[csv:column=[DL: rate]:unit=kbit]:scale=2", "a.csv"),
        ] {
            assert_eq!(Window::split(text).unwrap().0, name, "{text}");
        }
        let error = Window::split("a:form=1s").unwrap_err();
        assert!(error.contains("form") && error.contains("from"), "{error}");
        assert!(Window::split("a:scale=0").is_err());
    }

    #[test]
    fn formats_follow_the_name() {
        let error = |text: &str| Window::split(text).unwrap_err();
        let brackets = "expected the format in brackets, as in FILE:format=[csv:column=NAME]";
        for bad in ["a:format=csv:rate", "a:format=csv:column=rate", "a:format=[csv:rate"] {
            assert!(error(bad).ends_with(brackets), "{}", error(bad));
        }
        assert_eq!(
            error("a:format=wav"),
            "format: 'wav': unknown format; expected mahimahi, mbps or csv:column=NAME; or an output of iperf3, irtt, flent, wireshark, \
             pensieve, puffer, alphartc"
        );
        let window = |text: &'static str| Window::split(text).unwrap().1;
        let other = Format::parse(Some("mbps")).unwrap();
        let twice = window("a:format=[csv:rate]").format_or(&other).unwrap_err();
        assert!(twice.contains("--trace-format") && twice.contains("expected one of the two"), "{twice}");
        assert!(window("a:for=1s").format_or(&other).unwrap().is_given());
        assert!(window("a:format=mbps").format_or(&Format::default()).unwrap().is_given());
        assert!(!window("a").format_or(&Format::default()).unwrap().is_given());
    }

    #[test]
    fn a_window_is_within_its_trace() {
        let cut = |text: &str| Window::split(text).unwrap().1.cut(trace());
        let Ok(Trace::Schedule(part)) = cut("a:from=200ms:for=300ms:scale=0.5") else { panic!() };
        assert_eq!((part.opportunities(), part.period_ms()), (3, 300));
        assert_eq!(cut("a:from=0s:scale=1"), Ok(trace()));
        assert!(cut("a").is_ok() && cut("a:from=900ms").is_ok());
        for bad in ["a:from=1s", "a:from=2s", "a:for=1001ms", "a:from=500us", "a:scale=0.001"] {
            let error = cut(bad).unwrap_err();
            assert!(error.contains("expected") || error.contains("no "), "{bad}: {error}");
        }
    }
}
