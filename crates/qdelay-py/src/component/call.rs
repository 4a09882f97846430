//! Instance of a Python class and its methods. A method receives the values that its arguments name, as plain numbers.

use crate::case::Case;
use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyTuple};
use qdelay_core::component::{Arguments, ComponentError, Value};
use qdelay_core::{Span, Time};
use std::fmt;
use std::sync::Arc;

/// Inputs that a method may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    Now,
    Wait,
    Size,
    Flow,
    Dscp,
    Ecn,
    Packets,
    Bytes,
    Random,
    Cwnd,
    Ssthresh,
    Acked,
    Lost,
    InFlight,
    Rtt,
    Srtt,
    MinRtt,
    Rate,
    Segment,
    Ue,
    Ues,
    Tti,
    RateBytes,
    Sent,
    Capacity,
    Limited,
}

/// All inputs with their argument names.
const NAMES: [(&str, Input); 26] = [
    ("now", Input::Now),
    ("wait", Input::Wait),
    ("size", Input::Size),
    ("flow", Input::Flow),
    ("dscp", Input::Dscp),
    ("ecn", Input::Ecn),
    ("packets", Input::Packets),
    ("bytes", Input::Bytes),
    ("random", Input::Random),
    ("cwnd", Input::Cwnd),
    ("ssthresh", Input::Ssthresh),
    ("acked", Input::Acked),
    ("lost", Input::Lost),
    ("in_flight", Input::InFlight),
    ("rtt", Input::Rtt),
    ("srtt", Input::Srtt),
    ("min_rtt", Input::MinRtt),
    ("rate", Input::Rate),
    ("segment", Input::Segment),
    ("ue", Input::Ue),
    ("ues", Input::Ues),
    ("tti", Input::Tti),
    ("rate_bytes", Input::RateBytes),
    ("sent", Input::Sent),
    ("capacity", Input::Capacity),
    ("limited", Input::Limited),
];

/// Value of an input.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// Seconds, segments or a share.
    Float(f64),
    /// Bytes, packets or other counts.
    Whole(u64),
    Switch(bool),
    /// Value that is not known yet.
    Unknown,
}

impl Number {
    /// Converts a time to seconds.
    pub fn seconds(time: Time) -> Number {
        Number::Float(time.as_secs_f64())
    }

    #[inline]
    fn python(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        Ok(match self {
            Number::Float(number) => PyFloat::new(py, number).into_any(),
            Number::Whole(number) => number.into_pyobject(py)?.into_any(),
            Number::Switch(is_on) => PyBool::new(py, is_on).to_owned().into_any(),
            Number::Unknown => py.None().into_bound(py),
        })
    }
}

