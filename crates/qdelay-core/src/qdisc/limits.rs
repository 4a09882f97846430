//! The parameters that every discipline has: its limits.

use super::Limit;
use crate::component::{Arguments, Parameter, Unit};

/// `limit`: packets.
pub const LIMIT: Parameter = Parameter {
    name: "limit",
    unit: Unit::Count("packets"),
    default: "1000",
    min: "1",
    max: "10000000",
    about: "most packets queued",
    source: "Linux codel, pie, pfifo (1000); BoDe paper section VI (1.5 MB of 1500 bytes)",
};

/// `limit_bytes`: bytes.
pub const LIMIT_BYTES: Parameter = Parameter {
    name: "limit_bytes",
    unit: Unit::Bytes,
    default: "0",
    min: "0",
    max: "",
    about: "most bytes queued (IP bytes); 0 for no such limit",
    source: "",
};

/// The MTU of the interface: a backlog up to it, or to twice it, is spared.
pub(super) const MTU: Parameter = Parameter {
    name: "mtu",
    unit: Unit::Bytes,
    default: "1500b",
    min: "1b",
    max: "1mb",
    about: "size of a full packet (IP bytes); a backlog of one (codel) or two (pie) of them is left alone",
    source: "RFC 8289 section 5.5; Linux codel, pie (the MTU)",
};

/// The limits that `arguments` of a component with [`LIMIT`] and [`LIMIT_BYTES`] say; without the latter there is none in bytes.
pub fn limit(arguments: &Arguments) -> Limit {
    let declares =
        |parameter: &Parameter| arguments.component().parameters.iter().any(|own| own.name == parameter.name);
    let bytes = if declares(&LIMIT_BYTES) { arguments.whole(LIMIT_BYTES.name) } else { None };
    let bytes = bytes.filter(|bytes| *bytes > 0).unwrap_or(u64::MAX);
    Limit { packets: arguments.whole(LIMIT.name).unwrap_or(1000), bytes }
}
