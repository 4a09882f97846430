//! Errors as the exceptions of `qdelay/_errors.py`.

use pyo3::prelude::*;
use qdelay_study::InputError;
use qdelay_study::engine::EngineError;
use qdelay_terminal::error::{Failure, shown};

/// Error of the input: `place` is a file, a case, or an option of the command, written here as a keyword.
pub fn input(py: Python<'_>, place: &str, message: &str) -> PyErr {
    let place = place.strip_prefix("--").map_or_else(|| place.to_string(), keyword);
    let message = with_keywords(message);
    let (line, rest) = line_of(&message);
    exception(py, "InputError", (place, line, key_of(rest), shown(&message)))
}

/// Keyword of an option; any text after the option, such as a file name, stays unchanged.
fn keyword(option: &str) -> String {
    let (name, rest) = option.split_at(option.find(' ').unwrap_or(option.len()));
    match name {
        "seed" => format!("seeds{rest}"),
        "no-repeat" => format!("repeat{rest}"),
        _ => name.replace('-', "_") + rest,
    }
}

/// Options of the command that are keywords in Python, as spelled in its messages.
const OPTIONS: [&str; 14] = [
    "duration",
    "flows",
    "jitter",
    "limit",
    "link",
    "over",
    "rtt",
    "seed",
    "size",
    "trace",
    "trace-format",
    "traces",
    "uplink",
    "warmup",
];

/// Message of the command, with `--trace FILE` changed to `trace=FILE`.
fn with_keywords(message: &str) -> String {
    let mut parts = message.split("--");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end =
            part.find(|letter: char| !letter.is_ascii_lowercase() && letter != '-').unwrap_or(part.len());
        let (option, rest) = part.split_at(end);
        if OPTIONS.contains(&option) {
            let is_value = rest
                .strip_prefix(' ')
                .is_some_and(|value| value.starts_with(|letter: char| letter.is_ascii_uppercase()));
            text += &format!("{}={}", keyword(option), if is_value { &rest[1..] } else { rest });
        } else {
            text += &format!("--{part}");
        }
    }
    text
}

/// Error of the engine.
pub fn engine(py: Python<'_>, error: &EngineError) -> PyErr {
    match error {
        EngineError::Input(InputError { place, message, .. }) => input(py, place, message),
        EngineError::Stopped(message) => exception(py, "Error", (shown(message),)),
        EngineError::Audit(message) => exception(py, "AuditError", (shown(message),)),
    }
}

/// Error of the command's functions.
pub fn failure(py: Python<'_>, failure: &Failure) -> PyErr {
    match failure {
        Failure::Input { place, message } => input(py, place, message),
        Failure::Check(message) => exception(py, "AuditError", (shown(message),)),
        Failure::Status(status) => exception(py, "Error", (format!("ended with status {status}"),)),
    }
}

/// Failure of a component of Python: name, method, case, time in seconds, and the fault if nothing was raised.
pub fn component(
    py: Python<'_>,
    (component, method, case, now, message): (&str, &str, &str, f64, &str),
    cause: Option<PyErr>,
) -> PyErr {
    let message = match &cause {
        Some(cause) => format!("raised {cause}"),
        None => message.to_string(),
    };
    let error = exception(py, "ComponentError", (component, method, case, now, message));
    error.set_cause(py, cause);
    error
}

/// Error for a call of a component that has not returned in `limit_s` seconds.
pub fn time_limit(py: Python<'_>, case: &str, limit_s: f64) -> PyErr {
    exception(py, "TimeLimitError", (case, limit_s))
}

fn exception<'py>(py: Python<'py>, name: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let made = py.import("qdelay._errors").and_then(|errors| errors.getattr(name)?.call1(arguments));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// First line of `message`, and the rest.
fn line_of(message: &str) -> (Option<u32>, &str) {
    let parsed = message.strip_prefix("line ").and_then(|rest| {
        let (line, rest) = rest.split_once(": ")?;
        Some((line.parse().ok()?, rest))
    });
    parsed.map_or((None, message), |(line, rest)| (Some(line), rest))
}

/// Key at the beginning of `message`.
fn key_of(message: &str) -> Option<&str> {
    let (key, _) = message.split_once(": ")?;
    (!key.is_empty() && !key.contains([' ', '\''])).then_some(key)
}
