//! What a program prints, of which the last part is kept: a program may print without end.
//!
//! The program writes to a file in memory, so that it never waits for this one. A thread reads that file every few milliseconds, keeps its
//! end, and gives the memory of what it has read back.

use super::end::READY;
use crate::pause;
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Bytes that are kept: of a line with figures some kilobytes are common.
const KEPT: usize = 1 << 20;
/// A program that is ahead by more than this is faster than the reader, which then leaves out what is between.
const BEHIND_MAX: u64 = 16 << 20;
/// Memory goes back in whole pages, of at most so many bytes here.
const PAGE: u64 = 1 << 16;
/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

/// The output of a program, standard output or error.
pub struct Output {
    file: File,
    /// Bytes read so far.
    read: u64,
    /// The last of them, at most twice [`KEPT`].
    tail: Vec<u8>,
    is_ready: bool,
}

impl Output {
    /// # Errors
    /// No memory, or no descriptor.
    pub fn new() -> io::Result<Output> {
        let file = File::from(memfd_create("qdelay", MemfdFlags::CLOEXEC)?);
        Ok(Output { file, read: 0, tail: Vec::new(), is_ready: false })
    }

    /// The file for the program. It shares its place with this one, which is left alone.
    ///
    /// # Errors
    /// No descriptor.
    pub fn for_program(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Reads what was written up to now; of very much only the end.
    fn advance(&mut self) {
        let size = self.file.metadata().map_or(0, |found| found.len());
        if size.saturating_sub(self.read) > BEHIND_MAX {
            self.tail.clear();
            self.skip_to(size - KEPT as u64);
        }
        let mut piece = [0; PIECE];
        while self.read < size {
            let Ok(count @ 1..) = self.file.read_at(&mut piece, self.read) else { return };
            self.take(&piece[..count]);
            self.skip_to(self.read + count as u64);
        }
    }

    /// Gives the memory of everything before `place` back.
    fn skip_to(&mut self, place: u64) {
        let begin = self.read / PAGE * PAGE;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // Where the kernel cannot, the memory stays until the program ends.
        let _ = fallocate(&self.file, flags, begin, place - begin);
        self.read = place;
    }

    fn take(&mut self, bytes: &[u8]) {
        // A line that was begun before is looked at again, unless it is too long to be the word.
        let longest = 2 * READY.len();
        let begun = self.tail.iter().rev().take(longest).position(|byte| *byte == b'\n');
        let is_long = begun.is_none() && self.tail.len() > longest;
        let begin = self.tail.len() - begun.unwrap_or(longest.min(self.tail.len()));
        self.tail.extend_from_slice(bytes);
        let is_word = |line: &[u8]| line.trim_ascii() == READY.as_bytes();
        // What has no end of line yet may go on.
        let mut lines = self.tail[begin..].split_inclusive(|byte| *byte == b'\n').skip(usize::from(is_long));
        self.is_ready |= lines.any(|line| line.ends_with(b"\n") && is_word(line));
        if self.tail.len() > 2 * KEPT {
            self.tail.drain(..self.tail.len() - KEPT);
        }
    }

    /// Whether a line said that the program is ready.
    pub fn is_ready(&mut self) -> bool {
        self.advance();
        self.is_ready
    }

    /// The last lines, and how many bytes before them are not kept.
    pub fn text(&mut self) -> (String, u64) {
        self.advance();
        (String::from_utf8_lossy(&self.tail).into_owned(), self.read - self.tail.len() as u64)
    }
}

/// The outputs of a program, which a thread reads as long as this exists.
pub struct Outputs {
    outputs: Arc<Mutex<[Output; 2]>>,
    is_over: Arc<AtomicBool>,
}

impl Outputs {
    /// # Errors
    /// No thread can be started.
    pub fn watch(outputs: [Output; 2]) -> io::Result<Outputs> {
        let all = Outputs { outputs: Arc::new(Mutex::new(outputs)), is_over: Arc::default() };
        let (outputs, is_over) = (Arc::clone(&all.outputs), Arc::clone(&all.is_over));
        let look = move || {
            while !is_over.load(Ordering::Relaxed) {
                outputs.lock().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(Output::advance);
                pause();
            }
        };
        thread::Builder::new().name("output".into()).spawn(look)?;
        Ok(all)
    }

    /// The result of `look` at standard output and error.
    pub fn with<T>(&self, look: impl FnOnce(&mut [Output; 2]) -> T) -> T {
        look(&mut self.outputs.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_end_of_an_output_is_kept() {
        let mut output = Output::new().unwrap();
        let mut program = output.for_program().unwrap();
        for _ in 0..40 {
            program.write_all(&b"debug\n".repeat(20_000)).unwrap();
            assert!(!output.is_ready());
        }
        program.write_all(b"the end").unwrap();
        let (text, before) = output.text();
        assert!(text.len() <= 2 * KEPT && text.ends_with("debug\nthe end"));
        assert_eq!(text.len() as u64 + before, 40 * 120_000 + 7);
        // The memory of what was read is given back.
        use std::os::unix::fs::MetadataExt;
        assert!(program.metadata().unwrap().blocks() * 512 <= 4 * PAGE);
    }

    #[test]
    fn a_word_in_pieces_is_a_word() {
        for (pieces, is_ready) in [
            (&["rea", "dy\n"][..], true),
            (&["x\n  ready", "\n"], true),
            (&["x\nready"], false),
            (&["already\n"], false),
            (&["al", "ready\n"], false),
            (&["ready", " or not\n"], false),
            (&["a very long beginning of a line, then             ", "ready\n"], false),
        ] {
            let mut output = Output::new().unwrap();
            pieces.iter().for_each(|piece| output.take(piece.as_bytes()));
            assert_eq!(output.is_ready, is_ready, "{pieces:?}");
        }
    }
}
