//! Id of the case that a thread runs, for messages of code that knows no cases.

use std::cell::RefCell;

thread_local! {
    static CASE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The id of the case that this thread runs; `None` between cases.
pub fn current_case() -> Option<String> {
    CASE.with_borrow(Clone::clone)
}

/// Runs `work` as part of the case `id`.
pub(super) fn within<T>(id: &str, work: impl FnOnce() -> T) -> T {
    CASE.set(Some(id.to_string()));
    let done = work();
    CASE.set(None);
    done
}
