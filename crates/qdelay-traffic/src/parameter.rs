//! Parameters of components, as they are declared here.

use qdelay_core::component::{Parameter, Unit};

/// A parameter without a default and without bounds.
pub(crate) const fn parameter(
    name: &'static str,
    unit: Unit,
    about: &'static str,
    source: &'static str,
) -> Parameter {
    Parameter { name, unit, default: "", min: "", max: "", about, source }
}
