//! Files and folders that are still being written.

use super::options;
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// End of temporary names, after 32 random hexadecimal digits.
const ENDING: &[u8] = b".partial";
const DIGITS: usize = 32;
/// Longest part of the final name in the temporary name, in bytes: a file name has at most 255.
const NAME_MAX: usize = 200;
/// Attempts to find a temporary name that does not exist.
const TRIES: usize = 16;

/// A file or folder `.NAME.DIGITS.partial`, renamed to `NAME` when it is complete, and removed if it is dropped before.
///
/// The process that creates it holds a lock (`flock`) on it. The lock ends with the process, even a killed one, so an unlocked
/// partial file was left by a killed process: [`remove_left`] and the next [`Partial::file`] with the same name remove it. On a
/// file system without locks nothing is removed.
#[derive(Debug)]
pub struct Partial {
    /// Temporary path, in the folder of the final path.
    temporary: PathBuf,
    whole: PathBuf,
    handle: File,
    is_done: bool,
}

impl Partial {
    /// Begins the file `path`, and removes partial files that killed processes left for it.
    ///
    /// # Errors
    /// The folder cannot be written to, or `path` has no file name or is a device.
    pub fn file(path: &Path) -> io::Result<Partial> {
        // A rename would replace a device by a regular file.
        if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(io::Error::other("is no regular file"));
        }
        if let Some(name) = path.file_name() {
            remove_left(parent(path), Some(name));
        }
        Partial::begin(path, make_file)
    }

    /// Begins the folder `path`.
    ///
    /// # Errors
    /// Errors of [`Partial::file`].
    pub fn folder(path: &Path) -> io::Result<Partial> {
        Partial::begin(path, |path| make_folder(path, 0o777))
    }

    fn begin(path: &Path, make: impl Fn(&Path) -> io::Result<File>) -> io::Result<Partial> {
        let name = path.file_name().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "no file name"))?;
        for _ in 0..TRIES {
            let temporary = path.with_file_name(temporary_name(name));
            match make(&temporary) {
                Ok(handle) if is_ours(&handle, &temporary) => {
                    return Ok(Partial { temporary, whole: path.to_path_buf(), handle, is_done: false });
                }
                // Another process removed the name as left behind, before this process had locked it.
                Ok(_) => {}
                // Another process removed the new folder before this process had opened it.
                Err(error) if error.kind() == ErrorKind::NotFound && parent(path).is_dir() => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// The temporary path.
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// The file.
    pub fn handle(&self) -> &File {
        &self.handle
    }

    /// Completes the file or folder: flushes the data (in a folder, of each file) to the disk, then renames it in one step. After
    /// a power cut the name has the complete contents or does not exist. A file replaces an existing file; a folder must not
    /// exist yet. [`sync_folder`](super::sync_folder) flushes the name itself.
    ///
    /// # Errors
    /// The file cannot be written or renamed; it is then removed.
    pub fn finish(self) -> io::Result<()> {
        if self.handle.metadata()?.is_dir() {
            for entry in fs::read_dir(&self.temporary)? {
                let path = entry?.path();
                if super::is_file(&path) {
                    super::open(&path, options().read(true))?.sync_all()?;
                }
            }
        }
        self.handle.sync_all()?;
        self.settle()
    }

    /// Completes a file as [`Partial::finish`] does, but never replaces an existing file.
    ///
    /// # Errors
    /// Errors of [`Partial::finish`]; the file exists already.
    pub fn finish_new(self) -> io::Result<()> {
        match self.link_new() {
            Err(error) if error.kind() != ErrorKind::AlreadyExists && !self.whole.exists() => {
                // The file system has no hard links, so the name is checked and then renamed; another process may take the name
                // in between.
                self.settle()
            }
            // Dropping the partial file removes the temporary name.
            other => other,
        }
    }

    /// Links the file under its final name, beside the temporary name. The lock becomes a shared one first, because other
    /// processes may share the file as soon as the name exists.
    fn link_new(&self) -> io::Result<()> {
        self.handle.sync_all()?;
        // Ignored: a file system without locks cannot exclude other processes.
        let _ = self.handle.try_lock_shared();
        fs::hard_link(&self.temporary, &self.whole)
    }

    /// Renames as [`Partial::finish`] does, without flushing. Until [`flush_all`](super::flush_all), a power cut may leave any
    /// contents under the name, which the reader has to detect.
    ///
    /// # Errors
    /// The file cannot be renamed; it is then removed.
    pub fn settle(mut self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.whole)?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_done {
            // A file that cannot be removed is unlocked, so the next process removes it.
            let _ = super::remove(&self.temporary);
        }
    }
}

