//! Parameters that several links have.

use alloc::string::String;
use qdelay_core::Rate;
use qdelay_core::component::{Arguments, ComponentError, Typed, Unit};

pub(super) const RATE: Typed<Option<Rate>> =
    Typed::new("rate", "", "Bits per second on the link; required.").within("1bit", "");
/// Bytes that a link adds to each packet.
pub const OVERHEAD: Typed<u64> =
    Typed::new("overhead", "0", "Bytes the link adds to each IP packet, such as 14 for Ethernet.")
        .unit(Unit::Bytes)
        .within("0", "65535b");
pub(super) const BURST: Typed<u64> =
    Typed::new("burst", "1540b", "What may leave at once after a pause: the cap of the token bucket.")
        .unit(Unit::Bytes)
        .within("0", "")
        .source("the kernel experiments this is compared with");

/// Bytes added to each packet, of [`OVERHEAD`].
pub(super) fn overhead(arguments: &Arguments) -> u32 {
    // The declared range keeps it within 16 bits.
    arguments.get(&OVERHEAD) as u32
}

/// The rate, of [`RATE`].
pub(super) fn rate(arguments: &Arguments) -> Result<Rate, ComponentError> {
    arguments.get(&RATE).ok_or_else(|| fail(arguments, "no rate; expected one such as 10mbit"))
}

pub(super) fn fail(arguments: &Arguments, message: impl Into<String>) -> ComponentError {
    arguments.fail(message)
}
