//! A case while it runs: whether it shall go on, whether a call of Python is under way, and what went wrong in one.

use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a case shares with its components and with those who watch it.
#[derive(Debug)]
pub struct Case {
    /// Its name in errors.
    pub name: String,
    /// Its place in the study.
    pub index: u64,
    /// Calls of Python that have begun, and that have ended: odd while one is under way.
    calls: AtomicU64,
    /// The number that Python gives to the thread of the case; 0 where it has not called Python yet.
    thread: AtomicU64,
    has_failed: AtomicBool,
    failure: Mutex<Option<PyErr>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Case>>> = const { RefCell::new(None) };
}

impl Case {
    /// A case that has not begun.
    pub fn new(name: impl Into<String>, index: u64) -> Arc<Case> {
        Arc::new(Case {
            name: name.into(),
            index,
            calls: AtomicU64::new(0),
            thread: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        })
    }

    /// The case that this thread runs; one of its own for a component that is in none.
    pub fn current() -> Arc<Case> {
        CURRENT.with_borrow(Clone::clone).unwrap_or_else(|| Case::new("", 0))
    }

    /// From here on, until what is returned is dropped, this is the case that the thread runs.
    pub fn enter(self: &Arc<Case>) -> Entered {
        Entered(CURRENT.replace(Some(Arc::clone(self))))
    }

    /// A component of Python takes part: from here on the thread has a number, so that its calls can be ended.
    ///
    /// # Errors
    /// Those of Python's `threading`.
    pub fn takes_python(&self, py: Python<'_>) -> PyResult<()> {
        let number: u64 = py.import("threading")?.call_method0("get_ident")?.extract()?;
        self.thread.store(number, Ordering::Relaxed);
        Ok(())
    }
    /// Whether a component of Python takes part.
    pub fn has_python(&self) -> bool {
        self.thread() != 0
    }
    /// The number of its thread.
    pub fn thread(&self) -> u64 {
        self.thread.load(Ordering::Relaxed)
    }

    /// A call begins, or ends. Only the thread of the case calls it.
    #[inline]
    pub fn call(&self) {
        let calls = self.calls.load(Ordering::Relaxed);
        self.calls.store(calls.wrapping_add(1), Ordering::Relaxed);
    }
    /// The call that is under way.
    pub fn under_way(&self) -> Option<u64> {
        Some(self.calls.load(Ordering::Relaxed)).filter(|calls| calls % 2 == 1)
    }

    /// A component failed: the case ends soon, and the first failure is its error.
    pub fn fail(&self, error: PyErr) {
        let mut failure = lock(&self.failure);
        failure.get_or_insert(error);
        self.has_failed.store(true, Ordering::Relaxed);
    }
    /// Whether one has failed.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
    /// The first failure.
    pub fn take_failure(&self) -> Option<PyErr> {
        lock(&self.failure).take()
    }
}

/// Ends what [`Case::enter`] began.
pub struct Entered(Option<Arc<Case>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// A lock whose holder cannot leave a value half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
