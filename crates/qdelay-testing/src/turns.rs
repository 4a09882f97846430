//! How many tests run at once, whichever programs they are of: who runs one holds the lock of one of so many files. Those that mostly
//! wait have files of their own.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The variable that names the folder of these files. The suite sets it.
pub const TURNS: &str = "QDELAY_TURNS";

/// How long to wait before the files are tried again: little beside a test that is worth waiting for.
const PAUSE: Duration = Duration::from_millis(5);

/// What a test does with its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// It computes.
    Works,
    /// It is about real time, in which it mostly waits. Such tests have turns of their own beside those that compute.
    Waits,
}

impl Turn {
    /// The folder of its files.
    fn folder(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Turn::Works => "works",
            Turn::Waits => "waits",
        })
    }
}

/// Files for so many of each kind at once, in an empty folder.
pub(crate) fn lay_out(folder: &Path, count: usize) -> io::Result<()> {
    let _ = std::fs::remove_dir_all(folder);
    [Turn::Works, Turn::Waits].into_iter().try_for_each(|turn| {
        let folder = turn.folder(folder);
        std::fs::create_dir_all(&folder)?;
        (0..count).try_for_each(|number| File::create(folder.join(number.to_string())).map(drop))
    })
}

/// Waits for a lock in this folder. It is held until the file is dropped, and no longer than this process lives.
pub(crate) fn wait_in(folder: &Path, turn: Turn) -> io::Result<File> {
    Ok(wait_unless(folder, turn, || false)?.expect("it waits until there is one"))
}

/// The same, until it is not wanted any more.
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

/// Waits for a turn where a suite runs. Where its files are missing, nothing holds a test back.
pub(crate) fn wait(turn: Turn) -> Option<File> {
    wait_in(Path::new(&std::env::var_os(TURNS)?), turn).ok()
}

/// Does `work` for each item, and hands the results to `take` in the order of the items. Beside the calling test, which has a turn,
/// threads do so in turns that nobody else wants: one test is not the last that runs while processors are idle.
///
/// # Panics
/// Where `work` or `take` do, with what they say.
pub fn side_by_side<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    take: impl FnMut(R) + Send,
) {
    let next = AtomicUsize::new(0);
    let is_over = || next.load(Ordering::Relaxed) >= items.len();
    // What is done and has another before it that is not; and how many have been taken.
    let done = Mutex::new((BTreeMap::new(), 0, take));
    let one = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(item) = items.get(number) else { return };
        // Nobody begins another where one has failed.
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
            // Those at the front take longest.
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
