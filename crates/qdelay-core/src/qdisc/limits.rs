//! The parameters that every discipline has: its limits.

use super::Limit;
use crate::component::{Arguments, Typed, Unit};

/// `limit`: packets.
pub const LIMIT: Typed<u64> = Typed::new("limit", "1000", "most packets queued")
    .unit(Unit::Count("packets"))
    .within("1", "10000000")
    .source("Linux codel, pie, pfifo (1000); BoDe paper section VI (1.5 MB of 1500 bytes)");

/// `limit_bytes`: bytes.
pub const LIMIT_BYTES: Typed<u64> =
    Typed::new("limit_bytes", "0", "most bytes queued (IP bytes); 0 for no such limit")
        .unit(Unit::Bytes)
        .within("0", "");

/// The MTU of the interface: a backlog up to it, or to twice it, is spared.
pub(super) const MTU: Typed<u64> = Typed::new(
    "mtu",
    "1500b",
    "size of a full packet (IP bytes); a backlog of one (codel) or two (pie) of them is left alone",
)
.unit(Unit::Bytes)
.within("1b", "1mb")
.source("RFC 8289 section 5.5; Linux codel, pie (the MTU)");

/// The limits that `arguments` of a component with [`LIMIT`] and [`LIMIT_BYTES`] say; without the latter there is none in bytes.
pub fn limit(arguments: &Arguments) -> Limit {
    let bytes = if arguments.declares(&LIMIT_BYTES) { arguments.get(&LIMIT_BYTES) } else { 0 };
    Limit { packets: arguments.get(&LIMIT), bytes: if bytes == 0 { u64::MAX } else { bytes } }
}