impl From<Option<Span>> for Number {
    fn from(span: Option<Span>) -> Number {
        span.map_or(Number::Unknown, |span| Number::Float(span.as_secs_f64()))
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Number {
        Number::Whole(number.into())
    }
}

/// Class with the inputs of each of its methods.
pub struct Class {
    class: Py<PyAny>,
    name: String,
    /// Inputs of each method of the role; `None` where the class lacks the method.
    methods: Vec<(&'static str, Option<Vec<Input>>)>,
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Class {
    /// Checks that the role knows each argument of each method.
    pub fn new(
        class: Py<PyAny>,
        name: String,
        known: &'static [(&'static str, &'static [Input])],
        given: Vec<(String, Vec<String>)>,
    ) -> Result<Class, String> {
        let mut methods = Vec::new();
        for (method, inputs) in known {
            let Some((_, arguments)) = given.iter().find(|(name, _)| name == method) else {
                methods.push((*method, None));
                continue;
            };
            let of = |argument: &String| {
                let found = NAMES.iter().find(|(name, input)| name == argument && inputs.contains(input));
                found.map(|(_, input)| *input).ok_or_else(|| {
                    let known: Vec<&str> = NAMES
                        .iter()
                        .filter(|(_, input)| inputs.contains(input))
                        .map(|(name, _)| *name)
                        .collect();
                    format!("{method}: unknown argument '{argument}'; expected some of {}", known.join(", "))
                })
            };
            methods.push((*method, Some(arguments.iter().map(of).collect::<Result<_, _>>()?)));
        }
        Ok(Class { class, name, methods })
    }

    /// Inputs of the methods that distinguish packets by more than size and ECN field.
    pub fn classifies(&self) -> Option<&'static str> {
        let names =
            |input| self.methods.iter().flat_map(|(_, inputs)| inputs).any(|all| all.contains(&input));
        match (names(Input::Flow), names(Input::Dscp)) {
            (true, true) => Some("flow and codepoint"),
            (true, false) => Some("flow"),
            (false, true) => Some("codepoint"),
            (false, false) => None,
        }
    }
    /// Name of the class.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// True if the class has this method.
    pub fn has(&self, method: &str) -> bool {
        self.methods.iter().any(|(name, inputs)| *name == method && inputs.is_some())
    }

    /// Makes an instance with these parameters, which takes part in the current thread's case.
    pub fn instance(self: &Arc<Class>, arguments: &Arguments) -> Result<Instance, ComponentError> {
        Python::attach(|py| {
            let case = Case::current();
            let made = self.make(py, arguments).and_then(|methods| case.takes_python(py).map(|()| methods));
            match made {
                Ok(methods) => {
                    Ok(Instance { class: Arc::clone(self), arguments: arguments.clone(), methods, case })
                }
                Err(error) => Err(arguments.fail(format!("{}: {}", self.name, described(py, &error)))),
            }
        })
    }

    fn make(&self, py: Python<'_>, arguments: &Arguments) -> PyResult<Vec<Option<Method>>> {
        let parameters = PyDict::new(py);
        for (parameter, value) in arguments.values() {
            parameters.set_item(parameter.name, python(py, value)?)?;
        }
        let object = self.class.bind(py).call_method1("_of", (parameters,))?;
        let methods = self.methods.iter().map(|(name, inputs)| {
            let Some(inputs) = inputs else { return Ok(None) };
            Ok(Some(Method { function: object.getattr(*name)?.unbind(), name, inputs: inputs.clone() }))
        });
        methods.collect()
    }
}

/// Value as Python sees it: durations in seconds, rates in bit/s.
fn python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Span(span) => span.as_secs_f64().into_pyobject(py)?.into_any(),
        Value::Rate(rate) => (rate.as_bps() as f64).into_pyobject(py)?.into_any(),
        Value::Whole(number) => number.into_pyobject(py)?.into_any(),
        Value::Number(number) => number.into_pyobject(py)?.into_any(),
        Value::Switch(is_on) => is_on.into_pyobject(py)?.to_owned().into_any(),
        Value::Text(text) => text.into_pyobject(py)?.into_any(),
        Value::Unset => py.None().into_bound(py),
    })
}

/// Error in one line, with the place that raised it.
fn described(py: Python<'_>, error: &PyErr) -> String {
    let place = error.traceback(py).and_then(|traceback| {
        let frames = py.import("traceback").ok()?.call_method1("extract_tb", (traceback,)).ok()?;
        let last = frames.get_item(-1).ok()?;
        let file: String = last.getattr("filename").ok()?.extract().ok()?;
        let line: u32 = last.getattr("lineno").ok()?.extract().ok()?;
        Some(format!(" (line {line} of {file})"))
    });
    format!("{error}{}", place.unwrap_or_default())
}

struct Method {
    function: Py<PyAny>,
    name: &'static str,
    inputs: Vec<Input>,
}

/// Instance in a case. A clone is a new instance with the same parameters in its initial state.
pub struct Instance {
    class: Arc<Class>,
    arguments: Arguments,
    methods: Vec<Option<Method>>,
    case: Arc<Case>,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.arguments.typed())
    }
}

