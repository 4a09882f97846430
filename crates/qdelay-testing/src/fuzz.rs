//! Shared code of fuzz targets on stable Rust.

use crate::effort;
use arbtest::arbitrary::{Result, Unstructured};

/// Runs a target on inputs of up to 4096 bytes for this many seconds, times `QDELAY_EFFORT`. A failure prints a seed, which
/// `ARBTEST_SEED` replays.
pub fn fuzz(seconds: f64, mut target: impl FnMut(&mut Unstructured<'_>) -> Result<()>) {
    arbtest::arbtest(|u| target(u)).size_min(8).size_max(4096).budget(effort::duration(seconds)).run();
}

/// Changes a valid file at up to four places: flips a bit, deletes, repeats or inserts up to 30 bytes, or inserts one of
/// `pieces`, which are meaningful in some place.
///
/// # Errors
/// The end of the input.
pub fn mutate(u: &mut Unstructured<'_>, mut text: Vec<u8>, pieces: &[&[u8]]) -> Result<Vec<u8>> {
    for _ in 0..u.int_in_range(0..=4)? {
        let at = u.int_in_range(0..=text.len())?;
        let end = (at + u.int_in_range(0..=30)?).min(text.len());
        match u.int_in_range(0..=4)? {
            0 if at < text.len() => text[at] ^= 1 << u.int_in_range(0..=7)?,
            1 => drop(text.drain(at..end)),
            2 => {
                let copy = text[at..end].to_vec();
                text.splice(end..end, copy);
            }
            3 => text.truncate(at),
            _ => drop(text.splice(at..at, u.choose(pieces)?.iter().copied())),
        }
    }
    Ok(text)
}
