//! An error in the user's input: one line that names the place, the mistake and the expected input.

use std::fmt;

/// Invalid input in a file or an option.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputError {
    /// The file or option; empty if the caller adds it.
    pub place: String,
    /// Line or key, the mistake, and the expected input.
    pub message: String,
}

impl InputError {
    /// Creates the error for `place`.
    pub fn new(place: impl fmt::Display, message: impl fmt::Display) -> InputError {
        InputError { place: place.to_string(), message: message.to_string() }
    }

    /// Adds `outer` in front of the place, such as the option that names the file.
    #[must_use]
    pub fn within_option(self, outer: &str) -> InputError {
        let place = if self.place.is_empty() { outer.to_string() } else { format!("{outer} {}", self.place) };
        InputError { place, message: self.message }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.place, self.message)
        }
    }
}
impl std::error::Error for InputError {}
