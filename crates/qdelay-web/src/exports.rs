//! Functions of the WebAssembly module. Text passes through one buffer: the page allocates it, writes a request, calls, and reads the
//! answer
//! from the buffer. Times are nanoseconds as a JavaScript number, exact below 104 days.

#![allow(unsafe_code, reason = "names of exported functions; no pointer of the page is followed")]

use crate::calls::Playground;
use qdelay_core::Time;
use std::cell::RefCell;
use std::panic;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static PLAYGROUND: RefCell<Playground> = RefCell::default();
    /// Message of a panic, written before the module ends.
    static FAULT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Installs the hook that stores the message of a panic; the page calls this function first.
#[unsafe(no_mangle)]
pub extern "C" fn begin() {
    panic::set_hook(Box::new(|info| {
        FAULT.with(|fault| {
            if let Ok(mut fault) = fault.try_borrow_mut() {
                *fault = info.to_string();
            }
        });
    }));
}

/// Allocates a request of `bytes`.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    BUFFER.with_borrow_mut(|buffer| {
        buffer.resize(bytes, 0);
        buffer.as_mut_ptr()
    })
}

/// Answers the request in the buffer; returns the length of the answer at the address of [`answer`].
#[unsafe(no_mangle)]
pub extern "C" fn call() -> usize {
    BUFFER.with_borrow_mut(|buffer| {
        *buffer = PLAYGROUND.with_borrow_mut(|playground| playground.call(buffer)).into_bytes();
        buffer.len()
    })
}

/// Address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    BUFFER.with_borrow(|buffer| buffer.as_ptr())
}

/// Advances all sides to `nanos`. Returns 0, or the length of an error message.
#[unsafe(no_mangle)]
pub extern "C" fn advance(nanos: f64) -> usize {
    let time = Time::from_nanos(nanos.max(0.0) as u64);
    match PLAYGROUND.with_borrow_mut(|playground| playground.advance_to(time)) {
        Ok(()) => 0,
        Err(error) => {
            BUFFER.set(error.into_bytes());
            BUFFER.with_borrow(Vec::len)
        }
    }
}

/// Number of finished bins of a side.
#[unsafe(no_mangle)]
pub extern "C" fn bins(side: usize) -> usize {
    of_side(side, 0, |side| side.bins())
}

/// Address of the values of a column of a side, one for each bin; null for an unknown column.
#[unsafe(no_mangle)]
pub extern "C" fn column(side: usize, column: usize) -> *const f32 {
    of_side(side, std::ptr::null(), |side| {
        let recording = side.recording();
        let values = recording.column(column);
        if values.is_empty() { std::ptr::null() } else { values.as_ptr() }
    })
}

/// Length of the last panic's message at the address of [`fault`].
#[unsafe(no_mangle)]
pub extern "C" fn fault_bytes() -> usize {
    FAULT.with_borrow(String::len)
}

/// Address of the last panic's message.
#[unsafe(no_mangle)]
pub extern "C" fn fault() -> *const u8 {
    FAULT.with_borrow(|fault| fault.as_ptr())
}

fn of_side<T>(side: usize, none: T, of: impl FnOnce(&crate::session::Side) -> T) -> T {
    PLAYGROUND.with_borrow(|playground| {
        let session = playground.session.as_ref();
        match session.and_then(|session| session.sides.get(side)) {
            Some(side) => of(side),
            None => none,
        }
    })
}
