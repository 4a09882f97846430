//! Files and folders that are either complete or absent, in places where another user may have put links.
//!
//! A folder of results comes from anywhere: whatever stands in it may be a symbolic link to a file of the user's. So
//! nothing below the folder that the user names is reached through one, for writing or for reading: files are opened with
//! `O_NOFOLLOW`, folders are looked at before they are entered, and what is removed is what has the name, not what it
//! leads to. What is written stands under a name that nobody can guess, made anew (`O_EXCL`), until it takes its own
//! ([`Partial`]).
//!
//! A place that the user names is followed: it is theirs to be a link.

mod partial;

pub use partial::{Partial, Scratch, remove_left, remove_left_for, remove_scratch};

use crate::InputError;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// Longest file of results that is read: those of the largest studies have some hundred megabytes.
const BYTES_MAX: u64 = 1 << 30;

/// Writes `text` to `path`: to a temporary file in the same folder, which is then renamed and replaces an existing file.
///
/// # Errors
/// The folder cannot be written to, the disk is full, or the path is not a file, such as a device.
pub fn write_file(path: &Path, text: &str) -> Result<(), InputError> {
    write_bytes(path, text.as_bytes())
}

/// As [`write_file`], of any bytes.
///
/// # Errors
/// As [`write_file`].
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), InputError> {
    // A rename would put a file in the place of a device.
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(InputError::new(path.display(), "is no regular file; expected the name of a file"));
    }
    let write = || {
        let partial = Partial::file(path)?;
        partial.handle().write_all(bytes)?;
        partial.finish()
    };
    write().map_err(|error| cannot_write(path, &error))
}

/// Flushes everything that was written to the file system of a folder, by whomever.
///
/// # Errors
/// The folder cannot be opened, or the disk fails.
pub fn flush_all(path: &Path) -> io::Result<()> {
    let folder = File::open(path)?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&folder)?;
    #[cfg(not(target_os = "linux"))]
    {
        drop(folder);
        rustix::fs::sync();
    }
    Ok(())
}

/// Flushes the names in a folder to the disk.
///
/// # Errors
/// The folder cannot be opened, or the disk fails.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        // The file system has no way to.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

/// A new file in a private folder, such as the folder of a [`Partial`].
///
/// # Errors
/// The file exists, or cannot be created.
pub fn create(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// Writes a new file; as [`create`].
///
/// # Errors
/// As [`create`], or no room.
pub fn create_with(path: &Path, text: &str) -> Result<(), InputError> {
    let written = create(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| cannot_write(path, &error))
}

/// The bytes of a file of results, which must be a regular file and not a link.
///
/// # Errors
/// The file does not exist, is not a regular file, cannot be read, or is larger than any file of a run.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, options().read(true))?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(io::Error::other(format!("longer than {BYTES_MAX} bytes"))),
        false => Ok(bytes),
    }
}

/// As [`read`], of text.
///
/// # Errors
/// As [`read`]; it is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "not UTF-8"))
}

/// Opens a regular file with `options`; links and other kinds of files are refused.
///
/// # Errors
/// As for [`OpenOptions::open`], or the path is not a regular file.
pub fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    if is_link(path) {
        return Err(io::Error::other("is a symbolic link"));
    }
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("is no regular file")),
    }
}

/// Opens a regular file that the user names, links followed. Never waits for the other end of a pipe.
///
/// # Errors
/// As for [`File::open`], or the path is not a regular file.
pub fn open_named(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("is no regular file")),
    }
}

/// Neither follows a link nor waits for the other end of a pipe.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    options
}

/// Whether `path` is a link, wherever it leads.
pub fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

/// Whether a regular file with this name exists; a link does not count.
pub fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Whether a folder with this name exists; a link does not count.
pub fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Removes a file, a link (not its target), or a folder with its contents. The name may be absent.
///
/// # Errors
/// It cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    let removed = if is_folder(path) { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// The folder `below` in `root`. Missing folders are created, and none of them may be a link; `root` may be one.
///
/// # Errors
/// The path exists and is not a folder, or a folder cannot be created.
pub fn make_below(root: &Path, below: &str) -> Result<PathBuf, InputError> {
    fs::create_dir_all(root).map_err(|error| cannot_write(root, &error))?;
    on_the_way(root, below, |path| match fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(cannot_write(path, &error)),
        _ => refuse_link(path),
    })
}

/// The folder `below` in `root`, for reading: no existing part of the path may be a link.
///
/// # Errors
/// A part of the path is a link.
pub fn find_below(root: &Path, below: &str) -> Result<PathBuf, InputError> {
    on_the_way(root, below, |path| if path.symlink_metadata().is_ok() { refuse_link(path) } else { Ok(()) })
}

fn on_the_way(
    root: &Path,
    below: &str,
    each: impl Fn(&Path) -> Result<(), InputError>,
) -> Result<PathBuf, InputError> {
    let mut path = root.to_path_buf();
    for part in Path::new(below).components() {
        let Component::Normal(name) = part else {
            let message = format!("'{below}' leads elsewhere; expected the name of a folder in it");
            return Err(InputError::new(root.display(), message));
        };
        path.push(name);
        each(&path)?;
    }
    Ok(path)
}

fn refuse_link(path: &Path) -> Result<(), InputError> {
    if is_folder(path) {
        return Ok(());
    }
    let what = if is_link(path) { "a symbolic link" } else { "no folder" };
    Err(InputError::new(path.display(), format!("is {what}; expected a folder, as runs make them")))
}

/// What is expected where a disk is full.
pub const ROOM: &str = "expected room for it";

/// `path` cannot be written to, and why.
pub fn cannot_write(path: &Path, error: &io::Error) -> InputError {
    let expected = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ROOM,
        _ => "expected a place that can be written to",
    };
    InputError::new(path.display(), format!("cannot be written: {error}; {expected}"))
}
