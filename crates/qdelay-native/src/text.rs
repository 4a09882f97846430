//! Texts of a shared object.
#![allow(unsafe_code, reason = "memory of a shared object")]

use core::ffi::{CStr, c_char};

/// The text at `pointer`, without one an empty text; `what` names it in errors.
///
/// # Errors
/// The text is too long, or no UTF-8, or has control characters.
///
/// # Safety
/// `pointer` is NULL or a text that ends with a zero.
pub unsafe fn text(pointer: *const c_char, what: &str) -> Result<String, String> {
    /// Longest text.
    const BYTES_MAX: usize = 1000;
    if pointer.is_null() {
        return Ok(String::new());
    }
    // SAFETY: as the caller says.
    let bytes = unsafe { CStr::from_ptr(pointer) }.to_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.len() <= BYTES_MAX && !text.chars().any(char::is_control) => Ok(text.to_string()),
        _ => Err(format!(
            "its {what} is no text; expected UTF-8 without control characters, of at most {BYTES_MAX} bytes"
        )),
    }
}
