//! Output: standard output whose reader may exit, files that are written completely or not at all, and interrupts.

use crate::error::{Failure, lines, one_line, shown};
use qdelay_study::files::{Partial, remove_scratch};
use qdelay_study::traces::Library;
use std::borrow::Cow;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Exit status after an interrupt.
const INTERRUPTED: i32 = 130;

/// The file that is being written.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The message for an interrupt.
static PARTING: Mutex<Option<Parting>> = Mutex::new(None);
type Parting = Box<dyn FnOnce() -> String + Send>;

/// From here on an interrupt removes the file that is being written and folders of temporary files, and ends the process with status 130.
pub fn exit_when_interrupted() {
    // Without a handler an interrupt still ends the process, but the file is not removed.
    let _ = ctrlc::set_handler(|| {
        // Held until the end, so that the writing thread does not continue past its next step.
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

/// From here on an interrupt only sets the flag that is returned: the command ends by itself.
pub fn stop_when_interrupted() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    // Without a handler an interrupt ends the process.
    let _ = ctrlc::set_handler(move || told.store(true, Ordering::Relaxed));
    stop
}

/// From here on an interrupt also prints on standard error what remains of the work, in one line.
pub fn when_interrupted(say: impl FnOnce() -> String + Send + 'static) {
    *PARTING.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(say));
}

/// Writes to standard output. If the reader has exited, as `head` does, the output ends without an error. Control characters
/// are escaped on a terminal, so that text of files and names cannot move its cursor.
///
/// # Errors
/// Any other error of writing.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let text = if out.is_terminal() { Cow::Owned(lines(text)) } else { Cow::Borrowed(text) };
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Writes to standard error, with escapes on a terminal as in [`print()`]. Errors of writing are ignored.
pub fn eprint(text: &str) {
    let _ = io::stderr().write_all(lines(text).as_bytes());
}

/// Writes a line to standard error. Errors of writing are ignored.
pub fn eprintln_line(line: &str) {
    let _ = writeln!(io::stderr(), "qdelay: {}", shown(line));
}

/// Reports traces that are used instead of the requested ones.
pub fn report_substitutes(library: &Library) {
    for (name, used) in library.used() {
        if let Some(wanted) = used.stands_in_for {
            eprintln_line(&format!(
                "{} is not available; {} is used instead",
                one_line(&wanted),
                one_line(&name)
            ));
        }
    }
}

/// Converts the result of writing to standard output, as in [`print()`].
///
/// # Errors
/// As for [`print()`].
pub fn printed(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::input("standard output", format!("{error}; expected to be able to write")))
        }
        _ => Ok(()),
    }
}

/// Writes a file: to a temporary one in the same folder, which is then renamed. A file that exists is replaced only if `force`.
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
        // Held until the file is known: an interrupt in between would leave it.
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

/// # Errors
/// A file of this name exists and may not be replaced.
pub fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(failure(path, &ErrorKind::IsADirectory.into()));
    }
    // A rename would replace a device by a file.
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
        ErrorKind::NotFound => "the folder does not exist; expected one that does".to_string(),
        ErrorKind::InvalidInput => "no file name; expected the name of a file to write".to_string(),
        ErrorKind::IsADirectory => "is a folder; expected the name of a file to write".to_string(),
        _ => format!("cannot be written: {error}; expected a place that can be written to"),
    };
    Failure::input(path.display(), message)
}

/// Writes text to a file, and keeps the I/O error, which `fmt` cannot return.
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
    fn whole_or_not_there() {
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
