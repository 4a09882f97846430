//! Output: standard output whose reader may exit, files that are written completely or not at all, and interrupts.

#[cfg(target_os = "linux")]
mod files;

#[cfg(target_os = "linux")]
pub use files::{exit_when_interrupted, refuse_existing, when_interrupted, write_file};

use crate::error::{Failure, lines, one_line, shown};
use qdelay_study::traces::Library;
use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Installs an interrupt handler that only sets the returned flag: the command then ends by itself.
pub fn stop_when_interrupted() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    // Without the handler an interrupt ends the process at once.
    let _ = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
    stop
}

/// Writes to standard output. If the reader has exited, as `head` does, the output ends without an error. Control characters
/// are escaped on a terminal, so that text of files and names cannot move its cursor.
///
/// # Errors
/// Any other error while writing.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let text = if out.is_terminal() { Cow::Owned(lines(text)) } else { Cow::Borrowed(text) };
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Ends the output of a finished command with a line that names the next command. Only a terminal gets it: files and programs that read
/// standard output receive the results alone.
///
/// # Errors
/// The errors of [`print()`].
pub fn print_next(command: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() { print(&format!("next: {command}\n")) } else { Ok(()) }
}

/// Text as one word of a shell command, in quotes if necessary.
pub fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+=:,@%".contains(letter);
    let text = one_line(text);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Paths as words of a shell command.
pub fn shell_paths(paths: &[PathBuf]) -> String {
    let words: Vec<String> = paths.iter().map(|path| shell_word(&path.display().to_string())).collect();
    words.join(" ")
}

/// Writes to standard error, with escapes on a terminal as in [`print()`]. Errors of writing are ignored.
pub fn eprint(text: &str) {
    let _ = io::stderr().write_all(lines(text).as_bytes());
}

/// Writes a line to standard error. Errors of writing are ignored.
pub fn eprintln_line(line: &str) {
    let _ = writeln!(io::stderr(), "qdelay: {}", shown(line));
}

/// Checks at the start that a file which is written at the end has a place, so that a wrong name is reported early.
///
/// # Errors
/// There is no such folder, or the name is that of something else than a regular file.
pub fn check_place(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match path.metadata() {
        Ok(found) if !found.is_file() => {
            Err(Failure::input(path.display(), "is no regular file; expected the name of a file"))
        }
        _ if !folder.is_dir() => {
            Err(Failure::input(path.display(), "the folder does not exist; expected one that does"))
        }
        _ => Ok(()),
    }
}

/// Reports traces that are used instead of the requested ones.
pub fn report_substitutes(library: &Library) {
    for (name, used) in library.used() {
        if let Some(wanted) = used.substitute_for {
            eprintln_line(&format!(
                "{} is not available; {} is used instead",
                one_line(&wanted),
                one_line(&name)
            ));
        }
    }
}

/// Converts the result of writing to standard output, with the rules of [`print()`].
///
/// # Errors
/// The errors of [`print()`].
pub fn printed(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::input(
            "standard output",
            format!("{error}; expected standard output to be writable"),
        )),
        _ => Ok(()),
    }
}
