//! Tests of the QUIC transport from outside: a lossy link, closed forms, determinism.

#[macro_use]
extern crate qdelay_testing;

mod common;

mod applications;
mod closed_forms;
mod connections;
mod controls;
mod determinism;
mod sockets;
mod transfers;

main!();
