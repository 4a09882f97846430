//! Files and folders that are either complete or absent, in places where another user may have put symbolic links.
//!
//! A result folder may come from an untrusted source: any name in it may be a symbolic link to a file of the user. Below the
//! folder that the user names, no link is followed, for reading or writing: files are opened with `O_NOFOLLOW`, folders are
//! checked before they are entered, and removal removes the link instead of its target. Files are written under a new name
//! (`O_EXCL`) that cannot be guessed, and renamed when they are complete ([`Partial`]).
//!
//! The path that the user names may itself be a link; it is followed.

mod partial;

pub use partial::{Partial, Scratch, remove_left, remove_left_for, remove_scratch};

use crate::InputError;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// Largest result file that is read, in bytes; the largest studies have files of some hundred megabytes.
const BYTES_MAX: u64 = 1 << 30;

/// Writes `text` to a temporary file in the folder of `path`, then renames it to `path`, replacing an existing file.
///
/// # Errors
/// The folder cannot be written to, the disk is full, or `path` is a device or another special file.
pub fn write_file(path: &Path, text: &str) -> Result<(), InputError> {
    write_bytes(path, text.as_bytes())
}

/// Writes bytes as [`write_file`] writes text.
///
/// # Errors
/// Errors of [`write_file`].
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), InputError> {
    // A rename would replace a device by a regular file.
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

/// Flushes all pending writes to the file system that contains the folder.
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

/// Flushes the entries of a folder to the disk.
///
/// # Errors
/// The folder cannot be opened, or the disk fails.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    match File::open(path)?.sync_all() {
        // Some file systems cannot flush a folder.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

/// Creates a new file in a private folder, such as that of a [`Partial`].
///
/// # Errors
/// The file exists already, or cannot be created.
pub fn create(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// Creates a new file with this text, as [`create`] does.
///
/// # Errors
/// Errors of [`create`], and a full disk.
pub fn create_with(path: &Path, text: &str) -> Result<(), InputError> {
    let written = create(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| cannot_write(path, &error))
}

/// Reads a result file: a regular file, not a symbolic link.
///
/// # Errors
/// The file does not exist, is no regular file, cannot be read, or is larger than 1 GiB.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, options().read(true))?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(io::Error::other(format!("longer than {BYTES_MAX} bytes"))),
        false => Ok(bytes),
    }
}

/// Reads a result file as text, as [`read`] does.
///
/// # Errors
/// Errors of [`read`], and a file that is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "not UTF-8"))
}

/// Opens a regular file with `options`; refuses symbolic links and other kinds of files.
///
/// # Errors
/// Errors of [`OpenOptions::open`], and a path that is no regular file.
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

/// Opens a regular file that the user names; follows links, and never waits for the other end of a pipe.
///
/// # Errors
/// Errors of [`File::open`], and a path that is no regular file.
pub fn open_named(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("is no regular file")),
    }
}

/// Open options that neither follow a link nor wait for the other end of a pipe.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    options
}

/// True if `path` is a symbolic link, even a broken one.
pub fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

/// True if a regular file with this name exists; a symbolic link does not count.
pub fn is_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// True if a folder with this name exists; a symbolic link does not count.
pub fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Removes a file, a symbolic link (not its target), or a folder with its contents. Succeeds if the name does not exist.
///
/// # Errors
/// The file or folder cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    let removed = if is_folder(path) { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// The folder `below` in `root`. Missing folders are created. No folder below `root` may be a symbolic link; `root` may be one.
///
/// # Errors
/// A part of the path exists and is not a folder, or a folder cannot be created.
pub fn make_below(root: &Path, below: &str) -> Result<PathBuf, InputError> {
    fs::create_dir_all(root).map_err(|error| cannot_write(root, &error))?;
    on_the_way(root, below, |path| match fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(cannot_write(path, &error)),
        _ => refuse_link(path),
    })
}

/// The folder `below` in `root`, for reading. No existing folder below `root` may be a symbolic link.
///
/// # Errors
/// A part of the path is a symbolic link or another kind of file.
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
            let message = format!("'{below}' leads out of it; expected the name of a folder in it");
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
    Err(InputError::new(path.display(), format!("is {what}; expected a folder, as runs create it")))
}

/// End of the error of a full disk.
pub const ROOM: &str = "expected room for it";

/// The error of a `path` that cannot be written to.
pub fn cannot_write(path: &Path, error: &io::Error) -> InputError {
    let expected = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ROOM,
        _ => "expected a place that can be written to",
    };
    InputError::new(path.display(), format!("cannot be written: {error}; {expected}"))
}