impl Clone for Instance {
    fn clone(&self) -> Instance {
        self.class.instance(&self.arguments).unwrap_or_else(|error| {
            // The first instance was made without error, so a failure now ends the case.
            self.case.fail(PyException::new_err(error.to_string()));
            Instance {
                class: Arc::clone(&self.class),
                arguments: self.arguments.clone(),
                methods: self.methods.iter().map(|_| None).collect(),
                case: Arc::clone(&self.case),
            }
        })
    }
}

impl Instance {
    /// True if the class has the method at this place of its role.
    pub fn has(&self, place: usize) -> bool {
        self.methods[place].is_some()
    }

    /// Calls the method at this place with its inputs, and reads the answer. `None` without such a
    /// method, and after a failure: the case ends soon, and decisions until then have no meaning.
    #[inline]
    pub fn call<T>(
        &self,
        place: usize,
        now: Time,
        value: impl FnMut(Input) -> Number,
        answer: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, &'static str>,
    ) -> Option<T> {
        let method = self.methods[place].as_ref()?;
        if self.case.has_failed() {
            return None;
        }
        Python::attach(|py| {
            self.case.call();
            let result = method.call(py, value);
            self.case.call();
            let result = match result {
                Ok(result) => result,
                Err(error) => return self.fail(py, method.name, now, Some(error), ""),
            };
            match answer(&result) {
                Ok(value) => Some(value),
                Err(expected) => {
                    let shown =
                        result.repr().map_or_else(|_| "something".to_string(), |text| text.to_string());
                    self.fail(py, method.name, now, None, &format!("returned {shown}; expected {expected}"))
                }
            }
        })
    }

    /// Fails the case with the error or the wrong answer of the method.
    #[cold]
    fn fail<T>(
        &self,
        py: Python<'_>,
        method: &str,
        now: Time,
        cause: Option<PyErr>,
        message: &str,
    ) -> Option<T> {
        let arguments = (self.class.name(), method, self.case.name.as_str(), now.as_secs_f64(), message);
        self.case.fail(crate::error::component(py, arguments, cause));
        None
    }
}

impl Method {
    #[inline]
    fn call<'py>(
        &self,
        py: Python<'py>,
        mut value: impl FnMut(Input) -> Number,
    ) -> PyResult<Bound<'py, PyAny>> {
        let function = self.function.bind(py);
        let mut value = |input| value(input).python(py);
        match *self.inputs.as_slice() {
            [] => function.call0(),
            [a] => positional(function, [value(a)?]),
            [a, b] => positional(function, [value(a)?, value(b)?]),
            [a, b, c] => positional(function, [value(a)?, value(b)?, value(c)?]),
            [a, b, c, d] => positional(function, [value(a)?, value(b)?, value(c)?, value(d)?]),
            _ => {
                let values = self.inputs.iter().map(|input| value(*input)).collect::<PyResult<Vec<_>>>()?;
                function.call1(PyTuple::new(py, values)?)
            }
        }
    }
}

/// Calls a function with up to four arguments through the C API. With the stable ABI from 3.10, `pyo3` first makes a tuple, which
/// takes a tenth of the time of a call.
#[inline]
#[allow(unsafe_code, reason = "the interpreter's function takes any number of pointers")]
fn positional<'py, const N: usize>(
    function: &Bound<'py, PyAny>,
    values: [Bound<'py, PyAny>; N],
) -> PyResult<Bound<'py, PyAny>> {
    const { assert!(N <= 4) };
    let end: *mut ffi::PyObject = std::ptr::null_mut();
    let mut all = [end; 4];
    for (place, value) in all.iter_mut().zip(&values) {
        *place = value.as_ptr();
    }
    let [a, b, c, d] = all;
    // SAFETY: `function` proves that the interpreter is held; the pointers are of objects that `values` owns until after the call; the
    // first null pointer ends the arguments, and a null follows the fourth. The result is a new reference, or null with an error set.
    unsafe {
        let result = ffi::PyObject_CallFunctionObjArgs(function.as_ptr(), a, b, c, d, end);
        Bound::from_owned_ptr_or_err(function.py(), result)
    }
}
