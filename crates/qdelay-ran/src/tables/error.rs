//! What is wrong with a carrier.

use core::fmt;

/// A number that the standard does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableError {
    /// What it is no valid number of.
    pub what: &'static str,
    /// The number.
    pub found: u64,
    /// What is accepted.
    pub expected: &'static str,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is no {}; expected {}", self.found, self.what, self.expected)
    }
}
impl core::error::Error for TableError {}
