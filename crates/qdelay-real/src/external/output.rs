//! Output of a program; only the last part is kept, because a program may print without end.
//!
//! The program writes to a file in memory, so that it never waits for this process. A thread reads that file every few milliseconds,
//! keeps its end, and frees the memory of the bytes read.

use super::end::READY;
use crate::pause;
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Number of bytes that are kept. A line with figures commonly has some kilobytes.
const KEPT: usize = 1 << 20;
/// Maximum number of unread bytes. A program that writes faster than the reader reads exceeds it, and the reader skips bytes.
const BEHIND_MAX: u64 = 16 << 20;
/// Granularity of freeing memory in bytes, a multiple of the page size.
const PAGE: u64 = 1 << 16;
/// Maximum number of bytes in one read.
const PIECE: usize = 1 << 16;

/// Output of a program: standard output or standard error.
pub struct Output {
    file: File,
    /// Bytes read so far.
    read: u64,
    /// Last bytes read, at most twice [`KEPT`].
    tail: Vec<u8>,
    is_ready: bool,
}

impl Output {
    /// # Errors
    /// There is no memory, or no file descriptor.
    pub fn new() -> io::Result<Output> {
        let file = File::from(memfd_create("qdelay", MemfdFlags::CLOEXEC)?);
        Ok(Output { file, read: 0, tail: Vec::new(), is_ready: false })
    }

    /// A descriptor of the file for the program. It shares its file position with this one, which therefore reads at explicit positions.
    ///
    /// # Errors
    /// There is no file descriptor.
    pub fn for_program(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Reads the bytes written so far; of more than the maximum only the end.
    fn advance(&mut self) {
        let size = self.file.metadata().map_or(0, |found| found.len());
        if size.saturating_sub(self.read) > BEHIND_MAX {
            self.tail.clear();
            self.skip_to(size - KEPT as u64);
        }
        let mut piece = [0; PIECE];
        while self.read < size {
            let Ok(count @ 1..) = self.file.read_at(&mut piece, self.read) else { return };
            self.append(&piece[..count]);
            self.skip_to(self.read + count as u64);
        }
    }

    /// Frees the memory of everything before `place`.
    fn skip_to(&mut self, place: u64) {
        let begin = self.read / PAGE * PAGE;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // Kernels that do not support this keep the memory until the program ends.
        let _ = fallocate(&self.file, flags, begin, place - begin);
        self.read = place;
    }

    fn append(&mut self, bytes: &[u8]) {
        // The last incomplete line is searched again with the new bytes, unless it is too long to be `ready`.
        let longest = 2 * READY.len();
        let begun = self.tail.iter().rev().take(longest).position(|byte| *byte == b'\n');
        let is_long = begun.is_none() && self.tail.len() > longest;
        let begin = self.tail.len() - begun.unwrap_or(longest.min(self.tail.len()));
        self.tail.extend_from_slice(bytes);
        let is_word = |line: &[u8]| line.trim_ascii() == READY.as_bytes();
        // A line without an end may continue, so it does not count yet.
        let mut lines = self.tail[begin..].split_inclusive(|byte| *byte == b'\n').skip(usize::from(is_long));
        self.is_ready |= lines.any(|line| line.ends_with(b"\n") && is_word(line));
        if self.tail.len() > 2 * KEPT {
            self.tail.drain(..self.tail.len() - KEPT);
        }
    }

    /// True if a line said that the program is ready.
    pub fn is_ready(&mut self) -> bool {
        self.advance();
        self.is_ready
    }

    /// The last lines, and the number of bytes before them that are not kept.
    pub fn text(&mut self) -> (String, u64) {
        self.advance();
        (String::from_utf8_lossy(&self.tail).into_owned(), self.read - self.tail.len() as u64)
    }
}

/// Outputs of a program, which a thread reads as long as this value exists.
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
        let inspect = move || {
            while !is_over.load(Ordering::Relaxed) {
                outputs.lock().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(Output::advance);
                pause();
            }
        };
        thread::Builder::new().name("output".into()).spawn(inspect)?;
        Ok(all)
    }

    /// Calls `inspect` with standard output and standard error, and returns its result.
    pub fn with<T>(&self, inspect: impl FnOnce(&mut [Output; 2]) -> T) -> T {
        inspect(&mut self.outputs.lock().unwrap_or_else(PoisonError::into_inner))
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
    fn only_the_end_of_an_output_is_kept() {
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
        // The memory of the bytes read has been freed.
        use std::os::unix::fs::MetadataExt;
        assert!(program.metadata().unwrap().blocks() * 512 <= 4 * PAGE);
    }

    #[test]
    fn ready_is_recognised_across_writes() {
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
            pieces.iter().for_each(|piece| output.append(piece.as_bytes()));
            assert_eq!(output.is_ready, is_ready, "{pieces:?}");
        }
    }
}
