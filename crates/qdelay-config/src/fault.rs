//! A mistake in a configuration file, with its line.

use crate::error::InputError;
use crate::renamed::RenamedKey;
pub use qdelay_core::component::{near, suggestion};
use std::fmt::Display;

/// A mistake in a configuration file, such as a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line of the mistake, from 1; 0 if it concerns the whole file.
    pub line: u32,
    /// Key, value, the mistake, and the expected input.
    pub message: String,
}

impl Fault {
    /// Creates a fault of `key` in `line`.
    pub fn new(line: u32, key: impl Display, message: impl Display) -> Fault {
        Fault { line, message: format!("{key}: {message}") }
    }

    /// Converts the fault to an error of the file `place`.
    pub fn in_file(self, place: &str) -> InputError {
        // The user's text may contain line breaks; an error is one line.
        let message = self.message.replace(['\n', '\r'], " ");
        match self.line {
            0 => InputError::new(place, message),
            line => InputError::new(place, format!("line {line}: {message}")),
        }
    }
}

/// The fault of a key that the table does not have; the message names the new name of a renamed key, or lists the `known` keys.
pub fn unknown(line: u32, key: impl Display, wrong: &str, known: &[&str]) -> Fault {
    if let Some(renamed) = RenamedKey::find(wrong, known) {
        return Fault::new(line, key, renamed.message());
    }
    let hint = suggestion(wrong, known.iter().copied());
    Fault::new(line, key, format!("unknown key; expected one of {}{hint}", known.join(", ")))
}
