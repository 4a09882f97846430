//! Queue disciplines from compiled functions, given by address: functions of numba, cffi or ctypes, behind the interface of
//! `qdelay_component.h`.
#![allow(unsafe_code)] // Functions are called by addresses that Python gives.

use super::{Declaration, Declared};
use crate::error;
use pyo3::prelude::*;
use qdelay::native::CONTEXT;
use qdelay_core::component::Registry;
use qdelay_native::{Addresses, DeclaredParameter, Role, Unit, law};

/// Declares a discipline whose law consists of functions at these addresses: init, admit, dequeue, emptied; 0 for none. Signatures are
/// those of the
/// header. The caller guarantees that the addresses are valid for the rest of the process. The state has `state_size` bytes and begins with
/// the
/// values of the parameters, each a double.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "all that a law declares")]
pub fn declare_law(
    py: Python<'_>,
    name: String,
    about: String,
    source: String,
    parameters: Vec<Declaration>,
    addresses: (usize, usize, usize, usize),
    state_size: u64,
    is_random: bool,
    classifies: String,
) -> PyResult<Declared> {
    let wrong = |message: String| error::input(py, &name, &message);
    let parameters = parameters
        .into_iter()
        .map(|declared| parameter(declared).map_err(&wrong))
        .collect::<PyResult<Vec<_>>>()?;
    let role = Role::Queue;
    let declared =
        qdelay_native::Declared { role, name: name.clone(), meaning: about, source, classifies, parameters };
    let (init, admit, dequeue, emptied) = addresses;
    let addresses =
        Addresses { init, admit, dequeue, emptied, state_size, is_random, begins_with_values: true };
    // SAFETY: `qdelay.native` requires functions of the header's signatures, and keeps them for the rest of the process.
    let custom = unsafe { law(&declared, addresses, CONTEXT) }.map_err(&wrong)?;
    qdelay::components(Registry::new().with(custom.clone()))
        .map_err(|fault| error::input(py, &name, &fault.message))?;
    Ok(Declared::new(custom, name))
}

fn parameter(declared: Declaration) -> Result<DeclaredParameter, String> {
    let (name, unit, words, default, min, max, meaning, source) = declared;
    let unit = match unit.as_str() {
        "duration" => Unit::Duration,
        "rate" => Unit::Rate,
        "bytes" => Unit::Bytes,
        "count" => Unit::Count(words.concat()),
        "number" => Unit::Number,
        "switch" => Unit::Switch,
        "choice" => Unit::Choice(words),
        other => {
            return Err(format!("its parameter '{name}' is a {other}; expected a value that is a number"));
        }
    };
    Ok(DeclaredParameter { name, unit, default, min, max, meaning, source })
}
