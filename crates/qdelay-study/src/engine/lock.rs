//! Locks of result folders: `study.json` is held by a run of the whole study alone, and by runs of shards together, each of which holds a
//! file of its own in `shards` alone.
//!
//! A lock (`flock`) ends with its process, however that ends. A file system may have none, as some that are mounted over a network: then a
//! run says so and goes on, and takes nothing away that may be another's.

use super::{Progress, Shard};
use crate::InputError;
use crate::files::{self, cannot_write};
use rustix::io::Errno;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

/// The folder with a file for each shard that was begun, such as `3-of-8`.
pub const SHARDS: &str = "shards";

/// How a file is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// By nobody else.
    Alone,
    /// Beside others who hold it together.
    Together,
}

/// Takes the lock of a file in the folder `root`. Returns whether it is held: not where the file system has no locks, which `progress`
/// is told. `busy` is the error where another process holds it.
///
/// # Errors
/// Another process holds it; the file system fails.
pub fn hold(
    file: &File,
    hold: Hold,
    root: &Path,
    busy: &str,
    progress: &dyn Progress,
) -> Result<bool, InputError> {
    let taken = match hold {
        Hold::Alone => file.try_lock(),
        Hold::Together => file.try_lock_shared(),
    };
    match taken {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Err(InputError::new(root.display(), busy)),
        Err(TryLockError::Error(error)) if is_without_locks(&error) => {
            progress.warns(&format!(
                "{}: the file system has no locks ({error}), so that a second run of the same would not be noticed; see to it that there is \
                 only one, or take a folder on a disk of this machine",
                root.display()
            ));
            Ok(false)
        }
        Err(TryLockError::Error(error)) => {
            let message = format!(
                "cannot be locked: {error}; expected a file system that works: try again, or take a folder on a disk of this machine"
            );
            Err(InputError::new(root.display(), message))
        }
    }
}

/// Whether the error says that there are no locks, and not that something is broken.
fn is_without_locks(error: &io::Error) -> bool {
    // NFS without a lock manager has ENOLCK, others what they have for calls that they do not know.
    let known = [Errno::NOLCK, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS, Errno::INVAL];
    error.raw_os_error().is_some_and(|code| known.iter().any(|errno| errno.raw_os_error() == code))
}

/// Begins `shard` in the folder `root`: its file in `shards`, held, and whether it is.
///
/// # Errors
/// The shard is being run, shards of another number are there, or the file cannot be made.
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
    // Two that begin at once see each other, because each has made its file before it looks.
    match shards(root).into_iter().find(|other| other.of() != shard.of()) {
        None => Ok((file, is_held)),
        Some(other) => {
            if is_new {
                // Of a shard that has not begun.
                let _ = files::remove(&path);
            }
            let message = format!(
                "holds shards of {}, and this is one of {}; expected as many as there, or another folder",
                other.of(),
                shard.of()
            );
            Err(InputError::new(root.display(), message))
        }
    }
}

/// The shards that were begun in the folder `root`, in their order.
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
    format!("{}-of-{}", shard.index(), shard.of())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_locks_are_not_a_fault_of_the_disk() {
        let is = |errno: Errno| is_without_locks(&io::Error::from_raw_os_error(errno.raw_os_error()));
        assert!(is(Errno::NOLCK) && is(Errno::NOTSUP) && is(Errno::NOSYS));
        assert!(!is(Errno::IO) && !is(Errno::STALE) && !is_without_locks(&io::Error::other("no")));
    }
}
