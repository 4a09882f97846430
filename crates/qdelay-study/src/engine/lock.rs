//! Locks of result folders. A run of the whole study locks `study.json` exclusively; runs of shards share that lock, and each
//! locks its own file in `shards` exclusively.
//!
//! A lock (`flock`) ends with its process, even a killed one. A program that the process was starting as it ended has the lock, too,
//! for the moment until it closes its inherited files; [`hold`] waits for that ([`PATIENCE`]). Some network file systems have no
//! locks; a run there warns, continues, and removes no files that may belong to another process.

use super::{Progress, Shard};
use crate::InputError;
use crate::files::{self, cannot_write};
use rustix::io::Errno;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

/// Number of attempts to take a lock, and the time between them: two seconds in all.
const PATIENCE: (u32, Duration) = (100, Duration::from_millis(20));

/// Name of the folder with one file for each shard that was started, such as `3-of-8`.
pub const SHARDS: &str = "shards";

/// Mode of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Exclusive lock.
    Alone,
    /// Shared lock.
    Together,
}

/// Locks a file in the folder `root`. Returns false if the file system has no locks, after a warning through `progress`. `busy`
/// is the error if another process holds the lock.
///
/// # Errors
/// Another process holds the lock, or the file system fails.
pub fn hold(
    file: &File,
    hold: Hold,
    root: &Path,
    busy: &str,
    progress: &dyn Progress,
) -> Result<bool, InputError> {
    match take(file, hold) {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Err(InputError::new(root.display(), busy)),
        // A run goes on without locks, because some network file systems never have them.
        Err(TryLockError::Error(error)) if is_without_locks(&error) => {
            progress.warns(&format!(
                "{}: the file system has no locks ({error}), so a second run in this folder would not be noticed; make sure that there is \
                 only one, or use a folder on a local disk",
                root.display()
            ));
            Ok(false)
        }
        Err(TryLockError::Error(error)) => {
            let message = format!(
                "cannot be locked: {error}; expected a working file system: try again, or use a folder on a local disk"
            );
            Err(InputError::new(root.display(), message))
        }
    }
}

/// Takes a lock, with [`PATIENCE`] while another process holds it.
fn take(file: &File, hold: Hold) -> Result<(), TryLockError> {
    let (attempts, pause) = PATIENCE;
    let mut attempt = 1;
    loop {
        let taken = match hold {
            Hold::Alone => file.try_lock(),
            Hold::Together => file.try_lock_shared(),
        };
        if attempt == attempts || !matches!(taken, Err(TryLockError::WouldBlock)) {
            return taken;
        }
        attempt += 1;
        #[allow(clippy::disallowed_methods, reason = "no event tells that another process has ended")]
        std::thread::sleep(pause);
    }
}

/// True if the error means that the file system has no locks; false for a failure.
fn is_without_locks(error: &io::Error) -> bool {
    // NFS without a lock manager returns ENOLCK; other file systems return the error of an unknown call.
    let known = [Errno::NOLCK, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS, Errno::INVAL];
    error.raw_os_error().is_some_and(|code| known.iter().any(|errno| errno.raw_os_error() == code))
}

/// Starts `shard` in the folder `root`: creates and locks its file in `shards`. Returns the file, and whether it is locked.
///
/// # Errors
/// The shard is already running, the folder has shards of another total number, or the file cannot be created.
pub fn hold_shard(root: &Path, shard: Shard, progress: &dyn Progress) -> Result<(File, bool), InputError> {
    let path = files::make_below(root, SHARDS)?.join(name(shard));
    let is_new = !files::is_file(&path);
    let mut options = files::options();
    options.read(true).write(true).create(true).truncate(false);
    let file = files::open(&path, &options).map_err(|error| cannot_write(&path, &error))?;
    let busy = format!(
        "shard {shard} is being run by another process; expected that one to end first, or another shard"
    );
    let is_held = hold(&file, Hold::Alone, root, &busy, progress)?;
    // Two processes that start at once see each other: each creates its file before it lists the others.
    match shards(root).into_iter().find(|other| other.total() != shard.total()) {
        None => Ok((file, is_held)),
        Some(other) => {
            if is_new {
                // This shard has not run, so its file goes.
                let _ = files::remove(&path);
            }
            let message = format!(
                "holds shards of a study cut into {}, but this is one of {}; expected the same number of shards, or another folder",
                other.total(),
                shard.total()
            );
            Err(InputError::new(root.display(), message))
        }
    }
}

/// The shards that were started in the folder `root`, in order.
pub fn shards(root: &Path) -> Vec<Shard> {
    let Ok(entries) = fs::read_dir(root.join(SHARDS)) else { return Vec::new() };
    let mut shards: Vec<Shard> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.replacen("-of-", "/", 1).parse().ok())
        .collect();
    shards.sort_unstable();
    shards
}

fn name(shard: Shard) -> String {
    format!("{}-of-{}", shard.index(), shard.total())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_locks_are_told_from_disk_failures() {
        let is = |errno: Errno| is_without_locks(&io::Error::from_raw_os_error(errno.raw_os_error()));
        assert!(is(Errno::NOLCK) && is(Errno::NOTSUP) && is(Errno::NOSYS));
        assert!(!is(Errno::IO) && !is(Errno::STALE) && !is_without_locks(&io::Error::other("no")));
    }

    /// A lock of a process that is about to end is waited for; one that stays is refused.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a thread that keeps a lock for a time")]
    fn a_lock_is_waited_for() {
        let path = std::env::temp_dir().join(format!("qdelay-lock-{}", std::process::id()));
        let open =
            || File::options().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        let (first, second) = (open(), open());
        first.try_lock().unwrap();
        assert!(matches!(take(&second, Hold::Together), Err(TryLockError::WouldBlock)));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(PATIENCE.1 * 3);
                drop(first);
            });
            take(&second, Hold::Alone).unwrap();
        });
        std::fs::remove_file(&path).unwrap();
    }
}
