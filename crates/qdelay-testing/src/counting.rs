//! How often a thread asks for memory: for tests of code that must not.
#![allow(unsafe_code, reason = "an allocator")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts. A program has it as its `#[global_allocator]`.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

// SAFETY: everything is the system allocator's; the count is a plain cell of the thread's that needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// How often the calling thread has asked for memory.
///
/// # Panics
///
/// Where it never has: then the program's allocator is not [`Counting`].
pub fn allocations() -> u64 {
    let calls = CALLS.get();
    assert!(calls > 0, "the program's #[global_allocator] does not count");
    calls
}
