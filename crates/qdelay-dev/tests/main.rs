//! Tests of the developers' command as a program. `net.rs` has the tests with real packets.

#[macro_use]
extern crate qdelay_testing;

#[allow(dead_code, reason = "the other program uses the rest")]
#[path = "../../qdelay/tests/common/mod.rs"]
mod common;

mod bad_input;
mod bench;
mod fingerprints;
mod instructions;
mod validate;
mod validate_netem;

main!();
