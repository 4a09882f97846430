//! Execution of cases on several threads.

use super::EngineError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Runs `work` for every index on `threads` threads, including the caller's; on fewer if the system allows no more (`ulimit -u`,
/// the process limit of a container). Results are in arbitrary order.
///
/// # Errors
/// The error of the lowest failed index; no further work begins after an error.
pub fn on_threads<T: Send>(
    indices: impl Iterator<Item = u64> + Send,
    threads: usize,
    work: impl Fn(u64) -> Result<T, EngineError> + Sync,
) -> Result<Vec<(u64, T)>, EngineError> {
    let indices = Mutex::new(indices.fuse());
    let done: Mutex<Vec<(u64, T)>> = Mutex::new(Vec::new());
    // The error of the first failed case is returned, so that the message does not depend on the threads.
    let failed: Mutex<Option<(u64, EngineError)>> = Mutex::new(None);
    let next = || {
        let is_failed = lock(&failed).is_some();
        if is_failed { None } else { lock(&indices).next() }
    };
    let worker = || {
        while let Some(index) = next() {
            match work(index) {
                Ok(result) => lock(&done).push((index, result)),
                Err(error) => {
                    let mut failed = lock(&failed);
                    if failed.as_ref().is_none_or(|(first, _)| index < *first) {
                        *failed = Some((index, error));
                    }
                    return;
                }
            }
        }
    };
    thread::scope(|scope| {
        let is_granted = |_: &usize| thread::Builder::new().spawn_scoped(scope, worker).is_ok();
        // Spawning ends at the first refused thread.
        let _ = (1..threads).take_while(is_granted).count();
        worker();
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_runs_once_and_none_after_a_failure() {
        let double = |index: u64| Ok(2 * index);
        let mut done = on_threads([3, 1, 4, 5].into_iter(), 3, double).unwrap();
        done.sort_unstable();
        assert_eq!(done, [(1, 2), (3, 6), (4, 8), (5, 10)]);
        let seen = Mutex::new(Vec::new());
        let fails = |index: u64| {
            lock(&seen).push(index);
            if index == 1 { Err(EngineError::Audit("no".to_string())) } else { Ok(()) }
        };
        assert!(on_threads([7, 1, 8, 9].into_iter(), 1, fails).is_err());
        assert_eq!(*lock(&seen), [7, 1]);
        assert!(on_threads([].into_iter(), 2, double).unwrap().is_empty());
    }
}
