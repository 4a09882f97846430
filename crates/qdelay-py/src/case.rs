//! State of a running case: whether it shall continue, whether a call of Python is in progress, and the error of a failed call.

use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// State that a case shares with its components and with the watching thread.
#[derive(Debug)]
pub struct Case {
    /// Name of the case in errors.
    pub name: String,
    /// Place of the case in the study.
    pub index: u64,
    /// Number of begun plus number of ended calls of Python: odd during a call.
    calls: AtomicU64,
    /// Python's identifier of the case's thread; 0 before the case's first call of Python.
    thread: AtomicU64,
    has_failed: AtomicBool,
    failure: Mutex<Option<PyErr>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Case>>> = const { RefCell::new(None) };
}

impl Case {
    /// Makes a case that has not begun.
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

    /// Case of the current thread; a new one for a component outside a case.
    pub fn current() -> Arc<Case> {
        CURRENT.with_borrow(Clone::clone).unwrap_or_else(|| Case::new("", 0))
    }

    /// Makes this the case of the current thread until the returned value is dropped.
    pub fn enter(self: &Arc<Case>) -> Entered {
        Entered(CURRENT.replace(Some(Arc::clone(self))))
    }

    /// Registers a component of Python: the thread gets an identifier, so that its calls can be ended.
    ///
    /// # Errors
    /// Errors of Python's `threading`.
    pub fn takes_python(&self, py: Python<'_>) -> PyResult<()> {
        let number: u64 = py.import("threading")?.call_method0("get_ident")?.extract()?;
        self.thread.store(number, Ordering::Relaxed);
        Ok(())
    }
    /// True if a component of Python takes part.
    pub fn has_python(&self) -> bool {
        self.thread() != 0
    }
    /// Identifier of the case's thread.
    pub fn thread(&self) -> u64 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Notes the begin or the end of a call. Only the thread of the case calls this function.
    #[inline]
    pub fn call(&self) {
        let calls = self.calls.load(Ordering::Relaxed);
        self.calls.store(calls.wrapping_add(1), Ordering::Relaxed);
    }
    /// Call in progress.
    pub fn under_way(&self) -> Option<u64> {
        Some(self.calls.load(Ordering::Relaxed)).filter(|calls| calls % 2 == 1)
    }

    /// Notes the failure of a component: the case ends soon, and the first failure is its error.
    pub fn fail(&self, error: PyErr) {
        let mut failure = lock(&self.failure);
        failure.get_or_insert(error);
        self.has_failed.store(true, Ordering::Relaxed);
    }
    /// True after a failure.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
    /// First failure.
    pub fn take_failure(&self) -> Option<PyErr> {
        lock(&self.failure).take()
    }
}

/// Guard that ends the scope begun by [`Case::enter`].
pub struct Entered(Option<Arc<Case>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Locks a mutex even after a panic, since no holder leaves a value half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
