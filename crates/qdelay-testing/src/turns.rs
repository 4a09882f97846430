//! Limits the number of tests that run at once in all programs: a running test holds the lock of one of a number of files.
//! Tests that mostly wait have their own files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Variable with the folder of these files. Set by the suite.
pub const TURNS: &str = "QDELAY_TURNS";

/// Interval of attempts to lock a file, short compared with the tests.
const PAUSE: Duration = Duration::from_millis(5);

/// Kind of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Turn of a test that computes.
    Works,
    /// Turn of a test that depends on real time and mostly waits, beside the turns of computing tests.
    Waits,
}

impl Turn {
    /// Folder of the kind's files.
    fn folder(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Turn::Works => "works",
            Turn::Waits => "waits",
        })
    }
}

/// Creates files for `count` turns of each kind, in an empty folder.
pub(crate) fn lay_out(folder: &Path, count: usize) -> io::Result<()> {
    let _ = std::fs::remove_dir_all(folder);
    [Turn::Works, Turn::Waits].into_iter().try_for_each(|turn| {
        let folder = turn.folder(folder);
        std::fs::create_dir_all(&folder)?;
        (0..count).try_for_each(|number| File::create(folder.join(number.to_string())).map(drop))
    })
}

/// Waits for a lock in this folder. The lock is held until the file is dropped, or this process ends.
pub(crate) fn wait_in(folder: &Path, turn: Turn) -> io::Result<File> {
    Ok(wait_unless(folder, turn, || false)?.expect("it waits until there is one"))
}

/// Waits for a lock until it is no longer wanted.
fn wait_unless(folder: &Path, turn: Turn, is_over: impl Fn() -> bool) -> io::Result<Option<File>> {
    let paths = std::fs::read_dir(turn.folder(folder))?.map(|entry| entry.map(|entry| entry.path()));
    let paths = paths.collect::<io::Result<Vec<PathBuf>>>()?;
    let files = paths.iter().map(File::open).collect::<io::Result<Vec<File>>>()?;
    while !is_over() {
        if let Some(free) = files.iter().position(|file| file.try_lock().is_ok()) {
            return Ok(files.into_iter().nth(free));
        }
        #[allow(clippy::disallowed_methods, reason = "nothing but time tells when another process is done")]
        std::thread::sleep(PAUSE);
    }
    Ok(None)
}

/// Waits for a turn if a suite is running. Without its files, tests do not wait.
pub(crate) fn wait(turn: Turn) -> Option<File> {
    wait_in(Path::new(&std::env::var_os(TURNS)?), turn).ok()
}

/// Runs `work` for each item, and passes the results to `take` in the order of the items. Beside the calling test, which has a
/// turn, other threads work in free turns, so that a single long test does not leave processors idle.
///
/// # Panics
/// If `work` or `take` panics, with the same message.
pub fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    take: impl FnMut(R) + Send,
) {
    let next = AtomicUsize::new(0);
    let is_over = || next.load(Ordering::Relaxed) >= items.len();
    // Results that wait for an earlier one, and the number of items begun.
    let done = Mutex::new((BTreeMap::new(), 0, take));
    let one = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(item) = items.get(number) else { return };
        // No further item is begun after a failure.
        let result = catch_unwind(AssertUnwindSafe(|| work(item))).unwrap_or_else(|payload| {
            next.store(items.len(), Ordering::Relaxed);
            resume_unwind(payload)
        });
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        let (ready, taken, take) = &mut *done;
        ready.insert(number, result);
        while let Some(result) = ready.remove(taken) {
            *taken += 1;
            take(result);
        }
    };
    let folder = std::env::var_os(TURNS);
    let with_turns = || {
        while !is_over() {
            let turn =
                folder.as_ref().and_then(|folder| wait_unless(folder.as_ref(), Turn::Works, is_over).ok());
            if !matches!(turn, Some(None)) {
                one();
            }
        }
    };
    let others = std::thread::available_parallelism().map_or(1, usize::from) - 1;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..others).map(|_| scope.spawn(with_turns)).collect();
        while !is_over() {
            one();
        }
        for thread in threads {
            thread.join().unwrap_or_else(|payload| resume_unwind(payload));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_there_are_files() {
        let folder = std::env::temp_dir().join(format!("qdelay-turns-{}", std::process::id()));
        lay_out(&folder, 2).unwrap();
        let first = wait_in(&folder, Turn::Works).unwrap();
        let _second = wait_in(&folder, Turn::Works).unwrap();
        let _beside = wait_in(&folder, Turn::Waits).unwrap();
        let third = std::thread::spawn({
            let folder = folder.clone();
            move || wait_in(&folder, Turn::Works).is_ok()
        });
        assert!(!third.is_finished());
        drop(first);
        assert!(third.join().unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn results_come_in_order_once_each() {
        let items: Vec<usize> = (0..500).collect();
        let mut taken = Vec::new();
        let work = |item: &usize| {
            // The first items take longest.
            (0..(500 - item) * 100).for_each(|number| _ = std::hint::black_box(number));
            item * 2
        };
        side_by_side(&items, work, |result| taken.push(result));
        assert_eq!(taken, items.iter().map(|item| item * 2).collect::<Vec<_>>());
    }

    #[test]
    fn a_failure_is_that_of_the_whole() {
        let run = || side_by_side(&[1, 2, 3, 4], |&item| assert_ne!(item, 3, "on purpose"), |()| {});
        let payload = catch_unwind(run).unwrap_err();
        assert!(payload.downcast_ref::<String>().unwrap().contains("on purpose"));
    }
}
