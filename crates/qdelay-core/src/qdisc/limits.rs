//! Limits: the parameters that every discipline has.

use super::Limit;
use crate::component::{Arguments, Typed, Unit};

/// `limit`: most packets queued.
pub const LIMIT: Typed<u64> = Typed::new("limit", "1000", "most packets queued")
    .unit(Unit::Count("packets"))
    .within("1", "10000000")
    .source("Linux codel, pie, pfifo (1000); BoDe paper section VI (1.5 MB of 1500 bytes)");

/// `limit_bytes`: most bytes queued.
pub const LIMIT_BYTES: Typed<u64> =
    Typed::new("limit_bytes", "0", "most bytes queued (IP bytes); 0 for no limit")
        .unit(Unit::Bytes)
        .within("0", "");

/// `mtu`: the MTU of the interface. Nothing is dropped at a backlog up to it, or up to twice it.
pub(super) const MTU: Typed<u64> = Typed::new(
    "mtu",
    "1500b",
    "size of a full packet (IP bytes); nothing is dropped at a backlog of at most one (codel) or two (pie) of them",
)
.unit(Unit::Bytes)
.within("1b", "1mb")
.source("RFC 8289 section 5.5; Linux codel, pie (the MTU)");

/// The limits in `arguments` of a component with [`LIMIT`] and [`LIMIT_BYTES`]; a `limit_bytes` of 0 stands
/// for no limit in bytes.
pub fn limit(arguments: &Arguments) -> Limit {
    let bytes = if arguments.declares(&LIMIT_BYTES) { arguments.get(&LIMIT_BYTES) } else { 0 };
    Limit { packets: arguments.get(&LIMIT), bytes: if bytes == 0 { u64::MAX } else { bytes } }
}
