//! `SHA256SUMS` of a case: the digests of its files, in the format of `sha256sum`.
//!
//! The file is written last, before the folder of the case gets its name. Digests reveal changes by a disk, a copy or an editor;
//! they do not prove where results come from.

use crate::InputError;
use crate::files::{self, cannot_write};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

/// Name of the file.
const DIGESTS: &str = "SHA256SUMS";

/// Writes the digests of all files in `folder`, by name.
///
/// # Errors
/// A file cannot be read back, or the disk is full.
pub fn write(folder: &Path) -> Result<(), InputError> {
    let digests = || -> io::Result<BTreeMap<String, String>> {
        fs::read_dir(folder)?
            .map(|entry| {
                let name = entry?.file_name().to_string_lossy().into_owned();
                let digest = sha256_of_file(&folder.join(&name))?;
                Ok((name, digest))
            })
            .collect()
    };
    let digests = digests().map_err(|error| cannot_write(folder, &error))?;
    let lines: String = digests.iter().map(|(name, digest)| format!("{digest}  {name}\n")).collect();
    files::create_with(&folder.join(DIGESTS), &lines)
}

/// Checks the files of `folder` against its digests: true if each of `names` has a digest and all files match.
pub fn are_right(folder: &Path, names: &[&str]) -> bool {
    let text = text_of(folder).unwrap_or_default();
    let digests = parsed(&text);
    let is_right = |(name, digest): (&&str, &&str)| {
        // A name with a slash could lead out of the case's folder.
        !name.contains('/') && sha256_of_file(&folder.join(name)).is_ok_and(|found| found == *digest)
    };
    names.iter().all(|name| digests.contains_key(name)) && digests.iter().all(is_right)
}

/// The text of the digests of `folder`.
pub fn text_of(folder: &Path) -> Option<String> {
    files::read_text(&folder.join(DIGESTS)).ok()
}

/// Copies the files that `text`, the digests of `folder`, lists into the new folder `copy`, and the digests. Returns true if each
/// of `names` is among them and all files match; otherwise only some files are copied.
///
/// # Errors
/// `copy` cannot be written to.
pub fn copy(folder: &Path, copy: &Path, text: &str, names: &[&str]) -> Result<bool, InputError> {
    let digests = parsed(text);
    if !names.iter().all(|name| digests.contains_key(name)) {
        return Ok(false);
    }
    for (name, digest) in digests {
        if name.contains('/') {
            return Ok(false);
        }
        let Ok(mut file) = files::open(&folder.join(name), files::options().read(true)) else {
            return Ok(false);
        };
        let path = copy.join(name);
        let mut copied = files::create(&path).map_err(|error| cannot_write(&path, &error))?;
        let found = copy_with_sha256(&mut file, &mut copied).map_err(|error| cannot_write(&path, &error))?;
        if found != digest {
            return Ok(false);
        }
    }
    files::create_with(&copy.join(DIGESTS), text)?;
    Ok(true)
}

/// Digests by file name.
fn parsed(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once("  ")).map(|(digest, name)| (name, digest)).collect()
}

/// SHA-256 of a regular file, in hexadecimal; a symbolic link is an error.
///
/// # Errors
/// The file cannot be read.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    copy_with_sha256(&mut files::open(path, files::options().read(true))?, &mut io::sink())
}

/// Copies `from` to `to`; returns the SHA-256 of the data, in hexadecimal.
fn copy_with_sha256(from: &mut impl Read, to: &mut impl Write) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = [0; 1 << 16];
    loop {
        let bytes = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => &buffer[..count],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(bytes);
        to.write_all(bytes)?;
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
