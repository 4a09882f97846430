//! Errors of a command: one line on standard error and an exit status.

use qdelay_study::InputError;
#[cfg(target_os = "linux")]
use qdelay_study::engine::EngineError;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Reason why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// Invalid input by the user; exit status 2.
    Input {
        /// File or option that the error concerns.
        place: String,
        /// Message with the line or key, the error, and what was expected.
        message: String,
    },
    /// An expectation or an audit failed; exit status 1.
    Check(String),
    /// A program that was run for the user ended with this status, which becomes our exit status. The program has reported its error itself.
    Status(u8),
}

impl Failure {
    /// Creates an input error at `place`: a file or an option.
    pub fn input(place: impl Display, message: impl Display) -> Failure {
        Failure::Input { place: place.to_string(), message: message.to_string() }
    }

    /// Prints the error in one line, and returns the exit status.
    pub fn report(&self) -> ExitCode {
        ExitCode::from(self.report_status())
    }

    /// Prints the error as [`Failure::report`] does, and returns the status as a number.
    pub fn report_status(&self) -> u8 {
        let (line, status) = match self {
            Failure::Input { place, message } if place.is_empty() => (message.clone(), 2),
            Failure::Input { place, message } => (format!("{place}: {message}"), 2),
            Failure::Check(message) => (message.clone(), 1),
            Failure::Status(status) => return *status,
        };
        // If writing to standard error fails, too, the error cannot be reported.
        let _ = writeln!(std::io::stderr(), "qdelay: {}", shown(&line));
        status
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Failure {
        Failure::Input { place: error.place, message: error.message }
    }
}

#[cfg(target_os = "linux")]
impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        match error {
            EngineError::Input(error) => error.into(),
            EngineError::Audit(message) | EngineError::Stopped(message) => Failure::Check(message),
        }
    }
}

/// Maximum length of a message in characters: the longest message lists every shipped scenario.
const SHOWN: usize = 4000;

/// Escapes control characters, so that a message is one line whatever file names and users' values contain.
pub fn one_line(text: &str) -> String {
    escaped(text, |_| false)
}

/// Escapes control characters except line breaks and tabs.
pub fn lines(text: &str) -> String {
    escaped(text, |c| c == '\n' || c == '\t')
}

/// Escapes as [`one_line`] does, and omits the middle of very long messages, because the error is at one end of a message.
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
            // Characters beyond ASCII become `\u{...}`.
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// True if `c` changes the text direction, which could make a name look like another one.
fn turns(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(one_line("a\nb\u{1b}[1m"), "a\\nb\\u{1b}[1m");
        assert_eq!(one_line("a\u{9b}b\u{202e}c"), "a\\u{9b}b\\u{202e}c");
        assert_eq!(lines("a\n\tb\r\u{1b}[1m"), "a\n\tb\\r\\u{1b}[1m");
    }

    #[test]
    fn long_messages_lose_their_middle() {
        let long = format!("file: '{}': expected a number", "\u{1b}x".repeat(1_000_000));
        let shown = shown(&long);
        assert!(shown.starts_with("file: '\\u{1b}x") && shown.ends_with("x': expected a number"), "{shown}");
        assert!(shown.len() < 20_000 && shown.contains("[... 1996027 characters ...]"), "{}", shown.len());
        let all = "a".repeat(SHOWN);
        assert_eq!(super::shown(&all), all);
    }
}
