//! User-defined components: Python classes, each a component of a registry like the built-in ones.
//!
//! | file | contents |
//! | --- | --- |
//! | `call` | instance and methods, called with the inputs that they name |
//! | `aqm` | queue disciplines |
//! | `control` | congestion controls |
//! | `source` | sources of datagrams |
//! | `pacer` | pacers |
//! | `scheduler` | MAC schedulers |
//! | `native` | queue disciplines from compiled functions |

mod aqm;
mod call;
mod control;
mod native;
mod pacer;
mod scheduler;
mod source;

pub use native::declare_law;

use crate::error;
use call::{Class, Input};
use pyo3::prelude::*;
use qdelay_core::component::{Component, Custom, Kind, Parameter, Registry, Unit};
use std::sync::Arc;

/// Role of a class: its methods, and the inputs that each may name.
pub struct Role {
    /// Name of the role's base class in Python.
    name: &'static str,
    kind: Kind,
    /// Parameters of every component of the role, before or after its own.
    common: fn(&[Parameter]) -> Vec<Parameter>,
    methods: &'static [(&'static str, &'static [Input])],
    custom: fn(&'static Component, Arc<Class>) -> Custom,
}

const ROLES: [&Role; 5] = [&aqm::ROLE, &control::ROLE, &source::ROLE, &pacer::ROLE, &scheduler::ROLE];

/// Python class as a component of a registry.
#[pyclass(frozen, module = "qdelay._native", name = "Component")]
pub struct Declared {
    custom: Custom,
    #[pyo3(get)]
    name: String,
}

impl Declared {
    fn new(custom: Custom, name: String) -> Declared {
        Declared { custom, name }
    }
}

/// Parameter as declared in Python: name, unit, words of a choice or counted thing, default, minimum, maximum, description, source.
type Declaration = (String, String, Vec<String>, String, String, String, String, String);

/// Declares a class; `methods` has the argument names of each of its methods.
#[pyfunction]
#[pyo3(signature = (class, role, name, about, source, parameters, methods))]
#[allow(clippy::too_many_arguments, reason = "all that a class declares")]
pub fn declare(
    py: Python<'_>,
    class: Py<PyAny>,
    role: &str,
    name: String,
    about: String,
    source: String,
    parameters: Vec<Declaration>,
    methods: Vec<(String, Vec<String>)>,
) -> PyResult<Declared> {
    let wrong = |message: String| error::input(py, &name, &message);
    let role = ROLES.into_iter().find(|known| known.name == role).ok_or_else(|| {
        wrong(format!("has no role '{role}'; expected a subclass of qdelay.Aqm or of another base"))
    })?;
    let own = parameters
        .into_iter()
        .map(|declared| parameter(declared).map_err(&wrong))
        .collect::<PyResult<Vec<_>>>()?;
    let all = (role.common)(&own);
    for (place, parameter) in all.iter().enumerate() {
        if all[..place].iter().any(|other| other.name == parameter.name) {
            return Err(wrong(format!(
                "its parameter '{}' is there already; expected another name",
                parameter.name
            )));
        }
    }
    let class = Arc::new(Class::new(class, name.clone(), role.methods, methods).map_err(wrong)?);
    // A class is declared once and lives as long as the process, so leaking its component is bounded.
    let component = Component {
        classifies: class.classifies().filter(|_| role.kind == Kind::Qdisc),
        ..Component::new(role.kind, leak(name.clone()), leak(about)).source(leak(source)).with(all.leak())
    };
    let custom = (role.custom)(Box::leak(Box::new(component)), class);
    qdelay::components(Registry::new().with(custom.clone()))
        .map_err(|fault| error::input(py, &name, &fault.message))?;
    Ok(Declared { custom, name })
}

/// Registry of these components.
pub fn registry(py: Python<'_>, components: &[Py<Declared>]) -> PyResult<Registry> {
    let own =
        components.iter().fold(Registry::new(), |registry, own| registry.with(own.get().custom.clone()));
    qdelay::components(own).map_err(|fault| error::input(py, &fault.typed, &fault.message))
}

fn parameter(declared: Declaration) -> Result<Parameter, String> {
    let (name, unit, words, default, min, max, about, source) = declared;
    let unit = match unit.as_str() {
        "duration" => Unit::Span,
        "rate" => Unit::Rate,
        "bytes" => Unit::Bytes,
        "count" => Unit::Count(leak(words.concat())),
        "number" => Unit::Number,
        "switch" => Unit::Switch,
        "choice" => Unit::Choice(words.into_iter().map(leak).collect::<Vec<_>>().leak()),
        "text" => Unit::Text,
        other => return Err(format!("its parameter '{name}' has the unit '{other}', which there is not")),
    };
    let [name, default, min, max, about, source] = [name, default, min, max, about, source].map(leak);
    Ok(Parameter { name, unit, default, min, max, about, source })
}

fn leak(text: String) -> &'static str {
    text.leak()
}
