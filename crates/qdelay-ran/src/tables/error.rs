//! Errors of a carrier.

use core::fmt;

/// A number that the standard does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableError {
    /// Name of the number.
    pub what: &'static str,
    /// The number.
    pub found: u64,
    /// Accepted values.
    pub expected: &'static str,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a valid {}; expected {}", self.found, self.what, self.expected)
    }
}
impl core::error::Error for TableError {}
