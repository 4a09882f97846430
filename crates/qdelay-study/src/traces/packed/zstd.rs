//! zstd (RFC 8878): frames one behind the other, of which skippable ones are left out.

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, ErrorKind, Read};

/// Largest window, which is memory: that of the program `zstd` without `--long` and `--ultra`, and its own limit.
const WINDOW_BYTES_MAX: u64 = 128 << 20;

/// Unpacks the frames of a file.
pub(in crate::traces) struct Frames<R> {
    decoder: FrameDecoder,
    input: R,
    /// True within a frame.
    is_within: bool,
}

impl<R: Read> Frames<R> {
    pub fn new(input: R) -> Frames<R> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_BYTES_MAX);
        Frames { decoder, input, is_within: false }
    }
    pub const fn get_ref(&self) -> &R {
        &self.input
    }

    /// Begins the next frame; false at the end of the file.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            let mut first = [0];
            if super::super::fill(&mut self.input, &mut first)? == 0 {
                return Ok(false);
            }
            match self.decoder.reset((&first[..]).chain(&mut self.input)) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = io::copy(&mut (&mut self.input).take(length.into()), &mut io::sink())?;
                    if skipped < length.into() {
                        return Err(ends());
                    }
                }
                Err(error) => return Err(explained(&error)),
            }
        }
    }

    /// Checks the contents of a frame, once all of them are read.
    fn end(&mut self) -> io::Result<()> {
        self.is_within = false;
        match self.decoder.get_checksum_from_data() {
            Some(expected) if self.decoder.get_calculated_checksum() != Some(expected) => Err(
                io::Error::new(ErrorKind::InvalidData, "the checksum of a frame is not that of its contents"),
            ),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_within {
                if !self.begin()? {
                    return Ok(0);
                }
                self.is_within = true;
            }
            // The decoder keeps a window back until the frame ends.
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let blocks = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.input, blocks).map_err(|error| explained(&error))?;
            }
            let n = self.decoder.read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            self.end()?;
        }
    }
}

fn ends() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "it ends within a frame")
}

/// An error of the decoder, on one line.
fn explained(error: &FrameDecoderError) -> io::Error {
    match error {
        FrameDecoderError::WindowSizeTooBig { requested, .. } => io::Error::other(format!(
            "its window has {} MB; expected at most {}: 'zstd' without --long and --ultra makes it",
            requested >> 20,
            WINDOW_BYTES_MAX >> 20
        )),
        FrameDecoderError::DictNotProvided { .. } => {
            io::Error::other("it needs a dictionary; expected a file compressed without one")
        }
        error if is_end(error) => ends(),
        error => io::Error::new(ErrorKind::InvalidData, error.to_string().replace('\n', " ")),
    }
}

/// True if the file ended too early.
fn is_end(error: &FrameDecoderError) -> bool {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        let io_error = error.downcast_ref::<io::Error>();
        if io_error.is_some_and(|error| error.kind() == ErrorKind::UnexpectedEof) {
            return true;
        }
        next = error.source();
    }
    false
}
