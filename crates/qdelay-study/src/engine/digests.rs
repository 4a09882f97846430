//! `SHA256SUMS` of a case: the digest of each of its files, as `sha256sum` writes and checks them.
//!
//! It is written last, into the folder that becomes the case's. Digests tell what a disk, a copy or an editor has changed
//! since; they are no proof of where results come from.

use crate::InputError;
use crate::files::{self, cannot_write};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The file's name.
const DIGESTS: &str = "SHA256SUMS";

/// Writes the digests of all files in `folder`, by name.
///
/// # Errors
/// A file cannot be read again, or there is no room.
pub fn write(folder: &Path) -> Result<(), InputError> {
    let digests = || -> io::Result<BTreeMap<String, String>> {
        fs::read_dir(folder)?
            .map(|entry| {
                let name = entry?.file_name().to_string_lossy().into_owned();
                let digest = of(&folder.join(&name))?;
                Ok((name, digest))
            })
            .collect()
    };
    let digests = digests().map_err(|error| cannot_write(folder, &error))?;
    let lines: String = digests.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
    files::create_with(&folder.join(DIGESTS), &lines)
}

/// Whether every one of `names` is among the digests of `folder`, and each file is as it was written; `None` where there
/// are no digests.
pub fn are_right(folder: &Path, names: &[&str]) -> Option<bool> {
    let path = folder.join(DIGESTS);
    if !files::is_file(&path) {
        return None;
    }
    let text = files::read_text(&path).unwrap_or_default();
    let digests: BTreeMap<&str, &str> =
        text.lines().filter_map(|line| line.split_once("  ")).map(|(digest, name)| (name, digest)).collect();
    let is_right = |(name, digest): (&&str, &&str)| {
        // A name is that of a file here: anything else would read outside of the case.
        !name.contains('/') && of(&folder.join(name)).is_ok_and(|found| found == *digest)
    };
    Some(names.iter().all(|name| digests.contains_key(name)) && digests.iter().all(is_right))
}

/// SHA-256 of a file, in hexadecimal.
fn of(path: &Path) -> io::Result<String> {
    let mut file = files::open(path, files::options().read(true))?;
    let mut hasher = Hasher(Sha256::new());
    io::copy(&mut file, &mut hasher)?;
    Ok(hasher.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A writer that computes a digest of the data copied to it.
struct Hasher(Sha256);

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
