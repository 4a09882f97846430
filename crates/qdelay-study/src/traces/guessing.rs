//! A guess at the format of a file: what the file's first 64 kB look like.

use super::contents::Contents;
use super::{CHUNK_BYTES, fill, find_shipped, unreadable};
use crate::InputError;
use qdelay_trace::format::{self, guess::Guess};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The format that the file or shipped trace `name` seems to have, and what was assumed.
///
/// # Errors
/// The file cannot be read, is not text, or has nothing that looks like a rate.
pub fn guess(name: &OsStr) -> Result<Guess, InputError> {
    let fail = |message: String| InputError::new(Path::new(name).display().to_string(), message);
    let mut chunk = vec![0; CHUNK_BYTES];
    let shipped = name.to_str().and_then(find_shipped).filter(|_| !Path::new(name).exists());
    let (filled, is_whole) = match shipped {
        Some(mut contents) => beginning(&mut contents, &mut chunk),
        None => File::open(name).and_then(|mut file| beginning(&mut file, &mut chunk)),
    }
    .map_err(|error| fail(unreadable(&error)))?;
    chunk.truncate(filled);
    if let Some(what) = format::foreign(&chunk) {
        return Err(fail(format!("is {what}")));
    }
    format::guess::guess(&chunk, is_whole).map_err(fail)
}

/// Fills `chunk`; returns the number of bytes, and true if they are all of the input.
fn beginning(input: &mut dyn Read, chunk: &mut [u8]) -> std::io::Result<(usize, bool)> {
    let filled = fill(&mut Contents::of_file(input)?, chunk)?;
    Ok((filled, filled < chunk.len()))
}
