//! Window and scale of a trace: `NAME:from=60s:for=120s:scale=0.5`.

use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Typed};
use qdelay_trace::format::Trace;
use std::path::Path;

pub(super) const FROM: Typed<Span> = Typed::new("from", "0s", "Start of the window in the trace.");
pub(super) const FOR: Typed<Option<Span>> =
    Typed::new("for", "", "Length of the window; default: to the end of the trace.");
pub(super) const SCALE: Typed<f64> =
    Typed::new("scale", "1", "Factor on the capacity of the trace.").within("0.001", "1000");

/// Parameters that may follow the name of a trace.
pub static COMPONENT: Component = Component::new(
    Kind::Format,
    "trace",
    "a window of a trace, or its capacity scaled: NAME:from=60s:for=120s",
)
.with(&[FROM.parameter(), FOR.parameter(), SCALE.parameter()]);

/// The window of a trace; by default the whole trace.
#[derive(Clone, Debug, Default)]
pub struct Window(Option<Arguments>);

impl Window {
    /// Splits `text` into the file or name, and its window. Text that is the name of an existing file has no window.
    ///
    /// # Errors
    /// An unknown parameter, or a value out of range.
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
                Ok((&text[..end], Window(Some(arguments.map_err(|error| error.to_string())?))))
            }
            _ => Ok((text, Window::default())),
        }
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
        ] {
            assert_eq!(Window::split(text).unwrap().0, name, "{text}");
        }
        let error = Window::split("a:form=1s").unwrap_err();
        assert!(error.contains("form") && error.contains("from"), "{error}");
        assert!(Window::split("a:scale=0").is_err());
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
