//! How the command fails: one line on standard error and an exit status.

use qdelay_experiment::InputError;
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
        let _ = writeln!(std::io::stderr(), "qdelay: {}", one_line(&line));
        ExitCode::from(status)
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Failure {
        Failure::Input { place: error.place, message: error.message }
    }
}

/// File names and typed values may hold anything; a message is one line whatever they hold.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_whatever_was_typed() {
        assert_eq!(one_line("a\nb\u{1b}[1m"), "a\\nb\\u{1b}[1m");
    }
}
