//! A guess at the format of a file: what the file's first 64 kB look like.

use super::contents::Contents;
use super::{CHUNK_BYTES, Format, fill, find_shipped, programs, unreadable};
use crate::InputError;
use qdelay_core::Span;
use qdelay_trace::format::{self, guess::Guess};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A guess at the format of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guessed {
    /// The format with its keys, and what was assumed.
    pub guess: Guess,
    /// The file as a delay over time, or why it is none; `None` if it has rates.
    pub delays: Option<Result<DelaysRead, String>>,
}

/// A file of delays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelaysRead {
    /// Duration of the delays.
    pub duration: Span,
    /// Smallest delay.
    pub least: Span,
    /// Largest delay.
    pub most: Span,
    /// Lines about the file.
    pub notes: Vec<String>,
}

/// The format that the file or shipped trace `name` seems to have, and what was assumed.
///
/// # Errors
/// The file cannot be read, is not text, or has nothing that looks like a rate or a delay.
pub fn guess(name: &OsStr) -> Result<Guessed, InputError> {
    let fail = |message: String| InputError::new(Path::new(name).display().to_string(), message);
    let mut chunk = vec![0; CHUNK_BYTES];
    let shipped = name.to_str().and_then(find_shipped).filter(|_| !Path::new(name).exists());
    let (filled, is_whole) = match shipped {
        Some(mut contents) => beginning(&mut contents, &mut chunk),
        None => File::open(name).and_then(|mut file| beginning(&mut file, &mut chunk)),
    }
    .map_err(|error| fail(unreadable(&error)))?;
    chunk.truncate(filled);
    if let Some(program) = programs::recognised(&chunk) {
        let guess = program.guess(&chunk);
        // flent has both.
        let is_delay = !program.has_rates() || guess.format.contains("series=[Ping");
        let delays = is_delay.then(|| delays(name, &guess.format));
        return Ok(Guessed { guess, delays });
    }
    if let Some(what) = format::foreign(&chunk) {
        return Err(fail(format!("is {what}")));
    }
    format::guess::guess(&chunk, is_whole).map_err(fail).map(|guess| Guessed { guess, delays: None })
}

/// Beginning of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Text, unpacked and in UTF-8.
    pub text: Vec<u8>,
    /// Format of an output of a program.
    pub output: Option<Guess>,
    /// True for an output that has delays only.
    pub has_delays: bool,
}

/// The beginning of a file as text, of at most `most` bytes.
///
/// # Errors
/// The file cannot be read, or is not text.
pub fn look(contents: &[u8], most: usize) -> Result<Beginning, String> {
    let mut text = vec![0; most];
    let (filled, _) = beginning(&mut &*contents, &mut text).map_err(|error| unreadable(&error))?;
    text.truncate(filled);
    let program = programs::recognised(&text);
    match (program, format::foreign(&text)) {
        (None, Some(what)) => Err(format!("is {what}")),
        (program, _) => Ok(Beginning {
            output: program.map(|program| program.guess(&text)),
            has_delays: program.is_some_and(|program| !program.has_rates()),
            text,
        }),
    }
}

/// Reads a file of delays.
fn delays(name: &OsStr, format: &str) -> Result<DelaysRead, String> {
    let format = Format::named(format).map_err(|error| error.to_string())?;
    let mut file = File::open(name).map_err(|error| unreadable(&error))?;
    let read = format.delays(&mut file)?;
    let most = read.steps.steps().iter().map(|step| step.value).max().unwrap_or_default();
    Ok(DelaysRead { duration: read.steps.period(), least: read.steps.least(), most, notes: read.notes })
}

/// Fills `chunk`; returns the number of bytes, and true if they are all of the input.
fn beginning(input: &mut dyn Read, chunk: &mut [u8]) -> std::io::Result<(usize, bool)> {
    let filled = fill(&mut Contents::of_file(input)?, chunk)?;
    Ok((filled, filled < chunk.len()))
}