/// A temporary folder for this user only, removed when it is dropped.
#[derive(Debug)]
pub struct Scratch(Partial);

/// Temporary folders of this process.
static SCRATCH: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl Scratch {
    /// Creates a temporary folder; removes those of this `name` that killed processes left.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn new(name: &str) -> io::Result<Scratch> {
        let path = std::env::temp_dir().join(name);
        remove_left(parent(&path), path.file_name());
        // Never finished, so that the folder keeps its temporary name.
        let partial = Partial::begin(&path, |path| make_folder(path, 0o700))?;
        lock(&SCRATCH).push(partial.temporary.clone());
        Ok(Scratch(partial))
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        lock(&SCRATCH).retain(|path| path != self.path());
    }
}

/// Removes every [`Scratch`] folder of this process, which is about to end.
pub fn remove_scratch() {
    for path in lock(&SCRATCH).iter() {
        // A thread that still writes may make the first attempt fail; the next process removes the rest.
        let _ = super::remove(path).or_else(|_| super::remove(path));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn make_file(path: &Path) -> io::Result<File> {
    options().read(true).write(true).create_new(true).open(path)
}

fn make_folder(path: &Path, mode: u32) -> io::Result<File> {
    DirBuilder::new().mode(mode).create(path)?;
    options().read(true).open(path)
}

/// Locks a new file; returns false if another process has removed it.
fn is_ours(handle: &File, path: &Path) -> bool {
    // A file system without locks counts as locked: no process removes partial files there.
    let is_locked = !matches!(handle.try_lock(), Err(TryLockError::WouldBlock));
    is_locked && is_same(handle, path)
}

fn is_same(handle: &File, path: &Path) -> bool {
    let identity = |found: &fs::Metadata| (found.dev(), found.ino());
    let both = (handle.metadata(), path.symlink_metadata());
    matches!(both, (Ok(one), Ok(other)) if identity(&one) == identity(&other))
}

/// Removes the partial files that killed processes of this user left in `folder`: those for `name`, or all.
pub fn remove_left(folder: &Path, name: Option<&OsStr>) {
    remove_left_for(folder, |target| name.is_none_or(|name| target == shortened(name)));
}

/// Removes partial files as [`remove_left`] does, for the final names that `is_meant` accepts. `is_meant` receives the name's
/// bytes, at most the first 200.
pub fn remove_left_for(folder: &Path, is_meant: impl Fn(&[u8]) -> bool) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if target_of(&entry.file_name()).is_some_and(&is_meant) {
            remove_if_left(&entry.path());
        }
    }
}

fn remove_if_left(path: &Path) {
    // Symbolic links, pipes and files of other users stay.
    let is_possible = path
        .symlink_metadata()
        .is_ok_and(|found| (found.is_file() || found.is_dir()) && found.uid() == geteuid().as_raw());
    if !is_possible {
        return;
    }
    let Ok(handle) = options().read(true).open(path) else { return };
    if handle.try_lock().is_ok() && is_same(&handle, path) {
        // Ignored: a file that cannot be removed does no harm.
        let _ = super::remove(path);
    }
}

/// A new temporary name, `.NAME.DIGITS.partial`.
fn temporary_name(name: &OsStr) -> OsString {
    let mut bytes = vec![b'.'];
    bytes.extend_from_slice(shortened(name));
    // `RandomState` has 128 random bits of the system, different for each name.
    let [one, other] = [(); 2].map(|()| RandomState::new().hash_one(()));
    bytes.extend_from_slice(format!(".{one:016x}{other:016x}").as_bytes());
    bytes.extend_from_slice(ENDING);
    OsString::from_vec(bytes)
}

/// The final name (at most its first 200 bytes) that a temporary name was made for; `None` for other names.
fn target_of(name: &OsStr) -> Option<&[u8]> {
    let rest = name.as_bytes().strip_prefix(b".")?.strip_suffix(ENDING)?;
    let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    let is_digits = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    rest.strip_suffix(b".").filter(|_| is_digits)
}

