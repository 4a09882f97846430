//! Cases on several threads.

use super::EngineError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// Runs `work` for every index, on so many threads; the first error ends it.
pub fn on_threads<T: Send>(
    indices: impl Iterator<Item = u64> + Send,
    threads: usize,
    work: impl Fn(u64) -> Result<T, EngineError> + Sync,
) -> Result<Vec<(u64, T)>, EngineError> {
    let indices = Mutex::new(indices.fuse());
    let done: Mutex<Vec<(u64, T)>> = Mutex::new(Vec::new());
    // Of several errors the one of the first case, so that what is said does not depend on the threads.
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
    match threads {
        0 | 1 => worker(),
        _ => thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(worker)))),
    }
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
