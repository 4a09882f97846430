//! Lists by name: components, shipped traces and renamed keywords.

use crate::component::{Declared, registry};
use pyo3::prelude::*;

/// Every component as JSON, as 'qdelay list --json' prints it.
#[pyfunction]
pub fn components_json(py: Python<'_>, components: Vec<Py<Declared>>) -> PyResult<String> {
    let registry = registry(py, &components)?;
    Ok(qdelay::list_json(&registry))
}

/// The shipped traces with their statistics as JSON, as 'qdelay trace list --json' prints it.
#[pyfunction]
pub fn traces_json(py: Python<'_>) -> PyResult<String> {
    qdelay::traces_json().map_err(|wrong| crate::error::failure(py, &wrong))
}

/// The options of 'qdelay link': name without hyphens in front, name of the value (`None` for a switch), whether it may be repeated.
#[pyfunction]
pub fn link_options() -> Vec<(String, Option<String>, bool)> {
    qdelay::link_options().into_iter().map(|option| (option.name, option.value, option.repeats)).collect()
}

/// Message about the old name of one of the `known` keywords; `None` for another name.
#[pyfunction]
pub fn renamed(old: &str, known: Vec<String>) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    qdelay::RenamedKey::find(old, &known).map(qdelay::RenamedKey::keyword_message)
}

/// Runs the command with these arguments, the program's name first, and returns its exit status.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| {
        qdelay::main_in(qdelay::Process::Interpreter, arguments, qdelay_core::component::Registry::new())
    })
}
