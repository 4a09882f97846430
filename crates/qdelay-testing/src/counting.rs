//! Counts a thread's memory allocations: for tests of code that must not allocate.
#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator with a counter. A program declares it as its `#[global_allocator]`.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

// SAFETY: all calls go to the system allocator; the counter is a plain thread-local cell that needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller fulfils the same contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Number of allocations by the calling thread.
///
/// # Panics
///
/// If it is zero: then the program's allocator is not [`Counting`].
pub fn allocations() -> u64 {
    let calls = CALLS.get();
    assert!(calls > 0, "the program's #[global_allocator] does not count");
    calls
}
