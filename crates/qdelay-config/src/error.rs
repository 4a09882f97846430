//! A mistake of the input: one line that names the place, the mistake and what was expected.

use std::fmt;

/// Bad input at a place: a file, an option.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputError {
    /// The file or option; may be empty if the caller adds it.
    pub place: String,
    /// The line or key, the mistake and what was expected.
    pub message: String,
}

impl InputError {
    /// Bad input at `place`.
    pub fn new(place: impl fmt::Display, message: impl fmt::Display) -> InputError {
        InputError { place: place.to_string(), message: message.to_string() }
    }

    /// The same with `outer` in front of its place: an option in front of the file it names.
    #[must_use]
    pub fn at(self, outer: &str) -> InputError {
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
