//! Files that are written completely or not at all, and interrupts that leave none behind.

use super::print;
use crate::error::{Failure, one_line};
use qdelay_study::files::{Partial, remove_scratch};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Exit status after SIGINT (128 + 2).
const INTERRUPTED: i32 = 130;

/// Temporary name of the file that is being written.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Function that returns the message for an interrupt.
static PARTING: Mutex<Option<Parting>> = Mutex::new(None);
type Parting = Box<dyn FnOnce() -> String + Send>;

/// Installs an interrupt handler that removes the file being written and temporary folders, and ends the process with status 130.
pub fn exit_when_interrupted() {
    // Without the handler an interrupt still ends the process, but the file is not removed.
    let _ = ctrlc::set_handler(|| {
        // The lock is held until the end, so that the writing thread does not continue past its next step.
        let mut unfinished = unfinished();
        if let Some(path) = unfinished.take() {
            let _ = fs::remove_file(path);
        }
        remove_scratch();
        let parting = PARTING.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(say) = parting {
            // If standard error is closed, nothing can be reported.
            let _ = writeln!(io::stderr(), "qdelay: {}", one_line(&say()));
        }
        std::process::exit(INTERRUPTED);
    });
}

/// Registers a function whose text, one line about the remaining work, an interrupt prints on standard error.
pub fn when_interrupted(say: impl FnOnce() -> String + Send + 'static) {
    *PARTING.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(say));
}

/// Writes a file under a temporary name in the same folder, and then renames it. An existing file is replaced only if `force` is set.
/// The name `-` is standard output.
///
/// # Errors
/// The file exists, or cannot be written.
pub fn write_file(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result,
) -> Result<(), Failure> {
    let fail = |error: io::Error| failure(path, &error);
    if path == Path::new("-") {
        let mut text = String::new();
        return match write(&mut text) {
            Ok(()) => print(&text),
            Err(_) => Err(Failure::input("standard output", "the trace cannot be written as text")),
        };
    }
    refuse_existing(path, force)?;
    let partial = {
        // The lock is held until the name is stored: an interrupt in between would leave the file behind.
        let mut unfinished = unfinished();
        let partial = Partial::file(path).map_err(fail)?;
        *unfinished = Some(partial.path().to_path_buf());
        partial
    };
    let file = partial.handle().try_clone().map_err(fail)?;
    let done = fill(file, write).and_then(|()| match refuse_existing(path, force) {
        Ok(()) => partial.finish(),
        Err(_) => Err(ErrorKind::AlreadyExists.into()),
    });
    *unfinished() = None;
    done.map_err(fail)
}

fn fill(file: File, write: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result) -> io::Result<()> {
    let mut adapter = Adapter { out: BufWriter::new(file), error: None };
    if write(&mut adapter).is_err() {
        return Err(adapter.error.unwrap_or_else(|| ErrorKind::InvalidData.into()));
    }
    adapter.out.flush()
}

fn unfinished() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns an error if `path` exists and may not be replaced.
///
/// # Errors
/// A file of this name exists, and `force` is not set; or `path` is not a regular file.
pub fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(failure(path, &ErrorKind::IsADirectory.into()));
    }
    // Renaming over a device would replace the device by a file.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(Failure::input(
            path.display(),
            "is no regular file; expected the name of a file, or - for standard output",
        ));
    }
    if !force && path != Path::new("-") && path.symlink_metadata().is_ok() {
        return Err(failure(path, &ErrorKind::AlreadyExists.into()));
    }
    Ok(())
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    let message = match error.kind() {
        ErrorKind::AlreadyExists => {
            "exists already; expected a new name, or --force to replace it".to_string()
        }
        ErrorKind::NotFound => "the folder does not exist; expected an existing folder".to_string(),
        ErrorKind::InvalidInput => "not a file name; expected the name of a file to write".to_string(),
        ErrorKind::IsADirectory => "is a folder; expected the name of a file to write".to_string(),
        _ => format!("cannot be written: {error}; expected a writable place"),
    };
    Failure::input(path.display(), message)
}

/// Adapter from `fmt::Write` to a file that keeps the I/O error, which `fmt` cannot return.
struct Adapter {
    out: BufWriter<File>,
    error: Option<io::Error>,
}

impl fmt::Write for Adapter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.out.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            fmt::Error
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_completely_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("qdelay-output-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a");
        write_file(&path, false, |out| out.write_str("one\n")).unwrap();
        assert!(write_file(&path, false, |out| out.write_str("two\n")).is_err());
        assert!(write_file(&path, true, |_| Err(fmt::Error)).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
        write_file(&path, true, |out| out.write_str("three\n")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