fn shortened(name: &OsStr) -> &[u8] {
    let bytes = name.as_bytes();
    &bytes[..bytes.len().min(NAME_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn threads_can_begin_partial_files_at_once() {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let scratch = Scratch::new("qdelay-partial-many").unwrap();
                        fs::write(scratch.path().join("a"), "one").unwrap();
                    }
                });
            }
        });
    }

    #[test]
    fn partial_files_appear_complete_or_not_at_all() {
        let scratch = Scratch::new("qdelay-partial-whole").unwrap();
        let path = scratch.path().join("a");
        let partial = Partial::file(&path).unwrap();
        partial.handle().write_all(b"one").unwrap();
        assert!(!path.exists());
        partial.finish().unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), names(scratch.path())),
            (b"one".to_vec(), vec!["a".to_string()])
        );
        drop(Partial::file(&path).unwrap());
        assert_eq!(names(scratch.path()), ["a"]);
        let folder = Partial::folder(&scratch.path().join("b")).unwrap();
        fs::write(folder.path().join("c"), "").unwrap();
        folder.finish().unwrap();
        assert_eq!(
            (names(scratch.path()), names(&scratch.path().join("b"))),
            (vec!["a".into(), "b".into()], vec!["c".into()])
        );
        assert!(Partial::file(Path::new("/dev/null")).is_err());
    }

    /// Shards that start at the same time in a new folder share its `study.json`, even while the first of them still has the
    /// temporary name.
    #[test]
    fn shard_start_race_a_new_file_is_shared_at_once() {
        let scratch = Scratch::new("qdelay-partial-shared").unwrap();
        let path = scratch.path().join("study.json");
        let partial = Partial::file(&path).unwrap();
        partial.link_new().unwrap();
        let other = options().read(true).write(true).open(&path).unwrap();
        assert!(other.try_lock_shared().is_ok());
        // The partial file is in use, so its temporary name stays.
        remove_left(scratch.path(), None);
        assert!(partial.path().exists());
    }

    #[test]
    fn temporary_names_differ_and_keep_the_final_name() {
        let name = |of: &str| temporary_name(OsStr::new(of)).into_string().unwrap();
        assert_ne!(name("a"), name("a"));
        assert_eq!(target_of(OsStr::new(&name("a.html"))), Some(&b"a.html"[..]));
        let long = "x".repeat(255);
        assert_eq!(target_of(OsStr::new(&name(&long))), Some(shortened(OsStr::new(&long))));
        assert!(name(&long).len() <= 255);
        for other in ["a", ".a.partial", ".a.0123.partial", "..partial", &name("a")[1..]] {
            assert_eq!(target_of(OsStr::new(other)), None, "{other}");
        }
    }

    #[test]
    fn only_unlocked_partial_files_are_removed() {
        let scratch = Scratch::new("qdelay-partial-left").unwrap();
        let folder = scratch.path();
        let path = folder.join("a");
        let in_use = Partial::file(&path).unwrap();
        // Creates an unlocked partial file, as a killed process leaves it.
        let left = |name: &str| {
            let left = folder.join(temporary_name(OsStr::new(name)));
            fs::write(&left, "").unwrap();
            left
        };
        let (same, other) = (left("a"), left("b"));
        let link = folder.join(temporary_name(OsStr::new("a")));
        let target = folder.join("mine");
        fs::write(&target, "mine").unwrap();
        symlink(&target, &link).unwrap();
        drop(Partial::file(&path).unwrap());
        assert!(in_use.path().exists() && other.exists() && target.exists() && !same.exists());
        assert!(link.symlink_metadata().is_ok(), "a link is none of ours");
        let cases = folder.join(temporary_name(OsStr::new("1-case")));
        fs::create_dir(&cases).unwrap();
        fs::write(cases.join("run.json"), "").unwrap();
        let running = Partial::folder(&folder.join("2-case")).unwrap();
        remove_left(folder, None);
        assert!(in_use.path().exists() && running.path().exists() && !other.exists() && !cases.exists());
        in_use.finish().unwrap();
        assert!(path.exists());
    }

    #[test]
    fn a_scratch_folder_is_private_and_removed() {
        let scratch = Scratch::new("qdelay-partial-scratch").unwrap();
        let path = scratch.path().to_path_buf();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        fs::write(path.join("a"), "").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
