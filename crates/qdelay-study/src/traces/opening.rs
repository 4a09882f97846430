//! The first bytes of an input, which tell what it is; they are read again with the rest.

use super::fill;
use std::io::{self, Read};

/// Number of bytes that are looked at.
const BYTES: usize = 4;

/// An input with its first bytes.
pub(super) struct Opening<'a> {
    bytes: [u8; BYTES],
    filled: usize,
    /// Number of the first bytes that have been read again.
    given: usize,
    rest: Box<dyn Read + 'a>,
}

impl<'a> Opening<'a> {
    /// Reads the first bytes of `input`.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn read(input: impl Read + 'a) -> io::Result<Opening<'a>> {
        let mut rest: Box<dyn Read + 'a> = Box::new(input);
        let mut bytes = [0; BYTES];
        let filled = fill(&mut rest, &mut bytes)?;
        Ok(Opening { bytes, filled, given: 0, rest })
    }
    /// True if the input begins with `beginning`.
    pub fn begins_with(&self, beginning: &[u8]) -> bool {
        self.bytes[..self.filled].starts_with(beginning)
    }
}

impl Read for Opening<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = &self.bytes[self.given..self.filled];
        if left.is_empty() {
            return self.rest.read(buffer);
        }
        let n = left.len().min(buffer.len());
        buffer[..n].copy_from_slice(&left[..n]);
        self.given += n;
        Ok(n)
    }
}
