//! Compressed traces (gzip, zstd), unpacked while they are read, with limits on what they unpack to.

#[cfg(feature = "engine")]
pub(super) mod zstd;

use super::opening::Opening;
use flate2::read::MultiGzDecoder;
use std::io::{self, Read};
#[cfg(feature = "engine")]
use zstd::Frames;

/// Beginning of a gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Beginnings of zstd files: a frame, or a skippable frame of each of the 16 magic numbers.
const ZSTD: [[u8; 4]; 17] = {
    let mut all = [[0x28, 0xb5, 0x2f, 0xfd]; 17];
    let mut number = 0;
    while number < 16 {
        all[number] = [0x50 + number as u8, 0x2a, 0x4d, 0x18];
        number += 1;
    }
    all
};
/// Most bytes that a file may unpack to: more than the longest trace that a reader accepts.
const BYTES_MAX: u64 = 4 << 30;
/// Most bytes that a byte of a file may unpack to, once there are [`RATIO_FROM`]: text of a trace packs to a fifth or a hundredth,
/// a file made to exhaust the reader to a thousandth.
const RATIO_MAX: u64 = 500;
const RATIO_FROM: u64 = 1 << 20;

/// The contents of a file that may be compressed.
///
/// # Errors
/// The file cannot be read.
pub(super) fn unpacked<'a>(input: &'a mut dyn Read) -> io::Result<Box<dyn Read + 'a>> {
    let opening = Opening::read(input)?;
    Ok(if opening.begins_with(&GZIP) {
        Box::new(Unpacked::new("gzip", MultiGzDecoder::new(Counted { input: opening, count: 0 })))
    } else if ZSTD.iter().any(|beginning| opening.begins_with(beginning)) {
        frames(opening)?
    } else {
        Box::new(opening)
    })
}

/// The contents of zstd's frames.
#[cfg(feature = "engine")]
fn frames<'a>(input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    Ok(Box::new(Unpacked::new("zstd", Frames::new(Counted { input, count: 0 }))))
}

/// Refused without the engine: the decoder would be 27 kB of the playground's 1.5 MB, compressed.
#[cfg(not(feature = "engine"))]
fn frames<'a>(_: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    Err(io::Error::other(
        "it is compressed by zstd, which this build does not read; unpack it by 'zstd -d FILE'",
    ))
}

/// Counts the bytes that are read.
struct Counted<R> {
    input: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.count += n as u64;
        Ok(n)
    }
}

/// A decoder of compressed bytes, which can tell how many it has read.
trait Decoder: Read {
    fn bytes_read(&self) -> u64;
}

impl<R: Read> Decoder for MultiGzDecoder<Counted<R>> {
    fn bytes_read(&self) -> u64 {
        self.get_ref().count
    }
}

#[cfg(feature = "engine")]
impl<R: Read> Decoder for Frames<Counted<R>> {
    fn bytes_read(&self) -> u64 {
        self.get_ref().count
    }
}

/// Unpacks a file of one or more members or frames.
struct Unpacked<D> {
    form: &'static str,
    decoder: D,
    written: u64,
}

impl<D: Decoder> Unpacked<D> {
    const fn new(form: &'static str, decoder: D) -> Unpacked<D> {
        Unpacked { form, decoder, written: 0 }
    }
}

impl<D: Decoder> Read for Unpacked<D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let damaged = |error: io::Error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, format!("it is compressed by {} and damaged ({error})", self.form)),
        };
        let n = self.decoder.read(buffer).map_err(damaged)?;
        self.written += n as u64;
        if self.written > BYTES_MAX
            || self.written > RATIO_FROM && self.written / RATIO_MAX > self.decoder.bytes_read()
        {
            let most =
                format!("it unpacks to more than {} GB or {RATIO_MAX} times its size", BYTES_MAX >> 30);
            return Err(io::Error::other(most));
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests;
