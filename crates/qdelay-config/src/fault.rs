//! A mistake in a file, with its line.

use crate::error::InputError;
pub use qdelay_core::component::{near, suggestion};
use std::fmt::Display;

/// Something wrong with a scenario. Line 0: with the file as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Counted from 1.
    pub line: u32,
    /// Key, value, the mistake and what was expected.
    pub message: String,
}

impl Fault {
    /// In `line`, about `key`.
    pub fn new(line: u32, key: impl Display, message: impl Display) -> Fault {
        Fault { line, message: format!("{key}: {message}") }
    }

    /// As an error of the file `place`.
    pub fn of(self, place: &str) -> InputError {
        // Texts of users may contain line ends; an error is one line.
        let message = self.message.replace(['\n', '\r'], " ");
        match self.line {
            0 => InputError::new(place, message),
            line => InputError::new(place, format!("line {line}: {message}")),
        }
    }
}

/// `key`, which no table has here: names those that it has.
pub fn unknown(line: u32, key: impl Display, wrong: &str, known: &[&str]) -> Fault {
    let hint = suggestion(wrong, known.iter().copied());
    Fault::new(line, key, format!("unknown key; expected one of {}{hint}", known.join(", ")))
}
