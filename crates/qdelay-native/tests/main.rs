//! The header against the structures of Rust. What shared objects do is tested from the command: `native.rs` of the crate `qdelay`.

#[macro_use]
extern crate qdelay_testing;

mod header;

main!();
