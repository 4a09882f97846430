//! Files that are whole or not there.

use crate::InputError;
use std::fs;
use std::io;
use std::path::Path;

/// Writes `text` to `path`: to a temporary file beside it, which then takes the name and replaces what had it.
///
/// # Errors
/// The place cannot be written to, or has no room; something stands there that is no file, such as a device.
pub fn write_file(path: &Path, text: &str) -> Result<(), InputError> {
    // A rename would put a file in the place of a device.
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(InputError::new(path.display(), "is no regular file; expected the name of a file"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.partial"));
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        cannot_write(path, &error)
    })
}

/// `path` cannot be written to, and why.
pub fn cannot_write(path: &Path, error: &io::Error) -> InputError {
    let expected = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "expected room for the results; what is done stays, and the same command goes on from there"
        }
        _ => "expected a place that can be written to",
    };
    InputError::new(path.display(), format!("cannot be written: {error}; {expected}"))
}
