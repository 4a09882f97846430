//! Parameters that several links have.

use alloc::string::String;
use qdelay_core::Rate;
use qdelay_core::component::{Arguments, ComponentError, Parameter, Unit};

pub(super) const RATE: Parameter = Parameter {
    name: "rate",
    unit: Unit::Rate,
    default: "",
    min: "1bit",
    max: "",
    about: "Bits per second on the link; required.",
    source: "",
};
pub(super) const OVERHEAD: Parameter = Parameter {
    name: "overhead",
    unit: Unit::Bytes,
    default: "0",
    min: "0",
    max: "65535b",
    about: "Bytes the link adds to each IP packet, such as 14 for Ethernet.",
    source: "",
};
pub(super) const BURST: Parameter = Parameter {
    name: "burst",
    unit: Unit::Bytes,
    default: "1540b",
    min: "0",
    max: "",
    about: "What may leave at once after a pause: the cap of the token bucket.",
    source: "the kernel experiments this is compared with",
};

/// Bytes added to each packet, of [`OVERHEAD`].
pub(super) fn overhead(arguments: &Arguments) -> u32 {
    // The declared range keeps it within 16 bits.
    arguments.whole("overhead").unwrap_or(0) as u32
}

/// The rate, of [`RATE`].
pub(super) fn rate(arguments: &Arguments) -> Result<Rate, ComponentError> {
    arguments.rate("rate").ok_or_else(|| fail(arguments, "no rate; expected one such as 10mbit"))
}

pub(super) fn fail(arguments: &Arguments, message: impl Into<String>) -> ComponentError {
    arguments.fail(message)
}
