//! The parameters every discipline has: how much it holds.

use super::Limit;
use crate::component::{Arguments, ComponentError, Parameter, Unit};
use alloc::string::{String, ToString};

/// `limit`: packets.
pub(super) const LIMIT: Parameter = Parameter {
    name: "limit",
    unit: Unit::Count("packets"),
    default: "1000",
    min: "1",
    max: "10000000",
    about: "most packets queued",
    source: "Linux codel, pie, pfifo (1000); BoDe paper section VI (1.5 MB of 1500 bytes)",
};

/// `limit_bytes`: bytes.
pub(super) const LIMIT_BYTES: Parameter = Parameter {
    name: "limit_bytes",
    unit: Unit::Bytes,
    default: "0",
    min: "0",
    max: "",
    about: "most bytes queued (IP bytes); 0 for no such limit",
    source: "",
};

/// The smallest packet a discipline spares or never judges: the interface's MTU.
pub(super) const MTU: Parameter = Parameter {
    name: "mtu",
    unit: Unit::Bytes,
    default: "1500b",
    min: "1b",
    max: "1mb",
    about: "size of a full packet (IP bytes); a backlog of one (codel) or two (pie) of them is left alone",
    source: "RFC 8289 section 5.5; Linux codel, pie (the MTU)",
};

/// The limits of `arguments`.
pub(super) fn limit(arguments: &Arguments) -> Limit {
    let bytes = match arguments.whole("limit_bytes") {
        Some(0) | None => u64::MAX,
        Some(bytes) => bytes,
    };
    Limit { packets: arguments.whole("limit").unwrap_or(1000), bytes }
}

/// An error about the component as a whole.
pub(super) fn fail(arguments: &Arguments, message: impl Into<String>) -> ComponentError {
    ComponentError { typed: arguments.typed().to_string(), message: message.into() }
}
