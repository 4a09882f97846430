//! Tests of the developers' command with packets of real programs, in network namespaces. Without namespaces these tests are skipped.

#[macro_use]
extern crate qdelay_testing;

#[allow(dead_code, reason = "the other program uses the rest")]
#[path = "../../qdelay/tests/common/mod.rs"]
mod common;

mod bench_link;
mod validate_cell;
mod validate_link;

main!(waits);
