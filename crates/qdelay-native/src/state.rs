//! The state of a law or control, which its functions are given, and the values of its parameters.
#![allow(unsafe_code, reason = "memory that a shared object fills in")]

use crate::abi::{Init, RawValue};
use crate::declaration::one_line;
use crate::text::text;
use core::ffi::c_void;
use core::ptr::NonNull;
use qdelay_core::component::{Arguments, ComponentError, Parameter, Unit, Value};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// Most bytes of a state.
const STATE_MAX: u64 = 1 << 28;
/// Largest alignment of a state.
const ALIGN_MAX: u64 = 4096;
/// Alignment of a state that says none.
const ALIGN: u64 = 16;

/// Checks size and alignment of a state.
///
/// # Errors
/// The message says what is wrong, and what was expected.
pub fn check(size: u64, align: u64) -> Result<(), String> {
    if size > STATE_MAX {
        return Err(format!("its state has {size} bytes; expected at most {STATE_MAX}"));
    }
    if align != 0 && (!align.is_power_of_two() || align > ALIGN_MAX) {
        return Err(format!("its state is aligned to {align}; expected a power of two up to {ALIGN_MAX}"));
    }
    Ok(())
}

/// Memory that a law keeps its state in.
pub struct State {
    memory: NonNull<u8>,
    layout: Layout,
}

// SAFETY: bytes without an owner or a thread, by the contract of the header; they are only touched through `&mut`, or copied.
unsafe impl Send for State {}
// SAFETY: as above.
unsafe impl Sync for State {}

impl State {
    /// Zeros, of a size and an alignment that were checked.
    pub fn new(size: u64, align: u64) -> State {
        let align = if align == 0 { ALIGN } else { align };
        // A state is never of no bytes, so that it has an address.
        let layout =
            Layout::from_size_align(size.max(1) as usize, align as usize).unwrap_or(Layout::new::<u128>());
        // SAFETY: the layout has a size.
        let memory = unsafe { alloc_zeroed(layout) };
        State { memory: NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout)), layout }
    }
    /// Writes doubles at its beginning, as many as it has room for.
    pub fn write(&mut self, values: impl Iterator<Item = f64>) {
        let room = self.layout.size() / size_of::<f64>();
        for (index, value) in values.take(room).enumerate() {
            // SAFETY: within the memory, which is aligned to 16 or more.
            unsafe { self.memory.cast::<f64>().add(index).write(value) };
        }
    }
    /// Has `init` fill it in with the values of the own parameters, those that are not `given`.
    ///
    /// # Errors
    /// `init` refuses the values of the parameters.
    pub fn init(&mut self, init: Init, arguments: &Arguments, given: &[&str]) -> Result<(), ComponentError> {
        let values: Vec<RawValue> = values(arguments, given).collect();
        // Not watched: a program that is about to enter a namespace must not have a second thread.
        // SAFETY: a function of the header, with state of its size and all the values.
        let message = unsafe { init(self.address(), values.as_ptr()) };
        if message.is_null() {
            return Ok(());
        }
        // SAFETY: the header says that it is a text.
        let message = unsafe { text(message, "message of init") }.unwrap_or_else(|error| error);
        Err(arguments.fail(one_line(&message)))
    }
    /// Address of the memory.
    pub fn address(&mut self) -> *mut c_void {
        self.memory.as_ptr().cast()
    }
}

impl Clone for State {
    fn clone(&self) -> State {
        // SAFETY: the layout has a size; both have it, and are different.
        let memory = unsafe { alloc_zeroed(self.layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(self.layout));
        // SAFETY: as above.
        unsafe { memory.copy_from_nonoverlapping(self.memory, self.layout.size()) };
        State { memory, layout: self.layout }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// The values of the own parameters, without those of these names, which the host has `given`.
pub fn values(arguments: &Arguments, given: &[&str]) -> impl Iterator<Item = RawValue> {
    let is_own = |(parameter, _): &(&Parameter, &Value)| !given.contains(&parameter.name);
    arguments.values().filter(is_own).map(|(parameter, value)| raw(parameter, value))
}

/// A value as a double: whole numbers up to 2^53 are exact.
pub fn as_double(value: RawValue) -> f64 {
    match value {
        RawValue { is_set: 0, .. } => f64::NAN,
        RawValue { whole: 0, number, .. } => number,
        RawValue { whole, .. } => whole as f64,
    }
}

/// A value as the header has it.
fn raw(parameter: &Parameter, value: &Value) -> RawValue {
    let whole = |whole| RawValue { whole, number: 0.0, is_set: 1, reserved: 0 };
    match (value, parameter.unit) {
        (Value::Span(span), _) => whole(span.as_nanos()),
        (Value::Rate(rate), _) => whole(rate.as_bps()),
        (Value::Whole(number), _) => whole(*number),
        (Value::Number(number), _) => RawValue { number: *number, ..whole(0) },
        (Value::Switch(is_on), _) => whole(u64::from(*is_on)),
        (Value::Text(word), Unit::Choice(words)) => {
            whole(words.iter().position(|known| known == word).unwrap_or(0) as u64)
        }
        (Value::Text(_) | Value::Unset, _) => RawValue::default(),
    }
}
