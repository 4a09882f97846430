//! Formats of lines: cuts chunks of bytes into lines. Only a line that is cut by a chunk's end is stored, up
//! to a limit.

use crate::error::{Problem, TraceError};
use crate::format::BYTE_ORDER_MARK;
use alloc::vec::Vec;

/// The interpretation of the lines of a format, one after the other.
pub trait Body {
    /// Result of all lines.
    type Trace;
    /// Longest accepted line in bytes, without its end.
    const LINE_BYTES_MAX: usize;

    /// Reads line `number`, from 1, without its end.
    ///
    /// # Errors
    /// The line is invalid, alone or after those before it.
    fn read_line(&mut self, number: u64, line: &[u8]) -> Result<(), TraceError>;

    /// Ends the file; `line` is the number of the last line, 1 if there were none.
    ///
    /// # Errors
    /// The file ends too early.
    fn finish(self, line: u64) -> Result<Self::Trace, TraceError>;
}

/// Reads a format of lines from chunks of bytes that may end anywhere.
#[derive(Clone, Debug)]
pub struct LineParser<B> {
    lines: Lines,
    body: B,
}

impl<B: Body> LineParser<B> {
    pub(crate) const fn with_body(body: B) -> LineParser<B> {
        LineParser { lines: Lines::new(B::LINE_BYTES_MAX), body }
    }

    /// Reads the next bytes of the file.
    ///
    /// # Errors
    /// A line that is too long, or that the format refuses. Every call after an error gives the same error.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), TraceError> {
        let body = &mut self.body;
        self.lines.feed(chunk, |number, line| body.read_line(number, line))
    }

    /// Ends the file and returns the trace. The last line may lack its end.
    ///
    /// # Errors
    /// Errors of [`LineParser::feed`]; a file that ends too early.
    pub fn finish(mut self) -> Result<B::Trace, TraceError> {
        let body = &mut self.body;
        self.lines.finish(|number, line| body.read_line(number, line))?;
        self.body.finish(self.lines.done().max(1))
    }

    /// Reads a complete file in memory.
    pub(crate) fn whole(mut self, text: &[u8]) -> Result<B::Trace, TraceError> {
        self.feed(text)?;
        self.finish()
    }
}

impl<B: Body + Default> LineParser<B> {
    /// A reader with the largest limits.
    pub fn new() -> LineParser<B> {
        LineParser::default()
    }
}

impl<B: Body + Default> Default for LineParser<B> {
    fn default() -> LineParser<B> {
        LineParser::with_body(B::default())
    }
}

/// The state between two chunks.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    partial: Vec<u8>,
    /// Number of lines that have ended.
    done: u64,
    longest: usize,
    failed: Option<TraceError>,
}

impl Lines {
    /// A cutter of lines of at most `longest` bytes.
    pub(crate) const fn new(longest: usize) -> Lines {
        Lines { partial: Vec::new(), done: 0, longest, failed: None }
    }
    /// Number of the last line that has ended, from 1; 0 before the first.
    pub(crate) const fn done(&self) -> u64 {
        self.done
    }

    /// Passes each line that ends in `chunk` to `take`, without its end (`\n` or `\r\n`), with its number.
    /// After an error every further call gives the same error.
    pub(crate) fn feed(
        &mut self,
        mut chunk: &[u8],
        mut take: impl FnMut(u64, &[u8]) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        self.check()?;
        while let Some(end) = chunk.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = (&chunk[..end], &chunk[end + 1..]);
            let result = if self.partial.is_empty() {
                self.end(line, &mut take)
            } else {
                self.keep(line).and_then(|()| self.end_partial(&mut take))
            };
            self.note(result)?;
            chunk = rest;
        }
        let result = self.keep(chunk);
        self.note(result)
    }

    /// Passes the last line, which may lack its end.
    pub(crate) fn finish(
        &mut self,
        mut take: impl FnMut(u64, &[u8]) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        self.check()?;
        if self.partial.is_empty() { Ok(()) } else { self.end_partial(&mut take) }
    }

    fn check(&self) -> Result<(), TraceError> {
        self.failed.clone().map_or(Ok(()), Err)
    }
    fn note(&mut self, result: Result<(), TraceError>) -> Result<(), TraceError> {
        if let Err(error) = &result {
            self.failed = Some(error.clone());
        }
        result
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        if self.partial.len() + bytes.len() > self.longest {
            return Err(TraceError::in_line(self.done + 1, Problem::LongLine(self.longest)));
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }
    fn end_partial(
        &mut self,
        take: &mut impl FnMut(u64, &[u8]) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let line = core::mem::take(&mut self.partial);
        let result = self.end(&line, take);
        self.partial = line;
        self.partial.clear();
        result
    }
    fn end(
        &mut self,
        line: &[u8],
        take: &mut impl FnMut(u64, &[u8]) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        self.done += 1;
        if line.len() > self.longest {
            return Err(TraceError::in_line(self.done, Problem::LongLine(self.longest)));
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let is_first = self.done == 1;
        take(self.done, if is_first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn lines(chunks: &[&[u8]]) -> Result<Vec<(u64, Vec<u8>)>, TraceError> {
        let (mut lines, mut found) = (Lines::new(4), vec![]);
        let mut take = |number, line: &[u8]| {
            found.push((number, line.to_vec()));
            Ok(())
        };
        chunks.iter().try_for_each(|chunk| lines.feed(chunk, &mut take))?;
        lines.finish(&mut take)?;
        Ok(found)
    }

    #[test]
    fn the_result_does_not_depend_on_the_ends_of_chunks() {
        let text = b"1\r\n\n22\n333";
        let whole = lines(&[text]).unwrap();
        assert_eq!(whole.len(), 4);
        for i in 0..=text.len() {
            for j in i..=text.len() {
                assert_eq!(lines(&[&text[..i], &text[i..j], &text[j..]]).unwrap(), whole);
            }
        }
    }

    #[test]
    fn long_lines_are_refused_with_or_without_an_end() {
        for text in [&b"1\n12345\n"[..], b"1\n12345", b"1\n1234567"] {
            for i in 0..=text.len() {
                let error = lines(&[&text[..i], &text[i..]]).unwrap_err();
                assert_eq!(error, TraceError::in_line(2, Problem::LongLine(4)));
            }
        }
    }
}
