//! Contents of a file as text: unpacked, in UTF-8, and of a Parquet file the table. Everything that reads a file of a trace, of delays or
//! of a channel reads it from here.

use super::opening::Opening;
use super::{packed, utf16};
use qdelay_trace::TraceError;
use std::io::{self, Read};

/// The text of a file.
pub(super) struct Contents<'a> {
    text: Box<dyn Read + 'a>,
    /// True if the lines are rows of a file that has none.
    has_rows: bool,
}

impl<'a> Contents<'a> {
    /// Begins to read a file.
    ///
    /// # Errors
    /// The file cannot be read, or not as text.
    pub fn of_file(input: &'a mut dyn Read) -> io::Result<Contents<'a>> {
        let opening = Opening::read(packed::unpacked(input)?)?;
        #[cfg(feature = "engine")]
        if opening.begins_with(super::parquet::BEGINNING) {
            return Ok(Contents { text: super::parquet::text(opening)?, has_rows: true });
        }
        Ok(Contents { text: utf16::decoded(opening)?, has_rows: false })
    }

    /// An error of a parser, with the row of a file without lines in place of the line of its text.
    pub fn explain(&self, error: &TraceError) -> String {
        match (self.has_rows, error.line) {
            (true, 1) => error.problem.to_string(),
            (true, line @ 2..) => format!("row {}: {}", line - 1, error.problem),
            _ => error.to_string(),
        }
    }
}

impl Read for Contents<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.text.read(buffer)
    }
}
