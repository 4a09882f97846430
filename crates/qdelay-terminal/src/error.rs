//! How the command fails: one line on standard error and an exit status.

use qdelay_study::InputError;
use qdelay_study::engine::EngineError;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Why the command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// What the user gave cannot be used; exit status 2.
    Input {
        /// The file or option.
        place: String,
        /// The line or key, what was wrong and what was expected.
        message: String,
    },
    /// An expectation or an audit failed; exit status 1.
    Check(String),
    /// A command that was run for the user ended with this status, which is ours; it has said why itself.
    Status(u8),
}

impl Failure {
    /// Bad input at `place`: a file or an option.
    pub fn input(place: impl Display, message: impl Display) -> Failure {
        Failure::Input { place: place.to_string(), message: message.to_string() }
    }

    /// Prints the one line, and returns the status to exit with.
    pub fn report(&self) -> ExitCode {
        let (line, status) = match self {
            Failure::Input { place, message } if place.is_empty() => (message.clone(), 2),
            Failure::Input { place, message } => (format!("{place}: {message}"), 2),
            Failure::Check(message) => (message.clone(), 1),
            Failure::Status(status) => return ExitCode::from(*status),
        };
        // Nobody is left to tell where standard error is gone too.
        let _ = writeln!(std::io::stderr(), "qdelay: {}", shown(&line));
        ExitCode::from(status)
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Failure {
        Failure::Input { place: error.place, message: error.message }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        match error {
            EngineError::Input(error) => error.into(),
            EngineError::Audit(message) => Failure::Check(message),
        }
    }
}

/// Most characters of a message: the longest of our own lists every shipped scenario.
const SHOWN: usize = 4000;

/// File names and typed values may hold anything; a message is one line whatever they hold.
pub fn one_line(text: &str) -> String {
    escaped(text, |_| false)
}

/// As [`one_line`], of several lines.
pub fn lines(text: &str) -> String {
    escaped(text, |c| c == '\n' || c == '\t')
}

/// As [`one_line`], and without the middle of what is too long to be read: what is wrong stands at one end of a message or
/// at the other.
pub fn shown(text: &str) -> String {
    let count = text.chars().count();
    if count <= SHOWN {
        return one_line(text);
    }
    let half = SHOWN / 2;
    let begin: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{}[... {} characters ...]{}", one_line(&begin), count - 2 * half, one_line(&end))
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if (c.is_control() && !is_kept(c)) || turns(c) {
            // Beyond ASCII this is `\u{...}` for any character.
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// Whether `c` changes the direction of what follows: a name would be shown as another one.
fn turns(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_whatever_was_typed() {
        assert_eq!(one_line("a\nb\u{1b}[1m"), "a\\nb\\u{1b}[1m");
        assert_eq!(one_line("a\u{9b}b\u{202e}c"), "a\\u{9b}b\\u{202e}c");
        assert_eq!(lines("a\n\tb\r\u{1b}[1m"), "a\n\tb\\r\\u{1b}[1m");
    }

    #[test]
    fn what_is_too_long_is_cut_in_the_middle() {
        let long = format!("file: '{}': expected a number", "\u{1b}x".repeat(1_000_000));
        let shown = shown(&long);
        assert!(shown.starts_with("file: '\\u{1b}x") && shown.ends_with("x': expected a number"), "{shown}");
        assert!(shown.len() < 20_000 && shown.contains("[... 1996027 characters ...]"), "{}", shown.len());
        let all = "a".repeat(SHOWN);
        assert_eq!(super::shown(&all), all);
    }
}
